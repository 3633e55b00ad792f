# SPDX-License-Identifier: MIT
"""The conformance programs in guests, on a machine of six TNIs a node."""

from .cluster import OUT, Cluster

PROGRAMS = OUT / "tests/conformance/guest"
# With what a program is told; the rings are of the smallest size, 2048.
WORDS = {
    "caps": ["6"], "vcq": [], "share": [], "memory": [], "put": [], "order": [],
    "atomic": [], "stride": [], "prepared": [], "queue": ["2048"], "path": [],
    "thread": [], "session": [], "gate": [], "barrier": [], "peer": [],
}
RINGS = {"TOFU_TOQ_CODE": "0", "TOFU_MRQ_CODE": "0"}


def conformance(tap):
    """what programs rely on, in four guests of six TNIs"""
    with Cluster("conformance", 4, "1x1x1x2x1x2", options=["--tnis", "6"]) as cluster:
        for name, words in WORDS.items():
            result = cluster.run(PROGRAMS / name, *words, env=RINGS)
            tap.forward(name, result.out(), result.status, result.everything())


TESTS = {"conformance": conformance}
