// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "coll-data.h"

/*
 * Contents repeat after so many elements: a prime, so that no segment or block
 * that went astray fits another place.
 */
#define PERIOD 509

uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

uint64_t random_below(uint64_t *state, uint64_t limit)
{
	return random_next(state) % limit;
}

/* ---- What goes together ---- */

bool data_combines(enum tofu_coll_kind kind)
{
	return kind == TOFU_COLL_REDUCE || kind == TOFU_COLL_ALLREDUCE ||
	       kind == TOFU_COLL_REDUCE_SCATTER;
}

bool data_rooted(enum tofu_coll_kind kind)
{
	return kind == TOFU_COLL_BCAST || kind == TOFU_COLL_REDUCE ||
	       kind == TOFU_COLL_GATHER || kind == TOFU_COLL_SCATTER;
}

static bool is_number(enum tofu_coll_type type)
{
	return type >= TOFU_COLL_FLOAT && type <= TOFU_COLL_UINT64;
}

static bool is_pair(enum tofu_coll_type type)
{
	return type >= TOFU_COLL_FLOAT_INT && type <= TOFU_COLL_UINT64_INT;
}

bool data_goes(enum tofu_coll_type type, enum tofu_coll_op op)
{
	switch (op) {
	case TOFU_COLL_BAND:
	case TOFU_COLL_BOR:
	case TOFU_COLL_BXOR:
		return type >= TOFU_COLL_INT32 && type <= TOFU_COLL_UINT64;
	case TOFU_COLL_MINLOC:
	case TOFU_COLL_MAXLOC:
		return is_pair(type);
	case TOFU_COLL_CALL:
		return type != TOFU_COLL_BYTE;
	default:
		return is_number(type);
	}
}

size_t data_sent(const struct data *data, uint32_t member)
{
	const struct tofu_coll_spec *spec = &data->spec;
	bool root = member == spec->root;

	switch (spec->kind) {
	case TOFU_COLL_BARRIER:
		return 0;
	case TOFU_COLL_BCAST:
		return root ? spec->count : 0;
	case TOFU_COLL_SCATTER:
		return root ? data->members * spec->count : 0;
	case TOFU_COLL_REDUCE_SCATTER:
	case TOFU_COLL_ALLTOALL:
		return data->members * spec->count;
	default:
		return spec->count;
	}
}

size_t data_received(const struct data *data, uint32_t member)
{
	const struct tofu_coll_spec *spec = &data->spec;
	bool root = member == spec->root;

	switch (spec->kind) {
	case TOFU_COLL_BARRIER:
		return 0;
	case TOFU_COLL_BCAST:
		return root ? 0 : spec->count;
	case TOFU_COLL_REDUCE:
		return root ? spec->count : 0;
	case TOFU_COLL_GATHER:
		return root ? data->members * spec->count : 0;
	case TOFU_COLL_ALLGATHER:
	case TOFU_COLL_ALLTOALL:
		return data->members * spec->count;
	default:
		return spec->count;
	}
}

/* ---- Elements ---- */

union number {
	float f;
	double d;
	int32_t i;
	int64_t l;
	uint64_t u;
};

struct pair32 {
	union {
		float f;
		int32_t i;
	};
	int32_t index;
};

struct pair64 {
	union {
		double d;
		int64_t l;
		uint64_t u;
	};
	int64_t index;
};

static bool is_float(enum tofu_coll_type type)
{
	return type == TOFU_COLL_FLOAT || type == TOFU_COLL_DOUBLE;
}

/* Rounds in every sum: exponents from -20 to 20, all bits of the mantissa */
static double number_wild(uint64_t *state)
{
	double x = (double)(random_next(state) >> 11) * 0x1p-53 + 0.5;

	x = ldexp(x, (int)random_below(state, 41) - 20);
	return random_below(state, 2) ? x : -x;
}

/* A sum or product of any number of members is exact. */
static double number_exact(enum tofu_coll_op op, uint64_t *state)
{
	static const double factor[] = { 1, -1, 1, -1, 1, 2, 0.5, 1 };

	if (op == TOFU_COLL_PROD)
		return factor[random_below(state, 8)];
	return (double)random_below(state, 2001) - 1000;
}

static double number_compared(uint64_t *state)
{
	switch (random_below(state, 400)) {
	case 0:
		return NAN;
	case 1:
		return INFINITY;
	case 2:
		return -INFINITY;
	}
	if (!random_below(state, 3))
		return random_below(state, 2) ? 0.0 : -0.0;
	return number_wild(state);
}

static double number_float(const struct data *data, uint64_t *state)
{
	enum tofu_coll_op op = data->spec.op;

	if (op == TOFU_COLL_MIN || op == TOFU_COLL_MAX)
		return number_compared(state);
	if (data->wild)
		return op == TOFU_COLL_PROD ?
			       0.5 + ldexp((double)random_below(state, 1 << 30),
					   -30) :
			       number_wild(state);
	return number_exact(op, state);
}

static uint64_t number_whole(enum tofu_coll_op op, uint64_t *state)
{
	uint64_t x = random_next(state);

	if (op == TOFU_COLL_BAND)
		for (int i = 0; i < 5; i++)
			x |= random_next(state);
	return op == TOFU_COLL_PROD ? x | 1 : x;
}

/* Few values, so that indices decide; indices are of either sign. */
static void pair_make(enum tofu_coll_type type, uint64_t *state, void *element)
{
	int value = (int)random_below(state, 7) - 3;
	struct pair32 *p32 = element;
	struct pair64 *p64 = element;

	switch (type) {
	case TOFU_COLL_FLOAT_INT:
		p32->f = (float)value;
		break;
	case TOFU_COLL_INT32_INT:
		p32->i = value;
		break;
	case TOFU_COLL_DOUBLE_INT:
		p64->d = value;
		break;
	default:
		p64->l = value;
		break;
	}
	if (tofu_coll_type_size(type) == sizeof(*p32))
		p32->index = (int32_t)random_next(state);
	else
		p64->index = (int64_t)random_next(state);
}

static void number_make(const struct data *data, uint64_t *state,
			union number *n)
{
	if (data->spec.type == TOFU_COLL_FLOAT)
		n->f = (float)number_float(data, state);
	else if (data->spec.type == TOFU_COLL_DOUBLE)
		n->d = number_float(data, state);
	else
		n->u = number_whole(data->spec.op, state);
}

union element {
	union number number;
	struct pair32 pair32;
	struct pair64 pair64;
	unsigned char byte[DATA_ELEMENT];
};

/* Element @index of what @member sends */
static void element_make(const struct data *data, uint32_t member, size_t index,
			 union element *e)
{
	uint64_t state = data->seed + member * 0xda942042e4dd58b5ULL +
			 index % PERIOD * 0xca5a826395121157ULL;

	if (data_combines(data->spec.kind) &&
	    data->spec.op != TOFU_COLL_CALL) {
		if (is_pair(data->spec.type))
			pair_make(data->spec.type, &state, e);
		else
			number_make(data, &state, &e->number);
		return;
	}
	for (size_t i = 0; i < DATA_ELEMENT; i += sizeof(state)) {
		uint64_t word = random_next(&state);

		memcpy(e->byte + i, &word, sizeof(word));
	}
}

/* ---- Operations ---- */

static bool less_float(double a, double b)
{
	return a < b || (a == b && signbit(a) && !signbit(b));
}

static double best_float(double a, double b, bool least)
{
	if (isnan(a) || isnan(b))
		return NAN;
	return less_float(a, b) == least ? a : b;
}

static void float_add(enum tofu_coll_type type, enum tofu_coll_op op,
		      union number *a, const union number *b)
{
	double x = type == TOFU_COLL_FLOAT ? a->f : a->d;
	double y = type == TOFU_COLL_FLOAT ? b->f : b->d;

	if (op == TOFU_COLL_SUM)
		x += y;
	else if (op == TOFU_COLL_PROD)
		x *= y;
	else
		x = best_float(x, y, op == TOFU_COLL_MIN);
	if (type == TOFU_COLL_FLOAT)
		a->f = (float)x;
	else
		a->d = x;
}

static bool less_whole(enum tofu_coll_type type, const union number *a,
		       const union number *b)
{
	if (type == TOFU_COLL_INT32)
		return a->i < b->i;
	return type == TOFU_COLL_INT64 ? a->l < b->l : a->u < b->u;
}

/* The lower half of a word is what an int32_t needs. */
static void whole_add(enum tofu_coll_type type, enum tofu_coll_op op,
		      union number *a, const union number *b)
{
	switch (op) {
	case TOFU_COLL_SUM:
		a->u += b->u;
		break;
	case TOFU_COLL_PROD:
		a->u *= b->u;
		break;
	case TOFU_COLL_BAND:
		a->u &= b->u;
		break;
	case TOFU_COLL_BOR:
		a->u |= b->u;
		break;
	case TOFU_COLL_BXOR:
		a->u ^= b->u;
		break;
	default:
		if (less_whole(type, b, a) == (op == TOFU_COLL_MIN))
			*a = *b;
		break;
	}
}

/* -1, 0 or 1, of values, then of indices, of which the less is the better */
static int pair_order(enum tofu_coll_type type, const union element *a,
		      const union element *b, int64_t *indices)
{
	bool small = tofu_coll_type_size(type) == sizeof(struct pair32);

	*indices = small ? (a->pair32.index > b->pair32.index) :
			   (a->pair64.index > b->pair64.index);
	switch (type) {
	case TOFU_COLL_FLOAT_INT:
		return (a->pair32.f > b->pair32.f) - (a->pair32.f < b->pair32.f);
	case TOFU_COLL_INT32_INT:
		return (a->pair32.i > b->pair32.i) - (a->pair32.i < b->pair32.i);
	case TOFU_COLL_DOUBLE_INT:
		return (a->pair64.d > b->pair64.d) - (a->pair64.d < b->pair64.d);
	case TOFU_COLL_INT64_INT:
		return (a->pair64.l > b->pair64.l) - (a->pair64.l < b->pair64.l);
	default:
		return (a->pair64.u > b->pair64.u) - (a->pair64.u < b->pair64.u);
	}
}

static void pair_add(enum tofu_coll_type type, enum tofu_coll_op op,
		     union element *a, const union element *b)
{
	int64_t later;
	int order = pair_order(type, a, b, &later);

	if (op == TOFU_COLL_MAXLOC)
		order = -order;
	if (order > 0 || (!order && later))
		*a = *b;
}

void data_call(void *dst, const void *a, const void *b, size_t count,
	       void *data)
{
	size_t bytes = count * *(const size_t *)data;
	const unsigned char *x = a, *y = b;
	unsigned char *sum = dst;

	for (size_t i = 0; i < bytes; i++)
		sum[i] = (unsigned char)(x[i] + y[i]);
}

static void element_add(const struct data *data, union element *a,
			const union element *b)
{
	enum tofu_coll_type type = data->spec.type;
	enum tofu_coll_op op = data->spec.op;
	size_t size = data->size;

	if (op == TOFU_COLL_CALL)
		data_call(a, a, b, 1, &size);
	else if (is_pair(type))
		pair_add(type, op, a, b);
	else if (is_float(type))
		float_add(type, op, &a->number, &b->number);
	else
		whole_add(type, op, &a->number, &b->number);
}

/* ---- Buffers ---- */

/* So much of a buffer is computed; the rest is a copy. */
static size_t computed(size_t count)
{
	return count < PERIOD ? count : PERIOD;
}

void data_fill(const struct data *data, uint32_t member, void *send)
{
	size_t count = data_sent(data, member);
	size_t bytes = count * data->size;
	size_t done = computed(count) * data->size;
	char *to = send;
	union element e;

	for (size_t i = 0; i < computed(count); i++) {
		element_make(data, member, i, &e);
		memcpy(to + i * data->size, &e, data->size);
	}
	for (; done < bytes; done *= 2)
		memcpy(to + done, to,
		       bytes - done < done ? bytes - done : done);
}

size_t data_sent_wrong(const struct data *data, uint32_t member,
		       const void *send)
{
	size_t count = data_sent(data, member);
	size_t lag = computed(count) * data->size;
	const char *at = send;
	size_t wrong = 0;
	union element e;

	for (size_t i = 0; i < computed(count); i++) {
		element_make(data, member, i, &e);
		wrong += !!memcmp(at + i * data->size, &e, data->size);
	}
	if (count * data->size > lag)
		wrong += !!memcmp(at + lag, at, count * data->size - lag);
	return wrong;
}

/* Where an element of a member's @recv comes from */
static void source_of(const struct data *data, uint32_t member, size_t i,
		      uint32_t *from, size_t *index)
{
	size_t count = data->spec.count;

	*from = data->spec.root;
	*index = i;
	switch (data->spec.kind) {
	case TOFU_COLL_SCATTER:
	case TOFU_COLL_REDUCE_SCATTER:
		*index = member * count + i;
		break;
	case TOFU_COLL_GATHER:
	case TOFU_COLL_ALLGATHER:
		*from = (uint32_t)(i / count);
		*index = i % count;
		break;
	case TOFU_COLL_ALLTOALL:
		*from = (uint32_t)(i / count);
		*index = member * count + i % count;
		break;
	default:
		break;
	}
}

static void element_expect(const struct data *data, uint32_t member, size_t i,
			   union element *e)
{
	union element other;
	uint32_t from;
	size_t index;

	source_of(data, member, i, &from, &index);
	if (!data_combines(data->spec.kind)) {
		element_make(data, from, index, e);
		return;
	}
	element_make(data, 0, index, e);
	for (uint32_t m = 1; m < data->members; m++) {
		element_make(data, m, index, &other);
		element_add(data, e, &other);
	}
}

/* Rounding differs with the order, by less than what any member sends. */
static bool near(const struct data *data, double a, double b)
{
	double epsilon = data->spec.type == TOFU_COLL_FLOAT ? 0x1p-23 : 0x1p-52;
	double error = epsilon * data->members;

	if (data->spec.op == TOFU_COLL_PROD)
		return fabs(a - b) <= error * fabs(a);
	return fabs(a - b) <= error * data->members * 0x1p20;
}

/* A NaN is as good as another; a sum of 0 may have either sign. */
static bool float_same(const struct data *data, double a, double b)
{
	enum tofu_coll_op op = data->spec.op;

	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b);
	if (op != TOFU_COLL_SUM && op != TOFU_COLL_PROD)
		return a == b && signbit(a) == signbit(b);
	return data->wild ? near(data, a, b) : a == b;
}

static bool element_same(const struct data *data, const union element *a,
			 const union element *b)
{
	if (!memcmp(a, b, data->size))
		return true;
	if (!data_combines(data->spec.kind) || data->spec.op == TOFU_COLL_CALL)
		return false;
	if (data->spec.type == TOFU_COLL_FLOAT)
		return float_same(data, a->number.f, b->number.f);
	return data->spec.type == TOFU_COLL_DOUBLE &&
	       float_same(data, a->number.d, b->number.d);
}

/* Blocks are periodic, each for itself. */
static size_t block_wrong(const struct data *data, uint32_t member, size_t at,
			  size_t count, const char *recv)
{
	size_t n = computed(count), wrong = 0;
	union element expected, seen;

	for (size_t first = 0; first < n; first++) {
		element_expect(data, member, at + first, &expected);
		for (size_t i = at + first; i < at + count; i += PERIOD) {
			memcpy(&seen, recv + i * data->size, data->size);
			wrong += !element_same(data, &expected, &seen);
		}
	}
	return wrong;
}

size_t data_wrong(const struct data *data, uint32_t member, const void *recv)
{
	size_t count = data_received(data, member), wrong = 0;

	for (size_t at = 0; at < count; at += data->spec.count)
		wrong += block_wrong(data, member, at, data->spec.count, recv);
	return wrong;
}
