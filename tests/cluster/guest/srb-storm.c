// SPDX-License-Identifier: MIT
/*
 * All nodes send to node 0's shared receive buffer as fast as they can. It
 * checks every byte, and each sender's order; then node 0 prints how evenly
 * senders were served. In virtual time that is a test too; otherwise the host
 * decides who runs.
 *
 * usage: srb-storm RECORDS [BYTES [EVERY]]
 *
 * RECORDS is the total of all senders, BYTES the largest size. After EVERY
 * records node 0 prints a line "# node 0: N of RECORDS".
 */
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/srb.h>

#include "common/error.h"
#include "common/stats.h"
#include "common/virtual.h"
#include "common/wait.h"
#include "guest.h"

#define STAG 80
#define RING_BYTES (256 << 10)
#define BYTES_LEAST sizeof(struct begin)
#define BYTES 200

/* Records of a sender under way at a time */
#define UNDER_WAY 32

/* What the last sender has delivered, in percent, when the first has ended */
#define EVEN 90

/* Seconds without a record until the test fails */
#define SILENCE 120

/**
 * struct begin - first part of a record
 * @bytes: bytes of the whole record
 */
struct begin {
	uint64_t from;
	uint64_t number;
	uint64_t bytes;
};

/**
 * struct sender - a sender as the receiver sees it
 * @came:  records received
 * @ended: time of the last one, ns
 */
struct sender {
	uint64_t came;
	uint64_t ended;
};

/**
 * struct test
 * @each:  records of a sender
 * @most:  largest record in bytes
 * @every: records between two lines of progress; 0: none is printed
 * @began, @first: times of the beginning, and of the first sender's end
 * @least, @greatest: records that a sender had delivered by then
 * @error: error, of enum utofu_return_code
 */
struct test {
	struct guest guest;
	uint64_t each;
	uint64_t most;
	uint64_t every;
	struct sender *sender;
	uint64_t began;
	uint64_t first;
	uint64_t least;
	uint64_t greatest;
	int error;
};

static const struct tofu_srb_params ring_params = {
	.bytes = RING_BYTES,
	.stag = STAG,
	/* No hole is expected, however busy the host is. */
	.patience_ns = 1000000000ULL * SILENCE,
};

/* ---- Sending ---- */

static uint64_t record_make(const struct test *test, char *to, uint64_t number)
{
	uint64_t from = test->guest.machine.node;
	uint64_t seed = guest_seed(from, number, 1);
	struct begin begin = {
		.from = from,
		.number = number,
		.bytes = BYTES_LEAST +
			 seed % (test->most - BYTES_LEAST + 1),
	};

	memcpy(to, &begin, sizeof(begin));
	guest_fill(to + sizeof(begin), begin.bytes - sizeof(begin), seed);
	return begin.bytes;
}

/* Records end in order. */
static void ended_take(struct test *test, struct tofu_srb_sender *sender,
		       uint64_t *ended)
{
	void *cbdata;
	int result, code = tofu_srb_poll(sender, &cbdata, &result);

	if (code == UTOFU_ERR_NOT_FOUND) {
		sched_yield();
		return;
	}
	if (code || result)
		test->error = code ? code : result;
	else if ((uintptr_t)cbdata != *ended)
		test->error = UTOFU_ERR_FATAL;
	++*ended;
}

static void records_send(struct test *test, struct tofu_srb_sender *sender,
			 struct tofu_srb_peer *peer)
{
	char *text = malloc(test->most);
	struct iovec part = { text, 0 };
	uint64_t sent = 0, ended = 0;

	if (!text)
		err(EXIT_FAILURE, "%lu bytes", test->most);
	while (ended < test->each && !test->error) {
		int code = UTOFU_ERR_BUSY;

		if (sent < test->each) {
			if (!part.iov_len)
				part.iov_len = record_make(test, text, sent);
			code = tofu_srb_send(sender, peer, &part, 1,
					     (void *)(uintptr_t)sent);
		}
		if (!code) {
			sent++;
			part.iov_len = 0;
		} else if (code == UTOFU_ERR_BUSY) {
			ended_take(test, sender, &ended);
		} else {
			test->error = code;
		}
	}
	free(text);
}

static void sender_run(struct test *test)
{
	const struct tofu_srb_sender_params params = {
		.pool = UNDER_WAY * (test->most + TOFU_SRB_OVERHEAD + 7),
		.records = UNDER_WAY,
	};
	struct tofu_srb_peer peer = { 0 };
	struct tofu_srb_sender *sender;

	test->error = tofu_srb_address(test->guest.id[0], &ring_params,
				       &peer.address);
	if (!test->error)
		test->error = tofu_srb_sender_create(test->guest.vcq, &params,
						     &sender);
	if (test->error)
		return;
	records_send(test, sender, &peer);
	tofu_srb_sender_free(sender);
}

/* ---- Receiving ---- */

static bool record_good(struct test *test, const struct tofu_srb_record *record,
			char *copy, struct begin *begin)
{
	if (record->bytes < sizeof(*begin) || record->bytes > test->most)
		return false;
	memcpy(copy, record->part[0].iov_base, record->part[0].iov_len);
	memcpy(copy + record->part[0].iov_len, record->part[1].iov_base,
	       record->part[1].iov_len);
	memcpy(begin, copy, sizeof(*begin));
	return begin->from && begin->from < test->guest.machine.nodes &&
	       begin->bytes == record->bytes &&
	       begin->number == test->sender[begin->from].came &&
	       !guest_wrong(copy + sizeof(*begin),
			    begin->bytes - sizeof(*begin),
			    guest_seed(begin->from, begin->number, 1));
}

static void first_ended(struct test *test, uint64_t now)
{
	test->first = now;
	test->least = UINT64_MAX;
	for (uint32_t n = 1; n < test->guest.machine.nodes; n++) {
		uint64_t came = test->sender[n].came;

		if (came < test->least)
			test->least = came;
		if (came > test->greatest && came < test->each)
			test->greatest = came;
	}
}

static void sender_count(struct test *test, uint64_t from)
{
	struct sender *sender = &test->sender[from];

	if (++sender->came < test->each)
		return;
	sender->ended = tofu_now();
	if (!test->first)
		first_ended(test, sender->ended);
}

static int record_wait(struct tofu_srb *srb, struct tofu_srb_record *record)
{
	struct tofu_wait wait = tofu_wait_patient(SILENCE);
	int code;

	while ((code = tofu_srb_receive(srb, record)) == UTOFU_ERR_NOT_FOUND &&
	       tofu_wait_more(&wait))
		;
	return code;
}

static void records_take(struct test *test, struct tofu_srb *srb)
{
	uint64_t all = test->each * (test->guest.machine.nodes - 1);
	char *copy = malloc(test->most);
	struct tofu_srb_record record;
	struct begin begin;

	if (!copy)
		err(EXIT_FAILURE, "%lu bytes", test->most);
	test->began = tofu_now();
	for (uint64_t i = 0; i < all && !test->error; i++) {
		test->error = record_wait(srb, &record);
		if (test->error)
			break;
		if (!record_good(test, &record, copy, &begin))
			test->error = UTOFU_ERR_INVALID_DATA;
		else
			sender_count(test, begin.from);
		if (test->every && !((i + 1) % test->every))
			guest_note(&test->guest, "%lu of %lu", i + 1, all);
		tofu_srb_release(srb);
	}
	free(copy);
}

/* ---- How senders fared ---- */

static int by_time(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static double seconds(const struct test *test, uint64_t when)
{
	return (double)(when - test->began) / 1e9;
}

static void spread_tell(struct test *test)
{
	uint32_t senders = test->guest.machine.nodes - 1;
	uint64_t *ended = calloc(senders, sizeof(*ended));

	if (!ended)
		return;
	for (uint32_t s = 0; s < senders; s++)
		ended[s] = test->sender[s + 1].ended;
	qsort(ended, senders, sizeof(*ended), by_time);
	guest_note(&test->guest, "%lu records of %u senders: %.0f a second",
		   test->each * senders, senders,
		   (double)(test->each * senders) /
			   seconds(test, ended[senders - 1]));
	guest_note(&test->guest,
		   "senders ended after: first %.3f s, median %.3f s, last %.3f s",
		   seconds(test, ended[0]), seconds(test, ended[senders / 2]),
		   seconds(test, ended[senders - 1]));
	guest_note(&test->guest,
		   "when the first had sent its %lu records, others had %lu to %lu",
		   test->each, test->least, test->greatest);
	free(ended);
}

int main(int argc, char **argv)
{
	struct test test = { 0 };
	struct tofu_srb *srb = NULL;
	uint64_t records, most;
	uint32_t senders;

	if (argc < 2 || argc > 4)
		errx(EXIT_FAILURE,
		     "usage: srb-storm RECORDS [BYTES [EVERY]]");
	records = strtoull(argv[1], NULL, 10);
	most = argc > 2 ? strtoull(argv[2], NULL, 10) : BYTES;
	if (!records || most < BYTES_LEAST ||
	    most > RING_BYTES / 2 - TOFU_SRB_OVERHEAD)
		errx(EXIT_FAILURE, "no such records");
	guest_begin(&test.guest, 2);
	tofu_virtual_find();
	senders = test.guest.machine.nodes - 1;
	if (!senders)
		errx(EXIT_FAILURE, "nobody sends");
	test.each = (records + senders - 1) / senders;
	test.most = most;
	test.every = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	test.sender = calloc(senders + 1, sizeof(*test.sender));
	if (!test.sender)
		err(EXIT_FAILURE, "senders");
	if (!test.guest.machine.node)
		test.error = tofu_srb_create(test.guest.vcq, &ring_params, &srb);
	guest_barrier(&test.guest);
	if (test.guest.machine.node)
		sender_run(&test);
	else if (srb)
		records_take(&test, srb);
	if (test.error)
		guest_note(&test.guest, "%s", tofu_error_text(test.error));
	guest_point(&test.guest, !test.error,
		    "%lu records come, whole and in order",
		    test.each * senders);
	if (!test.guest.machine.node && !test.error)
		spread_tell(&test);
	if (tofu_virtual())
		guest_point(&test.guest,
			    test.guest.machine.node ||
				    test.least * 100 >= test.each * EVEN,
			    "senders are served evenly");
	else
		guest_skip(&test.guest, "senders are served evenly",
			   "the host decides who runs");
	tofu_srb_free(srb);
	free(test.sender);
	return guest_end(&test.guest);
}
