# SPDX-License-Identifier: MIT
"""Hosts on one machine, for tests: namespaces of network, processes and mounts.

Each has its own /dev/shm, so nothing passes from one to another but by the
switch that they have a cable to. Host i has the address 10.77.0.<i + 1>, or with the
variable TOFU_IPV6=1 fd77::<i + 1>. What a host runs ends with it.
"""

import contextlib
import os
import pathlib
import signal
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
BRIDGE = pathlib.Path(os.environ.get("O", TOP / "build")).resolve() / "bin/tofu-bridge"

SLOW_SWITCH = pathlib.Path(__file__).with_name("slow-switch")
IPV6 = os.environ.get("TOFU_IPV6") == "1"
NETWORK, PREFIX = ("fd77::{}", 64) if IPV6 else ("10.77.0.{}", 24)
NAMES = "abcdefgh"
PORT = "eth0"
SWITCH = "switch"
LIMIT_SECONDS = 20

MPIRUN = ("--oversubscribe --allow-run-as-root --mca orte_keep_fqdn_hostnames 1 "
          f"--mca btl_tcp_if_include {PORT} --mca oob_tcp_if_include {PORT}").split()

# In place of ssh: the first argument is a name or an address, the rest a command.
SHELL = """#!/bin/sh
pid=$(sed -n "s/^$1 //p" "$(dirname "$0")/hosts")
[ -n "$pid" ] || { echo "no host $1" >&2; exit 255; }
shift
exec nsenter --target "$pid" --net --uts --pid --mount -- sh -c "$*"
"""


class Unable(Exception):
    """This machine or user cannot make namespaces."""


def run(*words):
    """Run a command of the system that has to succeed."""
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, text=True,
                          capture_output=True, timeout=LIMIT_SECONDS, check=False)
    if done.returncode:
        raise Unable(f"{' '.join(str(word) for word in words)}: {done.stderr.strip()}")
    return done.stdout


class Host:
    """A host, or the switch: the process that its namespaces live by."""

    def __init__(self, name, address=None):
        self.name, self.address = name, address
        self.listens = f"[{address}]" if IPV6 else address  # as a table has it
        # The holder says when it is ready; with the end of its input it ends, too.
        script = (f"mount -t tmpfs tmpfs /dev/shm && ip link set lo up && hostname {name} && "
                  "echo ready && read -r _")
        self.holder = subprocess.Popen(
            ["unshare", "--net", "--pid", "--fork", "--mount", "--mount-proc", "--uts",
             "--kill-child", "sh", "-c", script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            why = self.holder.communicate()[1].strip()
            raise Unable(why or "unshare ended")
        path = f"/proc/{self.holder.pid}/task/{self.holder.pid}/children"
        with open(path, encoding="ascii") as file:
            self.pid = int(file.read().split()[0])

    def words(self, *words):
        """A command, on this host."""
        return ["nsenter", "--target", str(self.pid), "--net", "--pid", "--mount", "--uts",
                f"--wd={os.getcwd()}", "--",
                *(str(word) for word in words)]

    def run(self, *words):
        """Run a command of the system here that has to succeed."""
        return run(*self.words(*words))

    def start(self, *words, **options):
        """Start a command here."""
        return subprocess.Popen(self.words(*words), stdin=subprocess.DEVNULL, **options)

    def end(self):
        """End all that runs here."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.holder.stdin.close()
        self.holder.wait(LIMIT_SECONDS)


class Hosts:
    """Some hosts, and a switch.

    It is a good one, or slow: then `slow`, or the variable TOFU_SLOW_SWITCH, has the
    milliseconds that a frame takes, and the percentage of those that are lost.
    """

    def __init__(self, count, slow=os.environ.get("TOFU_SLOW_SWITCH")):
        if not BRIDGE.exists():
            raise Unable("no tofu-bridge (scripts/setup bridge, make lib)")
        self.host, self.slow = [], None
        self.frames = []  # of a slow switch, at its end: how many came, and were lost
        self.switch = Host(SWITCH)
        try:
            self.switch.run("ip", "link", "add", SWITCH, "type", "bridge")
            self.switch.run("ip", "link", "set", SWITCH, "up")
            for number in range(count):
                self.host.append(Host(NAMES[number], NETWORK.format(number + 1)))
            if slow:
                self.connect_slowly(*slow.split(","))
            for host in self.host:
                if not slow:
                    self.connect(host)
                host.run("ip", "addr", "add", f"{host.address}/{PREFIX}", "dev", PORT,
                         *(["nodad"] if IPV6 else []))
                host.run("ip", "link", "set", PORT, "up")
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def __getitem__(self, number):
        return self.host[number]

    def connect(self, host):
        """Lay a cable to the switch."""
        run("ip", "link", "add", "name", PORT, "netns", host.pid, "type", "veth",
            "peer", "name", f"to-{host.name}", "netns", self.switch.pid)
        self.switch.run("ip", "link", "set", f"to-{host.name}", "master", SWITCH, "up")

    def connect_slowly(self, delay_ms, loss_percent):
        """Lay cables to a program that takes the place of the switch."""
        self.slow = subprocess.Popen(
            [SLOW_SWITCH, PORT, delay_ms, loss_percent,
             *(str(host.pid) for host in self.host)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.slow.stdout.readline().strip()
        if line != "ready":
            raise Unable(line or "the slow switch ended")

    def cut(self, one, other):
        """Cut the way between two hosts: what is sent does not arrive, and nobody says so."""
        for host, far in self.ends(one, other):
            host.run("ip", "neigh", "replace", far.address, "lladdr", "02:00:00:00:00:00", "dev",
                     PORT, "nud", "permanent")

    def mend(self, one, other):
        """Make a way whole that was cut."""
        for host, far in self.ends(one, other):
            host.run("ip", "neigh", "del", far.address, "dev", PORT)

    def ends(self, one, other):
        """Each of two hosts, with the other."""
        a, b = self.host[one], self.host[other]
        return (a, b), (b, a)

    def shell(self, folder):
        """A program that takes the place of ssh."""
        (folder / "hosts").write_text("".join(
            f"{host.name} {host.pid}\n{host.address} {host.pid}\n" for host in self.host))
        path = folder / "shell"
        path.write_text(SHELL)
        path.chmod(0o755)
        return path

    def mpirun(self, folder, shares, *words, named=False):
        """The words that run a program by Open MPI, with so many ranks on each host.

        Hosts have their addresses for names, or names that nobody finds an address for.

        It is not in the first host's namespaces of processes and mounts, from where it
        could not reach the others.
        """
        if IPV6:
            raise SystemExit("hosts: Open MPI's launcher has IPv4 addresses only: unset TOFU_IPV6")
        slots = ",".join(f"{host.name if named else host.address}:{count}"
                         for host, count in zip(self.host, shares))
        return [str(word) for word in [
            "nsenter", "--target", self.host[0].pid, "--net", "--uts", "--", "mpirun.openmpi",
            *MPIRUN, "-n", sum(shares), "--host", slots, "--mca", "plm_rsh_agent",
            self.shell(folder), *words]]

    def table(self, nodes):
        """What --hosts takes, with so many nodes on each."""
        return ",".join(f"{host.name}:{count}@{host.listens}"
                        for host, count in zip(self.host, nodes))

    def end(self):
        """End all hosts."""
        if self.slow:
            text, _ = self.slow.communicate(timeout=LIMIT_SECONDS)
            self.frames = [int(word) for word in text.split() if word.isdigit()]
            self.slow = None
        for host in [*self.host, self.switch]:
            host.end()


def shares(nodes, count):
    """Nodes for each of some hosts, as equal as can be."""
    return [nodes // count + (number < nodes % count) for number in range(count)]
