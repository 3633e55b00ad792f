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

#endif /* TOFU_TOOLS_PHASE_H */
