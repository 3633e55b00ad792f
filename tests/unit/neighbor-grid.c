// SPDX-License-Identifier: MIT
#include "harness.h"

#include <tofu/neighbor.h>

static const struct tofu_grid ring = { 1, { 4 }, 1 };
static const struct tofu_grid open_line = { 1, { 4 }, 0 };

static int neighbor(const struct tofu_grid *grid, unsigned int rank,
		    unsigned int direction)
{
	unsigned int to, back;
	int code = tofu_grid_neighbor(grid, rank, direction, &to, &back);

	return code ? code : (int)to;
}

TEST(ring_and_line)
{
	EXPECT_EQ(neighbor(&ring, 1, 0), 2);
	EXPECT_EQ(neighbor(&ring, 1, 1), 0);
	EXPECT_EQ(neighbor(&ring, 3, 0), 0);
	EXPECT_EQ(neighbor(&ring, 0, 1), 3);
	EXPECT_EQ(neighbor(&open_line, 1, 0), 2);
	EXPECT_EQ(neighbor(&open_line, 3, 0), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(neighbor(&open_line, 0, 1), UTOFU_ERR_NOT_FOUND);
}

TEST(the_last_dimension_is_counted_first)
{
	static const struct tofu_grid grid = { 3, { 2, 3, 4 }, 5 };

	/* 17 is (1, 1, 1) */
	EXPECT_EQ(neighbor(&grid, 17, 0), 5);
	EXPECT_EQ(neighbor(&grid, 17, 1), 5);
	EXPECT_EQ(neighbor(&grid, 17, 2), 21);
	EXPECT_EQ(neighbor(&grid, 17, 3), 13);
	EXPECT_EQ(neighbor(&grid, 17, 4), 18);
	EXPECT_EQ(neighbor(&grid, 17, 5), 16);
	EXPECT_EQ(neighbor(&grid, 21, 2), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(neighbor(&grid, 19, 4), 16);
}

TEST(sizes_one_and_two)
{
	static const struct tofu_grid closed = { 2, { 1, 2 }, 3 };
	static const struct tofu_grid open_one = { 2, { 1, 2 }, 0 };

	EXPECT_EQ(neighbor(&closed, 1, 0), 1);
	EXPECT_EQ(neighbor(&closed, 1, 1), 1);
	EXPECT_EQ(neighbor(&closed, 1, 2), 0);
	EXPECT_EQ(neighbor(&closed, 1, 3), 0);
	EXPECT_EQ(neighbor(&open_one, 1, 0), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(neighbor(&open_one, 1, 1), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(neighbor(&open_one, 1, 2), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(neighbor(&open_one, 1, 3), 0);
}

static unsigned int ranks_of(const struct tofu_grid *grid)
{
	unsigned int ranks = 1;

	for (unsigned int d = 0; d < grid->dims; d++)
		ranks *= grid->size[d];
	return ranks;
}

/* Return: neighbours that are there, or -1 where a way back leads elsewhere. */
static int ways_back(const struct tofu_grid *grid)
{
	unsigned int to, back, home, forth;
	int found = 0;

	for (unsigned int r = 0; r < ranks_of(grid); r++)
		for (unsigned int i = 0; i < 2 * grid->dims; i++) {
			if (tofu_grid_neighbor(grid, r, i, &to, &back))
				continue;
			if (tofu_grid_neighbor(grid, to, back, &home, &forth) ||
			    home != r || forth != i)
				return -1;
			found++;
		}
	return found;
}

TEST(a_way_back_leads_back)
{
	struct tofu_grid grid = { .dims = 0 };

	for (grid.dims = 1; grid.dims <= TOFU_GRID_DIMS_MAX; grid.dims++)
		for (unsigned int p = 0; p < 1U << grid.dims; p++) {
			int want = 0;

			grid.periodic = p;
			for (unsigned int d = 0; d < grid.dims; d++)
				grid.size[d] = 1 + (d + p) % 3;
			for (unsigned int d = 0; d < grid.dims; d++) {
				unsigned int all = ranks_of(&grid);

				want += 2 * (int)(p >> d & 1 ? all :
							       all - all / grid.size[d]);
			}
			ASSERT_EQ(ways_back(&grid), want);
		}
}

TEST(bad_arguments)
{
	struct tofu_grid grid = { 6, { 256, 256, 256, 256, 1, 1 }, 0 };
	unsigned int to, back;

	EXPECT_EQ(tofu_grid_neighbor(NULL, 0, 0, &to, &back),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_grid_neighbor(&ring, 0, 0, NULL, &back),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_grid_neighbor(&ring, 0, 0, &to, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(neighbor(&ring, 4, 0), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(neighbor(&ring, 0, 2), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(neighbor(&grid, 0, 0), UTOFU_ERR_INVALID_SIZE);
	grid.size[0] = 0;
	EXPECT_EQ(neighbor(&grid, 0, 0), UTOFU_ERR_INVALID_SIZE);
	grid = ring;
	grid.periodic = 2;
	EXPECT_EQ(neighbor(&grid, 0, 0), UTOFU_ERR_INVALID_SIZE);
	grid = ring;
	grid.dims = 0;
	EXPECT_EQ(neighbor(&grid, 0, 0), UTOFU_ERR_INVALID_SIZE);
	grid.dims = 7;
	EXPECT_EQ(neighbor(&grid, 0, 0), UTOFU_ERR_INVALID_SIZE);
}

TEST_HARNESS_MAIN
