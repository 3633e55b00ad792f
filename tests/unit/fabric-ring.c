// SPDX-License-Identifier: MIT
/* Rings: order, sizes, room, classes, fences, waking. */
#define _GNU_SOURCE
#include "fabric-util.h"

#include "harness.h"

/* ---- Order and sizes ---- */

/* 71 MB: hundreds of times around the ring. */
#define ROUNDS 2

static uint8_t pattern(uint64_t tid, size_t i)
{
	return (uint8_t)(tid * 31 + i * 7 + (i >> 8));
}

struct checker {
	uint64_t next;
	unsigned int wrong;
};

/* Sizes grow by one each time and restart after the largest. */
static size_t size_of(uint64_t tid)
{
	return tid % (TOFU_PKT_INLINE_MAX + 1);
}

static int check_packet(void *ctx, const struct tofu_packet *pkt,
			const void *payload)
{
	struct checker *checker = ctx;
	const uint8_t *bytes = payload;

	checker->wrong += pkt->tid != checker->next;
	checker->wrong += pkt->payload != size_of(pkt->tid);
	for (size_t i = 0; i < pkt->payload; i++)
		checker->wrong += bytes[i] != pattern(pkt->tid, i);
	checker->next++;
	return 0;
}

static void no_down(void *ctx, uint32_t node)
{
	(void)ctx;
	(void)node;
}

static void produce_sizes(const char *path, uint64_t count)
{
	struct tofu_fabric *fabric = attach(path, 1);
	uint8_t buf[TOFU_PKT_INLINE_MAX];

	for (uint64_t tid = 0; tid < count; tid++) {
		size_t len = size_of(tid);
		int err;

		for (size_t i = 0; i < len; i++)
			buf[i] = pattern(tid, i);
		while ((err = send_flags(fabric, 0, TOFU_REQUEST, tid, buf, len,
					 0)) == -EAGAIN)
			sched_yield();
		if (err)
			_exit(1);
	}
	/* A node's requests are dropped when it leaves: stay until taken. */
	pause();
}

TEST(every_size_arrives_in_order_around_the_ring)
{
	const struct tofu_fabric_handler handler = { check_packet, no_down };
	const uint64_t count = ROUNDS * (TOFU_PKT_INLINE_MAX + 1);
	struct checker checker = { 0 };
	int64_t end = now_ms() + LIMIT_MS;
	struct tofu_fabric *fabric;
	char path[32];
	pid_t child;

	ASSERT_GE(machine_create(2, path), 0);
	fabric = attach(path, 0);
	ASSERT_NE(NULL, fabric);
	child = start_child();
	if (!child)
		produce_sizes(path, count);
	while (checker.next < count && now_ms() < end)
		if (!tofu_fabric_poll(fabric, &handler, &checker))
			sched_yield();
	EXPECT_EQ(count, checker.next);
	EXPECT_EQ(0, checker.wrong);
	kill_child(child);
	tofu_fabric_detach(fabric);
}

/* ---- Two nodes in this process ---- */

FIXTURE(pair)
{
	int fd;
	char path[32];
	struct tofu_fabric *a, *b;
	struct sink at_a, at_b;
};

FIXTURE_SETUP(pair)
{
	self->fd = machine_create(3, self->path);
	ASSERT_GE(self->fd, 0);
	self->a = attach(self->path, 0);
	self->b = attach(self->path, 1);
	ASSERT_NE(NULL, self->a);
	ASSERT_NE(NULL, self->b);
}

FIXTURE_TEARDOWN(pair)
{
	tofu_fabric_detach(self->a);
	tofu_fabric_detach(self->b);
	close(self->fd);
}

TEST_F(pair, a_full_ring_says_so_and_has_room_again_later)
{
	unsigned int sent = 0;
	int err;

	while (!(err = send_one(self->a, 1, TOFU_REQUEST, sent)))
		sent++;
	EXPECT_EQ(-EAGAIN, err);
	/* A header alone takes two lines. */
	EXPECT_EQ(TOFU_SHM_RING / 128, sent);
	EXPECT_FALSE(tofu_fabric_tx_room(self->a, 1, TOFU_REQUEST));
	EXPECT_TRUE(tofu_fabric_tx_room(self->a, 1, TOFU_RESPONSE));
	ASSERT_TRUE(sink_wait(self->b, &self->at_b, sent));
	EXPECT_TRUE(tofu_fabric_tx_room(self->a, 1, TOFU_REQUEST));
	for (unsigned int i = 0; i < sent; i++)
		ASSERT_EQ(i, self->at_b.seen[i].tid);
}

TEST_F(pair, room_means_that_the_largest_packet_fits)
{
	uint8_t payload[TOFU_PKT_INLINE_MAX] = { 0 };
	unsigned int full = 0;

	/* Sizes that leave the tail at every distance from the end. */
	for (unsigned int i = 0; i < 5000; i++) {
		size_t len = i * 64 % 1024;
		bool room = tofu_fabric_tx_room(self->a, 1, TOFU_REQUEST);

		if (room) {
			ASSERT_EQ(0, send_flags(self->a, 1, TOFU_REQUEST, i,
						payload, sizeof(payload), 0));
			send_flags(self->a, 1, TOFU_REQUEST, i, payload, len,
				   0);
		} else {
			ASSERT_EQ(-EAGAIN,
				  send_flags(self->a, 1, TOFU_REQUEST, i,
					     payload, sizeof(payload), 0));
			full++;
			while (sink_poll(self->b, &self->at_b))
				;
		}
	}
	EXPECT_GT(full, 10);
}

TEST_F(pair, room_in_virtual_time_means_that_all_signals_of_a_tni_fit)
{
	uint8_t payload[1024] = { 0 };
	unsigned int full = 0;

	ASSERT_EQ(0, tofu_fabric_clock_create(self->a));
	ASSERT_EQ(0, tofu_fabric_clock_create(self->b));
	for (unsigned int i = 0; i < 500; i++) {
		if (!tofu_fabric_tx_room(self->a, 1, TOFU_RESPONSE)) {
			full++;
			while (sink_poll(self->b, &self->at_b))
				;
			continue;
		}
		for (unsigned int gate = 0; gate < TOFU_GATES; gate++)
			ASSERT_EQ(0, send_flags(self->a, 1, TOFU_RESPONSE, i,
						payload, TOFU_SIGNAL_BYTES, 0));
		/* The tail is at every distance from the end. */
		send_flags(self->a, 1, TOFU_RESPONSE, i, payload,
			   i * 64 % sizeof(payload), 0);
	}
	EXPECT_GT(full, 10);
}

TEST_F(pair, what_is_begun_and_not_committed_is_not_there)
{
	int err;

	ASSERT_NE(NULL,
		  tofu_fabric_tx_begin(self->a, 1, TOFU_REQUEST, 100, &err));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 7));
	/* A commit without a begin does nothing. */
	tofu_fabric_tx_commit(self->a);
	ASSERT_TRUE(sink_wait(self->b, &self->at_b, 1));
	sink_poll(self->b, &self->at_b);
	EXPECT_EQ(1, self->at_b.count);
	EXPECT_EQ(7, self->at_b.seen[0].tid);
}

TEST_F(pair, what_cannot_be_sent_is_refused)
{
	int err = 0;

	EXPECT_EQ(NULL, tofu_fabric_tx_begin(self->a, 1, TOFU_REQUEST,
					     TOFU_PKT_INLINE_MAX + 1, &err));
	EXPECT_EQ(-EMSGSIZE, err);
	EXPECT_EQ(-EHOSTDOWN, send_one(self->a, 2, TOFU_REQUEST, 0));
	EXPECT_EQ(-EHOSTDOWN, send_one(self->a, 3, TOFU_REQUEST, 0));
	EXPECT_EQ(-EHOSTDOWN, send_one(self->a, UINT32_MAX, TOFU_REQUEST, 0));
	EXPECT_TRUE(tofu_fabric_tx_room(self->a, 2, TOFU_RESPONSE));
}

TEST_F(pair, sender_cannot_name_another_source)
{
	int err;
	struct tofu_packet *pkt =
		tofu_fabric_tx_begin(self->a, 1, TOFU_REQUEST, 0, &err);

	ASSERT_NE(NULL, pkt);
	pkt->type = TOFU_PKT_PUT;
	pkt->src = 2;
	pkt->payload = 12345;
	tofu_fabric_tx_commit(self->a);
	ASSERT_TRUE(sink_wait(self->b, &self->at_b, 1));
	EXPECT_EQ(0, self->at_b.seen[0].src);
	EXPECT_EQ(0, self->at_b.seen[0].payload);
}

/* ---- Classes ---- */

TEST_F(pair, responses_come_before_requests)
{
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 2));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 3));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 4));
	ASSERT_TRUE(sink_poll(self->b, &self->at_b));
	ASSERT_EQ(4, self->at_b.count);
	EXPECT_EQ(2, self->at_b.seen[0].tid);
	EXPECT_EQ(4, self->at_b.seen[1].tid);
	EXPECT_EQ(1, self->at_b.seen[2].tid);
	EXPECT_EQ(3, self->at_b.seen[3].tid);
}

/* A sender that sends more while its response is being taken. */
struct meanwhile {
	struct tofu_fabric *from;
	struct sink sink;
};

static int packet_meanwhile(void *ctx, const struct tofu_packet *pkt,
			    const void *payload)
{
	struct meanwhile *meanwhile = ctx;

	if (pkt->tid == 1) {
		send_one(meanwhile->from, 1, TOFU_RESPONSE, 2);
		send_one(meanwhile->from, 1, TOFU_REQUEST, 3);
	}
	return sink_packet(&meanwhile->sink, pkt, payload);
}

TEST_F(pair, a_request_waits_for_responses_sent_before_it)
{
	const struct tofu_fabric_handler handler = { packet_meanwhile,
						     no_down };
	struct meanwhile meanwhile = { .from = self->a };

	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 1));
	ASSERT_TRUE(tofu_fabric_poll(self->b, &handler, &meanwhile));
	for (unsigned int i = 0; i < meanwhile.sink.count; i++)
		EXPECT_NE(3, meanwhile.sink.seen[i].tid);
	ASSERT_TRUE(tofu_fabric_poll(self->b, &handler, &meanwhile));
	ASSERT_EQ(3, meanwhile.sink.count);
	EXPECT_EQ(2, meanwhile.sink.seen[1].tid);
	EXPECT_EQ(3, meanwhile.sink.seen[2].tid);
}

TEST_F(pair, a_refused_request_is_offered_again_and_holds_up_nobody)
{
	struct tofu_fabric *c = attach(self->path, 2);

	ASSERT_NE(NULL, c);
	self->at_b.refuse = true;
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 2));
	EXPECT_FALSE(sink_poll(self->b, &self->at_b));
	EXPECT_EQ(1, self->at_b.offered);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 3));
	ASSERT_EQ(0, send_one(c, 1, TOFU_RESPONSE, 4));
	EXPECT_TRUE(sink_poll(self->b, &self->at_b));
	ASSERT_EQ(2, self->at_b.count);
	self->at_b.refuse = false;
	ASSERT_TRUE(sink_wait(self->b, &self->at_b, 4));
	EXPECT_EQ(1, self->at_b.seen[2].tid);
	EXPECT_EQ(2, self->at_b.seen[3].tid);
	tofu_fabric_detach(c);
}

/* Each side asks and answers as fast as it can; both rings are full. */
#define ASKED 50000

struct talker {
	struct tofu_fabric *fabric;
	uint32_t other;
	uint64_t asked;
	uint64_t answered;
	bool wrong;
};

static int talk(void *ctx, const struct tofu_packet *pkt, const void *payload)
{
	struct talker *talker = ctx;

	(void)payload;
	if (pkt->type == TOFU_PKT_DONE) {
		talker->wrong |= pkt->tid != talker->answered++;
		return 0;
	}
	if (!tofu_fabric_tx_room(talker->fabric, talker->other, TOFU_RESPONSE))
		return -EAGAIN;
	if (send_one(talker->fabric, talker->other, TOFU_RESPONSE, pkt->tid))
		talker->wrong = true;
	return 0;
}

static void peer_left(void *ctx, uint32_t node)
{
	(void)ctx;
	(void)node;
}

/* Ask while there is room; then wait for all answers until @end. */
static bool talk_on(struct talker *talker)
{
	const struct tofu_fabric_handler handler = { talk, peer_left };
	int64_t end = now_ms() + LIMIT_MS;

	while (talker->answered < ASKED && !talker->wrong && now_ms() < end) {
		while (talker->asked < ASKED &&
		       !send_one(talker->fabric, talker->other, TOFU_REQUEST,
				 talker->asked))
			talker->asked++;
		tofu_fabric_poll(talker->fabric, &handler, talker);
	}
	return talker->answered == ASKED && !talker->wrong;
}

/* Continues to answer after its own questions are done. */
static void talker_child(const char *path)
{
	const struct tofu_fabric_handler handler = { talk, peer_left };
	struct talker talker = { .fabric = attach(path, 1), .other = 0 };

	while (!tofu_fabric_up(talker.fabric, 0))
		sched_yield();
	if (!talk_on(&talker))
		_exit(1);
	while (tofu_fabric_up(talker.fabric, 0))
		tofu_fabric_poll(talker.fabric, &handler, &talker);
	_exit(0);
}

TEST(full_rings_both_ways_do_not_deadlock)
{
	const struct tofu_fabric_handler handler = { talk, peer_left };
	struct talker talker = { .other = 1 };
	int64_t end = now_ms() + LIMIT_MS;
	char path[32];
	pid_t child;

	ASSERT_GE(machine_create(2, path), 0);
	child = start_child();
	if (!child)
		talker_child(path);
	talker.fabric = attach(path, 0);
	ASSERT_NE(NULL, talker.fabric);
	while (!tofu_fabric_up(talker.fabric, 1) && now_ms() < end)
		sched_yield();
	EXPECT_TRUE(talk_on(&talker));
	/* The other may still have questions. */
	for (int i = 0; i < 1000; i++) {
		tofu_fabric_poll(talker.fabric, &handler, &talker);
		usleep(200);
	}
	tofu_fabric_detach(talker.fabric);
	EXPECT_EQ(0, end_child(child));
}

/* ---- Fences ---- */

static int send_refs(struct tofu_fabric *from, uint32_t to, uint64_t tid)
{
	struct tofu_ref ref = { 0x1000, 64 };

	return send_flags(from, to, TOFU_RESPONSE, tid, &ref, sizeof(ref),
			  TOFU_PKT_F_REFS);
}

TEST_F(pair, a_fence_waits_for_references_and_nothing_else)
{
	tofu_fabric_fence_begin(self->a);
	EXPECT_TRUE(tofu_fabric_fence_done(self->a));

	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 0));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	tofu_fabric_fence_begin(self->a);
	EXPECT_TRUE(tofu_fabric_fence_done(self->a));

	ASSERT_EQ(0, send_refs(self->a, 1, 2));
	tofu_fabric_fence_begin(self->a);
	EXPECT_FALSE(tofu_fabric_fence_done(self->a));
	/* Later packets belong to another fence. */
	ASSERT_TRUE(sink_wait(self->b, &self->at_b, 3));
	ASSERT_EQ(0, send_refs(self->a, 1, 3));
	EXPECT_TRUE(tofu_fabric_fence_done(self->a));
	tofu_fabric_fence_begin(self->a);
	EXPECT_FALSE(tofu_fabric_fence_done(self->a));
	ASSERT_TRUE(sink_wait(self->b, &self->at_b, 4));
	EXPECT_TRUE(tofu_fabric_fence_done(self->a));
}

/* The receiver's handler checks that the fence is not done too early. */
struct fence_probe {
	struct tofu_fabric *from;
	bool done_inside;
};

static int probe_fence(void *ctx, const struct tofu_packet *pkt,
		       const void *payload)
{
	struct fence_probe *probe = ctx;

	(void)pkt;
	(void)payload;
	probe->done_inside |= tofu_fabric_fence_done(probe->from);
	return 0;
}

TEST_F(pair, a_fence_holds_while_the_receiver_is_reading)
{
	const struct tofu_fabric_handler handler = { probe_fence, no_down };
	struct fence_probe probe = { .from = self->a };

	ASSERT_EQ(0, send_refs(self->a, 1, 1));
	tofu_fabric_fence_begin(self->a);
	ASSERT_TRUE(tofu_fabric_poll(self->b, &handler, &probe));
	EXPECT_FALSE(probe.done_inside);
	EXPECT_TRUE(tofu_fabric_fence_done(self->a));
}

TEST_F(pair, a_fence_does_not_wait_for_who_is_gone)
{
	struct tofu_fabric *c = attach(self->path, 2);

	ASSERT_NE(NULL, c);
	ASSERT_EQ(0, send_refs(self->a, 2, 1));
	tofu_fabric_fence_begin(self->a);
	EXPECT_FALSE(tofu_fabric_fence_done(self->a));
	tofu_fabric_detach(c);
	ASSERT_TRUE(sink_wait_down(self->a, &self->at_a, 1));
	EXPECT_TRUE(tofu_fabric_fence_done(self->a));
}

/* ---- Loopback ---- */

TEST(a_machine_of_one_node_talks_to_itself)
{
	struct tofu_fabric *fabric = attach(NULL, -1);
	struct sink *sink = calloc(1, sizeof(*sink));

	ASSERT_NE(NULL, fabric);
	ASSERT_NE(NULL, sink);
	EXPECT_EQ(0, tofu_fabric_endpoint(fabric));
	EXPECT_EQ(1, tofu_shape_nodes(tofu_fabric_shape(fabric)));
	EXPECT_TRUE(tofu_fabric_up(fabric, 0));
	ASSERT_EQ(0, send_one(fabric, 0, TOFU_REQUEST, 5));
	ASSERT_EQ(0, send_one(fabric, 0, TOFU_RESPONSE, 6));
	ASSERT_TRUE(sink_wait(fabric, sink, 2));
	EXPECT_EQ(6, sink->seen[0].tid);
	EXPECT_EQ(5, sink->seen[1].tid);
	EXPECT_EQ(-EHOSTDOWN, send_one(fabric, 1, TOFU_REQUEST, 7));
	tofu_fabric_detach(fabric);
	free(sink);
}

/* ---- Waking ---- */

static bool readable(struct tofu_fabric *fabric, int ms)
{
	struct pollfd pfd = { .fd = tofu_fabric_fd(fabric), .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

TEST_F(pair, only_who_wants_is_woken_and_only_once)
{
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	EXPECT_FALSE(readable(self->b, 0));
	tofu_fabric_want_wake(self->b, true);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 2));
	EXPECT_TRUE(readable(self->b, 0));
	tofu_fabric_fd_ack(self->b);
	EXPECT_FALSE(readable(self->b, 0));
	/* The request to be woken was used up. */
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 3));
	EXPECT_FALSE(readable(self->b, 0));
	tofu_fabric_want_wake(self->b, true);
	tofu_fabric_want_wake(self->b, false);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 4));
	EXPECT_FALSE(readable(self->b, 0));
}

TEST_F(pair, who_wants_to_be_woken_late_is_not_woken_by_what_is_sent)
{
	tofu_fabric_want_wake_late(self->b);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 2));
	EXPECT_FALSE(readable(self->b, 0));
	tofu_fabric_wake_unseen(self->a);
	EXPECT_TRUE(readable(self->b, 0));
	tofu_fabric_fd_ack(self->b);
	/* One wake is enough until more is sent. */
	tofu_fabric_want_wake_late(self->b);
	tofu_fabric_wake_unseen(self->a);
	EXPECT_FALSE(readable(self->b, 0));
}

TEST_F(pair, who_has_looked_is_not_woken_late)
{
	tofu_fabric_want_wake_late(self->b);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	ASSERT_TRUE(sink_poll(self->b, &self->at_b));
	tofu_fabric_wake_unseen(self->a);
	EXPECT_FALSE(readable(self->b, 0));
	/* No wake for another sender's packets either. */
	ASSERT_EQ(0, send_one(self->b, 1, TOFU_REQUEST, 2));
	tofu_fabric_wake_unseen(self->a);
	EXPECT_FALSE(readable(self->b, 0));
}

TEST_F(pair, who_has_fallen_asleep_for_good_since_is_not_forgotten)
{
	tofu_fabric_want_wake_late(self->b);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	tofu_fabric_want_wake(self->b, true);
	tofu_fabric_wake_unseen(self->a);
	EXPECT_TRUE(readable(self->b, 0));
}

TEST_F(pair, who_waits_for_room_can_be_woken_late)
{
	/* They have connected, and have looked at that packet. */
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 0));
	ASSERT_TRUE(sink_poll(self->b, &self->at_b));
	sink_poll(self->a, &self->at_a);
	while (!send_one(self->a, 1, TOFU_REQUEST, 0))
		;
	tofu_fabric_want_wake_late(self->a);
	ASSERT_TRUE(sink_poll(self->b, &self->at_b));
	EXPECT_FALSE(readable(self->a, 0));
	tofu_fabric_wake_unseen(self->b);
	EXPECT_TRUE(readable(self->a, 0));
}

TEST_F(pair, who_waits_for_room_is_woken_by_the_reader)
{
	while (!send_one(self->a, 1, TOFU_REQUEST, 0))
		;
	tofu_fabric_want_wake(self->a, true);
	EXPECT_FALSE(readable(self->a, 0));
	ASSERT_TRUE(sink_poll(self->b, &self->at_b));
	EXPECT_TRUE(readable(self->a, 0));
	EXPECT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
}

TEST_F(pair, who_waits_for_a_fence_is_woken_by_the_reader)
{
	ASSERT_EQ(0, send_refs(self->a, 1, 1));
	tofu_fabric_fence_begin(self->a);
	ASSERT_FALSE(tofu_fabric_fence_done(self->a));
	tofu_fabric_want_wake(self->a, true);
	ASSERT_TRUE(sink_poll(self->b, &self->at_b));
	EXPECT_TRUE(readable(self->a, 0));
	EXPECT_TRUE(tofu_fabric_fence_done(self->a));
}

TEST_F(pair, a_node_can_wake_itself)
{
	tofu_fabric_wake(self->a);
	EXPECT_TRUE(readable(self->a, 0));
	tofu_fabric_fd_ack(self->a);
	EXPECT_FALSE(readable(self->a, 0));
}

/*
 * Both sleep whenever they have no work, so every packet must wake. A lost
 * wake-up shows as a poll() that times out.
 */
#define PINGS 100000

static bool take_asleep(struct tofu_fabric *fabric, struct sink *sink,
			unsigned int count, bool late)
{
	while (sink->count < count) {
		if (sink_poll(fabric, sink))
			continue;
		if (late)
			tofu_fabric_want_wake_late(fabric);
		else
			tofu_fabric_want_wake(fabric, true);
		if (sink_poll(fabric, sink)) {
			tofu_fabric_want_wake(fabric, false);
			continue;
		}
		if (!readable(fabric, LIMIT_MS))
			return false;
		tofu_fabric_fd_ack(fabric);
	}
	return true;
}

/* Send to a node that wants to be woken late, then wake it if it sleeps. */
static bool send_and_wake(struct tofu_fabric *fabric, uint32_t other,
			  uint64_t tid, bool late)
{
	bool good = send_wait(fabric, other, TOFU_REQUEST, tid);

	if (late)
		tofu_fabric_wake_unseen(fabric);
	return good;
}

static bool ping_pong(struct tofu_fabric *fabric, uint32_t other, bool first,
		      bool late)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	bool good = sink;

	for (unsigned int i = 0; good && i < PINGS; i++) {
		if (first)
			good = send_and_wake(fabric, other, i, late);
		good = good && take_asleep(fabric, sink, i + 1, late);
		if (good && !first)
			good = send_and_wake(fabric, other, i, late);
	}
	free(sink);
	return good;
}

/* A child, node 2, plays with @fabric; true when no wake-up was lost. */
static bool no_wake_up_lost(struct tofu_fabric *fabric, const char *path,
			    bool late)
{
	pid_t child = start_child();
	bool good;

	if (!child) {
		struct tofu_fabric *c = attach(path, 2);

		alarm(120);
		if (!ping_pong(c, 0, false, late))
			_exit(1);
		/* The last pong is a request: stay until it is taken. */
		pause();
	}
	while (!tofu_fabric_up(fabric, 2))
		sched_yield();
	good = ping_pong(fabric, 2, true, late);
	kill_child(child);
	return good;
}

TEST_F_TIMEOUT(pair, no_wake_up_is_lost, 120)
{
	EXPECT_TRUE(no_wake_up_lost(self->a, self->path, false));
}

TEST_F_TIMEOUT(pair, no_late_wake_up_is_lost, 120)
{
	EXPECT_TRUE(no_wake_up_lost(self->a, self->path, true));
}

/*
 * Store buffering with a sender's bit and its ring's tail: a sender that finds
 * the bit set leaves it, and the receiver that clears it must see the tail.
 * Otherwise the record stays in the ring, and the sender waits for ever.
 */
#define PAIRS 20000

static bool taken_by(const uint64_t *taken, uint64_t count)
{
	const time_t end = time(NULL) + LIMIT_MS / 1000;

	while (__atomic_load_n(taken, __ATOMIC_ACQUIRE) < count) {
		if (time(NULL) > end)
			return false;
		sched_yield();
	}
	return true;
}

static void take_all(struct tofu_fabric *fabric, uint64_t *taken)
{
	struct sink *sink = calloc(1, sizeof(*sink));

	while (sink) {
		if (!sink_poll(fabric, sink))
			sched_yield();
		__atomic_store_n(taken, sink->count, __ATOMIC_RELEASE);
	}
}

TEST_F_TIMEOUT(pair, no_record_is_overlooked, 120)
{
	uint64_t *taken = mmap(NULL, sizeof(*taken), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct tofu_fabric *c = attach(self->path, 2);
	bool good = true;
	pid_t child;

	ASSERT_NE(MAP_FAILED, (void *)taken);
	ASSERT_NE(NULL, c);
	tofu_fabric_detach(c);
	child = start_child();
	if (!child) {
		alarm(120);
		take_all(attach(self->path, 2), taken);
		_exit(1);
	}
	while (!tofu_fabric_up(self->a, 2))
		sched_yield();
	for (unsigned int i = 0; good && i < PAIRS; i++)
		good = send_wait(self->a, 2, TOFU_REQUEST, 2 * i) &&
		       send_wait(self->a, 2, TOFU_REQUEST, 2 * i + 1) &&
		       taken_by(taken, 2 * (i + 1));
	EXPECT_TRUE(good);
	kill_child(child);
}

TEST_HARNESS_MAIN
