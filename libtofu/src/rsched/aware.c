// SPDX-License-Identifier: MIT
/*
 * The overhead-aware scheduler evaluates many plans by the whole model and
 * keeps the best. Those of the other schedulers are among them, so none of
 * these is better.
 *
 * Its own plans come from greedy rules: an engine that is free, as the first
 * one is before the second has been started, takes a put that suits the links
 * in use. So a few small puts are gone before a second engine starts, and small
 * puts fill the room that links leave, whatever the order.
 */
#include <string.h>

#include "rsched/internal.h"

static const unsigned int widths[] = { 1, 2, 4 };

enum {
	ORDER_FALLING, /* the longest first */
	ORDER_RISING, /* the shortest first */
	ORDER_LINK, /* the busiest link's puts first */
	ORDERS,
};

enum {
	RULE_FREE, /* the next put whose links are free, else the next */
	RULE_HEAVIEST, /* of those the put whose link has most to carry */
	RULE_NEXT, /* the next put, whatever its links */
};

/* Attempts, the most promising first: later ones are given up sooner. */
static const struct {
	int order;
	int rule;
} greedy_ways[] = {
	{ ORDER_FALLING, RULE_HEAVIEST }, { ORDER_FALLING, RULE_FREE },
	{ ORDER_LINK, RULE_FREE },	  { ORDER_RISING, RULE_HEAVIEST },
	{ ORDER_RISING, RULE_FREE },	  { ORDER_FALLING, RULE_NEXT },
	{ ORDER_LINK, RULE_NEXT },	  { ORDER_RISING, RULE_NEXT },
};
#define GREEDY_WAYS (sizeof(greedy_ways) / sizeof(greedy_ways[0]))

/**
 * struct greedy - puts that are not yet placed
 * @left:  their indices, in order
 * @count: number of puts
 * @rule:  rule by which one is picked
 * @load:  work left for each link, ns
 */
struct greedy {
	struct tofu_rsched_picker picker;
	const struct tofu_rsched_put *put;
	const struct tofu_rsched_way *way;
	size_t *left;
	size_t count;
	int rule;
	uint64_t load[TOFU_RSCHED_LINKS];
};

/* ---- Orders ---- */

/* What a put adds to the load of a link, the lowest one of @links */
static uint64_t load_of(const struct tofu_rsched_put *put,
			const struct tofu_rsched_way *way, uint64_t links)
{
	return links & -links & way->crowded ? put->ns * way->crowd : put->ns;
}

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

static void load_sum(const struct tofu_rsched_work *work,
		     uint64_t load[TOFU_RSCHED_LINKS])
{
	for (size_t i = 0; i < work->count; i++) {
		uint64_t links = work->way[i].path;

		for (; links; links &= links - 1)
			load[__builtin_ctzll(links)] +=
				load_of(&work->put[i], &work->way[i], links);
	}
}

static void order_by_link(struct tofu_rsched_work *work)
{
	uint64_t load[TOFU_RSCHED_LINKS] = { 0 };

	load_sum(work, load);
	for (size_t i = 0; i < work->count; i++)
		work->key[i] = (struct tofu_rsched_key){
			.major = ~heaviest(load, work->way[i].path),
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

static size_t pick_first(const struct greedy *greedy, uint64_t busy)
{
	for (size_t at = 0; at < greedy->count; at++) {
		if (!(greedy->way[greedy->left[at]].path & busy))
			return at;
	}
	return 0;
}

static size_t pick_heaviest(const struct greedy *greedy, uint64_t busy)
{
	uint64_t most = 0;
	size_t found = 0;

	for (size_t at = 0; at < greedy->count; at++) {
		const uint64_t links = greedy->way[greedy->left[at]].path;
		uint64_t here;

		if (links & busy)
			continue;
		here = heaviest(greedy->load, links);
		if (here > most) {
			most = here;
			found = at;
		}
	}
	return found;
}

static size_t greedy_pick(struct tofu_rsched_picker *picker,
			  unsigned int engine, uint64_t busy)
{
	struct greedy *greedy = (struct greedy *)picker;
	size_t at = 0, index;

	(void)engine;
	if (!greedy->count)
		return TOFU_RSCHED_NONE;
	if (greedy->rule == RULE_FREE)
		at = pick_first(greedy, busy);
	else if (greedy->rule == RULE_HEAVIEST)
		at = pick_heaviest(greedy, busy);
	index = greedy->left[at];
	greedy->count--;
	memmove(&greedy->left[at], &greedy->left[at + 1],
		(greedy->count - at) * sizeof(greedy->left[0]));
	for (uint64_t links = greedy->way[index].path; links; links &= links - 1)
		greedy->load[__builtin_ctzll(links)] -= load_of(
			&greedy->put[index], &greedy->way[index], links);
	return index;
}

/* How puts will be distributed is not known yet: as if evenly */
static struct tofu_rsched_starts even_starts(const struct tofu_rsched_work *work,
					     unsigned int engines)
{
	const struct tofu_rsched_model *model = &work->model;
	struct tofu_rsched_starts starts = { .engines = engines };

	for (unsigned int e = 0; e < engines; e++)
		starts.at[e] = (e + 1) * (uint64_t)model->start_ns +
			       (e + 1) * work->count * model->post_ns / engines;
	return starts;
}

/* As puts look from the site that is looked at */
static bool greedy_run(struct tofu_rsched_work *work, unsigned int engines,
		       size_t way, struct tofu_rsched_draft *draft)
{
	const struct tofu_rsched_starts starts = even_starts(work, engines);
	struct greedy greedy = {
		.picker.pick = greedy_pick,
		.put = work->put,
		.way = work->way,
		.left = work->order,
		.count = work->count,
		.rule = greedy_ways[way].rule,
	};

	order_make(work, greedy_ways[way].order);
	load_sum(work, greedy.load);
	return tofu_rsched_turns(work, &starts, &greedy.picker, draft) &&
	       tofu_rsched_run(work, draft);
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

/* Keeps the draft that ends earlier, or as early with fewer engines. */
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

/* Time that all puts take one engine, when nothing else sends */
static uint64_t one_engine_ns(const struct tofu_rsched_work *work)
{
	const struct tofu_rsched_model *model = &work->model;
	const uint64_t mbs = model->engine_mbs < model->link_mbs ?
				     model->engine_mbs :
				     model->link_mbs;
	uint64_t sum = 0;

	for (size_t i = 0; i < work->count; i++) {
		const uint64_t ns = work->put[i].bytes * 1000 / mbs;

		sum += ns > model->command_ns ? ns : model->command_ns;
	}
	return sum;
}

/* No plan with so many engines, or fewer, can end before. */
static uint64_t least_end(const struct tofu_rsched_work *work,
			  unsigned int engines, uint64_t alone_ns)
{
	const struct tofu_rsched_model *model = &work->model;

	return model->start_ns + alone_ns / engines + model->latency_ns +
	       model->notice_ns + model->poll_ns;
}

/* Links that are crowded are not the same at all sites: a rule tries each view. */
static void try_way(struct tofu_rsched_work *work, unsigned int engines,
		    size_t way, struct tofu_rsched_draft *best,
		    struct tofu_rsched_draft *tried)
{
	for (size_t site = 0; site < work->sites; site++) {
		tofu_rsched_look(work, site);
		keep(work, greedy_run(work, engines, way, tried), best, tried);
	}
}

/* An engine that saves no time should not be started. */
static void try_greedy(struct tofu_rsched_work *work,
		       struct tofu_rsched_draft *best,
		       struct tofu_rsched_draft *tried)
{
	const uint64_t alone_ns = one_engine_ns(work);

	for (unsigned int engines = work->model.engines; engines; engines--) {
		if (least_end(work, engines, alone_ns) >= work->limit)
			break;
		for (size_t way = 0; way < GREEDY_WAYS; way++)
			try_way(work, engines, way, best, tried);
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
		tofu_rsched_pack(work, width, tried);
		keep(work, tofu_rsched_run(work, tried), best, tried);
	}
}

void tofu_rsched_aware(struct tofu_rsched_work *work,
		       struct tofu_rsched_draft *draft,
		       struct tofu_rsched_draft *spare)
{
	try_others(work, draft, spare);
	try_greedy(work, draft, spare);
}
