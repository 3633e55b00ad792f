/* SPDX-License-Identifier: MIT */
/*
 * The libfabric provider: receives that look first, that are canceled, whose
 * buffer is too short, or that take many messages.
 */
#include "fi-util.h"

#include <sched.h>
#include <string.h>

#define LONG 102400
#define GUARD 16

static struct port port;

static const size_t lengths[] = { 0, 8, 256, 257, 5000, LONG };
#define LENGTHS (int)(sizeof(lengths) / sizeof(lengths[0]))

/* ---- Peek, claim, discard ---- */

/* One peek; Return: the error in its entry, or -1 */
static int peek_once(int from, uint64_t tag, uint64_t ignore, uint64_t flags, struct done *done)
{
	renew(done);
	if (receive_flagged(&port, from, NULL, 0, tag, ignore, FI_PEEK | flags, done) ||
	    !ended(done, 1) || done->times != 1)
		return -1;
	return done->error;
}

static bool peek_none(int from, uint64_t tag, uint64_t ignore)
{
	struct done done = { 0 };

	return peek_once(from, tag, ignore, 0, &done) == FI_ENOMSG;
}

/* peek_wait - until there is such a message */
static int peek_wait(int from, uint64_t tag, uint64_t ignore, uint64_t flags,
		     struct done *done)
{
	uint64_t since = clock_ms();
	int error;

	do {
		error = peek_once(from, tag, ignore, flags, done);
	} while (error == FI_ENOMSG && !late(since));
	TEST(!error);
	return 0;
}

static int peek_says(const struct done *done, uint64_t tag, size_t bytes)
{
	TEST(done->entry.tag == tag);
	TEST(done->entry.len == bytes);
	TEST(done->entry.flags & FI_TAGGED && done->entry.flags & FI_RECV);
	TEST(done->from == port.peer[left]);
	return 0;
}

static int take(uint64_t tag, size_t bytes, unsigned int seed)
{
	uint8_t *in = room(bytes);
	struct done done = { 0 };

	TEST(!receive_tagged(&port, ANY, in, bytes, tag, 0, &done));
	TEST(succeeded(&done, 1));
	TEST(done.entry.len == bytes && filled(in, bytes, seed));
	return 0;
}

/* Messages with the tags 100, 101, ... and these lengths; others follow. */
static int offer(uint8_t *out, struct done sends[])
{
	for (int i = 0; i < LENGTHS; i++) {
		uint8_t *from = out + (size_t)i * LONG;

		fill(from, lengths[i], (unsigned int)i);
		TEST(!send_tagged(&port, right, from, lengths[i], 100 + (uint64_t)i, &sends[i]));
	}
	return 0;
}

static int peek(void)
{
	uint8_t *out = room((size_t)LENGTHS * LONG);
	struct done sends[LENGTHS] = { 0 }, done = { 0 };

	RUN(port_open(&port, NULL));
	TEST(peek_none(ANY, 100, 0));
	TEST(peek_none(ANY, 0, ~0ull));
	TEST(meet());
	RUN(offer(out, sends));
	for (int i = LENGTHS - 1; i >= 0; i--) {
		uint64_t tag = 100 + (uint64_t)i;

		RUN(peek_wait(i & 1 ? ANY : left, tag, 0, 0, &done));
		RUN(peek_says(&done, tag, lengths[i]));
		RUN(peek_wait(left, 100, 0xff, 0, &done));
		RUN(peek_says(&done, 100, lengths[0]));
		TEST(peek_none(rank, tag, 0));
		TEST(peek_none(ANY, tag + 1000, 0));
		RUN(take(tag, lengths[i], (unsigned int)i));
		TEST(peek_none(ANY, tag, 0));
	}
	TEST(succeeded(sends, LENGTHS));
	return port_close(&port);
}

/* The first of several messages, and what else an entry tells */
static int peek_first(void)
{
	static const uint8_t out[3];
	struct done sends[3] = { 0 }, done = { 0 };

	RUN(port_open(&port, NULL));
	TEST(!RETRY(fi_tsenddata(port.ep, out, 2, NULL, 77, port.peer[right], 5, &sends[0])));
	TEST(!send_tagged(&port, right, out, 3, 5, &sends[1]));
	TEST(!send_plain(&port, right, out, 1, &sends[2]));
	TEST(meet());
	RUN(peek_wait(ANY, 5, 0, 0, &done));
	RUN(peek_says(&done, 5, 2));
	TEST(done.entry.flags & FI_REMOTE_CQ_DATA && done.entry.data == 77);
	RUN(peek_wait(ANY, 5, 0, FI_DISCARD, &done));
	RUN(peek_says(&done, 5, 2));
	RUN(peek_wait(ANY, 5, 0, FI_DISCARD, &done));
	RUN(peek_says(&done, 5, 3));
	TEST(peek_none(ANY, 0, ~0ull));
	TEST(succeeded(sends, 3));
	return port_close(&port);
}

/* claim - what a peek has claimed; @bytes less than the message: truncated */
static int claim(struct done *done, uint8_t *in, size_t bytes, size_t all)
{
	uint64_t tag = done->entry.tag;

	renew(done);
	TEST(!receive_flagged(&port, left, in, bytes, tag, 0, FI_CLAIM, done));
	if (bytes < all) {
		TEST(failed_with(done, FI_ETRUNC));
		TEST(done->entry.len == bytes && done->rest == all - bytes);
	} else {
		TEST(succeeded(done, 1));
		TEST(done->entry.len == all && done->entry.tag == tag);
		TEST(done->from == port.peer[left]);
	}
	return 0;
}

/* Two messages a length, of which the first is claimed */
static int claim_one(size_t bytes, uint8_t *out, uint8_t *in)
{
	struct done sends[2] = { 0 }, done = { 0 }, again = { 0 };

	fill(out, bytes, 1);
	fill(out + LONG, bytes, 2);
	TEST(!send_tagged(&port, right, out, bytes, 5, &sends[0]));
	TEST(!send_tagged(&port, right, out + LONG, bytes, 5, &sends[1]));
	RUN(peek_wait(left, 0, ~0ull, FI_CLAIM, &done));
	RUN(peek_says(&done, 5, bytes));
	RUN(take(5, bytes, 2));
	TEST(peek_none(ANY, 0, ~0ull));
	TEST(peek_once(ANY, 5, 0, FI_CLAIM, &again) == FI_ENOMSG);
	RUN(claim(&done, in, bytes, bytes));
	TEST(filled(in, bytes, 1));
	TEST(succeeded(sends, 2));
	TEST(meet());
	return 0;
}

static int peek_claim(void)
{
	uint8_t *out = room(2 * LONG), *in = room(LONG);

	RUN(port_open(&port, NULL));
	for (int i = 0; i < LENGTHS; i++)
		RUN(claim_one(lengths[i], out, in));
	return port_close(&port);
}

/* Several are claimed, and taken in another order, one of them in part. */
static int claim_many(void)
{
	uint8_t *out = room((size_t)LENGTHS * LONG), *in = room(LONG);
	struct done sends[LENGTHS] = { 0 }, done[LENGTHS] = { 0 };

	RUN(port_open(&port, NULL));
	RUN(offer(out, sends));
	for (int i = 0; i < LENGTHS; i++) {
		RUN(peek_wait(ANY, 100, 0xff, FI_CLAIM, &done[i]));
		RUN(peek_says(&done[i], 100 + (uint64_t)i, lengths[i]));
	}
	TEST(peek_none(ANY, 0, ~0ull));
	for (int i = LENGTHS - 1; i >= 0; i--) {
		size_t bytes = i & 1 ? lengths[i] / 2 : lengths[i];

		memset(in, 0xee, LONG);
		RUN(claim(&done[i], in, bytes, lengths[i]));
		TEST(filled(in, bytes, (unsigned int)i));
		TEST(untouched(in + bytes, LONG - bytes, 0xee));
	}
	TEST(succeeded(sends, LENGTHS));
	return port_close(&port);
}

static int peek_discard(void)
{
	uint8_t *out = room((size_t)LENGTHS * LONG);
	struct done sends[LENGTHS] = { 0 }, done = { 0 };

	RUN(port_open(&port, NULL));
	RUN(offer(out, sends));
	for (int i = 0; i < LENGTHS; i++) {
		RUN(peek_wait(left, 100 + (uint64_t)i, 0, FI_DISCARD, &done));
		RUN(peek_says(&done, 100 + (uint64_t)i, lengths[i]));
		TEST(peek_none(ANY, 100 + (uint64_t)i, 0));
	}
	TEST(peek_once(ANY, 0, ~0ull, FI_DISCARD, &done) == FI_ENOMSG);
	TEST(succeeded(sends, LENGTHS));
	return port_close(&port);
}

static int claim_discard(void)
{
	uint8_t *out = room((size_t)LENGTHS * LONG);
	struct done sends[LENGTHS] = { 0 }, done = { 0 };

	RUN(port_open(&port, NULL));
	RUN(offer(out, sends));
	for (int i = 0; i < LENGTHS; i++) {
		RUN(peek_wait(ANY, 100 + (uint64_t)i, 0, FI_CLAIM, &done));
		renew(&done);
		TEST(!receive_flagged(&port, left, NULL, 0, 100 + (uint64_t)i, 0,
				      FI_CLAIM | FI_DISCARD, &done));
		TEST(succeeded(&done, 1));
		TEST(peek_none(ANY, 100 + (uint64_t)i, 0));
	}
	TEST(succeeded(sends, LENGTHS));
	return port_close(&port);
}

/* ---- Cancel ---- */

static int cancel_posted(void)
{
	uint64_t in[4] = { 0 }, out = 5;
	struct done done[4] = { 0 }, send = { 0 };

	RUN(port_open(&port, NULL));
	for (int i = 0; i < 3; i++)
		TEST(!receive_tagged(&port, left, &in[i], 8, 9, 0, &done[i]));
	TEST(!receive_plain(&port, ANY, &in[3], 8, &done[3]));
	TEST(!fi_cancel(&port.ep->fid, &done[0]));
	TEST(failed_with(&done[0], FI_ECANCELED));
	TEST(!fi_cancel(&port.ep->fid, &done[2]));
	TEST(failed_with(&done[2], FI_ECANCELED));
	TEST(!fi_cancel(&port.ep->fid, &done[3]));
	TEST(failed_with(&done[3], FI_ECANCELED));
	TEST(meet());
	TEST(!send_tagged(&port, right, &out, 8, 9, &send));
	TEST(succeeded(&done[1], 1));
	TEST(succeeded(&send, 1));
	TEST(!in[0] && in[1] == 5 && !in[2]);
	linger(20);
	TEST(port.entries == 5 && port.errors == 3);
	return port_close(&port);
}

/* Either it has been canceled or it has the message; the message is not lost. */
static int cancel_race(size_t bytes, uint8_t *out, uint8_t *in)
{
	struct done done = { 0 }, send = { 0 };

	fill(out, bytes, 4);
	TEST(!receive_tagged(&port, left, in, bytes, 9, 0, &done));
	TEST(!send_tagged(&port, right, out, bytes, 9, &send));
	if (bytes % 2)
		poll_all();
	fi_cancel(&port.ep->fid, &done);
	TEST(ended(&done, 1));
	TEST(done.times == 1 && (!done.error || done.error == FI_ECANCELED));
	if (done.error)
		RUN(take(9, bytes, 4));
	else
		TEST(done.entry.len == bytes && filled(in, bytes, 4));
	TEST(succeeded(&send, 1));
	fi_cancel(&port.ep->fid, &done);
	fi_cancel(&port.ep->fid, &send);
	return 0;
}

static int cancel_matched(void)
{
	uint8_t *out = room(LONG), *in = room(LONG);

	RUN(port_open(&port, NULL));
	for (int i = 0; i < 5 * LENGTHS; i++) {
		RUN(cancel_race(lengths[i % LENGTHS], out, in));
		rooms_free();
		out = room(LONG);
		in = room(LONG);
	}
	linger(20);
	TEST(peek_none(ANY, 0, ~0ull));
	return port_close(&port);
}

/* Whatever fi_cancel() does to a send, the send ends once. */
static int cancel_send(void)
{
	uint8_t *out = room(LONG), *in = room(LONG);
	struct done done[2] = { 0 };

	RUN(port_open(&port, NULL));
	fill(out, LONG, 6);
	TEST(!send_tagged(&port, right, out, LONG, 1, &done[0]));
	fi_cancel(&port.ep->fid, &done[0]);
	TEST(meet());
	TEST(!receive_tagged(&port, ANY, in, LONG, 1, 0, &done[1]));
	TEST(ended(&done[0], 1));
	TEST(!done[0].error || done[0].error == FI_ECANCELED);
	if (!done[0].error)
		TEST(succeeded(done, 2) && filled(in, LONG, 6));
	TEST(done[0].times == 1);
	return port_close(&port);
}

/* ---- Truncation ---- */

struct cut {
	size_t sent, fits;
	bool tagged, before;
};

static int cut_post(const struct cut *cut, uint8_t *in, struct done *done)
{
	if (cut->tagged)
		TEST(!receive_tagged(&port, left, in, cut->fits, 2, 0, done));
	else
		TEST(!receive_plain(&port, left, in, cut->fits, done));
	return 0;
}

static int cut_off(const struct cut *cut, uint8_t *out, uint8_t *in)
{
	struct done done = { 0 }, send = { 0 };

	memset(in, 0xee, cut->fits + GUARD);
	fill(out, cut->sent, 8);
	if (cut->before)
		RUN(cut_post(cut, in, &done));
	if (cut->tagged)
		TEST(!send_tagged(&port, right, out, cut->sent, 2, &send));
	else
		TEST(!send_plain(&port, right, out, cut->sent, &send));
	TEST(meet());
	if (!cut->before)
		RUN(cut_post(cut, in, &done));
	TEST(failed_with(&done, FI_ETRUNC));
	TEST(succeeded(&send, 1));
	TEST(done.entry.len == cut->fits && done.rest == cut->sent - cut->fits);
	TEST(!cut->tagged || done.entry.tag == 2);
	TEST(done.entry.flags & FI_RECV);
	TEST(filled(in, cut->fits, 8));
	TEST(untouched(in + cut->fits, GUARD, 0xee));
	return 0;
}

static int truncation(void)
{
	static const size_t pairs[][2] = {
		{ 1, 0 }, { 256, 255 }, { 300, 7 }, { 5000, 0 }, { LONG, 0 },
		{ LONG, 1 }, { LONG, LONG - 1 }, { 1u << 20, 300 }
	};
	uint8_t *out = room(1u << 20), *in = room(LONG + GUARD);

	RUN(port_open(&port, NULL));
	for (int i = 0; i < 8; i++)
		for (int how = 0; how < 4; how++) {
			const struct cut cut = { pairs[i][0], pairs[i][1], how & 1, how & 2 };

			RUN(cut_off(&cut, out, in));
		}
	return port_close(&port);
}

/* ---- One buffer for many messages ---- */

#define MULTI_LEAST 512
#define MULTI_BYTES 4096
#define MULTI_BUFFERS 5
#define MULTI_MESSAGES 30
#define MULTI_LENGTH 300

static ssize_t post_multi(void *buffer, size_t bytes, struct done *done)
{
	struct iovec piece = { .iov_base = buffer, .iov_len = bytes };
	struct fi_msg message = {
		.msg_iov = &piece,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = done,
	};

	return RETRY(fi_recvmsg(port.ep, &message, FI_MULTI_RECV));
}

/* What is in a buffer, in the order of addresses; none is noted when released. */
struct multi {
	uint8_t *buffer;
	size_t bytes;
	struct done done;
	bool released;
	int count;
	struct fi_cq_tagged_entry entries[MULTI_MESSAGES];
};

static struct multi multi[MULTI_BUFFERS];

static void multi_new(size_t bytes)
{
	for (int i = 0; i < MULTI_BUFFERS; i++) {
		multi[i] = (struct multi){ .bytes = bytes };
		multi[i].buffer = room(bytes);
	}
}

static int multi_post(void)
{
	for (int i = 0; i < MULTI_BUFFERS; i++)
		TEST(!post_multi(multi[i].buffer, multi[i].bytes, &multi[i].done));
	return 0;
}

/* An empty message stands where the next one begins. */
static bool is_before(const struct fi_cq_tagged_entry *one, const struct fi_cq_tagged_entry *two)
{
	return one->buf < two->buf || (one->buf == two->buf && one->len < two->len);
}

static void multi_insert(struct multi *of, const struct fi_cq_tagged_entry *entry)
{
	int at = of->count++;

	for (; at && is_before(entry, &of->entries[at - 1]); at--)
		of->entries[at] = of->entries[at - 1];
	of->entries[at] = *entry;
}

/* multi_read - one entry; Return: whether it was that of a message, or -1 */
static int multi_read(void)
{
	uint64_t since = clock_ms();
	struct fi_cq_tagged_entry entry;
	struct multi *of = NULL;
	ssize_t got;

	while ((got = fi_cq_read(port.receives, &entry, 1)) == -FI_EAGAIN && !late(since))
		sched_yield();
	for (int i = 0; got == 1 && i < MULTI_BUFFERS; i++)
		if (entry.op_context == &multi[i].done)
			of = &multi[i];
	if (!of || of->released)
		return -1;
	of->released = entry.flags & FI_MULTI_RECV;
	if (!(entry.flags & FI_RECV))
		return entry.flags == FI_MULTI_RECV ? 0 : -1;
	multi_insert(of, &entry);
	return entry.flags & FI_MSG ? 1 : -1;
}

static size_t multi_length(unsigned int i, size_t most)
{
	return most == MULTI_LENGTH || i % 3 == 1 ? most : i % 3 * 4;
}

/* Messages in the order in which they were sent, none of them over another */
static int multi_check(size_t most)
{
	unsigned int seen = 0;

	for (int i = 0; i < MULTI_BUFFERS; i++) {
		uint8_t *free_from = multi[i].buffer;

		for (int j = 0; j < multi[i].count; j++) {
			const struct fi_cq_tagged_entry *entry = &multi[i].entries[j];
			uint8_t *at = entry->buf;

			TEST(at >= free_from);
			TEST(entry->len == multi_length(seen, most));
			free_from = at + entry->len;
			TEST(free_from <= multi[i].buffer + multi[i].bytes);
			TEST(filled(at, entry->len, seen++));
		}
	}
	TEST(seen == MULTI_MESSAGES);
	return 0;
}

/* All messages, and a release that has an entry of its own after the last */
static int multi_take(size_t most, int used_up)
{
	int messages = 0, released = 0;
	uint64_t since = clock_ms();

	while (messages < MULTI_MESSAGES) {
		int got = multi_read();

		TEST(got >= 0);
		messages += got;
	}
	while (!multi[used_up - 1].released && !late(since))
		TEST(multi_read() == 0);
	RUN(multi_check(most));
	for (int i = 0; i < MULTI_BUFFERS; i++)
		released += multi[i].released;
	if (released != used_up)
		for (int i = 0; i < MULTI_BUFFERS; i++)
			fprintf(stderr, "# rank %d: buffer %d: %d messages%s\n", rank, i,
				multi[i].count, multi[i].released ? ", released" : "");
	TEST(released == used_up);
	return 0;
}

static int multi_send(uint8_t *out, size_t most, struct done sends[])
{
	for (unsigned int i = 0; i < MULTI_MESSAGES; i++) {
		uint8_t *from = out + i * most;

		fill(from, multi_length(i, most), i);
		TEST(!send_plain(&port, right, from, multi_length(i, most), &sends[i]));
	}
	return 0;
}

/* 12 messages leave less than the least of a buffer, so that 30 need 3 of them. */
static int multi_short(bool before)
{
	const struct options options = { .min_receive = MULTI_LEAST, .two_queues = true };
	uint8_t *out = room(MULTI_MESSAGES * MULTI_LENGTH);
	struct done sends[MULTI_MESSAGES] = { 0 };

	RUN(port_open(&port, &options));
	multi_new(MULTI_BYTES);
	if (before)
		RUN(multi_post());
	TEST(meet());
	RUN(multi_send(out, MULTI_LENGTH, sends));
	if (!before) {
		TEST(meet());
		RUN(multi_post());
	}
	RUN(multi_take(MULTI_LENGTH, 2));
	TEST(succeeded(sends, MULTI_MESSAGES));
	return port_close(&port);
}

static int multi_receive(void)
{
	RUN(multi_short(true));
	return multi_short(false);
}

/*
 * A buffer is not released while a long message is still on its way into it.
 * Three fit with the short ones between them, and then there is less room left
 * than for a fourth.
 */
static int multi_long(void)
{
	const struct options options = { .min_receive = LONG, .two_queues = true };
	uint8_t *out = room((size_t)MULTI_MESSAGES * LONG);
	struct done sends[MULTI_MESSAGES] = { 0 };
	size_t least = 0, bytes = sizeof(least);

	RUN(port_open(&port, &options));
	TEST(!fi_getopt(&port.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &bytes));
	TEST(least == LONG && bytes == sizeof(least));
	multi_new(4 * LONG);
	RUN(multi_post());
	TEST(meet());
	RUN(multi_send(out, LONG, sends));
	RUN(multi_take(LONG, 3));
	TEST(succeeded(sends, MULTI_MESSAGES));
	return port_close(&port);
}

static int multi_cancel(void)
{
	const struct options options = { .min_receive = MULTI_LEAST };
	uint8_t *buffer = room(MULTI_BYTES);
	uint64_t since, out = 17;
	struct done done = { 0 };

	RUN(port_open(&port, &options));
	TEST(!post_multi(buffer, MULTI_BYTES, &done));
	TEST(!RETRY(fi_inject(port.ep, &out, 8, port.peer[right])));
	TEST(!RETRY(fi_inject(port.ep, &out, 8, port.peer[right])));
	since = clock_ms();
	while (done.times < 2 && !late(since))
		poll_all();
	TEST(done.times == 2 && !port.errors);
	TEST(!(done.entry.flags & FI_MULTI_RECV));
	TEST(done.entry.len == 8 && !memcmp(done.entry.buf, &out, 8));
	TEST(!fi_cancel(&port.ep->fid, &done));
	renew(&done);
	TEST(failed_with(&done, FI_ECANCELED));
	TEST(port.entries == 3);
	return port_close(&port);
}

static const struct test tests[] = {
	{ "peek tells of a message and leaves it", peek },
	{ "peek tells of the first message, and of its data", peek_first },
	{ "peek and claim, then claim", peek_claim },
	{ "messages claimed are taken in any order", claim_many },
	{ "peek and discard", peek_discard },
	{ "claim and discard", claim_discard },
	{ "receives are canceled", cancel_posted },
	{ "a receive canceled when it may have matched", cancel_matched },
	{ "a send canceled ends once", cancel_send },
	{ "a message longer than its buffer is truncated", truncation },
	{ "one buffer for many messages", multi_receive },
	{ "one buffer for many messages, long ones among them", multi_long },
	{ "a buffer for many messages is canceled", multi_cancel },
};

const struct suite receive_suite = { tests, sizeof(tests) / sizeof(tests[0]) };
