/* SPDX-License-Identifier: MIT */
/*
 * The libfabric provider: messages, how they match, and in which order.
 */
#include "fi-util.h"

#include <string.h>
#include <sys/uio.h>

#define LONG 102400
#define GUARD 16

static struct port port;

/* ---- Each length ---- */

static const size_t lengths[] = { 0, 1, 255, 256, 257, 4096, 16384, 65536, (1u << 20) + 3,
				  20u << 20 };
#define LENGTHS (int)(sizeof(lengths) / sizeof(lengths[0]))
#define LENGTH_MAX ((size_t)20 << 20)

struct round {
	uint8_t *out, *in;
	size_t bytes;
	unsigned int seed;
	bool tagged;
};

static int round_trip(const struct round *round)
{
	struct done done[2] = { 0 };
	uint64_t tag = round->seed;

	memset(round->in, 0xee, round->bytes + GUARD);
	if (round->tagged) {
		TEST(!receive_tagged(&port, left, round->in, round->bytes, tag, 0, &done[0]));
		TEST(!send_tagged(&port, right, round->out, round->bytes, tag, &done[1]));
	} else {
		TEST(!receive_plain(&port, left, round->in, round->bytes, &done[0]));
		TEST(!send_plain(&port, right, round->out, round->bytes, &done[1]));
	}
	TEST(succeeded(done, 2));
	TEST(done[0].entry.len == round->bytes);
	TEST(done[0].entry.flags & FI_RECV && done[1].entry.flags & FI_SEND);
	TEST(done[0].from == port.peer[left]);
	TEST(!round->tagged || done[0].entry.tag == tag);
	TEST(untouched(round->in + round->bytes, GUARD, 0xee));
	return 0;
}

static int each_length(bool tagged)
{
	struct round round = {
		.out = room(LENGTH_MAX),
		.in = room(LENGTH_MAX + GUARD),
		.tagged = tagged,
	};

	RUN(port_open(&port, NULL));
	for (int i = 0; i < LENGTHS; i++) {
		round.bytes = lengths[i];
		round.seed = (unsigned int)i + 1;
		fill(round.out, lengths[i], 100u * (unsigned int)rank + (unsigned int)i);
		RUN(round_trip(&round));
		TEST(filled(round.in, lengths[i],
			    100u * (unsigned int)left + (unsigned int)i));
	}
	return port_close(&port);
}

static int lengths_plain(void)
{
	return each_length(false);
}

static int lengths_tagged(void)
{
	return each_length(true);
}

/* Each pair in turn, there and back, so that nothing is under way but this */
static int ping_pong_with(int other, bool first)
{
	uint8_t out[300], in[300];

	for (unsigned int i = 0; i < 300; i++) {
		struct done done[2] = { 0 };

		fill(out, i, i + (unsigned int)rank);
		TEST(!receive_tagged(&port, other, in, sizeof(in), i, 0, &done[0]));
		if (!first)
			TEST(succeeded(&done[0], 1));
		TEST(!send_tagged(&port, other, out, i, i, &done[1]));
		TEST(succeeded(done, 2));
		TEST(done[0].entry.len == i);
		TEST(filled(in, i, i + (unsigned int)other));
	}
	return 0;
}

static int ping_pong(void)
{
	RUN(port_open(&port, NULL));
	for (int i = 0; i < ranks; i++)
		for (int j = 0; j < i; j++) {
			if (rank == i)
				RUN(ping_pong_with(j, true));
			if (rank == j)
				RUN(ping_pong_with(i, false));
		}
	return port_close(&port);
}

/* ---- Order ---- */

#define ORDERED 1000

static int in_order(bool expected)
{
	struct done *receives = room(ORDERED * sizeof(*receives));
	struct done *sends = room(ORDERED * sizeof(*sends));
	unsigned int *out = room(ORDERED * sizeof(*out)), *in = room(ORDERED * sizeof(*in));

	if (!expected)
		for (unsigned int i = 0; i < ORDERED; i++)
			TEST(!receive_tagged(&port, left, &in[i], 4, 5, 0, &receives[i]));
	for (unsigned int i = 0; i < ORDERED; i++) {
		out[i] = i;
		TEST(!send_tagged(&port, right, &out[i], 4, 5, &sends[i]));
	}
	if (expected)
		TEST(meet());
	for (unsigned int i = 0; expected && i < ORDERED; i++)
		TEST(!receive_tagged(&port, left, &in[i], 4, 5, 0, &receives[i]));
	TEST(succeeded(receives, ORDERED));
	TEST(succeeded(sends, ORDERED));
	for (unsigned int i = 0; i < ORDERED; i++)
		TEST(in[i] == i);
	return 0;
}

static int order(void)
{
	RUN(port_open(&port, NULL));
	RUN(in_order(false));
	TEST(meet());
	RUN(in_order(true));
	return port_close(&port);
}

#define MIXED 120

static size_t mixed_length(unsigned int i)
{
	const size_t mixed[] = { 8, LONG, 256, 257, 20000, 0 };

	return mixed[i % 6];
}

static int order_mixed(void)
{
	struct done *receives = room(MIXED * sizeof(*receives));
	struct done *sends = room(MIXED * sizeof(*sends));
	uint8_t *out = room((size_t)MIXED * LONG), *in = room((size_t)MIXED * LONG);

	RUN(port_open(&port, NULL));
	for (unsigned int i = 0; i < MIXED; i++) {
		if (i == MIXED / 2)
			TEST(meet());
		if (i % 3)
			TEST(!receive_tagged(&port, ANY, in + i * LONG, LONG, 5, 0, &receives[i]));
		else
			TEST(!receive_tagged(&port, left, in + i * LONG, LONG, 5, 0, &receives[i]));
		fill(out + i * LONG, mixed_length(i), i);
		TEST(!send_tagged(&port, right, out + i * LONG, mixed_length(i), 5, &sends[i]));
	}
	TEST(succeeded(receives, MIXED));
	TEST(succeeded(sends, MIXED));
	for (unsigned int i = 0; i < MIXED; i++) {
		TEST(receives[i].entry.len == mixed_length(i));
		TEST(filled(in + i * LONG, mixed_length(i), i));
	}
	return port_close(&port);
}

/* ---- Which receive gets what ---- */

struct mask {
	uint64_t tag, ignore;
};

static const struct mask masks[] = {
	{ 0x1200, 0 },
	{ 0x12ff, 0xff },
	{ 0x4000000000000000, 0x00ffffffffffffff },
	{ 0x0000000000000034, 0x7fffffffffffff00 },
	{ 0, ~0ull },
	{ 0x1200, 0xff },
};
#define MASKS 6

/* Tags in the order in which they are sent, and the receive that gets each */
static const struct {
	uint64_t tag;
	int receive;
} masked[MASKS] = {
	{ 0x1234, 1 },
	{ 0x5634, 3 },
	{ 0x4034000000000000, 2 },
	{ 0x1200, 0 },
	{ 0x1201, 4 },
	{ 0x12ab, 5 },
};

static int masks_post(uint64_t in[], struct done done[])
{
	for (int i = 0; i < MASKS; i++)
		TEST(!receive_tagged(&port, ANY, &in[i], 8, masks[i].tag, masks[i].ignore,
				     &done[i]));
	return 0;
}

static int masks_check(const uint64_t in[], const struct done done[])
{
	for (int i = 0; i < MASKS; i++) {
		int at = masked[i].receive;

		TEST(in[at] == masked[i].tag);
		TEST(done[at].entry.tag == masked[i].tag);
	}
	return 0;
}

static int ignore_masks(void)
{
	struct done done[2 * MASKS] = { 0 };
	uint64_t in[MASKS] = { 0 };

	RUN(port_open(&port, NULL));
	RUN(masks_post(in, done));
	TEST(meet());
	for (int i = 0; i < MASKS; i++)
		TEST(!send_tagged(&port, right, &masked[i].tag, 8, masked[i].tag,
				  &done[MASKS + i]));
	TEST(succeeded(done, 2 * MASKS));
	RUN(masks_check(in, done));
	return port_close(&port);
}

/* The first message that fits is taken, whichever has come before it. */
static int ignore_unexpected(void)
{
	static const uint64_t sent[4] = { 0x101, 0x201, 0x102, 0x202 };
	struct done done[8] = { 0 };
	uint64_t in[4] = { 0 };

	RUN(port_open(&port, NULL));
	for (int i = 0; i < 4; i++)
		TEST(!send_tagged(&port, right, &sent[i], 8, sent[i], &done[4 + i]));
	TEST(meet());
	TEST(!receive_tagged(&port, ANY, &in[3], 8, 0x002, 0xff00, &done[0]));
	TEST(!receive_tagged(&port, ANY, &in[1], 8, 0x200, 0xff, &done[1]));
	TEST(!receive_tagged(&port, left, &in[0], 8, 0, ~0ull, &done[2]));
	TEST(!receive_tagged(&port, left, &in[2], 8, 0x202, 0, &done[3]));
	TEST(succeeded(done, 8));
	TEST(in[3] == 0x102 && in[1] == 0x201 && in[0] == 0x101 && in[2] == 0x202);
	return port_close(&port);
}

/* Plain messages go to plain receives, tagged ones to tagged receives. */
static int plain_and_tagged(void)
{
	const unsigned int out[4] = { 10, 20, 30, 40 };
	unsigned int in[4] = { 0 };
	struct done done[8] = { 0 };

	RUN(port_open(&port, NULL));
	TEST(!receive_tagged(&port, ANY, &in[0], 4, 0, ~0ull, &done[0]));
	TEST(!receive_plain(&port, ANY, &in[1], 4, &done[1]));
	TEST(meet());
	TEST(!send_plain(&port, right, &out[0], 4, &done[2]));
	TEST(!send_tagged(&port, right, &out[1], 4, 0, &done[3]));
	TEST(!send_plain(&port, right, &out[2], 4, &done[4]));
	TEST(!send_tagged(&port, right, &out[3], 4, 0, &done[5]));
	TEST(succeeded(done, 6));
	TEST(meet());
	TEST(!receive_tagged(&port, left, &in[2], 4, 0, ~0ull, &done[6]));
	TEST(!receive_plain(&port, left, &in[3], 4, &done[7]));
	TEST(succeeded(done, 8));
	TEST(in[0] == 20 && in[1] == 10 && in[2] == 40 && in[3] == 30);
	TEST(done[1].entry.flags & FI_MSG && done[0].entry.flags & FI_TAGGED);
	return port_close(&port);
}

/* Receives for each rank, in the order of ranks, and one for any, posted last */
static int directed(bool tagged)
{
	struct done receives[RANKS_MAX + 1] = { 0 }, sends[RANKS_MAX + 1] = { 0 };
	int in[RANKS_MAX + 1], out = rank;

	for (int i = 0; i <= ranks; i++) {
		int from = i == ranks ? ANY : i;

		in[i] = -1;
		TEST(!(tagged ? receive_tagged(&port, from, &in[i], 4, 3, 0, &receives[i]) :
				receive_plain(&port, from, &in[i], 4, &receives[i])));
	}
	TEST(meet());
	for (int i = 0; i <= ranks; i++) {
		int to = i == ranks ? right : (rank + i) % ranks;

		TEST(!(tagged ? send_tagged(&port, to, &out, 4, 3, &sends[i]) :
				send_plain(&port, to, &out, 4, &sends[i])));
	}
	TEST(succeeded(receives, ranks + 1));
	TEST(succeeded(sends, ranks + 1));
	for (int i = 0; i < ranks; i++)
		TEST(in[i] == i && receives[i].from == port.peer[i]);
	TEST(in[ranks] == left && receives[ranks].from == port.peer[left]);
	return 0;
}

static int directed_receives(void)
{
	RUN(port_open(&port, NULL));
	RUN(directed(true));
	TEST(meet());
	RUN(directed(false));
	return port_close(&port);
}

/* A receive from the right is not for what comes from the left. */
static int directed_passed(void)
{
	int in[2] = { -1, -1 }, out = rank;
	struct done done[4] = { 0 };

	RUN(port_open(&port, NULL));
	TEST(!receive_tagged(&port, right, &in[0], 4, 3, 0, &done[0]));
	TEST(!receive_tagged(&port, ANY, &in[1], 4, 3, 0, &done[1]));
	TEST(meet());
	TEST(!send_tagged(&port, right, &out, 4, 3, &done[2]));
	TEST(succeeded(&done[1], 1));
	linger(20);
	TEST(!done[0].times && in[1] == left);
	TEST(meet());
	TEST(!send_tagged(&port, left, &out, 4, 3, &done[3]));
	TEST(succeeded(done, 4));
	TEST(in[0] == right);
	return port_close(&port);
}

#define FROM_EACH 50

static int wildcard_check(const int in[], const struct done done[])
{
	int next[RANKS_MAX] = { 0 };

	for (int i = 0; i < 2 * FROM_EACH; i++) {
		int from = in[i] / FROM_EACH;

		TEST(from == left || from == right);
		TEST(done[i].from == port.peer[from]);
		TEST(in[i] % FROM_EACH == next[from]++);
	}
	TEST(next[left] == (left == right ? 2 * FROM_EACH : FROM_EACH));
	return 0;
}

static int wildcards(void)
{
	struct done receives[2 * FROM_EACH] = { 0 }, sends[2 * FROM_EACH] = { 0 };
	int in[2 * FROM_EACH], out[FROM_EACH];

	RUN(port_open(&port, NULL));
	TEST(ranks > 2);
	for (int i = 0; i < 2 * FROM_EACH; i++)
		TEST(!receive_tagged(&port, ANY, &in[i], 4, 7, 0, &receives[i]));
	for (int i = 0; i < FROM_EACH; i++) {
		out[i] = rank * FROM_EACH + i;
		TEST(!send_tagged(&port, left, &out[i], 4, 7, &sends[2 * i]));
		TEST(!send_tagged(&port, right, &out[i], 4, 7, &sends[2 * i + 1]));
	}
	TEST(succeeded(receives, 2 * FROM_EACH));
	TEST(succeeded(sends, 2 * FROM_EACH));
	RUN(wildcard_check(in, receives));
	return port_close(&port);
}

/* Who is not in the AV can send all the same; then it is inserted. */
static int strangers(void)
{
	const struct options options = { .empty = true };
	struct done done[4] = { 0 };
	int in[2] = { -1, -1 }, out = rank;

	RUN(port_open(&port, &options));
	TEST(fi_av_insert(port.av, port.names[right], 1, &port.peer[right], 0, NULL) == 1);
	TEST(!receive_tagged(&port, ANY, &in[0], 4, 1, 0, &done[0]));
	TEST(!send_tagged(&port, right, &out, 4, 1, &done[1]));
	TEST(succeeded(done, 2));
	TEST(in[0] == left && done[0].from == FI_ADDR_NOTAVAIL);
	TEST(fi_av_insert(port.av, port.names[left], 1, &port.peer[left], 0, NULL) == 1);
	TEST(meet());
	TEST(!receive_tagged(&port, left, &in[1], 4, 1, 0, &done[2]));
	TEST(!send_tagged(&port, right, &out, 4, 1, &done[3]));
	TEST(succeeded(done, 4));
	TEST(in[1] == left && done[2].from == port.peer[left]);
	return port_close(&port);
}

/* ---- Pieces ---- */

#define PIECES_BYTES 60000

/* Pieces of uneven lengths, of which one has none; Return: their sum */
static size_t cut(uint8_t *bytes, size_t all, struct iovec piece[PIECES_MAX])
{
	const unsigned int parts[PIECES_MAX] = { 1, 5, 0, 3, 11, 2, 7, 3 };
	size_t at = 0;

	for (int i = 0; i < PIECES_MAX; i++) {
		piece[i].iov_base = bytes + at + (size_t)i * GUARD;
		piece[i].iov_len = all * parts[i] / 32;
		at += piece[i].iov_len;
	}
	return at;
}

static void gather(const struct iovec piece[PIECES_MAX], uint8_t *to)
{
	for (int i = 0; i < PIECES_MAX; i++) {
		memcpy(to, piece[i].iov_base, piece[i].iov_len);
		to += piece[i].iov_len;
	}
}

static bool guards_hold(const struct iovec piece[PIECES_MAX])
{
	for (int i = 0; i < PIECES_MAX; i++)
		if (!untouched((uint8_t *)piece[i].iov_base + piece[i].iov_len, GUARD, 0xee))
			return false;
	return true;
}

static void pieces_fill(const struct iovec piece[PIECES_MAX], size_t bytes,
			unsigned int seed, uint8_t *scratch)
{
	fill(scratch, bytes, seed);
	for (int i = 0; i < PIECES_MAX; i++) {
		memcpy(piece[i].iov_base, scratch, piece[i].iov_len);
		scratch += piece[i].iov_len;
	}
}

/* What is sent in pieces arrives in others, where @room_bytes may be fewer. */
static int in_pieces(size_t bytes, size_t room_bytes, bool tagged)
{
	struct iovec from[PIECES_MAX], to[PIECES_MAX];
	uint8_t *out = room(bytes + PIECES_MAX * GUARD), *flat = room(bytes + room_bytes);
	uint8_t *in = room(room_bytes + PIECES_MAX * GUARD);
	struct done done[2] = { 0 };
	size_t sent = cut(out, bytes, from), fits = cut(in, room_bytes, to);
	size_t least = sent < fits ? sent : fits;
	fi_addr_t source = port.peer[left], target = port.peer[right];

	memset(in, 0xee, room_bytes + PIECES_MAX * GUARD);
	pieces_fill(from, sent, 9, flat);
	if (tagged) {
		TEST(!fi_trecvv(port.ep, to, NULL, PIECES_MAX, source, 4, 0, &done[0]));
		TEST(!RETRY(fi_tsendv(port.ep, from, NULL, PIECES_MAX, target, 4, &done[1])));
	} else {
		TEST(!fi_recvv(port.ep, to, NULL, PIECES_MAX, source, &done[0]));
		TEST(!RETRY(fi_sendv(port.ep, from, NULL, PIECES_MAX, target, &done[1])));
	}
	TEST(ended(done, 2));
	TEST(done[0].error == (sent > fits ? FI_ETRUNC : 0) && !done[1].error);
	TEST(done[0].entry.len == least && done[0].rest == sent - least);
	gather(to, flat);
	TEST(filled(flat, least, 9));
	TEST(guards_hold(to));
	return 0;
}

static int pieces(void)
{
	RUN(port_open(&port, NULL));
	for (int tagged = 0; tagged < 2; tagged++) {
		RUN(in_pieces(64, 64, tagged));
		RUN(in_pieces(256, 288, tagged));
		RUN(in_pieces(4096, 8192, tagged));
		RUN(in_pieces(PIECES_BYTES, PIECES_BYTES, tagged));
		RUN(in_pieces(1u << 20, 1u << 21, tagged));
		rooms_free();
	}
	return port_close(&port);
}

static int pieces_truncated(void)
{
	RUN(port_open(&port, NULL));
	for (int tagged = 0; tagged < 2; tagged++) {
		RUN(in_pieces(256, 96, tagged));
		RUN(in_pieces(4096, 4064, tagged));
		RUN(in_pieces(PIECES_BYTES, 32, tagged));
		RUN(in_pieces(1u << 20, PIECES_BYTES, tagged));
		rooms_free();
	}
	return port_close(&port);
}

/* ---- Data in the completion, and inject ---- */

static const uint64_t data_values[] = { 0, 1, 0x80000000, 0xffffffff };

static int data_expected(struct done *done, uint64_t data)
{
	TEST(succeeded(done, 1));
	TEST(done->entry.flags & FI_REMOTE_CQ_DATA);
	TEST(done->entry.data == data);
	TEST(done->from == port.peer[left]);
	return 0;
}

static int data_sent(uint64_t data, uint8_t *out, uint8_t *in, size_t bytes)
{
	struct done done[6] = { 0 };
	fi_addr_t to = port.peer[right];

	TEST(!receive_tagged(&port, ANY, in, bytes, 1, 0, &done[0]));
	TEST(!receive_plain(&port, ANY, in, bytes, &done[1]));
	TEST(!RETRY(fi_tsenddata(port.ep, out, bytes, NULL, data, to, 1, &done[2])));
	TEST(!RETRY(fi_senddata(port.ep, out, bytes, NULL, data, to, &done[3])));
	RUN(data_expected(&done[0], data));
	RUN(data_expected(&done[1], data));
	TEST(succeeded(&done[2], 2));
	TEST(!receive_tagged(&port, ANY, in, bytes, 2, 0, &done[4]));
	TEST(!receive_plain(&port, ANY, in, bytes, &done[5]));
	bytes = bytes < INJECT_MAX ? bytes : INJECT_MAX;
	TEST(!RETRY(fi_tinjectdata(port.ep, out, bytes, data, to, 2)));
	TEST(!RETRY(fi_injectdata(port.ep, out, bytes, data, to)));
	RUN(data_expected(&done[4], data));
	return data_expected(&done[5], data);
}

static int cq_data(void)
{
	uint8_t *out = room(LONG), *in = room(LONG);
	struct done done[2] = { 0 };

	RUN(port_open(&port, NULL));
	for (int i = 0; i < 4; i++) {
		RUN(data_sent(data_values[i], out, in, 0));
		RUN(data_sent(data_values[i], out, in, 8));
		RUN(data_sent(data_values[i], out, in, LONG));
	}
	TEST(!receive_tagged(&port, ANY, in, 8, 3, 0, &done[0]));
	TEST(!send_tagged(&port, right, out, 8, 3, &done[1]));
	TEST(succeeded(done, 2));
	TEST(!(done[0].entry.flags & FI_REMOTE_CQ_DATA));
	return port_close(&port);
}

#define INJECTED 500

static int inject_all(void)
{
	uint8_t out[INJECT_MAX];
	fi_addr_t to = port.peer[right];

	for (unsigned int i = 0; i < INJECTED; i++) {
		size_t bytes = i % (INJECT_MAX + 1);

		fill(out, bytes, i);
		if (i % 3 == 0)
			TEST(!RETRY(fi_tinject(port.ep, out, bytes, to, i)));
		else if (i % 3 == 1)
			TEST(!RETRY(fi_inject(port.ep, out, bytes, to)));
		else
			TEST(!send_flagged(&port, right, out, bytes, i, FI_INJECT, NULL));
		memset(out, 0xaa, sizeof(out));
	}
	return 0;
}

static int inject(void)
{
	struct done *done = room(INJECTED * sizeof(*done));
	uint8_t *in = room((size_t)INJECTED * INJECT_MAX);
	int flagged = INJECTED / 3;

	RUN(port_open(&port, NULL));
	RUN(inject_all());
	TEST(meet());
	for (unsigned int i = 0; i < INJECTED; i++) {
		uint8_t *to = in + i * INJECT_MAX;

		TEST(!(i % 3 == 1 ? receive_plain(&port, left, to, INJECT_MAX, &done[i]) :
				    receive_tagged(&port, left, to, INJECT_MAX, i, 0, &done[i])));
	}
	TEST(succeeded(done, INJECTED));
	for (unsigned int i = 0; i < INJECTED; i++) {
		TEST(done[i].entry.len == i % (INJECT_MAX + 1));
		TEST(filled(in + i * INJECT_MAX, done[i].entry.len, i));
	}
	linger(20);
	TEST(!port.errors);
	TEST(port.strays == flagged && port.entries == INJECTED + flagged);
	return port_close(&port);
}

/* ---- Unexpected messages ---- */

static int backwards(int count, size_t bytes)
{
	struct done *receives = room((size_t)count * sizeof(*receives));
	struct done *sends = room((size_t)count * sizeof(*sends));
	uint8_t *out = room((size_t)count * bytes), *in = room((size_t)count * bytes);

	RUN(port_open(&port, NULL));
	for (int i = 0; i < count; i++) {
		fill(out + (size_t)i * bytes, bytes, (unsigned int)(i + rank));
		TEST(!send_tagged(&port, right, out + (size_t)i * bytes, bytes, (uint64_t)i,
				  &sends[i]));
	}
	TEST(meet());
	for (int i = count - 1; i >= 0; i--)
		TEST(!receive_tagged(&port, ANY, in + (size_t)i * bytes, bytes, (uint64_t)i, 0,
				     &receives[i]));
	TEST(succeeded(receives, count));
	TEST(succeeded(sends, count));
	for (int i = 0; i < count; i++) {
		TEST(receives[i].entry.len == bytes && receives[i].from == port.peer[left]);
		TEST(filled(in + (size_t)i * bytes, bytes, (unsigned int)(i + left)));
	}
	return port_close(&port);
}

static int unexpected_short(void)
{
	return backwards(5000, 8);
}

static int unexpected_long(void)
{
	return backwards(64, LONG);
}

/* ---- To itself ---- */

static int self_send(size_t bytes, bool before)
{
	uint8_t *out = room(bytes), *in = room(bytes);
	struct done done[2] = { 0 };

	fill(out, bytes, 3);
	if (before)
		TEST(!receive_tagged(&port, rank, in, bytes, 1, 0, &done[0]));
	TEST(!send_tagged(&port, rank, out, bytes, 1, &done[1]));
	linger(5);
	if (!before)
		TEST(!receive_tagged(&port, ANY, in, bytes, 1, 0, &done[0]));
	TEST(succeeded(done, 2));
	TEST(done[0].entry.len == bytes && done[0].from == port.peer[rank]);
	TEST(filled(in, bytes, 3));
	return 0;
}

static int self_sends(void)
{
	const size_t each[] = { 0, 8, 256, 257, 4096, LONG, (1u << 20) + 3 };

	RUN(port_open(&port, NULL));
	for (int i = 0; i < 7; i++) {
		RUN(self_send(each[i], true));
		RUN(self_send(each[i], false));
		rooms_free();
	}
	return port_close(&port);
}

/* ---- All of it at random ---- */

#define ROUNDS 200
#define RANDOM_MAX 150000

/* What both ends compute about a message */
static uint32_t dice(unsigned int round, int from, int to, uint32_t what)
{
	uint32_t value = round * 2654435761u + (uint32_t)from * 40503u +
			 (uint32_t)to * 2246822519u + what * 3266489917u;

	value ^= value >> 15;
	value *= 2246822519u;
	value ^= value >> 13;
	value *= 3266489917u;
	return value ^ value >> 16;
}

static size_t random_length(unsigned int round, int from, int to)
{
	const size_t most[] = { 9, 9, 257, 300, 5000, 5000, 20000, RANDOM_MAX };

	return dice(round, from, to, 1) % most[dice(round, from, to, 2) % 8];
}

static bool random_tagged(unsigned int round, int from, int to)
{
	return dice(round, from, to, 3) & 1;
}

static uint64_t random_tag(unsigned int round, int from)
{
	return (uint64_t)from << 40 | (uint64_t)(round % 7) << 8;
}

static int random_receive(unsigned int round, int from, uint8_t *in, struct done *done)
{
	bool any = dice(round, from, rank, 4) & 1;

	if (random_tagged(round, from, rank))
		TEST(!receive_tagged(&port, any ? ANY : from, in, RANDOM_MAX,
				     random_tag(round, from), any ? 0xff : 0, done));
	else
		TEST(!receive_plain(&port, from, in, RANDOM_MAX, done));
	return 0;
}

static int random_send(unsigned int round, int to, uint8_t *out, struct done *done)
{
	size_t bytes = random_length(round, rank, to);

	fill(out, bytes, dice(round, rank, to, 5));
	if (random_tagged(round, rank, to))
		TEST(!send_tagged(&port, to, out, bytes, random_tag(round, rank), done));
	else
		TEST(!send_plain(&port, to, out, bytes, done));
	return 0;
}

static int random_round(unsigned int round, uint8_t *out, uint8_t *in)
{
	struct done receives[RANKS_MAX] = { 0 }, sends[RANKS_MAX] = { 0 };
	bool first = dice(round, rank, rank, 6) & 1;

	for (int i = 0; first && i < ranks; i++)
		RUN(random_receive(round, i, in + (size_t)i * RANDOM_MAX, &receives[i]));
	for (int i = 0; i < ranks; i++)
		RUN(random_send(round, i, out + (size_t)i * RANDOM_MAX, &sends[i]));
	for (int i = 0; !first && i < ranks; i++)
		RUN(random_receive(round, i, in + (size_t)i * RANDOM_MAX, &receives[i]));
	TEST(succeeded(receives, ranks));
	TEST(succeeded(sends, ranks));
	for (int i = 0; i < ranks; i++) {
		TEST(receives[i].entry.len == random_length(round, i, rank));
		TEST(receives[i].from == port.peer[i]);
		TEST(filled(in + (size_t)i * RANDOM_MAX, receives[i].entry.len,
			    dice(round, i, rank, 5)));
	}
	return 0;
}

static int random_mix(void)
{
	uint8_t *out = room((size_t)ranks * RANDOM_MAX), *in = room((size_t)ranks * RANDOM_MAX);

	RUN(port_open(&port, NULL));
	for (unsigned int round = 0; round < ROUNDS; round++)
		RUN(random_round(round, out, in));
	return port_close(&port);
}

static const struct test tests[] = {
	{ "untagged messages of each length", lengths_plain },
	{ "tagged messages of each length", lengths_tagged },
	{ "there and back between each two", ping_pong },
	{ "1000 messages of the same tag stay in order", order },
	{ "messages of mixed lengths match in order", order_mixed },
	{ "ignore masks, in the order of posting", ignore_masks },
	{ "ignore masks, for messages that have come before", ignore_unexpected },
	{ "tagged and untagged messages do not mix", plain_and_tagged },
	{ "receives from one rank and from any", directed_receives },
	{ "a receive from another rank is passed over", directed_passed },
	{ "receives from any of two ranks tell which it was", wildcards },
	{ "a sender that is not in the AV", strangers },
	{ "messages in pieces", pieces },
	{ "messages in pieces that do not fit", pieces_truncated },
	{ "remote CQ data", cq_data },
	{ "inject, and the buffer is used again at once", inject },
	{ "5000 unexpected messages, received backwards", unexpected_short },
	{ "64 long unexpected messages, received backwards", unexpected_long },
	{ "messages to itself", self_sends },
	{ "200 rounds of messages at random", random_mix },
};

const struct suite transfer_suite = { tests, sizeof(tests) / sizeof(tests[0]) };
