// SPDX-License-Identifier: MIT

#include "rsched/profile.h"

uint64_t tofu_rsched_profile_fit(const struct tofu_rsched_pool *pool,
				 const struct tofu_rsched_profile *profile,
				 uint64_t from, uint64_t ns)
{
	for (uint32_t i = profile->first; i; i = pool->step[i].next) {
		const struct tofu_rsched_step *step = &pool->step[i];

		if (step->level < profile->capacity)
			continue;
		if (step->from >= from + ns)
			break;
		/* The last step has level 0, so a full step has a successor. */
		if (pool->step[step->next].from > from)
			from = pool->step[step->next].from;
	}
	return from;
}

static uint32_t step_new(struct tofu_rsched_pool *pool, uint64_t from,
			 uint32_t level, uint32_t next)
{
	pool->step[pool->used] = (struct tofu_rsched_step){
		.from = from,
		.level = level,
		.next = next,
	};
	return pool->used++;
}

/* Finds the step that begins at @at, from @step on; creates it if missing. */
static uint32_t step_at(struct tofu_rsched_pool *pool, uint32_t step,
			uint64_t at)
{
	while (pool->step[step].next &&
	       pool->step[pool->step[step].next].from <= at)
		step = pool->step[step].next;
	if (pool->step[step].from == at)
		return step;
	return pool->step[step].next = step_new(pool, at, pool->step[step].level,
						pool->step[step].next);
}

/* Merges steps of equal level: most places touch, so lists stay short. */
static void merge(struct tofu_rsched_pool *pool, uint32_t i)
{
	struct tofu_rsched_step *step = pool->step;

	while (step[i].next) {
		uint32_t next = step[i].next;

		if (step[i].level == step[next].level)
			step[i].next = step[next].next;
		else
			i = next;
	}
}

void tofu_rsched_profile_add(struct tofu_rsched_pool *pool,
			     struct tofu_rsched_profile *profile, uint64_t from,
			     uint64_t to)
{
	uint32_t begin, end;

	if (!profile->first)
		profile->first = step_new(pool, 0, 0, 0);
	begin = step_at(pool, profile->first, from);
	end = step_at(pool, begin, to);
	for (uint32_t i = begin; i != end; i = pool->step[i].next)
		pool->step[i].level++;
	merge(pool, profile->first);
}
