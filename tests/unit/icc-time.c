// SPDX-License-Identifier: MIT
/*
 * Controllers in virtual time: the times of events, by the terms of the
 * machine; and that the results are those of untimed controllers.
 */
#include "harness.h"

#include "icc-clock.h"

#define LENGTH 40000
#define START 1000

FIXTURE(timed)
{
	struct net *net;
	struct cq *a, *b;
	struct region *src, *dst;
	struct transfer put;
};

/* A ring along X, in which node n is n hops away. */
FIXTURE_SETUP(timed)
{
	self->net = clock_create("6", &toy);
	self->a = cq_create(self->net, 0, 0, 3);
	self->b = cq_create(self->net, 1, 1, 5);
	self->src = region_create(self->a, 1, LENGTH, 256, 12, 0);
	self->dst = region_create(self->b, 2, LENGTH, 512, 12, 40);
	region_fill(self->src, 1);
	region_fill(self->dst, 2);
	self->put = (struct transfer){ .cmd = TOFU_CMD_PUT,
				       .flags = ALL_NOTICES,
				       .cq = self->a,
				       .lcl = self->src,
				       .rmt = self->dst,
				       .length = 64,
				       .edata = 0x5a,
				       .tag = 0xc3 };
	clock_run_until(self->net, START);
}

FIXTURE_TEARDOWN(timed)
{
	region_destroy(self->src);
	region_destroy(self->dst);
	cq_destroy(self->a);
	cq_destroy(self->b);
	net_destroy(self->net);
}

/* ---- Times ---- */

TEST_F(timed, a_put_takes_each_part_of_its_way)
{
	const uint64_t there = START + toy.doorbell_ns + toy.fetch_ns +
			       toy.read_ns + flight(1, 64) + toy.write_ns;
	const uint64_t back = there + toy.reply_ns + flight(1, 0) +
			      toy.write_ns;

	clock_post(&self->put);
	clock_run_until(self->net, there - 1);
	EXPECT_EQ(-1, cq_mrq_status(self->b));
	EXPECT_NE(-1, region_differs(self->src, 0, self->dst, 0, 64));
	clock_run_until(self->net, there);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->b));
	EXPECT_EQ(-1, region_differs(self->src, 0, self->dst, 0, 64));
	clock_run_until(self->net, back - 1);
	EXPECT_EQ(-1, cq_tcq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->a));
	clock_run_until(self->net, back);
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
}

TEST_F(timed, a_direct_descriptor_saves_the_fetch)
{
	clock_post_direct(&self->put);
	clock_run(self->net);
	EXPECT_EQ(START + toy.doorbell_ns + toy.read_ns + flight(1, 64) +
			  toy.write_ns,
		  notice_time(self->net, 1));
	EXPECT_EQ(-1, region_differs(self->src, 0, self->dst, 0, 64));
}

TEST_F(timed, a_direct_command_of_two_slots_is_taken_whole)
{
	struct transfer t = self->put;

	t.cmd = TOFU_CMD_PUT_PIGGYBACK;
	t.lcl = NULL;
	t.length = 32;
	for (unsigned int i = 0; i < 4; i++)
		t.second[i] = 0x0101010101010101ULL * (i + 1);
	clock_post_direct(&t);
	clock_run(self->net);
	EXPECT_EQ(START + toy.doorbell_ns + flight(1, 32) + toy.write_ns,
		  notice_time(self->net, 1));
	EXPECT_EQ(4, *region_byte(self->dst, 31));
}

TEST_F(timed, piggyback_saves_the_read)
{
	struct transfer t = self->put;

	t.cmd = TOFU_CMD_PUT_PIGGYBACK;
	t.lcl = NULL;
	t.length = 8;
	clock_post(&t);
	clock_run(self->net);
	EXPECT_EQ(START + toy.doorbell_ns + toy.fetch_ns + flight(1, 8) +
			  toy.write_ns,
		  notice_time(self->net, 1));
}

TEST_F(timed, a_get_is_read_at_the_target)
{
	struct transfer t = self->put;
	uint64_t read, end;

	t.cmd = TOFU_CMD_GET;
	clock_post(&t);
	read = START + toy.doorbell_ns + toy.fetch_ns + flight(1, 0) +
	       toy.reply_ns;
	end = read + toy.read_ns + flight(1, 64) + toy.write_ns;
	clock_run(self->net);
	EXPECT_EQ(read, notice_time(self->net, 1));
	EXPECT_EQ(end, notice_time(self->net, 0));
	EXPECT_EQ(-1, region_differs(self->src, 0, self->dst, 0, 64));
}

TEST_F(timed, an_atomic_is_done_at_the_target)
{
	struct transfer t = self->put;
	uint64_t done;

	t.cmd = TOFU_CMD_ARMW;
	t.lcl = NULL;
	t.op = TOFU_ARMW_ADD;
	t.armw_8 = true;
	t.length = 8;
	t.operand = 1;
	clock_post(&t);
	done = START + toy.doorbell_ns + toy.fetch_ns + flight(1, 0) +
	       toy.atomic_ns;
	clock_run(self->net);
	EXPECT_EQ(done, notice_time(self->net, 1));
	EXPECT_EQ(done + toy.reply_ns + flight(1, 0) + toy.write_ns,
		  notice_time(self->net, 0));
}

TEST_F(timed, each_hop_takes_its_time)
{
	for (uint32_t node = 1; node <= 3; node++) {
		struct cq *b = cq_create(self->net, node, 2, 7);
		struct region *dst = region_create(b, 9, 100, 0, 12, 0);
		struct transfer t = self->put;
		const uint64_t start = clock_now(self->net);

		t.rmt = dst;
		clock_post(&t);
		clock_run(self->net);
		EXPECT_EQ(start + toy.doorbell_ns + toy.fetch_ns +
				  toy.read_ns + flight(node, 64) +
				  toy.write_ns,
			  notice_time(self->net, node));
		region_destroy(dst);
		cq_destroy(b);
	}
}

TEST_F(timed, stamps_say_where_the_time_went)
{
	uint64_t wire;

	clock_post(&self->put);
	clock_run(self->net);
	wire = START + toy.doorbell_ns + toy.fetch_ns + toy.read_ns +
	       toy.send_ns;
	EXPECT_EQ(START, cq_reg(self->a, TOFU_CQ_STAMP(TOFU_CQ_TX_DOORBELL)));
	EXPECT_EQ(START + toy.doorbell_ns,
		  cq_reg(self->a, TOFU_CQ_STAMP(TOFU_CQ_TX_ENGINE)));
	EXPECT_EQ(wire, cq_reg(self->a, TOFU_CQ_STAMP(TOFU_CQ_TX_WIRE)));
	EXPECT_EQ(wire, cq_reg(self->b, TOFU_CQ_STAMP(TOFU_CQ_RX_WIRE)));
	EXPECT_EQ(wire + flight(1, 64) - toy.send_ns - toy.receive_ns,
		  cq_reg(self->b, TOFU_CQ_STAMP(TOFU_CQ_RX_ENGINE)));
	EXPECT_EQ(notice_time(self->net, 1),
		  cq_reg(self->b, TOFU_CQ_STAMP(TOFU_CQ_RX_NOTICE)));
}

/* ---- When memory is read ---- */

TEST_F(timed, payload_is_read_when_the_engine_reads_it)
{
	const uint64_t read = START + toy.doorbell_ns + toy.fetch_ns;

	clock_post(&self->put);
	clock_run_until(self->net, read - 1);
	*region_byte(self->src, 0) = 0x11;
	clock_run_until(self->net, read);
	*region_byte(self->src, 1) = 0x22;
	clock_run(self->net);
	EXPECT_EQ(0x11, *region_byte(self->dst, 0));
	EXPECT_NE(0x22, *region_byte(self->dst, 1));
}

TEST_F(timed, packets_are_read_one_after_the_other)
{
	/* The third packet is read two packet times after the first. */
	const uint64_t third = START + toy.doorbell_ns + toy.fetch_ns + 2000;

	self->put.length = 5000;
	clock_post(&self->put);
	clock_run_until(self->net, third - 1);
	*region_byte(self->src, 1999) ^= 0xff; /* of the second: too late */
	*region_byte(self->src, 2000) ^= 0xff;
	clock_run_until(self->net, third);
	*region_byte(self->src, 2999) ^= 0xff; /* too late */
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
	EXPECT_EQ(1999, region_differs(self->src, 0, self->dst, 0, 5000));
	EXPECT_EQ(-1, region_differs(self->src, 2000, self->dst, 2000, 999));
	EXPECT_EQ(0, region_differs(self->src, 2999, self->dst, 2999, 1));
	EXPECT_EQ(-1, region_differs(self->src, 3000, self->dst, 3000, 2000));
}

TEST_F(timed, a_command_is_not_seen_before_its_own_doorbell_has_come)
{
	struct transfer second = self->put;

	second.lcl_offset = 100;
	second.rmt_offset = 100;
	second.edata = 2;
	clock_post(&self->put);
	clock_run_until(self->net, START + toy.doorbell_ns - 1);
	clock_post(&second);
	clock_run_until(self->net, START + toy.doorbell_ns);
	EXPECT_EQ(1, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
	clock_run_until(self->net, START + 2 * toy.doorbell_ns - 1);
	EXPECT_EQ(2, cq_reg(self->a, TOFU_CQ_TOQ_HEAD));
}

/* ---- Rates ---- */

/* Time from the first byte read to the last notice of @length bytes. */
static uint64_t stream(struct net *net, struct transfer t, uint64_t length)
{
	const uint64_t start = clock_now(net);

	t.length = length;
	clock_post(&t);
	clock_run(net);
	return notice_time(net, (uint32_t)t.rmt->cq->node->number) - start;
}

TEST_F(timed, a_link_carries_headers_too)
{
	const uint64_t one = stream(self->net, self->put, 1000);
	const uint64_t many = stream(self->net, self->put, 31000);

	EXPECT_EQ(30 * (toy.mtu + toy.overhead), many - one);
}

TEST_F(timed, an_engine_can_be_slower_than_its_link)
{
	struct tofu_preset slow = toy;
	struct net *net;
	struct transfer t = self->put;

	slow.tni_mbs = 500;
	net = clock_create("2", &slow);
	t.cq = cq_create(net, 0, 0, 0);
	t.lcl = region_create(t.cq, 1, LENGTH, 0, 12, 0);
	t.rmt = region_create(cq_create(net, 1, 0, 0), 1, LENGTH, 0, 12, 0);
	EXPECT_EQ(30 * 2000, stream(net, t, 31000) - stream(net, t, 1000));
	cq_destroy(t.rmt->cq);
	cq_destroy(t.cq);
	region_destroy(t.lcl);
	region_destroy(t.rmt);
	net_destroy(net);
}

/* A put to node 0, by links and to an engine as given. */
static struct transfer put_to_zero(struct net *net, unsigned int from,
				   struct cq *to)
{
	struct transfer t = {
		.cq = cq_create(net, from, 0, 0),
		.cmd = TOFU_CMD_PUT,
		.length = LENGTH,
		.flags = TOFU_TOQ_F_LCL_NOTICE,
	};

	t.lcl = region_create(t.cq, 1, LENGTH, 0, 12, 0);
	t.rmt = region_create(to, from, LENGTH, 0, 12, 0);
	return t;
}

static void put_destroy(struct transfer *t)
{
	region_destroy(t->rmt);
	region_destroy(t->lcl);
	cq_destroy(t->cq);
}

/* When node 4's put to engine 1 ends, while nodes 1 and 2 send to engine 0. */
static uint64_t end_beside(bool crowd)
{
	struct net *net = clock_create("2x2x2", &toy);
	struct cq *crowded = cq_create(net, 0, 0, 0);
	struct cq *idle = cq_create(net, 0, 1, 0);
	struct transfer one = put_to_zero(net, 1, crowded);
	struct transfer two = put_to_zero(net, 2, crowded);
	struct transfer t = put_to_zero(net, 4, idle);
	uint64_t end;

	if (crowd) {
		clock_post(&one);
		clock_post(&two);
	}
	clock_post(&t);
	clock_run(net);
	end = notice_time(net, 4);
	put_destroy(&t);
	put_destroy(&two);
	put_destroy(&one);
	cq_destroy(idle);
	cq_destroy(crowded);
	net_destroy(net);
	return end;
}

/*
 * Engine 0 gets twice the packets that it can take. Packets that wait for it
 * do not hold the host interface, which is four times as fast as an engine.
 */
TEST(who_waits_for_an_engine_is_in_no_others_way)
{
	const uint64_t packet = tofu_preset_ps(toy.mtu, toy.host_mbs) / 1000;
	const uint64_t alone = end_beside(false);
	const uint64_t beside = end_beside(true);

	EXPECT_LE(alone, beside);
	EXPECT_LE(beside, alone + 2 * packet);
}

/* Five engines share an interface as fast as four; all end together. */
TEST(engines_take_the_interface_in_turn)
{
	struct tofu_preset crowd = toy;
	struct cq *to[5];
	struct transfer t[5];
	struct net *net;
	uint64_t first = UINT64_MAX, last = 0;

	crowd.tnis = 5;
	crowd.link_mbs = 100 * toy.link_mbs;
	crowd.credits = 64;
	net = clock_create("2x2x2", &crowd);
	for (unsigned int i = 0; i < 5; i++) {
		to[i] = cq_create(net, 0, i, 0);
		t[i] = put_to_zero(net, 1 + i, to[i]);
		clock_post(&t[i]);
	}
	clock_run(net);
	for (unsigned int i = 0; i < 5; i++) {
		const uint64_t end = notice_time(net, 1 + i);

		first = end < first ? end : first;
		last = end > last ? end : last;
		put_destroy(&t[i]);
		cq_destroy(to[i]);
	}
	EXPECT_LE(last, first + 2 * tofu_preset_ps(crowd.mtu, crowd.tni_mbs) / 1000);
	net_destroy(net);
}

TEST_F(timed, no_more_packets_than_credits_wait_for_a_link)
{
	struct tofu_preset fast = toy;
	struct net *net;
	struct transfer t = self->put;
	uint64_t read;

	/* The engine could send far more than the link takes. */
	fast.tni_mbs = 100000;
	fast.tni_both_mbs = 200000;
	fast.host_mbs = 400000;
	net = clock_create("2", &fast);
	t.cq = cq_create(net, 0, 0, 0);
	t.lcl = region_create(t.cq, 1, LENGTH, 0, 12, 0);
	t.rmt = region_create(cq_create(net, 1, 0, 0), 1, LENGTH, 0, 12, 0);
	t.length = 20000;
	clock_post(&t);
	read = clock_now(net) + fast.doorbell_ns + fast.fetch_ns;
	clock_run_until(net, read + fast.read_ns + fast.send_ns +
				     fast.mtu + fast.overhead +
				     tofu_preset_flight_ns(&fast) - 1);
	EXPECT_EQ(fast.credits * fast.mtu,
		  cq_reg(t.cq, TOFU_CQ_COUNTER(TOFU_CQ_TX_BYTES)));
	clock_run(net);
	EXPECT_EQ(20000, cq_reg(t.cq, TOFU_CQ_COUNTER(TOFU_CQ_TX_BYTES)));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(t.cq));
	cq_destroy(t.rmt->cq);
	cq_destroy(t.cq);
	region_destroy(t.lcl);
	region_destroy(t.rmt);
	net_destroy(net);
}

TEST_F(timed, cqs_of_an_engine_take_turns)
{
	struct cq *c = cq_create(self->net, 0, 0, 4);
	struct transfer small = self->put;
	struct transfer large = self->put;

	small.cq = c;
	small.lcl = region_create(c, 1, 100, 0, 12, 0);
	large.length = LENGTH;
	clock_post(&large);
	clock_post(&small);
	clock_run_until(self->net, START + toy.doorbell_ns + toy.fetch_ns +
					   toy.read_ns + 5000);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(c));
	EXPECT_EQ(-1, cq_mrq_status(self->a));
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
	region_destroy(small.lcl);
	cq_destroy(c);
}

TEST_F(timed, more_commands_than_the_window_all_end_in_order)
{
	struct transfer t = self->put;

	t.flags = TOFU_TOQ_F_TCQ_NOTICE;
	for (unsigned int i = 0; i < 200; i++)
		transfer_push(&t);
	clock_ring(self->a);
	clock_run(self->net);
	for (unsigned int i = 0; i < 200; i++) {
		uint64_t entry;

		ASSERT_TRUE(cq_tcq(self->a, &entry));
		EXPECT_EQ(i, TOFU_GET(entry, TOFU_TCQ_INDEX));
	}
}

/* ---- Errors ---- */

TEST_F(timed, a_put_into_no_memory_ends_once_with_an_error)
{
	region_steering(self->dst)->ctrl = 0;
	self->put.length = 5000;
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_RMT_STADD, cq_mrq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->b));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
}

TEST_F(timed, a_target_that_goes_in_the_middle_raises_no_notice)
{
	self->put.length = 5000;
	clock_post(&self->put);
	clock_run_until(self->net, START + toy.doorbell_ns + toy.fetch_ns +
					   toy.read_ns + flight(1, 1000) +
					   toy.write_ns + 500);
	region_steering(self->dst)->ctrl = 0;
	clock_run_until(self->net, clock_now(self->net) + 1500);
	region_steering(self->dst)->ctrl =
		TOFU_SET(TOFU_STEERING_ENABLE, 1) |
		TOFU_SET(TOFU_STEERING_MBID, self->dst->stag);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_RMT_STADD, cq_mrq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->b));
	/* The next command gets times of its own. */
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->b));
}

TEST_F(timed, a_source_that_goes_in_the_middle_ends_the_put)
{
	self->put.length = 5000;
	clock_post(&self->put);
	clock_run_until(self->net, START + toy.doorbell_ns + toy.fetch_ns +
					   1500);
	region_steering(self->src)->ctrl = 0;
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_LCL_STADD, cq_mrq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->b));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
}

TEST_F(timed, a_get_from_no_memory_ends_once_with_an_error)
{
	self->put.cmd = TOFU_CMD_GET;
	self->put.length = 5000;
	region_steering(self->dst)->ctrl = 0;
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_RMT_STADD, cq_mrq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->a));
}

TEST_F(timed, a_long_get_comes_in_packets)
{
	self->put.cmd = TOFU_CMD_GET;
	self->put.length = LENGTH;
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->a));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->b));
	EXPECT_EQ(-1, region_differs(self->src, 0, self->dst, 0, LENGTH));
}

TEST_F(timed, empty_transfers_work)
{
	self->put.length = 0;
	clock_post(&self->put);
	self->put.cmd = TOFU_CMD_GET;
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
}

/* ---- Ends in the middle ---- */

TEST_F(timed, a_disabled_cq_is_flushed_and_can_be_used_again)
{
	self->put.length = LENGTH;
	clock_post(&self->put);
	clock_post(&self->put);
	clock_run_until(self->net, START + toy.doorbell_ns + toy.fetch_ns +
					   5000);
	cq_disable(self->a);
	cq_reg_set(self->a, TOFU_CQ_FLUSH, 1);
	EXPECT_EQ(1, cq_reg(self->a, TOFU_CQ_FLUSH));
	clock_run(self->net);
	EXPECT_EQ(0, cq_reg(self->a, TOFU_CQ_FLUSH));
	EXPECT_EQ(-1, cq_mrq_status(self->b));

	cq_settings(self->a);
	cq_enable(self->a);
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(self->a, TOFU_CQ_STATUS));
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->b));
}

TEST_F(timed, a_get_ends_though_its_cq_was_disabled_in_the_middle)
{
	self->put.cmd = TOFU_CMD_GET;
	self->put.length = LENGTH;
	clock_post(&self->put);
	clock_run_until(self->net, START + toy.doorbell_ns + toy.fetch_ns +
					   2 * flight(1, 1000) + toy.read_ns +
					   3000);
	EXPECT_EQ(-1, region_differs(self->src, 0, self->dst, 0, 1000));
	cq_disable(self->a);
	cq_reg_set(self->a, TOFU_CQ_FLUSH, 1);
	clock_run(self->net);
	EXPECT_EQ(0, cq_reg(self->a, TOFU_CQ_FLUSH));
	EXPECT_NE(-1, region_differs(self->src, 0, self->dst, 0, LENGTH));
	cq_settings(self->a);
	cq_enable(self->a);
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(self->a, TOFU_CQ_STATUS));
}

TEST_F(timed, the_next_owner_of_a_cq_answers_no_old_get)
{
	self->put.cmd = TOFU_CMD_GET;
	self->put.length = LENGTH;
	clock_post(&self->put);
	clock_run_until(self->net, START + toy.doorbell_ns + toy.fetch_ns +
					   2 * flight(1, 1000) + toy.read_ns +
					   3000);
	cq_disable(self->b);
	cq_settings(self->b);
	cq_enable(self->b);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->b));
}

TEST_F(timed, a_dead_peer_ends_what_is_under_way)
{
	self->put.length = LENGTH;
	clock_post(&self->put);
	clock_run_until(self->net, START + toy.doorbell_ns + toy.fetch_ns +
					   5000);
	net_down(self->net, 1);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(self->a));
	EXPECT_EQ(-1, cq_mrq_status(self->a));
	EXPECT_EQ(TOFU_ST_OK, cq_tcq_status(self->a));
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_PEER, cq_mrq_status(self->a));
}

TEST_F(timed, a_reset_forgets_everything)
{
	self->put.length = LENGTH;
	clock_post(&self->put);
	clock_run_until(self->net, START + toy.doorbell_ns + toy.fetch_ns +
					   5000);
	icc_reg_write(self->a->node->icc, TOFU_REG_CTRL, TOFU_CTRL_RESET, 8);
	EXPECT_EQ(TOFU_CTRL_RESET,
		  icc_reg_read(self->a->node->icc, TOFU_REG_CTRL, 8));
	clock_run(self->net);
	EXPECT_EQ(0, icc_reg_read(self->a->node->icc, TOFU_REG_CTRL, 8));
	cq_settings(self->a);
	cq_enable(self->a);
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
}

TEST_F(timed, ports_count_from_the_last_reset)
{
	struct icc *icc = self->a->node->icc;
	const unsigned int reg = TOFU_REG_PORT(TOFU_PORT_XP,
					       TOFU_PORT_TX_WAIT_NS);

	icc_port_set_counter(icc, TOFU_PORT_XP, TOFU_PORT_TX_WAIT_NS, 5);
	EXPECT_EQ(5, icc_reg_read(icc, reg, 8));
	icc_reset(icc);
	EXPECT_EQ(0, icc_reg_read(icc, reg, 8));
	icc_port_set_counter(icc, TOFU_PORT_XP, TOFU_PORT_TX_WAIT_NS, 7);
	EXPECT_EQ(2, icc_reg_read(icc, reg, 8));
	icc_reset(icc);
	icc_port_set_counter(icc, TOFU_PORT_XP, TOFU_PORT_TX_WAIT_NS, 8);
	EXPECT_EQ(1, icc_reg_read(icc, reg, 8));
}

/* ---- Sameness ---- */

static uint64_t busy_machine(unsigned int seed)
{
	struct net *net = clock_create("2x3", &toy);
	struct cq *cq[6];
	struct region *region[6];
	uint64_t hash;

	for (uint32_t i = 0; i < 6; i++) {
		cq[i] = cq_create(net, i, i % 4, i);
		region[i] = region_create(cq[i], 1, LENGTH, 0, 12, 0);
		region_fill(region[i], i);
	}
	for (unsigned int i = 0; i < 300; i++) {
		struct transfer t = { .flags = ALL_NOTICES };
		unsigned int to;

		seed = seed * 1103515245 + 12345;
		to = seed >> 16 & 0x7fff;
		t.cq = cq[to % 6];
		t.lcl = region[to % 6];
		t.rmt = region[to / 6 % 6];
		t.cmd = to & 0x4000 ? TOFU_CMD_PUT : TOFU_CMD_GET;
		t.length = to * 7 % 9000;
		clock_post(&t);
		clock_run_until(net, clock_now(net) + to % 3000);
	}
	clock_run(net);
	hash = clock_hash(net);
	for (uint32_t i = 0; i < 6; i++) {
		for (unsigned int n = 0; n < 10; n++)
			cq_mrq_status(cq[i]);
		region_destroy(region[i]);
		cq_destroy(cq[i]);
	}
	net_destroy(net);
	return hash;
}

TEST(the_same_run_has_the_same_trace)
{
	EXPECT_EQ(busy_machine(1), busy_machine(1));
	EXPECT_NE(busy_machine(1), busy_machine(2));
}

/* ---- Others' packets ---- */

TEST_F(timed, forged_packets_harm_nobody)
{
	struct tofu_packet pkt = {
		.src = 1,
		.src_tni = 255,
		.src_cq = 255,
		.dst_tni = 255,
		.dst_cq = 255,
		.total = UINT32_MAX,
		.length = UINT32_MAX,
		.tid = UINT64_MAX,
	};
	uint8_t payload[TOFU_PKT_MTU_MAX] = { 0 };

	for (unsigned int type = 0; type < 256; type++) {
		for (unsigned int flags = 0; flags < 16; flags++) {
			pkt.type = (uint8_t)type;
			pkt.flags = (uint8_t)flags;
			pkt.payload = flags & 1 ? sizeof(payload) : 0;
			pkt.armw_size = 8;
			EXPECT_EQ(0, icc_receive(self->a->node->icc, &pkt,
						 payload));
		}
	}
	clock_run(self->net);
	clock_post(&self->put);
	clock_run(self->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->a));
}

/* ---- Order ---- */

static const enum tofu_command kinds[] = {
	TOFU_CMD_PUT,
	TOFU_CMD_PUT_PIGGYBACK,
	TOFU_CMD_GET,
	TOFU_CMD_ARMW,
};

/* A put, and at once another command to the same CQ by the same path. */
static void follow(struct harness_test *_metadata,
		   const struct tofu_preset *machine, uint64_t length,
		   enum tofu_command kind)
{
	struct net *net = clock_create("6", machine);
	struct cq *a = cq_create(net, 0, 0, 3), *b = cq_create(net, 1, 1, 5);
	struct transfer put = {
		.cmd = TOFU_CMD_PUT,
		.flags = ALL_NOTICES,
		.cq = a,
		.lcl = region_create(a, 1, LENGTH, 0, 12, 0),
		.rmt = region_create(b, 2, LENGTH, 0, 12, 0),
		.length = length,
		.edata = 1,
	};
	struct transfer next = put;
	struct tofu_mrq_entry entry;

	next.cmd = kind;
	next.length = 8;
	next.armw_8 = kind == TOFU_CMD_ARMW;
	next.edata = 2;
	clock_post(&put);
	clock_post(&next);
	clock_run(net);
	for (unsigned int i = 1; i <= 2; i++) {
		ASSERT_TRUE(cq_mrq(b, &entry));
		EXPECT_EQ(i, TOFU_GET(entry.ctrl, TOFU_MRQ_EDATA))
		{
			TH_LOG("%s: %llu bytes, then command %d", machine->name,
			       (unsigned long long)length, kind);
		}
	}
	region_destroy(put.lcl);
	region_destroy(put.rmt);
	cq_destroy(a);
	cq_destroy(b);
	net_destroy(net);
}

static void follow_all(struct harness_test *_metadata,
		       const struct tofu_preset *machine)
{
	for (unsigned int i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		follow(_metadata, machine, 8, kinds[i]);
		follow(_metadata, machine, machine->mtu, kinds[i]);
		follow(_metadata, machine, machine->mtu + 1, kinds[i]);
	}
}

TEST(commands_of_a_queue_are_carried_out_in_order)
{
	const struct tofu_preset *machine;

	for (size_t i = 0; (machine = tofu_preset_at(i)); i++)
		follow_all(_metadata, machine);
	follow_all(_metadata, &toy);
}

TEST_HARNESS_MAIN
