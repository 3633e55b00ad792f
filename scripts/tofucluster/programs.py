# SPDX-License-Identifier: MIT
"""`run` and `sh`: programs in the guests."""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
import tty

from . import files, host, shape, watch, wire
from .boot import environment_of, say
from .errors import ClusterError

EXIT_TIMEOUT = 124
EXIT_INTERRUPTED = 130
EXIT_GONE = 125
END_SECONDS = 15
FAILED_SECONDS = 1
# Longer lines of output are split.
LINE_MAX = 64 << 10


def exit_code(wait_status):
    """A wait(2) status as a shell would say it."""
    code = os.waitstatus_to_exitcode(wait_status)
    return code if code >= 0 else 128 - code


class Output:
    """Where the programs' output goes: terminal, with the node's number, or files."""

    def __init__(self, nodes, folder, numbered=True):
        self._numbered = numbered
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
        self._print(node, stream, lines)

    def _print(self, node, stream, lines):
        number = b"[%d] " % node if self._numbered else b""
        target = (sys.stdout if stream == 1 else sys.stderr).buffer
        target.write(b"".join(number + line + b"\n" for line in lines))
        target.flush()

    def close(self):
        """Print output that did not end in a newline."""
        for (node, stream), rest in self._partial.items():
            if rest:
                self._print(node, stream, [rest])
        for file in (self._files or {}).values():
            file.close()


def _gone(message):
    """What is said of a node that is gone, in its own event."""
    return ": ".join(filter(None, ["the node has gone", message["trouble"]]))


class Run:
    """A program on several nodes, until it has ended on all of them.

    In virtual time the run includes ending the nodes; `traces` are the files
    that they leave. The time limit counts from the program's start. When a node
    is gone, the others have `gone_seconds` to finish: some wait for it, and
    would for ever. With `one_job`, they are ended when one program has failed: a
    little later, since others notice that before its status is here.
    """

    def __init__(self, connection, nodes, output, seconds, gone_seconds, virtual, one_job):
        self._connection = connection
        self._one_job = one_job
        self._left = set(nodes)
        self._output = output
        self._seconds = seconds
        self._gone_seconds = gone_seconds
        self._deadline = None
        self._gone_deadline = None
        self._failed_deadline = None
        self._ending = False
        self._until_ended = virtual
        self.traces = []
        self.worst = 0

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
            status = exit_code(message["status"])
            self.worst = max(self.worst, status)
            if status and self._one_job and not self._ending:
                self._job_failed(node, status)
            return
        self.worst = max(self.worst, EXIT_GONE)
        if self._ending:
            return
        say(f"[{node}] {_gone(message)}")
        if self._gone_deadline is None:
            self._gone_deadline = time.monotonic() + self._gone_seconds

    def _job_failed(self, node, status):
        say(f"run: exit status {status} on node {node}")
        if self._failed_deadline is None:
            self._failed_deadline = time.monotonic() + FAILED_SECONDS

    def _first_deadline(self):
        """The first one to come, or None."""
        ends = [self._gone_deadline, self._failed_deadline] if self._left else []
        return min((d for d in (self._deadline, *ends) if d is not None), default=None)

    def fails(self):
        """For a late run: whether it is late since a part of the job has failed."""
        return self._failed_deadline is not None and \
            self._first_deadline() == self._failed_deadline

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
        self._deadline = time.monotonic() + END_SECONDS
        self._gone_deadline = self._failed_deadline = None
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
    if follow.fails():
        status = follow.worst
        say("run: the others are ended")
    elif behind:
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


def _require_job(args, status, nodes):
    """Refuse processes that would not find each other."""
    if nodes != list(range(len(nodes))):
        raise ClusterError(f"--nodes {args.nodes}: the processes of --ppn and --mpi are on node 0 "
                           "and the next ones")
    if args.mpi and args.ppn > status["tnis"]:
        raise ClusterError(f"--mpi: each process has a TNI of its own, and nodes have "
                           f"{status['tnis']} for {args.ppn} processes (up --tnis)")


def _job_command(args, nodes, command):
    """What starts a node's processes of one job, in the guest."""
    return ["/bin/tofu-run", "--on-node", "-n", str(len(nodes) * args.ppn),
            "--ppn", str(args.ppn), *(["--mpi"] if args.mpi else []), "--", *command]


def _send(args, connection, status, nodes, command):
    """Send the program, and what it needs, to the supervisor."""
    place, sent, env = files.of_run(args, status, nodes[0], command[0],
                                     environment_of(args.env))
    command = [place, *command[1:]]
    if args.mpi or args.ppn > 1:
        command = _job_command(args, nodes, command)
    connection.send({"op": "exec", "nodes": nodes, "argv": command, "env": env, "cwd": args.cwd,
                     "files": sent.listed, "trace": bool(args.trace)}, sent.data)
    # Several programs cannot share one input: they get its end at once.
    connection.send({"op": "stdin"})


def _follow(args, follow, virtual):
    """Wait for a run's end; returns its status."""
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


def run(args):
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command:
        raise ClusterError("run: which program?")
    connection = wire.Connection.open(args.name, timeout=30)
    status = connection.request({"op": "status"})
    nodes = shape.parse_nodes(args.nodes, len(status["nodes"]))
    virtual = status["time"] == "virtual"
    one_job = args.mpi or args.ppn > 1
    _check_trace(args, status)
    if one_job:
        _require_job(args, status, nodes)
    # Several processes of a node number their lines themselves.
    output = Output(nodes, args.output_dir, numbered=args.ppn == 1)
    follow = Run(connection, nodes, output, args.timeout, args.gone_timeout, virtual, one_job)
    try:
        _send(args, connection, status, nodes, command)
        return _follow(args, follow, virtual)
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
    if message["event"] == "started":
        return None
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
