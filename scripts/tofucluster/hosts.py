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
import concurrent.futures
import contextlib
import os
import pathlib
import secrets
import select
import shlex
import socket
import subprocess

from . import host, machine, shape, wire
from .cluster import Cluster
from .errors import ClusterError
from .node import Node

PART_SECONDS = 120
COPY_SECONDS = 600
# sshd refuses some of more connections that begin at a time.
STARTING_MAX = 4
TELLS = 20  # lines of a part that failed
SSH = "ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5"


class Place:
    """A line of the table: a host and its nodes."""

    def __init__(self, word, first):
        name, _, rest = word.partition(":")
        count = rest.partition("@")[0]
        if not name or not count.isdigit() or not int(count):
            raise ClusterError(f"--hosts: '{word}': a host is NAME:NODES, or NAME:NODES@ADDRESS "
                               "with an address that the others reach")
        self.name, self.first, self.nodes = name, first, int(count)


def _entries(table):
    """The words of a table: a list, or a file where it has a slash."""
    if "/" in table:
        try:
            text = pathlib.Path(table).read_text("utf-8")
        except OSError as error:
            raise ClusterError(f"--hosts: {table}: {error.strerror}") from None
        words = [line.partition("#")[0].strip() for line in text.splitlines()]
    else:
        words = table.split(",")
    return [word for word in words if word]


def places(table):
    """The hosts of a table."""
    found, first = [], 0
    for word in _entries(table):
        found.append(Place(word, first))
        first += found[-1].nodes
    if not found:
        raise ClusterError(f"--hosts: '{table}' names no host")
    return found


def own_name(names, given):
    """Which of the hosts this one is, or None."""
    name = given or socket.gethostname()
    if given and given not in names:
        raise ClusterError(f"--host: --hosts does not name '{given}'")
    return next((n for n in (name, name.partition(".")[0]) if n in names), None)


def configuration(args):
    """What `up` knows of its hosts, as a part of the supervisor's configuration."""
    if args.time == "virtual":
        raise ClusterError("--time virtual: its nodes are on one host; leave out --hosts")
    found = places(args.hosts)
    nodes = sum(place.nodes for place in found)
    axes = shape.choose(args.shape, args.nodes or (None if args.shape else nodes))
    if shape.count(axes) != nodes:
        raise ClusterError(f"--hosts has {nodes} nodes, and shape {shape.text(axes)} "
                           f"{shape.count(axes)}")
    return axes, {"table": ",".join(_entries(args.hosts)), "token": secrets.token_hex(16),
                  "own": own_name([place.name for place in found], args.host),
                  "ssh": shlex.split(args.ssh)}


def own_nodes(hosts):
    """How many nodes are on this host."""
    return sum(place.nodes for place in places(hosts["table"]) if place.name == hosts["own"])


# ---- A host, seen from the supervisor ----

class Part:
    """A host's part of a cluster."""

    def __init__(self, place, config):
        self.place, self.config = place, config
        self.here = place.name == config["hosts"]["own"]
        self.starting = asyncio.Semaphore(STARTING_MAX)
        self.process = None
        self.answer = {}

    def words(self, *words):
        """A command, on that host."""
        if self.here:
            return list(words)
        return [*self.config["hosts"]["ssh"], self.place.name, shlex.join(words)]

    def part_words(self, which):
        return self.words("python3", str(host.TOP / "scripts/tofu-cluster"), which)

    def _sh(self, script, **options):
        return subprocess.run(self.words("sh", "-c", script), timeout=COPY_SECONDS,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              **options)

    def provide(self):
        """Copy what the host does not have, if it is like this one."""
        if self.here:
            return
        build = pathlib.Path(self.config["fabric_tool"]).parent
        # What has to be there, and what is copied where it is not
        wanted = {host.TOP / "scripts/tofu-cluster": host.TOP / "scripts",
                  build / "tofu-fabric": build / "tofu-fabric",
                  build / "tofu-bridge": build / "tofu-bridge",
                  pathlib.Path(self.config["qemu"]): pathlib.Path(self.config["qemu"]).parent,
                  pathlib.Path(self.config["image"]) / machine.KERNEL:
                  pathlib.Path(self.config["image"])}
        kind = ". /etc/os-release; echo $(uname -m) $ID $VERSION_ID"
        tests = "; ".join(f"test -e {shlex.quote(str(file))} || echo {shlex.quote(str(path))}"
                          for file, path in wanted.items())
        done = self._sh(f"{kind}; command -v python3 >/dev/null || echo python3; {tests}")
        if done.returncode:
            raise ClusterError(f"host {self.place.name}: "
                               f"{done.stderr.decode(errors='replace').strip() or 'no answer'}")
        its, *missing = done.stdout.decode().splitlines()
        own = subprocess.run(["sh", "-c", kind], capture_output=True, text=True,
                             check=True).stdout.strip()
        if missing and (its != own or "python3" in missing):
            raise ClusterError(f"host {self.place.name} ({its}; this one is {own}) has no "
                               f"{', '.join(missing)}: install it there")
        if missing:
            with subprocess.Popen(["tar", "-C", "/", "-c", *(path[1:] for path in missing)],
                                  stdout=subprocess.PIPE) as tar:
                done = self._sh("tar -C / -x", stdin=tar.stdout)
            if done.returncode or tar.returncode:
                raise ClusterError(f"host {self.place.name}: cannot copy {', '.join(missing)}: "
                                   f"{done.stderr.decode(errors='replace').strip()}")

    def start(self, log_dir):
        """Start its process, and wait until its fabric is there."""
        self.provide()
        log = log_dir / f"host-{self.place.name}.log"
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(self.part_words("--host-part"), stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors,
                                            start_new_session=True)
        hosts = self.config["hosts"]
        self.process.stdin.write(wire.encode({
            "fabric_tool": self.config["fabric_tool"], "table": hosts["table"],
            "shape": shape.text(self.config["axes"]), "self": self.place.name,
            "token": hosts["token"], "nodes": self.place.nodes,
            "qemu": self.config["qemu"], "image": self.config["image"],
            "accel": self.config["accel"]}))
        self.process.stdin.flush()
        # It is all in one write.
        if not select.select([self.process.stdout], [], [], PART_SECONDS)[0]:
            self.process.kill()
            raise ClusterError(f"host {self.place.name}: no answer after {PART_SECONDS} s")
        line = self.process.stdout.readline()
        self.answer = wire.parse(line)[0] if line else {
            "error": "\n    | ".join(["its part has ended", *log.read_text(
                errors="replace").splitlines()[-TELLS:]])}
        if "error" in self.answer:
            raise ClusterError(f"host {self.place.name}: {self.answer['error']}")

    def ended(self):
        """Whether its bridge is gone."""
        return self.process is not None and self.process.poll() is not None

    def require(self):
        """Raise ClusterError if its nodes cannot reach the others."""
        if self.ended():
            raise ClusterError(f"host {self.place.name}: its bridge, or the way there, has gone "
                               f"(status {self.process.returncode}): take the cluster down, and "
                               "up again")

    def end(self):
        if self.process:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class FarNode(Node):
    """A node of another host."""

    def __init__(self, number, part, watch, log_dir):
        super().__init__(number, None, watch, log_dir)
        self._part = part

    async def _spawn(self, monitored):
        port, theirs = socket.socketpair()
        self._next_job, self._files = 1, {}
        async with self._part.starting:
            with theirs, open(self._path("console"), "wb") as console:
                self._process = subprocess.Popen(self._part.part_words("--node-part"),
                                                 stdin=theirs, stdout=theirs, stderr=console,
                                                 start_new_session=True)
            self.pid = self._process.pid
            reader, self._writer = await asyncio.open_connection(sock=port)
            config = {**self._part.config, **self._part.answer, "hosts": None}
            self._writer.write(wire.encode({"config": config, "node": self.number}))
            # What it says first is that QEMU runs; frames of the agent follow.
            try:
                begins = await asyncio.wait_for(reader.read(1), PART_SECONDS)
            except asyncio.TimeoutError:
                begins = b""
            if begins != b"+":
                self._process.kill()
                self.trouble = "its host does not start it"
        self._reading = asyncio.create_task(self._read_agent(reader))


class HostsCluster(Cluster):
    """Nodes on several hosts."""

    def __init__(self, config):
        found = places(config["hosts"]["table"])
        self.parts = [Part(place, config) for place in found]
        self._log_folder = pathlib.Path(config["log_dir"])
        super().__init__(config)

    def fabric_create(self):
        """The fabric of this host, if it has nodes; those of the others are made, too."""
        try:
            with concurrent.futures.ThreadPoolExecutor(len(self.parts)) as pool:
                list(pool.map(lambda part: part.start(self._log_folder), self.parts))
        except BaseException:
            self.end_parts()
            raise
        own = [part for part in self.parts if part.here]
        if not own:
            return os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
        self.config.update(accel=own[0].answer["accel"], tsc_khz=own[0].answer["tsc_khz"])
        return os.open(own[0].answer["fabric"], os.O_RDWR | os.O_CLOEXEC)

    def make_node(self, number):
        part = next(part for part in self.parts
                    if part.place.first <= number < part.place.first + part.place.nodes)
        if part.here:
            return super().make_node(number)
        return FarNode(number, part, self.changed, self.log_dir)

    async def run(self, session, message, data):
        for part in self.parts:
            part.require()
        await super().run(session, message, data)

    async def status(self):
        answer = await super().status()
        answer["hosts"] = [{"host": part.place.name, "first": part.place.first,
                            "nodes": part.place.nodes,
                            "state": "gone" if part.ended() else "up"} for part in self.parts]
        return answer

    def end_parts(self):
        for part in self.parts:
            part.end()

    async def kill_all(self):
        await super().kill_all()
        self.end_parts()
