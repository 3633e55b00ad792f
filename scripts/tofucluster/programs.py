# SPDX-License-Identifier: MIT
"""`run` and `sh`: programs in the guests."""

import contextlib
import hashlib
import os
import pathlib
import select
import shutil
import signal
import sys
import termios
import time
import tty

from . import shape, wire
from .boot import environment_of, say
from .errors import ClusterError

EXIT_TIMEOUT = 124
EXIT_INTERRUPTED = 130
EXIT_GONE = 125
END_SECONDS = 15
UPLOAD_SECONDS = 120
# Longer lines of output are broken.
LINE_MAX = 64 << 10


def exit_code(wait_status):
    """A wait(2) status as a shell would say it."""
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


class Output:
    """Where the programs' output goes: terminal with prefix, or files."""

    def __init__(self, nodes, folder):
        self._partial = {}
        self._files = None
        if folder:
            folder.mkdir(parents=True, exist_ok=True)
            names = {1: "out", 2: "err"}
            self._files = {(node, stream): open(folder / f"node{node}.{names[stream]}", "wb")
                           for node in nodes for stream in names}

    def write(self, node, stream, data):
        if self._files:
            self._files[node, stream].write(data)
            return
        *lines, rest = (self._partial.get((node, stream), b"") + data).split(b"\n")
        if len(rest) > LINE_MAX:
            lines, rest = [*lines, rest], b""
        self._partial[node, stream] = rest
        target = (sys.stdout if stream == 1 else sys.stderr).buffer
        target.write(b"".join(b"[%d] %s\n" % (node, line) for line in lines))
        target.flush()

    def close(self):
        """Say what did not end in a newline."""
        for (node, stream), rest in self._partial.items():
            if rest:
                target = (sys.stdout if stream == 1 else sys.stderr).buffer
                target.write(b"[%d] %s\n" % (node, rest))
                target.flush()
        for file in (self._files or {}).values():
            file.close()


def _in_guest(connection, node, path):
    """Whether a guest has a program of this name."""
    connection.send({"op": "exec", "nodes": [node], "env": {}, "cwd": "/",
                     "argv": ["/bin/busybox", "test", "-x", path]})
    status = None
    while status is None:
        message, _ = connection.receive()
        if message is None or "error" in message or message["event"] == "gone":
            return False
        if message["event"] == "exit":
            status = message["status"]
    return status == 0


def _place_program(args, nodes, program):
    """Path of the program in the guests; a file of the host is taken there."""
    source = pathlib.Path(program)
    if "/" not in program or not source.is_file():
        return program
    connection = wire.Connection.open(args.name, timeout=UPLOAD_SECONDS)
    with contextlib.closing(connection):
        if source.is_absolute() and _in_guest(connection, nodes[0], program):
            return program
        data = source.read_bytes()
        # The content names the folder: a program under way is not replaced.
        place = f"/tmp/run-{hashlib.sha256(data).hexdigest()[:12]}/{source.name}"
        connection.request({"op": "upload", "nodes": nodes, "path": place, "mode": 0o755}, data)
    return place


class Run:
    """A program on several nodes, until it has ended on all of them."""

    def __init__(self, connection, nodes, output, deadline):
        self._connection = connection
        self._left = set(nodes)
        self._output = output
        self._deadline = deadline
        self.worst = 0

    def _event(self, message, data):
        if message is None:
            raise ClusterError("the cluster has gone")
        if "error" in message:
            raise ClusterError(message["error"])
        node = message["node"]
        if message["event"] == "output":
            self._output.write(node, message["stream"], data)
            return
        self._left.discard(node)
        if message["event"] == "gone":
            say(f"[{node}] the node has gone")
            self.worst = max(self.worst, EXIT_GONE)
        else:
            self.worst = max(self.worst, exit_code(message["status"]))

    def follow(self):
        """Until all have ended; raises TimeoutError after the deadline."""
        while self._left:
            wait = None if self._deadline is None else self._deadline - time.monotonic()
            if wait is not None and wait <= 0:
                raise TimeoutError
            self._connection.sock.settimeout(wait)
            self._event(*self._connection.receive())

    def end(self):
        """Have the guests end what still runs, and take its last words."""
        self._deadline = time.monotonic() + END_SECONDS
        self._connection.sock.settimeout(END_SECONDS)
        self._connection.send({"op": "end"})
        with contextlib.suppress(TimeoutError):
            self.follow()


def run(args):
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise ClusterError("run: which program?")
    connection = wire.Connection.open(args.name, timeout=30)
    status = connection.request({"op": "status"})
    nodes = shape.parse_nodes(args.nodes, len(status["nodes"]))
    program = _place_program(args, nodes, command[0])
    output = Output(nodes, args.output_dir)
    deadline = time.monotonic() + args.timeout if args.timeout else None
    follow = Run(connection, nodes, output, deadline)
    connection.send({"op": "exec", "nodes": nodes, "argv": [program, *command[1:]],
                     "env": environment_of(args.env), "cwd": args.cwd})
    # One input cannot be that of several programs: they find its end.
    connection.send({"op": "stdin"})
    try:
        follow.follow()
        return follow.worst
    except TimeoutError:
        say(f"run: not finished after {args.timeout:g} s")
        follow.end()
        return EXIT_TIMEOUT
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        follow.end()
        return EXIT_INTERRUPTED
    finally:
        output.close()


def _terminal_size():
    size = shutil.get_terminal_size()
    return [size.lines, size.columns]


@contextlib.contextmanager
def _raw_terminal():
    """The terminal passes every key on, if it is one."""
    fd = sys.stdin.fileno()
    if not os.isatty(fd):
        yield
        return
    before = termios.tcgetattr(fd)
    tty.setraw(fd)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)


def _shell_event(message, data):
    """Handle one message; returns the shell's status when it has ended."""
    if message is None or message.get("event") == "gone":
        raise ClusterError("the node has gone")
    if "error" in message:
        raise ClusterError(message["error"])
    if message["event"] == "exit":
        return exit_code(message["status"])
    os.write(message["stream"], data)
    return None


def _shell_loop(connection):
    """Keys there, output here, until the shell ends; returns its status."""
    inputs = [connection.sock, sys.stdin]
    while True:
        ready = select.select(inputs, [], [])[0]
        if sys.stdin in ready:
            keys = os.read(sys.stdin.fileno(), 4096)
            connection.send({"op": "stdin"}, keys)
            if not keys:
                inputs.remove(sys.stdin)
        if connection.sock not in ready:
            continue
        whole = connection.receive()
        while whole is not None:
            status = _shell_event(*whole)
            if status is not None:
                return status
            whole = connection.take()


def sh(args):
    connection = wire.Connection.open(args.name, timeout=None)
    request = {"op": "exec", "nodes": [args.node], "argv": ["/bin/sh", "-l"], "cwd": "/root",
               "env": {"TERM": os.environ.get("TERM", "linux"),
                       "PS1": f"node{args.node}:\\w# "}}
    if sys.stdin.isatty():
        request["size_of_terminal"] = _terminal_size()
        signal.signal(signal.SIGWINCH, lambda *_: connection.send(
            {"op": "resize", "size_of_terminal": _terminal_size()}))
    connection.send(request)
    with _raw_terminal():
        return _shell_loop(connection)
