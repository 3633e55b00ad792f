/* SPDX-License-Identifier: MIT */
/*
 * The other nodes: connecting to the process that has a number now, noticing
 * that it is gone, waking it.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/process.h"

#define WATCH_EVENTS 16
#define WAKE_READS 16

/*
 * Open for reading as well, the pipe has a reader as long as we write to it:
 * no SIGPIPE in somebody's program when the owner dies.
 */
#define WAKE_FLAGS (O_RDWR | O_NONBLOCK)

/* A process as its entry names it, all of one life. */
struct identity {
	uint64_t life;
	uint64_t start;
	pid_t pid;
	int wake_fd;
};

static bool read_identity(const struct tofu_shm_node *entry,
			  struct identity *id)
{
	id->life = tofu_load_acquire(&entry->life);
	id->start = tofu_load(&entry->start);
	id->pid = tofu_load(&entry->pid);
	id->wake_fd = tofu_load(&entry->wake_fd);
	/* The others have been read before the life is read again. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return (id->life & TOFU_SHM_LIFE_UP) &&
	       tofu_load(&entry->life) == id->life;
}

static int watch_process(struct tofu_fabric *fabric, uint32_t node, int pidfd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = node };

	return epoll_ctl(fabric->epoll, EPOLL_CTL_ADD, pidfd, &event) ? -errno
								      : 0;
}

/* The process of @id, opened and watched. */
static int open_process(struct tofu_fabric *fabric, uint32_t node,
			const struct identity *id, struct tofu_peer *peer)
{
	int err;

	peer->pidfd = tofu_process_open(id->pid, id->start);
	if (peer->pidfd < 0)
		return peer->pidfd;
	peer->wake = tofu_process_file(peer->pidfd, id->pid, id->wake_fd,
				       S_IFIFO, WAKE_FLAGS);
	if (peer->wake < 0) {
		err = peer->wake;
		goto err_pidfd;
	}
	err = watch_process(fabric, node, peer->pidfd);
	if (err)
		goto err_wake;
	return 0;

err_wake:
	close(peer->wake);
err_pidfd:
	close(peer->pidfd);
	return err;
}

static bool connect_peer(struct tofu_fabric *fabric, uint32_t node)
{
	struct tofu_peer *peer = &fabric->peers[node];
	struct identity id;
	int err;

	if (!read_identity(tofu_fabric_entry(fabric, node), &id) ||
	    tofu_shm_gen(id.life) == peer->bad_gen)
		return false;
	err = open_process(fabric, node, &id, peer);
	if (err) {
		/* Dead for good; anything else may be another matter later. */
		if (err == -ESRCH)
			peer->bad_gen = tofu_shm_gen(id.life);
		return false;
	}
	peer->life = id.life;
	peer->pid = id.pid;
	peer->lost = false;
	peer->broken = false;
	peer->memory = -1;
	peer->ram_seq = 1;
	peer->ram_count = 0;
	tofu_bit_set(fabric->known, node);
	tofu_ring_connect(fabric, node);
	return true;
}

struct tofu_peer *tofu_peer_get(struct tofu_fabric *fabric, uint32_t node)
{
	struct tofu_peer *peer;

	if (node >= fabric->nodes)
		return NULL;
	peer = &fabric->peers[node];
	return peer->life || connect_peer(fabric, node) ? peer : NULL;
}

bool tofu_peer_usable(const struct tofu_fabric *fabric, uint32_t node)
{
	const struct tofu_peer *peer = &fabric->peers[node];

	return !peer->lost && !peer->broken &&
	       tofu_load_acquire(&tofu_fabric_entry(fabric, node)->life) ==
		       peer->life;
}

void tofu_peer_break(struct tofu_fabric *fabric, uint32_t node)
{
	fabric->peers[node].broken = true;
	fabric->stale = true;
	/* The next poll forgets it: there must be one, even if all sleeps. */
	tofu_fabric_wake(fabric);
}

void tofu_peer_lose(struct tofu_fabric *fabric, uint32_t node)
{
	fabric->peers[node].lost = true;
	fabric->stale = true;
}

void tofu_peer_forget(struct tofu_fabric *fabric, uint32_t node)
{
	struct tofu_peer *peer = &fabric->peers[node];

	tofu_ram_forget(peer);
	tofu_memory_forget(peer);
	/* Closing alone does not, where a forked child has the file as well. */
	epoll_ctl(fabric->epoll, EPOLL_CTL_DEL, peer->pidfd, NULL);
	close(peer->pidfd);
	close(peer->wake);
	peer->bad_gen = tofu_shm_gen(peer->life);
	peer->life = 0;
	tofu_bit_clear(fabric->known, node);
	tofu_bit_clear(fabric->fenced, node);
	tofu_bit_clear(fabric->unseen, node);
}

/*
 * Sequentially consistent: behind the store of the pending bit, which is no
 * fence on every processor.
 */
static uint64_t peer_wants(const struct tofu_fabric *fabric, uint32_t node)
{
	return __atomic_load_n(&tofu_fabric_entry(fabric, node)->want_wake,
			       __ATOMIC_SEQ_CST);
}

/* Unless somebody else does, or it is a wish of another life: 0 is of none. */
static void wake_peer(struct tofu_fabric *fabric, uint32_t node, uint64_t want)
{
	struct tofu_shm_node *entry = tofu_fabric_entry(fabric, node);
	uint32_t gen = tofu_shm_gen(fabric->peers[node].life);

	if (TOFU_GET(want, TOFU_SHM_WAKE_GEN) != gen ||
	    !__atomic_compare_exchange_n(&entry->want_wake, &want, 0, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		return;
	/* A full pipe is as good: its owner has bytes to read. */
	while (write(fabric->peers[node].wake, "", 1) < 0 && errno == EINTR)
		;
}

void tofu_peer_wake(struct tofu_fabric *fabric, uint32_t node)
{
	wake_peer(fabric, node, peer_wants(fabric, node));
}

void tofu_peer_tell(struct tofu_fabric *fabric, uint32_t node)
{
	uint64_t want = peer_wants(fabric, node);

	if (want & TOFU_SHM_WAKE_LATE)
		tofu_bit_set(fabric->unseen, node);
	else if (want)
		wake_peer(fabric, node, want);
}

/* Whether @node has not looked since this one has last told it to. */
static bool still_pending(const struct tofu_fabric *fabric, uint32_t node)
{
	const struct tofu_shm_node *entry = tofu_fabric_entry(fabric, node);

	return tofu_load(&entry->pending[fabric->self / 64]) >>
		       (fabric->self % 64) &
	       1;
}

/* Why nobody is forgotten: see the top of ring.c. */
void tofu_fabric_wake_unseen(struct tofu_fabric *fabric)
{
	for (uint32_t w = 0; w * 64 < fabric->nodes; w++) {
		uint64_t left = fabric->unseen[w];

		fabric->unseen[w] = 0;
		for (; left; left &= left - 1) {
			uint32_t node = w * 64 + __builtin_ctzll(left);

			if (still_pending(fabric, node))
				tofu_peer_wake(fabric, node);
		}
	}
}

static void drain_pipe(int fd)
{
	char bytes[256];

	/* Bounded: others could write as fast as we read. */
	for (int i = 0; i < WAKE_READS; i++)
		if (read(fd, bytes, sizeof(bytes)) < (ssize_t)sizeof(bytes))
			return;
}

void tofu_peer_watch(struct tofu_fabric *fabric, bool ack)
{
	struct epoll_event events[WATCH_EVENTS];
	int count = epoll_wait(fabric->epoll, events, WATCH_EVENTS, 0);

	for (int i = 0; i < count; i++) {
		const uint64_t node = events[i].data.u64;

		/* Only whoever slept may take the byte that wakes it. */
		if (node >= fabric->nodes) {
			if (ack)
				drain_pipe(fabric->pipe[0]);
			continue;
		}
		epoll_ctl(fabric->epoll, EPOLL_CTL_DEL,
			  fabric->peers[node].pidfd, NULL);
		tofu_peer_lose(fabric, (uint32_t)node);
	}
}
