// SPDX-License-Identifier: MIT
/* Prepared commands, one at a time and many at once; DELAY_START. */
#include <string.h>

#include "conform.h"

#define DESC 64
#define HALF 65536

static struct port port;
static uint8_t descs[64 * DESC];

/* ---- Prepared ---- */

/* A command of each kind that is told from the others by its edata. */
static size_t prepare(unsigned int kind, unsigned long flags, uint8_t *desc)
{
	utofu_vcq_hdl_t vcq = port.vcq;
	utofu_vcq_id_t id = port.id[world.next];
	utofu_stadd_t lcl = port.stadd[world.rank] + HALF;
	utofu_stadd_t rmt = port.stadd[world.next] + kind * 64;
	uint8_t data[32];
	size_t size = 0;
	int code;

	memset(data, (int)kind + 1, sizeof(data));
	switch (kind) {
	case 0:
		code = utofu_prepare_put(vcq, id, lcl, rmt, 16, kind, flags,
					 desc, &size);
		break;
	case 1:
		code = utofu_prepare_put_gap(vcq, id, lcl, rmt, 16, kind,
					     flags, 64, 3, desc, &size);
		break;
	case 2:
		code = utofu_prepare_put_piggyback(vcq, id, data, rmt, 32,
						   kind, flags, desc, &size);
		break;
	case 3:
		code = utofu_prepare_put_piggyback8(vcq, id, 0x0404040404040404,
						    rmt, 8, kind, flags, desc,
						    &size);
		break;
	case 4:
		code = utofu_prepare_armw4(vcq, id, UTOFU_ARMW_OP_ADD, 5, rmt,
					   kind, flags, desc, &size);
		break;
	case 5:
		code = utofu_prepare_armw8(vcq, id, UTOFU_ARMW_OP_OR, 6, rmt,
					   kind, flags, desc, &size);
		break;
	case 6:
		code = utofu_prepare_cswap4(vcq, id, 0, 7, rmt, kind, flags,
					    desc, &size);
		break;
	case 7:
		code = utofu_prepare_cswap8(vcq, id, 0, 8, rmt, kind, flags,
					    desc, &size);
		break;
	case 8:
		code = utofu_prepare_get(vcq, id, lcl + kind * 64,
					 rmt + HALF / 2, 16, kind, flags, desc,
					 &size);
		break;
	default:
		code = utofu_prepare_get_gap(vcq, id, lcl + kind * 64,
					     rmt + HALF / 2, 16, kind, flags,
					     0, 0, desc, &size);
	}
	CODE(code, UTOFU_SUCCESS);
	CHECK(size > 0 && size <= DESC);
	/* The argument is free for reuse. */
	memset(data, 0xff, sizeof(data));
	return size;
}

#define KINDS 10

/* Check the effects of this node's commands and the previous node's. */
static void check_effects(void)
{
	CHECK(is_all(port.area + 0 * 64, 16, 0x31));
	CHECK(is_all(port.area + 1 * 64, 16, 0x31));
	CHECK(is_all(port.area + 2 * 64, 32, 3));
	CHECK(is_all(port.area + 3 * 64, 8, 4));
	for (unsigned int kind = 4; kind < 8; kind++) {
		CHECK(port.area[kind * 64] == kind + 1);
		CHECK(is_all(port.area + kind * 64 + 1, 63, 0));
	}
	for (unsigned int kind = 8; kind < KINDS; kind++)
		CHECK(is_all(port.area + HALF + kind * 64, 16, 0x42));
}

static void areas_reset(void)
{
	memset(port.area, 0, 2 * HALF);
	memset(port.area + HALF / 2, 0x42, 4096);
	memset(port.area + HALF, 0x31, 64);
	meet();
}

/* Notices of all kinds, own ones and the previous node's. */
static void check_told(void)
{
	unsigned int lcl = 0, rmt = 0;

	for (unsigned int i = 0; i < 2 * KINDS; i++) {
		struct utofu_mrq_notice notice;

		if (!CODE(next_notice(&port, &notice), UTOFU_SUCCESS))
			return;
		CHECK(notice.edata < KINDS);
		if (notice.notice_type & 1)
			rmt |= 1u << notice.edata;
		else
			lcl |= 1u << notice.edata;
	}
	CHECK(lcl == (1u << KINDS) - 1);
	CHECK(rmt == (1u << KINDS) - 1);
}

static void check_single(void)
{
	void *cbdata;

	areas_reset();
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		/* A descriptor needs no alignment. */
		size_t size = prepare(kind, TCQ | LCL | RMT, descs + 1);

		CODE(utofu_post_toq(port.vcq, descs + 1, size, descs + kind),
		     UTOFU_SUCCESS);
	}
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		CODE(next_report(&port, &cbdata), UTOFU_SUCCESS);
		CHECK(cbdata == descs + kind);
	}
	check_told();
	meet();
	check_effects();
	claim("prepared commands of every kind do what the others do");
}

static void check_many(void)
{
	size_t size = 0;
	void *cbdata;

	areas_reset();
	for (unsigned int kind = 0; kind < KINDS; kind++)
		size += prepare(kind, TCQ | LCL | RMT, descs + size);
	CODE(utofu_post_toq(port.vcq, descs, size, descs), UTOFU_SUCCESS);
	for (unsigned int kind = 0; kind < KINDS; kind++) {
		CODE(next_report(&port, &cbdata), UTOFU_SUCCESS);
		CHECK(cbdata == descs);
	}
	check_told();
	meet();
	check_quiet(&port);
	check_effects();
	claim("%d prepared commands go out through one post_toq", KINDS);
}

static void check_reuse(void)
{
	size_t size = 0;

	memset(port.area, 0, 64);
	meet();
	CODE(utofu_prepare_armw8(port.vcq, port.id[world.next],
				 UTOFU_ARMW_OP_ADD, 1, port.stadd[world.next],
				 0, TCQ, descs, &size),
	     UTOFU_SUCCESS);
	check_quiet(&port);
	for (int i = 0; i < 200; i++) {
		CODE(utofu_post_toq(port.vcq, descs, size, NULL),
		     UTOFU_SUCCESS);
		take_reports(&port, 1);
	}
	meet();
	CHECK(port.area[0] == 200);
	claim("a prepared command can be posted again and again");
}

static void check_nop(void)
{
	size_t size = 0;
	void *cbdata = NULL;

	CODE(utofu_prepare_nop(port.vcq, TCQ, descs, &size), UTOFU_SUCCESS);
	CODE(utofu_post_toq(port.vcq, descs, size, &size), UTOFU_SUCCESS);
	CODE(next_report(&port, &cbdata), UTOFU_SUCCESS);
	CHECK(cbdata == &size);
	CODE(utofu_nop(port.vcq, 0, &port), UTOFU_SUCCESS);
	CODE(utofu_nop(port.vcq, TCQ, descs), UTOFU_SUCCESS);
	CODE(next_report(&port, &cbdata), UTOFU_SUCCESS);
	CHECK(cbdata == descs);
	check_quiet(&port);
	claim("NOP, prepared or not, makes its report if asked");
}

/* All or none: a queue that has not room for all takes none of them. */
static void check_all_or_none(void)
{
	size_t count = 0, size = 0, posts = 0;
	struct patience patience = { 0 };
	void *cbdata;
	int code;

	memset(port.area, 0, 64);
	meet();
	for (; count < 20; count++) {
		size_t one = 0;

		utofu_prepare_armw8(port.vcq, port.id[world.next],
				    UTOFU_ARMW_OP_ADD, 1,
				    port.stadd[world.next], 0, TCQ,
				    descs + size, &one);
		size += one;
	}
	do {
		code = utofu_post_toq(port.vcq, descs, size, NULL);
	} while (code == UTOFU_SUCCESS && ++posts < (1 << 18));
	CODE(code, UTOFU_ERR_BUSY);
	take_reports(&port, posts * count);
	check_quiet(&port);
	while (utofu_nop(port.vcq, TCQ, descs) == UTOFU_ERR_BUSY &&
	       patient(&patience))
		;
	CODE(next_report(&port, &cbdata), UTOFU_SUCCESS);
	CHECK(cbdata == descs);
	meet();
	{
		uint64_t sum;

		memcpy(&sum, port.area, 8);
		if (world.ranks == 1)
			CHECK(sum == posts * count);
		CHECK(sum % count == 0);
	}
	claim("post_toq queues all of them, or BUSY and none");
}

static void check_arguments(void)
{
	utofu_vcq_hdl_t other = 0;
	size_t size = 0;

	CODE(utofu_prepare_nop(port.vcq, TCQ, descs, &size), UTOFU_SUCCESS);
	CODE(utofu_post_toq(port.vcq, NULL, size, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_post_toq(port.vcq, descs, 0, NULL), UTOFU_ERR_INVALID_SIZE);
	CODE(utofu_post_toq(port.vcq, descs, size - 1, NULL),
	     UTOFU_ERR_INVALID_SIZE);
	CODE(utofu_prepare_nop(port.vcq, TCQ, NULL, &size),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_prepare_nop(port.vcq, TCQ, descs, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_prepare_put(port.vcq, port.id[0], 0, 0, 8, 256, 0, descs,
			       &size),
	     UTOFU_ERR_INVALID_EDATA);
	CODE(utofu_prepare_put(port.vcq, port.id[0], 0, 0, 1 << 24, 0, 0,
			       descs, &size),
	     UTOFU_ERR_INVALID_SIZE);
	CODE(utofu_prepare_put_piggyback(port.vcq, port.id[0], descs, 0, 33, 0,
					 0, descs, &size),
	     UTOFU_ERR_INVALID_SIZE);
	claim("bad arguments of preparing and posting");

	memset(descs, 0xff, DESC);
	CODE(utofu_post_toq(port.vcq, descs, 32, NULL),
	     UTOFU_ERR_INVALID_DESC);
	CODE(utofu_create_vcq_with_cmp_id(0, 2, 0, &other), UTOFU_SUCCESS);
	CODE(utofu_prepare_put(port.vcq, port.id[0], port.stadd[world.rank],
			       port.stadd[0], 8, 0, TCQ, descs, &size),
	     UTOFU_SUCCESS);
	CODE(utofu_post_toq(other, descs, size, NULL), UTOFU_ERR_INVALID_DESC);
	CODE(utofu_free_vcq(other), UTOFU_SUCCESS);
	CODE(utofu_create_vcq(1, 0, &other), UTOFU_SUCCESS);
	CODE(utofu_post_toq(other, descs, size, NULL), UTOFU_ERR_INVALID_DESC);
	CODE(utofu_prepare_nop(port.vcq, TCQ, descs, &size), UTOFU_SUCCESS);
	CODE(utofu_post_toq(other, descs, size, NULL), UTOFU_ERR_INVALID_DESC);
	CODE(utofu_free_vcq(other), UTOFU_SUCCESS);
	claim("no command, or one of another VCQ or TNI: INVALID_DESC");
	check_quiet(&port);
}

/* ---- DELAY_START ---- */

/* Long enough for what has been started to arrive, or nearly always so. */
static void let_time_pass(void)
{
	struct utofu_mrq_notice notice;
	void *cbdata;

	for (int i = 0; i < 10; i++) {
		/* Looking does not start it, either. */
		CODE(utofu_poll_tcq(port.vcq, 0, &cbdata),
		     UTOFU_ERR_NOT_FOUND);
		CODE(utofu_poll_mrq(port.vcq, 0, &notice),
		     UTOFU_ERR_NOT_FOUND);
		meet();
		rest(2);
	}
}

static void put_value(uint64_t value, size_t at, unsigned long flags)
{
	CODE(utofu_put_piggyback8(port.vcq, port.id[world.next], value,
				  port.stadd[world.next] + at, 8, value, flags,
				  (void *)(descs + value)),
	     UTOFU_SUCCESS);
}

static void check_delay(unsigned int delayed, bool by_nop)
{
	void *cbdata;

	memset(port.area, 0, 4096);
	meet();
	for (unsigned int i = 1; i <= delayed; i++)
		put_value(i, i * 8, TCQ | DELAY);
	let_time_pass();
	CHECK(is_all(port.area, 4096, 0));
	meet();
	if (by_nop)
		CODE(utofu_nop(port.vcq, TCQ, descs + delayed + 1),
		     UTOFU_SUCCESS);
	else
		put_value(delayed + 1, 0, TCQ);
	for (unsigned int i = 1; i <= delayed + 1; i++) {
		CODE(next_report(&port, &cbdata), UTOFU_SUCCESS);
		CHECK(cbdata == descs + i);
	}
	meet();
	for (unsigned int i = 1; i <= delayed; i++)
		CHECK(port.area[i * 8] == i);
	CHECK(port.area[0] == (by_nop ? 0 : delayed + 1));
	claim("DELAY_START: %u wait for %s", delayed,
	      by_nop ? "a NOP" : "the next put");
}

/* A VCQ that is alone in its queue: nobody else's post starts anything. */
static void check_delay_prepared(void)
{
	size_t size = 0, one;
	uint8_t data[8];

	memset(port.area, 0, 4096);
	meet();
	memset(data, 9, sizeof(data));
	for (int i = 0; i < 3; i++) {
		CODE(utofu_prepare_put_piggyback(
			     port.vcq, port.id[world.next], data,
			     port.stadd[world.next] + 8 * i, 8, 0, TCQ | DELAY,
			     descs + size, &one),
		     UTOFU_SUCCESS);
		size += one;
	}
	CODE(utofu_post_toq(port.vcq, descs, size, NULL), UTOFU_SUCCESS);
	let_time_pass();
	CHECK(is_all(port.area, 4096, 0));
	meet();
	CODE(utofu_nop(port.vcq, TCQ, NULL), UTOFU_SUCCESS);
	take_reports(&port, 4);
	meet();
	CHECK(is_all(port.area, 24, 9));
	claim("DELAY_START of prepared commands");
}

int main(void)
{
	conform_begin();
	port_open(&port, 0, UTOFU_VCQ_FLAG_EXCLUSIVE, 2 * HALF);
	check_single();
	check_many();
	check_reuse();
	check_nop();
	check_all_or_none();
	check_arguments();
	check_delay(1, false);
	check_delay(1, true);
	check_delay(20, false);
	check_delay(100, true);
	check_delay_prepared();
	port_close(&port);
	return conform_end();
}
