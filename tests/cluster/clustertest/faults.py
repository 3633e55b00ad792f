# SPDX-License-Identifier: MIT
"""Faults of nodes and of their driver, while the nodes send."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import time

from .cluster import GUEST, Cluster, finish, is_alive, wait_until
from .shared import STREAM_SECONDS, VICTIM, stream_until
from .virtual import PERF, VIRTUAL, Traced, compare

RUN_SECONDS = 60
NAP_SECONDS = 0.2  # long enough for others to wait; nothing depends on it
RECORDS = 1000000
MONITOR_SECONDS = 10  # that a person would wait for an answer

FUNCTION = "cd /sys/bus/pci/drivers/tofu && function=$(ls | grep : | head -n 1)"
UNBIND = f"{FUNCTION} && echo $function >unbind"
BIND = "cd /sys/bus/pci/drivers/tofu && function=$(cat /tmp/function) && echo $function >bind"
RESET = f"{FUNCTION} && echo 1 >$function/reset"
REMEMBER = f"{FUNCTION} && echo $function >/tmp/function"


def _stop_one(cluster, turn):
    """Stop one of the nodes' processes for a moment."""
    pids = [node["pid"] for node in cluster.status()["nodes"] if node["pid"]]
    pid = pids[turn % len(pids)] if pids else 0
    # In virtual time nodes boot anew for each run, so a process may be gone.
    with contextlib.suppress(ProcessLookupError):
        if pid:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(NAP_SECONDS)
            os.kill(pid, signal.SIGCONT)
    time.sleep(NAP_SECONDS)


class Stopper(threading.Thread):
    """Stops and continues nodes in turn, until the end of a `with`."""

    def __init__(self, cluster):
        super().__init__()
        self._cluster, self._over = cluster, threading.Event()
        self.turns = 0

    def run(self):
        while not self._over.is_set():
            _stop_one(self._cluster, self.turns)
            self.turns += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()


def stop(tap):
    """nodes are stopped and continued in turn while they send records"""
    with Cluster("stop", 4, "2x2") as cluster:
        with Stopper(cluster) as stopper:
            result = cluster.run(GUEST / "srb-storm", RECORDS)
        tap.forward("stopped in turn", result.out(), result.status, result.everything())
        tap.point(stopper.turns > cluster.nodes, "each node has been stopped",
                  f"{stopper.turns} stops")


def stop_timed(tap):
    """in virtual time nodes are stopped and continued: not a nanosecond differs"""
    with tempfile.TemporaryDirectory() as folder, \
            Cluster("vstop", 2, "2", memory=256, options=VIRTUAL) as cluster:
        first = Traced(cluster, folder, PERF)
        tap.point(first.good(), "tofu-perf in virtual time, with a trace", str(first))
        with Stopper(cluster) as stopper:
            second = Traced(cluster, folder, PERF)
        tap.point(stopper.turns > cluster.nodes, "each node has been stopped",
                  f"{stopper.turns} stops")
        compare(tap, first, second, "the same output and trace")


class Monitor:
    """QEMU's monitor of a node."""

    def __init__(self, path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(MONITOR_SECONDS)
        self._socket.connect(str(path))
        self._file = self._socket.makefile("rw", encoding="ascii")
        self._file.readline()
        self.ask("qmp_capabilities")

    def ask(self, command):
        """The answer, or None if none comes in time; events are skipped."""
        self._file.write(json.dumps({"execute": command}) + "\n")
        self._file.flush()
        try:
            for line in self._file:
                if "return" in (answer := json.loads(line)):
                    return answer["return"]
        except TimeoutError:
            pass
        return None

    def close(self):
        self._file.close()
        self._socket.close()


def monitor(tap):
    """in virtual time a node waits for one that stands still: its monitor answers"""
    with tempfile.TemporaryDirectory() as folder, \
            Cluster("vmonitor", 2, "2", memory=256, options=(
                "--time", "virtual", "--qemu-args",
                f"-qmp unix:{folder}/{{node}},server=on,wait=off")) as cluster:
        pids = [node["pid"] for node in cluster.status()["nodes"]]
        process = cluster.start_run(GUEST / "srb-storm", RECORDS, timeout=RUN_SECONDS)
        time.sleep(RUN_SECONDS / 10)
        os.kill(pids[1], signal.SIGSTOP)
        time.sleep(NAP_SECONDS)
        qmp = Monitor(pathlib.Path(folder, "0"))
        for command, key, wanted in (("query-status", "running", True), ("stop", None, None),
                                     ("query-status", "running", False), ("cont", None, None),
                                     ("query-status", "running", True)):
            answer = qmp.ask(command)
            good = answer is not None and (not key or answer[key] == wanted)
            tap.point(good, f"the monitor answers {command}", str(answer))
        qmp.ask("quit")
        qmp.close()
        tap.point(wait_until(lambda: not is_alive(pids[0]), MONITOR_SECONDS), "the node can be ended")
        os.kill(pids[1], signal.SIGCONT)
        finish(process, RUN_SECONDS + 60)


def _strike(tap, cluster, name, command):
    """A node loses its controller while all send to all."""
    process = cluster.start_run(GUEST / "survive", VICTIM, timeout=STREAM_SECONDS * 3)
    seen, streaming = stream_until(process, cluster.nodes)
    tap.point(streaming, f"{name}: all nodes send to all", seen)
    refused = cluster.run("sh", "-c", "rmmod tofu", nodes=str(VICTIM))
    tap.point(refused.status != 0, f"{name}: the module cannot be unloaded meanwhile",
              refused.everything())
    done = cluster.run("sh", "-c", f"{REMEMBER}; {command}", nodes=str(VICTIM))
    tap.point(done.status == 0, f"{name}: done", done.everything())
    cluster.run("sh", "-c", "kill -KILL $(pidof survive)", nodes=str(VICTIM))
    result = finish(process, STREAM_SECONDS * 3 + 30, seen)
    for node in range(cluster.nodes):
        if node != VICTIM:
            tap.forward(f"{name}, node {node}", result.out(node), 0, result.everything())


def _works_again(tap, cluster, name):
    result = cluster.run(GUEST / "all-to-all")
    tap.forward(f"after {name}", result.out(), result.status, result.everything())
    counts = cluster.run("sh", "-c", "dmesg | grep -cE 'BUG:|WARNING:|Oops|Call Trace' || true")
    for node in range(cluster.nodes):
        tap.point(counts.out(node).strip() == "0",
                  f"after {name}, node {node}: the kernel did not complain", counts.everything())


def driver(tap):
    """a node's driver is unbound, and its controller reset, while all nodes send"""
    with Cluster("driver", 4, "2x2") as cluster:
        _strike(tap, cluster, "reset of the function", RESET)
        _works_again(tap, cluster, "the reset")
        _strike(tap, cluster, "unbound", UNBIND)
        bound = cluster.run("sh", "-c", BIND, nodes=str(VICTIM))
        tap.point(bound.status == 0, "the driver is bound again", bound.everything())
        _works_again(tap, cluster, "bound again")


# Nodes boot anew for each run in virtual time, so the victim does all in one.
STRUCK = """
sleep 0.05
rmmod tofu && exit 2
{remember}
{strike} || exit 3
kill -KILL $PROGRAM
{after} || exit 4
dmesg | grep -E 'BUG:|WARNING:|Oops|Call Trace' && exit 5
exit 0
"""


def _strike_timed(tap, cluster, name, strike, after):
    """The same run twice, in which a node loses its controller while all send."""
    command = (GUEST / "survive", VICTIM,
               STRUCK.format(remember=REMEMBER, strike=strike, after=after))
    with tempfile.TemporaryDirectory() as folder:
        first, second = (Traced(cluster, folder, command) for _ in range(2))
    for node in range(cluster.nodes):
        if node != VICTIM:
            tap.forward(f"{name}, node {node}", first.result.out(node), 0, str(first))
    tap.point(first.good(), f"{name}: done, and the kernel did not complain", str(first))
    compare(tap, first, second, f"{name}: the same times twice")


def driver_timed(tap):
    """in virtual time a node's driver is unbound, and its controller reset, in mid-transfer"""
    with Cluster("vdriver", 3, "3", memory=256, options=VIRTUAL) as cluster:
        _strike_timed(tap, cluster, "reset of the function", RESET, "true")
        _strike_timed(tap, cluster, "unbound, and bound again", UNBIND,
                      f"({BIND}) && /usr/libexec/tofu/tofu_map")


@contextlib.contextmanager
def _small_disk():
    """A folder with a filesystem of its own that holds little."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "logs", folder], check=True)
        try:
            yield pathlib.Path(folder)
        finally:
            # Lazily: the supervisor ends a little later than the cluster.
            subprocess.run(["umount", "--lazy", folder], check=True)


def disk(tap):
    """the disk for the nodes' logs is full: they go on, and what was logged stays"""
    if os.geteuid():
        tap.skip("a small disk for logs", "only root can mount one")
        return
    with _small_disk() as folder:
        with Cluster("disk", 2, "2", options=("--log-dir", folder)) as cluster:
            with contextlib.suppress(OSError), open(folder / "filler", "wb") as filler:
                while True:
                    filler.write(bytes(4096))
                    filler.flush()
            before = (folder / "node1.console").stat().st_size
            talk = cluster.run("sh", "-c", "for i in $(seq 3000); do echo $i of many lines "
                               ">/dev/ttyS0; done", timeout=RUN_SECONDS)
            tap.point(talk.status == 0, "guests write to a console whose log is full",
                      talk.everything())
            after = (folder / "node1.console").stat().st_size
            tap.point(before <= after < before + 3000 * len("1 of many lines"),
                      "the log has lost that", f"{before} bytes, then {after}")
            result = cluster.run(GUEST / "barrier")
            tap.forward("with a full disk", result.out(), result.status, result.everything())


TESTS = {
    "faults-stop": stop,
    "faults-stop-timed": stop_timed,
    "faults-monitor": monitor,
    "faults-driver": driver,
    "faults-driver-timed": driver_timed,
    "faults-disk": disk,
}
