// SPDX-License-Identifier: MIT
/* tofu-halo's patterns: who sends what to whom; and what is in a message. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "halo/halo.h"

static const struct tofu_grid square = { 2, { 4, 3 }, 3 };
static const struct tofu_grid cube = { 3, { 3, 3, 3 }, 7 };

static unsigned int nodes_of(const struct tofu_grid *grid)
{
	unsigned int nodes = 1;

	for (unsigned int i = 0; i < grid->dims; i++)
		nodes *= grid->size[i];
	return nodes;
}

/* Message @i of a node comes where its receiver expects it. */
static bool is_paired(const struct halo_pattern *all, unsigned int node,
		      unsigned int i)
{
	const struct halo_message *m = &all[node].message[i];
	const struct halo_message *there = &all[m->to].message[m->back];

	return there->from == node && there->back == i &&
	       there->bytes == m->bytes && there->part == m->part;
}

static bool all_paired(const struct tofu_grid *grid,
		       const struct halo_pattern *all)
{
	for (unsigned int node = 0; node < nodes_of(grid); node++)
		for (unsigned int i = 0; i < all[node].count; i++)
			if (!is_paired(all, node, i))
				return false;
	return true;
}

static bool neighbors_paired(const struct tofu_grid *grid, unsigned int count)
{
	struct halo_pattern *all = calloc(nodes_of(grid), sizeof(*all));
	bool good;

	for (unsigned int node = 0; node < nodes_of(grid); node++)
		halo_pattern_neighbor(grid, node, count, 100, &all[node]);
	good = all[0].count == count && all_paired(grid, all);
	free(all);
	return good;
}

TEST(every_message_is_received)
{
	static const struct tofu_grid grids[] = {
		{ 1, { 5 }, 1 },
		{ 1, { 1 }, 1 },
		{ 2, { 4, 3 }, 3 },
		{ 2, { 1, 2 }, 3 },
		{ 3, { 3, 3, 3 }, 7 },
		{ 4, { 2, 2, 1, 3 }, 15 },
		{ 6, { 2, 1, 3, 1, 2, 2 }, 63 },
	};

	for (size_t g = 0; g < sizeof(grids) / sizeof(grids[0]); g++)
		for (unsigned int n = 1; n <= HALO_MESSAGES_MAX; n++) {
			EXPECT_TRUE(neighbors_paired(&grids[g], n))
			{
				TH_LOG("grid %zu, %u neighbours", g, n);
			}
		}
}

TEST(every_message_of_scale_is_received)
{
	static struct sched_workload workload;

	for (size_t s = 0; s < SCHED_SETS; s++) {
		struct halo_pattern *all = calloc(12, sizeof(*all));

		sched_workload_scale(&workload, &sched_sets[s], 60);
		for (unsigned int node = 0; node < 12; node++)
			halo_pattern_scale(&square, node, &workload,
					   &all[node]);
		EXPECT_EQ(workload.count, all[0].count);
		EXPECT_TRUE(all_paired(&square, all));
		free(all);
	}
}

TEST(scale_goes_in_the_directions_of_its_puts)
{
	static const char *const names[] = {
		"north-west",
		"north-west",
		"north-east",
		"north-east",
		"south-west",
		"south-west",
		"south-east",
		"south-east",
		"east",
		"west",
		"north",
		"north",
		"south",
		"south",
	};
	static struct sched_workload workload;
	struct halo_pattern pattern;

	sched_workload_scale(&workload, sched_set_find("all"), 60);
	halo_pattern_scale(&square, 4, &workload, &pattern);
	ASSERT_EQ(14, pattern.count);
	for (unsigned int i = 0; i < 14; i++) {
		EXPECT_STREQ(names[i], pattern.message[i].direction);
		EXPECT_EQ(workload.request[i].bytes, pattern.message[i].bytes);
	}
	/* 4 is (1, 1) of 4x3 */
	EXPECT_EQ(2, pattern.message[0].to);
	EXPECT_EQ(8, pattern.message[2].to);
	EXPECT_EQ(0, pattern.message[4].to);
	EXPECT_EQ(6, pattern.message[6].to);
	EXPECT_EQ(7, pattern.message[8].to);
	EXPECT_EQ(1, pattern.message[9].to);
	EXPECT_EQ(5, pattern.message[10].to);
	EXPECT_EQ(3, pattern.message[12].to);
}

TEST(the_nearest_in_space_are_along_the_axes)
{
	static const unsigned int axes[] = { 22, 4, 16, 10, 14, 12 };
	struct halo_pattern pattern;
	uint32_t seen = 0;

	/* 13 is (1, 1, 1), in the middle. */
	halo_pattern_neighbor(&cube, 13, 26, 8, &pattern);
	for (unsigned int i = 0; i < 6; i++)
		EXPECT_EQ(axes[i], pattern.message[i].to);
	for (unsigned int i = 0; i < 26; i++)
		seen |= 1U << pattern.message[i].to;
	EXPECT_EQ(0x7ffffffU & ~(1U << 13), seen);
	EXPECT_STREQ("+1,+0,+0", pattern.message[0].direction);
}

TEST(the_nearest_on_a_plane_have_names)
{
	static const char *const names[] = {
		"east",
		"west",
		"north",
		"south",
		"north-east",
		"south-west",
		"south-east",
		"north-west",
		"+2,+0",
		"-2,+0",
	};
	struct halo_pattern pattern;

	halo_pattern_neighbor(&square, 0, 10, 8, &pattern);
	for (unsigned int i = 0; i < 10; i++)
		EXPECT_STREQ(names[i], pattern.message[i].direction);
}

TEST(the_last_of_an_odd_number_goes_around)
{
	struct halo_pattern pattern;

	halo_pattern_neighbor(&cube, 13, 5, 8, &pattern);
	EXPECT_EQ(4, pattern.message[4].back);
	EXPECT_EQ(14, pattern.message[4].to);
	EXPECT_EQ(12, pattern.message[4].from);
}

TEST(buffers_do_not_touch)
{
	struct halo_pattern pattern;

	for (size_t bytes = 1; bytes < 200; bytes++) {
		size_t end = 0;

		halo_pattern_neighbor(&square, 0, 7, bytes, &pattern);
		for (unsigned int i = 0; i < 7; i++) {
			const struct halo_message *m = &pattern.message[i];

			EXPECT_EQ(0, m->offset % 8);
			EXPECT_TRUE(m->offset >= end + HALO_GUARD);
			end = m->offset + m->bytes;
		}
		EXPECT_TRUE(pattern.span >= end + HALO_GUARD);
	}
}

TEST(overlaid_they_all_fit)
{
	static struct sched_workload workload;
	struct halo_pattern pattern;

	sched_workload_scale(&workload, sched_set_find("all"), 872);
	halo_pattern_scale(&square, 0, &workload, &pattern);
	halo_pattern_overlay(&pattern);
	EXPECT_EQ(224256, pattern.span);
	for (unsigned int i = 0; i < pattern.count; i++)
		EXPECT_EQ(0, pattern.message[i].offset);
	EXPECT_EQ(1009152, pattern.bytes);
}

TEST(a_wrong_byte_is_found)
{
	static uint64_t buf[16];

	for (size_t bytes = 1; bytes <= sizeof(buf); bytes++) {
		struct payload_wrong wrong;

		payload_fill(buf, bytes, payload_seed(1, 2, 3, 4));
		wrong = payload_verify(buf, bytes, payload_seed(1, 2, 3, 4));
		EXPECT_EQ(0, wrong.count);
		((uint8_t *)buf)[bytes - 1] ^= 0x80;
		wrong = payload_verify(buf, bytes, payload_seed(1, 2, 3, 4));
		EXPECT_EQ(1, wrong.count);
		EXPECT_EQ(bytes - 1, wrong.first);
		EXPECT_EQ(wrong.expected ^ 0x80, wrong.seen);
	}
}

TEST(messages_differ)
{
	static uint64_t buf[16];
	static const uint64_t others[][4] = {
		{ 2, 2, 3, 4 },
		{ 1, 3, 3, 4 },
		{ 1, 2, 2, 4 },
		{ 1, 2, 3, 5 },
	};

	payload_fill(buf, sizeof(buf), payload_seed(1, 2, 3, 4));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		uint64_t seed = payload_seed(others[i][0], (uint32_t)others[i][1],
					  (unsigned int)others[i][2],
					  others[i][3]);

		EXPECT_TRUE(payload_verify(buf, sizeof(buf), seed).count > 100);
	}
}

TEST(guards_are_looked_at)
{
	static uint8_t area[256];
	struct payload_wrong wrong;

	payload_guard_fill(area, 0, sizeof(area));
	EXPECT_EQ(0, payload_guard_verify(area, 10, 200).count);
	area[100]++;
	wrong = payload_guard_verify(area, 10, 200);
	EXPECT_EQ(1, wrong.count);
	EXPECT_EQ(100, wrong.first);
	EXPECT_EQ(0, payload_guard_verify(area, 101, 100).count);
}

TEST_HARNESS_MAIN
