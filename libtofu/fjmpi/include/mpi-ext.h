/* SPDX-License-Identifier: MIT */
/*
 * Extensions of the MPI of K, FX10 and Fugaku, over uTofu: one-sided transfers
 * between the ranks of MPI_COMM_WORLD (FJMPI_Rdma_*), and the places of ranks
 * (FJMPI_Topology_*). The MPI's own <mpi-ext.h>, where it has one, is included,
 * too. Documentation/library/fjmpi.rst says what this implementation chose
 * where the public facts about these interfaces are silent; it also chose the
 * values of the constants.
 *
 * Terms of the transfers. A pid is a rank in MPI_COMM_WORLD. A NIC is one of
 * the four network interfaces of a process. A memid names registered memory in
 * its process. A DMA address stands for a byte of registered memory: adding
 * bytes to it addresses further into the memory. A notice, which the program
 * polls for, reports the end of a transfer.
 *
 * A transfer function that fails returns FJMPI_RDMA_ERROR, which is
 * (uint64_t)-1; as int it is -1. MPI has to be initialised when
 * FJMPI_Rdma_init() is called, and not finalised before FJMPI_Rdma_finalize().
 * Only these two communicate by MPI.
 *
 * Terms of the places. The machine has six coordinates: X, Y, Z, A, B and C.
 * Logical coordinates are those of a torus of one to three dimensions, whose
 * neighbours are neighbours on the machine. These functions work between
 * MPI_Init() and MPI_Finalize(), and do not communicate.
 *
 * Several threads may call any of the functions at once where the MPI permits
 * it.
 */

/* #include_next is an extension that -pedantic would otherwise report. */
#pragma GCC system_header

#if __has_include(<mpi.h>)
/* Open MPI's <mpi-ext.h> does not include it. */
#include <mpi.h>

/*
 * The MPI's own <mpi-ext.h>. This is not guarded: if a program names this file
 * by its path, the next one in the search path is this file again. If the MPI's
 * folder precedes this one's, there is no next one, but a first one.
 */
#if __has_include_next(<mpi-ext.h>)
#include_next <mpi-ext.h>
#elif __has_include(<mpi-ext.h>) && !defined(TOFU_MPI_EXT_SEARCHED)
#define TOFU_MPI_EXT_SEARCHED
#include <mpi-ext.h>
#endif
#endif

#ifndef TOFU_MPI_EXT_H
#define TOFU_MPI_EXT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* It has the type of addresses, with which it is compared most. */
#define FJMPI_RDMA_ERROR ((uint64_t)-1)

/* FJMPI_Rdma_poll_cq() */
#define FJMPI_RDMA_NOTICE 1
#define FJMPI_RDMA_HALFWAY_NOTICE 2

#define FJMPI_RDMA_NIC0 0
#define FJMPI_RDMA_NIC1 1
#define FJMPI_RDMA_NIC2 2
#define FJMPI_RDMA_NIC3 3

/**
 * DOC: FJMPI_RDMA_*
 * @LOCAL_NICn: the NIC, 0 … 3, that sends and that gets the notice of the end
 * @REMOTE_NICn: the NIC, 0 … 3, of the other side
 * @PATHn: a path through the network, 0 … 3; 0 is the default
 * @STRONG_ORDER: the bytes land in ascending order, the last ones last
 * @REMOTE_NOTICE: the other side gets a FJMPI_RDMA_HALFWAY_NOTICE
 * @IMMEDIATE_RETURN: accepted; no call waits for its transfer, with or without
 *     it
 *
 * Flags of transfers.
 */
#define FJMPI_RDMA_LOCAL_NIC0 FJMPI_RDMA_NIC0
#define FJMPI_RDMA_LOCAL_NIC1 FJMPI_RDMA_NIC1
#define FJMPI_RDMA_LOCAL_NIC2 FJMPI_RDMA_NIC2
#define FJMPI_RDMA_LOCAL_NIC3 FJMPI_RDMA_NIC3
#define FJMPI_RDMA_REMOTE_NIC0 (0 << 2)
#define FJMPI_RDMA_REMOTE_NIC1 (1 << 2)
#define FJMPI_RDMA_REMOTE_NIC2 (2 << 2)
#define FJMPI_RDMA_REMOTE_NIC3 (3 << 2)
#define FJMPI_RDMA_PATH0 (0 << 4)
#define FJMPI_RDMA_PATH1 (1 << 4)
#define FJMPI_RDMA_PATH2 (2 << 4)
#define FJMPI_RDMA_PATH3 (3 << 4)
#define FJMPI_RDMA_STRONG_ORDER (1 << 6)
#define FJMPI_RDMA_REMOTE_NOTICE (1 << 7)
#define FJMPI_RDMA_IMMEDIATE_RETURN (1 << 8)

/**
 * struct FJMPI_Rdma_cq - the transfer that a notice reports
 * @pid: the other side of the transfer
 * @tag: tag of the transfer
 */
struct FJMPI_Rdma_cq {
	int pid;
	int tag;
};

/* ---- Start and end ---- */

/**
 * FJMPI_Rdma_init - start the interface on all ranks
 *
 * All ranks of MPI_COMM_WORLD call it, after MPI_Init(). If one cannot start,
 * none does.
 *
 * Return: 0; FJMPI_RDMA_ERROR where a rank has no interconnect, or the
 * interface was already started.
 */
int FJMPI_Rdma_init(void);

/**
 * FJMPI_Rdma_finalize - end the interface on all ranks
 *
 * All ranks of MPI_COMM_WORLD call it, before MPI_Finalize(). Waits for this
 * rank's transfers, then for the other ranks. Memory that is still registered
 * is deregistered. FJMPI_Rdma_init() may follow.
 *
 * Return: 0; FJMPI_RDMA_ERROR where the interface was not started.
 */
int FJMPI_Rdma_finalize(void);

/* ---- Memory ---- */

/**
 * FJMPI_Rdma_reg_mem - register memory
 * @memid:  0 … 510, not in use
 * @buf:    first byte
 * @length: bytes, 1 or more
 *
 * Return: its DMA address, or FJMPI_RDMA_ERROR.
 */
uint64_t FJMPI_Rdma_reg_mem(int memid, void *buf, size_t length);

/**
 * FJMPI_Rdma_dereg_mem - deregister memory
 * @memid: memid of registered memory
 *
 * Waits for this rank's transfers, and until no other rank touches the memory.
 *
 * Return: 0, or FJMPI_RDMA_ERROR.
 */
int FJMPI_Rdma_dereg_mem(int memid);

/**
 * FJMPI_Rdma_get_remote_addr - look up the DMA address of a peer's memory
 * @pid:   the peer, or this rank
 * @memid: 0 … 510
 *
 * The peer takes no part. When it registers memory again, look it up again.
 *
 * Return: the DMA address, or FJMPI_RDMA_ERROR while there is none.
 */
uint64_t FJMPI_Rdma_get_remote_addr(int pid, int memid);

/* ---- Transfers ---- */

/**
 * DOC: transfers
 * @pid:    the peer, or this rank
 * @tag:    0 … 14, also in the notice
 * @raddr:  DMA address at the peer
 * @laddr:  DMA address at this rank
 * @length: bytes, 0 … 16777212, a multiple of 4
 * @flags:  FJMPI_RDMA_*, at most one of each kind; 0: NIC 0 of both sides and
 *  the default path
 *
 * Waits for a free place in the queue if necessary, but not for the transfer.
 * Its end is a notice of the local NIC, which FJMPI_Rdma_poll_cq() takes.
 *
 * Return: 0 where it was accepted, or FJMPI_RDMA_ERROR. FJMPI_Rdma_poll_cq()
 * reports a transfer that fails later.
 */

/**
 * FJMPI_Rdma_put - write into a peer's memory
 *
 * When the notice comes, the data are at the peer, and the local memory may be
 * written again.
 */
int FJMPI_Rdma_put(int pid, int tag, uint64_t raddr, uint64_t laddr,
		   size_t length, int flags);

/**
 * FJMPI_Rdma_get - read from a peer's memory
 *
 * When the notice comes, the data are here. FJMPI_RDMA_REMOTE_NOTICE tells the
 * peer that its memory has been read.
 */
int FJMPI_Rdma_get(int pid, int tag, uint64_t raddr, uint64_t laddr,
		   size_t length, int flags);

/**
 * FJMPI_Rdma_mput - several puts to one peer, in order
 * @raddrs:  @n DMA addresses at the peer, or only the first one if @stride is
 *           not 0
 * @laddrs:  as many DMA addresses at this rank
 * @lengths: as many lengths, each as for FJMPI_Rdma_put(); with a stride one
 *  length for all puts
 * @stride:  0; or bytes from the addresses of a put to those of the next
 * @n:       1 … 1993
 *
 * All puts together have one notice on each side, that of the last put. All
 * arguments are checked before the first put is sent.
 */
int FJMPI_Rdma_mput(int pid, int tag, uint64_t raddrs[], uint64_t laddrs[],
		    size_t lengths[], ptrdiff_t stride, int n, int flags);

/* ---- Notices ---- */

/**
 * FJMPI_Rdma_poll_cq - take the next notice of a NIC
 * @nic: FJMPI_RDMA_NICn, n being 0 … 3
 * @cq:  filled unless 0 is returned; may be NULL
 *
 * Local transfers are those that this rank began by FJMPI_Rdma_put(),
 * FJMPI_Rdma_get() or FJMPI_Rdma_mput() with this NIC as the local one. Notices
 * come in the order in which transfers ended. An mput that fails is reported
 * once for each put that failed. If notices were lost because they were not
 * polled in time, that is reported once, as an error whose pid and tag are -1.
 *
 * Return: 0 where there is no notice; FJMPI_RDMA_NOTICE when a local transfer
 * has ended; FJMPI_RDMA_HALFWAY_NOTICE when a peer's transfer with
 * FJMPI_RDMA_REMOTE_NOTICE has ended; FJMPI_RDMA_ERROR when a local transfer
 * has failed, notices were lost, or @nic is invalid.
 */
int FJMPI_Rdma_poll_cq(int nic, struct FJMPI_Rdma_cq *cq);

/* ---- Where ranks are ---- */

#define FJMPI_SUCCESS 0

/**
 * DOC: FJMPI_ERR_TOPOLOGY_*
 * @INVALID_COMM: MPI_COMM_NULL, or an intercommunicator
 * @INVALID_RANK: not a rank of the communicator, or one that is not in
 *  MPI_COMM_WORLD
 * @INVALID_VIEW: neither FJMPI_LOGICAL nor FJMPI_TOFU_SYS nor FJMPI_TOFU_REL
 * @INVALID_MAXDIMS: less room than there are coordinates
 * @INVALID_COORDS: coordinates outside the machine
 * @INVALID_MAXPPN: less than 1
 * @INVALID_POINTER: a pointer is NULL
 * @INVALID_DIMENSION: the logical shape has more dimensions than the function
 * @NO_PROCESS: no process there, or none of the communicator
 * @NODE_SHARED_JOB: never returned: jobs do not share nodes
 * @NOT_AVAILABLE: MPI is not initialised, there is no interconnect, or the
 *  ranks are not where <tofu/job.h> expects them
 */
#define FJMPI_ERR_TOPOLOGY_INVALID_COMM 1
#define FJMPI_ERR_TOPOLOGY_INVALID_RANK 2
#define FJMPI_ERR_TOPOLOGY_INVALID_VIEW 3
#define FJMPI_ERR_TOPOLOGY_INVALID_MAXDIMS 4
#define FJMPI_ERR_TOPOLOGY_INVALID_COORDS 5
#define FJMPI_ERR_TOPOLOGY_INVALID_MAXPPN 6
#define FJMPI_ERR_TOPOLOGY_INVALID_POINTER 7
#define FJMPI_ERR_TOPOLOGY_INVALID_DIMENSION 8
#define FJMPI_ERR_TOPOLOGY_NO_PROCESS 9
#define FJMPI_ERR_TOPOLOGY_NODE_SHARED_JOB 10
#define FJMPI_ERR_TOPOLOGY_NOT_AVAILABLE 11

/* Views */
#define FJMPI_LOGICAL 1
#define FJMPI_TOFU_SYS 2
#define FJMPI_TOFU_REL 3

/**
 * DOC: places of ranks
 * @comm: a communicator
 * @rank: a rank of @comm
 * @view: the coordinates: FJMPI_LOGICAL, one to three; FJMPI_TOFU_SYS, six on
 *  the machine; FJMPI_TOFU_REL, six relative to rank 0 of MPI_COMM_WORLD
 * @x: along the first dimension
 * @y: along the second dimension
 * @z: along the third dimension
 *
 * Return: FJMPI_SUCCESS, which is 0; FJMPI_ERR_TOPOLOGY_*, with nothing set.
 */

/**
 * FJMPI_Topology_get_dimension - get the number of dimensions of the logical
 * shape
 * @size: set to 1, 2 or 3
 */
int FJMPI_Topology_get_dimension(int *size);

/**
 * FJMPI_Topology_get_shape - get the sizes of the logical shape
 *
 * A missing dimension has size 0.
 */
int FJMPI_Topology_get_shape(int *x, int *y, int *z);

#ifdef MPI_VERSION

/**
 * FJMPI_Topology_get_coords - get the coordinates of a rank
 * @maxdims: room in @coords: for logical coordinates at least the number of
 *  dimensions, else at least 6
 * @coords:  set; logical coordinates up to three, as far as there is room, with
 *  0 for missing dimensions
 */
int FJMPI_Topology_get_coords(MPI_Comm comm, int rank, int view, int maxdims,
			      int coords[]);

/**
 * FJMPI_Topology_get_ranks - get the ranks at given coordinates
 * @coords: as many as the view has; logical ones as many as there are
 *          dimensions
 * @maxppn: room in @ranks, 1 or more
 * @outppn: set to the number of ranks of @comm there, which can exceed @maxppn
 * @ranks:  set to these ranks, in the order of MPI_COMM_WORLD, as far as there
 *  is room
 */
int FJMPI_Topology_get_ranks(MPI_Comm comm, int view, int coords[], int maxppn,
			     int *outppn, int ranks[]);

#endif

/* ---- Where ranks are, in the form of K and FX10 ---- */

/**
 * DOC: places of ranks of MPI_COMM_WORLD
 * @rank: a rank of MPI_COMM_WORLD
 * @x: along the first dimension, or X
 * @y: along the second dimension, or Y
 * @z: along the third dimension, or Z
 * @a: A
 * @b: B
 * @c: C
 *
 * Logical coordinates of missing dimensions are 0. Where several ranks have the
 * same coordinates, the lowest rank is returned.
 *
 * Return: FJMPI_SUCCESS, which is 0; FJMPI_ERR_TOPOLOGY_*, with nothing set.
 */

/**
 * FJMPI_Topology_rank2x - get the coordinate of a rank in a logical shape of
 * one dimension
 */
int FJMPI_Topology_rank2x(int rank, int *x);

/**
 * FJMPI_Topology_rank2xy - get the coordinates of a rank in a logical shape of
 * up to two dimensions
 */
int FJMPI_Topology_rank2xy(int rank, int *x, int *y);

/**
 * FJMPI_Topology_rank2xyz - get the coordinates of a rank in the logical shape
 */
int FJMPI_Topology_rank2xyz(int rank, int *x, int *y, int *z);

/**
 * FJMPI_Topology_x2rank - get the rank at a coordinate of a logical shape of
 * one dimension
 */
int FJMPI_Topology_x2rank(int x, int *rank);

/**
 * FJMPI_Topology_xy2rank - get the rank at coordinates of a logical shape of up
 * to two dimensions
 */
int FJMPI_Topology_xy2rank(int x, int y, int *rank);

/**
 * FJMPI_Topology_xyz2rank - get the rank at coordinates of the logical shape
 */
int FJMPI_Topology_xyz2rank(int x, int y, int z, int *rank);

/**
 * FJMPI_Topology_sys_rank2xyzabc - get the coordinates of a rank on the machine
 */
int FJMPI_Topology_sys_rank2xyzabc(int rank, int *x, int *y, int *z, int *a,
				   int *b, int *c);

/**
 * FJMPI_Topology_rel_rank2xyzabc - get the coordinates of a rank on the
 * machine, relative to rank 0
 */
int FJMPI_Topology_rel_rank2xyzabc(int rank, int *x, int *y, int *z, int *a,
				   int *b, int *c);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_MPI_EXT_H */
