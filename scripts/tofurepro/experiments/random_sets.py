# SPDX-License-Identifier: MIT
"""Random sets of puts under each scheduler: is overhead-aware ever worse?"""

from .. import halo, plots
from ..errors import ReproError
from ..experiment import Experiment, Plot, Plots, Text
from ..measure import Simulated
from ..tables import Sheet, Table, widest
from . import never_worse
from .scale import MACHINE, OTHERS, OVERHEAD, PHASES, PROCS, SCHEDULERS, SHAPE, STYLES, TITLES

EXCHANGES = 15
MEASURED, PLANNED = "measured, µs", "planned, µs"


def _halo():
    return ("tofu-halo", "--json", "--procs", PROCS, "--pattern", "random", "--scheduler", "each",
            "--barrier", "--warmup", 1, *halo.phases(PHASES, EXCHANGES))


def _planned(row):
    return f"{row['planned_us']:.3f}"


def _table(title, cell, rows):
    """`rows` by set and scheduler."""
    cells = [[str(number), str(rows[number, OVERHEAD]["puts"]),
              str(rows[number, OVERHEAD]["bytes_per_exchange"]),
              *(cell(rows[number, scheduler]) for scheduler in SCHEDULERS)]
             for number in dict.fromkeys(number for number, _ in rows)]
    return Table(title, ["set", "puts", "bytes", *SCHEDULERS], cells)


def _draw(table):
    """Each scheduler's time, relative to the best of the six others."""
    figure, ax = plots.axes(f"{MACHINE}, random sets: measured", "set",
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
    runs = (Simulated("random", MACHINE, ((SHAPE, _halo()),)),)
    sources = ("random",)

    def sheet(self, run, answers):
        wrong = sum(row["bytes_wrong"] for row in answers[0]["rows"])
        if wrong:
            raise ReproError(f"{run.name}: {wrong} bytes are wrong")
        rows = {(row["set"], row["scheduler"]): row for row in answers[0]["rows"]}
        note = f"random sets of puts on {MACHINE}: {run.nodes()} nodes ({run.shape}) as {PROCS} " \
               "processes; a barrier at both ends; virtual time"
        return Sheet(run.name, [note], [_table(MEASURED, halo.cell, rows),
                                        _table(PLANNED, _planned, rows)])

    def section(self, sheets):
        measured, planned = map(sheets["random"].table, (MEASURED, PLANNED))
        verdict = never_worse.sentence(never_worse.cases(measured, "set {}".format, OVERHEAD,
                                                         OTHERS))
        yield Text(
            "Directions and sizes by chance, every process the same (tofu-halo --pattern random): "
            "sets of small puts, of which a few fit before a second engine has been started, and "
            "sets of small and large ones. Nobody has tuned a scheduler to them. Every byte is "
            "verified.")
        per_cent, _, name, number = widest([measured])
        yield Text(f"{halo.PHASES.format(ns=PHASES)} Measured are {EXCHANGES} exchanges; the "
                   f"widest range is ± {per_cent} %, set {number}, {name}.")
        yield Plots(f"Random sets, {MACHINE}", [
            Plot("random-measured",
                 "Point plot: for each of the random sets the measured time of each scheduler, "
                 f"divided by that of the best of the six others. {verdict}",
                 lambda: _draw(measured))], [measured, planned])
        yield Text(f"Measured, {verdict}")
