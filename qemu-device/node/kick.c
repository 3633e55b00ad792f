/* SPDX-License-Identifier: MIT */
/*
 * Kicks: a thread of the program lends its processor to the engine, and with
 * assist does so while it polls in vain.
 */
#define _GNU_SOURCE
#include "node/internal.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

/*
 * How long kicks find nothing before the processor is given away. An answer of
 * a node that has a processor of its own is there before that, and giving the
 * processor away costs as much as the answer takes.
 */
#define IDLE_NS 5000

/*
 * How long they find nothing before peers are woken that polled when last
 * heard of, and have not looked at what they were sent. A peer that still polls
 * has looked by then, even if it had to wait for its turn on a processor: with
 * 20 us, eight processes that poll on two processors took twice as long.
 */
#define PATIENCE_NS 100000

/*
 * What is unseen was sent before the first of the kicks that found nothing. If
 * the lock is taken, the next kick tries again.
 */
static void wake_unseen(struct tofu_node *node)
{
	if (pthread_mutex_trylock(&node->lock))
		return;
	tofu_fabric_wake_unseen(node->fabric);
	tofu_node_unlock(node);
}

/* Whoever has what this one polls for may need the processor. */
static void idle(struct tofu_node *node)
{
	uint64_t since = __atomic_load_n(&node->idle_since, __ATOMIC_RELAXED);
	struct timespec time;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &time);
	now = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	if (!since) {
		__atomic_store_n(&node->idle_since, now, __ATOMIC_RELAXED);
		return;
	}
	if (now - since > PATIENCE_NS)
		wake_unseen(node);
	if (now - since > IDLE_NS)
		sched_yield();
}

/*
 * Only a poll that follows a poll says that the program waits here. A program
 * may look once after each post and then wait for a word in memory. A count
 * that is lost where two threads poll does no harm.
 */
static void count_assist(struct tofu_node *node)
{
	unsigned int assists =
		__atomic_load_n(&node->assists, __ATOMIC_RELAXED);

	if (__atomic_load_n(&node->polled, __ATOMIC_RELAXED))
		__atomic_store_n(&node->assists, assists + 1, __ATOMIC_RELAXED);
}

bool tofu_node_kick(struct tofu_node *node, bool poll)
{
	bool work;

	if (poll)
		count_assist(node);
	__atomic_store_n(&node->polled, poll, __ATOMIC_RELAXED);
	work = tofu_node_try_progress(node);
	if (work || !poll)
		__atomic_store_n(&node->idle_since, 0, __ATOMIC_RELAXED);
	else
		idle(node);
	return work;
}
