// SPDX-License-Identifier: MIT
/*
 * Combining elements.
 *
 * Floating point: @a is the left operand. Which of two NaNs a sum or a product
 * keeps depends on the order of operands, the processor and the compiler, which
 * need not be the same in a whole block and in what is left of a buffer. All
 * other results have the same bits in any case. A collective always combines
 * the same pairs, with the lower member on the left and at the same place of
 * the same buffer, so its NaNs are the same in every run, too.
 */
#include "coll/op.h"

#include <stdint.h>

/* Elements lie at any address, and have other types elsewhere. */
#define LOOSE __attribute__((aligned(1), may_alias))
#define LOOSE_PAIR __attribute__((packed, may_alias))

typedef float LOOSE loose_float;
typedef double LOOSE loose_double;
typedef int32_t LOOSE loose_int32;
typedef int64_t LOOSE loose_int64;
typedef uint32_t LOOSE loose_uint32;
typedef uint64_t LOOSE loose_uint64;

/* ---- Loops ---- */

/*
 * At -O2, gcc vectorises a loop only if all of it becomes vectors: hence blocks
 * of a constant number of elements, and smaller ones for what is left. The
 * buffers are the same or do not overlap, so an element depends on no other one.
 */
#define BLOCK 64
#define REST 8

#ifdef __clang__
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* Longer vectors, where the processor has them: the dynamic linker chooses. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define VECTORS
#endif

/* The loop of a function that combines elements over blocks of @size. */
#define BLOCKS(name, size)                                                  \
	for (; count >= (size); count -= (size)) {                          \
		INDEPENDENT                                                 \
		for (size_t i = 0; i < (size); i++)                         \
			name##_one(&to[i], &left[i], &right[i]);            \
		to += (size);                                               \
		left += (size);                                             \
		right += (size);                                            \
	}

/* A function that combines elements; @value is made of the elements x and y. */
#define COMBINE(name, type, value)                                          \
	static inline void name##_one(type *to, const type *a,              \
				      const type *b)                        \
	{                                                                   \
		const type x = *a;                                          \
		const type y = *b;                                          \
									    \
		*to = (value);                                              \
	}                                                                   \
	VECTORS                                                             \
	static void name(void *dst, const void *a, const void *b,           \
			 size_t count)                                      \
	{                                                                   \
		const type *left = a;                                       \
		const type *right = b;                                      \
		type *to = dst;                                             \
									    \
		BLOCKS(name, BLOCK)                                         \
		BLOCKS(name, REST)                                          \
		for (size_t i = 0; i < count; i++)                          \
			name##_one(&to[i], &left[i], &right[i]);            \
	}

/* ---- Arithmetic: integers wrap, signed ones as unsigned ones ---- */

#define ARITHMETIC(type)                              \
	COMBINE(sum_##type, loose_##type, x + y)      \
	COMBINE(prod_##type, loose_##type, x * y)

ARITHMETIC(float)
ARITHMETIC(double)
ARITHMETIC(uint32)
ARITHMETIC(uint64)

#define BITWISE(type)                                 \
	COMBINE(band_##type, loose_##type, x & y)     \
	COMBINE(bor_##type, loose_##type, x | y)      \
	COMBINE(bxor_##type, loose_##type, x ^ y)

BITWISE(uint32)
BITWISE(uint64)

/* ---- Order ---- */

/*
 * Whether x comes before y in a search for the minimum or the maximum. Each is
 * a total order of all values that differ in a bit, so what comes out does not
 * depend on the order of operands.
 */
#define ORDER_INTEGER(type)                                           \
	static inline bool lower_##type(type##_t x, type##_t y)       \
	{                                                             \
		return x < y;                                         \
	}                                                             \
	static inline bool higher_##type(type##_t x, type##_t y)      \
	{                                                             \
		return x > y;                                         \
	}

ORDER_INTEGER(int32)
ORDER_INTEGER(int64)
ORDER_INTEGER(uint64)

/*
 * Floating point, by its bits: a NaN comes before numbers and before NaNs with
 * lower bits; of numbers, -0 is below +0. No branches: loops become vectors.
 */
#define ORDER_FLOAT(type, word, infinity)                             \
	static inline bool nan_##type(u##word##_t x)                  \
	{                                                             \
		return x << 1 > (u##word##_t)(infinity) << 1;         \
	}                                                             \
	/* In the order of numbers, which is reversed below zero */   \
	static inline word##_t place_##type(u##word##_t x)            \
	{                                                             \
		const unsigned int sign = 8 * sizeof(x) - 1;          \
									      \
		return (word##_t)(x ^ -(x >> sign) >> 1);             \
	}                                                             \
	static inline bool before_##type(u##word##_t x, u##word##_t y, \
					 bool number)                 \
	{                                                             \
		const bool nan_x = nan_##type(x);                     \
		const bool nan_y = nan_##type(y);                     \
									      \
		return (nan_x & (!nan_y | (x > y))) |                 \
		       (!nan_x & !nan_y & number);                    \
	}                                                             \
	static inline bool lower_##type(u##word##_t x, u##word##_t y) \
	{                                                             \
		return before_##type(x, y,                            \
				     place_##type(x) < place_##type(y)); \
	}                                                             \
	static inline bool higher_##type(u##word##_t x, u##word##_t y) \
	{                                                             \
		return before_##type(x, y,                            \
				     place_##type(x) > place_##type(y)); \
	}

ORDER_FLOAT(float, int32, 0x7f800000)
ORDER_FLOAT(double, int64, 0x7ff0000000000000)

/* @word: what holds the bits of a value */
#define EXTREME(type, word)                                           \
	COMBINE(min_##type, loose_##word, lower_##type(x, y) ? x : y) \
	COMBINE(max_##type, loose_##word, higher_##type(x, y) ? x : y)

EXTREME(float, uint32)
EXTREME(double, uint64)
EXTREME(int32, int32)
EXTREME(int64, int64)
EXTREME(uint64, uint64)

/* Equal values have equal bits, as -0 and +0 are not. */
#define LOCATION(type, word, place)                                   \
	struct LOOSE_PAIR pair_##type {                               \
		word##_t value;                                       \
		place##_t index;                                      \
	};                                                            \
	static inline bool first_##type(struct pair_##type x,         \
					struct pair_##type y,         \
					bool ahead)                   \
	{                                                             \
		const bool same = x.value == y.value;                 \
		const bool less = x.index < y.index;                  \
									      \
		return ahead | (same & less);                         \
	}                                                             \
	COMBINE(minloc_##type, struct pair_##type,                    \
		first_##type(x, y, lower_##type(x.value, y.value)) ? x : y) \
	COMBINE(maxloc_##type, struct pair_##type,                    \
		first_##type(x, y, higher_##type(x.value, y.value)) ? x : y)

LOCATION(float, uint32, int32)
LOCATION(int32, int32, int32)
LOCATION(double, uint64, int64)
LOCATION(int64, int64, int64)
LOCATION(uint64, uint64, int64)

/* ---- All of them ---- */

typedef void combine_fn(void *dst, const void *a, const void *b, size_t count);

#define ORDERED(type) [TOFU_COLL_MIN] = min_##type, [TOFU_COLL_MAX] = max_##type
#define SUMMED(type) [TOFU_COLL_SUM] = sum_##type, [TOFU_COLL_PROD] = prod_##type
#define MASKED(type)                                                  \
	[TOFU_COLL_BAND] = band_##type, [TOFU_COLL_BOR] = bor_##type, \
	[TOFU_COLL_BXOR] = bxor_##type
#define LOCATED(type)                   \
	[TOFU_COLL_MINLOC] = minloc_##type, \
	[TOFU_COLL_MAXLOC] = maxloc_##type

static combine_fn *const table[TOFU_COLL_TYPES][TOFU_COLL_OPS] = {
	[TOFU_COLL_FLOAT] = { SUMMED(float), ORDERED(float) },
	[TOFU_COLL_DOUBLE] = { SUMMED(double), ORDERED(double) },
	[TOFU_COLL_INT32] = { SUMMED(uint32), ORDERED(int32), MASKED(uint32) },
	[TOFU_COLL_INT64] = { SUMMED(uint64), ORDERED(int64), MASKED(uint64) },
	[TOFU_COLL_UINT64] = { SUMMED(uint64), ORDERED(uint64),
			       MASKED(uint64) },
	[TOFU_COLL_FLOAT_INT] = { LOCATED(float) },
	[TOFU_COLL_INT32_INT] = { LOCATED(int32) },
	[TOFU_COLL_DOUBLE_INT] = { LOCATED(double) },
	[TOFU_COLL_INT64_INT] = { LOCATED(int64) },
	[TOFU_COLL_UINT64_INT] = { LOCATED(uint64) },
};

bool coll_op_exists(enum tofu_coll_type type, enum tofu_coll_op op)
{
	if ((unsigned int)type >= TOFU_COLL_TYPES ||
	    (unsigned int)op >= TOFU_COLL_OPS)
		return false;
	return op == TOFU_COLL_CALL || table[type][op];
}

void coll_op_run(const struct coll_op *op, void *dst, const void *a,
		 const void *b, size_t bytes)
{
	const size_t count = bytes / op->size;

	if (op->op == TOFU_COLL_CALL)
		op->call(dst, a, b, count, op->data);
	else
		table[op->type][op->op](dst, a, b, count);
}
