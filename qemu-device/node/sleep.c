/* SPDX-License-Identifier: MIT */
/*
 * Sleep and wake-up of the node's thread.
 */
#define _GNU_SOURCE
#include "node/internal.h"

/*
 * For so long after a poll has kicked, the node's thread leaves the work to the
 * polls. It is woken in between by a peer that polls in vain, and by nobody else:
 * a program that polls, but has to wait for a processor, would find its thread
 * there first, again and again. A peer that sends and does not poll cannot wake
 * it sooner.
 */
#define ASSISTED_MS 1
#define NS_PER_MS 1000000

/* Whether polls do the work of the node's thread. */
static bool assisted(struct tofu_node *node)
{
	unsigned int assists =
		__atomic_load_n(&node->assists, __ATOMIC_RELAXED);
	uint64_t now;

	if (!node->assist)
		return false;
	now = tofu_node_now();
	if (assists != node->assists_seen) {
		node->assists_seen = assists;
		node->assisted_until = now + ASSISTED_MS * NS_PER_MS;
	}
	return now < node->assisted_until;
}

static void set_awake(struct tofu_node *node)
{
	__atomic_store_n(&node->kicked, false, __ATOMIC_RELAXED);
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
	} else {
		__atomic_store_n(&node->kicked, true, __ATOMIC_RELAXED);
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
