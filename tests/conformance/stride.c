// SPDX-License-Identifier: MIT
/* Puts and gets of blocks, paced or not: each block is one of its own. */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define HALF (1 << 20)
/* Notices of both kinds fit into the smallest MRQ, of 2048. */
#define BLOCKS_MAX 900

static struct port port;

/**
 * struct shape - blocks, and by which of four functions they are moved
 * @length: of a block
 * @stride: from one to the next
 * @blocks: how many
 * @mtu:    of the paced functions
 * @gap:    of the paced functions
 * @paced:  put_stride_gap instead of put_stride
 */
struct shape {
	size_t length;
	size_t stride;
	size_t blocks;
	size_t mtu;
	size_t gap;
	bool paced;
};

static const struct shape shapes[] = {
	{ .length = 8, .stride = 64, .blocks = 1, },
	{ .length = 8, .stride = 64, .blocks = 3, },
	{ .length = 1, .stride = 3, .blocks = 50, },
	{ .length = 100, .stride = 100, .blocks = 20, },
	{ .length = 0, .stride = 8, .blocks = 5, },
	{ .length = 24, .stride = 1000, .blocks = 300, },
	{ .length = 5000, .stride = 8191, .blocks = 100, },
	{ .length = 8, .stride = 16, .blocks = BLOCKS_MAX, },
	{ .length = 8, .stride = 64, .blocks = 3, .mtu = 1920, .paced = true, },
	{ .length = 3000, .stride = 4000, .blocks = 9, .mtu = 256, .gap = 255,
	  .paced = true, },
	{ .length = 3000, .stride = 4000, .blocks = 9, .mtu = 1, .gap = 1,
	  .paced = true, },
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static int post(const struct shape *shape, bool get, uint64_t edata,
		unsigned long flags)
{
	utofu_vcq_id_t id = port.id[world.next];
	utofu_stadd_t lcl = port.stadd[world.rank] + HALF;
	utofu_stadd_t rmt = port.stadd[world.next];

	if (get && shape->paced)
		return utofu_get_stride_gap(port.vcq, id, lcl, rmt,
					    shape->length, shape->stride,
					    shape->blocks, edata, flags,
					    shape->mtu, shape->gap, &port);
	if (get)
		return utofu_get_stride(port.vcq, id, lcl, rmt, shape->length,
					shape->stride, shape->blocks, edata,
					flags, &port);
	if (shape->paced)
		return utofu_put_stride_gap(port.vcq, id, lcl, rmt,
					    shape->length, shape->stride,
					    shape->blocks, edata, flags,
					    shape->mtu, shape->gap, &port);
	return utofu_put_stride(port.vcq, id, lcl, rmt, shape->length,
				shape->stride, shape->blocks, edata, flags,
				&port);
}

/* The same as a prepared command. */
static int post_prepared(const struct shape *shape, bool get, uint64_t edata,
			 unsigned long flags)
{
	utofu_vcq_id_t id = port.id[world.next];
	utofu_stadd_t lcl = port.stadd[world.rank] + HALF;
	utofu_stadd_t rmt = port.stadd[world.next];
	uint8_t desc[64];
	size_t size = 0;
	int code;

	if (get && shape->paced)
		code = utofu_prepare_get_stride_gap(
			port.vcq, id, lcl, rmt, shape->length, shape->stride,
			shape->blocks, edata, flags, shape->mtu, shape->gap,
			desc, &size);
	else if (get)
		code = utofu_prepare_get_stride(port.vcq, id, lcl, rmt,
						shape->length, shape->stride,
						shape->blocks, edata, flags,
						desc, &size);
	else if (shape->paced)
		code = utofu_prepare_put_stride_gap(
			port.vcq, id, lcl, rmt, shape->length, shape->stride,
			shape->blocks, edata, flags, shape->mtu, shape->gap,
			desc, &size);
	else
		code = utofu_prepare_put_stride(port.vcq, id, lcl, rmt,
						shape->length, shape->stride,
						shape->blocks, edata, flags,
						desc, &size);
	CHECK(size > 0 && size <= sizeof(desc));
	return code ? code : utofu_post_toq(port.vcq, desc, size, &port);
}

/* That the blocks have come, and nothing between them. */
static void check_blocks(const struct shape *shape, const uint8_t *area,
			 uint64_t seed)
{
	uint8_t *expected = calloc(1, HALF), *source = malloc(HALF);

	if (!expected || !source)
		give_up("no memory");
	fill(source, HALF, seed);
	for (size_t i = 0; i < shape->blocks; i++)
		memcpy(expected + i * shape->stride,
		       source + i * shape->stride, shape->length);
	CHECK(!memcmp(area, expected, HALF));
	free(expected);
	free(source);
}

/* Both kinds of notices: one for each block, in order, with its STADDs. */
static void check_notices(const struct shape *shape, bool get, uint64_t edata)
{
	uint8_t lcl_type = get ? UTOFU_MRQ_TYPE_LCL_GET :
				 UTOFU_MRQ_TYPE_LCL_PUT;
	struct utofu_mrq_notice notice;
	bool came[BLOCKS_MAX] = { false };
	size_t rmt = 0, lcl = 0;

	while (lcl < shape->blocks || rmt < shape->blocks) {
		bool is_lcl;
		size_t at, block;
		unsigned int from, to;

		if (!CODE(next_notice(&port, &notice), UTOFU_SUCCESS))
			return;
		is_lcl = notice.notice_type == lcl_type;
		CHECK(is_lcl || notice.notice_type == lcl_type + 1);
		from = is_lcl ? world.rank : world.prev;
		to = is_lcl ? world.next : world.rank;
		at = notice.rmt_stadd - port.stadd[to];
		CHECK(notice.lcl_stadd == port.stadd[from] + HALF + at);
		CHECK(notice.edata == edata);
		CHECK(notice.vcq_id == port.id[is_lcl ? to : from]);
		block = shape->stride ? at / shape->stride : 0;
		if (!CHECK(at % shape->stride == 0 && block < shape->blocks))
			return;
		if (is_lcl) {
			CHECK(!came[block]);
			came[block] = true;
			lcl++;
		} else {
			CHECK(block == rmt);
			rmt++;
		}
	}
	CHECK(lcl == shape->blocks && rmt == shape->blocks);
}

static void check_shape(const struct shape *shape, bool get, bool prepared,
			uint64_t turn)
{
	unsigned long flags = TCQ | LCL | RMT;
	uint64_t seed = turn * RANKS_MAX, edata = turn & 255;
	void *cbdata = NULL;

	memset(port.area, 0, 2 * HALF);
	fill(port.area + (get ? 0 : HALF), HALF, seed + world.rank);
	meet();
	CODE(prepared ? post_prepared(shape, get, edata, flags) :
			post(shape, get, edata, flags),
	     UTOFU_SUCCESS);
	check_notices(shape, get, edata);
	CODE(next_report(&port, &cbdata), UTOFU_SUCCESS);
	CHECK(cbdata == &port);
	meet();
	check_quiet(&port);
	check_blocks(shape, port.area + (get ? HALF : 0),
		     seed + (get ? world.next : world.prev));
	meet();
}

static void check_shapes(bool get, bool prepared)
{
	for (size_t i = 0; i < SHAPES; i++) {
		const struct shape *shape = &shapes[i];

		check_shape(shape, get, prepared, i * 4 + get * 2 + prepared);
		claim("%s%s_stride%s: %zu blocks of %zu bytes, a notice each",
		      prepared ? "prepared " : "", get ? "get" : "put",
		      shape->paced ? "_gap" : "", shape->blocks,
		      shape->length);
	}
}

/* A block that cannot be has its own error; the others are moved. */
static void check_bad_block(void)
{
	struct utofu_mrq_notice notice;
	uint64_t stadd = 0, all[RANKS_MAX];
	unsigned int good = 0, bad = 0;

	memset(port.area, 0, 4096);
	CODE(utofu_reg_mem(port.vcq, port.area, 256, 0, &stadd),
	     UTOFU_SUCCESS);
	exchange(stadd, all);
	fill(port.area + HALF, 4096, world.rank);
	CODE(utofu_put_stride(port.vcq, port.id[world.next],
			      port.stadd[world.rank] + HALF, all[world.next],
			      8, 64, 6, 0, LCL, NULL),
	     UTOFU_SUCCESS);
	for (int i = 0; i < 6; i++) {
		int code = next_notice(&port, &notice);

		good += code == UTOFU_SUCCESS;
		bad += code == UTOFU_ERR_MRQ_RMT_STADD &&
		       notice.rmt_stadd >= all[world.next] + 256;
	}
	CHECK(good == 4 && bad == 2);
	meet();
	fill(port.area + HALF, 4096, world.prev);
	for (size_t i = 0; i < 4; i++)
		CHECK(!memcmp(port.area + i * 64, port.area + HALF + i * 64,
			      8));
	CHECK(is_all(port.area + 256, 1024, 0));
	CODE(utofu_dereg_mem(port.vcq, stadd, 0), UTOFU_SUCCESS);
	claim("blocks beyond the region fail, those inside are put");
}

static void check_gap(bool get)
{
	static const size_t mtus[] = { 0, 1, 8, 1000, 1920 };

	for (size_t i = 0; i < 5; i++) {
		utofu_stadd_t lcl = port.stadd[world.rank] + HALF;
		utofu_stadd_t rmt = port.stadd[world.next];
		size_t gap = i * 60;
		int code;

		memset(port.area, 0, 2 * HALF);
		fill(port.area + (get ? 0 : HALF), 5001, i + world.rank);
		meet();
		if (get)
			code = utofu_get_gap(port.vcq, port.id[world.next],
					     lcl, rmt, 5001, 3, TCQ | LCL | RMT,
					     mtus[i], gap, NULL);
		else
			code = utofu_put_gap(port.vcq, port.id[world.next],
					     lcl, rmt, 5001, 3, TCQ | LCL | RMT,
					     mtus[i], gap, NULL);
		CODE(code, UTOFU_SUCCESS);
		take_reports(&port, 1);
		take_notices(&port, 1, 1);
		CHECK(is_filled(port.area + (get ? HALF : 0), 5001,
				i + (get ? world.next : world.prev)));
		CHECK(is_all(port.area + (get ? HALF : 0) + 5001, 999, 0));
		meet();
	}
	claim("%s_gap: all MTUs and gaps move the same bytes",
	      get ? "get" : "put");
}

#define WRONG(function, length, stride, blocks, mtu, gap, code)              \
	CODE(function(port.vcq, port.id[0], port.stadd[world.rank],          \
		      port.stadd[0], length, stride, blocks, 0, TCQ, mtu, gap, \
		      NULL),                                                 \
	     code)

static void check_arguments(void)
{
	WRONG(utofu_put_stride_gap, 8, 8, 0, 0, 0, UTOFU_ERR_INVALID_NUMBER);
	WRONG(utofu_get_stride_gap, 8, 8, 0, 0, 0, UTOFU_ERR_INVALID_NUMBER);
	WRONG(utofu_put_stride_gap, 8, 8, 1 << 24, 0, 0,
	      UTOFU_ERR_INVALID_NUMBER);
	WRONG(utofu_get_stride_gap, 8, 8, SIZE_MAX, 0, 0,
	      UTOFU_ERR_INVALID_NUMBER);
	claim("no or too many blocks: INVALID_NUMBER");
	WRONG(utofu_put_stride_gap, 1 << 24, 8, 1, 0, 0,
	      UTOFU_ERR_INVALID_SIZE);
	WRONG(utofu_put_stride_gap, 8, (size_t)1 << 40, 2, 0, 0,
	      UTOFU_ERR_INVALID_SIZE);
	WRONG(utofu_get_stride_gap, 8, SIZE_MAX, 2, 0, 0,
	      UTOFU_ERR_INVALID_SIZE);
	WRONG(utofu_put_stride_gap, 8, 8, 1, 1921, 0, UTOFU_ERR_INVALID_SIZE);
	WRONG(utofu_get_stride_gap, 8, 8, 1, SIZE_MAX, 0,
	      UTOFU_ERR_INVALID_SIZE);
	claim("length, stride or MTU too large: INVALID_SIZE");
	WRONG(utofu_put_stride_gap, 8, 8, 1, 0, 256, UTOFU_ERR_INVALID_ARG);
	WRONG(utofu_get_stride_gap, 8, 8, 1, 0, SIZE_MAX,
	      UTOFU_ERR_INVALID_ARG);
	CODE(utofu_put_gap(port.vcq, port.id[0], port.stadd[0], port.stadd[0],
			   8, 0, TCQ, 0, 256, NULL),
	     UTOFU_ERR_INVALID_ARG);
	CODE(utofu_get_gap(port.vcq, port.id[0], port.stadd[0], port.stadd[0],
			   8, 0, TCQ, 1921, 0, NULL),
	     UTOFU_ERR_INVALID_SIZE);
	check_quiet(&port);
	claim("gap too large: INVALID_ARG");
}

int main(void)
{
	conform_begin();
	port_open(&port, 0, 0, 2 * HALF);
	check_shapes(false, false);
	check_shapes(true, false);
	check_shapes(false, true);
	check_shapes(true, true);
	check_bad_block();
	check_gap(false);
	check_gap(true);
	check_arguments();
	port_close(&port);
	return conform_end();
}
