# SPDX-License-Identifier: MIT
"""The supervisor's side of scripts/guest/protocol.h."""

import os
import struct

from .errors import ClusterError

VERSION = 3
PORT_NAME = "tofu.agent"
PAYLOAD_MAX = 256 << 10

EXEC, STDIN, RESIZE, SIGNAL, FILE_OPEN, FILE_DATA, FILE_CLOSE, PING, REST, NAME = range(1, 11)
HELLO, STDOUT, STDERR, EXIT, FILE_DONE, PONG, STARTED, NAMED = range(64, 72)

_FRAME = struct.Struct("<IHH")
_EXEC = struct.Struct("<IHHII")
_EXEC_PTY = 1
_U32 = 4
_ERRNO_MAX = 4095
_NAMES = {HELLO: "HELLO", STDOUT: "STDOUT", STDERR: "STDERR", EXIT: "EXIT",
          FILE_DONE: "FILE_DONE", PONG: "PONG", STARTED: "STARTED", NAMED: "NAMED"}


class Malformed(Exception):
    """An agent has broken the protocol; the text says what it has sent."""


def frame(kind, job, payload=b""):
    """A frame; the payload has to fit."""
    if len(payload) > PAYLOAD_MAX:
        raise ValueError("frame too long")
    return _FRAME.pack(len(payload), kind, job) + payload


def exec_payload(argv, env, cwd, size=None):
    """Payload of EXEC; given (rows, columns), the program gets a terminal.

    Raises ClusterError if that is more than a frame holds.
    """
    strings = [cwd, *argv, *(f"{name}={value}" for name, value in env.items())]
    rows, columns = size or (0, 0)
    head = _EXEC.pack(_EXEC_PTY if size else 0, rows, columns, len(argv), len(env))
    payload = head + b"".join(s.encode(errors="surrogateescape") + b"\0" for s in strings)
    if len(payload) > PAYLOAD_MAX:
        raise ClusterError(f"the program's arguments and environment have {len(payload)} bytes, "
                           f"a guest takes {PAYLOAD_MAX}; put them into a file")
    return payload


def number(payload):
    """The u32 in EXIT, FILE_DONE and NAMED."""
    return struct.unpack("<I", payload)[0]


def hello(payload):
    """Version and trouble of a HELLO or STARTED."""
    return struct.unpack_from("<I", payload)[0], payload[4:].decode(errors="replace").strip()


def resize_payload(rows, columns):
    return struct.pack("<HH", rows, columns)


def signal_payload(signo):
    return struct.pack("<I", signo)


def _is_wait_status(status):
    try:
        os.waitstatus_to_exitcode(status)
    except (ValueError, OverflowError):
        return False
    return True


def check(kind, payload):
    """Raise Malformed unless it is a frame that an agent may send.

    Root in a guest writes whatever it likes. Of a frame that passes, number()
    and hello() can read the payload.
    """
    name, size = _NAMES.get(kind), len(payload)
    if not name:
        raise Malformed(f"a frame of unknown type {kind}")
    if kind in (HELLO, STARTED) and size < _U32 or kind in (EXIT, FILE_DONE, NAMED) and size != _U32:
        raise Malformed(f"{name} with {size} bytes")
    if kind == EXIT and not _is_wait_status(number(payload)):
        raise Malformed(f"EXIT with {number(payload):#x}, which is no wait status")
    if kind in (FILE_DONE, NAMED) and number(payload) > _ERRNO_MAX:
        raise Malformed(f"{name} with {number(payload)}, which is no errno")


async def receive(reader):
    """The next frame: (kind, job, payload), checked.

    Raises Malformed, and IncompleteReadError at the end.
    """
    length, kind, job = _FRAME.unpack(await reader.readexactly(_FRAME.size))
    # A guest is not trusted with the host's memory.
    if length > PAYLOAD_MAX:
        raise Malformed(f"a frame of {length} bytes")
    payload = await reader.readexactly(length)
    check(kind, payload)
    return kind, job, payload
