// SPDX-License-Identifier: MIT
/* Nodes with controllers: transfers, kicks, sleeping threads, deaths. */
#define _GNU_SOURCE
#include "node-util.h"

#include <pthread.h>
#include <sched.h>
#include <sys/uio.h>

#include "harness.h"

#define NOTICES \
	(TOFU_TOQ_F_TCQ_NOTICE | TOFU_TOQ_F_LCL_NOTICE | TOFU_TOQ_F_RMT_NOTICE)

/* Progress on the nodes given until @home has an MRQ entry; its status. */
static int wait_mrq(struct home *home, struct home *other)
{
	int64_t end = now_ms() + LIMIT_MS;
	int status;

	while ((status = home_mrq(home)) < 0 && now_ms() < end) {
		tofu_node_kick(home->node, true);
		if (other)
			tofu_node_kick(other->node, true);
	}
	return status;
}

/* ---- Two nodes, memory in files or in this process ---- */

FIXTURE(pair)
{
	char path[32];
	int fd;
	struct home a, b;
};

FIXTURE_VARIANT(pair)
{
	bool process;
	unsigned int flags;
};

FIXTURE_VARIANT_ADD(pair, files){
	.process = false,
};

FIXTURE_VARIANT_ADD(pair, processes){
	.process = true,
};

FIXTURE_VARIANT_ADD(pair, files_ordered){
	.process = false,
	.flags = TOFU_TOQ_F_STRONG_ORDER,
};

FIXTURE_VARIANT_ADD(pair, processes_ordered){
	.process = true,
	.flags = TOFU_TOQ_F_STRONG_ORDER,
};

FIXTURE_SETUP(pair)
{
	self->fd = machine_create(2, self->path);
	ASSERT_TRUE(home_open(&self->a, self->path, 0, variant->process, true));
	ASSERT_TRUE(home_open(&self->b, self->path, 1, variant->process, true));
}

FIXTURE_TEARDOWN(pair)
{
	home_close(&self->a);
	home_close(&self->b);
	close(self->fd);
}

static const uint64_t lengths[] = { 0, 1, 7, 8, 100,
				    256, 257, 4096, 9999, 65536,
				    300001, 4 << 20, 16777215 };

/* Whether @to holds at @to_at exactly @len bytes of @from. */
static bool arrived(struct home *to, uint64_t to_at, struct home *from,
		    uint64_t from_at, uint64_t len)
{
	return !memcmp(to->data + to_at, from->data + from_at, len) &&
	       to->data[to_at + len] == 0xee &&
	       (!to_at || to->data[to_at - 1] == 0xee);
}

static void fill(struct home *home, unsigned int seed, uint64_t len)
{
	for (uint64_t i = 0; i < len; i++)
		home->data[i] = (uint8_t)((i * 2654435761U + seed) >> 8);
}

TEST_F(pair, puts_and_gets_of_every_length_arrive)
{
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t len = lengths[i], at = 3 + i;

		fill(&self->a, (unsigned int)i, len + at);
		memset(self->b.data, 0xee, len + 2 * at);
		home_post(&self->a, TOFU_CMD_PUT, NOTICES | variant->flags, 1,
			  len, at, 1);
		ASSERT_EQ(0, wait_mrq(&self->a, &self->b));
		ASSERT_EQ(0, home_tcq(&self->a));
		ASSERT_EQ(0, wait_mrq(&self->b, &self->a));
		ASSERT_TRUE(arrived(&self->b, at, &self->a, 1, len));

		fill(&self->b, (unsigned int)i + 77, len + at);
		memset(self->a.data, 0xee, len + 2 * at);
		home_post(&self->a, TOFU_CMD_GET,
			  (NOTICES & ~TOFU_TOQ_F_RMT_NOTICE) | variant->flags,
			  1, len, 2, at);
		ASSERT_EQ(0, wait_mrq(&self->a, &self->b));
		ASSERT_EQ(0, home_tcq(&self->a));
		ASSERT_TRUE(arrived(&self->a, at, &self->b, 2, len));
	}
}

/* Its own requests wait behind the answer that it does not take, but nobody else's. */
TEST(who_takes_no_answer_holds_up_nobody)
{
	const uint64_t much = 300001;
	struct home home[3];
	char path[32];
	int fd = machine_create(3, path);

	for (int i = 0; i < 3; i++)
		ASSERT_TRUE(home_open(&home[i], path, i, true, true));
	fill(&home[1], 5, much);
	home_post(&home[2], TOFU_CMD_GET, NOTICES, 1, much, 0, 0);
	tofu_node_kick(home[2].node, false);
	for (int i = 0; i < 100; i++)
		tofu_node_kick(home[1].node, true);
	EXPECT_EQ(-1, home_mrq(&home[1]));
	home_post(&home[0], TOFU_CMD_GET, NOTICES, 1, 4096, 0, 0);
	EXPECT_EQ(0, wait_mrq(&home[0], &home[1]));
	EXPECT_TRUE(!memcmp(home[0].data, home[1].data, 4096));
	EXPECT_EQ(0, home_mrq(&home[1]));
	EXPECT_EQ(0, wait_mrq(&home[2], &home[1]));
	EXPECT_TRUE(!memcmp(home[2].data, home[1].data, much));
	EXPECT_EQ(0, home_mrq(&home[1]));
	for (int i = 0; i < 3; i++)
		home_close(&home[i]);
	close(fd);
}

static unsigned int reads;

ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *local,
				unsigned long locals,
				const struct iovec *remote,
				unsigned long remotes, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local,
				unsigned long locals,
				const struct iovec *remote,
				unsigned long remotes, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *local,
				unsigned long locals,
				const struct iovec *remote,
				unsigned long remotes, unsigned long flags)
{
	reads++;
	return __real_process_vm_readv(pid, local, locals, remote, remotes,
				       flags);
}

TEST_F(pair, a_put_reads_the_other_process_in_large_pieces)
{
	home_post(&self->a, TOFU_CMD_PUT, NOTICES | variant->flags, 1, 4 << 20,
		  0, 0);
	ASSERT_EQ(0, wait_mrq(&self->a, &self->b));
	EXPECT_LE(reads, 100);
}

TEST_F(pair, a_node_puts_to_itself)
{
	fill(&self->a, 1, 100000);
	memset(self->a.data + 200000, 0xee, 200000);
	home_post(&self->a, TOFU_CMD_PUT,
		  TOFU_TOQ_F_LCL_NOTICE | variant->flags, 0, 100000, 200001, 0);
	ASSERT_EQ(0, wait_mrq(&self->a, NULL));
	EXPECT_TRUE(arrived(&self->a, 200001, &self->a, 0, 100000));
}

/* The bytes that land are not defined, but the put must do no other harm. */
TEST_F(pair, a_put_may_overlap_itself)
{
	fill(&self->a, 1, 100000);
	home_post(&self->a, TOFU_CMD_PUT,
		  TOFU_TOQ_F_LCL_NOTICE | variant->flags, 0, 100000, 1000, 0);
	EXPECT_EQ(0, wait_mrq(&self->a, NULL));
	home_post(&self->a, TOFU_CMD_PUT,
		  TOFU_TOQ_F_LCL_NOTICE | variant->flags, 0, 100000, 0, 1000);
	EXPECT_EQ(0, wait_mrq(&self->a, NULL));
}

/* ---- A peer that dies ---- */

TEST(a_command_to_a_node_that_dies_ends)
{
	struct home *a = calloc(1, sizeof(*a));
	char path[32];
	int ready[2];
	pid_t child;
	char byte;

	ASSERT_GE(machine_create(2, path), 0);
	ASSERT_EQ(0, pipe(ready));
	ASSERT_TRUE(home_open(a, path, 0, false, true));
	child = start_child();
	if (!child) {
		struct home b;

		/* Attached, but never answers. */
		_exit(!home_open(&b, path, 1, false, true) ||
				      write(ready[1], "", 1) != 1 ?
			      1 :
			      pause());
	}
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	home_post(a, TOFU_CMD_PUT, TOFU_TOQ_F_LCL_NOTICE, 1, 8, 0, 0);
	home_post(a, TOFU_CMD_PUT, TOFU_TOQ_F_LCL_NOTICE, 1, 5000000, 0, 0);
	home_kick(a, false);
	EXPECT_EQ(-1, home_mrq(a));
	kill_child(child);
	EXPECT_EQ(TOFU_ST_PEER, wait_mrq(a, NULL));
	EXPECT_EQ(TOFU_ST_PEER, wait_mrq(a, NULL));
	/* A command that begins afterwards. */
	home_post(a, TOFU_CMD_PUT, TOFU_TOQ_F_LCL_NOTICE, 1, 8, 0, 0);
	EXPECT_EQ(TOFU_ST_PEER, wait_mrq(a, NULL));
	home_close(a);
	free(a);
}

/* ---- Threads ---- */

/* The node's thread, as in every home. */
struct runner {
	struct home *home;
	pthread_t thread;
	bool stop;
	bool lost; /* nothing woke it within the limit */
};

static void *run(void *arg)
{
	struct runner *runner = arg;
	struct tofu_node *node = runner->home->node;

	while (!__atomic_load_n(&runner->stop, __ATOMIC_ACQUIRE)) {
		struct pollfd pfd = { .fd = tofu_node_fd(node),
				      .events = POLLIN };
		bool work;
		int ms;

		tofu_node_lock(node);
		work = tofu_node_progress(node);
		tofu_node_unlock(node);
		if (work)
			continue;
		ms = tofu_node_sleep(node);
		if (!ms)
			continue;
		if (!poll(&pfd, 1, ms < 0 ? LIMIT_MS : ms) && ms < 0)
			runner->lost = true;
		tofu_node_awake(node);
	}
	return NULL;
}

static void runner_start(struct runner *runner, struct home *home)
{
	*runner = (struct runner){ .home = home };
	pthread_create(&runner->thread, NULL, run, runner);
}

static void runner_stop(struct runner *runner)
{
	__atomic_store_n(&runner->stop, true, __ATOMIC_RELEASE);
	tofu_fabric_wake(tofu_node_fabric(runner->home->node));
	pthread_join(runner->thread, NULL);
}

#define PINGS 5000

/* Put a word to the other node, wait for one from it; kick as required. */
static bool play(struct home *home, uint32_t other, bool first)
{
	for (uint64_t i = 1; i <= PINGS; i++) {
		int64_t end = now_ms() + LIMIT_MS;

		if (first) {
			home_post(home, TOFU_CMD_PUT_PIGGYBACK, 0, other, 8, 0,
				  i);
			home_kick(home, false);
		}
		while (__atomic_load_n((uint64_t *)(void *)home->data,
				       __ATOMIC_ACQUIRE) != i) {
			home_kick(home, true);
			/* The threads that do the work may be short of a
			 * processor.
			 */
			sched_yield();
			if (now_ms() > end)
				return false;
		}
		if (!first) {
			home_post(home, TOFU_CMD_PUT_PIGGYBACK, 0, other, 8, 0,
				  i);
			home_kick(home, false);
		}
	}
	return true;
}

static bool is_up(struct home *home, uint32_t node)
{
	bool up;

	tofu_node_lock(home->node);
	up = tofu_fabric_up(tofu_node_fabric(home->node), node);
	tofu_node_unlock(home->node);
	return up;
}

static int play_child(const char *path, bool assist, int ready)
{
	struct home home;
	struct runner runner;
	bool good;

	if (!home_open(&home, path, 1, true, assist) ||
	    write(ready, "", 1) != 1)
		return 2;
	runner_start(&runner, &home);
	good = play(&home, 0, false);
	/* The other node still needs answers to its last commands. */
	while (good && is_up(&home, 0))
		usleep(1000);
	runner_stop(&runner);
	return good && !runner.lost ? 0 : 1;
}

FIXTURE(players)
{
	char path[32];
};

FIXTURE_VARIANT(players)
{
	bool assist;
};

FIXTURE_VARIANT_ADD(players, threads_alone){
	.assist = false,
};

FIXTURE_VARIANT_ADD(players, assisted){
	.assist = true,
};

FIXTURE_SETUP(players)
{
	ASSERT_GE(machine_create(2, self->path), 0);
}

FIXTURE_TEARDOWN(players)
{
}

TEST_F_TIMEOUT(players, words_go_to_and_fro_and_no_thread_is_forgotten, 120)
{
	struct home *a = calloc(1, sizeof(*a));
	struct runner runner;
	int ready[2];
	pid_t child;
	char byte;

	ASSERT_EQ(0, pipe(ready));
	child = start_child();
	if (!child) {
		alarm(120);
		_exit(play_child(self->path, variant->assist, ready[1]));
	}
	ASSERT_TRUE(home_open(a, self->path, 0, false, variant->assist));
	ASSERT_EQ(1, read(ready[0], &byte, 1));
	runner_start(&runner, a);
	EXPECT_TRUE(play(a, 1, true));
	runner_stop(&runner);
	EXPECT_FALSE(runner.lost);
	home_close(a);
	EXPECT_EQ(0, end_child(child));
	free(a);
}

/* ---- Programs that stop polling ---- */

/* More kicks than any patience lasts; a limit, not a measure. */
#define MANY_POLLS 10000

static bool readable(const struct home *home)
{
	struct pollfd pfd = { .fd = tofu_node_fd(home->node),
			      .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* A program waits by polls; its node's thread is asleep meanwhile. */
static void wait_by_polls(struct home *home)
{
	do {
		tofu_node_kick(home->node, true);
		tofu_node_kick(home->node, true);
	} while (!tofu_node_sleep(home->node));
}

/* Poll at @home until @other is woken, MANY_POLLS times at most. */
static bool polls_wake(struct home *home, const struct home *other)
{
	for (int i = 0; i < MANY_POLLS && !readable(other); i++)
		tofu_node_kick(home->node, true);
	return readable(other);
}

FIXTURE(wait)
{
	char path[32];
	int fd;
	struct home a, b;
};

FIXTURE_SETUP(wait)
{
	self->fd = machine_create(2, self->path);
	ASSERT_TRUE(home_open(&self->a, self->path, 0, true, true));
	ASSERT_TRUE(home_open(&self->b, self->path, 1, true, true));
	/* Connect them, and forget the polls that this needed. */
	home_post(&self->a, TOFU_CMD_PUT, NOTICES, 1, 8, 0, 0);
	ASSERT_EQ(0, wait_mrq(&self->a, &self->b));
	while (tofu_node_sleep(self->b.node) >= 0)
		;
}

FIXTURE_TEARDOWN(wait)
{
	home_close(&self->a);
	home_close(&self->b);
	close(self->fd);
}

TEST_F(wait, a_program_that_has_stopped_is_woken_by_one_that_waits_for_it)
{
	wait_by_polls(&self->b);
	home_post(&self->a, TOFU_CMD_GET, TOFU_TOQ_F_LCL_NOTICE, 1, 4096, 0, 0);
	home_kick(&self->a, false);
	EXPECT_FALSE(readable(&self->b));
	ASSERT_TRUE(polls_wake(&self->a, &self->b));
	tofu_node_awake(self->b.node);
	EXPECT_EQ(0, tofu_node_sleep(self->b.node));
	EXPECT_EQ(0, wait_mrq(&self->a, NULL));
}

/* Others have had their turn after its first packets, and there is room for more. */
TEST_F(wait, no_thread_sleeps_while_its_answer_can_go_on)
{
	home_post(&self->a, TOFU_CMD_GET, NOTICES, 1, 40000, 0, 0);
	home_kick(&self->a, false);
	EXPECT_EQ(0, tofu_node_sleep(self->b.node));
	EXPECT_EQ(0, wait_mrq(&self->a, &self->b));
}

TEST_F(wait, a_program_that_goes_on_polling_has_its_thread_left_asleep)
{
	wait_by_polls(&self->b);
	home_post(&self->a, TOFU_CMD_PUT, 0, 1, 4096, 0, 0);
	home_kick(&self->a, false);
	tofu_node_kick(self->b.node, true);
	EXPECT_FALSE(polls_wake(&self->a, &self->b));
}

TEST_F(wait, a_thread_without_polls_to_rely_on_is_woken_at_once)
{
	int64_t end = now_ms() + LIMIT_MS;

	wait_by_polls(&self->b);
	/* It wakes and looks, until there have been no polls for a while. */
	do
		tofu_node_awake(self->b.node);
	while (tofu_node_sleep(self->b.node) >= 0 && now_ms() < end);
	home_post(&self->a, TOFU_CMD_PUT, 0, 1, 8, 0, 0);
	home_kick(&self->a, false);
	EXPECT_TRUE(readable(&self->b));
}

/* The program has polled just now, and may be waiting for a processor. */
TEST_F(wait, a_thread_that_wakes_before_its_program_polls_is_left_asleep)
{
	int timeout = -1;

	/* This process may be late, too. */
	for (int i = 0; i < 100 && timeout < 0; i++) {
		wait_by_polls(&self->b);
		tofu_node_awake(self->b.node);
		timeout = tofu_node_sleep(self->b.node);
	}
	ASSERT_LT(0, timeout);
	home_post(&self->a, TOFU_CMD_PUT, 0, 1, 8, 0, 0);
	home_kick(&self->a, false);
	EXPECT_FALSE(readable(&self->b));
}

/* A program polls once for the end of its put, then waits for a word. */
TEST_F(wait, one_poll_after_a_post_is_not_relied_on)
{
	for (int i = 0; i < 3; i++) {
		home_post(&self->b, TOFU_CMD_PUT, 0, 0, 8, 0, 0);
		home_kick(&self->b, false);
		tofu_node_kick(self->a.node, true);
		tofu_node_kick(self->b.node, true);
	}
	EXPECT_EQ(-1, tofu_node_sleep(self->b.node));
}

/* ---- Sessions ---- */

#define CHAIN 4

/*
 * All commands but the first have been posted, and no program kicks or polls
 * any more: the nodes' threads carry a word from node to node.
 */
TEST(a_chain_of_sessions_goes_while_software_sleeps)
{
	struct home *home = calloc(CHAIN, sizeof(*home));
	struct runner runner[CHAIN];
	int64_t end = now_ms() + LIMIT_MS;
	char path[32];
	int status;

	ASSERT_GE(machine_create(CHAIN, path), 0);
	for (unsigned int i = 0; i < CHAIN; i++) {
		ASSERT_TRUE(home_open(&home[i], path, (int)i, false, false));
		if (i)
			home_session(&home[i]);
		runner_start(&runner[i], &home[i]);
	}
	memcpy(home[0].data, "go", 2);
	for (unsigned int i = CHAIN - 1; i-- > 0;) {
		home_post_step(&home[i], TOFU_CMD_PUT, NOTICES, i + 1, 2, 0, 0,
			       1);
		home_kick(&home[i], false);
	}
	while ((status = home_mrq(&home[CHAIN - 1])) < 0 && now_ms() < end)
		usleep(1000);
	EXPECT_EQ(TOFU_ST_OK, status);
	EXPECT_EQ(0, memcmp(home[CHAIN - 1].data, "go", 2));
	for (unsigned int i = 0; i < CHAIN; i++) {
		runner_stop(&runner[i]);
		EXPECT_FALSE(runner[i].lost);
	}
	for (unsigned int i = 0; i < CHAIN; i++)
		home_close(&home[i]);
	free(home);
}

/* ---- The lock ---- */

FIXTURE(alone)
{
	struct home home;
};

FIXTURE_SETUP(alone)
{
	ASSERT_TRUE(home_open(&self->home, NULL, 0, true, false));
}

FIXTURE_TEARDOWN(alone)
{
	home_close(&self->home);
}

#define TRIES 50
#define TURN_STEPS 1000000

/**
 * struct worker - a thread that works without a pause
 * @turns: how often it has had the lock
 */
struct worker {
	struct tofu_node *node;
	unsigned int turns;
	bool stop;
};

/*
 * Run on the first processor, or the last: on the same one, a thread that wakes
 * would preempt the other.
 */
static void stay_on(bool last)
{
	cpu_set_t all, one;
	int cpu = -1;

	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all) && (last || cpu < 0))
			cpu = i;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *work_on(void *arg)
{
	struct worker *worker = arg;

	stay_on(true);
	while (!__atomic_load_n(&worker->stop, __ATOMIC_RELAXED)) {
		tofu_node_lock(worker->node);
		__atomic_fetch_add(&worker->turns, 1, __ATOMIC_RELAXED);
		for (volatile unsigned int i = 0; i < TURN_STEPS; i++)
			;
		tofu_node_unlock(worker->node);
	}
	return NULL;
}

/* Turns that a worker takes before another thread gets the lock. */
static unsigned int turns_waited(struct worker *worker)
{
	unsigned int before = __atomic_load_n(&worker->turns, __ATOMIC_RELAXED);
	unsigned int turns;

	do {
		sched_yield();
		turns = __atomic_load_n(&worker->turns, __ATOMIC_RELAXED);
	} while (turns == before);
	tofu_node_lock(worker->node);
	turns = worker->turns - turns;
	tofu_node_unlock(worker->node);
	return turns;
}

TEST_F_TIMEOUT(alone, who_waits_for_the_lock_is_next, 120)
{
	struct worker worker = { .node = self->home.node };
	unsigned int turns = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, work_on, &worker));
	stay_on(false);
	for (unsigned int i = 0; i < TRIES; i++)
		turns += turns_waited(&worker);
	__atomic_store_n(&worker.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	/* One each, and some more where the thread lost its processor. */
	EXPECT_LT(turns, 5 * TRIES);
}

TEST_HARNESS_MAIN
