# SPDX-License-Identifier: MIT
"""What each free value of the machine model does to each figure."""

import dataclasses

from .. import halo
from ..experiment import Experiment, Tables, Text
from ..measure import Simulated
from ..tables import Sheet, Table
from .figures import FUGAKU_UNIT, Perf
from .scale import PHASES, PROCS, SHAPE

TITLE = "by how much a figure changes when a value is halved / doubled, per cent"
# Smaller changes are not shown, per cent.
LEAST = 0.05
EXCHANGES = 9


@dataclasses.dataclass(frozen=True)
class Probe:
    """A figure that a value may change: `value` finds it in what `program` prints."""
    name: str
    shape: str
    program: tuple
    value: object


def _perf(*words):
    return Perf(words).words()


def _latency(answer):
    return answer["results"][0]["latency_us"]["median"]


def _interval(answer):
    return 1e6 / answer["results"][0]["commands_per_s"]


def _time(answer):
    return answer["rows"][0]["time_us"]


def _neighbor(procs, neighbors, tnis, algorithm, size):
    return ("halo", "--json", "--pattern", "neighbor", "--procs", procs, "--neighbors", neighbors,
            "--tnis", tnis, "--algorithm", algorithm, "--bytes", size, "--warmup", 1,
            *halo.phases(PHASES, EXCHANGES), "--no-verify")


def _scale(grid):
    return Probe(f"SCALE-LES3, k = {grid}", SHAPE,
                 ("halo", "--json", "--procs", PROCS, "--grid", grid, "--warmup", 1,
                  *halo.phases(PHASES, EXCHANGES), "--no-verify"), _time)


def _all(tnis):
    engines = f"{tnis} engine{'s' * (tnis > 1)}"
    return Probe(f"256 KiB to all by {engines}", FUGAKU_UNIT,
                 _neighbor(12, 11, tnis, "native", "256K"), _time)


PROBES = {
    "k": (Probe("put of 8 B", "2", _perf("--op", "put", "--size", 8), _latency),
          Probe("get of 8 B", "2", _perf("--op", "get", "--size", 8), _latency),
          Probe("a put of many", "2", _perf("--op", "put", "--size", 8, "--window", 8), _interval),
          Probe("put of 1 MiB", "2", _perf("--op", "put", "--size", "1M"), _latency),
          Probe("64 KiB to 6 neighbours", FUGAKU_UNIT, _neighbor("2x3x2", 6, 4, "segmented", "64K"),
                _time),
          _scale(60), _scale(872)),
    "fugaku": (Probe("best put of 8 B", "2", _perf("--op", "put", "--size", 8, "--inject"),
                     _latency),
               Probe("put of 16 B", "2", _perf("--op", "put", "--size", 16, "--from-memory"),
                     _latency),
               Probe("get of 16 B", "2", _perf("--op", "get", "--size", 16, "--from-memory"),
                     _latency),
               Probe("ARMW", "2", _perf("--op", "armw", "--size", 8, "--from-memory"), _latency),
               Probe("a put of many", "2", _perf("--op", "put", "--size", 1024, "--window", 8),
                     _interval),
               _all(1), _all(6)),
}
# Values whose source is not a publication of them: chosen, assumed or calibrated
VALUES = {
    "k": ("control", "credits", "buffers", "hop_ns", "work_percent", "store_ns", "doorbell_ns",
          "fetch_ns", "read_ns", "send_ns", "receive_ns", "write_ns", "reply_ns", "command_ns",
          "tni_both_mbs", "host_header"),
    "fugaku": ("credits", "buffers", "hop_ns", "work_percent", "store_ns", "doorbell_ns",
               "fetch_ns", "read_ns", "send_ns", "receive_ns", "write_ns", "inject_ns", "reply_ns",
               "atomic_ns", "command_ns", "tni_both_mbs", "host_header"),
}
FACTORS = ("50%", "200%")


def _calls(machine):
    """Each probe as the machine is, and then with each value halved and doubled."""
    for probe in PROBES[machine]:
        yield probe.shape, probe.program
    for value in VALUES[machine]:
        for factor in FACTORS:
            for probe in PROBES[machine]:
                yield probe.shape, probe.program, f"{value}={factor}"


def _change(now, before):
    percent = 100 * (now / before - 1)
    return f"{percent:+.1f}" if abs(percent) >= LEAST else "0"


class Sensitivity(Experiment):
    """Figures of K and Fugaku, with each free value of the model halved and doubled."""
    name = "sensitivity"
    title = "What the free values of the model decide"
    runs = tuple(Simulated(f"sensitivity-{machine}", machine, tuple(_calls(machine)))
                 for machine in PROBES)
    sources = tuple(run.name for run in runs)

    def sheet(self, run, answers):
        probes = PROBES[run.machine]
        answers = iter(answers)
        base = [probe.value(next(answers)) for probe in probes]
        changes = {value: [[_change(probe.value(next(answers)), before)
                            for probe, before in zip(probes, base)] for _ in FACTORS]
                   for value in VALUES[run.machine]}
        rows = [["as it is, µs", *(f"{us:.3f}" for us in base)]]
        rows += [[value, *map(" / ".join, zip(*both))] for value, both in changes.items()]
        return Sheet(run.name, [f"{run.machine}; virtual time of tofu-sim"],
                     [Table(TITLE, ["value", *(probe.name for probe in probes)], rows)])

    def section(self, sheets):
        yield Text(
            "A value without a source of its own was chosen, assumed or calibrated "
            "(qemu-device/net/machine.c says which). Here each is halved and doubled alone, with "
            "all others as they are; the library plans as before. Where a row has nothing but "
            "small numbers, its value could be another one and no figure would tell.")
        for run in self.runs:
            if run.name in sheets:
                yield Text(f"{run.machine}:")
                yield Tables(sheets[run.name].tables)
