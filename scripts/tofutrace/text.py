# SPDX-License-Identifier: MIT
"""Records as lines of text."""

from .records import (CHANNEL, DOORBELL, FETCH, KINDS, LINK, MARK, NOTICE, PORTS, RECEIVE, SEND,
                      TCQ, is_gate, is_signal, mark_name, notice_name, type_name)


def _command(record):
    return f"{'number' if is_signal(record) else 'command'} {record.origin}:{record.id:x}"


def _packet(record, other):
    return f"{type_name(record)} {record.bytes} B {other} node {record.peer}"


def _detail(record):
    queue = f"TNI {record.tni} {'gate' if is_gate(record) else 'CQ'} {record.cq}"
    if record.kind == DOORBELL:
        return f"{queue}: {record.bytes} slots"
    if record.kind in (FETCH, CHANNEL):
        return queue
    if record.kind == SEND:
        return f"{queue}: {_packet(record, 'to')}, {_command(record)}"
    if record.kind == LINK:
        waited = f", waited {record.wait} ns" if record.wait else ""
        return f"{PORTS[record.detail]}: {_packet(record, 'to')}, {_command(record)}{waited}"
    if record.kind == RECEIVE:
        return f"{queue}: {_packet(record, 'from')}, {_command(record)}"
    if record.kind == NOTICE:
        return f"{queue}: {notice_name(record)}, {_command(record)}"
    if record.kind == TCQ:
        return f"{queue}: status {record.detail}, {_command(record)}"
    assert record.kind == MARK
    return f"{queue}: {mark_name(record.id) or '(end)'}"


def lines(trace, first=0, last=None):
    """A line for each record: time and length in ns, node, kind, contents."""
    for record in trace.records(first, last):
        length = f"+{record.end - record.time}" if record.end > record.time else ""
        yield (f"{record.time:>14} {length:>8} node {record.node:<4} {KINDS[record.kind]:9} "
               f"{_detail(record)}")
