# SPDX-License-Identifier: MIT
"""Trace files of qemu-device/icc/trace.h, one for each node of a machine."""

import array
import collections
import hashlib
import heapq
import mmap
import os
import struct

from .errors import TraceError

MAGIC = b"TOFTRACE"
VERSION = 2
HEADER = struct.Struct("<8sIIQQ24sQ")
RECORD = struct.Struct("<QQQIIIBBBBII")
# Records sorted at a time; of the others only positions are kept
CHUNK = 1 << 16
HASH_BYTES = 1 << 24

AXES = 6
AXIS_BITS = 10
AXIS_MAX = [256, 256, 256, 2, 3, 2]
TNIS = 6
CQS = 12
GATES = 48

DOORBELL, FETCH, SEND, LINK, RECEIVE, NOTICE, TCQ, MARK, CHANNEL = range(1, 10)
KINDS = ["", "doorbell", "fetch", "send", "link", "receive", "notice", "tcq", "mark", "channel"]
PUT, GET, ARMW, SIGNAL, DONE, DATA, VALUE = 1, 2, 3, 15, 16, 17, 18
TYPES = {PUT: "put", GET: "get", ARMW: "armw", SIGNAL: "signal", DONE: "done", DATA: "data",
         VALUE: "value"}
PORTS = ["X+", "X-", "Y+", "Y-", "Z+", "Z-", "A", "B+", "B-", "C"]
NOTICES = ["local put", "remote put", "local get", "remote get", "local armw", "remote armw"]

# The first three define the order of records, which is total.
Record = collections.namedtuple(
    "Record", "time node index end id origin peer bytes kind type tni cq detail wait")


def is_request(record):
    return record.type < DONE


def is_signal(record):
    """A packet between gates: its cq is the number of a gate."""
    return record.type == SIGNAL


def is_gate(record):
    """Its cq is the number of a gate."""
    return record.kind == CHANNEL or is_signal(record)


def type_name(record):
    return TYPES.get(record.type, f"type {record.type}")


def notice_name(record):
    return NOTICES[record.detail] if record.detail < len(NOTICES) else f"notice {record.detail}"


def mark_name(word):
    """The name of a phase; empty where the phase ends."""
    name = word.to_bytes(8, "little").split(b"\0")[0]
    return "".join(chr(c) if 32 < c < 127 else "?" for c in name)


class File:
    """The trace of a node."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, "rb") as file:
                self._read_header(file)
        except OSError as error:
            raise TraceError(f"{path}: {error.strerror}") from None

    def _read_header(self, file):
        head = file.read(HEADER.size)
        if len(head) < HEADER.size or head[:8] != MAGIC:
            raise TraceError(f"{self.path}: not a trace")
        _, version, self.node, self.count, word, machine, lost = HEADER.unpack(head)
        if version != VERSION:
            raise TraceError(f"{self.path}: version {version}, and this program knows {VERSION}")
        self.machine = machine.split(b"\0")[0].decode("ascii", "replace")
        self.axes = [word >> (i * AXIS_BITS) & ((1 << AXIS_BITS) - 1) for i in range(AXES)]
        if word >> (AXES * AXIS_BITS) or \
                not all(1 <= size <= most for size, most in zip(self.axes, AXIS_MAX)):
            raise TraceError(f"{self.path}: {word:#x} is not a shape")
        if self.node >= self.nodes:
            raise TraceError(f"{self.path}: node {self.node} of a machine of {self.nodes}")
        if lost:
            raise TraceError(f"{self.path}: {lost} records are missing, since the file could not "
                             "grow: is the disk full?")
        # It may still grow; the records that the header counts are complete.
        size = os.fstat(file.fileno()).st_size
        if HEADER.size + self.count * RECORD.size > size:
            raise TraceError(f"{self.path}: {self.count} records do not fit in {size} bytes: "
                             "it has been cut")
        self._map = mmap.mmap(file.fileno(), HEADER.size + self.count * RECORD.size,
                              access=mmap.ACCESS_READ)

    @property
    def nodes(self):
        nodes = 1
        for size in self.axes:
            nodes *= size
        return nodes

    def _bad(self, fields):
        """Why a record is invalid, or None."""
        time, end, _, origin, peer, _, kind, packet, tni, cq, detail, _ = fields
        if not DOORBELL <= kind <= CHANNEL:
            return f"kind {kind}"
        if end < time:
            return f"ends at {end}, before it begins at {time}"
        if max(origin, peer) >= self.nodes:
            return f"node {max(origin, peer)} of a machine of {self.nodes}"
        if tni >= TNIS or cq >= (GATES if packet == SIGNAL or kind == CHANNEL else CQS):
            return f"TNI {tni} CQ {cq}"
        if kind == LINK and detail >= len(PORTS):
            return f"port {detail}"
        return None

    def _chunk(self, first, last):
        """These records in order of time."""
        start, end = (HEADER.size + i * RECORD.size for i in (first, last))
        times = []
        for fields in RECORD.iter_unpack(self._map[start:end]):
            bad = self._bad(fields)
            if bad:
                raise TraceError(f"{self.path}: record {first + len(times)}: {bad}")
            times.append(fields[0])
        order = array.array("I", sorted(range(len(times)), key=times.__getitem__))
        del times
        for i in order:
            time, *rest = RECORD.unpack_from(self._map, start + i * RECORD.size)
            yield Record(time, self.node, first + i, *rest)

    def in_order(self):
        """All records by time, those of equal time as written."""
        return heapq.merge(*(self._chunk(first, min(first + CHUNK, self.count))
                             for first in range(0, self.count, CHUNK)))

    def hash_into(self, digest):
        for at in range(HEADER.size, len(self._map), HASH_BYTES):
            digest.update(self._map[at:at + HASH_BYTES])


class Trace:
    """The traces of several nodes of one machine."""

    def __init__(self, paths):
        self.files = sorted(map(File, paths), key=lambda file: file.node)
        first = self.files[0]
        for before, file in zip(self.files, self.files[1:]):
            if file.node == before.node:
                raise TraceError(f"{file.path}: node {file.node} is also in {before.path}")
            if (file.axes, file.machine) != (first.axes, first.machine):
                raise TraceError(f"{file.path}: another machine than in {first.path}")
        self.axes, self.machine = first.axes, first.machine

    @property
    def shape(self):
        """As people write it: without trailing axes of size one, or all six."""
        axes = self.axes if max(self.axes[3:]) > 1 else self.axes[:3]
        while len(axes) < AXES and len(axes) > 1 and axes[-1] == 1:
            axes = axes[:-1]
        return "x".join(map(str, axes))

    def coordinates(self, node):
        """The sizes of the axes in `shape`."""
        place = []
        for size in reversed(self.axes):
            place.insert(0, node % size)
            node //= size
        return place[:self.shape.count("x") + 1]

    def name(self, node):
        return f"node {node} ({','.join(map(str, self.coordinates(node)))})"

    def hash(self):
        """SHA-256 over the records of all nodes, in the order of nodes."""
        digest = hashlib.sha256()
        for file in self.files:
            file.hash_into(digest)
        return digest.hexdigest()

    def file(self, node):
        """The trace of a node."""
        for file in self.files:
            if file.node == node:
                return file
        raise TraceError(f"no trace is of node {node}")

    def choose(self, nodes):
        """Restrict the records to these nodes."""
        self.files = [self.file(node) for node in sorted(set(nodes))]

    def records(self, first=0, last=None):
        """Records of all nodes by time that overlap an interval."""
        for record in heapq.merge(*(file.in_order() for file in self.files)):
            if last is not None and record.time > last:
                return
            if record.end >= first:
                yield record


class Recent(collections.OrderedDict):
    """A dictionary that forgets the least recently used keys.

    It holds more than can be under way in a machine at a time, so memory does
    not grow with the length of a trace.
    """

    LIMIT = 1 << 17

    def touch(self, key, make):
        """The value of a key, created if missing."""
        if key in self:
            self.move_to_end(key)
        else:
            self[key] = make()
            if len(self) > self.LIMIT:
                self.popitem(last=False)
        return self[key]


class Links:
    """A link carries one packet at a time, though times are rounded to ns."""

    def __init__(self):
        self._busy = {}

    def apart(self, record):
        """The record of a link, moved behind the end of the previous one."""
        link = record.node, record.detail
        start = min(max(record.time, self._busy.get(link, 0)), record.end)
        self._busy[link] = record.end
        return record._replace(time=start)


class Lanes:
    """Rows for overlapping items: each begins on the first free row."""

    def __init__(self):
        self._ends = {}

    def place(self, track, start, end):
        ends = self._ends.setdefault(track, [])
        for lane, busy in enumerate(ends):
            if busy <= start:
                ends[lane] = end
                return lane
        ends.append(end)
        return len(ends) - 1
