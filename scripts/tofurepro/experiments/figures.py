# SPDX-License-Identifier: MIT
"""The machine model against published figures, measured with tofu-perf and tofu-p2p."""

import dataclasses

from ..experiment import Experiment, Tables, Text
from ..measure import Simulated
from ..tables import Sheet, Table

FUGAKU_UNIT = "1x1x1x2x3x2"
# Nodes of the unit, by their hops from node 0: along C, along B and C, along
# all
AT_HOPS = {1: 1, 2: 3, 3: 9}
WINDOW = 8


@dataclasses.dataclass(frozen=True)
class Perf:
    """A call of tofu-perf."""
    arguments: tuple

    def words(self):
        return ("tofu-perf", "--json", "--no-phases", *map(str, self.arguments))


@dataclasses.dataclass(frozen=True)
class Message:
    """Messages of one size through tofu-p2p, one by one."""
    size: int

    def words(self):
        return ("tofu-p2p", "--json", "--mode", "fast", "--bytes", str(self.size),
                "--iterations", "101", "--messages", "2")


@dataclasses.dataclass(frozen=True)
class Figure:
    """A published figure and its counterpart.

    `low` and `high` are the published values, a range or the same number twice;
    `within` is the permitted deviation of the model in per cent. `value`
    computes the number from the results of `calls`.
    """
    group: str
    name: str
    unit: str
    low: float
    high: float
    within: float
    calls: tuple
    value: object
    digits: int = 3


def _latency(results):
    return results[0]["results"][0]["latency_us"]["median"]


def _message(results):
    return results[0]["rows"][0]["latency_us"]


def _interval(results):
    return 1e6 / results[0]["results"][0]["commands_per_s"]


def _gbs(results):
    return results[0]["results"][0]["mb_per_s"] / 1000


def _pingpong(results):
    one = results[0]["results"][0]
    return one["bytes"] / one["latency_us"]["median"] / 1000


def _ratio(results):
    return (results[1]["results"][0]["mb_per_s"] /
            results[0]["results"][0]["mb_per_s"])


def _put(size, *more):
    return Perf(("--op", "put", "--size", size, "--window", WINDOW, *more))


def _by_hops():
    published = {
        ("put", 1): (0.97, 0.99), ("put", 2): (1.04, 1.08), ("put", 3): (1.13, 1.13),
        ("get", 1): (1.48, 1.51), ("get", 2): (1.64, 1.66), ("get", 3): (1.80, 1.80),
        ("armw", 1): (1.32, 1.35), ("armw", 2): (1.48, 1.50), ("armw", 3): (1.63, 1.63),
    }
    names = {"put": "put of 16 B, one way", "get": "get of 16 B, round trip",
             "armw": "ARMW of 8 B, round trip"}
    for (op, hops), (low, high) in published.items():
        call = Perf(("--op", op, "--size", 8 if op == "armw" else 16, "--to", AT_HOPS[hops],
                     "--from-memory"))
        yield Figure("Fugaku, by hops, from memory", f"{names[op]}, {hops} hop{'s' * (hops > 1)}",
                     "µs", low, high, 8, (call,), _latency)


def _best(machine, published):
    """A put of 8 bytes, all in its descriptor, into the cache"""
    call = Perf(("--op", "put", "--size", 8, "--inject"))
    return Figure(f"{machine}, the best put", "8 B, one way", "µs", published, published, 8,
                  (call,), _latency)


def _by_size():
    for size, low, high in ((1024, 3.49, 3.49), (4096, 6.18, 6.18), (16384, 6.30, 6.34),
                            (65536, 6.30, 6.34), (1 << 20, 6.30, 6.34)):
        yield Figure("Fugaku, puts with 8 in flight", f"{size} B", "GB/s", low, high, 5,
                     (_put(size),), _gbs)
    for size in (65536, 1 << 20):
        fit = 1.23 + size / 6360
        yield Figure("Fugaku, time of a put: 1.23 µs + B / 6.36 GB/s", f"{size} B", "µs",
                     round(fit, 2), round(fit, 2), 5, (_put(size),), _latency, 2)


def _by_engines():
    base = _put(1 << 20)
    for tnis in (2, 3, 4, 6):
        yield Figure("Fugaku, one peer by several TNIs", f"{tnis} TNIs, to one", "×", 1.0, 1.0, 5,
                     (base, _put(1 << 20, "--tnis", tnis)), _ratio, 2)


def _k():
    call = Perf(("--op", "put", "--size", 8, "--window", WINDOW))
    yield Figure("K, a put costs the processor", "8 B, 8 in flight", "µs", 1, 1, 8, (call,),
                 _interval)
    for size in (1 << 20, 4 << 20):
        yield Figure("K, ping-pong of puts", f"{size} B", "GB/s", 4.75, 4.75, 5, (_put(size),),
                     _pingpong)
    group = "K, messages: 1.6 µs, longer ones 6.965 µs + B / 4.5 GB/s"
    yield Figure(group, "8 B", "µs", 1.6, 1.6, 8, (Message(8),), _message)
    long = round(6.965 + (1 << 20) / 4500, 1)
    yield Figure(group, f"{1 << 20} B", "µs", long, long, 8, (Message(1 << 20),), _message, 1)


OF_MACHINE = {"fugaku": (_best("Fugaku", 0.49), *_by_hops(), *_by_size(), *_by_engines()),
              "fx100": (_best("FX100", 0.71),), "k": tuple(_k())}
SHAPES = {"fugaku": FUGAKU_UNIT, "fx100": "2", "k": "2"}
COLUMNS = ["what", "figure", "model", "off by", "allowed", "within"]


def _calls(machine):
    return tuple(dict.fromkeys(call for figure in OF_MACHINE[machine] for call in figure.calls))


def _row(figure, model):
    published = f"{figure.low:g}" if figure.low == figure.high else \
        f"{figure.low:g}-{figure.high:g}"
    off = 100 * (model / min(max(model, figure.low), figure.high) - 1)
    return [figure.name, f"{published} {figure.unit}", f"{model:.{figure.digits}f} {figure.unit}",
            f"{off:+.1f} %", f"{figure.within:g} %",
            "yes" if abs(off) <= figure.within else "no"]


class Figures(Experiment):
    """Times and bandwidths of single transfers."""
    name = "figures"
    title = "The machine model and published figures"
    runs = tuple(Simulated(f"figures-{machine}", machine,
                           tuple((shape, call.words()) for call in _calls(machine)))
                 for machine, shape in SHAPES.items())
    sources = tuple(run.name for run in runs)

    def sheet(self, run, answers):
        results = dict(zip(_calls(run.machine), answers))
        tables = {}
        for figure in OF_MACHINE[run.machine]:
            table = tables.setdefault(figure.group, Table(figure.group, COLUMNS, []))
            value = figure.value([results[call] for call in figure.calls])
            table.rows.append(_row(figure, value))
        note = f"{run.machine}, {run.nodes()} nodes ({run.shape}); virtual time"
        return Sheet(run.name, [note], list(tables.values()))

    def section(self, sheets):
        yield Text("Single transfers, measured with tofu-perf, and messages, with tofu-p2p. The "
                   "model was calibrated to some of these figures; Documentation/timing.rst says "
                   "to which, and what they cannot decide.")
        for run in self.runs:
            if run.name in sheets:
                yield Tables(sheets[run.name].tables)
