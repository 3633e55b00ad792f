// SPDX-License-Identifier: MIT
/*
 * Session mode: commands that others carry out on a CQ release its own
 * commands, one by one.
 */
#include "harness.h"

#include "icc-clock.h"

static void set_up(struct pair *p, const struct net_mode *mode,
		   struct transfer *put, struct transfer *back)
{
	pair_create(p, mode, PAIR_LENGTH);
	cq_session(p->b);
	*put = p->put;
	put->sps = 1;
	*back = p->put;
	back->cq = p->b;
	back->lcl = p->dst;
	back->rmt = p->src;
	back->flags = TOFU_TOQ_F_TCQ_NOTICE;
}

FIXTURE(session)
{
	struct pair p;
	struct transfer put; /* from @a to @b, with a step */
	struct transfer back; /* from @b, which is in session mode, to @a */
};

FIXTURE_VARIANT(session)
{
	struct net_mode mode;
};

NET_MODES(session);

FIXTURE_SETUP(session)
{
	set_up(&self->p, &variant->mode, &self->put, &self->back);
}

FIXTURE_TEARDOWN(session)
{
	pair_destroy(&self->p);
}

/* Untimed: waiting packets and commands can be inspected. */
FIXTURE(session_now)
{
	struct pair p;
	struct transfer put, back; /* as above */
};

FIXTURE_VARIANT(session_now)
{
	struct net_mode mode;
};

NET_MODES_WITHOUT_TIME(session_now);

FIXTURE_SETUP(session_now)
{
	set_up(&self->p, &variant->mode, &self->put, &self->back);
}

FIXTURE_TEARDOWN(session_now)
{
	pair_destroy(&self->p);
}

static uint64_t fetched(struct cq *cq)
{
	return cq_reg(cq, TOFU_CQ_TOQ_HEAD);
}

static uint64_t steps(struct cq *cq)
{
	return cq_reg(cq, TOFU_CQ_SESSION);
}

static void post(struct net *net, const struct transfer *t)
{
	transfer_post(t);
	net_run(net);
}

TEST_F(session, nothing_is_fetched_without_a_step)
{
	struct pair *p = &self->p;

	transfer_post(&self->back);
	EXPECT_FALSE(icc_progress(p->b->node->icc));
	net_run(p->net);
	EXPECT_EQ(0, fetched(p->b));
	EXPECT_EQ(0, steps(p->b));
	self->put.sps = 0;
	post(p->net, &self->put);
	EXPECT_EQ(0, fetched(p->b));
	EXPECT_EQ(-1, cq_tcq_status(p->b));
}

TEST_F(session, a_step_lets_one_command_go)
{
	struct pair *p = &self->p;

	for (unsigned int i = 0; i < 4; i++)
		transfer_push(&self->back);
	cq_kick(p->b);
	for (unsigned int i = 1; i <= 3; i++) {
		post(p->net, &self->put);
		EXPECT_EQ(i, fetched(p->b));
		EXPECT_EQ(0, steps(p->b));
		EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->b));
		EXPECT_EQ(-1, cq_tcq_status(p->b));
	}
}

TEST_F(session, a_request_can_bring_many)
{
	struct pair *p = &self->p;

	for (unsigned int i = 0; i < 20; i++)
		transfer_push(&self->back);
	cq_kick(p->b);
	self->put.sps = 15;
	post(p->net, &self->put);
	EXPECT_EQ(15, fetched(p->b));
	post(p->net, &self->put);
	EXPECT_EQ(20, fetched(p->b));
	EXPECT_EQ(10, steps(p->b));
}

TEST_F(session, steps_that_come_early_are_kept)
{
	struct pair *p = &self->p;

	self->put.sps = 2;
	post(p->net, &self->put);
	EXPECT_EQ(2, steps(p->b));
	for (unsigned int i = 0; i < 3; i++)
		transfer_push(&self->back);
	cq_kick(p->b);
	net_run(p->net);
	EXPECT_EQ(2, fetched(p->b));
	EXPECT_EQ(0, steps(p->b));
}

TEST_F(session, every_request_can_bring_a_step)
{
	static const enum tofu_command cmds[] = {
		TOFU_CMD_PUT,
		TOFU_CMD_GET,
		TOFU_CMD_PUT_PIGGYBACK,
		TOFU_CMD_ARMW,
		TOFU_CMD_NOP,
	};
	struct pair *p = &self->p;

	for (unsigned int i = 0; i < 5; i++) {
		struct transfer t = self->put;

		t.cmd = cmds[i];
		t.flags = TOFU_TOQ_F_TCQ_NOTICE;
		t.length = 8;
		t.op = cmds[i] == TOFU_CMD_ARMW ? TOFU_ARMW_ADD : 0;
		t.armw_8 = cmds[i] == TOFU_CMD_ARMW;
		post(p->net, &t);
		EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
		/* All but the last one, which has no target. */
		EXPECT_EQ(i < 4 ? i + 1 : i, steps(p->b));
	}
}

TEST_F(session, a_command_of_many_packets_brings_its_steps_once)
{
	struct pair p;
	struct transfer t;

	pair_create(&p, &variant->mode, PAIR_LARGE);
	cq_session(p.b);
	t = p.put;
	t.length = 5000000;
	t.sps = 3;
	t.flags = 0;
	post(p.net, &t);
	EXPECT_EQ(3, steps(p.b));
	t.cmd = TOFU_CMD_GET;
	post(p.net, &t);
	EXPECT_EQ(6, steps(p.b));
	EXPECT_EQ(-1, region_differs(p.src, 0, p.dst, 0, t.length));
	pair_destroy(&p);
}

TEST_F(session, each_block_brings_its_steps)
{
	struct pair *p = &self->p;

	self->put.blocks = 7;
	self->put.stride = 100;
	self->put.sps = 2;
	post(p->net, &self->put);
	EXPECT_EQ(14, steps(p->b));
}

TEST_F(session, each_block_takes_a_step)
{
	struct pair *p = &self->p;

	self->back.blocks = 70; /* more than the window */
	self->back.stride = 10;
	transfer_push(&self->back);
	self->back.blocks = 1;
	transfer_push(&self->back);
	cq_kick(p->b);
	for (unsigned int i = 1; i <= 70; i++) {
		EXPECT_EQ(-1, cq_tcq_status(p->b));
		post(p->net, &self->put);
		EXPECT_EQ(i, cq_reg(p->a,
				    TOFU_CQ_COUNTER(TOFU_CQ_RX_REQUESTS)));
		EXPECT_EQ(2, fetched(p->b));
		EXPECT_EQ(0, steps(p->b));
	}
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->b));
	EXPECT_EQ(-1, cq_tcq_status(p->b));
	post(p->net, &self->put);
	EXPECT_EQ(4, fetched(p->b));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->b));
}

TEST_F(session, steps_that_are_left_over_go_to_the_next_command)
{
	struct pair *p = &self->p;

	self->put.sps = 10;
	post(p->net, &self->put);
	self->back.blocks = 7;
	self->back.stride = 10;
	transfer_push(&self->back);
	transfer_push(&self->back);
	cq_kick(p->b);
	net_run(p->net);
	EXPECT_EQ(10, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_RX_REQUESTS)));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->b));
	EXPECT_EQ(-1, cq_tcq_status(p->b));
	EXPECT_EQ(0, steps(p->b));
}

TEST_F(session, blocks_that_wait_end_with_the_queue)
{
	struct pair *p = &self->p;

	self->back.blocks = 5;
	self->back.stride = 10;
	transfer_post(&self->back);
	self->put.sps = 2;
	post(p->net, &self->put);
	EXPECT_EQ(2, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_RX_REQUESTS)));
	cq_disable(p->b);
	cq_settings(p->b);
	cq_enable(p->b);
	post(p->net, &self->put);
	EXPECT_EQ(2, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_RX_REQUESTS)));
	EXPECT_EQ(2, steps(p->b));
}

TEST_F(session, a_bad_command_takes_one_too)
{
	struct pair *p = &self->p;
	struct tofu_toq_desc desc = transfer_desc(&self->back);

	desc.route |= TOFU_ROUTE_RESERVED;
	desc_post(p->b, desc);
	desc_post(p->b, desc);
	post(p->net, &self->put);
	EXPECT_EQ(TOFU_ST_TCQ_DESC, cq_tcq_status(p->b));
	EXPECT_EQ(-1, cq_tcq_status(p->b));
	EXPECT_EQ(0, steps(p->b));
}

TEST_F(session, what_fails_brings_nothing)
{
	struct pair *p = &self->p;
	struct transfer t = self->put;

	t.rmt_offset = PAIR_LENGTH;
	post(p->net, &t);
	t.cmd = TOFU_CMD_GET;
	post(p->net, &t);
	t.cmd = TOFU_CMD_ARMW;
	t.rmt_offset = 3;
	t.length = 4;
	post(p->net, &t);
	t = self->put;
	t.lcl_offset = PAIR_LENGTH;
	post(p->net, &t);
	region_table(p->dst)[0] = 0x1000;
	post(p->net, &self->put);
	EXPECT_EQ(0, steps(p->b));
}

TEST_F(session, another_group_lets_nothing_go)
{
	struct pair *p = &self->p;

	cq_disable(p->a);
	cq_reg_set(p->a, TOFU_CQ_GPID, 1001);
	cq_enable(p->a);
	post(p->net, &self->put);
	EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(p->a));
	EXPECT_EQ(0, steps(p->b));
}

TEST_F(session, other_cqs_ignore_steps)
{
	struct pair *p = &self->p;

	p->b->session = false;
	cq_disable(p->b);
	cq_settings(p->b);
	cq_enable(p->b);
	post(p->net, &self->put);
	EXPECT_EQ(0, steps(p->b));
	post(p->net, &self->back);
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->b));
}

TEST_F(session, begins_without_steps)
{
	struct pair *p = &self->p;

	post(p->net, &self->put);
	EXPECT_EQ(1, steps(p->b));
	cq_session(p->b);
	EXPECT_EQ(0, steps(p->b));
	post(p->net, &self->back);
	EXPECT_EQ(0, fetched(p->b));
	post(p->net, &self->put);
	EXPECT_EQ(1, fetched(p->b));
	post(p->net, &self->put);
	EXPECT_EQ(1, steps(p->b));
	icc_reset(p->b->node->icc);
	EXPECT_EQ(0, steps(p->b));
}

TEST_F(session_now, the_notice_comes_before_the_step)
{
	struct pair *p = &self->p;

	transfer_post(&self->back);
	transfer_post(&self->put);
	icc_progress(p->a->node->icc);
	ASSERT_EQ(1, p->b->node->queue[TOFU_REQUEST].count);
	struct net_packet *packet = p->b->node->queue[TOFU_REQUEST].packet[0];
	const struct tofu_packet header = packet->pkt;

	ASSERT_EQ(0, icc_receive(p->b->node->icc, &header, packet->payload));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	EXPECT_EQ(0, fetched(p->b));
	EXPECT_TRUE(icc_progress(p->b->node->icc));
	EXPECT_EQ(1, fetched(p->b));
}

/* A get's step means that the source has been read, even without a notice. */
TEST(a_step_of_a_get_comes_when_its_source_has_been_read)
{
	const struct net_mode all_references = { .mtu = 1000, .refers = true };
	struct pair p;
	struct transfer t;
	uint8_t old;

	pair_create(&p, &all_references, PAIR_LENGTH);
	cq_session(p.b);
	t = p.put;
	t.cmd = TOFU_CMD_GET;
	t.flags = 0;
	t.sps = 1;
	t.length = 3000;
	old = *region_byte(p.dst, 0);
	transfer_post(&t);
	for (unsigned int i = 0; i < 100 && !steps(p.b); i++)
		net_step(p.net);
	ASSERT_EQ(1, steps(p.b));
	for (unsigned int i = 0; i < 3000; i++)
		*region_byte(p.dst, i) ^= 0xff;
	net_run(p.net);
	EXPECT_EQ(old, *region_byte(p.src, 0));
	for (unsigned int i = 0; i < 3000; i++)
		ASSERT_EQ(0xff ^ *region_byte(p.dst, i),
			  *region_byte(p.src, i));
	pair_destroy(&p);
}

TEST_F(session_now, no_count_of_steps_is_too_large)
{
	struct pair *p = &self->p;
	struct tofu_packet pkt = {
		.src = 0,
		.type = TOFU_PKT_PUT,
		.flags = TOFU_PKT_F_LAST,
		.dst_tni = 1,
		.dst_cq = 5,
		.gpid = 1000,
		.rmt = TOFU_SET(TOFU_ADDR_STAG, 2),
		.sps = 255,
	};

	for (unsigned int i = 0; i < 1000; i++) {
		ASSERT_EQ(0, icc_receive(p->b->node->icc, &pkt, NULL));
		p->a->node->queue[TOFU_RESPONSE].count--;
		free(p->a->node->queue[TOFU_RESPONSE].packet[0]);
	}
	EXPECT_EQ(255000, steps(p->b));
	pkt.flags = 0;
	icc_receive(p->b->node->icc, &pkt, NULL);
	EXPECT_EQ(255000, steps(p->b));
}

/* ---- A chain: node n puts to node n + 1 what it got from node n - 1 ---- */

#define CHAIN 4
#define WORD 8

struct chain {
	struct cq *cq[CHAIN];
	struct region *region[CHAIN];
};

static struct transfer chain_link(struct chain *c, unsigned int from)
{
	return (struct transfer){
		.cmd = TOFU_CMD_PUT,
		.flags = ALL_NOTICES,
		.cq = c->cq[from],
		.lcl = c->region[from],
		.rmt = c->region[from + 1],
		.length = WORD,
		.sps = 1,
	};
}

static void chain_post(struct net *net, const struct transfer *t)
{
	if (net->clock)
		clock_post(t);
	else
		transfer_post(t);
}

static void chain_run(struct net *net)
{
	if (net->clock)
		clock_run(net);
	else
		net_run(net);
}

static void chain_open(struct chain *c, struct net *net)
{
	for (unsigned int i = 0; i < CHAIN; i++) {
		c->cq[i] = cq_create(net, i, i % 4, i);
		c->region[i] = region_create(c->cq[i], 1, 100, 0, 12, 0);
		region_fill(c->region[i], i);
		if (i)
			cq_session(c->cq[i]);
	}
}

/* All but the first link are posted, and wait. */
static void chain_create(struct chain *c, struct net *net)
{
	chain_open(c, net);
	for (unsigned int i = 1; i + 1 < CHAIN; i++) {
		const struct transfer t = chain_link(c, i);

		chain_post(net, &t);
	}
}

static void chain_destroy(struct chain *c)
{
	for (unsigned int i = 0; i < CHAIN; i++) {
		region_destroy(c->region[i]);
		cq_destroy(c->cq[i]);
	}
}

TEST(a_chain_goes_by_itself)
{
	struct net *net = net_create("4", 4, &by_reference);
	struct chain c;
	struct transfer first;

	chain_create(&c, net);
	net_run(net);
	EXPECT_EQ(-1, cq_mrq_status(c.cq[CHAIN - 1]));
	first = chain_link(&c, 0);
	post(net, &first);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(c.cq[CHAIN - 1]));
	EXPECT_EQ(-1, region_differs(c.region[0], 0, c.region[CHAIN - 1], 0,
				     WORD));
	EXPECT_EQ(1, steps(c.cq[CHAIN - 1]));
	chain_destroy(&c);
	net_destroy(net);
}

/* Blocks of WORD bytes, a transfer each or all of them in one. */
#define BLOCKS 4
#define STRIDE 20

static void chain_post_blocks(struct chain *c, struct net *net,
			      unsigned int from, bool strided)
{
	struct transfer t = chain_link(c, from);

	if (strided) {
		t.blocks = BLOCKS;
		t.stride = STRIDE;
		chain_post(net, &t);
		return;
	}
	for (unsigned int i = 0; i < BLOCKS; i++) {
		t.lcl_offset = i * STRIDE;
		t.rmt_offset = i * STRIDE;
		chain_post(net, &t);
	}
}

static bool block_here(const struct chain *c, unsigned int node, unsigned int i)
{
	return region_differs(c->region[0], i * STRIDE, c->region[node],
			      i * STRIDE, WORD) == -1;
}

/*
 * Blocks that enter the chain one by one leave it one by one, whether they are
 * forwarded as single commands or as blocks of one command.
 */
static void forward(struct harness_test *_metadata, struct net *net,
		    unsigned int strided)
{
	struct chain c;

	chain_open(&c, net);
	for (unsigned int n = 1; n + 1 < CHAIN; n++)
		chain_post_blocks(&c, net, n, strided >> n & 1);
	for (unsigned int i = 0; i < BLOCKS; i++) {
		struct transfer t = chain_link(&c, 0);

		t.lcl_offset = i * STRIDE;
		t.rmt_offset = i * STRIDE;
		chain_post(net, &t);
		chain_run(net);
		for (unsigned int j = 0; j < BLOCKS; j++) {
			EXPECT_EQ(j <= i, block_here(&c, CHAIN - 1, j))
			{
				TH_LOG("block %u after %u, strided %#x", j, i,
				       strided);
			}
		}
		EXPECT_EQ(i + 1, steps(c.cq[CHAIN - 1]));
	}
	chain_destroy(&c);
}

TEST(a_chain_forwards_each_block_when_it_has_come)
{
	for (unsigned int strided = 0; strided < 1U << CHAIN; strided += 2) {
		struct net *net = net_create("4", 4, &by_reference);

		forward(_metadata, net, strided);
		net_destroy(net);
		net = clock_create("4", &toy);
		forward(_metadata, net, strided);
		net_destroy(net);
	}
}

TEST(a_chain_forwards_blocks_that_come_together)
{
	for (unsigned int strided = 0; strided < 1U << CHAIN; strided++) {
		struct net *net = clock_create("4", &toy);
		struct chain c;

		chain_open(&c, net);
		for (unsigned int n = CHAIN - 1; n-- > 0;)
			chain_post_blocks(&c, net, n, strided >> n & 1);
		clock_run(net);
		for (unsigned int i = 0; i < BLOCKS; i++)
			EXPECT_TRUE(block_here(&c, CHAIN - 1, i));
		EXPECT_EQ(BLOCKS, steps(c.cq[CHAIN - 1]));
		chain_destroy(&c);
		net_destroy(net);
	}
}

/* ---- In time ---- */

static uint64_t put_time(void)
{
	return toy.read_ns + flight(1, WORD) + toy.write_ns;
}

TEST(a_chain_fetches_when_it_is_let_go)
{
	struct net *net = clock_create("4", &toy);
	struct chain c;
	struct transfer first;
	uint64_t start;

	chain_create(&c, net);
	clock_run(net);
	start = clock_now(net);
	first = chain_link(&c, 0);
	clock_post(&first);
	clock_run(net);
	start += toy.doorbell_ns + toy.fetch_ns + put_time();
	for (uint32_t i = 1; i + 1 < CHAIN; i++) {
		start += toy.reply_ns;
		EXPECT_EQ(start, cq_reg(c.cq[i],
					TOFU_CQ_STAMP(TOFU_CQ_TX_ENGINE)));
		start += toy.fetch_ns + put_time();
	}
	EXPECT_EQ(start, notice_time(net, CHAIN - 1));
	EXPECT_EQ(-1, region_differs(c.region[0], 0, c.region[CHAIN - 1], 0,
				     WORD));
	chain_destroy(&c);
	net_destroy(net);
}

/* A block needs its step; its descriptor has been fetched before. */
TEST(a_block_that_is_let_go_is_not_fetched)
{
	struct net *net = clock_create("4", &toy);
	struct transfer first;
	struct chain c;
	uint64_t start;

	chain_open(&c, net);
	chain_post_blocks(&c, net, CHAIN - 2, true);
	first = chain_link(&c, 0);
	first.rmt = c.region[CHAIN - 2];
	clock_post(&first);
	clock_run(net);
	start = clock_now(net);
	clock_post(&first);
	clock_run(net);
	start += toy.doorbell_ns + toy.fetch_ns + toy.read_ns +
		 flight(2, WORD) + toy.write_ns + toy.reply_ns;
	EXPECT_EQ(start, cq_reg(c.cq[CHAIN - 2],
				TOFU_CQ_STAMP(TOFU_CQ_TX_ENGINE)));
	EXPECT_EQ(start + put_time(), notice_time(net, CHAIN - 1));
	chain_destroy(&c);
	net_destroy(net);
}

TEST(a_command_that_comes_after_its_step_waits_for_its_doorbell)
{
	struct net *net = clock_create("4", &toy);
	struct chain c;
	struct transfer t;
	uint64_t start;

	chain_create(&c, net);
	t = chain_link(&c, 0);
	t.rmt = c.region[3];
	clock_post(&t);
	clock_run(net);
	EXPECT_EQ(1, steps(c.cq[3]));
	t = chain_link(&c, 0);
	t.cq = c.cq[3];
	t.lcl = c.region[3];
	t.rmt = c.region[0];
	start = clock_now(net);
	clock_post(&t);
	clock_run(net);
	EXPECT_EQ(start + toy.doorbell_ns + toy.fetch_ns + put_time(),
		  notice_time(net, 0));
	chain_destroy(&c);
	net_destroy(net);
}

/* A command that answers a put arrives after the put has ended. */
static void answer(struct harness_test *_metadata,
		   const struct tofu_preset *machine)
{
	struct net *net = clock_create("4", machine);
	struct tofu_mrq_entry entry;
	struct transfer ask, back;
	struct chain c;

	chain_create(&c, net);
	ask = chain_link(&c, 0);
	ask.rmt = c.region[3];
	back = ask;
	back.cmd = TOFU_CMD_PUT_PIGGYBACK;
	back.cq = c.cq[3];
	back.lcl = NULL;
	back.rmt = c.region[0];
	clock_post_direct(&back);
	clock_run(net);
	clock_post(&ask);
	clock_run(net);
	ASSERT_TRUE(cq_mrq(c.cq[0], &entry));
	EXPECT_EQ(TOFU_MRQ_LCL_PUT, TOFU_GET(entry.ctrl, TOFU_MRQ_TYPE))
	{
		TH_LOG("%s", machine->name);
	}
	ASSERT_TRUE(cq_mrq(c.cq[0], &entry));
	EXPECT_EQ(TOFU_MRQ_RMT_PUT, TOFU_GET(entry.ctrl, TOFU_MRQ_TYPE));
	chain_destroy(&c);
	net_destroy(net);
}

TEST(an_answer_by_a_session_does_not_overtake)
{
	const struct tofu_preset *machine;

	for (size_t i = 0; (machine = tofu_preset_at(i)); i++)
		answer(_metadata, machine);
	answer(_metadata, &toy);
}

static uint64_t busy_sessions(unsigned int seed)
{
	struct net *net = clock_create("4", &toy);
	struct cq *cq[4];
	struct region *region[4];
	uint64_t hash;

	for (uint32_t i = 0; i < 4; i++) {
		cq[i] = cq_create(net, i, i % 2, i);
		region[i] = region_create(cq[i], 1, 9000, 0, 12, 0);
		if (i)
			cq_session(cq[i]);
	}
	for (unsigned int i = 0; i < 200; i++) {
		struct transfer t = { .flags = ALL_NOTICES };

		seed = seed * 1103515245 + 12345;
		t.cq = cq[seed >> 16 & 3];
		t.lcl = region[seed >> 16 & 3];
		t.rmt = region[seed >> 18 & 3];
		t.cmd = seed >> 20 & 1 ? TOFU_CMD_PUT : TOFU_CMD_GET;
		t.length = seed >> 21 & 511;
		t.sps = seed >> 18 & 3;
		t.gap = seed >> 24 & 31;
		t.mtu = seed >> 25 & 63;
		t.blocks = seed >> 26 & 7;
		t.stride = 600;
		clock_post(&t);
		clock_run_until(net, clock_now(net) + (seed >> 16 & 0xfff));
	}
	clock_run(net);
	hash = clock_hash(net);
	for (uint32_t i = 0; i < 4; i++) {
		region_destroy(region[i]);
		cq_destroy(cq[i]);
	}
	net_destroy(net);
	return hash;
}

TEST(the_same_sessions_have_the_same_trace)
{
	EXPECT_EQ(busy_sessions(1), busy_sessions(1));
	EXPECT_NE(busy_sessions(1), busy_sessions(2));
}

/* A put that its initiator cannot finish has begun at the target. */
TEST(a_put_that_fails_on_its_way_lets_nothing_go)
{
	struct net *net = clock_create("2", &toy);
	struct cq *a = cq_create(net, 0, 0, 0), *b = cq_create(net, 1, 0, 0);
	struct transfer t = {
		.cmd = TOFU_CMD_PUT,
		.flags = ALL_NOTICES,
		.cq = a,
		.lcl = region_create(a, 1, 9000, 0, 12, 0),
		.rmt = region_create(b, 1, 9000, 0, 12, 0),
		.length = 5000,
		.sps = 1,
	};
	const uint64_t read = toy.doorbell_ns + toy.fetch_ns;

	cq_session(b);
	clock_post(&t);
	clock_run_until(net, read + 1500);
	region_steering(t.lcl)->ctrl = 0;
	clock_run(net);
	EXPECT_EQ(TOFU_ST_LCL_STADD, cq_mrq_status(a));
	EXPECT_EQ(0, steps(b));
	region_destroy(t.lcl);
	region_destroy(t.rmt);
	cq_destroy(a);
	cq_destroy(b);
	net_destroy(net);
}

TEST_HARNESS_MAIN
