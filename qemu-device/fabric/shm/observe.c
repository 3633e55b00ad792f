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

/* Rings of which the control lines are read at once; of whole pairs */
#define PEEK_RINGS 64

TOFU_ASSERT(PEEK_RINGS % TOFU_CLASSES == 0, "an even entry is of class 0");

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
static uint64_t ring_fill(const struct tofu_shm_ring *ring)
{
	const uint64_t head = ring->head_conn == ring->conn ? ring->head :
							      ring->start;

	return ring->tail - head <= TOFU_SHM_RING ? ring->tail - head : 0;
}

/* Add what was sent to @dst and not taken, by class. */
static void add_waiting(const struct tofu_shm *shm, uint32_t dst,
			uint64_t waiting[TOFU_CLASSES])
{
	struct tofu_shm_ring rings[PEEK_RINGS];
	const uint32_t nodes = shm->fabric.nodes;
	const uint64_t first = tofu_shm_ring_index(nodes, dst, 0, 0);
	const uint64_t count = (uint64_t)nodes * TOFU_CLASSES;

	for (uint64_t at = 0; at < count; at += PEEK_RINGS) {
		const uint64_t some = count - at < PEEK_RINGS ? count - at :
								PEEK_RINGS;

		tofu_shm_peek(shm, tofu_shm_ring_offset(nodes, first + at),
			      rings, some * sizeof(rings[0]));
		for (uint64_t i = 0; i < some; i++)
			waiting[(at + i) % TOFU_CLASSES] +=
				ring_fill(&rings[i]);
	}
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
	add_waiting(shm, node, report->waiting);
}

uint32_t tofu_shm_generation(struct tofu_fabric *fabric, uint32_t node)
{
	const struct tofu_shm *shm = tofu_shm_of(fabric);
	uint64_t life = tofu_load_acquire(&tofu_shm_node_of(shm, node)->life);

	return life & TOFU_SHM_LIFE_UP ? tofu_shm_gen(life) : 0;
}

static void stop_observing(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	tofu_shm_unmap(shm);
	free(shm);
}

static const struct tofu_fabric_ops observer_ops = {
	.detach = stop_observing,
	.generation = tofu_shm_generation,
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
