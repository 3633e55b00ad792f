// SPDX-License-Identifier: MIT
/* Logical coordinates: a torus of three axes, folded through the machine's six. */
#include <limits.h>

#include "harness.h"

#include "fold.h"
#include "net/topology.h"

static struct tofu_shape parse(const char *text)
{
	struct tofu_shape shape = { { 0 } };

	tofu_shape_parse(text, &shape);
	return shape;
}

static bool adjacent(const struct tofu_shape *shape, uint32_t a, uint32_t b)
{
	if (a == b)
		return false;
	for (int port = 0; port < TOFU_PORTS; port++)
		if (tofu_neighbour(shape, a, (enum tofu_port)port) == b)
			return true;
	return false;
}

static int64_t node_at(const struct tofu_shape *shape, const int logical[])
{
	struct tofu_coords coords;

	if (!fjmpi_fold_machine(shape->size, logical, coords.c))
		return -1;
	return tofu_node_at(shape, &coords);
}

/* Of a node: there and back, and its next one on each logical axis. */
static bool node_good(const struct tofu_shape *shape, uint32_t node)
{
	struct tofu_coords coords = tofu_coords_of(shape, node);
	int size[3], logical[3], next[3];

	fjmpi_fold_shape(shape->size, size);
	fjmpi_fold_logical(shape->size, coords.c, logical);
	if (node_at(shape, logical) != node)
		return false;
	for (int axis = 0; axis < 3; axis++) {
		memcpy(next, logical, sizeof(next));
		next[axis] = (logical[axis] + 1) % size[axis];
		if (size[axis] > 1 &&
		    !adjacent(shape, node, (uint32_t)node_at(shape, next)))
			return false;
	}
	return true;
}

/* Each node has its own logical coordinates, for there is a way back. */
static bool shape_good(const struct tofu_shape *shape)
{
	int size[3];

	fjmpi_fold_shape(shape->size, size);
	if (tofu_shape_nodes(shape) != (uint32_t)(size[0] * size[1] * size[2]))
		return false;
	for (uint32_t node = 0; node < tofu_shape_nodes(shape); node++)
		if (!node_good(shape, node))
			return false;
	return true;
}

TEST(logical_neighbours_are_neighbours_on_every_small_machine)
{
	struct tofu_shape s;

	for (int i = 0; i < 5 * 6 * 4 * 2 * 3 * 2; i++) {
		s = (struct tofu_shape){ {
			(uint16_t)(i % 5 + 1), (uint16_t)(i / 5 % 6 + 1),
			(uint16_t)(i / 30 % 4 + 1), (uint16_t)(i / 120 % 2 + 1),
			(uint16_t)(i / 240 % 3 + 1), (uint16_t)(i / 720 + 1) } };
		ASSERT_TRUE(shape_good(&s))
			TH_LOG("%ux%ux%ux%ux%ux%u", s.size[0], s.size[1],
			       s.size[2], s.size[3], s.size[4], s.size[5]);
	}
}

TEST(so_they_are_on_long_axes)
{
	static const char *const shapes[] = { "256x1x1x2x1x1", "255x1x1x2x1x1",
					      "1x256x1x1x3x1", "1x255x1x1x3x1",
					      "1x254x1x1x2x1", "1x1x255x1x1x2",
					      "256x3x2x2x3x2" };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct tofu_shape s = parse(shapes[i]);

		ASSERT_EQ(0, !shape_good(&s)) TH_LOG("%s", shapes[i]);
	}
}

static int dimensions(const char *text, int logical[])
{
	struct tofu_shape s = parse(text);

	return fjmpi_fold_shape(s.size, logical);
}

TEST(a_short_shape_is_the_logical_shape)
{
	int logical[3];

	EXPECT_EQ(1, dimensions("4", logical));
	EXPECT_EQ(4, logical[0]);
	EXPECT_EQ(2, dimensions("4x2", logical));
	EXPECT_EQ(2, logical[1]);
	EXPECT_EQ(2, dimensions("1x4", logical));
	EXPECT_EQ(1, logical[0]);
	EXPECT_EQ(3, dimensions("4x3x8", logical));
	EXPECT_EQ(8, logical[2]);
	EXPECT_EQ(1, dimensions("1", logical));
	EXPECT_EQ(1, logical[0]);
}

TEST(six_sizes_are_at_most_three)
{
	int logical[3];

	EXPECT_EQ(3, dimensions("2x3x4x2x3x2", logical));
	EXPECT_EQ(4, logical[0]);
	EXPECT_EQ(9, logical[1]);
	EXPECT_EQ(8, logical[2]);
	EXPECT_EQ(2, dimensions("2x1x1x2x3x1", logical));
	EXPECT_EQ(1, dimensions("3x1x1x2x1x1", logical));
	EXPECT_EQ(6, logical[0]);
}

TEST(without_short_axes_coordinates_are_the_same)
{
	struct tofu_shape s = parse("3x4x2");

	for (uint32_t node = 0; node < 24; node++) {
		struct tofu_coords c = tofu_coords_of(&s, node);
		int logical[3];

		fjmpi_fold_logical(s.size, c.c, logical);
		for (int i = 0; i < 3; i++)
			EXPECT_EQ(c.c[i], logical[i]);
	}
}

TEST(outside_there_is_no_node)
{
	static const int outside[][3] = {
		{ -1, 0, 0 }, { 4, 0, 0 },    { 0, 9, 0 },
		{ 0, 0, 8 },  { 0, INT_MIN, 0 }, { INT_MAX, 0, 0 },
	};
	struct tofu_shape s = parse("2x3x4x2x3x2");

	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		EXPECT_EQ(-1, node_at(&s, outside[i]));
}

TEST_HARNESS_MAIN
