// SPDX-License-Identifier: MIT
/*
 * Remote ends that are not there: memory that is not registered, VCQs and nodes
 * that do not exist, a process that dies. Each is an error notice, and nobody
 * else suffers.
 */
#include <string.h>

#include "conform.h"

#define BYTES (1 << 20)

static struct port port;

/* The code of a put's notice, which is all that comes of it. */
static int put_to(utofu_vcq_id_t id, utofu_stadd_t to, size_t bytes,
		  unsigned long flags)
{
	struct utofu_mrq_notice notice;
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_put(port.vcq, id, port.stadd[world.rank], to,
				 bytes, 17, flags, NULL);
	} while (code == UTOFU_ERR_BUSY && patient(&patience));
	if (code == UTOFU_SUCCESS)
		code = next_notice(&port, &notice);
	if (code != UTOFU_SUCCESS && code != UTOFU_ERR_NOT_FOUND) {
		CHECK(notice.notice_type == UTOFU_MRQ_TYPE_LCL_PUT);
		CHECK(notice.edata == 17);
		CHECK(notice.rmt_stadd == to);
	}
	return code;
}

static void check_well(const char *name)
{
	CODE(put_to(port.id[world.next], port.stadd[world.next] + BYTES, 64,
		    LCL),
	     UTOFU_SUCCESS);
	meet();
	check_quiet(&port);
	claim("%s", name);
}

/* A get and an atomic that fail */
static void check_others(utofu_vcq_id_t id, utofu_stadd_t to, int failure)
{
	struct utofu_mrq_notice notice;

	CODE(utofu_get(port.vcq, id, port.stadd[world.rank], to, 8, 0,
		       LCL | RMT, NULL),
	     UTOFU_SUCCESS);
	CODE(next_notice(&port, &notice), failure);
	CHECK(notice.notice_type == UTOFU_MRQ_TYPE_LCL_GET);
	CODE(utofu_armw4(port.vcq, id, UTOFU_ARMW_OP_ADD, 1, to, 0, LCL | RMT,
			 NULL),
	     UTOFU_SUCCESS);
	CODE(next_notice(&port, &notice), failure);
	CHECK(notice.notice_type == UTOFU_MRQ_TYPE_LCL_ARMW);
}

static void check_unregistered(void)
{
	utofu_stadd_t to;

	CODE(utofu_query_stadd(port.id[world.next], 200, &to), UTOFU_SUCCESS);
	CODE(put_to(port.id[world.next], to, 8, LCL),
	     UTOFU_ERR_MRQ_RMT_STADD);
	CODE(put_to(port.id[world.next], to, BYTES, LCL),
	     UTOFU_ERR_MRQ_RMT_STADD);
	/* Errors are told even where no notice was asked for. */
	CODE(put_to(port.id[world.next], to, 8, 0), UTOFU_ERR_MRQ_RMT_STADD);
	CODE(put_to(port.id[world.next], to, 8, LCL | RMT),
	     UTOFU_ERR_MRQ_RMT_STADD);
	check_others(port.id[world.next], to, UTOFU_ERR_MRQ_RMT_STADD);
	check_well("unregistered remote memory: MRQ_RMT_STADD");
}

static void check_ends(void)
{
	utofu_stadd_t end = port.stadd[world.next] + port.bytes;
	struct utofu_mrq_notice notice;
	void *cbdata = NULL;

	CODE(put_to(port.id[world.next], end - 8, 8, LCL), UTOFU_SUCCESS);
	CODE(put_to(port.id[world.next], end - 7, 8, LCL),
	     UTOFU_ERR_MRQ_RMT_STADD);
	CODE(put_to(port.id[world.next], end - 4096, BYTES, LCL),
	     UTOFU_ERR_MRQ_RMT_STADD);
	CODE(put_to(port.id[world.next], port.stadd[world.next] - 1, 8, LCL),
	     UTOFU_ERR_MRQ_RMT_STADD);
	check_well("beyond the ends of remote memory: MRQ_RMT_STADD");
	CODE(utofu_put(port.vcq, port.id[world.next],
		       port.stadd[world.rank] + port.bytes - 7,
		       port.stadd[world.next], 8, 0, LCL, &cbdata),
	     UTOFU_SUCCESS);
	CODE(next_report(&port, &cbdata), UTOFU_ERR_TCQ_STADD);
	CHECK(cbdata == &cbdata);
	CODE(utofu_get(port.vcq, port.id[world.next],
		       port.stadd[world.rank] + port.bytes - 7,
		       port.stadd[world.next], 8, 0, LCL, &notice),
	     UTOFU_SUCCESS);
	CODE(next_report(&port, &cbdata), UTOFU_ERR_TCQ_STADD);
	CHECK(cbdata == &notice);
	check_well("beyond the end of own memory: TCQ_STADD, with cbdata");
}

static void check_no_vcq(void)
{
	uint8_t outside[6];
	utofu_vcq_id_t id;

	CODE(utofu_construct_vcq_id(world.coords[world.next], 1, 9, 0, &id),
	     UTOFU_SUCCESS);
	CODE(put_to(id, port.stadd[world.next], 8, LCL), UTOFU_ERR_MRQ_PEER);
	CODE(put_to(id, port.stadd[world.next], BYTES, 0), UTOFU_ERR_MRQ_PEER);
	check_others(id, port.stadd[world.next], UTOFU_ERR_MRQ_PEER);
	check_well("a queue that nobody has: MRQ_PEER");
	memset(outside, 200, sizeof(outside));
	CODE(utofu_construct_vcq_id(outside, 0, 0, 0, &id),
	     UTOFU_ERR_INVALID_COORDS);
	CODE(utofu_put(port.vcq, UINT64_MAX, port.stadd[world.rank],
		       port.stadd[world.next], 8, 0, LCL, NULL),
	     UTOFU_ERR_INVALID_VCQ_ID);
	claim("no VCQ ID at all: INVALID_VCQ_ID");
}

/* Where the machine has more nodes than are needed. */
static void check_empty_node(void)
{
	utofu_vcq_id_t id;

	if (!world.empty) {
		claim_skip("a node without a process: MRQ_PEER",
			   "all nodes have one");
		return;
	}
	CODE(utofu_construct_vcq_id(world.empty_coords, 0, 0, 0, &id),
	     UTOFU_SUCCESS);
	CODE(put_to(id, port.stadd[world.next], 8, LCL), UTOFU_ERR_MRQ_PEER);
	check_well("a node without a process: MRQ_PEER");
}

/* Puts to the last process while it leaves; what has come of them. */
static void stream_to(unsigned int victim, size_t window)
{
	struct patience patience = { 0 };
	struct utofu_mrq_notice notice;
	size_t under_way = 0;
	bool lost = false;

	while ((!lost || under_way) && patient(&patience)) {
		int code;

		if (!lost && under_way < window &&
		    utofu_put(port.vcq, port.id[victim],
			      port.stadd[world.rank], port.stadd[victim],
			      BYTES, 0, LCL, NULL) == UTOFU_SUCCESS)
			under_way++;
		code = utofu_poll_mrq(port.vcq, 0, &notice);
		if (code == UTOFU_ERR_NOT_FOUND)
			continue;
		under_way--;
		if (code != UTOFU_SUCCESS)
			lost = CODE(code, UTOFU_ERR_MRQ_PEER);
	}
	CHECK(lost && under_way == 0);
}

static void check_death(bool node)
{
	unsigned int victim = world.ranks - 1;

	if (world.ranks < 3) {
		claim_skip("a peer that dies: MRQ_PEER", "fewer than 3");
		return;
	}
	conform_lose_last(node);
	stream_to(victim, 8);
	claim("a %s that dies: MRQ_PEER for what was under way",
	      node ? "node" : "process");
	CODE(put_to(port.id[victim], port.stadd[victim], 8, LCL),
	     UTOFU_ERR_MRQ_PEER);
	CODE(put_to(port.id[victim], port.stadd[victim], 8, 0),
	     UTOFU_ERR_MRQ_PEER);
	check_well("and for what comes later; the others go on");
}

/*
 * usage: peer [lost]; with it, somebody else ends the last node.
 */
int main(int argc, char **argv)
{
	bool node = argc > 1 && !strcmp(argv[1], "lost");

	conform_begin();
	port_open(&port, 0, 0, 2 * BYTES);
	check_unregistered();
	check_ends();
	check_no_vcq();
	check_empty_node();
	check_death(node);
	port_close(&port);
	return conform_end();
}
