# SPDX-License-Identifier: MIT
"""Parts of all ranks, and bridges between parts."""

import os
from array import array

from mpi4py import MPI

from check import equal


def split(comm):
    """halves in reverse order, and a part of nobody"""
    half = comm.Split(comm.rank % 2, -comm.rank)
    ranks = sorted((r for r in range(comm.size) if r % 2 == comm.rank % 2), reverse=True)
    equal(half.allgather(comm.rank), ranks)
    half.Free()
    part = comm.Split(MPI.UNDEFINED if comm.rank == 1 else 0)
    equal(part == MPI.COMM_NULL, comm.rank == 1)
    if comm.rank != 1:
        equal(part.allreduce(1), comm.size - 1)
        part.Free()


def groups(comm):
    """a communicator of a group, which only its members make"""
    group = comm.Get_group().Excl([0])
    if comm.rank:
        part = comm.Create_group(group, 5)
        equal(part.allgather(comm.rank), list(range(1, comm.size)))
        equal(MPI.Comm.Compare(part, comm), MPI.UNEQUAL)
        part.Free()
    group.Free()


def apart(comm):
    """the same tag on many communicators"""
    copies = [comm.Dup() for _ in range(8)]
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    requests = [copy.isend(n, to, 0) for n, copy in enumerate(copies)]
    for n in reversed(range(8)):
        equal(copies[n].recv(source=source, tag=0), n)
    MPI.Request.waitall(requests)
    for copy in copies:
        copy.Free()


def duplicated(comm):
    """copies that are made while others work"""
    made = [comm.Idup() for _ in range(3)]
    comm.barrier()
    for copy, request in reversed(made):
        request.Wait()
        equal(copy.allreduce(copy.rank), comm.size * (comm.size - 1) // 2)
        copy.Free()


def grids(comm):
    """a grid, its neighbours, its rows"""
    shape = MPI.Compute_dims(comm.size, 2)
    grid = comm.Create_cart(shape, periods=[True, False], reorder=True)
    equal(grid.Get_cart_rank(grid.coords), grid.rank)
    source, to = grid.Shift(0, 1)
    equal(grid.sendrecv(grid.coords, to, source=source), grid.Get_coords(source))
    _, to = grid.Shift(1, shape[1])
    equal(to, MPI.PROC_NULL)
    row = grid.Sub([False, True])
    equal(row.allgather(grid.coords), [[grid.coords[0], y] for y in range(shape[1])])
    row.Free()
    grid.Free()


def bridges(comm):
    """a bridge between two parts: messages, broadcasts, and merged"""
    low = comm.rank < comm.size // 2
    part = comm.Split(0 if low else 1, comm.rank)
    across = part.Create_intercomm(0, comm, comm.size // 2 if low else 0, 3)
    equal((across.is_inter, across.remote_size), (True, comm.size - part.size))
    if part.rank == 0:
        equal(across.sendrecv(("from", comm.rank), 0, source=0),
              ("from", comm.size // 2 if low else 0))
    equal(across.allgather(comm.rank),
          list(range(comm.size // 2, comm.size)) if low else list(range(comm.size // 2)))
    data = array("i", [7] * 1000 if comm.rank == 0 else [0] * 1000)
    if low:
        across.Bcast(data, MPI.ROOT if comm.rank == 0 else MPI.PROC_NULL)
    else:
        across.Bcast(data, 0)
        equal(data, array("i", [7] * 1000))
    merged = across.Merge(high=low)
    equal(merged.allgather(comm.rank),
          list(range(comm.size // 2, comm.size)) + list(range(comm.size // 2)))
    for made in merged, across, part:
        made.Free()


def hosts(comm):
    """those that share memory are on one host"""
    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    name = MPI.Get_processor_name()
    equal(here.allgather(name), [name] * here.size)
    here.Free()


def settle(comm, file):
    """From here on all read what any has written."""
    file.Sync()
    comm.Barrier()
    file.Sync()


def files(comm):
    """a file that all write and read together"""
    name = comm.bcast(f"/tmp/tofu-mpi4py-{os.getpid()}")
    file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_RDWR | MPI.MODE_DELETE_ON_CLOSE)
    count = 3000
    file.Write_at_all(4 * count * comm.rank, array("i", [comm.rank] * count))
    settle(comm, file)
    other = (comm.rank + 1) % comm.size
    got = array("i", bytes(4 * count))
    file.Read_at_all(4 * count * other, got)
    equal(got, array("i", [other] * count))
    # Each rank a word of four: what the collective buffers of the ranks are for.
    word = MPI.INT.Create_vector(count, 1, comm.size).Commit()
    file.Set_view(4 * comm.rank, MPI.INT, word)
    file.Write_all(array("i", range(count)))
    file.Set_view()
    settle(comm, file)
    everything = array("i", bytes(4 * count * comm.size))
    file.Read_at_all(0, everything)
    equal(everything, array("i", [n for n in range(count) for _ in range(comm.size)]))
    word.Free()
    file.Close()


CASES = [split, groups, apart, duplicated, grids, bridges, hosts, files]
