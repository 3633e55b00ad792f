# SPDX-License-Identifier: MIT
"""`run` and `sh`: programs in the guests."""

import contextlib
import hashlib
import os
import pathlib
import select
import shutil
import signal
import stat
import subprocess
import sys
import termios
import time
import tty

from tofubuild import cpio

from . import host, shape, watch, wire
from .boot import environment_of, say
from .errors import ClusterError

EXIT_TIMEOUT = 124
EXIT_INTERRUPTED = 130
EXIT_GONE = 125
END_SECONDS = 15
UPLOAD_SECONDS = 120
# Longer lines of output are split.
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
        """Print output that did not end in a newline."""
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


def _in_image(status, path):
    """Whether the guests' image has it."""
    names = cpio.modes(pathlib.Path(status["image"], "initramfs").read_bytes())
    mode = names.get(path.lstrip("/"), 0)
    return stat.S_ISLNK(mode) or stat.S_ISREG(mode) and bool(mode & 0o111)


def _have_program(args, status, node, path):
    if status["time"] == "virtual":
        return _in_image(status, path)
    connection = wire.Connection.open(args.name, timeout=UPLOAD_SECONDS)
    with contextlib.closing(connection):
        return _in_guest(connection, node, path)


def _program_file(args, status, node, program):
    """Path of the program in the guests, and its bytes if it is a file of the host."""
    source = pathlib.Path(program)
    if "/" not in program or not source.is_file():
        return program, b""
    if source.is_absolute() and _have_program(args, status, node, program):
        return program, b""
    data = source.read_bytes()
    # The folder is named by the content: running programs are not replaced.
    return f"/tmp/run-{hashlib.sha256(data).hexdigest()[:12]}/{source.name}", data


def _gone(message):
    """What is said of a node that is gone, in its own event."""
    return ": ".join(filter(None, ["the node has gone", message["trouble"]]))


class Run:
    """A program on several nodes, until it has ended on all of them.

    In virtual time the run includes ending the nodes; `traces` are the files
    that they leave. The time limit counts from the program's start. When a node
    is gone, the others have `gone_seconds` to finish: some wait for it, and
    would for ever.
    """

    def __init__(self, connection, nodes, output, seconds, gone_seconds, virtual):
        self._connection = connection
        self._left = set(nodes)
        self._output = output
        self._seconds = seconds
        self._gone_seconds = gone_seconds
        self._deadline = None
        self._gone_deadline = None
        self._ending = False
        self._until_ended = virtual
        self.traces = []
        self.worst = 0
        if not virtual:
            self._started()

    def _started(self):
        self._deadline = time.monotonic() + self._seconds if self._seconds else None

    def _event(self, message, data):
        if message is None:
            raise ClusterError("the cluster has gone")
        if "error" in message:
            raise ClusterError(message["error"])
        event = message["event"]
        if event == "output":
            self._output.write(message["node"], message["stream"], data)
        elif event == "waiting":
            say(f"run: waiting for {message['for']}")
        elif event == "started":
            self._started()
        elif event == "ended":
            self._left, self._until_ended = set(), False
            self.traces = message["traces"]
        else:
            self._program_ended(message)

    def _program_ended(self, message):
        node = message["node"]
        self._left.discard(node)
        if message["event"] == "exit":
            self.worst = max(self.worst, exit_code(message["status"]))
            return
        self.worst = max(self.worst, EXIT_GONE)
        if self._ending:
            return
        say(f"[{node}] {_gone(message)}")
        if self._gone_deadline is None:
            self._gone_deadline = time.monotonic() + self._gone_seconds

    def _first_deadline(self):
        """The first one to come, or None."""
        gone = self._gone_deadline if self._left else None
        return min((d for d in (self._deadline, gone) if d is not None), default=None)

    def waits_for_the_gone(self):
        """For a late run: the nodes left behind by another node's end."""
        if self._gone_deadline is None or self._first_deadline() != self._gone_deadline:
            return []
        return sorted(self._left)

    def follow(self):
        """Wait until all have ended; raises TimeoutError after a deadline."""
        while self._left or self._until_ended:
            deadline = self._first_deadline()
            wait = None if deadline is None else deadline - time.monotonic()
            if wait is not None and wait <= 0:
                raise TimeoutError
            self._connection.sock.settimeout(wait)
            self._event(*self._connection.receive())

    def end(self):
        """End what still runs, and collect its last output."""
        self._ending = True
        self._deadline, self._gone_deadline = time.monotonic() + END_SECONDS, None
        self._connection.sock.settimeout(END_SECONDS)
        self._connection.send({"op": "end"})
        with contextlib.suppress(TimeoutError):
            self.follow()


def _check_trace(args, status):
    if not args.trace:
        return
    if status["time"] != "virtual":
        raise ClusterError("run --trace: this cluster is not in virtual time (up --time virtual)")
    if not args.trace.absolute().parent.is_dir():
        raise ClusterError(f"{args.trace}: no such folder")


def _merge_traces(traces, target):
    """One trace for all nodes; tofu-trace prints its hash."""
    done = subprocess.run([host.TOP / "scripts/tofu-trace", "merge", "-o", target, *traces],
                          stdout=sys.stderr, check=False)
    if done.returncode:
        raise ClusterError(f"the trace could not be made; the nodes' are {' '.join(traces)}")


def _say_who_waits(name):
    """Print where the nodes of a run are that does not end."""
    for line in watch.waiting(wire.Connection.open(name).request({"op": "status"})):
        say(f"  {line}")


def _cut_short(args, follow, virtual):
    """End a late run; returns its status."""
    behind = follow.waits_for_the_gone()
    if behind:
        status = follow.worst
        say(f"run: ended on node {', '.join(map(str, behind))}: it still ran "
            f"{args.gone_timeout:g} s after a node had gone (--gone-timeout)")
    else:
        status = EXIT_TIMEOUT
        say(f"run: not finished after {args.timeout:g} s")
        if virtual:
            _say_who_waits(args.name)
    follow.end()
    return status


def run(args):
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise ClusterError("run: which program?")
    connection = wire.Connection.open(args.name, timeout=30)
    status = connection.request({"op": "status"})
    nodes = shape.parse_nodes(args.nodes, len(status["nodes"]))
    virtual = status["time"] == "virtual"
    _check_trace(args, status)
    program, data = _program_file(args, status, nodes[0], command[0])
    output = Output(nodes, args.output_dir)
    follow = Run(connection, nodes, output, args.timeout, args.gone_timeout, virtual)
    connection.send({"op": "exec", "nodes": nodes, "argv": [program, *command[1:]],
                     "env": environment_of(args.env), "cwd": args.cwd,
                     "file": {"path": program, "mode": 0o755} if data else None,
                     "trace": bool(args.trace)}, data)
    # Several programs cannot share one input: they get its end at once.
    connection.send({"op": "stdin"})
    try:
        follow.follow()
        if args.trace:
            _merge_traces(follow.traces, args.trace)
        return follow.worst
    except TimeoutError:
        return _cut_short(args, follow, virtual)
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
    """Set the terminal, if it is one, to pass on every key."""
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
    """Handle one message; returns the shell's status at its end."""
    if message is None:
        raise ClusterError("the cluster has gone")
    if message.get("event") == "gone":
        raise ClusterError(_gone(message))
    if "error" in message:
        raise ClusterError(message["error"])
    if message["event"] == "exit":
        return exit_code(message["status"])
    os.write(message["stream"], data)
    return None


def _shell_loop(connection):
    """Pass keys in and output out until the shell ends; returns its status."""
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
    if connection.request({"op": "status"})["time"] == "virtual":
        raise ClusterError("no shell in virtual time: a key is pressed at a time of the host's, "
                           "and no run would be like another; use run")
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
