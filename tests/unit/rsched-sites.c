// SPDX-License-Identifier: MIT
/* Schedules of puts that meet the same put of other processes on their way. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include <tofu/rsched.h>
#include <utofu.h>

#define SETS 1000
#define PUTS_MAX 14
#define SITES_MAX 4
#define BYTES 100000

/* A byte takes a nanosecond, and nothing else takes more. */
static const struct tofu_rsched_model even = {
	.engines = 4,
	.link_mbs = 1000,
	.engine_mbs = 1000,
};

static const struct tofu_rsched_way pair = {
	.crowded = 1,
	.crowd = 2,
	.chain = 2,
};
static const struct tofu_rsched_way chain = {
	.crowded = 1,
	.crowd = 2,
	.chain = 3,
};

static const struct {
	int scheduler;
	unsigned int width;
} others[] = {
	{ TOFU_RSCHED_ROUND_ROBIN, 1 }, { TOFU_RSCHED_ROUND_ROBIN, 2 },
	{ TOFU_RSCHED_ROUND_ROBIN, 4 }, { TOFU_RSCHED_BL, 1 },
	{ TOFU_RSCHED_BL, 2 },		{ TOFU_RSCHED_BL, 4 },
};

/**
 * struct set - puts, and their ways from @sites
 * @way: of a site, then of the next
 */
struct set {
	struct tofu_rsched_model model;
	struct tofu_rsched_request request[PUTS_MAX];
	size_t count;
	struct tofu_rsched_way way[SITES_MAX * PUTS_MAX];
	size_t sites;
};

static struct tofu_rsched_plan *plan_of(const struct set *set, int scheduler,
					unsigned int width)
{
	struct tofu_rsched_plan *plan = NULL;

	if (tofu_rsched_make_sites(&set->model, scheduler, width, set->request,
				   set->count, set->way, set->sites, &plan))
		abort();
	return plan;
}

static uint64_t time_of(const struct set *set, int scheduler, unsigned int width)
{
	struct tofu_rsched_plan *plan = plan_of(set, scheduler, width);
	const uint64_t ns = plan->makespan_ns;

	tofu_rsched_free(plan);
	return ns;
}

/* So many long puts on one link */
static struct set long_puts(size_t count, const struct tofu_rsched_way *way)
{
	struct set set = { .model = even, .count = count, .sites = 1 };

	for (size_t i = 0; i < count; i++) {
		set.request[i].bytes = BYTES;
		set.way[i] = *way;
	}
	return set;
}

/* ---- What a crowd takes ---- */

TEST(a_pair_has_half_of_a_link)
{
	const struct set one = long_puts(1, &pair), two = long_puts(2, &pair);

	EXPECT_EQ(2 * BYTES, time_of(&one, TOFU_RSCHED_ROUND_ROBIN, 1));
	EXPECT_EQ(4 * BYTES, time_of(&two, TOFU_RSCHED_ROUND_ROBIN, 1));
	EXPECT_EQ(4 * BYTES, time_of(&two, TOFU_RSCHED_ROUND_ROBIN, 2));
}

TEST(a_chain_waits_longer_the_more_engines_send)
{
	const struct set one = long_puts(1, &chain), two = long_puts(2, &chain);

	EXPECT_EQ(BYTES * 5 / 2, time_of(&one, TOFU_RSCHED_ROUND_ROBIN, 1));
	EXPECT_EQ(BYTES * 5, time_of(&two, TOFU_RSCHED_ROUND_ROBIN, 1));
	EXPECT_EQ(BYTES * 16 / 3 + 1,
		  time_of(&two, TOFU_RSCHED_ROUND_ROBIN, 2));
}

TEST(others_on_a_crowded_link_have_what_is_left)
{
	static const struct tofu_rsched_way plain = { .path = 1 };
	struct set set = long_puts(2, &pair);

	/* Of three turns two are the pair's; rates are whole. */
	set.way[1] = plain;
	EXPECT_EQ(3 * BYTES + 1, time_of(&set, TOFU_RSCHED_ROUND_ROBIN, 2));
	/* On a link of its own it does not wait. */
	set.way[1].path = 2;
	EXPECT_EQ(2 * BYTES, time_of(&set, TOFU_RSCHED_ROUND_ROBIN, 2));
	EXPECT_EQ(3 * BYTES, time_of(&set, TOFU_RSCHED_ROUND_ROBIN, 1));
}

TEST(a_link_that_is_crowded_is_left_to_one_engine)
{
	struct set set = long_puts(2, &chain);
	struct tofu_rsched_plan *plan;

	set.model.engine_mbs = 600;
	plan = plan_of(&set, TOFU_RSCHED_OVERHEAD_AWARE, 0);
	EXPECT_EQ(1, plan->engines);
	EXPECT_EQ(BYTES * 5, plan->makespan_ns);
	tofu_rsched_free(plan);
	set.sites = 0;
	plan = plan_of(&set, TOFU_RSCHED_OVERHEAD_AWARE, 0);
	EXPECT_EQ(2, plan->engines);
	EXPECT_EQ(BYTES * 2, plan->makespan_ns);
	tofu_rsched_free(plan);
}

TEST(the_slowest_site_counts)
{
	static const struct tofu_rsched_way plain;
	struct set set = long_puts(2, &plain);

	/* What is crowded at different sites does not add up. */
	set.request[1].direction = 1;
	set.sites = 3;
	set.way[2] = chain;
	set.way[5] = pair;
	set.way[5].crowded = 2;
	EXPECT_EQ(BYTES * 7 / 2, time_of(&set, TOFU_RSCHED_ROUND_ROBIN, 1));
	EXPECT_EQ(BYTES * 5 / 2, time_of(&set, TOFU_RSCHED_ROUND_ROBIN, 2));
	EXPECT_EQ(BYTES * 5 / 2, time_of(&set, TOFU_RSCHED_BL, 1));
	set.way[3] = set.way[5];
	EXPECT_EQ(BYTES * 9 / 2, time_of(&set, TOFU_RSCHED_ROUND_ROBIN, 1));
}

/* ---- Sets made by chance ---- */

static uint64_t chance(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return (*state >> 33) % below;
}

static struct tofu_rsched_way way_of(uint64_t *state)
{
	struct tofu_rsched_way way = { .path = 1 + chance(state, 255) };

	way.crowded = way.path & chance(state, 256);
	if (way.crowded) {
		way.crowd = 2 + (uint32_t)chance(state, 3);
		way.chain = way.crowd + (uint32_t)chance(state, 4);
	}
	return way;
}

static struct set set_of(uint64_t seed)
{
	static const char *const machines[] = { "k", "fx10", "fx100", "fugaku" };
	static const uint64_t sizes[] = { 1, 1000, 10000, 1000000 };
	uint64_t state = seed;
	struct set set = { 0 };

	tofu_rsched_machine(machines[seed % 4], &set.model);
	set.count = chance(&state, PUTS_MAX + 1);
	set.sites = 1 + chance(&state, SITES_MAX);
	for (size_t i = 0; i < set.count; i++) {
		const uint32_t direction = (uint32_t)chance(&state, 8);

		set.request[i] = (struct tofu_rsched_request){
			.bytes = chance(&state, sizes[chance(&state, 4)] + 1),
			.direction = direction,
			.flags = direction >= 4 ? TOFU_RSCHED_DIAGONAL : 0,
		};
	}
	for (size_t i = 0; i < set.sites * set.count; i++)
		set.way[i] = way_of(&state);
	return set;
}

TEST(overhead_aware_is_never_worse_than_the_others)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		const struct set set = set_of(seed);
		const uint64_t aware =
			time_of(&set, TOFU_RSCHED_OVERHEAD_AWARE, 0);

		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			ASSERT_LE(aware, time_of(&set, others[i].scheduler,
						 others[i].width));
	}
}

/* A site alone can only be faster. */
TEST(no_site_is_slower_than_all_together)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		const struct set set = set_of(seed);
		uint64_t most = 0;

		for (size_t site = 0; site < set.sites; site++) {
			struct set one = set;
			uint64_t ns;

			one.sites = 1;
			memcpy(one.way, set.way + site * set.count,
			       set.count * sizeof(one.way[0]));
			ns = time_of(&one, TOFU_RSCHED_ROUND_ROBIN, 2);
			most = ns > most ? ns : most;
		}
		ASSERT_EQ(most, time_of(&set, TOFU_RSCHED_ROUND_ROBIN, 2));
	}
}

/* From any begin to any end, with what other processes send */
static void link_holds(struct harness_test *_metadata, const struct set *set,
		       const struct tofu_rsched_plan *plan, unsigned int link,
		       uint64_t from, uint64_t to)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct tofu_rsched_way *way = &set->way[i];

		if (plan->place[i].begin_ns < from ||
		    plan->place[i].end_ns > to || !(way->path >> link & 1))
			continue;
		bytes += set->request[i].bytes *
			 (way->crowded >> link & 1 ? way->crowd : 1);
	}
	ASSERT_LE(bytes * 1000, set->model.link_mbs * (to - from));
}

TEST(no_link_carries_more_than_it_can)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		struct set set = set_of(seed);
		struct tofu_rsched_plan *plan;

		set.sites = 1;
		plan = plan_of(&set, TOFU_RSCHED_OVERHEAD_AWARE, 0);
		for (size_t a = 0; a < set.count; a++)
			for (size_t b = 0; b < set.count; b++) {
				const uint64_t from = plan->place[a].begin_ns;
				const uint64_t to = plan->place[b].end_ns;

				for (unsigned int link = 0;
				     from < to && link < 8; link++)
					link_holds(_metadata, &set, plan, link,
						   from, to);
			}
		tofu_rsched_free(plan);
	}
}

static void same_plans(struct harness_test *_metadata,
		       const struct tofu_rsched_plan *a,
		       const struct tofu_rsched_plan *b)
{
	ASSERT_EQ(a->makespan_ns, b->makespan_ns);
	ASSERT_EQ(a->count, b->count);
	ASSERT_EQ(0, memcmp(a->first, b->first, sizeof(a->first)));
	for (size_t i = 0; i < a->count; i++) {
		ASSERT_EQ(a->order[i], b->order[i]);
		ASSERT_EQ(a->place[i].begin_ns, b->place[i].begin_ns);
		ASSERT_EQ(a->place[i].end_ns, b->place[i].end_ns);
	}
}

TEST(ways_without_a_crowd_are_paths)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		struct set set = set_of(seed);
		struct tofu_rsched_plan *with, *without;

		set.sites = 1;
		for (size_t i = 0; i < set.count; i++) {
			set.request[i].path = set.way[i].path;
			set.way[i] = (struct tofu_rsched_way){
				.path = i % 2 ? set.way[i].path : 0,
			};
		}
		with = plan_of(&set, TOFU_RSCHED_OVERHEAD_AWARE, 0);
		ASSERT_EQ(UTOFU_SUCCESS,
			  tofu_rsched_make(&set.model,
					   TOFU_RSCHED_OVERHEAD_AWARE, 0,
					   set.request, set.count, &without));
		same_plans(_metadata, without, with);
		tofu_rsched_free(without);
		tofu_rsched_free(with);
	}
}

/* ---- Ways that are accepted ---- */

TEST(what_is_wrong_is_refused)
{
	const struct tofu_rsched_request good = { .bytes = 1 };
	struct tofu_rsched_plan *plan = (void *)1;
	struct tofu_rsched_request large;

#define REFUSED(code, request, sites, ...)                                     \
	EXPECT_EQ(code, tofu_rsched_make_sites(                                \
				&even, 0, 1, request, 1,                       \
				&(const struct tofu_rsched_way){ __VA_ARGS__ },\
				sites, &plan))
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &good, TOFU_RSCHED_SITES_MAX + 1, 0,
		0, 0, 0);
	REFUSED(UTOFU_ERR_INVALID_ARG, &good, 1, 1, 3, 2, 2);
	REFUSED(UTOFU_ERR_INVALID_ARG, &good, 1, 0, 2, 2, 2);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &good, 1, 1, 1, 1, 1);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &good, 1, 1, 1, 3, 2);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &good, 1, 1, 1, 2,
		TOFU_RSCHED_CROWD_MAX + 1);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &good, 1, 1, 0, 2, 0);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &good, 1, 1, 0, 0, 2);
	large = (struct tofu_rsched_request){
		.bytes = TOFU_RSCHED_BYTES_MAX / 2,
	};
	REFUSED(UTOFU_ERR_INVALID_SIZE, &large, 1, 1, 1, 2, 3);
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_rsched_make_sites(&even, 0, 1, &good, 1, NULL, 1, &plan));
	EXPECT_EQ((void *)1, plan);
	REFUSED(UTOFU_SUCCESS, &large, 1, 1, 1, 2, 2);
	tofu_rsched_free(plan);
}

TEST(the_largest_crowd_does_not_wrap)
{
	static struct tofu_rsched_request request[TOFU_RSCHED_REQUESTS_MAX];
	static struct tofu_rsched_way way[TOFU_RSCHED_REQUESTS_MAX];
	const struct tofu_rsched_model slow = {
		.engines = TOFU_RSCHED_ENGINES_MAX,
		.link_mbs = 1,
		.engine_mbs = 1,
		.start_ns = UINT32_MAX,
		.command_ns = UINT32_MAX,
		.latency_ns = UINT32_MAX,
	};
	const uint64_t one = TOFU_RSCHED_BYTES_MAX * 1000;

	for (size_t i = 0; i < TOFU_RSCHED_REQUESTS_MAX; i++) {
		request[i].bytes = TOFU_RSCHED_BYTES_MAX / TOFU_RSCHED_CROWD_MAX;
		way[i] = (struct tofu_rsched_way){ 1, 1, TOFU_RSCHED_CROWD_MAX,
						   TOFU_RSCHED_CROWD_MAX };
	}
	for (int scheduler = 0; scheduler < 3; scheduler++) {
		struct tofu_rsched_plan *plan;

		ASSERT_EQ(UTOFU_SUCCESS,
			  tofu_rsched_make_sites(&slow, scheduler,
						 scheduler < 2 ? slow.engines : 0,
						 request,
						 TOFU_RSCHED_REQUESTS_MAX, way,
						 1, &plan));
		/* Rates are whole: eight engines have 1 of 1.95 each. */
		EXPECT_LE(one * TOFU_RSCHED_REQUESTS_MAX, plan->makespan_ns);
		EXPECT_GE(2 * one * (TOFU_RSCHED_REQUESTS_MAX + 1),
			  plan->makespan_ns);
		tofu_rsched_free(plan);
	}
}

TEST_HARNESS_MAIN
