/* SPDX-License-Identifier: MIT */
/*
 * The neighbour exchange over several engines, as arithmetic: which engine
 * sends which part of which message in which step.
 *
 * Each process sends a message of M bytes to each of N neighbours and receives
 * as much; a node has C engines. The native form sends message i by engine i
 * mod C, in ceil(N / C) rounds, the last of which leaves engines without work.
 * The segmented form cuts every message into C' segments and fills N' steps
 * with them exactly, where k = gcd(N, C), N = k N' and C = k C'. It sends the
 * same bytes; each engine carries N' M / C' bytes instead of up to ceil(N / C)
 * M.
 *
 * It needs messages of equal size and N > C > 1. Otherwise there is nothing to
 * gain, and the plan is the native one: a segment is a whole message and a step
 * a round.
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
 * @steps:     N' in the segmented form, ceil(N / C) in the native one
 * @segments:  C' in the segmented form, 1 in the native one
 */
struct tofu_neighbor_plan {
	unsigned int neighbors;
	unsigned int engines;
	unsigned int steps;
	unsigned int segments;
};

/**
 * struct tofu_neighbor_put - an engine's put in a step
 * @neighbor: index of the message, 0 ... neighbors - 1
 * @segment:  segment of the message, 0 ... segments - 1
 */
struct tofu_neighbor_put {
	unsigned int neighbor;
	unsigned int segment;
};

/**
 * tofu_neighbor_plan_native - plan whole messages, message i on engine i mod C
 * @neighbors: at least 1
 * @engines:   at least 1
 */
struct tofu_neighbor_plan tofu_neighbor_plan_native(unsigned int neighbors,
						    unsigned int engines);

/**
 * tofu_neighbor_plan_segmented - plan segments, with every engine busy in every
 * step
 * @neighbors: at least 1
 * @engines:   at least 1
 *
 * Return: the plan; the native one unless @neighbors > @engines > 1.
 */
struct tofu_neighbor_plan tofu_neighbor_plan_segmented(unsigned int neighbors,
						       unsigned int engines);

/**
 * tofu_neighbor_plan_put - get the put of @engine in @step
 * @put: set if there is one
 *
 * No two engines have the same neighbour in a step, and the neighbour receives
 * by the engine of the same number.
 *
 * Return: false if the engine has nothing to do in that step, which only
 * happens in the last step of a native plan.
 */
bool tofu_neighbor_plan_put(const struct tofu_neighbor_plan *plan,
			    unsigned int step, unsigned int engine,
			    struct tofu_neighbor_put *put);

/**
 * tofu_neighbor_plan_place - find the step and the engine of a put
 * @put:    a put of the plan
 * @step:   set
 * @engine: set
 */
void tofu_neighbor_plan_place(const struct tofu_neighbor_plan *plan,
			      const struct tofu_neighbor_put *put,
			      unsigned int *step, unsigned int *engine);

/**
 * tofu_neighbor_segment - compute the place of a segment in its message
 * @bytes:   length of the message
 * @segment: 0 ... plan->segments - 1
 * @offset:  set to its first byte
 *
 * Segments differ by one byte at most, and the longer ones come first; if a
 * message has fewer bytes than segments, the last ones are empty.
 *
 * Return: length of the segment in bytes.
 */
size_t tofu_neighbor_segment(const struct tofu_neighbor_plan *plan,
			     size_t bytes, unsigned int segment,
			     size_t *offset);

#endif /* TOFU_NEIGHBOR_SCHEDULE_H */
