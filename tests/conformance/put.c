// SPDX-License-Identifier: MIT
/*
 * Puts and gets move the bytes they name and no others, and tell of it as
 * asked. All nodes send to the next one at once.
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define BIG 16777215
#define GUARD 64
#define HALF ((1 << 24) + 4096)
#define PIGGYBACK 32

static const size_t sizes[] = {
	0, 1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 63, 64, 65, 255, 256, 257,
	1919, 1920, 1921, 2048, 4095, 4096, 4097, 65535, 65537, 300001,
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct port port;

/* The first half is written by others, the second is this node's own. */
static uint8_t *own(void)
{
	return port.area + HALF;
}

static utofu_stadd_t own_stadd(void)
{
	return port.stadd[world.rank] + HALF;
}

/* Seeds of a node and a turn. */
static uint64_t seed_of(unsigned int rank, size_t turn)
{
	return turn * RANKS_MAX + rank;
}

static void put_once(size_t bytes, size_t from, size_t to, size_t turn)
{
	int cookie;

	memset(port.area, 0, to + bytes + GUARD);
	fill(own() + from, bytes, seed_of(world.rank, turn));
	meet();
	CODE(utofu_put(port.vcq, port.id[world.next], own_stadd() + from,
		       port.stadd[world.next] + to, bytes, turn & 255,
		       TCQ | LCL | RMT, &cookie),
	     UTOFU_SUCCESS);
	take_reports(&port, 1);
	take_notices(&port, 1, 1);
	CHECK(is_all(port.area, to, 0));
	CHECK(is_filled(port.area + to, bytes, seed_of(world.prev, turn)));
	CHECK(is_all(port.area + to + bytes, GUARD, 0));
}

static void get_once(size_t bytes, size_t from, size_t to, size_t turn)
{
	fill(port.area + from, bytes, seed_of(world.rank, turn));
	memset(own(), 0, to + bytes + GUARD);
	meet();
	CODE(utofu_get(port.vcq, port.id[world.next], own_stadd() + to,
		       port.stadd[world.next] + from, bytes, turn & 255,
		       TCQ | LCL | RMT, NULL),
	     UTOFU_SUCCESS);
	take_reports(&port, 1);
	take_notices(&port, 1, 1);
	CHECK(is_all(own(), to, 0));
	CHECK(is_filled(own() + to, bytes, seed_of(world.next, turn)));
	CHECK(is_all(own() + to + bytes, GUARD, 0));
	meet();
}

static void check_sizes(void)
{
	for (size_t i = 0; i < SIZES; i++)
		put_once(sizes[i], GUARD + i % 9, GUARD + i * 5 % 17, i);
	claim("puts of many sizes and alignments, nothing beside them");
	for (size_t i = 0; i < SIZES; i++)
		get_once(sizes[i], GUARD + i * 5 % 17, GUARD + i % 9, i);
	claim("gets of many sizes and alignments, nothing beside them");
	put_once(BIG, 0, 1, 77);
	claim("a put of 16777215 bytes");
	get_once(BIG, 1, 0, 78);
	claim("a get of 16777215 bytes");
	CODE(utofu_put(port.vcq, port.id[world.next], own_stadd(),
		       port.stadd[world.next], BIG + 1, 0, TCQ, NULL),
	     UTOFU_ERR_INVALID_SIZE);
	CODE(utofu_get(port.vcq, port.id[world.next], own_stadd(),
		       port.stadd[world.next], BIG + 1, 0, TCQ, NULL),
	     UTOFU_ERR_INVALID_SIZE);
	CODE(utofu_put(port.vcq, port.id[world.next], own_stadd(),
		       port.stadd[world.next], (size_t)1 << 32, 0, TCQ, NULL),
	     UTOFU_ERR_INVALID_SIZE);
	claim("one byte more: INVALID_SIZE");
}

/* ---- Piggyback ---- */

static void piggyback_once(size_t bytes, size_t to, bool by_value)
{
	uint8_t data[PIGGYBACK];
	uint64_t value;
	int code;

	memset(port.area, 0, 3 * GUARD);
	meet();
	fill(data, sizeof(data), seed_of(world.rank, bytes));
	memcpy(&value, data, sizeof(value));
	if (by_value)
		code = utofu_put_piggyback8(port.vcq, port.id[world.next],
					    value,
					    port.stadd[world.next] + to, bytes,
					    bytes, TCQ | LCL | RMT, NULL);
	else
		code = utofu_put_piggyback(port.vcq, port.id[world.next], data,
					   port.stadd[world.next] + to, bytes,
					   bytes, TCQ | LCL | RMT, NULL);
	/* The argument is free for reuse. */
	memset(data, 0xff, sizeof(data));
	CODE(code, UTOFU_SUCCESS);
	take_reports(&port, 1);
	take_notices(&port, 1, 1);
	CHECK(is_all(port.area, to, 0));
	CHECK(is_filled(port.area + to, bytes, seed_of(world.prev, bytes)));
	CHECK(is_all(port.area + to + bytes, GUARD, 0));
}

static void check_piggyback(void)
{
	uint8_t data[PIGGYBACK + 1] = { 0 };
	utofu_stadd_t to = port.stadd[world.next];
	utofu_vcq_id_t id = port.id[world.next];

	for (size_t bytes = 1; bytes <= PIGGYBACK; bytes++)
		piggyback_once(bytes, GUARD + bytes % 8, false);
	claim("piggyback puts of 1 to 32 bytes");
	for (size_t bytes = 1; bytes <= 8; bytes++)
		piggyback_once(bytes, GUARD + bytes % 3, true);
	claim("piggyback puts of 1 to 8 bytes by value");
	CODE(utofu_put_piggyback(port.vcq, id, data, to, 0, 0, TCQ, NULL),
	     UTOFU_ERR_INVALID_SIZE);
	CODE(utofu_put_piggyback(port.vcq, id, data, to, 33, 0, TCQ, NULL),
	     UTOFU_ERR_INVALID_SIZE);
	CODE(utofu_put_piggyback8(port.vcq, id, 0, to, 0, 0, TCQ, NULL),
	     UTOFU_ERR_INVALID_SIZE);
	CODE(utofu_put_piggyback8(port.vcq, id, 0, to, 9, 0, TCQ, NULL),
	     UTOFU_ERR_INVALID_SIZE);
	CODE(utofu_put_piggyback(port.vcq, id, NULL, to, 8, 0, TCQ, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	claim("piggyback puts of 0, 9 or 33 bytes: INVALID_SIZE");
}

/* ---- Notices and reports ---- */

static void check_notice(uint8_t type, unsigned int peer,
			 const struct utofu_mrq_notice *notice,
			 utofu_stadd_t lcl, utofu_stadd_t rmt, uint64_t edata)
{
	static const uint8_t zeros[7];

	CHECK(notice->notice_type == type);
	CHECK(notice->vcq_id == port.id[peer]);
	CHECK(notice->lcl_stadd == lcl);
	CHECK(notice->rmt_stadd == rmt);
	CHECK(notice->edata == edata);
	CHECK(notice->rmt_value == 0);
	CHECK(!memcmp(notice->padding1, zeros, sizeof(zeros)));
	CHECK(notice->reserved[0] == 0 && notice->reserved[1] == 0);
}

/* All nodes' memory is alike but for its address. */
static void check_notices(bool get)
{
	uint8_t lcl_type = get ? UTOFU_MRQ_TYPE_LCL_GET :
				 UTOFU_MRQ_TYPE_LCL_PUT;
	uint8_t rmt_type = get ? UTOFU_MRQ_TYPE_RMT_GET :
				 UTOFU_MRQ_TYPE_RMT_PUT;

	for (uint64_t edata = 0; edata < 256; edata++) {
		utofu_stadd_t from = HALF + edata * 3, to = edata * 5;
		struct utofu_mrq_notice notice;
		int code;

		if (get)
			code = utofu_get(port.vcq, port.id[world.next],
					 port.stadd[world.rank] + from,
					 port.stadd[world.next] + to, 100,
					 edata, LCL | RMT, NULL);
		else
			code = utofu_put(port.vcq, port.id[world.next],
					 port.stadd[world.rank] + from,
					 port.stadd[world.next] + to, 100,
					 edata, LCL | RMT, NULL);
		CODE(code, UTOFU_SUCCESS);
		for (int i = 0; i < 2; i++) {
			bool lcl;

			CODE(next_notice(&port, &notice), UTOFU_SUCCESS);
			lcl = notice.notice_type == lcl_type;
			check_notice(
				lcl ? lcl_type : rmt_type,
				lcl ? world.next : world.prev, &notice,
				port.stadd[lcl ? world.rank : world.prev] + from,
				port.stadd[lcl ? world.next : world.rank] + to,
				edata);
		}
		/* One turn of each node at a time. */
		meet();
	}
	claim("%s: every field of both notices, edata 0 to 255",
	      get ? "get" : "put");
}

static void check_edata_bounds(void)
{
	static const uint64_t wrong[] = { 256, 257, 1u << 31, UINT64_MAX };
	utofu_stadd_t to = port.stadd[world.next];
	utofu_vcq_id_t id = port.id[world.next];
	uint8_t data[8] = { 0 };

	for (int i = 0; i < 4; i++) {
		CODE(utofu_put(port.vcq, id, own_stadd(), to, 8, wrong[i],
			       TCQ, NULL),
		     UTOFU_ERR_INVALID_EDATA);
		CODE(utofu_get(port.vcq, id, own_stadd(), to, 8, wrong[i],
			       TCQ, NULL),
		     UTOFU_ERR_INVALID_EDATA);
		CODE(utofu_put_piggyback(port.vcq, id, data, to, 8, wrong[i],
					 TCQ, NULL),
		     UTOFU_ERR_INVALID_EDATA);
		CODE(utofu_put_piggyback8(port.vcq, id, 0, to, 8, wrong[i],
					  TCQ, NULL),
		     UTOFU_ERR_INVALID_EDATA);
		CODE(utofu_armw8(port.vcq, id, UTOFU_ARMW_OP_ADD, 0, to,
				 wrong[i], TCQ, NULL),
		     UTOFU_ERR_INVALID_EDATA);
		CODE(utofu_cswap4(port.vcq, id, 0, 0, to, wrong[i], TCQ, NULL),
		     UTOFU_ERR_INVALID_EDATA);
	}
	claim("edata of more than a byte: INVALID_EDATA");
}

/* Which of the three are asked for is which come. */
static void check_flags(void)
{
	static const unsigned long ask[] = { TCQ, LCL, RMT };

	for (unsigned int mask = 0; mask < 8; mask++) {
		unsigned long flags = 0;

		for (int i = 0; i < 3; i++)
			flags |= mask & 1u << i ? ask[i] : 0;
		CODE(utofu_put(port.vcq, port.id[world.next], own_stadd(),
			       port.stadd[world.next], 500, 1, flags, NULL),
		     UTOFU_SUCCESS);
		/* It has ended everywhere when a later one has. */
		CODE(utofu_put(port.vcq, port.id[world.next], own_stadd(),
			       port.stadd[world.next], 1, 2, TCQ | LCL | RMT,
			       &port),
		     UTOFU_SUCCESS);
		take_reports(&port, 1 + !!(flags & TCQ));
		take_notices(&port, 1 + !!(flags & LCL), 1 + !!(flags & RMT));
		meet();
		check_quiet(&port);
		meet();
	}
	claim("reports and notices come as asked for, no others");
}

static void check_hints(void)
{
	unsigned long hints[] = { UTOFU_ONESIDED_FLAG_PADDING,
				  UTOFU_ONESIDED_FLAG_CACHE_INJECTION,
				  UTOFU_ONESIDED_FLAG_PACKET_RESPONSE, STRONG,
				  0x2b };

	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		memset(port.area, 0, 512);
		fill(own(), 301, seed_of(world.rank, i));
		meet();
		CODE(utofu_put(port.vcq, port.id[world.next], own_stadd(),
			       port.stadd[world.next] + 3, 301, 0,
			       hints[i] | RMT, NULL),
		     UTOFU_SUCCESS);
		take_notices(&port, 0, 1);
		CHECK(is_all(port.area, 3, 0));
		CHECK(is_filled(port.area + 3, 301, seed_of(world.prev, i)));
		CHECK(is_all(port.area + 304, 200, 0));
		meet();
	}
	claim("PADDING, CACHE_INJECTION, PACKET_RESPONSE, STRONG_ORDER");
	for (int bit = 0; bit < 64; bit++) {
		unsigned long known = 0xff00c12f;

		if (!(known >> bit & 1))
			CODE(utofu_put(port.vcq, port.id[world.next],
				       own_stadd(), port.stadd[world.next], 8,
				       0, 1UL << bit, NULL),
			     UTOFU_ERR_INVALID_FLAGS);
	}
	claim("flags that nobody knows: INVALID_FLAGS");
}

static void check_cbdata(void)
{
	static char cookies[500];
	void *cbdata;

	for (int i = 0; i < 500; i++) {
		/* Every third one is silent. */
		unsigned long flags = i % 3 == 1 ? 0 : TCQ;

		CODE(utofu_put(port.vcq, port.id[world.next], own_stadd(),
			       port.stadd[world.next],
			       i % 5 ? (size_t)i : 5000, 0, flags,
			       i == 300 ? NULL : &cookies[i]),
		     UTOFU_SUCCESS);
	}
	for (int i = 0; i < 500; i++) {
		if (i % 3 == 1)
			continue;
		cbdata = &port;
		CODE(next_report(&port, &cbdata), UTOFU_SUCCESS);
		CHECK(cbdata == (i == 300 ? NULL : &cookies[i]));
	}
	check_quiet(&port);
	claim("poll_tcq gives the cbdata of each post that asked, in order");
}

static void check_counts(void)
{
	struct patience patience = { 0 };
	size_t reports = 99, notices = 99;

	CODE(utofu_query_num_unread_tcq(port.vcq, &reports), UTOFU_SUCCESS);
	CODE(utofu_query_num_unread_mrq(port.vcq, &notices), UTOFU_SUCCESS);
	CHECK(reports == 0 && notices == 0);
	meet();
	for (int i = 0; i < 10; i++)
		CODE(utofu_put_piggyback8(port.vcq, port.id[world.next], 0,
					  port.stadd[world.next], 8, 0,
					  TCQ | LCL | RMT, NULL),
		     UTOFU_SUCCESS);
	while ((reports < 10 || notices < 20) && patient(&patience)) {
		CODE(utofu_query_num_unread_tcq(port.vcq, &reports),
		     UTOFU_SUCCESS);
		CODE(utofu_query_num_unread_mrq(port.vcq, &notices),
		     UTOFU_SUCCESS);
		CHECK(reports <= 10 && notices <= 20);
	}
	take_reports(&port, 4);
	take_notices(&port, 10, 10);
	CODE(utofu_query_num_unread_tcq(port.vcq, &reports), UTOFU_SUCCESS);
	CODE(utofu_query_num_unread_mrq(port.vcq, &notices), UTOFU_SUCCESS);
	CHECK(reports == 6 && notices == 0);
	take_reports(&port, 6);
	claim("how many reports and notices wait");
}

int main(void)
{
	conform_begin();
	port_open(&port, 0, 0, 2 * HALF);
	check_quiet(&port);
	claim("empty queues: NOT_FOUND");
	check_sizes();
	check_piggyback();
	check_notices(false);
	check_notices(true);
	check_edata_bounds();
	check_flags();
	check_hints();
	check_cbdata();
	check_counts();
	port_close(&port);
	return conform_end();
}
