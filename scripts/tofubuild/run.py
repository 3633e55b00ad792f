# SPDX-License-Identifier: MIT
"""Runs build commands with a log and a compact progress line."""

import os
import re
import signal
import subprocess
import sys
import time

from .cache import BuildError, say

_NINJA_STEP = re.compile(r"\[(\d+)/(\d+)\]")


def run(command, log, what, cwd=None, env=None, ninja=False):
    """Run a command, output to `log`; raise BuildError with the log's end."""
    say(what)
    began = time.monotonic()
    with open(log, "ab") as out:
        out.write(f"\n$ {' '.join(map(str, command))}\n".encode())
        out.flush()
        if ninja:
            status = _run_ninja(command, out, cwd, env)
        else:
            status = subprocess.run(command, cwd=cwd, env=env, stdout=out, stderr=out,
                                    stdin=subprocess.DEVNULL, check=False).returncode
    if status:
        raise BuildError(f"{what}: failed with status {status}\n{_tail(log)}\n(all of it: {log})")
    return time.monotonic() - began


def _run_ninja(command, out, cwd, env):
    """As run(), showing ninja's count as a percentage."""
    env = dict(env or os.environ, NINJA_STATUS="[%f/%t] ")
    child = subprocess.Popen(command, cwd=cwd, env=env, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    shown = -1
    tty = sys.stderr.isatty()
    try:
        for line in child.stdout:
            out.write(line)
            step = _NINJA_STEP.match(line.decode(errors="replace"))
            if not step or int(step[2]) < 20:
                continue
            percent = 100 * int(step[1]) // int(step[2])
            if percent >= shown + (1 if tty else 20):
                shown = percent
                end = "\r" if tty and percent < 100 else "\n"
                print(f"    {percent:3d} %  ({step[1]} of {step[2]})", end=end,
                      file=sys.stderr, flush=True)
    except BaseException:
        child.send_signal(signal.SIGTERM)
        child.wait()
        raise
    return child.wait()


def _tail(log, lines=25):
    with open(log, encoding="utf-8", errors="replace") as file:
        text = [line[:240] for line in file.read().splitlines()]
    # A compiler's message may stand far above the last line of the log.
    failed = [i for i, line in enumerate(text) if line.startswith("FAILED:")]
    if failed:
        return "\n".join(text[failed[0]:failed[0] + 2 * lines])
    return "\n".join(text[-lines:])
