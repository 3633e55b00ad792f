/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <time.h>

#include "boot/internal.h"
#include "utofu/context.h"

#define POLLS_BEFORE_CLOCK 256
#define POLLS_BEFORE_YIELD 2048
#define NS_BEFORE_SLEEP 5000000
#define NS_SLEEP 100000

uint64_t boot_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct boot_wait boot_wait_begin(const struct tofu_boot *boot)
{
	return (struct boot_wait){
		.limit = boot->timeout * UINT64_C(1000000000),
		.direct = tofu_context.port->info.caps & TOFU_INFO_DIRECT,
	};
}

bool boot_wait_more(struct boot_wait *wait)
{
	uint64_t waited;

	/* The clock costs more than a poll: it is not read at each. */
	if (++wait->polls % POLLS_BEFORE_CLOCK)
		return true;
	if (!wait->began)
		wait->began = boot_now();
	waited = boot_wait_time(wait);
	if (waited >= wait->limit)
		return false;
	if (waited >= NS_BEFORE_SLEEP) {
		struct timespec nap = { .tv_nsec = NS_SLEEP };

		nanosleep(&nap, NULL);
		/* The next poll is followed by a look at the clock again. */
		wait->polls |= POLLS_BEFORE_CLOCK - 1;
	} else if (wait->polls >= POLLS_BEFORE_YIELD && !wait->direct) {
		sched_yield();
	}
	return true;
}

uint64_t boot_wait_time(const struct boot_wait *wait)
{
	return wait->began ? boot_now() - wait->began : 0;
}
