# SPDX-License-Identifier: MIT
"""`status` and `logs`."""

import json
import pathlib
import sys
import time

from . import machine, wire
from .errors import ClusterError

POLL_SECONDS = 0.2


def _doing(node):
    """What a node in virtual time is doing."""
    clock = node["clock"] or {"state": "apart"}
    if node["state"] == "ready":
        return "waits for a program"
    if node["state"] not in ("starting", "running"):
        return node["state"]
    if "waits_for" in clock:
        return f"waits for node {clock['waits_for']}"
    if clock["state"] == "joined":
        return "runs"
    return "joins common time"


def _clock(node):
    """A node's common time; none before it has joined."""
    clock = node["clock"]
    return f"{clock['time'] / 1e9:.9f} s" if clock and clock["state"] == "joined" else "-"


def waiting(answer):
    """A line for each node in virtual time: its clock and what it is doing."""
    for node in answer["nodes"]:
        yield f"node {node['node']:3}  {_clock(node):>16}  {_doing(node)}"


def _print_virtual(answer):
    print(f"cluster '{answer['name']}': {answer['shape']}, {machine.title(answer['machine'], answer['armw'])} in virtual time, "
          f"{answer['memory']} MiB a node, {answer['tnis']} TNIs, supervisor {answer['pid']}")
    print("node  pid      coordinates              clock  what it does")
    for node in answer["nodes"]:
        place = ",".join(map(str, node["coordinates"]))
        print(f"{node['node']:4}  {node['pid'] or '-':<7}  {place:12}  {_clock(node):>16}  "
              f"{_doing(node)}")


def status(args):
    connection = wire.Connection.open(args.name)
    answer = connection.request({"op": "status"})
    if args.json:
        print(json.dumps(answer, indent=2))
        return 0
    if answer["time"] == "virtual":
        _print_virtual(answer)
        return 0
    print(f"cluster '{answer['name']}': {answer['shape']}, {answer['accel']}, "
          f"{answer['memory']} MiB a node, {answer['tnis']} TNIs, "
          f"supervisor {answer['pid']}")
    print("node  state    pid      coordinates   boot     uptime")
    for node in answer["nodes"]:
        place = ",".join(map(str, node["coordinates"]))
        boot = f"{node['boot_seconds']:.1f} s" if node["boot_seconds"] else "-"
        uptime = f"{node['uptime']:.0f} s" if node["uptime"] is not None else "-"
        print(f"{node['node']:4}  {node['state']:7}  {node['pid'] or '-':<7}  "
              f"{place:12}  {boot:7}  {uptime}")
    return 0


def _folder(args):
    """The folder of the consoles: of the running cluster, else of the last
    one."""
    try:
        answer = wire.Connection.open(args.name).request({"op": "status"})
        return pathlib.Path(answer["log_dir"])
    except ClusterError:
        if args.log_dir.is_dir():
            return args.log_dir
        raise


def logs(args):
    pattern = "*" if args.node is None else str(args.node)
    folder = _folder(args)
    paths = sorted(folder.glob(f"node{pattern}.console"),
                   key=lambda p: int("".join(filter(str.isdigit, p.name))))
    if not paths:
        raise ClusterError(f"no console log node{pattern}.console in {folder}")
    files = []
    for path in paths:
        number = "".join(filter(str.isdigit, path.name))
        files.append((f"[{number}] " if len(paths) > 1 else "", open(path, "rb")))
    while True:
        for prefix, file in files:
            for line in file.readlines():
                text = line.decode(errors="replace").rstrip("\r\n")
                print(f"{prefix}{text}")
        sys.stdout.flush()
        if not args.follow:
            return 0
        time.sleep(POLL_SECONDS)
