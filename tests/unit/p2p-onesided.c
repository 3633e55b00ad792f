/* SPDX-License-Identifier: MIT */
/*
 * Puts, gets and atomics of endpoints on memory that another VCQ has registered,
 * and how they end.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "p2p-util.h"
#include "p2p/internal.h"

#define EAGER 1000
#define GET 100000
#define MOST ((17U << 20) + 5)
#define WORDS 8

FIXTURE(access)
{
	struct world world;
	utofu_vcq_hdl_t vcq;
	struct tofu_p2p_remote remote;
	char *here;
	char *there;
};

FIXTURE_VARIANT(access)
{
	bool no_armw;
};

FIXTURE_VARIANT_ADD(access, with_atomics){
	.no_armw = false,
};

FIXTURE_VARIANT_ADD(access, without_atomics){
	.no_armw = true,
};

FIXTURE_SETUP(access)
{
	self->here = malloc(MOST);
	self->there = aligned_alloc(64, (MOST + 63) / 64 * 64);
	ASSERT_EQ(world_make_by(&self->world, TOFU_P2P_AUTO, variant->no_armw,
				EAGER, GET),
		  UTOFU_SUCCESS);
	/* The endpoint of rank 1 has nothing to do with it. */
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	self->remote.rank = 1;
	ASSERT_EQ(utofu_query_vcq_id(self->vcq, &self->remote.vcq),
		  UTOFU_SUCCESS);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->there, MOST, 0,
				&self->remote.stadd),
		  UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(access)
{
	world_free(&self->world);
	utofu_free_vcq(self->vcq);
	free(self->here);
	free(self->there);
}

#define P2P (self->world.p2p[0])

static struct tofu_p2p_move move_of(const struct tofu_p2p_remote *remote,
				    void *buf, size_t bytes)
{
	return (struct tofu_p2p_move){
		.buf = buf,
		.bytes = bytes,
		.remote = *remote,
		.context = buf,
	};
}

/* What is filled and checked of a long one: its ends, and where a command ends */
#define PART 4096
#define COMMAND ((16U << 20) - 1)

struct part {
	size_t at;
	size_t bytes;
};

static size_t parts_of(size_t bytes, struct part part[3])
{
	if (bytes <= COMMAND) {
		part[0] = (struct part){ 0, bytes };
		return 1;
	}
	part[0] = (struct part){ 0, PART };
	part[1] = (struct part){ COMMAND - PART / 2, PART };
	part[2] = (struct part){ bytes - PART, PART };
	return 3;
}

static void parts_fill(char *at, size_t bytes, uint64_t seed)
{
	struct part part[3];
	size_t count = parts_of(bytes, part);

	for (size_t i = 0; i < count; i++)
		data_fill(at + part[i].at, part[i].bytes, seed + i);
}

static bool parts_are(const char *at, size_t bytes, uint64_t seed)
{
	struct part part[3];
	size_t count = parts_of(bytes, part);
	bool good = true;

	for (size_t i = 0; i < count; i++)
		good = good &&
		       data_is(at + part[i].at, part[i].bytes, seed + i);
	return good;
}

static const size_t sizes[] = { 0, 1, 8, 255, 4096, 65537, MOST };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

TEST_F(access, puts_and_gets_of_all_lengths)
{
	struct tofu_p2p_end end;

	for (size_t i = 0; i < SIZES; i++) {
		struct tofu_p2p_move move =
			move_of(&self->remote, self->here, sizes[i]);

		parts_fill(self->here, sizes[i], 10 * i);
		ASSERT_EQ(tofu_p2p_post_put(P2P, &move), UTOFU_SUCCESS);
		ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
		EXPECT_TRUE(end.code == UTOFU_SUCCESS &&
			    end.context == self->here && end.source == 1 &&
			    end.bytes == sizes[i] &&
			    end.flags == TOFU_P2P_ONESIDED);
		EXPECT_TRUE(parts_are(self->there, sizes[i], 10 * i));

		parts_fill(self->there, sizes[i], 10 * i + 5);
		ASSERT_EQ(tofu_p2p_post_get(P2P, &move), UTOFU_SUCCESS);
		ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
		EXPECT_TRUE(end.code == UTOFU_SUCCESS &&
			    end.flags == TOFU_P2P_ONESIDED);
		EXPECT_TRUE(parts_are(self->here, sizes[i], 10 * i + 5));
	}
}

TEST_F(access, more_than_can_move_at_a_time)
{
	enum { COUNT = 3 * P2P_MOVING_MAX };
	bool ended[COUNT] = { false };
	struct tofu_p2p_end end;

	data_fill(self->here, COUNT * 64, 1);
	for (unsigned int i = 0; i < COUNT; i++) {
		struct tofu_p2p_move move = move_of(
			&self->remote, self->here + (size_t)i * 64, 64);

		move.remote.stadd += i * 64;
		move.context = &ended[i];
		ASSERT_EQ(tofu_p2p_post_put(P2P, &move), UTOFU_SUCCESS);
	}
	for (unsigned int i = 0; i < COUNT; i++) {
		ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
		EXPECT_EQ(end.code, UTOFU_SUCCESS);
		EXPECT_FALSE(*(bool *)end.context);
		*(bool *)end.context = true;
	}
	EXPECT_TRUE(data_is(self->there, COUNT * 64, 1));
}

TEST_F(access, a_copied_put_leaves_its_buffer)
{
	struct tofu_p2p_move move = move_of(&self->remote, self->here, 300);
	struct tofu_p2p_end end;

	data_fill(self->here, 300, 4);
	move.flags = TOFU_P2P_COPY;
	ASSERT_EQ(tofu_p2p_post_put(P2P, &move), UTOFU_SUCCESS);
	memset(self->here, 0, 300);
	ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
	EXPECT_EQ(end.code, UTOFU_SUCCESS);
	EXPECT_TRUE(data_is(self->there, 300, 4));
	/* There is nothing to copy for a get. */
	EXPECT_EQ(tofu_p2p_post_get(P2P, &move), UTOFU_ERR_INVALID_FLAGS);
}

/* ---- Errors ---- */

TEST_F(access, outside_of_the_memory)
{
	struct tofu_p2p_move move = move_of(&self->remote, self->here, 16);
	struct tofu_p2p_end end;

	parts_fill(self->there, MOST, 9);
	memset(self->here, 0, 16);
	move.remote.stadd += MOST - 8;
	ASSERT_EQ(tofu_p2p_post_put(P2P, &move), UTOFU_SUCCESS);
	ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
	EXPECT_NE(end.code, UTOFU_SUCCESS);
	ASSERT_EQ(tofu_p2p_post_get(P2P, &move), UTOFU_SUCCESS);
	ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
	EXPECT_NE(end.code, UTOFU_SUCCESS);
	EXPECT_TRUE(parts_are(self->there, MOST, 9));
	/* Silence is about what went well. */
	move.flags = TOFU_P2P_SILENT;
	ASSERT_EQ(tofu_p2p_post_put(P2P, &move), UTOFU_SUCCESS);
	ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
	EXPECT_NE(end.code, UTOFU_SUCCESS);
	move.remote.stadd = self->remote.stadd;
	data_fill(self->here, 16, 3);
	ASSERT_EQ(tofu_p2p_post_put(P2P, &move), UTOFU_SUCCESS);
	move.flags = 0;
	move.context = self->there;
	ASSERT_EQ(tofu_p2p_post_put(P2P, &move), UTOFU_SUCCESS);
	ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
	EXPECT_TRUE(end.context == self->there);
	EXPECT_TRUE(data_is(self->there, 16, 3));
}

TEST_F(access, bad_arguments)
{
	struct tofu_p2p_move move = move_of(&self->remote, self->here, 16);
	struct tofu_p2p_atomic atomic = { .op = UTOFU_ARMW_OP_ADD, .bytes = 8 };

	EXPECT_EQ(tofu_p2p_post_put(NULL, &move), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_post_put(P2P, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(tofu_p2p_post_atomic(P2P, NULL), UTOFU_ERR_INVALID_POINTER);
	move.buf = NULL;
	EXPECT_EQ(tofu_p2p_post_get(P2P, &move), UTOFU_ERR_INVALID_POINTER);
	move.buf = self->here;
	move.flags = TOFU_P2P_SYNCHRONOUS;
	EXPECT_EQ(tofu_p2p_post_put(P2P, &move), UTOFU_ERR_INVALID_FLAGS);
	move.flags = 0;
	move.remote.rank = 3;
	EXPECT_EQ(tofu_p2p_post_put(P2P, &move), UTOFU_ERR_INVALID_NUMBER);
	atomic.bytes = 2;
	EXPECT_EQ(tofu_p2p_post_atomic(P2P, &atomic), UTOFU_ERR_INVALID_SIZE);
	atomic.bytes = 8;
	atomic.remote.rank = 3;
	EXPECT_EQ(tofu_p2p_post_atomic(P2P, &atomic), UTOFU_ERR_INVALID_NUMBER);
}

/* ---- Atomics ---- */

static uint64_t word_at(const char *memory, size_t bytes)
{
	uint64_t wide = 0;
	uint32_t narrow;

	if (bytes == sizeof(wide)) {
		memcpy(&wide, memory, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, memory, sizeof(narrow));
	return narrow;
}

/**
 * struct step - an operation on a word that is 12 at first
 * @after: its value then
 */
static const struct step {
	enum utofu_armw_op op;
	bool compares;
	uint64_t value;
	uint64_t compare;
	uint64_t after;
} steps[] = {
	{ UTOFU_ARMW_OP_ADD, false, 5, 0, 17 },
	{ UTOFU_ARMW_OP_OR, false, 6, 0, 23 },
	{ UTOFU_ARMW_OP_AND, false, 20, 0, 20 },
	{ UTOFU_ARMW_OP_XOR, false, 1, 0, 21 },
	{ UTOFU_ARMW_OP_SWAP, false, 99, 0, 99 },
	{ 0, true, 7, 98, 99 },
	{ 0, true, 7, 99, 7 },
};

TEST_F(access, atomics_give_the_value_before)
{
	struct tofu_p2p_end end;

	for (size_t bytes = 4; bytes <= 8; bytes += 4) {
		uint64_t before = 12, result = 0;

		memset(self->there, 0, 16);
		self->there[0] = 12;
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			const struct tofu_p2p_atomic atomic = {
				.op = steps[i].op,
				.compares = steps[i].compares,
				.bytes = bytes,
				.value = steps[i].value,
				.compare = steps[i].compare,
				.remote = self->remote,
				.result = &result,
			};

			ASSERT_EQ(tofu_p2p_post_atomic(P2P, &atomic),
				  UTOFU_SUCCESS);
			ASSERT_EQ(world_ended(&self->world, 0, &end),
				  UTOFU_SUCCESS);
			if (variant->no_armw) {
				EXPECT_EQ(end.code, UTOFU_ERR_NOT_SUPPORTED);
				continue;
			}
			EXPECT_EQ(end.code, UTOFU_SUCCESS);
			EXPECT_EQ(end.flags, TOFU_P2P_ONESIDED);
			EXPECT_EQ(word_at((char *)&result, bytes), before);
			EXPECT_EQ(word_at(self->there, bytes), steps[i].after);
			before = steps[i].after;
		}
	}
}

TEST_F(access, atomics_of_one_word_end_each_with_its_own)
{
	uint64_t result[WORDS];
	struct tofu_p2p_end end;

	if (variant->no_armw)
		return;
	memset(self->there, 0, 8);
	for (unsigned int i = 0; i < WORDS; i++) {
		const struct tofu_p2p_atomic atomic = {
			.op = UTOFU_ARMW_OP_ADD,
			.bytes = 8,
			.value = 1,
			.remote = self->remote,
			.result = &result[i],
		};

		ASSERT_EQ(tofu_p2p_post_atomic(P2P, &atomic), UTOFU_SUCCESS);
	}
	for (unsigned int i = 0; i < WORDS; i++)
		ASSERT_EQ(world_ended(&self->world, 0, &end), UTOFU_SUCCESS);
	for (unsigned int i = 0; i < WORDS; i++)
		EXPECT_EQ(result[i], i);
}

TEST_HARNESS_MAIN
