# SPDX-License-Identifier: MIT
"""Halos of SCALE-LES3 under each scheduler, planned, measured and published."""

from .. import halo, model, plots
from ..errors import ReproError
from ..experiment import Experiment, Plot, Plots, Tables, Text
from ..measure import Run, Simulated
from ..tables import Sheet, Table, number, widest
from . import never_worse

# As published: 48 processes, a torus of 6x8
MACHINE, SHAPE, PROCS = "k", "1x2x4x1x3x2", "6x8"
BRIEF_MACHINE, BRIEF_SHAPE, BRIEF_PROCS = "fx10", "4x1x1x1x3x1", "4x3"
SMALL, LARGE = 60, 872
EXCHANGES = 15
# A node that is early waits in the barrier, which is measured: no more than a poll takes.
PHASES = 250  # ns
PARTS = {"ew": "east and west", "ns": "north and south", "four": "four directions",
         "diagonal": "diagonals", "all": "all eight"}
OVERHEAD, ORIG = "overhead-aware", "orig"
OTHERS = ("round-robin:1", "round-robin:2", "round-robin:4", "bl:1", "bl:2", "bl:4")
SCHEDULERS = (*OTHERS, OVERHEAD)
TITLES = {"round-robin:1": "RoundRobin(1)", "round-robin:2": "RoundRobin(2)",
          "round-robin:4": "RoundRobin(4)", "bl:1": "BLbased(1)", "bl:2": "BLbased(2)",
          "bl:4": "BLbased(4)", OVERHEAD: "overhead-aware", ORIG: "as sent and received"}
STYLES = {
    "round-robin:1": {"color": plots.ORANGE, "marker": "o"},
    "round-robin:2": {"color": plots.RED, "marker": "s"},
    "round-robin:4": {"color": plots.PURPLE, "marker": "^"},
    "bl:1": {"color": plots.SKY, "marker": "o", "markersize": 8, "fillstyle": "none"},
    "bl:2": {"color": plots.BLUE, "marker": "s", "markersize": 6.5, "fillstyle": "none"},
    "bl:4": {"color": plots.GREEN, "marker": "^", "markersize": 5},
    OVERHEAD: {"color": plots.BLACK, "marker": ".", "linewidth": 1},
    ORIG: {"color": plots.GREY, "marker": "x", "linestyle": "--", "linewidth": 1},
}
# Larger deviations of a published time from the measured one are mentioned.
CLOSE = 10
EMPTY_EXCHANGE = "an exchange of 8 bytes with two neighbours"
ENGINE = f"two nodes that send each other one message by one engine, {MACHINE}"
# Sizes of SCALE-LES3's messages, and around them
ENGINE_BYTES = (16384, 28416, 56320, 56832, 112128, 112640, 168448, 224256, 1 << 18, 1 << 20)
PROGRAM = (
    "2 to 5 µs do not depend on the data: the table of what comes from k = 60 to 872 is without "
    "them. They are of an MPI library, whose barriers, start and wait took some 12.7 µs; here these "
    "are barrier gates and some hundred instructions.")
# Explanations of such deviations: (part, k, scheduler)
REASONS = {(PARTS[part], str(k), TITLES[scheduler]): PROGRAM for part, k, scheduler in (
    ("ew", SMALL, "bl:2"), ("ns", SMALL, "round-robin:4"), ("ns", SMALL, "bl:4"),
    ("four", SMALL, "bl:4"))}


def _halo(procs, machine, parts, schedulers, grid, *more):
    return ("tofu-halo", "--json", "--procs", procs, "--machine", machine, "--pattern",
            "scale-les3", "--part", parts, "--scheduler", schedulers, "--grid", grid, "--barrier",
            *more)


def _empty():
    return ("tofu-halo", "--json", "--procs", PROCS, "--pattern", "neighbor", "--neighbors", 2,
            "--bytes", 8, "--algorithm", "native", "--barrier", "--warmup", 1,
            *halo.phases(PHASES, EXCHANGES))


def _everything():
    return _halo(PROCS, MACHINE, "each", ",".join(STYLES), "all", "--warmup", 1,
                 *halo.phases(PHASES, EXCHANGES), "--no-verify")


def _engine():
    """One engine that sends and receives at once, without contention."""
    return ("tofu-halo", "--json", "--procs", 2, "--pattern", "neighbor", "--neighbors", 1,
            "--tnis", 1, "--bytes", ",".join(map(str, ENGINE_BYTES)), "--algorithm", "native",
            "--warmup", 1, *halo.phases(PHASES, EXCHANGES), "--no-verify")


def _engine_table(answer):
    table = Table(ENGINE, ["bytes", "µs", "GB/s"], [])
    for row in answer["rows"]:
        table.rows.append([str(row["bytes"]), halo.cell(row),
                           f"{row['bytes'] / row['time_us'] / 1000:.3f}"])
    return table


def _us(value):
    return f"{value:.3f}"


def _title(part, what):
    return f"{PARTS[part]}, {what}, µs"


def _cell_of(row, key):
    return halo.cell(row) if key == "time_us" else _us(row[key])


def _table(part, what, rows):
    """`rows` by part, scheduler and k; messages as sent have no plan."""
    key = f"{what}_us"
    levels = list(dict.fromkeys(k for p, _, k in rows if p == part))
    names = list(dict.fromkeys(s for (p, s, _), row in rows.items() if p == part and key in row))
    cells = [[str(k), *(_cell_of(rows[part, s, k], key) for s in names)] for k in levels]
    return Table(_title(part, what.replace("time", "measured")), ["k", *names], cells)


def _tables(answer):
    rows = {(row["part"], row["scheduler"], row["k"]): row for row in answer["rows"]}
    for part in PARTS:
        if any(p == part for p, _, _ in rows):
            yield _table(part, "time", rows)
            yield _table(part, "planned", rows)


def _note(run, procs):
    return f"SCALE-LES3 halos on {run.machine}: {run.nodes()} nodes ({run.shape}) as {procs} " \
           "processes; a barrier at both ends; virtual time"


def _cell(table, k, scheduler):
    for row in table.rows:
        if row[0] == str(k):
            return number(row[table.columns.index(scheduler)])
    raise ReproError(f"'{table.title}' has no row {k}")


def _calibration(sheet):
    table = Table("published, planned and measured times, µs",
                  ["part", "k", "scheduler", "published", "planned", "measured", "off by"], [])
    for part, k, scheduler, us in model.published(MACHINE):
        planned = _cell(sheet.table(_title(part, "planned")), k, scheduler)
        measured = _cell(sheet.table(_title(part, "measured")), k, scheduler)
        table.rows.append([PARTS[part], str(k), TITLES[scheduler], str(us), _us(planned),
                           _us(measured), f"{100 * (measured / us - 1):+.1f} %"])
    return table


def _growth(sheet):
    """What the data take: published and measured times without what both sizes have."""
    times = {(part, k, scheduler): us for part, k, scheduler, us in model.published(MACHINE)}
    table = Table(f"from k = {SMALL} to {LARGE}, µs",
                  ["part", "scheduler", "published", "measured", "off by"], [])
    for (part, k, scheduler), us in times.items():
        if k != LARGE or (part, SMALL, scheduler) not in times:
            continue
        more = us - times[part, SMALL, scheduler]
        of_part = sheet.table(_title(part, "measured"))
        measured = _cell(of_part, LARGE, scheduler) - _cell(of_part, SMALL, scheduler)
        table.rows.append([PARTS[part], TITLES[scheduler], str(more), _us(measured),
                           f"{100 * (measured / more - 1):+.1f} %"])
    return table


def _cases(sheet):
    """Overhead-aware and the best of the others, for each part and k."""
    return [case for part in PARTS for case in never_worse.cases(
        sheet.table(_title(part, "measured")), f"{PARTS[part]}, k = {{}}".format, OVERHEAD,
        OTHERS)]


def _shorter(sheet, than, others):
    """Per cent by which overhead-aware beats the best of the others."""
    parts = {part: sheet.table(_title(part, "measured")) for part in PARTS}
    levels = parts["all"].column("k")
    table = Table(f"overhead-aware, shorter than {than} by per cent; measured",
                  ["part", *(f"k = {k}" for k in levels)], [])
    for part, times in parts.items():
        best = [min(row) for row in zip(*(times.numbers(s) for s in others))]
        table.rows.append([PARTS[part], *(f"{100 * (1 - ours / other):.1f}" for ours, other in
                                          zip(times.numbers(OVERHEAD), best))])
    return table


def _spread(sheet):
    """How much measured times of one plan differ, in per cent, and where.

    The width of bottom-left packing only concerns diagonals: without these all
    three widths have the same plan.
    """
    found = []
    for part in ("ew", "ns", "four"):
        table = sheet.table(_title(part, "measured"))
        for k, *times in zip(table.column("k"), *map(table.numbers, ("bl:1", "bl:2", "bl:4"))):
            found.append((100 * (max(times) / min(times) - 1), f"{PARTS[part]}, k = {k}"))
    return max(found)


def _draw(part, table, what, top, marks):
    figure, ax = plots.axes(f"{MACHINE}, {PARTS[part]}: {what}", "levels k of the grid",
                            "time of an exchange, µs")
    levels = table.numbers("k")
    for name, style in STYLES.items():
        if name in table.columns:
            ax.plot(levels, table.numbers(name), label=TITLES[name], **style)
    for k, scheduler, us in marks:
        ax.plot([k], [us], marker="*", markersize=13, linestyle="none", clip_on=False, zorder=5,
                color=STYLES[scheduler]["color"], markeredgecolor="black",
                label=f"published: {TITLES[scheduler]}, {us} µs")
    ax.set_ylim(0, top)
    ax.set_xlim(left=0)
    plots.legend_below(figure, ax)
    return figure


def _plots(part, sheet):
    measured, planned = (sheet.table(_title(part, what)) for what in ("measured", "planned"))
    marks = [(k, s, us) for p, k, s, us in model.published(MACHINE) if p == part]
    highest = max(value for table in (measured, planned) for name in table.columns[1:]
                  for value in table.numbers(name))
    top = 1.05 * max([highest, *(us for _, _, us in marks)])
    last = ", ".join(f"{TITLES[name]} {measured.numbers(name)[-1]:.0f}"
                     for name in measured.columns[1:])
    shown = (("measured", measured, marks), ("planned", planned, marks))
    return Plots(f"{PARTS[part].capitalize()}, {MACHINE}", [
        Plot(f"scale-{part}-{what}",
             f"Line plot: {what} time of an exchange, {PARTS[part]}, {MACHINE}, by levels k, a "
             f"line for each scheduler; all rise with k. Measured at k = {measured.column('k')[-1]}"
             f", in µs: {last}.",
             lambda what=what, table=table, points=points:
             _draw(part, table, what, top, points))
        for what, table, points in shown], [measured, planned])


class Scale(Experiment):
    """11 rows, 5 sets of directions, 7 schedulers, and unplanned messages."""
    name = "scale"
    title = "SCALE-LES3 under seven schedulers"
    runs = (Simulated("scale", MACHINE, ((SHAPE, _everything()), (SHAPE, _empty()),
                                         ("2", _engine()))),)
    sources = ("scale",)
    computes = ("scale-summary",)

    def sheet(self, run, answers):
        everything, empty, engine = answers
        return Sheet(run.name, [_note(run, PROCS)], [
            *_tables(everything),
            Table(EMPTY_EXCHANGE, ["bytes", "µs"], [["8", halo.cell(empty["rows"][0])]]),
            _engine_table(engine)])

    def computed(self, sheets):
        if "scale" in sheets:
            sheet = sheets["scale"]
            yield Sheet("scale-summary", [sheet.notes[0]],
                        [_calibration(sheet), _growth(sheet),
                         _shorter(sheet, "the best of the six others", OTHERS),
                         _shorter(sheet, TITLES[ORIG], (ORIG,))])

    def section(self, sheets):
        sheet, summary = sheets["scale"], sheets["scale-summary"]
        yield Text(
            f"The halo exchange of SCALE-LES3: 14 puts, of which each plot has those of some "
            f"directions. As published: K, 48 nodes ({SHAPE}, a torus of {PROCS}), a barrier at "
            "both ends of each exchange and in its time (pseudo-collective mode). Beside what was "
            "measured stands what was planned, which knows of no barriers. 'As sent and received' "
            "is the same halo by a program without a plan: messages from point to point, message "
            "i by an endpoint on engine i mod 4, short ones through rings and long ones agreed "
            "upon. Stars are published times.")
        per_cent, title, name, k = widest([sheet.table(_title(part, "measured")) for part in PARTS])
        yield Text(f"{halo.PHASES.format(ns=PHASES)} Measured are {EXCHANGES} exchanges; the "
                   f"widest range is ± {per_cent} %, {title.split(',')[0]}, {name}, k = {k}.")
        for part in PARTS:
            yield _plots(part, sheet)
        yield Text("Barriers and little else; and what one engine can do:")
        yield Tables([sheet.table(EMPTY_EXCHANGE), sheet.table(ENGINE)])
        yield Text("From the tables above:")
        yield Tables(summary.tables)
        yield Text(f"Measured: {never_worse.sentence(_cases(sheet))}")
        apart, where = _spread(sheet)
        yield Text(
            "The three widths of bottom-left packing have one plan where there are no "
            f"diagonals; measured, they are up to {apart:.1f} % apart, at {where}. Where "
            "engines and links are full, a hundred nanoseconds at the start decide who "
            "waits for whom: less than that is no difference of plans.")
        for point, off in self._far(sheets):
            yield Text(f"{', '.join(point)}, {off:+.1f} %: {REASONS.get(point, 'why?')}")

    def _far(self, sheets):
        """Published times far from the measured ones: (point, per cent)."""
        if "scale-summary" in sheets:
            for row in sheets["scale-summary"].tables[0].rows:
                off = number(row[-1])
                if abs(off) > CLOSE:
                    yield tuple(row[:3]), off

    def complaints(self, sheets):
        for point, off in self._far(sheets):
            if point not in REASONS:
                yield f"{', '.join(point)}: {off:+.1f} % off, and REASONS does not say why"


class Brief(Experiment):
    """A few rows of scale, verified, which the cluster tests measure again."""
    name = "brief"
    title = "A few rows that the tests repeat"
    runs = (Run("brief", BRIEF_MACHINE, BRIEF_SHAPE,
                (_halo(BRIEF_PROCS, BRIEF_MACHINE, "four", "round-robin:1,bl:4,overhead-aware",
                       "60,218", "--warmup", 1, "--iterations", 15),)),)
    sources = ("brief",)

    def sheet(self, run, answers):
        wrong = sum(row["bytes_wrong"] for row in answers[0]["rows"])
        if wrong:
            raise ReproError(f"{run.name}: {wrong} bytes are wrong")
        return Sheet(run.name, [_note(run, BRIEF_PROCS)], list(_tables(answers[0])))

    def section(self, sheets):
        yield Text("Measured by 'make check' on every change. Every byte is verified.")
        yield Tables(sheets["brief"].tables)
