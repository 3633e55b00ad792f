// SPDX-License-Identifier: MIT
/*
 * The links of a machine: cases that can be checked by hand, and random traffic
 * against a model that searches all packets for each step.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "net/network.h"
#include "network-slow.h"

#define MANY 600

/* A byte a ns, so that a packet of PAYLOAD occupies a link for 1000 ns. */
static const struct tofu_preset toy = {
	.name = "toy",
	.link_mbs = 1000,
	.mtu = 2000,
	.overhead = 24,
	.buffers = 2,
	.hop_ns = 100,
};
#define PAYLOAD 976
#define WIRE 1000
#define HOP 100

/**
 * struct seen - callbacks for a packet
 * @crossed: links
 */
struct seen {
	uint64_t departed;
	uint64_t arrived;
	uint32_t crossed;
	uint32_t dropped;
};

/**
 * struct world - a network and a record of its callbacks
 * @calls: hash over the calls, in any order
 * @busy:  until when each link was occupied, ns
 * @overlap: two packets were on a link at a time
 */
struct world {
	struct tofu_net *net;
	struct tofu_shape shape;
	struct tofu_net_packet *packet;
	struct seen *seen;
	size_t count;
	size_t arrivals;
	uint64_t calls;
	uint64_t *busy;
	bool overlap;
};

/* ---- A world ---- */

static void mix(struct world *w, uint64_t value)
{
	value = (value ^ value >> 29) * 0x9e3779b97f4a7c15ULL;
	w->calls += value ^ value >> 32;
}

static struct seen *seen_of(struct world *w,
			    const struct tofu_net_packet *packet)
{
	return packet->cookie ? packet->cookie : &w->seen[packet->seq];
}

static void departs(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct world *w = ctx;

	seen_of(w, packet)->departed = time;
	mix(w, ~time ^ packet->seq << 32 ^ (uint64_t)packet->src << 52);
}

static void arrives(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct world *w = ctx;

	seen_of(w, packet)->arrived = time;
	w->arrivals++;
	mix(w, time ^ packet->seq << 32 ^ (uint64_t)packet->src << 52);
}

static void crosses(void *ctx, const struct tofu_net_packet *packet,
		    uint32_t node, enum tofu_port port, uint64_t start,
		    uint64_t end)
{
	struct world *w = ctx;
	uint64_t *busy = &w->busy[node * TOFU_PORTS + port];

	/* Both are rounded outwards. */
	if (*busy > start + 1 || end <= start)
		w->overlap = true;
	*busy = end;
	seen_of(w, packet)->crossed++;
	mix(w, start ^ end << 20 ^ (uint64_t)node << 40);
	mix(w, port ^ packet->seq << 32 ^ (uint64_t)packet->src << 52);
}

static void drop(void *ctx, const struct tofu_net_packet *packet)
{
	seen_of(ctx, packet)->dropped++;
}

static const struct tofu_net_ops ops = { .departs = departs,
					 .arrives = arrives,
					 .crosses = crosses };

static struct world *world_create(const char *shape,
				  const struct tofu_preset *machine,
				  size_t packets)
{
	struct world *w = calloc(1, sizeof(*w));

	tofu_shape_parse(shape, &w->shape);
	w->packet = calloc(packets, sizeof(*w->packet));
	w->seen = calloc(packets, sizeof(*w->seen));
	w->busy = calloc((size_t)tofu_shape_nodes(&w->shape) * TOFU_PORTS,
			 sizeof(*w->busy));
	w->net = tofu_net_create(&w->shape, machine);
	return w;
}

static void world_destroy(struct world *w)
{
	tofu_net_destroy(w->net);
	free(w->packet);
	free(w->seen);
	free(w->busy);
	free(w);
}

/* Put a packet in; returns its index in w->seen, which is its seq. */
static size_t put_to(struct world *w, uint64_t time, uint32_t src, uint32_t dst,
		     uint32_t payload, uint8_t taker)
{
	const size_t at = w->count++;

	w->packet[at] = (struct tofu_net_packet){ .time = time,
						  .src = src,
						  .dst = dst,
						  .seq = at,
						  .taker = taker,
						  .payload = payload,
						  .cookie = &w->seen[at] };
	if (tofu_net_send(w->net, &w->packet[at]))
		abort();
	return at;
}

static size_t put(struct world *w, uint64_t time, uint32_t src, uint32_t dst,
		  uint32_t payload)
{
	return put_to(w, time, src, dst, payload, 0);
}

static void advance(struct world *w, uint64_t until)
{
	tofu_net_advance(w->net, until, &ops, w);
}

/* Later than all packets of the tests. */
#define ALL 1000000000000ULL

FIXTURE(ring)
{
	struct world *w;
};

/* A ring along X: port X+ of node n leads to node n + 1. */
FIXTURE_SETUP(ring)
{
	self->w = world_create("8", &toy, MANY);
	ASSERT_NE(NULL, self->w->net);
}

FIXTURE_TEARDOWN(ring)
{
	EXPECT_FALSE(self->w->overlap);
	world_destroy(self->w);
}

/* ---- One packet ---- */

TEST_F(ring, a_hop_takes_its_time_and_the_bytes_theirs)
{
	size_t p = put(self->w, 5000, 0, 1, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(5000 + WIRE, self->w->seen[p].departed);
	EXPECT_EQ(5000 + HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(1, self->w->seen[p].crossed);
}

TEST_F(ring, heads_cut_through)
{
	size_t p = put(self->w, 5000, 0, 3, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(5000 + WIRE, self->w->seen[p].departed);
	EXPECT_EQ(5000 + 3 * HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(3, self->w->seen[p].crossed);
}

TEST_F(ring, a_packet_to_oneself_takes_no_link)
{
	size_t p = put(self->w, 5000, 4, 4, PAYLOAD);
	size_t q = put(self->w, 5000, 4, 4, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(5000 + HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(5000 + HOP + WIRE, self->w->seen[q].arrived);
	EXPECT_EQ(5000 + HOP + WIRE, self->w->seen[q].departed);
	EXPECT_EQ(0, self->w->seen[p].crossed);
	for (int port = 0; port < TOFU_PORTS; port++)
		EXPECT_EQ(0, tofu_net_link(self->w->net, 4, port)->packets);
}

TEST_F(ring, an_empty_packet_is_its_overhead)
{
	size_t p = put(self->w, 0, 0, 1, 0);

	advance(self->w, ALL);
	EXPECT_EQ(24, self->w->seen[p].departed);
	EXPECT_EQ(24 + HOP, self->w->seen[p].arrived);
}

/* ---- Several ---- */

TEST_F(ring, a_link_sends_one_packet_at_a_time)
{
	size_t p = put(self->w, 5000, 0, 1, PAYLOAD);
	size_t q = put(self->w, 5400, 0, 1, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(5000 + HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(5000 + HOP + 2 * WIRE, self->w->seen[q].arrived);
	EXPECT_EQ(5000 + 2 * WIRE, self->w->seen[q].departed);
	EXPECT_EQ(600, tofu_net_link(self->w->net, 0, TOFU_PORT_XP)->wait_ns);
}

TEST_F(ring, a_link_has_two_directions)
{
	size_t p = put(self->w, 5000, 0, 1, PAYLOAD);
	size_t q = put(self->w, 5000, 1, 0, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(5000 + HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(5000 + HOP + WIRE, self->w->seen[q].arrived);
}

/* A link is free when a packet has left it, even if its head waits later. */
TEST_F(ring, who_waits_in_a_router_does_not_hold_the_link_behind_it)
{
	size_t b = put(self->w, 0, 1, 2, PAYLOAD);
	size_t a = put(self->w, 0, 0, 2, PAYLOAD);
	size_t c = put(self->w, 0, 0, 1, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(HOP + WIRE, self->w->seen[b].arrived);
	EXPECT_EQ(WIRE + HOP + WIRE, self->w->seen[a].arrived);
	EXPECT_EQ(WIRE, self->w->seen[a].departed);
	EXPECT_EQ(2 * WIRE, self->w->seen[c].departed);
	/* In its lane it is behind the one that waits. */
	EXPECT_EQ(3 * WIRE, self->w->seen[c].arrived);
	EXPECT_EQ(900, tofu_net_link(self->w->net, 1, TOFU_PORT_XP)->wait_ns);
}

TEST_F(ring, who_comes_first_goes_first)
{
	size_t through = put(self->w, 0, 0, 2, PAYLOAD);
	size_t late = put(self->w, HOP + 1, 1, 2, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(2 * HOP + WIRE, self->w->seen[through].arrived);
	EXPECT_EQ(2 * HOP + 2 * WIRE, self->w->seen[late].arrived);
}

/* At the link from 1 to 2 both are at 100. */
TEST_F(ring, of_packets_of_one_time_the_lower_source_goes_first)
{
	size_t own = put(self->w, HOP, 1, 2, PAYLOAD);
	size_t through = put(self->w, 0, 0, 2, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(2 * HOP + WIRE, self->w->seen[through].arrived);
	EXPECT_EQ(2 * HOP + 2 * WIRE, self->w->seen[own].arrived);
}

TEST_F(ring, of_one_source_the_lower_number_goes_first)
{
	struct tofu_net_packet packet = { .time = 7,
					  .dst = 1,
					  .payload = PAYLOAD };
	struct seen *seen = self->w->seen;

	for (uint64_t seq = 3; seq--;) {
		packet.seq = seq;
		ASSERT_EQ(0, tofu_net_send(self->w->net, &packet));
	}
	advance(self->w, ALL);
	EXPECT_EQ(7 + HOP + WIRE, seen[0].arrived);
	EXPECT_EQ(7 + HOP + 2 * WIRE, seen[1].arrived);
	EXPECT_EQ(7 + HOP + 3 * WIRE, seen[2].arrived);
}

/* ---- Engines that take packets ---- */

TEST_F(ring, an_engine_takes_one_packet_at_a_time)
{
	size_t p = put(self->w, 0, 1, 0, PAYLOAD);
	size_t q = put(self->w, 1, 7, 0, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(HOP + 2 * WIRE, self->w->seen[q].arrived);
	EXPECT_EQ(1 + WIRE, self->w->seen[q].departed);
}

TEST_F(ring, engines_take_packets_beside_each_other)
{
	size_t p = put_to(self->w, 0, 1, 0, PAYLOAD, 0);
	size_t q = put_to(self->w, 1, 7, 0, PAYLOAD, 1);

	advance(self->w, ALL);
	EXPECT_EQ(HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(1 + HOP + WIRE, self->w->seen[q].arrived);
}

TEST_F(ring, who_waits_for_an_engine_holds_up_those_behind_it)
{
	size_t p = put(self->w, 0, 1, 0, PAYLOAD);
	size_t q = put(self->w, 1, 7, 0, PAYLOAD);
	/* To another engine, and past the node */
	size_t other = put_to(self->w, 2, 7, 0, PAYLOAD, 1);
	size_t past = put(self->w, 3, 7, 1, PAYLOAD);

	advance(self->w, ALL);
	EXPECT_EQ(HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(HOP + 2 * WIRE, self->w->seen[q].arrived);
	EXPECT_EQ(HOP + 3 * WIRE, self->w->seen[other].arrived);
	EXPECT_EQ(2 * HOP + 4 * WIRE, self->w->seen[past].arrived);
}

/* Of two buffers: the third packet of node 7 waits there for the first one's. */
TEST_F(ring, who_waits_for_an_engine_occupies_a_buffer)
{
	size_t first, third = 0, past;

	for (int i = 0; i < 4; i++)
		put(self->w, 0, 1, 0, PAYLOAD);
	first = put(self->w, 1, 7, 0, PAYLOAD);
	for (int i = 0; i < 2; i++)
		third = put(self->w, 1, 7, 0, PAYLOAD);
	past = put(self->w, 1, 6, 7, PAYLOAD);
	advance(self->w, ALL);
	/* The two inputs take turns; a credit takes a hop's time. */
	EXPECT_EQ(HOP + 2 * WIRE, self->w->seen[first].arrived);
	EXPECT_EQ(1 + WIRE, self->w->seen[first].departed);
	EXPECT_EQ(HOP + 2 * WIRE + HOP + WIRE, self->w->seen[third].departed);
	EXPECT_EQ(1 + HOP + WIRE, self->w->seen[past].arrived);
}

TEST_F(ring, packets_of_a_forgotten_node_leave_the_way_to_its_engines)
{
	size_t p = put(self->w, 0, 1, 0, PAYLOAD);
	size_t gone = put(self->w, 1, 7, 0, PAYLOAD);
	size_t past = put(self->w, 2, 7, 1, PAYLOAD);

	advance(self->w, 2 * HOP);
	EXPECT_EQ(HOP + WIRE, self->w->seen[p].arrived);
	tofu_net_forget(self->w->net, 0, drop, self->w);
	advance(self->w, ALL);
	EXPECT_EQ(1, self->w->seen[gone].dropped);
	EXPECT_EQ(0, self->w->seen[gone].arrived);
	EXPECT_EQ(1 + 2 * HOP + 2 * WIRE, self->w->seen[past].arrived);
}

/* ---- Advancing ---- */

TEST_F(ring, the_end_of_an_advance_is_not_part_of_it)
{
	size_t p = put(self->w, 5000, 0, 2, PAYLOAD);

	advance(self->w, 5000);
	EXPECT_EQ(0, self->w->seen[p].departed);
	advance(self->w, 5001);
	EXPECT_EQ(5000 + WIRE, self->w->seen[p].departed);
	advance(self->w, 5000 + HOP);
	EXPECT_EQ(1, self->w->seen[p].crossed);
	EXPECT_EQ(0, self->w->seen[p].arrived);
	advance(self->w, 5000 + 2 * HOP);
	EXPECT_EQ(2, self->w->seen[p].crossed);
	EXPECT_EQ(0, self->w->seen[p].arrived);
	advance(self->w, 5000 + 2 * HOP + 1);
	EXPECT_EQ(5000 + 2 * HOP + WIRE, self->w->seen[p].arrived);
}

TEST_F(ring, packets_can_be_put_in_at_the_end_of_an_advance)
{
	size_t p = put(self->w, 0, 0, 2, PAYLOAD), q;

	advance(self->w, HOP);
	/* Its source has the higher number: it waits. */
	q = put(self->w, HOP, 1, 2, PAYLOAD);
	advance(self->w, ALL);
	EXPECT_EQ(2 * HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(2 * HOP + 2 * WIRE, self->w->seen[q].arrived);
}

TEST_F(ring, a_network_without_packets_is_idle)
{
	EXPECT_TRUE(tofu_net_idle(self->w->net));
	put(self->w, 5000, 0, 2, PAYLOAD);
	EXPECT_FALSE(tofu_net_idle(self->w->net));
	advance(self->w, 5001);
	EXPECT_FALSE(tofu_net_idle(self->w->net));
	advance(self->w, ALL);
	EXPECT_TRUE(tofu_net_idle(self->w->net));
}

TEST_F(ring, only_arrivals_have_to_be_told)
{
	const struct tofu_net_ops few = { .arrives = arrives };
	size_t p = put(self->w, 0, 0, 2, PAYLOAD);
	size_t q = put(self->w, 0, 3, 3, PAYLOAD);

	tofu_net_advance(self->w->net, ALL, &few, self->w);
	EXPECT_EQ(2 * HOP + WIRE, self->w->seen[p].arrived);
	EXPECT_EQ(HOP + WIRE, self->w->seen[q].arrived);
}

/* ---- Rates ---- */

/* 2048 bytes at 6800 MB/s are 301176 ps: fractions of a ns add up. */
TEST(picoseconds_are_kept)
{
	const struct tofu_preset *m = tofu_preset_find("fugaku");
	struct world *w = world_create("8", m, 3);

	for (int i = 0; i < 3; i++)
		put(w, 1000, 0, 1, 1920);
	advance(w, ALL);
	EXPECT_EQ(1000 + 302, w->seen[0].departed);
	EXPECT_EQ(1000 + 302 + 78, w->seen[0].arrived);
	EXPECT_EQ(1000 + 603 + 78, w->seen[1].arrived);
	EXPECT_EQ(1000 + 904 + 78, w->seen[2].arrived);
	/* 301.176 + 602.352, not 301 + 602 of rounded waits */
	EXPECT_EQ(903, tofu_net_link(w->net, 0, TOFU_PORT_XP)->wait_ns);
	world_destroy(w);
}

/* Payload rate of a long stream of full packets, MB/s. */
static uint64_t stream_mbs(const struct tofu_preset *m)
{
	struct world *w = world_create("4", m, MANY);
	uint64_t bytes = (uint64_t)m->mtu * (MANY - 1), ns;

	for (int i = 0; i < MANY; i++)
		put(w, 0, 0, 2, m->mtu);
	advance(w, ALL);
	ns = w->seen[MANY - 1].arrived - w->seen[0].arrived;
	world_destroy(w);
	return bytes * 1000 / ns;
}

TEST(a_link_has_its_machines_rate)
{
	const struct tofu_preset *m;

	for (size_t i = 0; (m = tofu_preset_at(i)); i++) {
		const uint64_t mbs = (uint64_t)m->link_mbs * m->mtu /
				     (m->mtu + m->overhead + m->control);

		EXPECT_LE(stream_mbs(m), mbs + 1);
		EXPECT_GE(stream_mbs(m), mbs - 1);
	}
}

/* ---- Nodes that vanish ---- */

TEST_F(ring, packets_of_a_forgotten_node_vanish)
{
	size_t to = put(self->w, 0, 0, 5, PAYLOAD);
	size_t from = put(self->w, 0, 5, 0, PAYLOAD);
	size_t oneself = put(self->w, 0, 5, 5, PAYLOAD);
	size_t past = put(self->w, 0, 4, 6, PAYLOAD);

	tofu_net_forget(self->w->net, 5, drop, self->w);
	EXPECT_FALSE(tofu_net_idle(self->w->net));
	advance(self->w, ALL);
	EXPECT_EQ(1, self->w->seen[to].dropped);
	EXPECT_EQ(1, self->w->seen[from].dropped);
	EXPECT_EQ(1, self->w->seen[oneself].dropped);
	EXPECT_EQ(0, self->w->seen[past].dropped);
	EXPECT_EQ(0, self->w->seen[to].crossed);
	EXPECT_EQ(1, self->w->arrivals);
	EXPECT_EQ(2 * HOP + WIRE, self->w->seen[past].arrived);
}

TEST_F(ring, what_a_forgotten_packet_has_begun_is_done)
{
	size_t gone = put(self->w, 0, 0, 2, PAYLOAD);
	size_t next = put(self->w, 0, 0, 1, PAYLOAD);

	advance(self->w, 1);
	tofu_net_forget(self->w->net, 2, drop, self->w);
	tofu_net_forget(self->w->net, 2, drop, self->w);
	advance(self->w, ALL);
	EXPECT_EQ(1, self->w->seen[gone].dropped);
	EXPECT_EQ(0, self->w->seen[gone].arrived);
	EXPECT_EQ(HOP + 2 * WIRE, self->w->seen[next].arrived);
}

/* Both come to node 1 by one link, and want the next one, which is in use. */
TEST_F(ring, a_forgotten_packet_behind_another_leaves_that_in_its_place)
{
	size_t p, q;

	put(self->w, 0, 1, 2, PAYLOAD);
	p = put(self->w, 500, 0, 2, 0);
	q = put(self->w, 600, 0, 3, 0);
	advance(self->w, 650);
	tofu_net_forget(self->w->net, 3, drop, self->w);
	advance(self->w, ALL);
	EXPECT_EQ(1, self->w->seen[q].dropped);
	EXPECT_EQ(WIRE + HOP + 24, self->w->seen[p].arrived);
	EXPECT_TRUE(tofu_net_idle(self->w->net));
}

TEST_F(ring, with_all_packets_forgotten_it_is_idle)
{
	put(self->w, 0, 0, 2, PAYLOAD);
	tofu_net_forget(self->w->net, 0, drop, self->w);
	EXPECT_TRUE(tofu_net_idle(self->w->net));
	put(self->w, 0, 1, 2, PAYLOAD);
	advance(self->w, ALL);
	EXPECT_TRUE(tofu_net_idle(self->w->net));
	EXPECT_EQ(1, self->w->arrivals);
}

/* ---- Counters ---- */

TEST_F(ring, links_count_what_crosses_them)
{
	const struct tofu_net_link *link;

	put(self->w, 0, 0, 2, 100);
	put(self->w, 0, 1, 2, 50);
	advance(self->w, ALL);
	link = tofu_net_link(self->w->net, 0, TOFU_PORT_XP);
	EXPECT_EQ(1, link->packets);
	EXPECT_EQ(100, link->bytes);
	link = tofu_net_link(self->w->net, 1, TOFU_PORT_XP);
	EXPECT_EQ(2, link->packets);
	EXPECT_EQ(150, link->bytes);
	EXPECT_EQ(0, tofu_net_link(self->w->net, 2, TOFU_PORT_XP)->packets);
}

/* On every link, packets that leave one node enter the other. */
TEST(links_have_two_ends)
{
	struct world *w = world_create("3x2x4x2x3x2", &toy, 1);
	const uint32_t nodes = tofu_shape_nodes(&w->shape);
	struct tofu_hop hop[TOFU_HOPS_MAX];

	for (uint32_t i = 0; i < nodes * nodes; i++) {
		const uint32_t a = i / nodes, b = i % nodes;

		for (unsigned int path = 0; path < 16; path++) {
			if (tofu_route(&w->shape, a, b, path, hop) != 1)
				continue;
			ASSERT_EQ(tofu_net_link(w->net, a, hop[0].port),
				  tofu_net_link_in(w->net, b,
						   tofu_port_reverse(hop[0].port)));
		}
	}
	world_destroy(w);
}

/* ---- Random traffic, against a model that is slow and plain ---- */

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A short while of traffic, so that packets often meet and tie. */
static void random_packets(struct world *w, const struct tofu_preset *m,
			   uint64_t seed, size_t count)
{
	const uint32_t nodes = tofu_shape_nodes(&w->shape);
	const uint32_t sizes[] = { 0, 8, m->mtu };

	w->count = count;
	for (size_t i = 0; i < count; i++) {
		struct tofu_net_packet *p = &w->packet[i];

		*p = (struct tofu_net_packet){ .seq = i,
					       .cookie = &w->seen[i] };
		p->time = random_next(&seed) % 100 * 50;
		p->src = random_next(&seed) % nodes;
		p->dst = random_next(&seed) % 4 ?
				 random_next(&seed) % nodes : 0;
		p->path = random_next(&seed) % 16;
		p->class_ = random_next(&seed) % TOFU_CLASSES;
		p->engine = random_next(&seed) % (TOFU_TNIS_MAX + 1);
		p->taker = random_next(&seed) % (TOFU_TNIS_MAX + 1);
		p->payload = sizes[random_next(&seed) % 3];
	}
}

static void shuffle(struct tofu_net_packet *packet, size_t count, uint64_t seed)
{
	for (size_t i = count; i > 1; i--) {
		const size_t other = random_next(&seed) % i;
		const struct tofu_net_packet swap = packet[i - 1];

		packet[i - 1] = packet[other];
		packet[other] = swap;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct tofu_net_packet *p = a, *q = b;

	return (p->time > q->time) - (p->time < q->time);
}

/* Put packets in as late as allowed, in steps of at most @most ns. */
static void run_in_steps(struct world *w, uint64_t seed, uint64_t most)
{
	uint64_t now = 0;
	size_t in = 0;

	qsort(w->packet, w->count, sizeof(*w->packet), by_time);
	while (in < w->count) {
		now += 1 + random_next(&seed) % most;
		for (; in < w->count && w->packet[in].time < now; in++)
			tofu_net_send(w->net, &w->packet[in]);
		advance(w, now);
	}
	advance(w, ALL);
}

static void run_at_once(struct world *w, uint64_t seed)
{
	shuffle(w->packet, w->count, seed);
	for (size_t i = 0; i < w->count; i++)
		tofu_net_send(w->net, &w->packet[i]);
	advance(w, ALL);
}

static const char *const shapes[] = { "2", "8", "3x2", "2x2x2x2x3x2" };
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static uint64_t up(uint64_t ps)
{
	return (ps + 999) / 1000;
}

static void compare(struct harness_test *_metadata, struct world *w,
		    const struct tofu_preset *m)
{
	struct slow_fate *model =
		network_slow(&w->shape, m, w->packet, w->count);

	ASSERT_EQ(w->count, w->arrivals);
	ASSERT_FALSE(w->overlap);
	for (size_t i = 0; i < w->count; i++) {
		const struct seen *seen = w->packet[i].cookie;

		ASSERT_EQ(up(model[i].arrived), seen->arrived);
		ASSERT_EQ(up(model[i].departed), seen->departed);
	}
	free(model);
}

static void random_against_model(struct harness_test *_metadata,
				 const struct tofu_preset *m)
{
	for (uint64_t seed = 1; seed <= 6 * SHAPES; seed++) {
		struct world *w = world_create(shapes[seed % SHAPES], m, MANY);

		random_packets(w, m, seed, MANY);
		if (seed % 2)
			run_at_once(w, seed);
		else
			run_in_steps(w, seed, 400);
		compare(_metadata, w, m);
		world_destroy(w);
	}
}

TEST(random_traffic_is_as_in_a_slow_model)
{
	random_against_model(_metadata, &toy);
}

TEST(random_traffic_of_an_older_machine_too)
{
	random_against_model(_metadata, tofu_preset_find("k"));
}

TEST(random_traffic_of_a_newer_machine_too)
{
	random_against_model(_metadata, tofu_preset_find("fugaku"));
}

/* Compares all calls, not only the times. */
TEST(replicas_agree_however_packets_are_put_in)
{
	const struct tofu_preset *m = tofu_preset_find("fugaku");
	uint64_t calls = 0;

	for (uint64_t seed = 1; seed <= 16; seed++) {
		struct world *w = world_create("2x2x1x2x3x2", m, MANY);

		random_packets(w, m, 77, MANY);
		if (seed % 2)
			run_at_once(w, seed);
		else
			run_in_steps(w, seed, 1 + seed * 40);
		calls = calls ? calls : w->calls;
		ASSERT_EQ(calls, w->calls);
		world_destroy(w);
	}
}

/* ---- Memory ---- */

TEST(memory_grows_with_the_packets_under_way)
{
	const size_t count = 50000;
	struct world *w = world_create("4x4", &toy, 3 * count);

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < count; i++)
			put(w, round * ALL / 4, i % 16, i / 16 % 16, 8);
		advance(w, (round + 1) * ALL / 4);
		ASSERT_TRUE(tofu_net_idle(w->net));
		ASSERT_EQ((round + 1) * count, w->arrivals);
	}
	world_destroy(w);
}

TEST(packets_may_be_under_way_at_the_end)
{
	struct world *w = world_create("4x4x2x2x3x2", &toy, MANY);

	for (uint32_t i = 0; i < MANY; i++)
		put(w, i, i % 384, i * 7 % 384, i);
	advance(w, MANY / 2);
	tofu_net_forget(w->net, 3, drop, w);
	world_destroy(w);
}

TEST_HARNESS_MAIN
