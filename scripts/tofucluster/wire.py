# SPDX-License-Identifier: MIT
"""The protocol between the commands and a cluster's supervisor.

A message is a line of JSON and, if it has a "size", that many bytes. The
supervisor listens on a socket of the abstract namespace, named after user and
cluster, so that it leaves nothing on a disk. Anyone can take a name there, so
both sides check who the peer is.
"""

import json
import os
import re
import socket
import struct

from .errors import ClusterError

LINE_MAX = 1 << 20
DATA_MAX = 512 << 20


def address(name):
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", name):
        raise ClusterError(f"'{name}' cannot be a cluster's name: letters, digits, '.-_'")
    return f"\0tofu-cluster/{os.getuid()}/{name}"


def peer_is_us(sock):
    """Whether the peer process belongs to this user (or to root)."""
    cred = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", cred)
    return uid in (0, os.getuid())


def encode(message, data=b""):
    if data:
        message = dict(message, size=len(data))
    return json.dumps(message).encode() + b"\n" + data


def parse(line):
    """The message of a line, and the size of its data."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        raise ConnectionError("a message that is no JSON") from None
    if not isinstance(message, dict):
        raise ConnectionError("a message that is no object")
    size = message.get("size", 0)
    if not isinstance(size, int) or not 0 <= size <= DATA_MAX:
        raise ConnectionError("a message of an impossible size")
    return message, size


async def receive(reader):
    """(message, data) from an asyncio stream, or (None, b'') at its end.

    Raises ConnectionError if it is no message, ValueError if it is too long.
    """
    line = await reader.readline()
    if not line.endswith(b"\n"):
        return None, b""
    message, size = parse(line)
    return message, await reader.readexactly(size) if size else b""


class Connection:
    """A command's connection to a supervisor, blocking."""

    def __init__(self, sock):
        self.sock = sock
        self._buffer = bytearray()

    @classmethod
    def open(cls, name, timeout=10):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        sock.settimeout(timeout)
        try:
            sock.connect(address(name))
        except ConnectionRefusedError:
            sock.close()
            raise ClusterError(f"no cluster '{name}' is up") from None
        if not peer_is_us(sock):
            sock.close()
            raise ClusterError(f"the socket of cluster '{name}' belongs to another user")
        return cls(sock)

    def send(self, message, data=b""):
        encoded = encode(message, data)
        if (line := len(encoded) - len(data)) > LINE_MAX:
            raise ClusterError(f"a request of {line} bytes is too long, {LINE_MAX} are the limit; "
                               "put the program's arguments into a file")
        if len(data) > DATA_MAX:
            raise ClusterError(f"files of {len(data)} bytes are too much for a run, {DATA_MAX} "
                               "are the limit")
        try:
            self.sock.sendall(encoded)
        except ConnectionError:
            raise ClusterError("the cluster's supervisor has gone") from None

    def receive(self):
        """(message, data), or (None, b'') when the supervisor is gone.

        Data that has arrived is kept when the wait for the rest times out.
        """
        while (whole := self.take()) is None:
            try:
                data = self.sock.recv(1 << 18)
            except ConnectionResetError:
                data = b""
            if not data:
                return None, b""
            self._buffer += data
        return whole

    def take(self):
        """The next message if all of it has arrived, else None."""
        end = self._buffer.find(b"\n")
        if end < 0:
            return None
        message, size = parse(self._buffer[:end])
        if len(self._buffer) < end + 1 + size:
            return None
        data = bytes(self._buffer[end + 1:end + 1 + size])
        del self._buffer[:end + 1 + size]
        return message, data

    def request(self, message, data=b""):
        """Send, and return the answer; raises if it is an error."""
        self.send(message, data)
        answer, _ = self.receive()
        if answer is None:
            raise ClusterError("the cluster's supervisor has gone")
        if "error" in answer:
            raise ClusterError(answer["error"])
        return answer

    def close(self):
        self.sock.close()
