// SPDX-License-Identifier: MIT
/* Schedules of puts: what must hold of each, over sets made by chance. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include <tofu/rsched.h>
#include <utofu.h>

#include "exchange/exchange.h"

#define SETS 3000
#define PUTS_MAX 20
#define GRID 3

struct set {
	struct tofu_rsched_model model;
	struct tofu_rsched_request request[PUTS_MAX];
	size_t count;
};

static uint64_t chance(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return (*state >> 33) % below;
}

/* Directions as on a 2-D grid: 0 to 3 axis, 4 to 7 diagonal. */
static struct set set_of(uint64_t seed)
{
	static const uint64_t sizes[] = { 1, 1000, 10000, 1000000 };
	uint64_t state = seed;
	struct set set = {
		.model = {
			.engines = 1 + (uint32_t)chance(&state, 6),
			.link_mbs = 1000 + (uint32_t)chance(&state, 6000),
			.engine_mbs = 1000 + (uint32_t)chance(&state, 6000),
			.host_mbs = 1000 * (uint32_t)chance(&state, 20),
			.start_ns = 500 * (uint32_t)chance(&state, 3),
			.post_ns = (uint32_t)chance(&state, 200),
			.command_ns = (uint32_t)chance(&state, 400),
			.latency_ns = 1000,
			.poll_ns = (uint32_t)chance(&state, 300),
			.notice_ns = (uint32_t)chance(&state, 300),
		},
		.count = chance(&state, PUTS_MAX + 1),
	};

	for (size_t i = 0; i < set.count; i++) {
		const uint32_t direction = (uint32_t)chance(&state, 8);
		const bool hops = !chance(&state, 4);

		set.request[i] = (struct tofu_rsched_request){
			.bytes = chance(&state, sizes[chance(&state, 4)] + 1),
			.links = hops ? 1ULL << direction |
						1ULL << chance(&state, 8) :
					0,
			.path = chance(&state, 2) ? 0 : 1 + chance(&state, 255),
			.direction = direction,
			.flags = direction >= 4 ? TOFU_RSCHED_DIAGONAL : 0,
		};
	}
	return set;
}

static uint64_t links(const struct tofu_rsched_request *request)
{
	return request->links ? request->links : 1ULL << request->direction;
}

static uint64_t path(const struct tofu_rsched_request *request)
{
	return request->path ? request->path : links(request);
}

static uint64_t alone_ns(const struct tofu_rsched_model *model, uint64_t bytes)
{
	const uint64_t mbs = model->engine_mbs < model->link_mbs ?
				     model->engine_mbs :
				     model->link_mbs;
	const uint64_t ns = (bytes * 1000 + mbs - 1) / mbs;
	const uint64_t least = model->command_ns ? model->command_ns : 1;

	return ns > least ? ns : least;
}

static bool overlap(const struct tofu_rsched_place *a,
		    const struct tofu_rsched_place *b)
{
	return a->begin_ns < b->end_ns && b->begin_ns < a->end_ns;
}

static struct tofu_rsched_plan *plan_of(const struct set *set, int scheduler,
					unsigned int width)
{
	struct tofu_rsched_plan *plan = NULL;

	if (tofu_rsched_make(&set->model, scheduler, width, set->request,
			     set->count, &plan))
		abort();
	return plan;
}

/* ---- Any plan ---- */

/* When the processor has started so many engines */
static uint64_t started_ns(const struct set *set,
			   const struct tofu_rsched_plan *plan,
			   unsigned int engines)
{
	return (uint64_t)set->model.start_ns * engines +
	       plan->first[engines] * set->model.post_ns;
}

static void each_put_once(struct harness_test *_metadata,
			  const struct set *set,
			  const struct tofu_rsched_plan *plan)
{
	unsigned int seen[PUTS_MAX] = { 0 };

	ASSERT_EQ(set->count, plan->count);
	ASSERT_EQ(0, plan->first[0]);
	ASSERT_EQ(set->count, plan->first[TOFU_RSCHED_ENGINES_MAX]);
	for (unsigned int e = 0; e < TOFU_RSCHED_ENGINES_MAX; e++) {
		uint64_t free = started_ns(set, plan, e + 1);

		ASSERT_EQ(e < plan->engines,
			  plan->first[e] < plan->first[e + 1]);
		for (size_t i = plan->first[e]; i < plan->first[e + 1]; i++) {
			const struct tofu_rsched_place *place =
				&plan->place[plan->order[i]];

			seen[plan->order[i]]++;
			ASSERT_EQ(e, place->engine);
			ASSERT_LE(free, place->begin_ns);
			free = place->end_ns;
		}
	}
	for (size_t i = 0; i < set->count; i++) {
		const struct tofu_rsched_place *place = &plan->place[i];

		ASSERT_EQ(1, seen[i]);
		ASSERT_LE(alone_ns(&set->model, set->request[i].bytes),
			  place->end_ns - place->begin_ns);
	}
}

/*
 * The processor takes notices as they come, but none before it has posted
 * everything: whichever put it begins to wait with, this one and the later ones
 * have to be taken.
 */
static uint64_t taken_ns(const struct set *set,
			 const struct tofu_rsched_plan *plan)
{
	const struct tofu_rsched_model *m = &set->model;
	uint64_t most = started_ns(set, plan, plan->engines) +
			set->count * m->notice_ns;

	for (size_t i = 0; i < set->count; i++) {
		const uint64_t end = plan->place[i].end_ns;
		uint64_t later = 0, taken;

		for (size_t j = 0; j < set->count; j++)
			later += plan->place[j].end_ns >= end;
		taken = end + m->latency_ns + later * m->notice_ns;
		if (taken > most)
			most = taken;
	}
	return set->count ? most + (uint64_t)plan->engines * m->poll_ns : 0;
}

/* Neither link nor host carries more than it can from any begin to any end. */
static void links_hold(struct harness_test *_metadata, const struct set *set,
		       const struct tofu_rsched_plan *plan, bool packed,
		       uint64_t from, uint64_t to)
{
	uint64_t bytes[8] = { 0 }, all = 0;

	for (size_t i = 0; i < set->count; i++) {
		const struct tofu_rsched_request *request = &set->request[i];
		const uint64_t used = packed ? links(request) : path(request);

		if (plan->place[i].begin_ns < from || plan->place[i].end_ns > to)
			continue;
		for (unsigned int link = 0; link < 8; link++)
			bytes[link] += used >> link & 1 ? request->bytes : 0;
		all += request->bytes;
	}
	for (unsigned int link = 0; link < 8; link++)
		ASSERT_LE(bytes[link] * 1000, set->model.link_mbs * (to - from));
	if (set->model.host_mbs)
		ASSERT_LE(all * 1000, set->model.host_mbs * (to - from));
}

static void all_links_hold(struct harness_test *_metadata,
			   const struct set *set,
			   const struct tofu_rsched_plan *plan, bool packed)
{
	for (size_t a = 0; a < set->count; a++)
		for (size_t b = 0; b < set->count; b++)
			if (plan->place[a].begin_ns < plan->place[b].end_ns)
				links_hold(_metadata, set, plan, packed,
					   plan->place[a].begin_ns,
					   plan->place[b].end_ns);
}

/*
 * Every process of a periodic grid sends by one plan: whatever comes to a
 * process's engine comes one at a time.
 */
static void receivers_hold(struct harness_test *_metadata,
			   const struct set *set,
			   const struct tofu_rsched_plan *plan)
{
	static const int dx[] = { 1, -1, 0, 0, 1, 1, -1, -1 };
	static const int dy[] = { 0, 0, 1, -1, 1, -1, 1, -1 };

	for (int from = 0; from < GRID * GRID * GRID * GRID; from++) {
		const int p = from / (GRID * GRID), q = from % (GRID * GRID);

		for (size_t i = 0; i < set->count; i++)
			for (size_t j = 0; j < set->count; j++) {
				const uint32_t a = set->request[i].direction;
				const uint32_t b = set->request[j].direction;

				if ((i == j && p == q) ||
				    plan->place[i].engine !=
					    plan->place[j].engine ||
				    (p / GRID + dx[a] + GRID) % GRID !=
					    (q / GRID + dx[b] + GRID) % GRID ||
				    (p % GRID + dy[a] + GRID) % GRID !=
					    (q % GRID + dy[b] + GRID) % GRID)
					continue;
				/* Another process may send the same put to
				 * another one only.
				 */
				ASSERT_TRUE(i != j);
				ASSERT_FALSE(overlap(&plan->place[i],
						     &plan->place[j]));
			}
	}
}

TEST(every_plan_has_each_put_once_and_overloads_nothing)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		const struct set set = set_of(seed);

		for (int scheduler = 0; scheduler < 3; scheduler++) {
			const bool width = scheduler < 2;
			struct tofu_rsched_plan *plan = plan_of(
				&set, scheduler,
				width ? 1 + seed % set.model.engines : 0);

			each_put_once(_metadata, &set, plan);
			all_links_hold(_metadata, &set, plan,
				       scheduler == TOFU_RSCHED_BL);
			/* A packing is drawn otherwise than it is run. */
			if (scheduler != TOFU_RSCHED_BL)
				ASSERT_EQ(taken_ns(&set, plan),
					  plan->makespan_ns);
			if (seed % 50 == 0)
				receivers_hold(_metadata, &set, plan);
			tofu_rsched_free(plan);
		}
	}
}

/* ---- Bottom-left ---- */

static unsigned int diagonals_at(const struct set *set,
				 const struct tofu_rsched_plan *plan,
				 uint64_t time)
{
	unsigned int busy = 0;

	for (size_t i = 0; i < set->count; i++)
		busy += set->request[i].flags && plan->place[i].begin_ns <= time &&
			time < plan->place[i].end_ns;
	return busy;
}

TEST(bottom_left_shares_no_link_in_time)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		const struct set set = set_of(seed);
		struct tofu_rsched_plan *plan = plan_of(
			&set, TOFU_RSCHED_BL, 1 + seed % set.model.engines);

		for (size_t i = 0; i < set.count; i++)
			for (size_t j = 0; j < i; j++)
				if (links(&set.request[i]) &
				    links(&set.request[j]))
					ASSERT_FALSE(overlap(&plan->place[i],
							     &plan->place[j]));
		tofu_rsched_free(plan);
	}
}

TEST(bottom_left_keeps_diagonal_directions_to_its_width)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		const struct set set = set_of(seed);

		for (unsigned int width = 1; width <= set.model.engines;
		     width++) {
			struct tofu_rsched_plan *plan =
				plan_of(&set, TOFU_RSCHED_BL, width);

			for (size_t i = 0; i < set.count; i++)
				ASSERT_GE(width,
					  diagonals_at(&set, plan,
						       plan->place[i].begin_ns));
			tofu_rsched_free(plan);
		}
	}
}

/* Whether put i could be there, beside those that are placed before it. */
static bool fits(const struct set *set, const struct tofu_rsched_plan *plan,
		 const bool *placed, size_t i, unsigned int width,
		 const struct tofu_rsched_place *there)
{
	for (size_t j = 0; j < set->count; j++) {
		const struct tofu_rsched_place *other = &plan->place[j];
		unsigned int diagonals = 1;

		if (!placed[j] || !overlap(there, other))
			continue;
		if (other->engine == there->engine ||
		    links(&set->request[i]) & links(&set->request[j]))
			return false;
		if (!set->request[i].flags || !set->request[j].flags)
			continue;
		/* Most are busy where one of them begins, or this one does. */
		const uint64_t time = other->begin_ns > there->begin_ns ?
					      other->begin_ns :
					      there->begin_ns;

		for (size_t k = 0; k < set->count; k++)
			diagonals += placed[k] && set->request[k].flags &&
				     plan->place[k].begin_ns <= time &&
				     time < plan->place[k].end_ns;
		if (diagonals > width)
			return false;
	}
	return true;
}

static bool comes_before(const struct set *set, size_t a, size_t b)
{
	const struct tofu_rsched_request *x = &set->request[a],
					 *y = &set->request[b];

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes;
	if (x->direction != y->direction)
		return x->direction < y->direction;
	return a < b;
}

static size_t next_put(const struct set *set, const bool *placed)
{
	size_t next = set->count;

	for (size_t i = 0; i < set->count; i++) {
		if (!placed[i] &&
		    (next == set->count || comes_before(set, i, next)))
			next = i;
	}
	return next;
}

/* The lowest place is at 0, or where something ends. */
static void place_is_lowest(struct harness_test *_metadata,
			    const struct set *set,
			    const struct tofu_rsched_plan *plan,
			    const bool *placed, size_t i, unsigned int width)
{
	const struct tofu_rsched_place *place = &plan->place[i];
	const uint64_t ns = alone_ns(&set->model, set->request[i].bytes);

	ASSERT_EQ(ns, place->end_ns - place->begin_ns);
	ASSERT_TRUE(fits(set, plan, placed, i, width, place));
	for (unsigned int e = 0; e < set->model.engines; e++)
		for (size_t j = 0; j <= set->count; j++) {
			const uint64_t at = j < set->count ?
						    plan->place[j].end_ns :
						    0;
			const struct tofu_rsched_place other = {
				.engine = e,
				.begin_ns = at,
				.end_ns = at + ns,
			};

			if (j < set->count && !placed[j])
				continue;
			if (at < place->begin_ns ||
			    (at == place->begin_ns && e < place->engine))
				ASSERT_FALSE(fits(set, plan, placed, i, width,
						  &other));
		}
}

TEST(bottom_left_takes_the_lowest_place_then_the_leftmost)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		struct set set = set_of(seed);
		const unsigned int width = 1 + seed % set.model.engines;
		bool placed[PUTS_MAX] = { false };
		struct tofu_rsched_plan *plan;

		set.model.start_ns = 0;
		set.model.post_ns = 0;
		set.model.host_mbs = 0;
		plan = plan_of(&set, TOFU_RSCHED_BL, width);
		for (size_t n = 0; n < set.count; n++) {
			const size_t i = next_put(&set, placed);

			place_is_lowest(_metadata, &set, plan, placed, i,
					width);
			placed[i] = true;
		}
		tofu_rsched_free(plan);
	}
}

TEST(starts_keep_the_order_of_a_packing)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		struct set set = set_of(seed);
		struct tofu_rsched_plan *with, *without;

		with = plan_of(&set, TOFU_RSCHED_BL, 1);
		set.model.start_ns = 0;
		set.model.post_ns = 0;
		without = plan_of(&set, TOFU_RSCHED_BL, 1);
		for (size_t i = 0; i < set.count; i++) {
			ASSERT_EQ(without->order[i], with->order[i]);
			ASSERT_EQ(without->place[i].engine,
				  with->place[i].engine);
		}
		tofu_rsched_free(without);
		tofu_rsched_free(with);
	}
}

/* ---- Round robin ---- */

TEST(round_robin_keeps_the_given_order)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		const struct set set = set_of(seed);
		const unsigned int width = 1 + seed % set.model.engines;
		struct tofu_rsched_plan *plan =
			plan_of(&set, TOFU_RSCHED_ROUND_ROBIN, width);

		for (size_t i = 0; i < set.count; i++) {
			ASSERT_EQ(i % width, plan->place[i].engine);
			if (i >= width)
				ASSERT_LE(plan->place[i - width].end_ns,
					  plan->place[i].begin_ns);
		}
		tofu_rsched_free(plan);
	}
}

TEST(equal_lists_take_equally_long_whoever_made_them)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		struct set set = set_of(seed);
		struct tofu_rsched_plan *packed, *robin;

		/* The longest first, and a direction for each engine */
		set.count = set.model.engines;
		for (uint32_t i = 0; i < set.count; i++)
			set.request[i] = (struct tofu_rsched_request){
				.bytes = 10000 - seed - i,
				.direction = i,
			};
		packed = plan_of(&set, TOFU_RSCHED_BL, 1);
		robin = plan_of(&set, TOFU_RSCHED_ROUND_ROBIN,
				set.model.engines);
		ASSERT_EQ(robin->makespan_ns, packed->makespan_ns);
		tofu_rsched_free(robin);
		tofu_rsched_free(packed);
	}
}

/* ---- Overhead-aware ---- */

static const struct {
	int scheduler;
	unsigned int width;
} others[] = {
	{ TOFU_RSCHED_ROUND_ROBIN, 1 }, { TOFU_RSCHED_ROUND_ROBIN, 2 },
	{ TOFU_RSCHED_ROUND_ROBIN, 4 }, { TOFU_RSCHED_BL, 1 },
	{ TOFU_RSCHED_BL, 2 },		{ TOFU_RSCHED_BL, 4 },
};

static void never_worse(struct harness_test *_metadata,
			const struct set *set)
{
	struct tofu_rsched_plan *aware =
		plan_of(set, TOFU_RSCHED_OVERHEAD_AWARE, 0);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		struct tofu_rsched_plan *plan;

		if (others[i].width > set->model.engines)
			continue;
		plan = plan_of(set, others[i].scheduler, others[i].width);
		ASSERT_LE(aware->makespan_ns, plan->makespan_ns);
		if (aware->makespan_ns == plan->makespan_ns)
			ASSERT_LE(aware->engines, plan->engines);
		tofu_rsched_free(plan);
	}
	tofu_rsched_free(aware);
}

/* Directions of the published halo exchange, as tofu-sched has them, too. */
static struct set halo_of(unsigned int k, bool ew, bool ns, bool diagonal)
{
	struct set set = { 0 };

	tofu_rsched_machine("k", &set.model);
	for (uint32_t d = 0; d < 8; d++)
		for (int part = 0; part < (d < 2 ? 1 : 2); part++)
			if (d < 2 ? ew : d < 4 ? ns : diagonal)
				set.request[set.count++] =
					(struct tofu_rsched_request){
						.bytes = (k + 4) *
							 (d < 2 ? 256 :
							  d < 4 ? 128 :
								  16),
						.direction = d,
						.flags = d >= 4 ?
								 TOFU_RSCHED_DIAGONAL :
								 0,
					};
	return set;
}

TEST(overhead_aware_is_never_worse_than_the_others)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		const struct set set = set_of(seed);

		never_worse(_metadata, &set);
	}
	for (unsigned int k = 60; k <= 872; k++)
		for (int which = 1; which < 8; which++) {
			const struct set set = halo_of(k, which & 1, which & 2,
						       which & 4);

			never_worse(_metadata, &set);
		}
}

TEST(overhead_aware_starts_few_engines_for_little)
{
	struct set set = halo_of(60, false, false, true);
	struct tofu_rsched_plan *plan;

	plan = plan_of(&set, TOFU_RSCHED_OVERHEAD_AWARE, 0);
	EXPECT_EQ(2, plan->engines);
	tofu_rsched_free(plan);
	set.count = 1;
	plan = plan_of(&set, TOFU_RSCHED_OVERHEAD_AWARE, 0);
	EXPECT_EQ(1, plan->engines);
	tofu_rsched_free(plan);
	set.count = 8;
	set.model.start_ns = 0;
	set.model.poll_ns = 0;
	plan = plan_of(&set, TOFU_RSCHED_OVERHEAD_AWARE, 0);
	EXPECT_EQ(4, plan->engines);
	tofu_rsched_free(plan);
}

/* The last row of the published table, as far as it can be computed by hand. */
TEST(the_published_exchange_has_these_plans)
{
	static const struct {
		bool ew, ns, diagonal;
		int scheduler;
		unsigned int width;
		uint64_t ns_want;
	} rows[] = {
		/* 224256 B at 3850 MB/s, two starts, the way */
		{ true, false, false, TOFU_RSCHED_BL, 4, 58249 + 2000 + 215 },
		{ false, true, false, TOFU_RSCHED_BL, 4,
		  2 * 29125 + 2000 + 215 },
		{ true, true, false, TOFU_RSCHED_BL, 4,
		  2 * 29125 + 4000 + 215 },
		{ false, true, false, TOFU_RSCHED_ROUND_ROBIN, 1,
		  4 * 29125 + 1000 + 215 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct set set = halo_of(872, rows[i].ew, rows[i].ns,
					 rows[i].diagonal);
		struct tofu_rsched_plan *plan;

		/* Published, too; of the rest nothing is. */
		set.model.start_ns = 1000;
		set.model.post_ns = 0;
		set.model.poll_ns = 0;
		set.model.notice_ns = 0;
		set.model.host_mbs = 0;
		plan = plan_of(&set, rows[i].scheduler, rows[i].width);
		EXPECT_GE(2, llabs((long long)(plan->makespan_ns -
					       rows[i].ns_want)));
		tofu_rsched_free(plan);
	}
}

/* ---- Plans made into exchanges ---- */

static struct tofu_exchange_plan made;
static struct tofu_part made_part[PUTS_MAX];

/* Replaces the library's function, and keeps its arguments. */
int tofu_exchange_make(const struct tofu_exchange_plan *plan,
		       const struct tofu_message *messages, unsigned int count,
		       struct tofu_exchange **exchange)
{
	made = *plan;
	memcpy(made_part, plan->parts, count * sizeof(made_part[0]));
	*exchange = (void *)messages;
	return UTOFU_SUCCESS;
}

TEST(an_exchange_keeps_the_order_of_its_plan)
{
	for (uint64_t seed = 0; seed < SETS; seed++) {
		const struct set set = set_of(seed);
		struct tofu_rsched_plan *plan =
			plan_of(&set, TOFU_RSCHED_OVERHEAD_AWARE, 0);
		struct tofu_message message[PUTS_MAX];
		struct tofu_exchange *exchange = NULL;
		size_t i = 0;

		for (size_t m = 0; m < set.count; m++)
			message[m].send_bytes = 1000 + m;
		ASSERT_EQ(set.count ? UTOFU_SUCCESS : UTOFU_ERR_INVALID_NUMBER,
			  tofu_rsched_create(plan, message, seed, &exchange));
		for (unsigned int e = 0; set.count && e < made.engines; e++)
			for (unsigned int p = 0; p < made.count[e]; p++, i++) {
				ASSERT_EQ(plan->order[i], made_part[i].message);
				ASSERT_EQ(e, plan->place[plan->order[i]].engine);
				ASSERT_EQ(1000 + plan->order[i],
					  made_part[i].bytes);
				ASSERT_EQ(0, made_part[i].offset);
				ASSERT_EQ(0, made_part[i].step);
				ASSERT_EQ(seed, made.barrier);
			}
		ASSERT_EQ(set.count, i);
		tofu_rsched_free(plan);
	}
}

/* ---- Requests that are accepted ---- */

static const struct tofu_rsched_model even = {
	.engines = 4,
	.link_mbs = 1000,
	.engine_mbs = 1000,
};

TEST(what_is_wrong_is_refused)
{
	const struct tofu_rsched_request good = { .bytes = 1 };
	struct tofu_rsched_request bad = good;
	struct tofu_rsched_plan *plan = (void *)1;
	struct tofu_rsched_model model = even;

#define REFUSED(code, model_, scheduler, width, requests, count) \
	EXPECT_EQ(code, tofu_rsched_make(model_, scheduler, width, requests, \
					 count, &plan))
	REFUSED(UTOFU_ERR_INVALID_POINTER, NULL, 0, 1, &good, 1);
	REFUSED(UTOFU_ERR_INVALID_POINTER, &even, 0, 1, NULL, 1);
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER,
		  tofu_rsched_make(&even, 0, 1, &good, 1, NULL));
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &even, 0, 0, &good, 1);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &even, 1, 5, &good, 1);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &even, 2, 1, &good, 1);
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &even, 0, 1, &good,
		TOFU_RSCHED_REQUESTS_MAX + 1);
	REFUSED(UTOFU_ERR_INVALID_ARG, &even, 3, 1, &good, 1);
	REFUSED(UTOFU_ERR_INVALID_ARG, &even, -1, 1, &good, 1);
	bad.bytes = TOFU_RSCHED_BYTES_MAX + 1;
	REFUSED(UTOFU_ERR_INVALID_SIZE, &even, 0, 1, &bad, 1);
	bad = (struct tofu_rsched_request){ .flags = 2 };
	REFUSED(UTOFU_ERR_INVALID_FLAGS, &even, 0, 1, &bad, 1);
	bad = (struct tofu_rsched_request){ .direction = 64 };
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &even, 0, 1, &bad, 1);
	model.engines = 0;
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &model, 2, 0, &good, 1);
	model.engines = TOFU_RSCHED_ENGINES_MAX + 1;
	REFUSED(UTOFU_ERR_INVALID_NUMBER, &model, 2, 0, &good, 1);
	model = even;
	model.link_mbs = 0;
	REFUSED(UTOFU_ERR_INVALID_ARG, &model, 2, 0, &good, 1);
	model = even;
	model.engine_mbs = 0;
	REFUSED(UTOFU_ERR_INVALID_ARG, &model, 2, 0, &good, 1);
	EXPECT_EQ((void *)1, plan);
	EXPECT_EQ(UTOFU_ERR_NOT_FOUND, tofu_rsched_machine("cray", &model));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_rsched_machine(NULL, &model));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_rsched_machine("k", NULL));
	tofu_rsched_free(NULL);
}

TEST(the_largest_set_does_not_wrap)
{
	static struct tofu_rsched_request request[TOFU_RSCHED_REQUESTS_MAX];
	const struct tofu_rsched_model slow = {
		.engines = TOFU_RSCHED_ENGINES_MAX,
		.link_mbs = 1,
		.engine_mbs = 1,
		.start_ns = UINT32_MAX,
		.command_ns = UINT32_MAX,
		.latency_ns = UINT32_MAX,
	};
	const uint64_t one = TOFU_RSCHED_BYTES_MAX * 1000;

	for (size_t i = 0; i < TOFU_RSCHED_REQUESTS_MAX; i++)
		request[i] = (struct tofu_rsched_request){
			.bytes = TOFU_RSCHED_BYTES_MAX,
			.links = UINT64_MAX,
			.flags = TOFU_RSCHED_DIAGONAL,
		};
	for (int scheduler = 0; scheduler < 3; scheduler++) {
		struct tofu_rsched_plan *plan;

		ASSERT_EQ(UTOFU_SUCCESS,
			  tofu_rsched_make(&slow, scheduler,
					   scheduler < 2 ? slow.engines : 0,
					   request, TOFU_RSCHED_REQUESTS_MAX,
					   &plan));
		/* All on one link: one after the other, for any sender. */
		EXPECT_LE(one * TOFU_RSCHED_REQUESTS_MAX, plan->makespan_ns);
		EXPECT_GE(one * (TOFU_RSCHED_REQUESTS_MAX + 1),
			  plan->makespan_ns);
		tofu_rsched_free(plan);
	}
}

TEST_HARNESS_MAIN
