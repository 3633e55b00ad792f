# SPDX-License-Identifier: MIT
"""QEMU's monitor: machines are saved, and go on."""

import asyncio
import json
import socket

from .errors import ClusterError

READ_BYTES = 1 << 16
POLL_SECONDS = 0.005


class Monitor:
    """A connection in QMP; `sock` is our end of it."""

    def __init__(self, sock):
        sock.setblocking(False)
        self._sock = sock
        self._received = b""

    async def open(self):
        """Wait for QEMU; memory of the machine stays in its file when it is saved."""
        await self._message()
        await self.execute("qmp_capabilities")
        await self.execute("migrate-set-capabilities", capabilities=[
            {"capability": "x-ignore-shared", "state": True}])

    def close(self):
        self._sock.close()

    async def _message(self):
        while b"\n" not in self._received:
            data = await asyncio.get_running_loop().sock_recv(self._sock, READ_BYTES)
            if not data:
                raise ClusterError("QEMU has ended")
            self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return json.loads(line)

    async def execute(self, command, fds=(), **arguments):
        """A command's result; the command comes with descriptors."""
        text = json.dumps({"execute": command, "arguments": arguments}) + "\n"
        # A command finds the connection empty, so that all of it has room.
        socket.send_fds(self._sock, [text.encode()], list(fds))
        while True:
            message = await self._message()
            if "error" in message:
                raise ClusterError(f"QEMU: {command}: {message['error']['desc']}")
            if "return" in message:
                return message["return"]

    async def _migrated(self):
        while True:
            answer = await self.execute("query-migrate")
            if answer.get("status") == "completed":
                return
            if answer.get("status") in ("failed", "cancelled"):
                raise ClusterError(f"QEMU: {answer.get('error-desc', 'it cannot be saved')}")
            await asyncio.sleep(POLL_SECONDS)

    async def save(self, path):
        """Halt the machine, and write its devices to a file."""
        await self.execute("stop")
        with open(path, "wb") as file:
            await self.execute("getfd", [file.fileno()], fdname="devices")
            await self.execute("migrate", uri="fd:devices")
            await self._migrated()

    async def load(self, path):
        """Go on with devices of a file; QEMU has been told to wait for them."""
        with open(path, "rb") as file:
            await self.execute("getfd", [file.fileno()], fdname="devices")
            await self.execute("migrate-incoming", uri="fd:devices")
            await self._migrated()
        await self.execute("cont")
