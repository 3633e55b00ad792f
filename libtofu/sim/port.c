/* SPDX-License-Identifier: MIT */
/*
 * The port of a simulated node. Only the program that runs calls it, so nothing
 * is locked. A call first spends the time that the library's work has taken.
 */
#include <errno.h>

#include "port/maps.h"
#include "port/work.h"
#include "sim/doorbells.h"
#include "sim/sim.h"
#include "sim/trace.h"
#include "utofu/instance.h"

/* Steps in which a wait for the engine goes on */
#define TURN_NS 100
/* Fewer than others have: tables are sparse, and so are the tables of pages. */
#define STAGS (2 * TOFU_STAG_AUTO)

static struct sim_node *node_of(struct tofu_port_dev *dev)
{
	return (struct sim_node *)dev;
}

static void sim_lock(struct tofu_soft *soft)
{
	(void)soft;
}

static void sim_turn(struct tofu_soft *soft, unsigned int *turn)
{
	(void)turn;
	sim_spend((struct sim_node *)soft, TURN_NS);
}

/* What has arrived is taken at its time. */
static void sim_drain(struct tofu_soft *soft)
{
	(void)soft;
}

static int sim_take(struct tofu_soft *soft, enum tofu_share share,
		    unsigned int tni,
		    uint64_t (*pick)(void *ctx, uint64_t taken), void *ctx)
{
	struct sim_node *node = (struct sim_node *)soft;
	const uint64_t mask = pick(ctx, node->taken[share][tni]);

	node->taken[share][tni] |= mask;
	return mask ? 0 : -ENOSPC;
}

static void sim_give(struct tofu_soft *soft, enum tofu_share share,
		     unsigned int tni, uint64_t mask)
{
	((struct sim_node *)soft)->taken[share][tni] &= ~mask;
}

static void *sim_alloc(struct tofu_soft *soft, size_t size)
{
	(void)soft;
	return sim_arena_alloc(size);
}

static void sim_free(struct tofu_soft *soft, void *at, size_t size)
{
	(void)soft;
	sim_arena_free(at, size);
}

static const struct tofu_soft_ops soft_ops = {
	.lock = sim_lock,
	.unlock = sim_lock,
	.turn = sim_turn,
	.drain = sim_drain,
	.take = sim_take,
	.give = sim_give,
	.check = tofu_maps_check,
	.alloc = sim_alloc,
	.free = sim_free,
};

static void sim_doorbell(struct tofu_port_cq *cq)
{
	struct sim_node *node = node_of(cq->port);

	sim_act(node);
	sim_doorbells_wait(node, ICC_TRACE_DOORBELL, cq->tni, cq->cq);
	icc_doorbell(node->soft.icc, cq->tni, cq->cq,
		     le64toh(cq->page->fetch_start));
	sim_spend(node, node->sim->params.machine->store_ns);
}

static bool sim_poll(struct tofu_port_cq *cq)
{
	return sim_poll_empty(node_of(cq->port), cq);
}

/*
 * Nobody asks for a gate that another program has disabled: where nothing else
 * happens, the simulation says what all programs wait for.
 */
static bool sim_channel_poll(struct tofu_port_gates *gates)
{
	return sim_poll_empty(node_of(gates->port), gates);
}

static void sim_channel(struct tofu_port_gates *gates)
{
	struct sim_node *node = node_of(gates->port);

	sim_act(node);
	sim_doorbells_wait(node, ICC_TRACE_CHANNEL, gates->tni,
			   gates->gate[0]);
	icc_channel_start(node->soft.icc, gates->tni, gates->gate[0]);
	sim_spend(node, node->sim->params.machine->store_ns);
}

void tofu_work_pass(void)
{
	sim_spend_work(node_of(tofu_instance()->port));
}

/* Work from before it is not spent yet: a mark takes no time. */
void tofu_work_marked(uint64_t *at)
{
	struct sim_node *node = (struct sim_node *)((char *)at -
						    offsetof(struct sim_node, mark));

	sim_trace_mark(node, sim_time(node), *at);
}

static uint64_t sim_now(struct tofu_port_dev *dev)
{
	tofu_work(TOFU_WORK_CLOCK);
	return sim_time(node_of(dev));
}

/* Programs in virtual machines read it from a counter of the processor. */
static bool sim_shared(struct tofu_port_dev *dev, uint64_t *now)
{
	struct sim_node *node = node_of(dev);

	tofu_work(TOFU_WORK_COUNTER);
	sim_spend_work(node);
	*now = node->now;
	return true;
}

static void sim_compute(struct tofu_port_dev *dev, uint64_t ns)
{
	struct sim_node *node = node_of(dev);

	sim_act(node);
	sim_spend(node, ns);
}

static void sim_stamps(struct tofu_port_cq *cq, uint64_t stamp[TOFU_CQ_STAMPS])
{
	sim_act(node_of(cq->port));
	tofu_soft_stamps(cq, stamp);
}

static unsigned int sim_wait(struct tofu_port_dev *dev, unsigned int turn)
{
	(void)turn;
	tofu_work(TOFU_WORK_WAIT);
	sim_poll_empty(node_of(dev), dev);
	return 1;
}

static int sim_cq_create(struct tofu_port_dev *dev, unsigned int tni,
			 uint32_t flags, unsigned int toq_code,
			 unsigned int mrq_code, struct tofu_port_cq **cq)
{
	struct sim_node *node = node_of(dev);
	int err;

	tofu_work(TOFU_WORK_QUEUE);
	sim_act(node);
	err = tofu_soft_cq_create(dev, tni, flags, toq_code, mrq_code, cq);
	if (!err)
		(*cq)->mark = &node->mark;
	return err;
}

static void sim_cq_destroy(struct tofu_port_cq *cq)
{
	tofu_work(TOFU_WORK_QUEUE_FREE);
	sim_act(node_of(cq->port));
	tofu_soft_cq_destroy(cq);
}

/* Not by the address, which depends on what else is in the process */
static uint64_t pages(size_t length)
{
	return (length + TOFU_WORK_PAGE - 1) / TOFU_WORK_PAGE;
}

static int sim_mem_reg(struct tofu_port_cq *cq, void *addr, size_t length,
		       uint32_t flags, uint32_t *stag, uint64_t *offset)
{
	tofu_work(TOFU_WORK_MEMORY);
	tofu_work_times(TOFU_WORK_MEMORY_PAGE, pages(length));
	sim_act(node_of(cq->port));
	return tofu_soft_mem_reg(cq, addr, length, flags, stag, offset);
}

static int sim_mem_dereg(struct tofu_port_cq *cq, uint32_t stag)
{
	tofu_work(TOFU_WORK_MEMORY_FREE);
	sim_act(node_of(cq->port));
	return tofu_soft_mem_dereg(cq, stag);
}

static void sim_close(struct tofu_port_dev *dev)
{
	(void)dev;
}

static const struct tofu_port_ops port_ops = {
	.cq_create = sim_cq_create,
	.cq_destroy = sim_cq_destroy,
	.mem_reg = sim_mem_reg,
	.mem_dereg = sim_mem_dereg,
	.gates_create = tofu_soft_gates_create,
	.gates_destroy = tofu_soft_gates_destroy,
	.gate_set = tofu_soft_gate_set,
	.doorbell = sim_doorbell,
	.poll = sim_poll,
	.channel_poll = sim_channel_poll,
	.channel = sim_channel,
	.stamps = sim_stamps,
	.now = sim_now,
	.shared = sim_shared,
	.spend = sim_compute,
	.wait = sim_wait,
	.close = sim_close,
};

void sim_port_init(struct sim_node *node)
{
	node->soft.dev.ops = &port_ops;
	node->soft.dev.machine = node->sim->params.machine->name;
	node->soft.ops = &soft_ops;
	node->soft.stags = STAGS;
	node->soft.direct = true;
	node->soft.blank = true;
	/* Every store and every empty poll shall be seen. */
	icc_set_need_kick(node->soft.icc,
			  TOFU_NEED_KICK_TAIL | TOFU_NEED_KICK_POLL);
	tofu_soft_info(&node->soft);
}

int sim_port_open(struct tofu_port_dev **port)
{
	struct sim_node *node = sim_node_running();

	if (!node)
		return -ENODEV;
	*port = &node->soft.dev;
	return 0;
}
