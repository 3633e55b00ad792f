# SPDX-License-Identifier: MIT
"""How long software takes from what comes to the command that it gives next.

A reaction ends with a doorbell. It begins when the last packet that brought
something has done so: a put or an atomic of another node, or data or a value that
this one has asked for. If the doorbell before is later, it begins with that: then
what software answers, if anything, had been there.

A program that polls sees what comes with its next round. So the times of
reactions that it waited for begin at what it does in any case, and spread over
the length of a round.
"""

import heapq
import json
import statistics

from .errors import TraceError
from .records import ARMW, DATA, DOORBELL, MARK, PUT, RECEIVE, VALUE, mark_name

BRING = (PUT, ARMW, DATA, VALUE)
WAITED, THERE = "waited for", "there before"
COLUMNS = ["came", "count", "least", "quarter", "median", "3/4", "most", "mean"]


def _wanted(record, file):
    if record.kind == RECEIVE:
        return record.type in BRING and record.peer != file.node
    return record.kind in (DOORBELL, MARK)


def _events(file):
    """(time, what) of a node: arrivals, doorbells and marks, in order.

    Records are in the order of their beginnings, and an arrival counts when it ends.
    """
    ending = []
    for number, record in enumerate(file.in_order()):
        if not _wanted(record, file):
            continue
        while ending and ending[0][0] <= record.time:
            end, _, arrival = heapq.heappop(ending)
            yield end, arrival
        if record.kind == RECEIVE:
            heapq.heappush(ending, (record.end, number, record))
        else:
            yield record.time, record
    for end, _, arrival in sorted(ending):
        yield end, arrival


def _of_node(file, phase):
    """(what, ns) of each doorbell of a node in phases of that name, but the first of each."""
    inside, arrival, doorbell = phase is None, None, None
    for time, record in _events(file):
        if record.kind == MARK:
            if phase is not None:
                inside, arrival, doorbell = mark_name(record.id) == phase, None, None
        elif record.kind == RECEIVE:
            arrival = time
        else:
            if inside and doorbell is not None:
                waited = arrival is not None and arrival > doorbell
                yield (WAITED, time - arrival) if waited else (THERE, time - doorbell)
            doorbell = time


def reactions(trace, phase=None):
    """Nanoseconds of all reactions, by what they began with."""
    found = {WAITED: [], THERE: []}
    for file in trace.files:
        for what, ns in _of_node(file, phase):
            found[what].append(ns)
    if not any(found.values()):
        where = "" if phase is None else f" in a phase {phase!r}"
        raise TraceError(f"no node rang two doorbells{where}")
    return found


def _summary(times):
    times = sorted(times)
    last = len(times) - 1
    return [len(times), *(times[round(last * part / 4)] for part in range(5)),
            round(statistics.mean(times))]


def table(trace, phase):
    found = reactions(trace, phase)
    yield f"{COLUMNS[0]:12}" + "".join(f"{name:>9}" for name in COLUMNS[1:])
    for what, times in found.items():
        if times:
            yield f"{what:12}" + "".join(f"{value:>9}" for value in _summary(times))


def as_json(trace, phase):
    names = ["count", "least_ns", "quarter_ns", "median_ns", "three_quarters_ns", "most_ns",
             "mean_ns"]
    return json.dumps({what: dict(zip(names, _summary(times)))
                       for what, times in reactions(trace, phase).items() if times}, indent=1)
