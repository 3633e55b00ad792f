/* SPDX-License-Identifier: MIT */
/* The clock, and statistics of times. */
#ifndef TOFU_TOOLS_STATS_H
#define TOFU_TOOLS_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct tofu_stats - of a set of times, all in the unit of its values
 * @min, @lower, @median, @upper, @p99, @max: values of the set, @lower and
 *          @upper its quartiles; zero for an empty one
 * @middle: the mean of the middle half: of values that cluster around two
 *          paces it moves gradually, where a median jumps, and a stray
 *          interrupt does not move it
 */
struct tofu_stats {
	uint64_t min;
	uint64_t lower;
	uint64_t median;
	uint64_t upper;
	uint64_t middle;
	uint64_t p99;
	uint64_t max;
};

/* tofu_now - nanoseconds of a monotonic clock, by default the system's */
uint64_t tofu_now(void);

/**
 * tofu_now_cycles - make the processor's cycle counter the clock of tofu_now()
 * @offset: to be added to it
 *
 * For a processor that counts nanoseconds: reading it takes a few of them,
 * the system's clock many.
 *
 * Return: false where this program cannot read it.
 */
bool tofu_now_cycles(int64_t offset);

/* tofu_now_by - make @clock the clock of tofu_now() */
void tofu_now_by(uint64_t (*clock)(void));

/* tofu_stats_of - percentiles by nearest rank; sorts @value in place */
struct tofu_stats tofu_stats_of(uint64_t *value, size_t count);

#endif /* TOFU_TOOLS_STATS_H */
