# SPDX-License-Identifier: MIT
"""Data that does not lie in one piece."""

from array import array

from mpi4py import MPI

from check import equal


def there_and_back(comm, data, kind, got, other):
    """Sends one element of a type, and receives one of the other."""
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    comm.Sendrecv([data, 1, kind], to, 0, [got, 1, other], source, 0)
    return source


def columns(comm):
    """a column that becomes a row"""
    for rows in 10, 300, 20_000:
        column = MPI.INT.Create_vector(rows, 1, 3).Commit()
        row = MPI.INT.Create_contiguous(rows).Commit()
        data = array("i", [n * 3 + comm.rank for n in range(rows * 3)])
        got = array("i", bytes(4 * rows))
        source = there_and_back(comm, data, column, got, row)
        equal(got, array("i", [n * 9 + source for n in range(rows)]))
        column.Free()
        row.Free()


def blocks(comm):
    """blocks of different lengths, at any places"""
    lengths, places = [5, 0, 1000, 3, 17_000], [90, 0, 100, 20, 2000]
    indexed = MPI.INT16_T.Create_indexed(lengths, places).Commit()
    data = array("h", [(n + comm.rank) % 30_000 for n in range(20_000)])
    got = array("h", [-1] * 20_000)
    source = there_and_back(comm, data, indexed, got, indexed)
    wanted = array("h", [-1] * 20_000)
    for length, place in zip(lengths, places):
        for n in range(place, place + length):
            wanted[n] = (n + source) % 30_000
    equal(got, wanted)
    indexed.Free()


def structures(comm):
    """structures of different types, several in a row"""
    one = MPI.Datatype.Create_struct([1, 2, 3], [0, 8, 24],
                                     [MPI.INT32_T, MPI.DOUBLE, MPI.CHAR]).Create_resized(0, 32)
    one.Commit()
    equal((one.extent, one.size), (32, 4 + 16 + 3))
    for count in 1, 100, 5000:
        data = bytearray(bytes([comm.rank + 1]) * 32 * count)
        got = bytearray(32 * count)
        to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        comm.Sendrecv([data, count, one], to, 0, [got, count, one], source, 0)
        s = bytes([source + 1])
        equal(bytes(got), (s * 4 + bytes(4) + s * 19 + bytes(5)) * count)
    one.Free()


def parts(comm):
    """a part of a cube"""
    inner = MPI.INT.Create_subarray([20, 30, 40], [10, 11, 12], [2, 3, 4]).Commit()
    data = array("i", [n + comm.rank for n in range(20 * 30 * 40)])
    got = array("i", bytes(4 * 20 * 30 * 40))
    source = there_and_back(comm, data, inner, got, inner)
    wanted = array("i", bytes(4 * 20 * 30 * 40))
    for x in range(2, 12):
        for y in range(3, 14):
            first = (x * 30 + y) * 40 + 4
            wanted[first:first + 12] = array("i", [n + source for n in range(first, first + 12)])
    equal(got, wanted)
    inner.Free()


def packed(comm):
    """what is packed by hand"""
    buffer = bytearray(MPI.INT.Pack_size(100, comm) + MPI.DOUBLE.Pack_size(100, comm))
    place = MPI.INT.Pack(array("i", range(comm.rank, comm.rank + 100)), buffer, 0, comm)
    place = MPI.DOUBLE.Pack(array("d", range(100)), buffer, place, comm)
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    got = bytearray(len(buffer))
    comm.Sendrecv([buffer, place, MPI.PACKED], to, 0, [got, place, MPI.PACKED], source, 0)
    ints, doubles = array("i", bytes(400)), array("d", bytes(800))
    place = MPI.INT.Unpack(got, 0, ints, comm)
    MPI.DOUBLE.Unpack(got, place, doubles, comm)
    equal((list(ints), list(doubles)), (list(range(source, source + 100)), list(range(100))))


CASES = [columns, blocks, structures, parts, packed]
