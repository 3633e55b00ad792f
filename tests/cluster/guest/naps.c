// SPDX-License-Identifier: MIT
/*
 * Sleeps often, and prints how late it woke up each time: in virtual time these
 * times are counted, and repeatable. Its processor halts each time.
 */
#include <err.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define NAPS 20000
#define SHORTEST_NS 20000
/* FNV-1a, over whole words */
#define HASH_BASIS UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t nap(long ns)
{
	struct timespec t = { .tv_nsec = ns };
	uint64_t began = now();

	if (nanosleep(&t, NULL))
		err(1, "nanosleep");
	return now() - began - (uint64_t)ns;
}

int main(void)
{
	uint64_t hash = HASH_BASIS, late = 0;

	for (int i = 0; i < NAPS; i++) {
		uint64_t ns = nap(SHORTEST_NS + i % 7 * 1000);

		hash = (hash ^ ns) * HASH_PRIME;
		late += ns;
	}
	printf("%d naps, %" PRIu64 " ns late, %016" PRIx64 "\n", NAPS, late, hash);
	return 0;
}
