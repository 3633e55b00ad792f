# SPDX-License-Identifier: MIT
"""Halos of SCALE-LES3 under each scheduler, planned, measured and published."""

from .. import model, plots
from ..errors import ReproError
from ..experiment import Experiment, Plot, Plots, Tables, Text
from ..measure import Run
from ..tables import Sheet, Table, number
from . import never_worse

MACHINES = ("k", "fx10")
SHAPE, PROCS = "4x1x1x1x3x1", "4x3"
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
ENGINE = "two nodes that send each other one message by one engine, fx10"
# Sizes of SCALE-LES3's messages, and around them
ENGINE_BYTES = (16384, 28416, 56320, 56832, 112128, 112640, 168448, 224256, 1 << 18, 1 << 20)
PROGRAM = (
    "All published times have about 6 µs more than the measured ones, also where nothing is shared "
    "(east and west). They are of an MPI library on 48 processes, with a barrier at both ends; the "
    "barriers here are barrier gates, which take 1 to 2 µs each, and starting and waiting are some "
    "hundred instructions. ")
LINKS = PROGRAM + (
    "The rest is links that two engines share: at the 4.9 GB/s that a link carries two messages of "
    "112128 bytes need 45.8 µs, and the links are full here. The published times leave a link at "
    "4.1 to 4.5 GB/s; what else the machine or the program did is not known.")
HOST = PROGRAM + (
    "Four engines send and receive 897024 bytes. The model's host interface carries 15 GB/s, the "
    "upper end of the published 13 to 15; at 13 GB/s it would take 9 µs more, which is about "
    "the rest.")
# Explanations of such deviations: (part, k, scheduler)
REASONS = {(PARTS[part], "872", TITLES[scheduler]): reason for part, scheduler, reason in (
    ("ns", "bl:4", PROGRAM), ("four", "bl:4", HOST),
    ("ns", "round-robin:2", LINKS), ("ns", "round-robin:4", LINKS))}


def _halo(parts, schedulers, grid, *more):
    return ("tofu-halo", "--json", "--procs", PROCS, "--pattern", "scale-les3",
            "--part", parts, "--scheduler", schedulers, "--grid", grid, "--barrier", *more)


def _empty():
    return ("tofu-halo", "--json", "--procs", PROCS, "--pattern", "neighbor", "--neighbors", 2,
            "--bytes", 8, "--algorithm", "native", "--barrier", "--warmup", 1, "--iterations", 9)


def _run(machine):
    everything = _halo("each", ",".join(STYLES), "all", "--machine", machine,
                       "--warmup", 1, "--iterations", 9, "--no-verify")
    return Run(f"scale-{machine}", machine, SHAPE, (everything, _empty()), seconds=7200)


def _engine():
    """One engine that sends and receives at once, without contention."""
    return Run("scale-engine", "fx10", "2", (
        ("tofu-halo", "--json", "--procs", 2, "--pattern", "neighbor", "--neighbors", 1,
         "--tnis", 1, "--bytes", ",".join(map(str, ENGINE_BYTES)), "--algorithm", "native",
         "--machine", "fx10", "--warmup", 1, "--iterations", 9, "--no-verify"),))


def _engine_table(answer):
    table = Table(ENGINE, ["bytes", "µs", "GB/s"], [])
    for row in answer["rows"]:
        table.rows.append([str(row["bytes"]), _us(row["time_us"]),
                           f"{row['bytes'] / row['time_us'] / 1000:.3f}"])
    return table


def _us(value):
    return f"{value:.3f}"


def _title(part, what):
    return f"{PARTS[part]}, {what}, µs"


def _table(part, what, rows):
    """`rows` by part, scheduler and k; messages as sent have no plan."""
    key = f"{what}_us"
    levels = list(dict.fromkeys(k for p, _, k in rows if p == part))
    names = list(dict.fromkeys(s for (p, s, _), row in rows.items() if p == part and key in row))
    cells = [[str(k), *(_us(rows[part, s, k][key]) for s in names)] for k in levels]
    return Table(_title(part, what.replace("time", "measured")), ["k", *names], cells)


def _tables(answer):
    rows = {(row["part"], row["scheduler"], row["k"]): row for row in answer["rows"]}
    for part in PARTS:
        if any(p == part for p, _, _ in rows):
            yield _table(part, "time", rows)
            yield _table(part, "planned", rows)


def _note(run):
    return f"SCALE-LES3 halos on {run.machine}: {run.nodes()} nodes ({run.shape}) as {PROCS} " \
           "processes; a barrier at both ends; virtual time"


def _cell(table, k, scheduler):
    for row in table.rows:
        if row[0] == str(k):
            return float(row[table.columns.index(scheduler)])
    raise ReproError(f"'{table.title}' has no row {k}")


def _published(machine):
    """tofu-sched prints FX10's times beside the plans of any machine."""
    return model.published(machine) if machine == "fx10" else []


def _calibration(machine, sheet):
    table = Table("published, planned and measured times, µs",
                  ["part", "k", "scheduler", "published", "planned", "measured", "off by"], [])
    for part, k, scheduler, us in _published(machine):
        planned = _cell(sheet.table(_title(part, "planned")), k, scheduler)
        measured = _cell(sheet.table(_title(part, "measured")), k, scheduler)
        table.rows.append([PARTS[part], str(k), TITLES[scheduler], str(us), _us(planned),
                           _us(measured), f"{100 * (measured / us - 1):+.1f} %"])
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


def _draw(machine, part, table, what, top, marks):
    figure, ax = plots.axes(f"{machine}, {PARTS[part]}: {what}", "levels k of the grid",
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


def _plots(machine, part, sheet):
    measured, planned = (sheet.table(_title(part, what)) for what in ("measured", "planned"))
    marks = [(k, s, us) for p, k, s, us in _published(machine) if p == part]
    highest = max(value for table in (measured, planned) for name in table.columns[1:]
                  for value in table.numbers(name))
    top = 1.05 * max([highest, *(us for _, _, us in marks)])
    last = ", ".join(f"{TITLES[name]} {measured.numbers(name)[-1]:.0f}"
                     for name in measured.columns[1:])
    shown = (("measured", measured, marks), ("planned", planned, marks))
    return Plots(f"{PARTS[part].capitalize()}, {machine}", [
        Plot(f"scale-{machine}-{part}-{what}",
             f"Line plot: {what} time of an exchange, {PARTS[part]}, {machine}, by levels k, a "
             f"line for each scheduler; all rise with k. Measured at k = {measured.column('k')[-1]}"
             f", in µs: {last}.",
             lambda what=what, table=table, points=points:
             _draw(machine, part, table, what, top, points))
        for what, table, points in shown], [measured, planned])


class Scale(Experiment):
    """11 rows, 5 sets of directions, 7 schedulers, and unplanned messages."""
    name = "scale"
    title = "SCALE-LES3 under seven schedulers"
    runs = (*map(_run, MACHINES), _engine())
    sources = tuple(run.name for run in runs)
    computes = tuple(f"scale-{machine}-summary" for machine in MACHINES)

    def sheet(self, run, answers):
        if run.name == "scale-engine":
            note = "one engine that sends and receives at once; no barrier in the time; virtual time"
            return Sheet(run.name, [note], [_engine_table(answers[0])])
        empty = answers[1]["rows"][0]["time_us"]
        return Sheet(run.name, [_note(run)], [
            *_tables(answers[0]),
            Table(EMPTY_EXCHANGE, ["bytes", "µs"], [["8", _us(empty)]])])

    def computed(self, sheets):
        for machine in MACHINES:
            sheet = sheets.get(f"scale-{machine}")
            if sheet:
                tables = [_calibration(machine, sheet),
                          _shorter(sheet, "the best of the six others", OTHERS),
                          _shorter(sheet, TITLES[ORIG], (ORIG,))]
                yield Sheet(f"scale-{machine}-summary", [sheet.notes[0]],
                            [table for table in tables if table.rows])

    def section(self, sheets):
        yield Text(
            "The halo exchange of SCALE-LES3: 14 puts, of which each plot has those of some "
            "directions. 12 nodes (4x1x1x1x3x1 as 4x3 processes), a barrier at both ends of each "
            "exchange and in its time, as it was published (pseudo-collective mode). Beside what "
            "was measured stands what was planned, which knows of no barriers. 'As sent and "
            "received' is the same halo by a program without a plan: messages from point to point, "
            "message i by an endpoint on engine i mod 4, short ones through rings and long ones "
            "agreed upon. Stars are published for FX10, on 48 processes.")
        for machine in MACHINES:
            if f"scale-{machine}" in sheets:
                sheet = sheets[f"scale-{machine}"]
                for part in PARTS:
                    yield _plots(machine, part, sheet)
                yield Text(f"{machine}, barriers and little else:")
                yield Tables([sheet.table(EMPTY_EXCHANGE)])
        for machine in MACHINES:
            name = f"scale-{machine}-summary"
            if name in sheets:
                yield Text(f"{machine}, from the tables above:")
                yield Tables(sheets[name].tables)
                yield Text(f"{machine}, measured: "
                           f"{never_worse.sentence(_cases(sheets[f'scale-{machine}']))}")
                apart, where = _spread(sheets[f"scale-{machine}"])
                yield Text(
                    "The three widths of bottom-left packing have one plan where there are no "
                    f"diagonals; measured, they are up to {apart:.1f} % apart, at {where}. Where "
                    "engines and links are full, a hundred nanoseconds at the start decide who "
                    "waits for whom: less than that is no difference of plans. What "
                    "takes little takes more than is planned: probably since a processor pays for "
                    "each put that it posts, and for each engine on which it looks for notices.")
        if "scale-engine" in sheets:
            yield Tables(sheets["scale-engine"].tables)
        for point, off in self._far(sheets):
            yield Text(f"{', '.join(point)}, {off:+.1f} %: {REASONS.get(point, 'why?')}")

    def _far(self, sheets):
        """Published times far from the measured ones: (point, per cent)."""
        for name in self.computes:
            first = sheets[name].tables[0] if name in sheets else None
            if first and "off by" in first.columns:
                for row in first.rows:
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
    runs = (Run("brief", "fx10", SHAPE,
                (_halo("four", "round-robin:1,bl:4,overhead-aware", "60,218",
                       "--machine", "fx10", "--warmup", 1, "--iterations", 15),)),)
    sources = ("brief",)

    def sheet(self, run, answers):
        wrong = sum(row["bytes_wrong"] for row in answers[0]["rows"])
        if wrong:
            raise ReproError(f"{run.name}: {wrong} bytes are wrong")
        return Sheet(run.name, [_note(run)], list(_tables(answers[0])))

    def section(self, sheets):
        yield Text("Measured by 'make check' on every change. Every byte is verified.")
        yield Tables(sheets["brief"].tables)
