# SPDX-License-Identifier: MIT
"""What Python programs do through mpi4py, over whatever carries their MPI.

  tests/mpi/launch python threads -n 4            over Tofu
  mpirun -n 4 python3 tests/mpi/python threads    over anything else

The first word says what part. Open MPI has no windows by messages where several threads
may call it, and its mtl/ofi never ends a synchronous send that a matching probe has
found, as mpi4py's workers do by default: so there are two parts.

  threads   messages, collectives, communicators, datatypes, threads
  one       windows and workers, with one thread that calls MPI, and plain probes

With more words, only cases are run whose names have one of them.

Each rank runs each case, in the same order, on a communicator that is the case's own;
rank 0 prints TAP. A case is a function that raises where something is wrong. They use
what the other tests of this folder, in C, do not: objects, whose length the receiver
learns by a probe, several threads, workers.

Calls and types: https://mpi4py.readthedocs.io
"""

import importlib
import sys
import traceback

import mpi4py

PARTS = {"threads": ["messages", "collectives", "communicators", "datatypes", "objects",
                     "threads"],
         "one": ["windows", "workers"]}


def cases(part, words):
    for module in map(importlib.import_module, PARTS[part]):
        for function in module.CASES:
            name = f"{module.__name__}: {function.__doc__}"
            if not words or any(word in name for word in words):
                yield name, function


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in PARTS:
        sys.exit("usage: python3 tests/mpi/python threads|one [WORD]...")
    if sys.argv[1] == "one":
        mpi4py.rc.thread_level = "serialized"
        mpi4py.rc.recv_mprobe = False
    from mpi4py import MPI  # pylint: disable=import-outside-toplevel
    world = MPI.COMM_WORLD
    if world.size < 3:
        sys.exit("tests/mpi/python: needs three ranks or more (-n 4)")
    failed = number = 0
    if world.rank == 0:
        print("TAP version 13", flush=True)
    for number, (name, function) in enumerate(cases(sys.argv[1], sys.argv[2:]), 1):
        comm = world.Dup()
        problem = ""
        try:
            function(comm)
        except Exception:  # pylint: disable=broad-except
            # Others may wait for this rank for ever: say why before they are ended.
            problem = f"rank {world.rank}: {traceback.format_exc()}"
            print(problem, file=sys.stderr, flush=True)
        problems = [text for text in world.gather(problem) or [] if text]
        comm.Free()
        if world.rank == 0:
            failed += bool(problems)
            for line in "\n".join(problems).splitlines():
                print(f"# {line}")
            print(f"{'not ok' if problems else 'ok'} {number} - {name}", flush=True)
    if world.rank == 0:
        print(f"1..{number}", flush=True)
    return 1 if failed else 0


sys.exit(main())
