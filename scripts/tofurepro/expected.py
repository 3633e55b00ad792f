# SPDX-License-Identifier: MIT
"""The expected tables, tests/repro/*.txt, and what differs from them."""

import difflib
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/repro"


def differences(sheet, folder=FOLDER):
    """Lines of a diff, expected against what is; none where they are the same."""
    path = folder / f"{sheet.name}.txt"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    return list(difflib.unified_diff(before.splitlines(), sheet.text().splitlines(),
                                     f"expected/{path.name}", path.name, lineterm="", n=0))


def accept(sheet, folder=FOLDER):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{sheet.name}.txt").write_text(sheet.text(), encoding="utf-8")
