// SPDX-License-Identifier: MIT
#include "harness.h"

#include <tofu/neighbor.h>

#include "neighbor/model.h"

/* The machine of the published figures */
static const struct tofu_neighbor_times published = {
	.latency_ns = 1000,
	.mbs = 5000,
};

static uint64_t native_ns(unsigned int n, unsigned int c, uint64_t bytes)
{
	struct tofu_neighbor_plan plan = tofu_neighbor_plan_native(n, c);

	return tofu_neighbor_time(&published, &plan, bytes);
}

static uint64_t segmented_ns(unsigned int n, unsigned int c, uint64_t bytes)
{
	struct tofu_neighbor_plan plan = tofu_neighbor_plan_segmented(n, c);

	return tofu_neighbor_time(&published, &plan, bytes);
}

TEST(six_neighbours_on_four_engines)
{
	/* 2 L + 2 M / B, 3 L + 1.5 M / B */
	EXPECT_EQ(native_ns(6, 4, 0), 2000);
	EXPECT_EQ(segmented_ns(6, 4, 0), 3000);
	EXPECT_EQ(native_ns(6, 4, 10000), 6000);
	EXPECT_EQ(segmented_ns(6, 4, 10000), 6000);
	EXPECT_EQ(tofu_neighbor_equal(&published, 6, 4), 10000);
	EXPECT_LT(native_ns(6, 4, 8192), segmented_ns(6, 4, 8192));
	EXPECT_GT(native_ns(6, 4, 16384), segmented_ns(6, 4, 16384));
	/* 15 and 20 GB/s: the times of 6 M, beside the starts */
	EXPECT_EQ(native_ns(6, 4, 8000000), 2000 + 3200000);
	EXPECT_EQ(segmented_ns(6, 4, 8000000), 3000 + 2400000);
}

TEST(nothing_is_gained_where_segments_are_messages)
{
	static const unsigned int of[][2] = { { 4, 4 }, { 8, 4 }, { 3, 4 }, { 9, 1 }, { 1, 1 } };

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		unsigned int n = of[i][0], c = of[i][1];

		EXPECT_EQ(native_ns(n, c, 12345), segmented_ns(n, c, 12345));
		EXPECT_EQ(tofu_neighbor_equal(&published, n, c), UINT64_MAX);
	}
}

/* Both sides of it, for every number of neighbours and engines. */
TEST(segments_win_from_the_crossover_on)
{
	for (unsigned int n = 1; n <= 64; n++)
		for (unsigned int c = 1; c <= 8; c++) {
			uint64_t m = tofu_neighbor_equal(&published, n, c);

			if (m == UINT64_MAX)
				continue;
			ASSERT_LE(segmented_ns(n, c, m), native_ns(n, c, m));
			/* Rounding hides a byte. */
			ASSERT_GT(segmented_ns(n, c, m - 100),
				  native_ns(n, c, m - 100));
			/* The gain is below 2. */
			ASSERT_LT(native_ns(n, c, 1ULL << 40),
				  2 * segmented_ns(n, c, 1ULL << 40));
		}
}

TEST(machines)
{
	struct tofu_neighbor_times k, fugaku;

	ASSERT_TRUE(tofu_neighbor_times_of("k", 4, &k));
	ASSERT_TRUE(tofu_neighbor_times_of("fugaku", 6, &fugaku));
	/* 13.3 GB/s of a node both ways, shared by four */
	EXPECT_EQ(k.latency_ns, 1030);
	EXPECT_EQ(k.mbs, 3333);
	EXPECT_EQ(tofu_neighbor_crossover("k", 6, 4), 6866);
	EXPECT_EQ(tofu_neighbor_model_ns("k", TOFU_NEIGHBOR_NATIVE, 6, 4,
					 33330),
		  2 * 1030 + 2 * 10000);
	EXPECT_EQ(tofu_neighbor_model_ns("k", TOFU_NEIGHBOR_SEGMENTED, 6, 4,
					 33330),
		  3 * 1030 + 15000);
	EXPECT_EQ(tofu_neighbor_model_ns("k", TOFU_NEIGHBOR_AUTO, 6, 4, 33330),
		  3 * 1030 + 15000);
	EXPECT_EQ(tofu_neighbor_model_ns("k", TOFU_NEIGHBOR_AUTO, 6, 4, 1),
		  2 * 1030 + 1);
	/* Of one engine: half of the 7.7 GB/s that it has both ways */
	ASSERT_TRUE(tofu_neighbor_times_of("k", 1, &k));
	EXPECT_EQ(k.mbs, 3850);
	EXPECT_EQ(fugaku.latency_ns, 818);
	EXPECT_EQ(fugaku.mbs, 5644);
}

TEST(what_no_machine_has)
{
	EXPECT_EQ(tofu_neighbor_model_ns("x", TOFU_NEIGHBOR_NATIVE, 6, 4, 1),
		  0);
	EXPECT_EQ(tofu_neighbor_model_ns(NULL, TOFU_NEIGHBOR_NATIVE, 6, 4, 1),
		  0);
	EXPECT_EQ(tofu_neighbor_model_ns("k", TOFU_NEIGHBOR_NATIVE, 0, 4, 1),
		  0);
	EXPECT_EQ(tofu_neighbor_model_ns("k", TOFU_NEIGHBOR_NATIVE, 6, 0, 1),
		  0);
	EXPECT_EQ(tofu_neighbor_model_ns("k", TOFU_NEIGHBOR_NATIVE, 64, 1,
					 UINT64_MAX),
		  UINT64_MAX);
	EXPECT_EQ(tofu_neighbor_crossover(NULL, 6, 4), UINT64_MAX);
	EXPECT_EQ(tofu_neighbor_crossover("k", 0, 4), UINT64_MAX);
	EXPECT_EQ(tofu_neighbor_crossover("k", 6, 0), UINT64_MAX);
}

TEST_HARNESS_MAIN
