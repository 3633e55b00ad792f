# SPDX-License-Identifier: MIT
"""Sizes at which one protocol overtakes another, and libtofu's choice."""

import operator

from .. import model, plots
from ..experiment import Experiment, Plot, Plots, Text
from ..measure import Run
from ..tables import Sheet, Table
from .p2p import checked

MACHINES = ("k", "fx10", "fx100", "fugaku")
BYTES = tuple(n << 10 for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 128, 256, 320, 384, 448,
                                512))
WAYS = ("eager", "get", "put")
LATENCY = "latency of a message by way, µs"
RATE = "messages a second by way"
FROM = "the largest message that is no worse eager than put, got than put; and thresholds in use"
STYLES = {"eager": {"color": plots.BLUE, "marker": "o"},
          "get": {"color": plots.GREEN, "marker": "s"},
          "put": {"color": plots.RED, "marker": "^"}}


def _run(machine):
    sizes = ",".join(map(str, BYTES))
    return Run(f"p2p-threshold-{machine}", machine, "2", (
        ("tofu-p2p", "--json", "--test", "threshold", "--bytes", sizes, "--iterations", 11,
         "--warmup", 3, "--messages", 16),))


def _table(answer, title, key, form):
    return Table(title, ["bytes", *WAYS],
                 [[str(row["bytes"]), *(format(row[f"{way}_{key}"], form) for way in WAYS)]
                  for row in answer["rows"]])


def _last(table, one, other, better):
    """The largest size up to which one protocol keeps up, and the next."""
    sizes = table.column("bytes")
    good = [better(a, b) for a, b in zip(table.numbers(one), table.numbers(other))]
    if all(good):
        return sizes[-1], ""
    at = good.index(False)
    return sizes[at - 1] if at else "0", sizes[at]


def _row(machine, sheet):
    """Eager messages by latency; get and put by rate, in which they differ."""
    uses = model.p2p_thresholds(machine)
    return [machine, *_last(sheet.table(LATENCY), "eager", "put", operator.le),
            str(uses["eager"]), *_last(sheet.table(RATE), "get", "put", operator.ge),
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
            "receiver; and put by the sender when the receiver is ready. Both of these need the "
            "buffers registered, a system call at each end, and an announcement; eager messages "
            "are copied at both ends. Two nodes; all messages of a run by one way. A message is "
            "eager up to where a rendezvous takes no longer. Got and put messages take about "
            "as long as each other; what decides is how many there are a second, with eight under "
            "way.")
        yield Text(
            "These are bounds. The rings here are made as long as the messages want; the rings "
            "that processes have by default decide earlier, since a message is eager only if it "
            "fits into half of the ring that it goes through: 128 KiB in the shared ring, 32 KiB "
            "in a large own ring, 2 KiB in a small one, less 32 bytes each. Who wants longer eager "
            "messages has to ask for longer rings.")
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
