/* SPDX-License-Identifier: MIT */
/*
 * The shared file: making, checking and mapping it.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Small, so that a signal of the program's timers does not interrupt for ever. */
#define RESERVE_BYTES (1ULL << 20)

static int reserve_some(int fd, uint64_t at, uint64_t bytes)
{
	int err;

	do {
		err = fallocate(fd, 0, (off_t)at, (off_t)bytes) ? -errno : 0;
	} while (err == -EINTR);
	/* A filesystem that cannot reserve has to be trusted to have room. */
	return err == -EOPNOTSUPP || err == -ENOSYS ? 0 : err;
}

int tofu_file_reserve(int fd, uint64_t at, uint64_t bytes)
{
	int err = 0;

	while (bytes && !err) {
		const uint64_t some = bytes < RESERVE_BYTES ? bytes :
							      RESERVE_BYTES;

		err = reserve_some(fd, at, some);
		at += some;
		bytes -= some;
	}
	return err;
}

void tofu_shm_peek(const struct tofu_shm *shm, uint64_t at, void *to, size_t len)
{
	if (pread(shm->fd, to, len, (off_t)at) != (ssize_t)len)
		memset(to, 0, len);
}

static int write_header(int fd, const struct tofu_shm_header *header)
{
	/* Write the magic number last: a file with it is complete. */
	const size_t magic = sizeof(header->magic);
	const size_t rest = sizeof(*header) - magic;
	const uint8_t *bytes = (const uint8_t *)header;

	if (pwrite(fd, bytes + magic, rest, (off_t)magic) != (ssize_t)rest ||
	    pwrite(fd, bytes, magic, 0) != (ssize_t)magic)
		return errno ? -errno : -EIO;
	return 0;
}

int tofu_fabric_format(int fd, const struct tofu_shape *shape, uint32_t ppn)
{
	const uint64_t endpoints = (uint64_t)tofu_shape_nodes(shape) * ppn;
	struct tofu_shm_header header = {
		.magic = TOFU_SHM_MAGIC,
		.version = TOFU_SHM_VERSION,
		.nodes = (uint32_t)endpoints,
		.shape = tofu_shape_pack(shape),
		.ring_size = TOFU_SHM_RING,
		.ppn = ppn,
	};
	struct stat st;
	int err;

	if (!ppn || ppn > TOFU_FABRIC_PPN_MAX || !endpoints ||
	    endpoints > TOFU_FABRIC_NODES_MAX)
		return -EINVAL;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_size)
		return -EEXIST;
	if (st.st_uid != geteuid())
		return -EPERM;
	/* A memfd, too, can be opened by all at first. */
	if (fchmod(fd, S_IRUSR | S_IWUSR))
		return -errno;
	if (ftruncate(fd, (off_t)tofu_shm_size(header.nodes)))
		return -errno;
	/* Nodes look at the entries of all others. */
	err = tofu_file_reserve(fd, 0, tofu_shm_node_offset(header.nodes));
	if (!err)
		err = write_header(fd, &header);
	if (err)
		return err;
	/*
	 * A seal keeps the file from shrinking under mappings. Only a memfd can
	 * be sealed; for another file its owner is trusted.
	 */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) &&
	    errno != EINVAL && errno != EPERM)
		return -errno;
	return 0;
}

static int check_header(struct tofu_shm *shm)
{
	struct tofu_shm_header header;
	struct stat st;

	if (fstat(shm->fd, &st) || !S_ISREG(st.st_mode) ||
	    pread(shm->fd, &header, sizeof(header), 0) != sizeof(header))
		return -EINVAL;
	if (header.magic != TOFU_SHM_MAGIC ||
	    header.version != TOFU_SHM_VERSION ||
	    header.ring_size != TOFU_SHM_RING ||
	    tofu_shape_unpack(header.shape, &shm->fabric.shape) ||
	    !header.ppn || header.ppn > TOFU_FABRIC_PPN_MAX ||
	    header.nodes !=
		    (uint64_t)tofu_shape_nodes(&shm->fabric.shape) *
			    header.ppn ||
	    !header.nodes ||
	    header.nodes > TOFU_FABRIC_NODES_MAX ||
	    (uint64_t)st.st_size < tofu_shm_size(header.nodes))
		return -EINVAL;
	shm->fabric.nodes = header.nodes;
	shm->fabric.ppn = header.ppn;
	shm->size = tofu_shm_size(header.nodes);
	return 0;
}

int tofu_shm_map(struct tofu_shm *shm, int prot)
{
	int err = check_header(shm);

	if (err)
		goto err_close;
	shm->base = mmap(NULL, shm->size, prot, MAP_SHARED | MAP_NORESERVE,
			 shm->fd, 0);
	if (shm->base != MAP_FAILED)
		return 0;
	err = -errno;
err_close:
	close(shm->fd);
	return err;
}

void tofu_shm_unmap(struct tofu_shm *shm)
{
	munmap(shm->base, shm->size);
	close(shm->fd);
}
