/* SPDX-License-Identifier: MIT */
/*
 * Processes that exit in a signal handler, which has interrupted whatever the
 * library was doing.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#include "harness.h"
#include "node-util.h"
#include "utofu-util.h"

#define RUNS 60
#define RUN_SECONDS 20
#define TEST_SECONDS 120
#define BYTES (64UL << 10)
#define NS_PER_S 1000000000ULL

/* A leak check would stop in allocators that the signal has interrupted. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}

static void leave(int signo)
{
	(void)signo;
	exit(0);
}

static void leave_after(suseconds_t us)
{
	const struct itimerval timer = { .it_value.tv_usec = us };

	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* Puts to itself and polls, until the signal comes. */
static void put_and_poll(suseconds_t us)
{
	static uint8_t memory[2 * BYTES] __attribute__((aligned(256)));
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	utofu_stadd_t at;
	void *cbdata;

	CHECK(!utofu_create_vcq(0, 0, &vcq) && !utofu_query_vcq_id(vcq, &id));
	CHECK(!utofu_reg_mem(vcq, memory, sizeof(memory), 0, &at));
	leave_after(us);
	for (;;) {
		CHECK(!utofu_put(vcq, id, at, at + BYTES, BYTES, 0, TCQ, NULL));
		CHECK(!tofu_wait_tcq(vcq, &cbdata));
	}
}

/* Return: the status of a process that exits some time after it has begun. */
static int run(suseconds_t us)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		const struct sigevent end = { .sigev_notify = SIGEV_SIGNAL,
					      .sigev_signo = SIGKILL };
		const struct itimerspec limit = { .it_value.tv_sec =
							  RUN_SECONDS };
		timer_t timer;

		CHECK(!timer_create(CLOCK_MONOTONIC, (void *)&end, &timer));
		CHECK(!timer_settime(timer, 0, &limit, NULL));
		put_and_poll(us);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

FIXTURE(process)
{
};

FIXTURE_SETUP(process)
{
	setenv("TOFU_PORT", "emu", 1);
}

FIXTURE_TEARDOWN(process)
{
}

TEST_F_TIMEOUT(process, exits_in_a_signal_handler, TEST_SECONDS)
{
	for (int i = 0; i < RUNS; i++)
		ASSERT_EQ(run(500 + 137 * i), 0)
			TH_LOG("run %d has not ended", i);
}

/* ---- The lock of its node ---- */

static struct home home;

FIXTURE(lock)
{
	uint64_t now;
};

FIXTURE_SETUP(lock)
{
	struct timespec now;

	ASSERT_TRUE(home_open(&home, NULL, -1, true, false));
	clock_gettime(CLOCK_MONOTONIC, &now);
	self->now = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

FIXTURE_TEARDOWN(lock)
{
	home_close(&home);
}

static void *lock_in_turn(void *arg)
{
	tofu_node_lock(home.node);
	tofu_node_unlock(home.node);
	return arg;
}

TEST_F(lock, that_this_thread_holds_is_not_waited_for)
{
	const uint64_t deadline = self->now + 3600 * NS_PER_S;
	pthread_t other;

	tofu_node_lock(home.node);
	EXPECT_EQ(tofu_node_lock_until(home.node, deadline), -EDEADLK);
	/* Nor if another thread is next in turn */
	ASSERT_EQ(pthread_create(&other, NULL, lock_in_turn, NULL), 0);
	usleep(100000);
	EXPECT_EQ(tofu_node_lock_until(home.node, deadline), -EDEADLK);
	tofu_node_unlock(home.node);
	pthread_join(other, NULL);
	EXPECT_EQ(tofu_node_lock_until(home.node, self->now), 0);
	tofu_node_unlock(home.node);
}

static void *lock_for_a_while(void *arg)
{
	tofu_node_lock(home.node);
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
	usleep(300000);
	tofu_node_unlock(home.node);
	return arg;
}

TEST_F(lock, that_another_thread_holds_is_waited_for)
{
	bool held = false;
	pthread_t other;

	ASSERT_EQ(pthread_create(&other, NULL, lock_for_a_while, &held), 0);
	while (!__atomic_load_n(&held, __ATOMIC_ACQUIRE))
		usleep(1000);
	EXPECT_EQ(tofu_node_lock_until(home.node, self->now), -ETIMEDOUT);
	EXPECT_EQ(tofu_node_lock_until(home.node,
				       self->now + 3600 * NS_PER_S), 0);
	tofu_node_unlock(home.node);
	pthread_join(other, NULL);
}

TEST_HARNESS_MAIN
