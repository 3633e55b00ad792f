# SPDX-License-Identifier: MIT
"""Random sets of puts under each scheduler: is overhead-aware ever worse?"""

from .. import plots
from ..errors import ReproError
from ..experiment import Experiment, Plot, Plots, Text
from ..measure import Run
from ..tables import Sheet, Table
from . import never_worse
from .scale import OTHERS, OVERHEAD, PROCS, SCHEDULERS, SHAPE, STYLES, TITLES

MEASURED, PLANNED = "measured, µs", "planned, µs"


def _halo():
    return ("tofu-halo", "--json", "--procs", PROCS, "--pattern", "random", "--scheduler", "each",
            "--barrier", "--machine", "fx10", "--warmup", 1, "--iterations", 9)


def _table(title, key, rows):
    """`rows` by set and scheduler."""
    cells = [[str(number), str(rows[number, OVERHEAD]["puts"]),
              str(rows[number, OVERHEAD]["bytes_per_exchange"]),
              *(f"{rows[number, scheduler][key]:.3f}" for scheduler in SCHEDULERS)]
             for number in dict.fromkeys(number for number, _ in rows)]
    return Table(title, ["set", "puts", "bytes", *SCHEDULERS], cells)


def _draw(table):
    """Each scheduler's time, relative to the best of the six others."""
    figure, ax = plots.axes("fx10, random sets: measured", "set",
                            "time, by that of the best of the six others", width=7)
    sets = table.numbers("set")
    best = [min(times) for times in zip(*(table.numbers(name) for name in OTHERS))]
    for name in SCHEDULERS:
        shares = [time / least for time, least in zip(table.numbers(name), best)]
        ax.plot(sets, shares, label=TITLES[name], **STYLES[name] | {"linestyle": "none"})
    ax.axhline(1, color=plots.GREY, linewidth=0.8)
    ax.set_xticks(sets)
    plots.legend_below(figure, ax)
    return figure


class RandomSets(Experiment):
    """12 sets of 2 to 14 puts, 7 schedulers."""
    name = "random"
    title = "Random sets of puts under seven schedulers"
    runs = (Run("random", "fx10", SHAPE, (_halo(),)),)
    sources = ("random",)

    def sheet(self, run, answers):
        wrong = sum(row["bytes_wrong"] for row in answers[0]["rows"])
        if wrong:
            raise ReproError(f"{run.name}: {wrong} bytes are wrong")
        rows = {(row["set"], row["scheduler"]): row for row in answers[0]["rows"]}
        note = f"random sets of puts on fx10: {run.nodes()} nodes ({run.shape}) as {PROCS} " \
               "processes; a barrier at both ends; virtual time"
        return Sheet(run.name, [note], [_table(MEASURED, "time_us", rows),
                                        _table(PLANNED, "planned_us", rows)])

    def section(self, sheets):
        measured, planned = map(sheets["random"].table, (MEASURED, PLANNED))
        verdict = never_worse.sentence(never_worse.cases(measured, "set {}".format, OVERHEAD,
                                                         OTHERS))
        yield Text(
            "Directions and sizes by chance, every process the same (tofu-halo --pattern random): "
            "sets of small puts, of which a few fit before a second engine has been started, and "
            "sets of small and large ones. Nobody has tuned a scheduler to them. Every byte is "
            "verified.")
        yield Plots("Random sets, fx10", [
            Plot("random-measured",
                 "Point plot: for each of the random sets the measured time of each scheduler, "
                 f"divided by that of the best of the six others. {verdict}",
                 lambda: _draw(measured))], [measured, planned])
        yield Text(f"Measured, {verdict}")
