# SPDX-License-Identifier: MIT
"""The process behind a cluster: owns its QEMUs, serves the commands.

Nothing of a cluster has a name on the host. The QEMUs die with this process by
a parent-death signal, the fabric is an unlinked memory file, the sockets are
socket pairs, and the listening socket lives in the abstract namespace: so
nothing is left, however this process ends. Only over several hosts each has a
folder for traces, which its part removes.
"""

import asyncio
import contextlib
import json
import signal
import socket
import struct
import traceback

from . import agent, wire
from .cluster import Cluster
from .errors import ClusterError
from .virtual import VirtualCluster


# What a message without the right members can lead to: it ends its connection.
_ODD_MESSAGE = (ValueError, KeyError, TypeError, AttributeError, OverflowError, struct.error)


class Session:
    """One command's connection while its programs run.

    In virtual time, of a session: @task serves its run; @left are the nodes
    where its program has not ended; @over is set when there are none left,
    @closed when the command is gone.
    """

    def __init__(self, writer):
        self._writer = writer
        self._lock = asyncio.Lock()
        self.jobs = []
        self.task = None
        self.left = set()
        self.over = asyncio.Event()
        self.closed = asyncio.Event()
        self.ending = False

    async def reply(self, message, data=b""):
        async with self._lock:
            self._writer.write(wire.encode(message, data))
            await self._writer.drain()

    async def sink(self, node, kind, payload):
        """A program's output, and its end (no kind: its node is gone)."""
        if kind in (agent.STDOUT, agent.STDERR):
            stream = 1 if kind == agent.STDOUT else 2
            await self.reply({"event": "output", "node": node, "stream": stream}, payload)
            return
        try:
            if kind == agent.EXIT:
                await self.reply({"event": "exit", "node": node,
                                  "status": agent.number(payload)})
            else:
                await self.reply({"event": "gone", "node": node,
                                  "trouble": payload.decode()})
        finally:
            self.left.discard(node)
            if not self.left:
                self.over.set()

    def runs(self):
        return any(node.runs(job) for node, job in self.jobs)

    def tell(self, kind, payload=b""):
        for node, job in self.jobs:
            node.tell(job, kind, payload)


class Server:
    """Serves commands over the listening socket."""

    def __init__(self, cluster):
        self.cluster = cluster

    async def serve(self, reader, writer):
        session = Session(writer)
        try:
            if wire.peer_is_us(writer.get_extra_info("socket")):
                await self._loop(session, reader)
        except (ConnectionError, asyncio.IncompleteReadError, *_ODD_MESSAGE):
            pass
        finally:
            await self.cluster.close(session)
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
            await session.reply(await self.cluster.status())
        elif operation == "exec":
            await self.cluster.run(session, message, data)
        elif operation == "stdin":
            session.tell(agent.STDIN, data)
        elif operation == "resize":
            session.tell(agent.RESIZE, agent.resize_payload(*message["size_of_terminal"]))
        elif operation == "end":
            await self.cluster.end(session)
        elif operation == "kill":
            await self.cluster.node(message["node"]).kill()
            await session.reply({"done": True})
        elif operation == "start":
            node = self.cluster.node(message["node"])
            await self.cluster.restart(node)
            await session.reply({"done": True, "seconds": node.boot_seconds})
        elif operation == "down":
            await self.cluster.end_all()
            await session.reply({"done": True})
            self.cluster.down.set()
        else:
            raise ClusterError(f"unknown operation {operation!r}")


async def _boot(cluster, starter):
    """Boot all nodes, reporting each to `up`; returns whether all are up."""
    async def tell(message):
        starter.write(wire.encode(message))
        await starter.drain()

    try:
        await cluster.boot(tell)
    except ClusterError as error:
        await tell({"event": "failed", "error": str(error)})
        return False
    except Exception as error:
        traceback.print_exc()
        await tell({"event": "failed", "error": f"the supervisor has failed: {error!r}"})
        return False
    await tell({"event": "up"})
    return True


async def _boot_watched(cluster, reader, starter):
    """_boot(), given up when `up` is gone."""
    boot = asyncio.create_task(_boot(cluster, starter))
    gone = asyncio.create_task(reader.read(1))
    await asyncio.wait([boot, gone, asyncio.create_task(cluster.down.wait())],
                       return_when=asyncio.FIRST_COMPLETED)
    if boot.done():
        return not boot.exception() and boot.result()
    boot.cancel()
    return False


def listen(name):
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        sock.bind(wire.address(name))
    except OSError:
        raise ClusterError(f"cluster '{name}' is up already") from None
    return sock


def _end_with(owner, cluster):
    """End the cluster when the process of this descriptor has ended."""
    def ended():
        asyncio.get_running_loop().remove_reader(owner)
        print("the owner has ended", flush=True)
        cluster.down.set()

    asyncio.get_running_loop().add_reader(owner, ended)


def _kind(config):
    """The class of a cluster."""
    return VirtualCluster if config["time"] == "virtual" else Cluster


async def _main(sock, config, owner):
    reader, starter = await asyncio.open_connection(sock=sock)
    try:
        listening = listen(config["name"])
        cluster = _kind(config)(config)
    except ClusterError as error:
        starter.write(wire.encode({"event": "failed", "error": str(error)}))
        await starter.drain()
        return
    for signo in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(signo, cluster.down.set)
    if owner is not None:
        _end_with(owner, cluster)
    server = await asyncio.start_unix_server(Server(cluster).serve, sock=listening,
                                             limit=wire.LINE_MAX)
    try:
        async with server:
            if await _boot_watched(cluster, reader, starter):
                await cluster.down.wait()
    finally:
        with contextlib.suppress(ConnectionError):
            await cluster.end_all()
            # To `up`, the end of this connection is the end of everything.
            starter.close()


def main(fd, owner=None):
    """Entry of the process.

    Descriptor `fd` provides the configuration; `owner` is that of a process
    with which the cluster ends.
    """
    sock = socket.socket(fileno=fd)
    with sock.makefile("rb") as file:
        config = json.loads(file.readline())
    asyncio.run(_main(sock, config, owner))
