/* SPDX-License-Identifier: MIT */
/*
 * Sleeping, and waking a node that sleeps: at once, or late if its program
 * polls.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* ---- This node ---- */

static void want_wake(struct tofu_shm *shm, uint64_t want)
{
	tofu_store(&tofu_shm_node_of(shm, shm->fabric.self)->want_wake, want);
	/* Either the sender sees the word, or the next poll sees the packet. */
	if (want)
		tofu_fence_full();
}

void tofu_shm_want_wake(struct tofu_fabric *fabric, bool want)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	want_wake(shm, want ? shm->gen : 0);
}

void tofu_shm_want_wake_late(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	want_wake(shm, shm->gen | TOFU_SHM_WAKE_LATE);
}

void tofu_shm_wake(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	/* A full pipe is fine: the descriptor is readable. */
	while (write(shm->pipe[1], "", 1) < 0 && errno == EINTR)
		;
}

int tofu_shm_fd(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	return shm->epoll;
}

void tofu_shm_fd_ack(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	tofu_peer_watch(shm, true);
}

/* ---- Others ---- */

/*
 * Sequentially consistent, to come after the store of the pending bit, which is
 * not a fence on every processor.
 */
static uint64_t peer_wants(const struct tofu_shm *shm, uint32_t node)
{
	return __atomic_load_n(&tofu_shm_node_of(shm, node)->want_wake,
			       __ATOMIC_SEQ_CST);
}

/*
 * A peer that has died has no reader for its pipe. The program must not get the
 * signal of that, nor lose one of its own.
 */
static void write_quietly(int pipe)
{
	const struct timespec now = { 0 };
	sigset_t signal, before, pending;
	ssize_t done;

	sigemptyset(&signal);
	sigaddset(&signal, SIGPIPE);
	sigemptyset(&pending);
	pthread_sigmask(SIG_BLOCK, &signal, &before);
	if (sigismember(&before, SIGPIPE))
		sigpending(&pending);
	/* A full pipe is fine: its owner has bytes to read. */
	do {
		done = write(pipe, "", 1);
	} while (done < 0 && errno == EINTR);
	if (done < 0 && errno == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&signal, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Skipped if another node wakes it, or the request is of another life. */
static void wake_if(struct tofu_shm *shm, uint32_t node, uint32_t gen, int pipe,
		    uint64_t want)
{
	struct tofu_shm_node *entry = tofu_shm_node_of(shm, node);

	if (TOFU_GET(want, TOFU_SHM_WAKE_GEN) != gen ||
	    !__atomic_compare_exchange_n(&entry->want_wake, &want, 0, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	write_quietly(pipe);
}

void tofu_wake_by(struct tofu_shm *shm, uint32_t node, uint32_t gen, int pipe)
{
	wake_if(shm, node, gen, pipe, peer_wants(shm, node));
}

static void wake_peer(struct tofu_shm *shm, uint32_t node, uint64_t want)
{
	const struct tofu_peer *peer = &shm->peers[node];

	wake_if(shm, node, tofu_shm_gen(peer->life), peer->wake, want);
}

void tofu_peer_wake(struct tofu_shm *shm, uint32_t node)
{
	wake_peer(shm, node, peer_wants(shm, node));
}

void tofu_peer_tell(struct tofu_shm *shm, uint32_t node)
{
	uint64_t want = peer_wants(shm, node);

	if (want & TOFU_SHM_WAKE_LATE)
		tofu_bit_set(shm->unseen, node);
	else if (want)
		wake_peer(shm, node, want);
}

static bool unread(const struct tofu_tx *tx)
{
	return tofu_tx_followed(tx) && tofu_load(&tx->ring->head) != tx->tail;
}

/* Whether @node has not looked since this one last sent something to it. */
static bool still_pending(const struct tofu_shm *shm, uint32_t node)
{
	const struct tofu_shm_node *entry = tofu_shm_node_of(shm, node);
	const struct tofu_tx *tx = shm->peers[node].tx;

	return (tofu_load(&entry->pending[shm->fabric.self / 64]) >>
			(shm->fabric.self % 64) &
		1) ||
	       unread(&tx[TOFU_REQUEST]) || unread(&tx[TOFU_RESPONSE]);
}

/* The top of ring.c shows that no node is missed. */
void tofu_shm_wake_unseen(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	for (uint32_t w = 0; w * 64 < shm->fabric.nodes; w++) {
		uint64_t left = shm->unseen[w];

		shm->unseen[w] = 0;
		for (; left; left &= left - 1) {
			uint32_t node = w * 64 + __builtin_ctzll(left);

			if (still_pending(shm, node))
				tofu_peer_wake(shm, node);
		}
	}
}
