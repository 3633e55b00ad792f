// SPDX-License-Identifier: MIT
/*
 * Controllers in virtual time: what they know of packets that they have not sent
 * yet. That no packet is earlier is checked by all tests of icc-clock.h.
 */
#include <stdlib.h>

#include "harness.h"

#include "icc-clock.h"
#include "icc/internal.h"

#define START 1000
#define LENGTH 40000
#define STORE 100000 /* so that software's stores limit nothing */

FIXTURE(promise)
{
	struct tofu_preset machine;
	struct net *net;
	struct icc *icc;
	struct cq *a, *b, *c;
	struct region *src, *dst, *other;
	struct transfer put;
	struct transfer piggyback;
	uint64_t fetched;
};

FIXTURE_SETUP(promise)
{
	self->machine = toy;
	self->machine.doorbell_ns = STORE;
	self->net = clock_create("6", &self->machine);
	self->icc = self->net->node[0].icc;
	self->a = cq_create(self->net, 0, 0, 3);
	self->b = cq_create(self->net, 1, 1, 5);
	self->c = cq_create(self->net, 2, 1, 5);
	self->src = region_create(self->a, 1, LENGTH, 256, 12, 0);
	self->dst = region_create(self->b, 2, LENGTH, 512, 12, 40);
	self->other = region_create(self->c, 2, LENGTH, 512, 12, 40);
	self->put = (struct transfer){ .cmd = TOFU_CMD_PUT,
				       .flags = ALL_NOTICES,
				       .cq = self->a,
				       .lcl = self->src,
				       .rmt = self->dst,
				       .length = 64 };
	self->piggyback = self->put;
	self->piggyback.cmd = TOFU_CMD_PUT_PIGGYBACK;
	self->piggyback.lcl = NULL;
	self->piggyback.rmt = self->other;
	self->piggyback.length = 8;
	clock_run_until(self->net, START);
	self->fetched = START + STORE + toy.fetch_ns;
}

FIXTURE_TEARDOWN(promise)
{
	region_destroy(self->src);
	region_destroy(self->dst);
	region_destroy(self->other);
	cq_destroy(self->a);
	cq_destroy(self->b);
	cq_destroy(self->c);
	net_destroy(self->net);
}

static uint64_t sends_from(const struct icc *icc)
{
	return icc_sends_from(icc, UINT64_MAX);
}

/* ---- Commands ---- */

TEST_F(promise, who_has_nothing_to_do_sends_nothing)
{
	EXPECT_EQ(UINT64_MAX, sends_from(self->icc));
	EXPECT_EQ(START, icc_sends_from(self->icc, START));
}

TEST_F(promise, a_put_is_sent_when_it_is_fetched_and_read)
{
	clock_post(&self->put);
	EXPECT_EQ(self->fetched + toy.send_ns, sends_from(self->icc));
	EXPECT_EQ(self->fetched, icc_sends_from(self->icc, self->fetched));
	/* Now it is known that there is something to read. */
	clock_run_until(self->net, START + STORE + 1);
	EXPECT_EQ(self->fetched + toy.read_ns + toy.send_ns,
		  sends_from(self->icc));
	clock_run_until(self->net, self->fetched);
	EXPECT_EQ(UINT64_MAX, sends_from(self->icc));
}

TEST_F(promise, a_direct_command_is_sent_at_once)
{
	clock_post_direct(&self->piggyback);
	EXPECT_EQ(START + STORE + toy.send_ns, sends_from(self->icc));
	clock_run_until(self->net, START + STORE);
	EXPECT_EQ(UINT64_MAX, sends_from(self->icc));
	/* The next one is not, although this one was. */
	clock_post(&self->piggyback);
	EXPECT_EQ(START + 2 * STORE + toy.fetch_ns + toy.send_ns,
		  sends_from(self->icc));
}

/* Neither is read, and the second one waits for the first for a moment only. */
TEST_F(promise, a_put_to_nobody_is_no_reason_for_the_next_command_to_wait)
{
	net_down(self->net, 1);
	clock_post(&self->put);
	clock_post(&self->piggyback);
	clock_run_until(self->net, START + STORE + 1);
	EXPECT_EQ(self->fetched + toy.send_ns, sends_from(self->icc));
	clock_run(self->net);
	EXPECT_EQ(self->fetched + self->put.length + toy.send_ns,
		  clock_seen(self->net, 0, ICC_TRACE_SEND).end);
	EXPECT_EQ(TOFU_ST_OK, cq_mrq_status(self->c));
}

TEST_F(promise, no_command_waits_longer_than_software_would)
{
	struct net *net = clock_create("2", &toy);
	struct cq *cq = cq_create(net, 0, 0, 3);
	struct cq *to = cq_create(net, 1, 0, 3);
	struct region *region = region_create(to, 2, LENGTH, 512, 12, 40);
	struct transfer t = self->piggyback;

	t.cq = cq;
	t.rmt = region;
	clock_post(&t);
	EXPECT_EQ(toy.doorbell_ns + tofu_preset_store_ns(&toy),
		  sends_from(net->node[0].icc));
	region_destroy(region);
	cq_destroy(to);
	cq_destroy(cq);
	net_destroy(net);
}

/* ---- Packets ---- */

static struct tofu_packet packet_of(const struct cq *to, uint8_t type)
{
	return (struct tofu_packet){ .type = type,
				     .dst_tni = (uint8_t)to->tni,
				     .dst_cq = (uint8_t)to->cq };
}

TEST_F(promise, requests_are_answered_and_responses_make_room)
{
	const struct tofu_packet put = packet_of(self->a, TOFU_PKT_PUT);
	const struct tofu_packet get = packet_of(self->a, TOFU_PKT_GET);
	const struct tofu_packet armw = packet_of(self->a, TOFU_PKT_ARMW);
	const struct tofu_packet signal = packet_of(self->a, TOFU_PKT_SIGNAL);
	const struct tofu_packet done = packet_of(self->a, TOFU_PKT_DONE);

	EXPECT_EQ(toy.write_ns + toy.reply_ns + toy.send_ns,
		  icc_answer_ns(self->icc, &put));
	EXPECT_EQ(2 * toy.reply_ns + toy.send_ns,
		  icc_answer_ns(self->icc, &get));
	EXPECT_EQ(toy.atomic_ns + toy.reply_ns + toy.send_ns,
		  icc_answer_ns(self->icc, &armw));
	EXPECT_EQ(toy.gate_ns + toy.send_ns,
		  icc_answer_ns(self->icc, &signal));
	/* Nothing waits but software. */
	EXPECT_EQ(toy.write_ns + STORE + toy.send_ns,
		  icc_answer_ns(self->icc, &done));
	for (unsigned int i = 0; i < TOFU_WINDOW + 1; i++)
		transfer_push(&self->piggyback);
	clock_ring(self->a);
	clock_run_until(self->net, START + STORE);
	EXPECT_EQ(toy.write_ns + toy.fetch_ns + toy.send_ns,
		  icc_answer_ns(self->icc, &done));
}

TEST_F(promise, a_packet_that_is_none_is_answered_as_soon_as_any)
{
	struct tofu_packet bad = { .type = 200, .dst_tni = 255, .dst_cq = 255 };

	EXPECT_EQ(toy.write_ns + toy.send_ns, icc_answer_ns(self->icc, &bad));
	bad.type = TOFU_PKT_DONE;
	EXPECT_EQ(toy.write_ns + STORE + toy.send_ns,
		  icc_answer_ns(self->icc, &bad));
}

TEST_F(promise, a_hostile_packet_has_no_engine)
{
	struct net_packet *bad = calloc(1, sizeof(*bad));

	bad->pkt = packet_of(self->a, TOFU_PKT_PUT);
	bad->pkt.src = 1;
	bad->pkt.dst_tni = 255;
	clock_send(self->net, 0, bad);
	clock_run_until(self->net, START + toy.write_ns - 1);
	EXPECT_EQ(START + toy.write_ns + toy.reply_ns + toy.send_ns,
		  sends_from(self->icc));
}

/* What nodes rely on that do not know the packet */
TEST(no_machine_answers_sooner_than_it_says)
{
	static const uint8_t types[] = { TOFU_PKT_PUT, TOFU_PKT_GET,
					 TOFU_PKT_ARMW, TOFU_PKT_SIGNAL,
					 TOFU_PKT_DONE };
	const struct tofu_preset *m;

	for (size_t i = 0; (m = tofu_preset_at(i)); i++) {
		struct net *net = clock_create("2", m);
		const struct icc *icc = net->node[0].icc;
		uint64_t least = UINT64_MAX;

		for (size_t t = 0; t < sizeof(types); t++) {
			const struct tofu_packet pkt = {
				.type = types[t],
				.flags = TOFU_PKT_F_INJECT,
			};
			const uint64_t ns = icc_answer_ns(icc, &pkt);

			EXPECT_LE(tofu_preset_answer_ns(m), ns);
			least = ns < least ? ns : least;
		}
		EXPECT_LE(tofu_preset_send_ns(m), tofu_preset_answer_ns(m));
		EXPECT_LE(least, tofu_preset_answer_ns(m) + m->fetch_ns);
		net_destroy(net);
	}
}

TEST_HARNESS_MAIN
