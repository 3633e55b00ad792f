/* SPDX-License-Identifier: MIT */
/*
 * Attaching to the shared file and leaving it.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric/process.h"

#define LOCK_NAPS 10000 /* of a millisecond or a little more */

__attribute__((format(printf, 3, 4))) static int fail(char **why, int err,
						      const char *format, ...)
{
	va_list args;

	if (!why)
		return err;
	va_start(args, format);
	if (vasprintf(why, format, args) < 0)
		*why = NULL;
	va_end(args);
	return err;
}

/* ---- The shared file ---- */

/* A machine of one node, which no other process can attach to. */
static int private_file(void)
{
	struct tofu_shape shape;
	int fd, err;

	for (int axis = 0; axis < TOFU_AXES; axis++)
		shape.size[axis] = 1;
	fd = memfd_create("tofu-fabric", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	err = tofu_fabric_format(fd, &shape, 1);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/*
 * The file names processes and descriptors that its readers open with their own
 * rights. So only the reader's own user may be able to write it.
 */
static int check_owner(const struct tofu_shm *shm, const char *path, char **why)
{
	struct stat st;

	if (fstat(shm->fd, &st))
		return fail(why, -errno, "cannot look at the fabric %s: %s",
			    path, strerror(errno));
	if (st.st_uid != geteuid())
		return fail(why, -EPERM,
			    "the fabric %s belongs to user %u, not to user %u "
			    "of this process; run as its owner, or make one of "
			    "your own with 'tofu-fabric format'",
			    path, (unsigned int)st.st_uid,
			    (unsigned int)geteuid());
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return fail(why, -EPERM,
			    "others can write the fabric %s (mode %04o); remove "
			    "it and make another with 'tofu-fabric format'",
			    path, (unsigned int)st.st_mode & 07777);
	return 0;
}

static int open_file(struct tofu_shm *shm, const char *path, char **why)
{
	int err;

	shm->fd = path ? open(path, O_RDWR | O_CLOEXEC) : private_file();
	if (shm->fd < 0) {
		err = path ? -errno : shm->fd;
		return fail(why, err, "cannot open the fabric %s: %s",
			    path ? path : "(private)", strerror(-err));
	}
	err = tofu_shm_map(shm, PROT_READ | PROT_WRITE);
	if (err == -EINVAL)
		return fail(why, err,
			    "%s is not a fabric of this version; make one with "
			    "'tofu-fabric format'",
			    path);
	if (err)
		return fail(why, err, "cannot map %zu bytes of the fabric: %s",
			    shm->size, strerror(-err));
	err = path ? check_owner(shm, path, why) : 0;
	if (err)
		tofu_shm_unmap(shm);
	return err;
}

/* ---- What is private to the process ---- */

static struct tofu_own_rings *create_own_rings(void)
{
	struct tofu_own_rings *own =
		aligned_alloc(TOFU_SHM_ALIGN, sizeof(*own));

	if (own)
		memset(own->ring, 0, sizeof(own->ring));
	return own;
}

static int create_private(struct tofu_shm *shm)
{
	struct epoll_event event = { .events = EPOLLIN,
				     .data.u64 = UINT64_MAX };
	int err;

	shm->peers = calloc(shm->fabric.nodes, sizeof(*shm->peers));
	if (!shm->peers)
		return -ENOMEM;
	err = -ENOMEM;
	shm->ram = calloc((size_t)shm->fabric.nodes * TOFU_FABRIC_RAM_MAX,
			  sizeof(*shm->ram));
	if (!shm->ram)
		goto err_peers;
	shm->own = create_own_rings();
	if (!shm->own)
		goto err_ram;
	if (pipe2(shm->pipe, O_NONBLOCK | O_CLOEXEC)) {
		err = -errno;
		goto err_own;
	}
	shm->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (shm->epoll < 0) {
		err = -errno;
		goto err_pipe;
	}
	if (epoll_ctl(shm->epoll, EPOLL_CTL_ADD, shm->pipe[0], &event)) {
		err = -errno;
		goto err_epoll;
	}
	return 0;

err_epoll:
	close(shm->epoll);
err_pipe:
	close(shm->pipe[0]);
	close(shm->pipe[1]);
err_own:
	free(shm->own);
err_ram:
	free(shm->ram);
err_peers:
	free(shm->peers);
	return err;
}

static void destroy_private(struct tofu_shm *shm)
{
	close(shm->epoll);
	close(shm->pipe[0]);
	close(shm->pipe[1]);
	free(shm->own);
	free(shm->ram);
	free(shm->peers);
}

/* ---- The table of nodes ---- */

static int lock_at(struct tofu_shm *shm, uint64_t at, short type)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)at,
		.l_len = 1,
	};
	int err;

	do {
		err = fcntl(shm->fd, F_OFD_SETLK, &lock) ? -errno : 0;
	} while (err == -EINTR);
	return err;
}

/*
 * Others hold such a lock for microseconds, unless they are stopped: these are
 * not waited for without end, as F_OFD_SETLKW would.
 */
int tofu_shm_lock_byte(struct tofu_shm *shm, uint32_t node,
		       unsigned int byte, short type)
{
	const uint64_t at = tofu_shm_node_offset(node) + byte;
	int err = lock_at(shm, at, type);

	for (int naps = 0; err == -EAGAIN && naps < LOCK_NAPS; naps++) {
		struct timespec left = { .tv_nsec = 1000000 };

		/* Signals, however many, do not make it shorter. */
		while (nanosleep(&left, &left) && errno == EINTR)
			;
		err = lock_at(shm, at, type);
	}
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

/* Serialises processes that take or leave a node number. */
static int lock_entry(struct tofu_shm *shm, uint32_t node, short type)
{
	return tofu_shm_lock_byte(shm, node, 0, type);
}

/* Whether a living process has the number; true where that cannot be seen. */
static bool entry_taken(const struct tofu_shm *shm, uint32_t node)
{
	struct tofu_identity id;
	int pidfd;

	if (!tofu_identity_read(shm, node, &id))
		return false;
	pidfd = tofu_identity_open(shm, node, &id);
	if (pidfd >= 0)
		close(pidfd);
	return pidfd != -ESRCH;
}

/*
 * The lock goes when the process ends or executes another program. It proves to
 * others that this process is the node. No other process can have it, unless
 * the generation was forged.
 */
static int lock_life(struct tofu_shm *shm, uint32_t node, uint64_t life)
{
	int err = lock_at(shm, tofu_shm_life_lock(node, tofu_shm_gen(life)),
			  F_WRLCK);

	return err == -EAGAIN ? -EBUSY : err;
}

static uint64_t next_life(const struct tofu_shm_node *entry)
{
	uint32_t gen = tofu_shm_gen(tofu_load(&entry->life)) + 1;

	if (!gen)
		gen = 1; /* 0 is reserved */
	return TOFU_SET(TOFU_SHM_LIFE_GEN, gen);
}

static int take_entry_locked(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_shm_node *entry = tofu_shm_node_of(shm, node);
	uint64_t start, life = next_life(entry);
	int err;

	if (entry_taken(shm, node))
		return -EBUSY;
	err = tofu_process_start(getpid(), &start);
	if (!err)
		err = lock_life(shm, node, life);
	if (err)
		return err;
	shm->fabric.self = node;
	err = tofu_shares_forget(shm);
	if (err)
		return err;

	/* No reader takes changing fields for those of the old life. */
	tofu_store(&entry->life, life);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	tofu_store(&entry->start, start);
	tofu_store(&entry->pid, getpid());
	tofu_store(&entry->wake_fd, shm->pipe[1]);
	tofu_store(&entry->file_fd, shm->fd);
	tofu_store(&entry->want_wake, 0);
	tofu_store(&entry->ram_count, 0);
	tofu_store(&entry->ram_seq, (tofu_load(&entry->ram_seq) | 1) + 1);
	tofu_store_release(&entry->life, life | TOFU_SHM_LIFE_UP);

	shm->gen = tofu_shm_gen(life);
	__atomic_fetch_add(&tofu_shm_header(shm)->epoch, 1,
			   __ATOMIC_SEQ_CST);
	return 0;
}

static int take_entry(struct tofu_shm *shm, uint32_t node)
{
	int err = lock_entry(shm, node, F_WRLCK);

	if (err)
		return err;
	err = take_entry_locked(shm, node);
	lock_entry(shm, node, F_UNLCK);
	return err;
}

/* Take the lowest free one of @count endpoints, from @first on. */
static int take_lowest(struct tofu_shm *shm, uint32_t first,
		       uint32_t count)
{
	int err = -EBUSY;

	for (uint32_t n = first; n < first + count && err == -EBUSY; n++)
		err = take_entry(shm, n);
	return err;
}

/* Why no process can be added to @node, or to any (-1). */
static int fail_full(const struct tofu_shm *shm, int node, char **why)
{
	if (node < 0)
		return fail(why, -EBUSY,
			    "all %u nodes of the machine are taken",
			    shm->fabric.nodes / shm->fabric.ppn);
	if (shm->fabric.ppn > 1)
		return fail(why, -EBUSY,
			    "node %d has %u processes already, and no room for "
			    "more; end one or make the machine with a larger "
			    "--ppn",
			    node, shm->fabric.ppn);
	return fail(why, -EBUSY,
		    "node %d is process %d already; end it or choose another "
		    "number",
		    node, (int)tofu_shm_node_of(shm, node)->pid);
}

static int join(struct tofu_shm *shm, int node, char **why)
{
	const uint32_t ppn = shm->fabric.ppn;
	int err;

	if (node < -1 || node >= (int)(shm->fabric.nodes / ppn))
		return fail(why, -EINVAL,
			    "node %d is outside the machine of %u nodes", node,
			    shm->fabric.nodes / ppn);
	err = node < 0 ? take_lowest(shm, 0, shm->fabric.nodes) :
			 take_lowest(shm, (uint32_t)node * ppn, ppn);
	if (err == -EBUSY)
		return fail_full(shm, node, why);
	if (err == -ETIMEDOUT)
		return fail(why, err,
			    "a process that joins has held the lock "
			    "of the node's entry for %d seconds; continue it "
			    "or end it",
			    LOCK_NAPS / 1000);
	if (err)
		return fail(why, err, "cannot join as node %d: %s", node,
			    strerror(-err));
	return 0;
}

/*
 * A sleeping node may wait for this one without being connected from here. So
 * wake all sleeping nodes, connected or not. To connect now would reserve memory
 * for packets that are never sent.
 */
static void wake_all(struct tofu_shm *shm)
{
	tofu_fence_full();
	for (uint32_t n = 0; n < shm->fabric.nodes; n++) {
		if (n == shm->fabric.self ||
		    !tofu_load(&tofu_shm_node_of(shm, n)->want_wake))
			continue;
		if (shm->peers[n].life && tofu_peer_usable(shm, n))
			tofu_peer_wake(shm, n);
		else
			tofu_peer_wake_stranger(shm, n);
	}
}

static void shm_detach(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_shm_node *entry = tofu_shm_node_of(shm, shm->fabric.self);

	tofu_store_release(&entry->life,
			   TOFU_SET(TOFU_SHM_LIFE_GEN, shm->gen));
	__atomic_fetch_add(&tofu_shm_header(shm)->epoch, 1,
			   __ATOMIC_SEQ_CST);
	wake_all(shm);
	for (uint32_t n = 0; n < shm->fabric.nodes; n++)
		if (shm->peers[n].life)
			tofu_peer_forget(shm, n);
	destroy_private(shm);
	tofu_shm_unmap(shm);
	free(fabric->clocks);
	free(shm->shown);
	free(shm);
}

bool tofu_shm_up(struct tofu_fabric *fabric, uint32_t node)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	if (node >= shm->fabric.nodes)
		return false;
	if (shm->peers[node].life)
		return tofu_peer_usable(shm, node) &&
		       tofu_peer_alive(&shm->peers[node]);
	return entry_taken(shm, node);
}

/* Peers are told when nobody is left who could read the wake pipe. */
static void shm_forked(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	close(shm->pipe[0]);
	shm->pipe[0] = -1;
}

static const struct tofu_fabric_ops shm_ops = {
	.detach = shm_detach,
	.forked = shm_forked,
	.up = tofu_shm_up,
	.generation = tofu_shm_generation,
	.peer_generation = tofu_shm_peer_generation,
	.report = tofu_shm_report,
	.owner = tofu_shm_owner,
	.shares_lock = tofu_shm_shares_lock,
	.shares_unlock = tofu_shm_shares_unlock,
	.taken_locked = tofu_shm_taken_locked,
	.take_locked = tofu_shm_take_locked,
	.give = tofu_shm_give,
	.publish = tofu_shm_publish,
	.peer_memory = tofu_shm_peer_memory,
	.read = tofu_shm_read,
	.tx_begin = tofu_shm_tx_begin,
	.tx_commit = tofu_shm_tx_commit,
	.tx_room = tofu_shm_tx_room,
	.tx_position = tofu_shm_tx_position,
	.tx_passed = tofu_shm_tx_passed,
	.fence_begin = tofu_shm_fence_begin,
	.fence_done = tofu_shm_fence_done,
	.poll = tofu_shm_poll,
	.quiet = tofu_shm_quiet,
	.want_wake = tofu_shm_want_wake,
	.want_wake_late = tofu_shm_want_wake_late,
	.wake_unseen = tofu_shm_wake_unseen,
	.wake = tofu_shm_wake,
	.fd = tofu_shm_fd,
	.fd_ack = tofu_shm_fd_ack,
	.clock = &tofu_shm_clock_ops,
};

int tofu_fabric_attach(const char *path, int node, char **why,
		       struct tofu_fabric **fabric)
{
	struct tofu_shm *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return fail(why, -ENOMEM, "out of memory");
	err = open_file(new, path, why);
	if (err)
		goto err_free;
	err = create_private(new);
	if (err) {
		fail(why, err, "cannot attach to the fabric: %s",
		     strerror(-err));
		goto err_file;
	}
	err = join(new, node, why);
	if (err)
		goto err_private;
	new->fabric.ops = &shm_ops;
	new->payload_max = TOFU_PKT_INLINE_MAX;
	new->epoch = tofu_load_acquire(&tofu_shm_header(new)->epoch);
	*fabric = &new->fabric;
	return 0;

err_private:
	destroy_private(new);
err_file:
	tofu_shm_unmap(new);
err_free:
	free(new);
	return err;
}
