// SPDX-License-Identifier: MIT
/* What the model of schedules counts, by hand; and where its costs come from. */
#include <stdlib.h>

#include "harness.h"

#include <tofu/rsched.h>
#include <utofu.h>

#include "net/machine.h"
#include "sim/costs.h"

#define PUTS_MAX 5

struct set {
	struct tofu_rsched_model model;
	struct tofu_rsched_request request[PUTS_MAX];
	size_t count;
};

/* Put i by engine i mod @width */
static struct tofu_rsched_plan *plan_of(const struct set *set,
					unsigned int width)
{
	struct tofu_rsched_plan *plan = NULL;

	if (tofu_rsched_make(&set->model, TOFU_RSCHED_ROUND_ROBIN, width,
			     set->request, set->count, &plan))
		abort();
	return plan;
}

static void expect_places(struct harness_test *_metadata,
			  const struct set *set, unsigned int width,
			  const uint64_t (*times)[2])
{
	struct tofu_rsched_plan *plan = plan_of(set, width);

	for (size_t i = 0; i < set->count; i++) {
		EXPECT_EQ(times[i][0], plan->place[i].begin_ns);
		EXPECT_EQ(times[i][1], plan->place[i].end_ns);
	}
	tofu_rsched_free(plan);
}

/* ---- Bandwidths ---- */

/* 1000 bytes take an engine 1000 ns, or a link. */
static const struct tofu_rsched_model even = {
	.engines = 4,
	.link_mbs = 1000,
	.engine_mbs = 1000,
};

TEST(puts_on_one_link_take_turns)
{
	const struct set set = {
		.model = even,
		.request = { { .bytes = 1000 }, { .bytes = 3000 } },
		.count = 2,
	};

	/* Half the link each, until the short one has gone. */
	expect_places(_metadata, &set, 2,
		      (uint64_t[][2]){ { 0, 2000 }, { 0, 4000 } });
	expect_places(_metadata, &set, 1,
		      (uint64_t[][2]){ { 0, 1000 }, { 1000, 4000 } });
}

TEST(a_link_is_filled_by_two_engines)
{
	const struct set set = {
		.model = { .engines = 2, .link_mbs = 1500, .engine_mbs = 1000 },
		.request = { { .bytes = 3000 }, { .bytes = 3000 } },
		.count = 2,
	};

	expect_places(_metadata, &set, 2,
		      (uint64_t[][2]){ { 0, 4000 }, { 0, 4000 } });
}

TEST(what_one_put_leaves_of_a_link_another_has)
{
	const struct set set = {
		.model = { .engines = 3, .link_mbs = 1500, .engine_mbs = 1000 },
		.request = { { .bytes = 1000, .links = 1 },
			     { .bytes = 1000, .links = 3 },
			     { .bytes = 2000, .links = 2 } },
		.count = 3,
	};

	/* 750 MB/s each, until the third has its link alone. */
	expect_places(_metadata, &set, 3,
		      (uint64_t[][2]){ { 0, 1334 }, { 0, 1334 }, { 0, 2334 } });
}

TEST(the_host_interface_is_shared_by_all_engines)
{
	const struct set set = {
		.model = { .engines = 3, .link_mbs = 1000, .engine_mbs = 1000,
			   .host_mbs = 2000 },
		/* Two on one link have half of it: the third is not slowed. */
		.request = { { .bytes = 1000 }, { .bytes = 1000 },
			     { .bytes = 2000, .direction = 1 },
			     { .bytes = 1000, .direction = 2 },
			     { .bytes = 1000, .direction = 3 } },
		.count = 5,
	};

	/* Then three have 667 MB/s each, until one is left. */
	expect_places(_metadata, &set, 3,
		      (uint64_t[][2]){ { 0, 2000 }, { 0, 2000 }, { 0, 2000 },
				       { 2000, 3000 }, { 2000, 3000 } });
}

TEST(puts_share_each_link_of_their_paths)
{
	const struct set set = {
		.model = even,
		.request = { { .bytes = 1000, .direction = 4, .path = 3 },
			     { .bytes = 1000, .direction = 0 },
			     { .bytes = 2000, .direction = 1 } },
		.count = 3,
	};

	expect_places(_metadata, &set, 3,
		      (uint64_t[][2]){ { 0, 2000 }, { 0, 2000 }, { 0, 3000 } });
}

/* ---- The processor ---- */

TEST(engines_start_one_after_the_other)
{
	const struct set set = {
		.model = { .engines = 4, .link_mbs = 1000, .engine_mbs = 1000,
			   .start_ns = 700, .command_ns = 300 },
		.request = { { .direction = 0 }, { .direction = 1 },
			     { .direction = 2, .bytes = 1000 } },
		.count = 3,
	};

	expect_places(_metadata, &set, 2,
		      (uint64_t[][2]){ { 700, 1000 }, { 1400, 1700 },
				       { 1000, 2000 } });
}

TEST(each_posted_put_delays_the_engines_behind_it)
{
	const struct set set = {
		.model = { .engines = 2, .link_mbs = 1000, .engine_mbs = 1000,
			   .start_ns = 700, .post_ns = 100, .command_ns = 300 },
		.request = { { .direction = 0 }, { .direction = 1 },
			     { .direction = 2 } },
		.count = 3,
	};

	/* Two puts and a start; then a put and a start more */
	expect_places(_metadata, &set, 2,
		      (uint64_t[][2]){ { 900, 1200 }, { 1700, 2000 },
				       { 1200, 1500 } });
}

TEST(the_processor_polls_engines_and_takes_notices_when_all_is_posted)
{
	struct set set = {
		.model = { .engines = 2, .link_mbs = 1000, .engine_mbs = 1000,
			   .start_ns = 700, .post_ns = 100, .command_ns = 300,
			   .latency_ns = 50, .poll_ns = 40, .notice_ns = 30 },
		.request = { { .direction = 0 }, { .direction = 1 },
			     { .direction = 2 } },
		.count = 3,
	};
	struct tofu_rsched_plan *plan = plan_of(&set, 2);

	/* The last put ends at 2000; the others were taken before. */
	EXPECT_EQ(2000 + 50 + 30 + 2 * 40, plan->makespan_ns);
	tofu_rsched_free(plan);
	/* Notices that have come meanwhile take longer than that. */
	set.model.notice_ns = 200;
	plan = plan_of(&set, 2);
	EXPECT_EQ(1700 + 3 * 200 + 2 * 40, plan->makespan_ns);
	tofu_rsched_free(plan);
}

/* ---- Machines ---- */

TEST(machines_have_the_costs_of_their_presets)
{
	struct tofu_rsched_model model;

	ASSERT_EQ(UTOFU_SUCCESS, tofu_rsched_machine("k", &model));
	EXPECT_EQ(4, model.engines);
	EXPECT_EQ(4753, model.link_mbs);
	EXPECT_EQ(3850, model.engine_mbs);
	EXPECT_EQ(13333, model.host_mbs);
	ASSERT_EQ(UTOFU_SUCCESS, tofu_rsched_machine("fugaku", &model));
	EXPECT_EQ(6, model.engines);
	EXPECT_EQ(6350, model.engine_mbs);
}

static bool near(uint32_t plans, uint32_t measured)
{
	return abs((int)(plans - measured)) <= (int)(plans / 10);
}

/*
 * Plans are for the program that runs them, by the costs measured of it. Those
 * that are measured anew may differ a little.
 */
TEST(machines_have_the_costs_of_the_library)
{
	const struct tofu_preset *machine;

	for (size_t i = 0; (machine = tofu_preset_at(i)); i++) {
		const struct tofu_cost *cost = sim_costs(machine);
		struct tofu_rsched_model model;

		ASSERT_EQ(UTOFU_SUCCESS,
			  tofu_rsched_machine(machine->name, &model));
		EXPECT_TRUE(near(model.start_ns - machine->store_ns,
				 cost[TOFU_WORK_EXCHANGE_LOOK].ns +
					 cost[TOFU_WORK_POST_PREPARED].ns +
					 cost[TOFU_WORK_POSTED].ns +
					 cost[TOFU_WORK_EXCHANGE_POST].ns));
		EXPECT_TRUE(near(model.post_ns, cost[TOFU_WORK_PREPARED].ns));
		EXPECT_TRUE(near(model.poll_ns,
				 cost[TOFU_WORK_EXCHANGE_LOOK].ns +
					 cost[TOFU_WORK_EXCHANGE_ENGINE].ns +
					 2 * cost[TOFU_WORK_TCQ_LOOK].ns +
					 cost[TOFU_WORK_TCQ_FOUND].ns +
					 cost[TOFU_WORK_TCQ_EMPTY].ns +
					 cost[TOFU_WORK_MRQ_LOOK].ns +
					 cost[TOFU_WORK_MRQ_EMPTY].ns));
		EXPECT_TRUE(near(model.notice_ns,
				 cost[TOFU_WORK_MRQ_LOOK].ns +
					 cost[TOFU_WORK_MRQ_FOUND].ns +
					 cost[TOFU_WORK_EXCHANGE_NOTICE].ns));
	}
}

TEST_HARNESS_MAIN
