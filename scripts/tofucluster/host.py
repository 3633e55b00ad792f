# SPDX-License-Identifier: MIT
"""What a cluster needs of the host: binaries, an accelerator, a clock rate."""

import os
import pathlib
import platform
import socket
import subprocess
import sys
import tempfile

from tofubuild import cache, parts

from . import machine
from .errors import ClusterError

TOP = cache.checkout()
BUILD = cache.build()
PROBE_SECONDS = 5
# A guest under KVM boots in one or two.
BOOT_SECONDS = 8
# What a guest that does nothing and its QEMU occupy.
NODE_MIB = 200

# Sixteen bytes at the reset vector: mov al,42; out 0xf4,al; hlt.
_PROBE_CODE = bytes([0xB0, 0x2A, 0xE6, 0xF4, 0xF4])
_PROBE_STATUS = 42 << 1 | 1


def _script(name, *args):
    done = subprocess.run([TOP / "scripts" / name, *args], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        raise ClusterError(f"scripts/{name} failed")
    return pathlib.Path(done.stdout.splitlines()[-1])


def qemu():
    return _script("build-qemu")


def guest(extra):
    return _script("build-guest", *extra)


def fabric_tool():
    """The program that formats the memory that a machine's nodes share."""
    parts.make()
    tool = BUILD / "bin/tofu-fabric"
    if not tool.exists():
        raise ClusterError(f"{tool} is missing: run `make all`")
    return str(tool)


def require_memory(nodes):
    """Refuse a cluster that this machine has no memory for."""
    with open("/proc/meminfo", encoding="ascii") as file:
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in file}
    free = sizes["MemAvailable"] >> 10
    if nodes * NODE_MIB > free:
        raise ClusterError(f"{nodes} nodes take {nodes * NODE_MIB} MiB of memory or more, "
                           f"and {free} MiB are free: use fewer, or plain processes (tofu-run)")


def require_realtime():
    """Refuse what this user may not ask the kernel for."""
    done = subprocess.run([*machine.REALTIME, "true"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    if done.returncode:
        raise ClusterError(f"--realtime: {done.stderr.strip()}: be root, or leave it away")


def _per_boot(name, measure):
    """A fact about this host, found once after each of its boots."""
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    path = cache.root() / "host" / f"{name}-{boot}"
    if not path.exists():
        value = measure()
        with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
            file.write(value)
            file.flush()
            cache.publish_file(file.name, path, 0o644)
        cache.prune(path.parent, 4, f"{name}-*")
    return path.read_text("ascii")


def _measure_tsc():
    source = pathlib.Path(__file__).with_name("tsc-khz.c")
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "tsc-khz")
        subprocess.run(["gcc", "-O2", "-o", program, source], check=True)
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.strip()


def tsc_khz():
    """Rate of the counter that a guest without KVM sees; None if it has none."""
    if platform.machine() != "x86_64":
        return None
    return int(_per_boot("tsc", _measure_tsc))


def probe(binary, accel):
    """Whether a guest of a few instructions runs to its end."""
    with tempfile.TemporaryDirectory() as folder:
        rom = pathlib.Path(folder, "rom")
        rom.write_bytes(_PROBE_CODE.rjust(65536 - 11, b"\xf4").ljust(65536, b"\xf4"))
        command = [binary, "-M", "microvm", "-accel", accel, "-m", "16", "-display", "none",
                   "-nodefaults", "-no-user-config", "-bios", rom,
                   "-device", "isa-debug-exit,iobase=0xf4,iosize=1"]
        try:
            done = subprocess.run(command, timeout=PROBE_SECONDS, check=False,
                                  stdin=subprocess.DEVNULL, capture_output=True)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == _PROBE_STATUS


def probe_boot(binary, image):
    """Whether the guest's kernel boots under KVM until its agent speaks."""
    config = {"name": "probe", "time": "functional", "accel": "kvm", "memory": 256,
              "tsc_khz": None, "kernel_args": [], "qemu_args": [], "fabric_fd": None,
              "qemu": binary, "image": image, "realtime": False}
    port = socket.socketpair()
    with open(os.devnull, "wb") as console, port[0], port[1]:
        fds = console.fileno(), port[1].fileno()
        with subprocess.Popen(machine.command(config, 0, *fds), pass_fds=fds,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as child:
            try:
                port[0].settimeout(BOOT_SECONDS)
                return bool(port[0].recv(1))
            except TimeoutError:
                return False
            finally:
                child.kill()


def _kvm_works(binary, image):
    # Some hosts run a few instructions, and then no kernel.
    return probe(binary, "kvm") and probe_boot(binary, image)


def accel(binary, image, wish):
    """kvm or tcg; auto takes kvm where it does not only open but boot a guest."""
    if wish == "tcg":
        return wish
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK)
    works = usable and _per_boot("kvm", lambda: str(int(_kvm_works(binary, image)))) == "1"
    if wish == "kvm" and not works:
        raise ClusterError("KVM does not boot a guest here; use --accel tcg")
    if usable and not works:
        print("  /dev/kvm opens but boots no guest: using tcg", file=sys.stderr)
    return "kvm" if works else "tcg"
