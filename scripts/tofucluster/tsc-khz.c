// SPDX-License-Identifier: MIT
/*
 * Prints the rate of this machine's time stamp counter in kHz.
 *
 * A guest without KVM sees the host's counter. It is given this rate, so that
 * it need not measure the counter by a clock that the host serves late.
 */

#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

struct sample {
	double ns;
	unsigned long long ticks;
};

/* Reads both clocks at one moment: the closest of several attempts. */
static struct sample sample_take(void)
{
	unsigned long long best = ~0ull;
	struct sample sample = { 0 };

	for (int i = 0; i < 16; i++) {
		unsigned long long before = __rdtsc(), after;
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		after = __rdtsc();
		if (after - before >= best)
			continue;
		best = after - before;
		sample.ns = 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
		sample.ticks = before + best / 2;
	}
	return sample;
}

int main(void)
{
	struct timespec pause = { .tv_nsec = 100000000 };
	struct sample first = sample_take(), last;

	nanosleep(&pause, NULL);
	last = sample_take();
	printf("%.0f\n", 1e6 * (double)(last.ticks - first.ticks) / (last.ns - first.ns));
	return 0;
}
