# SPDX-License-Identifier: MIT
"""Neighbour exchange: segmented against native, measured and by the model."""

import math

from .. import halo, model, plots
from ..experiment import Experiment, Plot, Plots, Text
from ..measure import Simulated
from ..tables import Sheet, Table, widest

MACHINES = ("fx10",)
# As published: 96 nodes, a torus of 4x3x8
SHAPE, PROCS = "2x1x4x2x3x2", "4x3x8"
NEIGHBORS, ENGINES = 6, 4
SIZES = tuple(1 << power for power in range(10, 25))
PHASES = 1000  # ns
# Exchanges that are measured, of messages shorter than this. Longer ones are a million packets,
# and one is measured, after another one only where that would find rings that are not there yet.
EXCHANGES = ((1 << 17, 15), (1 << 22, 3), (SIZES[-1] + 1, 1))
GAIN_NEIGHBORS, GAIN_ENGINES, GAIN_BYTES = (3, 5, 6), (2, 3, 4), 1 << 20
SWEEP = "6 neighbours on 4 engines; time of an exchange in µs"
GAIN = "native and in segments; 1 MiB; time of an exchange in µs"
MESSAGES = "messages"
# Runs of all sizes: (algorithms, form)
RUNS = (("native,segmented", "one-sided"), ("segmented", "steps"), ("segmented", "two-sided"),
        ("native,segmented", MESSAGES))
# Columns of times: (title, algorithm, form)
TIMES = (("native", "native", "one-sided"), ("segmented", "segmented", "one-sided"),
         ("segmented, in steps", "segmented", "steps"),
         ("segmented, two-sided", "segmented", "two-sided"),
         ("messages", "native", MESSAGES), ("messages, segmented", "segmented", MESSAGES))
MODELS = (("native, model", "native"), ("segmented, model", "segmented"))
SWEEP_COLUMNS = ["bytes", *(title for title, _ in MODELS), *(title for title, _, _ in TIMES)]
GAIN_COLUMNS = ["neighbours", "engines", "native", "segmented", "runs"]


def _halo(neighbors, tnis, algorithm, sizes, form="one-sided"):
    exchanges = next(count for bytes_, count in EXCHANGES if max(sizes) < bytes_)
    lists = [",".join(map(str, one)) for one in (neighbors, tnis, sizes)]
    return (SHAPE, ("tofu-halo", "--json", "--pattern", "neighbor", "--procs", PROCS,
                    "--neighbors", lists[0], "--tnis", lists[1], "--bytes", lists[2],
                    "--algorithm", algorithm, "--form", form,
                    "--warmup", 0 if exchanges == 1 and form != MESSAGES else 1,
                    *halo.phases(PHASES, exchanges), "--no-verify"))


def _sweeps(algorithm, form):
    """Sizes of which as many exchanges are measured"""
    low = 0
    for high, _ in EXCHANGES:
        yield _halo((NEIGHBORS,), (ENGINES,), algorithm,
                    [size for size in SIZES if low <= size < high], form)
        low = high


def _run(machine):
    return Simulated(f"neighbor-{machine}", machine, (
        *(call for run in RUNS for call in _sweeps(*run)),
        _halo(GAIN_NEIGHBORS, GAIN_ENGINES, "native,segmented", (GAIN_BYTES,))))


def _us(value):
    return f"{value:.3f}"


def _rows(answers):
    return [row for answer in answers for row in answer["rows"]]


def _sweep(answers):
    rows = {(row["algorithm"], row["form"], row["bytes"]): row for row in _rows(answers)}
    table = Table(SWEEP, SWEEP_COLUMNS, [])
    for size in SIZES:
        table.rows.append([
            str(size), *(_us(rows[algorithm, "one-sided", size]["planned_us"])
                         for _, algorithm in MODELS),
            *(halo.cell(rows[algorithm, form, size]) for _, algorithm, form in TIMES)])
    return table


def _gain(answer):
    rows = {(row["neighbors"], row["tnis"], row["algorithm"]): row for row in answer["rows"]}
    table = Table(GAIN, GAIN_COLUMNS, [])
    for n in GAIN_NEIGHBORS:
        for c in GAIN_ENGINES:
            native, segmented = rows[n, c, "native"], rows[n, c, "segmented"]
            table.rows.append([str(n), str(c), halo.cell(native), halo.cell(segmented),
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
            ("segmented, in steps", {"color": plots.GREEN, "marker": "v", "linewidth": 1}),
            ("segmented, two-sided", {"color": plots.ORANGE, "marker": "^", "linewidth": 1}),
            ("messages", {"color": plots.GREY, "marker": "x", "linestyle": "--", "linewidth": 1}),
            ("messages, segmented", {"color": plots.BLACK, "marker": "+", "linestyle": "--",
                                     "linewidth": 1})):
        ax.plot(sizes, _rate(sizes, table.numbers(name)), label=name, **style)
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
            ("native", "segmented, in steps", "measured, in steps",
             {"color": plots.GREEN, "marker": "v", "linewidth": 1}),
            ("native", "segmented, two-sided", "measured, two-sided",
             {"color": plots.ORANGE, "marker": "^", "linewidth": 1}),
            ("messages", "messages, segmented", "measured, messages",
             {"color": plots.BLACK, "marker": "+", "linestyle": "--", "linewidth": 1})):
        ratio = [a / b for a, b in zip(table.numbers(native), table.numbers(segmented))]
        ax.plot(sizes, ratio, label=label, **style)
    ax.axhline(1, color=plots.BLACK, linewidth=0.8)
    low, high = ax.get_ylim()
    for at, ((name, size), color) in enumerate(zip(crossing.items(),
                                                   (plots.GREY, plots.RED, plots.GREEN,
                                                    plots.ORANGE, plots.BLACK))):
        if size:
            _mark(ax, size, low + (0.06 + 0.07 * at) * (high - low), f"{name}: {size:.0f} B", color)
    plots.size_axis(ax, SIZES)
    plots.legend_below(figure, ax)
    return figure


def _crossings(machine, table):
    sizes, native = table.numbers("bytes"), table.numbers("native")
    return {"model": model.crossover(machine, NEIGHBORS, ENGINES),
            "measured": _crossing(sizes, native, table.numbers("segmented")),
            "measured, in steps": _crossing(sizes, native, table.numbers("segmented, in steps")),
            "measured, two-sided": _crossing(sizes, native,
                                             table.numbers("segmented, two-sided")),
            "measured, messages": _crossing(sizes, table.numbers("messages"),
                                            table.numbers("messages, segmented"))}


def _ranges(table):
    counts = [f"{count} exchanges of messages shorter than {plots.bytes_text(size)}"
              for size, count in EXCHANGES[:-1]]
    per_cent, _, name, size = widest([table])
    return f"Measured are {', '.join(counts)}, and one of longer ones. The widest range is " \
           f"± {per_cent} %, {name}, of {plots.bytes_text(int(size))}."


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
        return Sheet(run.name, [note], [_sweep(answers[:-1]), _gain(answers[-1])])

    def computed(self, sheets):
        table = Table("from how many bytes of a message on segments are the faster way",
                      ["machine", "model", "measured", "in steps", "two-sided", "messages"], [])
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
            "in segments, all send the same in three steps of half messages. As published, 96 "
            f"nodes of FX10 ({SHAPE}, a torus of {PROCS}). No barrier in the time, which is that "
            "of the slowest node, and nothing is verified (the tests do). Dashed: the "
            "model T of tofu_neighbor_model_ns(), which knows nothing of what a processor does.")
        yield Text(
            "'Segmented' has all its puts queued at once. 'In steps' is the published one-sided "
            "form, which awaits the local completions of a step's four puts before the next; "
            "'two-sided' awaits those of the neighbours, too. Messages are sent and received from "
            "point to point: native, all at once; in segments, as published, four sends and "
            "receives a step, all awaited. They are compared with native messages, the others "
            "with native puts. Messages of 32 KiB are the ones that need a rendezvous while their "
            "segments are still eager.")
        yield Text(halo.PHASES.format(ns=PHASES))
        for machine in MACHINES:
            if f"neighbor-{machine}" in sheets:
                yield Text(_ranges(sheets[f"neighbor-{machine}"].table(SWEEP)))
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
