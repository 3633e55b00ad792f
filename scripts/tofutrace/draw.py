# SPDX-License-Identifier: MIT
"""A part of a trace as a picture: SVG, with the nodes one below the other.

Bars have a duration: phases of programs, fetches, packets in engines and on
links, in the colour of the packet's destination. Marks are instants: doorbells,
notices. Where there are few packets, lines show their ways.
"""

import collections
from xml.sax.saxutils import escape

from . import records
from .errors import TraceError
from .records import (CHANNEL, DOORBELL, FETCH, LINK, MARK, NOTICE, RECEIVE, SEND, TCQ, Lanes,
                      Links, mark_name, type_name)

# Pixels
WIDTH, LEFT, RIGHT = 1200, 128, 24
AXIS, HEAD, GAP, LEGEND = 46, 20, 10, 22
# Height of a row, and of its bar; the second pair for pictures of many rows
ROWS = (20, 14), (12, 9)
ROWS_WIDE = 72
# A bar of this height has room for text; phases always do, in small type.
WORDS = 12
CHARACTER = 5.6
TICK_LEAST = 90
# Bars with smaller gaps are drawn as one.
MERGE = 0.4
# With more packets than these, lines would hide what they connect.
WAYS_MAX = 60

# The colours of Okabe and Ito, and more like them: distinct for every eye
COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#a6a600", "#6a51a3",
           "#7f7f7f", "#8c564b", "#17becf", "#b3de69"]
PHASES = ["#d9e2ec", "#fbe3c4", "#d3ecd9", "#efd9ea", "#e6e2d3", "#d6ebf2"]
DARK = {"#0072b2", "#d55e00", "#009e73", "#6a51a3", "#7f7f7f", "#8c564b"}

STYLE = """
text { font: 11px "DejaVu Sans", "Helvetica Neue", Arial, sans-serif; fill: #222 }
.node { font-weight: bold; font-size: 12px }
.lane, .tick { fill: #555; font-size: 10px }
.bar { font-size: 9px; pointer-events: none }
.light { fill: #fff }
.small { font-size: 8px }
.grid { stroke: #ddd; stroke-width: 1 }
.band { fill: #f6f7f9 }
.rail { stroke: #e4e6ea; stroke-width: 1 }
.way { fill: none; stroke-width: 1.1; stroke-opacity: 0.55 }
"""

# Order of a node's lanes; the second number distinguishes them.
PROGRAM, FETCHES, SENDS, LINKS, RECEIVES, MARKS = range(6)
Bar = collections.namedtuple("Bar", "start end colour label title")


def colour_of(node):
    return COLOURS[node % len(COLOURS)]


def tick_step(span, room):
    """A round number of ns between ticks that are not too close."""
    for digits in range(20):
        for first in (1, 2, 5):
            step = first * 10 ** digits
            if step * room >= span * TICK_LEAST:
                return step
    return span


class Picture:
    """Collects bars and marks in a window of time, then writes them."""

    def __init__(self, trace, first, last):
        self._trace = trace
        self._first, self._last = first, last
        self._scale = (WIDTH - LEFT - RIGHT) / (last - first)
        self._bars = collections.defaultdict(list)
        self._marks = collections.defaultdict(list)
        self._rows = Lanes()
        self._links = Links()
        self._ways = collections.defaultdict(list)
        self._passed = collections.Counter()
        self._phase = {}
        self._phases = {}
        self._seen = set()
        self._y = {}
        self._row, self._height = ROWS[0]

    def _x(self, time):
        return LEFT + (min(max(time, self._first), self._last) - self._first) * self._scale

    # ---- Collecting ----

    def _bar(self, record, lane, end, colour, label, title):
        """Returns the lane's row; overlapping bars add rows."""
        row = self._rows.place((record.node, lane), record.time, end)
        bars = self._bars[record.node, lane, row]
        if bars and bars[-1].colour == colour and \
                (record.time - bars[-1].end) * self._scale < MERGE and \
                (end - record.time) * self._scale < 1:
            bars[-1] = bars[-1]._replace(end=end, label="", title="")
        else:
            bars.append(Bar(record.time, end, colour, label, title))
        return record.node, lane, row

    def _packet(self, record, lane, to):
        self._seen.add(to)
        name = type_name(record) + (f" {record.bytes}" if record.bytes else "")
        place = self._bar(record, lane, record.end, colour_of(to), name,
                          f"{type_name(record)} of {record.bytes} bytes to node {to}, "
                          f"{record.time} to {record.end} ns")
        key = record.origin, record.id, record.type
        if len(self._ways) <= WAYS_MAX:
            number = self._passed[record.node, record.kind, key]
            self._passed[record.node, record.kind, key] += 1
            self._ways[key, number].append((record, place, to))

    def _mark(self, record):
        if record.node in self._phase:
            self._end_phase(record.node, record.time)
        if record.id:
            self._phase[record.node] = record

    def _end_phase(self, node, end):
        begun = self._phase.pop(node)
        if end < self._first:
            return
        name = mark_name(begun.id)
        colour = self._phases.setdefault(name, PHASES[len(self._phases) % len(PHASES)])
        self._bar(begun, (PROGRAM, 0), end, colour, name, f"{name}, {begun.time} to {end} ns")

    def add(self, record):
        if record.kind == MARK:
            self._mark(record)
        elif record.end < self._first:
            return
        elif record.kind == SEND:
            self._packet(record, (SENDS, record.tni), record.peer)
        elif record.kind == LINK:
            self._packet(self._links.apart(record), (LINKS, record.detail), record.peer)
        elif record.kind == RECEIVE:
            self._packet(record, (RECEIVES, record.tni), record.node)
        elif record.kind == FETCH and record.end > record.time:
            self._bar(record, (FETCHES, record.tni), record.end, "#9aa5b1", "fetch",
                      f"fetch, {record.time} to {record.end} ns")
        elif record.kind in (DOORBELL, NOTICE, TCQ, CHANNEL):
            kind = DOORBELL if record.kind == CHANNEL else record.kind
            self._marks[record.node, (MARKS, 0), 0].append((record.time, kind))

    def end(self):
        for node in sorted(self._phase):
            self._end_phase(node, self._last)
        if not self._bars and not self._marks:
            raise TraceError(f"nothing happens between {self._first} and {self._last} ns")

    # ---- Writing ----

    @staticmethod
    def _lane_name(lane):
        kind, number = lane
        return {PROGRAM: "program", FETCHES: f"TNI {number} fetch", SENDS: f"TNI {number} send",
                LINKS: f"link {records.PORTS[number % len(records.PORTS)]}",
                RECEIVES: f"TNI {number} receive", MARKS: "queues"}[kind]

    def _layout(self):
        """Sets the middles of lanes; returns (bands of nodes, total height)."""
        y, bands = AXIS, []
        lanes = sorted({*self._bars, *self._marks})
        self._row, self._height = ROWS[len(lanes) > ROWS_WIDE]
        for node in sorted({lane[0] for lane in lanes}):
            top = y
            y += HEAD
            for lane in (lane for lane in lanes if lane[0] == node):
                self._y[lane] = y + self._row / 2
                y += self._row
            bands.append((node, top, y))
            y += GAP
        return bands, y

    def _axis(self, bottom):
        span = self._last - self._first
        step = tick_step(span, WIDTH - LEFT - RIGHT)
        unit, name = (1000, "µs") if step >= 100 else (1, "ns")
        yield f'<text x="{LEFT}" y="14">{name} since {self._first:,} ns</text>'
        for at in range(0, span + 1, step):
            x = self._x(self._first + at)
            yield f'<line class="grid" x1="{x:.1f}" y1="{AXIS - 12}" x2="{x:.1f}" y2="{bottom}"/>'
            yield (f'<text class="tick" x="{x:.1f}" y="{AXIS - 17}" text-anchor="middle">'
                   f'{at / unit:g}</text>')

    def _band(self, node, top, bottom):
        yield (f'<rect class="band" x="4" y="{top}" width="{WIDTH - 8}" '
               f'height="{bottom - top + 4}" rx="4"/>')
        yield (f'<rect x="4" y="{top}" width="4" height="{bottom - top + 4}" '
               f'fill="{colour_of(node)}"/>')
        yield f'<text class="node" x="16" y="{top + 15}">{self._trace.name(node)}</text>'

    def _rail(self, lane):
        y = self._y[lane]
        yield f'<line class="rail" x1="{LEFT}" y1="{y}" x2="{WIDTH - RIGHT}" y2="{y}"/>'
        if not lane[2]:
            yield (f'<text class="lane" x="{LEFT - 10}" y="{y + 4}" text-anchor="end">'
                   f'{self._lane_name(lane[1])}</text>')

    def _draw_bar(self, lane, bar):
        x, end = self._x(bar.start), self._x(bar.end)
        y = self._y[lane] - self._height / 2
        title = f"<title>{escape(bar.title)}</title>" if bar.title else ""
        # Successive bars on a link should remain distinct.
        width = max(end - x - (0.8 if end - x > 3 else 0), 0.6)
        yield (f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{self._height}" rx="1.5" '
               f'fill="{bar.colour}">{title}</rect>')
        if self._height >= WORDS or lane[1][0] == PROGRAM:
            yield from self._words(bar, x, end, y)

    def _words(self, bar, x, end, y):
        """The text of a bar, or its first word if there is no room."""
        small = self._height < WORDS
        classes = "bar" + " light" * (bar.colour in DARK) + " small" * small
        y += self._height - (2 if small else 4)
        for label in (bar.label, bar.label.split(" ")[0]):
            if label and len(label) * CHARACTER + 4 <= end - x:
                yield (f'<text class="{classes}" x="{(x + end) / 2:.1f}" y="{y}" '
                       f'text-anchor="middle">{escape(label)}</text>')
                break

    @staticmethod
    def _symbol(kind, x, y):
        if kind == DOORBELL:
            return f'<path d="M{x - 4:.1f} {y - 4} h8 l-4 8 z" fill="#222"/>'
        if kind == NOTICE:
            return f'<path d="M{x:.1f} {y - 5} l5 5 l-5 5 l-5 -5 z" fill="#c1121f"/>'
        return f'<circle cx="{x:.1f}" cy="{y}" r="3.2" fill="#fff" stroke="#c1121f" ' \
               'stroke-width="1.6"/>'

    def _draw_marks(self, lane, marks):
        # Of marks of a kind that would cover each other, one is drawn.
        last = {}
        for time, kind in marks:
            x = self._x(time)
            if x - last.get(kind, -WIDTH) >= MERGE:
                last[kind] = x
                yield self._symbol(kind, x, self._y[lane])

    def _way(self, stations):
        """Lines between successive places of a packet's way."""
        for (one, place, to), (other, next_place, _) in zip(stations, stations[1:]):
            # The head leaves a link long before the tail does.
            leaves = one.time if (one.kind, other.kind) == (LINK, LINK) else one.end
            x, end = self._x(leaves), self._x(other.time)
            y, bottom = self._y[place], self._y[next_place]
            half = (y + bottom) / 2
            yield (f'<path class="way" stroke="{colour_of(to)}" d="M{x:.1f} {y} '
                   f'C{x:.1f} {half:.1f} {end:.1f} {half:.1f} {end:.1f} {bottom}"/>')

    def _legend(self, y):
        x = LEFT
        items = [(colour_of(node), f"to node {node}") for node in sorted(self._seen)]
        for colour, name in items[:len(COLOURS)]:
            yield f'<rect x="{x}" y="{y}" width="12" height="12" rx="1.5" fill="{colour}"/>'
            yield f'<text x="{x + 17}" y="{y + 10}">{name}</text>'
            x += 90
            if x > WIDTH - 90 - RIGHT:
                x, y = LEFT, y + LEGEND
        x, y = LEFT, y + LEGEND
        for kind, name in ((DOORBELL, "doorbell"), (NOTICE, "notice in the MRQ"),
                           (TCQ, "entry in the TCQ")):
            yield self._symbol(kind, x + 6, y + 6)
            yield f'<text x="{x + 17}" y="{y + 10}">{name}</text>'
            x += 150

    def write(self, out):
        bands, bottom = self._layout()
        height = bottom + LEGEND * (2 + (len(self._seen) + 9) // 11) - 12
        pieces = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}">',
            f"<style>{STYLE}</style>",
            f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>']
        for band in bands:
            pieces.extend(self._band(*band))
        pieces.extend(self._axis(bottom - GAP + 4))
        for lane in sorted(self._y):
            pieces.extend(self._rail(lane))
        out.write("\n".join(pieces) + "\n")
        # Ways go below the bars, whose text stays legible.
        if len(self._ways) <= WAYS_MAX:
            for stations in self._ways.values():
                out.write("".join(f"{line}\n" for line in self._way(stations)))
        for lane in sorted(self._bars):
            for bar in self._bars[lane]:
                out.write("\n".join(self._draw_bar(lane, bar)) + "\n")
        for lane in sorted(self._marks):
            out.write("".join(f"{line}\n" for line in self._draw_marks(lane, self._marks[lane])))
        out.write("\n".join(self._legend(bottom + 4)) + "\n</svg>\n")


def _extent(trace, first, last):
    """The window; by default it begins and ends with the records."""
    if first is not None and last is not None:
        return first, last
    begin = end = None
    for record in trace.records(first or 0, last):
        begin = record.time if begin is None else begin
        end = max(end or 0, record.end)
    if begin is None:
        raise TraceError("nothing happens in this time")
    return begin if first is None else first, end if last is None else last


def write(trace, out, first=None, last=None):
    """Draw the time between two times, or all of it."""
    first, last = _extent(trace, first, last)
    if last < first:
        raise TraceError(f"{last} ns is before {first} ns")
    picture = Picture(trace, first, max(last, first + 1))
    for record in trace.records(0, last):
        picture.add(record)
    picture.end()
    picture.write(out)
