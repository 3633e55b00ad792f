/* SPDX-License-Identifier: MIT */
/*
 * Buffers of messages. Those that are received into are a file that every proxy
 * publishes as its memory: local nodes read the data of packets where they came
 * in. The file has its whole size from the start, and memory as far as buffers
 * were made.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bridge/bridge.h"

/* A node that reads from a buffer of a host that is lost does not take longer. */
#define LATE_MS 5000

int pool_create(struct pool *pool, struct bridge *bridge, uint64_t bytes)
{
	*pool = (struct pool){ .bridge = bridge };
	pool->limit = (unsigned int)(bytes / BRIDGE_MESSAGE);
	pool->size = (uint64_t)pool->limit * BRIDGE_MESSAGE;
	pool->fd = memfd_create("tofu-bridge", MFD_CLOEXEC);
	if (pool->fd < 0 || fchmod(pool->fd, 0600))
		return -errno;
	return ftruncate(pool->fd, (off_t)pool->size) ? -errno : 0;
}

/* Some networks want to know the memory before they use it. */
static int buffer_register(struct buffer *buffer)
{
	struct bridge *bridge = buffer->pool->bridge;
	struct fid_mr *mr;
	int err;

	if (!(bridge->info->domain_attr->mr_mode & FI_MR_LOCAL))
		return 0;
	err = fi_mr_reg(bridge->domain, buffer->data, BRIDGE_MESSAGE,
			FI_SEND | FI_RECV, 0, buffer->offset, 0, &mr, NULL);
	if (!err)
		buffer->desc = fi_mr_desc(mr);
	return err;
}

static struct buffer *buffer_make(struct pool *pool)
{
	struct buffer *buffer = calloc(1, sizeof(*buffer));

	if (!buffer)
		return NULL;
	buffer->pool = pool;
	buffer->offset = (uint64_t)pool->made * BRIDGE_MESSAGE;
	buffer->data = mmap(NULL, BRIDGE_MESSAGE, PROT_READ | PROT_WRITE,
			    MAP_SHARED, pool->fd, (off_t)buffer->offset);
	if (buffer->data == MAP_FAILED) {
		free(buffer);
		return NULL;
	}
	if (buffer_register(buffer)) {
		munmap(buffer->data, BRIDGE_MESSAGE);
		free(buffer);
		return NULL;
	}
	pool->made++;
	return buffer;
}

struct buffer *pool_get(struct pool *pool)
{
	struct buffer *buffer = pool->free;

	if (buffer) {
		pool->free = buffer->next;
		pool->unused--;
	} else if (pool->made < pool->limit) {
		buffer = buffer_make(pool);
	}
	if (buffer)
		buffer->users = 1;
	return buffer;
}

void pool_put_late(struct buffer *buffer)
{
	struct pool *pool = buffer->pool;

	if (--buffer->users)
		return;
	buffer->next = NULL;
	buffer->since = bridge_now_ms();
	if (pool->late)
		pool->latest->next = buffer;
	else
		pool->late = buffer;
	pool->latest = buffer;
}

void pool_age(struct pool *pool)
{
	const int64_t now = bridge_now_ms();

	while (pool->late && now - pool->late->since > LATE_MS) {
		struct buffer *buffer = pool->late;

		pool->late = buffer->next;
		buffer->users = 1;
		pool_put(buffer);
	}
}

void pool_put(struct buffer *buffer)
{
	struct pool *pool = buffer->pool;

	if (--buffer->users)
		return;
	buffer->next = pool->free;
	pool->free = buffer;
	pool->unused++;
}
