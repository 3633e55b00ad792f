// SPDX-License-Identifier: MIT
/*
 * Strided commands: each block is a put or get of its own, and all of them
 * are one command of the TOQ.
 */
#include "harness.h"

#include "icc-clock.h"

#define MANY TOFU_BLOCKS_MAX

/* A pair, and a put of three blocks between its regions */
static struct transfer strided(struct pair *p, const struct net_mode *mode)
{
	struct transfer put;

	pair_create(p, mode, PAIR_LENGTH);
	put = p->put;
	put.stride = 1000;
	put.blocks = 3;
	put.lcl_offset = 100;
	put.rmt_offset = 333;
	return put;
}

FIXTURE(stride)
{
	struct pair p;
	struct transfer put;
};

FIXTURE_VARIANT(stride)
{
	struct net_mode mode;
};

NET_MODES(stride);

FIXTURE_SETUP(stride)
{
	self->put = strided(&self->p, &variant->mode);
}

FIXTURE_TEARDOWN(stride)
{
	pair_destroy(&self->p);
}

/* Untimed: waiting packets and commands can be inspected. */
FIXTURE(stride_now)
{
	struct pair p;
	struct transfer put;
};

FIXTURE_VARIANT(stride_now)
{
	struct net_mode mode;
};

NET_MODES_WITHOUT_TIME(stride_now);

FIXTURE_SETUP(stride_now)
{
	self->put = strided(&self->p, &variant->mode);
}

FIXTURE_TEARDOWN(stride_now)
{
	pair_destroy(&self->p);
}

/* Whether a block has arrived, and no other byte up to the next block. */
static bool block_there(const struct transfer *t, uint64_t i)
{
	return region_differs(t->lcl, t->lcl_offset + i * t->stride, t->rmt,
			      t->rmt_offset + i * t->stride, t->length) == -1;
}

static void both_cmds(const struct transfer *t, struct transfer cmds[2])
{
	cmds[0] = *t;
	cmds[1] = *t;
	cmds[1].cmd = TOFU_CMD_GET;
}

/* Status of the TCQ entry if there is exactly one, else -1. */
static int only_tcq_status(struct cq *cq)
{
	const int status = cq_tcq_status(cq);

	return cq_tcq_status(cq) == -1 ? status : -1;
}

static unsigned int mrq_count(struct cq *cq, int status)
{
	unsigned int count = 0;
	int found;

	while ((found = cq_mrq_status(cq)) != -1)
		count += found == status;
	return count;
}

/* ---- Blocks ---- */

TEST_F(stride, each_block_has_its_bytes_and_notices)
{
	struct pair *p = &self->p;
	struct transfer cmds[2];

	both_cmds(&self->put, cmds);
	for (unsigned int c = 0; c < 2; c++) {
		region_fill(p->src, 10 + c);
		region_fill(p->dst, 20 + c);
		transfer_post(&cmds[c]);
		net_run(p->net);
		for (uint64_t i = 0; i < 3; i++) {
			struct tofu_mrq_entry l, r;

			EXPECT_TRUE(block_there(&cmds[c], i));
			EXPECT_NE(-1, region_differs(p->src, 164 + i * 1000,
						     p->dst, 397 + i * 1000,
						     900));
			ASSERT_TRUE(cq_mrq(p->a, &l));
			ASSERT_TRUE(cq_mrq(p->b, &r));
			EXPECT_EQ(0, TOFU_GET(l.ctrl, TOFU_MRQ_STATUS));
			EXPECT_EQ(64, TOFU_GET(l.route, TOFU_ROUTE_LENGTH));
			EXPECT_EQ((1ULL << 40) + 100 + i * 1000, l.lcl);
			EXPECT_EQ((1ULL << 40) + 100 + i * 1000, r.lcl);
			EXPECT_EQ((2ULL << 40) + 333 + i * 1000, l.rmt);
			EXPECT_EQ((2ULL << 40) + 333 + i * 1000, r.rmt);
		}
		EXPECT_EQ(-1, cq_mrq_status(p->a));
		EXPECT_EQ(-1, cq_mrq_status(p->b));
		EXPECT_EQ(TOFU_ST_OK, only_tcq_status(p->a));
	}
	EXPECT_EQ(2, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_TX_COMMANDS)));
	EXPECT_EQ(6, cq_reg(p->b, TOFU_CQ_COUNTER(TOFU_CQ_RX_REQUESTS)));
}

TEST_F(stride, notices_come_only_when_asked_for)
{
	struct pair *p = &self->p;

	for (unsigned int flags = 0; flags < TOFU_TOQ_F_STRIDE; flags++) {
		self->put.flags = flags;
		transfer_post(&self->put);
		net_run(p->net);
		EXPECT_EQ(flags & TOFU_TOQ_F_LCL_NOTICE ? 3 : 0,
			  mrq_count(p->a, TOFU_ST_OK));
		EXPECT_EQ(flags & TOFU_TOQ_F_RMT_NOTICE ? 3 : 0,
			  mrq_count(p->b, TOFU_ST_OK));
		EXPECT_EQ(flags & TOFU_TOQ_F_TCQ_NOTICE ? 0 : -1,
			  only_tcq_status(p->a));
	}
}

TEST_F(stride, one_block_and_blocks_in_one_place)
{
	struct pair *p = &self->p;

	self->put.blocks = 1;
	self->put.stride = TOFU_MASK(40);
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &self->put));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
	self->put.blocks = 5;
	self->put.stride = 0;
	transfer_post(&self->put);
	net_run(p->net);
	EXPECT_EQ(5, mrq_count(p->a, TOFU_ST_OK));
	self->put.length = 0;
	transfer_post(&self->put);
	net_run(p->net);
	EXPECT_EQ(5, mrq_count(p->a, TOFU_ST_OK));
	EXPECT_EQ(1 + 5 + 5, mrq_count(p->b, TOFU_ST_OK));
}

TEST_F(stride, more_blocks_than_the_window)
{
	struct pair *p = &self->p;
	const struct transfer nop = {
		.cmd = TOFU_CMD_NOP,
		.cq = p->a,
		.flags = ALL_NOTICES,
	};
	uint64_t entry;

	self->put.stride = 64;
	self->put.blocks = 300;
	transfer_push(&nop);
	transfer_push(&self->put);
	transfer_push(&self->put);
	transfer_post(&nop);
	net_run(p->net);
	EXPECT_EQ(600, mrq_count(p->a, TOFU_ST_OK));
	EXPECT_EQ(600, mrq_count(p->b, TOFU_ST_OK));
	EXPECT_EQ(-1, region_differs(p->src, 100, p->dst, 333, 300 * 64));
	for (unsigned int i = 0; i < 4; i++) {
		static const uint64_t index[] = { 0, 1, 3, 5 };

		ASSERT_TRUE(cq_tcq(p->a, &entry));
		EXPECT_EQ(TOFU_ST_OK, TOFU_GET(entry, TOFU_TCQ_STATUS));
		EXPECT_EQ(index[i], TOFU_GET(entry, TOFU_TCQ_INDEX));
	}
	EXPECT_EQ(-1, cq_tcq_status(p->a));
}

TEST_F(stride_now, blocks_do_not_wait_for_each_other)
{
	struct pair *p = &self->p;
	struct icc *icc = p->a->node->icc;
	struct net_queue *queue = &p->b->node->queue[TOFU_REQUEST];

	self->put.blocks = MANY;
	self->put.stride = 0;
	transfer_push(&self->put);
	transfer_post(&p->put);
	p->b->node->held = true;
	for (unsigned int i = 1; i <= TOFU_WINDOW / 16; i++) {
		icc_progress(icc);
		EXPECT_EQ(16 * i, queue->count);
	}
	icc_progress(icc);
	EXPECT_EQ(TOFU_WINDOW, queue->count);
	/* The next command is not fetched before the last block has begun. */
	EXPECT_EQ(2, cq_reg(p->a, TOFU_CQ_TOQ_HEAD));
	EXPECT_EQ(-1, cq_tcq_status(p->a));
}

/* The library relies on this when it fills the TOQ: TOFU_TOQ_RESERVE. */
TEST_F(stride_now, no_more_commands_than_the_window_are_below_the_head)
{
	struct pair *p = &self->p;

	p->b->node->held = true;
	for (unsigned int blocks = 1; blocks <= 3; blocks++) {
		cq_disable(p->a);
		p->b->node->held = false;
		net_run(p->net);
		p->b->node->held = true;
		cq_enable(p->a);
		self->put.blocks = blocks;
		for (unsigned int i = 0; i < 300; i++)
			transfer_push(&self->put);
		cq_kick(p->a);
		net_run(p->net);
		EXPECT_EQ((TOFU_WINDOW + blocks - 1) / blocks * 2,
			  cq_reg(p->a, TOFU_CQ_TOQ_HEAD));
	}
}

TEST_F(stride, blocks_of_several_packets)
{
	struct pair p;
	struct transfer cmds[2];

	pair_create(&p, &variant->mode, PAIR_LARGE);
	p.put.length = 1000000;
	p.put.stride = 1234567;
	p.put.blocks = 5;
	both_cmds(&p.put, cmds);
	for (unsigned int c = 0; c < 2; c++) {
		region_fill(p.src, c);
		transfer_post(&cmds[c]);
		net_run(p.net);
		EXPECT_EQ(5, mrq_count(p.a, TOFU_ST_OK));
		EXPECT_EQ(5, mrq_count(p.b, TOFU_ST_OK));
		EXPECT_EQ(TOFU_ST_OK, only_tcq_status(p.a));
		for (uint64_t i = 0; i < 5; i++)
			EXPECT_TRUE(block_there(&cmds[c], i));
	}
	pair_destroy(&p);
}

/* ---- Errors ---- */

TEST_F(stride, a_wrong_second_slot_is_a_bad_descriptor)
{
	static const struct tofu_toq_stride bad[] = {
		{ .stride = 64, .blocks = 0 },
		{ .stride = 64, .blocks = TOFU_BLOCKS_MAX + 1 },
		{ .stride = 64, .blocks = 1ULL << 63 | 1 },
		{ .stride = 1ULL << 40, .blocks = 2 },
		{ .stride = 1ULL << 63, .blocks = 2 },
		{ .stride = 64, .blocks = 2, .reserved = { 1, 0 } },
		{ .stride = 64, .blocks = 2, .reserved = { 0, 1ULL << 63 } },
	};
	struct pair *p = &self->p;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct tofu_toq_desc desc = transfer_desc(&p->put);

		desc.ctrl |= TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_STRIDE);
		desc_post(p->a, desc);
		cq_push(p->a, &bad[i]);
		cq_kick(p->a);
		net_run(p->net);
		EXPECT_EQ(TOFU_ST_TCQ_DESC, only_tcq_status(p->a));
		EXPECT_EQ(-1, cq_mrq_status(p->a));
	}
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
}

TEST_F(stride, a_descriptor_of_an_old_round_has_no_blocks)
{
	struct pair *p = &self->p;
	struct tofu_toq_desc desc = transfer_desc(&self->put);
	const struct tofu_toq_stride second = { .stride = 64, .blocks = 9 };

	/* One slot each, and the second is not a command either. */
	desc.ctrl |= TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_STRIDE);
	cq_push(p->a, &desc);
	cq_push(p->a, &second);
	cq_kick(p->a);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_TCQ_DESC, cq_tcq_status(p->a));
	EXPECT_EQ(TOFU_ST_TCQ_DESC, cq_tcq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
}

TEST_F(stride, a_block_that_fails_does_not_stop_the_others)
{
	struct pair *p = &self->p;

	/* The first block has no page; two of ten are beyond the region. */
	self->put.blocks = 10;
	self->put.rmt_offset = PAIR_LENGTH - 7 * 1000 - 64;
	region_table(p->dst)[(512 + self->put.rmt_offset) >> 12] = 0x1000;
	transfer_post(&self->put);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_RMT_MEMORY, cq_mrq_status(p->a));
	EXPECT_EQ(TOFU_ST_OK, only_tcq_status(p->a));
	EXPECT_EQ(cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_MRQ_ERRORS)),
		  10 - mrq_count(p->b, TOFU_ST_OK));
	EXPECT_EQ(2, mrq_count(p->a, TOFU_ST_RMT_STADD));
	EXPECT_TRUE(block_there(&self->put, 7));
}

TEST_F(stride, the_tcq_has_the_first_error_of_all_blocks)
{
	struct pair *p = &self->p;

	self->put.flags = 0;
	self->put.blocks = 30;
	self->put.lcl_offset = 0;
	/* Block 4 ends in an invalid page; blocks from 20 on have no region. */
	region_table(p->src)[(256 + 4064) >> 12] = 0x1000;
	transfer_post(&self->put);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_TCQ_MEMORY, only_tcq_status(p->a));
	EXPECT_EQ(1, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_TCQ_ERRORS)));
	EXPECT_EQ(0, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_MRQ_ERRORS)));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
	EXPECT_TRUE(block_there(&self->put, 19));
	/* The error is forgotten then. */
	self->put.flags = TOFU_TOQ_F_TCQ_NOTICE;
	self->put.blocks = 2;
	transfer_post(&self->put);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_OK, only_tcq_status(p->a));
}

TEST_F(stride, an_own_offset_that_does_not_fit_is_an_error_of_its_block)
{
	struct pair *p = &self->p;

	/* Modulo 2^40 the second block would be at 64. */
	self->put.lcl_offset = (1ULL << 40) - 64;
	self->put.rmt_offset = 0;
	self->put.stride = 128;
	self->put.blocks = 2;
	transfer_post(&self->put);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_TCQ_STADD, only_tcq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	EXPECT_NE(-1, region_differs(p->src, 64, p->dst, 128, 64));
}

TEST_F(stride, a_target_offset_that_does_not_fit_is_an_error_of_its_block)
{
	struct pair *p = &self->p;
	struct transfer cmds[2];

	self->put.lcl_offset = 0;
	self->put.rmt_offset = (1ULL << 40) - 64;
	self->put.stride = 128;
	self->put.blocks = 3;
	both_cmds(&self->put, cmds);
	for (unsigned int c = 0; c < 2; c++) {
		transfer_post(&cmds[c]);
		net_run(p->net);
		EXPECT_EQ(TOFU_ST_OK, only_tcq_status(p->a));
		EXPECT_EQ(3, mrq_count(p->a, TOFU_ST_RMT_STADD));
		EXPECT_EQ(-1, cq_mrq_status(p->b));
	}
	EXPECT_NE(-1, region_differs(p->src, 128, p->dst, 64, 64));
}

TEST_F(stride_now, offsets_of_the_largest_command_do_not_wrap)
{
	struct pair *p = &self->p;
	struct icc *icc = p->a->node->icc;

	/* All other blocks are out of range: only the first may be written. */
	self->put.stride = TOFU_MASK(40);
	self->put.blocks = MANY;
	self->put.flags = TOFU_TOQ_F_RMT_NOTICE;
	transfer_post(&self->put);
	for (unsigned int i = 0; i < 2000; i++)
		net_step(p->net);
	icc_progress(icc);
	EXPECT_EQ(1, mrq_count(p->b, TOFU_ST_OK));
	EXPECT_EQ(1, cq_reg(p->b, TOFU_CQ_COUNTER(TOFU_CQ_RX_REQUESTS)));
	cq_disable(p->a);
	net_run(p->net);
}

/* ---- Ends in the middle ---- */

TEST_F(stride_now, memory_that_goes_is_looked_up_for_each_block)
{
	struct pair *p = &self->p;

	self->put.blocks = 100;
	self->put.stride = 100;
	transfer_post(&self->put);
	p->b->node->held = true;
	for (unsigned int i = 0; i < 10; i++)
		icc_progress(p->a->node->icc);
	region_steering(p->src)->ctrl = 0;
	cq_reg_set(p->a, TOFU_CQ_FLUSH, 1);
	p->b->node->held = false;
	net_run(p->net);
	EXPECT_EQ(0, cq_reg(p->a, TOFU_CQ_FLUSH));
	EXPECT_EQ(TOFU_WINDOW, mrq_count(p->b, TOFU_ST_OK));
	EXPECT_EQ(TOFU_ST_TCQ_STADD, only_tcq_status(p->a));
}

TEST_F(stride_now, disabling_ends_it_at_once)
{
	struct pair *p = &self->p;

	self->put.blocks = MANY;
	self->put.stride = 0;
	transfer_post(&self->put);
	for (unsigned int i = 0; i < 20; i++)
		net_step(p->net);
	EXPECT_NE(0, mrq_count(p->b, TOFU_ST_OK));
	cq_disable(p->a);
	cq_reg_set(p->a, TOFU_CQ_FLUSH, 1);
	net_run(p->net);
	EXPECT_EQ(0, cq_reg(p->a, TOFU_CQ_FLUSH));
	mrq_count(p->b, TOFU_ST_OK);

	cq_settings(p->a);
	cq_enable(p->a);
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(p->a, TOFU_CQ_STATUS));
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(1, mrq_count(p->b, TOFU_ST_OK));
	EXPECT_EQ(TOFU_ST_OK, only_tcq_status(p->a));
}

TEST_F(stride, an_error_does_not_outlive_its_cq)
{
	struct pair *p = &self->p;

	self->put.lcl_offset = PAIR_LENGTH;
	self->put.blocks = MANY;
	transfer_post(&self->put);
	for (unsigned int i = 0; i < 20; i++)
		net_step(p->net);
	cq_disable(p->a);
	net_run(p->net);
	cq_settings(p->a);
	cq_enable(p->a);
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(TOFU_ST_OK, only_tcq_status(p->a));
}

TEST_F(stride_now, reset_ends_it_at_once)
{
	struct pair *p = &self->p;
	struct icc *icc = p->a->node->icc;

	self->put.blocks = MANY;
	self->put.stride = 0;
	transfer_post(&self->put);
	p->b->node->held = true;
	net_step(p->net);
	icc_reset(icc);
	EXPECT_EQ(TOFU_CTRL_RESET, icc_reg_read(icc, TOFU_REG_CTRL, 8));
	p->b->node->held = false;
	net_run(p->net);
	EXPECT_EQ(0, icc_reg_read(icc, TOFU_REG_CTRL, 8));
	EXPECT_EQ(16, mrq_count(p->b, TOFU_ST_OK));
	cq_settings(p->a);
	cq_enable(p->a);
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
}

TEST_F(stride, blocks_to_a_peer_that_goes_end_one_by_one)
{
	struct pair *p = &self->p;
	const struct transfer nop = {
		.cmd = TOFU_CMD_NOP,
		.cq = p->a,
		.flags = TOFU_TOQ_F_TCQ_NOTICE,
	};

	self->put.blocks = 200;
	self->put.stride = 10;
	transfer_push(&self->put);
	transfer_post(&nop);
	p->b->node->held = true;
	net_step(p->net);
	net_down(p->net, 1);
	net_run(p->net);
	EXPECT_EQ(200, mrq_count(p->a, TOFU_ST_PEER));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
	EXPECT_EQ(TOFU_ST_OK, only_tcq_status(p->a));
}

/* ---- Random commands, and what plain copies make of them ---- */

#define REGION 30000
#define COMMANDS 12

struct model {
	struct cq *cq[2];
	struct region *region[2];
	uint8_t byte[2][REGION];
};

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % limit;
}

/* No block of a transfer overlaps memory that another block accesses. */
static struct transfer random_transfer(struct model *m, uint32_t *seed)
{
	const unsigned int from = random_below(seed, 2);
	struct transfer t = {
		.cmd = random_below(seed, 2) ? TOFU_CMD_PUT : TOFU_CMD_GET,
		.flags = random_below(seed, TOFU_TOQ_F_STRIDE) |
			 TOFU_TOQ_F_TCQ_NOTICE,
		.cq = m->cq[from],
		.lcl = m->region[from],
		.rmt = m->region[!from],
		.length = random_below(seed, 2) ? random_below(seed, 100) :
						  random_below(seed, 5000),
		.mtu = random_below(seed, 3) * 20,
		.gap = random_below(seed, 2) * 9,
	};
	uint64_t span;

	t.stride = t.length + random_below(seed, 300);
	t.blocks = 1 + random_below(seed, 150);
	if (t.blocks * t.stride > REGION / 2)
		t.blocks = REGION / 2 / (t.stride + 1) + 1;
	span = (t.blocks - 1) * t.stride + t.length;
	t.lcl_offset = random_below(seed, (uint32_t)(REGION - span + 1));
	t.rmt_offset = random_below(seed, (uint32_t)(REGION - span + 1));
	return t;
}

static void model_apply(struct model *m, const struct transfer *t)
{
	const unsigned int from = t->cq == m->cq[1];

	for (uint64_t i = 0; i < t->blocks; i++) {
		uint8_t *lcl = m->byte[from] + t->lcl_offset + i * t->stride;
		uint8_t *rmt = m->byte[!from] + t->rmt_offset + i * t->stride;

		if (t->cmd == TOFU_CMD_PUT)
			memcpy(rmt, lcl, t->length);
		else
			memcpy(lcl, rmt, t->length);
	}
}

static bool model_agrees(struct model *m)
{
	for (unsigned int i = 0; i < 2; i++) {
		for (uint64_t n = 0; n < REGION; n++) {
			if (*region_byte(m->region[i], n) != m->byte[i][n])
				return false;
		}
	}
	return true;
}

static void model_create(struct model *m, struct net *net, uint32_t seed)
{
	for (unsigned int i = 0; i < 2; i++) {
		m->cq[i] = cq_create(net, i, i, 2 + i);
		m->region[i] = region_create(m->cq[i], 1, REGION, i * 100, 12,
					     i * 24);
		region_fill(m->region[i], seed + i);
		for (uint64_t n = 0; n < REGION; n++)
			m->byte[i][n] = *region_byte(m->region[i], n);
	}
}

static void model_destroy(struct model *m)
{
	for (unsigned int i = 0; i < 2; i++) {
		region_destroy(m->region[i]);
		cq_destroy(m->cq[i]);
	}
}

/* Returns the number of the first command that went wrong; 0: none. */
static unsigned int random_run(struct net *net, uint32_t seed)
{
	struct model m;
	unsigned int wrong = 0;

	model_create(&m, net, seed);
	for (unsigned int i = 1; i <= COMMANDS && !wrong; i++) {
		const struct transfer t = random_transfer(&m, &seed);

		if (net->clock) {
			clock_post(&t);
			clock_run(net);
		} else {
			transfer_post(&t);
			net_run(net);
		}
		model_apply(&m, &t);
		if (only_tcq_status(t.cq) != TOFU_ST_OK || !model_agrees(&m) ||
		    mrq_count(t.cq, TOFU_ST_OK) !=
			    (t.flags & TOFU_TOQ_F_LCL_NOTICE ? t.blocks : 0) ||
		    mrq_count(t.rmt->cq, TOFU_ST_OK) !=
			    (t.flags & TOFU_TOQ_F_RMT_NOTICE ? t.blocks : 0))
			wrong = i;
	}
	model_destroy(&m);
	return wrong;
}

TEST(random_blocks_are_plain_copies)
{
	for (uint32_t seed = 1; seed <= 30; seed++) {
		const struct net_mode mode = { .inline_max = seed % 5 * (TOFU_PKT_INLINE_MAX / 4),
					       .mtu = 50 + seed * 31,
					       .refers = seed % 2,
					       .doorbells = seed % 3 };
		struct net *net = net_create("2", 2, &mode);

		EXPECT_EQ(0, random_run(net, seed)) {
			TH_LOG("seed %u", seed);
		}
		net_destroy(net);
	}
}

TEST(random_blocks_are_plain_copies_in_time)
{
	for (uint32_t seed = 1; seed <= 30; seed++) {
		struct net *net = clock_create("2", tofu_preset_at(seed % 4));

		EXPECT_EQ(0, random_run(net, seed)) {
			TH_LOG("seed %u", seed);
		}
		net_destroy(net);
	}
}

TEST_HARNESS_MAIN
