// SPDX-License-Identifier: MIT
/*
 * The links of a machine in blocks of nodes, which are advanced node by node in
 * windows of a hop's time: random traffic gives what it gives in one network,
 * however the machine is divided.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "net/network.h"

#define PACKETS 600
#define BLOCKS 7

/**
 * struct fate - callbacks for a packet
 * @links: hash of the links that it crossed, and of the times
 */
struct fate {
	uint64_t departed;
	uint64_t arrived;
	uint64_t links;
};

/* struct guest - a packet between blocks */
struct guest {
	struct tofu_net_packet packet;
	uint32_t node;
	uint64_t ps;
	unsigned int at;
};

/**
 * struct block - a network, and what it has handed out
 * @first, @count: nodes
 */
struct block {
	struct traffic *traffic;
	struct tofu_net *net;
	uint32_t first;
	uint32_t count;
	struct guest left[PACKETS];
	size_t leaving;
	struct tofu_net_credit credit[PACKETS];
	size_t crediting;
};

/**
 * struct traffic - packets, and what became of them
 * @now:   end of the window
 * @taken: count of packets that engines took beforehand
 * @early: a head was somewhere before the end of the window
 * @wrong: a callback came from a wrong block
 */
struct traffic {
	struct tofu_shape shape;
	const struct tofu_preset *machine;
	uint32_t nodes;
	struct tofu_net_packet packet[PACKETS];
	struct fate fate[PACKETS];
	struct block block[BLOCKS];
	uint32_t blocks;
	size_t arrivals;
	uint64_t now;
	size_t taken;
	bool early;
	bool wrong;
};

static bool holds(const struct block *b, uint32_t node)
{
	return node >= b->first && node - b->first < b->count;
}

static struct block *block_of(struct traffic *t, uint32_t node)
{
	uint32_t i = 0;

	while (!holds(&t->block[i], node))
		i++;
	return &t->block[i];
}

/* ---- Callbacks ---- */

static void departs(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct block *b = ctx;
	struct fate *fate = packet->cookie;

	fate->departed = time;
	if (!holds(b, packet->src))
		b->traffic->wrong = true;
}

static void arrives(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct block *b = ctx;
	struct fate *fate = packet->cookie;

	fate->arrived = time;
	b->traffic->arrivals++;
	if (!holds(b, packet->dst))
		b->traffic->wrong = true;
}

static void crosses(void *ctx, const struct tofu_net_packet *packet,
		    uint32_t node, enum tofu_port port, uint64_t start,
		    uint64_t end)
{
	struct block *b = ctx;
	struct fate *fate = packet->cookie;
	const uint64_t waited = tofu_net_link(b->net, node, port)->wait_ns;
	const uint64_t value[] = { node, port, start, end, waited };

	for (size_t i = 0; i < sizeof(value) / sizeof(value[0]); i++)
		fate->links = (fate->links ^ value[i]) * 0x100000001b3ULL;
	if (!holds(b, node))
		b->traffic->wrong = true;
}

static void touches(void *ctx, uint32_t node, uint64_t time)
{
	struct block *b = ctx;
	struct traffic *t = b->traffic;

	t->early |= time < t->now;
	t->wrong |= !holds(b, node) || tofu_net_next_at(b->net, node) > time;
}

static void leaves(void *ctx, const struct tofu_net_packet *packet,
		   uint32_t node, uint64_t ps, unsigned int at)
{
	struct block *b = ctx;
	struct traffic *t = b->traffic;

	b->left[b->leaving++] = (struct guest){ *packet, node, ps, at };
	t->early |= ps < t->now * 1000;
	t->wrong |= holds(b, node) || node >= t->nodes;
}

static void credits(void *ctx, const struct tofu_net_credit *credit)
{
	struct block *b = ctx;
	struct traffic *t = b->traffic;

	b->credit[b->crediting++] = *credit;
	t->early |= credit->ps < t->now * 1000;
	t->wrong |= holds(b, credit->node) || credit->node >= t->nodes;
}

static const struct tofu_net_ops ops = { .departs = departs,
					 .arrives = arrives,
					 .crosses = crosses,
					 .touches = touches,
					 .leaves = leaves,
					 .credits = credits };

/* ---- Traffic ---- */

/* A short while, so that packets often meet and tie. */
static void random_packet(const struct traffic *t, struct tofu_net_packet *p)
{
	const uint32_t sizes[] = { 0, 8, t->machine->mtu };

	p->time = (uint64_t)(rand() % 100) * 50;
	p->src = (uint32_t)rand() % t->nodes;
	p->dst = rand() % 4 ? (uint32_t)rand() % t->nodes : 0;
	p->path = rand() % 16;
	p->class_ = rand() % TOFU_CLASSES;
	p->engine = rand() % (TOFU_TNIS_MAX + 1);
	p->taker = rand() % (TOFU_TNIS_MAX + 1);
	p->payload = sizes[rand() % 3];
}

static int by_time(const void *a, const void *b)
{
	const struct tofu_net_packet *p = a, *q = b;

	return (p->time > q->time) - (p->time < q->time);
}

/* The same packets for the same seed. */
static struct traffic *traffic_create(const char *shape,
				      const struct tofu_preset *machine,
				      unsigned int seed)
{
	struct traffic *t = calloc(1, sizeof(*t));

	tofu_shape_parse(shape, &t->shape);
	t->machine = machine;
	t->nodes = tofu_shape_nodes(&t->shape);
	srand(seed);
	for (size_t i = 0; i < PACKETS; i++)
		random_packet(t, &t->packet[i]);
	qsort(t->packet, PACKETS, sizeof(t->packet[0]), by_time);
	for (size_t i = 0; i < PACKETS; i++) {
		t->packet[i].seq = i;
		t->packet[i].cookie = &t->fate[i];
	}
	return t;
}

static void divide(struct traffic *t, uint32_t blocks)
{
	t->blocks = blocks;
	for (uint32_t i = 0; i < blocks; i++) {
		struct block *b = &t->block[i];

		b->traffic = t;
		b->first = t->nodes * i / blocks;
		b->count = t->nodes * (i + 1) / blocks - b->first;
		b->net = tofu_net_create_block(&t->shape, t->machine, b->first,
					       b->count);
	}
}

static void traffic_destroy(struct traffic *t)
{
	for (uint32_t i = 0; i < t->blocks; i++)
		tofu_net_destroy(t->block[i].net);
	free(t);
}

/* ---- Running ---- */

static struct traffic *run_together(struct traffic *t)
{
	struct block *all = &t->block[0];

	t->blocks = 1;
	*all = (struct block){ .traffic = t, .count = t->nodes };
	all->net = tofu_net_create(&t->shape, t->machine);
	for (size_t i = 0; i < PACKETS; i++)
		tofu_net_send(all->net, &t->packet[i]);
	tofu_net_advance(all->net, 1000000000, &ops, all);
	return t;
}

/* Packets of @node from packet @from on enter while they are in the window. */
static void send_some(struct traffic *t, struct block *b, uint32_t node,
		      size_t from)
{
	for (; from < PACKETS && t->packet[from].time < t->now; from++) {
		if (t->packet[from].src == node)
			tofu_net_send(b->net, &t->packet[from]);
	}
}

static bool all_idle(const struct traffic *t)
{
	for (uint32_t i = 0; i < t->blocks; i++) {
		if (!tofu_net_idle(t->block[i].net))
			return false;
	}
	return true;
}

/* Between two windows; returns false where a block did not take a packet. */
static bool carry_over(struct traffic *t)
{
	for (uint32_t i = 0; i < t->blocks; i++) {
		struct block *b = &t->block[i];

		for (const struct guest *g = b->left; b->leaving;
		     b->leaving--, g++) {
			struct block *to = block_of(t, g->node);

			if (tofu_net_enter(to->net, &g->packet, g->node, g->ps,
					   g->at))
				return false;
		}
		for (const struct tofu_net_credit *c = b->credit; b->crediting;
		     b->crediting--, c++) {
			if (tofu_net_credit(block_of(t, c->node)->net, c))
				return false;
		}
	}
	return true;
}

/* Its engines take what they can while packets of the node are still missing. */
static void take_some(struct traffic *t, struct block *b, uint32_t node)
{
	const size_t arrivals = t->arrivals;
	const uint64_t until = tofu_net_take_at(b->net, node, t->now, &ops, b);

	t->taken += t->arrivals - arrivals;
	t->wrong |= until > t->now || tofu_net_next_at(b->net, node) < until;
}

/* Nodes in an order of their own in each window, and only where one is due. */
static void run_window(struct traffic *t, size_t from)
{
	const uint32_t turn = (uint32_t)rand() % t->nodes;

	for (uint32_t i = 0; i < t->nodes; i++) {
		const uint32_t node = t->nodes - 1 - (i + turn) % t->nodes;
		struct block *b = block_of(t, node);

		if (rand() % 2)
			take_some(t, b, node);
		send_some(t, b, node, from);
		if (tofu_net_next_at(b->net, node) < t->now)
			tofu_net_advance_at(b->net, node, t->now, &ops, b);
	}
}

static bool run_in_windows(struct traffic *t)
{
	size_t from = 0;

	while (from < PACKETS || !all_idle(t)) {
		t->now += t->machine->hop_ns;
		run_window(t, from);
		if (!carry_over(t))
			return false;
		while (from < PACKETS && t->packet[from].time < t->now)
			from++;
	}
	return true;
}

/* ---- Comparing ---- */

static bool same_link(const struct tofu_net_link *a,
		      const struct tofu_net_link *b)
{
	return a->packets == b->packets && a->bytes == b->bytes &&
	       a->wait_ns == b->wait_ns;
}

static void compare_links(struct harness_test *_metadata, struct traffic *one,
			  struct traffic *t)
{
	for (uint32_t i = 0; i < t->nodes * TOFU_PORTS; i++) {
		const uint32_t node = i / TOFU_PORTS;
		const enum tofu_port port = i % TOFU_PORTS;
		const int64_t from = tofu_neighbour(&t->shape, node, port);
		const struct tofu_net *net = block_of(t, node)->net;
		const struct tofu_net *all = one->block[0].net;
		const struct tofu_net_link *in =
			tofu_net_link_in(net, node, port);

		ASSERT_TRUE(same_link(tofu_net_link(all, node, port),
				      tofu_net_link(net, node, port)));
		ASSERT_EQ(from < 0 || holds(block_of(t, node), (uint32_t)from),
			  in != NULL);
		if (in)
			ASSERT_TRUE(same_link(tofu_net_link_in(all, node, port),
					      in));
	}
}

static void compare(struct harness_test *_metadata, struct traffic *one,
		    struct traffic *t)
{
	ASSERT_FALSE(t->early);
	ASSERT_FALSE(t->wrong);
	ASSERT_EQ(PACKETS, t->arrivals);
	ASSERT_GT(t->taken, 0);
	for (size_t i = 0; i < PACKETS; i++) {
		ASSERT_EQ(one->fate[i].departed, t->fate[i].departed);
		ASSERT_EQ(one->fate[i].arrived, t->fate[i].arrived);
		ASSERT_EQ(one->fate[i].links, t->fate[i].links);
	}
	compare_links(_metadata, one, t);
}

static const char *const shapes[] = { "2", "256", "3x2", "7x3x2",
				      "2x2x2x2x3x2" };
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void divided(struct harness_test *_metadata, uint32_t blocks)
{
	const struct tofu_preset *m;

	for (unsigned int seed = 0; (m = tofu_preset_at(seed / SHAPES));
	     seed++) {
		const char *shape = shapes[seed % SHAPES];
		struct traffic *one =
			run_together(traffic_create(shape, m, seed));
		struct traffic *t = traffic_create(shape, m, seed);

		divide(t, blocks < t->nodes ? blocks : t->nodes);
		ASSERT_TRUE(run_in_windows(t));
		compare(_metadata, one, t);
		traffic_destroy(one);
		traffic_destroy(t);
	}
}

TEST(one_block_is_as_one_network)
{
	divided(_metadata, 1);
}

TEST(two_blocks_are_as_one_network)
{
	divided(_metadata, 2);
}

TEST(three_blocks_are_as_one_network)
{
	divided(_metadata, 3);
}

TEST(seven_blocks_are_as_one_network)
{
	divided(_metadata, 7);
}

/* ---- A block by hand ---- */

FIXTURE(block)
{
	struct traffic *t;
	struct tofu_net *net;
};

/* Nodes 2 to 4 of a ring along X of a machine with hops of 100 ns. */
FIXTURE_SETUP(block)
{
	struct block *b;

	self->t = traffic_create("8", tofu_preset_find("k"), 1);
	self->t->blocks = 1;
	b = &self->t->block[0];
	*b = (struct block){ .traffic = self->t, .first = 2, .count = 3 };
	b->net = tofu_net_create_block(&self->t->shape, self->t->machine,
				       b->first, b->count);
	ASSERT_NE(NULL, b->net);
	self->net = b->net;
}

FIXTURE_TEARDOWN(block)
{
	traffic_destroy(self->t);
}

static struct tofu_net_packet a_packet(struct traffic *t, uint32_t src,
				       uint32_t dst)
{
	return (struct tofu_net_packet){ .time = 1000,
					 .src = src,
					 .dst = dst,
					 .cookie = &t->fate[0] };
}

TEST_F(block, next_events_are_those_of_a_node)
{
	const struct tofu_net_packet p = a_packet(self->t, 2, 4);
	struct block *b = &self->t->block[0];

	for (uint32_t node = 2; node < 5; node++)
		EXPECT_EQ(UINT64_MAX, tofu_net_next_at(self->net, node));
	ASSERT_EQ(0, tofu_net_send(self->net, &p));
	EXPECT_EQ(1000, tofu_net_next_at(self->net, 2));
	tofu_net_advance_at(self->net, 2, 1000, &ops, b);
	EXPECT_EQ(1000, tofu_net_next_at(self->net, 2));
	tofu_net_advance_at(self->net, 2, 1001, &ops, b);
	EXPECT_EQ(UINT64_MAX, tofu_net_next_at(self->net, 2));
	EXPECT_EQ(1100, tofu_net_next_at(self->net, 3));
	tofu_net_advance_at(self->net, 3, 1101, &ops, b);
	EXPECT_EQ(1200, tofu_net_next_at(self->net, 4));
	EXPECT_EQ(0, self->t->arrivals);
	tofu_net_advance_at(self->net, 4, 1201, &ops, b);
	EXPECT_EQ(UINT64_MAX, tofu_net_next_at(self->net, 4));
	EXPECT_EQ(1, self->t->arrivals);
	EXPECT_TRUE(tofu_net_idle(self->net));
}

TEST_F(block, next_events_are_rounded_down)
{
	const struct tofu_net_packet p = a_packet(self->t, 1, 4);

	ASSERT_EQ(0, tofu_net_enter(self->net, &p, 2, 1100999, 1));
	EXPECT_EQ(1100, tofu_net_next_at(self->net, 2));
}

TEST_F(block, what_leaves_is_forgotten)
{
	const struct tofu_net_packet p = a_packet(self->t, 4, 6);
	struct block *b = &self->t->block[0];

	ASSERT_EQ(0, tofu_net_send(self->net, &p));
	tofu_net_advance_at(self->net, 4, 2000, &ops, b);
	ASSERT_EQ(1, b->leaving);
	EXPECT_EQ(5, b->left[0].node);
	EXPECT_EQ(1100000, b->left[0].ps);
	EXPECT_EQ(1, b->left[0].at);
	EXPECT_EQ(&self->t->fate[0], b->left[0].packet.cookie);
	EXPECT_TRUE(tofu_net_idle(self->net));
	EXPECT_EQ(0, self->t->arrivals);
}

TEST_F(block, packets_come_to_their_end_from_outside)
{
	struct tofu_net_packet p = a_packet(self->t, 0, 2);
	struct block *b = &self->t->block[0];

	ASSERT_EQ(0, tofu_net_enter(self->net, &p, 2, 1200000, 2));
	tofu_net_advance_at(self->net, 2, 2000, &ops, b);
	EXPECT_EQ(1, self->t->arrivals);
	EXPECT_EQ(0, b->leaving);
	/* Its buffer is of the link that leaves node 1. */
	ASSERT_EQ(1, b->crediting);
	EXPECT_EQ(1, b->credit[0].node);
	/* That is not on its way, and not where it ends. */
	EXPECT_EQ(-EINVAL, tofu_net_enter(self->net, &p, 3, 1200000, 1));
	EXPECT_EQ(-EINVAL, tofu_net_enter(self->net, &p, 3, 1200000, 2));
}

TEST_F(block, engines_take_packets_up_to_one_that_goes_on)
{
	const struct tofu_net_packet p = a_packet(self->t, 1, 2);
	struct tofu_net_packet through = a_packet(self->t, 1, 3);
	struct tofu_net_packet own = a_packet(self->t, 2, 3);
	struct block *b = &self->t->block[0];

	through.seq = 1;
	own.seq = 2;
	ASSERT_EQ(0, tofu_net_enter(self->net, &p, 2, 1100000, 1));
	EXPECT_EQ(1101, tofu_net_take_at(self->net, 2, 1101, &ops, b));
	EXPECT_EQ(1, self->t->arrivals);
	ASSERT_EQ(0, tofu_net_enter(self->net, &through, 2, 1200000, 1));
	EXPECT_EQ(1200, tofu_net_take_at(self->net, 2, 1300, &ops, b));
	/* One of the node itself can still come before it. */
	own.time = 1150;
	ASSERT_EQ(0, tofu_net_send(self->net, &own));
	EXPECT_EQ(1150, tofu_net_take_at(self->net, 2, 1300, &ops, b));
	EXPECT_EQ(1, self->t->arrivals);
}

TEST_F(block, packets_that_are_not_of_the_block_are_refused)
{
	struct tofu_net_packet p = a_packet(self->t, 1, 4);

	EXPECT_EQ(-EINVAL, tofu_net_send(self->net, &p));
	EXPECT_EQ(-EINVAL, tofu_net_enter(self->net, &p, 1, 0, 1));
	EXPECT_EQ(-EINVAL, tofu_net_enter(self->net, &p, 5, 0, 1));
	EXPECT_EQ(-EINVAL, tofu_net_enter(self->net, &p, 2, 0, 0));
	EXPECT_EQ(-EINVAL, tofu_net_enter(self->net, &p, 2, 0, 3));
	EXPECT_EQ(-EINVAL, tofu_net_enter(self->net, &p, 2, 0, UINT32_MAX));
	p.dst = p.src;
	EXPECT_EQ(-EINVAL, tofu_net_enter(self->net, &p, 2, 0, 1));
	p.dst = 8;
	EXPECT_EQ(-EINVAL, tofu_net_enter(self->net, &p, 2, 0, 1));
	p.src = 2;
	EXPECT_EQ(-EINVAL, tofu_net_send(self->net, &p));
	EXPECT_TRUE(tofu_net_idle(self->net));
}

static void drop(void *ctx, const struct tofu_net_packet *packet)
{
	(void)packet;
	++*(unsigned int *)ctx;
}

TEST_F(block, packets_of_a_forgotten_node_vanish)
{
	const struct tofu_net_packet p = a_packet(self->t, 2, 4);
	struct tofu_net_packet q = a_packet(self->t, 2, 3);
	unsigned int dropped = 0;

	q.seq = 1;
	ASSERT_EQ(0, tofu_net_send(self->net, &p));
	ASSERT_EQ(0, tofu_net_send(self->net, &q));
	tofu_net_forget(self->net, 4, drop, &dropped);
	EXPECT_EQ(1, dropped);
	tofu_net_advance_at(self->net, 2, 2000, &ops, &self->t->block[0]);
	tofu_net_advance_at(self->net, 3, 2000, &ops, &self->t->block[0]);
	EXPECT_EQ(1, self->t->arrivals);
	EXPECT_TRUE(tofu_net_idle(self->net));
}

TEST(blocks_are_parts_of_the_machine)
{
	const struct tofu_preset *m = tofu_preset_at(0);
	struct tofu_shape s;
	static const uint32_t bad[][2] = {
		{ 0, 0 }, { 0, 7 }, { 6, 1 }, { 5, 2 }, { 1, UINT32_MAX },
	};

	tofu_shape_parse("6", &s);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		errno = 0;
		EXPECT_EQ(NULL, tofu_net_create_block(&s, m, bad[i][0],
						      bad[i][1]));
		EXPECT_EQ(EINVAL, errno);
	}
}

TEST_HARNESS_MAIN
