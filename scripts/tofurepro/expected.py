# SPDX-License-Identifier: MIT
"""The expected tables, tests/repro/*.txt, and what differs from them.

Two runs of the same binaries give the same text.  Other binaries do not: a function
that has moved changes what an instruction count is, by nanoseconds.  So a time may
differ from the expected one by TOLERANCE, and nothing else may: words, counts of
rows, which of several schedules was faster, and what is no time.
"""

import difflib
import pathlib
import re

from . import tables

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/repro"
TOLERANCE = 0.02
# Columns of schedules, whose order in a row is a result.
SCHEDULE = re.compile(r"(round-robin|bl):\d+|overhead-aware")
NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
# Sheets with one of these in their notes have no times.
EXACT = ("to the byte", "tofu_p2p_need()")


def _near(one, other):
    return abs(one - other) <= TOLERANCE * max(abs(one), abs(other))


def _cells_alike(one, other):
    """The same words, and numbers near each other."""
    # Odd parts are the numbers.
    parts, others = NUMBER.split(one), NUMBER.split(other)
    return len(parts) == len(others) and all(
        _near(float(a), float(b)) if at % 2 else a == b
        for at, (a, b) in enumerate(zip(parts, others)))


def _order(columns, row):
    """The schedules of a row, the fastest first; a tie stays as the columns are."""
    cells = [(tables.number(cell), at) for at, (name, cell) in enumerate(zip(columns, row))
             if SCHEDULE.fullmatch(name)]
    return [at for value, at in sorted(cells, key=lambda cell: (cell[0] is None, cell))]


def _tables_alike(one, other):
    if (one.title, one.columns, len(one.rows)) != (other.title, other.columns, len(other.rows)):
        return False
    return all(len(row) == len(with_) and all(map(_cells_alike, row, with_)) and
               _order(one.columns, row) == _order(one.columns, with_)
               for row, with_ in zip(one.rows, other.rows))


def _alike(expected, sheet):
    if any(words in note for note in sheet.notes for words in EXACT):
        return False
    return expected.notes == sheet.notes and len(expected.tables) == len(sheet.tables) and \
        all(map(_tables_alike, expected.tables, sheet.tables))


def differences(sheet, folder=FOLDER):
    """Lines of a diff, expected against what is; none where that is near enough."""
    path = folder / f"{sheet.name}.txt"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    text = sheet.text()
    if before == text or \
            (before and _alike(tables.sheet_of(sheet.name, before),
                               tables.sheet_of(sheet.name, text))):
        return []
    return list(difflib.unified_diff(before.splitlines(), text.splitlines(),
                                     f"expected/{path.name}", path.name, lineterm="", n=0))


def accept(sheet, folder=FOLDER):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{sheet.name}.txt").write_text(sheet.text(), encoding="utf-8")
