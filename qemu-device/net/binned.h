/* SPDX-License-Identifier: MIT */
/*
 * Sums of doubles that do not depend on the order of additions, in integers
 * only. Barrier gates and collectives sum so.
 *
 * Every double is a multiple of 2^-1074, and the exponents are cut into bins of
 * 26 bits at fixed places: bin b holds bits 26 b … 26 b + 25 of |x| / 2^-1074.
 * A double has its highest one in some bin t and no bit below bin t - 2. A sum
 * consists of the highest bin t that any addend touches, and for each of the
 * bins t, t - 1 and t - 2 the exact sum of all addends' bits there, with their
 * signs; lower bits are cut off, addend by addend.
 *
 * So t is a maximum and each bin is an exact integer sum over the addends. Both
 * depend only on the set of addends, not on the order and tree of additions. A
 * partial sum has a lower t or the same one, so it has kept all bits that the
 * whole sum keeps of its addends.
 */
#ifndef NET_BINNED_H
#define NET_BINNED_H

#include <stdbool.h>
#include <stdint.h>

#define TOFU_BIN 26 /* bits */
#define TOFU_BINS 3 /* kept: 53 bits, wherever the highest bit is in its bin */
#define TOFU_BIN_MAX ((1074 + 1024) / TOFU_BIN) /* the highest of a double */

/**
 * struct tofu_binned - a sum; zeroed memory is the sum of nothing
 * @top: bin t
 * @bin: sums in bins t, t - 1, t - 2: of up to 2^31 addends they have fewer
 *       than 58 bits, with the sign
 */
struct tofu_binned {
	int top;
	int64_t bin[TOFU_BINS];
};

/**
 * tofu_binned_split - make a sum of one double
 * @bits: the double's
 *
 * Return: false for an infinity or a NaN, with a sum of zero.
 */
bool tofu_binned_split(uint64_t bits, struct tofu_binned *sum);

/* tofu_binned_add - a += b */
void tofu_binned_add(struct tofu_binned *a, const struct tofu_binned *b);

/**
 * tofu_binned_join - convert a sum to a double, with one rounding
 * @sum: its bins have at most 58 bits, with the sign
 *
 * Return: the bits of the double: to nearest, ties to even; infinite where it is
 * too large; +0 for zero.
 */
uint64_t tofu_binned_join(const struct tofu_binned *sum);

#endif /* NET_BINNED_H */
