# SPDX-License-Identifier: MIT
"""A cluster under test, driven like a person would, by scripts/tofu-cluster."""

import json
import os
import pathlib
import re
import signal
import subprocess
import time

TOP = pathlib.Path(__file__).resolve().parents[3]
OUT = pathlib.Path(os.environ.get("O") or TOP / "build")
TOOL = TOP / "scripts/tofu-cluster"
GUEST = OUT / "tests/cluster"

UP_SECONDS = 240
DOWN_SECONDS = 60
RUN_SECONDS = 180
PREFIX = re.compile(r"\[(\d+)\] ?(.*)$")


class TestFailure(Exception):
    """A failed step without which the test cannot continue."""


class Result:
    """Results of a program: exit status, lines of both outputs by node."""

    def __init__(self, status, out, err):
        self.status = status
        self._out, self._err = self._split(out), self._split(err)

    @staticmethod
    def _split(text):
        lines = {}
        for line in text.splitlines():
            match = PREFIX.match(line)
            node, rest = (int(match[1]), match[2]) if match else (None, line)
            lines.setdefault(node, []).append(rest)
        return {node: "\n".join(part) + "\n" for node, part in lines.items()}

    def out(self, node=0):
        return self._out.get(node, "")

    def all_out(self):
        """Output of each node; the order of nodes is undefined."""
        return self._out

    def everything(self):
        """All output, for a message."""
        parts = [f"[{node}] {text}" for part in (self._out, self._err)
                 for node, text in sorted(part.items(), key=lambda item: str(item[0]))]
        return "".join(parts)


class Cluster:
    """Up at the beginning of a `with`, down at its end in any case."""

    # For all clusters; see run-all and reports.py
    accel = "auto"
    reports = None
    slowness = 1
    memory_min = 0
    common_options = ()

    def __init__(self, name, nodes, shape, memory=512, options=()):
        self.title, self.name = name, f"test-{os.getpid()}-{name}"
        self.nodes, self.shape, self.memory = nodes, shape, max(memory, self.memory_min)
        self.log_dir = OUT / "cluster" / self.name
        self._options = [*self.common_options, *options]

    def words(self, command, *words):
        return [str(w) for w in (TOOL, command, "--name", self.name, *words)]

    def up_words(self):
        return self.words("up", "--owner", os.getpid(), "-n", self.nodes, "--shape", self.shape,
                           "--memory", self.memory, "--accel", self.accel, *self._options)

    def start_up(self):
        """The process of `up`, for tests that do not wait for its end."""
        return subprocess.Popen(self.up_words(), stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)

    def tool(self, command, *words, timeout=DOWN_SECONDS):
        if self.reports and command == "kill":
            self.reports.consoles(self)
        done = subprocess.run(self.words(command, *words), capture_output=True, text=True,
                              timeout=timeout * self.slowness, check=False)
        if done.returncode:
            raise TestFailure(f"tofu-cluster {command}: {done.stderr.strip()}")
        return done.stdout

    def __enter__(self):
        done = subprocess.run(self.up_words(), capture_output=True, text=True,
                              timeout=UP_SECONDS * self.slowness, check=False)
        if done.returncode:
            raise TestFailure(f"tofu-cluster up: {done.stderr.strip()}")
        return self

    def __exit__(self, *_):
        try:
            if self.reports:
                self.reports.down(self)
        finally:
            self.tool("down")

    def status(self):
        return json.loads(self.tool("status", "--json"))

    def start_run(self, program, *words, nodes=None, timeout=RUN_SECONDS, gone=None, trace=None,
                  env=(), options=()):
        """The process of `run`, with its output in pipes.

        When a node is gone the others have all their time left, or `gone`
        seconds. `options` are further ones of `run`.
        """
        timeout *= self.slowness
        options = [*options, "--timeout", timeout, "--gone-timeout", gone or timeout,
                   *(["--nodes", nodes] if nodes is not None else []),
                   *(["--trace", trace] if trace is not None else [])]
        for name, value in dict(env).items():
            options += ["--env", f"{name}={value}"]
        return subprocess.Popen(self.words("run", *options, "--", program, *words),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self, program, *words, nodes=None, timeout=RUN_SECONDS, trace=None, env=(),
            options=()):
        process = self.start_run(program, *words, nodes=nodes, timeout=timeout, trace=trace,
                                 env=env, options=options)
        return finish(process, timeout * self.slowness + 30)

    def processes(self):
        """Processes of this host whose command line has the cluster's name."""
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(self.name.encode() in word for word in words):
                found.append(int(folder.name))
        return found

    def sockets(self):
        """Named sockets with the cluster's name."""
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
            return [line.strip() for line in file if self.name in line]


def finish(process, timeout, seen=""):
    """The result of a process from start_run(), after `seen` was read."""
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    return Result(process.returncode, seen + out, err)


def wait_until(condition, seconds=20):
    """Whether the condition becomes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_alive(pid):
    """Whether a process runs; a zombie does not."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
