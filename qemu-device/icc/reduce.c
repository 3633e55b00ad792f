// SPDX-License-Identifier: MIT
/*
 * Reductions. net/binned.h says what sums of doubles are.
 */
#include "icc/reduce.h"
#include "net/binned.h"

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
TOFU_ASSERT(TOFU_REDUCE_ADDENDS * ((1LL << TOFU_BIN) - 1) <
		    1LL << (SUM_BITS - 1),
	    "as many addends fit a bin");

static int64_t extend(uint64_t field)
{
	const uint64_t sign = 1ULL << (SUM_BITS - 1);

	return (int64_t)(field ^ sign) - (int64_t)sign;
}

static struct tofu_binned sum_unpack(const uint64_t *word)
{
	const uint64_t low = TOFU_GET(word[0], SUM0_LOW) |
			     TOFU_GET(word[1], SUM1_LOW) << SUM0_LOW_BITS;

	return (struct tofu_binned){
		.top = (int)TOFU_GET(word[1], SUM1_TOP),
		.bin = { extend(TOFU_GET(word[0], SUM0_HIGH)),
			 extend(TOFU_GET(word[1], SUM1_MIDDLE)), extend(low) },
	};
}

static void sum_pack(const struct tofu_binned *sum, uint64_t *word)
{
	const uint64_t low = (uint64_t)sum->bin[2];

	word[0] = TOFU_SET(SUM0_HIGH, sum->bin[0]) | TOFU_SET(SUM0_LOW, low);
	word[1] = TOFU_SET(SUM1_MIDDLE, sum->bin[1]) |
		  TOFU_SET(SUM1_LOW, low >> SUM0_LOW_BITS) |
		  TOFU_SET(SUM1_TOP, sum->top);
}

/* ---- BFPSUM: sums ---- */

static bool sum_fits(const struct tofu_binned *sum)
{
	const int64_t limit = 1LL << (SUM_BITS - 1);

	for (unsigned int i = 0; i < TOFU_BINS; i++) {
		if (sum->bin[i] >= limit || sum->bin[i] < -limit)
			return false;
	}
	return true;
}

static bool sums_load(unsigned int count, const uint64_t *element,
		      uint64_t *word)
{
	struct tofu_binned sum;

	for (unsigned int i = 0; i < count; i++) {
		if (!tofu_binned_split(element[i], &sum))
			return false;
		sum_pack(&sum, &word[2 * i]);
	}
	return true;
}

static bool sums_good(unsigned int count, const uint64_t *word)
{
	for (unsigned int i = 0; i < count; i++) {
		if (sum_unpack(&word[2 * i]).top > TOFU_BIN_MAX)
			return false;
	}
	return true;
}

static bool sums_merge(unsigned int count, uint64_t *word,
		       const uint64_t *from)
{
	for (unsigned int i = 0; i < count; i++) {
		struct tofu_binned a = sum_unpack(&word[2 * i]);
		const struct tofu_binned b = sum_unpack(&from[2 * i]);

		tofu_binned_add(&a, &b);
		if (!sum_fits(&a))
			return false;
		sum_pack(&a, &word[2 * i]);
	}
	return true;
}

static void sums_store(unsigned int count, const uint64_t *word,
		       uint64_t *element)
{
	for (unsigned int i = 0; i < count; i++) {
		const struct tofu_binned sum = sum_unpack(&word[2 * i]);

		element[i] = tofu_binned_join(&sum);
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
