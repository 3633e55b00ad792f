/* SPDX-License-Identifier: MIT */
#include "sim/costs.h"

/*
 * A virtual machine's processor is the same whatever the interconnect's
 * machine is, so all presets have one table so far.
 */
static const uint32_t costs[TOFU_WORKS] = {
	[TOFU_WORK_POST] = 150,
	[TOFU_WORK_POST_SLOW] = 220,
	[TOFU_WORK_TCQ_EMPTY] = 50,
	[TOFU_WORK_TCQ_FOUND] = 60,
	[TOFU_WORK_MRQ_EMPTY] = 57,
	[TOFU_WORK_MRQ_FOUND] = 90,
	[TOFU_WORK_BARRIER_START] = 60,
	[TOFU_WORK_BARRIER_EMPTY] = 40,
	[TOFU_WORK_BARRIER_ENDED] = 60,
	[TOFU_WORK_CLOCK] = 60,
	[TOFU_WORK_YIELD] = 500,
	[TOFU_WORK_QUEUE] = 20000,
	[TOFU_WORK_MEMORY] = 10000,
};

/* A loop that polls or looks at the clock has to come to its end. */
static const uint32_t least[TOFU_WORKS] = {
	[TOFU_WORK_TCQ_EMPTY] = 1,
	[TOFU_WORK_MRQ_EMPTY] = 1,
	[TOFU_WORK_BARRIER_EMPTY] = 1,
	[TOFU_WORK_CLOCK] = 1,
	[TOFU_WORK_YIELD] = 1,
};

const uint32_t *sim_costs_least(void)
{
	return least;
}

const uint32_t *sim_costs(const struct tofu_preset *machine)
{
	(void)machine;
	return costs;
}
