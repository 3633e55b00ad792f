// SPDX-License-Identifier: MIT
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include "coll-case.h"
#include "common/error.h"
#include "common/wait.h"

#define HANDLES 4

/* Bytes of a block; of all blocks of a member, with many members */
#define BLOCK_MAX 65536
#define BLOCKS_MAX (128 << 10)
#define SEGMENTS_MAX 64

/* ---- Groups ---- */

static void group_check(int code, const char *what)
{
	if (code)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

/* The library's idea of the group, where this node is a member */
static void part_check(struct test *test, struct part *part)
{
	struct tofu_group_info info;
	uint32_t rank;

	if (!part->group)
		return;
	group_check(tofu_group_query(part->group, &info), "query a group");
	if (info.count != part->members || info.number >= info.count ||
	    info.size[0] * info.size[1] * info.size[2] != info.count)
		case_complain(test, "%s: %u members, number %u, %ux%ux%u",
			      part->text, info.count, info.number,
			      info.size[0], info.size[1], info.size[2]);
	part->number = info.number;
	group_check(tofu_group_rank(part->group, info.number, &rank), "rank");
	if (rank != test->node)
		case_complain(test, "%s: rank %u", part->text, rank);
}

struct part part_all(struct test *test)
{
	struct part part = { .members = test->nodes, .text = "all" };

	group_check(tofu_group_create(test->boot, NULL, 0, NULL, &part.group),
		    "group of all");
	part_check(test, &part);
	return part;
}

/* A random divisor */
static uint32_t divisor(uint64_t *state, uint32_t number)
{
	uint32_t d;

	do {
		d = 1 + (uint32_t)random_below(state, number);
	} while (number % d);
	return d;
}

static void sizes_draw(uint64_t *state, uint32_t members, uint32_t size[3])
{
	size[0] = divisor(state, members);
	size[1] = divisor(state, members / size[0]);
	size[2] = members / size[0] / size[1];
}

static void shuffle(uint64_t *state, uint32_t *items, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)random_below(state, i);
		uint32_t item = items[i - 1];

		items[i - 1] = items[j];
		items[j] = item;
	}
}

struct part part_list(struct test *test, uint64_t *state, uint32_t members)
{
	uint32_t *ranks = calloc(test->nodes, sizeof(*ranks)), size[3], rank;
	struct part part = { .members = members };
	bool member = false, ring = !random_below(state, 4);

	if (!ranks)
		errx(EXIT_FAILURE, "no memory");
	for (uint32_t i = 0; i < test->nodes; i++)
		ranks[i] = i;
	shuffle(state, ranks, test->nodes);
	sizes_draw(state, members, size);
	for (uint32_t i = 0; i < members; i++)
		member |= ranks[i] == test->node;
	snprintf(part.text, sizeof(part.text), "list of %u as %ux%ux%u%s",
		 members, size[0], size[1], size[2], ring ? ": ring" : "");
	if (member)
		group_check(tofu_group_create(test->boot, ranks, members,
					      ring ? NULL : size, &part.group),
			    "group of a list");
	part_check(test, &part);
	for (uint32_t i = 0; part.group && i < members; i++)
		if (tofu_group_rank(part.group, i, &rank) || rank != ranks[i])
			case_complain(test, "%s: rank of %u", part.text, i);
	free(ranks);
	return part;
}

static struct part part_sized(struct test *test, uint64_t *state)
{
	struct part part = { .members = test->nodes };
	uint32_t size[3];

	sizes_draw(state, test->nodes, size);
	snprintf(part.text, sizeof(part.text), "all as %ux%ux%u", size[0],
		 size[1], size[2]);
	group_check(tofu_group_create(test->boot, NULL, 0, size, &part.group),
		    "group of all with a size");
	part_check(test, &part);
	return part;
}

/* The line or plane of @whole that this node is in; frees @whole */
static struct part part_sub(struct test *test, struct part whole,
			    unsigned int axes)
{
	struct part part = { .members = 1 };
	struct tofu_group_info info;

	group_check(tofu_group_query(whole.group, &info), "query a group");
	for (unsigned int i = 0; i < TOFU_COLL_AXES; i++)
		if (axes >> i & 1)
			part.members *= info.size[i];
	snprintf(part.text, sizeof(part.text), "axes %u of %.200s", axes,
		 whole.text);
	group_check(tofu_group_sub(whole.group, axes, &part.group), "part");
	part_free(&whole);
	part_check(test, &part);
	return part;
}

static struct part part_draw(struct test *test, uint64_t *state)
{
	unsigned int axes = 1 + (unsigned int)random_below(state, 7);

	switch (random_below(state, 8)) {
	case 0:
	case 1:
		return part_list(test, state,
				 1 + (uint32_t)random_below(state,
							    test->nodes));
	case 2:
		return part_sized(test, state);
	case 3:
		return part_sub(test, part_sized(test, state), axes);
	case 4:
		return part_sub(test, part_all(test), axes);
	default:
		return part_all(test);
	}
}

void part_free(struct part *part)
{
	tofu_group_free(part->group);
	part->group = NULL;
}

/* ---- Collectives ---- */

/* All pairs of kind and algorithm, one after the other */
static void pair_of(uint64_t index, struct handle *h)
{
	unsigned int pairs = 0;

	for (int pass = 0; pass < 2; pass++) {
		uint64_t left = pairs ? index % pairs : 0;

		for (int kind = 0; kind < TOFU_COLL_KINDS; kind++)
			for (int a = 0; a < TOFU_COLL_ALGORITHMS; a++) {
				if (a && !tofu_coll_fits(kind, a))
					continue;
				if (!pass)
					pairs++;
				else if (!left--) {
					h->data.spec.kind = kind;
					h->tuning.algorithm = a;
					return;
				}
			}
	}
}

static void elements_draw(uint64_t *state, struct handle *h)
{
	struct tofu_coll_spec *spec = &h->data.spec;

	do {
		spec->type = random_below(state, TOFU_COLL_TYPES);
		spec->op = random_below(state, TOFU_COLL_OPS);
	} while (data_combines(spec->kind) && !data_goes(spec->type, spec->op));
	if (!data_combines(spec->kind))
		spec->op = TOFU_COLL_SUM;
	else if (h->tuning.algorithm == TOFU_COLL_GATES &&
		 random_below(state, 4))
		spec->type = TOFU_COLL_UINT64;
	if (data_combines(spec->kind) && !data_goes(spec->type, spec->op))
		spec->op = TOFU_COLL_SUM;
	if (data_combines(spec->kind) && !random_below(state, 6)) {
		spec->type = TOFU_COLL_DOUBLE;
		spec->op = TOFU_COLL_SUM;
		h->tuning.flags = TOFU_COLL_REPRODUCIBLE;
	}
	h->data.size = tofu_coll_type_size(spec->type);
	if (!h->data.size)
		h->data.size = 1 + random_below(state, DATA_ELEMENT);
}

static size_t segment_draw(uint64_t *state)
{
	switch (random_below(state, 6)) {
	case 0:
		return 1 + random_below(state, 40);
	case 1:
		return 64ULL << random_below(state, 9);
	case 2:
		return 100 + random_below(state, 5000);
	case 3:
		return 4096;
	default:
		return 0;
	}
}

static size_t count_draw(uint64_t *state, const struct handle *h,
			 uint32_t members)
{
	enum tofu_coll_kind kind = h->data.spec.kind;
	size_t segment = h->tuning.segment ? h->tuning.segment : 16384;
	size_t limit = BLOCK_MAX, count;

	if (kind >= TOFU_COLL_GATHER && members > 2)
		limit = BLOCKS_MAX / members;
	if (limit > segment * SEGMENTS_MAX)
		limit = segment * SEGMENTS_MAX;
	limit /= h->data.size;
	switch (random_below(state, 8)) {
	case 0:
		count = random_below(state, 2);
		break;
	case 1:
		count = random_below(state, 9);
		break;
	case 2:
	case 3: /* about a segment or several */
		count = segment * (1 + random_below(state, 4)) / h->data.size +
			random_below(state, 3);
		count -= count > 0;
		break;
	default:
		count = 1 + random_below(state, 1 + (limit >> random_below(state, 12)));
		break;
	}
	if (h->tuning.algorithm == TOFU_COLL_GATES && random_below(state, 4))
		count %= 7;
	return count < limit ? count : limit;
}

static void tuning_draw(uint64_t *state, struct tofu_coll_tuning *tuning)
{
	static const char *const machines[] = { "k", "fx10", "fx100",
						"fugaku" };
	utofu_tni_id_t *tnis;
	size_t count;

	tuning->segment = segment_draw(state);
	if (utofu_get_onesided_tnis(&tnis, &count))
		errx(EXIT_FAILURE, "no TNIs");
	free(tnis);
	if (random_below(state, 2))
		tuning->engines = (unsigned int)random_below(state, count + 1);
	if (random_below(state, 2))
		tuning->routes = (unsigned int)random_below(state, 7);
	if (random_below(state, 2))
		tuning->machine = machines[random_below(state, 4)];
}

static void handle_draw(struct test *test, uint64_t *state, uint64_t pair,
			const struct part *part, struct handle *h)
{
	struct tofu_coll_spec *spec = &h->data.spec;
	uint64_t own;

	*h = (struct handle){ .data.seed = random_next(state) };
	pair_of(pair, h);
	elements_draw(state, h);
	tuning_draw(state, &h->tuning);
	spec->count = count_draw(state, h, part->members);
	spec->root = (uint32_t)random_below(state, part->members);
	h->left = 1 + (unsigned int)random_below(state, 4);
	own = h->data.seed + test->node;
	h->aside = random_below(&own, 2);
	h->inside = random_below(&own, 3) == 0 &&
		    (spec->kind == TOFU_COLL_BCAST ||
		     spec->kind == TOFU_COLL_REDUCE ||
		     spec->kind == TOFU_COLL_ALLREDUCE);
}

/* ---- Cases ---- */

struct set {
	struct part part[HANDLES];
	struct handle handle[HANDLES];
	const struct part *of[HANDLES];
	unsigned int turn[HANDLES];
	unsigned int count;
	bool last_by_wait;
};

static bool is_member(const struct set *set, unsigned int i)
{
	return set->of[i]->group != NULL;
}

static void set_draw(struct test *test, uint64_t *state, struct set *set)
{
	set->count = random_below(state, 2) ?
			     1 : 2 + (unsigned int)random_below(state, 3);
	set->last_by_wait = !random_below(state, 3);
	for (unsigned int i = 0; i < set->count; i++) {
		bool same = i && random_below(state, 2);

		set->of[i] = &set->part[same ? 0 : i];
		if (!same)
			set->part[i] = part_draw(test, state);
		handle_draw(test, state,
			    i ? random_next(state) : test->seed, set->of[i],
			    &set->handle[i]);
	}
}

/* What is idle starts, if there are starts left; false if nothing is to do */
static bool handle_step(struct test *test, struct set *set, unsigned int i)
{
	struct handle *h = &set->handle[i];

	if (h->running) {
		handle_test(test, h);
		return true;
	}
	if (!h->left)
		return false;
	h->left--;
	handle_start(test, h, set->turn[i]++);
	return true;
}

static bool all_started(const struct set *set)
{
	for (unsigned int i = 0; i < set->count; i++)
		if (is_member(set, i) && set->handle[i].left)
			return false;
	return true;
}

static bool all_idle(const struct set *set)
{
	for (unsigned int i = 0; i < set->count; i++)
		if (is_member(set, i) && set->handle[i].running)
			return false;
	return true;
}

/*
 * Every member takes its own way: it starts and tests collectives in any order,
 * and starts one again while others are under way. In the end it may wait.
 */
static void set_run(struct test *test, struct set *set, uint64_t own)
{
	struct tofu_wait wait = tofu_wait_patient(GUEST_TIMEOUT);
	unsigned int i;

	while (!all_started(set) || (!set->last_by_wait && !all_idle(set))) {
		i = (unsigned int)random_below(&own, set->count);
		if (is_member(set, i))
			handle_step(test, set, i);
		if (!tofu_wait_more(&wait)) {
			for (i = 0; i < set->count; i++)
				if (set->handle[i].running)
					handle_complain(test, &set->handle[i],
							"does not end");
			exit(EXIT_FAILURE);
		}
	}
	for (unsigned int j = 0, first = (unsigned int)own; j < set->count; j++) {
		i = (first + j) % set->count;
		if (is_member(set, i) && set->handle[i].running)
			handle_wait(test, &set->handle[i]);
	}
}

/*
 * Where no member ends before all have started, the second start's end means
 * that all have ended the first.
 */
static bool ends_together(const struct handle *h)
{
	switch (h->data.spec.kind) {
	case TOFU_COLL_BARRIER:
		return true;
	case TOFU_COLL_ALLREDUCE:
	case TOFU_COLL_ALLGATHER:
	case TOFU_COLL_REDUCE_SCATTER:
	case TOFU_COLL_ALLTOALL:
		return h->data.spec.count > 0;
	default:
		return false;
	}
}

static void set_free(struct test *test, struct set *set, bool early)
{
	for (unsigned int i = 0; early && i < set->count; i++)
		if (is_member(set, i) && set->turn[i] > 1 &&
		    ends_together(&set->handle[i]))
			handle_free(&set->handle[i]);
	guest_barrier(&test->guest);
	for (unsigned int i = 0; i < set->count; i++)
		if (is_member(set, i) && set->handle[i].coll)
			handle_free(&set->handle[i]);
	for (unsigned int i = 0; i < set->count; i++)
		part_free(&set->part[i]);
}

void case_run(struct test *test, uint64_t seed)
{
	uint64_t state = seed, own;
	struct set set = { 0 };
	bool early;

	test->seed = seed;
	set_draw(test, &state, &set);
	early = random_below(&state, 2);
	if (set.count == 1 && !random_below(&state, 6)) {
		if (is_member(&set, 0))
			handle_run(test, &set.handle[0], set.of[0]);
		set_free(test, &set, false);
		return;
	}
	for (unsigned int i = 0; i < set.count; i++)
		if (is_member(&set, i))
			handle_create(test, &set.handle[i], set.of[i]);
	own = random_next(&state) + test->node;
	set_run(test, &set, own);
	set_free(test, &set, early);
}
