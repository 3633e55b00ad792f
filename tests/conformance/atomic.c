// SPDX-License-Identifier: MIT
/* Atomic operations on the words of other nodes. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define COUNT 500

static struct port port;

static const uint64_t before = UINT64_C(0xf0f0a5a500ff1234);
static const uint64_t operand = UINT64_C(0x0ff05a5ac3c3f00d);

static uint64_t expected(enum utofu_armw_op op, uint64_t old, uint64_t value)
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
	case UTOFU_ARMW_OP_OR:
		return old | value;
	}
	return 0;
}

static uint64_t word(void)
{
	uint64_t value;

	memcpy(&value, port.area + 8, sizeof(value));
	return value;
}

/* Three words of which the middle one is worked on. */
static void words_set(uint64_t value)
{
	memset(port.area, 0x77, 24);
	memcpy(port.area + 8, &value, sizeof(value));
	meet();
}

static void check_neighbours(void)
{
	CHECK(is_all(port.area, 8, 0x77));
	CHECK(is_all(port.area + 16, 8, 0x77));
}

/*
 * Both notices of an operation that each node does on the next. The initiator's
 * tells the value before, the target's which word it was.
 */
static void check_notices(uint64_t value, uint64_t edata, size_t at)
{
	for (int i = 0; i < 2; i++) {
		struct utofu_mrq_notice notice;
		bool lcl;

		CODE(next_notice(&port, &notice), UTOFU_SUCCESS);
		lcl = notice.notice_type == UTOFU_MRQ_TYPE_LCL_ARMW;
		CHECK(lcl || notice.notice_type == UTOFU_MRQ_TYPE_RMT_ARMW);
		CHECK(notice.rmt_value ==
		      (lcl ? value : port.stadd[world.rank] + at));
		CHECK(notice.edata == edata);
		CHECK(notice.lcl_stadd == 0);
		CHECK(notice.vcq_id ==
		      port.id[lcl ? world.next : world.prev]);
		CHECK(notice.rmt_stadd ==
		      port.stadd[lcl ? world.next : world.rank] + at);
	}
	meet();
	check_quiet(&port);
}

static void check_operations(void)
{
	utofu_vcq_id_t id = port.id[world.next];
	utofu_stadd_t to = port.stadd[world.next] + 8;

	for (int op = UTOFU_ARMW_OP_SWAP; op <= UTOFU_ARMW_OP_OR; op++) {
		words_set(before);
		CODE(utofu_armw8(port.vcq, id, (enum utofu_armw_op)op, operand,
				 to, (uint64_t)op + 40, LCL | RMT, NULL),
		     UTOFU_SUCCESS);
		check_notices(before, (uint64_t)op + 40, 8);
		CHECK(word() == expected((enum utofu_armw_op)op, before,
					 operand));
		check_neighbours();
		claim("armw8 operation %d, the value before it, edata", op);
	}
}

static void check_operations4(void)
{
	utofu_vcq_id_t id = port.id[world.next];

	for (int op = UTOFU_ARMW_OP_SWAP; op <= UTOFU_ARMW_OP_OR; op++)
		for (unsigned int half = 0; half < 2; half++) {
			unsigned int shift = half * 32;
			uint64_t mask = UINT64_C(0xffffffff) << shift;
			uint32_t old = (uint32_t)(before >> shift);
			uint64_t new = expected((enum utofu_armw_op)op, old,
						(uint32_t)operand) &
				       0xffffffff;

			words_set(before);
			CODE(utofu_armw4(port.vcq, id, (enum utofu_armw_op)op,
					 (uint32_t)operand,
					 port.stadd[world.next] + 8 + half * 4,
					 255, LCL | RMT, NULL),
			     UTOFU_SUCCESS);
			check_notices(old, 255, 8 + half * 4);
			CHECK(word() == ((before & ~mask) | new << shift));
			check_neighbours();
		}
	claim("armw4 of all operations changes its 4 bytes alone");
}

static void check_swaps(void)
{
	utofu_vcq_id_t id = port.id[world.next];
	utofu_stadd_t to = port.stadd[world.next] + 8;

	words_set(before);
	CODE(utofu_cswap8(port.vcq, id, before, operand, to, 9, LCL | RMT,
			  NULL),
	     UTOFU_SUCCESS);
	check_notices(before, 9, 8);
	CHECK(word() == operand);
	words_set(before);
	CODE(utofu_cswap8(port.vcq, id, before ^ UINT64_C(1) << 63, operand,
			  to, 9, LCL | RMT, NULL),
	     UTOFU_SUCCESS);
	check_notices(before, 9, 8);
	CHECK(word() == before);
	check_neighbours();
	claim("cswap8 swaps if equal, and tells the value before");

	words_set(before);
	CODE(utofu_cswap4(port.vcq, id, (uint32_t)before, 0x11223344, to, 9,
			  LCL | RMT, NULL),
	     UTOFU_SUCCESS);
	check_notices((uint32_t)before, 9, 8);
	CHECK(word() == ((before & UINT64_C(0xffffffff00000000)) | 0x11223344));
	words_set(before);
	CODE(utofu_cswap4(port.vcq, id, (uint32_t)before + 1, 0, to + 4, 9,
			  LCL | RMT, NULL),
	     UTOFU_SUCCESS);
	check_notices(before >> 32, 9, 12);
	CHECK(word() == before);
	check_neighbours();
	claim("cswap4 swaps if equal, and tells the value before");
}

/* All add to node 0's word; each sees a value that nobody else has seen. */
static void check_concurrency(void)
{
	uint8_t *seen = calloc(RANKS_MAX, COUNT);
	struct utofu_mrq_notice notice;

	if (!seen)
		give_up("no memory");
	words_set(0);
	for (unsigned int i = 0; i < COUNT; i++) {
		CODE(utofu_armw8(port.vcq, port.id[0], UTOFU_ARMW_OP_ADD, 1,
				 port.stadd[0] + 8, 0, LCL, NULL),
		     UTOFU_SUCCESS);
		CODE(next_notice(&port, &notice), UTOFU_SUCCESS);
		if (!CHECK(notice.rmt_value < (uint64_t)COUNT * world.ranks))
			break;
		/* Each tells node 0 what it has seen, in a place of that. */
		CODE(utofu_put_piggyback8(port.vcq, port.id[0],
					  world.rank + 1,
					  port.stadd[0] + 4096 +
						  notice.rmt_value,
					  1, 0, LCL, NULL),
		     UTOFU_SUCCESS);
		take_notices(&port, 1, 0);
	}
	meet();
	if (world.rank == 0) {
		CHECK(word() == (uint64_t)COUNT * world.ranks);
		for (size_t i = 0; i < (size_t)COUNT * world.ranks; i++)
			CHECK(port.area[4096 + i] != 0);
	}
	free(seen);
	claim("no addition is lost, no value is seen twice");
}

/* A lock by cswap guards a plain counter that is read and written by RDMA. */
static void check_lock(void)
{
	struct utofu_mrq_notice notice;
	struct patience patience = { 0 };
	uint64_t count;
	int taken = 0;

	memset(port.area, 0, 4096);
	meet();
	while (taken < 50 && patient(&patience)) {
		CODE(utofu_cswap8(port.vcq, port.id[0], 0, world.rank + 1,
				  port.stadd[0], 0, LCL, NULL),
		     UTOFU_SUCCESS);
		CODE(next_notice(&port, &notice), UTOFU_SUCCESS);
		if (notice.rmt_value != 0)
			continue;
		CODE(utofu_get(port.vcq, port.id[0],
			       port.stadd[world.rank] + 16, port.stadd[0] + 8,
			       8, 0, LCL, NULL),
		     UTOFU_SUCCESS);
		take_notices(&port, 1, 0);
		memcpy(&count, port.area + 16, 8);
		CODE(utofu_put_piggyback8(port.vcq, port.id[0], count + 1,
					  port.stadd[0] + 8, 8, 0, LCL, NULL),
		     UTOFU_SUCCESS);
		take_notices(&port, 1, 0);
		CODE(utofu_armw8(port.vcq, port.id[0], UTOFU_ARMW_OP_SWAP, 0,
				 port.stadd[0], 0, LCL, NULL),
		     UTOFU_SUCCESS);
		CODE(next_notice(&port, &notice), UTOFU_SUCCESS);
		CHECK(notice.rmt_value == world.rank + 1);
		taken++;
	}
	CHECK(taken == 50);
	meet();
	if (world.rank == 0) {
		memcpy(&count, port.area + 8, 8);
		CHECK(count == 50 * world.ranks);
	}
	claim("a lock by compare and swap");
}

static void check_arguments(void)
{
	utofu_vcq_id_t id = port.id[world.next];
	utofu_stadd_t to = port.stadd[world.next];
	static const int wrong[] = { 0, 6, 7, -1, 255 };

	for (int i = 0; i < 5; i++) {
		enum utofu_armw_op op = (enum utofu_armw_op)wrong[i];

		CODE(utofu_armw4(port.vcq, id, op, 0, to, 0, TCQ, NULL),
		     UTOFU_ERR_INVALID_OP);
		CODE(utofu_armw8(port.vcq, id, op, 0, to, 0, TCQ, NULL),
		     UTOFU_ERR_INVALID_OP);
	}
	claim("no such operation: INVALID_OP");
}

/* Told either when posted or by a notice: never done. */
static void check_alignment(void)
{
	struct utofu_mrq_notice notice;

	words_set(before);
	for (unsigned int at = 9; at < 16; at++) {
		int code = utofu_armw8(port.vcq, port.id[world.next],
				       UTOFU_ARMW_OP_ADD, 1,
				       port.stadd[world.next] + at, 0, LCL,
				       NULL);

		if (code == UTOFU_SUCCESS)
			code = next_notice(&port, &notice);
		CHECK(code == UTOFU_ERR_INVALID_STADD ||
		      code == UTOFU_ERR_MRQ_RMT_STADD);
	}
	meet();
	CHECK(word() == before);
	check_neighbours();
	claim("a word that is not aligned is refused and left alone");
}

int main(void)
{
	conform_begin();
	port_open(&port, 0, 0, 4096 + RANKS_MAX * COUNT);
	check_operations();
	check_operations4();
	check_swaps();
	check_concurrency();
	check_lock();
	check_arguments();
	check_alignment();
	port_close(&port);
	return conform_end();
}
