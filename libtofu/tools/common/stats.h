/* SPDX-License-Identifier: MIT */
/* Time, and what is said of many times. */
#ifndef TOFU_TOOLS_STATS_H
#define TOFU_TOOLS_STATS_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct tofu_stats - of a set of times, all in the unit of its values
 * @min, @median, @p99, @max: values of the set; zero for an empty one
 */
struct tofu_stats {
	uint64_t min;
	uint64_t median;
	uint64_t p99;
	uint64_t max;
};

/* tofu_now - nanoseconds of a clock that only goes forward */
uint64_t tofu_now(void);

/**
 * tofu_stats_percentile - the value that @percent of a set do not exceed
 * @sorted: ascending
 * @percent: 0 to 100
 *
 * Return: by nearest rank, so always a value of the set; 0 where @count is 0.
 */
uint64_t tofu_stats_percentile(const uint64_t *sorted, size_t count,
			       unsigned int percent);

/* tofu_stats_of - sorts @value in place */
struct tofu_stats tofu_stats_of(uint64_t *value, size_t count);

#endif /* TOFU_TOOLS_STATS_H */
