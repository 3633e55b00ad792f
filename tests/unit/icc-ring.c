// SPDX-License-Identifier: MIT
/*
 * Rings: rounds, order, full rings and invalid ones.
 */
#include "harness.h"

#include "icc-host.h"

#define ENTRIES TOFU_RING_ENTRIES(0)

FIXTURE(ring)
{
	struct pair p;
	struct cq *a;
	struct transfer nop;
};

FIXTURE_VARIANT(ring)
{
	struct net_mode mode;
};

NET_MODES(ring);

FIXTURE_SETUP(ring)
{
	pair_create(&self->p, &variant->mode, PAIR_LENGTH);
	self->a = self->p.a;
	self->nop = (struct transfer){ .cmd = TOFU_CMD_NOP, .cq = self->a,
				       .flags = TOFU_TOQ_F_TCQ_NOTICE };
}

FIXTURE_TEARDOWN(ring)
{
	pair_destroy(&self->p);
}

/* Untimed: waiting packets and commands can be inspected. */
FIXTURE(ring_now)
{
	struct pair p;
	struct cq *a;
	struct transfer nop;
};

FIXTURE_VARIANT(ring_now)
{
	struct net_mode mode;
};

NET_MODES_WITHOUT_TIME(ring_now);

FIXTURE_SETUP(ring_now)
{
	pair_create(&self->p, &variant->mode, PAIR_LENGTH);
	self->a = self->p.a;
	self->nop = (struct transfer){ .cmd = TOFU_CMD_NOP, .cq = self->a,
				       .flags = TOFU_TOQ_F_TCQ_NOTICE };
}

FIXTURE_TEARDOWN(ring_now)
{
	pair_destroy(&self->p);
}

/* Advance the rings by @count NOPs, taking the TCQ entries. */
static bool pass(struct pair *p, const struct transfer *nop, uint64_t count)
{
	uint64_t entry;

	for (uint64_t i = 0; i < count; i++) {
		const uint64_t index = nop->cq->tail;

		transfer_post(nop);
		net_run(p->net);
		if (!cq_tcq(nop->cq, &entry) ||
		    TOFU_GET(entry, TOFU_TCQ_INDEX) != index)
			return false;
	}
	return true;
}

TEST_F(ring, toq_and_tcq_go_through_rounds)
{
	ASSERT_TRUE(pass(&self->p, &self->nop, 5 * ENTRIES + 3));
	EXPECT_EQ(5 * ENTRIES + 3, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
	EXPECT_EQ(5 * ENTRIES + 3, cq_reg(self->a, TOFU_CQ_TCQ_TAIL));
	EXPECT_EQ(5 * ENTRIES + 3, self->a->page->toq_head);
}

TEST_F(ring, mrq_goes_through_rounds)
{
	struct tofu_mrq_entry l, r;

	for (unsigned int i = 0; i < 3 * ENTRIES + 5; i++) {
		self->p.put.edata = (uint8_t)i;
		transfer_post(&self->p.put);
		net_run(self->p.net);
		ASSERT_TRUE(cq_mrq(self->p.b, &r));
		ASSERT_TRUE(cq_mrq(self->a, &l));
		ASSERT_EQ((uint8_t)i, TOFU_GET(r.ctrl, TOFU_MRQ_EDATA));
		ASSERT_EQ((uint8_t)i, TOFU_GET(l.ctrl, TOFU_MRQ_EDATA));
	}
	EXPECT_EQ(3 * ENTRIES + 5, cq_reg(self->p.b, TOFU_CQ_MRQ_TAIL));
}

TEST_F(ring, a_full_toq_is_taken)
{
	for (unsigned int i = 0; i < ENTRIES; i++)
		transfer_push(&self->nop);
	cq_kick(self->a);
	net_run(self->p.net);
	for (unsigned int i = 0; i < ENTRIES; i++)
		ASSERT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(self->a, TOFU_CQ_STATUS));
}

TEST_F(ring_now, work_of_one_call_is_bounded)
{
	for (unsigned int i = 0; i < ENTRIES; i++)
		transfer_push(&self->nop);
	cq_kick(self->a);
	icc_progress(self->a->node->icc);
	EXPECT_LT(0, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
	EXPECT_GT(TOFU_WINDOW, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
}

static struct transfer two_slots(struct pair *p)
{
	struct transfer t = p->put;

	t.cmd = TOFU_CMD_PUT_PIGGYBACK;
	t.lcl = NULL;
	t.length = 32;
	for (unsigned int i = 0; i < 4; i++)
		t.second[i] = 0x0101010101010101ULL * (i + 1);
	return t;
}

TEST_F(ring, two_slots_wrap_around_the_end)
{
	struct transfer t = two_slots(&self->p);

	ASSERT_TRUE(pass(&self->p, &self->nop, ENTRIES - 1));
	EXPECT_EQ(TOFU_ST_OK, pair_run(&self->p, &t));
	EXPECT_EQ(4, *region_byte(self->p.dst, 31));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
	ASSERT_TRUE(pass(&self->p, &self->nop, ENTRIES));
}

TEST_F(ring, half_a_command_waits_for_the_rest)
{
	struct transfer t = two_slots(&self->p);

	ASSERT_TRUE(pass(&self->p, &self->nop, ENTRIES - 1));
	transfer_push(&t);
	cq_kick_to(self->a, self->a->tail - 1);
	net_run(self->p.net);
	EXPECT_EQ(ENTRIES - 1, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
	EXPECT_EQ(-1, cq_mrq_status(self->a));
	cq_kick(self->a);
	net_run(self->p.net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
}

TEST_F(ring, a_wrong_flip_bit_is_a_bad_descriptor_of_one_slot)
{
	struct transfer t = two_slots(&self->p);
	struct tofu_toq_desc desc = transfer_desc(&t);

	cq_push(self->a, &desc);
	transfer_post(&self->nop);
	net_run(self->p.net);
	EXPECT_EQ(TOFU_ST_TCQ_DESC, cq_tcq_status(self->a));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
	EXPECT_EQ(2, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
}

static void expect_exception(struct harness_test *_metadata, struct cq *cq)
{
	const uint64_t wanted = TOFU_CQ_STATUS_ENABLED |
				TOFU_CQ_STATUS_TOQ_EXCEPTION;

	EXPECT_EQ(wanted, cq_reg(cq, TOFU_CQ_STATUS));
	EXPECT_EQ(wanted, cq->page->status);
	EXPECT_EQ(1, cq->node->irq[TOFU_VECTOR_CQ(cq->tni, cq->cq)]);
	EXPECT_EQ(TOFU_CQ_IRQ_EXCEPTION, cq_reg(cq, TOFU_CQ_IRQ_CAUSE));
}

TEST_F(ring, a_tail_out_of_reach_stops_the_cq)
{
	static const int64_t tails[] = { ENTRIES + 1, -1, 1LL << 62 };
	struct pair *p = &self->p;

	for (unsigned int i = 0; i < 3; i++) {
		cq_reg_set(p->b, TOFU_CQ_IRQ_CAUSE, TOFU_CQ_IRQ_ALL);
		p->b->node->irq[TOFU_VECTOR_CQ(1, 5)] = 0;
		cq_reg_set(p->b, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_EXCEPTION);
		cq_kick_to(p->b, (uint64_t)tails[i]);
		net_run(p->net);
		expect_exception(_metadata, p->b);

		/* A valid tail does not restart it; other CQs are served. */
		self->nop.cq = p->b;
		transfer_post(&self->nop);
		EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
		EXPECT_EQ(0, cq_reg(p->b, TOFU_CQ_TOQ_HEAD));
		cq_disable(p->b);
		EXPECT_EQ(0, cq_reg(p->b, TOFU_CQ_STATUS));
		cq_enable(p->b);
		ASSERT_TRUE(pass(p, &self->nop, 3));
		cq_disable(p->b);
		cq_enable(p->b);
	}
}

TEST_F(ring, a_toq_where_no_memory_is_stops_the_cq)
{
	struct pair *p = &self->p;
	struct transfer t = two_slots(p);

	cq_reg_set(self->a, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_EXCEPTION);
	ASSERT_TRUE(pass(p, &self->nop, 127));
	/* The second of two slots is the first one of an unmapped page. */
	transfer_push(&t);
	self->a->node->hole[self->a->node->holes++] = self->a->toq + 4096;
	cq_kick(self->a);
	net_run(p->net);
	expect_exception(_metadata, self->a);
	EXPECT_EQ(127, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
}

TEST_F(ring, a_tcq_where_no_memory_is_harms_nobody_else)
{
	struct pair *p = &self->p;

	self->a->node->hole[self->a->node->holes++] = self->a->tcq;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	EXPECT_EQ(1, self->a->node->misuses);
}

TEST_F(ring, a_full_mrq_loses_notices)
{
	struct pair *p = &self->p;
	const uint64_t lost = TOFU_CQ_COUNTER(TOFU_CQ_MRQ_LOST);

	p->put.flags = TOFU_TOQ_F_RMT_NOTICE;
	cq_reg_set(p->b, TOFU_CQ_IRQ_ARM, TOFU_CQ_IRQ_EXCEPTION);
	for (unsigned int i = 0; i < ENTRIES; i++) {
		transfer_post(&p->put);
		net_run(p->net);
	}
	EXPECT_EQ(0, cq_reg(p->b, lost));
	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(1, cq_reg(p->b, lost));
	EXPECT_EQ(ENTRIES, cq_reg(p->b, TOFU_CQ_MRQ_TAIL));
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED | TOFU_CQ_STATUS_MRQ_OVERFLOW,
		  p->b->page->status);
	EXPECT_EQ(1, p->b->node->irq[TOFU_VECTOR_CQ(1, 5)]);
	for (unsigned int i = 0; i < ENTRIES; i++)
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
}

TEST_F(ring, absurd_mrq_positions_count_as_full)
{
	static const uint64_t absurd[] = { 1, ENTRIES, UINT64_MAX - ENTRIES,
					   1ULL << 63 };
	struct pair *p = &self->p;

	p->put.flags = TOFU_TOQ_F_RMT_NOTICE;
	for (unsigned int i = 0; i < 4; i++) {
		p->b->page->mrq_full_pointer = absurd[i];
		transfer_post(&p->put);
		net_run(p->net);
		EXPECT_EQ(i + 1, cq_reg(p->b, TOFU_CQ_COUNTER(
						      TOFU_CQ_MRQ_LOST)));
	}
	EXPECT_EQ(0, cq_reg(p->b, TOFU_CQ_MRQ_TAIL));
}

TEST_F(ring, an_mrq_where_no_memory_is_loses_notices)
{
	struct pair *p = &self->p;

	p->b->node->hole[p->b->node->holes++] = p->b->mrq;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(1, cq_reg(p->b, TOFU_CQ_COUNTER(TOFU_CQ_MRQ_LOST)));
}

TEST_F(ring_now, a_full_window_stops_fetching)
{
	struct pair *p = &self->p;

	for (unsigned int i = 0; i < TOFU_WINDOW + 10; i++)
		transfer_push(&p->put);
	cq_kick(self->a);
	p->b->node->held = true;
	net_run(p->net);
	EXPECT_EQ(TOFU_WINDOW, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
	p->b->node->held = false;
	net_run(p->net);
	EXPECT_EQ(TOFU_WINDOW + 10, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
	for (unsigned int i = 0; i < TOFU_WINDOW + 10; i++) {
		ASSERT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
	}
}

TEST_F(ring_now, tcq_entries_keep_the_order_of_the_toq)
{
	struct pair *p = &self->p;
	struct cq *c = cq_create(p->net, 2, 0, 0);
	struct region *far = region_create(c, 1, 4096, 0, 12, 0);
	struct transfer t = p->put;
	struct tofu_mrq_entry entry;
	uint64_t word;

	t.rmt = far;
	t.edata = 2;
	transfer_push(&p->put);
	transfer_push(&t);
	transfer_post(&self->nop);
	p->b->node->held = true;
	net_run(p->net);
	ASSERT_TRUE(cq_mrq(self->a, &entry));
	EXPECT_EQ(2, TOFU_GET(entry.ctrl, TOFU_MRQ_EDATA));
	EXPECT_EQ(-1, cq_tcq_status(self->a));
	p->b->node->held = false;
	net_run(p->net);
	for (unsigned int i = 0; i < 3; i++) {
		ASSERT_TRUE(cq_tcq(self->a, &word));
		EXPECT_EQ(i, TOFU_GET(word, TOFU_TCQ_INDEX));
	}
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
	region_destroy(far);
	cq_destroy(c);
}

/* When store64() was at @addr last, among the last ones; 0: not */
static unsigned int stored_at(const struct net_node *node, uint64_t addr)
{
	for (unsigned int n = node->stores; n && n + NET_STORES > node->stores;
	     n--) {
		if (node->stored[(n - 1) % NET_STORES] == addr)
			return n;
	}
	return 0;
}

/* Who finds the end of a failed command in the TCQ looks into the MRQ once. */
TEST_F(ring_now, an_error_is_there_before_the_end_of_its_command)
{
	const struct net_node *node = self->a->node;
	unsigned int ended;

	self->p.put.rmt_offset = 1ULL << 30;
	self->p.put.flags = TOFU_TOQ_F_TCQ_NOTICE;
	transfer_post(&self->p.put);
	net_run(self->p.net);
	ended = stored_at(node, self->a->tcq);
	EXPECT_NE(0, ended);
	EXPECT_NE(0, stored_at(node, self->a->mrq));
	EXPECT_LT(stored_at(node, self->a->mrq), ended);
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
	EXPECT_EQ(TOFU_ST_RMT_STADD, cq_mrq_status(self->a));
}

TEST_F(ring_now, a_dead_peer_ends_what_was_under_way_to_it)
{
	struct pair *p = &self->p;
	struct region *own = region_create(self->a, 8, 4096, 0, 12, 0);
	struct transfer t = p->put;

	for (unsigned int i = 0; i < 5; i++)
		transfer_push(&p->put);
	t.rmt = own;
	transfer_push(&t);
	p->b->node->held = true;
	self->a->node->held = true;
	cq_kick(self->a);
	net_run(p->net);
	net_down(p->net, 1);
	for (unsigned int i = 0; i < 5; i++) {
		EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
		EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(self->a));
	}
	EXPECT_EQ(-1, cq_tcq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->a));
	self->a->node->held = false;
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
	/* Commands that begin later fail at once. */
	cq_mrq_status(self->a);
	cq_mrq_status(self->a);
	EXPECT_EQ(TOFU_ST_PEER, pair_run(p, &p->put));
	region_destroy(own);
}

TEST_F(ring_now, a_dead_peer_ends_what_was_being_sent)
{
	struct pair *p = &self->p;

	p->put.flags = 0;
	p->b->node->queue[TOFU_REQUEST].room = 0;
	transfer_post(&p->put);
	net_run(p->net);
	net_down(p->net, 1);
	EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->a));
	ASSERT_TRUE(pass(p, &self->nop, TOFU_WINDOW + 1));
}

TEST_HARNESS_MAIN
