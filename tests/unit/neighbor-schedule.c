// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "neighbor/parts.h"

#define NEIGHBORS_MAX 64
#define ENGINES_MAX 8

static struct tofu_neighbor_plan plan_of(bool segmented, unsigned int n,
					 unsigned int c)
{
	return segmented ? tofu_neighbor_plan_segmented(n, c) :
			   tofu_neighbor_plan_native(n, c);
}

/* How often each segment of each neighbour is sent in a plan. */
static void count_puts(const struct tofu_neighbor_plan *plan,
		       unsigned int sent[NEIGHBORS_MAX][ENGINES_MAX])
{
	struct tofu_neighbor_put put;

	memset(sent, 0, sizeof(sent[0]) * NEIGHBORS_MAX);
	for (unsigned int step = 0; step < plan->steps; step++)
		for (unsigned int e = 0; e < plan->engines; e++)
			if (tofu_neighbor_plan_put(plan, step, e, &put))
				sent[put.neighbor][put.segment]++;
}

TEST(everything_is_sent_once)
{
	unsigned int sent[NEIGHBORS_MAX][ENGINES_MAX];

	for (unsigned int n = 1; n <= NEIGHBORS_MAX; n++)
		for (unsigned int c = 1; c <= ENGINES_MAX; c++)
			for (int segmented = 0; segmented < 2; segmented++) {
				struct tofu_neighbor_plan plan =
					plan_of(segmented, n, c);

				count_puts(&plan, sent);
				for (unsigned int i = 0; i < n; i++)
					for (unsigned int s = 0;
					     s < plan.segments; s++)
						ASSERT_EQ(1, sent[i][s]);
			}
}

/* Whether each put of the plan is found where it is */
static bool places_found(const struct tofu_neighbor_plan *plan)
{
	unsigned int step, engine;
	struct tofu_neighbor_put put;

	for (unsigned int s = 0; s < plan->steps; s++)
		for (unsigned int e = 0; e < plan->engines; e++) {
			if (!tofu_neighbor_plan_put(plan, s, e, &put))
				continue;
			tofu_neighbor_plan_place(plan, &put, &step, &engine);
			if (step != s || engine != e)
				return false;
		}
	return true;
}

TEST(a_put_is_found_in_its_step_on_its_engine)
{
	for (unsigned int n = 1; n <= NEIGHBORS_MAX; n++)
		for (unsigned int c = 1; c <= ENGINES_MAX; c++)
			for (int segmented = 0; segmented < 2; segmented++) {
				struct tofu_neighbor_plan plan =
					plan_of(segmented, n, c);

				ASSERT_TRUE(places_found(&plan))
				TH_LOG("%u neighbours, %u engines", n, c);
			}
}

TEST(no_two_engines_of_a_step_aim_at_one_neighbour)
{
	struct tofu_neighbor_put put;

	for (unsigned int n = 1; n <= NEIGHBORS_MAX; n++)
		for (unsigned int c = 1; c <= ENGINES_MAX; c++) {
			struct tofu_neighbor_plan plan =
				tofu_neighbor_plan_segmented(n, c);

			for (unsigned int s = 0; s < plan.steps; s++) {
				uint64_t seen = 0;

				for (unsigned int e = 0; e < c; e++) {
					if (!tofu_neighbor_plan_put(&plan, s, e,
								    &put))
						continue;
					ASSERT_EQ(0, seen >> put.neighbor & 1);
					seen |= 1ULL << put.neighbor;
				}
			}
		}
}

TEST(segmented_steps_have_work_for_every_engine)
{
	struct tofu_neighbor_put put;

	for (unsigned int n = 3; n <= NEIGHBORS_MAX; n++)
		for (unsigned int c = 2; c < n && c <= ENGINES_MAX; c++) {
			struct tofu_neighbor_plan plan =
				tofu_neighbor_plan_segmented(n, c);

			/* N' / C' = N / C: nothing is sent twice. */
			ASSERT_EQ(plan.steps * c, n * plan.segments);
			for (unsigned int s = 0; s < plan.steps; s++)
				for (unsigned int e = 0; e < c; e++)
					ASSERT_TRUE(tofu_neighbor_plan_put(
						&plan, s, e, &put));
		}
}

TEST(six_neighbours_on_four_engines)
{
	static const struct tofu_neighbor_put expected[3][4] = {
		{ { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 } },
		{ { 4, 0 }, { 5, 0 }, { 0, 1 }, { 1, 1 } },
		{ { 2, 1 }, { 3, 1 }, { 4, 1 }, { 5, 1 } },
	};
	struct tofu_neighbor_plan plan = tofu_neighbor_plan_segmented(6, 4);
	struct tofu_neighbor_put put;

	ASSERT_EQ(3, plan.steps);
	ASSERT_EQ(2, plan.segments);
	for (unsigned int s = 0; s < 3; s++)
		for (unsigned int e = 0; e < 4; e++) {
			ASSERT_TRUE(tofu_neighbor_plan_put(&plan, s, e, &put));
			EXPECT_EQ(expected[s][e].neighbor, put.neighbor);
			EXPECT_EQ(expected[s][e].segment, put.segment);
		}
}

TEST(nothing_to_gain_is_native)
{
	static const unsigned int cases[][2] = { { 1, 4 }, { 4, 4 }, { 3, 6 },
						 { 7, 1 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int n = cases[i][0], c = cases[i][1];
		struct tofu_neighbor_plan plan =
			tofu_neighbor_plan_segmented(n, c);

		EXPECT_EQ(1, plan.segments);
		EXPECT_EQ((n + c - 1) / c, plan.steps);
	}
}

TEST(native_sends_message_i_on_engine_i_mod_c)
{
	struct tofu_neighbor_plan plan = tofu_neighbor_plan_native(14, 4);
	struct tofu_neighbor_put put;
	unsigned int i = 0;

	ASSERT_EQ(4, plan.steps);
	for (unsigned int s = 0; s < plan.steps; s++)
		for (unsigned int e = 0; e < 4; e++, i++) {
			ASSERT_EQ(i < 14,
				  tofu_neighbor_plan_put(&plan, s, e, &put));
			if (i < 14)
				EXPECT_EQ(i, put.neighbor);
		}
}

TEST(segments_cover_a_message)
{
	static const size_t sizes[] = { 0, 1, 2, 3, 7, 8, 9, 1000, 0xffffff,
					(size_t)1 << 40 };

	for (unsigned int c = 2; c <= ENGINES_MAX; c++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct tofu_neighbor_plan plan =
				tofu_neighbor_plan_segmented(c + 1, c);
			size_t end = 0, offset = 0;

			ASSERT_EQ(c, plan.segments);
			for (unsigned int s = 0; s < c; s++) {
				size_t bytes = tofu_neighbor_segment(
					&plan, sizes[i], s, &offset);

				ASSERT_EQ(end, offset);
				ASSERT_LE(bytes, sizes[i] / c + 1);
				ASSERT_GE(bytes, sizes[i] / c);
				end += bytes;
			}
			ASSERT_EQ(sizes[i], end);
		}
}

/* ---- The same as parts of messages that differ ---- */

#define STEPS_MAX NEIGHBORS_MAX

/* An engine's list: how far each message has come, segments in order. */
static bool parts_follow(const struct tofu_part *part, unsigned int count,
			 const struct tofu_message *messages)
{
	unsigned int step = 0;

	for (unsigned int i = 0; i < count; i++) {
		size_t all = messages[part[i].message].send_bytes;

		if (part[i].step < step || part[i].offset > all ||
		    part[i].bytes > all - part[i].offset)
			return false;
		step = part[i].step;
	}
	return true;
}

/* Marks the bytes of the parts; false where one is in two of them. */
static bool parts_mark(const struct tofu_part *part, unsigned int count,
		       uint8_t seen[NEIGHBORS_MAX][NEIGHBORS_MAX])
{
	for (unsigned int i = 0; i < count; i++)
		for (size_t b = 0; b < part[i].bytes; b++)
			if (seen[part[i].message][part[i].offset + b]++)
				return false;
	return true;
}

static size_t bytes_marked(uint8_t seen[NEIGHBORS_MAX][NEIGHBORS_MAX])
{
	size_t sum = 0;

	for (int i = 0; i < NEIGHBORS_MAX * NEIGHBORS_MAX; i++)
		sum += seen[i / NEIGHBORS_MAX][i % NEIGHBORS_MAX];
	return sum;
}

/* Return: whether the engines send every byte once, of messages of 0 ... bytes. */
static bool every_byte_once(const struct tofu_neighbor_plan *plan)
{
	static uint8_t seen[NEIGHBORS_MAX][NEIGHBORS_MAX];
	struct tofu_message messages[NEIGHBORS_MAX];
	struct tofu_part part[STEPS_MAX];
	size_t sum = 0;

	memset(seen, 0, sizeof(seen));
	for (unsigned int i = 0; i < plan->neighbors; i++) {
		messages[i].send_bytes = i * 7 % NEIGHBORS_MAX;
		sum += messages[i].send_bytes;
	}
	for (unsigned int e = 0; e < plan->engines; e++) {
		unsigned int count =
			tofu_neighbor_parts(plan, e, messages, part);

		if (!parts_follow(part, count, messages) ||
		    !parts_mark(part, count, seen))
			return false;
	}
	return bytes_marked(seen) == sum;
}

TEST(every_byte_is_in_one_part)
{
	for (unsigned int n = 1; n <= NEIGHBORS_MAX; n++)
		for (unsigned int c = 1; c <= ENGINES_MAX; c++)
			for (int segmented = 0; segmented < 2; segmented++) {
				struct tofu_neighbor_plan plan =
					plan_of(segmented, n, c);

				ASSERT_TRUE(every_byte_once(&plan))
				TH_LOG("%u neighbours, %u engines", n, c);
			}
}

/*
 * Which engine sends which part of which message in which step depends on no
 * size: so the neighbour's engine of the same number waits for it.
 */
TEST(parts_are_the_same_whatever_the_sizes)
{
	struct tofu_message even[NEIGHBORS_MAX] = { 0 };
	struct tofu_message odd[NEIGHBORS_MAX];
	struct tofu_part a[STEPS_MAX], b[STEPS_MAX];

	for (unsigned int i = 0; i < NEIGHBORS_MAX; i++)
		odd[i].send_bytes = i * 1001;
	for (unsigned int n = 1; n <= NEIGHBORS_MAX; n++)
		for (unsigned int c = 1; c <= ENGINES_MAX; c++) {
			struct tofu_neighbor_plan plan = plan_of(true, n, c);

			for (unsigned int e = 0; e < c; e++) {
				unsigned int count = tofu_neighbor_parts(
					&plan, e, even, a);

				ASSERT_EQ(count, tofu_neighbor_parts(&plan, e,
								     odd, b));
				for (unsigned int i = 0; i < count; i++)
					ASSERT_TRUE(
						a[i].message == b[i].message &&
						a[i].step == b[i].step);
			}
		}
}

TEST_HARNESS_MAIN
