// SPDX-License-Identifier: MIT
/*
 * Sums of doubles in bins.
 */
#include "net/binned.h"

#define MANTISSA 52
#define HIDDEN (1ULL << MANTISSA)
#define INFINITE 0x7ffULL
#define BIN_MASK ((1ULL << TOFU_BIN) - 1)

bool tofu_binned_split(uint64_t bits, struct tofu_binned *sum)
{
	const unsigned int exponent = (unsigned int)(bits >> MANTISSA & INFINITE);
	const uint64_t fraction = bits & (HIDDEN - 1);
	const uint64_t mantissa = exponent ? fraction | HIDDEN : fraction;
	const unsigned int shift = exponent ? exponent - 1 : 0;
	const int64_t sign = bits >> 63 ? -1 : 0;
	unsigned __int128 kept;
	unsigned int top;

	*sum = (struct tofu_binned){ .top = 0 };
	if (exponent == INFINITE)
		return false;
	if (!mantissa)
		return true;
	top = (shift + 63 - (unsigned int)__builtin_clzll(mantissa)) / TOFU_BIN;
	sum->top = (int)top;
	/* The three bins side by side; no bit of the mantissa is below them. */
	kept = (unsigned __int128)mantissa
	       << (shift + (TOFU_BINS - 1) * TOFU_BIN - top * TOFU_BIN);
	for (int i = TOFU_BINS - 1; i >= 0; i--) {
		sum->bin[i] = ((int64_t)(kept & BIN_MASK) ^ sign) - sign;
		kept >>= TOFU_BIN;
	}
	return true;
}

/* a += b, where a's top is not lower. */
static void add_lower(struct tofu_binned *a, const struct tofu_binned *b)
{
	const int down = a->top - b->top;

	for (int i = down; i < TOFU_BINS; i++)
		a->bin[i] += b->bin[i - down];
}

void tofu_binned_add(struct tofu_binned *a, const struct tofu_binned *b)
{
	if (a->top >= b->top) {
		add_lower(a, b);
	} else {
		struct tofu_binned sum = *b;

		add_lower(&sum, a);
		*a = sum;
	}
}

/* ---- To a double ---- */

#define WORD_DROP (63 - MANTISSA) /* bits of a word behind those of a double */

/* All bins together have at most 58 + 2 × 26 bits. */
#define SUM_BITS (58 + (TOFU_BINS - 1) * TOFU_BIN)

/**
 * struct scaled - a magnitude
 * @word:     its highest bits; the lowest of them is set if any lower ones are
 * @exponent: of bit WORD_DROP, relative to 2^-1074
 */
struct scaled {
	uint64_t word;
	int exponent;
};

/* @magnitude is not 0; @unit: exponent of its lowest bit */
static struct scaled normalise(unsigned __int128 magnitude, int unit)
{
	int up = 128 - SUM_BITS;
	int zeros;

	/* The upper half is not empty then, unless addends have cancelled. */
	magnitude <<= up;
	if (!(uint64_t)(magnitude >> 64)) {
		magnitude <<= 64;
		up += 64;
	}
	zeros = __builtin_clzll((uint64_t)(magnitude >> 64));
	magnitude <<= zeros;
	up += zeros;
	return (struct scaled){
		.word = (uint64_t)(magnitude >> 64) | !!(uint64_t)magnitude,
		.exponent = unit + 64 + WORD_DROP - up,
	};
}

/* Drop bits below 2^-1074; a sum that a bad peer has sent has any number. */
static void denormalise(struct scaled *scaled)
{
	const int down = scaled->exponent > -64 ? -scaled->exponent : 63;
	const uint64_t lost = scaled->word << (64 - down);

	scaled->word = scaled->word >> down | !!lost;
	scaled->exponent = 0;
}

uint64_t tofu_binned_join(const struct tofu_binned *sum)
{
	const __int128 unit = 1LL << TOFU_BIN;
	const __int128 value = (sum->bin[0] * unit + sum->bin[1]) * unit +
			       sum->bin[2];
	const __int128 sign = value >> 127;
	struct scaled scaled;
	uint64_t kept, rest, bits;

	if (!value)
		return 0;
	scaled = normalise((unsigned __int128)((value ^ sign) - sign),
			   (sum->top - (TOFU_BINS - 1)) * TOFU_BIN);
	if (scaled.exponent < 0)
		denormalise(&scaled);
	/* To nearest; of two, to the even one. */
	kept = scaled.word >> WORD_DROP;
	rest = scaled.word & ((1ULL << WORD_DROP) - 1);
	kept += rest + (kept & 1) > 1ULL << (WORD_DROP - 1);
	/* The hidden one, and a carry from rounding, add to the exponent. */
	bits = ((uint64_t)scaled.exponent << MANTISSA) + kept;
	if (bits > INFINITE << MANTISSA)
		bits = INFINITE << MANTISSA;
	return bits | ((uint64_t)sign & 1ULL << 63);
}
