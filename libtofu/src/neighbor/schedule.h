/* SPDX-License-Identifier: MIT */
/*
 * The neighbour exchange over several engines, as arithmetic: which engine
 * sends which part of which message in which step.
 *
 * Each process sends a message of M bytes to each of N neighbours and receives
 * as much; a node has C engines. Natively message i goes out by engine i mod C,
 * in ceil(N / C) rounds, of which the last leaves engines without work. The
 * segmented form cuts every message into C' segments and fills N' steps with
 * them exactly, where k = gcd(N, C), N = k N' and C = k C'. What is sent
 * is the same; each engine carries N' M / C' bytes instead of up to
 * ceil(N / C) M.
 *
 * It wants messages of equal size and N > C > 1. Nothing is gained otherwise,
 * and a plan for such an N is the native one: a segment is a whole message and
 * a step a round.
 *
 * May include: exchange/, net/
 */
#ifndef TOFU_NEIGHBOR_SCHEDULE_H
#define TOFU_NEIGHBOR_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct tofu_neighbor_plan - the steps of an exchange
 * @neighbors: N, messages of a process
 * @engines:   C
 * @steps:     N' of the segmented form, ceil(N / C) of the native one
 * @segments:  C' of the segmented form, 1 of the native one
 */
struct tofu_neighbor_plan {
	unsigned int neighbors;
	unsigned int engines;
	unsigned int steps;
	unsigned int segments;
};

/**
 * struct tofu_neighbor_put - what an engine does in a step
 * @neighbor: whose message, 0 ... neighbors - 1
 * @segment:  which part of it, 0 ... segments - 1
 */
struct tofu_neighbor_put {
	unsigned int neighbor;
	unsigned int segment;
};

/**
 * tofu_neighbor_plan_native - all messages whole, message i on engine i mod C
 * @neighbors: at least 1
 * @engines:   at least 1
 */
struct tofu_neighbor_plan tofu_neighbor_plan_native(unsigned int neighbors,
						    unsigned int engines);

/**
 * tofu_neighbor_plan_segmented - every engine busy in every step
 * @neighbors: at least 1
 * @engines:   at least 1
 *
 * Return: the plan; the native one unless @neighbors > @engines > 1.
 */
struct tofu_neighbor_plan tofu_neighbor_plan_segmented(unsigned int neighbors,
						       unsigned int engines);

/**
 * tofu_neighbor_plan_put - what @engine does in @step
 * @put: set when there is something to do
 *
 * No two engines of a step have the same neighbour, and the neighbour receives
 * by the engine of the same number.
 *
 * Return: false where the engine has nothing to do in that step, which only
 * happens in the last one of a native plan.
 */
bool tofu_neighbor_plan_put(const struct tofu_neighbor_plan *plan,
			    unsigned int step, unsigned int engine,
			    struct tofu_neighbor_put *put);

/**
 * tofu_neighbor_segment - where a segment lies in its message
 * @bytes:   of the message
 * @segment: 0 ... plan->segments - 1
 * @offset:  set to its first byte
 *
 * Segments differ by one byte at most, and the longer ones come first; of a
 * message with fewer bytes than segments the last ones are empty.
 *
 * Return: bytes of the segment.
 */
size_t tofu_neighbor_segment(const struct tofu_neighbor_plan *plan,
			     size_t bytes, unsigned int segment,
			     size_t *offset);

#endif /* TOFU_NEIGHBOR_SCHEDULE_H */
