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

#include "port/debug.h"
#include "port/emu-helper.h"
#include "port/host.h"
#include "port/job.h"
#include "port/maps.h"
#include "port/soft.h"

/* Higher addresses are the kernel's, on all 64-bit processors. */
#define ADDRESSES_END (1ULL << 63)

/* How long an exiting process waits for peers that still read its memory. */
#define LEAVE_NS 1000000000ULL

/* Peers can send without limit: work beyond this is left for later. */
#define DRAIN_ROUNDS 16

/**
 * struct emu_port
 * @soft: the public part, and what ports to a controller have in common
 * @job:  the process's place in its job
 * @node: the node that it is or shares
 * @deadline: of an exiting process, nanoseconds; before that 0. Locked.
 * @helper: serves other nodes while the program does not poll
 */
struct emu_port {
	struct tofu_soft soft;
	struct tofu_job job;
	struct tofu_node *node;
	uint64_t deadline;
	struct tofu_emu_helper helper;
};

static struct tofu_node *node_of(struct tofu_soft *soft)
{
	return ((struct emu_port *)soft)->node;
}

/* ---- The node's home ---- */

/*
 * Every bus address that the model forms comes from the registers and tables
 * that soft.c, soft-mem.c and soft-gate.c write, and is bounded there.
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

/* ---- Services for the common part ---- */

static void emu_lock(struct tofu_soft *soft)
{
	tofu_node_lock(node_of(soft));
}

static void emu_unlock(struct tofu_soft *soft)
{
	tofu_node_unlock(node_of(soft));
}

/*
 * Runs the engine once, then lets others have the lock and the processor. An
 * exiting process keeps the lock: a thread that never runs again could get it.
 */
static void emu_turn(struct tofu_soft *soft, unsigned int *turn)
{
	const bool keep = ((struct emu_port *)soft)->deadline;
	bool work = tofu_node_progress(node_of(soft));

	if (!keep)
		emu_unlock(soft);
	if (!work)
		tofu_host_wait((*turn)++);
	if (!keep)
		emu_lock(soft);
}

static void emu_drain(struct tofu_soft *soft)
{
	int rounds = DRAIN_ROUNDS;

	while (rounds-- && tofu_node_progress(node_of(soft)))
		;
}

/* What no process of the node has */
static int emu_take(struct tofu_soft *soft, enum tofu_share share,
		    unsigned int tni,
		    uint64_t (*pick)(void *ctx, uint64_t taken), void *ctx)
{
	struct tofu_fabric *fabric = tofu_node_fabric(node_of(soft));
	int err = tofu_fabric_shares_lock(fabric);
	uint64_t mask;

	if (err)
		return err;
	emu_lock(soft);
	mask = pick(ctx, tofu_fabric_taken_locked(fabric, share, tni));
	if (mask)
		tofu_fabric_take_locked(fabric, share, tni, mask);
	emu_unlock(soft);
	tofu_fabric_shares_unlock(fabric);
	return mask ? 0 : -ENOSPC;
}

static void emu_give(struct tofu_soft *soft, enum tofu_share share,
		     unsigned int tni, uint64_t mask)
{
	tofu_fabric_give(tofu_node_fabric(node_of(soft)), share, tni, mask);
}

static void *emu_alloc(struct tofu_soft *soft, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)soft;
	return at == MAP_FAILED ? NULL : at;
}

static void emu_free(struct tofu_soft *soft, void *at, size_t size)
{
	(void)soft;
	munmap(at, size);
}

static const struct tofu_soft_ops emu_soft_ops = {
	.lock = emu_lock,
	.unlock = emu_unlock,
	.turn = emu_turn,
	.drain = emu_drain,
	.take = emu_take,
	.give = emu_give,
	.check = tofu_maps_check,
	.alloc = emu_alloc,
	.free = emu_free,
};

/* ---- The engine ---- */

static void emu_doorbell(struct tofu_port_cq *cq)
{
	tofu_node_kick(((struct emu_port *)cq->port)->node, false);
}

static bool emu_poll(struct tofu_port_cq *cq)
{
	return tofu_node_kick(((struct emu_port *)cq->port)->node, true);
}

static bool emu_channel_poll(struct tofu_port_gates *gates)
{
	struct tofu_node *node = ((struct emu_port *)gates->port)->node;

	return tofu_node_channel_poll(node, gates->tni, gates->gate[0]);
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

static bool emu_late(struct tofu_soft *soft)
{
	return tofu_host_now() > ((struct emu_port *)soft)->deadline;
}

/*
 * Waits a while for what other nodes still read: the answer to a get can refer
 * to this process's memory. They notice anything else by the process's death,
 * and this too if the lock cannot be had: exit() is called in a signal handler,
 * and the thread that it interrupted holds it.
 */
static void emu_leave(struct tofu_port_dev *dev)
{
	struct emu_port *port = (struct emu_port *)dev;

	uint64_t deadline = tofu_host_now() + LEAVE_NS;

	if (!tofu_node_lock_until(port->node, deadline)) {
		port->deadline = deadline;
		tofu_soft_leave_locked(&port->soft, emu_late);
		emu_unlock(&port->soft);
	}
	tofu_job_leave(&port->job);
}

static void emu_forked(struct tofu_port_dev *dev)
{
	struct emu_port *port = (struct emu_port *)dev;

	tofu_fabric_forked(tofu_node_fabric(port->node));
}

static void emu_close(struct tofu_port_dev *dev)
{
	struct emu_port *port = (struct emu_port *)dev;

	tofu_emu_helper_stop(&port->helper);
	tofu_node_destroy(port->node);
	tofu_job_leave(&port->job);
	tofu_job_abandon(&port->job);
	munmap(port->soft.pages, TOFU_PAGES_HALF);
	free(port);
}

static const struct tofu_port_ops emu_ops = {
	.cq_create = tofu_soft_cq_create,
	.cq_destroy = tofu_soft_cq_destroy,
	.mem_reg = tofu_soft_mem_reg,
	.mem_dereg = tofu_soft_mem_dereg,
	.gates_create = tofu_soft_gates_create,
	.gates_destroy = tofu_soft_gates_destroy,
	.gate_set = tofu_soft_gate_set,
	.doorbell = emu_doorbell,
	.poll = emu_poll,
	.channel_poll = emu_channel_poll,
	.channel = emu_channel,
	.now = emu_now,
	.wait = emu_wait,
	.leave = emu_leave,
	.forked = emu_forked,
	.close = emu_close,
};

/* ---- Opening ---- */

/*
 * Other nodes read payload straight out of this process, so all of its memory is
 * declared as the node's. Where the system restricts such reads to
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

static int emu_node_create(struct emu_port *port)
{
	const struct tofu_node_params params = {
		.fabric = port->job.fabric,
		.node = port->job.node,
		.tnis = port->job.tnis,
		.pages = port->soft.pages,
		.ram_pages = true,
		.inline_max = TOFU_LENGTH_MAX,
		.mtu = TOFU_PKT_INLINE_MAX,
		.armw = port->job.armw,
		.changes = &port->soft.changes,
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

static char *emu_pages(void)
{
	char *pages = mmap(NULL, TOFU_PAGES_HALF, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

int tofu_emu_open(struct tofu_port_dev **dev)
{
	struct emu_port *port = calloc(1, sizeof(*port));
	int err;

	if (!port)
		return -ENOMEM;
	port->soft.dev.ops = &emu_ops;
	port->soft.ops = &emu_soft_ops;
	port->soft.stags = 1U << TOFU_STAG_BITS_MAX;
	err = -ENOMEM;
	port->soft.pages = emu_pages();
	if (!port->soft.pages)
		goto err_free;
	err = tofu_job_find(&port->job);
	if (err)
		goto err_pages;
	err = emu_node_create(port);
	if (err)
		goto err_job;
	port->soft.icc = tofu_node_icc(port->node);
	tofu_soft_info(&port->soft);
	err = emu_publish(port->node);
	if (!err)
		err = tofu_emu_helper_start(&port->helper, port->node);
	if (err)
		goto err_node;
	/* The helper may be connecting to a peer. */
	tofu_node_lock(port->node);
	tofu_job_attached(&port->job, tofu_node_fabric(port->node));
	tofu_node_unlock(port->node);
	*dev = &port->soft.dev;
	return 0;

err_node:
	tofu_debug("this process cannot be a node: %s", strerror(-err));
	tofu_node_destroy(port->node);
err_job:
	tofu_job_abandon(&port->job);
err_pages:
	munmap(port->soft.pages, TOFU_PAGES_HALF);
err_free:
	free(port);
	return err;
}
