# SPDX-License-Identifier: MIT
"""The gain of segments, over neighbours and engines."""

from .. import model, plots
from ..experiment import Experiment, Plot, Plots, Text
from ..tables import SPREAD, Sheet, Table, number, spread
from . import neighbor

NEIGHBORS, ENGINES = range(1, 27), range(1, 7)
BYTES = neighbor.GAIN_BYTES
# So long that the cost of a step does not matter
ENDLESS = 1 << 40
# Smaller gains do not count.
NOTHING = 1.005
MODEL = "times as fast by the model, 1 MiB"
LIMIT = "times as fast for messages without end"
MEASURED = "measured beside the model, 1 MiB"


def _table(title, machine, size):
    return Table(title, ["neighbours", *(f"C = {c}" for c in ENGINES)],
                 [[str(n), *(f"{model.gain(machine, n, c, size):.3f}" for c in ENGINES)]
                  for n in NEIGHBORS])


def _measured(machine, times):
    table = Table(MEASURED, ["neighbours", "engines", "model", "measured", "off by", "runs"], [])
    for n, c, native, segmented, runs in times.rows:
        planned = model.gain(machine, int(n), int(c), BYTES)
        seen = number(native) / number(segmented)
        apart = spread(native) + spread(segmented)
        table.rows.append([n, c, f"{planned:.3f}", f"{seen:.3f}{SPREAD}{apart:.1f} %",
                           f"{100 * (seen / planned - 1):+.1f} %", runs])
    return table


def _label(ax, n, c, value, seen):
    """The model's figure in a field, and the measured one below it, framed."""
    lines = [f"{value:.2f}"] if value >= NOTHING else []
    if seen is not None:
        lines = [f"{value:.2f}", f"{seen:.2f}"]
        ax.add_patch(plots.pyplot.Rectangle((n - 0.46, c - 0.46), 0.92, 0.92, fill=False,
                                            edgecolor=plots.RED, linewidth=1.8))
    dark = NOTHING <= value < 1.45
    ax.text(n, c, "\n".join(lines), ha="center", va="center", fontsize=7,
            color="white" if dark else "black")


def _draw(machine, sheet):
    table, measured = sheet.table(MODEL), sheet.table(MEASURED)
    seen = {(int(n), int(c)): number(ratio)
            for n, c, ratio in zip(*map(measured.column, ("neighbours", "engines", "measured")))}
    values = [table.numbers(f"C = {c}") for c in ENGINES]
    figure, ax = plots.axes(f"{machine}: times as fast in segments, 1 MiB", "neighbours N",
                            "engines C", 11, 4)
    colors = plots.pyplot.get_cmap("cividis").with_extremes(under="#f2f2f2")
    image = ax.pcolormesh(list(NEIGHBORS), list(ENGINES), values, cmap=colors, vmin=NOTHING, vmax=2,
                          edgecolors="white", linewidth=0.5)
    ax.grid(False)
    ax.set_xticks(list(NEIGHBORS))
    ax.set_yticks(list(ENGINES))
    for c, row in zip(ENGINES, values):
        for n, value in zip(NEIGHBORS, row):
            _label(ax, n, c, value, seen.get((n, c)))
    figure.colorbar(image, ax=ax, label="times as fast", pad=0.01)
    return figure


class Gain(Experiment):
    """The gain over N and C, by the model, and measured by the runs of neighbor."""
    name = "gain"
    title = "What segments gain, by neighbours and engines"
    sources = neighbor.Neighbor.sources
    computes = tuple(f"gain-{machine}" for machine in neighbor.MACHINES)

    def computed(self, sheets):
        for machine in neighbor.MACHINES:
            source = sheets.get(f"neighbor-{machine}")
            if source:
                yield Sheet(f"gain-{machine}", [f"native / in segments, {machine}"],
                            [_measured(machine, source.table(neighbor.GAIN)),
                             _table(MODEL, machine, BYTES), _table(LIMIT, machine, ENDLESS)])

    def section(self, sheets):
        yield Text(
            "Native time by time in segments. A grey field is 1: with N ≤ C, with one engine, or "
            "where C divides N, both are the same exchange. For long messages the gain is "
            "(C′/N′)·⌈N/C⌉ with N = kN′, C = kC′, k = gcd(N, C): up to 2 as N approaches C from "
            "above. Fields with a red frame were measured, by the runs of the experiment above: "
            "the upper figure is the model's, the lower one measured. In the table ± is the sum of "
            "both ranges (see the experiment above).")
        for name in self.computes:
            if name in sheets:
                yield self._plots(name, sheets[name],
                                  sheets[name.replace("gain", "neighbor")].table(neighbor.GAIN))

    def _plots(self, name, sheet, times):
        machine = name.removeprefix("gain-")
        return Plots(f"Gain of segments, {machine}", [
            Plot(name, f"Heat map for {machine}: neighbours 1 to 26 against engines 1 to 6. "
                 "Brightest just right of N = C, where it comes near 2; grey, which is no gain, where N is at most C and where C divides N.",
                 lambda: _draw(machine, sheet))], [*sheet.tables, times])
