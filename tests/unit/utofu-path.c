/* SPDX-License-Identifier: MIT */
/*
 * Paths, on a machine that has all twelve: as coordinates, as path IDs, in VCQ
 * IDs, and in the commands that are made with them.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <tofu/desc.h>

#include "fabric/fabric.h"
#include "harness.h"
#include "utofu-util.h"

static const uint8_t null_coords[3] = {
	UTOFU_PATH_COORD_NULL, UTOFU_PATH_COORD_NULL, UTOFU_PATH_COORD_NULL,
};

FIXTURE(path)
{
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;	/* of a VCQ at another node, in A, B and C */
	uint8_t own[3];		/* its coordinates there */
	uint64_t *word;
	utofu_stadd_t at;
};

/* One process of a machine in which nobody else has come. */
static void machine_enter(uint16_t a, uint16_t b, uint16_t c)
{
	const struct tofu_shape shape = { { 1, 1, 1, a, b, c } };
	int fabric = memfd_create("fabric", MFD_ALLOW_SEALING);
	char text[64];

	if (fabric < 0 || tofu_fabric_format(fabric, &shape, 1))
		abort();
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fabric);
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_FABRIC", text, 1);
	setenv("TOFU_NODE", "0", 1);
}

FIXTURE_SETUP(path)
{
	uint8_t there[6] = { 0, 0, 0, 1, 2, 0 };

	machine_enter(2, 3, 2);
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_construct_vcq_id(there, 1, 2, 3, &self->id),
		  UTOFU_SUCCESS);
	memcpy(self->own, there + 3, sizeof(self->own));
	self->word = aligned_alloc(256, 256);
	memset(self->word, 0, 256);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->word, 256, 0, &self->at),
		  UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(path)
{
	EXPECT_EQ(utofu_free_vcq(self->vcq), UTOFU_SUCCESS);
	free(self->word);
}

#define SELF FIXTURE_DATA(path)

/* TOFU_TOQ_PATH of a put that is made so */
static unsigned int path_of_put(const SELF *self, utofu_vcq_id_t id,
				unsigned long flags)
{
	struct tofu_toq_desc desc;
	size_t size;

	if (utofu_prepare_put(self->vcq, id, self->at, self->at, 8, 0, flags,
			      &desc, &size))
		return ~0U;
	return (unsigned int)TOFU_GET(desc.ctrl, TOFU_TOQ_PATH);
}

static unsigned int path_of(const uint8_t coords[3])
{
	return coords[0] + 2 * coords[1] + 8 * coords[2];
}

static void path_number(unsigned int i, uint8_t coords[3])
{
	coords[0] = i % 2;
	coords[1] = i / 2 % 3;
	coords[2] = (uint8_t)(i / 6);
}

TEST_F(path, twelve_ids_there_and_back)
{
	utofu_path_id_t seen[TOFU_PATHS];

	for (unsigned int i = 0; i < TOFU_PATHS; i++) {
		uint8_t coords[3], back[3];

		path_number(i, coords);
		ASSERT_EQ(utofu_get_path_id(self->id, coords, &seen[i]),
			  UTOFU_SUCCESS);
		EXPECT_NE(seen[i], 0);
		for (unsigned int k = 0; k < i; k++)
			EXPECT_NE(seen[k], seen[i]);
		ASSERT_EQ(utofu_get_path_coords(self->id, seen[i], back),
			  UTOFU_SUCCESS);
		EXPECT_EQ(memcmp(back, coords, 3), 0);
	}
}

TEST_F(path, commands_take_it_from_the_flags_or_the_id)
{
	for (unsigned int i = 0; i < TOFU_PATHS; i++) {
		utofu_vcq_id_t id = self->id;
		uint8_t coords[3], other[3], back[3];
		utofu_path_id_t other_id;

		path_number(i, coords);
		path_number((i + 5) % TOFU_PATHS, other);
		ASSERT_EQ(utofu_set_vcq_id_path(&id, coords), UTOFU_SUCCESS);
		EXPECT_EQ(path_of_put(self, id, 0), path_of(coords));
		ASSERT_EQ(utofu_get_path_coords(id, 0, back), UTOFU_SUCCESS);
		EXPECT_EQ(memcmp(back, coords, 3), 0);
		ASSERT_EQ(utofu_get_path_id(id, other, &other_id),
			  UTOFU_SUCCESS);
		EXPECT_EQ(path_of_put(self, id,
				      UTOFU_ONESIDED_FLAG_PATH(other_id)),
			  path_of(other));
		EXPECT_EQ(path_of_put(self, id,
				      UTOFU_ONESIDED_FLAG_SPS(15)),
			  path_of(coords));
	}
	EXPECT_EQ(path_of_put(self, self->id, 0), path_of(self->own));
}

TEST_F(path, the_default_is_of_the_node_itself)
{
	uint8_t null[3], zero[3] = { 0 }, back[3];
	utofu_vcq_id_t id = self->id;
	utofu_path_id_t path;

	memcpy(null, null_coords, sizeof(null));
	ASSERT_EQ(utofu_get_path_coords(id, 0, back), UTOFU_SUCCESS);
	EXPECT_EQ(memcmp(back, self->own, 3), 0);
	/* Also of an ID that has another path. */
	ASSERT_EQ(utofu_set_vcq_id_path(&id, zero), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_get_path_id(id, null, &path), UTOFU_SUCCESS);
	EXPECT_EQ(path_of_put(self, id, UTOFU_ONESIDED_FLAG_PATH(path)),
		  path_of(self->own));
	ASSERT_EQ(utofu_get_path_coords(id, path, back), UTOFU_SUCCESS);
	EXPECT_EQ(memcmp(back, self->own, 3), 0);
}

TEST_F(path, coordinates_that_are_none)
{
	uint8_t bad[][3] = { { 2, 0, 0 }, { 0, 3, 0 }, { 0, 0, 2 },
			     { 0, UTOFU_PATH_COORD_NULL, 0 },
			     { 0, UTOFU_PATH_COORD_NULL,
			       UTOFU_PATH_COORD_NULL } };
	utofu_vcq_id_t id = self->id;
	utofu_path_id_t path = 99;
	uint8_t good[3] = { 0 };

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		EXPECT_EQ(utofu_get_path_id(id, bad[i], &path),
			  UTOFU_ERR_INVALID_PATH);
		EXPECT_EQ(utofu_set_vcq_id_path(&id, bad[i]),
			  UTOFU_ERR_INVALID_PATH);
	}
	EXPECT_EQ(utofu_get_path_id(~0ULL, good, &path),
		  UTOFU_ERR_INVALID_VCQ_ID);
	EXPECT_EQ(utofu_get_path_id(id, NULL, &path),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_get_path_id(id, good, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(path, 99);
	EXPECT_EQ(id, self->id);
}

/* B has no coordinate 3; and a path ID has more bits than there are paths. */
static bool id_good(unsigned int id)
{
	return id <= 14 && id != 7 && id != 8;
}

TEST_F(path, ids_that_are_none)
{
	uint8_t coords[3] = { 9, 9, 9 };

	for (unsigned int i = 0; i < 256; i++) {
		int code = utofu_get_path_coords(self->id, (uint8_t)i, coords);

		EXPECT_EQ(code, id_good(i) ? UTOFU_SUCCESS :
					     UTOFU_ERR_INVALID_PATH_ID);
	}
	for (unsigned int i = 0; i < 16; i++) {
		int code = utofu_put(self->vcq, self->id, self->at, self->at, 0,
				     0, UTOFU_ONESIDED_FLAG_PATH(i), NULL);

		EXPECT_EQ(code, id_good(i) ? UTOFU_SUCCESS :
					     UTOFU_ERR_INVALID_PATH_ID);
	}
	EXPECT_EQ(utofu_get_path_coords(~0ULL, 0, coords),
		  UTOFU_ERR_INVALID_VCQ_ID);
	EXPECT_EQ(utofu_get_path_coords(self->id, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
}

TEST_F(path, all_lead_to_oneself)
{
	struct utofu_mrq_notice notice;
	utofu_vcq_id_t me;

	ASSERT_EQ(utofu_query_vcq_id(self->vcq, &me), UTOFU_SUCCESS);
	for (unsigned int i = 0; i < TOFU_PATHS; i++) {
		uint8_t coords[3];
		utofu_path_id_t path;

		path_number(i, coords);
		ASSERT_EQ(utofu_get_path_id(me, coords, &path), UTOFU_SUCCESS);
		ASSERT_EQ(utofu_put_piggyback8(self->vcq, me, i + 1, self->at,
					       8, 0,
					       LCL | UTOFU_ONESIDED_FLAG_PATH(
							     path),
					       NULL), UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		EXPECT_EQ(self->word[0], i + 1);
		EXPECT_EQ(notice.vcq_id, me);
	}
}

TEST(a_machine_without_an_axis_has_fewer)
{
	uint8_t coords[3] = { 0 }, no_a[3] = { 1, 0, 0 };
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	utofu_path_id_t path;
	unsigned int count = 0;

	machine_enter(1, 3, 1);
	ASSERT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(vcq, &id), UTOFU_SUCCESS);
	for (unsigned int i = 1; i < 256; i++)
		count += !utofu_get_path_coords(id, (uint8_t)i, coords);
	EXPECT_EQ(count, 3);
	EXPECT_EQ(utofu_get_path_id(id, no_a, &path), UTOFU_ERR_INVALID_PATH);
	EXPECT_EQ(utofu_put(vcq, id, 0, 0, 0, 0, UTOFU_ONESIDED_FLAG_PATH(2),
			    NULL), UTOFU_ERR_INVALID_PATH_ID);
	EXPECT_EQ(utofu_free_vcq(vcq), UTOFU_SUCCESS);
}

TEST_HARNESS_MAIN
