/* SPDX-License-Identifier: MIT */
/*
 * Phases of polling. In virtual time every iteration of a measurement is
 * exactly like the one before: a poll loop finds its event at the same point
 * of its period each time, and this point depends on where the compiler put a
 * function. If each iteration begins its wait at a different phase, the median
 * is taken over phases and does not depend on a single one.
 */
#ifndef TOFU_TOOLS_PHASE_H
#define TOFU_TOOLS_PHASE_H

#include <stdint.h>

/**
 * tofu_phase - spend a time that differs between nodes and iterations
 * @node:      this one
 * @iteration: of the measurement
 *
 * At most 255 ns, less than anything that is waited for takes. Does nothing
 * outside virtual time, where phases are random already.
 */
void tofu_phase(uint32_t node, uint64_t iteration);

/* ---- Starts of operations that nodes begin together ---- */

/* The longest of struct tofu_starts */
#define TOFU_STARTS_MAX 1000000000ULL /* ns */

/**
 * struct tofu_starts - how far apart nodes begin
 * @ns:   the longest wait before a start; 0: none waits
 * @seed: of the waits
 */
struct tofu_starts {
	uint64_t ns;
	uint64_t seed;
};

/**
 * tofu_starts_parse - read NS or NS:SEED, from an option
 *
 * Exits as tofu_arg_number() does.
 */
struct tofu_starts tofu_starts_parse(const char *option, const char *text);

/**
 * tofu_start_ns - the wait of a node before an operation
 * @iteration: number of the operation
 *
 * Return: 0 to @starts->ns, evenly distributed, in nanoseconds. It follows from
 * the arguments alone.
 */
uint64_t tofu_start_ns(const struct tofu_starts *starts, uint32_t node,
		       uint64_t iteration);

/* tofu_start_wait - wait for so long, in virtual time where there is any */
void tofu_start_wait(const struct tofu_starts *starts, uint32_t node,
		     uint64_t iteration);

#endif /* TOFU_TOOLS_PHASE_H */
