/* SPDX-License-Identifier: MIT */
/*
 * Observing the shared file, for tools and tests.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static enum tofu_life life_of(const struct tofu_shm *shm, uint32_t node)
{
	struct tofu_identity id;
	int pidfd;

	if (!tofu_identity_read(shm, node, &id))
		return TOFU_LIFE_DOWN;
	pidfd = tofu_identity_open(shm, node, &id);
	if (pidfd == -ESRCH)
		return TOFU_LIFE_DEAD;
	if (pidfd >= 0)
		close(pidfd);
	return TOFU_LIFE_UP;
}

/* Bytes sent and not taken; 0 until the consumer has joined the ring. */
static uint64_t ring_fill(const struct tofu_shm *shm, uint32_t dst,
			  uint32_t src, enum tofu_class class_)
{
	const uint32_t nodes = shm->fabric.nodes;
	const struct tofu_shm_ring *ring =
		(const void *)(shm->base +
			       tofu_shm_ring_offset(
				       nodes,
				       tofu_shm_ring_index(nodes, dst, src,
							   class_)));
	const uint64_t tail = tofu_load(&ring->tail);
	uint64_t head = tofu_load(&ring->head);

	if (tofu_load(&ring->head_conn) != tofu_load(&ring->conn))
		head = tofu_load(&ring->start);
	return tail - head <= TOFU_SHM_RING ? tail - head : 0;
}

void tofu_shm_report(struct tofu_fabric *fabric, uint32_t node,
		     struct tofu_fabric_report *report)
{
	const struct tofu_shm *shm = tofu_shm_of(fabric);
	const struct tofu_shm_node *entry = tofu_shm_node_of(shm, node);

	*report = (struct tofu_fabric_report){
		.life = life_of(shm, node),
		.generation = tofu_shm_gen(tofu_load(&entry->life)),
		.pid = tofu_load(&entry->pid),
		.asleep = tofu_load(&entry->want_wake) != 0,
		.pieces = tofu_load(&entry->ram_count),
	};
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++)
		for (uint32_t src = 0; src < fabric->nodes; src++)
			report->waiting[class_] +=
				ring_fill(shm, node, src, class_);
}

static void stop_observing(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	tofu_shm_unmap(shm);
	free(shm);
}

static const struct tofu_fabric_ops observer_ops = {
	.detach = stop_observing,
	.report = tofu_shm_report,
	.clock = &tofu_shm_observer_clock_ops,
};

int tofu_fabric_observe(const char *path, struct tofu_fabric **fabric)
{
	struct tofu_shm *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	new->fd = open(path, O_RDONLY | O_CLOEXEC);
	err = new->fd < 0 ? -errno : tofu_shm_map(new, PROT_READ);
	if (err) {
		free(new);
		return err;
	}
	new->fabric.ops = &observer_ops;
	new->fabric.self = UINT32_MAX;
	*fabric = &new->fabric;
	return 0;
}
