/* SPDX-License-Identifier: MIT */
/*
 * The extended RDMA interface of K and FX10: one-sided transfers between the
 * ranks of MPI_COMM_WORLD, over uTofu. The MPI's own <mpi-ext.h>, where it has
 * one, is included too. Documentation/library/fjmpi.rst says what is chosen
 * where the public facts about this interface are silent; the values of the
 * constants are chosen too.
 *
 * Words used below. A pid is a rank in MPI_COMM_WORLD. A NIC is one of the four
 * network interfaces of a process. A memid names registered memory in its
 * process. A DMA address stands for a byte of registered memory: adding bytes
 * to it addresses further into the memory.
 */
#ifndef TOFU_MPI_EXT_H
#define TOFU_MPI_EXT_H

/* #include_next is an extension that -pedantic would otherwise report. */
#pragma GCC system_header

#ifdef __has_include_next
#if __has_include_next(<mpi-ext.h>) && __has_include(<mpi.h>)
#include <mpi.h>
#include_next <mpi-ext.h>
#endif
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * What a function returns when it fails; as int it is -1. Its type is that of
 * addresses, with which it is compared most.
 */
#define FJMPI_RDMA_ERROR ((uint64_t)-1)

/* FJMPI_Rdma_poll_cq() */
#define FJMPI_RDMA_NOTICE 1
#define FJMPI_RDMA_HALFWAY_NOTICE 2

#define FJMPI_RDMA_NIC0 0
#define FJMPI_RDMA_NIC1 1
#define FJMPI_RDMA_NIC2 2
#define FJMPI_RDMA_NIC3 3

/*
 * Flags of transfers:
 * LOCAL_NICn       the NIC that sends, and whose notices tell of the end
 * REMOTE_NICn      the NIC of the other side
 * PATHn            one of four paths through the network; 0 is the default
 * STRONG_ORDER     the bytes land in ascending order, the last ones last
 * REMOTE_NOTICE    the other side gets a HALFWAY_NOTICE
 * IMMEDIATE_RETURN accepted; no transfer is waited for, with it or without
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
 * struct FJMPI_Rdma_cq - what a notice is about
 * @pid: the other side of the transfer
 * @tag: of the transfer
 */
struct FJMPI_Rdma_cq {
	int pid;
	int tag;
};

/**
 * FJMPI_Rdma_init - start; by all ranks, after MPI_Init()
 *
 * Return: 0; FJMPI_RDMA_ERROR where a rank has no interconnect, or it was
 * started already.
 */
int FJMPI_Rdma_init(void);

/**
 * FJMPI_Rdma_finalize - end; by all ranks
 *
 * Waits for the own transfers, then for the other ranks. What is registered
 * still is deregistered. FJMPI_Rdma_init() may follow.
 *
 * Return: 0; FJMPI_RDMA_ERROR where it was not started.
 */
int FJMPI_Rdma_finalize(void);

/**
 * FJMPI_Rdma_reg_mem - register memory
 * @memid:  0 … 510, one that is free
 * @buf:    where it begins
 * @length: bytes, 1 or more
 *
 * Return: its DMA address, or FJMPI_RDMA_ERROR.
 */
uint64_t FJMPI_Rdma_reg_mem(int memid, void *buf, size_t length);

/**
 * FJMPI_Rdma_dereg_mem - deregister memory
 * @memid: one that is registered
 *
 * Waits for the own transfers, and until no other touches the memory.
 *
 * Return: 0, or FJMPI_RDMA_ERROR.
 */
int FJMPI_Rdma_dereg_mem(int memid);

/**
 * FJMPI_Rdma_get_remote_addr - look up what a peer has registered
 * @pid:   the peer, also the own rank
 * @memid: 0 … 510
 *
 * The peer takes no part. What it registers anew has to be looked up anew.
 *
 * Return: the DMA address, or FJMPI_RDMA_ERROR while there is none.
 */
uint64_t FJMPI_Rdma_get_remote_addr(int pid, int memid);

/**
 * FJMPI_Rdma_put - write into a peer's memory
 * @pid:    the peer, also the own rank
 * @tag:    0 … 14
 * @raddr:  DMA address at the peer
 * @laddr:  own DMA address
 * @length: bytes, 0 … 16777212, a multiple of 4
 * @flags:  FJMPI_RDMA_*
 *
 * Waits for a free place in the queue if need be. The end is a notice of the
 * local NIC; the memory may then be written again, and the data is there.
 *
 * Return: 0 where it was accepted, or FJMPI_RDMA_ERROR.
 */
int FJMPI_Rdma_put(int pid, int tag, uint64_t raddr, uint64_t laddr,
		   size_t length, int flags);

/**
 * FJMPI_Rdma_get - read from a peer's memory
 *
 * As FJMPI_Rdma_put(); with the notice of the local NIC the data is here.
 */
int FJMPI_Rdma_get(int pid, int tag, uint64_t raddr, uint64_t laddr,
		   size_t length, int flags);

/**
 * FJMPI_Rdma_mput - several puts to one peer, in their order
 * @raddrs, @laddrs, @lengths: @n of each where @stride is 0; else the first of
 *          each is of the first put
 * @stride: else both addresses of a put are so much above the one's before
 * @n:      1 … 1993
 *
 * All of them together have one notice on each side, as the last one would.
 *
 * Return: 0 where all were accepted, or FJMPI_RDMA_ERROR.
 */
int FJMPI_Rdma_mput(int pid, int tag, uint64_t raddrs[], uint64_t laddrs[],
		    size_t lengths[], ptrdiff_t stride, int n, int flags);

/**
 * FJMPI_Rdma_poll_cq - take the next notice of a NIC
 * @nic: FJMPI_RDMA_NICn
 * @cq:  filled unless 0 is returned; may be NULL
 *
 * Return: 0 where there is none; FJMPI_RDMA_NOTICE when an own transfer has
 * ended; FJMPI_RDMA_HALFWAY_NOTICE when a peer's with REMOTE_NOTICE has;
 * FJMPI_RDMA_ERROR when an own transfer has failed, or, with @cq of -1, notices
 * were lost because they were not polled for, or @nic is none.
 */
int FJMPI_Rdma_poll_cq(int nic, struct FJMPI_Rdma_cq *cq);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_MPI_EXT_H */
