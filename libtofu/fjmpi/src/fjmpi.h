/* SPDX-License-Identifier: MIT */
/*
 * FJMPI_Rdma over uTofu. Each NIC is a TNI of its own as far as there are
 * enough. On each TNI in use the process has one command queue with two VCQs of
 * known component IDs: together they have a reserved STAG for each memid, and
 * one more. So a STADD is the same on every NIC, and serves as the DMA address.
 * All STADDs belong to the queue, whichever of its VCQs registered them. All
 * transfers use the first VCQ, which keeps them in order.
 *
 * A table, indexed by memid, has the registered memory. Peers read it with
 * utofu_get(), so they need no answer from a process that computes.
 */
#ifndef FJMPI_H
#define FJMPI_H

#include <pthread.h>
#include <stdbool.h>

#include <mpi-ext.h>
#include <utofu.h>

#define FJMPI_NICS 4
#define FJMPI_PATHS 4
#define FJMPI_TAGS 15
#define FJMPI_MEMIDS 511
#define FJMPI_LENGTH_MAX 16777212
#define FJMPI_MPUT_MAX 1993

/* VCQs in a queue, and the reserved STAGs of each */
#define FJMPI_BANKS 2
#define FJMPI_BANK_STAGS 256

/* Place of a memid's STAG; the STAG of the table follows the last one. */
#define FJMPI_TABLE FJMPI_MEMIDS
#define FJMPI_BANK(memid) ((memid) / FJMPI_BANK_STAGS)
#define FJMPI_STAG(memid) ((memid) % FJMPI_BANK_STAGS)

_Static_assert(FJMPI_TABLE < FJMPI_BANKS * FJMPI_BANK_STAGS,
	       "each memid and the table have a STAG");

/* Fields of the flags */
#define FJMPI_LOCAL(flags) ((unsigned int)(flags) & 3)
#define FJMPI_REMOTE(flags) ((unsigned int)(flags) >> 2 & 3)
#define FJMPI_PATH(flags) ((unsigned int)(flags) >> 4 & 3)
#define FJMPI_FLAGS_ALL 0x1ff

/* The edata of a transfer: tag, and the NICs as in the flags */
#define FJMPI_EDATA(tag, flags) ((uint64_t)(tag) | ((uint64_t)(flags) & 15) << 4)
#define FJMPI_EDATA_TAG(edata) ((unsigned int)(edata) & 15)
#define FJMPI_EDATA_FLAGS(edata) ((unsigned int)(edata) >> 4 & 15)

/**
 * struct fjmpi_notice - result of FJMPI_Rdma_poll_cq()
 * @kind: its return value
 * @cq:   contents of its structure
 */
struct fjmpi_notice {
	int kind;
	struct FJMPI_Rdma_cq cq;
};

/**
 * struct fjmpi_inbox - notices that came to a NIC before the program polled it
 * @ring: @size notices, a power of two or 0; it grows
 * @head, @tail: free-running positions
 * @lost: a notice found no room, and the program does not know yet
 */
struct fjmpi_inbox {
	struct fjmpi_notice *ring;
	size_t size;
	size_t head;
	size_t tail;
	bool lost;
};

/**
 * struct fjmpi_vcq - the process's queue on a TNI
 * @hdl:   VCQs by bank; 0 where there is none
 * @posts: commands posted, to know when to make room for their notices
 * @nops:  NOPs of fjmpi_quiesce() without a report so far
 * @inbox: inbox of the NIC with the TNI's number: gets losses of the MRQ
 * @overflow: the program knows that the MRQ lost notices
 */
struct fjmpi_vcq {
	utofu_vcq_hdl_t hdl[FJMPI_BANKS];
	unsigned int posts;
	unsigned int nops;
	struct fjmpi_inbox *inbox;
	bool overflow;
};

/**
 * struct fjmpi_region - registered memory
 * @addr: its DMA address
 * @size: bytes; 0 where none is registered
 */
struct fjmpi_region {
	uint64_t addr;
	size_t size;
};

/**
 * struct fjmpi_peer - a rank
 * @id: VCQ IDs for commands to it, by NIC and path
 */
struct fjmpi_peer {
	utofu_vcq_id_t id[FJMPI_NICS][FJMPI_PATHS];
};

/**
 * struct fjmpi_name - a VCQ and its owner
 */
struct fjmpi_name {
	utofu_vcq_id_t id;
	int pid;
};

/**
 * struct fjmpi - the whole state
 * @up:    between FJMPI_Rdma_init() and FJMPI_Rdma_finalize()
 * @size:  size of MPI_COMM_WORLD
 * @vcqs:  entries of @vcq; NIC n uses entry n modulo @vcqs
 * @vcq:   queues by TNI
 * @inbox: inboxes by NIC
 * @first: DMA address of the first STAG of each bank, in every process
 * @region: registered memory by memid
 * @table: by memid, a DMA address or 0: what peers read
 * @found: what FJMPI_Rdma_get_remote_addr() has read
 * @found_at: STADD of @found
 * @peer:  peers by pid
 * @name:  names of all NICs of all peers, ascending
 */
struct fjmpi {
	bool up;
	unsigned int size;
	unsigned int vcqs;
	struct fjmpi_vcq vcq[FJMPI_NICS];
	struct fjmpi_inbox inbox[FJMPI_NICS];
	uint64_t first[FJMPI_BANKS];
	struct fjmpi_region region[FJMPI_MEMIDS];
	uint64_t *table;
	uint64_t found;
	utofu_stadd_t found_at;
	struct fjmpi_peer *peer;
	struct fjmpi_name *name;
};

/* Used with the lock held only */
extern struct fjmpi fjmpi;
extern pthread_mutex_t fjmpi_lock;

static inline struct fjmpi_vcq *fjmpi_vcq_of_nic(unsigned int nic)
{
	return &fjmpi.vcq[nic % fjmpi.vcqs];
}

static inline bool fjmpi_pid_valid(int pid)
{
	return pid >= 0 && (unsigned int)pid < fjmpi.size;
}

static inline bool fjmpi_memid_valid(int memid)
{
	return memid >= 0 && memid < FJMPI_MEMIDS;
}

/* fjmpi_mpi_usable - check that MPI is initialised and not finalised */
bool fjmpi_mpi_usable(void);

/* fjmpi_memid_of - Return: the memid of a DMA address, or -1 */
int fjmpi_memid_of(uint64_t addr);

/*
 * fjmpi_name_compare - compare two struct fjmpi_name, for qsort() and bsearch()
 */
int fjmpi_name_compare(const void *a, const void *b);

/* ---- notice.c ---- */

/* fjmpi_cbdata - make the cbdata of a command, for its report */
static inline void *fjmpi_cbdata(int pid, uint64_t edata)
{
	return (void *)((uintptr_t)pid << 8 | edata);
}

/*
 * fjmpi_take - move a notice or report of a VCQ to its inbox
 *
 * Return: whether there was one.
 */
bool fjmpi_take(struct fjmpi_vcq *vcq);

/* fjmpi_quiesce - wait until all transfers of this rank have ended */
void fjmpi_quiesce(void);

void fjmpi_inbox_free(struct fjmpi_inbox *inbox);

#endif /* FJMPI_H */
