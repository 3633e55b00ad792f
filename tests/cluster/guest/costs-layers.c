// SPDX-License-Identifier: MIT
/* What calls of the layers above uTofu cost: buffers, and messages. */
#include <string.h>

#include <tofu/p2p.h>
#include <tofu/srb.h>

#include "costs.h"

/* ---- Shared receive buffers ---- */

/**
 * struct srb - what is measured of a record
 * @send, @send_empty, @send_step, @send_ended: of the sender
 * @empty, @found, @release: of the ring
 */
struct srb {
	struct tofu_srb *ring;
	struct tofu_srb_sender *sender;
	struct tofu_srb_peer peer;
	struct meter send;
	struct meter send_empty;
	struct meter send_step;
	struct meter send_ended;
	struct meter empty;
	struct meter found;
	struct meter release;
};

/*
 * A node that was interrupted does its part late, and the other one has to wait for it.
 * Such a round takes longer than most, which are what is reported.
 */
#define LATE_MAX 100

static int late_poll(struct srb *srb, int code)
{
	void *cbdata;
	int result;

	for (int i = 0; code == UTOFU_ERR_NOT_FOUND && i < LATE_MAX; i++) {
		settle();
		code = tofu_srb_poll(srb->sender, &cbdata, &result);
	}
	return code;
}

static int late_receive(struct srb *srb, int code)
{
	struct tofu_srb_record record;

	for (int i = 0; code == UTOFU_ERR_NOT_FOUND && i < LATE_MAX; i++) {
		settle();
		code = tofu_srb_receive(srb->ring, &record);
	}
	return code;
}

static void srb_round(struct test *test, struct srb *srb, size_t bytes)
{
	struct iovec part = { test->area, bytes };
	struct tofu_srb_record record;
	void *cbdata;
	int code, result;

	settle();
	/* The first ones tell the engine what the last ones have found. */
	tofu_srb_receive(srb->ring, &record);
	start(test);
	for (unsigned int i = 0; i < test->polls; i++)
		tofu_srb_receive(srb->ring, &record);
	stop(test, &srb->empty);
	settle();
	tofu_srb_poll(srb->sender, &cbdata, &result);
	start(test);
	for (unsigned int i = 0; i < test->polls; i++)
		tofu_srb_poll(srb->sender, &cbdata, &result);
	stop(test, &srb->send_empty);
	start(test);
	check(tofu_srb_send(srb->sender, &srb->peer, &part, 1, NULL),
	      "tofu_srb_send");
	stop(test, &srb->send);
	settle();
	start(test);
	tofu_srb_poll(srb->sender, &cbdata, &result);
	stop(test, &srb->send_step);
	settle();
	start(test);
	code = tofu_srb_poll(srb->sender, &cbdata, &result);
	stop(test, &srb->send_ended);
	check(late_poll(srb, code), "tofu_srb_poll");
	settle();
	start(test);
	code = tofu_srb_receive(srb->ring, &record);
	stop(test, &srb->found);
	check(late_receive(srb, code), "tofu_srb_receive");
	start(test);
	check(tofu_srb_release(srb->ring), "tofu_srb_release");
	stop(test, &srb->release);
}

static void srb_report(struct test *test, struct srb *srb, size_t bytes)
{
	const struct {
		const char *name;
		struct meter *meter;
		unsigned int calls;
	} sums[] = {
		{ "send", &srb->send, 1 },
		{ "poll-empty", &srb->send_empty, test->polls },
		{ "poll-step", &srb->send_step, 1 },
		{ "poll-ended", &srb->send_ended, 1 },
		{ "receive-empty", &srb->empty, test->polls },
		{ "receive-found", &srb->found, 1 },
		{ "release", &srb->release, 1 },
	};
	char text[40];

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		snprintf(text, sizeof(text), "srb-%s-%zu", sums[i].name, bytes);
		report(test, text, sums[i].meter, sums[i].calls);
	}
}

void srb_measure(struct test *test, size_t bytes)
{
	const struct tofu_srb_params params = { .bytes = 1 << 20, .stag = 100 };
	const struct tofu_srb_sender_params sending = { .pool = 1 << 16,
							.records = 4 };
	struct srb srb = { 0 };

	check(tofu_srb_create(test->vcq, &params, &srb.ring),
	      "tofu_srb_create");
	check(tofu_srb_address(test->peer, &params, &srb.peer.address),
	      "tofu_srb_address");
	check(tofu_srb_sender_create(test->vcq, &sending, &srb.sender),
	      "tofu_srb_sender_create");
	guest_barrier(&test->guest);
	rounds_begin(test);
	while (round_next(test)) {
		guest_barrier(&test->guest);
		srb_round(test, &srb, bytes);
	}
	guest_barrier(&test->guest);
	tofu_srb_sender_free(srb.sender);
	tofu_srb_free(srb.ring);
	srb_report(test, &srb, bytes);
}

/* ---- Messages ---- */

static int where(void *arg, uint32_t rank, uint8_t coords[6],
		 utofu_tni_id_t *tni, utofu_cmp_id_t *component)
{
	const struct test *test = arg;
	utofu_tni_id_t of;
	utofu_cq_id_t cq;
	uint16_t extra;

	(void)tni;
	(void)component;
	return utofu_query_vcq_info(test->guest.id[rank], coords, &of, &cq,
				    &extra);
}

#define TURNS 12
/* In between, what a turn has started comes to its end. */
#define TURN_SETTLES 6

/*
 * Both nodes send and receive one message; the turns end it for sure. They take
 * turns: memory is given back only when nothing is read through its queue.
 */
static void p2p_round(struct test *test, struct tofu_p2p *p2p, char *to,
		      size_t bytes, struct meter *sums)
{
	uint32_t peer = guest_next(&test->guest);
	struct tofu_p2p_request *send, *receive;

	start(test);
	check(tofu_p2p_irecv(p2p, to, bytes, peer, 1, &receive), "irecv");
	stop(test, &sums[0]);
	start(test);
	for (unsigned int i = 0; i < test->tests; i++)
		tofu_p2p_test(p2p, &receive, NULL);
	stop(test, &sums[5]);
	guest_barrier(&test->guest);
	start(test);
	check(tofu_p2p_isend(p2p, test->area, bytes, peer, 1, &send), "isend");
	stop(test, &sums[1]);
	for (int n = 0; test->guest.machine.node && n < TURN_SETTLES / 2; n++)
		settle();
	for (int i = 0; i < TURNS; i++) {
		for (int n = 0; n < TURN_SETTLES; n++)
			settle();
		start(test);
		tofu_p2p_progress(p2p);
		stop(test, &sums[2]);
	}
	start(test);
	check(tofu_p2p_test(p2p, &send, NULL), "test");
	check(tofu_p2p_test(p2p, &receive, NULL), "test");
	stop(test, &sums[3]);
	start(test);
	for (unsigned int i = 0; i < test->tests; i++)
		tofu_p2p_progress(p2p);
	stop(test, &sums[4]);
}

void p2p_measure(struct test *test, size_t bytes, size_t get, const char *name)
{
	static const char *const names[] = { "receive", "send", "turns",
					     "ended", "progress", "test" };
	const struct tofu_p2p_params params = {
		.processes = test->guest.machine.nodes,
		.rank = test->guest.machine.node,
		.tni = 1,
		.where = where,
		.arg = test,
		.memory = 8 << 20,
		.eager = 2000,
		.get = get,
	};
	struct meter sums[6] = { 0 };
	struct tofu_p2p *p2p;
	char *to = aligned_alloc(PAGE, BYTES_LONG), text[32];

	if (!to)
		err(EXIT_FAILURE, "memory");
	memset(to, 0, BYTES_LONG);
	check(tofu_p2p_create(&params, &p2p), "tofu_p2p_create");
	guest_barrier(&test->guest);
	rounds_begin(test);
	while (round_next(test))
		p2p_round(test, p2p, to, bytes, sums);
	guest_barrier(&test->guest);
	tofu_p2p_free(p2p);
	free(to);
	for (int i = 0; i < 6; i++) {
		snprintf(text, sizeof(text), "p2p-%s-%s", names[i], name);
		report(test, text, &sums[i], i >= 4 ? test->tests : 1);
	}
}

/* More than a turn looks for: each turn looks for a part of them */
#define UNHEARD 20

void p2p_measure_unheard(struct test *test)
{
	const struct tofu_p2p_params params = {
		.processes = UNHEARD,
		.rank = test->guest.machine.node,
		.tni = 1,
		.where = where,
		.arg = test,
		.memory = 8 << 20,
		.mode = TOFU_P2P_FAST,
	};
	struct meter turns = { 0 };
	struct tofu_p2p *p2p;

	check(tofu_p2p_create(&params, &p2p), "tofu_p2p_create");
	guest_barrier(&test->guest);
	rounds_begin(test);
	while (round_next(test)) {
		start(test);
		for (unsigned int i = 0; i < test->tests; i++)
			tofu_p2p_progress(p2p);
		stop(test, &turns);
	}
	guest_barrier(&test->guest);
	tofu_p2p_free(p2p);
	report(test, "p2p-progress-unheard", &turns, test->tests);
}
