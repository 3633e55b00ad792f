# SPDX-License-Identifier: MIT
"""Tests that share a cluster of four nodes; those that kill nodes come last."""

import json
import os
import re

from .cluster import GUEST, OUT, finish

VICTIM = 2
STREAM_SECONDS = 60


def guest_test(name):
    """Make the test that runs a program of guest/ on all nodes."""
    def test(tap, cluster):
        result = cluster.run(GUEST / name)
        tap.forward(name, result.out(), result.status, result.everything())
    test.__doc__ = f"guest/{name}.c on four nodes"
    return test


def barrier(tap, cluster):
    """guest/barrier.c on four nodes; a process that ends in a barrier, and has a child"""
    guest_test("barrier")(tap, cluster)
    result = cluster.run(GUEST / "barrier", "forked")
    for node in range(cluster.nodes - 1):
        tap.point("forked: ended -256" in result.out(node),
                  f"node {node} does not wait for a process that has ended and left a child",
                  result.everything())


def flags(tap, cluster):
    """a processor keeps its flags where it exchanges several words at once"""
    result = cluster.run(GUEST / "flags")
    tap.point(result.status == 0, "flags outlast CMPXCHG8B and CMPXCHG16B", result.everything())


def info(tap, cluster):
    """tofu-info names each node's place, and its counters count"""
    result = cluster.run("tofu-info", "--json")
    tap.point(result.status == 0, "tofu-info finds the controllers", result.everything())
    if result.status:
        return
    for node in range(cluster.nodes):
        found = json.loads(result.out(node))["controllers"][0]
        tap.point(found["node"] == node and found["nodes"] == cluster.nodes and
                  found["driver"] == "tofu" and len(found["bars"]) == 3 and
                  found["gates_per_tni"] == 48,
                  f"tofu-info on node {node}", result.out(node))
    before = json.loads(result.out(0))["controllers"][0]
    tap.point(len(before["ports"]) == 10 and len(before["cqs"]) == 12 * before["tnis"],
              "tofu-info has the counters of all ports and CQs", result.out(0))
    cluster.run("tofu-perf", "--size", "8")
    result = cluster.run("tofu-info", "--json", nodes="0")
    after = json.loads(result.out(0))["controllers"][0]
    sent = [sum(port["tx_bytes"] for port in counters["ports"]) for counters in (before, after)]
    tap.point(sent[1] > sent[0], "ports count what is sent", str(sent))


def _halo(tap, cluster, name, *words, status=0):
    """Run tofu-halo with --json; returns its document, or None."""
    result = cluster.run("tofu-halo", "--json", *words)
    tap.point(result.status == status, name, result.everything())
    try:
        return json.loads(result.out()), result
    except ValueError:
        return None, result


def halo(tap, cluster):
    """tofu-halo: each scheduler and algorithm, and that it finds a wrong byte"""
    report, _ = _halo(tap, cluster, "SCALE-LES3, all rows", "--iterations", "3", "--warmup", "0")
    rows = report["rows"] if report else []
    tap.point(len(rows) == 11 and all(
        row["bytes_verified"] == row["bytes_per_exchange"] * 3 * cluster.nodes and
        row["bytes_wrong"] == 0 for row in rows), "every byte of 11 rows verified", str(rows))
    # Published for k = 60 and 872: 2 messages E/W, 4 N/S, 8 diagonal
    sizes = {row["k"]: row["bytes_per_exchange"] for row in rows}
    tap.point(sizes.get(60) == 2 * 16384 + 4 * 8192 + 8 * 1024 and
              sizes.get(872) == 2 * 224256 + 4 * 112128 + 8 * 14016,
              "messages have the published sizes", str(sizes))
    _halo(tap, cluster, "SCALE-LES3, neighbours run ahead", "--free-running", "--grid", "60",
          "--iterations", "50")
    report, _ = _halo(tap, cluster, "SCALE-LES3, each part, each scheduler, barriers of gates",
                      "--barrier", "--part", "each", "--scheduler", "each,native,orig",
                      "--grid", "60", "--iterations", "3", "--warmup", "0")
    rows = report["rows"] if report else []
    tap.point(len(rows) == 5 * 9 and len({(row["part"], row["scheduler"]) for row in rows}) == 45,
              "a row for each", str(rows))
    report, _ = _halo(tap, cluster, "from point to point, short messages and long ones",
                      "--pattern", "neighbor", "--neighbors", "6", "--algorithm", "orig",
                      "--bytes", "8,16K,100001,2M", "--iterations", "4")
    tap.point(report is not None and [row["runs"] for row in report["rows"]] == 4 * ["orig"],
              "four sizes from point to point", str(report))
    for form in "one-sided", "two-sided", "steps", "messages":
        report, _ = _halo(tap, cluster, f"6 and 7 neighbours, {form}", "--pattern", "neighbor",
                          "--neighbors", "6,7", "--algorithm", "segmented,auto", "--form", form,
                          "--bytes", "1,3,4096,100001", "--iterations", "4")
        runs = {(row["bytes"], row["algorithm"]): row["runs"]
                for row in (report["rows"] if report else [])}
        tap.point(runs.get((1, "auto")) == "native" and runs.get((3, "segmented")) == "segmented"
                  and runs.get((100001, "auto")) == "segmented",
                  f"auto takes what is faster, {form}", str(runs))
    _halo(tap, cluster, "6 neighbours, segmented, running ahead", "--pattern", "neighbor",
          "--neighbors", "6", "--algorithm", "segmented", "--bytes", "5000",
          "--iterations", "50", "--free-running")
    report, result = _halo(tap, cluster, "a wrong byte makes it fail", "--grid", "60",
                           "--iterations", "2", "--corrupt", "3", status=1)
    tap.point(report is not None and report["rows"][0]["bytes_wrong"] == 1 and
              "from node 3 going north-west" in result.everything(),
              "one wrong byte is found and named", result.everything())


def tofu_coll(tap, cluster):
    """tofu-coll: all collectives by all algorithms, and that it finds a wrong byte"""
    words = ("tofu-coll", "--json", "--collective", "all", "--algorithm", "each",
             "--bytes", "8,40000", "--iterations", "2", "--warmup", "1")
    result = cluster.run(*words, "--verify")
    tap.point(result.status == 0, "all collectives by all algorithms", result.everything())
    result = cluster.run(*words, "--corrupt", "1", "--root", "1")
    rows = json.loads(result.out())["rows"] if result.status == 1 else []
    tap.point(bool(rows) and all(bool(row["wrong"]) == (row["collective"] != "barrier")
                                 for row in rows),
              "a wrong element is found in each", result.everything())


def perf(tap, cluster):
    """tofu-perf runs and its figures are figures"""
    result = cluster.run("tofu-perf", "--json", "--size", "8,64K", "--iterations", "50")
    tap.point(result.status == 0, "tofu-perf", result.everything())
    rows = json.loads(result.out())["results"] if result.status == 0 else []
    tap.point([(r["op"], r["bytes"]) for r in rows] ==
              [("put", 8), ("put", 65536), ("get", 8), ("get", 65536), ("armw", 8)],
              "tofu-perf measures what it was asked for", str(rows))
    tap.point(bool(rows) and all(
        0 < r["latency_us"]["min"] <= r["latency_us"]["median"] <= r["latency_us"]["p99"]
        <= r["latency_us"]["max"] and r["mb_per_s"] > 0 for r in rows),
        "its percentiles are in order", str(rows))
    result = cluster.run("tofu-perf", "--op", "put", "--size", "64K", "--iterations", "50",
                         "--tnis", "3")
    tap.point(result.status == 0, "tofu-perf by three TNIs", result.everything())


def examples(tap, cluster):
    """libtofu/examples, as they were built with the installed library"""
    for name in "ping-pong", "halo-2d", "chain":
        result = cluster.run(OUT / "examples" / name)
        tap.point(result.status == 0, f"example {name}", result.everything())


def kselftest(tap, cluster):
    """the driver's tests, in a guest"""
    programs = sorted(p for p in (OUT / "tests/kselftest").glob("*")
                      if p.is_file() and os.access(p, os.X_OK))
    if not programs:
        tap.point(False, "kselftest: nothing is built")
    for program in programs:
        # With a debug kernel it has a cluster of its own.
        if cluster.reports and program.name == "tofu_fuzz":
            continue
        result = cluster.run(f"/usr/libexec/tofu/{program.name}", nodes="0")
        tap.forward(program.name, result.out(), result.status, result.everything())


def stream_until(process, nodes):
    """Reads until every node is under way; returns the output."""
    seen, streaming = "", set()
    while len(streaming) < nodes:
        line = process.stdout.readline()
        if not line:
            break
        seen += line
        if match := re.match(r"\[(\d+)\] # node \1: streaming", line):
            streaming.add(match[1])
    return seen, len(streaming) == nodes


def kill(tap, cluster):
    """a node is killed in mid-transfer, comes back and works again"""
    process = cluster.start_run(GUEST / "survive", VICTIM, timeout=STREAM_SECONDS * 3)
    seen, streaming = stream_until(process, cluster.nodes)
    tap.point(streaming, "all nodes send to all", seen)
    cluster.tool("kill", VICTIM)
    result = finish(process, STREAM_SECONDS * 3 + 30, seen)
    for node in range(cluster.nodes):
        if node != VICTIM:
            tap.forward(f"node {VICTIM} killed, node {node}", result.out(node), 0,
                        result.everything())
    cluster.tool("start", VICTIM, timeout=180)
    result = cluster.run(GUEST / "all-to-all")
    tap.forward("after the node came back", result.out(), result.status, result.everything())
    if cluster.reports:
        return  # They are looked for in all of the cluster's time.
    counts = cluster.run("sh", "-c", "dmesg | grep -cE 'BUG:|WARNING:|Oops|Call Trace' || true")
    for node in range(cluster.nodes):
        tap.point(counts.out(node).strip() == "0", f"node {node}: the kernel did not complain",
                  counts.everything())


def node_kill(tap, cluster, name, program, victim, *words):
    """Run a program whose victim waits for its node to be killed; start the node again."""
    process = cluster.start_run(program, victim, *words)
    seen, streaming = stream_until(process, cluster.nodes)
    tap.point(streaming, f"{name}: all nodes are under way before", seen)
    cluster.tool("kill", victim)
    result = finish(process, STREAM_SECONDS * 3 + 30, seen)
    tap.forward(name, result.out(), 0, result.everything())
    cluster.tool("start", victim, timeout=180)


def exchange_kill(tap, cluster):
    """a process, then a node, dies between two neighbour exchanges"""
    for way in "native", "segmented", "steps":
        result = cluster.run(GUEST / "exchange-survive", VICTIM, way, "die")
        tap.forward(f"process killed, {way}", result.out(), result.status,
                    result.everything())
    node_kill(tap, cluster, "node killed", GUEST / "exchange-survive", VICTIM, "segmented", "wait")


def coll_kill(tap, cluster):
    """processes, then nodes, die between two starts of a collective"""
    for algorithm in "gates", "pipelined", "streamed", "doubling", "halving", "ring":
        result = cluster.run(GUEST / "coll-survive", VICTIM, algorithm, "die")
        tap.forward(f"process killed, {algorithm}", result.out(), result.status,
                    result.everything())
    for algorithm in "gates", "pipelined":
        node_kill(tap, cluster, f"node killed, {algorithm}", GUEST / "coll-survive", VICTIM,
                  algorithm, "wait")


SRB_VICTIM = 3
SRB_STEPS = ("reserve", "read", "head", "half", "tail", "stream")


def coll(tap, cluster):
    """random collectives, against what one process computes"""
    result = cluster.run(GUEST / "coll", 200, 1000)
    tap.forward("coll", result.out(), result.status, result.everything())


def srb_storm(tap, cluster):
    """three nodes send to the shared receive buffer of the fourth"""
    result = cluster.run(GUEST / "srb-storm", 30000)
    tap.forward("srb-storm", result.out(), result.status, result.everything())


def srb_survive(tap, cluster):
    """processes die at each step of sending to a shared receive buffer"""
    for step in SRB_STEPS:
        result = cluster.run(GUEST / "srb-survive", SRB_VICTIM, step, "die")
        tap.forward(f"process killed, {step}", result.out(), result.status,
                    result.everything())


def srb_kill(tap, cluster):
    """nodes die at each step of sending to a shared receive buffer"""
    for step in SRB_STEPS:
        node_kill(tap, cluster, f"node killed, {step}", GUEST / "srb-survive", SRB_VICTIM, step,
                  "wait")


TESTS = {
    "data": guest_test("data"),
    "all-to-all": guest_test("all-to-all"),
    "atomics": guest_test("atomics"),
    "barrier": barrier,
    "exchange": guest_test("exchange"),
    "p2p": guest_test("p2p"),
    "coll": coll,
    "srb-storm": srb_storm,
    "srb-survive": srb_survive,
    "flags": flags,
    "info": info,
    "halo": halo,
    "tofu-coll": tofu_coll,
    "perf": perf,
    "examples": examples,
    "kselftest": kselftest,
    "coll-kill": coll_kill,
    "exchange-kill": exchange_kill,
    "srb-kill": srb_kill,
    "kill": kill,
}
