# SPDX-License-Identifier: MIT
"""Neighbour exchange: segmented against native, measured and by the model."""

import math

from .. import model, plots
from ..experiment import Experiment, Plot, Plots, Text
from ..measure import Run
from ..tables import Sheet, Table

MACHINES = ("k", "fx10")
# The fewest nodes with six neighbours each, one per link: in a ring of two,
# both neighbours are the same.
SHAPE, PROCS = "3x3x1x1x3x1", "3x3x3"
NEIGHBORS, ENGINES = 6, 4
SIZES = tuple(1 << power for power in range(10, 25))
# All messages share their memory when nothing is verified.
MEMORY = 256
GAIN_NEIGHBORS, GAIN_ENGINES, GAIN_BYTES = (3, 5, 6), (2, 3, 4), 1 << 20
SWEEP = "6 neighbours on 4 engines; time of an exchange in µs"
GAIN = "native and in segments; 1 MiB; time of an exchange in µs"
SWEEP_COLUMNS = ["bytes", "native, model", "native", "segmented, model", "segmented",
                 "segmented, two-sided", "orig"]
TITLES = {"orig": "as sent and received"}
GAIN_COLUMNS = ["neighbours", "engines", "native", "segmented", "runs"]


def _halo(neighbors, tnis, algorithm, sizes, form="one-sided"):
    lists = [",".join(map(str, one)) for one in (neighbors, tnis, sizes)]
    return ("tofu-halo", "--json", "--pattern", "neighbor", "--procs", PROCS,
            "--neighbors", lists[0], "--tnis", lists[1], "--bytes", lists[2],
            "--algorithm", algorithm, "--form", form,
            "--warmup", 1, "--iterations", 5, "--no-verify")


def _run(machine):
    return Run(f"neighbor-{machine}", machine, SHAPE, (
        _halo((NEIGHBORS,), (ENGINES,), "native,segmented,orig", SIZES),
        _halo((NEIGHBORS,), (ENGINES,), "segmented", SIZES, "two-sided"),
        _halo(GAIN_NEIGHBORS, GAIN_ENGINES, "native,segmented", (GAIN_BYTES,)),
    ), memory=MEMORY, seconds=7200)


def _us(value):
    return f"{value:.3f}"


def _sweep(one_sided, two_sided):
    times = {(row["algorithm"], row["bytes"]): row for row in one_sided["rows"]}
    two = {row["bytes"]: row for row in two_sided["rows"]}
    table = Table(SWEEP, SWEEP_COLUMNS, [])
    for size in SIZES:
        native, segmented = times["native", size], times["segmented", size]
        table.rows.append([str(size), _us(native["planned_us"]), _us(native["time_us"]),
                           _us(segmented["planned_us"]), _us(segmented["time_us"]),
                           _us(two[size]["time_us"]), _us(times["orig", size]["time_us"])])
    return table


def _gain(answer):
    rows = {(row["neighbors"], row["tnis"], row["algorithm"]): row for row in answer["rows"]}
    table = Table(GAIN, GAIN_COLUMNS, [])
    for n in GAIN_NEIGHBORS:
        for c in GAIN_ENGINES:
            native, segmented = rows[n, c, "native"], rows[n, c, "segmented"]
            table.rows.append([str(n), str(c), _us(native["time_us"]), _us(segmented["time_us"]),
                               segmented["runs"]])
    return table


def _crossing(sizes, native, segmented):
    """Where the two are equal: interpolated linearly over the logarithms of
    sizes.

    The last time that segments become faster; None if they never do.
    """
    for i in reversed(range(1, len(sizes))):
        before, after = segmented[i - 1] - native[i - 1], segmented[i] - native[i]
        if before > 0 >= after:
            part = before / (before - after)
            low, high = math.log(sizes[i - 1]), math.log(sizes[i])
            return math.exp(low + part * (high - low))
    return None


def _rate(sizes, times):
    """GB/s that a node sends"""
    return [NEIGHBORS * size / us / 1000 for size, us in zip(sizes, times)]


def _draw_rates(machine, table):
    figure, ax = plots.axes(f"{machine}: what a node sends, GB/s", "bytes of a message", "GB/s")
    sizes = table.numbers("bytes")
    for name, style in (
            ("native, model", {"color": plots.BLUE, "linestyle": "--"}),
            ("native", {"color": plots.BLUE, "marker": "o"}),
            ("segmented, model", {"color": plots.RED, "linestyle": "--"}),
            ("segmented", {"color": plots.RED, "marker": "s"}),
            ("segmented, two-sided", {"color": plots.ORANGE, "marker": "^", "linewidth": 1}),
            ("orig", {"color": plots.GREY, "marker": "x", "linestyle": "--", "linewidth": 1})):
        ax.plot(sizes, _rate(sizes, table.numbers(name)), label=TITLES.get(name, name), **style)
    plots.size_axis(ax, SIZES)
    ax.set_ylim(bottom=0)
    plots.legend_below(figure, ax)
    return figure


def _mark(ax, size, height, text, color):
    ax.axvline(size, color=color, linewidth=0.8, linestyle=":")
    ax.annotate(text, (size, height), xytext=(4, 0), textcoords="offset points", fontsize=8,
                bbox={"facecolor": "white", "edgecolor": color, "linewidth": 0.6, "pad": 1.5})


def _draw_ratio(machine, table, crossing):
    figure, ax = plots.axes(f"{machine}: time native / time in segments", "bytes of a message",
                            "times as fast")
    sizes = table.numbers("bytes")
    for native, segmented, label, style in (
            ("native, model", "segmented, model", "model", {"color": plots.GREY,
                                                            "linestyle": "--"}),
            ("native", "segmented", "measured", {"color": plots.RED, "marker": "s"}),
            ("native", "segmented, two-sided", "measured, two-sided",
             {"color": plots.ORANGE, "marker": "^", "linewidth": 1})):
        ratio = [a / b for a, b in zip(table.numbers(native), table.numbers(segmented))]
        ax.plot(sizes, ratio, label=label, **style)
    ax.axhline(1, color=plots.BLACK, linewidth=0.8)
    low, high = ax.get_ylim()
    for at, ((name, size), color) in enumerate(zip(crossing.items(),
                                                   (plots.GREY, plots.RED, plots.ORANGE))):
        if size:
            _mark(ax, size, low + (0.06 + 0.07 * at) * (high - low), f"{name}: {size:.0f} B", color)
    plots.size_axis(ax, SIZES)
    plots.legend_below(figure, ax)
    return figure


def _crossings(machine, table):
    sizes, native = table.numbers("bytes"), table.numbers("native")
    return {"model": model.crossover(machine, NEIGHBORS, ENGINES),
            "measured": _crossing(sizes, native, table.numbers("segmented")),
            "measured, two-sided": _crossing(sizes, native,
                                             table.numbers("segmented, two-sided"))}


class Neighbor(Experiment):
    """Six neighbours on four engines, messages of 1 KiB to 16 MiB."""
    name = "neighbor"
    title = "Neighbour exchange in segments"
    runs = tuple(map(_run, MACHINES))
    sources = tuple(run.name for run in runs)
    computes = ("neighbor-crossover",)

    def sheet(self, run, answers):
        note = f"neighbour exchange on {run.machine}: {run.nodes()} nodes ({run.shape}) as " \
               f"{PROCS} processes; virtual time"
        return Sheet(run.name, [note], [_sweep(*answers[:2]), _gain(answers[2])])

    def computed(self, sheets):
        table = Table("from how many bytes of a message on segments are the faster way",
                      ["machine", "model", "measured", "two-sided"], [])
        for machine in MACHINES:
            sheet = sheets.get(f"neighbor-{machine}")
            if sheet:
                found = _crossings(machine, sheet.table(SWEEP))
                table.rows.append([machine, *(f"{size:.0f}" if size else "never"
                                              for size in found.values())])
        if table.rows:
            yield Sheet("neighbor-crossover", ["model, and interpolated between two sizes"],
                        [table])

    def section(self, sheets):
        yield Text(
            "Six neighbours on four engines: native, some engines send two messages and some one; "
            "in segments, all send the same in three steps of half messages. 27 nodes (3x3x1x1x3x1 "
            "as 3x3x3 processes) are the fewest of which each has six neighbours with a link to "
            "each: in a ring of two nodes both neighbours are one. No barrier in the time, which "
            "is that of the slowest node, and nothing is verified (the tests do). Dashed: the "
            "model T of tofu_neighbor_model_ns(), which knows nothing of what a processor does. "
            "'As sent and received': the same by messages from point to point, without a plan.")
        yield Text(
            "The crossover is where both take the same time. The measured one is interpolated "
            "between the two sizes around it, on a straight line over the logarithm of the size.")
        for machine in MACHINES:
            sheet = sheets.get(f"neighbor-{machine}")
            if sheet:
                yield self._plots(machine, sheet.table(SWEEP))
        if "neighbor-crossover" in sheets:
            yield Plots("Crossover, in bytes", [], sheets["neighbor-crossover"].tables)

    def _plots(self, machine, table):
        crossing = _crossings(machine, table)
        best = table.numbers("native")[-1] / table.numbers("segmented")[-1]
        return Plots(f"Six neighbours on four engines, {machine}", [
            Plot(f"neighbor-{machine}-rate",
                 f"Line plot: GB/s that a node of {machine} sends, by bytes of a message from "
                 "1 KiB to 16 MiB, native and in segments, measured and by the model, and from "
                 "point to point. All rise and level out; segments end higher.",
                 lambda: _draw_rates(machine, table)),
            Plot(f"neighbor-{machine}-gain",
                 f"Line plot: how many times as fast segments are on {machine}. Below 1 for short "
                 f"messages, {best:.2f} at 16 MiB, measured; model and measurement beside each "
                 "other, with their crossovers.", lambda: _draw_ratio(machine, table, crossing)),
        ], [table])
