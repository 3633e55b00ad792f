// SPDX-License-Identifier: MIT
/*
 * The overhead-aware scheduler: many plans, each evaluated by the whole model,
 * of which the best is kept. Those of the other schedulers are among them, so
 * none of these is better.
 *
 * What it has of its own are greedy rules: an engine that is free, which the
 * first one is before the second has been started, takes the next put in an
 * order, and leaves out those whose links are in use as long as there are
 * others. So a few small puts are gone before a second engine is there, and
 * small ones go where links leave room, whatever the order.
 */
#include <string.h>

#include "rsched/rsched.h"

static const unsigned int widths[] = { 1, 2, 4 };

enum {
	ORDER_FALLING, /* the longest first */
	ORDER_RISING, /* the shortest first */
	ORDER_LINK, /* of the link with most to carry first */
	ORDERS,
};

/**
 * struct greedy - puts that are still there
 * @left:  their indices, the next one first
 * @count: of them
 * @avoid: leave those for later whose links are in use
 */
struct greedy {
	struct tofu_rsched_picker picker;
	const struct tofu_rsched_put *put;
	size_t *left;
	size_t count;
	bool avoid;
};

/* ---- Orders ---- */

static uint64_t heaviest(const uint64_t load[TOFU_RSCHED_LINKS], uint64_t links)
{
	uint64_t most = 0;

	for (; links; links &= links - 1) {
		const uint64_t here = load[__builtin_ctzll(links)];

		if (here > most)
			most = here;
	}
	return most;
}

static void order_by_link(struct tofu_rsched_work *work)
{
	uint64_t load[TOFU_RSCHED_LINKS] = { 0 };

	for (size_t i = 0; i < work->count; i++) {
		uint64_t links = work->put[i].links;

		for (; links; links &= links - 1)
			load[__builtin_ctzll(links)] += work->put[i].ns;
	}
	for (size_t i = 0; i < work->count; i++)
		work->key[i] = (struct tofu_rsched_key){
			.major = ~heaviest(load, work->put[i].links),
			.minor = ~work->put[i].ns,
			.index = i,
		};
	tofu_rsched_sort(work->key, work->count);
	for (size_t i = 0; i < work->count; i++)
		work->order[i] = work->key[i].index;
}

static void order_make(struct tofu_rsched_work *work, int order)
{
	if (order == ORDER_LINK) {
		order_by_link(work);
		return;
	}
	for (size_t i = 0; i < work->count; i++)
		work->order[i] = work->falling[order == ORDER_RISING ?
						       work->count - 1 - i :
						       i];
}

/* ---- Greedy rules ---- */

static size_t greedy_pick(struct tofu_rsched_picker *picker,
			  unsigned int engine, uint64_t busy)
{
	struct greedy *greedy = (struct greedy *)picker;
	size_t at = 0, index;

	(void)engine;
	if (!greedy->count)
		return TOFU_RSCHED_NONE;
	while (greedy->avoid && at < greedy->count &&
	       greedy->put[greedy->left[at]].links & busy)
		at++;
	if (at == greedy->count)
		at = 0;
	index = greedy->left[at];
	greedy->count--;
	memmove(&greedy->left[at], &greedy->left[at + 1],
		(greedy->count - at) * sizeof(greedy->left[0]));
	return index;
}

/* The puts in @work->order, which is used up. */
static bool greedy_run(struct tofu_rsched_work *work, unsigned int engines,
		       bool avoid, struct tofu_rsched_draft *draft)
{
	struct greedy greedy = {
		.picker.pick = greedy_pick,
		.put = work->put,
		.left = work->order,
		.count = work->count,
		.avoid = avoid,
	};

	return tofu_rsched_turns(work, engines, &greedy.picker, draft);
}

/* ---- The best of all ---- */

static unsigned int engines_used(const struct tofu_rsched_work *work,
				 const struct tofu_rsched_draft *draft)
{
	unsigned int used = 0;

	for (size_t i = 0; i < work->count; i++) {
		if (draft->place[i].engine >= used)
			used = draft->place[i].engine + 1;
	}
	return used;
}

/* Take what ends earlier, or as early with fewer engines. */
static void keep(struct tofu_rsched_work *work, bool done,
		 struct tofu_rsched_draft *best,
		 struct tofu_rsched_draft *tried)
{
	const struct tofu_rsched_draft spare = *best;

	if (!done || (work->limit != UINT64_MAX && tried->end == best->end &&
		      engines_used(work, tried) >= engines_used(work, best)))
		return;
	*best = *tried;
	*tried = spare;
	work->limit = best->end + 1;
}

static void try_greedy(struct tofu_rsched_work *work,
		       struct tofu_rsched_draft *best,
		       struct tofu_rsched_draft *tried)
{
	for (int order = 0; order < ORDERS; order++) {
		for (int avoid = 1; avoid >= 0; avoid--) {
			order_make(work, order);
			keep(work,
			     greedy_run(work, work->model.engines, avoid,
					tried),
			     best, tried);
		}
	}
}

static void try_packings(struct tofu_rsched_work *work,
			 struct tofu_rsched_draft *best,
			 struct tofu_rsched_draft *tried)
{
	/* A packing of the shortest first has been of no use. */
	for (int order = ORDER_FALLING; order < ORDERS; order += ORDER_LINK) {
		order_make(work, order);
		keep(work,
		     tofu_rsched_pack(work, work->order, work->model.engines,
				      true, tried),
		     best, tried);
	}
}

static void try_others(struct tofu_rsched_work *work,
		       struct tofu_rsched_draft *best,
		       struct tofu_rsched_draft *tried)
{
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		const unsigned int width = widths[i];

		if (width > work->model.engines)
			break;
		keep(work, tofu_rsched_round_robin(work, width, tried), best,
		     tried);
		keep(work,
		     tofu_rsched_pack(work, work->falling, width, false,
				      tried) &&
			     tofu_rsched_shift(work, width, tried),
		     best, tried);
	}
}

static bool fewer(struct tofu_rsched_work *work, unsigned int engines,
		  struct tofu_rsched_draft *tried)
{
	for (int order = 0; order < ORDERS; order++) {
		order_make(work, order);
		if (greedy_run(work, engines, true, tried))
			return true;
	}
	return false;
}

/* An engine that saves nothing is not to be started. */
static void try_fewer(struct tofu_rsched_work *work,
		      struct tofu_rsched_draft *best,
		      struct tofu_rsched_draft *tried)
{
	unsigned int engines = engines_used(work, best);

	while (--engines) {
		if (!fewer(work, engines, tried))
			break;
		keep(work, true, best, tried);
	}
}

void tofu_rsched_aware(struct tofu_rsched_work *work,
		       struct tofu_rsched_draft *draft,
		       struct tofu_rsched_draft *spare)
{
	try_greedy(work, draft, spare);
	try_packings(work, draft, spare);
	try_others(work, draft, spare);
	if (work->count)
		try_fewer(work, draft, spare);
}
