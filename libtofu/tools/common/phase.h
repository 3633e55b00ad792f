/* SPDX-License-Identifier: MIT */
/*
 * Phases of polling. In virtual time every iteration of a measurement goes
 * exactly like the one before: a poll loop meets what it waits for at the same
 * point of its period each time, and which point that is depends on where the
 * compiler put a function. A wait that begins at another phase in each iteration
 * makes the median one over phases, and no accident of a single one.
 */
#ifndef TOFU_TOOLS_PHASE_H
#define TOFU_TOOLS_PHASE_H

#include <stdint.h>

/**
 * tofu_phase - let a time pass that is another one for each node and iteration
 * @node:      this one
 * @iteration: of the measurement
 *
 * At most 255 ns, less than anything takes that is waited for. Does nothing
 * outside virtual time, where phases are by chance already.
 */
void tofu_phase(uint32_t node, uint64_t iteration);

#endif /* TOFU_TOOLS_PHASE_H */
