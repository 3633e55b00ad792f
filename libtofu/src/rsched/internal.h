/* SPDX-License-Identifier: MIT */
/*
 * The schedulers' common ground: their view of the puts, and three ways to make
 * a draft of a plan. All are exact and terminate for any model and any puts
 * that tofu_rsched_make() accepts.
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
 * @links:     to be kept free, never 0
 * @ns:        time that it takes without contention on its links
 * @bytes:     bytes to send
 * @diagonal:  as requested
 */
struct tofu_rsched_put {
	uint64_t links;
	uint64_t ns;
	uint64_t bytes;
	bool diagonal;
};

/**
 * struct tofu_rsched_draft - a plan that is being tried
 * @place: place of each put
 * @end:   when the engines have sent the last put; later, when the processor
 *         has taken the last notice
 */
struct tofu_rsched_draft {
	struct tofu_rsched_place *place;
	uint64_t end;
};

/**
 * struct tofu_rsched_key - a sort key of puts
 * @major, @minor: compared in this order
 * @index:         index of the put, which breaks ties
 */
struct tofu_rsched_key {
	uint64_t major;
	uint64_t minor;
	size_t index;
};

/* tofu_rsched_sort - sort in ascending order */
void tofu_rsched_sort(struct tofu_rsched_key *key, size_t count);

/**
 * struct tofu_rsched_work - puts, and room to schedule them
 * @model:     costs
 * @put, @count: puts to schedule
 * @ways, @sites: the ways of all puts from each site; paths are never 0
 * @way:       those of the site that is being looked at
 * @slowest:   the site that was slowest, or too slow, when lists were run last
 * @falling:   indices, the longest first, then by direction, then as given
 * @order:     room for an order of the puts
 * @key:       room for sorting
 * @pool:      room for the steps of a packing
 * @limit:     a draft that ends then or later is useless and given up
 */
struct tofu_rsched_work {
	struct tofu_rsched_model model;
	const struct tofu_rsched_put *put;
	size_t count;
	const struct tofu_rsched_way *ways;
	size_t sites;
	const struct tofu_rsched_way *way;
	size_t slowest;
	const size_t *falling;
	size_t *order;
	struct tofu_rsched_key *key;
	struct tofu_rsched_pool pool;
	uint64_t limit;
};

/* tofu_rsched_look - look at a site */
static inline void tofu_rsched_look(struct tofu_rsched_work *work, size_t site)
{
	work->way = work->ways + site * work->count;
}

/* ---- The processor, before engines begin and after puts have come ---- */

/**
 * struct tofu_rsched_starts - when engines begin
 * @engines: number of engines that have puts
 * @at:      when the processor has posted an engine's puts and started it
 */
struct tofu_rsched_starts {
	unsigned int engines;
	uint64_t at[TOFU_RSCHED_ENGINES_MAX];
};

/**
 * tofu_rsched_starts - compute when engines begin
 * @draft: the engine of each put is known
 */
struct tofu_rsched_starts
tofu_rsched_starts(const struct tofu_rsched_work *work,
		   const struct tofu_rsched_draft *draft);

/**
 * tofu_rsched_collect - compute when the processor has taken all notices
 * @draft: has all times; @end is moved to then
 *
 * As all processes have the same plan, as much comes as goes.
 *
 * Return: false if @work->limit has been reached.
 */
bool tofu_rsched_collect(struct tofu_rsched_work *work,
			 const struct tofu_rsched_starts *starts,
			 struct tofu_rsched_draft *draft);

/* tofu_rsched_by_engine - sort keys of puts by engine, then by time */
void tofu_rsched_by_engine(struct tofu_rsched_work *work,
			   const struct tofu_rsched_draft *draft);

/* ---- Packing: links are not shared ---- */

/**
 * tofu_rsched_pack - place each put, longest first, lowest, then leftmost
 * @width: engines that diagonal directions may occupy at a time
 *
 * All engines begin at 0.
 *
 * Time: O(count^2 (engines + links of a put)) if no two places touch; nearly
 * O(count) if most do.
 */
void tofu_rsched_pack(struct tofu_rsched_work *work, unsigned int width,
		      struct tofu_rsched_draft *draft);

/**
 * tofu_rsched_shift - delay a packing as its engines start one after the other
 * @width: width of the packing
 *
 * Places only move up, and keep their order on each engine and link, so the
 * packing remains valid.
 */
void tofu_rsched_shift(struct tofu_rsched_work *work, unsigned int width,
		       struct tofu_rsched_draft *draft);

/* ---- Turns: engines run on, packets take turns on links ---- */

/**
 * struct tofu_rsched_picker - chooses the puts of engines
 * @pick: called for an idle engine, with the links in use; returns the index of
 *        a put, or TOFU_RSCHED_NONE: there are no more for this engine
 */
struct tofu_rsched_picker {
	size_t (*pick)(struct tofu_rsched_picker *picker, unsigned int engine,
		       uint64_t busy);
};

/**
 * tofu_rsched_turns - simulate engines that never wait for a link
 * @starts: of the engines that have puts
 * @picker: chooses their puts
 *
 * Puts on one link get equal shares of it, or less where their engine or the
 * host interface is slower, or where they are crowded. Their ways are those of
 * the site that @work looks at. Time: O(count) picks, and O(engines^2) for each.
 *
 * Return: false if @work->limit has been reached.
 */
bool tofu_rsched_turns(const struct tofu_rsched_work *work,
		       const struct tofu_rsched_starts *starts,
		       struct tofu_rsched_picker *picker,
		       struct tofu_rsched_draft *draft);

/**
 * tofu_rsched_run - compute the times of lists, as they are run
 * @draft: has the engines of the puts, and their order on each; set to the times
 *         at the site where they take longest
 *
 * Return: false if @work->limit has been reached.
 */
bool tofu_rsched_run(struct tofu_rsched_work *work,
		     struct tofu_rsched_draft *draft);

/* tofu_rsched_round_robin - put i by engine i mod @width */
bool tofu_rsched_round_robin(struct tofu_rsched_work *work, unsigned int width,
			     struct tofu_rsched_draft *draft);

/* ---- Overhead-aware ---- */

/**
 * tofu_rsched_aware - find the best of many plans
 * @draft: set to it
 * @spare: room for the plans that are tried
 */
void tofu_rsched_aware(struct tofu_rsched_work *work,
		       struct tofu_rsched_draft *draft,
		       struct tofu_rsched_draft *spare);

#endif /* RSCHED_RSCHED_H */
