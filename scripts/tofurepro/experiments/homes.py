# SPDX-License-Identifier: MIT
"""The same programs on virtual machines in virtual time and on tofu-sim."""

from .. import halo
from ..errors import ReproError
from ..experiment import Experiment, Tables, Text
from ..measure import Run, Simulated
from ..tables import Sheet, Table, number

# Machines whose processor takes a nanosecond for an instruction, as a virtual
# machine does on all of them
SHAPES = {("k", 4): "2x2", ("fugaku", 4): "2x2", ("fugaku", 12): "1x1x1x2x3x2",
          ("k", 27): "3x3x3"}
PROCS = {4: "2x2", 12: "3x4", 27: "3x9"}
WITH_ATOMICS = ("fugaku",)
PHASES = 1000
CLOSE = 3
# Of latencies: streams, which are measured beside them, are as short as can be
ALONE = ("--iterations", 101, "--messages", 2)
COLUMNS = ["program", "what", "virtual machines", "tofu-sim", "off by"]
TABLE = "times in µs"
MIDDLE = (
    "An exchange ends with a round of polls, up to 1 µs long, and those of a node cluster around "
    "two times or more: a median is that of one of them, and which may be decided by a nanosecond. "
    "A time of an exchange here is the mean of the middle half of those of a node, and of all "
    "nodes.")

# Why programs are further apart than CLOSE, by their names in the table
REASONS = {
    "halo between barriers": "k = 60 on Fugaku. An exchange ends with a round of polls of six "
                             "engines, 1 µs long, and longer by what they find. On virtual "
                             "machines that round begins 2.0 µs before the last barrier, or 2.7, "
                             "and here 2.0.",
    "6 neighbours": "1 KiB in segments on 12 nodes of Fugaku. The next put after one that was "
                    "waited for is 5 ns later on virtual machines in the median, and 26 at three "
                    "quarters; each segment passes several nodes.",
    "messages": "of 8 B and 1 KiB, on K. What tofu-p2p computes between its calls, some 40 ns a "
                "message, costs nothing on tofu-sim. The rest, on 27 nodes, was not traced: both "
                "sides take turns, and a turn begins with a round of polls, 0.2 to 0.5 µs long, so "
                "some tens of nanoseconds decide which round sees what has come.",
    "records": "sent together: the answer to the second command is found by the poll that finds "
               "the first one's here, and on virtual machines by the next one, 0.3 µs later. There "
               "it comes 7 ns after that poll's look at the queue, and here 17 ns before.",
    "single": "gets of 8 B on K, by 0.07 µs: what tofu-perf computes between its calls costs "
              "nothing on tofu-sim.",
}


def _exchange(exchanges, *more):
    return ("tofu-halo", "--json", *halo.phases(PHASES, exchanges), *more)


def _scale(nodes, k, exchanges, *more):
    return _exchange(exchanges, "--procs", PROCS[nodes], "--grid", k, *more)


def _neighbor(size, exchanges):
    return _exchange(exchanges, "--pattern", "neighbor", "--neighbors", 6, "--tnis", 4,
                     "--algorithm", "native,segmented", "--bytes", size)


def _p2p(test, *more):
    return ("tofu-p2p", "--json", "--test", test, *more)


def _coll(algorithm, iterations, *more):
    return ("tofu-coll", "--json", "--algorithm", algorithm, "--iterations", iterations, *more)


def _rows(answer, what, key):
    if answer.get("wrong") or any(row.get("bytes_wrong") for row in answer["rows"]):
        raise ReproError(f"{answer['tool']}: bytes are wrong")
    return [(what.format(**row), row[key]) for row in answer["rows"]]


def _of_perf(answer):
    return [(f"{row['op']} of {row['bytes']} B", row["latency_us"]["median"])
            for row in answer["results"]]


def _of_srb(answer):
    return [(what, ns / 1000) for what, ns in
            _rows(answer, "{bytes} B, {form}, seen", "seen_ns")]


def _programs(machine, nodes):
    """(name, call, rows of its answer): what a boot runs."""
    def by(what, key="time_us"):
        return lambda answer: _rows(answer, what, key)

    for k, exchanges in ((60, 81), (872, 11)):
        middle = by("k = {k}", "middle_us")
        yield "halo", _scale(nodes, k, exchanges), middle
        yield "halo between barriers", _scale(nodes, k, exchanges, "--barrier"), middle
    for size, exchanges in (("1K", 81), ("16K", 41), ("64K", 11)):
        yield "6 neighbours", _neighbor(size, exchanges), by("{bytes} B, {algorithm}", "middle_us")
    yield "messages", _p2p("latency", "--mode", "fast", "--bytes", "8,1K,16K,64K", *ALONE), \
        by("{bytes} B", "latency_us")
    if machine in WITH_ATOMICS:
        yield "messages, one ring", _p2p("latency", "--mode", "shared", "--bytes", "8,1K", *ALONE), \
            by("{bytes} B", "latency_us")
        yield "records", _p2p("srb", "--bytes", "8,1K", "--iterations", 81), _of_srb
    yield "single", ("tofu-perf", "--json", "--no-phases", "--op", "all", "--size", "8,1K,64K",
                     "--iterations", 20), _of_perf
    yield "barrier", _coll("gates", 1201, "--collective", "barrier"), by("{algorithm}", "middle_us")
    yield "barrier", _coll("dissemination", 301, "--collective", "barrier"), \
        by("{algorithm}", "middle_us")
    # The times of short ones cluster. A ring takes as many steps as there are nodes.
    yield "allreduce", _coll("doubling,ring", 401 if nodes <= 4 else 101, "--bytes", "8"), \
        by("{bytes} B, {algorithm}", "middle_us")
    yield "allreduce", _coll("doubling,ring", 101, "--bytes", "16K"), \
        by("{bytes} B, {algorithm}", "middle_us")


def _names(machine, nodes):
    return f"homes-{machine}-{nodes}", f"homes-{machine}-{nodes}-sim"


def _runs():
    for (machine, nodes), shape in SHAPES.items():
        calls = tuple(call for _, call, _ in _programs(machine, nodes))
        machines, simulated = _names(machine, nodes)
        yield Run(machines, machine, shape, calls)
        yield Simulated(simulated, machine, tuple((shape, call) for call in calls))


def _compared(machines, simulated):
    """A table of both, from the tables of each."""
    pairs = zip(machines.tables[0].rows, simulated.tables[0].rows, strict=True)
    return Table(TABLE, COLUMNS, [
        [*one[:3], other[2], f"{100 * (number(other[2]) / number(one[2]) - 1):+.1f} %"]
        for one, other in pairs])


class Homes(Experiment):
    """Whole programs: what a table of costs makes of software."""
    name = "homes"
    title = "Virtual machines and tofu-sim"
    runs = tuple(_runs())
    sources = tuple(run.name for run in runs)
    computes = tuple(f"{_names(*which)[0]}-both" for which in SHAPES)

    def sheet(self, run, answers):
        machine = run.machine
        rows = [[name, what, f"{us:.3f}"]
                for (name, _, rows_of), answer in zip(_programs(machine, run.nodes()), answers)
                for what, us in rows_of(answer)]
        where = "tofu-sim" if isinstance(run, Simulated) else "virtual machines"
        note = f"{machine}, {run.nodes()} nodes ({run.shape}), {where}; virtual time"
        return Sheet(run.name, [note], [Table(TABLE, ["program", "what", "µs"], rows)])

    def computed(self, sheets):
        for machine, nodes in SHAPES:
            names = _names(machine, nodes)
            if all(name in sheets for name in names):
                note = f"{machine}, {nodes} nodes ({SHAPES[machine, nodes]}); virtual time"
                yield Sheet(f"{names[0]}-both", [note],
                            [_compared(*(sheets[name] for name in names))])

    def section(self, sheets):
        yield Text(
            "Whole programs on virtual machines, where software is counted instruction by "
            "instruction, and on tofu-sim, where calls of the library take the time of a table "
            f"(Documentation/sim-costs.rst). {halo.APART.format(ns=PHASES)}{MIDDLE}")
        for name in self.computes:
            if name in sheets:
                yield Tables(sheets[name].tables)
        for program, worst in self._far(sheets).items():
            yield Text(f"{program}, up to {worst:+.1f} %: {REASONS.get(program, 'why?')}")

    def _far(self, sheets):
        """Programs that are not close, and by how much at most."""
        worst = {}
        for name in self.computes:
            for row in sheets[name].tables[0].rows if name in sheets else ():
                off = number(row[-1])
                if abs(off) > max(CLOSE, abs(worst.get(row[0], 0))):
                    worst[row[0]] = off
        return worst

    def complaints(self, sheets):
        for program, worst in self._far(sheets).items():
            if program not in REASONS:
                yield f"{program}: {worst:+.1f} % apart, and REASONS does not say why"
