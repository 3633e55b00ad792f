// SPDX-License-Identifier: MIT
/*
 * Reductions: each operation against a plain one; BFPSUM gives the same bits in
 * any order and tree, and is close to the exact sum.
 */
#include <float.h>
#include <string.h>

#include "harness.h"

#include "icc/reduce.h"

#define ADDENDS 64
#define ROUNDS 3000

static uint64_t random_state = 1;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

static uint64_t bits_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* ---- Operations ---- */

TEST(operations_have_counts_of_elements)
{
	static const uint64_t counts[TOFU_REDUCE_OPS] = {
		[TOFU_REDUCE_BARRIER] = 1 << 0,
		[TOFU_REDUCE_BAND] = 0x7e,
		[TOFU_REDUCE_BOR] = 0x7e,
		[TOFU_REDUCE_BXOR] = 0x7e,
		[TOFU_REDUCE_MAX] = 0x7e,
		[TOFU_REDUCE_MAXLOC] = 1 << 2 | 1 << 4 | 1 << 6,
		[TOFU_REDUCE_SUM] = 0x7e,
		[TOFU_REDUCE_BFPSUM] = 0xe,
	};

	for (unsigned int op = 0; op < 256; op++) {
		for (unsigned int n = 0; n < 256; n++) {
			const bool known = op < TOFU_REDUCE_OPS && n < 64 &&
					   counts[op] >> n & 1;

			EXPECT_EQ(known, icc_reduce_known(op, n));
		}
	}
}

/* ---- Integers ---- */

static void reduce(unsigned int op, unsigned int count, const uint64_t *a,
		   const uint64_t *b, uint64_t *result)
{
	uint64_t x[TOFU_REDUCE_WORDS], y[TOFU_REDUCE_WORDS];

	if (!icc_reduce_load(op, count, a, x) ||
	    !icc_reduce_load(op, count, b, y) ||
	    !icc_reduce_good(op, count, x) ||
	    !icc_reduce_merge(op, count, x, y))
		abort();
	icc_reduce_store(op, count, x, result);
}

TEST(integers_are_reduced_one_by_one)
{
	static const uint64_t a[] = { 0xf0, 1, UINT64_MAX, 7, 1ULL << 63, 0 };
	static const uint64_t b[] = { 0x3c, 2, 2, 7, 5, 0 };
	static const uint64_t results[][TOFU_REDUCE_WORDS] = {
		[TOFU_REDUCE_BAND] = { 0x30, 0, 2, 7, 0, 0 },
		[TOFU_REDUCE_BOR] = { 0xfc, 3, UINT64_MAX, 7, (1ULL << 63) + 5,
				      0 },
		[TOFU_REDUCE_BXOR] = { 0xcc, 3, UINT64_MAX - 2, 0,
				       (1ULL << 63) + 5, 0 },
		[TOFU_REDUCE_MAX] = { 0xf0, 2, UINT64_MAX, 7, 1ULL << 63, 0 },
		[TOFU_REDUCE_SUM] = { 0x12c, 3, 1, 14, (1ULL << 63) + 5, 0 },
	};
	uint64_t result[TOFU_REDUCE_WORDS];

	for (unsigned int op = TOFU_REDUCE_BAND; op <= TOFU_REDUCE_SUM; op++) {
		if (op == TOFU_REDUCE_MAXLOC)
			continue;
		for (unsigned int n = 1; n <= TOFU_REDUCE_WORDS; n++) {
			reduce(op, n, a, b, result);
			for (unsigned int i = 0; i < TOFU_REDUCE_WORDS; i++)
				EXPECT_EQ(i < n ? results[op][i] : 0,
					  result[i]);
		}
	}
}

TEST(maxloc_takes_the_higher_value_and_of_equals_the_lower_place)
{
	static const uint64_t a[] = { 5, 9, 7, 1, 4, 3 };
	static const uint64_t b[] = { 6, 8, 7, 0, 1ULL << 63, 9 };
	static const uint64_t expected[] = { 6, 8, 7, 0, 1ULL << 63, 9 };
	uint64_t result[TOFU_REDUCE_WORDS];

	reduce(TOFU_REDUCE_MAXLOC, 6, a, b, result);
	EXPECT_EQ(0, memcmp(expected, result, sizeof(result)));
	reduce(TOFU_REDUCE_MAXLOC, 6, b, a, result);
	EXPECT_EQ(0, memcmp(expected, result, sizeof(result)));
	reduce(TOFU_REDUCE_MAXLOC, 2, a, b, result);
	EXPECT_EQ(6, result[0]);
	EXPECT_EQ(0, result[2]);
}

/* ---- BFPSUM ---- */

/* The sum of @count doubles, added in a random order and tree. */
static uint64_t sum(const double *x, unsigned int count)
{
	uint64_t part[ADDENDS][TOFU_REDUCE_WORDS], element[TOFU_REDUCE_WORDS];
	unsigned int left = count;

	for (unsigned int i = 0; i < count; i++) {
		element[0] = bits_of(x[i]);
		if (!icc_reduce_load(TOFU_REDUCE_BFPSUM, 1, element, part[i]))
			abort();
	}
	while (left > 1) {
		const unsigned int a = (unsigned int)(draw() % left--);
		const unsigned int b = (unsigned int)(draw() % left);

		if (a != left) {
			uint64_t other[TOFU_REDUCE_WORDS];

			memcpy(other, part[a], sizeof(other));
			memcpy(part[a], part[left], sizeof(other));
			memcpy(part[left], other, sizeof(other));
		}
		if (!icc_reduce_good(TOFU_REDUCE_BFPSUM, 1, part[left]) ||
		    !icc_reduce_merge(TOFU_REDUCE_BFPSUM, 1, part[b],
				      part[left]))
			abort();
	}
	icc_reduce_store(TOFU_REDUCE_BFPSUM, 1, part[0], element);
	return element[0];
}

/* Exponents within a window of random place and width; some zeros; and some
 * values that cancel earlier ones.
 */
static unsigned int draw_addends(double *x)
{
	const unsigned int count = 2 + (unsigned int)(draw() % (ADDENDS - 1));
	const unsigned int width = 1 + (unsigned int)(draw() % 2) * 400 +
				   (unsigned int)(draw() % 120);
	const unsigned int first = (unsigned int)(draw() % (2040 - width));

	for (unsigned int i = 0; i < count; i++) {
		const uint64_t exponent = first + draw() % width;
		uint64_t bits = (draw() & ~(0x7ffULL << 52)) | exponent << 52;

		if (draw() % 16 == 0)
			bits &= 1ULL << 63;
		x[i] = double_of(bits);
		if (i && draw() % 4 == 0)
			x[i] = -x[draw() % i];
	}
	return count;
}

TEST(a_sum_has_the_same_bits_in_any_order_and_tree)
{
	double x[ADDENDS];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		const unsigned int count = draw_addends(x);
		const uint64_t first = sum(x, count);

		for (unsigned int i = 0; i < 6; i++)
			ASSERT_EQ(first, sum(x, count));
	}
}

TEST(a_double_alone_is_kept_exactly)
{
	for (unsigned int round = 0; round < 100000; round++) {
		const double x[] = { double_of(draw()), 0.0 };

		if (x[0] - x[0] != 0)
			continue;
		ASSERT_EQ(bits_of(x[0] + 0.0), sum(x, 1 + round % 2));
	}
}

/* A sum that is exact, in limbs of 32 bits from 2^-1074 up. */
#define LIMBS 68

static void exact_add(int64_t *limb, double value)
{
	const uint64_t bits = bits_of(value);
	const uint64_t exponent = bits >> 52 & 0x7ff;
	uint64_t mantissa = bits & ((1ULL << 52) - 1);
	unsigned int shift = 0;

	if (exponent) {
		mantissa |= 1ULL << 52;
		shift = (unsigned int)exponent - 1;
	}
	for (unsigned int i = 0; i < 53; i++) {
		const unsigned int at = shift + i;
		const int64_t one = (int64_t)(mantissa >> i & 1) << at % 32;

		limb[at / 32] += bits >> 63 ? -one : one;
	}
}

/* Limbs of 32 bits, of which only the highest one has a sign. */
static bool exact_negative(int64_t *limb)
{
	for (unsigned int i = 0; i < LIMBS - 1; i++) {
		limb[i + 1] += limb[i] >> 32;
		limb[i] &= UINT32_MAX;
	}
	return limb[LIMBS - 1] < 0;
}

/* Whether the magnitude is less than @factor << @shift. */
static bool exact_below(int64_t *limb, unsigned int factor, unsigned int shift)
{
	if (exact_negative(limb)) {
		for (unsigned int i = 0; i < LIMBS; i++)
			limb[i] = -limb[i];
	}
	limb[shift / 32] -= (int64_t)factor << shift % 32;
	return exact_negative(limb);
}

/* Position of the highest bit of the largest addend, from 2^-1074 up. */
static unsigned int height(const double *x, unsigned int count)
{
	uint64_t largest = 0;

	for (unsigned int i = 0; i < count; i++) {
		const uint64_t bits = bits_of(x[i]) & INT64_MAX;

		if (bits > largest)
			largest = bits;
	}
	if (largest >> 52)
		return (unsigned int)(largest >> 52) + 51;
	return largest ? 63 - (unsigned int)__builtin_clzll(largest) : 0;
}

TEST(a_sum_is_near_the_exact_one)
{
	double x[ADDENDS];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		const unsigned int count = draw_addends(x);
		const unsigned int high = height(x, count);
		const double result = double_of(sum(x, count));
		int64_t limb[LIMBS] = { 0 };

		if (result - result != 0)
			continue; /* has overflowed */
		for (unsigned int i = 0; i < count; i++)
			exact_add(limb, x[i]);
		exact_add(limb, -result);
		ASSERT_TRUE(exact_below(limb, count,
					high > 51 ? high - 51 : 0));
	}
}

TEST(what_fits_the_bins_is_rounded_once)
{
	double x[ADDENDS];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		const unsigned int count = 2 + (unsigned int)(draw() % 62);
		_Float128 exact = 0;

		for (unsigned int i = 0; i < count; i++) {
			x[i] = (double)(int64_t)(draw() & ((1 << 29) - 1)) *
			       (double)(1 << draw() % 21);
			if (draw() & 1)
				x[i] = -x[i];
			exact += x[i];
		}
		ASSERT_EQ(bits_of((double)exact), sum(x, count));
	}
}

TEST(rounding_is_to_nearest_and_ties_to_even)
{
	const struct {
		double x[3];
		double sum;
	} cases[] = {
		{ { 0x1p53, 1 }, 0x1p53 },
		{ { 0x1p53, 3 }, 0x1p53 + 4 },
		{ { -0x1p53, -3 }, -0x1p53 - 4 },
		{ { 0x1p53, 1, 0x1p-8 }, 0x1p53 + 2 },
		{ { DBL_MIN, -DBL_TRUE_MIN }, DBL_MIN - DBL_TRUE_MIN },
		{ { DBL_TRUE_MIN, DBL_TRUE_MIN }, 2 * DBL_TRUE_MIN },
		{ { DBL_MIN - DBL_TRUE_MIN, DBL_TRUE_MIN }, DBL_MIN },
		{ { 0x1p52 - 1, 1 }, 0x1p52 },
		{ { 1.5, -1.5 }, 0.0 },
		{ { -0.0, -0.0 }, 0.0 },
		{ { DBL_MAX, -DBL_MAX, 7 }, 0 },
		{ { DBL_MAX, -DBL_MAX, 0x1p954 }, 0x1p954 },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		EXPECT_EQ(bits_of(cases[i].sum), sum(cases[i].x, 3));
}

TEST(an_overflow_is_infinite_but_not_on_the_way)
{
	const double over[] = { DBL_MAX, DBL_MAX, 1 };
	const double under[] = { -DBL_MAX, -DBL_MAX, 1 };
	const double way[] = { DBL_MAX, DBL_MAX, -DBL_MAX };

	EXPECT_EQ(0x7ffULL << 52, sum(over, 3));
	EXPECT_EQ(0xfffULL << 52, sum(under, 3));
	EXPECT_EQ(bits_of(DBL_MAX), sum(way, 3));
}

TEST(what_is_not_finite_is_no_addend)
{
	static const uint64_t not_finite[] = { 0x7ffULL << 52, 0xfffULL << 52,
					       0x7ff8ULL << 48, UINT64_MAX };
	uint64_t element[TOFU_REDUCE_WORDS] = { 0 };
	uint64_t word[TOFU_REDUCE_WORDS];

	for (unsigned int i = 0; i < 4; i++) {
		element[2] = not_finite[i];
		EXPECT_FALSE(icc_reduce_load(TOFU_REDUCE_BFPSUM, 3, element,
					     word));
		EXPECT_TRUE(icc_reduce_load(TOFU_REDUCE_BFPSUM, 2, element,
					    word));
	}
}

/* Each node adds the worst case: all bins full of ones. */
TEST(as_many_addends_as_said_fit)
{
	const double worst = 0x1.fffffffffffffp25;
	uint64_t one[TOFU_REDUCE_WORDS], all[TOFU_REDUCE_WORDS];
	uint64_t element[TOFU_REDUCE_WORDS] = { bits_of(-worst) };
	unsigned int more = 0;

	icc_reduce_load(TOFU_REDUCE_BFPSUM, 1, element, one);
	memcpy(all, one, sizeof(all));
	for (unsigned int i = 1; i < TOFU_REDUCE_ADDENDS; i++)
		ASSERT_TRUE(icc_reduce_merge(TOFU_REDUCE_BFPSUM, 1, all, one));
	icc_reduce_store(TOFU_REDUCE_BFPSUM, 1, all, element);
	EXPECT_EQ(bits_of(-worst * TOFU_REDUCE_ADDENDS), element[0]);
	while (more++ < 64 &&
	       icc_reduce_merge(TOFU_REDUCE_BFPSUM, 1, all, one))
		;
	EXPECT_LT(more, 64);
}

/* ---- Packets of peers ---- */

TEST(any_words_are_taken_without_harm)
{
	uint64_t a[TOFU_REDUCE_WORDS], b[TOFU_REDUCE_WORDS];
	uint64_t element[TOFU_REDUCE_WORDS];
	unsigned int good = 0;

	for (unsigned int round = 0; round < 200000; round++) {
		const unsigned int op = (unsigned int)(draw() % 10);
		const unsigned int count = (unsigned int)(draw() % 8);

		for (unsigned int i = 0; i < TOFU_REDUCE_WORDS; i++) {
			a[i] = draw() | (draw() % 2 ? 0 : UINT64_MAX);
			b[i] = draw() & (draw() % 2 ? 0 : UINT64_MAX);
		}
		if (!icc_reduce_good(op, count, a) ||
		    !icc_reduce_good(op, count, b))
			continue;
		good++;
		icc_reduce_store(op, count, a, element);
		if (icc_reduce_merge(op, count, a, b))
			icc_reduce_store(op, count, a, element);
	}
	EXPECT_GT(good, 1000);
}

TEST_HARNESS_MAIN
