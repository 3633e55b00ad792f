// SPDX-License-Identifier: MIT
/*
 * Combining elements: every operation on every type against a plain one, at all
 * alignments and in place.
 */
#include <math.h>
#include <string.h>

#include "harness.h"

#include "coll/op.h"

#define ELEMENTS 1000
#define SIZE_MAX_ELEMENT 16
#define BYTES (ELEMENTS * SIZE_MAX_ELEMENT)
#define EDGE 64

static uint64_t random_state = 1;

static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dULL;
}

/* ---- Types ---- */

/**
 * struct layout - what an element consists of
 * @kind:  of the value: 'f' floating, 'i' signed, 'u' unsigned
 * @value: its bytes
 * @index: those of the index behind it
 */
struct layout {
	char kind;
	size_t value;
	size_t index;
};

static const struct layout layouts[TOFU_COLL_TYPES] = {
	[TOFU_COLL_FLOAT] = { 'f', 4, 0 },
	[TOFU_COLL_DOUBLE] = { 'f', 8, 0 },
	[TOFU_COLL_INT32] = { 'i', 4, 0 },
	[TOFU_COLL_INT64] = { 'i', 8, 0 },
	[TOFU_COLL_UINT64] = { 'u', 8, 0 },
	[TOFU_COLL_FLOAT_INT] = { 'f', 4, 4 },
	[TOFU_COLL_INT32_INT] = { 'i', 4, 4 },
	[TOFU_COLL_DOUBLE_INT] = { 'f', 8, 8 },
	[TOFU_COLL_INT64_INT] = { 'i', 8, 8 },
	[TOFU_COLL_UINT64_INT] = { 'u', 8, 8 },
};

static size_t size_of(enum tofu_coll_type type)
{
	return layouts[type].value + layouts[type].index;
}

/* What each type has, by the operations' numbers */
#define ARITHMETIC 0xf /* SUM, PROD, MIN, MAX */
#define BITWISE 0x70 /* BAND, BOR, BXOR */
#define LOCATION 0x180 /* MINLOC, MAXLOC */
#define CALL 0x200

static const unsigned int existing[TOFU_COLL_TYPES] = {
	[TOFU_COLL_BYTE] = CALL,
	[TOFU_COLL_FLOAT] = ARITHMETIC | CALL,
	[TOFU_COLL_DOUBLE] = ARITHMETIC | CALL,
	[TOFU_COLL_INT32] = ARITHMETIC | BITWISE | CALL,
	[TOFU_COLL_INT64] = ARITHMETIC | BITWISE | CALL,
	[TOFU_COLL_UINT64] = ARITHMETIC | BITWISE | CALL,
	[TOFU_COLL_FLOAT_INT] = LOCATION | CALL,
	[TOFU_COLL_INT32_INT] = LOCATION | CALL,
	[TOFU_COLL_DOUBLE_INT] = LOCATION | CALL,
	[TOFU_COLL_INT64_INT] = LOCATION | CALL,
	[TOFU_COLL_UINT64_INT] = LOCATION | CALL,
	[TOFU_COLL_USER] = CALL,
};

TEST(operations_exist_for_types_where_they_make_sense)
{
	for (int type = -1; type <= TOFU_COLL_TYPES; type++) {
		for (int op = -1; op <= TOFU_COLL_OPS; op++) {
			const bool exists =
				type >= 0 && type < TOFU_COLL_TYPES &&
				op >= 0 && existing[type] >> op & 1;

			EXPECT_EQ(exists,
				  coll_op_exists((enum tofu_coll_type)type,
						 (enum tofu_coll_op)op));
		}
	}
}

/* ---- The plain way ---- */

/**
 * struct element - an element, taken apart
 * @bits:   of the value; an integer's are extended
 * @number: a floating one
 */
struct element {
	uint64_t bits;
	double number;
	int64_t index;
};

static struct element load(const struct layout *layout, const void *from)
{
	struct element element = { .bits = 0 };
	int32_t narrow[2];
	float number;

	if (layout->value == 4) {
		memcpy(narrow, from, 4 + layout->index);
		memcpy(&number, from, sizeof(number));
		element.bits = layout->kind == 'i' ? (uint64_t)narrow[0] :
						     (uint32_t)narrow[0];
		element.index = layout->index ? narrow[1] : 0;
		element.number = number;
	} else {
		memcpy(&element.bits, from, 8);
		memcpy(&element.number, from, 8);
		memcpy(&element.index, (const char *)from + 8, layout->index);
	}
	return element;
}

/* Least significant bytes come first. */
static void store(const struct layout *layout, struct element element,
		  void *to)
{
	memcpy(to, &element.bits, layout->value);
	memcpy((char *)to + layout->value, &element.index, layout->index);
}

static bool floating_before(struct element x, struct element y, bool max)
{
	if (isnan(x.number) || isnan(y.number))
		return isnan(x.number) &&
		       (!isnan(y.number) || x.bits > y.bits);
	if (x.number == y.number)
		return signbit(max ? y.number : x.number) &&
		       !signbit(max ? x.number : y.number);
	return max ? x.number > y.number : x.number < y.number;
}

static bool before(char kind, struct element x, struct element y, bool max)
{
	switch (kind) {
	case 'f':
		return floating_before(x, y, max);
	case 'i':
		return max ? (int64_t)x.bits > (int64_t)y.bits :
			     (int64_t)x.bits < (int64_t)y.bits;
	default:
		return max ? x.bits > y.bits : x.bits < y.bits;
	}
}

static struct element extreme(char kind, struct element x, struct element y,
			      bool max)
{
	if (before(kind, x, y, max))
		return x;
	if (before(kind, y, x, max))
		return y;
	return x.index < y.index ? x : y;
}

static uint64_t floating(const struct layout *layout, enum tofu_coll_op op,
			 struct element x, struct element y)
{
	const bool sum = op == TOFU_COLL_SUM;
	double wide = sum ? x.number + y.number : x.number * y.number;
	uint64_t bits = 0;
	/* Exact but for one rounding: a double has room for 24 + 24 bits. */
	float narrow = (float)wide;

	if (layout->value == 4)
		memcpy(&bits, &narrow, sizeof(narrow));
	else
		memcpy(&bits, &wide, sizeof(wide));
	return bits;
}

static struct element plain(const struct layout *layout, enum tofu_coll_op op,
			    struct element x, struct element y)
{
	switch (op) {
	case TOFU_COLL_MIN:
	case TOFU_COLL_MINLOC:
		return extreme(layout->kind, x, y, false);
	case TOFU_COLL_MAX:
	case TOFU_COLL_MAXLOC:
		return extreme(layout->kind, x, y, true);
	case TOFU_COLL_BAND:
		return (struct element){ .bits = x.bits & y.bits };
	case TOFU_COLL_BOR:
		return (struct element){ .bits = x.bits | y.bits };
	case TOFU_COLL_BXOR:
		return (struct element){ .bits = x.bits ^ y.bits };
	default:
		break;
	}
	if (layout->kind == 'f')
		return (struct element){
			.bits = floating(layout, op, x, y),
		};
	return (struct element){
		.bits = op == TOFU_COLL_SUM ? x.bits + y.bits :
					      x.bits * y.bits,
	};
}

/* ---- Elements of all sorts ---- */

static uint64_t draw_floating(size_t size)
{
	const unsigned int mantissa = size == 4 ? 23 : 52;
	const uint64_t infinity = size == 4 ? 0x7f8 : 0x7ff;
	const uint64_t sign = draw() << (size == 4 ? 31 : 63);

	switch (draw() % 12) {
	case 0:
		return sign;
	case 1: /* infinite, or a NaN of few ones */
	case 2:
		return sign | (size == 4 ? infinity << 20 : infinity << 52) |
		       draw() % 3;
	case 3: /* a quiet one */
		return sign | (size == 4 ? infinity << 20 : infinity << 52) |
		       1ULL << (mantissa - 1) | draw() % 3;
	case 4: /* denormal */
		return sign | draw() % 8;
	case 5: /* often the same */
		return sign | (size == 4 ? 0x3f8ULL << 20 : 0x3ffULL << 52);
	default:
		return draw();
	}
}

static void draw_element(const struct layout *layout, void *to)
{
	struct element element = { .index = (int64_t)draw() };

	if (draw() % 2)
		element.index = (int64_t)(draw() % 5) - 2;
	if (layout->kind == 'f')
		element.bits = draw_floating(layout->value);
	else
		element.bits = draw() % 4 ? draw() : draw() % 4 - 2;
	store(layout, element, to);
}

static void draw_elements(enum tofu_coll_type type, void *to, size_t count)
{
	for (size_t i = 0; i < count; i++)
		draw_element(&layouts[type], (char *)to + i * size_of(type));
}

/* Which NaN a sum or a product is, nobody says. */
static bool same(enum tofu_coll_type type, enum tofu_coll_op op,
		 const void *expected, const void *seen)
{
	const struct layout *layout = &layouts[type];

	if (layout->kind == 'f' &&
	    (op == TOFU_COLL_SUM || op == TOFU_COLL_PROD) &&
	    isnan(load(layout, expected).number))
		return isnan(load(layout, seen).number);
	return !memcmp(expected, seen, size_of(type));
}

/* ---- Against the plain way ---- */

/**
 * struct shape - how the buffers of a call lie
 * @count: elements
 * @skew:  bytes that they begin behind an aligned address
 * @place: 0: dst is a buffer of its own; 1: it is a, 2: it is b
 */
struct shape {
	size_t count;
	size_t skew[3];
	unsigned int place;
};

static char room[3][EDGE + BYTES + EDGE];

static bool edges_kept(const char *at, size_t bytes)
{
	for (size_t i = 1; i <= EDGE / 2; i++) {
		if (at[-(ptrdiff_t)i] != 0x5a || at[bytes + i - 1] != 0x5a)
			return false;
	}
	return true;
}

/* The number of the first wrong element; @count if none is. */
static size_t check(enum tofu_coll_type type, enum tofu_coll_op op,
		    const struct shape *shape)
{
	const struct layout *layout = &layouts[type];
	const size_t size = size_of(type), bytes = shape->count * size;
	const struct coll_op how = { .type = type, .op = op, .size = size };
	static char expected[BYTES];
	char *at[3], *dst;

	memset(room, 0x5a, sizeof(room));
	for (unsigned int i = 0; i < 3; i++) {
		at[i] = room[i] + EDGE / 2 + shape->skew[i];
		if (i)
			draw_elements(type, at[i], shape->count);
	}
	for (size_t i = 0; i < bytes; i += size)
		store(layout,
		      plain(layout, op, load(layout, at[1] + i),
			    load(layout, at[2] + i)),
		      expected + i);
	dst = at[shape->place];
	coll_op_run(&how, dst, at[1], at[2], bytes);
	for (size_t i = 0; i < shape->count; i++) {
		if (!same(type, op, expected + i * size, dst + i * size))
			return i;
	}
	return edges_kept(dst, bytes) ? shape->count : SIZE_MAX;
}

static const size_t counts[] = { 0, 1, 3, 17, 63, 64, 65, 128, 200, ELEMENTS };

TEST(each_operation_is_the_plain_one)
{
	for (unsigned int type = 0; type < TOFU_COLL_TYPES; type++) {
		for (unsigned int op = 0; op < TOFU_COLL_CALL; op++) {
			for (unsigned int i = 0; i < 90; i++) {
				const struct shape shape = {
					.count = counts[i / 3 % 10],
					.skew = { draw() % 17, draw() % 17,
						  draw() % 17 },
					.place = i % 3,
				};

				if (!(existing[type] >> op & 1))
					continue;
				ASSERT_EQ(shape.count, check(type, op, &shape))
					TH_LOG("type %u, operation %u", type,
					       op);
			}
		}
	}
}

TEST(aligned_elements_are_combined_in_place_and_elsewhere)
{
	for (unsigned int type = 0; type < TOFU_COLL_TYPES; type++) {
		for (unsigned int op = 0; op < TOFU_COLL_CALL; op++) {
			for (unsigned int i = 0; i < 30; i++) {
				const struct shape shape = {
					.count = counts[i % 10],
					.place = i / 10,
				};

				if (!(existing[type] >> op & 1))
					continue;
				ASSERT_EQ(shape.count, check(type, op, &shape));
			}
		}
	}
}

/* ---- Any order of operands ---- */

#define ORDERED (1U << TOFU_COLL_MIN | 1U << TOFU_COLL_MAX | LOCATION)

TEST(extremes_have_the_same_bits_in_any_order_and_tree)
{
	static char x[3][BYTES], left[BYTES], right[BYTES];

	for (unsigned int type = 0; type < TOFU_COLL_TYPES; type++) {
		const size_t bytes = ELEMENTS * size_of(type);

		for (unsigned int op = 0; op < TOFU_COLL_CALL; op++) {
			const struct coll_op how = { .type = type,
						     .op = op,
						     .size = size_of(type) };

			if (!(existing[type] & ORDERED & 1U << op))
				continue;
			for (unsigned int i = 0; i < 3; i++)
				draw_elements(type, x[i], ELEMENTS);
			coll_op_run(&how, left, x[0], x[1], bytes);
			coll_op_run(&how, right, x[1], x[0], bytes);
			EXPECT_EQ(0, memcmp(left, right, bytes));
			coll_op_run(&how, left, left, x[2], bytes);
			coll_op_run(&how, right, x[1], x[2], bytes);
			coll_op_run(&how, right, right, x[0], bytes);
			EXPECT_EQ(0, memcmp(left, right, bytes));
		}
	}
}

#define MIN_OF(x, y) extreme_of(TOFU_COLL_MIN, (x), (y))
#define MAX_OF(x, y) extreme_of(TOFU_COLL_MAX, (x), (y))

static uint64_t extreme_of(enum tofu_coll_op op, double x, double y)
{
	const struct coll_op how = { .type = TOFU_COLL_DOUBLE,
				     .op = op,
				     .size = sizeof(double) };
	uint64_t bits;

	coll_op_run(&how, &x, &x, &y, sizeof(x));
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

TEST(a_nan_wins_and_minus_zero_is_less_than_zero)
{
	const uint64_t minus = 1ULL << 63, nan_bits = 0x7ff8ULL << 48;
	const double quiet = __builtin_nan("");

	EXPECT_EQ(minus, MIN_OF(0.0, -0.0));
	EXPECT_EQ(minus, MIN_OF(-0.0, 0.0));
	EXPECT_EQ(0, MAX_OF(0.0, -0.0));
	EXPECT_EQ(0, MAX_OF(-0.0, 0.0));
	EXPECT_EQ(nan_bits, MIN_OF(quiet, (double)-INFINITY));
	EXPECT_EQ(nan_bits, MAX_OF((double)INFINITY, quiet));
	EXPECT_EQ(minus | nan_bits, MIN_OF(-quiet, quiet));
	EXPECT_EQ(minus | nan_bits, MAX_OF(quiet, -quiet));
}

TEST(of_equal_values_the_least_index_is_kept)
{
	const struct coll_op how = { .type = TOFU_COLL_INT32_INT,
				     .op = TOFU_COLL_MAXLOC,
				     .size = 8 };
	const int32_t a[] = { 7, 3, 7, -5, INT32_MIN, 1, 2, 9 };
	const int32_t b[] = { 7, 2, 7, 4, INT32_MAX, 2, 1, 0 };
	const int32_t expected[] = { 7, 2, 7, -5, INT32_MAX, 2, 2, 9 };
	int32_t dst[8];

	coll_op_run(&how, dst, a, b, sizeof(dst));
	EXPECT_EQ(0, memcmp(expected, dst, sizeof(dst)));
}

/* ---- User functions ---- */

struct called {
	void *dst;
	const void *a, *b;
	size_t count;
};

static void note(void *dst, const void *a, const void *b, size_t count,
		 void *data)
{
	*(struct called *)data = (struct called){ dst, a, b, count };
}

TEST(a_user_function_is_called_with_the_elements)
{
	char a[48], b[48];

	for (unsigned int type = 0; type < TOFU_COLL_TYPES; type++) {
		const size_t size = type == TOFU_COLL_BYTE ? 1 :
				    type == TOFU_COLL_USER ? 12 :
							     size_of(type);
		struct called called = { .count = 0 };
		const struct coll_op how = { .type = type,
					     .op = TOFU_COLL_CALL,
					     .size = size,
					     .call = note,
					     .data = &called };

		coll_op_run(&how, a, a, b, sizeof(a));
		EXPECT_EQ(sizeof(a) / size, called.count);
		EXPECT_EQ((uintptr_t)a, (uintptr_t)called.dst);
		EXPECT_EQ((uintptr_t)a, (uintptr_t)called.a);
		EXPECT_EQ((uintptr_t)b, (uintptr_t)called.b);
	}
}

TEST_HARNESS_MAIN
