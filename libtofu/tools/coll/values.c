// SPDX-License-Identifier: MIT
/* Values of members, and how they are combined. */
#include <string.h>

#include "coll/values.h"
#include "common/mix.h"

/*
 * Of the first members each is a class of its own. The others are in classes by
 * a prime, which no size of a torus is likely to be a multiple of.
 */
#define ALONE 32U
#define PRIME 61U
#define CLASSES (ALONE + PRIME)

/* A double drops units beside it, a reproducible sum keeps some bits below them. */
#define CANCELLED 0x1p69

/* ---- Types ---- */

static bool is_real(enum tofu_coll_type type)
{
	return type == TOFU_COLL_FLOAT || type == TOFU_COLL_DOUBLE ||
	       type == TOFU_COLL_FLOAT_INT || type == TOFU_COLL_DOUBLE_INT;
}

static bool is_unsigned(enum tofu_coll_type type)
{
	return type == TOFU_COLL_UINT64 || type == TOFU_COLL_UINT64_INT;
}

static bool is_short(enum tofu_coll_type type)
{
	return type == TOFU_COLL_INT32 || type == TOFU_COLL_INT32_INT;
}

/* As a type holds an integer: int32_t is extended with its sign. */
static uint64_t held(enum tofu_coll_type type, uint64_t bits)
{
	return is_short(type) ? (uint64_t)(int64_t)(int32_t)bits : bits;
}

void value_write(const struct contents *contents, const struct value *value,
		 uint8_t *to)
{
	float single = (float)value->real;
	int32_t word = (int32_t)value->bits, index = (int32_t)value->index;

	if (contents->op == TOFU_COLL_CALL) {
		memcpy(to, value->byte, CONTENTS_ELEMENT_MAX);
		return;
	}
	switch (contents->type) {
	case TOFU_COLL_FLOAT:
	case TOFU_COLL_FLOAT_INT:
		memcpy(to, &single, sizeof(single));
		memcpy(to + sizeof(single), &index, sizeof(index));
		break;
	case TOFU_COLL_INT32:
	case TOFU_COLL_INT32_INT:
		memcpy(to, &word, sizeof(word));
		memcpy(to + sizeof(word), &index, sizeof(index));
		break;
	case TOFU_COLL_DOUBLE:
	case TOFU_COLL_DOUBLE_INT:
		memcpy(to, &value->real, sizeof(value->real));
		memcpy(to + sizeof(value->real), &value->index,
		       sizeof(value->index));
		break;
	default:
		memcpy(to, &value->bits, sizeof(value->bits));
		memcpy(to + sizeof(value->bits), &value->index,
		       sizeof(value->index));
	}
}

/* ---- Values ---- */

static unsigned int class_of(uint32_t member)
{
	return member < ALONE ? member : ALONE + member % PRIME;
}

/* Members of a class are every PRIME-th from the first one on. */
static uint32_t class_first(unsigned int class)
{
	uint32_t first = class < ALONE ? class : class - ALONE;

	return class >= ALONE && first < ALONE ? first + PRIME : first;
}

static uint32_t class_count(const struct contents *contents, unsigned int class)
{
	uint32_t first = class_first(class);

	if (first >= contents->members)
		return 0;
	return class < ALONE ? 1 : (contents->members - 1 - first) / PRIME + 1;
}

/* Sums are below 2^24 with a million members. */
static double real_of(const struct contents *contents, unsigned int class,
		      uint64_t hash)
{
	static const double scale[] = { .25, .5, 1, 2, 4 };
	double sign = hash & 1 ? -1 : 1;

	switch (contents->op) {
	case TOFU_COLL_PROD:
		/* More of them might leave the range of a float. */
		return class < ALONE ? sign * scale[(hash >> 1) % 5] : sign;
	case TOFU_COLL_MIN:
	case TOFU_COLL_MAX:
		return (double)(hash >> 44) - 0x1p19;
	case TOFU_COLL_MINLOC:
	case TOFU_COLL_MAXLOC:
		return (double)(hash % 8) - 4;
	default:
		return 1 + (double)(hash % 16);
	}
}

static uint64_t bits_of(const struct contents *contents, uint64_t hash)
{
	/* Half of the members have none, or results would have no bits left. */
	uint64_t one = (hash >> 63) << hash % (is_short(contents->type) ? 32 : 64);

	switch (contents->op) {
	case TOFU_COLL_PROD:
		return hash | 1;
	case TOFU_COLL_BAND:
		return ~one;
	case TOFU_COLL_BOR:
		return one;
	case TOFU_COLL_MINLOC:
	case TOFU_COLL_MAXLOC:
		return 1 + hash % 8;
	default:
		return hash;
	}
}

/* The least index is that of the first member here, and of the last there. */
static int64_t index_of(const struct contents *contents, uint32_t member,
			unsigned int residue)
{
	return residue % 2 ? contents->members - 1 - member : member;
}

/* Two huge values, whose sum is 0, in place of others */
static bool is_huge(const struct contents *contents, uint32_t member)
{
	return contents->cancel && contents->members > 2 &&
	       (member == 0 || member == contents->members - 1);
}

static struct value plain_of(const struct contents *contents, uint32_t member,
			     unsigned int residue)
{
	unsigned int class = class_of(member);
	uint64_t seed = ((uint64_t) class + 1) * CONTENTS_RESIDUES + residue;
	uint64_t hash = tofu_mix(seed * TOFU_MIX_ODD);
	struct value value = {
		.real = real_of(contents, class, hash),
		.bits = held(contents->type, bits_of(contents, hash)),
		.index = index_of(contents, member, residue),
	};

	memcpy(value.byte, &hash, sizeof(hash));
	hash = tofu_mix(hash);
	memcpy(value.byte + sizeof(hash), &hash, sizeof(hash));
	return value;
}

struct value value_of(const struct contents *contents, uint32_t member,
		      unsigned int residue)
{
	struct value value = plain_of(contents, member, residue);

	if (is_huge(contents, member))
		value.real = member ? -CANCELLED : CANCELLED;
	return value;
}

/* ---- Combining ---- */

/* Return: whether a is less than b */
static bool is_less(enum tofu_coll_type type, const struct value *a,
		    const struct value *b)
{
	if (is_real(type))
		return a->real < b->real;
	if (is_unsigned(type))
		return a->bits < b->bits;
	return (int64_t)a->bits < (int64_t)b->bits;
}

static struct value either(const struct contents *contents, struct value a,
			   struct value b)
{
	bool least = contents->op == TOFU_COLL_MIN ||
		     contents->op == TOFU_COLL_MINLOC;
	bool a_less = is_less(contents->type, &a, &b);
	bool b_less = is_less(contents->type, &b, &a);

	if (!a_less && !b_less)
		return a.index < b.index ? a : b;
	return a_less == least ? a : b;
}

static struct value combined(const struct contents *contents, struct value a,
			     struct value b)
{
	switch (contents->op) {
	case TOFU_COLL_SUM:
		a.real += b.real;
		a.bits += b.bits;
		break;
	case TOFU_COLL_PROD:
		a.real *= b.real;
		a.bits *= b.bits;
		break;
	case TOFU_COLL_BAND:
		a.bits &= b.bits;
		break;
	case TOFU_COLL_BOR:
		a.bits |= b.bits;
		break;
	case TOFU_COLL_BXOR:
		a.bits ^= b.bits;
		break;
	case TOFU_COLL_CALL:
		for (int i = 0; i < CONTENTS_ELEMENT_MAX; i++)
			a.byte[i] = (uint8_t)(a.byte[i] + b.byte[i]);
		break;
	default:
		return either(contents, a, b);
	}
	a.bits = held(contents->type, a.bits);
	return a;
}

/**
 * struct sum - some values, combined
 * @some: there has been one
 */
struct sum {
	bool some;
	struct value value;
};

static void sum_add(const struct contents *contents, struct sum *sum,
		    const struct value *value)
{
	sum->value = sum->some ? combined(contents, sum->value, *value) :
				 *value;
	sum->some = true;
}

/* The same value @times times: by its 2nd, 4th, 8th ... power */
static void sum_add_times(const struct contents *contents, struct sum *sum,
			  struct value value, uint32_t times)
{
	while (times) {
		if (times % 2)
			sum_add(contents, sum, &value);
		times /= 2;
		if (times)
			value = combined(contents, value, value);
	}
}

/* The member of a class whose index is the least one */
static uint32_t class_least(const struct contents *contents, unsigned int class,
			    unsigned int residue)
{
	uint32_t first = class_first(class);
	uint32_t count = class_count(contents, class);

	return residue % 2 && count ? first + (count - 1) * PRIME : first;
}

struct value value_combined(const struct contents *contents,
			    unsigned int residue)
{
	uint32_t last = contents->members - 1;
	struct sum sum = { 0 };

	for (unsigned int class = 0; class < CLASSES; class ++) {
		uint32_t times = class_count(contents, class);

		if (is_huge(contents, last))
			times -= (class == class_of(0)) +
				 (class == class_of(last));
		sum_add_times(contents, &sum,
			      plain_of(contents,
				       class_least(contents, class, residue),
				       residue),
			      times);
	}
	return sum.value;
}

/* ---- Wrong ones ---- */

struct value value_spoiled(const struct contents *contents, struct value value)
{
	bool is_signed = !is_unsigned(contents->type);

	switch (contents->op) {
	case TOFU_COLL_PROD:
		value.real *= 2;
		value.bits += 2;
		break;
	case TOFU_COLL_MIN:
	case TOFU_COLL_MINLOC:
		value.real = -0x1p20;
		value.bits = is_signed ? (uint64_t)INT64_MIN : 0;
		if (is_short(contents->type))
			value.bits = (uint64_t)INT32_MIN;
		break;
	case TOFU_COLL_MAX:
	case TOFU_COLL_MAXLOC:
		value.real = 0x1p20;
		value.bits = is_signed ? INT64_MAX : UINT64_MAX;
		if (is_short(contents->type))
			value.bits = INT32_MAX;
		break;
	case TOFU_COLL_BAND:
		value.bits = 0;
		break;
	case TOFU_COLL_BOR:
		value.bits = UINT64_MAX;
		break;
	case TOFU_COLL_CALL:
		value.byte[0]++;
		break;
	default:
		/* A step that is not lost beside a huge value */
		value.real = value.real == 1 ? 2 : value.real / 2;
		value.bits ^= 1;
	}
	return value;
}
