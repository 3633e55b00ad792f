# SPDX-License-Identifier: MIT
"""Messages to one process: cost of the three modes, and parts of a send."""

from .. import plots
from ..errors import ReproError
from ..experiment import Experiment, Plot, Plots, Tables, Text
from ..measure import Run, Simulated
from ..tables import Sheet, Table

# Those that have atomics
MACHINES = ("fx100", "fugaku")
SHAPE = "4x1x1x1x3x1"
MODES = ("fast", "saving", "shared")
BYTES = (8, 64, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536)
SENDERS = (1, 4, 11)
# Sizes for which other numbers of senders are measured, too
SHORT, LONG = 8, 4096
BETWEEN = (2, 8)
PARTS_BYTES = (8, 512, 4096)
PARTS_SENDERS = (1, 4, 11)
ALL_SENDERS = range(1, 12)
FORMS = ("one by one", "together", "kept")
STYLES = {"fast": {"color": plots.BLUE, "marker": "o"},
          "saving": {"color": plots.GREEN, "marker": "s"},
          "shared": {"color": plots.RED, "marker": "^"}}
COUNTER = "additions to one word of node 0, and nothing else"
MEMORY = "bytes that node 0 takes, by peers that it has exchanged messages with"
PARTS = "a record, ns from the call of its send, medians"
SAVED = "ns until the receiver has the record, and what is saved of them"
STEPS = "a send in its parts, ns; one sender"
SLOWER = "latency of shared less that of fast, µs"
EVEN = "shared against fast: senders from which shared brings as many messages"
# Parts of a bar in the plot of parts: (column of the table, its name)
BARS = (("call", plots.GREY), ("add", plots.ORANGE), ("or", plots.PURPLE), ("put", plots.SKY),
        ("notice", plots.GREEN))


def _p2p(test, *more):
    return ("tofu-p2p", "--json", "--test", test, *more)


def _list(numbers):
    return ",".join(map(str, numbers))


def _latency(sizes, senders, iterations=11):
    return _p2p("latency", "--mode", _list(MODES), "--bytes", _list(sizes), "--senders",
                _list(senders), "--iterations", iterations, "--warmup", 3, "--messages", 16)


def _others(parts, parts_senders, counters, peers):
    return (_p2p("srb", "--iterations", 21, "--bytes", _list(parts), "--senders", _list(parts_senders)),
            _p2p("counter", "--senders", _list(counters)),
            _p2p("memory", "--mode", _list(MODES), "--peers", _list(peers)))


def _run(machine):
    calls = (_latency(BYTES, SENDERS), _latency((SHORT, LONG), BETWEEN),
             *_others(PARTS_BYTES, PARTS_SENDERS, ALL_SENDERS, ALL_SENDERS))
    return Simulated(f"p2p-{machine}", machine, tuple((SHAPE, call) for call in calls))


def _people(senders):
    return f"{senders} sender{'s' * (int(senders) > 1)}"


def _latency_title(senders):
    return f"latency of a message, {_people(senders)}, µs"


def _rate_title(senders):
    return f"messages a second that node 0 gets, {_people(senders)}"


def _by_mode(rows, title, senders, key, form):
    """Sizes by modes."""
    cells = {(row["bytes"], row["mode"]): format(row[key], form) for row in rows
             if row["senders"] == senders}
    sizes = list(dict.fromkeys(size for size, _ in cells))
    return Table(title(senders), ["bytes", *MODES],
                 [[str(size), *(cells[size, mode] for mode in MODES)] for size in sizes])


def _message_tables(answers):
    rows = [row for answer in answers for row in answer["rows"]]
    for senders in sorted({row["senders"] for row in rows}):
        yield _by_mode(rows, _latency_title, senders, "latency_us", ".3f")
        yield _by_mode(rows, _rate_title, senders, "messages_per_s", "d")


def _parts_table(answer):
    keys = ("posted", "added", "read", "put", "seen", "ended", "last_seen")
    return Table(PARTS, ["senders", "bytes", "form", *(key.replace("_", " ") for key in keys)],
                 [[str(row["senders"]), str(row["bytes"]), row["form"],
                   *(str(row[f"{key}_ns"] or "") for key in keys)]
                  for row in sorted(answer["rows"], key=lambda row: (row["senders"],
                                                                     row["bytes"]))])


def _counter_table(answer):
    one = {row["senders"]: row for row in answer["rows"] if row["window"] == 1}
    many = {row["senders"]: row for row in answer["rows"] if row["window"] > 1}
    return Table(COUNTER, ["senders", "one at a time, ns", "slowest, ns", "one at a time, adds/s",
                           "8 at a time, adds/s"],
                 [[str(n), str(one[n]["add_ns"]), str(one[n]["slowest_ns"]),
                   str(one[n]["adds_per_s"]), str(many[n]["adds_per_s"])] for n in one])


def memory_table(answer):
    """Peers by modes; the tool has compared them with what is computed."""
    rows = {(row["peers"], row["mode"]): row["bytes"] for row in answer["rows"]}
    peers = list(dict.fromkeys(n for n, _ in rows))
    return Table(MEMORY, ["peers", *MODES],
                 [[str(n), *(str(rows[n, mode]) for mode in MODES)] for n in peers])


def _note(run):
    return f"messages to node 0 on {run.machine}: {run.nodes()} nodes ({run.shape}); virtual time"


def checked(answers):
    for answer in answers:
        if not answer["ok"]:
            raise ReproError(f"tofu-p2p: {answer['test']}: {answer['wrong']} messages are wrong")


def _sheet(run, answers):
    checked(answers)
    *messages, parts, counter, memory = answers
    return Sheet(run.name, [_note(run)],
                 [*_message_tables(messages), _parts_table(parts), _counter_table(counter),
                  memory_table(memory)])


# ---- What follows from the tables ----


def _forms(table):
    """(senders, bytes) → form → row as a dictionary of numbers; 0 where there is none."""
    found = {}
    for row in table.rows:
        cells = dict(zip(table.columns, row))
        numbers = {name: int(cell) if cell.isdigit() else 0 for name, cell in cells.items()}
        found.setdefault((row[0], row[1]), {})[cells["form"]] = numbers
    return found


def _saved(table):
    rows = []
    for (senders, size), forms in _forms(table).items():
        one, together, kept = (forms[form]["seen"] for form in FORMS)
        rows.append([senders, size, str(one), str(together), str(kept), str(one - together),
                     str(together - kept)])
    return Table(SAVED, ["senders", "bytes", *FORMS, "by two at once", "by what is kept"], rows)


def _steps(table):
    """Successive parts, which add up; 0 if a part overlaps the previous one."""
    rows = []
    for (senders, size), forms in _forms(table).items():
        for form in FORMS if senders == "1" else ():
            row = forms[form]
            known = max(row["added"], row["read"])
            rows.append([size, form, str(row["posted"]), str(row["added"] - row["posted"]),
                         str(known - row["added"]), str(row["seen"] - known),
                         str(row["ended"] - row["seen"])])
    return Table(STEPS, ["bytes", "form", *(name for name, _ in BARS)], rows)


def _senders_of(sheet):
    return [n for n in ALL_SENDERS if any(t.title == _rate_title(n) for t in sheet.tables)]


def _both(table, size):
    """Numbers of shared and fast; None where not measured."""
    if size not in table.column("bytes"):
        return None
    at = table.column("bytes").index(size)
    return table.numbers("shared")[at], table.numbers("fast")[at]


def _slower(sheet):
    senders = _senders_of(sheet)
    table = Table(SLOWER, ["bytes", *map(_people, senders)], [])
    for size in sheet.table(_latency_title(senders[0])).column("bytes"):
        pairs = [_both(sheet.table(_latency_title(n)), size) for n in senders]
        table.rows.append([size, *(f"{pair[0] - pair[1]:.3f}" if pair else "" for pair in pairs)])
    return table


def _even(sheet):
    """Also shared's rate of messages, in per cent of fast's."""
    senders = _senders_of(sheet)
    table = Table(EVEN, ["bytes", "from", *(f"{_people(n)}, %" for n in senders)], [])
    for size in sheet.table(_rate_title(senders[0])).column("bytes"):
        pairs = [_both(sheet.table(_rate_title(n)), size) for n in senders]
        part = [100 * pair[0] / pair[1] if pair else None for pair in pairs]
        first = next((str(n) for n, value in zip(senders, part) if value and value >= 100), "never")
        table.rows.append([size, first, *(f"{value:.1f}" if value else "" for value in part)])
    return table


# ---- Plots ----


def _sizes_plot(machine, table, what, y):
    figure, ax = plots.axes(f"{machine}: {what}", "bytes of a message", y)
    sizes = [int(size) for size in table.column("bytes")]
    for mode, style in STYLES.items():
        ax.plot(sizes, table.numbers(mode), label=mode, **style)
    plots.size_axis(ax, [2 ** n for n in range(3, 17)])
    plots.value_axis(ax)
    plots.legend_below(figure, ax)
    return figure


def _senders_plot(machine, sheet, size, title, y, low):
    senders = _senders_of(sheet)
    figure, ax = plots.axes(f"{machine}: {y}, {plots.bytes_text(size)}", "senders at once", y)
    for mode, style in STYLES.items():
        values = [t.numbers(mode)[t.column("bytes").index(str(size))]
                  for t in (sheet.table(title(n)) for n in senders)]
        ax.plot(senders, values, label=mode, **style)
    ax.set_ylim(bottom=low)
    plots.legend_below(figure, ax)
    return figure


def _counter_plot(machine, table):
    figure, ax = plots.axes(f"{machine}: additions to one counter", "senders at once",
                            "millions of additions a second")
    senders = table.numbers("senders")
    for name, style in (("one at a time, adds/s", STYLES["fast"]),
                        ("8 at a time, adds/s", STYLES["shared"])):
        ax.plot(senders, [value / 1e6 for value in table.numbers(name)],
                label=name.removesuffix(", adds/s"), **style)
    ax.set_ylim(bottom=0)
    plots.legend_below(figure, ax)
    return figure


def _time_plot(machine, sheet):
    """Time of an addition, alone and in a send."""
    figure, ax = plots.axes(f"{machine}: time of an addition", "senders at once", "ns")
    table = sheet.table(COUNTER)
    ax.plot(table.numbers("senders"), table.numbers("one at a time, ns"), label="alone",
            **STYLES["fast"])
    parts = {key: forms["kept"]["added"] for key, forms in _forms(sheet.table(PARTS)).items()
             if key[1] == "8"}
    ax.plot([int(senders) for senders, _ in parts], list(parts.values()),
            label="of a send of 8 B, with its call", **STYLES["shared"])
    ax.set_ylim(bottom=0)
    plots.legend_below(figure, ax, 2)
    return figure


def _parts_plot(machine, table, size):
    rows = [row for row in table.rows if row[0] == size]
    figure, ax = plots.axes(f"{machine}: a record of {plots.bytes_text(int(size))} in its parts",
                            "ns", "", 5.6, 2.6)
    left = [0] * len(rows)
    for name, color in BARS:
        widths = [int(row[table.columns.index(name)]) for row in rows]
        ax.barh([row[1] for row in rows], widths, left=left, label=name, color=color)
        left = [a + b for a, b in zip(left, widths)]
    ax.invert_yaxis()
    ax.set_axisbelow(True)
    ax.grid(axis="y", visible=False)
    plots.legend_below(figure, ax, 5)
    return figure


def _many(machine, sheet, size):
    last = _senders_of(sheet)[-1]
    latency, rate = sheet.table(_latency_title(last)), sheet.table(_rate_title(last))
    at = latency.column("bytes").index(str(size))
    return Plots(f"{plots.bytes_text(size)} from several senders, {machine}", [
        Plot(f"p2p-{machine}-senders-{what}-{size}",
             f"Line plot for {machine}, {plots.bytes_text(size)}: {y} against 1 to {last} senders, "
             f"a line for each mode. At {last}: " +
             ", ".join(f"{mode} {table.column(mode)[at]}" for mode in MODES) + ".",
             lambda title=title, y=y: _senders_plot(machine, sheet, size, title, y, 0))
        for what, y, title, table in (("latency", "latency, µs", _latency_title, latency),
                                      ("rate", "messages a second", _rate_title, rate))], [])


def _sizes(machine, sheet, senders):
    tables = sheet.table(_latency_title(senders)), sheet.table(_rate_title(senders))
    return Plots(f"Messages of {_people(senders)}, {machine}", [
        Plot(f"p2p-{machine}-{what}-{senders}",
             f"Line plot for {machine}, {_people(senders)}: {y} against bytes, a line for each "
             f"mode. For {table.column('bytes')[0]} bytes: " +
             ", ".join(f"{mode} {table.column(mode)[0]}" for mode in MODES) + ".",
             lambda table=table, y=y: _sizes_plot(machine, table, _people(senders), y))
        for what, y, table in zip(("latency", "rate"), ("latency, µs", "messages a second"),
                                  tables)], list(tables))


def _contention(machine, sheet):
    table = sheet.table(COUNTER)
    first, last = table.rows[0], table.rows[-1]
    return Plots(f"What senders do to each other at the counter, {machine}", [
        Plot(f"p2p-{machine}-counter",
             f"Line plot for {machine}: additions a second against senders, one and eight at a "
             f"time. One at a time {first[3]} by one sender and {last[3]} by {last[0]}; eight at a "
             f"time {first[4]} and {last[4]}.", lambda: _counter_plot(machine, table)),
        Plot(f"p2p-{machine}-add",
             f"Line plot for {machine}: nanoseconds of an addition against senders, alone and as "
             f"part of a send. Alone {first[1]} with one sender and {last[1]} with {last[0]}.",
             lambda: _time_plot(machine, sheet))], [table])


def _parts(machine, sheet, summary):
    steps = summary.table(STEPS)
    return Plots(f"A send in its parts, {machine}", [
        Plot(f"p2p-{machine}-parts-{size}",
             f"Stacked bars for {machine}, a record of {size} bytes: call, addition, read of the "
             "consumer, put and notice, one after the other. " + "; ".join(
                 f"{row[1]}: {sum(map(int, row[2:]))} ns in all" for row in steps.rows
                 if row[0] == size) + ".",
             lambda size=size: _parts_plot(machine, steps, size))
        for size in dict.fromkeys(steps.column("bytes")) if size in (str(SHORT), str(LONG))],
        [steps, summary.table(SAVED), sheet.table(PARTS)])


class P2p(Experiment):
    """Latency, rate and memory of the three modes, and a send in its parts."""
    name = "p2p"
    title = "Messages to one process"
    runs = tuple(map(_run, MACHINES))
    sources = tuple(run.name for run in runs)
    computes = tuple(f"p2p-{machine}-summary" for machine in MACHINES)

    def sheet(self, run, answers):
        return _sheet(run, answers)

    def computed(self, sheets):
        for machine in MACHINES:
            sheet = sheets.get(f"p2p-{machine}")
            if sheet:
                parts = sheet.table(PARTS)
                yield Sheet(f"p2p-{machine}-summary", sheet.notes,
                            [_slower(sheet), _even(sheet), _saved(parts), _steps(parts)])

    def section(self, sheets):
        yield Text(
            "Nodes 1 to 11 send to node 0 with <tofu/p2p.h>. 'Fast' and 'saving' have a ring for "
            "each sender, of 64 and 4 KiB; 'shared' has one of 256 KiB for all. Messages too long "
            "for half a ring, or for the machine's threshold, are announced, and then got or put. "
            "Latency is half of a message and its answer, all senders at once; the rate is taken "
            "with 8 messages of each sender on their way. Every message is compared.")
        for machine in MACHINES:
            if f"p2p-{machine}" in sheets:
                yield from self._machine(machine, sheets[f"p2p-{machine}"],
                                         sheets[f"p2p-{machine}-summary"])

    def _machine(self, machine, sheet, summary):
        for senders in _senders_of(sheet):
            if senders in (SENDERS[0], SENDERS[-1]):
                yield _sizes(machine, sheet, senders)
        for size in (SHORT, LONG):
            yield _many(machine, sheet, size)
        yield Text("An own ring needs no place to be asked for, and its sender no answer. What "
                   "is between the two modes is that addition; as long as a message waits for "
                   "others at the receiver, it is not seen. Measured are all sizes with 1, 4 and "
                   "11 senders, and two of them with 2 and 8.")
        yield Tables([summary.table(SLOWER), summary.table(EVEN)])
        yield _contention(machine, sheet)
        yield Text("A record, from the call of its send to the notice that it is there. 'One by "
                   "one' reads the consumer when the place is known, 'together' has both on their "
                   "way at once, 'kept' does not read it, since it knows that there is room. "
                   "'Call' is the call itself, 'add' and 'or' are the two atomics, 'put' until "
                   "node 0 has the record, 'notice' until the sender knows.")
        yield _parts(machine, sheet, summary)
        yield Plots(f"All other numbers of senders, {machine}", [],
                    [t for n in _senders_of(sheet)[1:-1]
                     for t in (sheet.table(_latency_title(n)), sheet.table(_rate_title(n)))] +
                    [sheet.table(MEMORY)])


class Brief(Experiment):
    """A few rows of p2p, which the cluster tests measure again."""
    name = "p2p-brief"
    title = "A few messages that the tests repeat"
    runs = (Run("p2p-brief", "fx100", "3", (
        _latency((8, 4096, 65536), (1, 2), 21), *_others((8, 4096), (1, 2), (1, 2), (1, 2)))),)
    sources = ("p2p-brief",)

    def sheet(self, run, answers):
        return _sheet(run, answers)

    def section(self, sheets):
        yield Text("Measured by 'make check' on every change. Every message is compared.")
        yield Tables(sheets["p2p-brief"].tables)
