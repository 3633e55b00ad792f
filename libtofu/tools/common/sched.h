/* SPDX-License-Identifier: MIT */
/* Puts that are known together, and the schedulers that plan them. */
#ifndef TOFU_TOOLS_SCHED_H
#define TOFU_TOOLS_SCHED_H

#include <stddef.h>
#include <stdint.h>

#include <tofu/rsched.h>

/* ---- Workloads ---- */

#define SCHED_DIRECTIONS 64
#define SCHED_NAME 16

/* Directions of a 2-D grid, and the first diagonal one; those are last */
#define SCHED_COMPASS 8
#define SCHED_COMPASS_DIAGONAL 4

/**
 * struct sched_ways - what puts in directions of a 2-D grid meet in a machine
 * @sites: how many kinds of nodes there are; 0: nothing is known
 */
struct sched_ways {
	size_t sites;
	struct tofu_rsched_way way[TOFU_RSCHED_SITES_MAX][SCHED_COMPASS];
};

/**
 * struct sched_workload - puts, and what people call their directions
 * @title:     of all
 * @request:   @count puts
 * @direction: names; those of no put may be empty
 * @directions: that have names
 * @ways:      what puts meet; all of them go in directions of a 2-D grid then; or NULL
 */
struct sched_workload {
	char title[64];
	struct tofu_rsched_request request[TOFU_RSCHED_REQUESTS_MAX];
	size_t count;
	char direction[SCHED_DIRECTIONS][SCHED_NAME];
	uint32_t directions;
	const struct sched_ways *ways;
};

/* sched_workload_compass - no puts yet; directions are those of a 2-D grid */
void sched_workload_compass(struct sched_workload *workload);

/**
 * sched_workload_put - add a put, up to TOFU_RSCHED_REQUESTS_MAX of them
 * @flags: of struct tofu_rsched_request
 *
 * Diagonal directions of a 2-D grid take two hops.
 */
void sched_workload_put(struct sched_workload *workload, uint32_t direction,
			uint64_t bytes, uint32_t flags);

/* Parts of the halo exchange of SCALE-LES3 */
enum sched_part {
	SCHED_EW = 1,
	SCHED_NS = 2,
	SCHED_DIAGONAL = 4,
};

/**
 * struct sched_set - directions that are exchanged together
 * @name:  as people type it
 * @title: for a table
 * @parts: enum sched_part
 */
struct sched_set {
	const char *name;
	const char *title;
	unsigned int parts;
};

#define SCHED_SETS 5
extern const struct sched_set sched_sets[SCHED_SETS];

/* sched_set_find - by name, or NULL */
const struct sched_set *sched_set_find(const char *name);

/* sched_workload_scale - of a grid with @k levels; diagonals, E, W, N, S */
void sched_workload_scale(struct sched_workload *workload,
			  const struct sched_set *set, unsigned int k);

/* Numbers of sets that sched_workload_random() can make */
#define SCHED_RANDOM_MAX 1000000

/* Most puts of a random set, and the exclusive limit of their sizes */
#define SCHED_RANDOM_PUTS 14
#define SCHED_RANDOM_BYTES (1U << 18)

/**
 * sched_workload_random - random puts, the same on every machine
 * @number: of the set
 *
 * 2 to SCHED_RANDOM_PUTS puts, in directions of a 2-D grid. Their sizes are
 * evenly distributed by powers of two from 64 bytes up to a random limit of the
 * set, so there are as many sets of small puts as of mixed ones.
 */
void sched_workload_random(struct sched_workload *workload,
			   unsigned int number);

/* ---- Schedulers ---- */

/**
 * struct sched_scheduler - one that can be asked for
 * @scheduler: enum tofu_rsched_scheduler
 * @width:     of it, or 0
 * @name:      as people type it
 * @title:     of a table's column
 */
struct sched_scheduler {
	int scheduler;
	unsigned int width;
	const char *name;
	const char *title;
};

#define SCHED_SCHEDULERS 7
extern const struct sched_scheduler sched_schedulers[SCHED_SCHEDULERS];

/* sched_scheduler_find - by name, or NULL */
const struct sched_scheduler *sched_scheduler_find(const char *name);

/* sched_plan - plan a workload; exits with a sentence if there is no plan */
struct tofu_rsched_plan *sched_plan(const struct tofu_rsched_model *model,
				    const struct sched_scheduler *scheduler,
				    const struct sched_workload *workload);

#endif /* TOFU_TOOLS_SCHED_H */
