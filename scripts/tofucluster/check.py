# SPDX-License-Identifier: MIT
"""`check`: whether clusters work on this host, step by step.

The report on standard output can be sent to others: it has no names of hosts,
users or folders. Progress and full error messages go to standard error.
"""

import argparse
import os
import pathlib
import platform
import subprocess
import tempfile

from tofubuild import cpio

from . import boot, host, kvm, programs, wire
from .errors import ClusterError

NAME = "check"
NODES = 2
RUN_SECONDS = 300
# Skipped tests of the driver: this kernel lacks what they need.
KSFT_SKIP = 4
LIBEXEC = "usr/libexec/tofu/"
UNBUILT = "not in the guests: `make tests` builds it"


class Report:
    """Facts, then numbered steps with their results."""

    def __init__(self):
        self._steps = self.skipped = 0
        self.failed = False

    def fact(self, name, value):
        print(f"  {name:10} {value}", flush=True)

    def step(self, what, trouble=None, result="FAILED"):
        """Report a step as ok, or why it failed; returns whether it was ok."""
        self._steps += 1
        self.failed |= bool(trouble) and result == "FAILED"
        print(f"  {self._steps:2} {result if trouble else 'ok':6} {what}", flush=True)
        if trouble:
            print(f"            {kvm.without_folders(str(trouble))}", flush=True)
        return not trouble


def _first(path, start):
    """The text after the colon or '=' of the first line that starts so."""
    for line in path.read_text("utf-8", "replace").splitlines():
        if line.startswith(start):
            return line[len(start):].strip("\t :=\"")
    return "unknown"


def _output(*words):
    """The first line that a command prints."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              errors="replace", check=False)
    except OSError:
        return "unknown"
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout else "unknown"


def facts(report):
    """The host, without anything that identifies it."""
    system = platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    modules = sorted(path.name for path in pathlib.Path("/sys/module").glob("kvm*"))
    virtual = "this is a virtual machine" if kvm.in_a_virtual_machine() else "no hypervisor below"
    report.fact("sources", _output("git", "-C", host.TOP, "describe", "--always", "--dirty"))
    report.fact("system", f"{system}, {platform.machine()}")
    report.fact("kernel", f"{platform.release()}, {' '.join(modules) or 'no module kvm'}")
    report.fact("processor", f"{_first(pathlib.Path('/proc/cpuinfo'), 'model name')}, "
                             f"{len(os.sched_getaffinity(0))} of them; {virtual}")
    report.fact("memory", _first(pathlib.Path("/proc/meminfo"), "MemTotal"))


def _accelerator(args, report, qemu, image):
    """The cluster's accelerator, or None; KVM may be missing by default."""
    if args.accel == "tcg":
        works = report.step("tcg runs an instruction", kvm.instruction(qemu, "tcg"))
        return "tcg" if works else None
    host.forget_kvm()
    result = "FAILED" if args.accel == "kvm" else "no"
    for what, trouble in kvm.steps(qemu, image):
        if not report.step(what, trouble, result):
            return None if args.accel == "kvm" else "tcg"
    return "kvm"


class Programs:
    """Programs in the guests of a running cluster."""

    def __init__(self, name, folder):
        self._name, self._folder = name, folder
        self.status = wire.Connection.open(name).request({"op": "status"})
        initramfs = pathlib.Path(self.status["image"], "initramfs")
        self._files = sorted(cpio.modes(initramfs.read_bytes()))

    def names(self, prefix):
        """The test programs that the guests have."""
        return [path.removeprefix(LIBEXEC) for path in self._files
                if path.startswith(LIBEXEC + prefix)]

    def run(self, *command, nodes=None):
        """(exit status, what node 0 printed)"""
        status = programs.run(argparse.Namespace(
            name=self._name, nodes=nodes, timeout=RUN_SECONDS, gone_timeout=20, env=[],
            cwd="/root", output_dir=self._folder, trace=None, ppn=1, mpi=False, file=[],
            command=list(command)))
        return status, (self._folder / "node0.out").read_text("utf-8", "replace")

    def trouble(self, *command, nodes=None):
        """None, or how a program ended and its last complaint."""
        status, text = self.run(*command, nodes=nodes)
        if status in (0, KSFT_SKIP):
            return None
        complaints = [line for line in text.splitlines() if line.startswith("not ok")]
        complaints += (self._folder / "node0.err").read_text("utf-8", "replace").splitlines()
        return ": ".join([f"{command[0]} ended with status {status}", *complaints[-1:]])


def _tests(report, guests, what, names, nodes=None):
    """One step for several test programs."""
    if not names:
        report.step(what, UNBUILT, "skip")
        report.skipped += 1
        return
    troubles = [guests.trouble(f"/{LIBEXEC}{name}", nodes=nodes) for name in names]
    report.step(f"{what} ({', '.join(names)})", "; ".join(filter(None, troubles)))


def _in_guests(report, name):
    """The steps that need a running cluster."""
    with tempfile.TemporaryDirectory() as folder:
        guests = Programs(name, pathlib.Path(folder))
        seconds = max(node["boot_seconds"] for node in guests.status["nodes"])
        report.step(f"a cluster of {guests.status['shape']} boots, tofu.ko loads "
                    f"({seconds:.1f} s)")
        _tests(report, guests, "the driver's tests", guests.names("tofu_"), nodes="0")
        _tests(report, guests, "puts, gets and atomics of all sizes arrive whole",
               guests.names("data") + guests.names("atomics"))
        report.step("halos arrive whole (tofu-halo)", guests.trouble("tofu-halo", "--verify"))
        status, text = guests.run("tofu-perf", "--size", "8,64K")
        report.step("transfers are measured (tofu-perf)", status and f"status {status}")
        for line in text.splitlines()[1:]:
            print(f"            {line}", flush=True)


def _steps(args, report):
    try:
        qemu = args.qemu or host.qemu()
        image = host.guest(args.guest_arg)
        host.fabric_tool()
    except ClusterError as error:
        report.step("QEMU, kernel and initramfs are built", error)
        return
    version = _output(qemu, "--version")
    report.step(f"QEMU, kernel and initramfs are built ({version})")
    args.accel = _accelerator(args, report, qemu, image)
    if not args.accel:
        return
    try:
        boot.up(args)
    except ClusterError as error:
        boot.say(str(error))
        report.step("a cluster boots, tofu.ko loads", str(error).splitlines()[0])
        return
    try:
        _in_guests(report, args.name)
    except ClusterError as error:
        report.step("the cluster stays up", error)
    finally:
        boot.down(args)


def check(args):
    """0 if all is well with the accelerator that was requested or found."""
    if args.time == "virtual":
        raise ClusterError("the check runs in functional time: leave out --time")
    if args.name == "default":
        args.name = NAME
    if not args.nodes and not args.shape:
        args.nodes = NODES
    report = Report()
    print("tofu-cluster check", flush=True)
    facts(report)
    _steps(args, report)
    skipped = f", {report.skipped} skipped" if report.skipped else ""
    ending = "FAILED" if report.failed else f"all is well with {args.accel}{skipped}"
    print(f"tofu-cluster check: {ending}", flush=True)
    return int(report.failed)
