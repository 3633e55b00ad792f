# SPDX-License-Identifier: MIT
"""Whether KVM is here and runs a guest; if not, why.

A /dev/kvm that opens may still fail to run a guest, for instance inside another
virtual machine. So each step is tried, the cheap ones first.
"""

import contextlib
import errno
import grp
import os
import pathlib
import re
import socket
import subprocess
import tempfile
from typing import NamedTuple

from . import machine

DEVICE = pathlib.Path("/dev/kvm")
PROBE_SECONDS = 5
# A guest under KVM boots in one or two seconds.
BOOT_SECONDS = 8
WORDS_MAX = 300

# Sixteen bytes at the reset vector: mov al,42; out 0xf4,al; hlt.
_PROBE_CODE = bytes([0xB0, 0x2A, 0xE6, 0xF4, 0xF4])
_PROBE_STATUS = 42 << 1 | 1


class Trouble(NamedTuple):
    """Why something fails, what to do, and what was observed."""
    why: str
    remedy: str
    seen: str = ""

    def __str__(self):
        seen = f" ({self.seen})" if self.seen else ""
        return f"{self.why}{seen}: {self.remedy}"


def in_a_virtual_machine():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        return any(line.startswith("flags") and " hypervisor" in line for line in file)


def without_folders(text):
    """A message to show to others: paths without folders, except /dev."""
    return re.sub(r"(?<![\w.])(?!/dev/)(?:/[^\s/:;,'\"]+)*/(?=[^\s/:;,'\"])", "", text)


def _last_words(text):
    """The last output of QEMU or of a kernel."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return without_folders("; ".join(lines[-2:]))[-WORDS_MAX:] or "it printed nothing"


def _remedy(accel="kvm"):
    if accel == "tcg":
        return "this QEMU does not work; scripts/build-qemu makes one that does"
    if in_a_virtual_machine():
        return ("this machine is itself a virtual one, whose hypervisor does not pass on all "
                "that KVM needs (nested virtualization); use --accel tcg, or another machine")
    return "the kernel's log may say more (dmesg); use --accel tcg meanwhile"


def present():
    """None, or why there is no /dev/kvm."""
    if DEVICE.exists():
        return None
    return Trouble("there is no /dev/kvm",
                   "virtualization is switched off in the firmware, or the module kvm_intel or "
                   "kvm_amd is not loaded; a container is given it by --device /dev/kvm")


def _group():
    try:
        return grp.getgrgid(DEVICE.stat().st_gid).gr_name
    except (KeyError, OSError):
        return "kvm"


def opens():
    """None, or why /dev/kvm does not open."""
    try:
        os.close(os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except PermissionError:
        return Trouble("/dev/kvm may not be opened by this user",
                       f"let root add you to its group, {_group()} "
                       f"(usermod -aG {_group()} USER), and log in again")
    except OSError as error:
        remedy = "load the module kvm_intel or kvm_amd" \
            if error.errno in (errno.ENODEV, errno.ENXIO) else _remedy()
        return Trouble("/dev/kvm does not open", remedy, error.strerror)
    return None


def instruction(binary, accel="kvm"):
    """None, or why a virtual machine of a few instructions does not finish."""
    with tempfile.TemporaryDirectory() as folder:
        rom = pathlib.Path(folder, "rom")
        rom.write_bytes(_PROBE_CODE.rjust(65536 - 11, b"\xf4").ljust(65536, b"\xf4"))
        command = [binary, "-M", "microvm", "-accel", accel, "-m", "16", "-display", "none",
                   "-nodefaults", "-no-user-config", "-bios", rom,
                   "-device", "isa-debug-exit,iobase=0xf4,iosize=1"]
        try:
            done = subprocess.run(command, timeout=PROBE_SECONDS, check=False, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            words = f"it stood still for {PROBE_SECONDS} s"
        else:
            if done.returncode == _PROBE_STATUS:
                return None
            words = _last_words(done.stderr)
    return Trouble(f"under {accel} a virtual machine does not run its first instructions",
                   _remedy(accel), words)


def _hears_agent(port):
    port.settimeout(BOOT_SECONDS)
    with contextlib.suppress(TimeoutError, ConnectionError):
        return bool(port.recv(1))
    return False


def _content(file):
    file.seek(0)
    return file.read().decode(errors="replace")


def boot(binary, image):
    """None, or why the guest does not boot under KVM up to its agent."""
    config = {"name": "probe", "time": "functional", "accel": "kvm", "memory": 256,
              "tsc_khz": None, "kernel_args": [], "qemu_args": [], "fabric_fd": None,
              "qemu": binary, "image": image, "realtime": False}
    port = socket.socketpair()
    with tempfile.TemporaryFile() as console, tempfile.TemporaryFile() as errors, \
            port[0], port[1]:
        fds = console.fileno(), port[1].fileno()
        with subprocess.Popen(machine.command(config, 0, *fds), pass_fds=fds,
                              stdin=subprocess.DEVNULL, stdout=errors,
                              stderr=errors) as child:
            # If QEMU ends, the connection ends: QEMU has the only other end.
            port[1].close()
            try:
                if _hears_agent(port[0]):
                    return None
            finally:
                child.kill()
        words = _last_words(_content(errors) + "\n" + _content(console))
    return Trouble("KVM runs instructions, but a guest does not boot", _remedy(), words)


def steps(binary, image):
    """(step, trouble or None) in turn; a step that fails is the last."""
    for what, test in (("/dev/kvm is there", present),
                       ("/dev/kvm opens", opens),
                       ("a virtual machine runs an instruction", lambda: instruction(binary)),
                       ("a guest boots", lambda: boot(binary, image))):
        trouble = test()
        yield what, trouble
        if trouble:
            return
