# SPDX-License-Identifier: MIT
"""Hosts on one machine, for tests: namespaces of network, processes and mounts.

Each has its own /dev/shm, so nothing passes from one to another but by
the cables between them: a veth pair for each two hosts. Host i has the address
10.77.0.<i + 1> on all of them. What a host runs ends with it.
"""

import contextlib
import os
import signal
import subprocess

NAMES = "abcdefgh"
LIMIT_SECONDS = 20


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
    """A host: the process that its namespaces live by."""

    def __init__(self, number):
        self.name = NAMES[number]
        self.address = f"10.77.0.{number + 1}"
        # The holder says when it is ready; with the end of its input it ends, too.
        script = ("mount -t tmpfs tmpfs /dev/shm && "
                  f"ip link set lo up && ip addr add {self.address}/32 dev lo && "
                  f"hostname {self.name} && echo ready && read -r _")
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


def cable(number):
    """The name of the cable to a host, at the others."""
    return f"to-{NAMES[number]}"


class Hosts:
    """Some hosts, each connected to each."""

    def __init__(self, count):
        self.host = []
        try:
            for number in range(count):
                self.host.append(Host(number))
            for one in range(count):
                for other in range(one + 1, count):
                    self.connect(one, other)
        except BaseException:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def __getitem__(self, number):
        return self.host[number]

    def connect(self, one, other):
        """Lay a cable."""
        a, b = self.host[one], self.host[other]
        run("ip", "link", "add", "name", cable(other), "netns", a.pid, "type", "veth",
            "peer", "name", cable(one), "netns", b.pid)
        for end, far, number in self.ends(one, other):
            end.run("ip", "link", "set", cable(number), "up")
            end.run("ip", "route", "add", f"{far.address}/32", "dev", cable(number), "src",
                    end.address)

    def cut(self, one, other):
        """Cut the cable between two hosts: what is sent does not arrive, and nobody says so."""
        for end, far, number in self.ends(one, other):
            end.run("ip", "neigh", "replace", far.address, "lladdr", "02:00:00:00:00:00", "dev",
                    cable(number), "nud", "permanent")

    def mend(self, one, other):
        """Make a cable whole that was cut."""
        for end, far, number in self.ends(one, other):
            end.run("ip", "neigh", "del", far.address, "dev", cable(number))

    def ends(self, one, other):
        """Both ends of a cable: a host, the host at the other end, and its number."""
        a, b = self.host[one], self.host[other]
        return (a, b, other), (b, a, one)

    def table(self, nodes):
        """What --hosts takes, with so many nodes on each."""
        return ",".join(f"{host.name}:{count}@{host.address}"
                        for host, count in zip(self.host, nodes))

    def end(self):
        """End all hosts."""
        for host in self.host:
            host.end()


def shares(nodes, count):
    """Nodes for each of some hosts, as equal as can be."""
    return [nodes // count + (number < nodes % count) for number in range(count)]
