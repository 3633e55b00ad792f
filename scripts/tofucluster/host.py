# SPDX-License-Identifier: MIT
"""The host's part of a cluster: binaries, an accelerator, a clock rate."""

import asyncio
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

from tofubuild import cache, parts

from . import kvm, machine
from .errors import ClusterError

TOP = cache.checkout()
BUILD = cache.build()
PROBE_SECONDS = 5
CLOCKS_SECONDS = 5
# Memory of an idle guest and its QEMU
NODE_MIB = 200
KVM_FACT = "kvm-trouble"


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
    """The program that formats the memory shared by a machine's nodes."""
    parts.make()
    tool = BUILD / "bin/tofu-fabric"
    if not tool.exists():
        raise ClusterError(f"{tool} is missing: run `make all`")
    return str(tool)


def create_fabric(tool, shape):
    """The memory that the nodes of this host share: a descriptor of an unlinked file."""
    fd = os.memfd_create("tofu-fabric", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    done = subprocess.run([tool, "format", str(fd), "--shape", shape], pass_fds=[fd],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        os.close(fd)
        raise ClusterError(done.stderr.strip())
    return fd


async def clocks(words, **options):
    """The state of nodes' clocks, from the memory that they share.

    `words` run tofu-fabric with its path, here or on another host.
    """
    process = await asyncio.create_subprocess_exec(
        *words, "--json", stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        **options)
    try:
        out, _ = await asyncio.wait_for(process.communicate(), CLOCKS_SECONDS)
    except asyncio.TimeoutError:
        process.kill()
        return []
    return json.loads(out)["nodes"] if not process.returncode else []


def require_memory(nodes):
    """Refuse a cluster that exceeds this host's memory."""
    with open("/proc/meminfo", encoding="ascii") as file:
        sizes = {line.split(":")[0]: int(line.split()[1]) for line in file}
    free = sizes["MemAvailable"] >> 10
    if nodes * NODE_MIB > free:
        raise ClusterError(f"{nodes} nodes take {nodes * NODE_MIB} MiB of memory or more, "
                           f"and {free} MiB are free: use fewer, or plain processes (tofu-run)")


def require_realtime():
    """Refuse what the kernel does not permit this user."""
    done = subprocess.run([*machine.REALTIME, "true"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PROBE_SECONDS, check=False)
    if done.returncode:
        raise ClusterError(f"--realtime: {done.stderr.strip()}: be root, or leave it out")


def _boot_path(name):
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return cache.root() / "host" / f"{name}-{boot}"


def _per_boot(name, measure):
    """A fact about this host, determined once per boot of it."""
    path = _boot_path(name)
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
    """The rate of a guest's counter without KVM; None if it has none."""
    if platform.machine() != "x86_64":
        return None
    return int(_per_boot("tsc", _measure_tsc))


def _kvm_trouble(binary, image):
    """None, or why KVM runs no guest; slow probes run once."""
    trouble = kvm.present() or kvm.opens()
    if trouble:
        return trouble
    found = json.loads(_per_boot(KVM_FACT, lambda: json.dumps(
        kvm.instruction(binary) or kvm.boot(binary, image))))
    return found and kvm.Trouble(*found)


def forget_kvm():
    """Forget the results of probing KVM."""
    _boot_path(KVM_FACT).unlink(missing_ok=True)


def accel(binary, image, wish):
    """kvm or tcg; auto chooses kvm if it boots a guest, not merely opens."""
    if wish == "tcg":
        return wish
    trouble = _kvm_trouble(binary, image)
    if not trouble:
        return "kvm"
    if wish == "kvm":
        raise ClusterError(f"--accel kvm: {trouble}")
    if kvm.DEVICE.exists():
        print(f"  {trouble.why}: using tcg (`tofu-cluster check` says more)", file=sys.stderr)
    return "tcg"
