# SPDX-License-Identifier: MIT
"""The process behind a cluster: owns its QEMUs, serves the commands.

Nothing of a cluster has a name on the host.  The QEMUs die with this process
by a parent-death signal, the fabric is an unlinked memory file, the sockets are
socket pairs, and the listening socket lives in the abstract namespace: so
however this process ends, nothing is left.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from . import agent, machine, shape, wire
from .errors import ClusterError
from .node import Node

KILL_SECONDS = 2


class Session:
    """One command's connection while its programs run."""

    def __init__(self, cluster, writer):
        self.cluster = cluster
        self._writer = writer
        self._lock = asyncio.Lock()
        self._jobs = []

    async def reply(self, message, data=b""):
        async with self._lock:
            self._writer.write(wire.encode(message, data))
            await self._writer.drain()

    async def _sink(self, node, kind, payload):
        if kind in (agent.STDOUT, agent.STDERR):
            stream = 1 if kind == agent.STDOUT else 2
            await self.reply({"event": "output", "node": node, "stream": stream}, payload)
        elif kind == agent.EXIT:
            await self.reply({"event": "exit", "node": node, "status": agent.number(payload)})
        else:
            await self.reply({"event": "gone", "node": node})

    async def start(self, message):
        """Start a program on several nodes: on all of them or on none."""
        nodes = [self.cluster.node(n) for n in message["nodes"]]
        for node in nodes:
            node.require_ready()
        size = tuple(message["size_of_terminal"]) if "size_of_terminal" in message else None
        for node in nodes:
            env = {**self.cluster.environment(node.number), **message["env"]}
            job = await node.execute(self._sink, message["argv"], env, message["cwd"], size)
            self._jobs.append((node, job))

    def tell(self, kind, payload=b""):
        for node, job in self._jobs:
            node.tell(job, kind, payload)

    async def end(self):
        """Leave nothing running: ask, wait a little, insist."""
        self.tell(agent.SIGNAL, agent.signal_payload(signal.SIGTERM))
        deadline = time.monotonic() + KILL_SECONDS
        while any(node.runs(job) for node, job in self._jobs):
            if time.monotonic() > deadline:
                self.tell(agent.SIGNAL, agent.signal_payload(signal.SIGKILL))
                break
            await asyncio.sleep(0.02)


class Cluster:
    """The nodes, and what commands can ask of them."""

    def __init__(self, config):
        self.config = config
        self.axes = config["axes"]
        self.log_dir = pathlib.Path(config["log_dir"])
        self.began = time.time()
        self.down = asyncio.Event()
        config["fabric_fd"] = self._fabric_create()
        self.nodes = [Node(n, lambda *a: machine.command(config, *a), [config["fabric_fd"]],
                           self.log_dir)
                      for n in range(shape.count(self.axes))]

    def _fabric_create(self):
        """The memory that the nodes share: a file without a name."""
        fd = os.memfd_create("tofu-fabric", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
        done = subprocess.run([self.config["fabric_tool"], "format", str(fd),
                               "--shape", shape.text(self.axes)],
                              pass_fds=[fd], capture_output=True, text=True, check=False)
        if done.returncode:
            raise ClusterError(done.stderr.strip())
        return fd

    def node(self, number):
        if not isinstance(number, int) or not 0 <= number < len(self.nodes):
            raise ClusterError(f"no node {number}: this cluster has nodes 0 to "
                               f"{len(self.nodes) - 1}")
        return self.nodes[number]

    def environment(self, number):
        """What every program can find out about where it runs.

        Without TOFU_PORT the library would emulate a controller of its own
        where the driver's is missing.
        """
        return {"TOFU_NODE": str(number), "TOFU_NODES": str(len(self.nodes)),
                "TOFU_SHAPE": shape.text(self.axes), "TOFU_PORT": "kernel"}

    def status(self):
        now = time.monotonic()
        nodes = [{
            "node": n.number, "state": n.state, "pid": n.pid,
            "coordinates": shape.coordinates(self.axes, n.number),
            "uptime": round(now - n.began, 1) if n.state in ("ready", "booting") else None,
            "boot_seconds": n.boot_seconds and round(n.boot_seconds, 2),
        } for n in self.nodes]
        return {"name": self.config["name"], "pid": os.getpid(),
                "shape": shape.text(self.axes), "accel": self.config["accel"],
                "memory": self.config["memory"], "tnis": self.config["tnis"],
                "log_dir": str(self.log_dir), "nodes": nodes}

    async def kill_all(self):
        await asyncio.gather(*(node.kill() for node in self.nodes))


class Server:
    """Serves commands over the listening socket."""

    def __init__(self, cluster):
        self.cluster = cluster

    async def serve(self, reader, writer):
        session = Session(self.cluster, writer)
        try:
            if wire.peer_is_us(writer.get_extra_info("socket")):
                await self._loop(session, reader)
        except (ConnectionError, ValueError, KeyError, TypeError, asyncio.IncompleteReadError):
            pass
        finally:
            await session.end()
            writer.close()

    async def _loop(self, session, reader):
        while True:
            message, data = await wire.receive(reader)
            if message is None:
                return
            try:
                await self._handle(session, message, data)
            except ClusterError as error:
                await session.reply({"error": str(error)})

    async def _handle(self, session, message, data):
        operation = message.get("op")
        if operation == "status":
            await session.reply(self.cluster.status())
        elif operation == "exec":
            await session.start(message)
        elif operation == "stdin":
            session.tell(agent.STDIN, data)
        elif operation == "resize":
            session.tell(agent.RESIZE, agent.resize_payload(*message["size_of_terminal"]))
        elif operation == "end":
            await session.end()
        elif operation == "upload":
            await self._upload(message, data)
            await session.reply({"done": True})
        elif operation == "kill":
            await self.cluster.node(message["node"]).kill()
            await session.reply({"done": True})
        elif operation == "start":
            await self._start(session, message)
        elif operation == "down":
            await self.cluster.kill_all()
            await session.reply({"done": True})
            self.cluster.down.set()
        else:
            raise ClusterError(f"unknown operation {operation!r}")

    async def _upload(self, message, data):
        nodes = [self.cluster.node(n) for n in message["nodes"]]
        await asyncio.gather(*(n.upload(message["path"], message["mode"], data) for n in nodes))

    async def _start(self, session, message):
        node = self.cluster.node(message["node"])
        try:
            await node.start(self.cluster.config["boot_timeout"])
        except ClusterError as error:
            tail = node.console_tail() if node.state == "failed" else []
            raise ClusterError("\n    | ".join([str(error), *tail])) from None
        await session.reply({"done": True, "seconds": node.boot_seconds})


async def _boot(cluster, starter):
    """Boot all nodes, telling `up` of each; returns whether all are there."""
    async def tell(message):
        starter.write(wire.encode(message))
        await starter.drain()

    async def one(node):
        await tell({"event": "booting", "node": node.number})
        try:
            await node.start(cluster.config["boot_timeout"])
        except ClusterError as error:
            await tell({"event": "failed", "error": str(error), "console": node.console_tail()})
            return False
        await tell({"event": "ready", "node": node.number, "seconds": node.boot_seconds})
        return True

    for future in asyncio.as_completed([one(node) for node in cluster.nodes]):
        if not await future:
            return False
    await tell({"event": "up"})
    return True


async def _boot_watched(cluster, reader, starter):
    """_boot(), given up when `up` has gone."""
    boot = asyncio.create_task(_boot(cluster, starter))
    gone = asyncio.create_task(reader.read(1))
    await asyncio.wait([boot, gone, asyncio.create_task(cluster.down.wait())],
                       return_when=asyncio.FIRST_COMPLETED)
    if boot.done():
        return not boot.exception() and boot.result()
    boot.cancel()
    return False


def _listen(name):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        sock.bind(wire.address(name))
    except OSError:
        raise ClusterError(f"cluster '{name}' is up already") from None
    return sock


async def _main(sock, config):
    reader, starter = await asyncio.open_connection(sock=sock)
    try:
        listening = _listen(config["name"])
        cluster = Cluster(config)
    except ClusterError as error:
        starter.write(wire.encode({"event": "failed", "error": str(error), "console": []}))
        await starter.drain()
        return
    for signo in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(signo, cluster.down.set)
    server = await asyncio.start_unix_server(Server(cluster).serve, sock=listening,
                                             limit=wire.LINE_MAX)
    try:
        async with server:
            if await _boot_watched(cluster, reader, starter):
                await cluster.down.wait()
    finally:
        with contextlib.suppress(ConnectionError):
            await cluster.kill_all()
            # `up` takes the end of this connection for the end of everything.
            starter.close()


def main(fd):
    """Entry of the process; the configuration comes first on descriptor `fd`."""
    sock = socket.socket(fileno=fd)
    with sock.makefile("rb") as file:
        config = json.loads(file.readline())
    asyncio.run(_main(sock, config))
