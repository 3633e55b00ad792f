# SPDX-License-Identifier: MIT
"""The TAP of a test run: its own test points, and those of guests."""

import re

POINT = re.compile(r"(ok|not ok)\b\s*\d*\s*(?:-\s*)?(.*)$")
PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*SKIP\S*\s*(.*))?$", re.IGNORECASE)
KSFT_SKIP = 4  # exit status of a kselftest that was skipped as a whole


class Tap:
    def __init__(self):
        self.points = self.failed = 0
        print("TAP version 13", flush=True)

    def note(self, text):
        for line in text.splitlines():
            print(f"# {line}", flush=True)

    def point(self, good, name, why=""):
        """A test point; `why` is printed if it fails."""
        self.points += 1
        if not good:
            self.failed += 1
            self.note(why)
        print(f"{'ok' if good else 'not ok'} {self.points} - {name}", flush=True)

    def skip(self, name, reason):
        self.points += 1
        print(f"ok {self.points} - {name} # SKIP {reason}", flush=True)

    def forward(self, prefix, output, status, errors=""):
        """The points of a guest's TAP as points of this one.

        Adds a failing point if the program failed without a failed point, or
        made fewer points than planned.
        """
        plan, seen, failed = None, 0, 0
        for line in output.splitlines():
            if match := PLAN.match(line):
                plan = int(match[1])
                if match[2]:
                    self.skip(prefix, match[2])
            elif match := POINT.match(line):
                seen += 1
                failed += match[1] != "ok"
                self.points += 1
                self.failed += match[1] != "ok"
                print(f"{match[1]} {self.points} - {prefix}: {match[2]}", flush=True)
            elif line.strip() and not line.startswith(("TAP version", "KTAP version")):
                self.note(line.lstrip("# "))
        trouble = []
        if plan != seen:
            trouble.append(f"planned {plan} points, made {seen}")
        if status not in (0, KSFT_SKIP) and not failed:
            trouble.append(f"exit status {status}")
        if trouble or failed:
            self.note(errors)
        if trouble:
            self.point(False, f"{prefix}: {', '.join(trouble)}")

    def done(self):
        print(f"1..{self.points}", flush=True)
        return 1 if self.failed else 0
