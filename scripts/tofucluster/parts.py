# SPDX-License-Identifier: MIT
"""What runs on a host for a supervisor that may be on another one.

Both kinds read a message from their standard input and end with it, however that
comes: with an ssh, a supervisor, or a host.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import types

from . import host, machine, wire
from .boot import choose_accel
from .errors import ClusterError
from .node import die_with

BRIDGE = "tofu-bridge"


def _message():
    line = b""
    # Byte by byte: what follows belongs to others.
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            sys.exit(1)
        line += byte
    return wire.parse(line)[0]


def _answer(message):
    os.write(1, wire.encode(message))


def _fabric(message):
    """The shared file of this host."""
    fd = os.memfd_create("tofu-fabric", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    done = subprocess.run([message["fabric_tool"], "format", str(fd), "--shape",
                           message["shape"]], pass_fds=[fd], capture_output=True, text=True,
                          check=False)
    if done.returncode:
        raise ClusterError(done.stderr.strip())
    return f"/proc/{os.getpid()}/fd/{fd}"


def _bridge(message, fabric):
    tool = pathlib.Path(message["fabric_tool"]).with_name(BRIDGE)
    if not tool.exists():
        raise ClusterError(f"{tool} is missing: it needs libfabric-dev and nettle-dev "
                           "(scripts/setup bridge), then `make lib`")
    parent = os.getpid()
    return subprocess.Popen(
        [tool, "--quiet", "--fabric", fabric, "--hosts", message["table"], "--self",
         message["self"]], env={**os.environ, "TOFU_BRIDGE_TOKEN": message["token"]},
        stdin=subprocess.DEVNULL, stdout=sys.stderr, preexec_fn=lambda: die_with(parent))


def _host_part():
    message = _message()
    try:
        host.require_memory(message["nodes"])
        wish = types.SimpleNamespace(time="functional", accel=message["accel"])
        accel, tsc_khz = choose_accel(wish, message["qemu"], message["image"])
        fabric = _fabric(message)
        bridge = _bridge(message, fabric)
    except (ClusterError, OSError) as error:
        _answer({"error": str(error)})
        return 1
    _answer({"fabric": fabric, "accel": accel, "tsc_khz": tsc_khz})

    def end_with_input():
        while os.read(0, 4096):
            pass
        bridge.terminate()

    threading.Thread(target=end_with_input, daemon=True).start()
    return abs(bridge.wait())


def _write_out(data):
    while data:
        data = data[os.write(1, data):]


def _pump(read, write, end):
    while data := read():
        write(data)
    end()


def _node_part():
    message = _message()
    config, number = message["config"], message["node"]
    fabric = os.open(config["fabric"], os.O_RDWR | os.O_CLOEXEC)
    config["fabric_fd"] = fabric
    port, theirs = socket.socketpair()
    parent = os.getpid()
    # The errors of this process go to the file of the console.
    command = machine.command(config, number, 2, theirs.fileno())
    qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr,
                            pass_fds=[theirs.fileno(), fabric],
                            preexec_fn=lambda: die_with(parent))
    theirs.close()
    os.write(1, b"+")
    threading.Thread(target=_pump, daemon=True,
                     args=(lambda: os.read(0, 1 << 16), port.sendall, qemu.kill)).start()
    _pump(lambda: port.recv(1 << 16), _write_out, lambda: None)
    return abs(qemu.wait())


def main(which):
    try:
        return _host_part() if which == "--host-part" else _node_part()
    except (OSError, KeyError, json.JSONDecodeError) as error:
        print(f"tofu-cluster: {error}", file=sys.stderr)
        return 1
