// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "harness.h"

#include "net/topology.h"

static const char *const shapes[] = { "1", "2", "7", "2x2",
				      "4x3x2", "2x3x5x2x3x2", "1x1x1x2x3x2",
				      "3x1x4x1x3x2" };
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct tofu_shape parse(const char *text)
{
	struct tofu_shape shape = { { 0 } };

	tofu_shape_parse(text, &shape);
	return shape;
}

/* Links between two coordinates of an axis, the shorter way. */
static unsigned int distance(unsigned int size, bool torus, unsigned int a,
			     unsigned int b)
{
	unsigned int d = a > b ? a - b : b - a;

	return torus && size - d < d ? size - d : d;
}

static bool is_torus(int axis)
{
	return axis != TOFU_A && axis != TOFU_C;
}

TEST(shapes_are_parsed)
{
	struct tofu_shape s;

	ASSERT_EQ(0, tofu_shape_parse("4", &s));
	EXPECT_EQ(4, s.size[TOFU_X]);
	EXPECT_EQ(1, s.size[TOFU_Y]);
	EXPECT_EQ(4, tofu_shape_nodes(&s));
	ASSERT_EQ(0, tofu_shape_parse("4x3x8", &s));
	EXPECT_EQ(8, s.size[TOFU_Z]);
	EXPECT_EQ(96, tofu_shape_nodes(&s));
	ASSERT_EQ(0, tofu_shape_parse("256x256x256x2x3x2", &s));
	EXPECT_EQ(201326592, tofu_shape_nodes(&s));
}

TEST(bad_shapes_are_refused)
{
	static const char *const bad[] = {
		"",
		"x",
		"0",
		"257",
		"-1",
		"+1",
		" 1",
		"1 ",
		"2x",
		"x2",
		"2xx2",
		"2x2x2x2",
		"2x2x2x2x2",
		"1x1x1x3x3x2",
		"1x1x1x2x4x2",
		"1x1x1x2x3x3",
		"1x1x1x2x3x2x1",
		"2X2",
		"4294967297",
		"1x0x1",
	};
	struct tofu_shape s = parse("5");

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(-EINVAL, tofu_shape_parse(bad[i], &s));
	EXPECT_EQ(5, s.size[TOFU_X]);
}

TEST(shapes_are_packed)
{
	for (size_t i = 0; i < SHAPES; i++) {
		struct tofu_shape s = parse(shapes[i]), t;

		ASSERT_EQ(0, tofu_shape_unpack(tofu_shape_pack(&s), &t));
		EXPECT_EQ(0, memcmp(&s, &t, sizeof(s)));
	}
}

TEST(bad_packed_shapes_are_refused)
{
	struct tofu_shape s = parse("4x3x8"), t;
	uint64_t word = tofu_shape_pack(&s);

	EXPECT_EQ(-EINVAL, tofu_shape_unpack(0, &t));
	EXPECT_EQ(-EINVAL, tofu_shape_unpack(word | 1ULL << 63, &t));
	EXPECT_EQ(-EINVAL, tofu_shape_unpack(word | 0x3ff, &t));
	EXPECT_EQ(-EINVAL, tofu_shape_unpack(word | 3ULL << 30, &t));
}

TEST(node_at_inverts_coords_of)
{
	for (size_t i = 0; i < SHAPES; i++) {
		struct tofu_shape s = parse(shapes[i]);

		for (uint32_t n = 0; n < tofu_shape_nodes(&s); n++) {
			struct tofu_coords c = tofu_coords_of(&s, n);
			struct tofu_coords d =
				tofu_coords_unpack(tofu_coords_pack(&c));

			ASSERT_EQ(n, tofu_node_at(&s, &c));
			ASSERT_EQ(n, tofu_node_at(&s, &d));
		}
	}
}

TEST(c_counts_fastest)
{
	struct tofu_shape s = parse("2x2x2x2x3x2");
	struct tofu_coords c = tofu_coords_of(&s, 1);

	EXPECT_EQ(1, c.c[TOFU_C]);
	c = tofu_coords_of(&s, tofu_shape_nodes(&s) / 2);
	EXPECT_EQ(1, c.c[TOFU_X]);
}

TEST(coordinates_outside_are_no_node)
{
	struct tofu_shape s = parse("2x3x4x2x3x2");

	for (int i = 0; i < TOFU_AXES; i++) {
		struct tofu_coords c = { { 0 } };

		c.c[i] = (uint8_t)s.size[i];
		EXPECT_EQ(-1, tofu_node_at(&s, &c));
	}
}

/* A hop is a link: one step along one axis, by the port of that direction. */
static bool is_link(const struct tofu_shape *s, const struct tofu_coords *a,
		    const struct tofu_hop *hop)
{
	uint32_t from = (uint32_t)tofu_node_at(s, a);
	uint32_t to = (uint32_t)tofu_node_at(s, &hop->to);
	int differ = 0;

	for (int i = 0; i < TOFU_AXES; i++) {
		unsigned int d = distance(s->size[i], is_torus(i), a->c[i],
					  hop->to.c[i]);

		if (d > 1)
			return false;
		differ += (int)d;
	}
	return differ == 1 && from != to;
}

TEST(routes_lead_along_links)
{
	struct tofu_hop hop[TOFU_HOPS_MAX];

	for (size_t i = 0; i < SHAPES; i++) {
		struct tofu_shape s = parse(shapes[i]);
		uint32_t nodes = tofu_shape_nodes(&s);

		for (uint32_t n = 0; n < nodes * nodes * 16; n++) {
			uint32_t from = n / 16 / nodes, to = n / 16 % nodes;
			struct tofu_coords at = tofu_coords_of(&s, from);
			size_t hops = tofu_route(&s, from, to, n % 16, hop);

			ASSERT_LE(hops, TOFU_HOPS_MAX);
			for (size_t h = 0; h < hops; h++) {
				ASSERT_TRUE(is_link(&s, &at, &hop[h]));
				at = hop[h].to;
			}
			ASSERT_EQ(to, tofu_node_at(&s, &at));
		}
	}
}

static unsigned int shortest(const struct tofu_shape *s, uint32_t a, uint32_t b)
{
	struct tofu_coords x = tofu_coords_of(s, a), y = tofu_coords_of(s, b);
	unsigned int hops = 0;

	for (int i = 0; i < TOFU_AXES; i++)
		hops += distance(s->size[i], is_torus(i), x.c[i], y.c[i]);
	return hops;
}

TEST(some_path_is_shortest_and_none_is_shorter)
{
	struct tofu_shape s = parse("2x3x2x2x3x2");
	uint32_t nodes = tofu_shape_nodes(&s);
	struct tofu_hop hop[TOFU_HOPS_MAX];

	for (uint32_t n = 0; n < nodes * nodes; n++) {
		uint32_t from = n / nodes, to = n % nodes;
		unsigned int least = shortest(&s, from, to);
		size_t best = TOFU_HOPS_MAX;

		for (unsigned int p = 0; p < 16; p++) {
			size_t hops = tofu_route(&s, from, to, p, hop);

			ASSERT_GE(hops, least);
			best = hops < best ? hops : best;
		}
		ASSERT_EQ(least, best);
	}
}

TEST(both_directions_are_equally_long)
{
	struct tofu_shape s = parse("5x2x3x2x3x2");
	uint32_t nodes = tofu_shape_nodes(&s);
	struct tofu_hop hop[TOFU_HOPS_MAX];

	for (uint32_t n = 0; n < nodes * nodes; n += 7) {
		uint32_t a = n / nodes, b = n % nodes;

		for (unsigned int p = 0; p < 16; p++)
			ASSERT_EQ(tofu_route(&s, a, b, p, hop),
				  tofu_route(&s, b, a, p, hop));
	}
}

static bool same_ports(const struct tofu_hop *a, const struct tofu_hop *b,
		       size_t hops)
{
	for (size_t i = 0; i < hops; i++) {
		if (a[i].port != b[i].port)
			return false;
	}
	return true;
}

TEST(twelve_paths_differ)
{
	struct tofu_shape s = parse("3x1x1x2x3x2");
	struct tofu_hop hop[16][TOFU_HOPS_MAX];
	size_t hops[16];
	unsigned int distinct = 0;

	for (unsigned int p = 0; p < 16; p++) {
		bool seen = false;

		hops[p] = tofu_route(&s, 0, 12, p, hop[p]);
		for (unsigned int q = 0; q < p && !seen; q++)
			seen = hops[q] == hops[p] &&
			       same_ports(hop[q], hop[p], hops[p]);
		distinct += !seen;
	}
	EXPECT_EQ(TOFU_PATHS, distinct);
}

TEST(path_coordinates_are_absolute_and_cut_to_the_shape)
{
	struct tofu_shape s = parse("2x1x1x2x3x2");
	struct tofu_hop hop[TOFU_HOPS_MAX];
	unsigned int path = TOFU_SET(TOFU_PATH_B, 1) | TOFU_SET(TOFU_PATH_C, 1);

	ASSERT_EQ(5, tofu_route(&s, 0, 12, path, hop));
	EXPECT_EQ(TOFU_PORT_BP, hop[0].port);
	EXPECT_EQ(TOFU_PORT_C, hop[1].port);
	EXPECT_EQ(TOFU_PORT_XP, hop[2].port);
	EXPECT_EQ(TOFU_PORT_C, hop[3].port);
	EXPECT_EQ(TOFU_PORT_BM, hop[4].port);
	s = parse("4");
	EXPECT_EQ(1, tofu_route(&s, 0, 1, 15, hop));
}

TEST(a_torus_goes_the_shorter_way_and_plus_on_a_tie)
{
	struct tofu_shape s = parse("6");
	struct tofu_hop hop[TOFU_HOPS_MAX];

	ASSERT_EQ(2, tofu_route(&s, 0, 4, 0, hop));
	EXPECT_EQ(TOFU_PORT_XM, hop[0].port);
	ASSERT_EQ(3, tofu_route(&s, 0, 3, 0, hop));
	EXPECT_EQ(TOFU_PORT_XP, hop[0].port);
	ASSERT_EQ(3, tofu_route(&s, 3, 0, 0, hop));
	EXPECT_EQ(TOFU_PORT_XP, hop[0].port);
}

TEST(longest_route_fits)
{
	struct tofu_shape s = parse("256x256x256x2x3x2");
	struct tofu_hop hop[TOFU_HOPS_MAX];
	struct tofu_coords far = { { 128, 128, 128, 0, 0, 0 } };
	unsigned int path = TOFU_SET(TOFU_PATH_A, 1) |
			    TOFU_SET(TOFU_PATH_B, 1) | TOFU_SET(TOFU_PATH_C, 1);
	uint32_t to = (uint32_t)tofu_node_at(&s, &far);

	EXPECT_EQ(TOFU_HOPS_MAX, tofu_route(&s, 0, to, path, hop));
}

TEST(no_hop_to_itself)
{
	struct tofu_shape s = parse("2x2x2x2x3x2");
	struct tofu_hop hop[TOFU_HOPS_MAX];

	for (unsigned int p = 0; p < 16; p++)
		EXPECT_EQ(0, tofu_route(&s, 17, 17, p, hop));
}

TEST(ports_reverse)
{
	static const enum tofu_port other[TOFU_PORTS] = {
		TOFU_PORT_XM,
		TOFU_PORT_XP,
		TOFU_PORT_YM,
		TOFU_PORT_YP,
		TOFU_PORT_ZM,
		TOFU_PORT_ZP,
		TOFU_PORT_A,
		TOFU_PORT_BM,
		TOFU_PORT_BP,
		TOFU_PORT_C,
	};

	for (int p = 0; p < TOFU_PORTS; p++)
		EXPECT_EQ(other[p], tofu_port_reverse(p));
}

TEST(a_neighbour_is_where_the_first_hop_leads)
{
	static const char *const shapes[] = { "3x4x5", "2x2x2x2x3x2", "1" };

	for (unsigned int i = 0; i < 3; i++) {
		struct tofu_shape shape;
		struct tofu_hop hop[TOFU_HOPS_MAX];

		ASSERT_EQ(0, tofu_shape_parse(shapes[i], &shape));
		for (uint32_t n = 0; n < tofu_shape_nodes(&shape); n++) {
			for (int port = 0; port < TOFU_PORTS; port++) {
				const int64_t to =
					tofu_neighbour(&shape, n, port);

				if (to < 0)
					continue;
				EXPECT_EQ(n, tofu_neighbour(
						     &shape, (uint32_t)to,
						     tofu_port_reverse(port)));
				EXPECT_LE(1, tofu_route(&shape, n,
							(uint32_t)to, 0, hop));
			}
		}
	}
}

TEST(an_axis_of_one_node_has_no_neighbour)
{
	struct tofu_shape shape;

	ASSERT_EQ(0, tofu_shape_parse("1x3", &shape));
	EXPECT_EQ(-1, tofu_neighbour(&shape, 0, TOFU_PORT_XP));
	EXPECT_EQ(-1, tofu_neighbour(&shape, 0, TOFU_PORT_C));
	EXPECT_EQ(1, tofu_neighbour(&shape, 0, TOFU_PORT_YP));
	EXPECT_EQ(2, tofu_neighbour(&shape, 0, TOFU_PORT_YM));
	EXPECT_EQ(0, tofu_neighbour(&shape, 2, TOFU_PORT_YP));
}

/* ---- Virtual channels ---- */

#define BUFFERS (TOFU_PORTS * TOFU_VCS)

/**
 * struct waits - which buffers packets hold while they wait for which
 * @after: by buffer: a bit for each buffer of the next node
 * @degree: how many wait for a buffer
 */
struct waits {
	struct tofu_shape shape;
	uint32_t nodes;
	uint64_t *after;
	uint32_t *degree;
};

/* The buffer behind the link that leaves @node. */
static size_t buffer_at(uint32_t node, unsigned int port, unsigned int channel)
{
	return (size_t)node * BUFFERS + port * TOFU_VCS + channel;
}

static void wait_along(struct waits *w, uint32_t from, uint32_t to,
		       unsigned int path, bool channels)
{
	struct tofu_hop hop[TOFU_HOPS_MAX];
	const size_t hops = tofu_route(&w->shape, from, to, path, hop);
	uint32_t node = from;
	size_t held = 0;

	for (size_t i = 0; i < hops; i++) {
		const unsigned int channel = channels ? hop[i].channel : 0;
		const size_t wanted = buffer_at(node, hop[i].port, channel);
		const uint64_t bit = 1ULL << wanted % BUFFERS;

		if (i && !(w->after[held] & bit)) {
			w->after[held] |= bit;
			w->degree[wanted]++;
		}
		held = wanted;
		node = (uint32_t)tofu_node_at(&w->shape, &hop[i].to);
	}
}

static void wait_everywhere(struct waits *w, bool channels)
{
	for (uint32_t from = 0; from < w->nodes; from++) {
		for (uint32_t to = 0; to < w->nodes; to++) {
			for (unsigned int path = 0; path < 16; path++)
				if (tofu_path_valid(path))
					wait_along(w, from, to, path, channels);
		}
	}
}

/* Take away what waits for nothing that is left; what remains is in a circle. */
static size_t in_circles(struct waits *w)
{
	const size_t all = (size_t)w->nodes * BUFFERS;
	size_t *stack = calloc(all, sizeof(*stack));
	size_t free_ones = 0, taken = 0;

	for (size_t b = 0; b < all; b++) {
		if (!w->degree[b])
			stack[free_ones++] = b;
	}
	while (free_ones) {
		const size_t b = stack[--free_ones];
		const uint32_t node = (uint32_t)(b / BUFFERS);
		const int64_t next =
			tofu_neighbour(&w->shape, node, b % BUFFERS / TOFU_VCS);

		taken++;
		for (uint64_t left = w->after[b]; left; left &= left - 1) {
			const size_t after = (size_t)next * BUFFERS +
					     (size_t)__builtin_ctzll(left);

			if (!--w->degree[after])
				stack[free_ones++] = after;
		}
	}
	free(stack);
	return all - taken;
}

static size_t circles_of(const char *shape, bool channels)
{
	struct waits w = { .shape = parse(shape) };
	size_t circles;

	w.nodes = tofu_shape_nodes(&w.shape);
	w.after = calloc((size_t)w.nodes * BUFFERS, sizeof(*w.after));
	w.degree = calloc((size_t)w.nodes * BUFFERS, sizeof(*w.degree));
	wait_everywhere(&w, channels);
	circles = in_circles(&w);
	free(w.after);
	free(w.degree);
	return circles;
}

TEST(no_buffers_wait_for_each_other_in_a_circle)
{
	EXPECT_EQ(0, circles_of("8", true));
	EXPECT_EQ(0, circles_of("1x1x1x2x3x2", true));
	EXPECT_EQ(0, circles_of("2x2x1x2x3x2", true));
	EXPECT_EQ(0, circles_of("4x5x1x2x3x2", true));
	EXPECT_EQ(0, circles_of("3x4x6x1x2x2", true));
}

/* With one channel there would be a ring, and paths that turn back. */
TEST(without_channels_they_would)
{
	EXPECT_NE(0, circles_of("8", false));
	EXPECT_NE(0, circles_of("2x1x1x2x3x2", false));
}

TEST_HARNESS_MAIN
