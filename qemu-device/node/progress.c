/* SPDX-License-Identifier: MIT */
/*
 * Who makes a node's progress, and how its thread goes to sleep.
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

/* Rounds of bounded work that a kick does; the node's thread does the rest. */
#define KICK_ROUNDS 16

/*
 * How long the node's thread sleeps while others do its work. A peer that sends
 * and then polls wakes it before that; one that sends and goes elsewhere
 * cannot.
 */
#define ASSISTED_MS 1

/* ---- Progress ---- */

static int packet(void *ctx, const struct tofu_packet *pkt, const void *payload)
{
	return icc_receive(((struct tofu_node *)ctx)->icc, pkt, payload);
}

static void peer_down(void *ctx, uint32_t node)
{
	icc_peer_down(((struct tofu_node *)ctx)->icc, node);
}

static const struct tofu_fabric_handler handler = { packet, peer_down };

bool tofu_node_progress(struct tofu_node *node)
{
	bool work = tofu_fabric_poll(node->fabric, &handler, node);

	return icc_progress(node->icc) || work;
}

/* As far as a kick goes; what is left is the node's thread's. */
static bool progress_rounds(struct tofu_node *node)
{
	int round = 0;

	while (round < KICK_ROUNDS && tofu_node_progress(node))
		round++;
	if (round == KICK_ROUNDS)
		tofu_fabric_wake(node->fabric);
	return round > 0;
}

/*
 * A mutex goes to whoever runs, and that is the thread that has just given it
 * back: one that works without a pause would keep a processor of the guest,
 * and with it QEMU's big lock, waiting for as long. The door makes it queue
 * up behind who waits. Kicks need no door: they do not wait.
 */
void tofu_node_lock(struct tofu_node *node)
{
	pthread_mutex_lock(&node->door);
	pthread_mutex_lock(&node->lock);
	pthread_mutex_unlock(&node->door);
}

/*
 * Who finds the lock taken sets again, then tries once more; who gives it
 * back looks at again after that. With a full fence in between on both sides,
 * one of them sees the other, and the kick is not missed.
 */
void tofu_node_unlock(struct tofu_node *node)
{
	for (;;) {
		pthread_mutex_unlock(&node->lock);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&node->again, __ATOMIC_RELAXED) ||
		    pthread_mutex_trylock(&node->lock))
			return;
		if (__atomic_exchange_n(&node->again, false, __ATOMIC_SEQ_CST))
			progress_rounds(node);
	}
}

static bool try_progress(struct tofu_node *node)
{
	bool work;

	if (pthread_mutex_trylock(&node->lock)) {
		__atomic_store_n(&node->again, true, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (pthread_mutex_trylock(&node->lock))
			return false;
		/* Exchanged, to see what came before the kick it was set for.
		 */
		(void)__atomic_exchange_n(&node->again, false,
					  __ATOMIC_SEQ_CST);
	}
	work = progress_rounds(node);
	tofu_node_unlock(node);
	return work;
}

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
	work = try_progress(node);
	if (work || !poll)
		__atomic_store_n(&node->idle_since, 0, __ATOMIC_RELAXED);
	else
		idle(node);
	return work;
}

/* ---- Sleeping ---- */

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
	icc_need_kick(node->icc, tofu_node_kicks(node, false));
	tofu_fabric_want_wake(node->fabric, false);
}

int tofu_node_sleep(struct tofu_node *node)
{
	int timeout;

	tofu_node_lock(node);
	timeout = assisted(node) ? ASSISTED_MS : -1;
	icc_need_kick(node->icc, tofu_node_kicks(node, true));
	if (timeout < 0)
		tofu_fabric_want_wake(node->fabric, true);
	else
		tofu_fabric_want_wake_late(node->fabric);
	/*
	 * A post or a packet that came before the words above were seen is
	 * found here; one after them kicks or wakes.
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
