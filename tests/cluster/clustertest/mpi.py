# SPDX-License-Identifier: MIT
"""MPI programs of the host on virtual machines, their messages over the interconnect."""

import re
import subprocess
import tempfile

from .cluster import OUT, Cluster, finish
from .virtual import Traced, VIRTUAL, compare

PROGRAMS = OUT / "tests/mpi"
MPI = ("--mpi",)
VICTIM = 1
ENDS = {"abort": 7, "kill": 137, "exit": 9}
EXIT_TIMEOUT = 124
SOON_SECONDS = 60
GONE_SECONDS = 30
TIMES = (PROGRAMS / "times", "10", "65536")


def _missing(tap, name):
    """Whether Open MPI is not here; a skipped point then."""
    if (PROGRAMS / "messages").exists():
        return False
    tap.skip(name, "no libfabric or Open MPI here when it was built")
    return True


def _ends(tap, cluster):
    for how, status in ENDS.items():
        result = cluster.run(PROGRAMS / "lost", how, options=MPI)
        named = f"run: exit status {status} on node {VICTIM}\n"
        # Others may fail by themselves, when they find it gone; none waits for the limit.
        tap.point(result.status >= status and result.status != EXIT_TIMEOUT
                  and named in result.everything(),
                  f"a rank ends by {how}: the others are ended, and it is named",
                  f"status {result.status}\n{result.everything()}")


def _lost_node(tap, cluster):
    process = cluster.start_run(PROGRAMS / "lost", "stay", options=MPI, gone=GONE_SECONDS)
    waiting, seen = set(), ""
    while len(waiting) < cluster.nodes and (line := process.stdout.readline()):
        seen += line
        if match := re.match(r"\[(\d+)\] waiting", line):
            waiting.add(match[1])
    cluster.tool("kill", VICTIM)
    result = finish(process, SOON_SECONDS * cluster.slowness, seen)
    tap.point(len(waiting) == cluster.nodes and result.status == 125
              and f"process {VICTIM} (node {VICTIM}) is gone" in result.everything(),
              "a node is lost: the others end, and name it",
              f"status {result.status}\n{result.everything()}")
    cluster.tool("start", VICTIM)


def _refused(tap, cluster):
    cases = [(("--mpi",), OUT / "bin/tofu-info", "does not use an MPI"),
             (("--mpi", "--ppn", "5"), PROGRAMS / "messages", "nodes have 4 for 5 processes"),
             (("--mpi", "--nodes", "1,2"), PROGRAMS / "messages", "are on node 0"),
             (("--file", "/no/file"), "true", "--file: no file /no/file")]
    for options, program, why in cases:
        done = subprocess.run(cluster.words("run", *options, "--", program), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              check=False)
        tap.point(done.returncode == 1 and why in done.stderr,
                  f"{' '.join(options)} {program}: it is said what is wrong", done.stderr)


def _files(tap, cluster):
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="ascii") as file:
        file.write("content\n")
        file.flush()
        result = cluster.run("cat", "there/it-is", options=("--file", f"{file.name}:there/it-is"))
    tap.point(all(result.out(node) == "content\n" for node in range(cluster.nodes)),
              "a file of the host is where --file says", result.everything())
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(cluster.memory << 20)
        result = cluster.run("true", nodes="0", options=("--file", file.name))
    tap.point(result.status == 1 and "`up --memory` gives it more" in result.everything(),
              "a file larger than a node's memory is refused", result.everything())
    result = cluster.run("true", nodes="0")
    tap.point(result.status == 0, "and the node runs programs after it", result.everything())


def functional(tap):
    """Open MPI's messages on four nodes: one process each, two each; ends; lost nodes"""
    if _missing(tap, "MPI on virtual machines"):
        return
    with Cluster("mpi", 4, "2x2") as cluster:
        for ppn in 1, 2:
            result = cluster.run(PROGRAMS / "messages", options=(*MPI, "--ppn", ppn))
            tap.forward(f"{ppn} a node", result.out(), result.status, result.everything())
        result = cluster.run(PROGRAMS / "wire", options=(*MPI, "--ppn", 2))
        tap.forward("an MPICH's lines", result.out(), result.status, result.everything())
        result = cluster.run("sh", "-c", "echo $TOFU_RANK of $TOFU_RANKS",
                             options=("--ppn", 3, "--nodes", "0-1"))
        lines = [f"{rank} of 6" for rank in range(6)]
        tap.point([result.out(rank).strip() for rank in range(6)] == lines,
                  "--ppn: lines have the number of their process", result.everything())
        _files(tap, cluster)
        _refused(tap, cluster)
        _ends(tap, cluster)
        _lost_node(tap, cluster)


def virtual(tap):
    """Open MPI in virtual time: messages, and twice the same nanoseconds"""
    if _missing(tap, "MPI in virtual time"):
        return
    with tempfile.TemporaryDirectory() as folder, \
            Cluster("mpi-exact", 2, "2", options=VIRTUAL) as cluster:
        first = Traced(cluster, folder, TIMES, MPI)
        tap.point(first.good() and "exchange" in first.result.out(),
                  "an MPI program in virtual time, with a trace", str(first))
        compare(tap, first, Traced(cluster, folder, TIMES, MPI),
                "once more: not a nanosecond differs")
        result = cluster.run(PROGRAMS / "wire", options=MPI)
        tap.forward("an MPICH's lines", result.out(), result.status, result.everything())


TESTS = {"mpi": functional}
TIMED_TESTS = {"mpi-exact": virtual}
