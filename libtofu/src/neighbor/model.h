/* SPDX-License-Identifier: MIT */
/* The model of a neighbour exchange, for any machine. */
#ifndef NEIGHBOR_MODEL_H
#define NEIGHBOR_MODEL_H

#include <stdint.h>

#include "neighbor/schedule.h"

/**
 * struct tofu_neighbor_times - parameters of the model
 * @latency_ns: L, time of a put of few bytes, including its start
 * @mbs:        B, bandwidth of a link and an engine, MB/s, not 0
 */
struct tofu_neighbor_times {
	uint64_t latency_ns;
	uint64_t mbs;
};

/**
 * tofu_neighbor_times_of - get L and B of a preset
 * @engines: number used at the same time, at least 1
 * @times:   set if there is such a machine
 */
bool tofu_neighbor_times_of(const char *machine, unsigned int engines,
			    struct tofu_neighbor_times *times);

/**
 * tofu_neighbor_time - compute L N' + (N' / C') M / B
 *
 * Return: nanoseconds, rounded up; UINT64_MAX for anything larger.
 */
uint64_t tofu_neighbor_time(const struct tofu_neighbor_times *times,
			    const struct tofu_neighbor_plan *plan,
			    uint64_t bytes);

/**
 * tofu_neighbor_equal - compute the fewest bytes at which segments take no
 * longer
 *
 * Return: bytes, or UINT64_MAX where segments are whole messages.
 */
uint64_t tofu_neighbor_equal(const struct tofu_neighbor_times *times,
			     unsigned int neighbors, unsigned int engines);

#endif /* NEIGHBOR_MODEL_H */
