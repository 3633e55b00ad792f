// SPDX-License-Identifier: MIT

#include "neighbor/schedule.h"

static unsigned int gcd(unsigned int a, unsigned int b)
{
	while (b) {
		unsigned int rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

struct tofu_neighbor_plan tofu_neighbor_plan_native(unsigned int neighbors,
						    unsigned int engines)
{
	return (struct tofu_neighbor_plan){
		.neighbors = neighbors,
		.engines = engines,
		.steps = (neighbors + engines - 1) / engines,
		.segments = 1,
	};
}

struct tofu_neighbor_plan tofu_neighbor_plan_segmented(unsigned int neighbors,
						       unsigned int engines)
{
	unsigned int common = gcd(neighbors, engines);

	if (neighbors <= engines || engines == 1)
		return tofu_neighbor_plan_native(neighbors, engines);
	return (struct tofu_neighbor_plan){
		.neighbors = neighbors,
		.engines = engines,
		.steps = neighbors / common,
		.segments = engines / common,
	};
}

bool tofu_neighbor_plan_put(const struct tofu_neighbor_plan *plan,
			    unsigned int step, unsigned int engine,
			    struct tofu_neighbor_put *put)
{
	/*
	 * All puts in one row, the first segments of all neighbours, then the
	 * second segments ...: a step takes the next C puts. C < N consecutive
	 * puts differ modulo N, so they go to different neighbours.
	 */
	unsigned int i = step * plan->engines + engine;

	if (i >= plan->neighbors * plan->segments)
		return false;
	put->neighbor = i % plan->neighbors;
	put->segment = i / plan->neighbors;
	return true;
}

void tofu_neighbor_plan_place(const struct tofu_neighbor_plan *plan,
			      const struct tofu_neighbor_put *put,
			      unsigned int *step, unsigned int *engine)
{
	unsigned int i = put->segment * plan->neighbors + put->neighbor;

	*step = i / plan->engines;
	*engine = i % plan->engines;
}

size_t tofu_neighbor_segment(const struct tofu_neighbor_plan *plan,
			     size_t bytes, unsigned int segment,
			     size_t *offset)
{
	size_t even = bytes / plan->segments;
	size_t longer = bytes % plan->segments;

	*offset = segment * even + (segment < longer ? segment : longer);
	return even + (segment < longer);
}
