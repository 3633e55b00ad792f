/* SPDX-License-Identifier: MIT */
/*
 * What the library keeps for the process: the port, the queues, the VCQs.
 */
#ifndef UTOFU_CONTEXT_H
#define UTOFU_CONTEXT_H

#include <pthread.h>
#include <stdbool.h>

#include <utofu.h>

#include "icc/topology.h"
#include "port/port.h"
#include "queue/queue.h"

/**
 * struct tofu_region - registered memory
 * @next:  of the same VCQ
 * @stadd: as the program knows it
 */
struct tofu_region {
	struct tofu_region *next;
	utofu_stadd_t stadd;
};

/**
 * struct tofu_vcq
 * @id:     without path
 * @addr_cq: TOFU_ADDR_CQ of its own CQ
 * @tag:    TOFU_ROUTE_TAG with its own lane
 * @queue:  that it sends and receives through
 * @lane:   of @queue
 * @region: what is registered through it
 */
struct tofu_vcq {
	utofu_vcq_id_t id;
	uint64_t addr_cq;
	uint64_t tag;
	struct tofu_queue *queue;
	struct tofu_lane *lane;
	struct tofu_region *region;
};

/* Every lane of every CQ of every TNI, rounded up */
#define TOFU_HANDLE_BITS 11
#define TOFU_HANDLES (1U << TOFU_HANDLE_BITS)
TOFU_ASSERT(TOFU_TNIS_MAX * TOFU_CQS_PER_TNI * TOFU_LANES <= TOFU_HANDLES,
	    "every VCQ has a handle");

/**
 * struct tofu_handle - an entry of the table of handles
 * @hdl: number of the entry, and above it a count of its uses; 0 while free
 * @vcq: what it stands for
 */
struct tofu_handle {
	utofu_vcq_hdl_t hdl;
	struct tofu_vcq *vcq;
};

/**
 * struct tofu_context
 * @handle: written with @lock, read without: an entry whose @hdl is the one
 *          looked for has the right @vcq
 * @lock:   of everything but reading @handle
 * @forked: this is a child of the process that opened @port
 * @port:   NULL until first use
 * @shape:  of the machine
 * @toq_code, @mrq_code: size codes of new queues
 * @queue:  by TNI and CQ number
 */
struct tofu_context {
	struct tofu_handle handle[TOFU_HANDLES];
	pthread_mutex_t lock;
	bool forked;
	struct tofu_port_dev *port;
	struct tofu_shape shape;
	unsigned int toq_code;
	unsigned int mrq_code;
	struct tofu_queue *queue[TOFU_TNIS_MAX][TOFU_CQS_PER_TNI];
};

extern struct tofu_context tofu_context;

/**
 * tofu_context_open - make sure that there is a port
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_NOT_AVAILABLE.
 */
int tofu_context_open(void);

/* tofu_context_lock, _unlock - around the control path */
void tofu_context_lock(void);
void tofu_context_unlock(void);

/* tofu_code_of_errno - the uTofu code of a negative errno, or of 0 */
int tofu_code_of_errno(int err);

/* tofu_vcq_find - Return: the VCQ, or NULL: tofu_vcq_missing() says why */
static inline struct tofu_vcq *tofu_vcq_find(utofu_vcq_hdl_t hdl)
{
	const struct tofu_handle *handle =
		&tofu_context.handle[hdl % TOFU_HANDLES];

	if (__atomic_load_n(&handle->hdl, __ATOMIC_ACQUIRE) != hdl)
		return NULL;
	return handle->vcq;
}

int tofu_vcq_missing(void);

/* tofu_mem_release - deregister all of a VCQ; context locked */
void tofu_mem_release(struct tofu_vcq *vcq);

#endif /* UTOFU_CONTEXT_H */
