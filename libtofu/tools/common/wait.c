// SPDX-License-Identifier: MIT
#include <sched.h>
#include <time.h>

#include "stats.h"
#include "virtual.h"
#include "wait.h"

#define POLLS_BEFORE_CLOCK 256
#define POLLS_BEFORE_YIELD 2048
#define NS_BEFORE_SLEEP 5000000ULL
#define NS_SLEEP 100000L

struct tofu_wait tofu_wait_patient(unsigned int seconds)
{
	return (struct tofu_wait){
		.limit = seconds * 1000000000ULL,
		.patient = true,
	};
}

struct tofu_wait tofu_wait_keen(unsigned int seconds)
{
	return (struct tofu_wait){ .limit = seconds * 1000000000ULL };
}

bool tofu_wait_more(struct tofu_wait *wait)
{
	uint64_t waited;

	/* The clock costs more than a poll, so it is not read at each. */
	if (++wait->polls % POLLS_BEFORE_CLOCK)
		return true;
	if (!wait->began)
		wait->began = tofu_now();
	waited = tofu_now() - wait->began;
	if (waited >= wait->limit)
		return false;
	if (wait->patient && waited >= NS_BEFORE_SLEEP) {
		struct timespec nap = { .tv_nsec = NS_SLEEP };

		nanosleep(&nap, NULL);
		/* The clock is read again after the next poll. */
		wait->polls |= POLLS_BEFORE_CLOCK - 1;
	} else if (wait->polls >= POLLS_BEFORE_YIELD && !tofu_virtual()) {
		/* In virtual time no one else wants the processor. */
		sched_yield();
	}
	return true;
}

uint64_t tofu_wait_time(const struct tofu_wait *wait)
{
	return wait->began ? tofu_now() - wait->began : 0;
}
