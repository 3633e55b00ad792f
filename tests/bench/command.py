# SPDX-License-Identifier: MIT
"""Commands of benchmarks, for those that measure processes of this host."""

import os
import subprocess


class BenchError(Exception):
    """The measurement is impossible; the text is for the user."""


def run(command, timeout, **variables):
    """What a command prints, with these variables in its environment, too."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=timeout, check=False, env={**os.environ, **variables})
    if done.returncode:
        raise BenchError(f"{command[0]}: status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout
