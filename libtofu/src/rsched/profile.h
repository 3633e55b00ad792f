/* SPDX-License-Identifier: MIT */
/*
 * How much of a resource is taken at each time: an engine or a link, of which
 * there is one, or engines that diagonal directions may have. A profile is a
 * step function; steps come from a pool that has been made large enough.
 */
#ifndef RSCHED_PROFILE_H
#define RSCHED_PROFILE_H

#include <stdint.h>

/* Steps that tofu_rsched_profile_add() takes from the pool, at most */
#define TOFU_RSCHED_STEPS_ADD 2

/**
 * struct tofu_rsched_step - from here to the next one
 * @from:  ns
 * @level: how many are taken
 * @next:  index in the pool; 0: none, it goes on for ever
 */
struct tofu_rsched_step {
	uint64_t from;
	uint32_t level;
	uint32_t next;
};

/**
 * struct tofu_rsched_pool - steps of all profiles of a packing
 * @step: element 0 is not used
 * @used: elements that are
 */
struct tofu_rsched_pool {
	struct tofu_rsched_step *step;
	uint32_t used;
};

/**
 * struct tofu_rsched_profile - of one resource
 * @capacity: how many there are
 * @first:    step at time 0; 0: nothing was ever taken
 */
struct tofu_rsched_profile {
	uint32_t capacity;
	uint32_t first;
};

/* tofu_rsched_profile_fit - the first time from @from on when one is free for @ns */
uint64_t tofu_rsched_profile_fit(const struct tofu_rsched_pool *pool,
				 const struct tofu_rsched_profile *profile,
				 uint64_t from, uint64_t ns);

/* tofu_rsched_profile_add - take one from @from to @to, which is later */
void tofu_rsched_profile_add(struct tofu_rsched_pool *pool,
			     struct tofu_rsched_profile *profile, uint64_t from,
			     uint64_t to);

#endif /* RSCHED_PROFILE_H */
