/* SPDX-License-Identifier: MIT */
/*
 * Memory of other nodes: the tables that they publish, and reading it.
 *
 * A table names descriptors of its process, which may have others' files open,
 * or files that another user can truncate under its readers' mappings. So a file
 * is mapped only if it belongs to the reader's own user, who could do worse.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fabric/process.h"

/* Attempts to read a table while its owner is writing. */
#define TABLE_TRIES 1000

/* ---- Publishing ---- */

static int check_own(const struct tofu_ram *ram)
{
	uint64_t end;
	struct stat st;

	if (!ram->len || __builtin_add_overflow(ram->addr, ram->len - 1, &end))
		return -EINVAL;
	if (ram->fd < 0)
		return ram->fd == -1 ? 0 : -EBADF;
	if (__builtin_add_overflow(ram->offset, ram->len, &end))
		return -EINVAL;
	if (fstat(ram->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size < end)
		return -EINVAL;
	/* Others would not map it. */
	return st.st_uid == geteuid() ? 0 : -EPERM;
}

static void write_table(struct tofu_shm_node *entry, const struct tofu_ram *ram,
			uint32_t count)
{
	uint32_t seq = tofu_load(&entry->ram_seq) | 1;

	tofu_store(&entry->ram_seq, seq);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (uint32_t i = 0; i < count; i++) {
		tofu_store(&entry->ram[i].addr, ram[i].addr);
		tofu_store(&entry->ram[i].len, ram[i].len);
		tofu_store(&entry->ram[i].offset, ram[i].offset);
		tofu_store(&entry->ram[i].fd, ram[i].fd);
	}
	tofu_store(&entry->ram_count, count);
	tofu_store_release(&entry->ram_seq, seq + 1);
}

int tofu_shm_publish(struct tofu_fabric *fabric, const struct tofu_ram *ram,
		     size_t count)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	bool process = false;
	int err;

	if (count > TOFU_FABRIC_RAM_MAX)
		return -E2BIG;
	for (size_t i = 0; i < count; i++) {
		err = check_own(&ram[i]);
		if (err)
			return err;
		process |= ram[i].fd < 0;
	}
	/* Without Yama this fails with EINVAL and is not needed. */
	if (process)
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	write_table(tofu_shm_node_of(shm, shm->fabric.self), ram,
		    (uint32_t)count);
	return 0;
}

/* ---- A peer's table ---- */

void tofu_ram_forget(struct tofu_peer *peer)
{
	for (uint32_t i = 0; i < peer->ram_count; i++)
		if (peer->ram[i].map)
			munmap(peer->ram[i].map, peer->ram[i].map_len);
	memset(peer->ram, 0, peer->ram_count * sizeof(*peer->ram));
	peer->ram_count = 0;
	peer->ram_seq = 1;
}

void tofu_memory_forget(struct tofu_peer *peer)
{
	if (peer->memory >= 0)
		close(peer->memory);
	peer->memory = -1;
}

static bool piece_valid(const struct tofu_shm_ram *piece)
{
	uint64_t end;

	return piece->len &&
	       !__builtin_add_overflow(piece->addr, piece->len - 1, &end) &&
	       (piece->fd == -1 ||
		(piece->fd >= 0 &&
		 !__builtin_add_overflow(piece->offset, piece->len, &end)));
}

static void read_pieces(const struct tofu_shm_node *entry,
			struct tofu_peer *peer)
{
	uint32_t count = tofu_load(&entry->ram_count);

	if (count > TOFU_FABRIC_RAM_MAX)
		count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct tofu_shm_ram *piece = &peer->ram[i].piece;

		piece->addr = tofu_load(&entry->ram[i].addr);
		piece->len = tofu_load(&entry->ram[i].len);
		piece->offset = tofu_load(&entry->ram[i].offset);
		piece->fd = tofu_load(&entry->ram[i].fd);
		/* Make it empty, so that no address matches. */
		if (!piece_valid(piece))
			piece->len = 0;
	}
	peer->ram_count = count;
}

/* Read version @seq of the table; false when it changed meanwhile. */
static bool read_table(struct tofu_shm *shm, uint32_t node, uint32_t seq)
{
	const struct tofu_shm_node *entry = tofu_shm_node_of(shm, node);
	struct tofu_peer *peer = &shm->peers[node];

	tofu_ram_forget(peer);
	read_pieces(entry, peer);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (tofu_load(&entry->ram_seq) == seq &&
	    tofu_load(&entry->life) == peer->life) {
		peer->ram_seq = seq;
		return true;
	}
	tofu_ram_forget(peer);
	return false;
}

/* Read the table if it has changed; that of a lost peer stays as last read. */
static void refresh_table(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_shm_node *entry = tofu_shm_node_of(shm, node);
	struct tofu_peer *peer = &shm->peers[node];

	for (int i = 0; i < TABLE_TRIES; i++) {
		uint32_t seq = tofu_load_acquire(&entry->ram_seq);

		if (seq == peer->ram_seq || !tofu_peer_usable(shm, node))
			return;
		if (!(seq & 1) && read_table(shm, node, seq))
			return;
	}
}

static struct tofu_peer_ram *find_piece(struct tofu_peer *peer, uint64_t addr)
{
	for (uint32_t i = 0; i < peer->ram_count; i++)
		if (addr - peer->ram[i].piece.addr < peer->ram[i].piece.len)
			return &peer->ram[i];
	return NULL;
}

/* ---- Mapping ---- */

static bool file_holds(int fd, const struct tofu_shm_ram *piece,
		       struct stat *st)
{
	return !fstat(fd, st) && st->st_uid == geteuid() && st->st_size >= 0 &&
	       piece->offset + piece->len <= (uint64_t)st->st_size;
}

/* Mappings begin at pages of the file, which can be huge. */
static uint64_t map_align(const struct stat *st)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t block = (uint64_t)st->st_blksize;

	return block > page && !(block & (block - 1)) ? block : page;
}

static bool map_file(struct tofu_peer_ram *ram, int fd)
{
	const struct tofu_shm_ram *piece = &ram->piece;
	uint64_t align, delta;
	struct stat st;
	void *map;

	if (!file_holds(fd, piece, &st))
		return false;
	align = map_align(&st);
	delta = piece->offset & (align - 1);
	/* No overflow: the sum is at most the file's size, rounded up. */
	ram->map_len = (piece->len + delta + align - 1) & ~(align - 1);
	map = mmap(NULL, ram->map_len, PROT_READ, MAP_SHARED | MAP_NORESERVE,
		   fd, (off_t)(piece->offset - delta));
	if (map == MAP_FAILED)
		return false;
	ram->map = map;
	ram->data = (const uint8_t *)map + delta;
	return true;
}

static bool map_piece(const struct tofu_peer *peer, struct tofu_peer_ram *ram)
{
	bool mapped;
	int fd;

	if (ram->map)
		return true;
	fd = tofu_process_file(peer->pidfd, peer->pid, ram->piece.fd, S_IFREG,
			       O_RDONLY);
	if (fd < 0)
		return false;
	/* If it is alive now, the descriptor was that of the node. */
	mapped = tofu_peer_alive(peer) && map_file(ram, fd);
	close(fd);
	return mapped;
}

static struct tofu_peer_ram *piece_of(struct tofu_shm *shm, uint32_t node,
				      uint64_t addr)
{
	struct tofu_peer *peer = tofu_peer_get(shm, node);

	if (!peer || peer->broken)
		return NULL;
	refresh_table(shm, node);
	return find_piece(peer, addr);
}

const void *tofu_shm_peer_memory(struct tofu_fabric *fabric, uint32_t node,
				 uint64_t addr, size_t *len)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_peer_ram *ram = piece_of(shm, node, addr);
	uint64_t at;

	if (!ram || ram->piece.fd < 0 || !map_piece(&shm->peers[node], ram))
		return NULL;
	at = addr - ram->piece.addr;
	if (*len > ram->piece.len - at)
		*len = ram->piece.len - at;
	return ram->data + at;
}

/* ---- Copying ---- */

/*
 * Replaces process_vm_readv() where the system lacks it: a container can forbid
 * it, and user-mode emulation does not have it.
 */
static ssize_t read_memory_file(struct tofu_peer *peer, uint64_t addr,
				void *buf, size_t len)
{
	ssize_t got;

	if (peer->memory < 0)
		peer->memory = tofu_process_memory(peer->pidfd, peer->pid);
	if (peer->memory < 0) {
		errno = -peer->memory;
		return -1;
	}
	got = pread(peer->memory, buf, len, (off_t)addr);
	if (got < 0 && errno == EIO)
		errno = EFAULT;
	return got;
}

static ssize_t read_by_address(struct tofu_peer *peer, uint64_t addr, void *buf,
			       size_t len)
{
	struct iovec local = { .iov_base = buf, .iov_len = len };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr,
				.iov_len = len };
	ssize_t got = process_vm_readv(peer->pid, &local, 1, &remote, 1, 0);

	return got < 0 && errno == ENOSYS ?
		       read_memory_file(peer, addr, buf, len) :
		       got;
}

/* Read a piece that is not in a file. Return: bytes or a negative errno. */
static ssize_t read_process(struct tofu_peer *peer, uint64_t addr, void *buf,
			    size_t len)
{
	ssize_t got = read_by_address(peer, addr, buf, len);
	int err = errno;

	/* Another process may have got the number, or another program runs. */
	if (!tofu_peer_alive(peer))
		return -EHOSTDOWN;
	if (got < 0)
		return err == ESRCH ? -EHOSTDOWN : -err;
	return got ? got : -EFAULT;
}

static ssize_t read_some(struct tofu_shm *shm, uint32_t node,
			 uint64_t addr, void *buf, size_t len)
{
	struct tofu_peer_ram *ram = piece_of(shm, node, addr);
	struct tofu_peer *peer = &shm->peers[node];
	const void *data;

	if (ram && ram->piece.fd < 0) {
		uint64_t left = ram->piece.len - (addr - ram->piece.addr);

		return read_process(peer, addr, buf, len < left ? len : left);
	}
	data = ram ? tofu_shm_peer_memory(&shm->fabric, node, addr, &len) :
		     NULL;
	if (!data)
		return peer->life && tofu_peer_usable(shm, node) &&
				       tofu_peer_alive(peer) ?
			       -EFAULT :
			       -EHOSTDOWN;
	memcpy(buf, data, len);
	return (ssize_t)len;
}

int tofu_shm_read(struct tofu_fabric *fabric, uint32_t node, uint64_t addr,
		  void *buf, size_t len)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	uint8_t *to = buf;

	if (node >= shm->fabric.nodes)
		return -EHOSTDOWN;
	while (len) {
		ssize_t got = read_some(shm, node, addr, to, len);

		/* A process loses its memory before its pidfd tells its end. */
		if (got == -EHOSTDOWN)
			tofu_peer_lose(shm, node);
		if (got < 0)
			return (int)got;
		addr += (uint64_t)got;
		to += got;
		len -= (size_t)got;
	}
	return 0;
}
