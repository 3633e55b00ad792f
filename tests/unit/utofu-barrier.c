/* SPDX-License-Identifier: MIT */
/*
 * Barriers and reductions on a machine of one node: every function, and every
 * return code by what brings it about.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "harness.h"
#include "utofu-util.h"
#include "utofu/instance.h"

#define NONE UTOFU_VBG_ID_NULL

/* Where a VBG ID has these coordinates */
#define X(x) ((uint64_t)(x) << 32)
#define B(b) ((uint64_t)(b) << 57)

static const struct utofu_vbg_setting unlinked = {
	.vbg_id = NONE,
	.src_lcl_vbg_id = NONE,
	.src_rmt_vbg_id = NONE,
	.dst_lcl_vbg_id = NONE,
	.dst_rmt_vbg_id = NONE,
	.dst_path_coords = { UTOFU_PATH_COORD_NULL, UTOFU_PATH_COORD_NULL,
			     UTOFU_PATH_COORD_NULL },
};

/* A gate without links: its barrier has no other participant. */
static int set_alone(utofu_vbg_id_t id)
{
	struct utofu_vbg_setting setting = unlinked;

	setting.vbg_id = id;
	return utofu_set_vbg(&setting, 1);
}

/*
 * Two members of a barrier: each has a start and end gate, and a relay that
 * adds the part of the other. That is a butterfly of two.
 */
static int set_pair(const utofu_vbg_id_t a[2], const utofu_vbg_id_t b[2])
{
	const utofu_vbg_id_t *own = a, *other = b;
	struct utofu_vbg_setting s[4];

	for (int i = 0; i < 4; i += 2) {
		s[i] = s[i + 1] = unlinked;
		s[i].vbg_id = own[0];
		s[i].src_lcl_vbg_id = own[1];
		s[i].dst_lcl_vbg_id = own[1];
		s[i].dst_rmt_vbg_id = other[1];
		s[i + 1].vbg_id = own[1];
		s[i + 1].src_lcl_vbg_id = own[0];
		s[i + 1].src_rmt_vbg_id = other[0];
		s[i + 1].dst_lcl_vbg_id = own[0];
		own = b;
		other = a;
	}
	return utofu_set_vbg(s, 4);
}

FIXTURE(node)
{
	utofu_vbg_id_t a[2];
	utofu_vbg_id_t b[2];
};

FIXTURE_SETUP(node)
{
	setenv("TOFU_PORT", "emu", 1);
	ASSERT_EQ(utofu_alloc_vbg(0, 2, 0, self->a), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_alloc_vbg(1, 2, 0, self->b), UTOFU_SUCCESS);
	ASSERT_EQ(set_pair(self->a, self->b), UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(node)
{
	EXPECT_EQ(utofu_free_vbg(self->a, 2), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vbg(self->b, 2), UTOFU_SUCCESS);
}

/* ---- TNIs ---- */

TEST_F(node, tnis_and_their_capabilities)
{
	struct utofu_barrier_caps *caps;
	utofu_tni_id_t *ids;
	size_t count;

	ASSERT_EQ(utofu_get_barrier_tnis(&ids, &count), UTOFU_SUCCESS);
	ASSERT_EQ(count, 4);
	for (size_t i = 0; i < count; i++) {
		EXPECT_EQ(ids[i], i);
	}
	free(ids);
	EXPECT_EQ(utofu_get_barrier_tnis(NULL, &count),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_get_barrier_tnis(&ids, NULL),
		  UTOFU_ERR_INVALID_POINTER);

	ASSERT_EQ(utofu_query_barrier_caps(3, &caps), UTOFU_SUCCESS);
	EXPECT_EQ(caps->flags, 0);
	EXPECT_EQ(caps->reduce_ops, 0x1fe);
	EXPECT_EQ(caps->max_uint64_reduction, 6);
	EXPECT_EQ(caps->max_double_reduction, 3);
	EXPECT_EQ(utofu_query_barrier_caps(4, &caps),
		  UTOFU_ERR_INVALID_TNI_ID);
	EXPECT_EQ(utofu_query_barrier_caps(0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
}

TEST_F(node, a_controller_without_gates_has_no_barrier_tni)
{
	uint32_t gates = tofu_instance()->port->info.gates;
	struct utofu_barrier_caps *caps;
	utofu_tni_id_t *ids = NULL;
	utofu_vbg_id_t id;
	size_t count = 1;

	tofu_instance()->port->info.gates = 0;
	EXPECT_EQ(utofu_get_barrier_tnis(&ids, &count), UTOFU_SUCCESS);
	EXPECT_EQ(count, 0);
	free(ids);
	EXPECT_EQ(utofu_query_barrier_caps(0, &caps),
		  UTOFU_ERR_INVALID_TNI_ID);
	EXPECT_EQ(utofu_alloc_vbg(0, 1, 0, &id), UTOFU_ERR_INVALID_TNI_ID);
	tofu_instance()->port->info.gates = gates;
}

/* ---- Allocations ---- */

TEST_F(node, wrong_allocations)
{
	utofu_vbg_id_t id;

	EXPECT_EQ(utofu_alloc_vbg(0, 1, 0, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_alloc_vbg(0, 0, 0, &id), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_alloc_vbg(0, 1, 2, &id), UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_alloc_vbg(4, 1, 0, &id), UTOFU_ERR_INVALID_TNI_ID);
	EXPECT_EQ(utofu_alloc_vbg(0, TOFU_GATES + 1, 0, &id), UTOFU_ERR_FULL);
	EXPECT_EQ(utofu_alloc_vbg(0, SIZE_MAX, 0, &id), UTOFU_ERR_FULL);
}

TEST_F(node, full_allocates_nothing)
{
	utofu_vbg_id_t most[40], rest[8], none[9];

	ASSERT_EQ(utofu_alloc_vbg(2, 40, 0, most), UTOFU_SUCCESS);
	for (int i = 0; i < 3; i++) {
		memset(none, 0, sizeof(none));
		EXPECT_EQ(utofu_alloc_vbg(2, 9, 0, none), UTOFU_ERR_FULL);
		EXPECT_EQ(none[0], 0);
	}
	ASSERT_EQ(utofu_alloc_vbg(2, 8, 0, rest), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_alloc_vbg(2, 1, 0, none), UTOFU_ERR_FULL);
	EXPECT_EQ(utofu_free_vbg(most, 40), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vbg(rest, 8), UTOFU_SUCCESS);
}

TEST_F(node, start_gates_run_out_before_relays)
{
	utofu_vbg_id_t start[TOFU_CHANNELS], more, relays[33];

	for (int i = 0; i < TOFU_CHANNELS; i++) {
		ASSERT_EQ(utofu_alloc_vbg(3, 1, 0, &start[i]), UTOFU_SUCCESS);
	}
	EXPECT_EQ(utofu_alloc_vbg(3, 1, 0, &more), UTOFU_ERR_FULL);
	ASSERT_EQ(utofu_free_vbg(&start[5], 1), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_alloc_vbg(3, 33, 0, relays), UTOFU_SUCCESS);
	EXPECT_EQ(relays[0], start[5]);
	EXPECT_EQ(utofu_free_vbg(relays, 33), UTOFU_SUCCESS);
	for (int i = 0; i < TOFU_CHANNELS; i++) {
		EXPECT_EQ(utofu_free_vbg(&start[i], 1),
			  i == 5 ? UTOFU_ERR_INVALID_VBG_ID : UTOFU_SUCCESS);
	}
}

TEST_F(node, wrong_frees)
{
	utofu_vbg_id_t *a = self->a;
	utofu_vbg_id_t twice[] = { a[1], a[1] };
	utofu_vbg_id_t mixed[] = { a[0], self->b[1] };
	utofu_vbg_id_t swapped[] = { a[1], a[0] };
	utofu_vbg_id_t other[] = { a[0], NONE };

	EXPECT_EQ(utofu_free_vbg(NULL, 2), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_free_vbg(a, 0), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_free_vbg(a, 1), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_free_vbg(twice, 2), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_free_vbg(mixed, 2), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_free_vbg(other, 2), UTOFU_ERR_INVALID_VBG_ID);
	/* None of these has freed any. */
	EXPECT_EQ(utofu_barrier(a[0], 0), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vbg(swapped, 2), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vbg(swapped, 2), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_barrier(a[0], 0), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_poll_barrier(a[0], 0), UTOFU_ERR_INVALID_VBG_ID);
	ASSERT_EQ(utofu_alloc_vbg(0, 2, 0, a), UTOFU_SUCCESS);
}

/* ---- IDs ---- */

TEST_F(node, an_id_is_taken_apart)
{
	utofu_vbg_id_t id = self->b[0];
	uint8_t coords[6] = { 9, 9, 9, 9, 9, 9 };
	utofu_tni_id_t tni = 9;
	utofu_bg_id_t gate = 99;
	uint16_t extra = 9;

	ASSERT_EQ(utofu_query_vbg_info(id, coords, &tni, &gate, &extra),
		  UTOFU_SUCCESS);
	EXPECT_EQ(tni, 1);
	EXPECT_EQ(gate, 0);
	EXPECT_EQ(extra, 0);
	for (int i = 0; i < 6; i++) {
		EXPECT_EQ(coords[i], 0);
	}
	ASSERT_EQ(utofu_query_vbg_info(self->b[1], coords, &tni, &gate, &extra),
		  UTOFU_SUCCESS);
	EXPECT_EQ(gate, TOFU_CHANNELS);
	EXPECT_EQ(utofu_query_vbg_info(id, NULL, &tni, &gate, &extra),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_query_vbg_info(id, coords, NULL, &gate, &extra),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_query_vbg_info(id, coords, &tni, NULL, &extra),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_query_vbg_info(id, coords, &tni, &gate, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	id |= TOFU_SET(TOFU_VBG_ID_GATE, TOFU_GATES);
	EXPECT_EQ(utofu_query_vbg_info(id, coords, &tni, &gate, &extra),
		  UTOFU_ERR_INVALID_BG_ID);
}

/* Bits that are those of the real machine, and others that are none. */
TEST_F(node, an_id_is_laid_out_as_on_the_machine)
{
	utofu_vbg_id_t id = 47 | X(200) | 100ULL << 40 | 3ULL << 48 |
			    1ULL << 56 | B(2) | 1ULL << 59 | 5ULL << 61;
	uint8_t coords[6], expected[6] = { 200, 100, 3, 1, 2, 1 };
	utofu_tni_id_t tni;
	utofu_bg_id_t gate;
	uint16_t extra;

	ASSERT_EQ(utofu_query_vbg_info(id, coords, &tni, &gate, &extra),
		  UTOFU_SUCCESS);
	EXPECT_EQ(gate, 47);
	EXPECT_EQ(tni, 5);
	EXPECT_EQ(memcmp(coords, expected, sizeof(coords)), 0);
	for (int bit = 6; bit < 32; bit++)
		EXPECT_EQ(utofu_query_vbg_info(id | 1ULL << bit, coords, &tni,
					       &gate, &extra),
			  UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_query_vbg_info(id | 1ULL << 60, coords, &tni, &gate,
				       &extra), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_query_vbg_info(id | B(3), coords, &tni, &gate, &extra),
		  UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_query_vbg_info(id | 7ULL << 61, coords, &tni, &gate,
				       &extra), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_query_vbg_info(NONE, coords, &tni, &gate, &extra),
		  UTOFU_ERR_INVALID_VBG_ID);
	/* The first gate of the first TNI of the first node */
	EXPECT_EQ(self->a[0], 0);
}

TEST_F(node, no_gate_is_found_that_is_not_allocated)
{
	utofu_vbg_id_t ids[2];

	memcpy(ids, self->a, sizeof(ids));
	ASSERT_EQ(utofu_free_vbg(self->a, 2), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_barrier(0, 0), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(set_alone(0), UTOFU_ERR_INVALID_VBG_ID);
	ASSERT_EQ(utofu_alloc_vbg(0, 2, 0, self->a), UTOFU_SUCCESS);
	EXPECT_EQ(memcmp(ids, self->a, sizeof(ids)), 0);
	EXPECT_EQ(utofu_barrier(NONE, 0), UTOFU_ERR_INVALID_VBG_ID);
}

/* An ID one bit off that of the process's own gate names none of its gates. */
TEST_F(node, no_other_number_is_an_own_gate)
{
	for (int bit = 0; bit < 64; bit++) {
		utofu_vbg_id_t id = self->a[0] ^ 1ULL << bit;

		if (id == self->a[1] || id == self->b[0])
			continue;
		EXPECT_EQ(utofu_barrier(id, 0), UTOFU_ERR_INVALID_VBG_ID);
		EXPECT_EQ(set_alone(id), UTOFU_ERR_INVALID_VBG_ID);
		EXPECT_EQ(utofu_poll_barrier(id, 0), UTOFU_ERR_INVALID_VBG_ID);
	}
}

/* ---- Links ---- */

/* The code of utofu_set_vbg() for a setting of a[1] with one change */
#define SETTING(change)                                \
	({                                             \
		struct utofu_vbg_setting s = unlinked; \
		s.vbg_id = self->a[1];                 \
		change;                                \
		utofu_set_vbg(&s, 1);                  \
	})

#define SETTING_BAD(change) \
	EXPECT_EQ(SETTING(change), UTOFU_ERR_INVALID_VBG_ID)

TEST_F(node, wrong_settings)
{
	struct utofu_vbg_setting s = unlinked;

	EXPECT_EQ(utofu_set_vbg(NULL, 1), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_set_vbg(&s, 0), UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_set_vbg(&s, 1), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(SETTING((void)0), UTOFU_SUCCESS);
	SETTING_BAD(s.src_lcl_vbg_id = self->b[0]);
	SETTING_BAD(s.dst_lcl_vbg_id = self->b[0]);
	SETTING_BAD(s.dst_lcl_vbg_id =
			    self->a[0] | TOFU_SET(TOFU_VBG_ID_GATE, 48));
	SETTING_BAD(s.src_rmt_vbg_id = NONE - 1);
	SETTING_BAD(s.dst_rmt_vbg_id =
			    self->a[0] | TOFU_SET(TOFU_VBG_ID_GATE, 48));
	SETTING_BAD(s.dst_rmt_vbg_id = self->a[0] | X(1));
	SETTING_BAD(s.dst_rmt_vbg_id = self->a[0] |
				       TOFU_SET(TOFU_VBG_ID_TNI, 5));
	SETTING_BAD(s.dst_rmt_vbg_id = self->a[0] | B(3));
	SETTING_BAD(s.dst_rmt_vbg_id = self->a[0] | 1ULL << 6);
	SETTING_BAD(s.dst_rmt_vbg_id = self->a[0] | 1ULL << 60);
	EXPECT_EQ(SETTING(s.dst_rmt_vbg_id = self->b[0]), UTOFU_SUCCESS);
	EXPECT_EQ(SETTING(s.dst_lcl_vbg_id = self->a[0]), UTOFU_SUCCESS);
}

TEST_F(node, wrong_paths)
{
	EXPECT_EQ(SETTING(s.dst_rmt_vbg_id = self->b[0];
			  memset(s.dst_path_coords, 0, 3)),
		  UTOFU_SUCCESS);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(SETTING(s.dst_rmt_vbg_id = self->b[0];
				  memset(s.dst_path_coords, 0, 3);
				  s.dst_path_coords[i] = 1),
			  UTOFU_ERR_INVALID_PATH);
		EXPECT_EQ(SETTING(s.dst_rmt_vbg_id = self->b[0];
				  s.dst_path_coords[i] = 0),
			  i ? UTOFU_SUCCESS : UTOFU_ERR_INVALID_PATH);
		/* Without destination there is no path. */
		EXPECT_EQ(SETTING(s.dst_path_coords[i] = 7), UTOFU_SUCCESS);
	}
}

static int both(const utofu_vbg_id_t a[], const utofu_vbg_id_t b[])
{
	int code;

	CHECK(!utofu_barrier(a[0], 0));
	CHECK(utofu_poll_barrier(a[0], 0) == UTOFU_ERR_NOT_COMPLETED);
	CHECK(!utofu_barrier(b[0], 0));
	code = tofu_wait_barrier(a[0]);
	return code ? code : tofu_wait_barrier(b[0]);
}

TEST_F(node, after_an_error_nothing_is_changed)
{
	struct utofu_vbg_setting s[] = { unlinked, unlinked, unlinked };

	s[0].vbg_id = self->a[0];
	s[1].vbg_id = self->a[1];
	EXPECT_EQ(utofu_set_vbg(s, 3), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(both(self->a, self->b), UTOFU_SUCCESS);
	s[2].vbg_id = self->b[0];
	ASSERT_EQ(utofu_barrier(self->b[0], 0), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_set_vbg(s, 3), UTOFU_ERR_BUSY);
	ASSERT_EQ(utofu_barrier(self->a[0], 0), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_barrier(self->b[0]), UTOFU_SUCCESS);
	/* It has ended, but not been polled. */
	EXPECT_EQ(utofu_set_vbg(s, 2), UTOFU_ERR_BUSY);
	EXPECT_EQ(tofu_wait_barrier(self->a[0]), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_set_vbg(s, 3), UTOFU_SUCCESS);
}

TEST_F(node, gates_can_be_set_again)
{
	for (int i = 0; i < 5; i++) {
		for (int n = 0; n < i; n++) {
			ASSERT_EQ(both(self->a, self->b), UTOFU_SUCCESS);
		}
		ASSERT_EQ(set_alone(self->a[0]), UTOFU_SUCCESS);
		EXPECT_EQ(utofu_poll_barrier(self->a[0], 0),
			  UTOFU_ERR_NOT_PROCESSED);
		ASSERT_EQ(utofu_barrier(self->a[0], 0), UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_barrier(self->a[0]), UTOFU_SUCCESS);
		ASSERT_EQ(set_pair(self->a, self->b), UTOFU_SUCCESS);
	}
}

/* ---- Start and end ---- */

TEST_F(node, wrong_starts)
{
	utofu_vbg_id_t id = self->a[0], fresh;
	uint64_t data[7] = { 0 };

	EXPECT_EQ(utofu_barrier(self->a[1], 0), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_barrier(id, 1), UTOFU_ERR_INVALID_FLAGS);
	ASSERT_EQ(utofu_alloc_vbg(0, 1, 0, &fresh), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_barrier(fresh, 0), UTOFU_ERR_INVALID_VBG_ID);
	ASSERT_EQ(set_alone(fresh), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_barrier(fresh, 0), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vbg(&fresh, 1), UTOFU_SUCCESS);

	EXPECT_EQ(utofu_reduce_uint64(self->a[1], UTOFU_REDUCE_OP_SUM, data, 1,
				      0),
		  UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_reduce_uint64(id, UTOFU_REDUCE_OP_SUM, data, 1, 1),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_reduce_uint64(id, (enum utofu_reduce_op)0, data, 1, 0),
		  UTOFU_ERR_INVALID_OP);
	EXPECT_EQ(utofu_reduce_uint64(id, (enum utofu_reduce_op)9, data, 1, 0),
		  UTOFU_ERR_INVALID_OP);
	EXPECT_EQ(utofu_reduce_uint64(id, UTOFU_REDUCE_OP_BARRIER, data, 1, 0),
		  UTOFU_ERR_NOT_SUPPORTED);
	EXPECT_EQ(utofu_reduce_uint64(id, UTOFU_REDUCE_OP_BFPSUM, data, 1, 0),
		  UTOFU_ERR_NOT_SUPPORTED);
	EXPECT_EQ(utofu_reduce_uint64(id, UTOFU_REDUCE_OP_SUM, data, 0, 0),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_reduce_uint64(id, UTOFU_REDUCE_OP_SUM, data, 7, 0),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_reduce_uint64(id, UTOFU_REDUCE_OP_MAXLOC, data, 3, 0),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_reduce_uint64(id, UTOFU_REDUCE_OP_SUM, NULL, 1, 0),
		  UTOFU_ERR_INVALID_POINTER);
	/* Nothing has been started by these. */
	EXPECT_EQ(utofu_poll_barrier(id, 0), UTOFU_ERR_NOT_PROCESSED);
	EXPECT_EQ(both(self->a, self->b), UTOFU_SUCCESS);
}

TEST_F(node, wrong_sums)
{
	double data[4] = { 1, 1, 1, 1 };
	utofu_vbg_id_t id = self->a[0];

	EXPECT_EQ(utofu_reduce_double(NONE, UTOFU_REDUCE_OP_BFPSUM, data, 1, 0),
		  UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_reduce_double(id, UTOFU_REDUCE_OP_BFPSUM, data, 1, 4),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_reduce_double(id, (enum utofu_reduce_op) - 1, data, 1, 0),
		  UTOFU_ERR_INVALID_OP);
	for (int op = UTOFU_REDUCE_OP_BARRIER; op < UTOFU_REDUCE_OP_BFPSUM;
	     op++) {
		EXPECT_EQ(utofu_reduce_double(id, (enum utofu_reduce_op)op,
					      data, 1, 0),
			  UTOFU_ERR_NOT_SUPPORTED);
	}
	EXPECT_EQ(utofu_reduce_double(id, UTOFU_REDUCE_OP_BFPSUM, data, 0, 0),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_reduce_double(id, UTOFU_REDUCE_OP_BFPSUM, data, 4, 0),
		  UTOFU_ERR_INVALID_NUMBER);
	EXPECT_EQ(utofu_reduce_double(id, UTOFU_REDUCE_OP_BFPSUM, NULL, 1, 0),
		  UTOFU_ERR_INVALID_POINTER);
	for (int i = 0; i < 3; i++) {
		double bad[] = { NAN, INFINITY, -INFINITY };

		data[2] = bad[i];
		EXPECT_EQ(utofu_reduce_double(id, UTOFU_REDUCE_OP_BFPSUM, data,
					      3, 0),
			  UTOFU_ERR_INVALID_DATA);
	}
	EXPECT_EQ(utofu_poll_reduce_double(id, 0, data),
		  UTOFU_ERR_NOT_PROCESSED);
}

TEST_F(node, busy_until_the_end_has_been_told)
{
	uint64_t data[] = { 1 };

	ASSERT_EQ(utofu_barrier(self->a[0], 0), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_barrier(self->a[0], 0), UTOFU_ERR_BUSY);
	EXPECT_EQ(utofu_reduce_uint64(self->a[0], UTOFU_REDUCE_OP_SUM, data, 1,
				      0),
		  UTOFU_ERR_BUSY);
	EXPECT_EQ(utofu_poll_barrier(self->a[0], 0), UTOFU_ERR_NOT_COMPLETED);
	ASSERT_EQ(utofu_barrier(self->b[0], 0), UTOFU_SUCCESS);
	ASSERT_EQ(tofu_wait_barrier(self->b[0]), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_barrier(self->a[0], 0), UTOFU_ERR_BUSY);
	ASSERT_EQ(tofu_wait_barrier(self->a[0]), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_poll_barrier(self->a[0], 0), UTOFU_ERR_NOT_PROCESSED);
	EXPECT_EQ(both(self->a, self->b), UTOFU_SUCCESS);
}

TEST_F(node, wrong_polls)
{
	utofu_vbg_id_t id = self->a[0];
	uint64_t word[6] = { 5 };
	double number[3] = { 5 };

	EXPECT_EQ(utofu_poll_barrier(id, 1), UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_poll_barrier(self->a[1], 0), UTOFU_ERR_INVALID_VBG_ID);
	EXPECT_EQ(utofu_poll_reduce_uint64(id, 1, word),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_poll_reduce_uint64(id, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_poll_reduce_double(id, 1, number),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_poll_reduce_double(id, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_poll_barrier(id, 0), UTOFU_ERR_NOT_PROCESSED);
	EXPECT_EQ(utofu_poll_reduce_uint64(id, 0, word),
		  UTOFU_ERR_NOT_PROCESSED);

	ASSERT_EQ(set_alone(id), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_barrier(id, 0), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_poll_reduce_uint64(id, 0, word), UTOFU_ERR_INVALID_OP);
	EXPECT_EQ(utofu_poll_reduce_double(id, 0, number),
		  UTOFU_ERR_INVALID_OP);
	EXPECT_EQ(tofu_wait_barrier(id), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_reduce_uint64(id, UTOFU_REDUCE_OP_SUM, word, 1, 0),
		  UTOFU_SUCCESS);
	EXPECT_EQ(utofu_poll_barrier(id, 0), UTOFU_ERR_INVALID_OP);
	EXPECT_EQ(utofu_poll_reduce_double(id, 0, number),
		  UTOFU_ERR_INVALID_OP);
	EXPECT_EQ(tofu_wait_uint64(id, word), UTOFU_SUCCESS);
	EXPECT_EQ(word[0], 5);
	ASSERT_EQ(utofu_reduce_double(id, UTOFU_REDUCE_OP_BFPSUM, number, 1, 0),
		  UTOFU_SUCCESS);
	EXPECT_EQ(utofu_poll_reduce_uint64(id, 0, word), UTOFU_ERR_INVALID_OP);
	EXPECT_EQ(tofu_wait_double(id, number), UTOFU_SUCCESS);
	EXPECT_EQ(number[0], 5);
}

TEST_F(node, a_mismatch_leaves_the_data_alone)
{
	uint64_t word[] = { 1, 2 }, got[] = { 8, 9 };

	ASSERT_EQ(utofu_reduce_uint64(self->a[0], UTOFU_REDUCE_OP_MAX, word, 2,
				      0),
		  UTOFU_SUCCESS);
	ASSERT_EQ(utofu_barrier(self->b[0], 0), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_uint64(self->a[0], got),
		  UTOFU_ERR_BARRIER_MISMATCH);
	EXPECT_EQ(got[0], 8);
	EXPECT_EQ(got[1], 9);
	EXPECT_EQ(tofu_wait_barrier(self->b[0]), UTOFU_ERR_BARRIER_MISMATCH);
	EXPECT_EQ(both(self->a, self->b), UTOFU_SUCCESS);
}

/* What the driver stores then looks like the end of barrier 2^32 - 1. */
TEST_F(node, a_device_that_is_gone_ends_no_barrier)
{
	struct tofu_vbg_group *group = tofu_vbg_find(self->a[0])->group;

	ASSERT_EQ(utofu_barrier(self->a[0], 0), UTOFU_SUCCESS);
	group->started = UINT32_MAX;
	group->gates->channel->done = htole64(TOFU_CHANNEL_GONE);
	EXPECT_EQ(utofu_poll_barrier(self->a[0], 0), UTOFU_ERR_FATAL);
	EXPECT_EQ(utofu_poll_barrier(self->a[0], 0), UTOFU_ERR_NOT_PROCESSED);
}

/* a[1] gets two signals of b[0] before one of a[0]. */
TEST_F(node, an_overrun_is_told)
{
	ASSERT_EQ(SETTING(s.vbg_id = self->b[0];
			  s.dst_rmt_vbg_id = self->a[1]),
		  UTOFU_SUCCESS);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(utofu_barrier(self->b[0], 0), UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_barrier(self->b[0]), UTOFU_SUCCESS);
	}
	ASSERT_EQ(utofu_barrier(self->a[0], 0), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_barrier(self->a[0]), UTOFU_ERR_BARRIER_OTHER);
	ASSERT_EQ(set_pair(self->a, self->b), UTOFU_SUCCESS);
	EXPECT_EQ(both(self->a, self->b), UTOFU_SUCCESS);
}

TEST_F(node, gates_freed_while_begun_are_as_new_for_the_next)
{
	for (int i = 0; i < 20; i++) {
		utofu_vbg_id_t old = self->a[0];

		ASSERT_EQ(utofu_barrier(self->a[0], 0), UTOFU_SUCCESS);
		ASSERT_EQ(utofu_free_vbg(self->a, 2), UTOFU_SUCCESS);
		ASSERT_EQ(utofu_alloc_vbg(0, 2, 0, self->a), UTOFU_SUCCESS);
		ASSERT_EQ(self->a[0], old);
		EXPECT_EQ(utofu_barrier(self->a[0], 0),
			  UTOFU_ERR_INVALID_VBG_ID);
		ASSERT_EQ(set_pair(self->a, self->b), UTOFU_SUCCESS);
		EXPECT_EQ(utofu_poll_barrier(self->a[0], 0),
			  UTOFU_ERR_NOT_PROCESSED);
		ASSERT_EQ(both(self->a, self->b), UTOFU_SUCCESS);
	}
}

/* ---- Threads ---- */

#define THREADS 4
#define THREAD_ROUNDS 500

struct member {
	pthread_t thread;
	const utofu_vbg_id_t *vbg;
	uint64_t *came;
	unsigned int ended;
	bool bad;
};

/* A pair of threads, each with a member of a barrier; pairs do not mind. */
static void *member_main(void *arg)
{
	struct member *me = arg;

	for (uint64_t i = 1; i <= THREAD_ROUNDS && !me->bad; i++) {
		__atomic_fetch_add(me->came, 1, __ATOMIC_SEQ_CST);
		me->bad = utofu_barrier(me->vbg[0], 0) ||
			  tofu_wait_barrier(me->vbg[0]) ||
			  __atomic_load_n(me->came, __ATOMIC_SEQ_CST) < 2 * i;
	}
	return NULL;
}

TEST_F(node, threads_with_gates_of_their_own)
{
	struct member member[2 * THREADS] = { 0 };
	utofu_vbg_id_t vbg[2 * THREADS][2];
	uint64_t came[THREADS] = { 0 };

	for (int i = 0; i < 2 * THREADS; i++) {
		ASSERT_EQ(utofu_alloc_vbg(2, 2, i % 2, vbg[i]), UTOFU_SUCCESS);
		member[i].vbg = vbg[i];
		member[i].came = &came[i / 2];
	}
	for (int i = 0; i < 2 * THREADS; i += 2) {
		ASSERT_EQ(set_pair(vbg[i], vbg[i + 1]), UTOFU_SUCCESS);
	}
	for (int i = 0; i < 2 * THREADS; i++)
		pthread_create(&member[i].thread, NULL, member_main,
			       &member[i]);
	for (int i = 0; i < 2 * THREADS; i++) {
		pthread_join(member[i].thread, NULL);
		EXPECT_FALSE(member[i].bad);
		EXPECT_EQ(utofu_free_vbg(vbg[i], 2), UTOFU_SUCCESS);
	}
}

static unsigned int told;

/* Any thread may start the next one; one thread learns of each end. */
static void *sharer_main(void *arg)
{
	struct member *me = arg;
	unsigned int all = THREADS * THREAD_ROUNDS;

	while (__atomic_load_n(&told, __ATOMIC_SEQ_CST) < all && !me->bad) {
		int code = utofu_barrier(me->vbg[0], 0);

		me->bad = code && code != UTOFU_ERR_BUSY;
		code = utofu_poll_barrier(me->vbg[0], 0);
		if (!code)
			__atomic_fetch_add(&told, 1, __ATOMIC_SEQ_CST);
		me->ended += !code;
		me->bad |= code && code != UTOFU_ERR_NOT_COMPLETED &&
			   code != UTOFU_ERR_NOT_PROCESSED;
	}
	return NULL;
}

TEST_F(node, threads_that_share_a_gate)
{
	struct member member[THREADS] = { 0 };
	const struct tofu_vbg *vbg;
	unsigned int ended = 0;
	utofu_vbg_id_t id;

	ASSERT_EQ(utofu_alloc_vbg(2, 1, UTOFU_VBG_FLAG_THREAD_SAFE, &id),
		  UTOFU_SUCCESS);
	ASSERT_EQ(set_alone(id), UTOFU_SUCCESS);
	for (int i = 0; i < THREADS; i++) {
		member[i].vbg = &id;
		pthread_create(&member[i].thread, NULL, sharer_main,
			       &member[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(member[i].thread, NULL);
		EXPECT_FALSE(member[i].bad);
		ended += member[i].ended;
	}
	/* All barriers that were started have ended once, except the last. */
	vbg = tofu_vbg_find(id);
	ASSERT_NE(vbg, NULL);
	EXPECT_EQ(ended, told);
	EXPECT_EQ(ended + vbg->group->begun, vbg->group->started);
	EXPECT_EQ(utofu_free_vbg(&id, 1), UTOFU_SUCCESS);
}

static utofu_vbg_id_t waiter_vbg;
static bool waiter_through;

static void *waiter_main(void *arg)
{
	(void)arg;
	utofu_barrier(waiter_vbg, 0);
	utofu_poll_barrier(waiter_vbg, 0);
	__atomic_store_n(&waiter_through, true, __ATOMIC_SEQ_CST);
	return NULL;
}

/* However long the other thread is given, it does not get past the lock. */
TEST_F(node, a_thread_waits_for_the_one_that_has_the_gate)
{
	const struct tofu_vbg *vbg;
	pthread_t waiter;

	ASSERT_EQ(utofu_alloc_vbg(2, 1, UTOFU_VBG_FLAG_THREAD_SAFE,
				  &waiter_vbg),
		  UTOFU_SUCCESS);
	ASSERT_EQ(set_alone(waiter_vbg), UTOFU_SUCCESS);
	vbg = tofu_vbg_find(waiter_vbg);
	ASSERT_NE(vbg, NULL);
	tofu_vbg_lock(vbg->group);
	pthread_create(&waiter, NULL, waiter_main, NULL);
	usleep(50000);
	EXPECT_FALSE(__atomic_load_n(&waiter_through, __ATOMIC_SEQ_CST));
	EXPECT_FALSE(vbg->group->begun);
	tofu_vbg_unlock(vbg->group);
	pthread_join(waiter, NULL);
	EXPECT_TRUE(waiter_through);
	EXPECT_EQ(utofu_free_vbg(&waiter_vbg, 1), UTOFU_SUCCESS);
}

/* ---- After fork() ---- */

static void child_main(utofu_vbg_id_t id)
{
	struct utofu_vbg_setting s = unlinked;
	utofu_tni_id_t *tnis;
	uint64_t word = 1;
	double number = 1;
	size_t count;

	s.vbg_id = id;
	CHECK(utofu_barrier(id, 0) == UTOFU_ERR_NOT_AVAILABLE);
	CHECK(utofu_reduce_uint64(id, UTOFU_REDUCE_OP_SUM, &word, 1, 0) ==
	      UTOFU_ERR_NOT_AVAILABLE);
	CHECK(utofu_reduce_double(id, UTOFU_REDUCE_OP_BFPSUM, &number, 1, 0) ==
	      UTOFU_ERR_NOT_AVAILABLE);
	CHECK(utofu_poll_barrier(id, 0) == UTOFU_ERR_NOT_AVAILABLE);
	CHECK(utofu_poll_reduce_uint64(id, 0, &word) ==
	      UTOFU_ERR_NOT_AVAILABLE);
	CHECK(utofu_poll_reduce_double(id, 0, &number) ==
	      UTOFU_ERR_NOT_AVAILABLE);
	CHECK(utofu_set_vbg(&s, 1) == UTOFU_ERR_NOT_AVAILABLE);
	CHECK(utofu_free_vbg(&id, 1) == UTOFU_ERR_NOT_AVAILABLE);
	CHECK(utofu_alloc_vbg(0, 1, 0, &id) == UTOFU_ERR_NOT_AVAILABLE);
	CHECK(utofu_get_barrier_tnis(&tnis, &count) ==
	      UTOFU_ERR_NOT_AVAILABLE);
}

TEST_F(node, a_child_has_no_gates)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		child_main(self->a[0]);
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(both(self->a, self->b), UTOFU_SUCCESS);
}

TEST_HARNESS_MAIN
