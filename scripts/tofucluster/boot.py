# SPDX-License-Identifier: MIT
"""`up`: starts a supervisor and follows the boot of its nodes."""

import contextlib
import os
import pathlib
import select
import shlex
import signal
import socket
import subprocess
import sys
import time

from . import host, hosts, machine, saved, shape, wire
from .errors import ClusterError

# Seconds after a Ctrl-C for the supervisor to end everything
END_SECONDS = 15


def say(text):
    print(text, file=sys.stderr, flush=True)


def log_dir(args):
    return (args.log_dir or host.BUILD / "cluster" / args.name).absolute()


def _words(option, text):
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ClusterError(f"{option}: {error}") from None


def _check_time(args):
    """Refuse conflicting options; return virtual time's machine, and TNIs."""
    if args.time == "functional":
        for option, value in (("--trace", args.trace), ("--realtime", args.realtime),
                              ("--fresh", args.fresh)):
            if value:
                raise ClusterError(f"{option} needs --time virtual")
        return None, args.tnis or machine.MACHINES.get(args.machine, 4)
    if args.accel == "kvm":
        raise ClusterError("--time virtual counts instructions, which KVM cannot: "
                           "leave out --accel")
    name = args.machine or "fugaku"
    return name, args.tnis or machine.MACHINES[name]


def choose_accel(args, qemu, image):
    """The accelerator, and the counter's rate if the guest is told it."""
    if args.time == "virtual":
        return "tcg", machine.VIRTUAL_TSC_KHZ
    accel = host.accel(qemu, image, args.accel)
    return accel, host.tsc_khz() if accel == "tcg" else None


def configuration(args):
    """The supervisor's configuration, determined before it starts."""
    wire.address(args.name)
    machine_name, tnis = _check_time(args)
    if args.hosts:
        axes, spread = hosts.configuration(args)
    else:
        axes, spread = shape.choose(args.shape, args.nodes), None
    own = hosts.own_nodes(spread) if spread else shape.count(axes)
    host.require_memory(own)
    if args.realtime:
        host.require_realtime()
    fabric_tool = host.fabric_tool()
    qemu = args.qemu.absolute() if args.qemu else host.qemu()
    for file in (qemu, qemu.parent / machine.BIOS):
        if not file.exists():
            raise ClusterError(f"{file}: no such file")
    image = host.guest(args.guest_arg)
    # In functional time each host finds its own.
    accel, tsc_khz = ((args.accel, None) if spread and args.time == "functional"
                      else choose_accel(args, qemu, image))
    folder = log_dir(args)
    config = {
        "name": args.name, "axes": axes, "accel": accel, "memory": args.memory,
        "time": args.time, "machine": machine_name, "trace": args.trace,
        "tnis": tnis, "armw": machine.armw(args.machine or machine_name, args.armw),
        "qemu": str(qemu), "image": str(image),
        "fabric_tool": fabric_tool, "tsc_khz": tsc_khz,
        "kernel_args": _words("--kernel-args", args.kernel_args),
        "qemu_args": _words("--qemu-args", args.qemu_args),
        "node_args": args.node_arg, "boot_timeout": args.boot_timeout,
        "realtime": args.realtime, "log_dir": str(folder),
        # Devices that somebody adds may not be fit for saving, or differ by node.
        "saved": args.time == "virtual" and not args.fresh and not args.qemu_args,
        "hosts": spread,
    }
    if config["saved"] and own:
        saved.require_room(config)
    return config


def _owner(pid):
    """A descriptor of the process of --owner, for the supervisor; or nothing."""
    if pid is None:
        return contextlib.nullcontext()
    try:
        return open(os.pidfd_open(pid), "rb", buffering=0)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", "no such number")
        raise ClusterError(f"--owner: process {pid}: {why}") from None


def _is_up(name):
    try:
        wire.Connection.open(name).close()
    except ClusterError:
        return False
    return True


def _spawn(config, owner):
    """The supervisor, and the connection on which it depends until `up`."""
    ours, theirs = socket.socketpair()
    folder = pathlib.Path(config["log_dir"])
    folder.mkdir(parents=True, exist_ok=True)
    with theirs, open(folder / "supervisor.log", "wb") as log:
        kept = [file.fileno() for file in (theirs, owner) if file]
        subprocess.Popen([sys.executable, host.TOP / "scripts/tofu-cluster",
                          "--supervise", *map(str, kept)],
                         stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                         pass_fds=kept, start_new_session=True)
    connection = wire.Connection(ours)
    connection.send(config)
    return connection


def _report(message, config):
    """One event of the boot; returns True when the cluster is up."""
    event = message["event"]
    if event == "booting":
        say(f"  node {message['node']}: booting")
    elif event == "saving":
        say("  one guest boots, and is saved: nodes go on from there, now and later")
    elif event == "ready":
        say(f"  node {message['node']}: agent ready after {message['seconds']:.1f} s")
    elif event == "failed":
        raise ClusterError(f"{message['error']}\n(logs: {config['log_dir']})")
    return event == "up"


def _abandon(connection):
    """Close our end for writing: the supervisor ends, then closes its own."""
    with contextlib.suppress(OSError):
        connection.sock.shutdown(socket.SHUT_WR)
    deadline = time.monotonic() + END_SECONDS
    while time.monotonic() < deadline:
        if not select.select([connection.sock], [], [], 1)[0]:
            continue
        with contextlib.suppress(OSError):
            if connection.sock.recv(1 << 16):
                continue
        break


def up(args):
    if _is_up(args.name):
        raise ClusterError(f"cluster '{args.name}' is up already; "
                           "take it down or use another --name")
    with _owner(args.owner) as owner:
        config = configuration(args)
        began = time.monotonic()
        connection = _spawn(config, owner)
    try:
        while True:
            message, _ = connection.receive()
            if message is None:
                log = pathlib.Path(config["log_dir"], "supervisor.log")
                raise ClusterError(f"the supervisor ended:\n{log.read_text()}")
            if _report(message, config):
                break
    except BaseException:
        # A second Ctrl-C must not interrupt the cleanup.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _abandon(connection)
        raise
    connection.close()
    kind = (f"{machine.title(config['machine'], config['armw'])} in virtual time"
            if config["machine"] else "several hosts" if config["hosts"] else config["accel"])
    say(f"cluster '{args.name}': {shape.count(config['axes'])} nodes as "
        f"{shape.text(config['axes'])}, {kind}, "
        f"up after {time.monotonic() - began:.1f} s")
    return 0


def kill(args):
    connection = wire.Connection.open(args.name, timeout=30)
    connection.request({"op": "kill", "node": args.node})
    return 0


def start(args):
    connection = wire.Connection.open(args.name, timeout=args.boot_timeout + 30)
    answer = connection.request({"op": "start", "node": args.node})
    say(f"  node {args.node}: agent ready after {answer['seconds']:.1f} s")
    return 0


def down(args):
    try:
        connection = wire.Connection.open(args.name, timeout=30)
    except ClusterError as error:
        say(f"{error}")
        return 0
    connection.request({"op": "down"})
    # The name is free again when the supervisor has ended.
    deadline = time.monotonic() + END_SECONDS
    while _is_up(args.name):
        if time.monotonic() > deadline:
            raise ClusterError("the supervisor does not end")
        time.sleep(0.02)
    return 0


def environment_of(words):
    """--env NAME=VALUE, or NAME for the value here."""
    env = {}
    for word in words:
        name, equals, value = word.partition("=")
        env[name] = value if equals else os.environ.get(name, "")
    return env
