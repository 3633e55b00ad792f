# SPDX-License-Identifier: MIT
"""Tests of clusters in virtual time: the same run has the same result."""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from .cluster import GUEST, OUT, TOP, Cluster, TestFailure, finish, wait_until
from .shared import stream_until

sys.path.insert(0, str(TOP / "scripts"))
from tofubuild import cache  # pylint: disable=wrong-import-position
from tofutrace import records  # pylint: disable=wrong-import-position

VICTIM = 2
VIRTUAL = ("--time", "virtual", "--trace")
# A run waits for its nodes to boot, on a host that may be busy.
RUN_SECONDS = 300
PERF = ("tofu-perf", "--size", "8,4096")
PLANNED = ("tofu-halo", "--part", "all", "--scheduler", "overhead-aware", "--grid", "60",
           "--iterations", "1", "--warmup", "1", "--no-verify")
PARTING_LINES = 6  # that are shown where two runs differ
# Neighbours in a grid of two by two: number x * 2 + y is at (x, y).
ASIDE, ABOVE = 2, 1
TOWARDS = {"E": ASIDE, "W": ASIDE, "N": ABOVE, "S": ABOVE,
           **dict.fromkeys(("NE", "SE", "NW", "SW"), ASIDE | ABOVE)}
HALO_OF_TWO = ("tofu-halo", "--verify", "--grid", "60", "--iterations", "2", "--procs", "1x2")
BARRIER = (GUEST / "barrier", "times")
UNAME = ("uname", "-a")
HALO = ("tofu-halo", "--verify", "--grid", "60", "--iterations", "2")


def _parting(name, first, second):
    """The lines by which two texts differ first."""
    pairs = itertools.zip_longest(first.splitlines(), second.splitlines(), fillvalue="(its end)")
    wrong = [(number, *pair) for number, pair in enumerate(pairs, 1) if pair[0] != pair[1]]
    if wrong:
        yield f"{name}: {len(wrong)} lines differ"
    for number, *pair in wrong[:PARTING_LINES]:
        yield f"{name}, line {number}: {pair[0]}\n  then {pair[1]}"


def _raw(path):
    """A node's records as they are written, without what their numbers say."""
    return [record._replace(index=0) for record in
            sorted(records.File(path).in_order(), key=lambda record: record.index)]


def _parting_raw(first, second):
    """Where two nodes' records differ: what is drawn does not show their order."""
    these, those = _raw(first), _raw(second)
    if these == those:
        return
    pairs = enumerate(itertools.zip_longest(these, those))
    at, pair = next((at, pair) for at, pair in pairs if pair[0] != pair[1])
    same = " in another order" if sorted(these) == sorted(those) else ""
    yield f"{first.name}: {len(these)} records, then {len(those)}{same}; they part at {at}:"
    yield f"  {pair[0]}\n  then {pair[1]}"


class Traced:
    """A run: its output, and the hash of its trace; in `raw`, the nodes' own traces."""

    def __init__(self, cluster, folder, command, options=()):
        trace = pathlib.Path(folder, "trace")
        process = cluster.start_run(*command, timeout=RUN_SECONDS, trace=trace, options=options)
        self.result = finish(process, RUN_SECONDS + 60)
        self.trace = trace.read_bytes() if trace.exists() else b""
        self.size = len(self.trace)
        self.hash = hashlib.sha256(self.trace).hexdigest()
        self.raw = pathlib.Path(tempfile.mkdtemp(dir=folder))
        for path in cluster.log_dir.glob("node*.trace"):
            shutil.copy(path, self.raw)

    def good(self):
        return self.result.status == 0 and self.size > 0

    def same(self, other):
        return self.hash == other.hash and self.result.all_out() == other.result.all_out()

    def differences(self, other):
        """Where two runs part: status, the output, the trace."""
        if self.result.status != other.result.status:
            yield f"status {self.result.status}, then {other.result.status}"
        for node in sorted(self.result.all_out().keys() | other.result.all_out(), key=str):
            yield from _parting(f"output of node {node}", self.result.out(node),
                                other.result.out(node))
        yield from _parting("trace", self.trace.decode(), other.trace.decode())
        for path in sorted(self.raw.iterdir()):
            yield from _parting_raw(path, other.raw / path.name)

    def __str__(self):
        return f"status {self.result.status}, trace of {self.size} bytes, " \
               f"{self.hash}\n{self.result.everything()}"


@contextlib.contextmanager
def _load():
    """Keeps every processor of the host busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _pin(cluster):
    """Makes all nodes share one processor of the host from now on."""
    one = {min(os.sched_getaffinity(0))}
    status = cluster.status()
    for pid in [status["pid"], *(node["pid"] for node in status["nodes"])]:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(task.name), one)


def _is_ready(cluster):
    return all(node["state"] == "ready" for node in cluster.status()["nodes"])


def compare_outputs(tap, first, second, name):
    """As compare(), of programs that may leave no trace."""
    tap.point(second.result.status == 0 and first.same(second), name,
              "\n".join(first.differences(second)) or str(second))


def compare(tap, first, second, name):
    why = "\n".join(first.differences(second)) if second.good() else str(second)
    tap.point(second.good() and first.same(second), name, why)


def exact_two(tap):
    """two nodes: tofu-perf twice, the same output and the same trace"""
    with tempfile.TemporaryDirectory() as folder, \
            Cluster("perf", 2, "2", memory=256, options=VIRTUAL) as cluster:
        first = Traced(cluster, folder, PERF)
        tap.point(first.good(), "tofu-perf in virtual time, with a trace", str(first))
        compare(tap, first, Traced(cluster, folder, PERF), "once more: not a nanosecond differs")
        refused = subprocess.run(cluster.words("sh", "0"), stdin=subprocess.DEVNULL,
                                 capture_output=True, text=True, timeout=30, check=False)
        tap.point(refused.returncode == 1 and "virtual time" in refused.stderr,
                  "there is no shell, and it is said why", refused.stderr)


def realtime(tap):
    """nodes come before all else of the host, where that is asked for"""
    wrong = Cluster("functional", 1, "1", options=("--realtime",))
    refused = subprocess.run(wrong.up_words(), stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=60, check=False)
    tap.point(refused.returncode == 1 and "--realtime needs --time virtual" in refused.stderr,
              "it is refused where guests may keep a processor for ever", refused.stderr)
    if os.geteuid():
        tap.skip("the nodes have that priority", "not root")
        return
    options = ("--time", "virtual", "--realtime")
    with Cluster("realtime", 1, "1", memory=256, options=options) as cluster:
        pid = cluster.status()["nodes"][0]["pid"]
        classes = {os.sched_getscheduler(int(task.name))
                   for task in pathlib.Path(f"/proc/{pid}/task").iterdir()}
        tap.point(classes == {os.SCHED_RR}, "the node's threads have that priority", str(classes))


def exact_four(tap):
    """four nodes: tofu-halo on an idle, a busy and a single processor"""
    with tempfile.TemporaryDirectory() as folder, \
            Cluster("halo", 4, "2x2", memory=256, options=VIRTUAL) as cluster:
        first = Traced(cluster, folder, HALO)
        tap.point(first.good(), "tofu-halo in virtual time, with a trace", str(first))
        with _load():
            busy = Traced(cluster, folder, HALO)
        compare(tap, first, busy, "the same on a host that is busy")
        tap.point(wait_until(lambda: _is_ready(cluster), 120), "the nodes boot again")
        _pin(cluster)
        pinned = Traced(cluster, folder, HALO)
        compare(tap, first, pinned, "the same on one processor of the host")


def exact_boots(tap):
    """two nodes boot by themselves, or go on from a saved boot: nobody sees a difference"""
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for options in ((*VIRTUAL, "--fresh"), VIRTUAL):
            with Cluster("boots", 2, "2", memory=256, options=options) as cluster:
                runs += [Traced(cluster, folder, command) for command in (HALO_OF_TWO, UNAME)]
        for first, second, what in zip(runs[:2], runs[2:], ("tofu-halo", "uname"), strict=True):
            tap.point(first.result.status == 0, f"{what} on nodes that boot by themselves", str(first))
            compare_outputs(tap, first, second, f"{what} on nodes that go on from a saved boot")
        tap.point(runs[1].result.out(1).split()[1:2] == ["node1"], "a node has its own name",
                  runs[1].result.everything())


QUIET = ("--node-arg", "quiet-ns=0")


def exact_quiet(tap):
    """four nodes that do not wait for each other before they use their controllers, or do"""
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for options in ((*VIRTUAL, *QUIET), VIRTUAL):
            with Cluster("quiet", 4, "2x2", memory=256, options=options) as cluster:
                runs += [Traced(cluster, folder, HALO), Traced(cluster, folder, BARRIER)]
        for first, second, what in zip(runs[:2], runs[2:], ("tofu-halo", "barriers"), strict=True):
            tap.point(first.good(), f"{what}, nodes in step from the beginning", str(first))
            compare(tap, first, second, f"{what}, nodes in step when they use their controllers")


IDLE = ("--node-arg", "ahead=off")
POLL_2_MS = ("/usr/libexec/tofu/spin", "2")


def _stops(folder, options):
    """How often four nodes that poll stand at their horizons."""
    with tempfile.TemporaryDirectory(dir=folder) as logs:
        words = (*VIRTUAL[:2], *options, "--qemu-args", f"-trace tofu_time_stop -D {logs}/%d")
        with Cluster("stops", 4, "2x2", memory=256, options=words) as cluster:
            polled = cluster.run(*POLL_2_MS)
        if polled.status:
            raise TestFailure(polled.everything())
        return sum(log.read_text("utf-8").count("tofu_time_stop")
                   for log in pathlib.Path(logs).iterdir())


def exact_ahead(tap):
    """four nodes whose processors wait idly, or find out meanwhile what they will do"""
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for options in ((*VIRTUAL, *IDLE), VIRTUAL):
            with Cluster("ahead", 4, "2x2", memory=256, options=options) as cluster:
                runs += [Traced(cluster, folder, HALO), Traced(cluster, folder, BARRIER)]
        for first, second, what in zip(runs[:2], runs[2:], ("tofu-halo", "barriers"), strict=True):
            tap.point(first.good(), f"{what}, processors that wait idly", str(first))
            compare(tap, first, second, f"{what}, processors that run ahead")
        idle, ahead = (_stops(folder, options) for options in (IDLE, ()))
        tap.point(0 < 2 * ahead < idle, "nodes that poll and run ahead stop half as often, or less",
                  f"{idle} stops, {ahead} when they run ahead")


# No other test has it, so that the saved boot is this one's
ODD_MIB = 301


@contextlib.contextmanager
def _own_saved_boot(options=()):
    """A cluster that has just made a saved boot, and that boot's folder."""
    boots = cache.root() / "boot"
    before = set(boots.glob("*/memory"))
    with Cluster("saved", 2, "2", memory=ODD_MIB, options=(*VIRTUAL[:2], *options)):
        pass
    made = [path.parent for path in set(boots.glob("*/memory")) - before
            if path.stat().st_size == ODD_MIB << 20]
    if len(made) != 1:
        raise TestFailure(f"saved boots in {boots}: {made}")
    try:
        yield made[0]
    finally:
        shutil.rmtree(made[0], ignore_errors=True)


def _up(name):
    cluster = Cluster(name, 2, "2", memory=ODD_MIB, options=VIRTUAL[:2])
    done = subprocess.run(cluster.up_words(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=RUN_SECONDS, check=False)
    cluster.tool("down")
    return done


def _refuses_to_be_saved(cluster, folder):
    """What QEMU says of a node whose controller is in use, and its log."""
    monitor = json.dumps({"execute": "qmp_capabilities"}) + json.dumps(
        {"execute": "migrate", "arguments": {"uri": "exec:cat >/dev/null"}})
    process = cluster.start_run(GUEST / "survive", VICTIM, timeout=RUN_SECONDS)
    stream_until(process, cluster.nodes)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(RUN_SECONDS)
        sock.connect(f"{folder}/1.qmp")
        sock.sendall(monitor.encode())
        log = cluster.log_dir / "node1.qemu.log"
        wait_until(lambda: "cannot be saved" in log.read_text("utf-8"), 60)
    process.terminate()
    process.communicate(timeout=RUN_SECONDS)
    return log.read_text("utf-8")


def saved_boots(tap):
    """a saved boot that is damaged is made again; a node that runs cannot be saved"""
    with _own_saved_boot() as saved:
        (saved / "devices").write_bytes(b"damaged")
        done = _up("damaged")
        tap.point(done.returncode == 1 and f"{saved} was removed" in done.stderr,
                  "a damaged one is named, and removed", done.stderr)
        tap.point(not saved.exists(), "it is gone", str(saved))
        done = _up("again")
        tap.point(done.returncode == 0 and "is saved" in done.stderr, "the next start makes it",
                  done.stderr)
        done = _up("used")
        tap.point(done.returncode == 0 and "is saved" not in done.stderr, "and one more uses it",
                  done.stderr)
        (saved / "memory").unlink()
        done = _up("halved")
        tap.point(done.returncode == 0 and "is saved" in done.stderr,
                  "one without its memory is made again", done.stderr)
    wrong = Cluster("functional", 1, "1", options=("--fresh",))
    refused = subprocess.run(wrong.up_words(), stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=60, check=False)
    tap.point(refused.returncode == 1 and "--fresh needs --time virtual" in refused.stderr,
              "--fresh is for virtual time", refused.stderr)
    with tempfile.TemporaryDirectory() as folder, \
            Cluster("unsaved", 3, "3", memory=256, options=(
                *VIRTUAL[:2], "--qemu-args",
                f"-qmp unix:{folder}/{{node}}.qmp,server=on,wait=off")) as cluster:
        log = _refuses_to_be_saved(cluster, folder)
        tap.point("tofu-pci: node 1 cannot be saved: software uses its controller" in log,
                  "a node whose controller is in use refuses", log)


def _busy_qemu(folder):
    """The QEMU of clusters, with a main loop that never waits."""
    built = subprocess.run([str(TOP / "scripts/build-qemu")], stdout=subprocess.PIPE, text=True,
                           timeout=RUN_SECONDS, check=True)
    qemu = pathlib.Path(built.stdout.splitlines()[-1])
    busy = pathlib.Path(folder, qemu.name)
    library = GUEST / "obj/busy-loop.so"
    if not library.exists():
        # The loader would only warn, and the test would test nothing.
        raise TestFailure(f"no {library}: run `make tests`")
    busy.write_text(f"#!/bin/sh\nLD_PRELOAD='{library}' exec '{qemu}' \"$@\"\n",
                    encoding="utf-8")
    busy.chmod(0o755)
    busy.with_name("qboot.rom").symlink_to(qemu.with_name("qboot.rom"))
    return busy


def _naps(name, *options):
    with Cluster(name, 1, "1", memory=256, options=(*VIRTUAL[:2], *options)) as cluster:
        return cluster.run(GUEST / "naps", timeout=RUN_SECONDS)


def main_loop(tap):
    """a node that sleeps often: it is not seen how busy QEMU's main loop is"""
    idle = _naps("idle")
    with tempfile.TemporaryDirectory() as folder:
        busy = _naps("busy", "--fresh", "--qemu", _busy_qemu(folder))
    tap.point(idle.status == 0 and "naps" in idle.out(), "a program sleeps in virtual time",
              idle.everything())
    tap.point(busy.status == 0 and busy.all_out() == idle.all_out(),
              "it is as late on a QEMU whose main loop never waits",
              idle.everything() + busy.everything())


def _output(words, text=None):
    done = subprocess.run([str(word) for word in words], input=text, capture_output=True,
                          text=True, timeout=120, check=False)
    if done.returncode:
        raise TestFailure(f"{pathlib.Path(words[0]).name}: {done.stderr.strip()}")
    return done.stdout


def _beside_plan(engines):
    """The plan of PLANNED's exchange with the actual times, which must fit."""
    return json.loads(_output([OUT / "bin/tofu-sched", "--machine", "fx10", "--scale-les3", 60,
                               "--shape", "2x2", "--happened", "-", "--json"], engines))


def _other_ways(node, plan, seen):
    """Puts that did not follow the plan, engine by engine."""
    return [(put, one) for put, one in zip(plan["puts"], seen["puts"], strict=True)
            if (put["engine"], put["bytes"], node ^ TOWARDS[put["direction"]])
            != (one["engine"], one["bytes"], one["to"])]


def planned_four(tap):
    """four nodes: engines send what is planned, in the planned order; beside the plan"""
    with tempfile.TemporaryDirectory() as folder, \
            Cluster("planned", 4, "2x2", memory=256,
                    options=(*VIRTUAL, "--machine", "fx10", "--log-dir", folder)) as cluster:
        result = cluster.run(*PLANNED, timeout=RUN_SECONDS)
        tap.point(result.status == 0, "tofu-halo runs a plan", result.everything())
        traces = sorted(pathlib.Path(folder).glob("node*.trace"))
        tap.point(len(traces) == cluster.nodes, "each node has a trace", str(traces))
        for node in range(cluster.nodes):
            engines = [TOP / "scripts/tofu-trace", "engines", "--node", node, *traces]
            plan = _beside_plan(_output(engines))
            wrong = _other_ways(node, plan, json.loads(_output([*engines, "--json"])))
            tap.point(len(plan["puts"]) == 14 and not wrong,
                      f"node {node}: all 14 puts, in the order of the plan", str(wrong))
            # East and west share a link here, which the plan knows. It also has the last notices.
            tap.point(abs(plan["happened_ns"] - plan["makespan_ns"]) < plan["makespan_ns"] / 5,
                      f"node {node}: it takes as long as planned", str(plan))


def exact_barrier(tap):
    """four nodes: barriers over each network take the same times twice"""
    with tempfile.TemporaryDirectory() as folder, \
            Cluster("barrier", 4, "2x2", memory=256, options=VIRTUAL) as cluster:
        first = Traced(cluster, folder, BARRIER)
        tap.forward("barrier in virtual time", first.result.out(), first.result.status, str(first))
        with _load():
            second = Traced(cluster, folder, BARRIER)
        compare(tap, first, second, "once more, on a host that is busy: the same times")


def virtual_gates(tap):
    """one node: the driver's tests of barrier gates, in virtual time"""
    with Cluster("vgates", 1, "1", options=VIRTUAL[:2]) as cluster:
        result = cluster.run("/usr/libexec/tofu/tofu_gate", nodes="0", timeout=RUN_SECONDS)
        tap.forward("tofu_gate", result.out(), result.status, result.everything())


def _waits_for_victim(cluster):
    nodes = cluster.status()["nodes"]
    return all(node["clock"].get("waits_for") == VICTIM
               for node in nodes if node["node"] != VICTIM)


def virtual_kill(tap):
    """in virtual time a node hangs, and is killed: status says so, the others go on"""
    with Cluster("vkill", 3, "3", memory=256, options=VIRTUAL[:2]) as cluster:
        process = cluster.start_run(GUEST / "survive", VICTIM, timeout=RUN_SECONDS)
        seen, streaming = stream_until(process, cluster.nodes)
        tap.point(streaming, "all nodes send to all", seen)
        victim = cluster.status()["nodes"][VICTIM]["pid"]
        os.kill(victim, signal.SIGSTOP)
        named = wait_until(lambda: _waits_for_victim(cluster), 60)
        tap.point(named, "status: all wait for the node that stands still",
                  cluster.tool("status"))
        cluster.tool("kill", VICTIM)
        result = finish(process, RUN_SECONDS + 60, seen)
        for node in range(cluster.nodes):
            if node != VICTIM:
                tap.forward(f"node {VICTIM} killed, node {node}", result.out(node), 0,
                            result.everything())
        after = cluster.run("true", timeout=RUN_SECONDS)
        tap.point(after.status == 0, "the next run has all nodes again", after.everything())


GONE_SECONDS = 3
SPIN_MS = 1000000


def _left_behind(tap, cluster, kind):
    """One of two nodes dies; what runs on the other does not notice."""
    process = cluster.start_run(GUEST / "spin", SPIN_MS, timeout=RUN_SECONDS, gone=GONE_SECONDS)
    met = process.stdout.readline()
    tap.point("TAP" in met, f"{kind}: both nodes are under way", met)
    os.kill(cluster.status()["nodes"][1]["pid"], signal.SIGKILL)
    result = finish(process, RUN_SECONDS + 60, met)
    tap.point(result.status == 125, f"{kind}: the run ends with status 125",
              f"status {result.status}\n{result.everything()}")
    said = result.everything()
    tap.point("the node has gone" in said and "run: ended on node 0: " in said,
              f"{kind}: it is said why, and where", said)


def left_behind(tap):
    """a node's QEMU is killed: those that do not end by themselves are ended"""
    with Cluster("behind", 2, "2", memory=256) as cluster:
        _left_behind(tap, cluster, "functional")
        after = cluster.run("sh", "-c", "ps | grep -c '[s]pin' || true", nodes="0")
        tap.point(after.out().strip() == "0", "functional: nothing is left in the guest",
                  after.everything())
    with Cluster("vbehind", 2, "2", memory=256, options=VIRTUAL[:2]) as cluster:
        _left_behind(tap, cluster, "virtual")
        after = cluster.run(GUEST / "barrier", "left", timeout=RUN_SECONDS)
        tap.forward("virtual, all nodes again", after.out(), after.status, after.everything())


TESTS = {
    "exact-two": exact_two,
    "realtime": realtime,
    "exact-four": exact_four,
    "exact-boots": exact_boots,
    "exact-quiet": exact_quiet,
    "exact-ahead": exact_ahead,
    "saved-boots": saved_boots,
    "main-loop": main_loop,
    "planned-four": planned_four,
    "exact-barrier": exact_barrier,
    "virtual-gates": virtual_gates,
    "virtual-kill": virtual_kill,
    "left-behind": left_behind,
}
