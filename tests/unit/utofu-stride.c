/* SPDX-License-Identifier: MIT */
/*
 * Puts and gets in blocks, and paced ones, as programs make them: what moves,
 * what is told of it, what is refused.
 */
#include <stdlib.h>
#include <string.h>

#include <tofu/desc.h>

#include "harness.h"
#include "utofu-util.h"

#define ENTRIES 2048
#define BYTES 65536
#define OFFSET_MAX ((1ULL << 40) - 1)

FIXTURE(stride)
{
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	uint8_t *src;
	uint8_t *dst;
	uint8_t *model;
	utofu_stadd_t src_at;
	utofu_stadd_t dst_at;
};

FIXTURE_SETUP(stride)
{
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_TOQ_CODE", "0", 1);
	setenv("TOFU_MRQ_CODE", "0", 1);
	ASSERT_EQ(utofu_create_vcq(0, 0, &self->vcq), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_query_vcq_id(self->vcq, &self->id), UTOFU_SUCCESS);
	self->src = aligned_alloc(256, BYTES);
	self->dst = aligned_alloc(256, BYTES);
	self->model = calloc(1, BYTES);
	memset(self->dst, 0, BYTES);
	for (int i = 0; i < BYTES; i++)
		self->src[i] = (uint8_t)(i * 7 + (i >> 8) + 1);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->src, BYTES, 0, &self->src_at),
		  UTOFU_SUCCESS);
	ASSERT_EQ(utofu_reg_mem(self->vcq, self->dst, BYTES, 0, &self->dst_at),
		  UTOFU_SUCCESS);
}

FIXTURE_TEARDOWN(stride)
{
	EXPECT_EQ(utofu_free_vcq(self->vcq), UTOFU_SUCCESS);
	free(self->src);
	free(self->dst);
	free(self->model);
}

#define SELF FIXTURE_DATA(stride)

static int wait_report(const SELF *self, const void *cbdata)
{
	void *got = NULL;
	int code = tofu_wait_tcq(self->vcq, &got);

	return got == cbdata ? code : UTOFU_ERR_NOT_FOUND;
}

/* The effect on "dst" of a put of blocks from "src" */
static void model_move(SELF *self, size_t from, size_t to, size_t length,
		       size_t stride, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++)
		memcpy(self->model + to + i * stride,
		       self->src + from + i * stride, length);
}

static bool model_agrees(const SELF *self)
{
	return !memcmp(self->model, self->dst, BYTES);
}

/* ---- Data ---- */

TEST_F(stride, a_put_moves_its_blocks_and_nothing_else)
{
	model_move(self, 3, 5, 100, 300, 20);
	ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at + 3,
				   self->dst_at + 5, 100, 300, 20, 0, TCQ,
				   self), UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
	EXPECT_TRUE(model_agrees(self));
}

TEST_F(stride, so_does_a_get)
{
	struct utofu_mrq_notice notice;

	model_move(self, 0, 7, 33, 64, 50);
	ASSERT_EQ(utofu_get_stride(self->vcq, self->id, self->dst_at + 7,
				   self->src_at, 33, 64, 50, 9, TCQ | LCL,
				   self), UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		EXPECT_EQ(notice.notice_type, UTOFU_MRQ_TYPE_LCL_GET);
		EXPECT_EQ(notice.lcl_stadd, self->dst_at + 7 + 64 * i);
		EXPECT_EQ(notice.rmt_stadd, self->src_at + 64 * i);
	}
	EXPECT_TRUE(model_agrees(self));
}

/* Blocks move in order: of those that overlap, the last one is what stays. */
TEST_F(stride, blocks_may_overlap)
{
	model_move(self, 0, 0, 100, 10, 30);
	ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at,
				   self->dst_at, 100, 10, 30, 0, TCQ, self),
		  UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
	EXPECT_TRUE(model_agrees(self));
}

TEST_F(stride, blocks_may_be_empty_or_in_one_place)
{
	model_move(self, 8, 8, 8, 0, 5);
	ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at + 8,
				   self->dst_at + 8, 8, 0, 5, 0, TCQ, self),
		  UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at,
				   self->dst_at, 0, 8, 5, 0, TCQ, NULL),
		  UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, NULL), UTOFU_SUCCESS);
	EXPECT_TRUE(model_agrees(self));
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

TEST_F(stride, random_ones_are_plain_copies)
{
	uint32_t seed = 1;

	for (int i = 0; i < 300; i++) {
		size_t blocks = 1 + next_random(&seed) % 40;
		size_t length = next_random(&seed) % 500;
		size_t stride = next_random(&seed) % 700;
		size_t room = BYTES - (blocks - 1) * stride - length;
		size_t from = next_random(&seed) % room;
		size_t to = next_random(&seed) % room;
		size_t mtu = next_random(&seed) % 1921;
		size_t gap = next_random(&seed) % 256;
		int code;

		model_move(self, from, to, length, stride, blocks);
		code = i % 2 ? utofu_put_stride_gap(self->vcq, self->id,
						    self->src_at + from,
						    self->dst_at + to, length,
						    stride, blocks, 0, TCQ,
						    mtu, gap, self) :
			       utofu_get_stride_gap(self->vcq, self->id,
						    self->dst_at + to,
						    self->src_at + from,
						    length, stride, blocks, 0,
						    TCQ, mtu, gap, self);
		ASSERT_EQ(code, UTOFU_SUCCESS);
		ASSERT_EQ(wait_report(self, self), UTOFU_SUCCESS);
		ASSERT_TRUE(model_agrees(self));
	}
}

TEST_F(stride, paced_ones_move_the_same)
{
	model_move(self, 0, 0, 50000, 0, 1);
	ASSERT_EQ(utofu_put_gap(self->vcq, self->id, self->src_at,
				self->dst_at, 30000, 0, TCQ, 64, 255, self),
		  UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
	ASSERT_EQ(utofu_get_gap(self->vcq, self->id, self->dst_at + 30000,
				self->src_at + 30000, 20000, 0, TCQ, 0, 1,
				self), UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
	EXPECT_TRUE(model_agrees(self));
}

/* ---- Notices ---- */

static void expect_block(struct harness_test *_metadata, const SELF *self,
			 int type, const struct utofu_mrq_notice *notice,
			 size_t offset)
{
	EXPECT_EQ(notice->notice_type, type);
	EXPECT_EQ(notice->vcq_id, self->id);
	EXPECT_EQ(notice->edata, 0x5a);
	EXPECT_EQ(notice->lcl_stadd, self->src_at + offset);
	EXPECT_EQ(notice->rmt_stadd, self->dst_at + offset);
}

TEST_F(stride, each_block_has_its_notices_and_all_have_one_report)
{
	struct utofu_mrq_notice notice;
	unsigned int lcl = 0, rmt = 0;
	void *cbdata;

	ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at,
				   self->dst_at, 8, 24, 100, 0x5a,
				   LCL | RMT | TCQ, self), UTOFU_SUCCESS);
	for (int i = 0; i < 200; i++) {
		ASSERT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
		if (notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT)
			expect_block(_metadata, self, UTOFU_MRQ_TYPE_RMT_PUT,
				     &notice, 24 * rmt++);
		else
			expect_block(_metadata, self, UTOFU_MRQ_TYPE_LCL_PUT,
				     &notice, 24 * lcl++);
	}
	EXPECT_EQ(lcl, 100);
	EXPECT_EQ(rmt, 100);
	EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
	EXPECT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(utofu_poll_mrq(self->vcq, 0, &notice), UTOFU_ERR_NOT_FOUND);
}

/* More blocks than any ring has entries: they take two slots all the same. */
TEST_F(stride, there_may_be_many_blocks)
{
	uint64_t *count = (uint64_t *)self->src;
	void *cbdata;

	*count = 42;
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at,
					   self->dst_at, 8, 0, 100000, 0, TCQ,
					   self), UTOFU_SUCCESS);
		ASSERT_EQ(utofu_nop(self->vcq, TCQ, NULL), UTOFU_SUCCESS);
	}
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
		EXPECT_EQ(wait_report(self, NULL), UTOFU_SUCCESS);
	}
	EXPECT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata), UTOFU_ERR_NOT_FOUND);
	EXPECT_EQ(*(uint64_t *)self->dst, 42);
}

/* Of one slot and of two in turn, so that a command lies across the end. */
TEST_F(stride, many_rounds_of_the_ring)
{
	for (uint64_t i = 0; i < 2 * ENTRIES + 5; i++) {
		memcpy(self->src, &i, sizeof(i));
		memcpy(self->src + 16, &i, sizeof(i));
		ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at,
					   self->dst_at, 8, 16, 2, 0, TCQ,
					   self), UTOFU_SUCCESS);
		ASSERT_EQ(utofu_nop(self->vcq, TCQ, NULL), UTOFU_SUCCESS);
		ASSERT_EQ(wait_report(self, self), UTOFU_SUCCESS);
		ASSERT_EQ(wait_report(self, NULL), UTOFU_SUCCESS);
		ASSERT_EQ(memcmp(self->src, self->dst, 8), 0);
		ASSERT_EQ(memcmp(self->src + 16, self->dst + 16, 8), 0);
	}
}

/* ---- Failures ---- */

TEST_F(stride, a_block_that_fails_does_not_stop_the_others)
{
	struct utofu_mrq_notice notice;
	size_t last = BYTES - 300;

	/* The third and fourth end behind the target's region. */
	model_move(self, 0, last, 100, 150, 2);
	ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at,
				   self->dst_at + last, 100, 150, 4, 1,
				   TCQ | LCL, self), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
	EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice), UTOFU_SUCCESS);
	for (int i = 2; i < 4; i++) {
		EXPECT_EQ(tofu_wait_mrq(self->vcq, &notice),
			  UTOFU_ERR_MRQ_RMT_STADD);
		EXPECT_EQ(notice.rmt_stadd, self->dst_at + last + 150 * i);
	}
	EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
	EXPECT_TRUE(model_agrees(self));
}

TEST_F(stride, blocks_without_a_source_are_one_report)
{
	size_t last = BYTES - 300;
	void *cbdata;

	model_move(self, last, 0, 100, 150, 2);
	ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at + last,
				   self->dst_at, 100, 150, 4, 1, 0, self),
		  UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, self), UTOFU_ERR_TCQ_STADD);
	EXPECT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata), UTOFU_ERR_NOT_FOUND);
	EXPECT_TRUE(model_agrees(self));
}

/* Offsets do not run over into the STAG. */
TEST_F(stride, blocks_beyond_all_offsets_fail)
{
	model_move(self, 0, 0, 8, 0, 1);
	ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at,
				   self->dst_at, 8, OFFSET_MAX, 3, 0, 0, self),
		  UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, self), UTOFU_ERR_TCQ_STADD);
	EXPECT_TRUE(model_agrees(self));
}

/* ---- Prepared and delayed ---- */

TEST_F(stride, prepared_among_others)
{
	uint8_t desc[4 * 64 + 1], *at = desc + 1;
	size_t size, sum = 0;
	void *cbdata;

	ASSERT_EQ(utofu_prepare_put_stride(self->vcq, self->id, self->src_at,
					   self->dst_at, 8, 16, 3, 0, TCQ, at,
					   &size), UTOFU_SUCCESS);
	EXPECT_EQ(size, 64);
	sum += size;
	ASSERT_EQ(utofu_prepare_nop(self->vcq, TCQ, at + sum, &size),
		  UTOFU_SUCCESS);
	sum += size;
	ASSERT_EQ(utofu_prepare_get_stride_gap(self->vcq, self->id,
					       self->dst_at + 100,
					       self->src_at + 100, 5, 10, 4, 0,
					       TCQ, 8, 1, at + sum, &size),
		  UTOFU_SUCCESS);
	EXPECT_EQ(size, 64);
	sum += size;
	ASSERT_EQ(utofu_prepare_put_gap(self->vcq, self->id,
					self->src_at + 200, self->dst_at + 200,
					50, 0, TCQ, 8, 1, at + sum, &size),
		  UTOFU_SUCCESS);
	EXPECT_EQ(size, 32);
	sum += size;
	model_move(self, 0, 0, 8, 16, 3);
	model_move(self, 100, 100, 5, 10, 4);
	model_move(self, 200, 200, 50, 0, 1);
	for (int i = 0; i < 3; i++) {
		memset(self->dst, 0, 300);
		/* The first one takes two slots. */
		EXPECT_EQ(utofu_post_toq(self->vcq, at, 32, NULL),
			  UTOFU_ERR_INVALID_SIZE);
		ASSERT_EQ(utofu_post_toq(self->vcq, at, sum, self),
			  UTOFU_SUCCESS);
		for (int k = 0; k < 4; k++)
			EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
		EXPECT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata),
			  UTOFU_ERR_NOT_FOUND);
		EXPECT_TRUE(model_agrees(self));
	}
}

TEST_F(stride, delayed_until_the_next)
{
	void *cbdata;

	ASSERT_EQ(utofu_put_stride(self->vcq, self->id, self->src_at,
				   self->dst_at, 8, 16, 3, 0, TCQ | DELAY,
				   self), UTOFU_SUCCESS);
	for (int i = 0; i < 1000; i++)
		ASSERT_EQ(utofu_poll_tcq(self->vcq, 0, &cbdata),
			  UTOFU_ERR_NOT_FOUND);
	EXPECT_TRUE(model_agrees(self));
	ASSERT_EQ(utofu_nop(self->vcq, TCQ, NULL), UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, self), UTOFU_SUCCESS);
	EXPECT_EQ(wait_report(self, NULL), UTOFU_SUCCESS);
	model_move(self, 0, 0, 8, 16, 3);
	EXPECT_TRUE(model_agrees(self));
}

/*
 * Every bit of a prepared command changed: it is refused, or it is a command,
 * or the engine tells that it is none. The queue works on.
 */
TEST_F(stride, any_bit_may_be_changed)
{
	struct utofu_mrq_notice notice;
	struct tofu_toq_desc good[2];
	size_t size;

	ASSERT_EQ(utofu_prepare_put_stride(self->vcq, self->id, self->src_at,
					   self->dst_at, 8, 16, 3, 0, TCQ, good,
					   &size), UTOFU_SUCCESS);
	for (unsigned int bit = 0; bit < 512; bit++) {
		uint8_t bad[64];
		void *cbdata = NULL;
		int code;

		/* Sixteen million blocks take their time. */
		if (bit / 64 == 5 && bit % 64 > 12 && bit % 64 < 24)
			continue;
		memcpy(bad, good, sizeof(bad));
		bad[bit / 8] ^= (uint8_t)(1U << bit % 8);
		code = utofu_post_toq(self->vcq, bad, sizeof(bad), NULL);
		ASSERT_TRUE(code == UTOFU_SUCCESS ||
			    code == UTOFU_ERR_INVALID_DESC);
		ASSERT_EQ(utofu_nop(self->vcq, TCQ, self), UTOFU_SUCCESS);
		while (cbdata != self)
			ASSERT_NE(tofu_wait_tcq(self->vcq, &cbdata),
				  UTOFU_ERR_NOT_FOUND);
		while (utofu_poll_mrq(self->vcq, 0, &notice) !=
		       UTOFU_ERR_NOT_FOUND)
			;
	}
}

/* ---- Arguments ---- */

/* Arguments, and the code that each function and its prepared form returns */
struct arguments {
	size_t length;
	size_t stride;
	size_t blocks;
	size_t mtu;
	size_t gap;
};

static int paced(const SELF *self, const struct arguments *a, bool get)
{
	uint8_t desc[64];
	size_t size;
	int code, prepared;

	code = (get ? utofu_get_gap : utofu_put_gap)(
		self->vcq, self->id, self->src_at, self->dst_at, a->length, 0,
		0, a->mtu, a->gap, NULL);
	prepared = (get ? utofu_prepare_get_gap : utofu_prepare_put_gap)(
		self->vcq, self->id, self->src_at, self->dst_at, a->length, 0,
		0, a->mtu, a->gap, desc, &size);
	return code == prepared ? code : 1;
}

static int strided(const SELF *self, const struct arguments *a, bool get)
{
	uint8_t desc[64];
	size_t size;
	int code, prepared;

	code = (get ? utofu_get_stride : utofu_put_stride)(
		self->vcq, self->id, self->src_at, self->dst_at, a->length,
		a->stride, a->blocks, 0, 0, NULL);
	prepared = (get ? utofu_prepare_get_stride : utofu_prepare_put_stride)(
		self->vcq, self->id, self->src_at, self->dst_at, a->length,
		a->stride, a->blocks, 0, 0, desc, &size);
	return code == prepared ? code : 1;
}

static int both(const SELF *self, const struct arguments *a, bool get)
{
	uint8_t desc[64];
	size_t size;
	int code, prepared;

	code = (get ? utofu_get_stride_gap : utofu_put_stride_gap)(
		self->vcq, self->id, self->src_at, self->dst_at, a->length,
		a->stride, a->blocks, 0, 0, a->mtu, a->gap, NULL);
	prepared = (get ? utofu_prepare_get_stride_gap :
			  utofu_prepare_put_stride_gap)(
		self->vcq, self->id, self->src_at, self->dst_at, a->length,
		a->stride, a->blocks, 0, 0, a->mtu, a->gap, desc, &size);
	return code == prepared ? code : 1;
}

TEST_F(stride, arguments_of_pace)
{
	static const struct {
		struct arguments a;
		int code;
	} c[] = {
		{ { 8, 8, 1, 0, 0 }, UTOFU_SUCCESS },
		{ { 8, 8, 1, 1, 255 }, UTOFU_SUCCESS },
		{ { 8, 8, 1, 1920, 0 }, UTOFU_SUCCESS },
		{ { 8, 8, 1, 1921, 0 }, UTOFU_ERR_INVALID_SIZE },
		{ { 8, 8, 1, SIZE_MAX, 0 }, UTOFU_ERR_INVALID_SIZE },
		{ { 8, 8, 1, 0, 256 }, UTOFU_ERR_INVALID_ARG },
		{ { 8, 8, 1, 0, SIZE_MAX }, UTOFU_ERR_INVALID_ARG },
		{ { 1 << 24, 8, 1, 0, 0 }, UTOFU_ERR_INVALID_SIZE },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		for (int get = 0; get < 2; get++) {
			EXPECT_EQ(paced(self, &c[i].a, get), c[i].code);
			EXPECT_EQ(both(self, &c[i].a, get), c[i].code);
		}
	}
}

TEST_F(stride, arguments_of_blocks)
{
	static const struct {
		struct arguments a;
		int code;
	} c[] = {
		{ { 0, 0, 1, 0, 0 }, UTOFU_SUCCESS },
		{ { 8, OFFSET_MAX, 1, 0, 0 }, UTOFU_SUCCESS },
		{ { 8, OFFSET_MAX + 1, 1, 0, 0 }, UTOFU_ERR_INVALID_SIZE },
		{ { 8, SIZE_MAX, 1, 0, 0 }, UTOFU_ERR_INVALID_SIZE },
		{ { 8, 8, 0, 0, 0 }, UTOFU_ERR_INVALID_NUMBER },
		{ { 8, 8, 1 << 24, 0, 0 }, UTOFU_ERR_INVALID_NUMBER },
		{ { 8, 8, SIZE_MAX, 0, 0 }, UTOFU_ERR_INVALID_NUMBER },
		{ { 1 << 24, 8, 1, 0, 0 }, UTOFU_ERR_INVALID_SIZE },
	};

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		for (int get = 0; get < 2; get++) {
			EXPECT_EQ(strided(self, &c[i].a, get), c[i].code);
			EXPECT_EQ(both(self, &c[i].a, get), c[i].code);
		}
	}
}

TEST_F(stride, arguments_that_all_transfers_have)
{
	utofu_vcq_hdl_t v = self->vcq;
	utofu_stadd_t s = self->src_at, d = self->dst_at, bad = 1ULL << 58;
	uint8_t desc[64];
	size_t size;

	EXPECT_EQ(utofu_put_stride(0, self->id, s, d, 8, 8, 2, 0, 0, NULL),
		  UTOFU_ERR_INVALID_VCQ_HDL);
	EXPECT_EQ(utofu_put_stride(v, ~0ULL, s, d, 8, 8, 2, 0, 0, NULL),
		  UTOFU_ERR_INVALID_VCQ_ID);
	EXPECT_EQ(utofu_get_stride(v, self->id, s | bad, d, 8, 8, 2, 0, 0,
				   NULL), UTOFU_ERR_INVALID_STADD);
	EXPECT_EQ(utofu_put_gap(v, self->id, s, d | bad, 8, 0, 0, 0, 0, NULL),
		  UTOFU_ERR_INVALID_STADD);
	EXPECT_EQ(utofu_get_gap(v, self->id, s, d, 8, 256, 0, 0, 0, NULL),
		  UTOFU_ERR_INVALID_EDATA);
	EXPECT_EQ(utofu_put_stride_gap(v, self->id, s, d, 8, 8, 2, 0, 1UL << 4,
				       0, 0, NULL), UTOFU_ERR_INVALID_FLAGS);
	EXPECT_EQ(utofu_prepare_put_stride(v, self->id, s, d, 8, 8, 2, 0, 0,
					   NULL, &size),
		  UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_prepare_get_gap(v, self->id, s, d, 8, 0, 0, 0, 0, desc,
					NULL), UTOFU_ERR_INVALID_POINTER);
	EXPECT_EQ(utofu_prepare_get_stride_gap(0, self->id, s, d, 8, 8, 2, 0,
					       0, 0, 0, desc, &size),
		  UTOFU_ERR_INVALID_VCQ_HDL);
}

/* In lines of eight bytes, rounded down, but one at least */
TEST_F(stride, the_mtu_is_counted_in_lines)
{
	static const struct {
		size_t mtu;
		unsigned int lines;
	} c[] = { { 0, 0 },   { 1, 1 },   { 7, 1 },	  { 8, 1 },
		  { 15, 1 },  { 16, 2 },  { 1919, 239 }, { 1920, 240 } };

	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++) {
		struct tofu_toq_desc desc;
		size_t size;

		ASSERT_EQ(utofu_prepare_put_gap(self->vcq, self->id,
						self->src_at, self->dst_at, 8,
						0, 0, c[i].mtu, 77, &desc,
						&size), UTOFU_SUCCESS);
		EXPECT_EQ(TOFU_GET(desc.ctrl, TOFU_TOQ_MTU), c[i].lines);
		EXPECT_EQ(TOFU_GET(desc.ctrl, TOFU_TOQ_GAP), 77);
	}
}

TEST_HARNESS_MAIN
