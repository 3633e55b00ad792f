/* SPDX-License-Identifier: MIT */
/*
 * The data of neighbour exchanges: grids of one to six dimensions, open and
 * periodic, all sizes, algorithms and forms.
 */
#include "exchange-util.h"
#include "harness.h"

#define EVEN(b)                                    \
	{                                          \
		b, b, b, b, b, b, b, b, b, b, b, b \
	}

FIXTURE(by){};

FIXTURE_VARIANT(by)
{
	enum tofu_neighbor_algorithm algorithm;
	enum tofu_neighbor_form form;
	bool meet;
};

FIXTURE_VARIANT_ADD(by, native){
	.algorithm = TOFU_NEIGHBOR_NATIVE,
	.form = TOFU_NEIGHBOR_ONE_SIDED,
};

FIXTURE_VARIANT_ADD(by, native_two_sided){
	.algorithm = TOFU_NEIGHBOR_NATIVE,
	.form = TOFU_NEIGHBOR_TWO_SIDED,
};

FIXTURE_VARIANT_ADD(by, native_in_steps){
	.algorithm = TOFU_NEIGHBOR_NATIVE,
	.form = TOFU_NEIGHBOR_STEPS,
};

FIXTURE_VARIANT_ADD(by, segmented){
	.algorithm = TOFU_NEIGHBOR_SEGMENTED,
	.form = TOFU_NEIGHBOR_ONE_SIDED,
};

FIXTURE_VARIANT_ADD(by, segmented_two_sided){
	.algorithm = TOFU_NEIGHBOR_SEGMENTED,
	.form = TOFU_NEIGHBOR_TWO_SIDED,
};

FIXTURE_VARIANT_ADD(by, segmented_in_steps){
	.algorithm = TOFU_NEIGHBOR_SEGMENTED,
	.form = TOFU_NEIGHBOR_STEPS,
};

FIXTURE_VARIANT_ADD(by, segmented_with_barrier){
	.algorithm = TOFU_NEIGHBOR_SEGMENTED,
	.form = TOFU_NEIGHBOR_ONE_SIDED,
	.meet = true,
};

FIXTURE_SETUP(by)
{
}

FIXTURE_TEARDOWN(by)
{
}

#define SCENE(...)                                      \
	((struct scene){                                \
		__VA_ARGS__,                            \
		.params.algorithm = variant->algorithm, \
		.params.form = variant->form,           \
		.meet = variant->meet,                  \
		.rounds = 5,                            \
	})

TEST_F_TIMEOUT(by, grids, 120)
{
	static const struct tofu_grid grids[] = {
		{ 1, { 1 }, 1 },
		{ 1, { 2 }, 1 },
		{ 1, { 4 }, 0 },
		{ 2, { 3, 2 }, 3 },
		{ 2, { 1, 3 }, 2 },
		{ 2, { 3, 3 }, 0 },
		{ 3, { 2, 2, 2 }, 7 },
		{ 3, { 3, 2, 2 }, 5 },
		{ 4, { 2, 1, 2, 2 }, 15 },
		{ 5, { 2, 1, 2, 1, 2 }, 31 },
		{ 6, { 2, 1, 2, 1, 2, 1 }, 63 },
		{ 6, { 2, 2, 1, 2, 1, 1 }, 0 },
	};

	for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
		struct scene scene = SCENE(.grid = grids[i],
					   .bytes = EVEN(1001));

		EXPECT_EQ(scene_run(&scene), 0)
		TH_LOG("grid %zu", i);
	}
}

TEST_F_TIMEOUT(by, sizes, 120)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 7, 4096, 100001, 1 << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct scene scene = SCENE(.grid = { 3, { 2, 2, 1 }, 7 },
					   .bytes = EVEN(sizes[i]));

		EXPECT_EQ(scene_run(&scene), 0)
		TH_LOG("%zu bytes", sizes[i]);
	}
}

/* Messages of all sizes, of which some go one way only. */
TEST_F_TIMEOUT(by, sizes_that_differ, 120)
{
	struct scene scene = SCENE(.grid = { 3, { 2, 3, 1 }, 7 },
				   .bytes = { 5, 70000, 0, 333, 1, 0 });

	EXPECT_EQ(scene_run(&scene), 0);
	scene.grid.periodic = 0;
	EXPECT_EQ(scene_run(&scene), 0);
}

TEST_F_TIMEOUT(by, engines, 120)
{
	for (unsigned int engines = 1; engines <= 4; engines++) {
		struct scene scene = SCENE(.grid = { 4, { 2, 2, 1, 2 }, 15 },
					   .bytes = EVEN(1003));

		scene.params.engines = engines;
		EXPECT_EQ(scene_run(&scene), 0)
		TH_LOG("%u engines", engines);
	}
}

/* A put has less than 16 MiB. */
TEST_F_TIMEOUT(by, messages_longer_than_a_put, 120)
{
	struct scene scene = SCENE(.grid = { 1, { 2 }, 1 },
				   .bytes = { (16 << 20) + 77, 35 << 20 });

	scene.params.engines = 1;
	scene.rounds = 2;
	EXPECT_EQ(scene_run(&scene), 0);
}

/* ---- */

static int chosen(const struct tofu_neighbor_params *params, size_t bytes,
		  unsigned int dims, enum tofu_neighbor_algorithm expect)
{
	struct scene scene = {
		.grid = { dims, { 2, 1, 1, 1, 1, 1 }, (1U << dims) - 1 },
		.bytes = EVEN(bytes),
		.params = *params,
		.rounds = 3,
		.expect = expect,
	};

	return scene_run(&scene);
}

TEST(auto_takes_segments_from_the_crossover_on)
{
	struct tofu_neighbor_params params = { .crossover = 5000 };
	size_t k = tofu_neighbor_crossover("k", 6, 4);

	EXPECT_EQ(chosen(&params, 4999, 3, TOFU_NEIGHBOR_NATIVE), 0);
	EXPECT_EQ(chosen(&params, 5000, 3, TOFU_NEIGHBOR_SEGMENTED), 0);
	params.crossover = 0;
	EXPECT_EQ(chosen(&params, k - 1, 3, TOFU_NEIGHBOR_NATIVE), 0);
	EXPECT_EQ(chosen(&params, k, 3, TOFU_NEIGHBOR_SEGMENTED), 0);
	params.machine = "fugaku";
	EXPECT_EQ(chosen(&params, k, 3, TOFU_NEIGHBOR_NATIVE), 0);
	params.bytes = 1 << 20;
	EXPECT_EQ(chosen(&params, k, 3, TOFU_NEIGHBOR_SEGMENTED), 0);
}

TEST(where_segments_are_messages_it_says_native)
{
	struct tofu_neighbor_params params = {
		.algorithm = TOFU_NEIGHBOR_SEGMENTED,
	};

	EXPECT_EQ(chosen(&params, 1000, 2, TOFU_NEIGHBOR_NATIVE), 0);
	EXPECT_EQ(chosen(&params, 1000, 4, TOFU_NEIGHBOR_NATIVE), 0);
	EXPECT_EQ(chosen(&params, 1000, 3, TOFU_NEIGHBOR_SEGMENTED), 0);
	params.engines = 1;
	EXPECT_EQ(chosen(&params, 1000, 3, TOFU_NEIGHBOR_NATIVE), 0);
}

TEST_HARNESS_MAIN
