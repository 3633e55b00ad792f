# SPDX-License-Identifier: MIT
"""A published suite of programs on a unit of Fugaku, 12 nodes."""

import statistics

from ..experiment import Experiment, Tables, Text
from ..measure import Simulated, program
from ..tables import Sheet, Table
from .figures import FUGAKU_UNIT

MACHINE = "fugaku"
NODES = 12
COLUMNS = ["what", "published", "measured", "off by"]
SPREAD = [*COLUMNS, "±"]
PUT, GET = "a put to a neighbour, one way, µs", "gets with 8 in flight, GB/s"
ALLGATHER = "a block from each node to each other, µs"
ALLTOALL = "some 2 MiB from each node to each other, µs"
# Bytes, and what is published
PUTS = ((2080, 1.56), (4160, 1.83), (8320, 2.49), (16640, 3.81), (33280, 6.75), (66560, 11.70))
GETS = ((1 << 10, 3.48), (4 << 10, 6.12), (16 << 10, 6.28), (64 << 10, 6.35))
# Each put ends before the next one is posted; all are posted at once; around the ring
EACH, ALL, RING = "each", "all", "ring"
# By bytes: form, engines, published. The suite gives some as ratios of others.
BLOCKS = {1 << 10: ((EACH, 1, 14.99), (ALL, 6, 4.93), (RING, 1, 15.68)),
          256 << 10: ((EACH, 1, 1160), (ALL, 1, 1160), (ALL, 2, 1027), (ALL, 3, 522),
                      (ALL, 6, 436), (RING, 1, 470))}
# Bytes of a token, of which each node sends 88 to 214 to each other
TOKEN = 12288
TOKENS = ((EACH, 1, 10531), (ALL, 1, 10464), (ALL, 2, 7365), (ALL, 3, 4703), (ALL, 4, 3720),
          (ALL, 6, 3500))
FORMS = {EACH: "one by one", ALL: "all at once", RING: "ring"}
# A figure is the median of so many runs, in which the nodes begin at other times. That of a run is
# the mean of rounds; by how much is sent in one
SEEDS = 3
ROUNDS = {1 << 10: 50, 256 << 10: 25, TOKEN: 4}
# No figure is further off than that, per cent; of all nodes at once, where the suite's own scatter
CLOSE, CLOSE_ALL = 15, 30


def _perf(op, sizes, *more):
    return (FUGAKU_UNIT, ("perf", "--json", "--no-phases", "--op", op, "--size",
                          ",".join(str(size) for size, _ in sizes), *more))


def _suite(kind, size, form, tnis):
    """Calls of programs/unit.c"""
    for seed in range(SEEDS):
        yield (FUGAKU_UNIT, (program("unit"), RING if form == RING else kind, size,
                             ALL if form == ALL else EACH, tnis, ROUNDS[size], seed))


def _row(what, published, measured):
    return [what, f"{published:g}", f"{measured:.2f}", f"{100 * (measured / published - 1):+.1f} %"]


def _spread_row(what, published, times):
    """Of the runs from all seeds: median, and half the range in per cent of it"""
    middle = statistics.median(times)
    return [*_row(what, published, middle), f"{50 * (max(times) - min(times)) / middle:.1f}"]


def _name(form, tnis):
    if form == RING:
        return FORMS[form]
    return f"{tnis} TNI{'s' * (tnis > 1)}, {FORMS[form]}"


def _tables(puts, gets, *suite):
    latency = {row["bytes"]: row["latency_us"]["median"] for row in puts["results"]}
    rate = {row["bytes"]: row["mb_per_s"] / 1000 for row in gets["results"]}
    all_times = [answer["time_us"] for answer in suite]
    times = iter(all_times[i:i + SEEDS] for i in range(0, len(all_times), SEEDS))
    yield Table(PUT, COLUMNS, [_row(f"{size} B", known, latency[size]) for size, known in PUTS])
    yield Table(GET, COLUMNS, [_row(f"{size} B", known, rate[size]) for size, known in GETS])
    yield Table(ALLGATHER, SPREAD, [
        _spread_row(f"{size >> 10} KiB, {_name(form, tnis)}", known, next(times))
        for size, ways in BLOCKS.items() for form, tnis, known in ways])
    yield Table(ALLTOALL, SPREAD, [_spread_row(_name(form, tnis), known, next(times))
                                   for form, tnis, known in TOKENS])


class Unit(Experiment):
    """Puts, gets, all-gather and all-to-all of 12 nodes, beside published means."""
    name = "unit"
    title = "A unit of Fugaku: 12 nodes"
    runs = (Simulated("unit", MACHINE, (
        _perf("put", PUTS, "--from-memory"), _perf("get", GETS, "--window", 8),
        *(call for size, ways in BLOCKS.items() for form, tnis, _ in ways
          for call in _suite("gather", size, form, tnis)),
        *(call for form, tnis, _ in TOKENS for call in _suite("to-all", TOKEN, form, tnis)))),)
    sources = ("unit",)

    def sheet(self, run, answers):
        note = f"{run.machine}, {run.nodes()} nodes ({run.shape}), one process each; virtual time"
        return Sheet(run.name, [note], list(_tables(*answers)))

    def section(self, sheets):
        yield Text(
            "Published means of thousands of rounds; here of some. All-gather and all-to-all are "
            "programs as the suite has them (tests/repro/programs/unit.c): each node puts to the "
            "11 others, from the next on, put i by engine i mod n. One by one, a put has its local "
            "completion before the next is posted. A round ends when all data of others has come, "
            "and there is no barrier, so nodes need not stay in step. 256 KiB by 2 and 3 TNIs, and "
            "2 MiB one by one, are computed from published ratios. The 2 MiB are "
            "256 tokens a node for 8 of 256 experts by chance: 1.1 to 2.6 MB to each other. "
            f"The last two tables have medians of {SEEDS} runs, in which the nodes begin at other "
            "times; ± is half their range, in per cent.")
        yield Tables(sheets["unit"].tables)

    def complaints(self, sheets):
        for table in sheets["unit"].tables if "unit" in sheets else ():
            close = CLOSE_ALL if table.title in (ALLGATHER, ALLTOALL) else CLOSE
            for row, off in zip(table.rows, table.numbers("off by")):
                if abs(off) > close:
                    yield f"{table.title}: {row[0]}: more than {close} % from what is published"
