// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <time.h>

#include "stats.h"

uint64_t tofu_now(void)
{
	struct timespec t;

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

struct tofu_stats tofu_stats_of(uint64_t *value, size_t count)
{
	qsort(value, count, sizeof(*value), compare);
	return (struct tofu_stats){
		.min = percentile(value, count, 0),
		.median = percentile(value, count, 50),
		.p99 = percentile(value, count, 99),
		.max = percentile(value, count, 100),
	};
}
