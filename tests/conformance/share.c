// SPDX-License-Identifier: MIT
/*
 * The processes of a node, with 28 VCQs each over all TNIs: none gets what is
 * meant for another one, and when one dies its queues are the others'.
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define VCQS 28
#define PUTS 20
#define PEERS 2
#define SLOT 64
#define CQS 12

/**
 * struct vcq - one of a process
 * @hdl:   handle
 * @area:  a slot for each of those that send to it
 */
struct vcq {
	utofu_vcq_hdl_t hdl;
	uint8_t *area;
};

static struct vcq vcqs[VCQS];
static uint64_t id[RANKS_MAX][VCQS];
static uint64_t stadd[RANKS_MAX][VCQS];

static utofu_tni_id_t tni_of(unsigned int v)
{
	return (utofu_tni_id_t)(v % world.tnis);
}

static void vcqs_open(void)
{
	uint8_t *memory = aligned_alloc(4096, VCQS * 4096);

	if (!memory)
		give_up("no memory");
	memset(memory, 0, VCQS * 4096);
	for (unsigned int v = 0; v < VCQS; v++) {
		vcqs[v].area = memory + v * 4096;
		CODE(utofu_create_vcq(tni_of(v), 0, &vcqs[v].hdl),
		     UTOFU_SUCCESS);
		CODE(utofu_query_vcq_id(vcqs[v].hdl, &id[world.rank][v]),
		     UTOFU_SUCCESS);
		CODE(utofu_reg_mem(vcqs[v].hdl, vcqs[v].area, 4096, 0,
				   &stadd[world.rank][v]),
		     UTOFU_SUCCESS);
	}
}

static void introduce(void)
{
	for (unsigned int v = 0; v < VCQS; v++) {
		uint64_t all[RANKS_MAX];

		exchange(id[world.rank][v], all);
		for (unsigned int r = 0; r < world.ranks; r++)
			id[r][v] = all[r];
		exchange(stadd[world.rank][v], all);
		for (unsigned int r = 0; r < world.ranks; r++)
			stadd[r][v] = all[r];
	}
}

/* ---- Queues ---- */

static utofu_cq_id_t cq_of(unsigned int rank, unsigned int v)
{
	uint8_t coords[6];
	utofu_tni_id_t tni = UINT16_MAX;
	utofu_cq_id_t cq = UINT16_MAX;
	uint16_t extra;

	CODE(utofu_query_vcq_info(id[rank][v], coords, &tni, &cq, &extra),
	     UTOFU_SUCCESS);
	CHECK(!memcmp(coords, world.coords[rank], 6));
	CHECK(tni == tni_of(v));
	return cq;
}

/*
 * A process has one queue a TNI. They came one after the other, behind the
 * control VCQs on the last TNI.
 */
static void check_queues(void)
{
	for (unsigned int r = 0; r < world.ranks; r++)
		for (unsigned int v = 0; v < VCQS; v++) {
			bool last = tni_of(v) == world.tnis - 1;

			CHECK(cq_of(r, v) ==
			      r % world.ppn + (last ? world.ppn : 0));
		}
}

/* Programs find out who shares a node by this alone. */
static void check_coords(void)
{
	uint8_t coords[6];

	CODE(utofu_query_my_coords(coords), UTOFU_SUCCESS);
	CHECK(!memcmp(coords, world.coords[world.rank], 6));
	for (unsigned int r = 0; r < world.ranks; r++)
		CHECK(!memcmp(world.coords[r], coords, 6) ==
		      (r / world.ppn == world.rank / world.ppn));
}

/* ---- Shares of the processes ---- */

/* The process of this node that is @by further. */
static unsigned int sibling(unsigned int by)
{
	return world.rank - world.own + (world.own + by) % world.ppn;
}

/* The same process of the node that is @by processes further. */
static unsigned int distant(unsigned int by)
{
	return (world.rank + by) % world.ranks;
}

/* The targets of a process: one on the next node, and its node's next one. */
static unsigned int receiver(unsigned int which)
{
	return which ? sibling(1) : distant(world.ppn);
}

static unsigned int sender(unsigned int which)
{
	return which ? sibling(world.ppn - 1) :
		       distant(world.ranks - world.ppn);
}

static uint64_t value_of(unsigned int rank, unsigned int v, unsigned int which)
{
	return (rank * UINT64_C(100) + v) * 10 + which + 1;
}

static void vcq_send(unsigned int v, unsigned int which)
{
	unsigned int to = receiver(which);
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_put_piggyback8(vcqs[v].hdl, id[to][v],
					    value_of(world.rank, v, which),
					    stadd[to][v] + which * SLOT, 8,
					    which, TCQ | RMT,
					    &vcqs[v].area[which]);
	} while (code == UTOFU_ERR_BUSY && patient(&patience));
	CODE(code, UTOFU_SUCCESS);
}

/* A notice names its sender, a report its post. */
static bool vcq_poll(unsigned int v, unsigned int *reports,
		     unsigned int *notices)
{
	struct utofu_mrq_notice notice;
	void *cbdata;
	int code = utofu_poll_tcq(vcqs[v].hdl, 0, &cbdata);

	if (code != UTOFU_ERR_NOT_FOUND) {
		CODE(code, UTOFU_SUCCESS);
		CHECK(cbdata == &vcqs[v].area[0] ||
		      cbdata == &vcqs[v].area[1]);
		(*reports)++;
	}
	code = utofu_poll_mrq(vcqs[v].hdl, 0, &notice);
	if (code != UTOFU_ERR_NOT_FOUND) {
		CODE(code, UTOFU_SUCCESS);
		CHECK(notice.vcq_id == id[sender(notice.edata & 1)][v]);
		CHECK(notice.rmt_stadd ==
		      stadd[world.rank][v] + notice.edata * SLOT);
		(*notices)++;
	}
	return *reports == PUTS * PEERS && *notices == PUTS * PEERS;
}

static void vcqs_check(void)
{
	for (unsigned int v = 0; v < VCQS; v++)
		for (unsigned int which = 0; which < PEERS; which++) {
			uint64_t value;

			memcpy(&value, vcqs[v].area + which * SLOT, 8);
			CHECK(value == value_of(sender(which), v, which));
		}
}

static void vcqs_communicate(void)
{
	unsigned int reports[VCQS] = { 0 }, notices[VCQS] = { 0 };
	struct patience patience = { 0 };
	bool all = false;

	for (unsigned int i = 0; i < PUTS; i++)
		for (unsigned int v = 0; v < VCQS; v++)
			for (unsigned int which = 0; which < PEERS; which++)
				vcq_send(v, which);
	while (!all && patient(&patience)) {
		all = true;
		for (unsigned int v = 0; v < VCQS; v++)
			all &= vcq_poll(v, &reports[v], &notices[v]);
	}
	CHECK(all);
	vcqs_check();
	meet();
}

static void vcqs_quiet_and_close(void)
{
	struct utofu_mrq_notice notice;
	void *cbdata;

	for (unsigned int v = VCQS; v-- > 0;) {
		CODE(utofu_poll_tcq(vcqs[v].hdl, 0, &cbdata),
		     UTOFU_ERR_NOT_FOUND);
		CODE(utofu_poll_mrq(vcqs[v].hdl, 0, &notice),
		     UTOFU_ERR_NOT_FOUND);
		CODE(utofu_free_vcq(vcqs[v].hdl), UTOFU_SUCCESS);
	}
	free(vcqs[0].area);
}

/* ---- One that dies ---- */

/* Queues that are free. */
static unsigned int count_queues(void)
{
	utofu_vcq_hdl_t vcq[CQS];
	unsigned int count = 0;

	while (count < CQS &&
	       utofu_create_vcq(0, UTOFU_VCQ_FLAG_EXCLUSIVE, &vcq[count]) ==
		       UTOFU_SUCCESS)
		count++;
	for (unsigned int i = 0; i < count; i++)
		CODE(utofu_free_vcq(vcq[i]), UTOFU_SUCCESS);
	return count;
}

static void check_death(void)
{
	unsigned int victim = world.ranks - 1;
	struct utofu_mrq_notice notice;
	unsigned int queues = 0;
	struct port port;

	IN_TURN
		queues = count_queues();
	IN_TURN
		port_open_alone(&port, 0, 0, 4096);
	port_introduce(&port);
	conform_lose_last(false);
	/* A put may still find it alive for a moment. */
	do {
		CODE(utofu_put_piggyback8(port.vcq, port.id[victim], 1,
					  port.stadd[victim], 8, 0, LCL, NULL),
		     UTOFU_SUCCESS);
	} while (next_notice(&port, &notice) == UTOFU_SUCCESS);
	claim("puts to a process that died fail");
	CODE(utofu_put_piggyback8(port.vcq, port.id[world.next], 1,
				  port.stadd[world.next], 8, 0, LCL | RMT,
				  NULL),
	     UTOFU_SUCCESS);
	take_notices(&port, 1, 1);
	port_close(&port);
	meet();
	if (world.rank == world.ranks - 1)
		CHECK(count_queues() == queues && queues >= 8);
	claim("the others of its node go on, and its queues are theirs");
}

int main(void)
{
	conform_begin();
	check_coords();
	claim("%u processes of a node have its coordinates", world.ppn);
	IN_TURN
		vcqs_open();
	claim("each makes 28 VCQs");
	introduce();
	check_queues();
	claim("the VCQs of a process on a TNI share a queue; the first is 0");
	vcqs_communicate();
	claim("each VCQ of each process gets its own reports and notices");
	vcqs_quiet_and_close();
	claim("and no others; all are freed");
	if (world.ppn == 1)
		claim_skip("a process of several dies", "one process a node");
	else
		check_death();
	return conform_end();
}
