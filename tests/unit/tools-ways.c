// SPDX-License-Identifier: MIT
/* What puts of a grid of processes meet on their ways through a machine. */
#include <stdlib.h>

#include "harness.h"

#include "coll/plan.h"
#include "common/ways.h"

static struct sched_ways ways_of(const char *shape, unsigned int p,
				 unsigned int q, const uint32_t *node)
{
	const uint32_t size[2] = { p, q };
	struct tofu_shape parsed;
	struct sched_ways ways;

	if (tofu_shape_parse(shape, &parsed) ||
	    sched_ways_find(size, node, &parsed, &ways))
		abort();
	return ways;
}

/* Directions in the order of tools: E, W, N, S, NW, NE, SW, SE */
static bool share(const struct sched_ways *ways, unsigned int a, unsigned int b)
{
	return ways->way[0][a].path & ways->way[0][b].path;
}

TEST(a_grid_as_the_machine_crowds_nothing)
{
	const struct sched_ways ways =
		ways_of("4x1x1x1x3x1", 4, 3, NULL);

	ASSERT_EQ(1, ways.sites);
	for (unsigned int d = 0; d < SCHED_COMPASS; d++) {
		EXPECT_TRUE(ways.way[0][d].path);
		EXPECT_EQ(0, ways.way[0][d].crowded);
		EXPECT_EQ(0, ways.way[0][d].crowd);
		EXPECT_EQ(0, ways.way[0][d].chain);
	}
	/* As tofu-sched has it, where it knows no machine */
	EXPECT_FALSE(share(&ways, 0, 1) || share(&ways, 0, 2));
	EXPECT_TRUE(share(&ways, 5, 0) && share(&ways, 5, 2));
	EXPECT_FALSE(share(&ways, 5, 1) || share(&ways, 5, 3));
	EXPECT_TRUE(share(&ways, 5, 4) && share(&ways, 5, 7));
	EXPECT_FALSE(share(&ways, 5, 6));
}

/*
 * 2x2 on a ring of four: east and west are both two links upwards, so two puts
 * of each are on every such link. The others are one link, up or down.
 */
TEST(puts_that_go_around_a_ring_share_its_links)
{
	static const struct tofu_rsched_way alone;
	const struct sched_ways ways = ways_of("4", 2, 2, NULL);

	ASSERT_EQ(1, ways.sites);
	for (unsigned int d = 0; d < SCHED_COMPASS; d++) {
		const struct tofu_rsched_way *way = &ways.way[0][d];

		EXPECT_EQ(d < 2 ? 2 : alone.crowd, way->crowd);
		EXPECT_EQ(d < 2 ? 3 : alone.chain, way->chain);
		EXPECT_EQ(d < 2 ? way->path & ways.way[0][0].path : 0,
			  way->crowded);
	}
	EXPECT_TRUE(share(&ways, 0, 1) && share(&ways, 0, 2));
}

TEST(a_put_to_the_node_itself_shares_no_link_with_others)
{
	const struct sched_ways ways = ways_of("2", 1, 2, NULL);

	ASSERT_EQ(1, ways.sites);
	EXPECT_TRUE(share(&ways, 0, 1));
	for (unsigned int d = 2; d < SCHED_COMPASS; d++) {
		EXPECT_TRUE(ways.way[0][d].path);
		EXPECT_FALSE(share(&ways, 0, d));
	}
}

/* A ring through each of two planes, as the library lays the torus */
static void places_fold(const char *text, unsigned int p, unsigned int q,
			uint32_t *node)
{
	struct tofu_shape shape;

	if (tofu_shape_parse(text, &shape))
		abort();
	for (uint32_t place = 0; place < p * q; place++) {
		struct tofu_coords at = { { 0 } };
		uint32_t row, column;

		coll_snake_at(shape.size[TOFU_Y], shape.size[TOFU_B], place / q,
			      &row, &column);
		at.c[TOFU_Y] = (uint8_t)row;
		at.c[TOFU_B] = (uint8_t)column;
		coll_snake_at(shape.size[TOFU_Z], shape.size[TOFU_C], place % q,
			      &row, &column);
		at.c[TOFU_Z] = (uint8_t)row;
		at.c[TOFU_C] = (uint8_t)column;
		node[place] = (uint32_t)tofu_node_at(&shape, &at);
	}
}

/* Diagonals take the axes in another order where they leave a plane. */
TEST(a_folded_grid_has_two_crowded_diagonals_at_some_nodes)
{
	static const char shape[] = "1x2x4x1x3x2";
	uint32_t node[48];
	struct sched_ways ways;

	places_fold(shape, 6, 8, node);
	ways = ways_of(shape, 6, 8, node);
	ASSERT_EQ(6, ways.sites);
	for (size_t s = 0; s < ways.sites; s++) {
		unsigned int crowded = 0;

		for (unsigned int d = 0; d < SCHED_COMPASS; d++) {
			const struct tofu_rsched_way *way = &ways.way[s][d];

			EXPECT_EQ(ways.way[0][d].path, way->path);
			if (!way->crowded)
				continue;
			EXPECT_LE(SCHED_COMPASS_DIAGONAL, d);
			EXPECT_EQ(2, way->crowd);
			EXPECT_TRUE(way->chain == 2 || way->chain == 3);
			crowded++;
		}
		EXPECT_EQ(2, crowded);
	}
}

static bool can_plan(const struct sched_ways *ways, unsigned int set)
{
	static struct sched_workload workload;
	struct tofu_rsched_model model;
	struct tofu_rsched_plan *plan;
	bool counted;

	tofu_rsched_machine("k", &model);
	sched_workload_random(&workload, set);
	workload.ways = ways;
	plan = sched_plan(&model, sched_scheduler_find("overhead-aware"),
			  &workload);
	counted = plan->count == workload.count;
	tofu_rsched_free(plan);
	return counted;
}

TEST(any_grid_on_any_machine_can_be_planned)
{
	static const struct {
		const char *shape;
		unsigned int p, q;
	} cases[] = {
		{ "1", 1, 1 },		   { "2", 1, 2 },
		{ "1x2x4x1x3x2", 6, 8 },   { "1x2x4x1x3x2", 48, 1 },
		{ "1x2x4x1x3x2", 3, 16 },  { "256", 16, 16 },
		{ "5x3x2x2x3x2", 18, 20 }, { "7x5x3", 3, 35 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct sched_ways ways =
			ways_of(cases[i].shape, cases[i].p, cases[i].q,
				NULL);

		EXPECT_LE(1, ways.sites);
		for (unsigned int set = 1; set <= 20; set++)
			EXPECT_TRUE(can_plan(&ways, set));
	}
}

TEST(large_machines_are_planned_without_ways)
{
	EXPECT_EQ(0, ways_of("16x16x9", 48, 48, NULL).sites);
	EXPECT_LE(1, ways_of("16x16x8", 64, 32, NULL).sites);
}

TEST_HARNESS_MAIN
