# SPDX-License-Identifier: MIT
"""The conformance programs in guests, on nodes of Fugaku, by one process and by four."""

import time

from .cluster import OUT, RUN_SECONDS, Cluster, finish
from .shared import stream_until

PROGRAMS = OUT / "tests/conformance/guest"
# With what a program is told; the rings are of the smallest size, 2048.
WORDS = {
    "caps": ["6"], "vcq": [], "share": [], "argument": [], "memory": [], "put": [],
    "order": [], "atomic": [], "stride": [], "prepared": [], "queue": ["2048"], "path": [],
    "thread": [], "session": [], "gate": [], "barrier": [], "peer": [],
}
LAST = 3
RINGS = {"TOFU_TOQ_CODE": "0", "TOFU_MRQ_CODE": "0"}
PPN = 4
# What has most to do with several processes; all of it takes minutes, as many of
# them share a processor.
SHORT = "caps", "vcq", "share", "atomic", "path", "session", "gate", "peer"


def _run(tap, cluster, name, words, ppn):
    began = time.monotonic()
    result = cluster.run(PROGRAMS / name, *words, timeout=RUN_SECONDS * ppn,
                         env={**RINGS, "CONFORM_PPN": str(ppn)})
    tap.forward(f"{name} by {ppn} a node", result.out(), result.status, result.everything())
    tap.note(f"{name} by {ppn} a node: {time.monotonic() - began:.1f} s")


def _run_and_kill(tap, cluster, name):
    """The last node is killed when all say that they are under way."""
    process = cluster.start_run(PROGRAMS / name, "lost", env=RINGS)
    seen, streaming = stream_until(process, cluster.nodes)
    tap.point(streaming, f"{name}: all nodes are under way", seen)
    cluster.tool("kill", LAST)
    result = finish(process, RUN_SECONDS, seen)
    # The run's own status is that of the node that was lost.
    tap.forward(f"a node is killed, {name}", result.out(), 0, result.everything())
    cluster.tool("start", LAST, timeout=180)


def conformance(tap):
    """what programs rely on, in four guests of six TNIs"""
    with Cluster("conformance", 4, "1x1x1x2x1x2", options=["--machine", "fugaku"]) as cluster:
        for name, words in WORDS.items():
            _run(tap, cluster, name, words, 1)
        for name in SHORT:
            _run(tap, cluster, name, WORDS[name], PPN)
        for name in "barrier", "peer":
            _run_and_kill(tap, cluster, name)


def conformance_processes(tap):
    """what programs rely on, by four processes on each of four guests"""
    with Cluster("conformance-ppn", 4, "1x1x1x2x1x2", options=["--machine", "fugaku"]) as cluster:
        for name, words in WORDS.items():
            if name not in SHORT:
                _run(tap, cluster, name, words, PPN)


TESTS = {"conformance": conformance}
LONG_TESTS = {"conformance-ppn": conformance_processes}
