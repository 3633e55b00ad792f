/* SPDX-License-Identifier: MIT */
/*
 * What the schedulers share: the puts as they see them, and the three ways to
 * come to a draft of a plan. All are exact and end: whatever the model and the
 * puts, as far as tofu_rsched_make() lets them in.
 *
 * May include: exchange/, net/
 */
#ifndef RSCHED_RSCHED_H
#define RSCHED_RSCHED_H

#include <stdbool.h>

#include <tofu/rsched.h>

#include "rsched/profile.h"

#define TOFU_RSCHED_NONE SIZE_MAX
#define TOFU_RSCHED_LINKS 64

/**
 * struct tofu_rsched_put - a request
 * @links:     never 0
 * @ns:        that it takes when nobody else is on its links
 * @bytes:     to be sent
 * @diagonal:  as requested
 */
struct tofu_rsched_put {
	uint64_t links;
	uint64_t ns;
	uint64_t bytes;
	bool diagonal;
};

/**
 * struct tofu_rsched_draft - a plan being tried
 * @place: of each put
 * @end:   of the last one
 */
struct tofu_rsched_draft {
	struct tofu_rsched_place *place;
	uint64_t end;
};

/**
 * struct tofu_rsched_key - what puts are sorted by
 * @major, @minor: in this order
 * @index:         of the put, which decides at last
 */
struct tofu_rsched_key {
	uint64_t major;
	uint64_t minor;
	size_t index;
};

/* tofu_rsched_sort - ascending */
void tofu_rsched_sort(struct tofu_rsched_key *key, size_t count);

/**
 * struct tofu_rsched_work - puts, and room to schedule them
 * @model:     costs
 * @put, @count: what is to be scheduled
 * @falling:   indices, the longest first, then by direction, then as given
 * @order:     room for an order of the puts
 * @key:       room for sorting
 * @pool:      room for the steps of a packing
 * @limit:     a draft that ends then or later is of no use and given up
 */
struct tofu_rsched_work {
	struct tofu_rsched_model model;
	const struct tofu_rsched_put *put;
	size_t count;
	const size_t *falling;
	size_t *order;
	struct tofu_rsched_key *key;
	struct tofu_rsched_pool pool;
	uint64_t limit;
};

/* tofu_rsched_start - when the processor has started an engine */
static inline uint64_t tofu_rsched_start(const struct tofu_rsched_model *model,
					 unsigned int engine)
{
	return (uint64_t)model->start_ns * (engine + 1);
}

/* ---- Packing: links are not shared ---- */

/**
 * tofu_rsched_pack - each put, as they fall, to the lowest place, then the leftmost
 * @width: engines that diagonal directions may be busy with at a time
 *
 * All engines begin at 0.
 *
 * Time: O(count^2 (engines + links of a put)), if no two places touch; nearly
 * O(count) if most do.
 *
 * Return: false where @work->limit has been reached.
 */
bool tofu_rsched_pack(struct tofu_rsched_work *work, unsigned int width,
		      struct tofu_rsched_draft *draft);

/**
 * tofu_rsched_shift - let the engines of a packing start one after the other
 * @width: as it was packed
 *
 * Places only move up, and keep their order on each engine and link, so what
 * holds of the packing still does.
 *
 * Return: false where @work->limit has been reached.
 */
bool tofu_rsched_shift(struct tofu_rsched_work *work, unsigned int width,
		       struct tofu_rsched_draft *draft);

/* ---- Turns: engines run on, packets take turns on links ---- */

/**
 * struct tofu_rsched_picker - what an engine does next
 * @pick: called when an engine has nothing to do, with the links that are in use;
 *        the index of a put, or TOFU_RSCHED_NONE: there is nothing for it any more
 */
struct tofu_rsched_picker {
	size_t (*pick)(struct tofu_rsched_picker *picker, unsigned int engine,
		       uint64_t busy);
};

/**
 * tofu_rsched_turns - what becomes of puts when nobody waits for a link
 * @engines: that have puts
 * @picker:  of whom
 *
 * Puts on one link get equal shares of it, or less where their engine is slower.
 * Time: O(count) picks, each with O(engines^2) beside.
 *
 * Return: false where @work->limit has been reached.
 */
bool tofu_rsched_turns(const struct tofu_rsched_work *work,
		       unsigned int engines, struct tofu_rsched_picker *picker,
		       struct tofu_rsched_draft *draft);

/* tofu_rsched_round_robin - put i by engine i mod @width */
bool tofu_rsched_round_robin(const struct tofu_rsched_work *work,
			     unsigned int width,
			     struct tofu_rsched_draft *draft);

/* ---- Overhead-aware ---- */

/**
 * tofu_rsched_aware - the best plan that is found
 * @draft: set to it
 * @spare: room for those that are tried
 */
void tofu_rsched_aware(struct tofu_rsched_work *work,
		       struct tofu_rsched_draft *draft,
		       struct tofu_rsched_draft *spare);

#endif /* RSCHED_RSCHED_H */
