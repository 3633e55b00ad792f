# SPDX-License-Identifier: MIT
"""One virtual machine: its QEMU, its console, its agent."""

import asyncio
import contextlib
import ctypes
import errno
import os
import signal
import socket
import subprocess
import time

from . import agent
from .errors import ClusterError
from .monitor import Monitor

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
CONSOLE_TAIL = 40
TAIL_BYTES = 64 << 10
# States of a node with a running QEMU
ALIVE = ("booting", "ready", "starting", "running")
# Seconds until a command that takes no output is given up
STALL_SECONDS = 60
FILE_SECONDS = 60
END_SECONDS = 5
DEVICES_UNUSABLE = "it cannot go on from a saved boot"


def die_with(parent):
    """In the child: when the supervisor ends for any reason, QEMU ends, too."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _last_lines(path, count):
    if not path.exists():
        return []
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - TAIL_BYTES))
        return [line.decode(errors="replace").rstrip() for line in file.readlines()[-count:]]


class Job:
    """A program in a guest; `sink` gets its output and its end.

    The end is EXIT, or no kind if the node is gone; then the payload is the
    reason, or empty.
    """

    def __init__(self, number, sink):
        self.number = number
        self.sink = sink


class Node:
    """A virtual machine that can be started, killed and started again.

    States: down, booting, ready, dead (QEMU ended by itself or was killed),
    failed (it did not come up). In virtual time, also: starting (it has
    received its program, and joins common time) and running. `command` makes
    the arguments and descriptors of its QEMU, `watch` is called on changes.
    """

    _monitored = False

    def __init__(self, number, command, watch, log_dir):
        self.number = number
        self.state = "down"
        self.trouble = ""
        self.pid = None
        self.began = 0.0
        self.boot_seconds = None
        self._command = command
        self._watch = watch
        self._log_dir = log_dir
        self._process = None
        self._reading = None
        self._writer = None
        self._jobs = {}
        self._next_job = 1
        self._file_lock = asyncio.Lock()
        self._file_done = None
        self._files = {}  # what has been uploaded since the boot: digests by path
        self._ready = None
        self._named = False
        self._monitor = None
        self._status = None

    async def start(self, timeout, devices=None):
        """Boot, and wait for the agent; raises ClusterError on failure.

        With `devices`, the file of a saved boot, go on from there instead.
        """
        if self._process:
            raise ClusterError(f"node {self.number} is {self.state}")
        self.state, self.trouble, self.boot_seconds = "booting", "", None
        self.began = time.monotonic()
        self._ready, self._named = asyncio.get_running_loop().create_future(), False
        await self._spawn(self._monitored or devices)
        try:
            await asyncio.wait_for(self._come(devices), timeout)
        except asyncio.TimeoutError:
            self.trouble = f"no agent after {timeout:g} s (--boot-timeout)"
            if devices:
                self.trouble = f"{DEVICES_UNUSABLE}: {self.trouble}"
        if self.state != "booting" and not self.trouble:
            self.trouble = "it was ended while it booted"
        if self.trouble:
            await self.kill()
            self.state = "failed"
            raise ClusterError(f"node {self.number}: {self.trouble}")
        self.boot_seconds = time.monotonic() - self.began
        self.state = "ready"

    async def _come(self, devices):
        if devices:
            # QEMU may end, and be collected, meanwhile.
            monitor, begun = self._monitor, False
            try:
                await monitor.open()
                begun = True
                await monitor.load(devices)
                monitor.close()
            except (ClusterError, OSError) as error:
                # How QEMU has ended is known when it is collected.
                await asyncio.wait([self._reading], timeout=END_SECONDS)
                self.trouble = self.trouble or ("" if self.state == "dead" else str(error))
                # Where somebody has killed it, the saved boot may be good.
                if begun and self.trouble and (self._status or 0) >= 0:
                    self.trouble = f"{DEVICES_UNUSABLE}: {self.trouble}"
                return
            self._greeted()
        await self._ready

    def _greeted(self):
        """The agent waits for the guest's name."""
        self._named = True
        self._send(agent.NAME, 0, f"node{self.number}".encode())

    def _path(self, suffix):
        return self._log_dir / f"node{self.number}.{suffix}"

    async def _spawn(self, monitored):
        port, port_guest = socket.socketpair()
        parent = os.getpid()
        # Every boot looks the same to the guest.
        self._next_job = 1
        self._files = {}
        with contextlib.ExitStack() as theirs:
            console = theirs.enter_context(open(self._path("console"), "wb"))
            errors = theirs.enter_context(open(self._path("qemu.log"), "wb"))
            own = [console.fileno(), theirs.enter_context(port_guest).fileno()]
            if monitored:
                ours, monitor = socket.socketpair()
                self._monitor = Monitor(ours)
                own.append(theirs.enter_context(monitor).fileno())
            command, fds = self._command(self.number, *own)
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL,
                    stdout=errors, stderr=errors, pass_fds=(*own, *fds),
                    start_new_session=True, preexec_fn=lambda: die_with(parent))
            except OSError as error:
                self.state = "failed"
                raise ClusterError(f"node {self.number}: {command[0]}: {error.strerror}") from None
        self.pid = self._process.pid
        reader, self._writer = await asyncio.open_connection(sock=port)
        self._reading = asyncio.create_task(self._read_agent(reader))

    async def _read_agent(self, reader):
        trouble = ""
        try:
            while True:
                await self._frame(*await agent.receive(reader))
        except agent.Malformed as error:
            trouble = f"its agent sent {error}"
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            await self._lost(trouble)

    async def _frame(self, kind, number, payload):
        job = self._jobs.get(number)
        if kind == agent.HELLO:
            if self._named or self._ready.done():
                raise agent.Malformed("a second HELLO")
            version, trouble = agent.hello(payload)
            if version != agent.VERSION:
                trouble = f"the guest's agent speaks version {version}, not {agent.VERSION}"
            self.trouble = trouble
            if trouble:
                self._ready.set_result(None)
            else:
                self._greeted()
        elif kind == agent.NAMED and self._named and not self._ready.done():
            error = agent.number(payload)
            if error:
                self.trouble = f"the guest takes no name: {os.strerror(error)}"
            self._ready.set_result(None)
        elif kind in (agent.STDOUT, agent.STDERR) and job:
            await self._deliver(job, kind, payload)
        elif kind == agent.EXIT and job:
            del self._jobs[number]
            await self._deliver(job, kind, payload)
        elif kind == agent.STARTED and self.state == "starting":
            self.state, self.trouble = "running", agent.hello(payload)[1]
            await self._watch(self)
        elif kind == agent.FILE_DONE and self._file_done and not self._file_done.done():
            self._file_done.set_result(agent.number(payload))

    async def _deliver(self, job, kind, payload):
        # Waiting here slows down a program whose output is not read.
        with contextlib.suppress(asyncio.TimeoutError, ConnectionError):
            await asyncio.wait_for(job.sink(self.number, kind, payload), STALL_SECONDS)

    async def _lost(self, trouble):
        """There is no agent any more.

        Its port is closed, since QEMU has ended or will soon. Or it cannot be
        talked to, as `trouble` says: QEMU is ended.
        """
        booting = self.state == "booting"
        if self.state in ALIVE:
            self.state = "dead"
        if trouble and self._process:
            self._process.kill()
        status = await self._collect()
        if trouble or booting:
            self.trouble = trouble or f"QEMU ended with status {status}"
        if self._ready and not self._ready.done():
            self._ready.set_result(None)
        if self._file_done and not self._file_done.done():
            self._file_done.set_exception(ClusterError(": ".join(
                filter(None, [f"node {self.number} has gone", trouble]))))
        jobs, self._jobs = self._jobs, {}
        for job in jobs.values():
            await self._deliver(job, None, trouble.encode())
        await self._watch(self)

    async def _collect(self):
        """QEMU's exit status; kills QEMU if it lingers."""
        process, self._process = self._process, None
        if not process:
            return None
        self._status = None
        wait = asyncio.get_running_loop().run_in_executor
        try:
            status = await wait(None, process.wait, END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            status = await wait(None, process.wait)
        self.pid, self._status = None, status
        if self._monitor:
            self._monitor.close()
            self._monitor = None
        if self._writer:
            self._writer.close()
        return status

    async def kill(self):
        """End QEMU at once, like a power failure."""
        if not self._process:
            return
        if self.state in ALIVE:
            self.state = "dead"
        self._process.kill()
        if self._reading:
            await asyncio.wait([self._reading], timeout=END_SECONDS)
        await self._collect()

    def console_tail(self):
        """The last lines of the console and of QEMU's own messages."""
        return [*_last_lines(self._path("qemu.log"), 10),
                *_last_lines(self._path("console"), CONSOLE_TAIL)]

    def require_ready(self):
        if self.state != "ready":
            raise ClusterError(f"node {self.number} is {self.state}")

    def _send(self, kind, job, payload=b""):
        self._writer.write(agent.frame(kind, job, payload))

    async def execute(self, sink, argv, env, cwd, size=None):
        """Start a program; its output and end go to `sink`."""
        self.require_ready()
        payload = agent.exec_payload(argv, env, cwd, size)
        while self._next_job in self._jobs:
            self._next_job = self._next_job % 65535 + 1
        job = Job(self._next_job, sink)
        self._next_job = self._next_job % 65535 + 1
        self._jobs[job.number] = job
        self._send(agent.EXEC, job.number, payload)
        await self._writer.drain()
        return job

    def begin(self):
        """Virtual time: the guest gets nothing more to run."""
        self.state = "starting"

    async def rest(self):
        """Virtual time: the guest gets no program."""
        self.begin()
        self._send(agent.REST, 0)
        await self._writer.drain()

    def runs(self, job):
        return self._jobs.get(job.number) is job

    def tell(self, job, kind, payload=b""):
        """STDIN, RESIZE or SIGNAL for a job, if it still runs."""
        if self.runs(job):
            self._send(kind, job.number, payload)

    async def upload(self, path, mode, data, digest=None):
        """Write a file in the guest, unless the last one there had the same digest."""
        self.require_ready()
        async with self._file_lock:
            if digest and self._files.get(path) == digest:
                return
            self._files.pop(path, None)
            self._file_done = asyncio.get_running_loop().create_future()
            self._send(agent.FILE_OPEN, 0, mode.to_bytes(4, "little") + path.encode())
            for at in range(0, len(data), agent.PAYLOAD_MAX):
                self._send(agent.FILE_DATA, 0, data[at:at + agent.PAYLOAD_MAX])
                await self._writer.drain()
            self._send(agent.FILE_CLOSE, 0)
            try:
                error = await asyncio.wait_for(self._file_done, FILE_SECONDS)
            except asyncio.TimeoutError:
                raise ClusterError(f"node {self.number} does not take {path}") from None
            if error:
                hint = (": a node has its files in its memory: `up --memory` gives it more"
                        if error == errno.ENOSPC else "")
                raise ClusterError(f"node {self.number}: {path}: {os.strerror(error)}{hint}")
            self._files[path] = digest


class Template(Node):
    """A guest that boots in order to be saved before it has a name."""

    _monitored = True

    def __init__(self, command, log_dir):
        super().__init__(0, command, self._unwatched, log_dir)

    async def _unwatched(self, _):
        pass

    def _greeted(self):
        self._ready.set_result(None)

    async def save(self, devices):
        await self._monitor.open()
        await self._monitor.save(devices)
