/* SPDX-License-Identifier: MIT */
/*
 * What a node needs is asked for while others run: net/prefetch.h says why. That
 * is its controller, its links, and what the program touches first: its place
 * in the library, and the top of its stack.
 */
#include "net/prefetch.h"
#include "sim/sim.h"
#include "sim/task.h"

#define LINES(count) ((count) * TOFU_PREFETCH_LINE)

_Static_assert(SIM_PREFETCHES == ICC_PREFETCHES + 1, "a step for the pointer");
_Static_assert(SIM_PREFETCHES >= TOFU_NET_PREFETCHES, "each has its step");

/* The stack around the last poll: that is where most programs are. */
static void prefetch_program(const struct sim_node *node)
{
	const struct sim_poll *poll = &node->poll;

	tofu_prefetch(node->task, LINES(8));
	tofu_prefetch(node->instance, LINES(4));
	tofu_prefetch(poll->key, LINES(4));
	if (poll->last_frame)
		tofu_prefetch((const char *)poll->last_frame - LINES(8),
			      LINES(16));
}

static void prefetch_heap(const struct tofu_heap *heap)
{
	if (heap->count)
		tofu_prefetch(heap->item, LINES(2));
}

void sim_prefetch(const struct sim_node *node, unsigned int step)
{
	if (step < TOFU_NET_PREFETCHES)
		tofu_net_prefetch(node->sim->net, node->number, step);
	if (step == 0) {
		tofu_prefetch(node, sizeof(*node));
		return;
	}
	icc_prefetch(node->soft.icc, step - 1);
	if (step == 1) {
		prefetch_heap(&node->due);
		prefetch_heap(&node->credits);
		if (node->wake < node->sim->until && node->task)
			prefetch_program(node);
	} else if (step == 2 && node->due.count) {
		tofu_prefetch(node->due.item->what, sizeof(struct sim_mail));
	}
}
