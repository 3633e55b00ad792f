// SPDX-License-Identifier: MIT
/*
 * Translations that are remembered, where the home counts the changes of its
 * tables.
 */
#include "harness.h"

#include "icc-host.h"

#define STAG_OTHER 33 /* shares its place with even ones, and so does */
#define STAG_THIRD 35

static uint64_t changes;

FIXTURE(memo)
{
	struct pair p;
};

FIXTURE_VARIANT(memo)
{
	struct net_mode mode;
};

FIXTURE_VARIANT_ADD(memo, by_reference) {
	.mode = { .mtu = 1000,
		  .inline_max = 256,
		  .refers = true,
		  .changes = &changes } };
FIXTURE_VARIANT_ADD(memo, stream) {
	.mode = { .mtu = 1000, .changes = &changes } };

FIXTURE_SETUP(memo)
{
	changes = 0;
	pair_create(&self->p, &variant->mode, PAIR_LENGTH);
}

FIXTURE_TEARDOWN(memo)
{
	pair_destroy(&self->p);
}

/* Reads of both nodes' memory for one put */
static unsigned int reads_of_put(struct pair *p)
{
	const unsigned int before = p->a->node->reads + p->b->node->reads;

	if (pair_run(p, &p->put) != TOFU_ST_OK)
		return 0;
	return p->a->node->reads + p->b->node->reads - before;
}

/* An entry of each of the two tables, in two parts, at both ends */
#define REMEMBERED 8

TEST_F(memo, tables_are_read_again_only_after_a_change)
{
	struct pair *p = &self->p;
	const unsigned int first = reads_of_put(p);

	ASSERT_GT(first, REMEMBERED);
	EXPECT_EQ(first - REMEMBERED, reads_of_put(p));
	EXPECT_EQ(first - REMEMBERED, reads_of_put(p));
	changes++;
	EXPECT_EQ(first, reads_of_put(p));
	EXPECT_EQ(first - REMEMBERED, reads_of_put(p));
}

TEST(homes_that_do_not_count_are_asked_each_time)
{
	struct pair p;
	unsigned int first;

	pair_create(&p, &by_reference, PAIR_LENGTH);
	first = reads_of_put(&p);
	EXPECT_GT(first, REMEMBERED);
	EXPECT_EQ(first, reads_of_put(&p));
	region_steering(p.dst)->ctrl = 0;
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(&p, &p.put));
	pair_destroy(&p);
}

TEST_F(memo, a_withdrawn_stag_is_gone)
{
	struct pair *p = &self->p;

	ASSERT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	region_steering(p->dst)->ctrl = 0;
	changes++;
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
}

TEST_F(memo, a_withdrawn_block_is_gone)
{
	struct pair *p = &self->p;

	ASSERT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	region_block(p->dst)->ctrl = 0;
	changes++;
	EXPECT_EQ(TOFU_ST_RMT_MEMORY, pair_run(p, &p->put));
}

/* What is remembered is checked for each access. */
TEST_F(memo, limits_and_rights_hold_each_time)
{
	struct pair *p = &self->p;
	struct transfer beyond = p->put;
	struct transfer before = p->put;
	struct transfer get = p->put;

	p->put.rmt_offset = 8;
	before.rmt_offset = 7;
	beyond.rmt_offset = p->dst->length - beyond.length + 1;
	get.cmd = TOFU_CMD_GET;
	region_steering(p->dst)->ctrl |= TOFU_SET(TOFU_STEERING_READONLY, 1);
	changes++;
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
		EXPECT_EQ(TOFU_ST_OK, pair_run(p, &get));
	}
	region_steering(p->dst)->ctrl &= ~TOFU_FIELD(TOFU_STEERING_READONLY);
	region_steering(p->dst)->ctrl |= TOFU_SET(TOFU_STEERING_FIRST, 8);
	changes++;
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
		EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &beyond));
		EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &before));
	}
}

static int64_t put_lands(struct pair *p, struct region *to, unsigned int seed)
{
	p->put.rmt = to;
	region_fill(p->src, seed);
	if (pair_run(p, &p->put) != TOFU_ST_OK)
		return 0;
	return region_differs(p->src, p->put.lcl_offset, to, p->put.rmt_offset,
			      p->put.length);
}

TEST_F(memo, stags_that_share_a_place_are_told_apart)
{
	struct pair *p = &self->p;
	struct region *one = region_create(p->b, STAG_OTHER, PAIR_LENGTH, 0, 12, 0);
	struct region *two = region_create(p->b, STAG_THIRD, PAIR_LENGTH, 0, 12, 0);

	changes++;
	for (unsigned int i = 0; i < 4; i++) {
		EXPECT_EQ(-1, put_lands(p, one, 3 * i));
		EXPECT_EQ(-1, put_lands(p, two, 3 * i + 1));
		EXPECT_EQ(-1, put_lands(p, p->dst, 3 * i + 2));
	}
	region_destroy(one);
	region_destroy(two);
}

/* The tables of a CQ's next life are others, though nothing has changed. */
TEST_F(memo, a_new_life_remembers_nothing)
{
	struct pair *p = &self->p;
	const uint64_t tables = p->b->stt;

	ASSERT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	cq_disable(p->b);
	p->b->stt = ram_alloc(p->b->node, CQ_STAGS * sizeof(struct tofu_steering),
			      sizeof(struct tofu_steering));
	cq_settings(p->b);
	cq_enable(p->b);
	EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &p->put));
	p->b->stt = tables;
}

TEST_HARNESS_MAIN
