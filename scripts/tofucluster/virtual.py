# SPDX-License-Identifier: MIT
"""A cluster in virtual time: runs that are the same to the nanosecond.

Input from the host comes at the host's times, so a guest gets it only before
its clock counts: it boots, waits in its mailbox, where its processor stands
still, gets its program, and then joins the machine's common time. From then on
it gets nothing more. So a boot serves one run. When the run has ended, all
nodes are ended, and come up again in the background: from a saved boot, which
takes a fraction of a second, or each by itself (`up --fresh`).
"""

import asyncio
import contextlib
import traceback

from . import machine
from .cluster import Cluster
from .errors import ClusterError
from .node import DEVICES_UNUSABLE
from .saved import Saved

# A command that waits for longer than this is told the reason.
NOTICE_SECONDS = 1


@contextlib.asynccontextmanager
async def _notice(session, what):
    async def later():
        await asyncio.sleep(NOTICE_SECONDS)
        await session.reply({"event": "waiting", "for": what})

    task = asyncio.create_task(later())
    try:
        yield
    finally:
        task.cancel()


async def _tell_nobody(_):
    pass


class VirtualCluster(Cluster):
    """Nodes in virtual time; sessions take turns."""

    def __init__(self, config):
        super().__init__(config)
        self._turn = asyncio.Lock()
        self._booting = None  # a task, after the first boot
        self._session = None  # the one whose programs run
        self._begun = False  # all nodes have joined common time
        own = config["saved"] and self.hosts.has_own()
        self._saved = Saved(config) if own else None

    def _trace(self, node, suffix=""):
        return self.log_dir / f"node{node}.trace{suffix}"

    def command(self, number, *fds):
        trace = self._trace(number, ".part") if self.config["trace"] else None
        memory = (self._saved.memory, "off") if self._saved else None
        return (machine.command(self.config, number, *fds, trace=trace, memory=memory),
                [self.config["fabric_fd"]])

    # ---- Boots ----

    def _renew(self):
        """Boot all nodes, which have ended, on a fresh network."""
        self._booting = asyncio.create_task(self.boot(_tell_nobody))

    async def boot_nodes(self, tell):
        try:
            if self._saved:
                await self._saved.require(tell)
            await super().boot_nodes(tell)
        except Exception:
            await self.kill_all()
            raise

    async def _booted(self):
        """Wait for the current boot; if it has failed, boot again."""
        task = self._booting
        if task and task.done() and task.exception():
            self._renew()
        if self._booting:
            await asyncio.shield(self._booting)

    async def restart(self, node):
        await self._booted()
        await super().restart(node)

    async def start(self, node, devices=None):
        if self._begun and self.config["hosts"]:
            raise ClusterError("in virtual time over several hosts no node comes while a "
                               "program runs: all come by themselves when it has ended")
        try:
            await super().start(node, self._saved and self._saved.devices)
        except ClusterError as error:
            if not node.trouble.startswith(DEVICES_UNUSABLE):
                raise
            self._saved.forget()
            raise ClusterError(f"{error}\n{self._saved.path} was removed: the next start saves "
                               "a boot again") from None
        # A node that comes while a program runs joins the others late.
        if self._begun:
            await node.rest()

    # ---- Runs ----

    async def run(self, session, message, data):
        """Run a session's programs when it is its turn."""
        if session.task:
            raise ClusterError("in virtual time a connection runs one program")
        if "size_of_terminal" in message:
            raise ClusterError("there are no terminals in virtual time")
        session.task = asyncio.create_task(self._serve(session, message, data))

    async def _serve(self, session, message, data):
        with contextlib.suppress(ConnectionError):
            async with _notice(session, "another run"):
                await self._turn.acquire()
            try:
                await self._run(session, message, data)
                # What the run leaves, its traces, belongs to the session.
                await session.closed.wait()
            finally:
                self._turn.release()

    async def _run(self, session, message, data):
        try:
            await self._begin(session, message, data)
            await session.over.wait()
        except ClusterError as error:
            await session.reply({"error": str(error)})
        except Exception as error:
            traceback.print_exc()
            await session.reply({"error": f"the supervisor has failed: {error!r}"})
        finally:
            traces = await self._finish(session)
        await session.reply({"event": "ended", "traces": traces})

    async def _begin(self, session, message, data):
        nodes = [self.node(n) for n in message["nodes"]]
        traced = bool(message.get("trace"))
        async with _notice(session, "the nodes, which boot"):
            await self._booted()
            if traced and not self.config["trace"]:
                try:
                    await self.kill_all()
                finally:
                    self.config["trace"] = True
                    self._renew()
                await self._booted()
        self.config["trace"] = traced
        self.hosts.require()
        for node in self.nodes:
            node.require_ready()
        self.require_executable(nodes, message)
        session.left = {node.number for node in nodes}
        # From here on the guests are no longer fresh.
        self._session, self._begun = session, False
        await self.place(nodes, message.get("files", []), data)
        for node in self.nodes:
            if node in nodes:
                await self.execute(session, node, message)
                node.begin()
            else:
                await node.rest()
        await session.reply({"event": "started"})

    async def _finish(self, session):
        """End the nodes if anything has run on them; returns their traces."""
        if not self._session:
            return []
        self._session, self._begun = None, False
        await self.kill_all()
        try:
            return await self._collect_traces()
        except ClusterError as error:
            await session.reply({"error": str(error)})
            return []
        finally:
            self._renew()

    async def _collect_traces(self):
        traces, trouble = [], None
        for node in self.nodes:
            part, whole = self._trace(node.number, ".part"), self._trace(node.number)
            try:
                if self.config["trace"]:
                    await self.hosts.bring_trace(node.number, part)
            except ClusterError as error:
                trouble = error
            if part.exists():
                part.replace(whole)
                traces.append(str(whole))
        if trouble:
            raise trouble
        return traces

    async def changed(self, node):
        if not self._session:
            return
        if node.state == "running":
            self._begun = self._begun or all(n.state == "running" for n in self.nodes)
        trouble = ""
        if not self._begun and node.trouble:
            trouble = node.trouble
        elif not self._begun and node.state == "dead":
            trouble = "it ended before all had joined common time"
        if trouble:
            await self._session.reply({"error": f"node {node.number}: {trouble}"})
            self._session.over.set()

    async def end(self, session):
        """End what a session runs or waits for, once."""
        if session.task and not session.ending:
            session.ending = True
            if not session.over.is_set():
                session.task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await session.task
                with contextlib.suppress(ConnectionError):
                    await session.reply({"event": "ended", "traces": []})

    async def close(self, session):
        session.closed.set()
        await self.end(session)
        if session.task:
            await asyncio.wait([session.task])

    # ---- Status ----

    async def status(self):
        answer = await super().status()
        clocks = {clock["node"]: clock for clock in await self.hosts.clocks()}
        for node in answer["nodes"]:
            node["clock"] = clocks.get(node["node"])
        return {**answer, "machine": self.config["machine"], "armw": self.config["armw"]}
