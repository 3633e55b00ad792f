// SPDX-License-Identifier: MIT
/* Nodes that join, leave, die and come back. */
#define _GNU_SOURCE
#include "fabric-util.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "fabric/process.h"

#include "harness.h"

FIXTURE(machine)
{
	int fd;
	char path[32];
	struct tofu_fabric *a;
	struct sink sink;
};

FIXTURE_SETUP(machine)
{
	self->fd = machine_create(3, self->path);
	ASSERT_GE(self->fd, 0);
	self->a = attach(self->path, 0);
	ASSERT_NE(NULL, self->a);
}

FIXTURE_TEARDOWN(machine)
{
	tofu_fabric_detach(self->a);
	close(self->fd);
}

static bool readable(struct tofu_fabric *fabric, int ms)
{
	struct pollfd pfd = { .fd = tofu_fabric_fd(fabric), .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

/* ---- Attaching ---- */

TEST_F(machine, a_number_is_had_once)
{
	struct tofu_fabric *b, *c;
	bool said;

	EXPECT_EQ(-EBUSY, attach_error(self->path, 0, &said));
	EXPECT_TRUE(said);
	b = attach(self->path, -1);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(1, tofu_fabric_endpoint(b));
	c = attach(self->path, -1);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(2, tofu_fabric_endpoint(c));
	EXPECT_EQ(-EBUSY, attach_error(self->path, -1, &said));
	EXPECT_TRUE(said);
	tofu_fabric_detach(b);
	b = attach(self->path, -1);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(1, tofu_fabric_endpoint(b));
	tofu_fabric_detach(b);
	tofu_fabric_detach(c);
}

TEST_F(machine, wrong_files_and_numbers_are_refused_with_a_reason)
{
	int fd = memfd_create("empty", 0);
	char path[32];
	bool said;

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	EXPECT_EQ(-EINVAL, attach_error(self->path, 3, &said));
	EXPECT_TRUE(said);
	EXPECT_EQ(-EINVAL, attach_error(self->path, -2, &said));
	EXPECT_EQ(-EINVAL, attach_error(path, 0, &said));
	EXPECT_TRUE(said);
	ASSERT_EQ(0, ftruncate(fd, 1 << 20));
	EXPECT_EQ(-EINVAL, attach_error(path, 0, &said));
	EXPECT_EQ(-EINVAL, attach_error("/dev/null", 0, &said));
	EXPECT_EQ(-ENOENT, attach_error("/nonexistent/fabric", 0, &said));
	EXPECT_TRUE(said);
	close(fd);
}

TEST(the_largest_machine_works_at_its_corners)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	struct tofu_fabric *first, *last;
	char path[32];

	ASSERT_NE(NULL, sink);
	ASSERT_GE(machine_create(TOFU_FABRIC_NODES_MAX, path), 0);
	first = attach(path, 0);
	last = attach(path, TOFU_FABRIC_NODES_MAX - 1);
	ASSERT_NE(NULL, first);
	ASSERT_NE(NULL, last);
	ASSERT_EQ(0,
		  send_one(first, TOFU_FABRIC_NODES_MAX - 1, TOFU_RESPONSE, 1));
	ASSERT_EQ(0,
		  send_one(last, TOFU_FABRIC_NODES_MAX - 1, TOFU_RESPONSE, 2));
	ASSERT_TRUE(sink_wait(last, sink, 2));
	EXPECT_EQ(TOFU_FABRIC_NODES_MAX - 1, sink->seen[1].src);
	tofu_fabric_detach(first);
	tofu_fabric_detach(last);
	free(sink);
}

TEST_F(machine, fabrics_side_by_side_do_not_mix)
{
	struct sink *sink = calloc(1, sizeof(*sink));
	struct tofu_fabric *other, *b;
	char path[32];
	int fd = machine_create(2, path);

	ASSERT_GE(fd, 0);
	ASSERT_NE(NULL, sink);
	other = attach(path, 1);
	b = attach(self->path, 1);
	ASSERT_NE(NULL, other);
	ASSERT_NE(NULL, b);
	EXPECT_FALSE(tofu_fabric_up(other, 0));
	EXPECT_EQ(-EHOSTDOWN, send_one(other, 0, TOFU_REQUEST, 1));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 2));
	EXPECT_FALSE(sink_poll(other, sink));
	ASSERT_TRUE(sink_wait(b, sink, 1));
	tofu_fabric_detach(other);
	tofu_fabric_detach(b);
	free(sink);
	close(fd);
}

/* ---- Leaving ---- */

TEST_F(machine, who_leaves_is_seen_at_once_by_who_sleeps)
{
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	EXPECT_TRUE(tofu_fabric_up(self->a, 1));
	tofu_fabric_want_wake(self->a, true);
	EXPECT_FALSE(readable(self->a, 0));
	/* It does not know the node that waits for it. */
	tofu_fabric_detach(b);
	EXPECT_TRUE(readable(self->a, 0));
	EXPECT_FALSE(tofu_fabric_up(self->a, 1));
	EXPECT_EQ(-EHOSTDOWN, send_one(self->a, 1, TOFU_REQUEST, 2));
	sink_poll(self->a, &self->sink);
	EXPECT_EQ(1, self->sink.down);
	EXPECT_EQ(1, self->sink.down_node);
	sink_poll(self->a, &self->sink);
	EXPECT_EQ(1, self->sink.down);
}

TEST_F(machine, the_last_responses_arrive_before_the_news)
{
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(NULL, b);
	/* With and without a connection: both reach the ring. */
	for (int known = 0; known < 2; known++) {
		if (known)
			ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 0));
		for (unsigned int i = 0; i < 5; i++)
			ASSERT_EQ(0, send_one(b, 0, TOFU_RESPONSE, i));
		if (!known)
			ASSERT_TRUE(sink_wait(self->a, &self->sink, 5));
	}
	ASSERT_EQ(0, send_one(b, 0, TOFU_REQUEST, 9));
	tofu_fabric_detach(b);
	ASSERT_TRUE(sink_wait_down(self->a, &self->sink, 1));
	EXPECT_EQ(10, self->sink.count);
	EXPECT_EQ(10, self->sink.down_after);
}

TEST_F(machine, who_was_never_met_is_not_missed)
{
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(NULL, b);
	tofu_fabric_detach(b);
	sink_poll(self->a, &self->sink);
	EXPECT_EQ(0, self->sink.down);
}

/* ---- Coming back ---- */

TEST_F(machine, what_was_sent_to_a_predecessor_is_not_delivered)
{
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 2));
	tofu_fabric_detach(b);
	b = attach(self->path, 1);
	ASSERT_NE(NULL, b);
	/* Not before the handler has been told. */
	EXPECT_EQ(-EHOSTDOWN, send_one(self->a, 1, TOFU_REQUEST, 3));
	ASSERT_TRUE(sink_wait_down(self->a, &self->sink, 1));
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 4));
	self->sink.count = 0;
	ASSERT_TRUE(sink_wait(b, &self->sink, 1));
	sink_poll(b, &self->sink);
	EXPECT_EQ(1, self->sink.count);
	EXPECT_EQ(4, self->sink.seen[0].tid);
	tofu_fabric_detach(b);
}

TEST_F(machine, what_a_predecessor_asked_is_not_answered)
{
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, send_one(b, 0, TOFU_REQUEST, 1));
	tofu_fabric_detach(b);
	b = attach(self->path, 1);
	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, send_one(b, 0, TOFU_REQUEST, 2));
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	sink_poll(self->a, &self->sink);
	EXPECT_EQ(1, self->sink.count);
	EXPECT_EQ(2, self->sink.seen[0].tid);
	tofu_fabric_detach(b);
}

/* Old records in a full ring must not block a successor. */
TEST_F(machine, a_full_ring_is_empty_for_a_successor)
{
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(NULL, b);
	while (!send_one(b, 0, TOFU_REQUEST, 1))
		;
	tofu_fabric_detach(b);
	b = attach(self->path, 1);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(-EAGAIN, send_one(b, 0, TOFU_REQUEST, 2));
	sink_poll(self->a, &self->sink);
	EXPECT_EQ(0, self->sink.count);
	EXPECT_EQ(0, send_one(b, 0, TOFU_REQUEST, 3));
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	EXPECT_EQ(3, self->sink.seen[0].tid);
	tofu_fabric_detach(b);
}

/*
 * It may sleep until then, although the consumer takes no packet from the old
 * ring.
 */
TEST_F(machine, a_successor_that_waits_for_room_is_woken)
{
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(NULL, b);
	while (!send_one(b, 0, TOFU_REQUEST, 1))
		;
	tofu_fabric_detach(b);
	b = attach(self->path, 1);
	ASSERT_NE(NULL, b);
	/* Connect first, so that the wake of a first contact is used up. */
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_RESPONSE, 0));
	self->sink.count = 0;
	ASSERT_TRUE(sink_wait(b, &self->sink, 1));
	ASSERT_EQ(-EAGAIN, send_one(b, 0, TOFU_REQUEST, 2));
	tofu_fabric_fd_ack(b);
	tofu_fabric_want_wake(b, true);
	ASSERT_EQ(-EAGAIN, send_one(b, 0, TOFU_REQUEST, 2));
	EXPECT_FALSE(readable(b, 0));
	self->sink.count = 0;
	sink_poll(self->a, &self->sink);
	EXPECT_EQ(0, self->sink.count);
	EXPECT_TRUE(readable(b, 0));
	EXPECT_EQ(0, send_one(b, 0, TOFU_REQUEST, 3));
	tofu_fabric_detach(b);
}

/* The death, and the successor's first packet, arrive in the same poll. */
TEST_F(machine, a_successor_is_heard_though_its_predecessor_was_known)
{
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(NULL, b);
	for (unsigned int i = 0; i < 20; i++) {
		ASSERT_EQ(0, send_one(b, 0, TOFU_REQUEST, i));
		if (i % 3)
			ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
		tofu_fabric_detach(b);
		b = attach(self->path, 1);
		ASSERT_NE(NULL, b);
		self->sink.count = 0;
		ASSERT_EQ(0, send_one(b, 0, TOFU_RESPONSE, 100 + i));
		sink_poll(self->a, &self->sink);
		ASSERT_EQ(1, self->sink.count);
		ASSERT_EQ(100 + i, self->sink.seen[0].tid);
		self->sink.count = 0;
	}
	tofu_fabric_detach(b);
}

/* ---- Dying ---- */

TEST_F(machine, a_killed_peer_makes_the_descriptor_readable)
{
	pid_t child = start_child();

	if (!child) {
		struct tofu_fabric *b = attach(self->path, 1);

		_exit(send_one(b, 0, TOFU_REQUEST, 1) ? 1 : pause());
	}
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	EXPECT_FALSE(readable(self->a, 0));
	kill(child, SIGKILL);
	/* Not reaped: a zombie counts as dead. */
	EXPECT_TRUE(readable(self->a, LIMIT_MS));
	EXPECT_FALSE(tofu_fabric_up(self->a, 1));
	tofu_fabric_fd_ack(self->a);
	EXPECT_FALSE(readable(self->a, 0));
	sink_poll(self->a, &self->sink);
	EXPECT_EQ(1, self->sink.down);
	EXPECT_EQ(-EHOSTDOWN, send_one(self->a, 1, TOFU_REQUEST, 1));
	waitpid(child, NULL, 0);
}

TEST_F(machine, who_polls_and_never_sleeps_hears_of_a_death_too)
{
	pid_t child = start_child();

	if (!child) {
		struct tofu_fabric *b = attach(self->path, 1);

		_exit(send_one(b, 0, TOFU_REQUEST, 1) ? 1 : pause());
	}
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	kill_child(child);
	EXPECT_TRUE(sink_wait_down(self->a, &self->sink, 1));
}

static void note_down(void *ctx, uint32_t node)
{
	*(uint32_t *)ctx = node;
}

/* In virtual time; it would look at every 256th meeting in any case. */
TEST_F(machine, who_is_roused_by_nobody_looks_whether_the_others_live)
{
	const struct tofu_fabric_handler handler = { .peer_down = note_down };
	uint32_t down = 0;
	pid_t child = start_child();

	if (!child)
		_exit(send_one(attach(self->path, 1), 0, TOFU_REQUEST, 1) ? 1 : pause());
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	ASSERT_EQ(0, tofu_fabric_clock_create(self->a));
	tofu_fabric_clock_meet(self->a, &handler, &down);
	kill_child(child);
	tofu_fabric_clock_sleep(self->a, 1, UINT64_MAX, UINT64_MAX, false);
	tofu_fabric_clock_meet(self->a, &handler, &down);
	EXPECT_EQ(1, down);
}

TEST_F(machine, to_wake_the_dead_is_no_signal)
{
	struct tofu_shm_node *entry;
	void *base = machine_map(self->fd, 3);
	pid_t child = start_child();

	ASSERT_NE(MAP_FAILED, base);
	if (!child) {
		struct tofu_fabric *b = attach(self->path, 1);

		send_one(b, 0, TOFU_REQUEST, 1);
		for (;; usleep(100))
			tofu_fabric_want_wake(b, true);
	}
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	/* Connecting has used up one request to be woken. */
	entry = (void *)((char *)base + tofu_shm_node_offset(1));
	while (!__atomic_load_n(&entry->want_wake, __ATOMIC_RELAXED))
		sched_yield();
	kill_child(child);
	/* The death is not noticed yet, so it is sent, without a reader. */
	EXPECT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	EXPECT_EQ(0, entry->want_wake);
}

/* Sends numbered packets as fast as it can, until it is killed. */
static void produce(const char *path, int node)
{
	struct tofu_fabric *b = attach(path, node);
	static uint8_t payload[TOFU_PKT_INLINE_MAX];

	for (uint64_t tid = 0; b; tid++) {
		size_t len = tid * 37 % sizeof(payload);
		int err;

		memset(payload, (int)tid, len);
		do {
			err = send_flags(b, 0,
					 tid % 2 ? TOFU_REQUEST : TOFU_RESPONSE,
					 tid, payload, len, 0);
		} while (err == -EAGAIN);
	}
	_exit(1);
}

struct whole {
	uint64_t next[TOFU_CLASSES];
	unsigned int count, wrong, down; /* count: since the last one went */
};

static int check_whole(void *ctx, const struct tofu_packet *pkt,
		       const void *payload)
{
	struct whole *whole = ctx;
	enum tofu_class class_ = pkt->tid % 2 ? TOFU_REQUEST : TOFU_RESPONSE;
	const uint8_t *bytes = payload;

	whole->wrong += pkt->tid != whole->next[class_];
	whole->next[class_] = pkt->tid + 2;
	for (uint32_t i = 0; i < pkt->payload; i++)
		whole->wrong += bytes[i] != (uint8_t)pkt->tid;
	whole->count++;
	return 0;
}

static void count_down(void *ctx, uint32_t node)
{
	struct whole *whole = ctx;

	(void)node;
	whole->down++;
	whole->count = 0;
	whole->next[TOFU_RESPONSE] = 0;
	whole->next[TOFU_REQUEST] = 1;
}

TEST_F_TIMEOUT(machine, a_producer_killed_anywhere_leaves_whole_packets, 60)
{
	const struct tofu_fabric_handler handler = { check_whole, count_down };
	struct whole whole = {
		.next = { [TOFU_RESPONSE] = 0, [TOFU_REQUEST] = 1 }
	};

	for (unsigned int round = 1; round <= 100; round++) {
		int64_t end = now_ms() + LIMIT_MS;
		pid_t child = start_child();

		if (!child)
			produce(self->path, 1);
		while ((whole.down < round - 1 || whole.count < round * 7) &&
		       now_ms() < end)
			tofu_fabric_poll(self->a, &handler, &whole);
		ASSERT_EQ(round - 1, whole.down);
		ASSERT_GE(whole.count, round * 7);
		usleep(round * 13 % 200);
		kill_child(child);
		/* Every other one has a successor before it is missed. */
		while (round % 2 && whole.down < round && now_ms() < end)
			tofu_fabric_poll(self->a, &handler, &whole);
	}
	while (whole.down < 100)
		tofu_fabric_poll(self->a, &handler, &whole);
	EXPECT_EQ(0, whole.wrong);
	EXPECT_EQ(100, whole.down);
}

TEST_F_TIMEOUT(machine, a_consumer_killed_anywhere_frees_its_producer, 60)
{
	for (unsigned int round = 1; round <= 50; round++) {
		int64_t end = now_ms() + LIMIT_MS;
		pid_t child = start_child();
		uint64_t tid = 0;
		int err;

		if (!child) {
			struct tofu_fabric *b = attach(self->path, 1);

			for (;;)
				sink_poll(b, &self->sink);
		}
		while (!tofu_fabric_up(self->a, 1) && now_ms() < end)
			sched_yield();
		/* While it lives, and then until the ring is full. */
		do {
			err = send_one(self->a, 1, TOFU_REQUEST, tid++);
			if (tid == 1000 * round)
				kill_child(child);
			if (tid > 1000 * round && err == -EAGAIN)
				sink_poll(self->a, &self->sink);
			else if (err == -EAGAIN)
				tid--;
		} while ((!err || err == -EAGAIN) && now_ms() < end);
		ASSERT_EQ(-EHOSTDOWN, err);
		ASSERT_TRUE(sink_wait_down(self->a, &self->sink, round));
	}
	EXPECT_EQ(50, self->sink.down);
}

TEST_F(machine, the_number_of_the_dead_can_be_had)
{
	pid_t child = start_child();
	struct tofu_fabric *b;

	if (!child) {
		b = attach(self->path, 1);
		_exit(send_one(b, 0, TOFU_REQUEST, 1) ? 1 : pause());
	}
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	kill(child, SIGKILL);
	ASSERT_TRUE(sink_wait_down(self->a, &self->sink, 1));
	b = attach(self->path, 1);
	ASSERT_NE(NULL, b);
	EXPECT_TRUE(tofu_fabric_up(self->a, 1));
	EXPECT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	tofu_fabric_detach(b);
	waitpid(child, NULL, 0);
}

/* A node with a child that lives on, until the other end of @end is closed. */
static void be_parent(const char *path, const int end[2])
{
	struct tofu_fabric *b = attach(path, 1);
	char byte;

	close(end[1]);
	if (b && !fork())
		_exit(read(end[0], &byte, 1));
	_exit(send_one(b, 0, TOFU_REQUEST, 1) ? 1 : pause());
}

/* A forked child keeps what its parent had open, and the lock with it. */
TEST_F(machine, the_number_of_the_dead_can_be_had_though_a_child_lives)
{
	struct tofu_fabric *b;
	pid_t child;
	int end[2];

	ASSERT_EQ(0, pipe(end));
	child = start_child();
	if (!child)
		be_parent(self->path, end);
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	kill(child, SIGKILL);
	ASSERT_TRUE(sink_wait_down(self->a, &self->sink, 1));
	b = attach(self->path, 1);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	tofu_fabric_detach(b);
	waitpid(child, NULL, 0);
	close(end[0]);
	close(end[1]);
}

/* ---- Executing another program ---- */

/* A child of the node that lives as long as its process. */
static void be_child(struct tofu_fabric *of_parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	tofu_fabric_forked(of_parent);
	_exit(pause());
}

/* A node that sends, and executes a program when @go says so. */
static void send_and_execute(const char *path, int go, bool has_child)
{
	struct tofu_fabric *b = attach(path, 1);
	char byte;

	if (b && has_child && !fork())
		be_child(b);
	if (!b || send_one(b, 0, TOFU_REQUEST, 1) || read(go, &byte, 1) != 1)
		_exit(1);
	execlp("sleep", "sleep", "60", NULL);
	_exit(2);
}

FIXTURE(execution)
{
	int fd;
	char path[32];
	struct tofu_fabric *a;
	struct sink sink;
};

FIXTURE_VARIANT(execution)
{
	bool has_child;
};

FIXTURE_VARIANT_ADD(execution, alone){
	.has_child = false,
};

FIXTURE_VARIANT_ADD(execution, with_a_child){
	.has_child = true,
};

FIXTURE_SETUP(execution)
{
	self->fd = machine_create(3, self->path);
	ASSERT_GE(self->fd, 0);
	self->a = attach(self->path, 0);
	ASSERT_NE(NULL, self->a);
}

FIXTURE_TEARDOWN(execution)
{
	tofu_fabric_detach(self->a);
	close(self->fd);
}

TEST_F(execution, who_executes_another_program_is_dead_at_once)
{
	struct tofu_fabric *b;
	pid_t child;
	int go[2];

	ASSERT_EQ(0, pipe(go));
	child = start_child();
	if (!child)
		send_and_execute(self->path, go[0], variant->has_child);
	ASSERT_TRUE(sink_wait(self->a, &self->sink, 1));
	EXPECT_TRUE(tofu_fabric_up(self->a, 1));
	EXPECT_FALSE(readable(self->a, 0));
	ASSERT_EQ(1, write(go[1], "", 1));
	EXPECT_TRUE(readable(self->a, LIMIT_MS));
	EXPECT_FALSE(tofu_fabric_up(self->a, 1));
	tofu_fabric_fd_ack(self->a);
	EXPECT_FALSE(readable(self->a, 0));
	sink_poll(self->a, &self->sink);
	EXPECT_EQ(1, self->sink.down);
	EXPECT_EQ(-EHOSTDOWN, send_one(self->a, 1, TOFU_REQUEST, 1));
	EXPECT_EQ(0, kill(child, 0));
	/* Its number is free, for the new program as for any other. */
	b = attach(self->path, 1);
	ASSERT_NE(NULL, b);
	EXPECT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	tofu_fabric_detach(b);
	kill_child(child);
	close(go[0]);
	close(go[1]);
}

/* A process that has got a dead one's pid is not that node. */
TEST_F(machine, a_reused_pid_is_no_node)
{
	struct tofu_shm_node *entry;
	void *base = machine_map(self->fd, 3);
	struct tofu_fabric *b = attach(self->path, 1);

	ASSERT_NE(MAP_FAILED, base);
	ASSERT_NE(NULL, b);
	entry = (void *)((char *)base + tofu_shm_node_offset(1));
	entry->start--;
	EXPECT_FALSE(tofu_fabric_up(self->a, 1));
	EXPECT_EQ(-EHOSTDOWN, send_one(self->a, 1, TOFU_REQUEST, 1));
	tofu_fabric_detach(b);
}

/* ---- A lack of descriptors ---- */

/*
 * A process without free descriptors cannot see whether a node lives. It must
 * not take the number, nor count the node as dead for ever.
 */
TEST_F(machine, who_cannot_look_does_not_take_a_node_for_dead)
{
	struct tofu_fabric *b = attach(self->path, 1);
	struct rlimit full, limit;
	int free_fd = dup(0);

	ASSERT_NE(NULL, b);
	ASSERT_GE(free_fd, 0);
	close(free_fd);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	full = limit;
	/* Allow one descriptor more each time, until all fit. */
	for (rlim_t more = 0; more < 8; more++) {
		full.rlim_cur = (rlim_t)free_fd + more;
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &full));
		send_one(self->a, 1, TOFU_REQUEST, more);
	}
	for (rlim_t more = 0; more < 12; more++) {
		struct tofu_fabric *thief = NULL;

		full.rlim_cur = (rlim_t)free_fd + more;
		ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &full));
		EXPECT_NE(0, tofu_fabric_attach(self->path, 1, NULL, &thief));
	}
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	EXPECT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 9));
	EXPECT_EQ(0, send_one(b, 0, TOFU_REQUEST, 10));
	tofu_fabric_detach(b);
}

/* The error of sending with no free descriptor says how many are enough. */
TEST_F(machine, who_has_no_descriptors_left_is_told_how_many_to_have)
{
	struct tofu_fabric *b = attach(self->path, 1);
	char text[TOFU_FABRIC_LACK_TEXT] = "", limits[64];
	struct rlimit full, limit;
	int free_fd = dup(0), err;

	ASSERT_NE(NULL, b);
	ASSERT_GE(free_fd, 0);
	close(free_fd);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	full = limit;
	full.rlim_cur = (rlim_t)free_fd;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &full));
	err = send_one(self->a, 1, TOFU_REQUEST, 1);
	EXPECT_EQ(-EMFILE, err);
	EXPECT_TRUE(tofu_fabric_lack(self->a, err, text));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	snprintf(limits, sizeof(limits), "all %d descriptors", free_fd);
	EXPECT_NE(NULL, strstr(text, limits));
	snprintf(limits, sizeof(limits), "ulimit -n %d",
		 3 * TOFU_FABRIC_PEER_FILES + TOFU_FABRIC_OTHER_FILES);
	EXPECT_NE(NULL, strstr(text, limits));
	/* A node that is not there is no lack. */
	err = send_one(self->a, 2, TOFU_REQUEST, 1);
	EXPECT_EQ(-EHOSTDOWN, err);
	EXPECT_FALSE(tofu_fabric_lack(self->a, err, text));
	EXPECT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 2));
	tofu_fabric_detach(b);
}

/* poll() fails where the limit is less than the count of descriptors. */
TEST_F(machine, an_error_of_poll_is_no_death)
{
	struct tofu_fabric *b = attach(self->path, 1);
	struct rlimit none, limit;
	uint64_t start;
	int pidfd;

	ASSERT_NE(NULL, b);
	ASSERT_EQ(0, send_one(self->a, 1, TOFU_REQUEST, 1));
	ASSERT_EQ(0, tofu_process_start(getpid(), &start));
	pidfd = tofu_process_open(getpid(), start);
	ASSERT_GE(pidfd, 0);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &limit));
	none = limit;
	none.rlim_cur = 0;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_TRUE(tofu_process_alive(pidfd));
	EXPECT_TRUE(tofu_fabric_up(self->a, 1));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &limit));
	close(pidfd);
	tofu_fabric_detach(b);
}

/* ---- Signals ---- */

#define SIGNALS 5000
#define SIGNAL_NS 20000

static volatile sig_atomic_t signals;

static void signal_count(int number)
{
	(void)number;
	signals++;
}

/* Signals of a program's timers must not make its peers count as dead. */
TEST(who_is_interrupted_does_not_take_a_node_for_dead)
{
	struct sigaction action = { .sa_handler = signal_count };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGUSR1 };
	const struct itimerspec often = { { 0, SIGNAL_NS }, { 0, SIGNAL_NS } };
	int64_t end = now_ms() + LIMIT_MS;
	unsigned int dead = 0;
	uint64_t start;
	timer_t timer;
	int pidfd;

	ASSERT_EQ(0, tofu_process_start(getpid(), &start));
	pidfd = tofu_process_open(getpid(), start);
	ASSERT_GE(pidfd, 0);
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
	ASSERT_EQ(0, timer_settime(timer, 0, &often, NULL));
	while (signals < SIGNALS && now_ms() < end)
		for (unsigned int i = 0; i < 100; i++)
			dead += !tofu_process_alive(pidfd);
	timer_delete(timer);
	EXPECT_GT(signals, 0);
	EXPECT_EQ(0, dead);
	close(pidfd);
}

TEST_HARNESS_MAIN
