/* SPDX-License-Identifier: MIT */
/*
 * An instance of the library: a port, and the queues, VCQs and barrier gates
 * that were made on it. uTofu's functions take no handle for it;
 * tofu_instance() finds the caller's.
 *
 * May include: port/, queue/, net/, uapi/
 */
#ifndef UTOFU_INSTANCE_H
#define UTOFU_INSTANCE_H

#include <pthread.h>
#include <stdbool.h>

#include <tofu/boot.h>
#include <utofu.h>

#include "net/topology.h"
#include "port/port.h"
#include "queue/queue.h"
#include "utofu/error.h"
#include "utofu/vbg_id.h"

/**
 * struct tofu_region - registered memory
 * @next:  of the same VCQ
 * @stadd: as the program knows it
 * @size:  bytes
 */
struct tofu_region {
	struct tofu_region *next;
	utofu_stadd_t stadd;
	size_t size;
};

/**
 * struct tofu_vcq
 * @id:     without path
 * @addr_cq: TOFU_ADDR_CQ of its own CQ
 * @tag:    TOFU_ROUTE_TAG with its own lane
 * @queue:  the queue that it uses
 * @lane:   of @queue
 * @region: memory registered through it
 * @armw_ops: how many of enum utofu_armw_op there are: all, or none
 */
struct tofu_vcq {
	utofu_vcq_id_t id;
	uint64_t addr_cq;
	uint64_t tag;
	struct tofu_queue *queue;
	struct tofu_lane *lane;
	struct tofu_region *region;
	unsigned int armw_ops;
};

/* Every lane of every CQ of every TNI, rounded up */
#define TOFU_HANDLE_BITS 11
#define TOFU_HANDLES (1U << TOFU_HANDLE_BITS)
TOFU_ASSERT(TOFU_TNIS_MAX *TOFU_CQS_PER_TNI *TOFU_LANES <= TOFU_HANDLES,
	    "every VCQ has a handle");

/**
 * struct tofu_handle - an entry of the table of handles
 * @hdl: number of the entry, and above it a count of its uses; 0 while free
 * @vcq: the VCQ that it stands for
 */
struct tofu_handle {
	utofu_vcq_hdl_t hdl;
	struct tofu_vcq *vcq;
};

/**
 * struct tofu_vbg_group - the gates of one utofu_alloc_vbg()
 * @gates:   the port's side of them
 * @locked:  whether tofu_vbg_lock() locks
 * @lock:    protects the following members if @locked
 * @linked:  the start and end gate has been set
 * @begun:   a barrier was started, and no poll has returned its end
 * @op, @count: of the last barrier: enum tofu_reduce_op, elements
 * @started: barriers started since the gate was set, 32 bits as
 *           TOFU_CHANNEL_ENDED
 * @empty_polls: empty polls in a row; races between them are harmless
 * @held:    utofu_set_vbg() has locked @lock; under the instance's lock
 */
struct tofu_vbg_group {
	struct tofu_port_gates *gates;
	bool locked;
	pthread_mutex_t lock;
	bool linked;
	bool begun;
	unsigned int op;
	unsigned int count;
	uint32_t started;
	unsigned int empty_polls;
	bool held;
};

/**
 * struct tofu_vbg - an entry of the table of gates
 * @owned: VBG ID plus one; 0 while the process does not own the gate
 * @group: the group that it belongs to
 * @index: in the group; 0 is the start and end gate
 */
struct tofu_vbg {
	uint64_t owned;
	struct tofu_vbg_group *group;
	unsigned int index;
};

/**
 * struct tofu_instance
 * @handle: written with @lock, read without: an entry with the right @hdl has
 *          the right @vcq
 * @uses:   how many handles were given out so far
 * @mark:   where tofu_mark() stores: @nowhere or a queue's kick page
 * @nowhere: spares tofu_mark() the test whether there is a trace
 * @lock:   protects everything but reading @handle, @vbg and @mark. No holder
 *          waits for other nodes: an object that is freed first leaves the
 *          tables, and is waited for without the lock.
 * @fetched: engines fetch all commands: TOFU_DIRECT=0
 * @forks:  the fork handler is installed
 * @forked: this is a child of the process that opened @port
 * @port:   NULL until first use
 * @shape:  of the machine
 * @toq_code, @mrq_code: size codes of new queues
 * @queue:  by TNI and CQ number
 * @made:   struct tofu_queue.made of the last queue with that CQ number: the next
 *          one's lanes take their turns after it
 * @vbg:    by TNI and gate number; read as @handle is
 * @attendants: of tofu_boot_attend(); they belong to the thread that uses boots
 * @boots: uses of a boot's VCQ, which keep attendants' threads away
 */
struct tofu_instance {
	struct tofu_handle handle[TOFU_HANDLES];
	utofu_vcq_hdl_t uses;
	uint64_t *mark;
	uint64_t nowhere;
	pthread_mutex_t lock;
	bool fetched;
	bool forks;
	bool forked;
	struct tofu_port_dev *port;
	struct tofu_shape shape;
	unsigned int toq_code;
	unsigned int mrq_code;
	struct tofu_queue *queue[TOFU_TNIS_MAX][TOFU_CQS_PER_TNI];
	unsigned int made[TOFU_TNIS_MAX][TOFU_CQS_PER_TNI];
	struct tofu_vbg vbg[TOFU_TNIS_MAX][TOFU_GATES];
	struct tofu_attendant *attendants;
	unsigned int boots;
};

/*
 * The instance that calls use, never NULL. A process that is one node has one,
 * and this always points to it. A home with several nodes stores here when it
 * switches between them; a node that was switched away inside a call must find
 * its own instance again when it resumes. Hidden, so that the data path reads
 * it without the GOT.
 */
extern struct tofu_instance *tofu_instance_current
	__attribute__((visibility("hidden")));

static inline struct tofu_instance *tofu_instance(void)
{
	return tofu_instance_current;
}

/* tofu_instance_init - make an instance of zeroed memory, which has no port */
void tofu_instance_init(struct tofu_instance *instance);

/**
 * tofu_instance_open - make sure that there is a port
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_NOT_AVAILABLE.
 */
int tofu_instance_open(void);

/**
 * tofu_instance_close - free the remaining VCQs and gates, and leave the port
 *
 * No other thread may be in the library or use its objects. The next call that
 * needs a port opens one.
 */
void tofu_instance_close(void);

/* tofu_instance_lock, tofu_instance_unlock - around the control path */
void tofu_instance_lock(void);
void tofu_instance_unlock(void);

/* tofu_code_of_errno - the uTofu code of a negative errno, or of 0 */
int tofu_code_of_errno(int err);

/* tofu_vcq_find - Return: the VCQ; NULL: tofu_error_no_vcq() has the code */
static inline struct tofu_vcq *tofu_vcq_find(utofu_vcq_hdl_t hdl)
{
	const struct tofu_handle *handle =
		&tofu_instance()->handle[hdl % TOFU_HANDLES];

	if (__atomic_load_n(&handle->hdl, __ATOMIC_ACQUIRE) != hdl)
		return NULL;
	return handle->vcq;
}

/* tofu_error_no_vcq - Return: the error code for a handle without a VCQ */
int tofu_error_no_vcq(void);

/* tofu_barrier_tnis - number of TNIs with gates, all or 0; instance open */
static inline unsigned int tofu_barrier_tnis(void)
{
	const struct tofu_ioc_info *info = &tofu_instance()->port->info;

	return info->gates ? info->tnis : 0;
}

/* tofu_armw - whether the controller has remote atomics; instance open */
static inline bool tofu_armw(void)
{
	return tofu_instance()->port->info.caps & TOFU_INFO_ARMW;
}

/* tofu_vbg_find - Return: the gate; NULL: tofu_error_no_vbg() has the code */
static inline struct tofu_vbg *tofu_vbg_find(utofu_vbg_id_t id)
{
	unsigned int tni = tofu_vbg_id_tni(id);
	unsigned int gate = tofu_vbg_id_gate(id);
	struct tofu_vbg *vbg;

	if (tni >= TOFU_TNIS_MAX || gate >= TOFU_GATES)
		return NULL;
	vbg = &tofu_instance()->vbg[tni][gate];
	if (__atomic_load_n(&vbg->owned, __ATOMIC_ACQUIRE) != id + 1)
		return NULL;
	return vbg;
}

/* tofu_error_no_vbg - Return: the error code for an ID without a gate */
int tofu_error_no_vbg(void);

static inline void tofu_vbg_lock(struct tofu_vbg_group *group)
{
	if (group->locked)
		pthread_mutex_lock(&group->lock);
}

static inline void tofu_vbg_unlock(struct tofu_vbg_group *group)
{
	if (group->locked)
		pthread_mutex_unlock(&group->lock);
}

/* tofu_vbg_forked - drop the gates in a forked child */
void tofu_vbg_forked(void);

/* tofu_vbg_free_all - free the gates of an instance that is being closed */
void tofu_vbg_free_all(void);

/*
 * tofu_mem_release_locked - deregister all memory of a VCQ whose handle is
 * closed; drops the instance's lock while it waits
 */
void tofu_mem_release_locked(struct tofu_vcq *vcq);

/* tofu_queue_put - drop a use of a queue; may wait, so instance not locked */
void tofu_queue_put(struct tofu_queue *queue);

#endif /* UTOFU_INSTANCE_H */
