// SPDX-License-Identifier: MIT
/* Bottom-left packing: time is the vertical axis, engines are columns. */
#include <string.h>

#include "rsched/internal.h"

/**
 * struct packing - occupied resources
 * @column:   of each engine
 * @link:     of each link
 * @diagonal: engines busy with diagonal directions
 */
struct packing {
	struct tofu_rsched_profile column[TOFU_RSCHED_ENGINES_MAX];
	struct tofu_rsched_profile link[TOFU_RSCHED_LINKS];
	struct tofu_rsched_profile diagonal;
};

static void packing_begin(struct packing *packing, struct tofu_rsched_work *work,
			  unsigned int width)
{
	memset(packing, 0, sizeof(*packing));
	work->pool.used = 1;
	for (unsigned int e = 0; e < work->model.engines; e++)
		packing->column[e].capacity = 1;
	for (unsigned int l = 0; l < TOFU_RSCHED_LINKS; l++)
		packing->link[l].capacity = 1;
	packing->diagonal.capacity = width;
}

/* The first time from @from on that suits all resources but the engine */
static uint64_t others_fit(const struct packing *packing,
			   const struct tofu_rsched_pool *pool,
			   const struct tofu_rsched_put *put, uint64_t from)
{
	for (uint64_t links = put->links; links; links &= links - 1)
		from = tofu_rsched_profile_fit(
			pool, &packing->link[__builtin_ctzll(links)], from,
			put->ns);
	if (put->diagonal)
		from = tofu_rsched_profile_fit(pool, &packing->diagonal, from,
					       put->ns);
	return from;
}

/*
 * The lowest place of a column from @at on that suits the other resources; or a
 * place from @limit on, if that makes it useless.
 */
static uint64_t column_fit(const struct packing *packing,
			   const struct tofu_rsched_pool *pool,
			   const struct tofu_rsched_put *put,
			   unsigned int engine, uint64_t at, uint64_t limit)
{
	uint64_t before;

	do {
		before = at;
		at = tofu_rsched_profile_fit(pool, &packing->column[engine], at,
					     put->ns);
		at = others_fit(packing, pool, put, at);
	} while (at != before && at < limit);
	return at;
}

static struct tofu_rsched_place lowest(const struct packing *packing,
				       const struct tofu_rsched_work *work,
				       const struct tofu_rsched_put *put)
{
	const uint64_t from = others_fit(packing, &work->pool, put, 0);
	struct tofu_rsched_place best = { .begin_ns = UINT64_MAX };

	for (unsigned int e = 0;
	     e < work->model.engines && best.begin_ns > from; e++) {
		uint64_t at = column_fit(packing, &work->pool, put, e, from,
					 best.begin_ns);

		if (at < best.begin_ns)
			best = (struct tofu_rsched_place){
				.engine = e,
				.begin_ns = at,
			};
	}
	best.end_ns = best.begin_ns + put->ns;
	return best;
}

static void take(struct packing *packing, struct tofu_rsched_pool *pool,
		 const struct tofu_rsched_put *put,
		 const struct tofu_rsched_place *place)
{
	const uint64_t from = place->begin_ns, to = place->end_ns;

	tofu_rsched_profile_add(pool, &packing->column[place->engine], from, to);
	for (uint64_t links = put->links; links; links &= links - 1)
		tofu_rsched_profile_add(pool,
					&packing->link[__builtin_ctzll(links)],
					from, to);
	if (put->diagonal)
		tofu_rsched_profile_add(pool, &packing->diagonal, from, to);
}

void tofu_rsched_pack(struct tofu_rsched_work *work, unsigned int width,
		      struct tofu_rsched_draft *draft)
{
	struct packing packing;

	packing_begin(&packing, work, width);
	for (size_t i = 0; i < work->count; i++) {
		const size_t index = work->falling[i];
		const struct tofu_rsched_put *put = &work->put[index];
		struct tofu_rsched_place *place = &draft->place[index];

		*place = lowest(&packing, work, put);
		take(&packing, &work->pool, put, place);
	}
}

/* ---- Starts, after the fact ---- */

/**
 * struct frontier - end of each resource's occupation
 * @diagonal: for each engine that diagonal directions may occupy
 */
struct frontier {
	uint64_t column[TOFU_RSCHED_ENGINES_MAX];
	uint64_t link[TOFU_RSCHED_LINKS];
	uint64_t diagonal[TOFU_RSCHED_ENGINES_MAX];
};

static void later(uint64_t *time, uint64_t than)
{
	if (*time < than)
		*time = than;
}

/* Among the engines for diagonal directions, the one that is free first */
static uint64_t *diagonal_slot(struct frontier *frontier, unsigned int width)
{
	uint64_t *slot = frontier->diagonal;

	for (unsigned int i = 1; i < width; i++) {
		if (frontier->diagonal[i] < *slot)
			slot = &frontier->diagonal[i];
	}
	return slot;
}

static void move_up(struct frontier *frontier, unsigned int width,
		    const struct tofu_rsched_put *put,
		    struct tofu_rsched_place *place)
{
	uint64_t *slot = diagonal_slot(frontier, width);
	uint64_t at = frontier->column[place->engine];

	for (uint64_t links = put->links; links; links &= links - 1)
		later(&at, frontier->link[__builtin_ctzll(links)]);
	if (put->diagonal)
		later(&at, *slot);
	place->begin_ns = at;
	place->end_ns = at + put->ns;
	frontier->column[place->engine] = place->end_ns;
	for (uint64_t links = put->links; links; links &= links - 1)
		frontier->link[__builtin_ctzll(links)] = place->end_ns;
	if (put->diagonal)
		*slot = place->end_ns;
}

void tofu_rsched_shift(struct tofu_rsched_work *work, unsigned int width,
		       struct tofu_rsched_draft *draft)
{
	const struct tofu_rsched_starts starts =
		tofu_rsched_starts(work, draft);
	struct frontier frontier = { 0 };

	for (unsigned int e = 0; e < starts.engines; e++)
		frontier.column[e] = starts.at[e];
	for (size_t i = 0; i < work->count; i++)
		work->key[i] = (struct tofu_rsched_key){
			.major = draft->place[i].begin_ns,
			.minor = draft->place[i].engine,
			.index = i,
		};
	tofu_rsched_sort(work->key, work->count);
	for (size_t i = 0; i < work->count; i++) {
		const size_t index = work->key[i].index;

		move_up(&frontier, width, &work->put[index],
			&draft->place[index]);
	}
}
