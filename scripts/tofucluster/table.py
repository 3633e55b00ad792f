# SPDX-License-Identifier: MIT
"""The table of a cluster's hosts: NAME[:NODES][@ADDRESS[:PORT]], the first nodes first."""

import concurrent.futures
import os
import pathlib
import subprocess

from .errors import ClusterError

ASK_SECONDS = 30


class Place:
    """A line of the table: a host and its nodes, none if it does not say how many."""

    def __init__(self, word):
        head, self._at, self._address = word.partition("@")
        self.name, colon, count = head.partition(":")
        self.first, self.nodes = 0, 0
        if colon and count.isdigit():
            self.nodes = int(count)
        if not self.name or (colon and not self.nodes):
            raise ClusterError(f"--hosts: '{word}': a host is NAME, NAME:NODES, or one of them "
                               "with @ADDRESS, by which the others reach it")

    def text(self):
        """The line, as bridges understand it."""
        return f"{self.name}:{self.nodes}{self._at}{self._address}"


def places(table):
    """The hosts of a table: a list, or a file where it has a slash."""
    if "/" in table:
        try:
            text = pathlib.Path(table).read_text("utf-8")
        except OSError as error:
            raise ClusterError(f"--hosts: {table}: {error.strerror}") from None
        words = [line.partition("#")[0].strip() for line in text.splitlines()]
    else:
        words = table.split(",")
    found = [Place(word) for word in words if word]
    if not found:
        raise ClusterError(f"--hosts: '{table}' names no host")
    number(found)
    return found


def number(found):
    """Give the hosts their first nodes."""
    first = 0
    for place in found:
        place.first = first
        first += place.nodes


def _processors(name, ssh):
    """How many a host has; `ssh` reaches it, and is None for this one."""
    if ssh is None:
        return len(os.sched_getaffinity(0))
    try:
        done = subprocess.run([*ssh, name, "nproc"], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=ASK_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ClusterError(f"host {name}: no answer after {ASK_SECONDS} s") from None
    except OSError as error:
        raise ClusterError(f"host {name}: {ssh[0]}: {error.strerror}") from None
    if done.returncode or not done.stdout.strip().isdigit():
        raise ClusterError(f"host {name}: {done.stderr.strip() or 'no answer'}")
    return int(done.stdout)


def _shares(nodes, weights):
    """Numbers for some weights, in proportion, each at least 1."""
    shares = [1] * len(weights)
    for _ in range(nodes - len(weights)):
        # Who has most for each node gets the next.
        least = max(range(len(weights)), key=lambda i: weights[i] / (shares[i] + 1))
        shares[least] += 1
    return shares


def complete(found, nodes, own, ssh):
    """Share out the nodes of a machine that no host has, by processors."""
    without = [place for place in found if not place.nodes]
    left = nodes - sum(place.nodes for place in found)
    if left < len(without):
        raise ClusterError(f"--hosts: {nodes} nodes are too few for its {len(found)} hosts")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        weights = list(pool.map(
            lambda place: _processors(place.name, None if place.name == own else ssh), without))
    for place, share in zip(without, _shares(left, weights)):
        place.nodes = share
    number(found)
