# SPDX-License-Identifier: MIT
"""Commands of tofu-cluster, for tests of clusters over several hosts."""

import os
import pathlib
import subprocess
import time

from tap import output_of

TOP = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = TOP / "scripts/tofu-cluster"
LIMIT_SECONDS = 300
END_SECONDS = 20
NAME = f"hosts-{os.getpid()}"


class Machine:
    """The cluster of a test; `shell` reaches its other hosts."""

    def __init__(self, shell=None):
        self.environment = {**os.environ, **({"TOFU_SSH": str(shell)} if shell else {})}

    def do(self, command, *words):
        """Status and output of a command of tofu-cluster."""
        return output_of([CLUSTER, command, "--name", NAME, *words], env=self.environment,
                         timeout=LIMIT_SECONDS, stdin=subprocess.DEVNULL)

    def start(self, command, *words):
        """Start a command of tofu-cluster."""
        return subprocess.Popen([CLUSTER, command, "--name", NAME, *words],
                                env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def trouble(self, command, *words, has=""):
        """What is wrong with a command, as a list for Tap.point()."""
        status, text = self.do(command, *words)
        if status == 0 and has in text and "not ok" not in text:
            return []
        return [f"{command} {' '.join(map(str, words))}: status {status}", text]


def running():
    """Processes that a cluster or a bridge of this test would leave."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if f"{NAME}-node".encode() in b" ".join(words) or words[0].endswith(b"tofu-bridge"):
            found.append(b" ".join(words).decode(errors="replace"))
    return found


def ends(before):
    """What is still there some time after the end."""
    until = time.monotonic() + END_SECONDS
    while time.monotonic() < until and len(running()) > len(before):
        time.sleep(0.1)
    return [line for line in running() if line not in before]
