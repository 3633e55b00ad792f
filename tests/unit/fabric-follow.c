/* SPDX-License-Identifier: MIT */
/*
 * Rings that a node follows: their producers set no bits, and nothing is overlooked when
 * it begins, when it ends, and when the producer is another process.
 */
#define _GNU_SOURCE
#include "harness.h"
#include "fabric-util.h"
#include "fabric/shm/internal.h"

#define NODES 8

/* Far more than it takes to be followed */
#define MANY 1000

FIXTURE(nodes)
{
	int fd;
	char path[32];
	char *base;
	struct tofu_fabric *node[NODES];
	struct sink sink;
};

FIXTURE_SETUP(nodes)
{
	self->fd = machine_create(NODES, self->path);
	ASSERT_GE(self->fd, 0);
	self->base = machine_map(self->fd, NODES);
	ASSERT_NE(MAP_FAILED, (void *)self->base);
	for (int n = 0; n < NODES; n++) {
		self->node[n] = attach(self->path, n);
		ASSERT_NE(NULL, self->node[n]);
	}
}

FIXTURE_TEARDOWN(nodes)
{
	for (int n = 0; n < NODES; n++)
		if (self->node[n])
			tofu_fabric_detach(self->node[n]);
	munmap(self->base, tofu_shm_size(NODES));
	close(self->fd);
}

/* Whether node 0 follows @node */
static bool follows(const char *base, uint32_t node)
{
	const struct tofu_shm_ring *ring =
		(const void *)(base + tofu_shm_ring_offset(
					      NODES, tofu_shm_ring_index(NODES, 0, node,
									 TOFU_REQUEST)));

	return ring->followed && ring->followed == ring->conn;
}

static unsigned int followed(const char *base)
{
	unsigned int count = 0;

	for (uint32_t n = 0; n < NODES; n++)
		count += follows(base, n);
	return count;
}

static uint64_t bits(const char *base)
{
	return ((const struct tofu_shm_node *)(base + tofu_shm_node_offset(0)))->pending[0];
}

/* @node sends to node 0, which takes each. */
static void talk(struct harness_test *_metadata, struct tofu_fabric **node, uint32_t from,
		 struct sink *sink, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++) {
		const unsigned int before = sink->count;

		ASSERT_EQ(0, send_one(node[from], 0, TOFU_REQUEST, i));
		sink_poll(node[0], sink);
		ASSERT_EQ(before + 1, sink->count);
	}
}

TEST_F(nodes, who_is_followed_sets_no_bit)
{
	ASSERT_EQ(0, send_one(self->node[1], 0, TOFU_REQUEST, 0));
	EXPECT_EQ(2, bits(self->base));
	EXPECT_FALSE(tofu_fabric_quiet(self->node[0]));
	sink_poll(self->node[0], &self->sink);
	talk(_metadata, self->node, 1, &self->sink, MANY);
	EXPECT_TRUE(follows(self->base, 1));
	EXPECT_TRUE(tofu_fabric_quiet(self->node[0]));
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++) {
		ASSERT_EQ(0, send_one(self->node[1], 0, class_, 7));
		EXPECT_EQ(0, bits(self->base));
		EXPECT_FALSE(tofu_fabric_quiet(self->node[0]));
		ASSERT_TRUE(sink_poll(self->node[0], &self->sink));
		EXPECT_TRUE(tofu_fabric_quiet(self->node[0]));
	}
	EXPECT_EQ(MANY + 3, self->sink.count);
}

/* What is refused is offered again, and is no news. */
TEST_F(nodes, what_is_kept_is_offered_again)
{
	talk(_metadata, self->node, 1, &self->sink, MANY);
	self->sink.refuse = true;
	ASSERT_EQ(0, send_one(self->node[1], 0, TOFU_REQUEST, 7));
	for (unsigned int i = 0; i < 3; i++) {
		self->sink.offered = 0;
		sink_poll(self->node[0], &self->sink);
		EXPECT_EQ(1, self->sink.offered);
		EXPECT_TRUE(tofu_fabric_quiet(self->node[0]));
	}
	self->sink.refuse = false;
	EXPECT_TRUE(sink_poll(self->node[0], &self->sink));
	EXPECT_EQ(MANY + 1, self->sink.count);
}

TEST_F(nodes, a_few_are_followed_and_all_are_heard)
{
	for (unsigned int i = 0; i < 3 * MANY; i++) {
		talk(_metadata, self->node, 1 + i % (NODES - 1), &self->sink, 1);
		ASSERT_LE(followed(self->base), TOFU_FOLLOWS);
	}
	EXPECT_EQ(TOFU_FOLLOWS, followed(self->base));
}

TEST_F(nodes, who_sends_no_more_makes_room)
{
	for (uint32_t n = 1; n < NODES; n++) {
		talk(_metadata, self->node, n, &self->sink, MANY);
		EXPECT_TRUE(follows(self->base, n));
	}
	EXPECT_EQ(TOFU_FOLLOWS, followed(self->base));
}

/* It was sent when its sender was followed, and is found when that has ended. */
TEST_F(nodes, what_was_sent_before_is_not_forgotten)
{
	for (uint32_t n = 1; n <= TOFU_FOLLOWS; n++)
		talk(_metadata, self->node, n, &self->sink, MANY);
	ASSERT_TRUE(follows(self->base, 1));
	self->sink.refuse = true;
	ASSERT_EQ(0, send_one(self->node[1], 0, TOFU_REQUEST, 7));
	sink_poll(self->node[0], &self->sink);
	self->sink.count = 0;
	for (unsigned int i = 0; i < MANY; i++) {
		ASSERT_EQ(0, send_one(self->node[NODES - 1], 0, TOFU_RESPONSE, i));
		sink_poll(self->node[0], &self->sink);
	}
	ASSERT_EQ(MANY, self->sink.count);
	EXPECT_TRUE(follows(self->base, NODES - 1));
	self->sink.refuse = false;
	ASSERT_EQ(0, send_one(self->node[1], 0, TOFU_REQUEST, 8));
	EXPECT_TRUE(sink_wait(self->node[0], &self->sink, MANY + 2));
}

static bool readable(struct tofu_fabric *fabric)
{
	struct pollfd pfd = { .fd = tofu_fabric_fd(fabric), .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

TEST_F(nodes, who_has_not_looked_is_woken_late)
{
	talk(_metadata, self->node, 1, &self->sink, MANY);
	ASSERT_TRUE(follows(self->base, 1));
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++) {
		tofu_fabric_want_wake_late(self->node[0]);
		ASSERT_EQ(0, send_one(self->node[1], 0, class_, 1));
		EXPECT_FALSE(readable(self->node[0]));
		ASSERT_TRUE(sink_poll(self->node[0], &self->sink));
		tofu_fabric_wake_unseen(self->node[1]);
		EXPECT_FALSE(readable(self->node[0]));
		ASSERT_EQ(0, send_one(self->node[1], 0, class_, 2));
		EXPECT_FALSE(readable(self->node[0]));
		tofu_fabric_wake_unseen(self->node[1]);
		EXPECT_TRUE(readable(self->node[0]));
		tofu_fabric_fd_ack(self->node[0]);
		ASSERT_TRUE(sink_poll(self->node[0], &self->sink));
	}
	tofu_fabric_want_wake(self->node[0], true);
	ASSERT_EQ(0, send_one(self->node[1], 0, TOFU_REQUEST, 3));
	EXPECT_TRUE(readable(self->node[0]));
}

TEST_F(nodes, a_successor_is_heard_though_its_predecessor_was_followed)
{
	for (uint32_t n = 1; n <= 2; n++)
		talk(_metadata, self->node, n, &self->sink, MANY);
	for (unsigned int life = 1; life <= 3; life++) {
		tofu_fabric_detach(self->node[1]);
		self->node[1] = attach(self->path, 1);
		ASSERT_NE(NULL, self->node[1]);
		ASSERT_TRUE(send_wait(self->node[1], 0, TOFU_REQUEST, life));
		ASSERT_TRUE(sink_wait(self->node[0], &self->sink, self->sink.count + 1));
		EXPECT_EQ(life, self->sink.down);
		EXPECT_FALSE(follows(self->base, 1));
		EXPECT_TRUE(follows(self->base, 2));
		talk(_metadata, self->node, 2, &self->sink, 10);
		talk(_metadata, self->node, 1, &self->sink, MANY);
		EXPECT_TRUE(follows(self->base, 1));
	}
}

/* ---- Processes ---- */

/* Of each sender, before it waits */
#define BURST 40
#define BURSTS 2000

static void send_bursts(const char *path, int self, const uint64_t *taken)
{
	struct tofu_fabric *fabric = attach(path, self);

	alarm(120);
	for (uint64_t i = 0; fabric && i < BURSTS; i++) {
		for (unsigned int k = 0; k < BURST; k++)
			if (!send_wait(fabric, 0, TOFU_REQUEST, (uint64_t)self))
				_exit(1);
		/* Nothing that comes later would help: all of it has to be seen. */
		while (__atomic_load_n(&taken[self], __ATOMIC_ACQUIRE) < (i + 1) * BURST)
			sched_yield();
	}
	_exit(!fabric);
}

static int count_packet(void *ctx, const struct tofu_packet *pkt, const void *payload)
{
	uint64_t *taken = ctx;

	(void)payload;
	__atomic_fetch_add(&taken[pkt->tid % NODES], 1, __ATOMIC_RELEASE);
	return 0;
}

static void no_down(void *ctx, uint32_t node)
{
	(void)ctx;
	(void)node;
}

FIXTURE(processes)
{
	int fd;
	char path[32];
	uint64_t *taken;
	struct tofu_fabric *fabric;
	pid_t child[NODES];
};

FIXTURE_SETUP(processes)
{
	self->taken = mmap(NULL, NODES * sizeof(*self->taken), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->taken);
	self->fd = machine_create(NODES, self->path);
	ASSERT_GE(self->fd, 0);
	self->fabric = attach(self->path, 0);
	ASSERT_NE(NULL, self->fabric);
	for (int n = 1; n < NODES; n++) {
		self->child[n] = start_child();
		if (!self->child[n])
			send_bursts(self->path, n, self->taken);
	}
}

FIXTURE_TEARDOWN(processes)
{
	for (int n = 1; n < NODES; n++)
		kill_child(self->child[n]);
	tofu_fabric_detach(self->fabric);
	close(self->fd);
}

static uint64_t all_taken(const uint64_t *taken)
{
	uint64_t all = 0;

	for (int n = 1; n < NODES; n++)
		all += taken[n];
	return all;
}

/* More senders than can be followed: they take each other's places all the time. */
TEST_F_TIMEOUT(processes, nobody_is_overlooked_when_places_change, 120)
{
	const struct tofu_fabric_handler handler = { count_packet, no_down };
	const uint64_t all = (NODES - 1) * BURST * BURSTS;
	const int64_t end = now_ms() + 100000;
	bool left = false;

	/* As programs poll: where it is quiet, and nothing was left, nobody looks. */
	while (all_taken(self->taken) < all && now_ms() < end) {
		if (left || !tofu_fabric_quiet(self->fabric))
			left = tofu_fabric_poll(self->fabric, &handler, self->taken);
		else
			sched_yield();
	}
	EXPECT_EQ(all, all_taken(self->taken));
}

TEST_HARNESS_MAIN
