// SPDX-License-Identifier: MIT
/* What the C library keeps for a process: options, environment, time, exit. */

#define _GNU_SOURCE
#include "nodes.h"

#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static int options(int argc, char **argv)
{
	static const struct option names[] = {
		{ "count", required_argument, NULL, 'c' },
		{ NULL, 0, NULL, 0 },
	};
	int seen = 0;
	int option;

	CHECK(optind == 1);
	while ((option = getopt_long(argc, argv, "vc:", names, NULL)) != -1) {
		CHECK(option == 'v' || option == 'c');
		if (option == 'v')
			seen++;
		else
			seen += atoi(optarg);
		tofu_test_turn();
	}
	CHECK(seen == 1 + 20 + 1 + 300);
	CHECK(optind == argc - 1);
	CHECK(!strcmp(argv[optind], "rest"));
	return 0;
}

static int environment(void)
{
	int node = tofu_test_node();
	char *rank = getenv("TEST_RANK");
	char text[16];

	CHECK(rank && atoi(rank) == node);
	CHECK(getenv("PATH") && !getenv("TEST_NONE"));
	tofu_test_turn();
	CHECK(atoi(rank) == node);
	CHECK(getenv("TEST_RANK") == rank);
	snprintf(text, sizeof(text), "%d", node * 10);
	CHECK(!setenv("TEST_OWN", text, 1) && !setenv("TEST_OWN", "x", 0));
	CHECK(setenv("A=B", "x", 0) == -1 && errno == EINVAL);
	tofu_test_turn();
	CHECK(atoi(getenv("TEST_OWN")) == node * 10);
	CHECK(node % 2 || !unsetenv("TEST_OWN"));
	tofu_test_turn();
	CHECK(!getenv("TEST_OWN") == (node % 2 == 0));
	CHECK(!putenv("TEST_PUT=1") && !strcmp(getenv("TEST_PUT"), "1"));
	CHECK(!setenv("TEST_RANK", "none", 1));
	CHECK(!strcmp(getenv("TEST_RANK"), "none"));
	CHECK(!clearenv() && !getenv("PATH") && !getenv("TEST_RANK"));
	return 0;
}

static unsigned long ns_of(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ul + time.tv_nsec;
}

static int virtual_time(void)
{
	int node = tofu_test_node();
	unsigned long start = ns_of(CLOCK_MONOTONIC);
	struct timespec until = { .tv_sec = 5 };

	CHECK(usleep(node) == 0);
	CHECK(ns_of(CLOCK_MONOTONIC) - start == node * 1000ul);
	CHECK(sleep(2) == 0);
	CHECK(ns_of(CLOCK_MONOTONIC) - start == 2000000000ul + node * 1000ul);
	CHECK(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL));
	CHECK(ns_of(CLOCK_MONOTONIC) == 5000000000ul);
	CHECK(ns_of(CLOCK_REALTIME) % 1000000000ul == 0);
	CHECK(time(NULL) % 86400 == 5);
	return 0;
}

static void *thread(void *arg)
{
	return arg;
}

static int refusals(void)
{
	pthread_t id;

	CHECK(fork() == -1 && errno == ENOSYS);
	CHECK(execl("/bin/true", "true", (char *)NULL) == -1);
	CHECK(pthread_create(&id, NULL, thread, NULL) == EAGAIN);
	return 0;
}

/* Two draws of a node differ, and the test compares the nodes' first. */
static int random_numbers(void)
{
	unsigned int drawn[2];
	char text[16];

	CHECK(getrandom(drawn, sizeof(drawn), 0) == sizeof(drawn));
	CHECK(drawn[0] != drawn[1]);
	snprintf(text, sizeof(text), " %08x", drawn[0]);
	tofu_test_note(text);
	return 0;
}

static void first(void)
{
	tofu_test_note("1");
}

static void second(int status, void *arg)
{
	tofu_test_note(arg);
	tofu_test_turn();
	if (status == 30)
		exit(status + tofu_test_node());
}

static void third(void)
{
	tofu_test_note("3");
}

static void __attribute__((destructor)) destruct(void)
{
	tofu_test_note("-");
}

static void leave_deeply(int depth)
{
	if (!depth)
		exit(30);
	if (tofu_test_node() >= 0)
		leave_deeply(depth - 1);
}

int main(int argc, char **argv)
{
	int status;

	CHECK(stdout && environ);
	status = options(argc, argv);
	if (!status)
		status = environment();
	if (!status)
		status = virtual_time();
	if (!status)
		status = refusals();
	if (!status)
		status = random_numbers();
	if (status)
		return status;
	atexit(first);
	on_exit(second, "2");
	atexit(third);
	if (tofu_test_node() == 4)
		_exit(4);
	leave_deeply(3);
	return 0;
}
