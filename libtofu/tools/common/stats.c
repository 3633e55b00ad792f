// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <time.h>

#include "stats.h"

/* Offset of the processor's counter; unused while @by_cycles is not set */
static int64_t cycles_offset;
static bool by_cycles;
/* Another clock, or NULL */
static uint64_t (*by_clock)(void);

#if defined(__x86_64__) || defined(__i386__)
static uint64_t cycles(void)
{
	return __builtin_ia32_rdtsc();
}
#define HAVE_CYCLES true
#else
static uint64_t cycles(void)
{
	return 0;
}
#define HAVE_CYCLES false
#endif

bool tofu_now_cycles(int64_t offset)
{
	cycles_offset = offset;
	by_cycles = HAVE_CYCLES;
	return by_cycles;
}

void tofu_now_by(uint64_t (*clock)(void))
{
	by_clock = clock;
}

uint64_t tofu_now(void)
{
	struct timespec t;

	if (by_cycles)
		return cycles() + (uint64_t)cycles_offset;
	if (by_clock)
		return by_clock();
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t percentile(const uint64_t *sorted, size_t count,
			   unsigned int percent)
{
	size_t rank = (count * percent + 99) / 100;

	if (!count)
		return 0;
	return sorted[rank ? rank - 1 : 0];
}

/* Mean of the values between the quartiles; of all values below four */
static uint64_t middle(const uint64_t *sorted, size_t count)
{
	size_t cut = count / 4, left = count - 2 * cut;
	uint64_t sum = 0;

	for (size_t i = cut; i < count - cut; i++)
		sum += sorted[i];
	return left ? (sum + left / 2) / left : 0;
}

struct tofu_stats tofu_stats_of(uint64_t *value, size_t count)
{
	qsort(value, count, sizeof(*value), compare);
	return (struct tofu_stats){
		.min = percentile(value, count, 0),
		.lower = percentile(value, count, 25),
		.median = percentile(value, count, 50),
		.upper = percentile(value, count, 75),
		.middle = middle(value, count),
		.p99 = percentile(value, count, 99),
		.max = percentile(value, count, 100),
	};
}
