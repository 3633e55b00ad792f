/* SPDX-License-Identifier: MIT */
/*
 * Registration of memory whose contents do not matter.
 */
#ifndef TOFU_MEM_H
#define TOFU_MEM_H

#include <utofu.h>

/*
 * TOFU_REG_MEM_FLAG_BLANK - a flag of utofu_reg_mem() and
 * utofu_reg_mem_with_stag(): a simulated machine (tofu-sim) neither reads nor
 * writes the region.
 *
 * Transfers take the same time and give the same notices as others, but carry
 * no bytes, so that a machine can be larger than the memory that it is simulated
 * in. No memory need be there, and all nodes may name the same addresses. What
 * arrives from a blank region leaves the bytes of its destination as they were.
 * Atomics on a blank region fail. Elsewhere the flag is ignored: there the region
 * is like any other.
 */
#define TOFU_REG_MEM_FLAG_BLANK (1UL << 16)

#endif /* TOFU_MEM_H */
