// SPDX-License-Identifier: MIT
/*
 * The order of events: data before their notice, notices in order, the end
 * of a put before the answer to it, bytes in ascending order.
 */
#include <stdatomic.h>
#include <string.h>

#include "conform.h"

#define BYTES (1 << 20)
#define ROUNDS 300
#define STREAM 1000
#define SLOT 64

static const size_t sizes[] = { 8, 33, 1920, 5000, 70001, BYTES };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct port ping, pong;

/* Answers take the default path, whatever the path of what they answer is. */
static bool any_path;

static void put_to(struct port *from, struct port *to, unsigned int rank,
		   utofu_vcq_id_t id, size_t bytes, uint64_t edata,
		   unsigned long flags)
{
	CODE(utofu_put(from->vcq, id, from->stadd[world.rank] + BYTES,
		       to->stadd[rank], bytes, edata, flags, NULL),
	     UTOFU_SUCCESS);
}

static void put(struct port *from, struct port *to, unsigned int rank,
		size_t bytes, uint64_t edata, unsigned long flags)
{
	put_to(from, to, rank, to->id[rank], bytes, edata, flags);
}

/* ---- Data before notice ---- */

static void check_data_first(void)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		size_t bytes = sizes[i % (SIZES - 1)];

		memset(ping.area, 0, bytes);
		fill(ping.area + BYTES, bytes, i * RANKS_MAX + world.rank);
		meet();
		put(&ping, &ping, world.next, bytes, 0, RMT);
		take_notices(&ping, 0, 1);
		CHECK(is_filled(ping.area, bytes, i * RANKS_MAX + world.prev));
		meet();
	}
	claim("all bytes of a put are there when its RMT_PUT notice is");
	for (unsigned int i = 0; i < ROUNDS / 3; i++) {
		size_t bytes = sizes[i % SIZES];

		fill(ping.area, bytes, i * RANKS_MAX + world.rank);
		memset(ping.area + BYTES, 0, bytes);
		meet();
		CODE(utofu_get(ping.vcq, ping.id[world.next],
			       ping.stadd[world.rank] + BYTES,
			       ping.stadd[world.next], bytes, 0,
			       i & 1 ? LCL : TCQ, NULL),
		     UTOFU_SUCCESS);
		if (i & 1)
			take_notices(&ping, 1, 0);
		else
			take_reports(&ping, 1);
		CHECK(is_filled(ping.area + BYTES, bytes,
				i * RANKS_MAX + world.next));
		meet();
	}
	claim("all bytes of a get are there when its report or notice is");
}

static void check_source(void)
{
	for (unsigned int i = 0; i < ROUNDS / 3; i++) {
		size_t bytes = sizes[i % SIZES];

		fill(ping.area + BYTES, bytes, i * RANKS_MAX + world.rank);
		meet();
		put(&ping, &ping, world.next, bytes, 0, TCQ | RMT);
		take_reports(&ping, 1);
		memset(ping.area + BYTES, 0, bytes);
		take_notices(&ping, 0, 1);
		CHECK(is_filled(ping.area, bytes, i * RANKS_MAX + world.prev));
		meet();
	}
	claim("the source of a put may change after its report");
}

/* ---- An answer does not overtake ---- */

/* The previous node's put has come: its notice says so, or its last byte. */
static bool is_asked(bool by_notice, size_t bytes, uint8_t value)
{
	struct utofu_mrq_notice notice;

	if (!by_notice)
		return atomic_load((_Atomic uint8_t *)pong.area + bytes - 1) ==
		       value;
	if (utofu_poll_mrq(pong.vcq, 0, &notice) != UTOFU_SUCCESS)
		return false;
	CHECK(notice.notice_type == UTOFU_MRQ_TYPE_RMT_PUT);
	return true;
}

/* The previous node's put came by the path of its target, which is this one. */
static void answer(void)
{
	utofu_vcq_id_t id = ping.id[world.prev];

	if (!any_path)
		CODE(utofu_set_vcq_id_path(&id, world.coords[world.rank] + 3),
		     UTOFU_SUCCESS);
	put_to(&pong, &ping, world.prev, id, 8, 2, RMT);
}

/*
 * Everybody asks the next node, and answers the previous one with another
 * VCQ, by the same TNI or another one.
 */
static void answer_once(size_t bytes, bool by_notice, uint8_t value)
{
	struct patience patience = { 0 };
	struct utofu_mrq_notice notice;
	bool asked = false;
	int seen = 0;

	memset(ping.area + BYTES, value, bytes);
	put(&ping, &pong, world.next, bytes, 1,
	    LCL | (by_notice ? RMT : STRONG));
	while ((seen < 2 || !asked) && patient(&patience)) {
		if (!asked && is_asked(by_notice, bytes, value)) {
			answer();
			asked = true;
		}
		if (utofu_poll_mrq(ping.vcq, 0, &notice) != UTOFU_SUCCESS)
			continue;
		CHECK(notice.notice_type == (seen ? UTOFU_MRQ_TYPE_RMT_PUT :
						    UTOFU_MRQ_TYPE_LCL_PUT));
		CHECK(notice.edata == (seen ? 2 : 1));
		seen++;
	}
	CHECK(seen == 2 && asked);
}

/* Values of puts of all sizes in a row differ, so that each is recognised. */
static void check_answers(bool by_notice, const char *where)
{
	memset(pong.area, 0, BYTES);
	meet();
	for (unsigned int i = 0; i < ROUNDS; i++)
		answer_once(sizes[i % (SIZES - 1)], by_notice,
			    (uint8_t)(i % 255 + 1));
	claim("LCL_PUT before the RMT_PUT of the answer to %s, %s",
	      by_notice ? "the notice" : "the last byte", where);
}

/* ---- Order of puts and their notices ---- */

static uint64_t number_at(const uint8_t *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

static void check_stream(size_t most)
{
	struct utofu_mrq_notice notice;
	unsigned int sent = 0, came = 0;
	struct patience patience = { 0 };

	meet();
	while ((sent < STREAM || came < STREAM) && patient(&patience)) {
		size_t bytes = most ? sent * 7919 % most + 4 : 4;

		/* Fewer under way than slots. */
		if (sent < STREAM && sent < came + SLOT / 2) {
			CODE(utofu_put_piggyback8(
				     ping.vcq, pong.id[world.next], sent + 1,
				     pong.stadd[world.next] + BYTES +
					     sent % SLOT * 8,
				     8, 0, 0, NULL),
			     UTOFU_SUCCESS);
			put(&ping, &pong, world.next, bytes, sent & 255, RMT);
			sent++;
		}
		if (utofu_poll_mrq(pong.vcq, 0, &notice) != UTOFU_SUCCESS)
			continue;
		CHECK(notice.edata == (came & 255));
		/* Data put before is there, also by another kind of put. */
		CHECK(number_at(pong.area + BYTES + came % SLOT * 8) >
		      came);
		came++;
	}
	CHECK(sent == STREAM && came == STREAM);
	meet();
}

/* Each overwrites the one before: the last one stays. */
static void check_overwriting(void)
{
	for (unsigned int i = 0; i < ROUNDS; i++) {
		for (uint64_t k = 1; k <= 20; k++)
			CODE(utofu_put_piggyback8(ping.vcq,
						  ping.id[world.next],
						  i * 20 + k,
						  ping.stadd[world.next], 8, k,
						  k == 20 ? RMT : 0, NULL),
			     UTOFU_SUCCESS);
		take_notices(&ping, 0, 1);
		CHECK(number_at(ping.area) == i * UINT64_C(20) + 20);
		meet();
	}
	claim("of puts to the same place the last one stays");
}

/* ---- Strong order ---- */

static uint32_t word_at(size_t at)
{
	return atomic_load_explicit((_Atomic uint32_t *)(ping.area + at),
				    memory_order_acquire);
}

static void words_fill(size_t bytes, uint32_t value)
{
	for (size_t i = 0; i < bytes; i += 4)
		memcpy(ping.area + BYTES + i, &value, 4);
}

/* Spin on a word: when it has come, all before it has. */
static void strong_once(size_t bytes, size_t watched, uint32_t value)
{
	struct patience patience = { 0 };

	words_fill(bytes, value);
	meet();
	put(&ping, &ping, world.next, bytes, 0, STRONG);
	while (word_at(watched) != value && patient(&patience))
		;
	for (size_t i = 0; i <= watched; i += 4)
		if (!CHECK(word_at(i) == value))
			break;
	while (word_at(bytes - 4) != value && patient(&patience))
		;
	CHECK(word_at(bytes - 4) == value);
	meet();
}

static void check_strong_order(void)
{
	static const size_t words[] = { 4, 8, 32, 64, 1920, 2052, 70000, BYTES };
	size_t count = sizeof(words) / sizeof(words[0]);

	for (uint32_t i = 0; i < ROUNDS; i++)
		strong_once(words[i % count], words[i % count] - 4, i + 1);
	claim("STRONG_ORDER: the last 4 bytes come last");
	for (uint32_t i = 0; i < ROUNDS; i++) {
		size_t bytes = words[i % count];

		strong_once(bytes, i * UINT64_C(7919) * 4 % bytes,
			    i + ROUNDS + 1);
	}
	claim("STRONG_ORDER: a word comes after all before it");
}

/*
 * usage: order [paths]; with it, answers do not overtake whatever path they take,
 * which a controller with a machine does not promise.
 */
int main(int argc, char **argv)
{
	any_path = argc > 1 && !strcmp(argv[1], "paths");
	conform_begin();
	port_open(&ping, 0, 0, 2 * BYTES);
	port_open(&pong, 0, 0, 2 * BYTES);
	check_data_first();
	check_source();
	check_answers(true, "by the same TNI");
	check_answers(false, "by the same TNI");
	check_stream(0);
	claim("notices of a thousand small puts come in order");
	check_stream(20000);
	claim("notices of a thousand puts of all sizes come in order");
	check_overwriting();
	check_strong_order();
	port_close(&pong);
	port_open(&pong, 1, 0, 2 * BYTES);
	check_answers(true, "by another TNI");
	check_answers(false, "by another TNI");
	port_close(&pong);
	port_close(&ping);
	return conform_end();
}
