# SPDX-License-Identifier: MIT
"""The supervisor's side of scripts/guest/protocol.h."""

import struct

VERSION = 2
PORT_NAME = "tofu.agent"
PAYLOAD_MAX = 256 << 10

EXEC, STDIN, RESIZE, SIGNAL, FILE_OPEN, FILE_DATA, FILE_CLOSE, PING, REST = range(1, 10)
HELLO, STDOUT, STDERR, EXIT, FILE_DONE, PONG, STARTED = range(64, 71)

_FRAME = struct.Struct("<IHH")
_EXEC = struct.Struct("<IHHII")
_EXEC_PTY = 1


def frame(kind, job, payload=b""):
    """A frame; the payload has to fit."""
    if len(payload) > PAYLOAD_MAX:
        raise ValueError("frame too long")
    return _FRAME.pack(len(payload), kind, job) + payload


def exec_payload(argv, env, cwd, size=None):
    """Payload of EXEC; given (rows, columns), the program gets a terminal."""
    strings = [cwd, *argv, *(f"{name}={value}" for name, value in env.items())]
    rows, columns = size or (0, 0)
    head = _EXEC.pack(_EXEC_PTY if size else 0, rows, columns, len(argv), len(env))
    return head + b"".join(s.encode(errors="surrogateescape") + b"\0" for s in strings)


def number(payload):
    """The u32 in EXIT and FILE_DONE."""
    return struct.unpack("<I", payload)[0]


def hello(payload):
    """Version and trouble of a HELLO or STARTED."""
    return struct.unpack_from("<I", payload)[0], payload[4:].decode(errors="replace").strip()


def resize_payload(rows, columns):
    return struct.pack("<HH", rows, columns)


def signal_payload(signo):
    return struct.pack("<I", signo)


async def receive(reader):
    """The next frame: (kind, job, payload).  Raises IncompleteReadError at the end."""
    length, kind, job = _FRAME.unpack(await reader.readexactly(_FRAME.size))
    # A guest is not trusted with the host's memory.
    if length > PAYLOAD_MAX:
        raise ConnectionError(f"the agent sent a frame of {length} bytes")
    return kind, job, await reader.readexactly(length)
