/* SPDX-License-Identifier: MIT */
/*
 * FJMPI_Rdma over uTofu. Each NIC is a TNI of its own as far as there are
 * enough. On each TNI that is used the process has one command queue, and in it
 * two VCQs, of known component IDs: together they have a reserved STAG for each
 * memid, and one more. So a STADD is the same on every NIC, and is the DMA
 * address. All STADDs are of the queue, whichever of its VCQs registered them:
 * transfers all use the first VCQ, which keeps them in order.
 *
 * What is registered stands in a table, by memid, which peers read by
 * utofu_get(): so they need no answer from a process that computes.
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

/* VCQs in a queue, and reserved STAGs of each */
#define FJMPI_BANKS 2
#define FJMPI_BANK_STAGS 256

/* Where a memid's STAG is; that of the table is the one after the last. */
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

/* The edata of a transfer: tag, and the NICs as they stand in the flags. */
#define FJMPI_EDATA(tag, flags) ((uint64_t)(tag) | ((uint64_t)(flags) & 15) << 4)
#define FJMPI_EDATA_TAG(edata) ((unsigned int)(edata) & 15)
#define FJMPI_EDATA_FLAGS(edata) ((unsigned int)(edata) >> 4 & 15)

/**
 * struct fjmpi_notice - what FJMPI_Rdma_poll_cq() gives
 * @kind: what it returns
 * @cq:   what it fills
 */
struct fjmpi_notice {
	int kind;
	struct FJMPI_Rdma_cq cq;
};

/**
 * struct fjmpi_inbox - notices of a NIC that were met before they were asked for
 * @ring: @size of them, a power of two or 0; it grows
 * @head, @tail: free-running positions
 * @lost: one found no room, and nobody has been told
 */
struct fjmpi_inbox {
	struct fjmpi_notice *ring;
	size_t size;
	size_t head;
	size_t tail;
	bool lost;
};

/**
 * struct fjmpi_vcq - what the process has of a TNI
 * @hdl:   by bank; 0 where there is none
 * @posts: commands, to know when it is time to make room for their notices
 * @nops:  of fjmpi_quiesce(), not yet reported
 * @inbox: of the NIC that has the number of the TNI: for losses in the MRQ
 * @overflow: it has been told that the MRQ lost notices
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
 * @id: where its commands go, by NIC and path
 */
struct fjmpi_peer {
	utofu_vcq_id_t id[FJMPI_NICS][FJMPI_PATHS];
};

/**
 * struct fjmpi_name - whose VCQ it is
 */
struct fjmpi_name {
	utofu_vcq_id_t id;
	int pid;
};

/**
 * struct fjmpi - all of it
 * @up:    between FJMPI_Rdma_init() and FJMPI_Rdma_finalize()
 * @size:  of MPI_COMM_WORLD
 * @vcqs:  entries of @vcq; NIC n uses the one of n modulo @vcqs
 * @vcq:   by TNI
 * @inbox: by NIC
 * @first: DMA address of the first STAG of each bank, in every process
 * @region: by memid
 * @table: by memid, a DMA address or 0: what peers read
 * @found: what FJMPI_Rdma_get_remote_addr() has read
 * @found_at: its STADD
 * @peer:  by pid
 * @name:  of all NICs of all peers, ascending
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

/* Everything is used with the lock held. */
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

/* fjmpi_mpi_usable - whether MPI is between its start and its end */
bool fjmpi_mpi_usable(void);

/* fjmpi_memid_of - Return: of a DMA address the memid, or -1 */
int fjmpi_memid_of(uint64_t addr);

/* fjmpi_name_compare - of two struct fjmpi_name, for qsort() and bsearch() */
int fjmpi_name_compare(const void *a, const void *b);

/* ---- notice.c ---- */

/* fjmpi_cbdata - what a command is posted with, for its report */
static inline void *fjmpi_cbdata(int pid, uint64_t edata)
{
	return (void *)((uintptr_t)pid << 8 | edata);
}

/*
 * fjmpi_take - move a notice or report of a VCQ to the inbox that it is for
 *
 * Return: whether there was one.
 */
bool fjmpi_take(struct fjmpi_vcq *vcq);

/* fjmpi_quiesce - wait until all own transfers have ended */
void fjmpi_quiesce(void);

void fjmpi_inbox_free(struct fjmpi_inbox *inbox);

#endif /* FJMPI_H */
