# SPDX-License-Identifier: MIT
"""The nodes of a cluster, and the operations that commands request of them."""

import asyncio
import hashlib
import os
import pathlib
import signal
import time

from . import agent, host, hosts, machine, shape
from .errors import ClusterError
from .node import Node

# tofu-run in a guest kills what it has started after 2.
KILL_SECONDS = 3


class OneHost:
    """Where the nodes of a cluster are, if they are all on this host; as hosts.Hosts."""

    node = Node

    def __init__(self, config):
        self._config = config

    async def form(self, _tell):
        """Make the memory that the nodes share anew, since none is up; its descriptor."""
        return host.create_fabric(self._config["fabric_tool"],
                                  shape.text(self._config["axes"]))

    def has_own(self):
        """Whether nodes are on this host."""
        return True

    def require(self):
        """Raise ClusterError if some nodes cannot reach the others."""

    def status(self):
        """What the cluster's status has beside its nodes."""
        return {}

    async def clocks(self):
        """The state of the nodes' clocks."""
        fd = self._config["fabric_fd"]
        if fd is None:
            return []
        return await host.clocks([self._config["fabric_tool"], "clocks", f"/dev/fd/{fd}"],
                                 pass_fds=[fd])

    async def bring_trace(self, number, path):
        """Copy the trace of a node that has ended to this host's file."""

    async def end(self):
        """End what is there beside the nodes."""


class Cluster:
    """Nodes whose clocks are the host's."""

    def __init__(self, config):
        self.config = config
        self.axes = config["axes"]
        self.log_dir = pathlib.Path(config["log_dir"])
        self.down = asyncio.Event()
        config["fabric_fd"] = None
        self.hosts = hosts.Hosts(config) if config["hosts"] else OneHost(config)
        self.nodes = [self.hosts.node(n, self.command, self.changed, self.log_dir)
                      for n in range(shape.count(self.axes))]

    def command(self, number, *fds):
        """Arguments of a node's QEMU, and its descriptors beside `fds`."""
        return machine.command(self.config, number, *fds), [self.config["fabric_fd"]]

    async def changed(self, node):
        """A node has joined common time, or is gone."""

    def node(self, number):
        if not isinstance(number, int) or not 0 <= number < len(self.nodes):
            raise ClusterError(f"no node {number}: this cluster has nodes 0 to "
                               f"{len(self.nodes) - 1}")
        return self.nodes[number]

    def environment(self, number):
        """The environment that tells programs where they run.

        Without TOFU_PORT the library would emulate a controller itself if the
        driver's is missing.
        """
        return {"TOFU_NODE": str(number), "TOFU_NODES": str(len(self.nodes)),
                "TOFU_SHAPE": shape.text(self.axes), "TOFU_PORT": "kernel"}

    async def status(self):
        now = time.monotonic()
        nodes = [{
            "node": n.number, "state": n.state, "pid": n.pid,
            "coordinates": shape.coordinates(self.axes, n.number),
            "uptime": round(now - n.began, 1) if n.pid else None,
            "boot_seconds": n.boot_seconds and round(n.boot_seconds, 2),
        } for n in self.nodes]
        return {"name": self.config["name"], "pid": os.getpid(),
                "shape": shape.text(self.axes), "time": self.config["time"],
                "accel": self.config["accel"], "memory": self.config["memory"],
                "tnis": self.config["tnis"], "image": self.config["image"],
                "log_dir": str(self.log_dir), "nodes": nodes, **self.hosts.status()}

    async def boot(self, tell):
        """Boot all nodes on a network of their own, reporting each.

        Raises ClusterError if one fails.
        """
        fabric, old = await self.hosts.form(tell), self.config["fabric_fd"]
        self.config["fabric_fd"] = fabric
        if old is not None:
            os.close(old)
        await self.boot_nodes(tell)

    async def boot_nodes(self, tell):
        """What follows when the network is there."""
        async def one(node):
            await tell({"event": "booting", "node": node.number})
            await self.start(node)
            await tell({"event": "ready", "node": node.number, "seconds": node.boot_seconds})

        tasks = [asyncio.create_task(one(node)) for node in self.nodes]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def restart(self, node):
        """Boot a node that has ended, as somebody wants."""
        await self.start(node)

    async def start(self, node, devices=None):
        """Boot a node, or go on from a saved boot; an error has the end of its console."""
        try:
            await node.start(self.config["boot_timeout"], devices)
        except ClusterError as error:
            tail = node.console_tail() if node.state == "failed" else []
            raise ClusterError("\n    | ".join([str(error), *tail])) from None

    async def place(self, nodes, files, data):
        """Copy files of the host, whose contents are one after the other, to the guests."""
        at, parts = 0, []
        for file in files:
            content = data[at:at + file["bytes"]]
            digest = hashlib.sha256(content).digest() if file["once"] else None
            parts.append((file["path"], file["mode"], content, digest))
            at += file["bytes"]

        async def one(node):
            for part in parts:
                await node.upload(*part)

        await asyncio.gather(*map(one, nodes))

    def _execution(self, node, message):
        """What a node needs to know of a program: as agent.exec_payload()."""
        size = tuple(message["size_of_terminal"]) if "size_of_terminal" in message else None
        env = {**self.environment(node.number), **message["env"]}
        return message["argv"], env, message["cwd"], size

    def require_executable(self, nodes, message):
        """Raise ClusterError if a node cannot be told to run the program."""
        for node in nodes:
            node.require_ready()
            agent.exec_payload(*self._execution(node, message))

    async def execute(self, session, node, message):
        """Start a session's program on a node."""
        job = await node.execute(session.sink, *self._execution(node, message))
        session.jobs.append((node, job))

    async def run(self, session, message, data):
        """Start a program on several nodes: on all of them, or on none."""
        self.hosts.require()
        nodes = [self.node(n) for n in message["nodes"]]
        self.require_executable(nodes, message)
        await self.place(nodes, message.get("files", []), data)
        for node in nodes:
            await self.execute(session, node, message)
        await session.reply({"event": "started"})

    async def end(self, session):
        """End everything a session runs: ask, wait a little, then kill."""
        session.tell(agent.SIGNAL, agent.signal_payload(signal.SIGTERM))
        deadline = time.monotonic() + KILL_SECONDS
        while session.runs():
            if time.monotonic() > deadline:
                session.tell(agent.SIGNAL, agent.signal_payload(signal.SIGKILL))
                break
            await asyncio.sleep(0.02)

    async def close(self, session):
        """The command behind a session is gone."""
        await self.end(session)

    async def kill_all(self):
        """End all nodes."""
        await asyncio.gather(*(node.kill() for node in self.nodes))

    async def end_all(self):
        """End the cluster."""
        await self.kill_all()
        await self.hosts.end()
