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
#include <unistd.h>

#include "fabric/process.h"

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

/* A machine of one node, which nobody else can have a part in. */
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

static int check_header(struct tofu_fabric *fabric)
{
	struct tofu_shm_header header;
	struct stat st;

	if (fstat(fabric->fd, &st) || !S_ISREG(st.st_mode) ||
	    pread(fabric->fd, &header, sizeof(header), 0) != sizeof(header))
		return -EINVAL;
	if (header.magic != TOFU_SHM_MAGIC ||
	    header.version != TOFU_SHM_VERSION ||
	    header.ring_size != TOFU_SHM_RING ||
	    tofu_shape_unpack(header.shape, &fabric->shape) ||
	    !header.ppn || header.ppn > TOFU_FABRIC_PPN_MAX ||
	    header.nodes !=
		    (uint64_t)tofu_shape_nodes(&fabric->shape) * header.ppn ||
	    !header.nodes ||
	    header.nodes > TOFU_FABRIC_NODES_MAX ||
	    (uint64_t)st.st_size < tofu_shm_size(header.nodes))
		return -EINVAL;
	fabric->nodes = header.nodes;
	fabric->ppn = header.ppn;
	fabric->size = tofu_shm_size(header.nodes);
	return 0;
}

static int open_file(struct tofu_fabric *fabric, const char *path, char **why)
{
	fabric->fd = path ? open(path, O_RDWR | O_CLOEXEC) : private_file();
	if (fabric->fd < 0) {
		int err = path ? -errno : fabric->fd;

		return fail(why, err, "cannot open the fabric %s: %s",
			    path ? path : "(private)", strerror(-err));
	}
	if (check_header(fabric)) {
		close(fabric->fd);
		return fail(why, -EINVAL,
			    "%s is not a fabric of this version; make one with "
			    "'tofu-fabric format'",
			    path);
	}
	fabric->base = mmap(NULL, fabric->size, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_NORESERVE, fabric->fd, 0);
	if (fabric->base == MAP_FAILED) {
		int err = -errno;

		close(fabric->fd);
		return fail(why, err, "cannot map %zu bytes of the fabric: %s",
			    fabric->size, strerror(-err));
	}
	return 0;
}

static void close_file(struct tofu_fabric *fabric)
{
	munmap(fabric->base, fabric->size);
	close(fabric->fd);
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

static int create_private(struct tofu_fabric *fabric)
{
	struct epoll_event event = { .events = EPOLLIN,
				     .data.u64 = UINT64_MAX };
	int err;

	fabric->peers = calloc(fabric->nodes, sizeof(*fabric->peers));
	if (!fabric->peers)
		return -ENOMEM;
	fabric->own = create_own_rings();
	if (!fabric->own) {
		err = -ENOMEM;
		goto err_peers;
	}
	if (pipe2(fabric->pipe, O_NONBLOCK | O_CLOEXEC)) {
		err = -errno;
		goto err_own;
	}
	fabric->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (fabric->epoll < 0) {
		err = -errno;
		goto err_pipe;
	}
	if (epoll_ctl(fabric->epoll, EPOLL_CTL_ADD, fabric->pipe[0], &event)) {
		err = -errno;
		goto err_epoll;
	}
	return 0;

err_epoll:
	close(fabric->epoll);
err_pipe:
	close(fabric->pipe[0]);
	close(fabric->pipe[1]);
err_own:
	free(fabric->own);
err_peers:
	free(fabric->peers);
	return err;
}

static void destroy_private(struct tofu_fabric *fabric)
{
	close(fabric->epoll);
	close(fabric->pipe[0]);
	close(fabric->pipe[1]);
	free(fabric->own);
	free(fabric->peers);
}

/* ---- The table of nodes ---- */

int tofu_fabric_lock_byte(struct tofu_fabric *fabric, uint32_t node,
			  unsigned int byte, short type)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)tofu_shm_node_offset(node) + byte,
		.l_len = 1,
	};
	int err;

	do {
		err = fcntl(fabric->fd, F_OFD_SETLKW, &lock) ? -errno : 0;
	} while (err == -EINTR);
	return err;
}

/* One process at a time changes who has a node number. */
static int lock_entry(struct tofu_fabric *fabric, uint32_t node, short type)
{
	return tofu_fabric_lock_byte(fabric, node, 0, type);
}

/* The process that an entry names, or 0 where none is alive. */
static pid_t entry_owner(const struct tofu_shm_node *entry)
{
	pid_t pid;
	int pidfd;

	/* Acquire: what is read next is not of a life before that. */
	if (!(tofu_load_acquire(&entry->life) & TOFU_SHM_LIFE_UP))
		return 0;
	pid = tofu_load(&entry->pid);
	pidfd = tofu_process_open(pid, tofu_load(&entry->start));
	if (pidfd == -ESRCH)
		return 0;
	if (pidfd >= 0)
		close(pidfd);
	return pid;
}

static uint64_t next_life(const struct tofu_shm_node *entry)
{
	uint32_t gen = tofu_shm_gen(tofu_load(&entry->life)) + 1;

	if (!gen)
		gen = 1; /* 0 names no process */
	return TOFU_SET(TOFU_SHM_LIFE_GEN, gen);
}

static int take_entry_locked(struct tofu_fabric *fabric, uint32_t node)
{
	struct tofu_shm_node *entry = tofu_fabric_entry(fabric, node);
	uint64_t start, life = next_life(entry);
	int err;

	if (entry_owner(entry))
		return -EBUSY;
	err = tofu_process_start(getpid(), &start);
	if (err)
		return err;
	fabric->self = node;
	err = tofu_shares_forget(fabric);
	if (err)
		return err;

	/* Nobody takes the fields for the old life's while they change. */
	tofu_store(&entry->life, life);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	tofu_store(&entry->start, start);
	tofu_store(&entry->pid, getpid());
	tofu_store(&entry->wake_fd, fabric->pipe[1]);
	tofu_store(&entry->want_wake, 0);
	tofu_store(&entry->ram_count, 0);
	tofu_store(&entry->ram_seq, (tofu_load(&entry->ram_seq) | 1) + 1);
	tofu_store_release(&entry->life, life | TOFU_SHM_LIFE_UP);

	fabric->gen = tofu_shm_gen(life);
	__atomic_fetch_add(&tofu_fabric_header(fabric)->epoch, 1,
			   __ATOMIC_SEQ_CST);
	return 0;
}

static int take_entry(struct tofu_fabric *fabric, uint32_t node)
{
	int err = lock_entry(fabric, node, F_WRLCK);

	if (err)
		return err;
	err = take_entry_locked(fabric, node);
	lock_entry(fabric, node, F_UNLCK);
	return err;
}

/* The lowest of @count endpoints that is free, from @first on. */
static int take_lowest(struct tofu_fabric *fabric, uint32_t first,
		       uint32_t count)
{
	int err = -EBUSY;

	for (uint32_t n = first; n < first + count && err == -EBUSY; n++)
		err = take_entry(fabric, n);
	return err;
}

/* Why no process can be added to @node, or to any (-1). */
static int fail_full(const struct tofu_fabric *fabric, int node, char **why)
{
	if (node < 0)
		return fail(why, -EBUSY, "all %u nodes of the machine are taken",
			    fabric->nodes / fabric->ppn);
	if (fabric->ppn > 1)
		return fail(why, -EBUSY,
			    "node %d has %u processes already, and no room for "
			    "more; end one or make the machine with a larger "
			    "--ppn",
			    node, fabric->ppn);
	return fail(why, -EBUSY,
		    "node %d is process %d already; end it or choose another "
		    "number",
		    node, (int)tofu_fabric_entry(fabric, node)->pid);
}

static int join(struct tofu_fabric *fabric, int node, char **why)
{
	const uint32_t ppn = fabric->ppn;
	int err;

	if (node < -1 || node >= (int)(fabric->nodes / ppn))
		return fail(why, -EINVAL,
			    "node %d is outside the machine of %u nodes", node,
			    fabric->nodes / ppn);
	err = node < 0 ? take_lowest(fabric, 0, fabric->nodes)
		       : take_lowest(fabric, (uint32_t)node * ppn, ppn);
	if (err == -EBUSY)
		return fail_full(fabric, node, why);
	if (err)
		return fail(why, err, "cannot join as node %d: %s", node,
			    strerror(-err));
	return 0;
}

int tofu_fabric_attach(const char *path, int node, char **why,
		       struct tofu_fabric **fabric)
{
	struct tofu_fabric *new = calloc(1, sizeof(*new));
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
	new->payload_max = TOFU_PKT_INLINE_MAX;
	new->epoch = tofu_load_acquire(&tofu_fabric_header(new)->epoch);
	*fabric = new;
	return 0;

err_private:
	destroy_private(new);
err_file:
	close_file(new);
err_free:
	free(new);
	return err;
}

/*
 * Who sleeps may wait for this node without being connected from here: so
 * everybody that sleeps is woken, connected or not.
 */
static void wake_all(struct tofu_fabric *fabric)
{
	tofu_fence_full();
	for (uint32_t n = 0; n < fabric->nodes; n++) {
		if (n == fabric->self ||
		    !tofu_load(&tofu_fabric_entry(fabric, n)->want_wake))
			continue;
		if (fabric->peers[n].life && !tofu_peer_usable(fabric, n))
			tofu_peer_forget(fabric, n);
		if (tofu_peer_get(fabric, n))
			tofu_peer_wake(fabric, n);
	}
}

void tofu_fabric_detach(struct tofu_fabric *fabric)
{
	struct tofu_shm_node *entry = tofu_fabric_entry(fabric, fabric->self);

	tofu_store_release(&entry->life,
			   TOFU_SET(TOFU_SHM_LIFE_GEN, fabric->gen));
	__atomic_fetch_add(&tofu_fabric_header(fabric)->epoch, 1,
			   __ATOMIC_SEQ_CST);
	wake_all(fabric);
	for (uint32_t n = 0; n < fabric->nodes; n++)
		if (fabric->peers[n].life)
			tofu_peer_forget(fabric, n);
	destroy_private(fabric);
	close_file(fabric);
	free(fabric);
}

uint32_t tofu_fabric_endpoint(const struct tofu_fabric *fabric)
{
	return fabric->self;
}

const struct tofu_shape *tofu_fabric_shape(const struct tofu_fabric *fabric)
{
	return &fabric->shape;
}

bool tofu_fabric_up(struct tofu_fabric *fabric, uint32_t node)
{
	if (node >= fabric->nodes)
		return false;
	if (fabric->peers[node].life)
		return tofu_peer_usable(fabric, node) &&
		       tofu_process_alive(fabric->peers[node].pidfd);
	return entry_owner(tofu_fabric_entry(fabric, node)) != 0;
}

/* ---- Sleeping ---- */

static void want_wake(struct tofu_fabric *fabric, uint64_t want)
{
	tofu_store(&tofu_fabric_entry(fabric, fabric->self)->want_wake, want);
	/* Who sends after this sees the word, or the caller's poll sees it. */
	if (want)
		tofu_fence_full();
}

void tofu_fabric_want_wake(struct tofu_fabric *fabric, bool want)
{
	want_wake(fabric, want ? fabric->gen : 0);
}

void tofu_fabric_want_wake_late(struct tofu_fabric *fabric)
{
	want_wake(fabric, fabric->gen | TOFU_SHM_WAKE_LATE);
}

void tofu_fabric_wake(struct tofu_fabric *fabric)
{
	/* A full pipe is as good: the descriptor is readable. */
	while (write(fabric->pipe[1], "", 1) < 0 && errno == EINTR)
		;
}

int tofu_fabric_fd(const struct tofu_fabric *fabric)
{
	return fabric->epoll;
}

void tofu_fabric_fd_ack(struct tofu_fabric *fabric)
{
	tofu_peer_watch(fabric, true);
}
