/* SPDX-License-Identifier: MIT */
#include "port/host.h"

#include <sched.h>
#include <time.h>

/*
 * Some 0.5 ms on an idle processor; a longer wait may end NAP_NS late. Not more:
 * see YIELDS_NS in the controller's node/kick.c.
 */
#define YIELDS (1U << 10)
#define NAP_NS 100000L

/* The times of a yield and of a nap, counted in polls */
#define YIELD_POLLS 8
#define NAP_POLLS 1024

uint64_t tofu_host_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

unsigned int tofu_host_wait(unsigned int turn)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	if (turn < YIELDS) {
		sched_yield();
		return YIELD_POLLS;
	}
	nanosleep(&nap, NULL);
	return NAP_POLLS;
}
