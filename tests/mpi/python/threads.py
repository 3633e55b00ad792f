# SPDX-License-Identifier: MIT
"""Several threads of a process send and receive at once."""

import threading
from array import array

from mpi4py import MPI

from check import equal

THREADS = 4


def run(function):
    """Calls function(thread) in each thread; what one raises, the caller raises."""
    errors = []

    def guarded(number):
        try:
            function(number)
        except Exception as error:  # pylint: disable=broad-except
            errors.append(error)

    crew = [threading.Thread(target=guarded, args=(n,)) for n in range(THREADS)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    if errors:
        raise errors[0]


def messages(comm):
    """messages of threads, told apart by their tags"""
    equal(MPI.Query_thread(), MPI.THREAD_MULTIPLE)
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size

    def talk(thread):
        for turn in range(20):
            mine = bytes([thread]) * (turn * 1000)
            request = comm.isend((comm.rank, turn, mine), to, thread)
            equal(comm.recv(source=source, tag=thread), (source, turn, mine))
            request.wait()

    run(talk)


def reductions(comm):
    """each thread a communicator of its own"""
    copies = [comm.Dup() for _ in range(THREADS)]

    def reduce(thread):
        for turn in range(20):
            got = array("i", [0] * 500)
            copies[thread].Allreduce(array("i", [thread + turn] * 500), got)
            equal(got, array("i", [(thread + turn) * comm.size] * 500))

    run(reduce)
    for copy in copies:
        copy.Free()


CASES = [messages, reductions]
