// SPDX-License-Identifier: MIT
/* Registered memory: what a STADD is, what may be done with it, and its end. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "conform.h"

#define OFFSET_BITS 40
#define OFFSET_MASK ((UINT64_C(1) << OFFSET_BITS) - 1)
#define STAGS 256
#define BYTES 65536
#define STREAM_BYTES (1 << 20)
#define STREAM_PUTS 200

static struct port port;

/* Put a word of this node's area to the next node; Return: the result. */
static int try_put(utofu_stadd_t from, utofu_stadd_t to, size_t bytes)
{
	struct utofu_mrq_notice notice;
	void *cbdata;
	int code;

	code = utofu_put(port.vcq, port.id[world.next], from, to, bytes, 0,
			 TCQ | LCL, NULL);
	if (code == UTOFU_SUCCESS)
		code = next_report(&port, &cbdata);
	return code == UTOFU_SUCCESS ? next_notice(&port, &notice) : code;
}

static int try_get(utofu_stadd_t to, utofu_stadd_t from, size_t bytes)
{
	struct utofu_mrq_notice notice;
	int code = utofu_get(port.vcq, port.id[world.next], to, from, bytes, 0,
			     LCL, NULL);

	return code == UTOFU_SUCCESS ? next_notice(&port, &notice) : code;
}

/* ---- STADDs ---- */

/* Each has 256 bytes of the area; a word goes to the end of each. */
static void check_reserved_regions(void)
{
	for (unsigned int stag = 0; stag < STAGS; stag++) {
		utofu_stadd_t to = 0;

		CODE(utofu_query_stadd(port.id[world.next], stag, &to),
		     UTOFU_SUCCESS);
		CODE(utofu_put_piggyback8(port.vcq, port.id[world.next],
					  stag + 1, to + 248, 8, 0, LCL, NULL),
		     UTOFU_SUCCESS);
		take_notices(&port, 1, 0);
	}
	meet();
	for (unsigned int stag = 0; stag < STAGS; stag++) {
		uint64_t word;

		memcpy(&word, port.area + stag * 256 + 248, sizeof(word));
		CHECK(word == stag + 1);
	}
	claim("each of 256 STAGs reaches memory of its own");
}

static void check_reserved_stags(void)
{
	utofu_stadd_t asked, given;
	uint64_t all[RANKS_MAX];

	for (unsigned int stag = 0; stag < STAGS; stag++) {
		/* Others can compute the STADD before the registration. */
		CODE(utofu_query_stadd(port.id[world.rank], stag, &asked),
		     UTOFU_SUCCESS);
		CHECK((asked & OFFSET_MASK) == 0);
		CHECK((asked >> OFFSET_BITS) % STAGS == stag);
		CODE(utofu_reg_mem_with_stag(port.vcq, port.area + stag * 256,
					     256, stag, 0, &given),
		     UTOFU_SUCCESS);
		CHECK(given == asked);
		if (stag % 51)
			continue;
		exchange(given, all);
		for (unsigned int r = 0; r < world.ranks; r++) {
			CODE(utofu_query_stadd(port.id[r], stag, &asked),
			     UTOFU_SUCCESS);
			CHECK(asked == all[r]);
		}
	}
	claim("query_stadd is what reg_mem_with_stag gives there, 256 STAGs");
	check_reserved_regions();
	for (unsigned int stag = 0; stag < STAGS; stag++) {
		utofu_query_stadd(port.id[world.rank], stag, &asked);
		CODE(utofu_dereg_mem(port.vcq, asked, 0), UTOFU_SUCCESS);
		CODE(utofu_dereg_mem(port.vcq, asked, 0),
		     UTOFU_ERR_INVALID_STADD);
	}
	claim("each is deregistered once");
}

static void check_stag_codes(void)
{
	utofu_stadd_t stadd, query;

	CODE(utofu_reg_mem_with_stag(port.vcq, port.area, 256, 9, 0, &stadd),
	     UTOFU_SUCCESS);
	CODE(utofu_reg_mem_with_stag(port.vcq, port.area, 256, 9, 0, &query),
	     UTOFU_ERR_USED);
	CODE(utofu_reg_mem_with_stag(port.vcq, port.area, 256, STAGS, 0,
				     &query),
	     UTOFU_ERR_INVALID_STAG);
	CODE(utofu_reg_mem_with_stag(port.vcq, port.area, 256, UINT32_MAX, 0,
				     &query),
	     UTOFU_ERR_INVALID_STAG);
	CODE(utofu_query_stadd(port.id[0], STAGS, &query),
	     UTOFU_ERR_INVALID_STAG);
	CODE(utofu_query_stadd(port.id[0], 0, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_stadd(UINT64_MAX, 0, &query),
	     UTOFU_ERR_INVALID_VCQ_ID);
	CODE(utofu_dereg_mem(port.vcq, stadd, 0), UTOFU_SUCCESS);
	claim("STAGs: USED, INVALID_STAG");
}

static void check_registration_codes(void)
{
	utofu_stadd_t stadd;
	uint8_t *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int code;

	CODE(utofu_reg_mem(port.vcq, NULL, 64, 0, &stadd),
	     UTOFU_ERR_INVALID_ADDRESS);
	CHECK(gone != MAP_FAILED && munmap(gone, 8192) == 0);
	CODE(utofu_reg_mem(port.vcq, gone, 8192, 0, &stadd),
	     UTOFU_ERR_INVALID_ADDRESS);
	CODE(utofu_reg_mem_with_stag(port.vcq, gone, 8192, 1, 0, &stadd),
	     UTOFU_ERR_INVALID_ADDRESS);
	CODE(utofu_reg_mem(port.vcq, port.area, 0, 0, &stadd),
	     UTOFU_ERR_INVALID_SIZE);
	/* The end would be below the beginning: wrong in two ways. */
	code = utofu_reg_mem(port.vcq, port.area, SIZE_MAX, 0, &stadd);
	CHECK(code == UTOFU_ERR_INVALID_SIZE ||
	      code == UTOFU_ERR_INVALID_ADDRESS);
	CODE(utofu_reg_mem(port.vcq, port.area, 64, 2, &stadd),
	     UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_reg_mem_with_stag(port.vcq, port.area, 64, 1, 1UL << 40,
				     &stadd),
	     UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_reg_mem(port.vcq, port.area, 64, 0, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_reg_mem_with_stag(port.vcq, port.area, 64, 1, 0, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	claim("bad arguments of a registration");
	CODE(utofu_reg_mem(port.vcq, port.area, 64, 0, &stadd),
	     UTOFU_SUCCESS);
	CODE(utofu_dereg_mem(port.vcq, stadd, 1), UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_dereg_mem(port.vcq, stadd ^ UINT64_C(77) << 40, 0),
	     UTOFU_ERR_INVALID_STADD);
	CODE(utofu_dereg_mem(port.vcq, UINT64_MAX, 0),
	     UTOFU_ERR_INVALID_STADD);
	CODE(utofu_dereg_mem(port.vcq, stadd, 0), UTOFU_SUCCESS);
	claim("bad arguments of a deregistration");
}

/* A buffer from anywhere: the STADD is of its first byte. */
static void check_unaligned(bool with_stag)
{
	for (unsigned int at = 1; at < 600; at += 37) {
		uint64_t stadd = 0, all[RANKS_MAX];
		uint8_t *buffer = port.area + 1024 + at;
		utofu_stadd_t query;
		int code = with_stag ?
				   utofu_reg_mem_with_stag(port.vcq, buffer,
							   300, 33, 0,
							   &stadd) :
				   utofu_reg_mem(port.vcq, buffer, 300, 0,
						 &stadd);

		CODE(code, UTOFU_SUCCESS);
		CHECK((stadd & OFFSET_MASK) == at % 256);
		if (with_stag) {
			utofu_query_stadd(port.id[world.rank], 33, &query);
			CHECK(stadd == query + at % 256);
		}
		exchange(stadd, all);
		memset(port.area, 0, 4096);
		port.area[8000] = (uint8_t)at;
		meet();
		/* First byte, a byte inside, and last byte of the buffer. */
		CODE(try_put(port.stadd[world.rank] + 8000, all[world.next],
			     1),
		     UTOFU_SUCCESS);
		CODE(try_put(port.stadd[world.rank] + 8000,
			     all[world.next] + 123, 1),
		     UTOFU_SUCCESS);
		CODE(try_put(port.stadd[world.rank] + 8000,
			     all[world.next] + 299, 1),
		     UTOFU_SUCCESS);
		meet();
		for (unsigned int i = 0; i < 4096; i++)
			if (port.area[i] != 0)
				CHECK(port.area + i == buffer ||
				      port.area + i == buffer + 123 ||
				      port.area + i == buffer + 299);
		CHECK(buffer[0] == (uint8_t)at);
		CHECK(buffer[123] == (uint8_t)at);
		CHECK(buffer[299] == (uint8_t)at);
		CODE(utofu_dereg_mem(port.vcq, stadd, 0), UTOFU_SUCCESS);
	}
	claim("a STADD plus bytes is that byte of the buffer%s",
	      with_stag ? ", with a STAG" : "");
}

static void check_inside(void)
{
	fill(port.area + 4096, 1000, world.rank);
	memset(port.area, 0, 4096);
	meet();
	for (size_t at = 0; at < 1000; at += 10)
		CODE(try_put(port.stadd[world.rank] + 4096 + at,
			     port.stadd[world.next] + 5 + at, 10),
		     UTOFU_SUCCESS);
	meet();
	CHECK(is_filled(port.area + 5, 1000, world.prev));
	claim("offsets of both STADDs address inside the regions");
}

/* ---- READ_ONLY ---- */

static void check_read_only(void)
{
	struct utofu_mrq_notice notice;
	uint64_t stadd = 0, all[RANKS_MAX];
	void *cbdata;

	memset(port.area + 8192, 0x55, 256);
	fill(port.area, 64, world.rank);
	CODE(utofu_reg_mem(port.vcq, port.area + 8192, 256,
			   UTOFU_REG_MEM_FLAG_READ_ONLY, &stadd),
	     UTOFU_SUCCESS);
	exchange(stadd, all);
	CODE(try_put(port.stadd[world.rank], all[world.next], 8),
	     UTOFU_ERR_MRQ_RMT_STADD);
	take_reports(&port, 0);
	CODE(utofu_put_piggyback8(port.vcq, port.id[world.next], 1,
				  all[world.next], 8, 0, LCL, NULL),
	     UTOFU_SUCCESS);
	CODE(next_notice(&port, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	CODE(utofu_armw8(port.vcq, port.id[world.next], UTOFU_ARMW_OP_ADD, 1,
			 all[world.next], 0, LCL, NULL),
	     UTOFU_SUCCESS);
	CODE(next_notice(&port, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	CODE(utofu_cswap4(port.vcq, port.id[world.next], 0x55555555, 1,
			  all[world.next], 0, LCL, NULL),
	     UTOFU_SUCCESS);
	CODE(next_notice(&port, &notice), UTOFU_ERR_MRQ_RMT_STADD);
	meet();
	CHECK(is_all(port.area + 8192, 256, 0x55));
	claim("READ_ONLY memory: puts and atomics are MRQ_RMT_STADD");

	memset(port.area + 4096, 0, 64);
	CODE(try_get(port.stadd[world.rank] + 4096, all[world.next], 64),
	     UTOFU_SUCCESS);
	CHECK(is_all(port.area + 4096, 64, 0x55));
	CODE(try_put(stadd, port.stadd[world.next] + 4200, 64), UTOFU_SUCCESS);
	meet();
	CHECK(is_all(port.area + 4200, 64, 0x55));
	claim("READ_ONLY memory is read by gets and by own puts");

	CODE(utofu_get(port.vcq, port.id[world.next], stadd,
		       port.stadd[world.next], 64, 0, TCQ, &cbdata),
	     UTOFU_SUCCESS);
	cbdata = NULL;
	CODE(next_report(&port, &cbdata), UTOFU_ERR_TCQ_STADD);
	CHECK(cbdata == &cbdata);
	CHECK(is_all(port.area + 8192, 256, 0x55));
	claim("READ_ONLY memory as a get's destination is TCQ_STADD");
	CODE(utofu_dereg_mem(port.vcq, stadd, 0), UTOFU_SUCCESS);
	while (utofu_poll_mrq(port.vcq, 0, &notice) != UTOFU_ERR_NOT_FOUND)
		;
}

/* ---- The end of a registration ---- */

static void check_gone(void)
{
	uint64_t stadd = 0, all[RANKS_MAX];
	struct utofu_mrq_notice notice;
	void *cbdata;

	memset(port.area + 8192, 0x66, 256);
	CODE(utofu_reg_mem_with_stag(port.vcq, port.area + 8192, 256, 3, 0,
				     &stadd),
	     UTOFU_SUCCESS);
	exchange(stadd, all);
	CODE(try_get(port.stadd[world.rank], all[world.next], 8),
	     UTOFU_SUCCESS);
	meet();
	CODE(utofu_dereg_mem(port.vcq, stadd, 0), UTOFU_SUCCESS);
	meet();
	CODE(try_put(port.stadd[world.rank], all[world.next], 8),
	     UTOFU_ERR_MRQ_RMT_STADD);
	CODE(try_get(port.stadd[world.rank], all[world.next], 8),
	     UTOFU_ERR_MRQ_RMT_STADD);
	CODE(utofu_put(port.vcq, port.id[world.next], stadd,
		       port.stadd[world.next], 8, 0, TCQ, &notice),
	     UTOFU_SUCCESS);
	cbdata = NULL;
	CODE(next_report(&port, &cbdata), UTOFU_ERR_TCQ_STADD);
	CHECK(cbdata == &notice);
	meet();
	CHECK(is_all(port.area + 8192, 256, 0x66));
	claim("deregistered memory: MRQ_RMT_STADD there, TCQ_STADD here");

	CODE(utofu_reg_mem_with_stag(port.vcq, port.area + 12288, 256, 3, 0,
				     &stadd),
	     UTOFU_SUCCESS);
	CHECK(stadd == all[world.rank]);
	memset(port.area + 12288, 0, 256);
	memset(port.area, 0x21, 8);
	meet();
	CODE(try_put(port.stadd[world.rank], all[world.next], 8),
	     UTOFU_SUCCESS);
	meet();
	CHECK(is_all(port.area + 12288, 8, 0x21));
	CHECK(is_all(port.area + 8192, 256, 0x66));
	CODE(utofu_dereg_mem(port.vcq, stadd, 0), UTOFU_SUCCESS);
	claim("its STAG can be used at once, for other memory");
	while (utofu_poll_mrq(port.vcq, 0, &notice) != UTOFU_ERR_NOT_FOUND)
		;
}

/* Counts what comes of puts; the number that failed as they should. */
static unsigned int end_of_stream(unsigned int posted, int failure)
{
	struct utofu_mrq_notice notice;
	unsigned int failed = 0;

	for (unsigned int i = 0; i < posted; i++) {
		int code = next_notice(&port, &notice);

		if (code == failure)
			failed++;
		else if (!CODE(code, UTOFU_SUCCESS))
			break;
	}
	return failed;
}

static unsigned int post_stream(utofu_stadd_t from, utofu_stadd_t to)
{
	struct patience patience = { 0 };
	unsigned int posted = 0;

	while (posted < STREAM_PUTS) {
		int code = utofu_put(port.vcq, port.id[world.next], from, to,
				     STREAM_BYTES, 0, LCL, NULL);

		if (code == UTOFU_SUCCESS)
			posted++;
		else if (!CHECK(code == UTOFU_ERR_BUSY) || !patient(&patience))
			break;
	}
	return posted;
}

/* No node writes to memory that its owner has deregistered. */
static void check_target_in_flight(void)
{
	uint8_t *target = aligned_alloc(4096, STREAM_BYTES);
	uint64_t stadd = 0, all[RANKS_MAX];
	unsigned int posted;

	if (!target)
		give_up("no memory");
	memset(target, 0, STREAM_BYTES);
	CODE(utofu_reg_mem(port.vcq, target, STREAM_BYTES, 0, &stadd),
	     UTOFU_SUCCESS);
	exchange(stadd, all);
	posted = post_stream(port.stadd[world.rank], all[world.next]);
	CODE(utofu_dereg_mem(port.vcq, stadd, 0), UTOFU_SUCCESS);
	memset(target, 0x99, STREAM_BYTES);
	end_of_stream(posted, UTOFU_ERR_MRQ_RMT_STADD);
	meet();
	CHECK(is_all(target, STREAM_BYTES, 0x99));
	free(target);
	claim("a target deregistered while puts are in flight stays as it is");
}

/* No node sees what the owner writes to memory after deregistering it. */
static void check_source_in_flight(void)
{
	uint8_t *source = aligned_alloc(4096, STREAM_BYTES);
	utofu_stadd_t stadd = 0;
	struct utofu_mrq_notice notice;
	void *cbdata;
	unsigned int posted;
	size_t secret = 0;

	if (!source)
		give_up("no memory");
	memset(source, 0x11, STREAM_BYTES);
	memset(port.area, 0, STREAM_BYTES);
	CODE(utofu_reg_mem(port.vcq, source, STREAM_BYTES, 0, &stadd),
	     UTOFU_SUCCESS);
	meet();
	posted = post_stream(stadd, port.stadd[world.next]);
	CODE(utofu_dereg_mem(port.vcq, stadd, 0), UTOFU_SUCCESS);
	memset(source, 0xcc, STREAM_BYTES);
	/* All have ended when this one is reported. */
	while (utofu_nop(port.vcq, TCQ, &port) == UTOFU_ERR_BUSY)
		while (utofu_poll_mrq(port.vcq, 0, &notice) !=
		       UTOFU_ERR_NOT_FOUND)
			;
	for (unsigned int i = 0; i <= posted; i++) {
		int code = next_report(&port, &cbdata);

		if (code == UTOFU_SUCCESS || code == UTOFU_ERR_NOT_FOUND)
			break;
	}
	CHECK(cbdata == &port);
	meet();
	for (size_t i = 0; i < STREAM_BYTES; i++)
		secret += port.area[i] == 0xcc;
	CHECK(secret == 0);
	while (utofu_poll_mrq(port.vcq, 0, &notice) != UTOFU_ERR_NOT_FOUND)
		;
	free(source);
	claim("a source deregistered while puts are in flight is not read");
}

int main(void)
{
	conform_begin();
	port_open(&port, 0, 0, 2 * STREAM_BYTES);
	check_reserved_stags();
	check_stag_codes();
	check_registration_codes();
	check_unaligned(false);
	check_unaligned(true);
	check_inside();
	check_read_only();
	check_gone();
	check_target_in_flight();
	check_source_in_flight();
	port_close(&port);
	return conform_end();
}
