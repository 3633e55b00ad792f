# SPDX-License-Identifier: MIT
"""Sheets: files of tables, as text for people, and as input of plots.

A sheet is a whole result. Its text is compared, so it has nothing that could
differ between two runs.

    # a note, or several

    title of a table
      column    another
      cell      two or more blanks between cells
"""

import dataclasses
import re

from .errors import ReproError

EMPTY = "-"
GAP = "  "
# Between a value and half the range of what it is the median of
SPREAD = " ± "


def number(cell):
    """The number at the beginning of a cell, or None."""
    match = re.match(r"[-+]?\d+(\.\d+)?", cell)
    return float(match[0]) if match else None


def with_spread(value, per_cent):
    """'8.604 ± 1.2 %', of which number() is the value"""
    return f"{value:.3f}{SPREAD}{per_cent:.1f} %"


def spread(cell):
    """The spread of a cell in per cent; None where it has none."""
    return number(cell.partition(SPREAD)[2])


@dataclasses.dataclass
class Table:
    """Cells are strings, and a row is a list with a cell for each column."""
    title: str
    columns: list
    rows: list

    def lines(self):
        cells = [self.columns, *([cell or EMPTY for cell in row] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells)]
        right = [all(number(row[i]) is not None or row[i] == EMPTY for row in cells[1:])
                 for i in range(len(widths))]
        yield self.title
        for row in cells:
            line = GAP.join(cell.rjust(width) if to_right else cell.ljust(width)
                            for cell, width, to_right in zip(row, widths, right))
            yield GAP + line.rstrip()

    def column(self, name):
        at = self.columns.index(name)
        return [row[at] for row in self.rows]

    def numbers(self, name):
        return [number(cell) for cell in self.column(name)]


def widest(tables):
    """The widest spread of all cells: (per cent, title, column, first cell of the row)"""
    return max((spread(cell), table.title, name, row[0]) for table in tables
               for row in table.rows for name, cell in zip(table.columns, row)
               if spread(cell) is not None)


@dataclasses.dataclass
class Sheet:
    """A file of tables; `notes` are its first lines."""
    name: str
    notes: list
    tables: list

    def text(self):
        blocks = [[f"# {note}" for note in self.notes]]
        blocks += [table.lines() for table in self.tables]
        return "\n\n".join("\n".join(block) for block in blocks) + "\n"

    def table(self, title):
        for table in self.tables:
            if table.title == title:
                return table
        raise ReproError(f"{self.name}.txt: no table '{title}'")


def _table_of(sheet, block):
    title, *lines = block.splitlines()
    rows = [re.split(r" {2,}", line.strip()) for line in lines]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise ReproError(f"{sheet}.txt: '{title}' is no table")
    return Table(title, rows[0], rows[1:])


def sheet_of(name, text):
    """Parse a text into a sheet."""
    notes, *blocks = text.strip().split("\n\n")
    return Sheet(name, [line.removeprefix("# ") for line in notes.splitlines()],
                 [_table_of(name, block) for block in blocks])


def sheets_in(folder):
    """All sheets of a folder, by name."""
    return {path.stem: sheet_of(path.stem, path.read_text(encoding="utf-8"))
            for path in sorted(folder.glob("*.txt"))}
