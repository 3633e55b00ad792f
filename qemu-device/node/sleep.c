/* SPDX-License-Identifier: MIT */
/*
 * Sleep and wake-up of the node's thread.
 */
#define _GNU_SOURCE
#include "node/internal.h"

/*
 * How long the node's thread sleeps while polls do its work. A peer that sends
 * and then polls may wake it sooner; one that sends and does not poll cannot.
 */
#define ASSISTED_MS 1

/* Whether a poll has kicked since the node's thread last went to sleep. */
static bool assisted(struct tofu_node *node)
{
	unsigned int assists =
		__atomic_load_n(&node->assists, __ATOMIC_RELAXED);
	bool seen = node->assist && assists != node->assists_seen;

	node->assists_seen = assists;
	return seen;
}

static void set_awake(struct tofu_node *node)
{
	icc_set_need_kick(node->icc, tofu_node_kicks(node, false));
	tofu_fabric_want_wake(node->fabric, false);
}

int tofu_node_sleep(struct tofu_node *node)
{
	int timeout;

	tofu_node_lock(node);
	timeout = assisted(node) ? ASSISTED_MS : -1;
	icc_set_need_kick(node->icc, tofu_node_kicks(node, true));
	if (timeout < 0)
		tofu_fabric_want_wake(node->fabric, true);
	else
		tofu_fabric_want_wake_late(node->fabric);
	/*
	 * A post or a packet that came before its sender could see the words
	 * above is found here; a later one kicks or wakes.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (tofu_node_progress(node)) {
		set_awake(node);
		timeout = 0;
	}
	tofu_node_unlock(node);
	return timeout;
}

void tofu_node_awake(struct tofu_node *node)
{
	tofu_node_lock(node);
	tofu_fabric_fd_ack(node->fabric);
	set_awake(node);
	tofu_node_unlock(node);
}
