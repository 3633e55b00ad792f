# SPDX-License-Identifier: MIT
"""A trace in Chrome's JSON, which ui.perfetto.dev and chrome://tracing open.

A node is a process there, with its program, engines and links as threads; the
way of a packet is a flow of arrows. Events are written as they come.
"""

import json

from . import records
from .records import (CHANNEL, DOORBELL, FETCH, LINK, MARK, NOTICE, RECEIVE, SEND, TCQ, Lanes,
                      Links, Recent, mark_name, notice_name, type_name)

# Window over which a link's share of time is computed, ns
WINDOW = 10000
# Order of a node's threads
PROGRAM, DOORBELLS, COMMANDS, SENDS, RECEIVES, NOTICES, LINKS = range(1, 8)


def microseconds(ns):
    """Nanoseconds as JSON's microseconds, with all digits."""
    return f"{ns // 1000}.{ns % 1000:03}"


class Busy:
    """How much of each window of time a link is occupied."""

    def __init__(self, tell):
        self._tell = tell
        self._window = {}
        self._ns = {}

    def add(self, link, start, end):
        while start < end:
            window = start // WINDOW
            if self._window.get(link) != window:
                self.close(link)
                self._window[link] = window
            part = min(end, (window + 1) * WINDOW) - start
            self._ns[link] = self._ns.get(link, 0) + part
            start += part

    def close(self, link):
        """Write the share of the link's last window; then it is idle."""
        window = self._window.pop(link, None)
        if window is not None:
            self._tell(link, window * WINDOW, self._ns.pop(link) * 100 // WINDOW)
            self._tell(link, (window + 1) * WINDOW, 0)

    def close_all(self):
        for link in sorted(self._window):
            self.close(link)


class Writer:
    """Turns records into lines of JSON."""

    def __init__(self, trace, out):
        self._trace = trace
        self._out = out
        self._comma = ""
        self._threads = {}
        self._lanes = Lanes()
        self._links = Links()
        self._busy = Busy(self._share)
        self._waited = {}
        self._passed = Recent()
        self._received = Recent()
        self._arrows = 0
        self._phase = {}

    def _event(self, **fields):
        # Times have exactly three decimals, which json cannot write.
        times = "".join(f', "{name}": {microseconds(fields.pop(name))}'
                        for name in ("ts", "dur") if name in fields)
        text = json.dumps(fields, ensure_ascii=False)
        self._out.write(f"{self._comma}{text[:-1]}{times}}}")
        self._comma = ",\n"

    # ---- Processes and threads ----

    def _name(self, what, node, thread, **args):
        self._event(ph="M", name=what, pid=node + 1, tid=thread, args=args)

    def processes(self):
        for file in self._trace.files:
            self._name("process_name", file.node, 0, name=self._trace.name(file.node))
            self._name("process_sort_index", file.node, 0, sort_index=file.node)

    def _thread(self, node, track, name, lane=0):
        """Number of a thread, which is named at its first use."""
        key = (node, *track, lane)
        if key not in self._threads:
            kind, number = track
            thread = (kind * 100 + number) * 1000 + lane
            self._threads[key] = thread
            more = f" ({lane + 1})" if lane else ""
            self._name("thread_name", node, thread, name=name + more)
            self._name("thread_sort_index", node, thread, sort_index=thread)
        return self._threads[key]

    def _slice(self, record, track, thread_name, name, **args):
        """An event with a beginning and an end; returns its thread."""
        # At least 1 ns, so that arrows can attach.
        end = max(record.end, record.time + 1)
        lane = self._lanes.place((record.node, track), record.time, end)
        thread = self._thread(record.node, track, thread_name, lane)
        self._event(ph="X", name=name, pid=record.node + 1, tid=thread, ts=record.time,
                    dur=end - record.time, args=args)
        return thread

    # ---- Arrows ----

    def _arrow(self, phase, arrow, node, thread, time):
        self._event(ph=phase, name="way", cat="way", id=arrow, pid=node + 1, tid=thread, bp="e",
                    ts=time)

    def _packet_arrow(self, phase, record, thread):
        """Packets of a kind and command pass every place in the same order."""
        key = (record.origin, record.id, record.type)
        passed = self._passed.touch((record.node, record.kind, *key), lambda: [0])
        arrow = f"{record.origin}.{record.id:x}.{record.type}.{passed[0]}"
        passed[0] += 1
        self._arrow(phase, arrow, record.node, thread, record.time)

    def _notice_arrow(self, record, thread):
        """Arrow from the packet that caused a notice."""
        place = self._received.get((record.node, record.origin, record.id))
        if place:
            self._arrows += 1
            self._arrow("s", f"n{self._arrows}", record.node, *place)
            self._arrow("f", f"n{self._arrows}", record.node, thread, record.time)

    # ---- Records ----

    def _packet(self, record, track, thread_name, other):
        return self._slice(record, track, thread_name,
                           f"{type_name(record)} {record.bytes} B {other} {record.peer}",
                           bytes=record.bytes, command=self._command(record), cq=record.cq)

    @staticmethod
    def _command(record):
        return f"{record.origin}:{record.id:x}"

    def _send(self, record):
        thread = self._packet(record, (SENDS, record.tni), f"TNI {record.tni} send", "to")
        self._packet_arrow("s", record, thread)

    def _link(self, record):
        record = self._links.apart(record)
        port = records.PORTS[record.detail]
        thread = self._packet(record, (LINKS, record.detail), f"link {port}", "to")
        self._packet_arrow("t", record, thread)
        self._busy.add((record.node, record.detail), record.time, record.end)
        if record.wait:
            self._wait(record)

    def _receive(self, record):
        thread = self._packet(record, (RECEIVES, record.tni), f"TNI {record.tni} receive", "from")
        self._packet_arrow("f", record, thread)
        place = self._received.touch((record.node, record.origin, record.id), lambda: [0, 0])
        place[:] = thread, record.time

    def _doorbell(self, record):
        thread = self._thread(record.node, (DOORBELLS, 0), "doorbells")
        self._event(ph="i", s="t", name=f"TNI {record.tni} CQ {record.cq}",
                    pid=record.node + 1, tid=thread, ts=record.time,
                    args={"slots": record.bytes})

    def _channel(self, record):
        thread = self._thread(record.node, (DOORBELLS, 0), "doorbells")
        self._event(ph="i", s="t", name=f"TNI {record.tni} gate {record.cq}",
                    pid=record.node + 1, tid=thread, ts=record.time)

    def _fetch(self, record):
        self._slice(record, (COMMANDS, record.tni), f"TNI {record.tni} fetch", "fetch",
                    cq=record.cq)

    def _notice(self, record):
        thread = self._slice(record, (NOTICES, 0), "notices", notice_name(record),
                             command=self._command(record), tni=record.tni, cq=record.cq)
        self._notice_arrow(record, thread)

    def _tcq(self, record):
        name = "sent" if record.detail == 0 else f"error {record.detail}"
        thread = self._slice(record, (NOTICES, 0), "notices", name,
                             command=self._command(record), tni=record.tni, cq=record.cq)
        self._notice_arrow(record, thread)

    def _mark(self, record):
        number = record.tni * records.CQS + record.cq
        thread = self._thread(record.node, (PROGRAM, number),
                              f"program (TNI {record.tni} CQ {record.cq})")
        self._end_phase((record.node, thread), record.time)
        if record.id:
            self._phase[record.node, thread] = mark_name(record.id), record.time

    def _end_phase(self, key, time):
        if key in self._phase:
            name, start = self._phase.pop(key)
            node, thread = key
            self._event(ph="X", name=name, pid=node + 1, tid=thread, ts=start, dur=time - start)

    def _share(self, link, time, percent):
        node, port = link
        self._event(ph="C", name=f"link {records.PORTS[port]} busy", pid=node + 1, ts=time,
                    args={"percent": percent})

    def _wait(self, record):
        """Time that packets have waited for a link without credit."""
        link = record.node, record.detail
        self._waited[link] = self._waited.get(link, 0) + record.wait
        self._event(ph="C", name=f"link {records.PORTS[record.detail]} waited for",
                    pid=record.node + 1, ts=record.time, args={"ns": self._waited[link]})

    def write(self):
        kinds = {DOORBELL: self._doorbell, FETCH: self._fetch, SEND: self._send,
                 LINK: self._link, RECEIVE: self._receive, NOTICE: self._notice,
                 TCQ: self._tcq, MARK: self._mark, CHANNEL: self._channel}
        end = 0
        for record in self._trace.records():
            kinds[record.kind](record)
            end = max(end, record.end)
        for key in sorted(self._phase):
            self._end_phase(key, end)
        self._busy.close_all()


def write(trace, out):
    """Write the whole file to `out`, which takes text. Returns the hash."""
    about = {"machine": trace.machine, "shape": trace.shape, "hash": trace.hash()}
    out.write(f'{{"displayTimeUnit": "ns",\n"otherData": {json.dumps(about)},\n"traceEvents": [\n')
    writer = Writer(trace, out)
    writer.processes()
    writer.write()
    out.write("\n]}\n")
    return about["hash"]
