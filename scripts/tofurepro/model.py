# SPDX-License-Identifier: MIT
"""Results of libtofu and its tools, so that no formula is written twice."""

import ctypes
import functools
import json
import os
import pathlib
import subprocess

from .errors import ReproError

TOP = pathlib.Path(__file__).resolve().parents[2]
OUT = pathlib.Path(os.environ.get("O") or TOP / "build")
NATIVE, SEGMENTED = 1, 2
NEVER = 2 ** 64 - 1
ANY_SIZE = 2 ** 64 - 1


@functools.cache
def _library():
    path = OUT / "lib/libtofu.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ReproError(f"{error}: run make lib") from None
    library.tofu_neighbor_model_ns.restype = ctypes.c_uint64
    library.tofu_neighbor_model_ns.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint,
                                               ctypes.c_uint, ctypes.c_uint64]
    library.tofu_neighbor_crossover.restype = ctypes.c_uint64
    library.tofu_neighbor_crossover.argtypes = [ctypes.c_char_p, ctypes.c_uint, ctypes.c_uint]
    return library


def neighbor_ns(machine, algorithm, neighbors, engines, size):
    """tofu_neighbor_model_ns()"""
    return _library().tofu_neighbor_model_ns(machine.encode(), algorithm, neighbors, engines,
                                             size)


def crossover(machine, neighbors, engines):
    """tofu_neighbor_crossover(); None for never"""
    size = _library().tofu_neighbor_crossover(machine.encode(), neighbors, engines)
    return None if size == NEVER else size


def gain(machine, neighbors, engines, size):
    """Speedup of the segmented exchange over the native one."""
    return neighbor_ns(machine, NATIVE, neighbors, engines, size) / \
        neighbor_ns(machine, SEGMENTED, neighbors, engines, size)


def _answer(tool, *words, given=None):
    """The output of a tool here."""
    command = [str(OUT / "bin" / tool), *words, "--json"]
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=60,
                              check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ReproError(f"{' '.join(command)}: {error}") from None
    return json.loads(done.stdout)


def published(machine):
    """Published times of SCALE-LES3: (set, k, scheduler, µs), as tofu-sched knows them."""
    return [(row["set"], row["k"], scheduler, us)
            for row in _answer("tofu-sched", "--compare", "--machine", machine)["rows"]
            for scheduler, us in row["published_us"].items()]


def p2p_need(peers, *words):
    """tofu_p2p_need(), as tofu-p2p shows it: a dictionary for each mode and number of peers."""
    return _answer("tofu-p2p", "--test", "need", "--peers", ",".join(map(str, peers)),
                   *words)["rows"]


def p2p_thresholds(machine):
    """Sizes up to which messages are eager, and got, on a machine."""
    return _answer("tofu-p2p", "--test", "need", "--peers", "1", "--machine",
                   machine)["thresholds"]


def line_beside(pairs, formula, machine, group, *more):
    """A line through (bytes, µs) beside that of a formula, as tofu-model compare has them.

    Of both: b_mbs, half_bytes, t0_us.
    """
    text = "".join(f"{size} {us}\n" for size, us in pairs)
    answer = _answer("tofu-model", "compare", "--output", os.devnull, "--machine", machine,
                     "--shape", group, *more, f"{formula}=-", given=text)[0]
    return answer["model"], answer["measured"]


def coll_us(kind, algorithm, machine, group, size):
    """Time of a collective by formula; a barrier has no size."""
    bytes_ = () if size is None else ("--bytes", str(size))
    answer = _answer("tofu-model", "time", "--machine", machine, "--shape", group, "--kind", kind,
                     "--algorithm", algorithm, *bytes_)
    return answer["times"][0]["us"][algorithm]
