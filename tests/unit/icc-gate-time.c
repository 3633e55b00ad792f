// SPDX-License-Identifier: MIT
/*
 * Barrier gates in virtual time: the time at which a barrier ends, by the terms
 * of the machine, and that another run ends at the same time.
 */
#include "harness.h"

#include "icc-clock.h"
#include "icc-mesh.h"

#define START 1000
#define TNI 2

FIXTURE(timed)
{
	struct net *net;
	struct mesh *mesh;
};

/* A ring along X, in which node n is n hops away. */
FIXTURE_SETUP(timed)
{
	self->net = clock_create("8", &toy);
	self->mesh = mesh_create(self->net, TNI);
	clock_run_until(self->net, START);
}

FIXTURE_TEARDOWN(timed)
{
	mesh_destroy(self->mesh);
	net_destroy(self->net);
}

/* From a gate's firing until its signal is in a gate @hops away. */
static uint64_t signal_ns(unsigned int hops)
{
	return flight(hops, TOFU_SIGNAL_BYTES) + toy.gate_ns;
}

/* From the store into the channel's page until its signal leaves. */
static uint64_t begin_ns(void)
{
	return toy.doorbell_ns + toy.fetch_ns;
}

static void start(struct mesh *mesh, uint32_t node)
{
	static const uint64_t one[TOFU_REDUCE_WORDS] = { 1 };

	mesh_start(mesh, node, TOFU_REDUCE_SUM, 1, one);
}

static void expect_end(struct harness_test *_metadata, struct mesh *mesh,
		       uint32_t node, uint64_t time)
{
	const uint32_t ended = mesh_ended(mesh, node);

	clock_run_until(mesh->net, time - 1);
	EXPECT_EQ(ended, mesh_ended(mesh, node));
	clock_run_until(mesh->net, time);
	EXPECT_EQ(ended + 1, mesh_ended(mesh, node));
}

TEST_F(timed, a_barrier_of_one_takes_a_read_and_a_write)
{
	mesh_enable(self->mesh);
	start(self->mesh, 0);
	expect_end(_metadata, self->mesh, 0,
		   START + begin_ns() + toy.write_ns);
}

TEST_F(timed, a_relay_beside_takes_a_gate_each_way)
{
	const struct gate channel = { 0, 0 };
	const struct gate relay = mesh_relay(self->mesh, 0);

	mesh_link(self->mesh, channel, relay);
	mesh_link(self->mesh, relay, channel);
	mesh_enable(self->mesh);
	start(self->mesh, 0);
	expect_end(_metadata, self->mesh, 0,
		   START + begin_ns() + 2 * toy.gate_ns + toy.write_ns);
}

TEST_F(timed, a_signal_takes_its_way)
{
	struct icc_trace sent, received;

	mesh_link(self->mesh, (struct gate){ 0, 0 }, (struct gate){ 3, 0 });
	mesh_enable(self->mesh);
	start(self->mesh, 0);
	start(self->mesh, 3);
	expect_end(_metadata, self->mesh, 3,
		   START + begin_ns() + signal_ns(3) + toy.write_ns);
	EXPECT_EQ(START, clock_seen(self->net, 0, ICC_TRACE_CHANNEL).time);
	sent = clock_seen(self->net, 0, ICC_TRACE_SEND);
	received = clock_seen(self->net, 3, ICC_TRACE_RECEIVE);
	EXPECT_EQ(TOFU_PKT_SIGNAL, sent.type);
	EXPECT_EQ(TOFU_PKT_SIGNAL, received.type);
	EXPECT_EQ(sent.id, received.id);
	EXPECT_EQ(0, received.origin);
	EXPECT_EQ(3, sent.peer);
	EXPECT_EQ(TOFU_SIGNAL_BYTES, sent.bytes);
	EXPECT_EQ(START + begin_ns() + toy.send_ns, sent.end);
	EXPECT_EQ(START + begin_ns() + signal_ns(3), received.end);
}

TEST_F(timed, a_butterfly_takes_a_flight_a_step)
{
	mesh_butterfly(self->mesh, 4);
	mesh_enable(self->mesh);
	for (uint32_t i = 0; i < 4; i++)
		start(self->mesh, i);
	/* Over eight nodes in a ring, 0 and 2 are two hops apart. */
	expect_end(_metadata, self->mesh, 0,
		   START + begin_ns() + signal_ns(1) + signal_ns(2) + toy.gate_ns +
			   toy.write_ns);
	for (uint32_t i = 0; i < 4; i++) {
		EXPECT_EQ(1, mesh_ended(self->mesh, i));
		EXPECT_EQ(4, mesh_block(self->mesh, i)->result[0]);
	}
}

TEST_F(timed, the_last_one_in_is_what_all_wait_for)
{
	mesh_butterfly(self->mesh, 4);
	mesh_enable(self->mesh);
	for (uint32_t i = 0; i < 3; i++)
		start(self->mesh, i);
	clock_run_until(self->net, START + 100000);
	start(self->mesh, 3);
	/*
	 * Node 1 learns of it only in the second step. Its signal finds the
	 * link busy with the signal of the first step, sent a gate earlier.
	 */
	expect_end(_metadata, self->mesh, 1,
		   START + 100000 + begin_ns() + toy.overhead +
			   TOFU_SIGNAL_BYTES + signal_ns(2) + toy.gate_ns +
			   toy.write_ns);
}

TEST_F(timed, a_ring_takes_a_flight_a_node)
{
	mesh_ring(self->mesh, 5);
	mesh_enable(self->mesh);
	for (uint32_t i = 0; i < 5; i++)
		start(self->mesh, i);
	/* Four to combine; the last node has the result beside it. */
	expect_end(_metadata, self->mesh, 4,
		   START + begin_ns() + 4 * signal_ns(1) + toy.gate_ns +
			   toy.write_ns);
	/* From node 4 to 0 there are three hops the other way. */
	expect_end(_metadata, self->mesh, 0,
		   START + begin_ns() + 4 * signal_ns(1) + signal_ns(4) +
			   toy.gate_ns + toy.write_ns);
}

/* Many rounds, each node as soon as it can; returns a hash of all events. */
static uint64_t race(mesh_fn *make)
{
	struct net *net = clock_create("8", &toy);
	struct mesh *mesh = mesh_create(net, TNI);
	uint64_t hash;

	make(mesh, 8);
	mesh_enable(mesh);
	for (unsigned int round = 1; round <= 50; round++) {
		for (uint32_t i = 0; i < 8; i++) {
			clock_run_until(net, clock_now(net) + (round * i) % 7);
			start(mesh, i);
		}
		clock_run(net);
		for (uint32_t i = 0; i < 8; i++) {
			if (mesh_ended(mesh, i) != round ||
			    mesh_block(mesh, i)->result[0] != 8)
				abort();
		}
	}
	hash = clock_hash(net) ^ clock_now(net);
	mesh_destroy(mesh);
	net_destroy(net);
	return hash;
}

TEST(a_barrier_takes_the_same_time_again)
{
	for (unsigned int m = 0; m < MESHES; m++)
		EXPECT_EQ(race(mesh_all[m]), race(mesh_all[m]));
}

/* Time from a put's doorbell to its notice. */
static uint64_t put_ns(struct net *net, struct transfer *put)
{
	const uint64_t from = clock_now(net);

	clock_post(put);
	clock_run(net);
	return clock_seen(net, 1, ICC_TRACE_NOTICE).time - from;
}

TEST_F(timed, signals_give_their_credits_back)
{
	struct cq *a = cq_create(self->net, 0, TNI, 0);
	struct cq *b = cq_create(self->net, 1, TNI, 0);
	struct region *src = region_create(a, 1, 40000, 0, 12, 0);
	struct region *dst = region_create(b, 1, 40000, 0, 12, 0);
	struct transfer put = { .cmd = TOFU_CMD_PUT,
				.flags = ALL_NOTICES,
				.cq = a,
				.lcl = src,
				.rmt = dst,
				.length = 40000 };
	const uint64_t before = put_ns(self->net, &put);

	mesh_butterfly(self->mesh, 8);
	mesh_enable(self->mesh);
	for (unsigned int round = 0; round < 40; round++) {
		for (uint32_t i = 0; i < 8; i++)
			start(self->mesh, i);
		clock_run(self->net);
	}
	EXPECT_EQ(40, mesh_ended(self->mesh, 0));
	EXPECT_EQ(before, put_ns(self->net, &put));
	region_destroy(src);
	region_destroy(dst);
	cq_destroy(a);
	cq_destroy(b);
}

TEST_F(timed, what_a_disabled_gate_had_planned_does_not_happen)
{
	const struct gate channel = { 0, 0 };

	mesh_enable(self->mesh);
	for (uint64_t after = 0; after < begin_ns() + toy.write_ns;
	     after += begin_ns() + toy.write_ns - 1) {
		start(self->mesh, 0);
		clock_run_until(self->net, clock_now(self->net) + after);
		gate_set(self->mesh, channel, TOFU_GATE_CTRL, 0);
		gate_set(self->mesh, channel, TOFU_GATE_CTRL, 1);
		clock_run(self->net);
		EXPECT_EQ(0, mesh_block(self->mesh, 0)->done);
	}
	start(self->mesh, 0);
	clock_run(self->net);
	EXPECT_EQ(1, mesh_ended(self->mesh, 0));
}

TEST_F(timed, a_node_that_goes_is_an_error_of_all_others)
{
	for (uint32_t gone = 0; gone < 8; gone += 3) {
		struct net *net = clock_create("8", &toy);
		struct mesh *mesh = mesh_create(net, TNI);

		mesh_all[gone % MESHES](mesh, 8);
		mesh_enable(mesh);
		for (uint32_t i = 0; i < 8; i++) {
			if (i != gone)
				start(mesh, i);
		}
		clock_run_until(net, 25000);
		net_down(net, gone);
		clock_run(net);
		for (uint32_t i = 0; i < 8; i++) {
			if (i == gone)
				continue;
			EXPECT_EQ(1, mesh_ended(mesh, i));
			EXPECT_EQ(TOFU_BARRIER_OTHER, mesh_status(mesh, i));
		}
		mesh_destroy(mesh);
		net_destroy(net);
	}
}

/* A question and its answer each take the way of a signal. */
TEST_F(timed, gates_that_go_are_an_error_after_an_answer)
{
	const struct gate channel = { 0, 0 }, other = { 3, 0 };
	struct icc *icc = self->net->node[3].icc;
	const uint64_t asked = START + begin_ns() + TOFU_ASK_NS;

	mesh_link(self->mesh, channel, other);
	mesh_enable(self->mesh);
	start(self->mesh, 3);
	clock_run(self->net);
	gate_set(self->mesh, channel, TOFU_GATE_CTRL, 0);
	clock_run_until(self->net, asked - 1);
	icc_channel_poll(icc, TNI, 0, 0);
	clock_run_until(self->net, asked);
	icc_channel_poll(icc, TNI, 0, 0);
	expect_end(_metadata, self->mesh, 3,
		   asked + toy.doorbell_ns + 2 * signal_ns(3) + toy.gate_ns +
			   toy.write_ns);
	EXPECT_EQ(TOFU_BARRIER_OTHER, mesh_status(self->mesh, 3));
}

TEST_HARNESS_MAIN
