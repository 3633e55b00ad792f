# SPDX-License-Identifier: MIT
"""A cluster over several hosts: what is different from one on this host alone.

The supervisor is on the host where `up` was typed. It starts a *part* on each host,
here by itself and elsewhere by ssh: a process that makes the host's fabric and
runs the bridge to the others. Each node of another host has an ssh of its own,
whose input and output are the port of the guest's agent, and whose errors are the
guest's console. So to the supervisor it is a node like any. All of it ends when
its ssh does.
"""

import asyncio
import os
import secrets
import shlex
import socket

from . import shape
from .errors import ClusterError
from .far import FarNode, Part, trace_path
from .node import Node
from .table import complete, places

SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5"


def own_name(names, given):
    """Which of the hosts this one is, or None."""
    name = given or socket.gethostname()
    if given and given not in names:
        raise ClusterError(f"--host: --hosts does not name '{given}'")
    return next((n for n in (name, name.partition(".")[0]) if n in names), None)


def configuration(args):
    """What `up` knows of its hosts, as a part of the supervisor's configuration."""
    found, ssh = places(args.hosts), shlex.split(args.ssh)
    own = own_name([place.name for place in found], args.host)
    nodes = sum(place.nodes for place in found)
    if all(place.nodes for place in found):
        axes = shape.choose(args.shape, args.nodes or (None if args.shape else nodes))
        if shape.count(axes) != nodes:
            raise ClusterError(f"--hosts has {nodes} nodes, and shape {shape.text(axes)} "
                               f"{shape.count(axes)}")
    else:
        axes = shape.choose(args.shape, args.nodes)
        complete(found, shape.count(axes), own, ssh)
    return axes, {"table": ",".join(place.text() for place in found),
                  "token": secrets.token_hex(16), "own": own, "ssh": ssh}


def own_nodes(hosts):
    """How many nodes are on this host."""
    return sum(place.nodes for place in places(hosts["table"]) if place.name == hosts["own"])


class Hosts:
    """Where the nodes of a cluster are, if they are on several hosts."""

    def __init__(self, config):
        self._config = config
        self._parts = [Part(place, config) for place in places(config["hosts"]["table"])]

    def _part(self, number):
        return next(part for part in self._parts
                    if part.place.first <= number < part.place.first + part.place.nodes)

    def node(self, number, command, watch, log_dir):
        part = self._part(number)
        if part.here:
            return Node(number, command, watch, log_dir)
        return FarNode(number, part, watch, log_dir)

    async def form(self, tell):
        """Make the fabrics of all hosts and their bridges anew; the descriptor of ours."""
        # A new bridge may call others: the old ones are gone by then.
        await self.end()
        tasks = [asyncio.create_task(part.start(tell)) for part in self._parts]
        try:
            await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await self.end()
            raise
        own = next((part for part in self._parts if part.here), None)
        if not own:
            return os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        self._config.update(accel=own.answer["accel"], tsc_khz=own.answer["tsc_khz"])
        try:
            return os.open(own.answer["fabric"], os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise ClusterError(f"host {own.place.name}: {error.strerror}: its part has "
                               "ended") from None

    def has_own(self):
        """Whether nodes are on this host."""
        return any(part.here for part in self._parts)

    def require(self):
        """Raise ClusterError if some nodes cannot reach the others."""
        for part in self._parts:
            part.require()

    def status(self):
        """What the cluster's status has beside its nodes."""
        return {"hosts": [{"host": part.place.name, "first": part.place.first,
                           "nodes": part.place.nodes,
                           "state": "gone" if part.ended() else "up"} for part in self._parts]}

    async def clocks(self):
        """The state of the nodes' clocks, each from its own host."""
        return sum(await asyncio.gather(*(part.clocks() for part in self._parts)), [])

    async def bring_trace(self, number, path):
        """Copy the trace of a node that has ended to this host's file."""
        part = self._part(number)
        if not part.here:
            await part.bring(trace_path(part.answer["scratch"], number), path)

    async def end(self):
        """End what is there beside the nodes."""
        await asyncio.gather(*(part.end() for part in self._parts))
