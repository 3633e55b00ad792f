// SPDX-License-Identifier: MIT
/*
 * Payload: scattered pages, references, streams, a network without room.
 */
#include "harness.h"

#include "icc-host.h"

#define PAIR_MIDDLE ((1ULL << 20) + 5000)

FIXTURE(data)
{
	struct pair p;
};

FIXTURE_VARIANT(data)
{
	struct net_mode mode;
};

NET_MODES(data);
FIXTURE_VARIANT_ADD(data, inline_none) { .mode = { .mtu = 1000, .refers = true } };
FIXTURE_VARIANT_ADD(data, inline_most) {
	.mode = { .mtu = TOFU_PKT_INLINE_MAX,
		  .inline_max = TOFU_PKT_INLINE_MAX,
		  .refers = true } };
FIXTURE_VARIANT_ADD(data, short_packets) {
	.mode = { .mtu = TOFU_SIGNAL_BYTES, .doorbells = true } };

FIXTURE_SETUP(data)
{
	pair_create(&self->p, &variant->mode, PAIR_LENGTH);
}

FIXTURE_TEARDOWN(data)
{
	pair_destroy(&self->p);
}

TEST_F(data, any_misalignment_and_length)
{
	static const uint64_t lengths[] = {
		1,    7,    8,
		199,  200,  201,
		999,  1000, 1001,
		4096, 4097, TOFU_PKT_INLINE_MAX - 1,
		TOFU_PKT_INLINE_MAX, TOFU_PKT_INLINE_MAX + 1, 12345
	};
	const unsigned int offsets = 36;
	struct pair *p = &self->p;

	for (unsigned int i = 0; i < sizeof(lengths) / sizeof(*lengths) * offsets;
	     i++) {
		struct transfer t = p->put;
		uint8_t before;

		t.cmd = i % 2 ? TOFU_CMD_GET : TOFU_CMD_PUT;
		t.length = lengths[i / offsets];
		t.lcl_offset = 3838 + i % 6;
		t.rmt_offset = 3580 + i / 6 % 6;
		region_fill(p->src, i);
		before = *region_byte(p->dst, t.rmt_offset + t.length);
		ASSERT_EQ(TOFU_ST_OK, pair_run(p, &t));
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
		ASSERT_EQ(-1, region_differs(p->src, t.lcl_offset, p->dst,
					     t.rmt_offset, t.length));
		ASSERT_EQ(before, *region_byte(p->dst,
					       t.rmt_offset + t.length));
	}
}

TEST_F(data, bytes_before_the_first_are_out_of_reach)
{
	static const uint64_t lengths[] = { 0, 1, 64 };
	struct pair *p = &self->p;
	struct transfer t = p->put;

	region_steering(p->dst)->ctrl |= TOFU_SET(TOFU_STEERING_FIRST, 40);
	for (unsigned int i = 0; i < 2 * 3; i++) {
		t.cmd = i % 2 ? TOFU_CMD_GET : TOFU_CMD_PUT;
		t.length = lengths[i / 2];
		t.rmt_offset = 40;
		EXPECT_EQ(TOFU_ST_OK, pair_run(p, &t));
		EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
		t.rmt_offset = 39;
		EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &t));
		t.rmt_offset = 0;
		EXPECT_EQ(TOFU_ST_RMT_STADD, pair_run(p, &t));
		EXPECT_EQ(-1, cq_mrq_status(p->b));
	}
}

TEST_F(data, own_bytes_before_the_first_are_out_of_reach)
{
	struct pair *p = &self->p;
	struct transfer t = p->put;

	region_steering(p->src)->ctrl |= TOFU_SET(TOFU_STEERING_FIRST, 255);
	t.lcl_offset = 255;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &t));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
	t.lcl_offset = 254;
	EXPECT_EQ(-1, pair_run(p, &t));
	EXPECT_EQ(TOFU_ST_TCQ_STADD, cq_tcq_status(p->a));
	t.cmd = TOFU_CMD_GET;
	EXPECT_EQ(-1, pair_run(p, &t));
	EXPECT_EQ(TOFU_ST_TCQ_STADD, cq_tcq_status(p->a));
}

TEST_F(data, pages_of_any_size)
{
	struct pair *p = &self->p;

	for (unsigned int shift = 12; shift <= 17; shift++) {
		struct region *a = region_create(p->a, shift, 150000, 4000,
						 shift, 0);
		struct region *b = region_create(p->b, shift, 150000, 130000,
						 29 - shift, 3);

		region_fill(a, shift);
		p->put.lcl = a;
		p->put.rmt = b;
		p->put.lcl_offset = 11;
		p->put.rmt_offset = 5;
		p->put.length = 149000;
		ASSERT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
		ASSERT_EQ(-1, region_differs(a, 11, b, 5, 149000));
		region_destroy(a);
		region_destroy(b);
	}
}

FIXTURE(largest)
{
	struct pair p;
};

FIXTURE_VARIANT(largest)
{
	struct net_mode mode;
};

NET_MODES(largest);

FIXTURE_SETUP(largest)
{
	pair_create(&self->p, &variant->mode, PAIR_LARGE);
	self->p.put.length = TOFU_LENGTH_MAX;
}

FIXTURE_TEARDOWN(largest)
{
	pair_destroy(&self->p);
}

FIXTURE(large)
{
	struct pair p;
};

FIXTURE_VARIANT(large)
{
	struct net_mode mode;
};

NET_MODES(large);

FIXTURE_SETUP(large)
{
	pair_create(&self->p, &variant->mode, PAIR_MIDDLE);
	self->p.put.length = 1 << 20;
}

FIXTURE_TEARDOWN(large)
{
	pair_destroy(&self->p);
}

/* Untimed: waiting packets and commands can be inspected. */
FIXTURE(large_now)
{
	struct pair p;
};

FIXTURE_VARIANT(large_now)
{
	struct net_mode mode;
};

NET_MODES_WITHOUT_TIME(large_now);

FIXTURE_SETUP(large_now)
{
	pair_create(&self->p, &variant->mode, PAIR_MIDDLE);
	self->p.put.length = 1 << 20;
}

FIXTURE_TEARDOWN(large_now)
{
	pair_destroy(&self->p);
}

/* Count of packets that an initiator has sent and no target has taken. */
static unsigned int under_way(struct pair *p)
{
	return p->b->node->queue[TOFU_REQUEST].count;
}

TEST_F(largest, the_largest_put)
{
	struct pair *p = &self->p;

	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(-1, region_differs(p->src, 0, p->dst, 0, TOFU_LENGTH_MAX));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
	EXPECT_EQ(TOFU_LENGTH_MAX,
		  cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_TX_BYTES)));
	EXPECT_EQ(TOFU_LENGTH_MAX,
		  cq_reg(p->b, TOFU_CQ_COUNTER(TOFU_CQ_RX_BYTES)));
}

TEST_F(largest, the_largest_get)
{
	struct pair *p = &self->p;

	p->put.cmd = TOFU_CMD_GET;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(-1, region_differs(p->src, 0, p->dst, 0, TOFU_LENGTH_MAX));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
}

/* Software that sees RMT_GET may reuse the memory. */
TEST_F(large_now, the_source_has_been_read_when_its_notice_is_there)
{
	struct pair *p = &self->p;
	int notice = -1;

	p->put.cmd = TOFU_CMD_GET;
	p->put.length = 1 << 20;
	region_fill(p->dst, 5);
	transfer_post(&p->put);
	while (notice < 0) {
		/* The answers stay under way while the target continues. */
		p->a->node->held = true;
		net_run(p->net);
		notice = cq_mrq_status(p->b);
		if (notice >= 0)
			region_fill(p->dst, 6);
		p->a->node->held = false;
		ASSERT_TRUE(net_step(p->net));
	}
	net_run(p->net);
	ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
	region_fill(p->dst, 5);
	EXPECT_EQ(-1, region_differs(p->src, 0, p->dst, 0, 1 << 20));
}

TEST(adjacent_pages_are_one_reference)
{
	struct pair pair, *p = &pair;
	struct region *a, *b;

	pair_create(p, &by_reference, PAIR_LARGE);
	a = region_create(p->a, 9, 1 << 20, 0, 20, 0);
	b = region_create(p->b, 9, 1 << 20, 0, 20, 0);

	/* The same bytes once more, as 4 KiB pages. */
	for (unsigned int i = 0; i < 256; i++)
		region_table(p->src)[i] = a->page[0] + i * 4096ULL;
	region_steering(p->src)->mbva = 0;
	p->put.rmt = b;
	p->put.length = 200000;
	region_fill(a, 77);
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(-1, region_differs(a, 0, b, 0, 200000));
	EXPECT_EQ(1, p->b->node->pulls);
	region_destroy(a);
	region_destroy(b);
	pair_destroy(p);
}

FIXTURE(impatient)
{
	struct pair p;
};

FIXTURE_VARIANT(impatient)
{
	enum tofu_command cmd;
	enum tofu_class class_;
};

FIXTURE_VARIANT_ADD(impatient, put) { TOFU_CMD_PUT, TOFU_REQUEST };
FIXTURE_VARIANT_ADD(impatient, get) { TOFU_CMD_GET, TOFU_RESPONSE };

FIXTURE_SETUP(impatient)
{
	const struct net_mode mode = NET_IMPATIENT;

	pair_create(&self->p, &mode, PAIR_MIDDLE);
	self->p.put.cmd = variant->cmd;
	self->p.put.flags &= ~TOFU_TOQ_F_RMT_NOTICE;
}

FIXTURE_TEARDOWN(impatient)
{
	pair_destroy(&self->p);
}

/* How many of the first packets in a queue refer to memory */
static unsigned int referring(const struct net_queue *queue, unsigned int of)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < of; i++)
		count += !!(queue->packet[i]->pkt.flags & TOFU_PKT_F_REFS);
	return count;
}

TEST_F(impatient, what_is_left_goes_by_reference)
{
	struct pair *p = &self->p;
	struct cq *taker = variant->class_ == TOFU_REQUEST ? p->b : p->a;
	struct net_queue *queue = &taker->node->queue[variant->class_];

	p->put.length = 100000;
	region_fill(p->put.cmd == TOFU_CMD_PUT ? p->src : p->dst, 5);
	queue->room = 10;
	taker->node->held = true;
	transfer_post(&p->put);
	net_run(p->net);
	EXPECT_EQ(10, queue->count);
	EXPECT_EQ(0, referring(queue, 10));
	/* Another look in vain, with which patience ends */
	queue->room = 100;
	queue->tight = true;
	net_run(p->net);
	net_run(p->net);
	ASSERT_EQ(11, queue->count);
	EXPECT_EQ(1, referring(queue, 11));
	queue->tight = false;
	taker->node->held = false;
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
	EXPECT_LT(0, taker->node->pulls);
	EXPECT_EQ(-1, region_differs(p->src, 0, p->dst, 0, p->put.length));
}

/* What it would refer to, when there is room, is no longer registered. */
TEST(an_answer_without_room_refers_to_nothing)
{
	const struct net_mode mode = NET_BY_REFERENCE;
	struct net_queue *queue;
	struct pair pair, *p = &pair;

	pair_create(p, &mode, PAIR_LARGE);
	queue = &p->a->node->queue[TOFU_RESPONSE];
	p->put.cmd = TOFU_CMD_GET;
	p->put.flags &= ~TOFU_TOQ_F_RMT_NOTICE;
	p->put.length = 2 << 20;
	queue->room = 1;
	p->a->node->held = true;
	transfer_post(&p->put);
	net_run(p->net);
	ASSERT_EQ(1, queue->count);
	region_steering(p->dst)->ctrl = 0;
	queue->room = 100;
	net_run(p->net);
	EXPECT_EQ(2, queue->count);
	EXPECT_EQ(TOFU_ST_RMT_STADD, queue->packet[1]->pkt.status);
	EXPECT_EQ(queue->packet[0]->pkt.length,
		  cq_reg(p->b, TOFU_CQ_COUNTER(TOFU_CQ_RX_BYTES)));
	p->a->node->held = false;
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_RMT_STADD, cq_mrq_status(p->a));
	pair_destroy(p);
}

TEST_F(impatient, who_keeps_up_gets_data)
{
	struct pair *p = &self->p;

	p->put.length = 100000;
	EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
	EXPECT_EQ(0, p->a->node->pulls + p->b->node->pulls);
	EXPECT_EQ(-1, region_differs(p->src, 0, p->dst, 0, p->put.length));
}

TEST_F(large, no_notice_after_an_error_in_any_page)
{
	struct pair *p = &self->p;
	const unsigned int pages = (1 << 20) / 4096;

	p->put.length = 1 << 20;
	for (unsigned int cmd = 0; cmd < 2; cmd++) {
		p->put.cmd = cmd ? TOFU_CMD_GET : TOFU_CMD_PUT;
		/* The last ones are of packets that are sent together. */
		for (unsigned int i = 0; i <= pages;
		     i += i < pages - 4 ? 28 : 1) {
			const uint64_t page = region_table(p->dst)[i];

			region_table(p->dst)[i] = 0x1000;
			EXPECT_EQ(TOFU_ST_RMT_MEMORY, pair_run(p, &p->put));
			EXPECT_EQ(-1, cq_mrq_status(p->a));
			EXPECT_EQ(-1, cq_mrq_status(p->b));
			region_table(p->dst)[i] = page;
		}
		EXPECT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
		EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	}
}

TEST_F(largest, local_error_after_the_first_packet_is_told_by_the_mrq)
{
	struct pair *p = &self->p;

	region_block(p->src)->npage = 4097;
	region_block(p->src)->table = p->a->node->base + RAM_SIZE - 8 * 200;
	memcpy(ram_at(p->a->node, region_block(p->src)->table, 1600),
	       p->src->page, 1600);
	EXPECT_EQ(TOFU_ST_LCL_MEMORY, pair_run(p, &p->put));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
}

TEST_F(large_now, deregistered_between_packets)
{
	struct pair *p = &self->p;

	p->put.length = 1 << 20;
	p->b->node->queue[TOFU_REQUEST].room = 1;
	transfer_post(&p->put);
	net_step(p->net);
	net_step(p->net);
	region_steering(p->src)->ctrl = 0;
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_LCL_STADD, cq_mrq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
}

TEST_F(large, a_source_page_that_is_none)
{
	struct pair *p = &self->p;

	p->put.length = 1 << 20;
	region_table(p->src)[100] = 0x1000;
	EXPECT_EQ(TOFU_ST_LCL_MEMORY, pair_run(p, &p->put));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
}

/* Room for one packet each way, and for none during some steps. */
TEST_F(large_now, a_network_without_room_delays_only)
{
	struct pair *p = &self->p;

	for (unsigned int i = 0; i < 12; i++) {
		struct transfer t = p->put;

		t.cmd = i % 2 ? TOFU_CMD_GET : TOFU_CMD_PUT;
		t.length = i < 6 ? 100 + i : (1 << 20) + i;
		t.lcl_offset = i;
		transfer_push(&t);
	}
	cq_kick(p->a);
	for (unsigned int step = 0; step < 40000; step++) {
		p->b->node->queue[TOFU_REQUEST].room = step % 3 == 0;
		p->a->node->queue[TOFU_RESPONSE].room = step % 5 == 0;
		net_step(p->net);
	}
	for (unsigned int i = 0; i < 12; i++) {
		ASSERT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	}
	EXPECT_EQ(12, cq_reg(p->a, TOFU_CQ_COUNTER(TOFU_CQ_TX_COMMANDS)));
	EXPECT_EQ(-1, region_differs(p->src, 11, p->dst, 0, (1 << 20) + 11));
}

TEST_F(large_now, a_request_without_room_for_its_answer_changes_nothing)
{
	struct pair *p = &self->p;
	const uint8_t before = *region_byte(p->dst, 0);

	p->put.length = 1;
	*region_byte(p->src, 0) = (uint8_t)~before;
	p->a->node->queue[TOFU_RESPONSE].room = 0;
	EXPECT_EQ(-1, pair_run(p, &p->put));
	EXPECT_EQ(before, *region_byte(p->dst, 0));
	EXPECT_EQ(-1, cq_mrq_status(p->b));
	EXPECT_EQ(1, under_way(p));
	p->a->node->queue[TOFU_RESPONSE].room = 1;
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
	EXPECT_EQ((uint8_t)~before, *region_byte(p->dst, 0));
}

TEST_HARNESS_MAIN
