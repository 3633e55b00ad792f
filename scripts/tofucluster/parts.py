# SPDX-License-Identifier: MIT
"""What runs on a host for a supervisor that may be on another one.

Both kinds read a message from their standard input and end with it, however that
comes: with an ssh, a supervisor, or a host.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import select
import socket
import subprocess
import sys
import tempfile
import threading
import types

from . import host, machine, saved, shape, wire
from .boot import choose_accel
from .errors import ClusterError
from .far import trace_path
from .monitor import Monitor
from .node import DEVICES_UNUSABLE, END_SECONDS, die_with

BRIDGE = "tofu-bridge"
LOAD_SECONDS = 60


def _answer(message):
    os.write(1, wire.encode(message))


# ---- A host: its fabric, and the bridge to the others ----

async def _bridge(config, name, fabric):
    """The process, and a pipe with a byte when it is ready."""
    tool = pathlib.Path(config["fabric_tool"]).with_name(BRIDGE)
    if not tool.exists():
        raise ClusterError(f"{tool} is missing: it needs libfabric-dev and nettle-dev "
                           "(scripts/setup bridge), then `make lib`")
    parent = os.getpid()
    read, write = os.pipe()
    try:
        return await asyncio.create_subprocess_exec(
            tool, "--quiet", "--fabric", fabric, "--hosts", config["hosts"]["table"], "--self",
            name, "--ready", str(write), pass_fds=[write],
            env={**os.environ, "TOFU_BRIDGE_TOKEN": config["hosts"]["token"]},
            stdin=subprocess.DEVNULL, stdout=sys.stderr,
            preexec_fn=lambda: die_with(parent)), read
    finally:
        os.close(write)


async def _end(process):
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), END_SECONDS)
    except asyncio.TimeoutError:
        process.kill()


async def _tell(event):
    _answer(event)


async def _prepare(message):
    """Check what the host has; what its nodes need to know of it."""
    config = message["config"]
    host.require_memory(message["nodes"])
    if config["realtime"]:
        host.require_realtime()
    wish = types.SimpleNamespace(time=config["time"], accel=config["accel"])
    accel, tsc_khz = choose_accel(wish, config["qemu"], config["image"])
    config.update(accel=accel, tsc_khz=tsc_khz)
    if config["saved"]:
        saved.require_room(config)
        await saved.Saved(config).require(_tell)
    return {"accel": accel, "tsc_khz": tsc_khz}


async def _serve_host(message):
    config = message["config"]
    try:
        answer = await _prepare(message)
        with tempfile.TemporaryDirectory(prefix="tofu-host-") as scratch:
            fd = host.create_fabric(config["fabric_tool"], shape.text(config["axes"]))
            fabric = f"/proc/{os.getpid()}/fd/{fd}"
            bridge, ready = await _bridge(config, message["self"], fabric)
            try:
                # Why it is not has been said, and is in the log of this process.
                if await asyncio.to_thread(os.read, ready, 1):
                    _answer({**answer, "fabric": fabric, "scratch": scratch})
                return abs(await bridge.wait())
            finally:
                await _end(bridge)
    except (ClusterError, OSError) as error:
        _answer({"error": str(error)})
        return 1


async def _host_part():
    reader = asyncio.StreamReader(limit=wire.LINE_MAX)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    message, _ = await wire.receive(reader)
    if message is None:
        return 1
    work = asyncio.create_task(_serve_host(message))
    gone = asyncio.create_task(reader.read())
    await asyncio.wait([work, gone], return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        return work.result()
    work.cancel()
    await asyncio.wait([work])
    return 0


# ---- A node ----

def _message():
    line = b""
    # Byte by byte: what follows belongs to others.
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(1)
        line += byte
    return wire.parse(line)[0]


def _end_with_input(qemu):
    """End QEMU with the input, also while nobody reads that."""
    poll = select.poll()
    poll.register(0, select.POLLRDHUP)
    poll.poll()
    qemu.kill()


def _write_out(data):
    while data:
        data = data[os.write(1, data):]


def _pump(read, write, end):
    while data := read():
        write(data)
    end()


class _Port:
    """A pair of sockets, one of them QEMU's."""

    def __init__(self):
        self.own, self.its = socket.socketpair()


async def _load(sock, boot):
    """Go on from a saved boot; whether that was tried, and what went wrong."""
    monitor, begun = Monitor(sock), False
    try:
        await asyncio.wait_for(monitor.open(), LOAD_SECONDS)
        begun = True
        await asyncio.wait_for(monitor.load(boot.devices), LOAD_SECONDS)
        return begun, ""
    except asyncio.TimeoutError:
        return begun, f"nothing after {LOAD_SECONDS} s"
    except (ClusterError, OSError) as error:
        return begun, str(error)
    finally:
        monitor.close()


def _come(qemu, port, boot):
    """What is wrong with a node that goes on from a saved boot, or nothing."""
    begun, trouble = asyncio.run(_load(port.own, boot))
    if not trouble:
        return ""
    with contextlib.suppress(subprocess.TimeoutExpired):
        qemu.wait(END_SECONDS)
    # Where somebody has killed it, the saved boot may be good.
    if not begun or (qemu.returncode or 0) < 0:
        return trouble
    boot.forget()
    return (f"{DEVICES_UNUSABLE}: {trouble}\n{boot.path} was removed: the next start saves a boot "
            "again")


def _node_part():
    message = _message()
    config, number = message["config"], message["node"]
    config["fabric_fd"] = os.open(config["fabric"], os.O_RDWR | os.O_CLOEXEC)
    boot = saved.Saved(config) if config["saved"] else None
    agent, monitor = _Port(), _Port() if boot else None
    ports = [port.its.fileno() for port in (agent, monitor) if port]
    parent = os.getpid()
    # The errors of this process go to the file of the console.
    command = machine.command(
        config, number, 2, *ports, memory=(boot.memory, "off") if boot else None,
        trace=trace_path(config["scratch"], number) if config["trace"] else None)
    qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr,
                            pass_fds=[*ports, config["fabric_fd"]],
                            preexec_fn=lambda: die_with(parent))
    for port in filter(None, (agent, monitor)):
        port.its.close()
    threading.Thread(target=_end_with_input, args=(qemu,), daemon=True).start()
    trouble = _come(qemu, monitor, boot) if boot else ""
    if trouble:
        qemu.kill()
        _answer({"error": trouble})
        return 1
    _answer({})
    threading.Thread(target=_pump, daemon=True,
                     args=(lambda: os.read(0, 1 << 16), agent.own.sendall, qemu.kill)).start()
    _pump(lambda: agent.own.recv(1 << 16), _write_out, lambda: None)
    return abs(qemu.wait())


def main(which):
    try:
        return asyncio.run(_host_part()) if which == "--host-part" else _node_part()
    except (OSError, KeyError, json.JSONDecodeError) as error:
        print(f"tofu-cluster: {error}", file=sys.stderr)
        return 1
