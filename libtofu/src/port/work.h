/* SPDX-License-Identifier: MIT */
/*
 * What the library's calls cost, for a home whose programs run in no time of
 * their own: there each call counts its work by tofu_work(), and the port
 * spends it. Elsewhere software takes the time that it takes, and nothing of
 * this is compiled.
 */
#ifndef PORT_WORK_H
#define PORT_WORK_H

#include <stdint.h>

/**
 * enum tofu_work - kinds of work
 * @TOFU_WORK_POST: a command of one slot, on the fast path, up to its doorbell
 * @TOFU_WORK_POST_SLOW: any other post, up to its doorbell
 * @TOFU_WORK_TCQ_EMPTY, @TOFU_WORK_TCQ_FOUND: a poll of the TCQ
 * @TOFU_WORK_MRQ_EMPTY, @TOFU_WORK_MRQ_FOUND: a poll of the MRQ
 * @TOFU_WORK_BARRIER_START: up to the store that starts a barrier
 * @TOFU_WORK_BARRIER_EMPTY, @TOFU_WORK_BARRIER_ENDED: a poll of a barrier
 * @TOFU_WORK_CLOCK: reading the clock
 * @TOFU_WORK_YIELD: giving way to other processes
 * @TOFU_WORK_QUEUE: making or freeing a command queue
 * @TOFU_WORK_MEMORY: registering or deregistering memory
 */
enum tofu_work {
	TOFU_WORK_POST,
	TOFU_WORK_POST_SLOW,
	TOFU_WORK_TCQ_EMPTY,
	TOFU_WORK_TCQ_FOUND,
	TOFU_WORK_MRQ_EMPTY,
	TOFU_WORK_MRQ_FOUND,
	TOFU_WORK_BARRIER_START,
	TOFU_WORK_BARRIER_EMPTY,
	TOFU_WORK_BARRIER_ENDED,
	TOFU_WORK_CLOCK,
	TOFU_WORK_YIELD,
	TOFU_WORK_QUEUE,
	TOFU_WORK_MEMORY,
	TOFU_WORKS,
};

#ifdef TOFU_COUNT_WORK
/**
 * struct tofu_worked - work of the program that runs
 * @ns:   not yet spent
 * @cost: by enum tofu_work, ns
 */
struct tofu_worked {
	uint64_t ns;
	const uint32_t *cost;
};

extern struct tofu_worked tofu_worked;

static inline void tofu_work(enum tofu_work work)
{
	tofu_worked.ns += tofu_worked.cost[work];
}
#else
static inline void tofu_work(enum tofu_work work)
{
	(void)work;
}
#endif

#endif /* PORT_WORK_H */
