// SPDX-License-Identifier: MIT
/*
 * The times of a strided command's blocks, and the effect of a command's MTU
 * and gap, in virtual time; and that all commands end under any disturbance.
 */
#include "harness.h"

#include "icc-clock.h"

#define LENGTH 40000
#define START 1000

FIXTURE(pace)
{
	struct net *net;
	struct cq *a, *b;
	struct region *src, *dst;
	struct transfer put, get;
	uint64_t read; /* when the engine reads a packet posted at START */
};

static void prepare(FIXTURE_DATA(pace) * self, const struct tofu_preset *machine)
{
	self->net = clock_create("6", machine);
	self->a = cq_create(self->net, 0, 0, 3);
	self->b = cq_create(self->net, 1, 1, 5);
	self->src = region_create(self->a, 1, LENGTH, 256, 12, 0);
	self->dst = region_create(self->b, 2, LENGTH, 512, 12, 40);
	region_fill(self->src, 1);
	region_fill(self->dst, 2);
	self->put = (struct transfer){
		.cmd = TOFU_CMD_PUT,
		.flags = ALL_NOTICES,
		.cq = self->a,
		.lcl = self->src,
		.rmt = self->dst,
		.length = 64,
	};
	self->get = self->put;
	self->get.cmd = TOFU_CMD_GET;
	self->read = START + machine->doorbell_ns + machine->fetch_ns;
	clock_run_until(self->net, START);
}

static void forget(FIXTURE_DATA(pace) * self)
{
	region_destroy(self->src);
	region_destroy(self->dst);
	cq_destroy(self->a);
	cq_destroy(self->b);
	net_destroy(self->net);
}

FIXTURE_SETUP(pace)
{
	prepare(self, &toy);
}

FIXTURE_TEARDOWN(pace)
{
	forget(self);
}

/* From the engine's read of a packet of a put to the target's notice. */
static uint64_t put_time(uint64_t bytes)
{
	return toy.read_ns + flight(1, bytes) + toy.write_ns;
}

/* From the engine's start of a get until its target reads. */
static uint64_t get_time(void)
{
	return flight(1, 0) + toy.reply_ns;
}

/* ---- Blocks ---- */

TEST_F(pace, blocks_follow_each_other_on_the_link)
{
	struct transfer t = self->put;
	uint64_t at = self->read + put_time(64);

	t.stride = 100;
	t.blocks = 5;
	clock_post(&t);
	for (unsigned int i = 0; i < 5; i++) {
		clock_run_until(self->net, at - 1);
		EXPECT_EQ(-1, cq_mrq_status(self->b));
		clock_run_until(self->net, at);
		EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->b));
		at += 64 + toy.overhead;
	}
	clock_run(self->net);
	EXPECT_EQ(-1, cq_mrq_status(self->b));
	EXPECT_EQ(START, cq_reg(self->a, TOFU_CQ_STAMP(TOFU_CQ_TX_DOORBELL)));
}

TEST_F(pace, a_block_costs_what_a_command_does)
{
	struct tofu_preset slow = toy;
	FIXTURE_DATA(pace)
	own;

	slow.command_ns = 500;
	prepare(&own, &slow);
	own.put.stride = 100;
	own.put.blocks = 5;
	clock_post(&own.put);
	clock_run(own.net);
	EXPECT_EQ(own.read + put_time(64) + 4 * 500, notice_time(own.net, 1));
	forget(&own);
}

TEST_F(pace, a_block_that_cannot_be_sent_costs_it_too)
{
	struct tofu_preset slow = toy;
	FIXTURE_DATA(pace)
	own;

	slow.command_ns = 500;
	prepare(&own, &slow);
	own.put.lcl_offset = TOFU_MASK(40);
	own.put.stride = 100;
	own.put.blocks = TOFU_BLOCKS_MAX;
	clock_post(&own.put);
	/* A calendar full of them does not stop the time. */
	clock_run_until(own.net, own.read + 100 * 500);
	EXPECT_EQ(own.read + 100 * 500 + 500, icc_next_time(own.a->node->icc));
	cq_disable(own.a);
	clock_run(own.net);
	forget(&own);
}

TEST_F(pace, a_direct_command_in_blocks_saves_the_fetch)
{
	struct transfer t = self->put;

	t.stride = 100;
	t.blocks = 3;
	clock_post_direct(&t);
	clock_run(self->net);
	EXPECT_EQ(self->read - toy.fetch_ns + put_time(64) +
			  2 * (64 + toy.overhead),
		  notice_time(self->net, 1));
	for (unsigned int i = 0; i < 3; i++)
		EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->b));
}

TEST_F(pace, gets_in_blocks_do_not_wait_for_each_other)
{
	struct transfer t = self->get;

	t.stride = 100;
	t.blocks = 4;
	clock_post(&t);
	clock_run(self->net);
	/* Requests of 24 bytes leave room for answers of 88. */
	EXPECT_EQ(self->read + get_time() + put_time(64) +
			  3 * (64 + toy.overhead),
		  notice_time(self->net, 0));
}

TEST_F(pace, more_blocks_than_the_window)
{
	struct transfer t = self->put;
	uint64_t entry;

	t.stride = 10;
	t.blocks = 1000;
	clock_post(&t);
	clock_post(&self->put);
	clock_run(self->net);
	for (unsigned int i = 0; i < 1001; i++) {
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(self->b));
	}
	ASSERT_TRUE(cq_tcq(self->a, &entry));
	EXPECT_EQ(0, TOFU_GET(entry, TOFU_TCQ_INDEX));
	ASSERT_TRUE(cq_tcq(self->a, &entry));
	EXPECT_EQ(2, TOFU_GET(entry, TOFU_TCQ_INDEX));
	EXPECT_EQ(-1, cq_tcq_status(self->a));
}

TEST_F(pace, blocks_end_with_their_cq)
{
	struct transfer t = self->put;

	t.blocks = TOFU_BLOCKS_MAX;
	clock_post(&t);
	clock_run_until(self->net, self->read + 100000);
	cq_disable(self->a);
	cq_reg_set(self->a, TOFU_CQ_FLUSH, 1);
	clock_run(self->net);
	EXPECT_EQ(0, cq_reg(self->a, TOFU_CQ_FLUSH));
	cq_settings(self->a);
	cq_enable(self->a);
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(self->a, TOFU_CQ_STATUS));
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
	EXPECT_EQ(-1, cq_tcq_status(self->a));
}

TEST_F(pace, blocks_to_a_peer_that_goes_end_one_by_one)
{
	unsigned int ended = 0;

	self->put.blocks = 500;
	clock_post(&self->put);
	clock_run_until(self->net, self->read + 10000);
	net_down(self->net, 1);
	clock_run(self->net);
	for (; cq_mrq_status(self->a) != -1; ended++)
		;
	EXPECT_EQ(500, ended);
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
	EXPECT_EQ(-1, cq_tcq_status(self->a));
}

/* ---- MTU ---- */

TEST_F(pace, a_put_comes_in_packets_of_its_mtu)
{
	self->put.mtu = 25; /* 200 bytes */
	self->put.length = 1000;
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(self->read + put_time(200) + 4 * (200 + toy.overhead),
		  notice_time(self->net, 1));
	EXPECT_EQ(-1, region_differs(self->src, 0, self->dst, 0, 1000));
}

TEST_F(pace, a_get_is_answered_in_packets_of_its_mtu)
{
	self->get.mtu = 25;
	self->get.length = 1000;
	clock_post(&self->get);
	clock_run(self->net);
	EXPECT_EQ(self->read + get_time() + put_time(200) +
			  4 * (200 + toy.overhead),
		  notice_time(self->net, 0));
	EXPECT_EQ(-1, region_differs(self->src, 0, self->dst, 0, 1000));
}

TEST_F(pace, no_mtu_is_beyond_the_machines)
{
	self->put.mtu = 255; /* 2040 bytes; toy has 1000 */
	self->put.length = 3000;
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(self->read + put_time(1000) + 2 * (1000 + toy.overhead),
		  notice_time(self->net, 1));
}

TEST_F(pace, the_smallest_packets_carry_all)
{
	struct transfer cmds[] = { self->put, self->get };

	for (unsigned int i = 0; i < 2; i++) {
		region_fill(self->src, 3 + i);
		cmds[i].mtu = 1;
		cmds[i].length = 3333;
		clock_post(&cmds[i]);
		clock_run(self->net);
		EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
		EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->b));
		EXPECT_EQ(-1,
			  region_differs(self->src, 0, self->dst, 0, 3333));
	}
}

/* ---- Gap ---- */

#define GAP 100
#define GAP_NS (GAP * 8) /* at a byte a ns */

TEST_F(pace, packets_of_a_put_are_a_gap_apart)
{
	self->put.gap = GAP;
	self->put.length = 3000;
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(self->read + put_time(1000) +
			  2 * (1000 + toy.overhead + GAP_NS),
		  notice_time(self->net, 1));
}

TEST_F(pace, so_are_those_of_the_answer_to_a_get)
{
	self->get.gap = GAP;
	self->get.length = 3000;
	clock_post(&self->get);
	/* A request has no data, and no gap behind it. */
	clock_post(&self->put);
	clock_run_until(self->net, self->read + toy.command_ns +
					   put_time(64) - 1);
	EXPECT_EQ(-1, cq_mrq_status(self->b));
	clock_run_until(self->net, clock_now(self->net) + 1);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->b));
	EXPECT_EQ(-1, cq_mrq_status(self->b));
	clock_run(self->net);
	EXPECT_EQ(self->read + get_time() + put_time(1000) +
			  2 * (1000 + toy.overhead + GAP_NS),
		  notice_time(self->net, 0));
}

TEST_F(pace, blocks_are_a_gap_apart)
{
	self->put.gap = GAP;
	self->put.stride = 100;
	self->put.blocks = 4;
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(self->read + put_time(64) +
			  3 * (64 + toy.overhead + GAP_NS),
		  notice_time(self->net, 1));
}

TEST_F(pace, a_gap_is_for_all_packets_of_the_engine)
{
	struct cq *c = cq_create(self->net, 0, 0, 4);
	struct transfer other = self->put;

	other.cq = c;
	other.lcl = region_create(c, 1, 100, 0, 12, 0);
	self->put.gap = GAP;
	clock_post(&self->put);
	clock_post(&other);
	clock_run(self->net);
	EXPECT_EQ(self->read + put_time(64) + 64 + toy.overhead + GAP_NS,
		  notice_time(self->net, 1));
	region_destroy(other.lcl);
	cq_destroy(c);
}

TEST_F(pace, but_not_for_other_engines)
{
	struct cq *c = cq_create(self->net, 0, 1, 4);
	struct transfer other = self->put;

	other.cq = c;
	other.lcl = region_create(c, 1, 100, 0, 12, 0);
	self->put.gap = GAP;
	clock_post(&self->put);
	clock_post(&other);
	clock_run(self->net);
	/* It only waits for the link. */
	EXPECT_EQ(self->read + put_time(64) + 64 + toy.overhead,
		  notice_time(self->net, 1));
	region_destroy(other.lcl);
	cq_destroy(c);
}

TEST_F(pace, what_was_not_sent_leaves_no_gap)
{
	struct transfer bad = self->put;

	bad.gap = 255;
	bad.lcl_offset = LENGTH;
	clock_post(&bad);
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_TCQ_STADD, cq_tcq_status(self->a));
	EXPECT_EQ(self->read + toy.command_ns + put_time(64),
		  notice_time(self->net, 1));
}

/* The queue is disabled between the first and second packet of its answer. */
TEST_F(pace, an_answer_that_fails_keeps_no_engine_busy)
{
	struct cq *c = cq_create(self->net, 1, 1, 4);
	const uint64_t answer = self->read + get_time();
	const uint64_t fails = answer + 1000 + toy.overhead + GAP_NS;
	const uint64_t next = fails + 200; /* the first packet has been taken */
	struct transfer other = self->put;

	other.cq = c;
	other.lcl = region_create(c, 1, 100, 0, 12, 0);
	other.rmt = self->src;
	self->get.gap = GAP;
	self->get.length = 3000;
	clock_post(&self->get);
	/* The engine gets it after the answer has failed. */
	clock_run_until(self->net, next - toy.doorbell_ns - toy.fetch_ns);
	clock_post(&other);
	clock_run_until(self->net, answer + 1);
	cq_disable(self->b);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(self->a));
	EXPECT_EQ(next + put_time(64), notice_time(self->net, 0));
	region_destroy(other.lcl);
	cq_destroy(c);
}

/* ---- Random lives ---- */

#define NODES 4

struct life {
	struct net *net;
	struct cq *cq[NODES];
	struct region *region[NODES];
	uint32_t seed;
};

static uint32_t random_below(struct life *l, uint32_t limit)
{
	l->seed = l->seed * 1664525 + 1013904223;
	return (l->seed >> 8) % limit;
}

static void life_create(struct life *l, uint32_t seed)
{
	l->net = clock_create("4", tofu_preset_at(seed % 4));
	l->seed = seed;
	for (uint32_t i = 0; i < NODES; i++) {
		l->cq[i] = cq_create(l->net, i, i % 2, i);
		l->region[i] = region_create(l->cq[i], 1, LENGTH, 0, 12, 0);
		if (random_below(l, 2))
			cq_session(l->cq[i]);
	}
}

static void life_destroy(struct life *l)
{
	for (uint32_t i = 0; i < NODES; i++) {
		region_destroy(l->region[i]);
		cq_destroy(l->cq[i]);
	}
	net_destroy(l->net);
}

static void life_post(struct life *l)
{
	const unsigned int from = random_below(l, NODES);
	struct transfer t = {
		.cmd = random_below(l, 2) ? TOFU_CMD_PUT : TOFU_CMD_GET,
		.flags = random_below(l, TOFU_TOQ_F_STRIDE),
		.cq = l->cq[from],
		.lcl = l->region[from],
		.rmt = l->region[random_below(l, NODES)],
		.lcl_offset = random_below(l, LENGTH + 100),
		.rmt_offset = random_below(l, LENGTH + 100),
		.length = random_below(l, 3) ? random_below(l, 300) :
					       random_below(l, 9000),
		.stride = random_below(l, 3) ? random_below(l, 300) :
					       TOFU_MASK(40),
		.blocks = random_below(l, 4) ? random_below(l, 100) :
					       TOFU_BLOCKS_MAX + 1,
		.sps = random_below(l, 4),
		.gap = random_below(l, 2) ? random_below(l, 256) : 0,
		.mtu = random_below(l, 2) ? random_below(l, 256) : 0,
	};

	if (t.blocks > TOFU_BLOCKS_MAX)
		t.blocks -= random_below(l, 2);
	if (random_below(l, 2))
		clock_post(&t);
	else
		clock_post_direct(&t);
}

static void life_step(struct life *l)
{
	const unsigned int i = random_below(l, NODES);
	struct cq *cq = l->cq[i];

	switch (random_below(l, 20)) {
	case 0:
		cq_disable(cq);
		break;
	case 1:
		cq->session = random_below(l, 2);
		cq_settings(cq);
		if (!cq_reg(cq, TOFU_CQ_CTRL))
			cq_enable(cq);
		break;
	case 2:
		icc_reset(cq->node->icc);
		break;
	case 3:
		region_steering(l->region[i])->ctrl ^=
			TOFU_SET(TOFU_STEERING_ENABLE, 1);
		break;
	case 4:
		cq_reg_set(cq, TOFU_CQ_FLUSH, 1);
		break;
	case 5:
		icc_peer_down(cq->node->icc, random_below(l, NODES));
		break;
	default:
		life_post(l);
	}
	clock_run_until(l->net, clock_now(l->net) + random_below(l, 4000));
}

/* No state is left behind: every CQ is disabled, and enabled again. */
static bool life_end(struct life *l)
{
	struct transfer put = { .cmd = TOFU_CMD_PUT, .flags = ALL_NOTICES };
	bool good = true;

	for (unsigned int i = 0; i < NODES; i++) {
		cq_disable(l->cq[i]);
		cq_reg_set(l->cq[i], TOFU_CQ_FLUSH, 1);
	}
	clock_run(l->net);
	for (unsigned int i = 0; i < NODES; i++) {
		good &= !cq_reg(l->cq[i], TOFU_CQ_FLUSH);
		region_steering(l->region[i])->ctrl |=
			TOFU_SET(TOFU_STEERING_ENABLE, 1);
		l->cq[i]->session = false;
		cq_settings(l->cq[i]);
		cq_enable(l->cq[i]);
	}
	for (unsigned int i = 0; i < NODES; i++) {
		put.cq = l->cq[i];
		put.lcl = l->region[i];
		put.rmt = l->region[(i + 1) % NODES];
		clock_post(&put);
		clock_run(l->net);
		good &= cq_tcq_status(put.cq) == TOFU_ST_OK &&
			cq_tcq_status(put.cq) == -1;
	}
	return good;
}

TEST(whatever_happens_in_the_middle_all_ends)
{
	for (uint32_t seed = 1; seed <= 60; seed++) {
		struct life l;

		life_create(&l, seed);
		for (unsigned int i = 0; i < 150; i++)
			life_step(&l);
		EXPECT_TRUE(life_end(&l)) {
			TH_LOG("seed %u", seed);
		}
		life_destroy(&l);
	}
}

TEST_HARNESS_MAIN
