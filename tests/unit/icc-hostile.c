// SPDX-License-Identifier: MIT
/*
 * Packets that no controller sends, and a guest that writes anything anywhere.
 */
#include <stddef.h>

#include "harness.h"

#include "icc-host.h"

FIXTURE(hostile)
{
	struct pair p;
	struct icc *icc;
};

FIXTURE_VARIANT(hostile)
{
	struct net_mode mode;
};

FIXTURE_VARIANT_ADD(hostile, by_reference) { .mode = NET_BY_REFERENCE };
FIXTURE_VARIANT_ADD(hostile, doorbells) { .mode = NET_DOORBELLS };

FIXTURE_SETUP(hostile)
{
	pair_create(&self->p, &variant->mode, 1 << 20);
	self->icc = self->p.a->node->icc;
}

FIXTURE_TEARDOWN(hostile)
{
	pair_destroy(&self->p);
}

static uint64_t dropped(struct icc *icc)
{
	return icc_reg_read(icc, TOFU_REG_BAD_PACKETS, 8);
}

/* Post, hold the request back, and return the answer that would be right. */
static struct tofu_packet hold(struct pair *p, const struct transfer *t)
{
	struct tofu_packet answer;

	p->b->node->held = true;
	transfer_post(t);
	net_run(p->net);
	answer = p->b->node->queue[TOFU_REQUEST].packet[0]->pkt;
	answer.type = t->cmd == TOFU_CMD_GET ? TOFU_PKT_DATA :
		      t->cmd == TOFU_CMD_ARMW ? TOFU_PKT_VALUE : TOFU_PKT_DONE;
	answer.src = 1;
	answer.src_tni = 1;
	answer.src_cq = 5;
	answer.dst_tni = 0;
	answer.dst_cq = 3;
	answer.flags = TOFU_PKT_F_LAST;
	answer.payload = 0;
	return answer;
}

TEST_F(hostile, forged_responses_are_dropped)
{
	struct pair *p = &self->p;
	const struct tofu_packet good = hold(p, &p->put);
	struct tofu_packet bad[14];
	unsigned int n = 0;

	for (unsigned int i = 0; i < 14; i++)
		bad[i] = good;
	bad[n++].src = 2;
	bad[n++].src = 4;
	bad[n++].src = UINT32_MAX;
	bad[n++].src_tni = 0;
	bad[n++].src_cq = 3;
	bad[n++].dst_tni = 1;
	bad[n++].dst_cq = 4;
	bad[n++].type = TOFU_PKT_DATA;
	bad[n++].type = TOFU_PKT_VALUE;
	bad[n++].type = 19;
	bad[n++].tid ^= 1ULL << 16; /* a later command */
	bad[n++].tid ^= 1ULL << 8; /* no command has that */
	bad[n++].tid ^= 0xfULL; /* another CQ */
	bad[n++].tid ^= 0xf0ULL; /* no such TNI */
	for (unsigned int i = 0; i < n; i++) {
		net_send(p->net, 0, &bad[i], NULL);
		net_run(p->net);
		EXPECT_EQ(i + 1, dropped(self->icc));
		EXPECT_EQ(-1, cq_mrq_status(p->a));
	}
	net_send(p->net, 0, &good, NULL);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
	EXPECT_EQ(n, dropped(self->icc));
}

TEST_F(hostile, an_answer_counts_once)
{
	struct pair *p = &self->p;
	const struct tofu_packet good = hold(p, &p->put);

	net_send(p->net, 0, &good, NULL);
	net_send(p->net, 0, &good, NULL);
	net_run(p->net);
	EXPECT_EQ(1, dropped(self->icc));
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
	p->b->node->held = false; /* now the genuine answer comes, too */
	net_run(p->net);
	EXPECT_EQ(2, dropped(self->icc));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
}

/* Of many packets only the last is answered, where none fails. */
TEST_F(hostile, answers_that_are_not_the_last_end_nothing)
{
	struct pair *p = &self->p;
	struct tofu_packet good, early;

	p->put.length = 600000;
	good = hold(p, &p->put);
	early = good;
	early.flags = 0;
	for (unsigned int i = 0; i < 5; i++)
		net_send(p->net, 0, &early, NULL);
	net_run(p->net);
	EXPECT_EQ(-1, cq_mrq_status(p->a));
	net_send(p->net, 0, &good, NULL);
	net_send(p->net, 0, &good, NULL);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(p->a));
	EXPECT_EQ(-1, cq_mrq_status(p->a));
	EXPECT_EQ(1, dropped(self->icc));
}

TEST_F(hostile, a_status_that_no_target_gives)
{
	static const uint8_t known[] = { TOFU_ST_OK, TOFU_ST_PEER,
					 TOFU_ST_RMT_MEMORY, TOFU_ST_RMT_STADD,
					 TOFU_ST_RMT_LENGTH,
					 TOFU_ST_RMT_COMMAND };
	struct pair *p = &self->p;

	for (unsigned int status = 0; status < 256; status++) {
		struct tofu_packet answer = hold(p, &p->put);
		int wanted = TOFU_ST_MRQ_OTHER;

		for (unsigned int i = 0; i < sizeof(known); i++) {
			if (status == known[i])
				wanted = (int)status;
		}
		answer.status = (uint8_t)status;
		net_send(p->net, 0, &answer, NULL);
		net_run(p->net);
		ASSERT_EQ(wanted, cq_mrq_status(p->a));
		p->b->node->held = false;
		net_run(p->net);
		cq_mrq_status(p->b);
	}
}

TEST_F(hostile, data_that_is_not_what_was_asked_for)
{
	struct pair *p = &self->p;
	struct tofu_packet good;
	uint8_t data[TOFU_PKT_INLINE_MAX] = { 0 };

	p->put.cmd = TOFU_CMD_GET;
	good = hold(p, &p->put);
	for (unsigned int i = 0; i < 4; i++) {
		struct tofu_packet bad = good;

		bad.payload = 63;
		bad.length = i & 1 ? 63 : 65;
		bad.offset = i & 2 ? 1 : 0;
		net_send(p->net, 0, &bad, data);
		net_run(p->net);
		EXPECT_EQ(i + 1, dropped(self->icc));
	}
	good.payload = 63;
	net_send(p->net, 0, &good, data);
	net_run(p->net);
	EXPECT_EQ(TOFU_ST_LCL_LENGTH, cq_mrq_status(p->a));
}

/* References with a wrong sum, or that wrap around the end of memory. */
static const struct {
	struct tofu_ref ref[2];
	uint32_t payload;
} bad_refs[] = {
	{ { { 0x1000, 999 } }, 16 },
	{ { { 0x1000, 1001 } }, 16 },
	{ { { 0x1000, 1000 }, { 0x1000, 0 } }, 32 },
	{ { { 0x1000, 500 }, { 0x1000, UINT64_MAX - 499 } }, 32 },
	{ { { 0x1000, 1000 }, { 0x1000, 1000 } }, 32 },
	{ { { UINT64_MAX - 998, 1000 } }, 16 },
	{ { { 0x1000, 1000 } }, 15 },
	{ { { 0x1000, 1000 } }, 17 },
	{ { { 0x1000, 1000 } }, 0 },
};
#define BAD_REFS (sizeof(bad_refs) / sizeof(bad_refs[0]))

TEST_F(hostile, bad_references_in_a_response)
{
	struct pair *p = &self->p;

	p->put.cmd = TOFU_CMD_GET;
	p->put.length = 1000;
	for (unsigned int i = 0; i < BAD_REFS; i++) {
		struct tofu_packet answer = hold(p, &p->put);

		answer.flags |= TOFU_PKT_F_REFS;
		answer.payload = bad_refs[i].payload;
		net_send(p->net, 0, &answer, bad_refs[i].ref);
		net_run(p->net);
		EXPECT_EQ(TOFU_ST_LCL_LENGTH, cq_mrq_status(p->a));
		p->b->node->held = false;
		net_run(p->net);
	}
	EXPECT_EQ(0, p->a->node->pulls);
}

/* A valid request from node 3, which has no CQ. */
static struct tofu_packet request(struct pair *p, uint8_t type, uint32_t length)
{
	return (struct tofu_packet){
		.src = 3, .type = type,
		.flags = TOFU_PKT_F_LAST | TOFU_PKT_F_RMT_NOTICE,
		.src_tni = 2, .src_cq = 1, .dst_tni = p->b->tni,
		.dst_cq = p->b->cq, .gpid = 1000, .length = length,
		.total = length, .armw_size = 8, .armw_op = TOFU_ARMW_ADD,
		.payload = type == TOFU_PKT_PUT ? length : 0, .tid = 42,
		.rmt = TOFU_SET(TOFU_ADDR_STAG, p->dst->stag) |
		       TOFU_SET(TOFU_ADDR_CQ, p->b->cq),
	};
}

/* Status that @pkt is answered with; -1: no answer. */
static int answer_to(struct pair *p, const struct tofu_packet *pkt,
		     const void *payload)
{
	struct net_queue *queue = &p->net->node[3].queue[TOFU_RESPONSE];
	int status = -1;

	p->net->node[3].held = true;
	net_send(p->net, 1, pkt, payload);
	net_run(p->net);
	if (queue->count) {
		status = queue->packet[0]->pkt.status;
		free(queue->packet[--queue->count]);
	}
	return status;
}

TEST_F(hostile, requests_with_wrong_lengths)
{
	struct pair *p = &self->p;
	static const uint8_t types[] = { TOFU_PKT_PUT, TOFU_PKT_GET,
					 TOFU_PKT_ARMW };
	uint8_t data[TOFU_PKT_INLINE_MAX] = { 0 };

	for (unsigned int i = 0; i < 3 * 9; i++) {
		struct tofu_packet pkt = request(p, types[i / 9], 8);

		ASSERT_EQ(TOFU_ST_OK, answer_to(p, &pkt, data));
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
		switch (i % 9) {
		case 0:
			pkt.total = 7;
			break;
		case 1:
			pkt.offset = UINT64_MAX;
			break;
		case 2:
			pkt.offset = UINT64_MAX - 7;
			break;
		case 3:
			pkt.length = UINT32_MAX;
			pkt.total = UINT32_MAX;
			break;
		case 4:
			pkt.total = 16; /* then F_LAST is wrong */
			break;
		case 5:
			pkt.flags = 0; /* F_LAST is missing */
			break;
		case 6:
			pkt.payload ^= 1;
			break;
		case 7:
			pkt.total = pkt.length = TOFU_LENGTH_MAX + 1;
			break;
		case 8:
			pkt.payload = 16;
			pkt.length = 0;
			break;
		}
		ASSERT_EQ(TOFU_ST_RMT_LENGTH, answer_to(p, &pkt, data));
		ASSERT_EQ(-1, cq_mrq_status(p->b));
	}
}

TEST_F(hostile, atomics_that_are_none)
{
	struct pair *p = &self->p;
	struct tofu_packet pkt = request(p, TOFU_PKT_ARMW, 8);

	pkt.armw_op = TOFU_ARMW_OPS;
	EXPECT_EQ(-1, answer_to(p, &pkt, NULL));
	EXPECT_EQ(1, dropped(p->b->node->icc));
	pkt = request(p, TOFU_PKT_ARMW, 2);
	pkt.armw_size = 2;
	EXPECT_EQ(TOFU_ST_RMT_LENGTH, answer_to(p, &pkt, NULL));
}

/* A target without atomics, and an initiator that sends them all the same */
TEST_F(hostile, atomics_where_there_are_none)
{
	struct net_mode mode = variant->mode;
	struct tofu_packet pkt;
	struct pair p;
	uint64_t *word;

	mode.no_armw = true;
	pair_create(&p, &mode, PAIR_LENGTH);
	word = (uint64_t *)(void *)region_byte(p.dst, 0);
	memset(word, 0x5a, sizeof(*word));
	for (unsigned int op = 0; op < TOFU_ARMW_OPS; op++) {
		pkt = request(&p, TOFU_PKT_ARMW, 8);
		pkt.armw_op = (uint8_t)op;
		pkt.operand = 1;
		pkt.compare = 0x5a5a5a5a5a5a5a5a;
		EXPECT_EQ(TOFU_ST_RMT_COMMAND, answer_to(&p, &pkt, NULL));
	}
	EXPECT_EQ(0x5a5a5a5a5a5a5a5a, *word);
	EXPECT_EQ(-1, cq_mrq_status(p.b));
	pkt = request(&p, TOFU_PKT_GET, 8);
	EXPECT_EQ(TOFU_ST_OK, answer_to(&p, &pkt, NULL));
	pair_destroy(&p);
}

TEST_F(hostile, bad_references_in_a_request)
{
	struct pair *p = &self->p;

	for (unsigned int i = 0; i < BAD_REFS; i++) {
		struct tofu_packet pkt = request(p, TOFU_PKT_PUT, 1000);

		pkt.flags |= TOFU_PKT_F_REFS;
		pkt.payload = bad_refs[i].payload;
		EXPECT_EQ(TOFU_ST_RMT_LENGTH,
			  answer_to(p, &pkt, bad_refs[i].ref));
	}
	EXPECT_EQ(0, p->b->node->pulls);
	EXPECT_EQ(-1, cq_mrq_status(p->b));
}

TEST_F(hostile, packets_of_nobody_and_of_no_type)
{
	struct pair *p = &self->p;
	struct tofu_packet pkt = request(p, TOFU_PKT_PUT, 8);
	uint8_t data[8] = { 0 };

	pkt.src = 4;
	EXPECT_EQ(-1, answer_to(p, &pkt, data));
	pkt = request(p, TOFU_PKT_PUT, 8);
	pkt.type = 0;
	EXPECT_EQ(-1, answer_to(p, &pkt, data));
	pkt.type = 4;
	EXPECT_EQ(-1, answer_to(p, &pkt, data));
	EXPECT_EQ(3, dropped(p->b->node->icc));
	pkt = request(p, TOFU_PKT_PUT, 8);
	pkt.payload = TOFU_PKT_INLINE_MAX + 1;
	EXPECT_EQ(0, icc_receive(p->b->node->icc, &pkt, NULL));
	EXPECT_EQ(4, dropped(p->b->node->icc));
}

TEST_F(hostile, requests_to_any_numbers)
{
	struct pair *p = &self->p;
	uint8_t data[8] = { 0 };

	for (unsigned int i = 0; i < 65536; i += 7) {
		struct tofu_packet pkt = request(p, TOFU_PKT_PUT, 8);

		pkt.dst_tni = (uint8_t)i;
		pkt.dst_cq = (uint8_t)(i >> 8);
		pkt.path = (uint8_t)i;
		ASSERT_EQ(pkt.dst_tni == 1 && pkt.dst_cq == 5 ? TOFU_ST_OK :
								TOFU_ST_PEER,
			  answer_to(p, &pkt, data));
	}
}

TEST_F(hostile, good_references_in_a_request)
{
	struct pair *p = &self->p;
	struct tofu_packet pkt = request(p, TOFU_PKT_PUT, 1000);
	const struct tofu_ref ref = { p->net->node[3].base, 1000 };

	pkt.flags |= TOFU_PKT_F_REFS;
	pkt.payload = 16;
	EXPECT_EQ(TOFU_ST_OK, answer_to(p, &pkt, &ref));
	EXPECT_EQ(1, p->b->node->pulls);
}

TEST_F(hostile, the_device_keeps_to_its_own_positions)
{
	struct pair *p = &self->p;
	const size_t device = offsetof(struct tofu_cq_page, need_kick);

	for (unsigned int i = 0; i < 3000; i++) {
		memset((uint8_t *)p->a->page + device, (int)i * 37, 16);
		memset(p->a->page->reserved1, (int)i, 48);
		memset(p->b->page->direct, (int)i, 64);
		p->b->page->toq_head = i * 0x123456789ULL;
		p->b->page->status = i;
		ASSERT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
		ASSERT_EQ(TOFU_ST_OK, cq_tcq_status(p->a));
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	}
}

TEST_F(hostile, a_guest_that_writes_over_its_page_harms_no_other)
{
	struct pair *p = &self->p;
	struct cq *wild = cq_create(p->net, 0, 0, 4);
	uint32_t x = 1;

	for (unsigned int i = 0; i < 2000; i++) {
		for (unsigned int b = 0; b < 4096; b += 4) {
			x = x * 1664525 + 1013904223;
			memcpy((uint8_t *)wild->page + b, &x, 4);
		}
		if (i % 8 == 0) {
			cq_disable(wild);
			cq_enable(wild);
			cq_kick_to(wild, x >> 20);
		}
		ASSERT_EQ(TOFU_ST_OK, pair_run(p, &p->put));
		ASSERT_EQ(TOFU_ST_OK, cq_mrq_status(p->b));
	}
	EXPECT_EQ(TOFU_CQ_STATUS_ENABLED, cq_reg(p->a, TOFU_CQ_STATUS));
	cq_destroy(wild);
}

TEST_HARNESS_MAIN
