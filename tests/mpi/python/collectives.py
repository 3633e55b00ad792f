# SPDX-License-Identifier: MIT
"""Of all: with objects, with buffers, with room of different sizes, and begun early."""

import time
from array import array

from mpi4py import MPI

from check import equal

COUNTS = [1, 100, 3000, 50_000]


def total(comm, value):
    """Of value(rank) over all ranks."""
    return sum(value(rank) for rank in range(comm.size))


def objects(comm):
    """of objects, with each rank as the root"""
    size, rank = comm.size, comm.rank
    for root in range(size):
        mine = {"rank": rank, "bytes": bytes(rank * 3000)}
        everyone = [{"rank": r, "bytes": bytes(r * 3000)} for r in range(size)]
        equal(comm.bcast(mine if rank == root else None, root), everyone[root])
        equal(comm.scatter(everyone if rank == root else None, root), mine)
        equal(comm.gather(mine, root), everyone if rank == root else None)
    equal(comm.allgather(mine), everyone)
    equal(comm.alltoall([(rank, r) for r in range(size)]), [(r, rank) for r in range(size)])


def reduced_objects(comm):
    """reductions of objects, by operations of the language, too"""
    size, rank = comm.size, comm.rank
    equal(comm.allreduce(rank + 1), size * (size + 1) // 2)
    equal(comm.allreduce([rank], MPI.SUM), list(range(size)))
    equal(comm.allreduce((size - rank, rank), MPI.MAXLOC), (size, 0))
    equal(comm.reduce({rank}, lambda a, b: a | b, 1), set(range(size)) if rank == 1 else None)
    equal(comm.scan(rank), rank * (rank + 1) // 2)
    equal(comm.exscan(rank), rank * (rank - 1) // 2 if rank else None)


def buffers(comm):
    """of arrays of many lengths"""
    size, rank = comm.size, comm.rank
    for count in COUNTS:
        mine = array("q", range(rank, rank + count))
        everyone = array("q", [v for r in range(size) for v in range(r, r + count)])
        for root in 0, size - 1:
            data = array("q", mine)
            comm.Bcast(data, root)
            equal(data, array("q", range(root, root + count)))
            got = array("q", bytes(8 * count * size))
            comm.Gather(mine, got if rank == root else None, root)
            if rank == root:
                equal(got, everyone)
            data = array("q", bytes(8 * count))
            comm.Scatter(everyone if rank == root else None, data, root)
            equal(data, mine)
        got = array("q", bytes(8 * count * size))
        comm.Allgather(mine, got)
        equal(got, everyone)
        comm.Alltoall(array("q", [rank] * count * size), got)
        equal(got, array("q", [r for r in range(size) for _ in range(count)]))


def reduced(comm):
    """reductions of arrays of many lengths, in place, too"""
    size, rank = comm.size, comm.rank
    for count in COUNTS:
        mine = array("d", [rank + n for n in range(count)])
        sums = array("d", [total(comm, lambda r, n=n: r + n) for n in range(count)])
        got = array("d", bytes(8 * count))
        comm.Allreduce(mine, got)
        equal(got, sums)
        got = array("d", mine)
        comm.Allreduce(MPI.IN_PLACE, got, MPI.MAX)
        equal(got, array("d", [size - 1 + n for n in range(count)]))
        comm.Reduce(mine, got if rank == 1 else None, root=1)
        if rank == 1:
            equal(got, sums)
        comm.Scan(mine, got)
        equal(got, array("d", [sum(r + n for r in range(rank + 1)) for n in range(count)]))
        comm.Exscan(mine, got)
        if rank:
            equal(got, array("d", [sum(r + n for r in range(rank)) for n in range(count)]))
        comm.Reduce_scatter_block(array("d", [rank] * count * size), got)
        equal(got, array("d", [total(comm, lambda r: r)] * count))
        part = array("d", bytes(8 * (rank + 1)))
        counts = [r + 1 for r in range(size)]
        comm.Reduce_scatter(array("d", range(sum(counts))), part, counts)
        first = sum(counts[:rank])
        equal(part, array("d", [size * v for v in range(first, first + rank + 1)]))


def operations(comm):
    """operations that a program defines"""
    def longest(one, two, kind):
        equal(kind, MPI.BYTE)
        two[:] = max(bytes(one), bytes(two), key=lambda text: (len(text.rstrip(b"\0")), text))

    def compose(one, two, _):
        # x -> a x + b, a pair of numbers: its order counts
        first, second = memoryview(one).cast("q"), memoryview(two).cast("q")
        second[0], second[1] = first[0] * second[0], second[0] * first[1] + second[1]

    op = MPI.Op.Create(longest, commute=True)
    mine = bytearray((b"x" * (comm.rank + 1)).ljust(64, b"\0"))
    comm.Allreduce(MPI.IN_PLACE, [mine, MPI.BYTE], op)
    equal(bytes(mine).rstrip(b"\0"), b"x" * comm.size)
    op.Free()

    op = MPI.Op.Create(compose)
    pair = MPI.INT64_T.Create_contiguous(2).Commit()
    mine, got = array("q", [comm.rank + 2, comm.rank]), array("q", [0, 0])
    comm.Allreduce([mine, 1, pair], [got, 1, pair], op)
    a, b = 1, 0
    for rank in range(comm.size):
        a, b = a * (rank + 2), (rank + 2) * b + rank
    equal(list(got), [a, b])
    pair.Free()
    op.Free()


def uneven(comm):
    """of parts of different lengths, with gaps"""
    size, rank = comm.size, comm.rank
    counts = [500 * r for r in range(size)]
    places = [sum(counts[:r]) + 3 * r for r in range(size)]
    length = sum(counts) + 3 * size
    wanted = array("i", [-1] * length)
    for r in range(size):
        wanted[places[r]:places[r] + counts[r]] = array("i", [r] * counts[r])
    mine = array("i", [rank] * counts[rank])
    got = array("i", [-1] * length)
    comm.Allgatherv(mine, [got, counts, places, MPI.INT])
    equal(got, wanted)
    got = array("i", [-1] * length)
    comm.Gatherv(mine, [got, counts, places, MPI.INT], 1)
    if rank == 1:
        equal(got, wanted)
    part = array("i", [0] * counts[rank])
    comm.Scatterv([wanted, counts, places, MPI.INT], part, 2)
    equal(part, mine)


def all_to_all(comm):
    """from all to all, each pair a length of its own"""
    size, rank = comm.size, comm.rank
    lengths = [[(s * 7 + r * 3) % 5 * 1000 for r in range(size)] for s in range(size)]
    sends, receives = lengths[rank], [lengths[s][rank] for s in range(size)]
    there = array("h", [rank * size + r for r in range(size) for _ in range(sends[r])])
    back = array("h", bytes(2 * sum(receives)))
    comm.Alltoallv([there, sends], [back, receives])
    wanted = array("h", [s * size + rank for s in range(size) for _ in range(receives[s])])
    equal(back, wanted)
    back = array("h", bytes(2 * sum(receives)))

    def bytes_of(counts):
        return [2 * sum(counts[:r]) for r in range(size)]

    comm.Alltoallw([there, sends, bytes_of(sends), [MPI.SHORT] * size],
                   [back, receives, bytes_of(receives), [MPI.SHORT] * size])
    equal(back, wanted)


def begun(comm):
    """several begun at a time, ended in another order"""
    size, rank = comm.size, comm.rank
    for count in COUNTS:
        data = array("q", [rank] * count)
        sums, everyone, swapped, first = (array("q", bytes(8 * count * n))
                                          for n in (1, size, size, 1))
        if rank == 0:
            first = array("q", [42] * count)
        requests = [comm.Ibarrier(), comm.Iallreduce(data, sums), comm.Iallgather(data, everyone),
                    comm.Ialltoall(array("q", [rank] * count * size), swapped),
                    comm.Ibcast(first, 0)]
        for request in reversed(requests):
            request.Wait()
        equal(sums, array("q", [total(comm, lambda r: r)] * count))
        equal(everyone, array("q", [r for r in range(size) for _ in range(count)]))
        equal(swapped, everyone)
        equal(first, array("q", [42] * count))


def neighbours(comm):
    """of neighbours, on a ring and on a graph"""
    ring = comm.Create_cart([comm.size], periods=[True])
    left, right = (comm.rank - 1) % comm.size, (comm.rank + 1) % comm.size
    equal(ring.neighbor_allgather(comm.rank), [left, right])
    got = array("i", bytes(8000))
    ring.Neighbor_alltoall(array("i", [comm.rank] * 1000 + [-comm.rank] * 1000), got)
    equal(got, array("i", [-left] * 1000 + [right] * 1000))
    ring.Free()
    graph = comm.Create_dist_graph_adjacent([left], [right])
    equal(graph.neighbor_alltoall([(comm.rank, "to the right")]), [(left, "to the right")])
    graph.Free()


def barriers(comm):
    """none leaves a barrier before all have come: one after the other is late"""
    times = []
    for turn in range(60):
        if turn % comm.size == comm.rank:
            time.sleep(0.002)
        came = time.monotonic_ns()
        comm.Barrier()
        times.append((came, time.monotonic_ns()))
    for turn in zip(*comm.allgather(times)):
        equal(max(came for came, _ in turn) <= min(left for _, left in turn), True)


CASES = [objects, reduced_objects, buffers, reduced, operations, uneven, all_to_all, begun,
         neighbours, barriers]
