# SPDX-License-Identifier: MIT
"""Sizes at which one protocol overtakes another, and libtofu's choice."""

from .. import model, plots
from ..experiment import Experiment, Plot, Plots, Text
from ..measure import Simulated
from ..tables import Sheet, Table
from .p2p import checked

MACHINES = ("k", "fx10", "fx100", "fugaku")
BYTES = tuple(n << 10 for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128, 256, 320, 384, 448,
                                512))
WAYS = ("eager", "get", "put")
LATENCY = "latency of a message by way, µs"
# Differences below this say nothing.
TIE = 0.01
RATE = "messages a second by way"
FROM = ("the largest message that is better eager than got, and the smallest that is worse; the "
        "largest that is no worse got than put; and thresholds in use")
# Got messages have the shorter latency, by a third where there are remote atomics: a
# rate that is little less is as good.
AS_GOOD = 0.92
STYLES = {"eager": {"color": plots.BLUE, "marker": "o"},
          "get": {"color": plots.GREEN, "marker": "s"},
          "put": {"color": plots.RED, "marker": "^"}}


def _run(machine):
    sizes = ",".join(map(str, BYTES))
    return Simulated(f"p2p-threshold-{machine}", machine, (
        ("2", ("tofu-p2p", "--json", "--test", "threshold", "--bytes", sizes,
               "--iterations", 11, "--warmup", 3, "--messages", 16)),))


def _table(answer, title, key, form):
    return Table(title, ["bytes", *WAYS],
                 [[str(row["bytes"]), *(format(row[f"{way}_{key}"], form) for way in WAYS)]
                  for row in answer["rows"]])


def _last(table, one, other, better, above="0"):
    """The largest size up to which one protocol keeps up, and the next; of those above a size."""
    last = above
    for size, a, b in zip(table.column("bytes"), table.numbers(one), table.numbers(other)):
        if int(size) > int(above):
            if not better(a, b):
                return last, size
            last = size
    return last, ""


def _faster(one, other):
    return one * (1 + TIE) < other


def _no_slower(one, other):
    return one <= other * (1 + TIE)


def _row(machine, sheet):
    """Eager messages by latency; longer ones, got or put, by rate."""
    uses = model.p2p_thresholds(machine)
    table = sheet.table(LATENCY)
    eager = _last(table, "eager", "get", _faster)[0], _last(table, "eager", "get", _no_slower)[1]
    return [machine, *eager, str(uses["eager"]),
            *_last(sheet.table(RATE), "get", "put", lambda a, b: a >= AS_GOOD * b, eager[0]),
            "any" if uses["get"] == model.ANY_SIZE else str(uses["get"])]


def _fits(low, high, use):
    """Whether a threshold in use is between the measured bounds."""
    if use == "any":
        return not high
    return int(low) <= int(use) and (not high or int(use) < int(high))


class Threshold(Experiment):
    """Eager, get and put messages by size."""
    name = "p2p-threshold"
    title = "Thresholds of messages"
    runs = tuple(map(_run, MACHINES))
    sources = tuple(run.name for run in runs)
    computes = ("p2p-threshold-summary",)

    def sheet(self, run, answers):
        checked(answers)
        return Sheet(run.name, [f"one sender on {run.machine}: {run.nodes()} nodes; virtual time"],
                     [_table(answers[0], LATENCY, "us", ".3f"),
                      _table(answers[0], RATE, "per_s", "d")])

    def computed(self, sheets):
        table = Table(FROM, ["machine", "eager, latency", "not at", "in use", "got, rate",
                             "no more at", "used"], [])
        for machine in MACHINES:
            sheet = sheets.get(f"p2p-threshold-{machine}")
            if sheet:
                table.rows.append(_row(machine, sheet))
        if table.rows:
            yield Sheet(self.computes[0], ["from the tables of p2p-threshold"], [table])

    def complaints(self, sheets):
        rows = sheets[self.computes[0]].table(FROM).rows if self.computes[0] in sheets else []
        for machine, *both in rows:
            for low, high, use in (both[:3], both[3:]):
                if not _fits(low, high.strip("-"), use):
                    yield f"thresholds of {machine}: {use} is not what was measured"

    def section(self, sheets):
        yield Text(
            "The same message eager, through a ring of its own that has room for it; got by the "
            "receiver; and put by the sender when the receiver is ready. Both of these need an "
            "announcement, and the buffers registered: they are from earlier messages. Eager "
            "messages are copied at both ends. Two nodes; all messages of a run by one way. A "
            f"message is eager up to where getting it takes no longer; {TIE:.0%} says nothing. "
            "Whether longer ones are got or put is decided by how many there are a second, with "
            f"eight under way; where it is as many, but for {1 - AS_GOOD:.0%}, they are got, which "
            "takes less time. "
            "k and fx10 have no remote atomics, so there all rings are a single sender's from the "
            "start.")
        yield Text(
            "These are bounds. The rings here are made as long as the messages want; a message is "
            "eager only if it fits into half of the ring that it goes through. By default that is "
            "128 KiB in the shared ring, 32 KiB in a large own ring, but 2 KiB in a small one, "
            "less 32 bytes each.")
        for machine in MACHINES:
            if f"p2p-threshold-{machine}" in sheets:
                yield self._plots(machine, sheets[f"p2p-threshold-{machine}"])
        yield Plots("What follows", [], sheets[self.computes[0]].tables)

    def _plots(self, machine, sheet):
        return Plots(f"By way, {machine}", [
            Plot(f"p2p-threshold-{machine}-{what}",
                 f"Line plot for {machine}: {y} of eager, got and put messages against bytes. Of "
                 f"{sheet.table(title).rows[-1][0]} bytes: " +
                 ", ".join(f"{way} {cell}" for way, cell in
                           zip(WAYS, sheet.table(title).rows[-1][1:])) + ".",
                 lambda title=title, y=y: _draw(machine, sheet.table(title), y))
            for what, title, y in (("latency", LATENCY, "latency, µs"),
                                   ("rate", RATE, "messages a second"))], sheet.tables)


def _draw(machine, table, y):
    figure, ax = plots.axes(f"{machine}: eager, got, put", "bytes of a message", y)
    sizes = [int(size) for size in table.column("bytes")]
    for way, style in STYLES.items():
        ax.plot(sizes, table.numbers(way), label=way, **style)
    plots.size_axis(ax, [2 ** n for n in range(10, 20)])
    plots.value_axis(ax)
    plots.legend_below(figure, ax)
    return figure
