// SPDX-License-Identifier: MIT
/*
 * All nodes poll their empty queues for some time: programs that wait for each
 * other do that, and it is the hardest case for a simulation.
 *
 * usage: spin MILLISECONDS
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "guest.h"

/* Polls between two reads of the clock */
#define POLLS 100

static uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool poll_until(const struct guest *guest, uint64_t end)
{
	struct utofu_mrq_notice notice;

	while (now_ns() < end) {
		for (int i = 0; i < POLLS; i++)
			if (utofu_poll_mrq(guest->vcq, 0, &notice) !=
			    UTOFU_ERR_NOT_FOUND)
				return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	const uint64_t ms = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	struct guest guest;

	if (!ms || ms > 1000000)
		errx(2, "usage: spin MILLISECONDS");
	guest_begin(&guest, 1);
	guest_barrier(&guest);
	guest_point(&guest, poll_until(&guest, now_ns() + ms * 1000000),
		    "nothing came in %llu ms", (unsigned long long)ms);
	return guest_end(&guest);
}
