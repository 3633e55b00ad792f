/* SPDX-License-Identifier: MIT */
/*
 * A profile says how much of a resource is taken at each time: an engine or a
 * link, of which there is one, or the engines that diagonal directions may
 * occupy. A profile is a step function; its steps come from a pool that is
 * large enough.
 */
#ifndef RSCHED_PROFILE_H
#define RSCHED_PROFILE_H

#include <stdint.h>

/* Most steps that tofu_rsched_profile_add() takes from the pool */
#define TOFU_RSCHED_STEPS_ADD 2

/**
 * struct tofu_rsched_step - a level, from here to the next step
 * @from:  ns
 * @level: number taken
 * @next:  index in the pool; 0: none, the step lasts for ever
 */
struct tofu_rsched_step {
	uint64_t from;
	uint32_t level;
	uint32_t next;
};

/**
 * struct tofu_rsched_pool - steps of all profiles of a packing
 * @step: element 0 is unused
 * @used: number of used elements
 */
struct tofu_rsched_pool {
	struct tofu_rsched_step *step;
	uint32_t used;
};

/**
 * struct tofu_rsched_profile - profile of one resource
 * @capacity: number available
 * @first:    step at time 0; 0: nothing was ever taken
 */
struct tofu_rsched_profile {
	uint32_t capacity;
	uint32_t first;
};

/* tofu_rsched_profile_fit - find the first time when one is free for @ns */
uint64_t tofu_rsched_profile_fit(const struct tofu_rsched_pool *pool,
				 const struct tofu_rsched_profile *profile,
				 uint64_t from, uint64_t ns);

/* tofu_rsched_profile_add - take one from @from to @to, which is later */
void tofu_rsched_profile_add(struct tofu_rsched_pool *pool,
			     struct tofu_rsched_profile *profile, uint64_t from,
			     uint64_t to);

#endif /* RSCHED_PROFILE_H */
