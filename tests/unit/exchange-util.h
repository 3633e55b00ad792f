/* SPDX-License-Identifier: MIT */
/*
 * Scenes of neighbour exchanges: processes in a grid, who check every byte that
 * they get.
 */
#ifndef UNIT_EXCHANGE_UTIL_H
#define UNIT_EXCHANGE_UTIL_H

#include <stdbool.h>

#include <tofu/neighbor.h>

#include "utofu-util.h"

/**
 * struct scene - the part that the processes of a machine play
 * @grid:   grid of the processes
 * @bytes:  bytes of the message in each direction
 * @params: parameters of the exchange
 * @meet:   use a barrier: params.barrier is filled in
 * @rounds: number of exchanges
 * @late:   a process naps in one of @late rounds on average, at each of the
 *          places where it can; 0: never
 * @expect: the algorithm that has to run, or TOFU_NEIGHBOR_AUTO
 */
struct scene {
	struct tofu_grid grid;
	size_t bytes[2 * TOFU_GRID_DIMS_MAX];
	struct tofu_neighbor_params params;
	bool meet;
	unsigned int rounds;
	unsigned int late;
	enum tofu_neighbor_algorithm expect;
};

/* scene_run - play it; returns the number of processes that found errors */
int scene_run(const struct scene *scene);

/**
 * struct actor - a process's part in a scene
 * @area: memory of a buffer with guards around it, NULL where it has no bytes:
 *        send, and twice receive
 * @peer: rank of the neighbour; good where the message exists
 */
struct actor {
	const struct scene *scene;
	unsigned int rank;
	unsigned int messages;
	struct tofu_message message[2 * TOFU_GRID_DIMS_MAX];
	unsigned int peer[2 * TOFU_GRID_DIMS_MAX];
	char *area[2 * TOFU_GRID_DIMS_MAX][3];
	struct tofu_exchange *exchange;
	uint64_t random;
};

/* actor_enter - make, tell cards, connect; ends the process where that fails */
void actor_enter(struct actor *actor, struct tofu_nodes *nodes,
		 unsigned int rank);

/* actor_fill - what is sent in a round */
void actor_fill(struct actor *actor, unsigned int round);

/* actor_check - what has come in the round that ended last */
void actor_check(struct actor *actor, unsigned int round);

/* actor_leave - free all; nothing is written outside the buffers */
void actor_leave(struct actor *actor);

/* scene_prepare - before processes that call actor_enter() are made */
void scene_prepare(const struct scene *scene);

/* scene_count - processes of a grid */
unsigned int scene_count(const struct scene *scene);

#endif /* UNIT_EXCHANGE_UTIL_H */
