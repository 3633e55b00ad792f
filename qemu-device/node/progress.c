/* SPDX-License-Identifier: MIT */
/*
 * A node's engine runs in rounds of bounded work, in the thread that holds the
 * node's lock.
 */
#define _GNU_SOURCE
#include "node/internal.h"

#include <errno.h>
#include <pthread.h>

/* Rounds of bounded work that a kick does; the node's thread does the rest. */
#define KICK_ROUNDS 16

/* One poll in so many runs the engine without a reason. */
#define LOOKS 8

#define NS_PER_S 1000000000

static int packet(void *ctx, const struct tofu_packet *pkt, const void *payload)
{
	return icc_receive(((struct tofu_node *)ctx)->icc, pkt, payload);
}

static void peer_down(void *ctx, uint32_t node)
{
	icc_peer_down(((struct tofu_node *)ctx)->icc, node);
}

static const struct tofu_fabric_handler handler = { packet, peer_down };

/* For polls, which look without the lock whether there is anything to do */
static bool worked(struct tofu_node *node, bool work)
{
	__atomic_store_n(&node->goes_on, work || icc_goes_on(node->icc),
			 __ATOMIC_RELAXED);
	if (work)
		tofu_node_idle_end(node);
	return work;
}

bool tofu_node_progress(struct tofu_node *node)
{
	bool packets = tofu_fabric_poll(node->fabric, &handler, node);

	return worked(node, icc_progress(node->icc) || packets);
}

/*
 * A poll that follows one that has found nothing. Where what has been posted since had a
 * kick of its own, there is nothing new without packets; one poll in a few looks all the
 * same, for whatever waits. Where two threads poll, a lost count does no harm.
 */
static bool nothing_new(struct tofu_node *node)
{
	unsigned int looks = __atomic_load_n(&node->looks, __ATOMIC_RELAXED) + 1;

	if (__atomic_load_n(&node->goes_on, __ATOMIC_RELAXED) ||
	    !__atomic_load_n(&node->kicked, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&node->looks, looks, __ATOMIC_RELAXED);
	return looks % LOOKS && tofu_fabric_quiet(node->fabric);
}

/* The rounds of a kick; the node's thread is woken for further work. */
static bool progress_rounds(struct tofu_node *node)
{
	int round = 0;

	while (round < KICK_ROUNDS && tofu_node_progress(node))
		round++;
	if (round == KICK_ROUNDS)
		tofu_fabric_wake(node->fabric);
	return round > 0;
}

/* What has been posted leaves before others' packets are looked at. */
static bool post_progress(struct tofu_node *node)
{
	const bool started = icc_progress(node->icc);

	return progress_rounds(node) || started;
}

/*
 * A mutex is not fair: a thread that works without a pause could take it again
 * and again, while a processor of the guest waits for it and holds QEMU's big
 * lock. The door makes that thread queue behind waiting ones. Kicks do not wait
 * and need no door.
 */
void tofu_node_lock(struct tofu_node *node)
{
	pthread_mutex_lock(&node->door);
	pthread_mutex_lock(&node->lock);
	pthread_mutex_unlock(&node->door);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) };
}

/*
 * The lock comes before the door: if this thread holds it, others queue behind
 * the door. A signal can also come between taking a mutex and noting its owner,
 * where only the deadline helps.
 */
int tofu_node_lock_until(struct tofu_node *node, uint64_t deadline)
{
	const struct timespec past = { 0 }, end = timespec_of(deadline);
	int err = pthread_mutex_clocklock(&node->lock, CLOCK_MONOTONIC, &past);

	if (err != ETIMEDOUT)
		return -err;
	err = pthread_mutex_clocklock(&node->door, CLOCK_MONOTONIC, &end);
	if (err)
		return -err;
	err = pthread_mutex_clocklock(&node->lock, CLOCK_MONOTONIC, &end);
	pthread_mutex_unlock(&node->door);
	return -err;
}

/*
 * A thread that finds the lock taken sets @again, then tries once more; the
 * holder looks at @again after it has released the lock. With a full fence in
 * between on both sides, one of them sees the other, and the kick is not
 * missed.
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

bool tofu_node_try_progress(struct tofu_node *node, bool poll)
{
	bool work;

	if (poll && nothing_new(node))
		return false;
	if (pthread_mutex_trylock(&node->lock)) {
		__atomic_store_n(&node->again, true, __ATOMIC_SEQ_CST);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (pthread_mutex_trylock(&node->lock))
			return false;
		/* Exchange, to see all that came before the missed kick. */
		(void)__atomic_exchange_n(&node->again, false,
					  __ATOMIC_SEQ_CST);
	}
	node->polling = poll;
	/* Whoever polls looks whether that was what it waits for, or polls again. */
	work = poll ? tofu_node_progress(node) : post_progress(node);
	node->polling = false;
	tofu_node_unlock(node);
	return work;
}
