# SPDX-License-Identifier: MIT
"""Workers, which one rank gives tasks."""

from array import array

from mpi4py import MPI
from mpi4py.futures import MPICommExecutor

from check import equal


def square(number):
    return number * number


def fails(number):
    raise ValueError(f"number {number}")


def workers(comm):
    """workers that are given tasks, and their errors"""
    with MPICommExecutor(comm, root=0) as pool:
        if pool is None:
            return
        equal(list(pool.map(square, range(200), chunksize=7)), [n * n for n in range(200)])
        equal(sum(len(part) for part in pool.starmap(bytes_of, [(n,) for n in range(50)])),
              sum(n * 1000 for n in range(50)))
        try:
            pool.submit(fails, 7).result(timeout=60)
        except ValueError as error:
            equal(str(error), "number 7")
        else:
            raise AssertionError("the task's error is lost")


def bytes_of(number):
    return bytes(number * 1000)


def sums(comm):
    """the middle of a long computation: blocks there, sums back"""
    blocks = 20
    if comm.rank == 0:
        numbers = array("d", range(blocks * 1000))
        ranks = range(1, comm.size)
        requests = [comm.Isend(numbers[block * 1000:(block + 1) * 1000],
                               ranks[block % len(ranks)], block) for block in range(blocks)]
        got = sum(comm.recv(source=MPI.ANY_SOURCE) for _ in range(blocks))
        MPI.Request.Waitall(requests)
        equal(got, sum(numbers))
        return
    for block in range(comm.rank - 1, blocks, comm.size - 1):
        part = array("d", bytes(8000))
        comm.Recv(part, 0, block)
        comm.send(sum(part), 0)


CASES = [workers, sums]
