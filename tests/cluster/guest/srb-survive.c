// SPDX-License-Identifier: MIT
/*
 * A sender dies in the middle of a record to a shared receive buffer. Node 0
 * receives; the others send, and one of them stops for good. Its earlier
 * records arrive, and so do all records of the others.
 *
 * usage: srb-survive VICTIM STEP die|wait
 *
 * STEP is where it stops: reserve, read, head, half, tail (all but the tail),
 * or stream: anywhere. It kills its process, or waits for the test to kill the
 * node: all nodes print "# node N: streaming" when the test may. Node 0 prints
 * TAP for all: there is no barrier after a death.
 */
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "common/stats.h"
#include "common/wait.h"
#include "guest.h"
#include "srb/srb.h"

#define STAG 80
#define GOODBYE_STAG 79
#define PATIENCE_NS 2000000000
#define BYTES_MOST 2000
#define UNDER_WAY 16

/* Records of a sender, and of the victim before it stops */
#define RECORDS 20000
#define BEFORE 300

/* Payload of the record that it does not complete */
#define HOLE_PAYLOAD 1000
#define HOLE_BYTES (HOLE_PAYLOAD + TOFU_SRB_OVERHEAD)

enum step { RESERVE, READ, HEAD, HALF, TAIL, STREAM, STEPS };

static const char *const step_names[STEPS] = {
	"reserve", "read", "head", "half", "tail", "stream",
};

/* Bytes of its record that it puts, by step */
static const size_t step_puts[STEPS] = {
	[HEAD] = SRB_WORD,
	[HALF] = HOLE_BYTES / 2,
	[TAIL] = HOLE_BYTES - SRB_WORD,
};

/* First part of a record */
struct begin {
	uint64_t from;
	uint64_t number;
};

/**
 * struct test
 * @dies:    the victim kills itself
 * @goodbye: words that senders put at node 0 when they have finished
 * @came:    records, by sender
 */
struct test {
	struct guest guest;
	uint32_t victim;
	enum step step;
	bool dies;
	uint64_t *goodbye;
	utofu_stadd_t goodbye_stadd;
	uint64_t came[16];
};

static const struct tofu_srb_params ring_params = {
	.bytes = 16384,
	.stag = STAG,
	.patience_ns = PATIENCE_NS,
};

static void check(int code, const char *what)
{
	if (code)
		errx(EXIT_FAILURE, "%s: %s", what, tofu_error_text(code));
}

/* ---- Sending ---- */

static size_t record_make(const struct test *test, char *to, uint64_t number)
{
	struct begin begin = { test->guest.machine.node, number };
	uint64_t seed = guest_seed(begin.from, number, 2);
	size_t bytes = sizeof(begin) + seed % (BYTES_MOST - sizeof(begin));

	memcpy(to, &begin, sizeof(begin));
	guest_fill(to + sizeof(begin), bytes - sizeof(begin), seed);
	return bytes;
}

static struct tofu_srb_peer peer_of(const struct test *test)
{
	struct tofu_srb_peer peer = { 0 };

	check(tofu_srb_address(test->guest.id[0], &ring_params, &peer.address),
	      "tofu_srb_address");
	return peer;
}

static uint64_t ended_count(struct tofu_srb_sender *sender)
{
	void *cbdata;
	int result, code = tofu_srb_poll(sender, &cbdata, &result);

	if (code == UTOFU_ERR_NOT_FOUND) {
		sched_yield();
		return 0;
	}
	check(code, "tofu_srb_poll");
	check(result, "a record");
	return 1;
}

/* With @leave, returns with records under way when that many have ended. */
static void records_send(struct test *test, struct tofu_srb_sender *sender,
			 struct tofu_srb_peer *peer, uint64_t count, bool leave)
{
	uint64_t sent = 0, ended = 0;
	char text[BYTES_MOST];

	while (ended < count) {
		struct iovec part = { text, 0 };
		int code = UTOFU_ERR_BUSY;

		if (sent < count || leave) {
			part.iov_len = record_make(test, text, sent);
			code = tofu_srb_send(sender, peer, &part, 1, NULL);
		}
		if (code == UTOFU_ERR_BUSY)
			ended += ended_count(sender);
		else
			check(code, "tofu_srb_send");
		sent += !code;
	}
}

static struct tofu_srb_sender *sender_make(const struct test *test)
{
	const struct tofu_srb_sender_params params = {
		.pool = UNDER_WAY * BYTES_MOST,
		.records = UNDER_WAY,
	};
	struct tofu_srb_sender *sender;

	check(tofu_srb_sender_create(test->guest.vcq, &params, &sender),
	      "tofu_srb_sender_create");
	return sender;
}

static void sender_run(struct test *test)
{
	struct tofu_srb_peer peer = peer_of(test);
	struct tofu_srb_sender *sender = sender_make(test);
	utofu_stadd_t at = test->goodbye_stadd +
			   test->guest.machine.node * sizeof(uint64_t);

	guest_note(&test->guest, "streaming");
	records_send(test, sender, &peer, RECORDS, false);
	tofu_srb_sender_free(sender);
	/* Node 0 may end before this ends. */
	guest_finish(&test->guest,
		     utofu_put_piggyback8(test->guest.vcq, test->guest.id[0], 1,
					  at, sizeof(uint64_t), 0, GUEST_FLAGS,
					  NULL),
		     NULL);
}

/* ---- Dying ---- */

static uint64_t counter_armw(struct test *test, enum utofu_armw_op op,
			     uint64_t value, unsigned int counter)
{
	struct utofu_mrq_notice notice;
	struct guest *guest = &test->guest;
	utofu_stadd_t at;

	check(utofu_query_stadd(guest->id[0], STAG, &at), "utofu_query_stadd");
	check(guest_finish(guest,
			   utofu_armw8(guest->vcq, guest->id[0], op, value,
				       at + counter, 0, GUEST_FLAGS, NULL),
			   &notice),
	      "utofu_armw8");
	return notice.rmt_value;
}

static void hole_put(struct test *test, uint64_t place, size_t bytes)
{
	struct guest *guest = &test->guest;

	for (size_t i = 0; i < bytes; i += SRB_WORD) {
		uint64_t word = i ? ~(uint64_t)i : SRB_DATA | HOLE_PAYLOAD;
		utofu_stadd_t at;

		check(utofu_query_stadd(guest->id[0],
					srb_epoch_stag(STAG, place), &at),
		      "utofu_query_stadd");
		at += (place + i) & (ring_params.bytes - 1);
		check(guest_finish(guest,
				   utofu_put_piggyback8(guest->vcq,
							guest->id[0], word, at,
							SRB_WORD, 0,
							GUEST_FLAGS, NULL),
				   NULL),
		      "utofu_put_piggyback8");
	}
}

/* The steps of a record, up to the victim's last one */
static void hole_make(struct test *test)
{
	uint64_t place = counter_armw(test, UTOFU_ARMW_OP_ADD, HOLE_BYTES,
				      SRB_PRODUCER);
	uint64_t consumer;

	if (test->step == RESERVE)
		return;
	do {
		consumer = counter_armw(test, UTOFU_ARMW_OP_OR, 0,
					SRB_CONSUMER);
	} while (place + HOLE_BYTES - consumer > ring_params.bytes);
	hole_put(test, place, step_puts[test->step]);
}

static void victim_run(struct test *test)
{
	struct tofu_srb_peer peer = peer_of(test);
	struct tofu_srb_sender *sender = sender_make(test);
	bool stream = test->step == STREAM;

	if (stream && !test->dies)
		guest_note(&test->guest, "streaming");
	records_send(test, sender, &peer, stream && !test->dies ? UINT64_MAX : BEFORE,
		     stream);
	if (!stream)
		hole_make(test);
	if (test->dies)
		raise(SIGKILL);
	guest_note(&test->guest, "streaming");
	sleep(GUEST_TIMEOUT);
}

/* ---- Receiving ---- */

static bool record_good(struct test *test, const struct tofu_srb_record *record)
{
	char copy[BYTES_MOST];
	struct begin begin;

	if (record->bytes < sizeof(begin) || record->bytes > sizeof(copy))
		return false;
	memcpy(copy, record->part[0].iov_base, record->part[0].iov_len);
	memcpy(copy + record->part[0].iov_len, record->part[1].iov_base,
	       record->part[1].iov_len);
	memcpy(&begin, copy, sizeof(begin));
	return begin.from && begin.from < test->guest.machine.nodes &&
	       begin.number == test->came[begin.from]++ &&
	       !guest_wrong(copy + sizeof(begin),
			    record->bytes - sizeof(begin),
			    guest_seed(begin.from, begin.number, 2));
}

/* The test may kill the victim's node only after all others have finished. */
static bool victim_gone(struct test *test)
{
	struct guest *guest = &test->guest;
	utofu_stadd_t at;
	int code = utofu_query_stadd(guest->id[test->victim], GOODBYE_STAG, &at);

	if (!code)
		code = guest_finish(guest,
				    utofu_put_piggyback8(guest->vcq,
							 guest->id[test->victim], 1,
							 at, sizeof(uint64_t), 0,
							 GUEST_FLAGS, NULL),
				    NULL);
	return code == UTOFU_ERR_MRQ_PEER;
}

/* All survivors have said goodbye, and the hole was skipped. */
static bool all_came(struct test *test, const struct tofu_srb *srb)
{
	struct tofu_srb_counts counts;

	tofu_srb_counts(srb, &counts);
	for (uint32_t n = 1; n < test->guest.machine.nodes; n++)
		if (n != test->victim &&
		    (test->came[n] < RECORDS ||
		     !__atomic_load_n(&test->goodbye[n], __ATOMIC_ACQUIRE)))
			return false;
	if (test->step != STREAM)
		return counts.epochs;
	return test->dies || victim_gone(test);
}

static bool records_take(struct test *test, struct tofu_srb *srb)
{
	struct tofu_wait wait = tofu_wait_patient(GUEST_TIMEOUT);

	while (!all_came(test, srb)) {
		struct tofu_srb_record record;
		int code = tofu_srb_receive(srb, &record);

		if (code == UTOFU_ERR_NOT_FOUND) {
			if (!tofu_wait_more(&wait))
				return false;
			continue;
		}
		check(code, "tofu_srb_receive");
		if (!record_good(test, &record))
			return false;
		check(tofu_srb_release(srb), "tofu_srb_release");
		wait = tofu_wait_patient(GUEST_TIMEOUT);
	}
	return true;
}

static int point(unsigned int number, bool good, const char *name)
{
	printf("%sok %u - %s\n", good ? "" : "not ", number, name);
	fflush(stdout);
	return !good;
}

static int receiver_run(struct test *test, struct tofu_srb *srb)
{
	struct tofu_srb_counts counts;
	bool good = records_take(test, srb);
	uint64_t before = test->came[test->victim];
	int failed;

	tofu_srb_counts(srb, &counts);
	failed = point(1, good, "all records of the living come, in order");
	failed |= point(2,
			test->step == STREAM ? before >= BEFORE || !test->dies :
					       before == BEFORE,
			"all that the dead had sent has come, in order");
	failed |= point(3, test->step == STREAM || counts.skipped >= HOLE_BYTES,
			"nothing of its last record has");
	guest_note(&test->guest,
		   "%lu epochs ended, %lu bytes skipped, %lu records of the dead",
		   counts.epochs, counts.skipped, before);
	tofu_srb_free(srb);
	return failed;
}

/* ---- The whole ---- */

static int node_run(void *data)
{
	struct test *test = data;

	struct tofu_srb *srb = NULL;
	uint32_t node;

	guest_begin(&test->guest, 3);
	node = test->guest.machine.node;
	test->goodbye = guest_area(&test->guest, 4096, GOODBYE_STAG,
				   &test->goodbye_stadd);
	if (!node)
		check(tofu_srb_create(test->guest.vcq, &ring_params, &srb),
		      "tofu_srb_create");
	guest_barrier(&test->guest);
	if (!node) {
		guest_note(&test->guest, "streaming");
		return receiver_run(test, srb);
	}
	if (node == test->victim)
		victim_run(test);
	else
		sender_run(test);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct test test = { .step = STEPS };

	for (int s = 0; argc == 4 && s < STEPS; s++)
		if (!strcmp(argv[2], step_names[s]))
			test.step = (enum step)s;
	if (test.step == STEPS)
		errx(EXIT_FAILURE, "usage: srb-survive VICTIM STEP die|wait");
	test.victim = (uint32_t)strtoul(argv[1], NULL, 10);
	test.dies = !strcmp(argv[3], "die");
	return test.dies ? guest_watch(node_run, &test) : node_run(&test);
}
