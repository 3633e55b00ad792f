# SPDX-License-Identifier: MIT
"""Objects whose buffers are messages of their own."""

import pickle

from mpi4py.util import pkl5

from check import equal


class Buffer:
    """An object whose bytes are not copied into its pickle."""

    def __init__(self, data):
        self.data = data

    def __reduce_ex__(self, protocol):
        return Buffer, (pickle.PickleBuffer(self.data),)

    def __eq__(self, other):
        return bytes(self.data) == bytes(other.data)


def beside(comm):
    """objects with buffers beside them"""
    fast = pkl5.Intracomm(comm)
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for length in 0, 10, 70_000, 2_000_000:
        mine = [Buffer(bytearray([comm.rank]) * length), "and", Buffer(bytearray(b"more"))]
        theirs = [Buffer(bytearray([source]) * length), "and", Buffer(bytearray(b"more"))]
        request = fast.isend(mine, to)
        equal(fast.recv(source=source), theirs)
        request.wait()
        equal(fast.sendrecv(mine, to, source=source), theirs)
        first = [Buffer(bytearray(1) * length), "and", Buffer(bytearray(b"more"))]
        equal(fast.bcast(mine if comm.rank == 0 else None), first)


CASES = [beside]
