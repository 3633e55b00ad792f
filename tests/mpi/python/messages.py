# SPDX-License-Identifier: MIT
"""Between two: objects and buffers, their probes, requests that last."""

from array import array

from mpi4py import MPI

from check import equal, raises

# From one byte to what is certainly no longer sent in one piece.
LENGTHS = [0, 1, 7, 100, 1000, 5000, 40_000, 70_000, 1_000_000, 3_000_000]


def pattern(length, seed=0):
    return bytes((i * 7 + seed) % 251 for i in range(min(length, 1000))) * (length // 1000 + 1)


def ring(comm):
    return (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size


def objects(comm):
    """objects of many kinds and lengths"""
    to, source = ring(comm)
    things = [None, 3.5, "text", {"a": [1, (2, 3)], "b": {4}}, 10 ** 40,
              *(pattern(n)[:n] for n in LENGTHS)]
    for tag, thing in enumerate(things):
        request = comm.isend((comm.rank, thing), to, tag)
        status = MPI.Status()
        equal(comm.recv(source=source, tag=tag, status=status), (source, thing))
        equal((status.source, status.tag), (source, tag))
        request.wait()


def unexpected_objects(comm):
    """objects that nobody expects, received from the last to the first"""
    to, source = ring(comm)
    requests = [comm.isend([tag] * 100, to, tag) for tag in range(64)]
    comm.barrier()
    for tag in reversed(range(64)):
        equal(comm.recv(source=source, tag=tag), [tag] * 100)
    MPI.Request.waitall(requests)


def any_source(comm):
    """objects from any source with any tag, in the order of each sender"""
    if comm.rank:
        for number in range(50):
            comm.send((comm.rank, number), 0, tag=comm.rank)
        return
    seen = [0] * comm.size
    for _ in range(50 * (comm.size - 1)):
        status = MPI.Status()
        rank, number = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        equal((status.source, status.tag, seen[rank]), (rank, rank, number))
        seen[rank] += 1


def synchronous_objects(comm):
    """synchronous sends of objects end when they are received"""
    to, source = ring(comm)
    for length in 10, 100_000:
        request = comm.issend(bytes(length), to)
        equal(request.test()[0], False)
        comm.barrier()
        # Not by a matching probe, as recv() does: Open MPI's mtl/ofi would not answer.
        equal(len(comm.irecv(length + 1000, source=source).wait()), length)
        request.wait()


def posted_objects(comm):
    """receives of objects that wait for their senders"""
    to, source = ring(comm)
    requests = [comm.irecv(1 << 16, source=source, tag=tag) for tag in range(8)]
    comm.barrier()
    for tag in reversed(range(8)):
        comm.send(["object", tag], to, tag)
    equal(MPI.Request.waitall(requests), [["object", tag] for tag in range(8)])


def exchange(comm):
    """sends and receives in one call, in place, too"""
    to, source = ring(comm)
    equal(comm.sendrecv(comm.rank, to, source=source), source)
    for length in LENGTHS:
        there, back = pattern(length, comm.rank)[:length], bytearray(length)
        comm.Sendrecv(there, to, 0, back, source, 0)
        equal(bytes(back), pattern(length, source)[:length])
        both = bytearray(there)
        comm.Sendrecv_replace(both, to, 0, source, 0)
        equal(bytes(both), pattern(length, source)[:length])


def arrays(comm):
    """arrays of each type of the language"""
    to, source = ring(comm)
    for code in "bBhHiIlLqQfd":
        sent = array(code, [(n + comm.rank) % 100 for n in range(3000)])
        got = array(code, [0] * 3000)
        request = comm.Isend(sent, to)
        status = MPI.Status()
        comm.Recv(got, source, status=status)
        request.Wait()
        equal(got, array(code, [(n + source) % 100 for n in range(3000)]))
        equal(status.Get_count(MPI.BYTE), 3000 * got.itemsize)


def modes(comm):
    """buffered, ready and synchronous sends"""
    to, source = ring(comm)
    MPI.Attach_buffer(MPI.Alloc_mem(1 << 20))
    try:
        for length in 100, 100_000:
            got = bytearray(length)
            comm.Bsend(pattern(length)[:length], to)
            comm.Recv(got, source)
            equal(bytes(got), pattern(length)[:length])
            receive = comm.Irecv(got, source)
            comm.Barrier()
            comm.Rsend(pattern(length, 1)[:length], to)
            receive.Wait()
            equal(bytes(got), pattern(length, 1)[:length])
            receive = comm.Irecv(got, source)
            comm.Ssend(pattern(length, 2)[:length], to)
            receive.Wait()
            equal(bytes(got), pattern(length, 2)[:length])
    finally:
        MPI.Free_mem(MPI.Detach_buffer())


def probes(comm):
    """probes tell source, tag and length, and take nothing"""
    to, source = ring(comm)
    requests = [comm.Isend(bytes([tag]) * (tag * 9000), to, tag) for tag in range(5)]
    for tag in 3, 0, 4, 1, 2:
        status = MPI.Status()
        comm.Probe(source, tag, status)
        equal((status.source, status.tag, status.count), (source, tag, tag * 9000))
        while not comm.Iprobe(MPI.ANY_SOURCE, tag, status):
            pass
        got = bytearray(status.count)
        comm.Recv(got, source, tag)
        equal(bytes(got), bytes([tag]) * (tag * 9000))
    MPI.Request.Waitall(requests)
    equal(comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG), False)


def matching_probes(comm):
    """a message that a probe has matched is nobody else's"""
    to, source = ring(comm)
    requests = [comm.Isend(bytes([n]) * length, to, 0)
                for n, length in enumerate([10, 100_000, 20])]
    taken = []
    for length in 10, 100_000, 20:
        status = MPI.Status()
        taken.append(comm.Mprobe(source, 0, status))
        equal(status.count, length)
    equal(comm.Improbe(source, 0), None)
    for n, length in reversed(list(enumerate([10, 100_000, 20]))):
        got = bytearray(length)
        taken[n].Recv(got)
        equal(bytes(got), bytes([n]) * length)
    MPI.Request.Waitall(requests)
    request = comm.isend("object", to, 1)
    equal(comm.mprobe(source, 1).irecv().wait(), "object")
    request.wait()


def persistent(comm):
    """requests that are started again and again"""
    to, source = ring(comm)
    for length in 64, 100_000:
        sent, got = bytearray(length), bytearray(length)
        pair = [comm.Send_init(sent, to), comm.Recv_init(got, source, 0),
                comm.Ssend_init(sent, to, 1)]
        synchronous = bytearray(length)
        for turn in range(5):
            sent[:] = bytes([turn + comm.rank]) * length
            MPI.Prequest.Startall(pair)
            comm.Recv(synchronous, source, 1)
            MPI.Request.Waitall(pair)
            equal(bytes(got), bytes([turn + source]) * length)
            equal(synchronous, got)
        for request in pair:
            request.Free()


def some(comm):
    """waiting for any, for some, for all of many"""
    if comm.rank:
        for number in range(20):
            comm.Send(array("i", [comm.rank * 100 + number]), 0, number)
        return
    places = [array("i", [0]) for _ in range(20 * (comm.size - 1))]
    wanted = [(rank * 100 + number, comm.Irecv(place, rank, number)) for place, (rank, number)
              in zip(places, ((r, n) for r in range(1, comm.size) for n in range(20)))]
    requests = [request for _, request in wanted]
    left = len(requests)
    while left > 20:
        equal(MPI.Request.Waitany(requests) >= 0, True)
        left -= 1
        indices = MPI.Request.Testsome(requests)
        left -= len(indices or [])
    MPI.Request.Waitall(requests)
    equal([place[0] for place in places], [value for value, _ in wanted])


def cancelled(comm):
    """a receive that is cancelled takes nothing"""
    to, source = ring(comm)
    got = bytearray(10)
    request = comm.Irecv(got, source, 7)
    request.Cancel()
    status = MPI.Status()
    request.Wait(status)
    equal(status.Is_cancelled(), True)
    comm.Barrier()
    comm.Sendrecv(b"0123456789", to, 7, got, source, 7)
    equal(bytes(got), b"0123456789")


def truncated(comm):
    """a message longer than its buffer is an error, and the next is not"""
    to, source = ring(comm)
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    # With longer ones Open MPI's shared memory writes past the end of the buffer.
    for length in 100, 4000:
        request = comm.Isend(bytes(length), to, 1)
        raises(MPI.ERR_TRUNCATE, comm.Recv, bytearray(length // 2), source, 1)
        request.Wait()
        got = bytearray(4)
        comm.Sendrecv(b"next", to, 2, got, source, 2)
        equal(bytes(got), b"next")


def nobody(comm):
    """nobody's messages: PROC_NULL, and a rank that does not exist"""
    equal(comm.recv(source=MPI.PROC_NULL), None)
    comm.send("object", MPI.PROC_NULL)
    comm.Set_errhandler(MPI.ERRORS_RETURN)
    raises(MPI.ERR_RANK, comm.Send, b"", comm.size)


def many(comm):
    """a thousand messages each to each"""
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    got = {rank: [bytearray(200) for _ in range(1000)] for rank in others}
    requests = []
    for number in range(1000):
        for rank in others:
            requests.append(comm.Irecv(got[rank][number], rank, number % 3))
            requests.append(comm.Isend(number.to_bytes(2, "big") * 100, rank, number % 3))
    MPI.Request.Waitall(requests)
    for rank in others:
        for number, place in enumerate(got[rank]):
            equal(bytes(place), number.to_bytes(2, "big") * 100)


CASES = [objects, unexpected_objects, any_source, synchronous_objects, posted_objects, exchange,
         arrays, modes, probes, matching_probes, persistent, some, cancelled, truncated, nobody,
         many]
