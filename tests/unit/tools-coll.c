// SPDX-License-Identifier: MIT
/*
 * tofu-coll's contents: what members are said to get is what they get when all
 * buffers are combined or moved one by one.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#include "coll/contents.h"

#define COUNT 100 /* elements of a block */

/* ---- Combining, as C does it ---- */

#define ARITHMETIC(type)                                                  \
	static void type##_combine(enum tofu_coll_op op, type *a, type b) \
	{                                                                 \
		if (op == TOFU_COLL_SUM)                                  \
			*a = (type)(*a + b);                              \
		else if (op == TOFU_COLL_PROD)                            \
			*a = (type)(*a * b);                              \
		else if (op == TOFU_COLL_MIN ? b < *a : b > *a)           \
			*a = b;                                           \
	}

/* Signed ones as unsigned, but for what compares them */
#define WRAPPING(type, as)                                                \
	static void type##_combine(enum tofu_coll_op op, type *a, type b) \
	{                                                                 \
		if (op == TOFU_COLL_SUM)                                  \
			*a = (type)((as)*a + (as)b);                      \
		else if (op == TOFU_COLL_PROD)                            \
			*a = (type)((as)*a * (as)b);                      \
		else if (op == TOFU_COLL_BAND)                            \
			*a &= b;                                          \
		else if (op == TOFU_COLL_BOR)                             \
			*a |= b;                                          \
		else if (op == TOFU_COLL_BXOR)                            \
			*a ^= b;                                          \
		else if (op == TOFU_COLL_MIN ? b < *a : b > *a)           \
			*a = b;                                           \
	}

#define LOCATED(name, type, index)                                            \
	struct name {                                                         \
		type value;                                                   \
		index at;                                                     \
	};                                                                    \
	static void name##_combine(enum tofu_coll_op op, struct name *a,      \
				   struct name b)                             \
	{                                                                     \
		if (b.value == a->value ?                                     \
			    b.at < a->at :                                    \
			    (b.value < a->value) == (op == TOFU_COLL_MINLOC)) \
			*a = b;                                               \
	}

ARITHMETIC(float)
ARITHMETIC(double)
WRAPPING(int32_t, uint32_t)
WRAPPING(int64_t, uint64_t)
WRAPPING(uint64_t, uint64_t)
LOCATED(float_int, float, int32_t)
LOCATED(int32_int, int32_t, int32_t)
LOCATED(double_int, double, int64_t)
LOCATED(int64_int, int64_t, int64_t)
LOCATED(uint64_int, uint64_t, int64_t)

#define EACH(name, type) \
	name##_combine(contents->op, (type *)a, *(const type *)b)

static void combine(const struct contents *contents, void *a, const void *b)
{
	size_t size = contents->size;

	if (contents->op == TOFU_COLL_CALL) {
		contents_call(a, a, b, 1, &size);
		return;
	}
	switch (contents->type) {
	case TOFU_COLL_FLOAT:
		EACH(float, float);
		break;
	case TOFU_COLL_DOUBLE:
		EACH(double, double);
		break;
	case TOFU_COLL_INT32:
		EACH(int32_t, int32_t);
		break;
	case TOFU_COLL_INT64:
		EACH(int64_t, int64_t);
		break;
	case TOFU_COLL_UINT64:
		EACH(uint64_t, uint64_t);
		break;
	case TOFU_COLL_FLOAT_INT:
		EACH(float_int, struct float_int);
		break;
	case TOFU_COLL_INT32_INT:
		EACH(int32_int, struct int32_int);
		break;
	case TOFU_COLL_DOUBLE_INT:
		EACH(double_int, struct double_int);
		break;
	case TOFU_COLL_INT64_INT:
		EACH(int64_int, struct int64_int);
		break;
	default:
		EACH(uint64_int, struct uint64_int);
	}
}

/* ---- A collective in one place ---- */

/**
 * struct all - the members of a collective
 * @spoils: this one sends a wrong element; -1: none
 * @rotated: the last member's values come first, then those of the others
 */
struct all {
	struct contents contents;
	int64_t spoils;
	bool rotated;
};

static struct contents member_of(const struct all *all, uint32_t number)
{
	struct contents contents = all->contents;

	contents.number = number;
	contents_make(&contents);
	return contents;
}

static uint8_t *sent_by(const struct all *all, uint32_t number)
{
	struct contents contents = member_of(all, number);
	size_t bytes = contents_send_bytes(&contents);
	uint8_t *buf = malloc(bytes + 1);

	contents_fill(&contents, 1, buf);
	if (all->spoils == number)
		contents_spoil(&contents, 1, buf);
	return buf;
}

static uint8_t *combined(const struct all *all)
{
	uint32_t members = all->contents.members;
	uint32_t first = all->rotated ? members - 1 : 0;
	uint8_t *sum = sent_by(all, first);
	size_t count = all->contents.count;

	if (all->contents.kind == TOFU_COLL_REDUCE_SCATTER)
		count *= members;
	for (uint32_t i = 1; i < members; i++) {
		uint8_t *buf = sent_by(all, (first + i) % members);

		for (size_t e = 0; e < count; e++)
			combine(&all->contents, sum + e * all->contents.size,
				buf + e * all->contents.size);
		free(buf);
	}
	return sum;
}

/* Wrong bytes that a member finds in a copy of @bytes at @from */
static size_t found_by(const struct all *all, uint32_t number,
		       const uint8_t *from)
{
	struct contents contents = member_of(all, number);

	return contents_verify(&contents, 1, from).count;
}

static size_t wrong_combined(const struct all *all)
{
	size_t block = all->contents.count * all->contents.size, wrong = 0;
	bool scattered = all->contents.kind == TOFU_COLL_REDUCE_SCATTER;
	uint8_t *sum = combined(all);

	/* All get the same where nothing is scattered. */
	for (uint32_t i = 0; i < (scattered ? all->contents.members : 1); i++)
		wrong += found_by(all, i, sum + i * block);
	free(sum);
	return wrong;
}

static const uint32_t sizes[] = { 1, 2, 3, 5, 33, 94, 160 };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct all all_of(enum tofu_coll_kind kind, enum tofu_coll_type type,
			 enum tofu_coll_op op, uint32_t members)
{
	return (struct all){
		.contents = {
			.kind = kind,
			.type = type,
			.op = op,
			.root = members / 2,
			.count = COUNT,
			.members = members,
			.row = members,
			.size = contents_size(type),
		},
		.spoils = -1,
	};
}

TEST(results_are_what_is_combined)
{
	for (int type = 0; type < TOFU_COLL_TYPES; type++)
		for (int op = 0; op < TOFU_COLL_OPS; op++) {
			if (!contents_op_goes(type, op))
				continue;
			for (size_t i = 0; i < SIZES; i++) {
				struct all all = all_of(TOFU_COLL_ALLREDUCE,
							type, op, sizes[i]);

				EXPECT_EQ(0, wrong_combined(&all))
				{
					TH_LOG("type %d, op %d, %u members",
					       type, op, sizes[i]);
				}
			}
		}
}

TEST(the_order_of_members_does_not_matter)
{
	for (int type = 0; type < TOFU_COLL_TYPES; type++)
		for (int op = 0; op < TOFU_COLL_OPS; op++) {
			struct all all = all_of(TOFU_COLL_ALLREDUCE, type, op,
						94);

			all.rotated = true;
			if (contents_op_goes(type, op))
				EXPECT_EQ(0, wrong_combined(&all));
		}
}

TEST(parts_of_results_are_scattered)
{
	for (int type = 0; type < TOFU_COLL_TYPES; type++) {
		struct all all = all_of(TOFU_COLL_REDUCE_SCATTER, type,
					contents_op_of(type), 5);

		EXPECT_EQ(0, wrong_combined(&all));
	}
}

TEST(a_wrong_element_is_found_in_results)
{
	for (int type = 0; type < TOFU_COLL_TYPES; type++)
		for (int op = 0; op < TOFU_COLL_OPS; op++) {
			if (!contents_op_goes(type, op))
				continue;
			for (size_t i = 0; i < SIZES - 2; i++) {
				struct all all = all_of(TOFU_COLL_ALLREDUCE,
							type, op, sizes[i]);

				all.spoils = sizes[i] / 2;
				EXPECT_TRUE(wrong_combined(&all) > 0)
				{
					TH_LOG("type %d, op %d, %u members",
					       type, op, sizes[i]);
				}
			}
		}
}

TEST(a_missing_member_is_found)
{
	struct all all = all_of(TOFU_COLL_ALLREDUCE, TOFU_COLL_DOUBLE,
				TOFU_COLL_SUM, 5);
	uint8_t *sum = combined(&all);

	all.contents.members = 6;
	EXPECT_TRUE(found_by(&all, 0, sum) > COUNT / 2);
	free(sum);
}

TEST(huge_values_cancel_out)
{
	for (size_t i = 0; i < SIZES; i++) {
		struct all all = all_of(TOFU_COLL_ALLREDUCE, TOFU_COLL_DOUBLE,
					TOFU_COLL_SUM, sizes[i]);

		all.contents.cancel = true;
		EXPECT_EQ(sizes[i] > 2, wrong_combined(&all) > 0);
		all.rotated = true;
		EXPECT_EQ(0, wrong_combined(&all));
	}
}

/* ---- Blocks that move ---- */

static size_t wrong_moved(const struct all *all)
{
	const struct contents *contents = &all->contents;
	size_t block = contents->count * contents->size, wrong = 0;
	uint32_t members = contents->members, root = contents->root;
	uint8_t *gathered = malloc(members * block);

	for (uint32_t to = 0; to < members; to++) {
		bool each = contents->kind == TOFU_COLL_ALLTOALL ||
			    contents->kind == TOFU_COLL_SCATTER;
		bool from_root = contents->kind == TOFU_COLL_BCAST ||
				 contents->kind == TOFU_COLL_SCATTER;
		bool none = (contents->kind == TOFU_COLL_BCAST && to == root) ||
			    (contents->kind == TOFU_COLL_GATHER && to != root);

		for (uint32_t i = 0; i < (from_root ? 1 : members); i++) {
			uint8_t *buf = sent_by(all, from_root ? root : i);

			memcpy(gathered + i * block,
			       buf + (each ? to * block : 0), block);
			free(buf);
		}
		if (!none)
			wrong += found_by(all, to, gathered);
	}
	free(gathered);
	return wrong;
}

static const enum tofu_coll_kind moving[] = {
	TOFU_COLL_BCAST,
	TOFU_COLL_GATHER,
	TOFU_COLL_SCATTER,
	TOFU_COLL_ALLGATHER,
	TOFU_COLL_ALLTOALL,
};

#define MOVING (sizeof(moving) / sizeof(moving[0]))

TEST(blocks_are_what_is_moved)
{
	for (size_t k = 0; k < MOVING; k++)
		for (int type = 0; type < TOFU_COLL_TYPES; type++) {
			struct all all = all_of(moving[k], type, 0, 5);

			EXPECT_EQ(0, wrong_moved(&all))
			{
				TH_LOG("kind %d, type %d", moving[k], type);
			}
		}
}

TEST(a_wrong_byte_is_found_in_blocks)
{
	for (size_t k = 0; k < MOVING; k++) {
		struct all all = all_of(moving[k], TOFU_COLL_BYTE, 0, 5);

		all.spoils = all.contents.root;
		EXPECT_TRUE(wrong_moved(&all) > 0);
	}
}

TEST(iterations_and_rows_differ)
{
	struct all all = all_of(TOFU_COLL_ALLREDUCE, TOFU_COLL_INT64,
				TOFU_COLL_SUM, 3);
	struct contents contents = member_of(&all, 0);
	uint8_t *sum = combined(&all);

	EXPECT_TRUE(contents_verify(&contents, 2, sum).count > COUNT / 2);
	contents.row++;
	EXPECT_TRUE(contents_verify(&contents, 1, sum).count > COUNT / 2);
	free(sum);
}

TEST_HARNESS_MAIN
