# SPDX-License-Identifier: MIT
"""Times of tofu-halo: of exchanges that nodes begin at random phases."""

from . import tables

# Said on the page, and true of all exchanges
APART = (
    "In virtual time the exchanges of a run would all be in step, and two equal plans up to 11 % "
    "apart by how their first puts meet. So before each exchange every node waits a time of its "
    "own, {ns} ns at most, by chance and the same in each run (tofu-halo --phases). ")
# and of those whose row is the slowest node's
PHASES = APART + (
    "A time is the median of the exchanges of the slowest node, from its own start; ± is half the "
    "range of them.")


def phases(ns, exchanges):
    """Words of tofu-halo: how many exchanges are measured, and how far apart nodes begin."""
    return ("--phases", ns, "--iterations", exchanges)


def half_range(row):
    """Of a row's exchanges, by their median, in per cent"""
    times = row["times_us"]
    return 50 * (times["max"] - times["min"]) / row["time_us"]


def cell(row):
    """µs of a row; one exchange has no range."""
    if row["exchanges"] == 1:
        return f"{row['time_us']:.3f}"
    return tables.with_spread(row["time_us"], half_range(row))
