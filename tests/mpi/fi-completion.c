/* SPDX-License-Identifier: MIT */
/*
 * The libfabric provider: which operations complete, when, in which queue, and
 * what their entries say.
 */
#include "fi-util.h"

#include <sched.h>
#include <string.h>
#include <time.h>

static struct port port;

/* ---- What an entry says ---- */

/* An endpoint whose messages to itself complete in a queue of some format */
struct own {
	struct fid_cq *queue;
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t self;
};

static int own_open(struct own *own, enum fi_cq_format format)
{
	size_t bytes = NAME_BYTES;
	uint8_t name[NAME_BYTES];

	TEST(!queue_open(format, 0, &own->queue));
	TEST(!av_open(FI_AV_TABLE, &own->av));
	TEST(!fi_endpoint(domain, info, &own->ep, NULL));
	TEST(!fi_ep_bind(own->ep, &own->av->fid, 0));
	TEST(!fi_ep_bind(own->ep, &own->queue->fid, FI_TRANSMIT | FI_RECV));
	TEST(!fi_enable(own->ep));
	TEST(!fi_getname(&own->ep->fid, name, &bytes));
	TEST(fi_av_insert(own->av, name, 1, &own->self, 0, NULL) == 1);
	return 0;
}

static int own_close(const struct own *own)
{
	TEST(!fi_close(&own->ep->fid));
	TEST(!fi_close(&own->av->fid));
	TEST(!fi_close(&own->queue->fid));
	return 0;
}

static bool entry_wait(struct fid_cq *queue, void *entry)
{
	uint64_t since = clock_ms();
	ssize_t got;

	while ((got = fi_cq_read(queue, entry, 1)) == -FI_EAGAIN && !late(since))
		sched_yield();
	return got == 1;
}

/* Each format has what the one before it has. */
static int entry_says(enum fi_cq_format format, const struct fi_cq_tagged_entry *entry,
		      const void *context, const void *to)
{
	TEST(entry->op_context == context);
	if (format == FI_CQ_FORMAT_CONTEXT)
		return 0;
	TEST(entry->flags & FI_RECV && entry->flags & FI_TAGGED);
	TEST(entry->len == 8);
	if (format == FI_CQ_FORMAT_MSG)
		return 0;
	TEST(entry->buf == to);
	TEST(entry->flags & FI_REMOTE_CQ_DATA && entry->data == 0x89abcdef);
	TEST(format == FI_CQ_FORMAT_DATA || entry->tag == 0x123456789abcd);
	return 0;
}

static int one_format(enum fi_cq_format format)
{
	static const size_t bytes[] = {
		[FI_CQ_FORMAT_CONTEXT] = sizeof(struct fi_cq_entry),
		[FI_CQ_FORMAT_MSG] = sizeof(struct fi_cq_msg_entry),
		[FI_CQ_FORMAT_DATA] = sizeof(struct fi_cq_data_entry),
		[FI_CQ_FORMAT_TAGGED] = sizeof(struct fi_cq_tagged_entry),
	};
	struct fi_cq_tagged_entry entry;
	uint64_t from = 7, to = 0;
	struct fi_context context;
	struct own own;

	memset(&entry, 0x5a, sizeof(entry));
	RUN(own_open(&own, format));
	TEST(!fi_trecv(own.ep, &to, 8, NULL, own.self, 0x123456789abcd, 0, &context));
	TEST(!fi_tinjectdata(own.ep, &from, 8, 0x89abcdef, own.self, 0x123456789abcd));
	TEST(entry_wait(own.queue, &entry));
	TEST(to == 7);
	TEST(untouched((uint8_t *)&entry + bytes[format], sizeof(entry) - bytes[format], 0x5a));
	RUN(entry_says(format, &entry, &context, &to));
	TEST(fi_cq_read(own.queue, &entry, 1) == -FI_EAGAIN);
	return own_close(&own);
}

static int formats(void)
{
	RUN(one_format(FI_CQ_FORMAT_CONTEXT));
	RUN(one_format(FI_CQ_FORMAT_MSG));
	RUN(one_format(FI_CQ_FORMAT_DATA));
	return one_format(FI_CQ_FORMAT_TAGGED);
}

/* ---- Turns ---- */

/* Whoever finds something at each of its reads still hears of others. */
static int busy(void)
{
	uint64_t theirs = 0, mine = (uint64_t)rank + 1, from = 7, to = 0;
	struct done got = { 0 }, sent = { 0 };
	const time_t begun = time(NULL);

	RUN(port_open(&port, NULL));
	TEST(!receive_tagged(&port, left, &theirs, 8, 5, 0, &got));
	TEST(meet());
	TEST(!send_flagged(&port, right, &mine, 8, 5, FI_COMPLETION, &sent));
	while ((!got.times || !sent.times) && time(NULL) - begun < 20) {
		struct done in = { 0 }, out = { 0 };

		TEST(!receive_tagged(&port, rank, &to, 8, 6, 0, &in));
		TEST(!send_flagged(&port, rank, &from, 8, 6, FI_COMPLETION, &out));
		poll_all();
		poll_all();
		TEST(in.times && out.times);
	}
	TEST(got.times && sent.times);
	TEST(theirs == (uint64_t)left + 1);
	return port_close(&port);
}

/* ---- Which complete ---- */

static int selective(void)
{
	const struct options options = {
		.send_flags = FI_SELECTIVE_COMPLETION,
		.recv_flags = FI_SELECTIVE_COMPLETION,
	};
	struct done quiet[4] = { 0 }, told[2] = { 0 };
	uint64_t from = (uint64_t)rank, to[3] = { 99, 99, 99 };

	RUN(port_open(&port, &options));
	TEST(!receive_flagged(&port, left, &to[0], 8, 1, 0, 0, &quiet[0]));
	TEST(!receive_flagged(&port, left, &to[1], 8, 2, 0, 0, &quiet[1]));
	TEST(!receive_flagged(&port, left, &to[2], 8, 3, 0, FI_COMPLETION, &told[0]));
	TEST(meet());
	TEST(!send_flagged(&port, right, &from, 8, 1, 0, &quiet[2]));
	TEST(!send_flagged(&port, right, &from, 8, 2, 0, &quiet[3]));
	TEST(!send_flagged(&port, right, &from, 8, 3, FI_COMPLETION, &told[1]));
	TEST(succeeded(told, 2));
	/* Before the last of a sender come its others. */
	TEST(to[0] == (uint64_t)left && to[1] == to[0] && to[2] == to[0]);
	linger(20);
	for (int i = 0; i < 4; i++)
		TEST(!quiet[i].times);
	TEST(port.entries == 2);
	return port_close(&port);
}

/* An error is told even of what nobody wants to hear of. */
static int selective_errors(void)
{
	const struct options options = { .recv_flags = FI_SELECTIVE_COMPLETION };
	uint64_t from[2] = { 1, 2 }, to = 0;
	struct done short_one = { 0 }, sent = { 0 };

	RUN(port_open(&port, &options));
	TEST(!receive_flagged(&port, left, &to, 8, 4, 0, 0, &short_one));
	TEST(meet());
	TEST(!send_flagged(&port, right, from, 16, 4, FI_COMPLETION, &sent));
	TEST(failed_with(&short_one, FI_ETRUNC));
	TEST(to == 1 && short_one.rest == 8);
	TEST(succeeded(&sent, 1));
	return port_close(&port);
}

/* ---- When ---- */

static int matched_one(uint64_t flags, size_t bytes)
{
	struct done sent = { 0 }, got = { 0 };
	uint8_t *from = room(bytes), *to = room(bytes);

	fill(from, bytes, (unsigned int)rank);
	TEST(meet());
	TEST(!send_flagged(&port, right, from, bytes, bytes, FI_COMPLETION | flags, &sent));
	linger(20);
	TEST(!sent.times);
	TEST(meet());
	TEST(!receive_tagged(&port, left, to, bytes, bytes, 0, &got));
	TEST(succeeded(&got, 1));
	TEST(succeeded(&sent, 1));
	TEST(filled(to, bytes, (unsigned int)left));
	return 0;
}

static int matched(void)
{
	RUN(port_open(&port, NULL));
	for (size_t bytes = 0; bytes <= 70000; bytes = bytes ? bytes * 40 : 8) {
		RUN(matched_one(FI_MATCH_COMPLETE, bytes));
		RUN(matched_one(FI_MATCH_COMPLETE | FI_DELIVERY_COMPLETE, bytes));
	}
	/* There is no memory of the receiver's for so much. */
	RUN(matched_one(FI_DELIVERY_COMPLETE, 70000));
	return port_close(&port);
}

/* A short message that nobody waits for yet is the receiver's when it makes calls. */
static int delivered(void)
{
	uint8_t from[8], to[8];

	RUN(port_open(&port, NULL));
	fill(from, sizeof(from), (unsigned int)rank);
	for (uint64_t tag = 1; tag <= 3; tag++) {
		struct done sent = { 0 }, got = { 0 };

		TEST(meet());
		TEST(!send_flagged(&port, right, from, sizeof(from), tag,
				   FI_COMPLETION | FI_DELIVERY_COMPLETE, &sent));
		TEST(succeeded(&sent, 1));
		TEST(meet());
		TEST(!receive_tagged(&port, left, to, sizeof(to), tag, 0, &got));
		TEST(succeeded(&got, 1));
		TEST(filled(to, sizeof(to), (unsigned int)left));
	}
	return port_close(&port);
}

/* ---- How many ---- */

#define UNREAD 20000

/* Reads what has been sent, until @count have. */
static bool sends_read(int *sent, int count)
{
	struct fi_cq_tagged_entry entries[16];
	uint64_t since = clock_ms();

	while (*sent < count && !late(since)) {
		ssize_t got = fi_cq_read(port.sends, entries, 16);

		if (got > 0)
			*sent += (int)got;
		else if (got != -FI_EAGAIN)
			return false;
		else
			sched_yield();
	}
	return *sent >= count;
}

static int unread_send(void)
{
	static const uint64_t word = 5;
	uint64_t since = clock_ms();
	struct fi_context context;
	int sent = 0;

	for (int i = 0; i < UNREAD; i++) {
		ssize_t ret;

		while ((ret = fi_tsend(port.ep, &word, 8, NULL, port.peer[right], 1,
				       &context)) == -FI_EAGAIN && !late(since))
			TEST(sends_read(&sent, 0));
		TEST(!ret);
	}
	TEST(sends_read(&sent, UNREAD));
	return 0;
}

/* The queue of receives is read for the first time when all have come. */
static int unread(void)
{
	const struct options options = { .two_queues = true };
	struct done *done = room(UNREAD * sizeof(*done));
	uint64_t *to = room(UNREAD * sizeof(*to));

	RUN(port_open(&port, &options));
	for (int i = 0; i < UNREAD; i++)
		TEST(!receive_tagged(&port, left, &to[i], 8, 1, 0, &done[i]));
	TEST(meet());
	RUN(unread_send());
	TEST(meet());
	TEST(succeeded(done, UNREAD));
	for (int i = 0; i < UNREAD; i++)
		TEST(to[i] == 5 && done[i].sequence == i);
	TEST(port.entries == UNREAD);
	return port_close(&port);
}

/* ---- All at once ---- */

#define ROUNDS 200
#define MIXED_MAX 40000

/* Both sides know what a sender has for a receiver in a round. */
static uint32_t mix(int from, int to, int round)
{
	uint32_t mixed = (uint32_t)(from * 7919 + to * 104729 + round * 1299709);

	mixed ^= mixed >> 13;
	return mixed * 2654435761u;
}

static size_t mixed_bytes(uint32_t mixed)
{
	return mixed % 4 ? mixed / 4 % 600 : mixed / 4 % MIXED_MAX;
}

static bool is_tagged(uint32_t mixed)
{
	return mixed >> 31;
}

static int mixed_receive(int from, int round, uint8_t *to, struct done *done)
{
	const uint32_t mixed = mix(from, rank, round);

	if (is_tagged(mixed))
		TEST(!receive_tagged(&port, from, to, MIXED_MAX, mixed, 0, done));
	else
		TEST(!receive_plain(&port, from, to, MIXED_MAX, done));
	return 0;
}

static int mixed_send(int to, int round, uint8_t *from, struct done *done)
{
	const uint32_t mixed = mix(rank, to, round);

	fill(from, mixed_bytes(mixed), mixed);
	if (is_tagged(mixed))
		TEST(!send_tagged(&port, to, from, mixed_bytes(mixed), mixed, done));
	else
		TEST(!send_plain(&port, to, from, mixed_bytes(mixed), done));
	return 0;
}

static int mixed_check(int from, int round, const uint8_t *to, const struct done *done)
{
	const uint32_t mixed = mix(from, rank, round);

	TEST(done->entry.len == mixed_bytes(mixed));
	TEST(done->from == port.peer[from]);
	TEST(filled(to, mixed_bytes(mixed), mixed));
	return 0;
}

static int mixed_round(int round, uint8_t *out, uint8_t *in)
{
	struct done sends[RANKS_MAX] = { 0 }, receives[RANKS_MAX] = { 0 };

	for (int i = 0; i < ranks; i++)
		RUN(mixed_receive(i, round, in + i * MIXED_MAX, &receives[i]));
	for (int i = 0; i < ranks; i++)
		RUN(mixed_send(i, round, out + i * MIXED_MAX, &sends[i]));
	TEST(succeeded(receives, ranks));
	TEST(succeeded(sends, ranks));
	for (int i = 0; i < ranks; i++)
		RUN(mixed_check(i, round, in + i * MIXED_MAX, &receives[i]));
	return 0;
}

static int mixed(void)
{
	uint8_t *out = room((size_t)ranks * MIXED_MAX);
	uint8_t *in = room((size_t)ranks * MIXED_MAX);

	RUN(port_open(&port, NULL));
	for (int round = 0; round < ROUNDS; round++)
		RUN(mixed_round(round, out, in));
	TEST(meet());
	return port_close(&port);
}

static const struct test tests[] = {
	{ "an entry says what its queue's format has", formats },
	{ "only what asks for it completes", selective },
	{ "errors are told of what does not ask, too", selective_errors },
	{ "who always has something to read hears of others", busy },
	{ "with match complete a send waits for its receive", matched },
	{ "with delivery complete it waits until its receiver has it", delivered },
	{ "twenty thousand completions wait to be read", unread },
	{ "all kinds and lengths at once, from all to all", mixed },
};

const struct suite completion_suite = { tests, sizeof(tests) / sizeof(tests[0]) };
