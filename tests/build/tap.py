# SPDX-License-Identifier: MIT
"""What the checks of this folder share: TAP output and the tree."""

import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


class Tap:
    """Test points, numbered as they come; the plan is printed at the end."""

    def __init__(self):
        self._count = 0
        self._failed = 0
        print("TAP version 13")

    def point(self, name, problems=()):
        """One test point, which fails if there are problems."""
        self._count += 1
        self._failed += bool(problems)
        for problem in problems:
            for line in str(problem).splitlines():
                print(f"# {line}")
        print(f"{'not ok' if problems else 'ok'} {self._count} - {name}", flush=True)

    def skip(self, name, reason):
        self._count += 1
        print(f"ok {self._count} - {name} # SKIP {reason}", flush=True)

    def end(self):
        print(f"1..{self._count}")
        sys.exit(1 if self._failed else 0)


def output_of(command, **kwargs):
    """(status, both outputs) of a command."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **kwargs)
    return done.returncode, done.stdout


def tracked_files():
    """Paths, relative to the top, of what belongs to the project."""
    status, text = output_of(["git", "-C", TOP, "ls-files", "--cached", "--others",
                              "--exclude-standard", "-z"])
    if status:
        # An unpacked archive has no git; then all there is belongs to it.
        files = [p.relative_to(TOP) for p in TOP.rglob("*") if p.is_file()]
        return sorted(p for p in files if p.parts[0] != "build")
    return sorted(pathlib.Path(name) for name in text.split("\0")
                  if name and (TOP / name).is_file())
