# SPDX-License-Identifier: MIT
"""What the tests of tofu-sim share: programs that they compile, and runs with a limit."""

import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tests/build"))
from tap import Tap, output_of  # pylint: disable=wrong-import-position

__all__ = ["OUT", "SECONDS", "SIM", "TOP", "Run", "Tap", "build", "output_of", "sim"]

OUT = pathlib.Path(os.environ.get("O", TOP / "build")).resolve()
SIM = OUT / "bin/tofu-sim"
SOURCES = pathlib.Path(__file__).resolve().parent / "programs"
SECONDS = 120  # limit of a run, which takes a second or two
LONG_SECONDS = 600  # of one that takes a minute
SUMMARY = re.compile(r"(\d+ ns of virtual time) in [\d.]+ s(; .* turns, .* windows; trace [0-9a-f]{16})")


class Run:
    """A command that has ended: its status and both outputs.

    As in a shell, the status of one that a signal has ended is 128 and the signal.
    """

    def __init__(self, words, env=None, seconds=SECONDS):
        self.command = " ".join(str(word) for word in words)
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=seconds, check=False, env={**os.environ, **(env or {})},
                              stdin=subprocess.DEVNULL)
        self.status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        self.out, self.err = done.stdout, done.stderr

    def everything(self):
        return f"{self.command}\nstatus {self.status}\n{self.out}{self.err}"

    def problems(self, status, out=(), err=()):
        """What is not as expected: the status, and words in the outputs."""
        wrong = [] if self.status == status else [f"status {self.status}, not {status}"]
        wrong += [f"standard output lacks {word!r}" for word in out if word not in self.out]
        wrong += [f"standard error lacks {word!r}" for word in err if word not in self.err]
        return wrong + [self.everything()] if wrong else []

    def summary(self):
        """What has happened in the machine, and when: virtual time, packets, turns, hash."""
        found = SUMMARY.search(self.err)
        return found[1] + found[2] if found else None

    def result(self):
        """The same without turns and windows: how often programs slept is their own affair."""
        return re.sub(r" \d+ turns, \d+ windows;", "", self.summary() or "")


def sim(*words, env=None, binary=SIM, seconds=SECONDS):
    return Run([binary, *words], env, seconds)


def build(folder, source="acts.c", name=None, flags=("-O2",), link=None, compiler="cc"):
    """Compile a program as a user would; the path of it."""
    path = folder / (name or pathlib.Path(source).stem)
    if link is None:
        link = [f"-L{OUT / 'lib'}", "-ltofu"]
    words = [compiler, "-Wall", "-Wextra", "-Werror", *flags, f"-I{TOP / 'libtofu/include'}",
             "-o", path, pathlib.Path(SOURCES, source), "-pthread", *link]
    status, text = output_of(words, timeout=SECONDS)
    if status:
        raise RuntimeError(text)
    return path
