# SPDX-License-Identifier: MIT
"""Memory of others.

What a call names has to be there until it has ended: a window keeps no reference.
"""

from array import array

from mpi4py import MPI

from check import equal


def words(window):
    return memoryview(window).cast("B").cast("q")


def made(comm, count):
    window = MPI.Win.Allocate(8 * count, 8, comm=comm)
    window.Lock(comm.rank)
    words(window)[:] = memoryview(array("q", bytes(8 * count)))
    window.Unlock(comm.rank)
    comm.Barrier()
    return window


def fences(comm):
    """puts and gets between fences"""
    for count in 1, 1000, 50_000:
        window = made(comm, count)
        to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        mine = array("q", [comm.rank + 1] * count)
        window.Fence()
        window.Put(mine, to)
        window.Fence()
        equal(words(window).tolist(), [source + 1] * count)
        got = array("q", bytes(8 * count))
        window.Fence()
        window.Get(got, to)
        window.Fence()
        equal(got, mine)
        window.Free()


def locks(comm):
    """locks: what one writes, another reads"""
    window = made(comm, comm.size)
    for rank in range(comm.size):
        mine = array("q", [comm.rank * 10 + rank])
        window.Lock(rank)
        window.Put(mine, rank, [comm.rank, 1, MPI.INT64_T])
        window.Unlock(rank)
    comm.Barrier()
    for rank in range(comm.size):
        got = array("q", bytes(8 * comm.size))
        window.Lock(rank, MPI.LOCK_SHARED)
        window.Get(got, rank)
        window.Unlock(rank)
        equal(list(got), [r * 10 + rank for r in range(comm.size)])
    window.Free()


def counters(comm):
    """a counter of all: each value once"""
    window = made(comm, 1)
    seen = []
    one, before = array("q", [1]), array("q", [0])
    window.Lock_all()
    for _ in range(200):
        window.Fetch_and_op(one, before, 0)
        window.Flush(0)
        seen.append(before[0])
    window.Unlock_all()
    everyone = [value for part in comm.allgather(seen) for value in part]
    equal(sorted(everyone), list(range(200 * comm.size)))
    window.Free()


def swaps(comm):
    """compare and swap: a lock that one has at a time"""
    window = made(comm, 2)
    old, mine, nobody = array("q", [0]), array("q", [comm.rank + 1]), array("q", [0])
    window.Lock_all()
    for _ in range(20):
        while True:
            window.Compare_and_swap(mine, nobody, old, 0, 0)
            window.Flush(0)
            if old[0] == 0:
                break
        value = array("q", [0])
        window.Get(value, 0, [1, 1, MPI.INT64_T])
        window.Flush(0)
        value[0] += 1
        window.Put(value, 0, [1, 1, MPI.INT64_T])
        window.Flush(0)
        window.Fetch_and_op(nobody, old, 0, 0, MPI.REPLACE)
        window.Flush(0)
        equal(old[0], comm.rank + 1)
    window.Unlock_all()
    comm.Barrier()
    if comm.rank == 0:
        window.Lock(0)
        equal(words(window).tolist(), [0, 20 * comm.size])
        window.Unlock(0)
    window.Free()


def accumulated(comm):
    """sums of many, with and without what was there"""
    count = 2000
    window = made(comm, count)
    mine = array("q", range(count))
    window.Lock_all()
    for rank in range(comm.size):
        window.Accumulate(mine, rank, op=MPI.SUM)
    window.Flush_all()
    window.Unlock_all()
    comm.Barrier()
    window.Lock(comm.rank)
    equal(words(window).tolist(), [comm.size * n for n in range(count)])
    window.Unlock(comm.rank)
    comm.Barrier()
    before, fives = array("q", bytes(8 * count)), array("q", [5] * count)
    to = (comm.rank + 1) % comm.size
    window.Lock(to)
    window.Get_accumulate(fives, before, to, op=MPI.MIN)
    window.Unlock(to)
    equal(before, array("q", [comm.size * n for n in range(count)]))
    comm.Barrier()
    window.Lock(comm.rank)
    equal(words(window).tolist(), [min(comm.size * n, 5) for n in range(count)])
    window.Unlock(comm.rank)
    window.Free()


def requests(comm):
    """puts and gets with requests"""
    count = 5000
    window = made(comm, count)
    to = (comm.rank + 1) % comm.size
    got = array("q", bytes(8 * count))
    window.Lock_all()
    window.Rput(array("q", [comm.rank] * count), to).Wait()
    window.Flush(to)
    window.Rget(got, to).Wait()
    window.Unlock_all()
    equal(got, array("q", [comm.rank] * count))
    window.Free()


def posted(comm):
    """windows that are opened for some, and closed"""
    window = made(comm, 10)
    group = comm.Get_group()
    to, source = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    mine = array("q", [comm.rank] * 10)
    window.Post(group.Incl([source]))
    window.Start(group.Incl([to]))
    window.Put(mine, to)
    window.Complete()
    window.Wait()
    equal(words(window).tolist(), [source] * 10)
    window.Free()


def attached(comm):
    """memory that is attached to a window later"""
    window = MPI.Win.Create_dynamic(comm=comm)
    memory = MPI.Alloc_mem(8 * 100)
    window.Attach(memory)
    window.Lock(comm.rank)
    words(memory)[:] = memoryview(array("q", [comm.rank] * 100))
    window.Unlock(comm.rank)
    places = comm.allgather(MPI.Get_address(memory))
    to = (comm.rank + 1) % comm.size
    got = array("q", bytes(800))
    window.Lock(to)
    window.Get(got, to, [places[to], 100, MPI.INT64_T])
    window.Unlock(to)
    equal(list(got), [to] * 100)
    comm.Barrier()
    window.Detach(memory)
    window.Free()
    MPI.Free_mem(memory)


CASES = [fences, locks, counters, swaps, accumulated, requests, posted, attached]
