# SPDX-License-Identifier: MIT
"""The expected tables, tests/repro/*.txt, and differences from them.

Two runs of the same binaries give the same text. Other binaries do not: a
function that has moved changes times by nanoseconds, and these may decide which
of two packets goes first. Each figure is taken over many phases of the polling
loops, so little of that is left: a figure may differ from the expected one by
TOLERANCE, and schedules that are as close to each other may change places.
Messages take several turns of software on both sides, and vary by more:
TOLERANCE_MESSAGES. Rounds of nodes that are out of step differ from each other by
half, and of their means TOLERANCE_OUT_OF_STEP is left. How far the exchanges of a
figure are apart is not compared. Nothing else may differ: words, counts of rows,
and numbers that are no times.
"""

import dataclasses
import difflib
import itertools
import pathlib
import re

from . import tables
from .tables import EMPTY

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/repro"
TOLERANCE = 0.02
TOLERANCE_MESSAGES = 0.05
TOLERANCE_OUT_OF_STEP = 0.15
# Sheets of messages have such names.
MESSAGES = "p2p-"
# Tables of nodes that are out of step have such titles.
OUT_OF_STEP = "from each node to each other"
# Columns that follow from others of their row, or say how far runs were apart
FOLLOWS = ("off by", "±")
# Columns of so few operations that one of them decides, if something else takes the
# guest's processor meanwhile: then the slowest one takes that many times the median.
# Other binaries have that at another place.
MEDIAN, SLOWEST = "one at a time, ns", "slowest, ns"
INTERRUPTED = (SLOWEST, "one at a time, adds/s")
INTERRUPTED_TIMES = 10
# Columns of schedules: the fastest one in a row is a result.
SCHEDULE = re.compile(r"(round-robin|bl):\d+|overhead-aware")
# Of a few exchanges, it depends on the slowest and the fastest.
SPREAD = re.compile(rf"(?<={tables.SPREAD})\S+")
NUMBER = re.compile(r"(\d+(?:\.\d+)?)")
# Sheets with one of these in their notes have no times.
EXACT = ("to the byte", "tofu_p2p_need()")
# Names the system on which a folder's tables were measured
SYSTEM = "system"


def _near(one, other, tolerance):
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def _cells_alike(one, other, tolerance):
    """Whether words are equal, and numbers close to each other."""
    # Odd parts are the numbers.
    parts, others = (NUMBER.split(SPREAD.sub("", cell)) for cell in (one, other))
    return len(parts) == len(others) and all(
        _near(float(a), float(b), tolerance) if at % 2 else a == b
        for at, (a, b) in enumerate(zip(parts, others)))


def _schedules_alike(columns, row, other, tolerance):
    """Whether of two schedules that are apart, the same one is faster."""
    pairs = [(tables.number(one), tables.number(two))
             for name, one, two in zip(columns, row, other)
             if SCHEDULE.fullmatch(name) and EMPTY not in (one, two)]
    return all(_near(a, b, tolerance) or (a < b) == (c < d)
               for (a, c), (b, d) in itertools.combinations(pairs, 2))


def _is_interrupted(table, row):
    cells = dict(zip(table.columns, row))
    return SLOWEST in cells and \
        float(cells[SLOWEST]) > INTERRUPTED_TIMES * float(cells[MEDIAN])


def _rows_alike(table, row, other, tolerance):
    """The first cell names the row."""
    left_out = FOLLOWS
    if _is_interrupted(table, row) or _is_interrupted(table, other):
        left_out += INTERRUPTED
    return row[0] == other[0] and \
        all(name in left_out or _cells_alike(a, b, tolerance)
            for name, a, b in zip(table.columns, row, other)) and \
        _schedules_alike(table.columns, row, other, tolerance)


def _tolerance(sheet, table):
    if OUT_OF_STEP in table.title:
        return TOLERANCE_OUT_OF_STEP
    return TOLERANCE_MESSAGES if sheet.name.startswith(MESSAGES) else TOLERANCE


def _settled(expected, table, tolerance):
    """A table with the expected rows in place of similar ones."""
    if (expected.columns, len(expected.rows)) != (table.columns, len(table.rows)):
        return table
    rows = [row if _rows_alike(table, row, other, tolerance) else other
            for row, other in zip(expected.rows, table.rows)]
    return dataclasses.replace(table, rows=rows)


def _settled_sheet(expected, sheet):
    """A sheet without the differences that are tolerated."""
    if any(words in note for note in sheet.notes for words in EXACT) or \
            [table.title for table in expected.tables] != [table.title for table in sheet.tables]:
        return sheet
    return dataclasses.replace(sheet, tables=[
        _settled(one, table, _tolerance(sheet, table))
        for one, table in zip(expected.tables, sheet.tables)])


def differences(sheet, folder=FOLDER):
    """Lines of a diff, expected against measured; none where close enough."""
    path = folder / f"{sheet.name}.txt"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    text = sheet.text()
    if before:
        text = _settled_sheet(tables.sheet_of(sheet.name, before), sheet).text()
    return list(difflib.unified_diff(before.splitlines(), text.splitlines(),
                                     f"expected/{path.name}", path.name, lineterm="", n=0))


def _facts(sheet):
    """Titles, columns, and the names of rows."""
    return [(table.title, table.columns, [row[0] for row in table.rows])
            for table in sheet.tables]


def facts_differ(sheet, folder=FOLDER):
    """Whether what another system does not change is not as expected either."""
    path = folder / f"{sheet.name}.txt"
    if not path.exists() or any(words in note for note in sheet.notes for words in EXACT):
        return bool(differences(sheet, folder))
    before = tables.sheet_of(sheet.name, path.read_text(encoding="utf-8"))
    return _facts(before) != _facts(sheet)


def system(folder=FOLDER):
    """The system of a folder's tables, or None."""
    path = folder / SYSTEM
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


def write_system(text, folder=FOLDER):
    (folder / SYSTEM).write_text(f"{text}\n", encoding="utf-8")


def accept(sheet, folder=FOLDER):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{sheet.name}.txt").write_text(sheet.text(), encoding="utf-8")
