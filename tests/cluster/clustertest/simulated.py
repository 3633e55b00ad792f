# SPDX-License-Identifier: MIT
"""Virtual machines and tofu-sim beside each other: with the same doorbells, all that
their controllers and the network do is the same to the nanosecond."""

import pathlib
import subprocess
import sys
import tempfile

from .cluster import GUEST, OUT, TOP, Cluster

sys.path.insert(0, str(TOP / "scripts"))
from tofutrace import records  # pylint: disable=wrong-import-position

RUN_SECONDS = 300
PROGRAM = GUEST / "exact"
SHOWN = 5


def _records(path):
    """A node's records by time, without marks, and as if their order were none."""
    return sorted(record._replace(index=0) for record in records.File(path).in_order()
                  if record.kind != records.MARK)


def _difference(node, machines, simulated):
    """The first records that only one of two lists has."""
    lines = [f"node {node}: {len(machines)} records, and {len(simulated)} on tofu-sim"]
    for name, these, those in (("virtual machines", machines, simulated),
                               ("tofu-sim", simulated, machines)):
        others = set(those)
        only = [record for record in these if record not in others]
        lines += [f"only on {name}: {record}" for record in only[:SHOWN]]
    return "\n".join(lines)


def _simulate(machine, shape, folder, doorbells):
    words = [OUT / "bin/tofu-sim", "--quiet", "--machine", machine, "--shape", shape, "--trace",
             folder, "--doorbells", doorbells, PROGRAM]
    return subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=RUN_SECONDS, check=False)


def _compare(tap, nodes, shape, machine):
    options = ("--time", "virtual", "--trace", "--machine", machine)
    with tempfile.TemporaryDirectory() as mine, tempfile.TemporaryDirectory() as theirs:
        with Cluster(f"as-{machine}", nodes, shape, memory=256,
                     options=(*options, "--log-dir", theirs)) as cluster:
            result = cluster.run(PROGRAM, timeout=RUN_SECONDS,
                                 trace=pathlib.Path(theirs, "merged.json"))
            tap.point(result.status == 0, f"{machine}, {shape}: a program on virtual machines",
                      result.everything())
            done = _simulate(machine, shape, mine, theirs)
        tap.point(done.returncode == 0, f"{machine}, {shape}: on tofu-sim, with their doorbells",
                  done.stdout + done.stderr)
        if result.status or done.returncode:
            return
        for node in range(nodes):
            pair = [_records(pathlib.Path(folder, f"node{node}.trace"))
                    for folder in (theirs, mine)]
            tap.point(pair[0] == pair[1] and pair[0],
                      f"{machine}, {shape}, node {node}: all records are the same",
                      _difference(node, *pair))


def as_simulated(tap):
    """two nodes of fx100, four of fugaku: each nanosecond as on tofu-sim"""
    _compare(tap, 2, "2", "fx100")
    _compare(tap, 4, "2x2", "fugaku")


TESTS = {"as-simulated": as_simulated}
