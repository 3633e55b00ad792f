# SPDX-License-Identifier: MIT
"""The conformance programs in guests, on nodes of Fugaku, by one process and by four,
and with Fugaku's controllers in virtual time."""

import signal
import subprocess
import time

from .cluster import OUT, RUN_SECONDS, TOP, Cluster, finish
from .shared import stream_until

PROGRAMS = OUT / "tests/conformance/guest"
# Arguments of the programs; the rings have the smallest size, 2048.
WORDS = {
    "caps": ["6"], "vcq": [], "share": [], "argument": [], "memory": [], "put": [],
    "order": [], "atomic": [], "stride": [], "prepared": [], "queue": ["2048"], "path": [],
    "thread": [], "session": [], "gate": [], "barrier": [], "peer": [],
}
LAST = 3
RINGS = {"TOFU_TOQ_CODE": "0", "TOFU_MRQ_CODE": "0"}
PPN = 4
SHAPE = "1x1x1x2x1x2"
FUGAKU = ["--machine", "fugaku"]
# Each run boots the guests, which wait for each other all the time.
TIMED = [*FUGAKU, "--time", "virtual"]
TIMED_SECONDS = 1200
# What has most to do with several processes; all of it takes minutes, as many of
# them share a processor.
SHORT = "share", "session", "gate"
# What has most to do with how transfers take time, and takes seconds; machines of
# tofu-sim say the same for the others, too
QUICK = "caps", "put", "gate"


def _run(tap, cluster, name, words, ppn):
    began = time.monotonic()
    result = cluster.run(PROGRAMS / name, *words, timeout=RUN_SECONDS * ppn,
                         env={**RINGS, "CONFORM_PPN": str(ppn)})
    tap.forward(f"{name} by {ppn} a node", result.out(), result.status, result.everything())
    tap.note(f"{name} by {ppn} a node: {time.monotonic() - began:.1f} s")


def _run_timed(tap, cluster, name):
    began = time.monotonic()
    result = cluster.run(PROGRAMS / name, *WORDS[name], timeout=TIMED_SECONDS, env=RINGS)
    tap.forward(f"{name}, timed", result.out(), result.status, result.everything())
    tap.note(f"{name}, timed: {time.monotonic() - began:.1f} s")


def _run_mutant(tap, cluster, mutant, command, part):
    """A program with a library that breaks a claim, until that has failed.

    Then node 0 ends, and the others would wait for it for a minute of virtual time.
    """
    began = time.monotonic()
    name, *words = command.split()
    env = {**RINGS, "MUTANT": mutant, "CONFORM_STOP": part, "CONFORM_WAIT": 2}
    process = cluster.start_run(PROGRAMS / "mutant" / name, *words, timeout=TIMED_SECONDS, env=env)
    seen = ""
    for line in process.stdout:
        seen += line
        if "Bail out!" in line:
            process.send_signal(signal.SIGINT)
            break
    result = finish(process, TIMED_SECONDS, seen)
    found = any(line.startswith("not ok") and part in line for line in result.out().splitlines())
    tap.point(found, f"{mutant} breaks '{part}', timed", result.everything())
    tap.note(f"{mutant}, timed: {time.monotonic() - began:.1f} s")


def _mutants():
    listed = subprocess.run([TOP / "tests/conformance/mutants", "--list"], timeout=60, check=True,
                            stdout=subprocess.PIPE, text=True).stdout
    return [line.split("\t") for line in listed.splitlines()]


def _run_and_kill(tap, cluster, name):
    """The last node is killed when all nodes are under way."""
    process = cluster.start_run(PROGRAMS / name, "lost", env=RINGS)
    seen, streaming = stream_until(process, cluster.nodes)
    tap.point(streaming, f"{name}: all nodes are under way", seen)
    cluster.tool("kill", LAST)
    result = finish(process, RUN_SECONDS, seen)
    # The status of the run is that of the killed node.
    tap.forward(f"a node is killed, {name}", result.out(), 0, result.everything())
    cluster.tool("start", LAST, timeout=180)


def conformance(tap):
    """what programs rely on, in four guests of six TNIs"""
    with Cluster("conformance", 4, SHAPE, options=FUGAKU) as cluster:
        for name, words in WORDS.items():
            _run(tap, cluster, name, words, 1)
        for name in SHORT:
            _run(tap, cluster, name, WORDS[name], PPN)
        for name in "barrier", "peer":
            _run_and_kill(tap, cluster, name)


def conformance_processes(tap):
    """what programs rely on, by four processes on each of four guests"""
    with Cluster("conformance-ppn", 4, SHAPE, options=FUGAKU) as cluster:
        for name, words in WORDS.items():
            if name not in SHORT:
                _run(tap, cluster, name, words, PPN)


def _timed(tap, names):
    with Cluster("conformance-timed", 4, SHAPE, memory=256, options=TIMED) as cluster:
        for name in names:
            _run_timed(tap, cluster, name)


def conformance_timed(tap):
    """what programs rely on, in virtual time: the quick programs"""
    _timed(tap, QUICK)


def conformance_timed_rest(tap):
    """what programs rely on, in virtual time: the others"""
    _timed(tap, [name for name in WORDS if name not in QUICK])


def conformance_timed_mutants(tap):
    """what breaks a claim is found in virtual time, too"""
    with Cluster("conformance-mutants", 4, SHAPE, memory=256, options=TIMED) as cluster:
        for mutant in _mutants():
            _run_mutant(tap, cluster, *mutant)


TESTS = {"conformance": conformance}
TIMED_TESTS = {"conformance-timed": conformance_timed}
LONG_TESTS = {
    "conformance-ppn": conformance_processes,
    "conformance-timed-rest": conformance_timed_rest,
    "conformance-timed-mutants": conformance_timed_mutants,
}
