/* SPDX-License-Identifier: MIT */
/*
 * The file of a node's trace: mapped, so that records survive even when the
 * process is killed.
 */
#define _GNU_SOURCE
#include "node/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Step by which the file grows. */
#define STEP (1UL << 20)

/**
 * struct tofu_trace
 * @size: bytes of the file, all mapped
 * @used: bytes used
 * @full: the file cannot grow
 */
struct tofu_trace {
	int fd;
	size_t size;
	size_t used;
	bool full;
	union {
		uint8_t *base;
		struct icc_trace_header *header;
	};
};

/* Allocate on disk now: a store to the mapping could not report an error. */
static int allocate(int fd, size_t from, size_t len)
{
	int err = posix_fallocate(fd, (off_t)from, (off_t)len);

	return -err;
}

static int grow(struct tofu_trace *trace)
{
	const size_t size = trace->size + STEP;
	void *base;
	int err = allocate(trace->fd, trace->size, STEP);

	if (err)
		return err;
	base = trace->base ? mremap(trace->base, trace->size, size,
				    MREMAP_MAYMOVE)
			   : mmap(NULL, size, PROT_READ | PROT_WRITE,
				  MAP_SHARED, trace->fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	trace->base = base;
	trace->size = size;
	return 0;
}

static void begin(struct tofu_trace *trace, const struct tofu_shape *shape,
		  uint32_t node, const struct tofu_preset *machine)
{
	struct icc_trace_header *header = trace->header;

	header->magic = ICC_TRACE_MAGIC;
	header->version = ICC_TRACE_VERSION;
	header->node = node;
	header->shape = tofu_shape_pack(shape);
	strncpy(header->machine, machine->name, sizeof(header->machine) - 1);
	trace->used = sizeof(*header);
}

int tofu_trace_create(const char *path, const struct tofu_shape *shape,
		      uint32_t node, const struct tofu_preset *machine,
		      struct tofu_trace **trace)
{
	struct tofu_trace *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	new->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (new->fd < 0) {
		err = -errno;
		goto err_free;
	}
	err = grow(new);
	if (err)
		goto err_close;
	begin(new, shape, node, machine);
	*trace = new;
	return 0;

err_close:
	close(new->fd);
err_free:
	free(new);
	return err;
}

void tofu_trace_destroy(struct tofu_trace *trace)
{
	if (!trace)
		return;
	munmap(trace->base, trace->size);
	/* Failure is harmless: the header counts the records. */
	(void)!ftruncate(trace->fd, (off_t)trace->used);
	close(trace->fd);
	free(trace);
}

bool tofu_trace_add(struct tofu_trace *trace, const struct icc_trace *record)
{
	if (trace->used + sizeof(*record) > trace->size) {
		trace->full = trace->full || grow(trace);
		if (trace->full) {
			trace->header->lost++;
			return false;
		}
	}
	memcpy(trace->base + trace->used, record, sizeof(*record));
	trace->used += sizeof(*record);
	/* Release: the record is written before the count. */
	__atomic_store_n(&trace->header->records, trace->header->records + 1,
			 __ATOMIC_RELEASE);
	return true;
}
