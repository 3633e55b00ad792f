// SPDX-License-Identifier: MIT
/* The interface to schedules: checks of the input, and layout of the result. */
#include <stdlib.h>
#include <string.h>

#include <utofu.h>

#include "rsched/internal.h"

/* ---- Checks of the input ---- */

static int model_check(const struct tofu_rsched_model *model)
{
	if (!model->engines || model->engines > TOFU_RSCHED_ENGINES_MAX)
		return UTOFU_ERR_INVALID_NUMBER;
	if (!model->link_mbs || !model->engine_mbs ||
	    (model->host_mbs && model->host_mbs < model->engines))
		return UTOFU_ERR_INVALID_ARG;
	return UTOFU_SUCCESS;
}

static int scheduler_check(const struct tofu_rsched_model *model, int scheduler,
			   unsigned int width)
{
	switch (scheduler) {
	case TOFU_RSCHED_ROUND_ROBIN:
	case TOFU_RSCHED_BL:
		return width && width <= model->engines ?
			       UTOFU_SUCCESS :
			       UTOFU_ERR_INVALID_NUMBER;
	case TOFU_RSCHED_OVERHEAD_AWARE:
		return width ? UTOFU_ERR_INVALID_NUMBER : UTOFU_SUCCESS;
	default:
		return UTOFU_ERR_INVALID_ARG;
	}
}

static uint64_t links_of(const struct tofu_rsched_request *request)
{
	return request->links ? request->links :
				UINT64_C(1) << request->direction;
}

static int request_check(const struct tofu_rsched_request *request)
{
	if (request->bytes > TOFU_RSCHED_BYTES_MAX)
		return UTOFU_ERR_INVALID_SIZE;
	if (request->flags & ~TOFU_RSCHED_DIAGONAL)
		return UTOFU_ERR_INVALID_FLAGS;
	if (!request->links && request->direction >= TOFU_RSCHED_LINKS)
		return UTOFU_ERR_INVALID_NUMBER;
	return UTOFU_SUCCESS;
}

static int requests_check(const struct tofu_rsched_request *requests,
			  size_t count)
{
	if (count > TOFU_RSCHED_REQUESTS_MAX)
		return UTOFU_ERR_INVALID_NUMBER;
	if (count && !requests)
		return UTOFU_ERR_INVALID_POINTER;
	for (size_t i = 0; i < count; i++) {
		const int code = request_check(&requests[i]);

		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

static uint64_t path_of(const struct tofu_rsched_request *request,
			const struct tofu_rsched_way *way)
{
	if (way && way->path)
		return way->path;
	return request->path ? request->path : links_of(request);
}

static int way_check(const struct tofu_rsched_request *request,
		     const struct tofu_rsched_way *way)
{
	if (way->crowded & ~path_of(request, way))
		return UTOFU_ERR_INVALID_ARG;
	if (!way->crowded)
		return way->crowd || way->chain ? UTOFU_ERR_INVALID_NUMBER :
						  UTOFU_SUCCESS;
	if (way->crowd < 2 || way->chain < way->crowd ||
	    way->chain > TOFU_RSCHED_CROWD_MAX)
		return UTOFU_ERR_INVALID_NUMBER;
	/* So that no sum of times wraps */
	if (request->bytes * way->chain > TOFU_RSCHED_BYTES_MAX)
		return UTOFU_ERR_INVALID_SIZE;
	return UTOFU_SUCCESS;
}

static int ways_check(const struct tofu_rsched_request *requests, size_t count,
		      const struct tofu_rsched_way *ways, size_t sites)
{
	if (sites > TOFU_RSCHED_SITES_MAX)
		return UTOFU_ERR_INVALID_NUMBER;
	if (sites && count && !ways)
		return UTOFU_ERR_INVALID_POINTER;
	for (size_t i = 0; i < sites * count; i++) {
		const int code = way_check(&requests[i % count], &ways[i]);

		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

/* ---- Sorting ---- */

static int key_compare(const void *a, const void *b)
{
	const struct tofu_rsched_key *x = a, *y = b;

	if (x->major != y->major)
		return x->major < y->major ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor < y->minor ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

void tofu_rsched_sort(struct tofu_rsched_key *key, size_t count)
{
	qsort(key, count, sizeof(*key), key_compare);
}

/* ---- Room ---- */

/**
 * struct room - all temporary memory, in one piece
 * @put, @way, @falling: arrays of @work, to be filled
 * @draft:         the plan, and one that is tried
 */
struct room {
	struct tofu_rsched_work work;
	struct tofu_rsched_put *put;
	struct tofu_rsched_way *way;
	size_t *falling;
	struct tofu_rsched_draft draft[2];
};

/* Each resource begins with a step, and each place adds some. */
static size_t steps_needed(const struct tofu_rsched_request *requests,
			   size_t count)
{
	const size_t profiles =
		TOFU_RSCHED_ENGINES_MAX + TOFU_RSCHED_LINKS + 1;
	size_t adds = 0;

	for (size_t i = 0; i < count; i++)
		adds += 2 + (size_t)__builtin_popcountll(links_of(&requests[i]));
	return 1 + profiles + adds * TOFU_RSCHED_STEPS_ADD;
}

static void *carve(char **from, size_t bytes)
{
	void *piece = *from;

	*from += bytes;
	return piece;
}

static struct room *room_new(const struct tofu_rsched_request *requests,
			     size_t count, size_t sites)
{
	const size_t steps = steps_needed(requests, count);
	struct room *room;
	char *rest;

	/* Elements of all kinds are multiples of eight bytes. */
	room = malloc(sizeof(*room) +
		      count * (sizeof(*room->put) +
			       sites * sizeof(*room->way) + 2 * sizeof(size_t) +
			       sizeof(struct tofu_rsched_key) +
			       2 * sizeof(struct tofu_rsched_place)) +
		      steps * sizeof(struct tofu_rsched_step));
	if (!room)
		return NULL;
	*room = (struct room){ .work = { .count = count, .sites = sites } };
	rest = (char *)(room + 1);
	room->put = carve(&rest, count * sizeof(*room->put));
	room->way = carve(&rest, count * sites * sizeof(*room->way));
	room->falling = carve(&rest, count * sizeof(*room->falling));
	room->work.order = carve(&rest, count * sizeof(*room->work.order));
	room->work.key = carve(&rest, count * sizeof(*room->work.key));
	for (int i = 0; i < 2; i++)
		room->draft[i].place =
			carve(&rest, count * sizeof(*room->draft[i].place));
	room->work.pool.step = carve(&rest, steps * sizeof(*room->work.pool.step));
	room->work.put = room->put;
	room->work.ways = room->way;
	room->work.falling = room->falling;
	return room;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/*
 * MB/s of a put without contention on its links, while as many engines send as
 * can without sharing one.
 */
static uint32_t put_mbs(const struct tofu_rsched_model *model,
			const struct tofu_rsched_request *requests,
			size_t count)
{
	uint32_t busy = count < model->engines ? (uint32_t)count :
						 model->engines;
	uint64_t links = 0;

	for (size_t i = 0; i < count; i++)
		links |= links_of(&requests[i]);
	busy = least(busy, (uint32_t)__builtin_popcountll(links));
	if (!busy)
		return 1;
	return least(least(model->engine_mbs, model->link_mbs),
		     model->host_mbs / busy);
}

/* Never 0 */
static uint64_t put_ns(const struct tofu_rsched_model *model, uint64_t bytes,
		       uint32_t mbs)
{
	const uint64_t ns = (bytes * 1000 + mbs - 1) / mbs;

	return ns > model->command_ns ? ns : model->command_ns;
}

/* @ways: NULL where nothing is known but the paths of the requests */
static void ways_fill(struct room *room,
		      const struct tofu_rsched_request *requests,
		      const struct tofu_rsched_way *ways)
{
	const size_t count = room->work.count;

	for (size_t i = 0; i < room->work.sites * count; i++) {
		const struct tofu_rsched_way *way = ways ? &ways[i] : NULL;

		room->way[i] = way ? *way : (struct tofu_rsched_way){ 0 };
		room->way[i].path = path_of(&requests[i % count], way);
	}
	tofu_rsched_look(&room->work, 0);
}

static void room_fill(struct room *room, const struct tofu_rsched_model *model,
		      const struct tofu_rsched_request *requests)
{
	struct tofu_rsched_work *work = &room->work;
	uint32_t mbs;

	work->limit = UINT64_MAX;
	work->model = *model;
	/* Each command advances time. */
	if (!work->model.command_ns)
		work->model.command_ns = 1;
	if (!work->model.host_mbs)
		work->model.host_mbs = UINT32_MAX;
	mbs = put_mbs(&work->model, requests, work->count);
	for (size_t i = 0; i < work->count; i++) {
		const struct tofu_rsched_request *request = &requests[i];

		room->put[i] = (struct tofu_rsched_put){
			.links = links_of(request),
			.ns = put_ns(&work->model, request->bytes, mbs),
			.bytes = request->bytes,
			.diagonal = request->flags & TOFU_RSCHED_DIAGONAL,
		};
		work->key[i] = (struct tofu_rsched_key){
			.major = ~request->bytes,
			.minor = request->direction,
			.index = i,
		};
	}
	tofu_rsched_sort(work->key, work->count);
	for (size_t i = 0; i < work->count; i++)
		room->falling[i] = work->key[i].index;
}

/* ---- Schedules ---- */

/*
 * Places are those of the packing, which keeps links free. Engines do not wait
 * for that, so the whole takes as long as the lists do when they are run.
 */
static void pack(struct room *room, unsigned int width)
{
	struct tofu_rsched_work *work = &room->work;
	struct tofu_rsched_draft *packed = &room->draft[0];
	struct tofu_rsched_draft *run = &room->draft[1];

	tofu_rsched_pack(work, width, packed);
	if (work->count)
		memcpy(run->place, packed->place,
		       work->count * sizeof(*run->place));
	tofu_rsched_shift(work, width, packed);
	tofu_rsched_run(work, run);
	packed->end = run->end;
}

static void schedule(struct room *room, int scheduler, unsigned int width)
{
	struct tofu_rsched_work *work = &room->work;

	switch (scheduler) {
	case TOFU_RSCHED_ROUND_ROBIN:
		tofu_rsched_round_robin(work, width, &room->draft[0]);
		break;
	case TOFU_RSCHED_BL:
		pack(room, width);
		break;
	default:
		tofu_rsched_aware(work, &room->draft[0], &room->draft[1]);
	}
}

/* Derives the orders of the engines from the places of the puts. */
static void order_fill(struct tofu_rsched_work *work,
		       const struct tofu_rsched_draft *draft,
		       struct tofu_rsched_plan *plan, size_t *order)
{
	const struct tofu_rsched_key *key = work->key;
	size_t engine = 0;

	tofu_rsched_by_engine(work, draft);
	for (size_t i = 0; i < plan->count; i++) {
		order[i] = key[i].index;
		while (engine <= key[i].major)
			plan->first[engine++] = i;
	}
	plan->engines = (uint32_t)engine;
	while (engine <= TOFU_RSCHED_ENGINES_MAX)
		plan->first[engine++] = plan->count;
}

static struct tofu_rsched_plan *plan_new(struct room *room)
{
	const size_t count = room->work.count;
	struct tofu_rsched_place *place;
	struct tofu_rsched_plan *plan;
	char *rest;

	plan = malloc(sizeof(*plan) +
		      count * (sizeof(*plan->place) + sizeof(*plan->order)));
	if (!plan)
		return NULL;
	rest = (char *)(plan + 1);
	place = carve(&rest, count * sizeof(*place));
	if (count)
		memcpy(place, room->draft[0].place, count * sizeof(*place));
	*plan = (struct tofu_rsched_plan){
		.count = count,
		.place = place,
		.order = (size_t *)rest,
	};
	if (count)
		plan->makespan_ns = room->draft[0].end;
	order_fill(&room->work, &room->draft[0], plan, (size_t *)rest);
	return plan;
}

int tofu_rsched_make_sites(const struct tofu_rsched_model *model, int scheduler,
			   unsigned int width,
			   const struct tofu_rsched_request *requests,
			   size_t count, const struct tofu_rsched_way *ways,
			   size_t sites, struct tofu_rsched_plan **plan)
{
	struct tofu_rsched_plan *made;
	struct room *room;
	int code;

	if (!model || !plan)
		return UTOFU_ERR_INVALID_POINTER;
	code = model_check(model);
	if (!code)
		code = scheduler_check(model, scheduler, width);
	if (!code)
		code = requests_check(requests, count);
	if (!code)
		code = ways_check(requests, count, ways, sites);
	if (code)
		return code;
	room = room_new(requests, count, sites ? sites : 1);
	if (!room)
		return UTOFU_ERR_OUT_OF_MEMORY;
	room_fill(room, model, requests);
	ways_fill(room, requests, sites ? ways : NULL);
	schedule(room, scheduler, width);
	made = plan_new(room);
	free(room);
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	*plan = made;
	return UTOFU_SUCCESS;
}

int tofu_rsched_make(const struct tofu_rsched_model *model, int scheduler,
		     unsigned int width,
		     const struct tofu_rsched_request *requests, size_t count,
		     struct tofu_rsched_plan **plan)
{
	return tofu_rsched_make_sites(model, scheduler, width, requests, count,
				      NULL, 0, plan);
}

void tofu_rsched_free(struct tofu_rsched_plan *plan)
{
	free(plan);
}
