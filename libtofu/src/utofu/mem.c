/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <tofu/mem.h>

#include "port/work.h"
#include "utofu/instance.h"
#include "utofu/vcq_id.h"
#include "utofu/watch.h"

/* STAGs below TOFU_STAG_AUTO are divided among the lanes of a queue. */
TOFU_ASSERT(TOFU_LANES * TOFU_STAGS_RESERVED == TOFU_STAG_AUTO,
	    "every lane has its own reserved STAGs");

static uint32_t stag_of_lane(unsigned int number, unsigned int stag)
{
	return number * TOFU_STAGS_RESERVED + stag;
}

static uint32_t stag_of_stadd(utofu_stadd_t stadd)
{
	return (uint32_t)TOFU_GET(stadd, TOFU_ADDR_STAG);
}

/* ---- Instance locked ---- */

static int region_make(struct tofu_vcq *vcq, void *addr, size_t size,
		       uint32_t stag, uint32_t flags, utofu_stadd_t *stadd)
{
	struct tofu_port_cq *cq = vcq->queue->cq;
	struct tofu_region *region = malloc(sizeof(*region));
	uint64_t offset;
	int err;

	if (!region)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	err = cq->port->ops->mem_reg(cq, addr, size, flags, &stag, &offset);
	if (err) {
		free(region);
		return tofu_code_of_errno(err);
	}
	region->stadd = TOFU_SET(TOFU_ADDR_STAG, stag) |
			TOFU_SET(TOFU_ADDR_OFFSET, offset);
	region->size = size;
	region->next = vcq->region;
	vcq->region = region;
	*stadd = region->stadd;
	return UTOFU_SUCCESS;
}

/* Return: whether the VCQ had it. Then only the caller deregisters it. */
static bool region_take(struct tofu_vcq *vcq, utofu_stadd_t stadd)
{
	struct tofu_region **at = &vcq->region;
	struct tofu_region *region;

	while (*at && (*at)->stadd != stadd)
		at = &(*at)->next;
	region = *at;
	if (!region)
		return false;
	*at = region->next;
	tofu_work_times(TOFU_WORK_MEMORY_PAGE_FREE,
			region->size / TOFU_WORK_PAGE);
	free(region);
	return true;
}

/*
 * The queue's last user need not deregister anything: destroying the queue
 * does it all at once. A user that finds itself the last one remains the last
 * one, since the lock is not dropped after that.
 */
void tofu_mem_release_locked(struct tofu_vcq *vcq)
{
	struct tofu_queue *queue = vcq->queue;

	while (vcq->region) {
		utofu_stadd_t stadd = vcq->region->stadd;

		region_take(vcq, stadd);
		if (queue->users == 1)
			continue;
		tofu_instance_unlock();
		queue->cq->port->ops->mem_dereg(queue->cq,
						stag_of_stadd(stadd));
		tofu_instance_lock();
	}
}

/* ---- The interface ---- */

static int mem_reg_locked(utofu_vcq_hdl_t vcq_hdl, void *addr, size_t size,
			  unsigned long flags, bool chosen, unsigned int stag,
			  utofu_stadd_t *stadd)
{
	uint32_t mem_flags = 0, mem_stag = TOFU_STAG_ANY;
	struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);

	if (!vcq)
		return tofu_error_no_vcq();
	if (!stadd)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (flags & ~(UTOFU_REG_MEM_FLAG_READ_ONLY | TOFU_REG_MEM_FLAG_BLANK |
		      TOFU_REG_MEM_FLAG_WATCH))
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	if (!addr || (uintptr_t)addr + size < (uintptr_t)addr)
		return tofu_error(UTOFU_ERR_INVALID_ADDRESS);
	if (!size || size > TOFU_FIELD(TOFU_ADDR_OFFSET) - TOFU_STAG_ALIGN)
		return tofu_error(UTOFU_ERR_INVALID_SIZE);
	if (chosen) {
		if (stag >= TOFU_STAGS_RESERVED)
			return tofu_error(UTOFU_ERR_INVALID_STAG);
		mem_stag = stag_of_lane(vcq->lane->number, stag);
	}
	if (flags & UTOFU_REG_MEM_FLAG_READ_ONLY)
		mem_flags |= TOFU_MEM_READ_ONLY;
	if (flags & TOFU_REG_MEM_FLAG_BLANK)
		mem_flags |= TOFU_MEM_BLANK;
	if (flags & TOFU_REG_MEM_FLAG_WATCH)
		mem_flags |= TOFU_MEM_WATCH;
	return region_make(vcq, addr, size, mem_stag, mem_flags, stadd);
}

static int mem_reg(utofu_vcq_hdl_t vcq_hdl, void *addr, size_t size,
		   unsigned long flags, bool chosen, unsigned int stag,
		   utofu_stadd_t *stadd)
{
	int code;

	if (tofu_instance()->forked)
		return tofu_error_no_vcq();
	tofu_instance_lock();
	code = mem_reg_locked(vcq_hdl, addr, size, flags, chosen, stag, stadd);
	tofu_instance_unlock();
	return code;
}

int utofu_reg_mem(utofu_vcq_hdl_t vcq_hdl, void *addr, size_t size,
		  unsigned long int flags, utofu_stadd_t *stadd)
{
	return mem_reg(vcq_hdl, addr, size, flags, false, 0, stadd);
}

int utofu_reg_mem_with_stag(utofu_vcq_hdl_t vcq_hdl, void *addr, size_t size,
			    unsigned int stag, unsigned long int flags,
			    utofu_stadd_t *stadd)
{
	return mem_reg(vcq_hdl, addr, size, flags, true, stag, stadd);
}

int utofu_query_stadd(utofu_vcq_id_t vcq_id, unsigned int stag,
		      utofu_stadd_t *stadd)
{
	unsigned int number;

	if (!stadd)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!tofu_vcq_id_valid(vcq_id))
		return tofu_error(UTOFU_ERR_INVALID_VCQ_ID);
	if (stag >= TOFU_STAGS_RESERVED)
		return tofu_error(UTOFU_ERR_INVALID_STAG);
	number = (unsigned int)TOFU_GET(vcq_id, TOFU_VCQ_ID_NUMBER);
	*stadd = TOFU_SET(TOFU_ADDR_STAG, stag_of_lane(number, stag));
	return UTOFU_SUCCESS;
}

/* On success the caller uses @queue, and drops it by tofu_queue_put(). */
static int mem_take_locked(utofu_vcq_hdl_t vcq_hdl, utofu_stadd_t stadd,
			   unsigned long flags, struct tofu_queue **queue)
{
	struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);

	if (!vcq)
		return tofu_error_no_vcq();
	if (flags)
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	if (!region_take(vcq, stadd))
		return tofu_error(UTOFU_ERR_INVALID_STADD);
	*queue = vcq->queue;
	(*queue)->users++;
	return UTOFU_SUCCESS;
}

int utofu_dereg_mem(utofu_vcq_hdl_t vcq_hdl, utofu_stadd_t stadd,
		    unsigned long int flags)
{
	struct tofu_queue *queue = NULL;
	int code, err;

	if (tofu_instance()->forked)
		return tofu_error_no_vcq();
	tofu_instance_lock();
	code = mem_take_locked(vcq_hdl, stadd, flags, &queue);
	tofu_instance_unlock();
	if (code)
		return code;
	err = queue->cq->port->ops->mem_dereg(queue->cq, stag_of_stadd(stadd));
	tofu_queue_put(queue);
	return tofu_code_of_errno(err);
}
