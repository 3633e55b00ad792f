# SPDX-License-Identifier: MIT
"""Another host of a cluster and its nodes, as the supervisor sees them.

The other ends of what is started here are in parts.py.
"""

import asyncio
import contextlib
import os
import pathlib
import shlex
import socket
import subprocess

from . import host, machine, wire
from .errors import ClusterError
from .node import ALIVE, END_SECONDS, Node

PART_SECONDS = 120
COPY_SECONDS = 600
# sshd refuses some of more connections that begin at a time.
STARTING_MAX = 4
# More than the part itself gives its bridge
PART_END_SECONDS = END_SECONDS + 3
TELLS = 20  # lines of a part that failed


# What kind of host it is, and the version of these scripts there
KIND = (". /etc/os-release; echo $(uname -m) $ID $VERSION_ID; "
        f"cd {shlex.quote(str(host.TOP / 'scripts'))} 2>/dev/null; "
        "LC_ALL=C; cat tofu-cluster tofucluster/*.py 2>/dev/null | sha256sum")


def trace_path(folder, number):
    """Where a node of another host has its trace."""
    return pathlib.Path(folder, f"node{number}.trace")


class Part:
    """A host's part of a cluster; the supervisor's own host has one, too."""

    def __init__(self, place, config):
        self.place, self.config = place, config
        self.here = place.name == config["hosts"]["own"]
        self.starting = asyncio.Semaphore(STARTING_MAX)
        self.answer = {}
        self._log = pathlib.Path(config["log_dir"], f"host-{place.name}.log")
        self._process = None
        self._provided = False

    def words(self, *words):
        """A command, on that host."""
        if self.here:
            return list(words)
        return [*self.config["hosts"]["ssh"], self.place.name, shlex.join(words)]

    def part_words(self, which):
        """tofu-cluster there."""
        return self.words("python3", str(host.TOP / "scripts/tofu-cluster"), which)

    def _error(self, text):
        return ClusterError(f"host {self.place.name}: {text}")

    async def _sh(self, script, stdin=subprocess.DEVNULL):
        """Status, output and errors of a script there."""
        words = self.words("sh", "-c", script)
        try:
            process = await asyncio.create_subprocess_exec(
                *words, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise self._error(f"{words[0]}: {error.strerror}") from None
        try:
            both = await asyncio.wait_for(process.communicate(), COPY_SECONDS)
        except asyncio.TimeoutError:
            raise self._error(f"no answer after {COPY_SECONDS} s") from None
        finally:
            if process.returncode is None:
                process.kill()
        return process.returncode, *(text.decode(errors="replace").strip() for text in both)

    def _wanted(self):
        """What has to be there: files, and what is copied where they are not."""
        build = pathlib.Path(self.config["fabric_tool"]).parent
        qemu, image = (pathlib.Path(self.config[name]) for name in ("qemu", "image"))
        return {host.TOP / "scripts/tofu-cluster": host.TOP / "scripts",
                build / "tofu-fabric": build / "tofu-fabric",
                build / "tofu-bridge": build / "tofu-bridge",
                qemu: qemu, qemu.parent / machine.BIOS: qemu.parent / machine.BIOS,
                image / machine.KERNEL: image}

    async def _provide(self):
        """Copy what the host does not have, if it is like this one."""
        wanted = self._wanted()
        tests = "; ".join(f"test -e {shlex.quote(str(file))} || echo {shlex.quote(str(file))}"
                          for file in wanted)
        status, text, errors = await self._sh(
            f"{KIND}; command -v python3 >/dev/null || echo python3; {tests}")
        if status:
            raise self._error(errors or "no answer")
        its, version, *missing = text.splitlines()
        own, own_version = subprocess.run(["sh", "-c", KIND], capture_output=True, text=True,
                                          check=True).stdout.splitlines()
        if missing and (its != own or "python3" in missing):
            raise ClusterError(f"host {self.place.name} ({its}; this one is {own}) has no "
                               f"{', '.join(missing)}: install it there")
        if str(host.TOP / "scripts/tofu-cluster") not in missing and version != own_version:
            raise self._error(f"its {host.TOP / 'scripts'} is of another version: bring it up to "
                              "date there, or remove it, and it is copied")
        if missing:
            await self._copy({file: wanted[pathlib.Path(file)] for file in missing})

    async def _copy(self, files):
        """Copy what files belong to, to the same places."""
        read, write = os.pipe()
        tar = await asyncio.create_subprocess_exec(
            "tar", "-C", "/", "-c", *(str(path)[1:] for path in files.values()), stdout=write)
        os.close(write)
        # What came in part is not to be taken for whole the next time.
        status, _, errors = await self._sh(
            f"tar -C / -x || {{ rm -f {shlex.join(files)}; exit 1; }}", stdin=read)
        os.close(read)
        if status or await tar.wait():
            raise self._error(f"cannot copy {', '.join(map(str, files.values()))}: {errors}")

    async def start(self, tell):
        """Start its process, and wait until its fabric is there."""
        if not self._provided and not self.here:
            await self._provide()
        self._provided = True
        with open(self._log, "wb") as errors:
            self._process = await asyncio.create_subprocess_exec(
                *self.part_words("--host-part"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=errors, start_new_session=True)
        try:
            await asyncio.wait_for(self._begin(tell), PART_SECONDS + self.config["boot_timeout"])
        except asyncio.TimeoutError:
            raise self._error("its part does not answer") from None
        except (OSError, ValueError) as error:
            raise self._error(f"its part answers with {error}") from None

    async def _begin(self, tell):
        self._process.stdin.write(wire.encode({
            "config": self.config, "self": self.place.name, "nodes": self.place.nodes}))
        while True:
            message, _ = await wire.receive(self._process.stdout)
            if message is None:
                raise self._error("\n    | ".join([
                    "its part has ended", *self._log.read_text(errors="replace").splitlines()[
                        -TELLS:]]))
            if "error" in message:
                raise self._error(message["error"])
            if "event" not in message:
                self.answer = message
                return
            await tell(message)

    def ended(self):
        """Whether its bridge is gone."""
        return self._process is not None and self._process.returncode is not None

    def require(self):
        """Raise ClusterError if its nodes cannot reach the others."""
        if self.ended():
            raise self._error("its bridge, or the way there, has gone (status "
                              f"{self._process.returncode}): take the cluster down, and up again")

    async def clocks(self):
        """The state of its nodes' clocks."""
        if not self._process or not self.answer:
            return []
        found = await host.clocks(self.words(self.config["fabric_tool"], "clocks",
                                             self.answer["fabric"]))
        last = self.place.first + self.place.nodes
        return [clock for clock in found if self.place.first <= clock["node"] < last]

    async def bring(self, path, to):
        """Copy a file of that host."""
        async with self.starting:
            with open(to, "wb") as file:
                process = await asyncio.create_subprocess_exec(
                    *self.words("cat", str(path)), stdin=subprocess.DEVNULL, stdout=file,
                    stderr=subprocess.PIPE, start_new_session=True)
            try:
                _, errors = await asyncio.wait_for(process.communicate(), COPY_SECONDS)
            except asyncio.TimeoutError:
                process.kill()
                errors = f"{path} does not come".encode()
        if process.returncode != 0:
            os.unlink(to)
            raise self._error(errors.decode(errors="replace").strip())

    async def end(self):
        """End its process, and with that its bridge."""
        process, self._process = self._process, None
        if not process:
            return
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), PART_END_SECONDS)
        except asyncio.TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


class FarNode(Node):
    """A node of another host."""

    def __init__(self, number, part, watch, log_dir):
        super().__init__(number, None, watch, log_dir)
        self._part = part

    async def start(self, timeout, devices=None):
        # Where it goes on from is a matter of its host.
        await super().start(timeout)

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
                begun = (await asyncio.wait_for(wire.receive(reader), PART_SECONDS))[0]
            except (asyncio.TimeoutError, ConnectionError):
                begun = None
        if begun is None or "error" in begun:
            # It may have been killed, and collected, meanwhile.
            if self._process:
                self._process.kill()
            await self._collect()
            self.state = "failed"
            raise ClusterError(f"node {self.number}: " + (
                begun["error"] if begun else f"its host, {self._part.place.name}, does not "
                                             "start it"))
        self._reading = asyncio.create_task(self._read_agent(reader))

    async def _come(self, devices):
        # It has gone on from a saved boot already.
        if self._part.config["saved"]:
            self._greeted()
        await self._ready

    async def kill(self):
        # Its part ends with the connection, after QEMU.
        if self._process and self._reading:
            if self.state in ALIVE:
                self.state = "dead"
            with contextlib.suppress(OSError):
                self._writer.write_eof()
            await asyncio.wait([self._reading], timeout=END_SECONDS)
        await super().kill()
