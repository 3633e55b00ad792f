# SPDX-License-Identifier: MIT
"""The difference of two runs, as a table."""


def compare(first, second):
    """Rows that both runs have; a row that only one has gets None."""
    rows = []
    for what in dict.fromkeys([*first, *second]):
        a, b = first.get(what, {}), second.get(what, {})
        for phase in dict.fromkeys([*a, *b]):
            rows.append({"what": what, "phase": phase, "a": a.get(phase), "b": b.get(phase)})
    return rows


def _number(value):
    if value is None:
        return "-"
    return f"{value:.1f}".removesuffix(".0")


def _change(row):
    if row["a"] is None or row["b"] is None:
        return ""
    change = row["b"] - row["a"]
    if not change:
        return "="
    return f"{change:+.1f}".removesuffix(".0")


def lines(name_a, name_b, rows):
    cells = [["", "", f"{name_a} ns", f"{name_b} ns", "change"]]
    before = None
    for row in rows:
        cells.append([row["what"] if row["what"] != before else "", row["phase"],
                      _number(row["a"]), _number(row["b"]), _change(row)])
        before = row["what"]
    widths = [max(map(len, column)) for column in zip(*cells)]
    for one in cells:
        left = [cell.ljust(width) for cell, width in zip(one[:2], widths)]
        right = [cell.rjust(width) for cell, width in zip(one[2:], widths[2:])]
        yield "  ".join(left + right).rstrip()
