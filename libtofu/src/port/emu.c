/* SPDX-License-Identifier: MIT */
/*
 * The emu port: this process is a node, or one of the processes of a node. Each
 * process has a controller for its own queues and gates; the fabric records
 * which these are. The controller runs in the calls that post and poll, and in
 * a helper thread that sleeps while they do.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "port/debug.h"
#include "port/emu-gate.h"
#include "port/emu-helper.h"
#include "port/emu-mem.h"
#include "port/host.h"
#include "port/job.h"
#include "port/port.h"

/* Higher addresses are the kernel's, on all 64-bit processors. */
#define ADDRESSES_END (1ULL << 63)

/* How long an exiting process waits for peers that still read its memory. */
#define LEAVE_NS 1000000000ULL

/**
 * struct emu_port
 * @dev:  the public part
 * @job:  the process's place in its job
 * @node: the node that it is or shares
 * @pages: the CQ pages of all queues
 * @used: the process's queues by TNI, a bit each; with the node locked
 * @helper: serves other nodes while the program does not poll
 */
struct emu_port {
	struct tofu_port_dev dev;
	struct tofu_job job;
	struct tofu_node *node;
	char *pages;
	uint32_t used[TOFU_TNIS_MAX];
	struct tofu_emu_helper helper;
};

/**
 * struct emu_cq
 * @base:  the part that the queue layer uses
 * @mem:   registered memory
 * @rings_size: of the mapping that begins with the TOQ
 * @flush_asked: number of the last flush asked for; this and the next two
 *         with the node locked
 * @flush_begun: last request that the flush under way serves
 * @flush_ended: last request that a finished flush has served
 */
struct emu_cq {
	struct tofu_port_cq base;
	struct tofu_emu_mem mem;
	size_t rings_size;
	uint64_t flush_asked;
	uint64_t flush_begun;
	uint64_t flush_ended;
};

static struct emu_port *port_of(struct tofu_port_cq *cq)
{
	return (struct emu_port *)cq->port;
}

/* ---- The node's home ---- */

/*
 * Every bus address that the model forms comes from the registers and tables
 * that are written in this file and in emu-mem.c, and is bounded there.
 */
static void *emu_map(void *home, uint64_t addr, size_t *len, bool write)
{
	(void)home;
	(void)len;
	(void)write;
	return (void *)(uintptr_t)addr;
}

/* No interrupt is ever armed here: programs poll. */
static void emu_irq(void *home, unsigned int vector)
{
	(void)home;
	(void)vector;
}

static void emu_misuse(void *home, const char *format, va_list args)
{
	char text[256];

	(void)home;
	vsnprintf(text, sizeof(text), format, args);
	tofu_debug("%s", text);
}

static const struct tofu_node_ops emu_node_ops = {
	.map = emu_map,
	.irq = emu_irq,
	.misuse = emu_misuse,
};

/* ---- Registers of a CQ; node locked ---- */

static void reg_write(struct tofu_port_cq *cq, unsigned int reg, uint64_t value)
{
	icc_reg_write(tofu_node_icc(port_of(cq)->node),
		      TOFU_CQ_REGS(cq->tni, cq->cq) + reg, value,
		      sizeof(value));
}

static uint64_t reg_read(struct tofu_port_cq *cq, unsigned int reg)
{
	return icc_reg_read(tofu_node_icc(port_of(cq)->node),
			    TOFU_CQ_REGS(cq->tni, cq->cq) + reg,
			    sizeof(uint64_t));
}

/* Runs the engine once, then lets others have the lock and the processor. */
static void let_others_locked(struct tofu_node *node, unsigned int *turn)
{
	bool work = tofu_node_progress(node);

	tofu_node_unlock(node);
	if (!work)
		tofu_host_wait((*turn)++);
	tofu_node_lock(node);
}

/*
 * Waits until no transfer under way can touch memory through the queue. The
 * other nodes have to make progress for that, perhaps on this processor. The
 * controller does one flush of a queue at a time: a flush serves all threads
 * that asked before it began.
 */
static void flush_locked(struct emu_cq *cq)
{
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
		let_others_locked(port_of(&cq->base)->node, &turn);
	}
}

/* The group that the driver would assign. */
static unsigned int own_group(void)
{
	return geteuid() & 0xffff;
}

static int enable_locked(struct emu_cq *cq, uint32_t flags,
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
	reg_write(base, TOFU_CQ_STT_COUNT, TOFU_EMU_STAGS);
	reg_write(base, TOFU_CQ_MBT_BASE, (uintptr_t)cq->mem.block);
	reg_write(base, TOFU_CQ_MBT_COUNT, TOFU_EMU_STAGS);
	reg_write(base, TOFU_CQ_GPID, own_group());
	reg_write(base, TOFU_CQ_CTRL, TOFU_CQ_CTRL_ENABLE);
	return reg_read(base, TOFU_CQ_STATUS) & TOFU_CQ_STATUS_ENABLED ?
		       0 :
		       -EINVAL;
}

/* ---- Command queues ---- */

/* The rings of a queue lie in one mapping: TOQ, MRQ, TCQ. */
static int rings_map(struct emu_cq *cq, unsigned int toq_code,
		     unsigned int mrq_code)
{
	size_t toq = TOFU_RING_ENTRIES(toq_code) * sizeof(*cq->base.toq);
	size_t mrq = TOFU_RING_ENTRIES(mrq_code) * sizeof(*cq->base.mrq);
	size_t tcq = TOFU_RING_ENTRIES(toq_code) * sizeof(*cq->base.tcq);
	char *rings;

	cq->rings_size = toq + mrq + tcq;
	rings = mmap(NULL, cq->rings_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rings == MAP_FAILED)
		return -errno;
	cq->base.toq = (void *)rings;
	cq->base.mrq = (void *)(rings + toq);
	cq->base.tcq = (void *)(rings + toq + mrq);
	return 0;
}

/* Takes the lowest queue that no process of the node has. */
static int cq_take(struct emu_port *port, unsigned int tni)
{
	struct tofu_fabric *fabric = tofu_node_fabric(port->node);
	int number = tofu_fabric_shares_lock(fabric);
	uint64_t taken;

	if (number)
		return number;
	tofu_node_lock(port->node);
	taken = tofu_fabric_taken_locked(fabric, TOFU_SHARE_CQ, tni);
	number = __builtin_ctzll(~taken);
	if (number < (int)port->dev.info.cqs)
		tofu_fabric_take_locked(fabric, TOFU_SHARE_CQ, tni,
					1ULL << number);
	else
		number = -ENOSPC;
	tofu_node_unlock(port->node);
	tofu_fabric_shares_unlock(fabric);
	return number;
}

static void cq_give(struct emu_port *port, unsigned int tni,
		    unsigned int number)
{
	tofu_fabric_give(tofu_node_fabric(port->node), TOFU_SHARE_CQ, tni,
			 1ULL << number);
}

static void cq_init(struct emu_cq *cq, struct emu_port *port, unsigned int tni,
		    unsigned int number)
{
	cq->base.port = &port->dev;
	cq->base.tni = tni;
	cq->base.cq = number;
	cq->base.page = (void *)(port->pages + TOFU_CQ_PAGE(tni, number));
	/* The engine runs in this thread, so the first empty poll kicks. */
	cq->base.poll_patience = 1;
	memset(cq->base.page, 0, sizeof(*cq->base.page));
}

static int emu_cq_create(struct tofu_port_dev *dev, unsigned int tni,
			 uint32_t flags, unsigned int toq_code,
			 unsigned int mrq_code, struct tofu_port_cq **base)
{
	struct emu_port *port = (struct emu_port *)dev;
	int number = cq_take(port, tni);
	struct emu_cq *cq;
	int err = -ENOMEM;

	if (number < 0)
		return number;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		goto err_number;
	err = rings_map(cq, toq_code, mrq_code);
	if (err)
		goto err_free;
	err = tofu_emu_mem_create(&cq->mem);
	if (err)
		goto err_rings;
	tofu_node_lock(port->node);
	cq_init(cq, port, tni, (unsigned int)number);
	err = enable_locked(cq, flags, toq_code, mrq_code);
	if (!err)
		port->used[tni] |= 1U << number;
	tofu_node_unlock(port->node);
	if (err)
		goto err_mem;
	*base = &cq->base;
	return 0;

err_mem:
	tofu_emu_mem_destroy(&cq->mem);
err_rings:
	munmap(cq->base.toq, cq->rings_size);
err_free:
	free(cq);
err_number:
	cq_give(port, tni, (unsigned int)number);
	return err;
}

static void emu_cq_destroy(struct tofu_port_cq *base)
{
	struct emu_port *port = port_of(base);
	struct emu_cq *cq = (struct emu_cq *)base;

	tofu_node_lock(port->node);
	reg_write(base, TOFU_CQ_CTRL, 0);
	flush_locked(cq);
	port->used[base->tni] &= ~(1U << base->cq);
	tofu_node_unlock(port->node);
	cq_give(port, base->tni, base->cq);
	tofu_emu_mem_destroy(&cq->mem);
	munmap(base->toq, cq->rings_size);
	free(cq);
}

/* ---- Memory ---- */

static int emu_mem_reg(struct tofu_port_cq *base, void *addr, size_t length,
		       uint32_t flags, uint32_t *stag, uint64_t *offset)
{
	struct tofu_node *node = port_of(base)->node;
	struct emu_cq *cq = (struct emu_cq *)base;
	int err;

	err = tofu_emu_mem_check(addr, length, !(flags & TOFU_MEM_READ_ONLY));
	if (err)
		return err;
	tofu_node_lock(node);
	err = tofu_emu_mem_reg_locked(&cq->mem, addr, length, flags, stag,
				      offset);
	tofu_node_unlock(node);
	return err;
}

static int emu_mem_dereg(struct tofu_port_cq *base, uint32_t stag)
{
	struct tofu_node *node = port_of(base)->node;
	struct emu_cq *cq = (struct emu_cq *)base;
	int err;

	tofu_node_lock(node);
	err = tofu_emu_mem_withdraw_locked(&cq->mem, stag);
	if (!err) {
		flush_locked(cq);
		tofu_emu_mem_free_locked(&cq->mem, stag);
	}
	tofu_node_unlock(node);
	return err;
}

/* ---- Barrier gates ---- */

static int emu_gates_create(struct tofu_port_dev *dev, unsigned int tni,
			    unsigned int count, struct tofu_port_gates **gates)
{
	struct emu_port *port = (struct emu_port *)dev;
	int err = tofu_emu_gates_create(port->node, tni, count, gates);

	if (!err)
		(*gates)->port = dev;
	return err;
}

static void emu_gates_destroy(struct tofu_port_gates *gates)
{
	tofu_emu_gates_destroy(((struct emu_port *)gates->port)->node, gates);
}

static int emu_gate_set(struct tofu_port_gates *gates, unsigned int index,
			const struct tofu_port_links *links)
{
	return tofu_emu_gate_set(((struct emu_port *)gates->port)->node, gates,
				 index, links, own_group());
}

/* ---- The engine ---- */

static void emu_doorbell(struct tofu_port_cq *cq)
{
	tofu_node_kick(port_of(cq)->node, false);
}

static bool emu_poll(struct tofu_port_dev *dev)
{
	return tofu_node_kick(((struct emu_port *)dev)->node, true);
}

static void emu_channel(struct tofu_port_gates *gates)
{
	struct tofu_node *node = ((struct emu_port *)gates->port)->node;

	tofu_node_lock(node);
	tofu_node_channel(node, gates->tni, gates->gate[0]);
	tofu_node_unlock(node);
	tofu_node_kick(node, false);
}

/* ---- The node's time is the host's ---- */

static uint64_t emu_now(struct tofu_port_dev *dev)
{
	(void)dev;
	return tofu_host_now();
}

static unsigned int emu_wait(struct tofu_port_dev *dev, unsigned int turn)
{
	(void)dev;
	return tofu_host_wait(turn);
}

/* ---- The end ---- */

/*
 * Waits a while for what other nodes still read: the answer to a get can refer
 * to this process's memory. They notice anything else by the process's death.
 */
static void leave_cq_locked(struct tofu_port_cq *cq, uint64_t deadline)
{
	unsigned int turn = 0;

	reg_write(cq, TOFU_CQ_CTRL, 0);
	reg_write(cq, TOFU_CQ_FLUSH, 1);
	/* The deadline holds even with work left: peers can make more. */
	while (reg_read(cq, TOFU_CQ_FLUSH) && tofu_host_now() <= deadline)
		let_others_locked(port_of(cq)->node, &turn);
}

static void emu_leave(struct tofu_port_dev *dev)
{
	struct emu_port *port = (struct emu_port *)dev;
	uint64_t deadline = tofu_host_now() + LEAVE_NS;

	tofu_node_lock(port->node);
	for (unsigned int tni = 0; tni < dev->info.tnis; tni++) {
		struct tofu_port_cq cq = { .port = dev, .tni = tni };

		for (cq.cq = 0; cq.cq < dev->info.cqs; cq.cq++)
			if (port->used[tni] & 1U << cq.cq)
				leave_cq_locked(&cq, deadline);
	}
	tofu_node_unlock(port->node);
	tofu_job_leave(&port->job);
}

static void emu_close(struct tofu_port_dev *dev)
{
	struct emu_port *port = (struct emu_port *)dev;

	tofu_emu_helper_stop(&port->helper);
	tofu_node_destroy(port->node);
	tofu_job_leave(&port->job);
	tofu_job_abandon(&port->job);
	munmap(port->pages, TOFU_PAGES_HALF);
	free(port);
}

static const struct tofu_port_ops emu_ops = {
	.cq_create = emu_cq_create,
	.cq_destroy = emu_cq_destroy,
	.mem_reg = emu_mem_reg,
	.mem_dereg = emu_mem_dereg,
	.gates_create = emu_gates_create,
	.gates_destroy = emu_gates_destroy,
	.gate_set = emu_gate_set,
	.doorbell = emu_doorbell,
	.poll = emu_poll,
	.channel = emu_channel,
	.now = emu_now,
	.wait = emu_wait,
	.leave = emu_leave,
	.close = emu_close,
};

/* ---- Opening ---- */

/*
 * Other nodes read large payloads straight out of this process, so all of its
 * memory is declared as the node's. Where the system restricts such reads to
 * descendants (Yama), the process permits them, to the same user's processes.
 */
static int emu_publish(struct tofu_node *node)
{
	const struct tofu_ram all = { .addr = 0,
				      .len = ADDRESSES_END,
				      .fd = -1 };
	int err;

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	tofu_node_lock(node);
	err = tofu_fabric_publish(tofu_node_fabric(node), &all, 1);
	tofu_node_unlock(node);
	return err;
}

static void emu_info(struct emu_port *port)
{
	struct tofu_fabric *fabric = tofu_node_fabric(port->node);
	const struct tofu_shape *shape = tofu_fabric_shape(fabric);
	struct tofu_ioc_info *info = &port->dev.info;
	struct tofu_coords coords;

	info->tnis = port->job.tnis;
	info->cqs = TOFU_CQ_KERNEL;
	info->node = tofu_fabric_endpoint(fabric) / tofu_fabric_ppn(fabric);
	info->nodes = tofu_shape_nodes(shape);
	coords = tofu_coords_of(shape, info->node);
	info->coords = tofu_coords_pack(&coords);
	info->shape = tofu_shape_pack(shape);
	info->ring_code_max = TOFU_RING_CODE_MAX;
	info->stags = TOFU_EMU_STAGS;
	info->gates = tofu_emu_gates_count(port->node);
}

static int emu_node_create(struct emu_port *port)
{
	const struct tofu_node_params params = {
		.fabric = port->job.fabric,
		.node = port->job.node,
		.tnis = port->job.tnis,
		.pages = port->pages,
		.ram_pages = true,
		.inline_max = TOFU_PKT_INLINE_MAX,
		.assist = true,
		.ops = &emu_node_ops,
		.home = port,
	};
	char *why = NULL;
	int err = tofu_node_create(&params, &why, &port->node);

	if (err)
		tofu_debug("%s", why ? why : strerror(-err));
	free(why);
	return err;
}

int tofu_emu_open(struct tofu_port_dev **dev)
{
	struct emu_port *port = calloc(1, sizeof(*port));
	int err;

	if (!port)
		return -ENOMEM;
	port->dev.ops = &emu_ops;
	port->pages = mmap(NULL, TOFU_PAGES_HALF, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (port->pages == MAP_FAILED) {
		err = -errno;
		goto err_free;
	}
	err = tofu_job_find(&port->job);
	if (err)
		goto err_pages;
	err = emu_node_create(port);
	if (err)
		goto err_job;
	emu_info(port);
	err = emu_publish(port->node);
	if (!err)
		err = tofu_emu_helper_start(&port->helper, port->node);
	if (err)
		goto err_node;
	tofu_job_attached(&port->job, tofu_node_fabric(port->node));
	*dev = &port->dev;
	return 0;

err_node:
	tofu_debug("this process cannot be a node: %s", strerror(-err));
	tofu_node_destroy(port->node);
err_job:
	tofu_job_abandon(&port->job);
err_pages:
	munmap(port->pages, TOFU_PAGES_HALF);
err_free:
	free(port);
	return err;
}
