# SPDX-License-Identifier: MIT
"""What libtofu and its tools compute: asked, so that no formula is written twice."""

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
    """How many times the segmented exchange is as fast as the native one."""
    return neighbor_ns(machine, NATIVE, neighbors, engines, size) / \
        neighbor_ns(machine, SEGMENTED, neighbors, engines, size)


def published(machine):
    """Published times of SCALE-LES3: (set, k, scheduler, µs), as tofu-sched knows them."""
    command = [str(OUT / "bin/tofu-sched"), "--compare", "--json", "--machine", machine]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ReproError(f"{' '.join(command)}: {error}") from None
    return [(row["set"], row["k"], scheduler, us) for row in json.loads(done.stdout)["rows"]
            for scheduler, us in row["published_us"].items()]
