/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "utofu/instance.h"
#include "utofu/mark.h"
#include "utofu/vcq_id.h"

/* ---- Handles; instance locked ---- */

static int handle_open(struct tofu_vcq *vcq, utofu_vcq_hdl_t *hdl)
{
	struct tofu_instance *instance = tofu_instance();

	for (unsigned int i = 0; i < TOFU_HANDLES; i++) {
		struct tofu_handle *handle = &instance->handle[i];

		if (handle->hdl)
			continue;
		/* A new count each time: a freed handle stays invalid. */
		instance->uses++;
		if (!(instance->uses << TOFU_HANDLE_BITS))
			instance->uses = 1;
		*hdl = instance->uses << TOFU_HANDLE_BITS | i;
		handle->vcq = vcq;
		__atomic_store_n(&handle->hdl, *hdl, __ATOMIC_RELEASE);
		return 0;
	}
	return -ENOSPC;
}

static void handle_close(utofu_vcq_hdl_t hdl)
{
	struct tofu_handle *handle =
		&tofu_instance()->handle[hdl % TOFU_HANDLES];

	__atomic_store_n(&handle->hdl, 0, __ATOMIC_RELEASE);
	handle->vcq = NULL;
}

/* ---- Which queue a VCQ uses; instance locked ---- */

/*
 * Only VCQs of the same kind share a queue, so that none bypasses the lock of
 * the THREAD_SAFE ones.
 */
static bool queue_shareable(const struct tofu_queue *queue, unsigned long flags)
{
	return queue && !queue->exclusive &&
	       queue->locked == !!(flags & UTOFU_VCQ_FLAG_THREAD_SAFE);
}

/* The steps of a session belong to a queue, not to a VCQ. */
#define FLAGS_ALONE (UTOFU_VCQ_FLAG_EXCLUSIVE | UTOFU_VCQ_FLAG_SESSION_MODE)

/*
 * A component ID names one VCQ among those that share a queue, so such a VCQ
 * goes to the first queue, and is refused if that has its ID already. Other
 * VCQs go to any queue that has room.
 */
static struct tofu_queue *queue_find(unsigned int tni, unsigned int number,
				     unsigned long flags)
{
	if (flags & FLAGS_ALONE)
		return NULL;
	for (unsigned int cq = 0; cq < TOFU_CQS_PER_TNI; cq++) {
		struct tofu_queue *queue = tofu_instance()->queue[tni][cq];

		if (queue_shareable(queue, flags) &&
		    (number != TOFU_LANE_ANONYMOUS ||
		     tofu_queue_takes(queue, number)))
			return queue;
	}
	return NULL;
}

static int queue_make(unsigned int tni, unsigned long flags,
		      struct tofu_queue **queue)
{
	struct tofu_instance *instance = tofu_instance();
	const struct tofu_queue_params params = {
		.tni = tni,
		.toq_code = instance->toq_code,
		.mrq_code = instance->mrq_code,
		.locked = flags & UTOFU_VCQ_FLAG_THREAD_SAFE,
		.exclusive = flags & FLAGS_ALONE,
		.fetched = instance->fetched,
		.session = flags & UTOFU_VCQ_FLAG_SESSION_MODE,
	};
	int err = tofu_queue_create(instance->port, &params, queue);

	if (err)
		return err;
	instance->queue[tni][(*queue)->cq->cq] = *queue;
	(*queue)->made = instance->made[tni][(*queue)->cq->cq];
	tofu_mark_open(*queue);
	return 0;
}

static int queue_get(unsigned int tni, unsigned int number, unsigned long flags,
		     struct tofu_queue **queue)
{
	int err = 0;

	*queue = queue_find(tni, number, flags);
	if (!*queue)
		err = queue_make(tni, flags, queue);
	if (!err)
		(*queue)->users++;
	return err;
}

/* Return: the queue, for queue_end(), after its last user; else NULL. */
static struct tofu_queue *queue_put(struct tofu_queue *queue)
{
	if (--queue->users)
		return NULL;
	tofu_mark_close(queue);
	tofu_instance()->queue[queue->cq->tni][queue->cq->cq] = NULL;
	tofu_instance()->made[queue->cq->tni][queue->cq->cq] = queue->made;
	return queue;
}

/* ---- The end of a queue; instance not locked ---- */

/* Waits until no transfer under way can touch memory through the queue. */
static void queue_end(struct tofu_queue *queue)
{
	if (queue)
		tofu_queue_destroy(queue);
}

void tofu_queue_put(struct tofu_queue *queue)
{
	struct tofu_queue *last;

	tofu_instance_lock();
	last = queue_put(queue);
	tofu_instance_unlock();
	queue_end(last);
}

/* ---- VCQs ---- */

static utofu_vcq_id_t vcq_id(uint64_t coords, unsigned int tni,
			     unsigned int cq, unsigned int number)
{
	return coords | TOFU_SET(TOFU_ROUTE_TNI, tni) |
	       TOFU_SET(TOFU_VCQ_ID_CQ, cq) |
	       TOFU_SET(TOFU_VCQ_ID_NUMBER, number);
}

/* After an error, @vcq->queue is for queue_end(). */
static int vcq_make_locked(struct tofu_vcq *vcq, unsigned int tni,
			   unsigned int number, unsigned long flags,
			   utofu_vcq_hdl_t *hdl)
{
	int err = queue_get(tni, number, flags, &vcq->queue);

	if (err)
		return err;
	err = tofu_lane_open(vcq->queue, number, &vcq->lane);
	if (err)
		goto err_queue;
	vcq->id = vcq_id(tofu_instance()->port->info.coords, tni,
			 vcq->queue->cq->cq, vcq->lane->number);
	vcq->addr_cq = TOFU_SET(TOFU_ADDR_CQ, vcq->queue->cq->cq);
	vcq->tag = TOFU_SET(TOFU_ROUTE_TAG,
			    TOFU_SET(TOFU_TAG_LCL, vcq->lane->number));
	vcq->armw_ops = tofu_armw() ? UTOFU_ARMW_OP_OR : 0;
	err = handle_open(vcq, hdl);
	if (err)
		goto err_lane;
	return 0;

err_lane:
	tofu_lane_close(vcq->queue, vcq->lane);
err_queue:
	vcq->queue = queue_put(vcq->queue);
	return err;
}

static int vcq_make(unsigned int tni, unsigned int number, unsigned long flags,
		    utofu_vcq_hdl_t *hdl)
{
	struct tofu_vcq *vcq = calloc(1, sizeof(*vcq));
	int err;

	if (!vcq)
		return -ENOMEM;
	tofu_instance_lock();
	err = vcq_make_locked(vcq, tni, number, flags, hdl);
	tofu_instance_unlock();
	if (err) {
		queue_end(vcq->queue);
		free(vcq);
	}
	return err;
}

static int vcq_create(unsigned int tni, unsigned int number,
		      unsigned long flags, utofu_vcq_hdl_t *hdl)
{
	int code;

	if (!hdl)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (flags & ~(UTOFU_VCQ_FLAG_THREAD_SAFE | FLAGS_ALONE))
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	code = tofu_instance_open();
	if (code)
		return code;
	if (tni >= tofu_instance()->port->info.tnis)
		return tofu_error(UTOFU_ERR_INVALID_TNI_ID);
	return tofu_code_of_errno(vcq_make(tni, number, flags, hdl));
}

int utofu_create_vcq(utofu_tni_id_t tni_id, unsigned long int flags,
		     utofu_vcq_hdl_t *vcq_hdl)
{
	return vcq_create(tni_id, TOFU_LANE_ANONYMOUS, flags, vcq_hdl);
}

int utofu_create_vcq_with_cmp_id(utofu_tni_id_t tni_id, utofu_cmp_id_t cmp_id,
				 unsigned long int flags,
				 utofu_vcq_hdl_t *vcq_hdl)
{
	if (cmp_id >= TOFU_LANE_ANONYMOUS)
		return tofu_error(UTOFU_ERR_INVALID_CMP_ID);
	return vcq_create(tni_id, cmp_id, flags, vcq_hdl);
}

/* No call finds the VCQ any more: its handle is closed. */
static void vcq_free(struct tofu_vcq *vcq)
{
	struct tofu_queue *last;

	tofu_instance_lock();
	tofu_mem_release_locked(vcq);
	tofu_lane_close(vcq->queue, vcq->lane);
	last = queue_put(vcq->queue);
	tofu_instance_unlock();
	queue_end(last);
	free(vcq);
}

int utofu_free_vcq(utofu_vcq_hdl_t vcq_hdl)
{
	struct tofu_vcq *vcq;

	if (tofu_instance()->forked)
		return tofu_error(UTOFU_ERR_NOT_AVAILABLE);
	tofu_instance_lock();
	vcq = tofu_vcq_find(vcq_hdl);
	if (vcq)
		handle_close(vcq_hdl);
	tofu_instance_unlock();
	if (!vcq)
		return tofu_error_no_vcq();
	vcq_free(vcq);
	return UTOFU_SUCCESS;
}

/* ---- VCQ IDs ---- */

int utofu_query_vcq_id(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t *id)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);

	if (!vcq)
		return tofu_error_no_vcq();
	if (!id)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	*id = vcq->id;
	return UTOFU_SUCCESS;
}

int utofu_construct_vcq_id(uint8_t coords[], utofu_tni_id_t tni_id,
			   utofu_cq_id_t cq_id, utofu_cmp_id_t cmp_id,
			   utofu_vcq_id_t *id)
{
	struct tofu_coords at;
	int code;

	if (!coords || !id)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	code = tofu_instance_open();
	if (code)
		return code;
	for (int i = 0; i < TOFU_AXES; i++)
		at.c[i] = coords[i];
	if (tofu_node_at(&tofu_instance()->shape, &at) < 0)
		return tofu_error(UTOFU_ERR_INVALID_COORDS);
	if (tni_id >= tofu_instance()->port->info.tnis)
		return tofu_error(UTOFU_ERR_INVALID_TNI_ID);
	if (cq_id >= tofu_instance()->port->info.cqs)
		return tofu_error(UTOFU_ERR_INVALID_CQ_ID);
	if (cmp_id >= TOFU_LANE_ANONYMOUS)
		return tofu_error(UTOFU_ERR_INVALID_CMP_ID);
	*id = vcq_id(tofu_coords_pack(&at), tni_id, cq_id, cmp_id);
	return UTOFU_SUCCESS;
}

int utofu_query_vcq_info(utofu_vcq_id_t id, uint8_t coords[],
			 utofu_tni_id_t *tni_id, utofu_cq_id_t *cq_id,
			 uint16_t *extra_val)
{
	struct tofu_coords at;

	if (!coords || !tni_id || !cq_id || !extra_val)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!tofu_vcq_id_valid(id))
		return tofu_error(UTOFU_ERR_INVALID_VCQ_ID);
	at = tofu_coords_unpack(id);
	for (int i = 0; i < TOFU_AXES; i++)
		coords[i] = at.c[i];
	*tni_id = (utofu_tni_id_t)TOFU_GET(id, TOFU_ROUTE_TNI);
	*cq_id = (utofu_cq_id_t)TOFU_GET(id, TOFU_VCQ_ID_CQ);
	*extra_val = (uint16_t)TOFU_GET(id, TOFU_VCQ_ID_NUMBER);
	return UTOFU_SUCCESS;
}
