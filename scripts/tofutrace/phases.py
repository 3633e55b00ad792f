# SPDX-License-Identifier: MIT
"""The phases of commands, from the program to the last notice.

The phases of a command follow each other without a gap, so that they add up:

library   since the program's phase began, for the first command in it
doorbell  from the store into the CQ page until the engine fetches the command
engine    until its first packet enters the first link
wire      until the engine there has taken its last packet
receive   until the effect of that packet is visible in memory
notice    until the target's notice
answer    until the initiator has its last packet or notice
"""

import collections
import json

from .records import (DATA, DOORBELL, FETCH, MARK, NOTICE, PUT, RECEIVE, SEND, TCQ, is_request,
                      is_signal, type_name)

PHASES = ["library", "doorbell", "engine", "wire", "receive", "notice", "answer"]
# More commands than can be under way at a time: older ones are complete
OPEN_MAX = 1 << 16
REMOTE_NOTICES = (1, 3, 5)
# From this status of a command on, a packet has been sent.
PEER_ERRORS = 16


class Command:
    """A command and its times; None where the trace lacks them.

    An engine begins a command when it takes up the command's first packet. It
    has finished when the last packet has entered the network, or earlier, when
    it takes up a packet of another command.
    """

    def __init__(self, record, number):
        self.number = number
        self.origin, self.id = record.origin, record.id
        self.target = record.peer
        self.queue = record.tni, record.cq
        self.type = type_name(record)
        self.bytes = self.packets = self.received = 0
        self.began = self.through = record.time
        self.phase = self.doorbell = self.fetch = None
        self.wire = record.end
        self.arrived = self.seen = self.noticed = self.answered = None

    @property
    def all_seen(self):
        """When the last packet's effect is visible, if all have arrived."""
        return self.seen if self.received == self.packets else None

    def _points(self):
        """When the first phase begins, and when each ends."""
        return [self.phase, self.doorbell, self.fetch, self.wire, self.arrived, self.seen,
                self.noticed, self.answered]

    def durations(self):
        """Each phase's ns. A phase without a known end is part of the next."""
        first, *ends = self._points()
        result, last = {}, first
        for name, end in zip(PHASES, ends):
            result[name] = end - last if None not in (end, last) else None
            last = last if end is None else end
        return result

    def as_dict(self):
        known = [point for point in self._points() if point is not None]
        tni, cq = self.queue
        return {"number": self.number, "type": self.type, "from": self.origin,
                "to": self.target, "tni": tni, "cq": cq, "id": f"{self.id:x}",
                "bytes": self.bytes, "packets": self.packets, "start_ns": known[0],
                "total_ns": known[-1] - known[0], "phases_ns": self.durations()}


class Queue:
    """Doorbells and fetches of a CQ for which no packet was sent so far."""

    def __init__(self):
        self.doorbells = collections.deque()
        self.fetched = collections.deque()

    def doorbell_of(self, fetch, delay):
        """(time, phase) of the doorbell that led to a fetch at that time."""
        bells = self.doorbells
        while len(bells) > 1 and bells[1][0] + delay <= fetch:
            bells.popleft()
        return bells[0] if bells else (None, None)

    def take(self, command):
        """Take the fetch of a command: the oldest that is left.

        Where fetches are named, commands without a packet were fetched, too.
        """
        names = [name for name, *_ in self.fetched]
        for _ in range(names.index(command) if command in names else 0):
            self.fetched.popleft()
        return self.fetched.popleft()[1:] if self.fetched else (None, (None, None))


class Commands:
    """Follows commands through the records of a machine."""

    def __init__(self):
        self._queues = collections.defaultdict(Queue)
        self._delay = {}
        self._phase = {}
        self._open = {}
        self._sending = {}
        self._count = 0

    def _queue(self, record):
        return self._queues[record.node, record.tni, record.cq]

    def _mark(self, record):
        self._phase[record.node] = record.time if record.id else None

    def _doorbell(self, record):
        phase = self._phase.pop(record.node, None)
        self._queue(record).doorbells.append((record.time, phase))

    def _fetch(self, record):
        queue = self._queue(record)
        # A node's first command waits only for the doorbell to arrive.
        if record.node not in self._delay and queue.doorbells:
            self._delay[record.node] = record.time - queue.doorbells[0][0]
        doorbell = queue.doorbell_of(record.time, self._delay.get(record.node, 0))
        queue.fetched.append((record.id, record.time, doorbell))

    def _begin(self, record):
        command = Command(record, self._count)
        self._count += 1
        command.fetch, (command.doorbell, command.phase) = self._queue(record).take(record.id)
        return command

    def _send(self, record):
        if is_signal(record):
            return
        key = record.origin, record.id
        if key not in self._open and is_request(record):
            self._open[key] = self._begin(record)
        command = self._open.get(key)
        if command and is_request(record):
            command.packets += 1
            self._engine(command, record)
        if command and record.type in (PUT, DATA):
            command.bytes += record.bytes

    def _engine(self, command, record):
        """An engine reads a packet while it sends the one before."""
        before = self._sending.get((record.node, record.tni))
        if before:
            before.through = min(before.through, record.time)
        self._sending[record.node, record.tni] = command
        command.through = record.end

    def _receive(self, record):
        command = self._open.get((record.origin, record.id))
        if command and is_request(record):
            command.received += 1
            command.arrived, command.seen = record.time, record.end
        elif command:
            command.answered = record.end

    def _notice(self, record):
        command = self._open.get((record.origin, record.id))
        if command and record.kind == NOTICE and record.detail in REMOTE_NOTICES:
            command.noticed = record.time
        elif command:
            command.answered = record.time
        elif record.kind == TCQ and 0 < record.detail < PEER_ERRORS:
            # It ended before any packet was sent.
            self._queue(record).take(record.id)

    def follow(self, trace):
        """All commands, in the order of their first packets."""
        kinds = {DOORBELL: self._doorbell, FETCH: self._fetch, SEND: self._send,
                 RECEIVE: self._receive, NOTICE: self._notice, TCQ: self._notice,
                 MARK: self._mark}
        for record in trace.records():
            if record.kind in kinds:
                kinds[record.kind](record)
            if len(self._open) > OPEN_MAX:
                yield self._open.pop(next(iter(self._open)))
        yield from self._open.values()


def chosen(trace, nth):
    """Commands as dictionaries: all, or the one with that number."""
    for command in Commands().follow(trace):
        if nth is None or command.number == nth:
            yield command.as_dict()


def _row(words, phases, total):
    numbers = ["-" if phases[name] is None else f"{phases[name]:.0f}" for name in PHASES]
    return " ".join([f"{words[0]:>6} {words[1]:5} {words[2]:>11} {words[3]:>9}",
                     *(f"{number:>{len(name) + 1}}" for name, number in zip(PHASES, numbers)),
                     f"{total:>9.0f}"])


class Mean:
    """Sums over commands of a kind."""

    def __init__(self):
        self.count = self.total = 0
        self._sum = collections.Counter()
        self._known = collections.Counter()

    def add(self, command):
        self.count += 1
        self.total += command["total_ns"]
        for name, ns in command["phases_ns"].items():
            if ns is not None:
                self._sum[name] += ns
                self._known[name] += 1

    def row(self, kind):
        phases = {name: self._sum[name] / self._known[name] if self._known[name] else None
                  for name in PHASES}
        return _row(["mean", kind, f"of {self.count}", ""], phases, self.total / self.count)


def table(trace, nth):
    """Lines: one for each command, then the averages."""
    yield " ".join([f"{'number':>6} {'type':5} {'from > to':>11} {'bytes':>9}",
                    *(f"{name:>{len(name) + 1}}" for name in PHASES), f"{'total ns':>9}"])
    means = collections.defaultdict(Mean)
    for command in chosen(trace, nth):
        means[command["type"]].add(command)
        yield _row([command["number"], command["type"],
                    f"{command['from']} > {command['to']}", command["bytes"]],
                   command["phases_ns"], command["total_ns"])
    if nth is None:
        for kind in sorted(means):
            yield means[kind].row(kind)


def as_json(trace, nth):
    """A JSON list, in pieces."""
    before = "["
    for command in chosen(trace, nth):
        yield f"{before}\n{json.dumps(command)}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"
