// SPDX-License-Identifier: MIT
/*
 * Queues that are full: BUSY, drained and tried again; notices that nobody
 * takes. Best with small rings: the full ones are found sooner.
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define POSTS_MAX (1 << 18) /* many times what the rings here hold */
#define BYTES 4096

static struct port port;

enum kind { PUT, GET, PIGGYBACK, ARMW, CSWAP, NOP, BLOCKS, KINDS };

static const char *const kind_names[] = { "put", "get", "put_piggyback",
					  "armw8", "cswap8", "nop",
					  "put_stride" };

static int post(enum kind kind, unsigned long flags, void *cbdata)
{
	static uint8_t data[32];
	utofu_vcq_id_t id = port.id[world.next];
	utofu_stadd_t from = port.stadd[world.rank] + 1024;
	utofu_stadd_t to = port.stadd[world.next];

	switch (kind) {
	case PUT:
		return utofu_put(port.vcq, id, from, to, 64, 0, flags, cbdata);
	case GET:
		return utofu_get(port.vcq, id, from, to, 64, 0, flags, cbdata);
	case PIGGYBACK:
		return utofu_put_piggyback(port.vcq, id, data, to, 32, 0,
					   flags, cbdata);
	case ARMW:
		return utofu_armw8(port.vcq, id, UTOFU_ARMW_OP_ADD, 1, to, 0,
				   flags, cbdata);
	case CSWAP:
		return utofu_cswap8(port.vcq, id, 0, 1, to, 0, flags, cbdata);
	case BLOCKS:
		return utofu_put_stride(port.vcq, id, from, to, 8, 16, 2, 0,
					flags, cbdata);
	default:
		return utofu_nop(port.vcq, flags, cbdata);
	}
}

/* Without polls there is no room sooner or later. */
static size_t fill_queue(enum kind kind, uint8_t *base)
{
	size_t posted = 0;
	int code;

	do {
		code = post(kind, TCQ, base + posted);
	} while (code == UTOFU_SUCCESS && ++posted < POSTS_MAX);
	CODE(code, UTOFU_ERR_BUSY);
	return posted;
}

static void check_busy(enum kind kind)
{
	uint8_t *base = NULL;
	struct patience patience = { 0 };
	size_t posted = fill_queue(kind, base), taken = 0;
	void *cbdata;

	CHECK(posted >= 64);
	/* A refused command is not queued; all queued commands took effect. */
	while (taken < posted) {
		if (!CODE(next_report(&port, &cbdata), UTOFU_SUCCESS))
			break;
		CHECK(cbdata == base + taken);
		taken++;
	}
	check_quiet(&port);
	while (post(kind, TCQ, &port) == UTOFU_ERR_BUSY && patient(&patience))
		;
	CODE(next_report(&port, &cbdata), UTOFU_SUCCESS);
	CHECK(cbdata == &port);
	check_quiet(&port);
	claim("%s: BUSY when full, drained, and retried", kind_names[kind]);
}

/* The word that the previous process has counted up */
static void check_refused(void)
{
	uint64_t posted[RANKS_MAX], counted;

	memset(port.area, 0, sizeof(counted));
	meet();
	exchange(fill_queue(ARMW, NULL), posted);
	take_reports(&port, posted[world.rank]);
	meet();
	memcpy(&counted, port.area, sizeof(counted));
	CHECK(counted == posted[world.prev]);
	claim("an atomic that was refused as BUSY is not done later");
}

/* A program that retries each post until it is taken, and polls between. */
static void check_drain_and_retry(void)
{
	size_t posted = 0, taken = 0, target = 20000;
	struct patience patience = { 0 };
	uint8_t *base = NULL;
	void *cbdata;

	while (taken < target) {
		int code = UTOFU_ERR_BUSY;

		if (posted < target)
			code = post((enum kind)(posted % KINDS), TCQ,
				    base + posted);
		if (code == UTOFU_SUCCESS) {
			posted++;
			continue;
		}
		CHECK(code == UTOFU_ERR_BUSY);
		code = utofu_poll_tcq(port.vcq, 0, &cbdata);
		if (code == UTOFU_SUCCESS)
			CHECK(cbdata == base + taken++);
		else if (!CHECK(code == UTOFU_ERR_NOT_FOUND) ||
			 !patient(&patience))
			break;
	}
	CHECK(taken == target);
	check_quiet(&port);
	claim("20000 posts of all kinds through a full queue");
}

/* Without reports nobody has to poll: the queue empties itself. */
static void check_silent(void)
{
	struct patience patience = { 0 };
	size_t posted = 0;

	while (posted < 20000) {
		int code = post(PUT, 0, NULL);

		if (code == UTOFU_SUCCESS)
			posted++;
		else if (!CHECK(code == UTOFU_ERR_BUSY) || !patient(&patience))
			break;
	}
	CHECK(posted == 20000);
	while (post(NOP, TCQ, &port) == UTOFU_ERR_BUSY && patient(&patience))
		;
	take_reports(&port, 1);
	check_quiet(&port);
	claim("posts without TCQ_NOTICE need no poll and make no report");
}

/* A VCQ that is not polled does not hold up another one of its queue. */
static void check_neighbour(void)
{
	struct patience patience = { 0 };
	struct port other;
	size_t posted;
	int code;

	port_open(&other, 0, 0, BYTES);
	posted = fill_queue(PUT, NULL);
	do {
		code = utofu_put_piggyback8(other.vcq, other.id[world.next], 1,
					    other.stadd[world.next], 8, 0, TCQ,
					    &other);
	} while (code == UTOFU_ERR_BUSY && patient(&patience));
	CODE(code, UTOFU_SUCCESS);
	take_reports(&other, 1);
	take_reports(&port, posted);
	port_close(&other);
	claim("a VCQ with unread reports does not hold up its neighbour");
}

/* ---- Notices that nobody takes ---- */

static void send_notices(size_t count)
{
	struct patience patience = { 0 };

	for (size_t i = 0; i < count;) {
		int code = post(PUT, RMT, NULL);

		if (code == UTOFU_SUCCESS)
			i++;
		else if (!CHECK(code == UTOFU_ERR_BUSY) || !patient(&patience))
			break;
	}
	while (post(NOP, TCQ, NULL) == UTOFU_ERR_BUSY && patient(&patience))
		;
	take_reports(&port, 1);
}

/*
 * More notices than fit: those that are there are good, then each poll says
 * that some were lost. Sender and data do not suffer.
 */
static void check_overflow(size_t entries)
{
	struct utofu_mrq_notice notice;
	size_t good = 0;
	int code;

	memset(port.area, 0, 64);
	fill(port.area + 1024, 64, world.rank);
	meet();
	send_notices(entries + 2000);
	meet();
	while ((code = utofu_poll_mrq(port.vcq, 0, &notice)) == UTOFU_SUCCESS) {
		CHECK(notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT);
		CHECK(notice.vcq_id == port.id[world.prev]);
		good++;
	}
	CODE(code, UTOFU_ERR_MRQ_OTHER);
	CHECK(good > 0 && good < entries + 2000);
	CHECK(is_filled(port.area, 64, world.prev));
	claim("MRQ overflow: what fits is told, then MRQ_OTHER");
	meet();
	CODE(post(PUT, TCQ, NULL), UTOFU_SUCCESS);
	take_reports(&port, 1);
	claim("MRQ overflow: puts still go on");
}

static void check_arguments(void)
{
	struct utofu_mrq_notice notice;
	void *cbdata;
	size_t count;

	CODE(utofu_poll_tcq(port.vcq, 0, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_poll_mrq(port.vcq, 0, NULL), UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_poll_tcq(port.vcq, 1, &cbdata), UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_poll_mrq(port.vcq, 1, &notice), UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_query_num_unread_tcq(port.vcq, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_num_unread_mrq(port.vcq, NULL),
	     UTOFU_ERR_INVALID_POINTER);
	CODE(utofu_query_num_unread_tcq(port.vcq, &count), UTOFU_SUCCESS);
	CODE(utofu_nop(port.vcq, LCL, NULL), UTOFU_ERR_INVALID_FLAGS);
	CODE(utofu_nop(port.vcq, UTOFU_ONESIDED_FLAG_SPS(1), NULL),
	     UTOFU_ERR_INVALID_FLAGS);
	check_quiet(&port);
	claim("bad arguments of the polls");
}

/*
 * usage: queue [MRQ-ENTRIES]; 2048 of the smallest rings, the default.
 */
int main(int argc, char **argv)
{
	size_t entries = argc > 1 ? strtoul(argv[1], NULL, 10) : 2048;

	conform_begin();
	port_open(&port, 0, 0, BYTES);
	for (int kind = 0; kind < KINDS; kind++)
		check_busy((enum kind)kind);
	check_refused();
	check_drain_and_retry();
	check_silent();
	check_neighbour();
	check_arguments();
	check_overflow(entries);
	port_close(&port);
	return conform_end();
}
