// SPDX-License-Identifier: MIT
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"
#include "scale.h"
#include "args.h"
#include "sched.h"

/* ---- Workloads ---- */

static const char *const compass[SCHED_COMPASS] = {
	"E",
	"W",
	"N",
	"S",
	"NW",
	"NE",
	"SW",
	"SE",
};

/*
 * A diagonal put takes two hops: from the node in one direction, and from its
 * neighbour in the other.
 */
#define LINK(direction) (UINT64_C(1) << (direction))
static const uint64_t compass_path[SCHED_COMPASS] = {
	LINK(0),	   LINK(1),	      LINK(2),	       LINK(3),
	LINK(1) | LINK(2), LINK(0) | LINK(2), LINK(1) | LINK(3), LINK(0) | LINK(3),
};

const struct sched_set sched_sets[SCHED_SETS] = {
	{ "ew", "east and west", SCHED_EW },
	{ "ns", "north and south", SCHED_NS },
	{ "four", "four directions", SCHED_EW | SCHED_NS },
	{ "diagonal", "diagonals", SCHED_DIAGONAL },
	{ "all", "all eight", SCHED_EW | SCHED_NS | SCHED_DIAGONAL },
};

const struct sched_set *sched_set_find(const char *name)
{
	for (size_t i = 0; i < SCHED_SETS; i++) {
		if (!strcmp(sched_sets[i].name, name))
			return &sched_sets[i];
	}
	return NULL;
}

void sched_workload_compass(struct sched_workload *workload)
{
	memset(workload, 0, sizeof(*workload));
	for (size_t i = 0; i < SCHED_COMPASS; i++)
		snprintf(workload->direction[i], SCHED_NAME, "%s", compass[i]);
	workload->directions = SCHED_COMPASS;
}

void sched_workload_put(struct sched_workload *workload, uint32_t direction,
			uint64_t bytes, uint32_t flags)
{
	workload->request[workload->count++] = (struct tofu_rsched_request){
		.bytes = bytes,
		.path = direction < SCHED_COMPASS ? compass_path[direction] : 0,
		.direction = direction,
		.flags = flags,
	};
}

void sched_workload_scale(struct sched_workload *workload,
			  const struct sched_set *set, unsigned int k)
{
	const struct tofu_scale scale = tofu_scale_of(k);

	sched_workload_compass(workload);
	snprintf(workload->title, sizeof(workload->title),
		 "SCALE-LES3, k = %u, %s", k, set->title);
	for (uint32_t i = 0; i < 8 && set->parts & SCHED_DIAGONAL; i++)
		sched_workload_put(workload, SCHED_COMPASS_DIAGONAL + i / 2, scale.diagonal,
				   TOFU_RSCHED_DIAGONAL);
	for (uint32_t d = 0; d < 2 && set->parts & SCHED_EW; d++)
		sched_workload_put(workload, d, scale.ew, 0);
	for (uint32_t i = 0; i < 4 && set->parts & SCHED_NS; i++)
		sched_workload_put(workload, 2 + i / 2, scale.ns, 0);
}

/* ---- Random workloads ---- */

/**
 * struct dice - a source of random numbers
 * @state: differs from set to set, and from roll to roll
 */
struct dice {
	uint64_t state;
};

/* A number from @least up to @most; few numbers, so all are equally likely. */
static uint32_t roll(struct dice *dice, uint32_t least, uint32_t most)
{
	dice->state += TOFU_MIX_ODD;
	return least +
	       (uint32_t)(tofu_mix(dice->state) % (most - least + 1));
}

enum {
	POWER_MIN = 6, /* 64 bytes */
	POWER_LIMIT_MIN = 9, /* less than 1 KiB */
	POWER_LIMIT_MAX = 17, /* less than SCHED_RANDOM_BYTES */
};

_Static_assert(SCHED_RANDOM_BYTES == 2U << POWER_LIMIT_MAX, "as promised");

void sched_workload_random(struct sched_workload *workload,
			   unsigned int number)
{
	struct dice dice = { tofu_mix(number + TOFU_MIX_ODD) };
	const uint32_t puts = roll(&dice, 2, SCHED_RANDOM_PUTS);
	const uint32_t limit = roll(&dice, POWER_LIMIT_MIN, POWER_LIMIT_MAX);

	sched_workload_compass(workload);
	snprintf(workload->title, sizeof(workload->title), "random set %u",
		 number);
	for (uint32_t i = 0; i < puts; i++) {
		const uint32_t direction = roll(&dice, 0, SCHED_COMPASS - 1);
		const uint32_t unit = 1U << roll(&dice, POWER_MIN, limit);

		sched_workload_put(workload, direction,
				   roll(&dice, unit, 2 * unit - 1),
				   direction < SCHED_COMPASS_DIAGONAL ?
					   0 :
					   TOFU_RSCHED_DIAGONAL);
	}
}

/* ---- Schedulers ---- */

const struct sched_scheduler sched_schedulers[SCHED_SCHEDULERS] = {
	{ TOFU_RSCHED_ROUND_ROBIN, 1, "round-robin:1", "RoundRobin(1)" },
	{ TOFU_RSCHED_ROUND_ROBIN, 2, "round-robin:2", "RoundRobin(2)" },
	{ TOFU_RSCHED_ROUND_ROBIN, 4, "round-robin:4", "RoundRobin(4)" },
	{ TOFU_RSCHED_BL, 1, "bl:1", "BLbased(1)" },
	{ TOFU_RSCHED_BL, 2, "bl:2", "BLbased(2)" },
	{ TOFU_RSCHED_BL, 4, "bl:4", "BLbased(4)" },
	{ TOFU_RSCHED_OVERHEAD_AWARE, 0, "overhead-aware", "overhead-aware" },
};

const struct sched_scheduler *sched_scheduler_find(const char *name)
{
	for (size_t i = 0; i < SCHED_SCHEDULERS; i++) {
		if (!strcmp(sched_schedulers[i].name, name))
			return &sched_schedulers[i];
	}
	return NULL;
}

/* Ways of the puts, to be freed */
static struct tofu_rsched_way *ways_of(const struct sched_workload *workload)
{
	const struct sched_ways *ways = workload->ways;
	const size_t count = workload->count;
	struct tofu_rsched_way *way = calloc(ways->sites * count + 1, sizeof(*way));

	for (size_t site = 0; way && site < ways->sites; site++)
		for (size_t i = 0; i < count; i++)
			way[site * count + i] =
				ways->way[site][workload->request[i].direction];
	return way;
}

struct tofu_rsched_plan *sched_plan(const struct tofu_rsched_model *model,
				    const struct sched_scheduler *scheduler,
				    const struct sched_workload *workload)
{
	const struct sched_ways *ways = workload->ways;
	struct tofu_rsched_way *way = ways ? ways_of(workload) : NULL;
	struct tofu_rsched_plan *plan;

	if (scheduler->width > model->engines)
		errx(EXIT_USAGE, "%s needs %u engines, and there are %u",
		     scheduler->name, scheduler->width, model->engines);
	/* All arguments have been checked: only memory can be short. */
	if ((ways && !way) ||
	    tofu_rsched_make_sites(model, scheduler->scheduler,
				   scheduler->width, workload->request,
				   workload->count, way,
				   ways ? ways->sites : 0, &plan))
		errx(EXIT_FAILURE, "no memory");
	free(way);
	return plan;
}
