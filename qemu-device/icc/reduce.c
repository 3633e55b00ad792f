// SPDX-License-Identifier: MIT
/*
 * Reductions.
 *
 * BFPSUM: every double is a multiple of 2^-1074, and the exponents are cut
 * into bins of 26 bits at fixed places: bin b holds bits 26 b … 26 b + 25 of
 * |x| / 2^-1074. A double has its highest one in some bin t and no bit below
 * bin t - 2. A sum consists of the highest bin t that any addend touches, and
 * for each of the bins t, t - 1 and t - 2 the exact sum of all addends' bits
 * there, with their signs; lower bits are cut off, addend by addend.
 *
 * So t is a maximum and each bin is an exact integer sum over the addends. Both
 * depend only on the set of addends, not on the order and tree of additions. A
 * partial sum has a lower t or the same one, so it has kept all bits that the
 * whole sum keeps of its addends.
 */
#include "icc/reduce.h"

#define BIN 26 /* bits */
#define BINS 3 /* kept: 53 bits, wherever the highest bit is in its bin */
#define TOP_MAX ((1074 + 1024) / BIN) /* the highest bin of a double */

#define MANTISSA 52
#define HIDDEN (1ULL << MANTISSA)
#define INFINITE 0x7ffULL

/* ---- BFPSUM: form of signals ---- */

/* The two words of a sum; the low bin is divided between them. */
#define SUM0_HIGH_SHIFT 0 /* bin t, two's complement */
#define SUM0_HIGH_BITS 40
#define SUM0_LOW_SHIFT 40 /* bin t - 2, its low bits */
#define SUM0_LOW_BITS 24
#define SUM1_MIDDLE_SHIFT 0 /* bin t - 1 */
#define SUM1_MIDDLE_BITS 40
#define SUM1_LOW_SHIFT 40 /* bin t - 2, its high bits */
#define SUM1_LOW_BITS 16
#define SUM1_TOP_SHIFT 56 /* t */
#define SUM1_TOP_BITS 7
#define SUM_BITS 40

TOFU_ASSERT(SUM0_LOW_BITS + SUM1_LOW_BITS == SUM_BITS, "the low bin, whole");
TOFU_ASSERT(TOFU_REDUCE_ADDENDS * ((1LL << BIN) - 1) < 1LL << (SUM_BITS - 1),
	    "as many addends fit a bin");

/**
 * struct sum - a sum of doubles
 * @top: bin t
 * @bin: sums in bins t, t - 1, t - 2
 */
struct sum {
	int top;
	int64_t bin[BINS];
};

static int64_t extend(uint64_t field)
{
	const uint64_t sign = 1ULL << (SUM_BITS - 1);

	return (int64_t)(field ^ sign) - (int64_t)sign;
}

static struct sum sum_unpack(const uint64_t *word)
{
	const uint64_t low = TOFU_GET(word[0], SUM0_LOW) |
			     TOFU_GET(word[1], SUM1_LOW) << SUM0_LOW_BITS;

	return (struct sum){
		.top = (int)TOFU_GET(word[1], SUM1_TOP),
		.bin = { extend(TOFU_GET(word[0], SUM0_HIGH)),
			 extend(TOFU_GET(word[1], SUM1_MIDDLE)), extend(low) },
	};
}

static void sum_pack(const struct sum *sum, uint64_t *word)
{
	const uint64_t low = (uint64_t)sum->bin[2];

	word[0] = TOFU_SET(SUM0_HIGH, sum->bin[0]) | TOFU_SET(SUM0_LOW, low);
	word[1] = TOFU_SET(SUM1_MIDDLE, sum->bin[1]) |
		  TOFU_SET(SUM1_LOW, low >> SUM0_LOW_BITS) |
		  TOFU_SET(SUM1_TOP, sum->top);
}

/* ---- BFPSUM: doubles to sums and back ---- */

/* Bits 26 b … 26 b + 25 of @mantissa << @shift, for a bin that is kept. */
static uint64_t slice(uint64_t mantissa, int shift, int b)
{
	const int at = b * BIN - shift;

	if (b < 0 || at > MANTISSA)
		return 0;
	return (at < 0 ? mantissa << -at : mantissa >> at) & TOFU_MASK(BIN);
}

static bool sum_of_double(uint64_t bits, struct sum *sum)
{
	const uint64_t exponent = bits >> MANTISSA & INFINITE;
	const uint64_t fraction = bits & (HIDDEN - 1);
	const uint64_t mantissa = exponent ? fraction | HIDDEN : fraction;
	const int shift = exponent ? (int)exponent - 1 : 0;

	*sum = (struct sum){ .top = 0 };
	if (exponent == INFINITE)
		return false;
	if (!mantissa)
		return true;
	sum->top = (shift + 63 - __builtin_clzll(mantissa)) / BIN;
	for (int i = 0; i < BINS; i++) {
		const int64_t part =
			(int64_t)slice(mantissa, shift, sum->top - i);

		sum->bin[i] = bits >> 63 ? -part : part;
	}
	return true;
}

/* Drop the @drop lowest bits of @value; round to nearest, ties to even. */
static uint64_t round_off(unsigned __int128 value, int drop)
{
	const unsigned __int128 one = 1;
	unsigned __int128 rest, half;
	uint64_t kept;

	if (drop <= 0)
		return (uint64_t)(value << -drop);
	kept = (uint64_t)(value >> drop);
	rest = value & ((one << drop) - 1);
	half = one << (drop - 1);
	return kept + (rest > half || (rest == half && kept & 1));
}

static int length(unsigned __int128 value)
{
	const uint64_t high = (uint64_t)(value >> 64);

	return high ? 128 - __builtin_clzll(high) :
		      64 - __builtin_clzll((uint64_t)value);
}

/* All bins together have fewer than 40 + 2 × 26 bits. */
static uint64_t double_of_sum(const struct sum *sum)
{
	const __int128 unit = 1LL << BIN;
	const __int128 value = (sum->bin[0] * unit + sum->bin[1]) * unit +
			       sum->bin[2];
	const unsigned __int128 magnitude =
		(unsigned __int128)(value < 0 ? -value : value);
	const uint64_t sign = value < 0 ? 1ULL << 63 : 0;
	const int unit_exponent = (sum->top - (BINS - 1)) * BIN;
	uint64_t bits;
	int exponent;

	if (!value)
		return 0;
	/* Exponent of the result's last bit, relative to a denormal's. */
	exponent = unit_exponent + length(magnitude) - (MANTISSA + 1);
	if (exponent < 0)
		exponent = 0;
	/* A hidden one, and a carry from rounding, add to the exponent. */
	bits = ((uint64_t)exponent << MANTISSA) +
	       round_off(magnitude, exponent - unit_exponent);
	if (bits > INFINITE << MANTISSA)
		bits = INFINITE << MANTISSA;
	return sign | bits;
}

/* ---- BFPSUM: sums ---- */

static bool sum_merge(struct sum *a, const struct sum *b)
{
	const int64_t limit = 1LL << (SUM_BITS - 1);
	const int top = a->top > b->top ? a->top : b->top;
	struct sum sum = { .top = top };

	for (int i = 0; i < BINS; i++) {
		const int in_a = i - (top - a->top);
		const int in_b = i - (top - b->top);

		sum.bin[i] = (in_a >= 0 ? a->bin[in_a] : 0) +
			     (in_b >= 0 ? b->bin[in_b] : 0);
		if (sum.bin[i] >= limit || sum.bin[i] < -limit)
			return false;
	}
	*a = sum;
	return true;
}

static bool sums_load(unsigned int count, const uint64_t *element,
		      uint64_t *word)
{
	struct sum sum;

	for (unsigned int i = 0; i < count; i++) {
		if (!sum_of_double(element[i], &sum))
			return false;
		sum_pack(&sum, &word[2 * i]);
	}
	return true;
}

static bool sums_good(unsigned int count, const uint64_t *word)
{
	for (unsigned int i = 0; i < count; i++) {
		if (sum_unpack(&word[2 * i]).top > TOP_MAX)
			return false;
	}
	return true;
}

static bool sums_merge(unsigned int count, uint64_t *word,
		       const uint64_t *from)
{
	for (unsigned int i = 0; i < count; i++) {
		struct sum a = sum_unpack(&word[2 * i]);
		const struct sum b = sum_unpack(&from[2 * i]);

		if (!sum_merge(&a, &b))
			return false;
		sum_pack(&a, &word[2 * i]);
	}
	return true;
}

static void sums_store(unsigned int count, const uint64_t *word,
		       uint64_t *element)
{
	for (unsigned int i = 0; i < count; i++) {
		const struct sum sum = sum_unpack(&word[2 * i]);

		element[i] = double_of_sum(&sum);
	}
}

/* ---- Integers ---- */

/* Pairs of value and location: the higher value; of equal ones, the lower
 * location.
 */
static void maxloc(unsigned int count, uint64_t *word, const uint64_t *from)
{
	for (unsigned int i = 0; i + 1 < count; i += 2) {
		if (from[i] < word[i] ||
		    (from[i] == word[i] && from[i + 1] >= word[i + 1]))
			continue;
		word[i] = from[i];
		word[i + 1] = from[i + 1];
	}
}

static uint64_t merge_word(unsigned int op, uint64_t a, uint64_t b)
{
	switch (op) {
	case TOFU_REDUCE_BAND:
		return a & b;
	case TOFU_REDUCE_BOR:
		return a | b;
	case TOFU_REDUCE_BXOR:
		return a ^ b;
	case TOFU_REDUCE_MAX:
		return a > b ? a : b;
	default: /* SUM */
		return a + b;
	}
}

/* ---- All of them ---- */

bool icc_reduce_known(unsigned int op, unsigned int count)
{
	switch (op) {
	case TOFU_REDUCE_BARRIER:
		return !count;
	case TOFU_REDUCE_BAND:
	case TOFU_REDUCE_BOR:
	case TOFU_REDUCE_BXOR:
	case TOFU_REDUCE_MAX:
	case TOFU_REDUCE_SUM:
		return count >= 1 && count <= TOFU_REDUCE_WORDS;
	case TOFU_REDUCE_MAXLOC:
		return count >= 2 && count <= TOFU_REDUCE_WORDS &&
		       count % 2 == 0;
	case TOFU_REDUCE_BFPSUM:
		return count >= 1 && count <= TOFU_REDUCE_DOUBLES;
	default:
		return false;
	}
}

/* The first @count words of @from, and zeros. */
static void copy(unsigned int count, uint64_t *to, const uint64_t *from)
{
	for (unsigned int i = 0; i < TOFU_REDUCE_WORDS; i++)
		to[i] = i < count ? from[i] : 0;
}

bool icc_reduce_load(unsigned int op, unsigned int count,
		     const uint64_t *element, uint64_t *word)
{
	copy(op == TOFU_REDUCE_BFPSUM ? 0 : count, word, element);
	return op != TOFU_REDUCE_BFPSUM || sums_load(count, element, word);
}

bool icc_reduce_good(unsigned int op, unsigned int count, const uint64_t *word)
{
	return icc_reduce_known(op, count) &&
	       (op != TOFU_REDUCE_BFPSUM || sums_good(count, word));
}

bool icc_reduce_merge(unsigned int op, unsigned int count, uint64_t *word,
		      const uint64_t *from)
{
	if (op == TOFU_REDUCE_BFPSUM)
		return sums_merge(count, word, from);
	if (op == TOFU_REDUCE_MAXLOC) {
		maxloc(count, word, from);
		return true;
	}
	for (unsigned int i = 0; i < count; i++)
		word[i] = merge_word(op, word[i], from[i]);
	return true;
}

void icc_reduce_store(unsigned int op, unsigned int count, const uint64_t *word,
		      uint64_t *element)
{
	copy(op == TOFU_REDUCE_BFPSUM ? 0 : count, element, word);
	if (op == TOFU_REDUCE_BFPSUM)
		sums_store(count, word, element);
}
