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
 * to it addresses further into the memory. The end of a transfer is told by a
 * notice, which is polled for.
 *
 * A function that fails returns FJMPI_RDMA_ERROR, which is (uint64_t)-1; as int
 * it is -1. MPI has to be initialised when FJMPI_Rdma_init() is called, and not
 * finalised before FJMPI_Rdma_finalize(). Only these two communicate by MPI. All
 * functions may be called by several threads at once where the MPI permits it.
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

/* Its type is that of addresses, with which it is compared most. */
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
 * @LOCAL_NICn: the NIC, 0 … 3, that sends, and whose notices tell of the end
 * @REMOTE_NICn: the NIC, 0 … 3, of the other side
 * @PATHn: a path through the network, 0 … 3; 0 is the default
 * @STRONG_ORDER: the bytes land in ascending order, the last ones last
 * @REMOTE_NOTICE: the other side gets a FJMPI_RDMA_HALFWAY_NOTICE
 * @IMMEDIATE_RETURN: accepted; no transfer is waited for, with it or without
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
 * struct FJMPI_Rdma_cq - what a notice is about
 * @pid: the other side of the transfer
 * @tag: of the transfer
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
 * Return: 0; FJMPI_RDMA_ERROR where a rank has no interconnect, or it was
 * started already.
 */
int FJMPI_Rdma_init(void);

/**
 * FJMPI_Rdma_finalize - end the interface on all ranks
 *
 * All ranks of MPI_COMM_WORLD call it, before MPI_Finalize(). Waits for the
 * own transfers, then for the other ranks. What is registered still is
 * deregistered. FJMPI_Rdma_init() may follow.
 *
 * Return: 0; FJMPI_RDMA_ERROR where it was not started.
 */
int FJMPI_Rdma_finalize(void);

/* ---- Memory ---- */

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

/* ---- Transfers ---- */

/**
 * DOC: transfers
 * @pid:    the peer, also the own rank
 * @tag:    0 … 14; the notice has it, too
 * @raddr:  DMA address at the peer
 * @laddr:  own DMA address
 * @length: bytes, 0 … 16777212, a multiple of 4
 * @flags:  FJMPI_RDMA_*, at most one of each kind; 0 stands for NIC 0 of both
 *	sides and the default path
 *
 * Waits for a free place in the queue if need be, and not for the transfer. The
 * end of it is a notice of the local NIC, which FJMPI_Rdma_poll_cq() takes.
 *
 * Return: 0 where it was accepted, or FJMPI_RDMA_ERROR. A transfer that fails
 * later is told by FJMPI_Rdma_poll_cq().
 */

/**
 * FJMPI_Rdma_put - write into a peer's memory
 *
 * With the notice the data is at the peer, and the own memory may be written
 * again.
 */
int FJMPI_Rdma_put(int pid, int tag, uint64_t raddr, uint64_t laddr,
		   size_t length, int flags);

/**
 * FJMPI_Rdma_get - read from a peer's memory
 *
 * With the notice the data is here. FJMPI_RDMA_REMOTE_NOTICE tells the peer that
 * its memory has been read.
 */
int FJMPI_Rdma_get(int pid, int tag, uint64_t raddr, uint64_t laddr,
		   size_t length, int flags);

/**
 * FJMPI_Rdma_mput - several puts to one peer, in their order
 * @raddrs:  @n DMA addresses at the peer, or the first one if @stride is not 0
 * @laddrs:  as many own DMA addresses
 * @lengths: as many lengths, each as FJMPI_Rdma_put() takes it; with a stride
 *	the one is that of all
 * @stride:  0; or bytes that both addresses of a put are above those of the put
 *	before
 * @n:       1 … 1993
 *
 * All of them together have one notice on each side, as the last one would. All
 * arguments are looked at before the first put goes.
 */
int FJMPI_Rdma_mput(int pid, int tag, uint64_t raddrs[], uint64_t laddrs[],
		    size_t lengths[], ptrdiff_t stride, int n, int flags);

/* ---- Notices ---- */

/**
 * FJMPI_Rdma_poll_cq - take the next notice of a NIC
 * @nic: FJMPI_RDMA_NICn, n being 0 … 3
 * @cq:  filled unless 0 is returned; may be NULL
 *
 * Own transfers are those that FJMPI_Rdma_put(), FJMPI_Rdma_get() and
 * FJMPI_Rdma_mput() of this rank began with this NIC as the local one. Notices
 * come in the order in which transfers ended. Of an mput that fails each
 * part that fails is told. Where notices were lost because nobody polled for
 * them, that is told once, as an error whose pid and tag are -1.
 *
 * Return: 0 where there is none; FJMPI_RDMA_NOTICE when an own transfer has
 * ended; FJMPI_RDMA_HALFWAY_NOTICE when a peer's with FJMPI_RDMA_REMOTE_NOTICE
 * has; FJMPI_RDMA_ERROR when an own transfer has failed, notices were lost, or
 * @nic is none.
 */
int FJMPI_Rdma_poll_cq(int nic, struct FJMPI_Rdma_cq *cq);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_MPI_EXT_H */
