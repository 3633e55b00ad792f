# SPDX-License-Identifier: MIT
"""Tests that start and stop their own clusters."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

from .cluster import GUEST, TOP, Cluster, finish, is_alive, wait_until
from .shared import stream_until

CHECK_SECONDS = 600
ABOVE_GIB = 5  # guests from this size have memory above 4 GiB


def _shm():
    return set(pathlib.Path("/dev/shm").iterdir())


def two_clusters(tap):
    """two clusters side by side, of 2 and of 3 GiB guests"""
    with Cluster("two", 2, "2", memory=2048) as two, \
            Cluster("three", 2, "1x2", memory=3072) as three:
        both = [(c, c.start_run(GUEST / "all-to-all")) for c in (two, three)]
        for cluster, process in both:
            result = finish(process, 210)
            tap.forward(f"{cluster.memory} MiB, beside another cluster", result.out(),
                        result.status, result.everything())
        for cluster in two, three:
            result = cluster.run(GUEST / "high-memory", ABOVE_GIB)
            tap.forward(f"{cluster.memory} MiB", result.out(), result.status,
                        result.everything())
        two.tool("down")
        result = three.run(GUEST / "all-to-all")
        tap.forward("one cluster is taken down, the other", result.out(), result.status,
                    result.everything())


def high_memory(tap):
    """guests of 5 GiB: registered memory above 4 GiB"""
    with Cluster("five", 2, "2", memory=5120) as five:
        result = five.run(GUEST / "high-memory", ABOVE_GIB)
        tap.forward("5120 MiB", result.out(), result.status, result.everything())


def _check_gone(tap, name, cluster, pids, shm):
    gone = wait_until(lambda: not any(map(is_alive, pids)) and not cluster.processes())
    left = [pid for pid in [*pids, *cluster.processes()] if is_alive(pid)]
    tap.point(gone, f"{name}: no process is left", f"left: {left}")
    tap.point(not cluster.sockets(), f"{name}: no socket is left", str(cluster.sockets()))
    # Others may use /dev/shm meanwhile: our files are known by their names.
    new = [str(path) for path in _shm() - shm if "tofu" in path.name]
    tap.point(not new, f"{name}: no shared memory is left", str(new))


def _pids(cluster):
    status = cluster.status()
    return [status["pid"], *(node["pid"] for node in status["nodes"])]


def nothing_left(tap):
    """after down, Ctrl-C and the death of supervisor or owner nothing is left"""
    shm = _shm()
    cluster = Cluster("down", 2, "2")
    with cluster:
        pids = _pids(cluster)
        tap.point(all(map(is_alive, pids)) and bool(cluster.sockets()), "a cluster is seen",
                  f"{pids} {cluster.sockets()}")
    _check_gone(tap, "down", cluster, pids, shm)

    cluster = Cluster("killed", 2, "2")
    with cluster:
        pids = _pids(cluster)
        os.kill(pids[0], signal.SIGKILL)
        _check_gone(tap, "supervisor killed", cluster, pids, shm)

    owner = subprocess.Popen(["sleep", "1000"])
    cluster = Cluster("orphaned", 2, "2", options=("--owner", owner.pid))
    with cluster:
        pids = _pids(cluster)
        owner.kill()
        owner.wait()
        _check_gone(tap, "owner killed", cluster, pids, shm)

    cluster = Cluster("interrupted", 2, "2")
    process = cluster.start_up()
    began = wait_until(lambda: len(cluster.processes()) >= cluster.nodes, 60)
    process.send_signal(signal.SIGINT)
    try:
        process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    tap.point(began and process.returncode != 0, "up is interrupted while guests boot")
    _check_gone(tap, "Ctrl-C in up", cluster, [process.pid], shm)


def run_interrupted(tap):
    """Ctrl-C in run ends the program in the guests, not the cluster"""
    with Cluster("run", 1, "1") as cluster:
        process = cluster.start_run("sh", "-c", "echo begun; exec sleep 1000")
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        result = finish(process, 30)
        tap.point("begun" in line and result.status == 130, "run ends with status 130",
                  f"{result.status}: {result.everything()}")
        # busybox has no pgrep for another process's arguments: count by name.
        result = cluster.run("sh", "-c", "ps | grep -c '[s]leep 1000' || true")
        tap.point(result.out().strip() == "0", "the program has ended in the guest",
                  result.everything())


DRIVER_COUNTS = "cd /sys/kernel/debug/tofu/tofu0 && grep . cqs pinned_pages deferred"
# Longer than close() waits for a flush, and than the reaper's interval
LATE_SECONDS = 4


def _driver_counts(cluster):
    """Counts of live objects in the driver of node 0."""
    mount = "mount -t debugfs none /sys/kernel/debug 2>/dev/null"
    result = cluster.run("sh", "-c", f"{mount}; {DRIVER_COUNTS}", nodes="0")
    pairs = [line.split(":") for line in result.out().split()]
    return {name: int(count) for name, count in pairs}


def _commands_sent(cluster):
    return cluster.run("cat", "/sys/class/tofu/tofu0/tni0_cq0/tx_commands", nodes="0").out()


def _kill_sender(tap, cluster):
    """Kills node 0's process when all that it may send waits for node 1."""
    seen = [_commands_sent(cluster)]

    def stuck():
        seen.append(_commands_sent(cluster))
        return seen[-1] == seen[-2]

    tap.point(wait_until(stuck, 60) and int(seen[-1]) > 0, "puts to the stopped node wait",
              str(seen))
    began = _driver_counts(cluster)
    cluster.run("sh", "-c", "kill -KILL $(pidof survive)", nodes="0")
    # By now its memory is freed, or will not be before node 1 continues.
    time.sleep(LATE_SECONDS)
    return began


def late_flush(tap):
    """a process is killed while the node that it sends to stands still"""
    with Cluster("late", 2, "2") as cluster:
        peer = cluster.status()["nodes"][1]["pid"]
        process = cluster.start_run(GUEST / "survive", 1)
        seen, streaming = stream_until(process, cluster.nodes)
        tap.point(streaming, "both nodes send", seen)
        os.kill(peer, signal.SIGSTOP)
        try:
            began = _kill_sender(tap, cluster)
            counts = _driver_counts(cluster)
        finally:
            os.kill(peer, signal.SIGCONT)
        tap.point(counts["deferred"] == 1 and counts["cqs"] == 1,
                  "its queue waits for the late flush", str(counts))
        tap.point(counts["pinned_pages"] == began["pinned_pages"] > 0,
                  "its pages stay pinned", f"{began} {counts}")
        tap.point(wait_until(lambda: not any(_driver_counts(cluster).values())),
                  "all is given back when the node goes on", str(_driver_counts(cluster)))
        cluster.run("sh", "-c", "kill -KILL $(pidof survive)", nodes="1")
        finish(process, 30, seen)
        result = cluster.run(GUEST / "all-to-all")
        tap.forward("afterwards", result.out(), result.status, result.everything())


def six_tnis(tap):
    """two nodes of six TNIs: all of them send, and the driver's tests of what a TNI has"""
    with Cluster("six", 2, "2", options=("--tnis", "6")) as cluster:
        tap.point(cluster.status()["tnis"] == 6, "status says six", str(cluster.status()))
        result = cluster.run("tofu-info", "--json")
        for node in range(cluster.nodes):
            found = json.loads(result.out(node))["controllers"][0]
            tap.point(found["tnis"] == 6 and len(found["cqs"]) == 6 * 12,
                      f"tofu-info on node {node}", result.out(node))
        # Up to the controller's last vector, and the first gates of two TNIs
        result = cluster.run(GUEST / "all-to-all")
        tap.forward("all-to-all", result.out(), result.status, result.everything())
        for name in "tofu_ioctl", "tofu_gate", "tofu_poll":
            result = cluster.run(f"/usr/libexec/tofu/{name}", nodes="0")
            tap.forward(name, result.out(), result.status, result.everything())


def unplug(tap):
    """the driver is unbound under a program, which then frees what it has"""
    with Cluster("unplug", 1, "1") as cluster:
        result = cluster.run(GUEST / "unplug")
        tap.forward("unbound", result.out(), result.status, result.everything())


FUZZ_CALLS = os.environ.get("TOFU_FUZZ_CALLS", "1000000")
FUZZ_SEED = os.environ.get("TOFU_FUZZ_SEED", "2")
FUZZ_SECONDS = 3600


def fuzz(tap):
    """random system calls on the driver's files: TOFU_FUZZ_CALLS (1000000), TOFU_FUZZ_SEED"""
    # The kernel's debugging of DMA does not keep count of more than seven regions
    # with the same page.
    with Cluster("fuzz", 1, "1", options=("--kernel-args", "loglevel=5 dma_debug=off")) as cluster:
        result = cluster.run("/usr/libexec/tofu/tofu_fuzz", timeout=FUZZ_SECONDS,
                             env={"TOFU_FUZZ_CALLS": FUZZ_CALLS, "TOFU_FUZZ_SEED": FUZZ_SEED})
        tap.forward("fuzz", result.out(), result.status, result.everything())


def _check(cluster, *options):
    return subprocess.run(cluster.words("up", "--check", "--accel", cluster.accel, *options),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=CHECK_SECONDS, check=False)


def check(tap):
    """the self-test of a cluster of two passes, and its report can be shown to anybody"""
    cluster = Cluster("check", 2, "2")
    if cluster.accel == "auto":
        cluster.accel = "tcg"
    done = _check(cluster)
    tap.point(done.returncode == 0 and f"all is well with {cluster.accel}\n" in done.stdout,
              "it ends well", done.stdout + done.stderr)
    results = re.findall(r"^ +(\d+) (\S+) ", done.stdout, re.MULTILINE)
    tap.point(len(results) >= 7 and all(result == "ok" for _, result in results),
              "each step is there, none is left out", done.stdout)
    rows = re.findall(r"^ +(put|get|armw) +(\d+) ", done.stdout, re.MULTILINE)
    tap.point(len(rows) == 5, "it has the times of puts, gets and atomics", done.stdout)
    private = [socket.gethostname(), str(pathlib.Path.home()), str(TOP)]
    told = [word for word in private if re.search(rf"(?<!\w){re.escape(word)}\b", done.stdout)]
    tap.point(not told, "it names neither host nor folders", f"{told}\n{done.stdout}")
    tap.point(not cluster.processes(), "nothing is left", str(cluster.processes()))

    done = _check(cluster, "--qemu", "/bin/false")
    tap.point(done.returncode == 1 and "FAILED" in done.stdout and "/bin" not in done.stdout,
              "it fails with a QEMU that runs nothing", done.stdout + done.stderr)


TESTS = {
    "check": check,
    "six-tnis": six_tnis,
    "unplug": unplug,
    "two-clusters": two_clusters,
    "high-memory": high_memory,
    "nothing-left": nothing_left,
    "run-interrupted": run_interrupted,
    "late-flush": late_flush,
}

LONG_TESTS = {"fuzz": fuzz}
