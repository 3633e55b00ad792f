/* SPDX-License-Identifier: MIT */
/*
 * The other nodes: connecting to the process that now has a number, and
 * noticing that it is gone.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/process.h"

#define WATCH_EVENTS 16
#define WAKE_READS 16

/*
 * Not for reading, so that only the owner reads. Its pipe tells the others when
 * it has no reader any more: the owner has ended or executed another program.
 */
#define WAKE_FLAGS (O_WRONLY | O_NONBLOCK)

bool tofu_identity_read(const struct tofu_shm *shm, uint32_t node,
			struct tofu_identity *id)
{
	const struct tofu_shm_node *entry = tofu_shm_node_of(shm, node);

	/* Acquire: the following reads see this life or a later one. */
	id->life = tofu_load_acquire(&entry->life);
	id->start = tofu_load(&entry->start);
	id->pid = tofu_load(&entry->pid);
	id->wake_fd = tofu_load(&entry->wake_fd);
	id->file_fd = tofu_load(&entry->file_fd);
	/* Read the other fields before the life is read again. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return (id->life & TOFU_SHM_LIFE_UP) &&
	       tofu_load(&entry->life) == id->life;
}

int tofu_identity_open(const struct tofu_shm *shm, uint32_t node,
		       const struct tofu_identity *id)
{
	const uint64_t lock = tofu_shm_life_lock(node, tofu_shm_gen(id->life));
	int pidfd = tofu_process_open(id->pid, id->start);
	int err;

	if (pidfd < 0)
		return pidfd;
	err = tofu_process_holds(id->pid, id->file_fd, shm->fd, lock);
	/* If it is alive now, all of that was about this process. */
	if (!err && tofu_process_alive(pidfd))
		return pidfd;
	close(pidfd);
	return err ? err : -ESRCH;
}

static int watch(struct tofu_shm *shm, uint32_t node, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.u64 = node };

	return epoll_ctl(shm->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* Closing alone removes nothing if a forked child has the files. */
static void unwatch(struct tofu_shm *shm, const struct tofu_peer *peer)
{
	epoll_ctl(shm->epoll, EPOLL_CTL_DEL, peer->pidfd, NULL);
	epoll_ctl(shm->epoll, EPOLL_CTL_DEL, peer->wake, NULL);
}

/*
 * A forked child that lives on keeps the pipe open, so the process is watched
 * as well. Errors of a pipe are always reported.
 */
static int watch_process(struct tofu_shm *shm, uint32_t node,
			 const struct tofu_peer *peer)
{
	int err = watch(shm, node, peer->pidfd, EPOLLIN);

	if (!err)
		err = watch(shm, node, peer->wake, 0);
	if (err)
		unwatch(shm, peer);
	return err;
}

/* Open the process of @id and its wake pipe. */
static int open_process(struct tofu_shm *shm, uint32_t node,
			const struct tofu_identity *id, struct tofu_peer *peer)
{
	int err;

	peer->pidfd = tofu_identity_open(shm, node, id);
	if (peer->pidfd < 0)
		return peer->pidfd;
	peer->wake = tofu_process_file(peer->pidfd, id->pid, id->wake_fd,
				       S_IFIFO, WAKE_FLAGS);
	if (peer->wake >= 0)
		return 0;
	err = peer->wake;
	close(peer->pidfd);
	return err;
}

static void close_process(const struct tofu_peer *peer)
{
	close(peer->pidfd);
	close(peer->wake);
}

static void files_lack(const struct tofu_fabric *fabric, char *text)
{
	const uint64_t enough = TOFU_FABRIC_OTHER_FILES +
				(uint64_t)TOFU_FABRIC_PEER_FILES *
					fabric->nodes;
	struct rlimit limit = { 0 };

	getrlimit(RLIMIT_NOFILE, &limit);
	snprintf(text, TOFU_FABRIC_LACK_TEXT,
		 "all %" PRIu64 " descriptors that this process may have are "
		 "in use, and each node takes %d; raise the limit (ulimit -n "
		 "%" PRIu64 "), or use fewer nodes",
		 (uint64_t)limit.rlim_cur, TOFU_FABRIC_PEER_FILES, enough);
}

bool tofu_fabric_lack(const struct tofu_fabric *fabric, int err,
		      char text[TOFU_FABRIC_LACK_TEXT])
{
	switch (err) {
	case -EMFILE:
		files_lack(fabric, text);
		return true;
	case -ENOSPC:
		snprintf(text, TOFU_FABRIC_LACK_TEXT, "%s", TOFU_FABRIC_FULL);
		return true;
	case -ENFILE:
	case -ENOMEM:
		snprintf(text, TOFU_FABRIC_LACK_TEXT,
			 "the host has no more: %s; use fewer nodes",
			 strerror(-err));
		return true;
	default:
		return false;
	}
}

/* All of connecting that can fail */
static int open_peer(struct tofu_shm *shm, uint32_t node,
		     const struct tofu_identity *id, struct tofu_peer *peer)
{
	int err = open_process(shm, node, id, peer);

	if (err)
		return err;
	err = tofu_ring_reserve(shm, node);
	if (!err)
		err = watch_process(shm, node, peer);
	if (err)
		close_process(peer);
	return err;
}

struct tofu_peer *tofu_peer_connect(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_peer *peer = &shm->peers[node];
	char text[TOFU_FABRIC_LACK_TEXT];
	struct tofu_identity id;
	int err;

	if (!tofu_identity_read(shm, node, &id) ||
	    tofu_shm_gen(id.life) == peer->bad_gen)
		return NULL;
	err = open_peer(shm, node, &id, peer);
	if (err) {
		/* Dead for good; any other error may pass. */
		if (err == -ESRCH)
			peer->bad_gen = tofu_shm_gen(id.life);
		shm->lack = tofu_fabric_lack(&shm->fabric, err, text) ? err : 0;
		return NULL;
	}
	peer->life = id.life;
	peer->pid = id.pid;
	peer->lost = false;
	peer->broken = false;
	peer->memory = -1;
	peer->ram = &shm->ram[(size_t)node * TOFU_FABRIC_RAM_MAX];
	peer->ram_seq = 1;
	peer->ram_count = 0;
	tofu_bit_set(shm->known, node);
	tofu_ring_connect(shm, node);
	return peer;
}

uint32_t tofu_shm_peer_generation(struct tofu_fabric *fabric, uint32_t node)
{
	return tofu_shm_gen(tofu_shm_of(fabric)->peers[node].life);
}

void tofu_peer_wake_stranger(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_identity id;
	struct tofu_peer stranger;

	if (!tofu_identity_read(shm, node, &id) ||
	    open_process(shm, node, &id, &stranger))
		return;
	tofu_wake_by(shm, node, tofu_shm_gen(id.life), stranger.wake);
	close_process(&stranger);
}

bool tofu_peer_alive(const struct tofu_peer *peer)
{
	struct pollfd ends[] = {
		{ .fd = peer->pidfd, .events = POLLIN },
		{ .fd = peer->wake },
	};
	int ready;

	/* It does not wait, but a signal of the program can interrupt it. */
	do {
		ready = poll(ends, 2, 0);
	} while (ready < 0 && errno == EINTR);
	/* An error says nothing about the peer. */
	return ready <= 0;
}

void tofu_peer_break(struct tofu_shm *shm, uint32_t node)
{
	shm->peers[node].broken = true;
	shm->stale = true;
	/* The next poll forgets it: wake the thread, so that there is one. */
	tofu_shm_wake(&shm->fabric);
}

void tofu_peer_lose(struct tofu_shm *shm, uint32_t node)
{
	shm->peers[node].lost = true;
	shm->stale = true;
}

void tofu_peer_forget(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_peer *peer = &shm->peers[node];

	tofu_follow_forget(shm, node);
	tofu_ram_forget(peer);
	tofu_memory_forget(peer);
	unwatch(shm, peer);
	close_process(peer);
	peer->bad_gen = tofu_shm_gen(peer->life);
	peer->life = 0;
	tofu_bit_clear(shm->known, node);
	tofu_bit_clear(shm->fenced, node);
	tofu_bit_clear(shm->unseen, node);
}

static void drain_pipe(int fd)
{
	char bytes[256];

	/* Bounded: others could write as fast as this process reads. */
	for (int i = 0; i < WAKE_READS; i++)
		if (read(fd, bytes, sizeof(bytes)) < (ssize_t)sizeof(bytes))
			return;
}

void tofu_peer_watch(struct tofu_shm *shm, bool ack)
{
	struct epoll_event events[WATCH_EVENTS];
	int count = epoll_wait(shm->epoll, events, WATCH_EVENTS, 0);

	for (int i = 0; i < count; i++) {
		const uint64_t node = events[i].data.u64;

		/* Only the thread that slept takes the byte that wakes it. */
		if (node >= shm->fabric.nodes) {
			if (ack)
				drain_pipe(shm->pipe[0]);
			continue;
		}
		unwatch(shm, &shm->peers[node]);
		tofu_peer_lose(shm, (uint32_t)node);
	}
}
