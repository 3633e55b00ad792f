/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/soft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port/soft-mem.h"

/**
 * struct soft_cq
 * @base:  the part that the queue layer uses
 * @mem:   registered memory
 * @rings_size: bytes of the rings, which begin with the TOQ
 * @flush_asked: number of the last flush asked for; this and the next two are
 *         locked
 * @flush_begun: last request that the flush under way serves
 * @flush_ended: last request that a finished flush has served
 */
struct soft_cq {
	struct tofu_port_cq base;
	struct tofu_soft_mem mem;
	size_t rings_size;
	uint64_t flush_asked;
	uint64_t flush_begun;
	uint64_t flush_ended;
};

static struct tofu_soft *soft_of(const struct tofu_port_cq *cq)
{
	return (struct tofu_soft *)cq->port;
}

unsigned int tofu_soft_group(void)
{
	return geteuid() & 0xffff;
}

/* ---- Registers of a CQ; locked ---- */

static void reg_write(struct tofu_port_cq *cq, unsigned int reg, uint64_t value)
{
	icc_reg_write(soft_of(cq)->icc, TOFU_CQ_REGS(cq->tni, cq->cq) + reg,
		      value, sizeof(value));
}

static uint64_t reg_read(struct tofu_port_cq *cq, unsigned int reg)
{
	return icc_reg_read(soft_of(cq)->icc,
			    TOFU_CQ_REGS(cq->tni, cq->cq) + reg,
			    sizeof(uint64_t));
}

/*
 * Waits until no transfer under way can touch memory through the queue. The
 * other nodes have to make progress for that, perhaps on this processor. The
 * controller does one flush of a queue at a time: a flush serves all threads
 * that asked before it began.
 */
static void flush_locked(struct soft_cq *cq)
{
	struct tofu_soft *soft = soft_of(&cq->base);
	uint64_t ticket = ++cq->flush_asked;
	unsigned int turn = 0;

	for (;;) {
		if (!reg_read(&cq->base, TOFU_CQ_FLUSH)) {
			cq->flush_ended = cq->flush_begun;
			if (cq->flush_ended >= ticket)
				return;
			cq->flush_begun = cq->flush_asked;
			reg_write(&cq->base, TOFU_CQ_FLUSH, 1);
		}
		soft->ops->turn(soft, &turn);
	}
}

static int enable_locked(struct soft_cq *cq, uint32_t flags,
			 unsigned int toq_code, unsigned int mrq_code)
{
	bool session = flags & TOFU_CQ_SESSION_MODE;
	struct tofu_port_cq *base = &cq->base;

	reg_write(base, TOFU_CQ_TOQ_BASE, (uintptr_t)base->toq);
	reg_write(base, TOFU_CQ_TCQ_BASE, (uintptr_t)base->tcq);
	reg_write(base, TOFU_CQ_MRQ_BASE, (uintptr_t)base->mrq);
	reg_write(base, TOFU_CQ_RINGS,
		  TOFU_SET(TOFU_CQ_RINGS_TOQ, toq_code) |
			  TOFU_SET(TOFU_CQ_RINGS_MRQ, mrq_code) |
			  TOFU_SET(TOFU_CQ_RINGS_SESSION, session));
	reg_write(base, TOFU_CQ_STT_BASE, (uintptr_t)cq->mem.steering);
	reg_write(base, TOFU_CQ_STT_COUNT, cq->mem.stags);
	reg_write(base, TOFU_CQ_MBT_BASE, (uintptr_t)cq->mem.block);
	reg_write(base, TOFU_CQ_MBT_COUNT, cq->mem.stags);
	reg_write(base, TOFU_CQ_GPID, tofu_soft_group());
	reg_write(base, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
	return reg_read(base, TOFU_CQ_STATUS) & TOFU_CQ_STATUS_ENABLED ?
		       0 :
		       -EINVAL;
}

/* ---- Command queues ---- */

/* The rings of a queue lie in one piece of memory: TOQ, MRQ, TCQ. */
static int rings_make(struct tofu_soft *soft, struct soft_cq *cq,
		      unsigned int toq_code, unsigned int mrq_code)
{
	size_t toq = TOFU_RING_ENTRIES(toq_code) * sizeof(*cq->base.toq);
	size_t mrq = TOFU_RING_ENTRIES(mrq_code) * sizeof(*cq->base.mrq);
	size_t tcq = TOFU_RING_ENTRIES(toq_code) * sizeof(*cq->base.tcq);
	char *rings;

	cq->rings_size = toq + mrq + tcq;
	rings = soft->ops->alloc(soft, cq->rings_size);
	if (!rings)
		return -ENOMEM;
	cq->base.toq = (void *)rings;
	cq->base.mrq = (void *)(rings + toq);
	cq->base.tcq = (void *)(rings + toq + mrq);
	return 0;
}

/* struct picked - which queue; the ctx of pick_queue() */
struct picked {
	unsigned int queues;
	unsigned int number;
};

/* The pick of struct tofu_soft_ops: the lowest queue that is free */
static uint64_t pick_queue(void *ctx, uint64_t taken)
{
	struct picked *picked = ctx;

	picked->number = (unsigned int)__builtin_ctzll(~taken);
	return picked->number < picked->queues ? 1ULL << picked->number : 0;
}

/*
 * The engine looks up a region's addresses in the process whenever it accesses
 * them. Whatever is mapped there is the region: it never becomes stale.
 */
static const struct tofu_watch never_stale;

static void cq_init(struct soft_cq *cq, struct tofu_soft *soft,
		    unsigned int tni, unsigned int number)
{
	cq->base.port = &soft->dev;
	cq->base.tni = tni;
	cq->base.cq = number;
	cq->base.page = (void *)(soft->pages + TOFU_CQ_PAGE(tni, number));
	cq->base.watch = &never_stale;
	/* The engine runs in this thread, so the first empty poll kicks. */
	cq->base.poll_patience = 1;
	cq->base.direct = soft->direct;
	cq->base.kicks = true;
	memset(cq->base.page, 0, sizeof(*cq->base.page));
}

static int cq_enable(struct soft_cq *cq, uint32_t flags, unsigned int toq_code,
		     unsigned int mrq_code)
{
	struct tofu_soft *soft = soft_of(&cq->base);
	int err;

	soft->ops->lock(soft);
	err = enable_locked(cq, flags, toq_code, mrq_code);
	if (!err)
		soft->used[cq->base.tni] |= 1U << cq->base.cq;
	soft->ops->unlock(soft);
	return err;
}

int tofu_soft_cq_create(struct tofu_port_dev *dev, unsigned int tni,
			uint32_t flags, unsigned int toq_code,
			unsigned int mrq_code, struct tofu_port_cq **base)
{
	struct tofu_soft *soft = (struct tofu_soft *)dev;
	struct picked picked = { .queues = dev->info.cqs };
	struct soft_cq *cq = calloc(1, sizeof(*cq));
	void *tables;
	int err;

	if (!cq)
		return -ENOMEM;
	err = soft->ops->take(soft, TOFU_SHARE_CQ, tni, pick_queue, &picked);
	if (err)
		goto err_free;
	cq_init(cq, soft, tni, picked.number);
	err = rings_make(soft, cq, toq_code, mrq_code);
	if (err)
		goto err_number;
	err = -ENOMEM;
	tables = soft->ops->alloc(soft, TOFU_SOFT_TABLES(soft->stags));
	if (!tables)
		goto err_rings;
	tofu_soft_mem_init(&cq->mem, tables, soft->stags);
	err = cq_enable(cq, flags, toq_code, mrq_code);
	if (err)
		goto err_tables;
	*base = &cq->base;
	return 0;

err_tables:
	soft->ops->free(soft, tables, TOFU_SOFT_TABLES(soft->stags));
err_rings:
	soft->ops->free(soft, cq->base.toq, cq->rings_size);
err_number:
	soft->ops->give(soft, TOFU_SHARE_CQ, tni, 1ULL << picked.number);
err_free:
	free(cq);
	return err;
}

void tofu_soft_cq_destroy(struct tofu_port_cq *base)
{
	struct tofu_soft *soft = soft_of(base);
	struct soft_cq *cq = (struct soft_cq *)base;

	soft->ops->lock(soft);
	reg_write(base, TOFU_CQ_CTRL, 0);
	flush_locked(cq);
	soft->used[base->tni] &= ~(1U << base->cq);
	soft->ops->unlock(soft);
	soft->ops->give(soft, TOFU_SHARE_CQ, base->tni, 1ULL << base->cq);
	soft->ops->free(soft, cq->mem.steering,
			TOFU_SOFT_TABLES(soft->stags));
	soft->ops->free(soft, base->toq, cq->rings_size);
	free(cq);
}

/* ---- Memory ---- */

int tofu_soft_mem_reg(struct tofu_port_cq *base, void *addr, size_t length,
		      uint32_t flags, uint32_t *stag, uint64_t *offset)
{
	struct tofu_soft *soft = soft_of(base);
	struct soft_cq *cq = (struct soft_cq *)base;
	int err;

	if (!soft->blank)
		flags &= ~TOFU_MEM_BLANK;
	if (!(flags & TOFU_MEM_BLANK)) {
		err = soft->ops->check(addr, length,
				       !(flags & TOFU_MEM_READ_ONLY));
		if (err)
			return err;
	}
	soft->ops->lock(soft);
	err = tofu_soft_mem_reg_locked(&cq->mem, addr, length, flags, stag,
				       offset);
	soft->changes++;
	soft->ops->unlock(soft);
	return err;
}

int tofu_soft_mem_dereg(struct tofu_port_cq *base, uint32_t stag)
{
	struct tofu_soft *soft = soft_of(base);
	struct soft_cq *cq = (struct soft_cq *)base;
	int err;

	soft->ops->lock(soft);
	err = tofu_soft_mem_withdraw_locked(&cq->mem, stag);
	if (!err) {
		soft->changes++;
		flush_locked(cq);
		tofu_soft_mem_free_locked(&cq->mem, stag);
		soft->changes++;
	}
	soft->ops->unlock(soft);
	return err;
}

/* ---- Stamps ---- */

void tofu_soft_stamps(struct tofu_port_cq *cq, uint64_t stamp[TOFU_CQ_STAMPS])
{
	struct tofu_soft *soft = soft_of(cq);

	soft->ops->lock(soft);
	for (unsigned int i = 0; i < TOFU_CQ_STAMPS; i++)
		stamp[i] = reg_read(cq, TOFU_CQ_STAMP(i));
	soft->ops->unlock(soft);
}

/* ---- The port ---- */

static uint64_t global_read(const struct tofu_soft *soft, unsigned int reg)
{
	return icc_reg_read(soft->icc, reg, sizeof(uint64_t));
}

void tofu_soft_info(struct tofu_soft *soft)
{
	struct tofu_ioc_info *info = &soft->dev.info;
	uint64_t caps, node;

	soft->ops->lock(soft);
	caps = global_read(soft, TOFU_REG_CAPS);
	node = global_read(soft, TOFU_REG_NODE);
	info->tnis = (uint32_t)TOFU_GET(caps, TOFU_CAPS_TNIS);
	info->cqs = TOFU_CQ_KERNEL;
	info->node = (uint32_t)node;
	info->nodes = (uint32_t)(node >> 32);
	info->coords = global_read(soft, TOFU_REG_COORDS);
	info->shape = global_read(soft, TOFU_REG_SHAPE);
	info->ring_code_max = TOFU_RING_CODE_MAX;
	info->stags = soft->stags;
	info->caps = TOFU_GET(caps, TOFU_CAPS_ARMW) ? TOFU_INFO_ARMW : 0;
	info->gates = (uint32_t)TOFU_GET(caps, TOFU_CAPS_GATES);
	soft->ops->unlock(soft);
}

void tofu_soft_leave_locked(struct tofu_soft *soft,
			    bool (*late)(struct tofu_soft *soft))
{
	struct tofu_port_cq cq = { .port = &soft->dev };
	unsigned int turn = 0;

	for (cq.tni = 0; cq.tni < soft->dev.info.tnis; cq.tni++) {
		for (cq.cq = 0; cq.cq < soft->dev.info.cqs; cq.cq++) {
			if (!(soft->used[cq.tni] & 1U << cq.cq))
				continue;
			reg_write(&cq, TOFU_CQ_CTRL, 0);
			reg_write(&cq, TOFU_CQ_FLUSH, 1);
			/* Even with work left: peers can make more. */
			while (reg_read(&cq, TOFU_CQ_FLUSH) && !late(soft))
				soft->ops->turn(soft, &turn);
		}
	}
}
