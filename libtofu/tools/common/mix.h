/* SPDX-License-Identifier: MIT */
/* Pseudo-random numbers, the same on every node. */
#ifndef TOFU_TOOLS_MIX_H
#define TOFU_TOOLS_MIX_H

#include <stdint.h>

#define TOFU_MIX_ODD 0x9e3779b97f4a7c15ULL /* 2^64 divided by the golden ratio */

/* tofu_mix - each bit of the result depends on every bit of @x (SplitMix64) */
static inline uint64_t tofu_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

#endif /* TOFU_TOOLS_MIX_H */
