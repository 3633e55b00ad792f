/* SPDX-License-Identifier: MIT */
/*
 * The uTofu interface on a machine of one node: every function, and every
 * return code by what brings it about.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "harness.h"
#include "utofu-util.h"

#define BYTES 65536

/* The layouts that programs compiled elsewhere rely on. */
_Static_assert(sizeof(struct utofu_mrq_notice) == 64, "a notice");
_Static_assert(offsetof(struct utofu_mrq_notice, vcq_id) == 8, "a notice");
_Static_assert(offsetof(struct utofu_mrq_notice, rmt_value) == 24, "a notice");
_Static_assert(offsetof(struct utofu_mrq_notice, rmt_stadd) == 40, "a notice");
_Static_assert(offsetof(struct utofu_onesided_caps, num_cmp_ids) ==
	       2 * sizeof(long), "the capabilities");
_Static_assert(offsetof(struct utofu_onesided_caps, max_gap) ==
	       2 * sizeof(long) + 8 + 7 * sizeof(size_t), "the capabilities");
_Static_assert(UTOFU_ERR_MRQ_RMT_LENGTH == -199, "a code");
_Static_assert(UTOFU_ERR_INVALID_DATA == -533, "a code");
_Static_assert(UTOFU_ONESIDED_FLAG_PATH(3) == 3UL << 28, "a flag");

FIXTURE(node)
{
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	uint8_t *src;
	uint8_t *dst;
	utofu_stadd_t src_at;
	utofu_stadd_t dst_at;
};

FIXTURE_SETUP(node)
{
	setenv("TOFU_PORT", "emu", 1);
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(self->vcq, &self->id), UTOFU_SUCCESS);
	self->src = aligned_alloc(256, BYTES);
	self->dst = aligned_alloc(256, BYTES);
	for (int i = 0; i < BYTES; i++)
		self->src[i] = (uint8_t)(i * 7 + 1);
	memset(self->dst, 0, BYTES);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->src, BYTES, 0, &self->src_at),
		  UTOFU_SUCCESS);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->dst, BYTES, 0, &self->dst_at),
		  UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(node)
{
	EXPECT_EQ(utofu_free_vcq(self->vcq), UTOFU_SUCCESS);
	free(self->src);
	free(self->dst);
}

TEST_F(node, tnis_and_their_capabilities)
{
	struct utofu_onesided_caps *caps;
	utofu_tni_id_t *ids;
	size_t count;

	ASSERT_EQ(utofu_get_onesided_tnis(&ids, &count), UTOFU_SUCCESS);
	ASSERT_EQ(count, 4);
	for (size_t i = 0; i < count; i++)
		EXPECT_EQ(ids[i], i);
	free(ids);
	EXPECT_EQ(utofu_get_onesided_tnis(NULL, &count),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_get_onesided_tnis(&ids, NULL),
		  UTOFU_ERR_INVALID_POINTER);

	ASSERT_EQ(utofu_query_onesided_caps(3, &caps), UTOFU_SUCCESS);
	EXPECT_EQ(caps->flags, UTOFU_ONESIDED_CAP_FLAG_SESSION_MODE |
				       UTOFU_ONESIDED_CAP_FLAG_ARMW);
	EXPECT_EQ(caps->armw_ops, 0x3f);
	EXPECT_EQ(caps->num_cmp_ids, 8);
	EXPECT_EQ(caps->num_reserved_stags, 256);
	EXPECT_EQ(caps->stag_address_alignment, 256);
	EXPECT_EQ(caps->max_toq_desc_size, 64);
	EXPECT_EQ(caps->max_putget_size, 16777215);
	EXPECT_EQ(caps->max_piggyback_size, 32);
	EXPECT_EQ(caps->max_edata_size, 1);
	EXPECT_EQ(utofu_query_onesided_caps(4, &caps),
		  UTOFU_ERR_INVALID_TNI_ID);
	EXPECT_EQ(utofu_query_onesided_caps(0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
}

TEST_F(node, versions_and_coordinates)
{
	uint8_t coords[6] = { 9, 9, 9, 9, 9, 9 }, zero[6] = { 0 };
	int major = -1, minor = -1;

	utofu_query_utofu_version(&major, &minor);
	EXPECT_EQ(major, 1);
	EXPECT_EQ(minor, 0);
	utofu_query_tofu_version(&major, NULL);
	EXPECT_EQ(major, 2);
	EXPECT_EQ(utofu_query_my_coords(coords), UTOFU_SUCCESS);
	EXPECT_EQ(memcmp(coords, zero, sizeof(zero)), 0);
	EXPECT_EQ(utofu_query_my_coords(NULL), UTOFU_ERR_INVALID_POINTER);
}

TEST_F(node, vcq_arguments)
{
	utofu_vcq_hdl_t vcq;

	EXPECT_EQ(utofu_create_vcq(4, 0, &vcq), UTOFU_ERR_INVALID_TNI_ID);
	EXPECT_EQ(utofu_create_vcq(0, 1UL << 3, &vcq),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_create_vcq(0, 0, NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_create_vcq_with_cmp_id(0, 8, 0, &vcq),
		  UTOFU_ERR_INVALID_CMP_ID);
}

TEST_F(node, a_handle_that_is_none_is_refused)
{
	const utofu_vcq_hdl_t none[] = { 0, 1, self->vcq + 1,
					 self->vcq + 2048,
					 (utofu_vcq_hdl_t)-1 };
	struct utofu_mrq_notice notice;
	utofu_vcq_hdl_t freed, again;
	utofu_vcq_id_t id;
	void *cbdata;

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		EXPECT_EQ(utofu_query_vcq_id(none[i], &id),
			  UTOFU_ERR_INVALID_VCQ_HDL);
		EXPECT_EQ(utofu_poll_tcq(none[i], 0, &cbdata),
			  UTOFU_ERR_INVALID_VCQ_HDL);
		EXPECT_EQ(utofu_poll_mrq(none[i], 0, &notice),
			  UTOFU_ERR_INVALID_VCQ_HDL);
		EXPECT_EQ(utofu_nop(none[i], 0, NULL),
			  UTOFU_ERR_INVALID_VCQ_HDL);
		EXPECT_EQ(utofu_free_vcq(none[i]), UTOFU_ERR_INVALID_VCQ_HDL);
	}
	ASSERT_EQ(utofu_create_vcq(0, 0, &freed), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_free_vcq(freed), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_create_vcq(0, 0, &again), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_nop(freed, 0, NULL), UTOFU_ERR_INVALID_VCQ_HDL);
	EXPECT_EQ(utofu_free_vcq(again), UTOFU_SUCCESS);
}

static unsigned int cq_of(utofu_vcq_hdl_t vcq)
{
	uint16_t extra;
	utofu_tni_id_t tni;
	utofu_cq_id_t cq = 99;
	utofu_vcq_id_t id;
	uint8_t coords[6];

	if (!utofu_query_vcq_id(vcq, &id))
		utofu_query_vcq_info(id, coords, &tni, &cq, &extra);
	return cq;
}

TEST_F(node, vcqs_of_a_kind_share_a_queue)
{
	utofu_vcq_hdl_t other, exclusive, safe;

	EXPECT_EQ(cq_of(self->vcq), 0);
	ASSERT_EQ(utofu_create_vcq_with_cmp_id(0, 5, 0, &other),
		  UTOFU_SUCCESS);
	EXPECT_EQ(cq_of(other), 0);
	ASSERT_EQ(utofu_create_vcq(0, UTOFU_VCQ_FLAG_EXCLUSIVE, &exclusive),
		  UTOFU_SUCCESS);
	EXPECT_EQ(cq_of(exclusive), 1);
	ASSERT_EQ(utofu_create_vcq(0, UTOFU_VCQ_FLAG_THREAD_SAFE, &safe),
		  UTOFU_SUCCESS);
	EXPECT_EQ(cq_of(safe), 2);
	EXPECT_EQ(utofu_free_vcq(exclusive), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vcq(safe), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vcq(other), UTOFU_SUCCESS);
}

TEST_F(node, a_component_id_is_used_once)
{
	utofu_vcq_hdl_t first, second;

	ASSERT_EQ(utofu_create_vcq_with_cmp_id(1, 2, 0, &first),
		  UTOFU_SUCCESS);
	EXPECT_EQ(utofu_create_vcq_with_cmp_id(1, 2, 0, &second),
		  UTOFU_ERR_USED);
	EXPECT_EQ(utofu_free_vcq(first), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_create_vcq_with_cmp_id(1, 2, 0, &second),
		  UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vcq(second), UTOFU_SUCCESS);
}

TEST_F(node, queues_run_out)
{
	utofu_vcq_hdl_t vcq[12];

	for (int i = 0; i < 11; i++)
		ASSERT_EQ(utofu_create_vcq(2, UTOFU_VCQ_FLAG_EXCLUSIVE,
					   &vcq[i]), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_create_vcq(2, UTOFU_VCQ_FLAG_EXCLUSIVE, &vcq[11]),
		  UTOFU_ERR_FULL);
	EXPECT_EQ(utofu_create_vcq(2, 0, &vcq[11]), UTOFU_ERR_FULL);
	for (int i = 0; i < 11; i++)
		EXPECT_EQ(utofu_free_vcq(vcq[i]), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_create_vcq(2, 0, &vcq[11]), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_free_vcq(vcq[11]), UTOFU_SUCCESS);
}

TEST_F(node, lanes_overflow_into_another_queue)
{
	utofu_vcq_hdl_t vcq[20];

	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(utofu_create_vcq(3, 0, &vcq[i]), UTOFU_SUCCESS);
		EXPECT_EQ(cq_of(vcq[i]), i / 8);
	}
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(utofu_free_vcq(vcq[i]), UTOFU_SUCCESS);
}

static utofu_vcq_id_t id_of(utofu_vcq_hdl_t vcq)
{
	utofu_vcq_id_t id = 0;

	utofu_query_vcq_id(vcq, &id);
	return id;
}

/* What still comes for the one that is closed does not reach the next. */
TEST_F(node, the_id_of_a_closed_vcq_is_not_the_next_ones)
{
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t last = 0;

	for (int i = 0; i < 4; i++) {
		ASSERT_EQ(utofu_create_vcq(3, 0, &vcq), UTOFU_SUCCESS);
		EXPECT_NE(id_of(vcq), last);
		last = id_of(vcq);
		EXPECT_EQ(utofu_free_vcq(vcq), UTOFU_SUCCESS);
	}
}

/* Programs register with a chosen STAG on each TNI, and use one STADD for all. */
TEST_F(node, the_first_vcqs_of_all_tnis_have_the_same_stadds)
{
	utofu_stadd_t stadd, first;
	utofu_vcq_hdl_t vcq[4];

	ASSERT_EQ(utofu_query_stadd(self->id, 7, &first), UTOFU_SUCCESS);
	for (utofu_tni_id_t tni = 1; tni < 4; tni++) {
		ASSERT_EQ(utofu_create_vcq(tni, 0, &vcq[tni]), UTOFU_SUCCESS);
		ASSERT_EQ(utofu_query_stadd(id_of(vcq[tni]), 7, &stadd),
			  UTOFU_SUCCESS);
		EXPECT_EQ(first, stadd);
	}
	for (utofu_tni_id_t tni = 1; tni < 4; tni++)
		EXPECT_EQ(utofu_free_vcq(vcq[tni]), UTOFU_SUCCESS);
}

TEST_F(node, a_constructed_id_is_the_queried_one)
{
	uint8_t coords[6] = { 0 }, outside[6] = { 1, 0, 0, 0, 0, 0 }, got[6];
	utofu_vcq_id_t made, asked;
	utofu_vcq_hdl_t vcq;
	utofu_tni_id_t tni;
	utofu_cq_id_t cq;
	uint16_t extra;

	for (unsigned int cmp = 0; cmp < 8; cmp++) {
		ASSERT_EQ(utofu_create_vcq_with_cmp_id(3, cmp, 0, &vcq),
			  UTOFU_SUCCESS);
		ASSERT_EQ(utofu_query_vcq_id(vcq, &asked), UTOFU_SUCCESS);
		ASSERT_EQ(utofu_construct_vcq_id(coords, 3, 0, cmp, &made),
			  UTOFU_SUCCESS);
		EXPECT_EQ(made, asked);
		ASSERT_EQ(utofu_query_vcq_info(made, got, &tni, &cq, &extra),
			  UTOFU_SUCCESS);
		EXPECT_EQ(tni, 3);
		EXPECT_EQ(cq, 0);
		EXPECT_EQ(extra, cmp);
		EXPECT_EQ(memcmp(got, coords, sizeof(got)), 0);
		EXPECT_EQ(utofu_free_vcq(vcq), UTOFU_SUCCESS);
	}
	EXPECT_EQ(utofu_construct_vcq_id(outside, 0, 0, 0, &made),
		  UTOFU_ERR_INVALID_COORDS);
	EXPECT_EQ(utofu_construct_vcq_id(coords, 4, 0, 0, &made),
		  UTOFU_ERR_INVALID_TNI_ID);
	EXPECT_EQ(utofu_construct_vcq_id(coords, 0, 11, 0, &made),
		  UTOFU_ERR_INVALID_CQ_ID);
	EXPECT_EQ(utofu_construct_vcq_id(coords, 0, 0, 8, &made),
		  UTOFU_ERR_INVALID_CMP_ID);
	EXPECT_EQ(utofu_construct_vcq_id(NULL, 0, 0, 0, &made),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_query_vcq_info(~0ULL, got, &tni, &cq, &extra),
		  UTOFU_ERR_INVALID_VCQ_ID);
	EXPECT_EQ(utofu_query_vcq_info(made, NULL, &tni, &cq, &extra),
		  UTOFU_ERR_INVALID_POINTER);
}

TEST_F(node, a_path_is_part_of_an_id)
{
	uint8_t path[3] = { 0, 0, 0 }, outside[3] = { 0, 1, 0 };
	utofu_vcq_id_t id = self->id, bad = ~0ULL;

	EXPECT_EQ(utofu_set_vcq_id_path(&id, outside), UTOFU_ERR_INVALID_PATH);
	EXPECT_EQ(utofu_set_vcq_id_path(NULL, path),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_set_vcq_id_path(&bad, path), UTOFU_ERR_INVALID_VCQ_ID);
	EXPECT_EQ(id, self->id);
	ASSERT_EQ(utofu_set_vcq_id_path(&id, path), UTOFU_SUCCESS);
	EXPECT_NE(id, self->id);
	EXPECT_EQ(utofu_put_piggyback8(self->vcq, id, 5, self->dst_at, 8, 0,
				       RMT, NULL), UTOFU_SUCCESS);
	struct utofu_mrq_notice notice;

	ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
	EXPECT_EQ(notice.vcq_id, self->id);
	EXPECT_EQ(utofu_set_vcq_id_path(&id, NULL), UTOFU_SUCCESS);
	EXPECT_EQ(id, self->id);
}

TEST_F(node, registration_arguments)
{
	void *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	utofu_stadd_t at;

	EXPECT_EQ(utofu_reg_mem(self->vcq, NULL, 8, 0, &at),
		  UTOFU_ERR_INVALID_ADDRESS);
	EXPECT_EQ(utofu_reg_mem(self->vcq, gone, 4096, 0, &at),
		  UTOFU_ERR_INVALID_ADDRESS);
	EXPECT_EQ(utofu_reg_mem(self->vcq, self->src, 0, 0, &at),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(utofu_reg_mem(self->vcq, self->src, SIZE_MAX, 0, &at),
		  UTOFU_ERR_INVALID_ADDRESS);
	EXPECT_EQ(utofu_reg_mem(self->vcq, self->src, 8, 2, &at),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_reg_mem(self->vcq, self->src, 8, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_reg_mem_with_stag(self->vcq, self->src, 8, 256, 0, &at),
		  UTOFU_ERR_INVALID_STAG);
	EXPECT_EQ(utofu_dereg_mem(self->vcq, self->src_at, 1),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_dereg_mem(self->vcq, self->src_at + 8, 0),
		  UTOFU_ERR_INVALID_STADD);
	EXPECT_EQ(utofu_query_stadd(self->id, 256, &at),
		  UTOFU_ERR_INVALID_STAG);
	EXPECT_EQ(utofu_query_stadd(~0ULL, 0, &at), UTOFU_ERR_INVALID_VCQ_ID);
	EXPECT_EQ(utofu_query_stadd(self->id, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	munmap(gone, 4096);
}

TEST_F(node, a_chosen_stag_gives_a_known_stadd)
{
	utofu_stadd_t made, asked;

	for (unsigned int stag = 0; stag < 256; stag += 85) {
		ASSERT_EQ(utofu_reg_mem_with_stag(self->vcq, self->src, BYTES,
						  stag, 0, &made),
			  UTOFU_SUCCESS);
		ASSERT_EQ(utofu_query_stadd(self->id, stag, &asked),
			  UTOFU_SUCCESS);
		EXPECT_EQ(made, asked);
		EXPECT_EQ(utofu_reg_mem_with_stag(self->vcq, self->dst, 8,
						  stag, 0, &made),
			  UTOFU_ERR_USED);
		EXPECT_EQ(utofu_dereg_mem(self->vcq, asked, 0), UTOFU_SUCCESS);
		EXPECT_EQ(utofu_dereg_mem(self->vcq, asked, 0),
			  UTOFU_ERR_INVALID_STADD);
	}
	ASSERT_EQ(utofu_reg_mem_with_stag(self->vcq, self->src + 0x123, 8, 7,
					  0, &made), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_stadd(self->id, 7, &asked), UTOFU_SUCCESS);
	EXPECT_EQ(made, asked + 0x23);
}

TEST_F(node, a_put_and_its_notices)
{
	struct utofu_mrq_notice local, remote;
	void *cbdata = NULL;
	int tag;

	ASSERT_EQ(utofu_put(self->vcq, self->id, self->src_at + 3,
			    self->dst_at + 1, 5000, 0xa5, LCL | RMT | TCQ,
			    &tag), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_SUCCESS);
	EXPECT_EQ(cbdata, &tag);
	ASSERT_EQ(tofu_wait_mrq(self->vcq, &remote), UTOFU_SUCCESS);
	ASSERT_EQ(tofu_wait_mrq(self->vcq, &local), UTOFU_SUCCESS);
	EXPECT_EQ(remote.notice_type, UTOFU_MRQ_TYPE_RMT_PUT);
	EXPECT_EQ(local.notice_type, UTOFU_MRQ_TYPE_LCL_PUT);
	EXPECT_EQ(local.vcq_id, self->id);
	EXPECT_EQ(remote.vcq_id, self->id);
	EXPECT_EQ(local.edata, 0xa5);
	EXPECT_EQ(remote.edata, 0xa5);
	EXPECT_EQ(local.lcl_stadd, self->src_at + 3);
	EXPECT_EQ(local.rmt_stadd, self->dst_at + 1);
	EXPECT_EQ(remote.rmt_stadd, self->dst_at + 1);
	EXPECT_EQ(local.rmt_value, 0);
	EXPECT_EQ(memcmp(self->dst + 1, self->src + 3, 5000), 0);
	EXPECT_EQ(self->dst[0], 0);
	EXPECT_EQ(self->dst[5001], 0);
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 0, &local), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata), UTOFU_ERR_NOT_FOUND);
}

TEST_F(node, a_get_and_its_notices)
{
	struct utofu_mrq_notice notice;
	bool local = false, remote = false;

	ASSERT_EQ(utofu_get(self->vcq, self->id, self->dst_at, self->src_at,
			    BYTES, 7, LCL | RMT, NULL), UTOFU_SUCCESS);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		local |= notice.notice_type == UTOFU_MRQ_TYPE_LCL_GET;
		remote |= notice.notice_type == UTOFU_MRQ_TYPE_RMT_GET;
		EXPECT_EQ(notice.edata, 7);
	}
	EXPECT_TRUE(local);
	EXPECT_TRUE(remote);
	EXPECT_EQ(memcmp(self->dst, self->src, BYTES), 0);
}

TEST_F(node, piggyback_of_every_length)
{
	struct utofu_mrq_notice notice;

	for (size_t n = 1; n <= 32; n++) {
		memset(self->dst, 0xee, 64);
		ASSERT_EQ(utofu_put_piggyback(self->vcq, self->id,
					      self->src + n, self->dst_at + 8,
					      n, n, LCL, NULL),
			  UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		EXPECT_EQ(notice.edata, n);
		EXPECT_EQ(notice.lcl_stadd, 0);
		EXPECT_EQ(memcmp(self->dst + 8, self->src + n, n), 0);
		EXPECT_EQ(self->dst[7], 0xee);
		EXPECT_EQ(self->dst[8 + n], 0xee);
	}
	for (size_t n = 1; n <= 8; n++) {
		memset(self->dst, 0xee, 64);
		ASSERT_EQ(utofu_put_piggyback8(self->vcq, self->id,
					       0x0807060504030201ULL,
					       self->dst_at, n, 0, LCL, NULL),
			  UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		for (size_t i = 0; i < n; i++)
			EXPECT_EQ(self->dst[i], i + 1);
		EXPECT_EQ(self->dst[n], 0xee);
	}
}

static uint64_t armw_result(int op, uint64_t old, uint64_t value)
{
	switch (op) {
	case UTOFU_ARMW_OP_SWAP:
		return value;
	case UTOFU_ARMW_OP_ADD:
		return old + value;
	case UTOFU_ARMW_OP_XOR:
		return old ^ value;
	case UTOFU_ARMW_OP_AND:
		return old & value;
	default:
		return old | value;
	}
}

TEST_F(node, atomics_of_8_bytes)
{
	const uint64_t value = 0xf0f0123456789abcULL;
	uint64_t *word = (uint64_t *)self->dst, old = ~0ULL << 9;
	struct utofu_mrq_notice notice;

	for (int op = UTOFU_ARMW_OP_SWAP; op <= UTOFU_ARMW_OP_OR; op++) {
		*word = old;
		ASSERT_EQ(utofu_armw8(self->vcq, self->id, op, value,
				      self->dst_at, op, LCL, NULL),
			  UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		EXPECT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_LCL_ARMW);
		EXPECT_EQ(notice.rmt_value, old);
		EXPECT_EQ(notice.edata, op);
		EXPECT_EQ(*word, armw_result(op, old, value));
	}
	ASSERT_EQ(utofu_cswap8(self->vcq, self->id, *word, 77, self->dst_at, 0,
			       LCL, NULL), UTOFU_SUCCESS);
	ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
	EXPECT_EQ(*word, 77);
	ASSERT_EQ(utofu_cswap8(self->vcq, self->id, 76, 1, self->dst_at, 0,
			       LCL, NULL), UTOFU_SUCCESS);
	ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
	EXPECT_EQ(notice.rmt_value, 77);
	EXPECT_EQ(*word, 77);
}

TEST_F(node, the_target_of_an_atomic_is_told_which_word_it_was)
{
	const utofu_stadd_t at = self->dst_at + 16;
	struct utofu_mrq_notice notice;

	((uint64_t *)self->dst)[2] = 5;
	ASSERT_EQ(utofu_armw8(self->vcq, self->id, UTOFU_ARMW_OP_ADD, 1, at, 7,
			      RMT, NULL), UTOFU_SUCCESS);
	ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
	EXPECT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_RMT_ARMW);
	EXPECT_EQ(notice.rmt_value, at);
	EXPECT_EQ(notice.rmt_stadd, at);
	EXPECT_EQ(notice.edata, 7);
}

TEST_F(node, atomics_of_4_bytes)
{
	const uint32_t value = 0xf0f01234, old = 0xfffffe00;
	uint32_t *word = (uint32_t *)self->dst;
	struct utofu_mrq_notice notice;

	word[1] = 0x55555555;
	for (int op = UTOFU_ARMW_OP_SWAP; op <= UTOFU_ARMW_OP_OR; op++) {
		*word = old;
		ASSERT_EQ(utofu_armw4(self->vcq, self->id, op, value,
				      self->dst_at, 0, LCL, NULL),
			  UTOFU_SUCCESS);
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		EXPECT_EQ(notice.rmt_value, old);
		EXPECT_EQ(*word, (uint32_t)armw_result(op, old, value));
	}
	ASSERT_EQ(utofu_cswap4(self->vcq, self->id, *word, 77, self->dst_at, 0,
			       LCL, NULL), UTOFU_SUCCESS);
	ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
	EXPECT_EQ(*word, 77);
	EXPECT_EQ(word[1], 0x55555555);
	ASSERT_EQ(utofu_armw4(self->vcq, self->id, UTOFU_ARMW_OP_ADD, 1,
			      self->dst_at + 2, 0, LCL, NULL), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	EXPECT_EQ(*word, 77);
}

TEST_F(node, transfer_arguments)
{
	uint64_t coords = self->id;
	utofu_vcq_hdl_t v = self->vcq;
	utofu_stadd_t s = self->src_at, d = self->dst_at;
	uint8_t data[33] = { 0 };

	EXPECT_EQ(utofu_put(v, ~0ULL, s, d, 8, 0, 0, NULL),
		  UTOFU_ERR_INVALID_VCQ_ID);
	EXPECT_EQ(utofu_put(v, coords, s | 1ULL << 58, d, 8, 0, 0, NULL),
		  UTOFU_ERR_INVALID_STADD);
	EXPECT_EQ(utofu_get(v, coords, s, d | 1ULL << 63, 8, 0, 0, NULL),
		  UTOFU_ERR_INVALID_STADD);
	EXPECT_EQ(utofu_put(v, coords, s, d, 16777216, 0, 0, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(utofu_put(v, coords, s, d, 8, 256, 0, NULL),
		  UTOFU_ERR_INVALID_EDATA);
	EXPECT_EQ(utofu_put(v, coords, s, d, 8, 0, 1UL << 4, NULL),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_put(v, coords, s, d, 8, 0,
			    UTOFU_ONESIDED_FLAG_PATH(15), NULL),
		  UTOFU_ERR_INVALID_PATH_ID);
	EXPECT_EQ(utofu_put_piggyback(v, coords, data, d, 0, 0, 0, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(utofu_put_piggyback(v, coords, data, d, 33, 0, 0, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(utofu_put_piggyback(v, coords, NULL, d, 8, 0, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_put_piggyback8(v, coords, 0, d, 9, 0, 0, NULL),
		  UTOFU_ERR_INVALID_SIZE);
	EXPECT_EQ(utofu_armw8(v, coords, 0, 1, d, 0, 0, NULL),
		  UTOFU_ERR_INVALID_OP);
	EXPECT_EQ(utofu_armw4(v, coords, 6, 1, d, 0, 0, NULL),
		  UTOFU_ERR_INVALID_OP);
	EXPECT_EQ(utofu_nop(v, LCL, NULL), UTOFU_ERR_INVALID_FLAGS);
}

TEST_F(node, poll_arguments)
{
	struct utofu_mrq_notice notice;
	void *cbdata;

	EXPECT_EQ(utofu_poll_tcq(self->vcq, 1, &cbdata),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_poll_tcq(self->vcq, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 1, &notice),
		  UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 0, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_query_num_unread_tcq(self->vcq, NULL),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_query_num_unread_mrq(self->vcq, NULL),
		  UTOFU_ERR_INVALID_POINTER);
}

TEST_F(node, errors_before_the_node_is_left)
{
	void *cbdata;
	int tag;

	/* Not registered: told without being asked. */
	ASSERT_EQ(utofu_put(self->vcq, self->id, 5ULL << 40, self->dst_at, 8,
			    0, 0, &tag), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_ERR_TCQ_STADD);
	EXPECT_EQ(cbdata, &tag);
	/* Beyond the region */
	ASSERT_EQ(utofu_put(self->vcq, self->id, self->src_at + BYTES - 7,
			    self->dst_at, 8, 0, 0, &tag), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_tcq(self->vcq, &cbdata), UTOFU_ERR_TCQ_STADD);
}

TEST_F(node, errors_at_the_target)
{
	uint8_t coords[6] = { 0 };
	struct utofu_mrq_notice notice;
	utofu_vcq_id_t nobody;

	ASSERT_EQ(utofu_put(self->vcq, self->id, self->src_at,
			    self->dst_at + BYTES - 7, 8, 9, 0, NULL),
		  UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	EXPECT_EQ(notice.edata, 9);
	ASSERT_EQ(utofu_construct_vcq_id(coords, 3, 9, 0, &nobody),
		  UTOFU_SUCCESS);
	ASSERT_EQ(utofu_put(self->vcq, nobody, self->src_at, self->dst_at, 8,
			    1, 0, NULL), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_ERR_MRQ_PEER);
	EXPECT_EQ(notice.vcq_id, nobody);
}

TEST_F(node, memory_around_a_buffer_is_out_of_reach)
{
	struct utofu_mrq_notice notice;
	utofu_stadd_t at;

	ASSERT_EQ(utofu_reg_mem(self->vcq, self->dst + 300, 100, 0, &at),
		  UTOFU_SUCCESS);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(utofu_put(self->vcq, self->id, self->src_at,
				    i ? at - 1 : at + 93, 8, 0, 0, NULL),
			  UTOFU_SUCCESS);
		EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice),
			  UTOFU_ERR_MRQ_RMT_STADD);
	}
	EXPECT_EQ(self->dst[299], 0);
	ASSERT_EQ(utofu_put(self->vcq, self->id, self->src_at, at, 100, 0, LCL,
			    NULL), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
	EXPECT_EQ(memcmp(self->dst + 300, self->src, 100), 0);
}

TEST_F(node, read_only_memory_is_only_read)
{
	struct utofu_mrq_notice notice;
	utofu_stadd_t ro;

	ASSERT_EQ(utofu_reg_mem(self->vcq, self->src, BYTES,
				UTOFU_REG_MEM_FLAG_READ_ONLY, &ro),
		  UTOFU_SUCCESS);
	ASSERT_EQ(utofu_put(self->vcq, self->id, self->dst_at, ro, 8, 0, 0,
			    NULL), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	EXPECT_EQ(self->src[0], 1);
	ASSERT_EQ(utofu_armw8(self->vcq, self->id, UTOFU_ARMW_OP_ADD, 1, ro, 0,
			      0, NULL), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	ASSERT_EQ(utofu_get(self->vcq, self->id, self->dst_at, ro, 64, 0, LCL,
			    NULL), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
	EXPECT_EQ(memcmp(self->src, self->dst, 64), 0);
}

TEST_F(node, memory_taken_back_is_out_of_reach)
{
	struct utofu_mrq_notice notice;

	ASSERT_EQ(utofu_dereg_mem(self->vcq, self->dst_at, 0), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_put(self->vcq, self->id, self->src_at, self->dst_at, 8,
			    0, 0, NULL), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	EXPECT_EQ(self->dst[0], 0);
}

TEST_F(node, a_forked_child_cannot_use_it)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid) {
		utofu_vcq_hdl_t vcq;
		utofu_vcq_id_t id;
		uint8_t coords[6];

		CHECK(utofu_nop(self->vcq, 0, NULL) ==
		      UTOFU_ERR_NOT_AVAILABLE);
		CHECK(utofu_nop(0, 0, NULL) == UTOFU_ERR_NOT_AVAILABLE);
		CHECK(utofu_create_vcq(0, 0, &vcq) == UTOFU_ERR_NOT_AVAILABLE);
		CHECK(utofu_free_vcq(self->vcq) == UTOFU_ERR_NOT_AVAILABLE);
		CHECK(utofu_query_vcq_id(self->vcq, &id) ==
		      UTOFU_ERR_NOT_AVAILABLE);
		CHECK(utofu_query_my_coords(coords) ==
		      UTOFU_ERR_NOT_AVAILABLE);
		/* The engine's thread may have held a sanitizer's lock */
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(utofu_nop(self->vcq, TCQ, NULL), UTOFU_SUCCESS);
}

TEST(no_interconnect_is_told)
{
	utofu_vcq_hdl_t vcq;

	setenv("TOFU_PORT", "neither", 1);
	EXPECT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_ERR_NOT_AVAILABLE);
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_TNIS", "7", 1);
	EXPECT_EQ(utofu_create_vcq(0, 0, &vcq), UTOFU_ERR_NOT_AVAILABLE);
	setenv("TOFU_TNIS", "6", 1);
	EXPECT_EQ(utofu_create_vcq(5, 0, &vcq), UTOFU_SUCCESS);
}

/* A machine that has none, and a program that asks all the same */
TEST(atomics_where_there_are_none)
{
	struct utofu_onesided_caps *caps;
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	uint64_t desc[8];
	size_t size = 0;

	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_ARMW", "0", 1);
	ASSERT_EQ(0, utofu_query_onesided_caps(0, &caps));
	EXPECT_EQ(UTOFU_ONESIDED_CAP_FLAG_SESSION_MODE, caps->flags);
	EXPECT_EQ(0, caps->armw_ops);
	EXPECT_EQ(8, caps->num_cmp_ids);
	ASSERT_EQ(0, utofu_create_vcq(0, 0, &vcq));
	ASSERT_EQ(0, utofu_query_vcq_id(vcq, &id));
	for (int op = UTOFU_ARMW_OP_SWAP - 1; op <= UTOFU_ARMW_OP_OR; op++) {
		EXPECT_EQ(UTOFU_ERR_NOT_SUPPORTED,
			  utofu_armw4(vcq, id, op, 1, 0, 0, 0, NULL));
		EXPECT_EQ(UTOFU_ERR_NOT_SUPPORTED,
			  utofu_armw8(vcq, id, op, 1, 0, 0, 0, NULL));
		EXPECT_EQ(UTOFU_ERR_NOT_SUPPORTED,
			  utofu_prepare_armw4(vcq, id, op, 1, 0, 0, 0, desc,
					      &size));
		EXPECT_EQ(UTOFU_ERR_NOT_SUPPORTED,
			  utofu_prepare_armw8(vcq, id, op, 1, 0, 0, 0, desc,
					      &size));
	}
	EXPECT_EQ(UTOFU_ERR_NOT_SUPPORTED,
		  utofu_cswap4(vcq, id, 0, 1, 0, 0, 0, NULL));
	EXPECT_EQ(UTOFU_ERR_NOT_SUPPORTED,
		  utofu_cswap8(vcq, id, 0, 1, 0, 0, 0, NULL));
	EXPECT_EQ(UTOFU_ERR_NOT_SUPPORTED,
		  utofu_prepare_cswap4(vcq, id, 0, 1, 0, 0, 0, desc, &size));
	EXPECT_EQ(UTOFU_ERR_NOT_SUPPORTED,
		  utofu_prepare_cswap8(vcq, id, 0, 1, 0, 0, 0, desc, &size));
	EXPECT_EQ(0, size);
	EXPECT_EQ(0, utofu_free_vcq(vcq));
}

TEST_HARNESS_MAIN
