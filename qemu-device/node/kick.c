/* SPDX-License-Identifier: MIT */
/*
 * Kicks: a thread of the program lends its processor to the engine; with assist
 * it also does so while its polls find nothing.
 */
#define _GNU_SOURCE
#include "node/internal.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

/*
 * Kicks that find nothing for that long yield the processor. A node with a
 * processor of its own answers sooner, and a yield costs as much time as the
 * answer takes.
 */
#define IDLE_NS 5000

/*
 * One in so many kicks that find nothing looks at the clock, a third of its cost, and
 * goes on from there; where others want the processor, each does.
 */
#define IDLE_LOOKS 8

/*
 * A yield that takes so much longer than one that finds nobody else has let another
 * task run. Then the processor is not the node's own, and that task may be the one for
 * which it waits: so do not wait for IDLE_NS until a yield takes less again.
 */
#define CROWDED_NS 1000

/*
 * Kicks that find nothing for that long wake peers that were polling and have
 * not looked at their packets since. A peer that still polls has looked by
 * then, even if it had to wait for a processor: with 20 us, eight processes
 * that poll on two processors took twice as long.
 */
#define PATIENCE_NS 100000

/*
 * Of kicks that find nothing for longer, one in NAPS sleeps. A yield leaves the
 * processor to others only if the scheduler wants it so: one that takes a task's
 * time from it for each yield (Linux 6.18) may let a task that has yielded often
 * wait for minutes, beside others that yield without end. A task that sleeps
 * leaves its processor to any other. Not each kick: callers count empty polls,
 * which should not take much longer than they do with yields, and a program may
 * compute between its polls.
 */
#define YIELDS_NS 200000
#define NAPS 64
#define NAP_NS 100000

/* One in so many polls of channels that find nothing looks at its barrier. */
#define CHANNEL_LOOKS 64

/*
 * Unseen packets were sent before the first kick that found nothing. If the
 * lock is taken, the next kick tries again.
 */
static void wake_unseen(struct tofu_node *node)
{
	if (pthread_mutex_trylock(&node->lock))
		return;
	tofu_fabric_wake_unseen(node->fabric);
	tofu_node_unlock(node);
}

/* From the time that a yield took. Where two threads yield, either does. */
static void judge(struct tofu_node *node, uint64_t took)
{
	uint64_t least = __atomic_load_n(&node->yield_ns, __ATOMIC_RELAXED);

	if (!least || took < least) {
		least = took;
		__atomic_store_n(&node->yield_ns, least, __ATOMIC_RELAXED);
	}
	__atomic_store_n(&node->crowded, took - least > CROWDED_NS,
			 __ATOMIC_RELAXED);
}

/* The process that this one waits for may need the processor. */
static void give_way(struct tofu_node *node, uint64_t waited)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };
	unsigned int yields =
		__atomic_load_n(&node->yields, __ATOMIC_RELAXED) + 1;
	uint64_t now;

	__atomic_store_n(&node->yields, yields, __ATOMIC_RELAXED);
	if (waited > YIELDS_NS && yields % NAPS == 0) {
		nanosleep(&nap, NULL);
		return;
	}
	now = tofu_node_now();
	sched_yield();
	judge(node, tofu_node_now() - now);
}

static void idle(struct tofu_node *node)
{
	uint64_t since = __atomic_load_n(&node->idle_since, __ATOMIC_RELAXED);
	unsigned int kicks =
		__atomic_load_n(&node->idle_kicks, __ATOMIC_RELAXED) + 1;
	uint64_t now;

	__atomic_store_n(&node->idle_kicks, kicks, __ATOMIC_RELAXED);
	if (kicks % IDLE_LOOKS &&
	    !__atomic_load_n(&node->crowded, __ATOMIC_RELAXED))
		return;
	now = tofu_node_now();
	if (!since) {
		__atomic_store_n(&node->idle_since, now, __ATOMIC_RELAXED);
		return;
	}
	if (now - since > PATIENCE_NS)
		wake_unseen(node);
	if (now - since > IDLE_NS ||
	    __atomic_load_n(&node->crowded, __ATOMIC_RELAXED))
		give_way(node, now - since);
}

/*
 * Only a poll that follows a poll shows that the program waits by polling: it
 * may poll once after each post and then wait for a word in memory. Where two
 * threads poll, a lost count does no harm.
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
	work = tofu_node_try_progress(node, poll);
	if (!poll)
		tofu_node_idle_end(node);
	else if (!work)
		idle(node);
	return work;
}

/* If the lock is taken, a later poll looks. */
static void channel_look(struct tofu_node *node, unsigned int tni,
			 unsigned int channel)
{
	if (pthread_mutex_trylock(&node->lock))
		return;
	icc_channel_poll(node->icc, tni, channel, tofu_node_now());
	tofu_node_unlock(node);
}

/* Where two threads poll, a lost count does no harm. */
bool tofu_node_channel_poll(struct tofu_node *node, unsigned int tni,
			    unsigned int channel)
{
	unsigned int polls;

	if (node->virtual) {
		if (tofu_node_joined(node))
			icc_channel_poll(node->icc, tni, channel, 0);
		return false;
	}
	if (tofu_node_kick(node, true))
		return true;
	polls = __atomic_load_n(&node->channel_polls, __ATOMIC_RELAXED) + 1;
	__atomic_store_n(&node->channel_polls, polls, __ATOMIC_RELAXED);
	if (polls % CHANNEL_LOOKS == 0)
		channel_look(node, tni, channel);
	return false;
}
