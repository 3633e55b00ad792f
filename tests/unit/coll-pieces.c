// SPDX-License-Identifier: MIT
/*
 * Reproducible sums: against their definition in plain arithmetic, against
 * barrier gates, and in any order and tree.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "harness.h"

#include "coll/op.h"
#include "icc/reduce.h"

#define ADDENDS 64
#define MANY 100000
#define ROUNDS 2000
#define ROOM 32 /* bytes, for a sum */

#define INFINITE (0x7ffULL << 52)
#define SIGN (1ULL << 63)

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

/* ---- Sums in pieces ---- */

static void swap(char *a, char *b, size_t size)
{
	char other[ROOM];

	memcpy(other, a, size);
	memcpy(a, b, size);
	memcpy(b, other, size);
}

/* The sum, added in a random order and tree, at odd addresses. */
static uint64_t sum(const double *x, size_t count)
{
	static char room[1 + MANY * ROOM];
	const size_t size = coll_pieces_size();
	char *const part = room + 1;
	size_t left = count;
	double result;

	if (size > ROOM)
		abort();
	coll_pieces_split(part, x, count);
	while (left > 1) {
		char *const a = part + draw() % left-- * size;
		char *const b = part + draw() % left * size;
		char *const last = part + left * size;

		if (a != last)
			swap(a, last, size);
		if (draw() % 2)
			coll_pieces_run(b, b, last, 1);
		else
			coll_pieces_run(b, last, b, 1);
	}
	coll_pieces_join(&result, part, 1);
	return bits_of(result);
}

/* ---- The definition: limbs of 32 bits from 2^-1074 up ---- */

#define BIN 26
#define LIMBS 68

/* Position of the highest bit of a finite double, from 2^-1074 up; -1: zero */
static int height(double value)
{
	const uint64_t bits = bits_of(value) & ~SIGN;

	if (bits >> 52)
		return (int)(bits >> 52) + 51;
	return bits ? 63 - __builtin_clzll(bits) : -1;
}

/* Adds the bits of @value from position @low up. */
static void limbs_add(int64_t *limb, double value, int low)
{
	const uint64_t bits = bits_of(value);
	const int exponent = (int)(bits >> 52 & 0x7ff);
	const uint64_t fraction = bits & ((1ULL << 52) - 1);
	const uint64_t mantissa = exponent ? fraction | 1ULL << 52 : fraction;
	const int shift = exponent ? exponent - 1 : 0;

	for (int i = 0; i < 53; i++) {
		const int at = shift + i;
		const int64_t one = (int64_t)(mantissa >> i & 1) << at % 32;

		if (at >= low)
			limb[at / 32] += bits & SIGN ? -one : one;
	}
}

/* Makes limbs of 32 bits, of which only the highest one has a sign. */
static bool limbs_negative(int64_t *limb)
{
	for (unsigned int i = 0; i < LIMBS - 1; i++) {
		limb[i + 1] += limb[i] >> 32;
		limb[i] &= UINT32_MAX;
	}
	return limb[LIMBS - 1] < 0;
}

static uint64_t bit(const int64_t *limb, int at)
{
	return at >= 0 ? (uint64_t)limb[at / 32] >> at % 32 & 1 : 0;
}

static bool any_below(const int64_t *limb, int at)
{
	while (--at >= 0) {
		if (bit(limb, at))
			return true;
	}
	return false;
}

/* The nearest double; the limbs are not negative. */
static uint64_t limbs_round(const int64_t *limb)
{
	int high = LIMBS * 32 - 1, low;
	uint64_t bits = 0;

	while (high >= 0 && !bit(limb, high))
		high--;
	low = high > 52 ? high - 52 : 0;
	for (int i = high; i >= low; i--)
		bits = bits << 1 | bit(limb, i);
	if (bit(limb, low - 1) && (bits & 1 || any_below(limb, low - 1)))
		bits++;
	bits += (uint64_t)low << 52;
	return bits < INFINITE ? bits : INFINITE;
}

static uint64_t defined(const double *x, size_t count)
{
	int64_t limb[LIMBS] = { 0 };
	int top = 0;
	bool negative;

	for (size_t i = 0; i < count; i++) {
		if (height(x[i]) / BIN > top)
			top = height(x[i]) / BIN;
	}
	for (size_t i = 0; i < count; i++)
		limbs_add(limb, x[i], (top - 2) * BIN);
	negative = limbs_negative(limb);
	if (negative) {
		for (unsigned int i = 0; i < LIMBS; i++)
			limb[i] = -limb[i];
		limbs_negative(limb);
	}
	return limbs_round(limb) | (negative ? SIGN : 0);
}

/* Exponents within a window of random place and width; some zeros; and some
 * values that cancel earlier ones.
 */
static void draw_addends(double *x, size_t count)
{
	const unsigned int width = 1 + (unsigned int)(draw() % 2) * 400 +
				   (unsigned int)(draw() % 120);
	const unsigned int first = draw() % 4 ?
		(unsigned int)(draw() % (2046 - width)) : 0;

	for (size_t i = 0; i < count; i++) {
		const uint64_t exponent = first + draw() % width;
		uint64_t bits = (draw() & ~INFINITE) | exponent << 52;

		if (draw() % 16 == 0)
			bits &= SIGN;
		x[i] = double_of(bits);
		if (i && draw() % 4 == 0)
			x[i] = -x[draw() % i];
	}
}

TEST(a_sum_is_as_defined_in_any_order_and_tree)
{
	double x[ADDENDS];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		const size_t count = 1 + draw() % ADDENDS;

		draw_addends(x, count);
		for (unsigned int i = 0; i < 4; i++)
			ASSERT_EQ(defined(x, count), sum(x, count));
	}
}

TEST(many_addends_are_summed_as_defined)
{
	static double x[MANY];

	for (unsigned int round = 0; round < 4; round++) {
		draw_addends(x, MANY);
		EXPECT_EQ(defined(x, MANY), sum(x, MANY));
	}
}

/* ---- Barrier gates ---- */

static uint64_t gates_sum(const double *x, size_t count)
{
	uint64_t total[TOFU_REDUCE_WORDS] = { 0 }, word[TOFU_REDUCE_WORDS];
	uint64_t element[TOFU_REDUCE_WORDS] = { 0 };

	for (size_t i = 0; i < count; i++) {
		element[0] = bits_of(x[i]);
		if (!icc_reduce_load(TOFU_REDUCE_BFPSUM, 1, element, word) ||
		    !icc_reduce_merge(TOFU_REDUCE_BFPSUM, 1, total, word))
			abort();
	}
	icc_reduce_store(TOFU_REDUCE_BFPSUM, 1, total, element);
	return element[0];
}

TEST(a_sum_has_the_bits_of_barrier_gates)
{
	static double x[TOFU_REDUCE_ADDENDS];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		const size_t count = 1 + draw() % ADDENDS;

		draw_addends(x, count);
		ASSERT_EQ(gates_sum(x, count), sum(x, count));
	}
	draw_addends(x, TOFU_REDUCE_ADDENDS);
	EXPECT_EQ(gates_sum(x, TOFU_REDUCE_ADDENDS),
		  sum(x, TOFU_REDUCE_ADDENDS));
}

/* ---- Exact sums ---- */

TEST(what_fits_the_bins_is_rounded_once)
{
	static double x[MANY];

	for (unsigned int round = 0; round < 4; round++) {
		_Float128 exact = 0;

		for (unsigned int i = 0; i < MANY; i++) {
			x[i] = (double)(int64_t)(draw() & ((1 << 29) - 1)) *
			       (double)(1 << draw() % 21);
			if (draw() & 1)
				x[i] = -x[i];
			exact += x[i];
		}
		EXPECT_EQ(bits_of((double)exact), sum(x, MANY));
	}
}

TEST(denormals_are_summed_exactly)
{
	static double x[MANY];
	int64_t exact = 0;

	for (unsigned int i = 0; i < MANY; i++) {
		const int64_t value = (int64_t)(draw() >> 30);
		const bool negative = draw() & 1;

		x[i] = double_of((uint64_t)value | (negative ? SIGN : 0));
		exact += negative ? -value : value;
	}
	EXPECT_EQ(bits_of((double)exact * DBL_TRUE_MIN), sum(x, MANY));
}

TEST(rounding_and_cancellation_are_those_of_the_bins)
{
	static const struct {
		double x[3];
		double sum;
	} cases[] = {
		{ { 0x1p53, 1 }, 0x1p53 },
		{ { 0x1p53, 3 }, 0x1p53 + 4 },
		{ { -0x1p53, -3 }, -0x1p53 - 4 },
		{ { 0x1p53, 1, 0x1p-8 }, 0x1p53 + 2 },
		/* The last addend is more than 64 bits below the highest one. */
		{ { 0x1p-997, 0x1p-1050, 0x1p-1074 }, 0x1p-997 + 0x1p-1049 },
		{ { DBL_MIN, -DBL_TRUE_MIN }, DBL_MIN - DBL_TRUE_MIN },
		{ { DBL_TRUE_MIN, DBL_TRUE_MIN }, 2 * DBL_TRUE_MIN },
		{ { DBL_MIN - DBL_TRUE_MIN, DBL_TRUE_MIN }, DBL_MIN },
		{ { 1.5, -1.5 }, 0.0 },
		{ { -0.0, -0.0 }, 0.0 },
		{ { -0.0 }, 0.0 },
		/* Bits far below the largest addend are cut off. */
		{ { 1e308, 1, -1e308 }, 0 },
		{ { DBL_MAX, -DBL_MAX, 0x1p954 }, 0x1p954 },
		/* A sum on the way may be too large. */
		{ { DBL_MAX, DBL_MAX, -DBL_MAX }, DBL_MAX },
		{ { DBL_MAX, DBL_MAX, 1 }, INFINITY },
		{ { -DBL_MAX, -DBL_MAX, 1 }, -INFINITY },
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		EXPECT_EQ(bits_of(cases[i].sum), sum(cases[i].x, 3));
}

TEST(addends_that_are_not_finite_decide_the_sum)
{
	static const struct {
		double x[4];
		double sum;
	} cases[] = {
		{ { INFINITY, 1, -DBL_MAX, 0 }, INFINITY },
		{ { 1, -INFINITY, DBL_MAX, DBL_MAX }, -INFINITY },
		{ { INFINITY, INFINITY, 3, -4 }, INFINITY },
		{ { INFINITY, 1, -INFINITY, 2 }, NAN },
		{ { 1, NAN, 1e300, 1e-300 }, NAN },
		{ { INFINITY, NAN, 1, -0.0 }, NAN },
		{ { -INFINITY, NAN, INFINITY, 1 }, NAN },
	};
	double x[4];

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned int round = 0; round < 20; round++)
			EXPECT_EQ(bits_of(cases[i].sum), sum(cases[i].x, 4));
	}
	/* All NaNs are the same one in a sum. */
	memcpy(x, cases[4].x, sizeof(x));
	x[1] = double_of(SIGN | INFINITE | 1);
	EXPECT_EQ(bits_of(NAN), sum(x, 4));
}

/* ---- As many members as there can be ---- */

TEST(sums_of_2_to_the_31_addends_fit)
{
	/* Bits 0 to 52 of 2^-1074: the lower two bins are full of ones. With 25
	 * more below, the upper two are.
	 */
	const double worst[] = { 0x1.fffffffffffffp-1022, -0x1.fffffffffffffp-1022,
				 0x1.fffffffffffffp-997, -0x1.fffffffffffffp-997 };
	uint64_t pieces[ROOM / 8];
	double result;

	for (unsigned int i = 0; i < 4; i++) {
		coll_pieces_split(pieces, &worst[i], 1);
		for (unsigned int doubled = 0; doubled < 31; doubled++)
			coll_pieces_run(pieces, pieces, pieces, 1);
		coll_pieces_join(&result, pieces, 1);
		EXPECT_EQ(bits_of(worst[i] * 0x1p31), bits_of(result));
	}
}

/* ---- Arrays ---- */

TEST(each_element_is_a_sum_of_its_own)
{
	static const size_t counts[] = { 0, 1, 3, 17, 1000 };
	static double x[2][1000], both[2], result[1002];
	static char part[2][1000 * ROOM];

	for (unsigned int i = 0; i < 2; i++)
		draw_addends(x[i], 1000);
	for (unsigned int i = 0; i < 5; i++) {
		const size_t count = counts[i];

		coll_pieces_split(part[0], x[0], count);
		coll_pieces_split(part[1], x[1], count);
		coll_pieces_run(part[1], part[0], part[1], count);
		for (size_t j = 0; j < 1002; j++)
			result[j] = 7;
		coll_pieces_join(&result[1], part[1], count);
		for (size_t j = 0; j < count; j++) {
			both[0] = x[0][j];
			both[1] = x[1][j];
			ASSERT_EQ(sum(both, 2), bits_of(result[1 + j]));
		}
		EXPECT_EQ(bits_of(7), bits_of(result[0]));
		EXPECT_EQ(bits_of(7), bits_of(result[count + 1]));
	}
}

TEST_HARNESS_MAIN
