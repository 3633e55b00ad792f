// SPDX-License-Identifier: MIT
/*
 * Sums of double that do not depend on the order: barrier gates' method
 * (net/binned.h), in a form for as many addends as there can be members. Its
 * results have the gates' bits. Unlike gates, it takes addends that are not
 * finite: it remembers which kinds there were.
 */
#include "coll/op.h"
#include "net/binned.h"

/*
 * Three words: a bin each, above 6 bits of something else. A bin of 58 bits
 * holds the sum of 2^31 addends.
 */
#define WORDS TOFU_BINS
#define BIN_SHIFT 6
#define REST ((1ULL << BIN_SHIFT) - 1)

/* The rest of word 0: the top bin, its low bits; of word 2: 0; of word 1: */
#define TOP_HIGH 1ULL
#define NOT_A_NUMBER 2ULL
#define PLUS_INFINITE 4ULL
#define MINUS_INFINITE 8ULL
#define KINDS (NOT_A_NUMBER | PLUS_INFINITE | MINUS_INFINITE)

_Static_assert(TOFU_BIN_MAX >> BIN_SHIFT <= TOP_HIGH, "the top bin, whole");

#define DOUBLE_SIGN (1ULL << 63)
#define DOUBLE_INFINITE (0x7ffULL << 52)
#define DOUBLE_NAN (0xfffULL << 51)

/* Memory of collectives, at any address */
#define LOOSE __attribute__((packed, may_alias))

struct LOOSE pieces {
	uint64_t word[WORDS];
};

struct LOOSE number {
	uint64_t bits;
};

static inline void pack(struct pieces *pieces, const struct tofu_binned *sum,
			uint64_t kinds)
{
	const uint64_t top = (uint64_t)sum->top;

	pieces->word[0] = (uint64_t)sum->bin[0] << BIN_SHIFT | (top & REST);
	pieces->word[1] = (uint64_t)sum->bin[1] << BIN_SHIFT |
			  top >> BIN_SHIFT | kinds;
	pieces->word[2] = (uint64_t)sum->bin[2] << BIN_SHIFT;
}

static inline struct tofu_binned unpack(const struct pieces *pieces)
{
	return (struct tofu_binned){
		.top = (int)((pieces->word[0] & REST) |
			     (pieces->word[1] & TOP_HIGH) << BIN_SHIFT),
		.bin = { (int64_t)pieces->word[0] >> BIN_SHIFT,
			 (int64_t)pieces->word[1] >> BIN_SHIFT,
			 (int64_t)pieces->word[2] >> BIN_SHIFT },
	};
}

size_t coll_pieces_size(void)
{
	return sizeof(struct pieces);
}

/* ---- Doubles to pieces and back ---- */

/* What a double that is not finite is */
static uint64_t kind_of(uint64_t bits)
{
	if (bits << 1 > DOUBLE_INFINITE << 1)
		return NOT_A_NUMBER;
	return bits & DOUBLE_SIGN ? MINUS_INFINITE : PLUS_INFINITE;
}

void coll_pieces_split(void *dst, const double *src, size_t count)
{
	const struct number *from = (const void *)src;
	struct pieces *to = dst;
	struct tofu_binned sum;

	for (size_t i = 0; i < count; i++) {
		const uint64_t bits = from[i].bits;
		const bool finite = tofu_binned_split(bits, &sum);

		pack(&to[i], &sum, finite ? 0 : kind_of(bits));
	}
}

static uint64_t join(const struct pieces *pieces)
{
	const struct tofu_binned sum = unpack(pieces);

	switch (pieces->word[1] & KINDS) {
	case 0:
		return tofu_binned_join(&sum);
	case PLUS_INFINITE:
		return DOUBLE_INFINITE;
	case MINUS_INFINITE:
		return DOUBLE_INFINITE | DOUBLE_SIGN;
	default:
		return DOUBLE_NAN;
	}
}

void coll_pieces_join(double *dst, const void *src, size_t count)
{
	const struct pieces *from = src;
	struct number *to = (void *)dst;

	for (size_t i = 0; i < count; i++)
		to[i].bits = join(&from[i]);
}

/* ---- Sums ---- */

/* Whether words differ in the rest: then their bins do not just add up. */
static inline bool differ(const struct pieces *a, const struct pieces *b)
{
	return ((a->word[0] ^ b->word[0]) | (a->word[1] ^ b->word[1])) & REST;
}

static void add(struct pieces *dst, const struct pieces *a,
		const struct pieces *b)
{
	const uint64_t kinds = (a->word[1] | b->word[1]) & KINDS;
	const struct tofu_binned other = unpack(b);
	struct tofu_binned sum = unpack(a);

	tofu_binned_add(&sum, &other);
	pack(dst, &sum, kinds);
}

void coll_pieces_run(void *dst, const void *a, const void *b, size_t count)
{
	const struct pieces *left = a;
	const struct pieces *right = b;
	struct pieces *to = dst;

	for (size_t i = 0; i < count; i++) {
		const struct pieces *x = &left[i];
		const struct pieces *y = &right[i];

		if (differ(x, y)) {
			add(&to[i], x, y);
			continue;
		}
		to[i].word[0] = x->word[0] + (y->word[0] & ~REST);
		to[i].word[1] = x->word[1] + (y->word[1] & ~REST);
		to[i].word[2] = x->word[2] + y->word[2];
	}
}
