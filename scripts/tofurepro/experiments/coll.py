# SPDX-License-Identifier: MIT
"""Throughput of collectives of 384 nodes beside the published formulas."""

import dataclasses

from .. import model, plots
from ..experiment import Experiment, Plot, Plots, Tables, Text
from ..measure import Simulated
from ..tables import Sheet, Table

KIB = 1024
SHAPE, GROUP, MEMBERS = "4x2x4x2x3x2", "8x6x8", 384
MACHINES = ("k", "fugaku")
# As published
SEGMENT = ("--segment", 16 * KIB)
# Larger deviations from a formula want a reason, per cent.
CLOSE = 10
CLASSES = (("B", "b_mbs", "{:.0f}"), ("half", "half_bytes", "{:.3e}"), ("t0", "t0_us", "{:.1f}"))


@dataclasses.dataclass(frozen=True)
class Line:
    """What is measured, and the formula beside it.

    `limits` are the words of tofu-model that the formula needs, and `factor` says how
    often a message counts for the throughput.
    """
    name: str
    title: str
    formula: str
    program: tuple
    style: dict
    shape: str = SHAPE
    limits: tuple = ()
    factor: int = 1
    sizes: tuple = (0, 2 ** 62)

    def points(self, sheet):
        """(bytes, µs) that the line is fitted to."""
        table = sheet.table(self.name)
        low, high = self.sizes
        return [(size, us) for size, us in zip(table.numbers("bytes"), table.numbers("µs"))
                if low <= size <= high]

    def throughput(self, size, us):
        return self.factor * size / us


def _sizes(low, high):
    """'low,…,high', doubled at each step"""
    return ",".join(str(low << i) for i in range((high // low).bit_length()))


def _coll(kind, algorithm, low, high, *more):
    """One round each: a second one takes as long within 1 %."""
    return ("coll", "--json", "--blank", "--collective", kind, "--algorithm", algorithm,
            "--bytes", _sizes(low * KIB, high * KIB), "--warmup", 0, "--iterations", 1, *more)


def _bcast(routes, color):
    return Line(f"bcast-{routes}", f"Bcast, {routes} route{'s' if routes > 1 else ''}",
                f"bcast-{routes}d",
                _coll("bcast", "pipelined", 128, 16 * KIB, "--routes", routes, *SEGMENT), {"color": color})


def _allreduce(color):
    return Line("allreduce-3", "Allreduce, 3 routes", "allreduce-3d",
                _coll("allreduce", "pipelined", 128, 8 * KIB, "--routes", 3, *SEGMENT), {"color": color},
                factor=2)


def _six(kind, high, color, factor=1):
    """Six routes: with the usual segments the processor would be the limit."""
    limits = ("--routes", "6", "--segment", str(64 * KIB))
    return Line(f"{kind}-6", f"{kind.capitalize()}, 6 routes, segments of 64 KiB",
                f"{kind}/pipelined", _coll(kind, "pipelined", 128, high, *limits),
                {"color": color}, limits=limits, factor=factor)


def _allgather(part, engines, sizes, style):
    return Line(f"allgather-{part}", f"Allgather, {part} blocks", f"allgather-{part}",
                _coll("allgather", "multiring", *sizes, "--engines", engines), style,
                limits=("--engines", str(engines)), factor=MEMBERS)


PINGPONG = (
    Line("put", "PingPong of puts", "pingpong",
         ("perf", "--json", "--op", "put", "--no-phases", "--size", _sizes(512 * KIB, 8192 * KIB)),
         {"color": plots.GREY}, shape="2"),
    Line("pingpong", "PingPong of messages", "pingpong",
         ("p2p", "--json", "--test", "latency", "--mode", "fast", "--bytes",
          _sizes(512 * KIB, 16384 * KIB)), {"color": plots.BLACK}, shape="2"))
ALLGATHER = ({"color": plots.PURPLE, "linestyle": ":"}, {"color": plots.PURPLE})
BCAST = tuple(_bcast(routes, color) for routes, color in
              enumerate((plots.SKY, plots.BLUE, plots.GREEN), 1))
LINES = {
    "k": (*PINGPONG, *BCAST, _allreduce(plots.RED), _allgather("short", 4, (1, 32), ALLGATHER[0]),
          _allgather("long", 4, (64, 256), ALLGATHER[1])),
    "fugaku": (*PINGPONG, *BCAST, _six("bcast", 8 * KIB, plots.ORANGE), _allreduce(plots.RED),
               _six("allreduce", 4 * KIB, plots.BROWN, 2),
               _allgather("short", 6, (1, 32), ALLGATHER[0]),
               _allgather("long", 6, (64, 256), ALLGATHER[1])),
}
# Why measured lines are not those of the formulas
PUT = (
    "A put is alone. The formula has the three control messages of a rendezvous, and the latency "
    "of an MPI library.")
PINGPONG_REASON = (
    "t0: the formula has K's control messages, shorter by what another machine's latency is; what "
    "this library does for a message takes as long on both processors.")
BCAST_REASON = (
    "B: one processor finds and puts on the segments of all routes, {forward} µs for each, the store "
    "that starts an engine included; and an engine that forwards receives and sends at the same time, "
    "with {duplex} GB/s each way for {link} of the formula (two nodes that exchange 1 MiB by one "
    "engine). t0: a segment alone takes {alone} µs a hop, {hop} in the formula; where they follow "
    "each other without a gap, each waits at each node for the one before, which the formula does "
    "not have.")
ALLREDUCE_REASON = (
    "As broadcast; and one processor combines the segments of all routes one after the other, "
    "52 ns for 256 bytes, and looks for the next one in between. In the formula the latency of a "
    "segment passes on all routes at once, and memory is the limit: 4.75 GB/s on K, 188 on Fugaku.")
START_REASON = (
    "A step starts all engines in {start} µs, {formula} in the formula; 383 steps are t0. B is the "
    "slope of times that hardly rise.")
LONG_REASONS = {
    "k": "Each of 383 steps takes 1.8 µs more than latency and transfer: the processor starts four "
         "engines, one after the other, before it looks for what has come.",
    "fugaku": "Starting six engines takes longer than they take for 128 KiB: of the three sizes, long "
              "in the formula, one is long here.",
}
DUPLEX = {"k": {"forward": "2.0", "duplex": "3.82", "link": "4.50", "alone": "5.4", "hop": "5.2"},
          "fugaku": {"forward": "1.2", "duplex": "5.65", "link": "6.35", "alone": "4.1",
                     "hop": "4.0"}}
START = {"k": {"start": "6.3", "formula": "4.0"}, "fugaku": {"start": "4.8", "formula": "3.6"}}


ALL = ("B", "half", "t0")


def _reason(machine, line):
    """Why a line is not as its formula, and which of its numbers that concerns."""
    kind = line.name.split("-")[0]
    if line.name == "allgather-short":
        return START_REASON.format(**START[machine]), ALL
    if line.name == "allgather-long":
        return LONG_REASONS[machine], ("half", "t0") if machine == "k" else ALL
    return {"put": (PUT, ("half", "t0")), "pingpong": (PINGPONG_REASON, ALL),
            "bcast": (BCAST_REASON.format(**DUPLEX[machine]), ALL),
            "allreduce": (ALLREDUCE_REASON, ALL)}[kind]


def _machine(name):
    return name.removeprefix("coll-")


def _run(machine):
    return Simulated(f"coll-{machine}", machine,
                     tuple((line.shape, line.program) for line in LINES[machine]))


def _pair(row):
    """(bytes, µs) of a row of tofu-perf, tofu-p2p or tofu-coll"""
    us = row.get("time_us", row.get("latency_us"))
    return row["bytes"], us["median"] if isinstance(us, dict) else us


def _table(line, answer):
    table = Table(line.name, ["bytes", "µs", "MB/s"], [])
    for size, us in map(_pair, answer.get("rows") or answer["results"]):
        table.rows.append([str(size), f"{us:.3f}", f"{line.throughput(size, us):.1f}"])
    return table


def _lines(machine, sheet):
    """(line, the formula's numbers, the measured ones)"""
    for line in LINES[machine]:
        yield line, *model.line_beside(line.points(sheet), line.formula, machine, GROUP,
                                       *line.limits)


def _off(measured, formula):
    return 100 * (measured / formula - 1)


def _fits(machine, sheet):
    columns = [f"{name}{of}" for name, *_ in CLASSES for of in ("", " measured", " off by")]
    table = Table("lines through measured times beside the formulas: B in MB/s, half-performance "
                  "length in bytes, t0 in µs", ["line", *columns], [])
    for line, formula, measured in _lines(machine, sheet):
        cells = []
        for _, key, form in CLASSES:
            cells += [form.format(formula[key]), form.format(measured[key]),
                      f"{_off(measured[key], formula[key]):+.1f} %"]
        table.rows.append([line.name, *cells])
    return table


def _far(machine, sheet):
    """Each line with a number that is not close to the formula's, and which these are"""
    for line, formula, measured in _lines(machine, sheet):
        names = [name for name, key, _ in CLASSES
                 if abs(_off(measured[key], formula[key])) > CLOSE]
        if names:
            yield line, names


def _explained(machine, sheet):
    """Each reason once, with the lines that have it"""
    lines = {}
    for line, _ in _far(machine, sheet):
        lines.setdefault(_reason(machine, line)[0], []).append(line.name)
    return [Text(f"{', '.join(names)}. {reason}") for reason, names in lines.items()]


def _draw(machine, sheet):
    figure, ax = plots.axes(f"{machine}, {MEMBERS} nodes as {GROUP}", "bytes of a message, of a "
                            "block for Allgather", "throughput, MB/s", width=7.6, height=5.2)
    every = set()
    for line, formula, measured in _lines(machine, sheet):
        table = sheet.table(line.name)
        sizes = table.numbers("bytes")
        every.update(sizes)
        ax.plot(sizes, [line.throughput(size, formula["t0_us"] + line.factor * size /
                                        formula["b_mbs"]) for size in sizes],
                label=line.title, **line.style)
        ax.plot(sizes, table.numbers("MB/s"), marker="o", color=line.style["color"],
                linestyle="none")
        if sizes[0] <= measured["half_bytes"] <= sizes[-1]:
            ax.plot([measured["half_bytes"]], [measured["b_mbs"] / 2], marker="*", markersize=12,
                    color=line.style["color"], markeredgecolor="black", linestyle="none")
    plots.size_axis(ax, sorted(every))
    ax.set_yscale("log")
    plots.legend_below(figure, ax)
    return figure


class Throughput(Experiment):
    """Bcast, Allreduce and Allgather of 384 nodes, and a message between two."""
    name = "coll"
    title = "Throughput of collectives"
    runs = tuple(map(_run, MACHINES))
    sources = tuple(run.name for run in runs)
    computes = tuple(f"{run.name}-summary" for run in runs)

    def sheet(self, run, answers):
        machine = _machine(run.name)
        note = f"collectives on {machine}: {MEMBERS} nodes ({SHAPE}) as {GROUP}, buffers without " \
               "contents, virtual time of tofu-sim"
        return Sheet(run.name, [note],
                     [_table(line, answer) for line, answer in zip(LINES[machine], answers)])

    def computed(self, sheets):
        for run in self.runs:
            if run.name in sheets:
                sheet = sheets[run.name]
                yield Sheet(f"{run.name}-summary", [sheet.notes[0]],
                            [_fits(_machine(run.name), sheet)])

    def complaints(self, sheets):
        return [f"{run.name}: {name} of {line.name} is more than {CLOSE} % from its formula: "
                "experiments/coll.py has to say why"
                for run in self.runs if run.name in sheets
                for line, names in _far(_machine(run.name), sheets[run.name])
                for name in names if name not in _reason(_machine(run.name), line)[1]]

    def section(self, sheets):
        yield Text(
            "Broadcast, allreduce and allgather of 384 nodes, and messages of two: what was "
            "measured (points), the published formulas with the numbers of K, or those derived for "
            "Fugaku (lines), and where a line fitted to the points reaches half of its throughput "
            "(stars). Lines are fitted as it was published: time as a straight line of the bytes, "
            "least squares; an allreduced byte counts twice, and of an allgather all that a node "
            "has in the end.")
        for run in self.runs:
            if run.name in sheets:
                machine = _machine(run.name)
                sheet = sheets[run.name]
                yield Plots(f"{machine}, {MEMBERS} nodes", [
                    Plot(run.name, f"Throughput of collectives on {machine} against bytes: lines "
                         "of the formulas, measured points, and half-performance points. The "
                         "tables have the same numbers.",
                         lambda machine=machine, sheet=sheet: _draw(machine, sheet))],
                    sheet.tables)
                yield Tables([_fits(machine, sheet)])
                yield from _explained(machine, sheet)
