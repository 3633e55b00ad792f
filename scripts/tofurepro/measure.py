# SPDX-License-Identifier: MIT
"""Measurements: a cluster in virtual time, up for one boot; a machine of tofu-sim; or
processes of this host."""

import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import time

from tofubuild import kernel
from tofubuild import system as host_system
from tofucluster import host

from .errors import ReproError
from .model import OUT

TOP = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = TOP / "scripts/tofu-cluster"
BIN = OUT / "bin"
PROGRAMS = TOP / "tests/repro/programs"
SEPARATOR = "tofu-repro-next"
BOOT_SECONDS = 600


def nodes_of(shape):
    """12 of '3x2x2'"""
    return math.prod(map(int, shape.split("x")))


@dataclasses.dataclass(frozen=True)
class Run:
    """Programs that run one after the other in one boot of a cluster.

    `name` is the name of the resulting sheet. A call is the command line of a
    program that prints JSON; it runs on all nodes, and node 0 prints.
    """
    name: str
    machine: str
    shape: str
    calls: tuple
    memory: int = 256
    seconds: int = 3600

    def nodes(self):
        return nodes_of(self.shape)

    def up_words(self):
        # The contents of a guest move times by some nanoseconds: whether tests
        # have been built must not matter.
        return ("--time", "virtual", "--machine", self.machine, "--shape", self.shape,
                "--memory", str(self.memory), "--guest-arg=--no-tests")

    def script(self):
        return f" && echo {SEPARATOR} && ".join(" ".join(map(str, call)) for call in self.calls)

    def commands(self):
        """Command lines for a person who wants to repeat it."""
        yield " ".join(("scripts/tofu-cluster", "up", *self.up_words()))
        for call in self.calls:
            yield " ".join(("scripts/tofu-cluster", "run", *map(str, call)))


@dataclasses.dataclass(frozen=True)
class Processes:
    """Programs of this host, in processes as nodes: results without times."""
    name: str
    count: int
    calls: tuple
    machine: str = "processes"
    seconds: int = BOOT_SECONDS

    @property
    def shape(self):
        return str(self.count)

    def nodes(self):
        return self.count

    def words(self, call):
        return (BIN / "tofu-run", "-n", self.count, "--shape", self.count, BIN / call[0],
                *call[1:])

    def commands(self):
        yield from _by_hand(self)


@dataclasses.dataclass(frozen=True)
class Simulated:
    """Programs on all nodes of machines of tofu-sim, one after the other.

    A call is a machine's shape, the words of a program that prints JSON, and perhaps
    changes of the machine's values, such as "hop_ns=50%".
    """
    name: str
    machine: str
    calls: tuple
    seconds: int = 3600

    @property
    def shape(self):
        """The largest."""
        return max((shape for shape, *_ in self.calls), key=nodes_of)

    def nodes(self):
        return nodes_of(self.shape)

    def words(self, call):
        shape, program, *changes = call
        return (BIN / "tofu-sim", "--quiet", "--machine", self.machine, "--shape", shape,
                *(word for change in changes for word in ("--set", change)), *program)

    def commands(self):
        yield from _by_hand(self)


def program(name):
    """Where a program of PROGRAMS is, once programs_build() has compiled it."""
    return OUT / "tests/repro" / name


def programs_build():
    """Compiles all programs of PROGRAMS against the built library."""
    for source in sorted(PROGRAMS.glob("*.c")):
        out = program(source.stem)
        out.parent.mkdir(parents=True, exist_ok=True)
        command = ["cc", "-std=c11", "-O2", "-Wall", "-Wextra", f"-I{TOP}/libtofu/include",
                   str(source), f"-L{OUT}/lib", "-ltofucom", "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ReproError(f"{' '.join(command)}\n{done.stderr.strip()}")


def _by_hand(run):
    for call in run.calls:
        yield " ".join(str(word).replace(f"{OUT}/", "build/") for word in run.words(call))


def system():
    """The parts of this system that times depend on: 'Debian 12: gcc 12, …'."""
    gcc = subprocess.run(["gcc", "-dumpversion"], capture_output=True, text=True, check=True)
    qemu = subprocess.run([host.qemu(), "--version"], capture_output=True, text=True, check=True)
    release = kernel.headers().name.removeprefix("linux-headers-")
    versions = [host_system.dotted(host_system.version(text))
                for text in (release, qemu.stdout.split()[3])]
    return f"{host_system.name()}: gcc {gcc.stdout.strip()}, Linux {versions[0]}, " \
           f"QEMU {versions[1]}"


def _tool(name, command, *words, seconds):
    full = [str(CLUSTER), command, "--name", name, *map(str, words)]
    done = subprocess.run(full, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                          timeout=seconds, check=False)
    if done.returncode:
        raise ReproError(f"{' '.join(full)}\n{done.stderr.strip()}")


def _answers(path, run):
    parts = path.read_text(encoding="utf-8").split(SEPARATOR)
    if len(parts) != len(run.calls):
        raise ReproError(f"{run.name}: {len(parts)} of {len(run.calls)} programs have ended")
    return [json.loads(part) for part in parts]


def _process_answer(run, call, children=None):
    command = [str(word) for word in run.words(call)]
    children = set() if children is None else children
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as child:
        children.add(child)
        try:
            out, err = child.communicate(timeout=run.seconds)
        except BaseException:
            child.kill()
            raise
        finally:
            children.discard(child)
    if child.returncode:
        raise ReproError(f"{' '.join(command)}\n{err.strip()}")
    return json.loads(re.sub(r"^\[\d+\] ", "", out, flags=re.M))


def _timed(run, call, children):
    began = time.monotonic()
    return _process_answer(run, call, children), time.monotonic() - began


def simulate(runs):
    """Runs of tofu-sim, as many calls at once as there are processors.

    Yields (run, its answers, their seconds). The largest machines begin: they
    take longest, and nothing waits for them at the end.
    """
    programs_build()
    children = set()
    pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    try:
        begun = [(run, [pool.submit(_timed, run, call, children) for call in run.calls])
                 for run in sorted(runs, key=Simulated.nodes, reverse=True)]
        for run, calls in begun:
            answers, seconds = zip(*(call.result() for call in calls))
            yield run, list(answers), sum(seconds)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(children):
            child.kill()


def measure(run, more=()):
    """Output of the run's calls, in order; `more` are clusters' arguments."""
    if isinstance(run, Processes):
        return [_process_answer(run, call) for call in run.calls]
    name = f"repro-{os.getpid()}-{run.name}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            _tool(name, "up", "--owner", os.getpid(), *run.up_words(), *more,
                  "--boot-timeout", BOOT_SECONDS, seconds=2 * BOOT_SECONDS)
            _tool(name, "run", "--timeout", run.seconds, "--output-dir", folder,
                  "sh", "-c", run.script(), seconds=run.seconds + BOOT_SECONDS)
        finally:
            subprocess.run([str(CLUSTER), "down", "--name", name], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=120, check=False)
        return _answers(pathlib.Path(folder, "node0.out"), run)
