# SPDX-License-Identifier: MIT
"""What the engines of a node did in an exchange, put by put.

An exchange begins with the phase "post" of a program and lasts until a phase
other than that and "wait". Its puts are those whose doorbells rang meanwhile.
"""

import json

from .errors import TraceError
from .phases import Commands
from .records import MARK, mark_name

POST, WAIT = "post", "wait"


def exchanges(file):
    """(begin, end) of each exchange of a node; an open end is infinity."""
    found, begin = [], None
    for record in file.in_order():
        if record.kind != MARK:
            continue
        name = mark_name(record.id)
        if begin is None and name == POST:
            begin = record.time
        elif begin is not None and name not in (POST, WAIT):
            found.append((begin, record.time))
            begin = None
    return found if begin is None else [*found, (begin, float("inf"))]


class Exchange:
    """An exchange: `puts` are its commands, engine by engine, each in order."""

    def __init__(self, trace, node, number):
        every = exchanges(trace.file(node))
        if not every:
            raise TraceError(f"node {node} has no exchange: no phase is called {POST}")
        self.name = trace.name(node)
        self.node = node
        self.number = len(every) - 1 if number is None else number
        self.count = len(every)
        if self.number >= self.count:
            raise TraceError(f"node {node} has no exchange {number}, "
                             f"only 0 to {self.count - 1}")
        self.begin, self._end = every[self.number]
        self.puts = sorted(filter(self._has, Commands().follow(trace)),
                           key=lambda put: (put.queue[0], put.began))

    def _has(self, command):
        rang = command.fetch if command.doorbell is None else command.doorbell
        return command.origin == self.node and command.type == "put" \
            and rang is not None and self.begin <= rang < self._end

    def since(self, time):
        return None if time is None else time - self.begin

    @property
    def arrived(self):
        """When all have arrived; None if that is not known, or not so."""
        times = [put.all_seen for put in self.puts]
        return None if None in times else self.since(max(times, default=self.begin))


def lines(exchange):
    """A line for each put; lines with # are for people."""
    arrived = exchange.arrived
    end = "not all have arrived" if arrived is None else f"all have arrived after {arrived} ns"
    yield f"# {exchange.name}, exchange {exchange.number} of {exchange.count}, " \
          f"begun at {exchange.begin} ns"
    yield f"# {len(exchange.puts)} puts, {sum(put.bytes for put in exchange.puts)} bytes; {end}"
    yield f"# {'engine':>5} {'begin':>10} {'end':>10} {'bytes':>10} {'node':>5} {'arrived':>10}"
    for put in exchange.puts:
        seen = exchange.since(put.all_seen)
        yield f"{put.queue[0]:>7} {exchange.since(put.began):>10} " \
              f"{exchange.since(put.through):>10} {put.bytes:>10} {put.target:>5} " \
              f"{'-' if seen is None else seen:>10}"


def as_json(exchange):
    puts = [{"engine": put.queue[0], "begin_ns": exchange.since(put.began),
             "end_ns": exchange.since(put.through), "bytes": put.bytes, "to": put.target,
             "arrived_ns": exchange.since(put.all_seen)} for put in exchange.puts]
    return json.dumps({"node": exchange.node, "exchange": exchange.number,
                       "begin_ns": exchange.begin, "arrived_ns": exchange.arrived,
                       "puts": puts}, indent=1)
