/* SPDX-License-Identifier: MIT */
/*
 * The libfabric provider: memory that others read and write.
 */
#include "fi-remote.h"

#include <string.h>
#include <unistd.h>

#define GUARD 16

/* ---- Each length ---- */

static const size_t lengths[] = { 0, 1, 8, 255, 256, 4096, 65537, 1u << 20, 20u << 20 };
#define LENGTHS (int)(sizeof(lengths) / sizeof(lengths[0]))
#define LENGTH_MAX ((size_t)20 << 20)

static bool guarded(const uint8_t *in, size_t bytes, unsigned int seed)
{
	return untouched(in, GUARD, 0xee) && filled(in + GUARD, bytes, seed) &&
	       untouched(in + GUARD + bytes, GUARD, 0xee);
}

static int length_written(int i, uint8_t *out, uint8_t *in)
{
	struct done done = { 0 };

	memset(in, 0xee, lengths[i] + 2 * GUARD);
	fill(out, lengths[i], seed_of(rank, i));
	RUN(together());
	TEST(!write_to(right, out, lengths[i], GUARD, &done));
	RUN(ended_as(&done, FI_RMA | FI_WRITE));
	RUN(together());
	TEST(guarded(in, lengths[i], seed_of(left, i)));
	return 0;
}

static int length_read(int i, uint8_t *out, uint8_t *in)
{
	struct done done = { 0 };

	memset(in, 0xee, lengths[i] + 2 * GUARD);
	fill(out + GUARD, lengths[i], seed_of(rank, i));
	RUN(together());
	TEST(!read_from(right, in + GUARD, lengths[i], GUARD, &done));
	RUN(ended_as(&done, FI_RMA | FI_READ));
	TEST(guarded(in, lengths[i], seed_of(right, i)));
	return together();
}

static int each_length(int mode, bool write)
{
	uint8_t *out = room(LENGTH_MAX + 2 * GUARD), *in = room(LENGTH_MAX + 2 * GUARD);

	RUN(memory_open(mode, NULL));
	RUN(expose(write ? in : out, LENGTH_MAX + 2 * GUARD, ANY_ACCESS));
	for (int i = 0; i < LENGTHS; i++)
		RUN(write ? length_written(i, out, in) : length_read(i, out, in));
	return all_close();
}

static int lengths_written(void)
{
	return each_length(VIRTUAL, true);
}

static int lengths_read(void)
{
	return each_length(VIRTUAL, false);
}

static int lengths_at_offsets(void)
{
	RUN(each_length(OFFSETS, true));
	return each_length(OFFSETS, false);
}

/* Both ends at odd places, and what lies around them is as it was */
static int odd_places(void)
{
	static uint8_t in[1024], out[256], back[256];
	struct done done = { 0 };

	RUN(memory_open(VIRTUAL, NULL));
	RUN(expose(in + 3, 1000, ANY_ACCESS));
	for (unsigned int i = 0; i < 60; i++) {
		memset(in, 0xee, sizeof(in));
		memset(back, 0xee, sizeof(back));
		fill(out + i % 7, i, seed_of(rank, (int)i));
		RUN(together());
		TEST(!write_to(right, out + i % 7, i, 1000 - 5 * i, &done));
		RUN(ended_as(&done, FI_RMA | FI_WRITE));
		TEST(!read_from(right, back + GUARD, i, 1000 - 5 * i, &done));
		RUN(ended_as(&done, FI_RMA | FI_READ));
		TEST(guarded(back, i, seed_of(rank, (int)i)));
		RUN(together());
		TEST(guarded(in + 3 + 1000 - 5 * i - GUARD, i, seed_of(left, (int)i)));
		TEST(untouched(in, 3 + 1000 - 5 * i, 0xee));
	}
	return all_close();
}

/* ---- Pieces ---- */

static ssize_t message(bool write, const struct iovec *piece, size_t count, size_t bytes,
		       uint64_t flags, struct done *done)
{
	const struct fi_rma_iov remote = { places[right].at, bytes, places[right].key };
	const struct fi_msg_rma all = {
		.msg_iov = piece,
		.iov_count = count,
		.addr = port.peer[right],
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.context = done,
	};

	return RETRY(write ? fi_writemsg(port.ep, &all, flags) : fi_readmsg(port.ep, &all, flags));
}

#define EACH_MAX 100000
/* Where the bytes are before they are cut */
#define FLAT ((size_t)32 * EACH_MAX)

/* Piece @i has @i times @each bytes; Return: their sum */
static size_t cut(uint8_t *bytes, size_t each, struct iovec piece[PIECES_MAX])
{
	for (size_t i = 0; i < PIECES_MAX; i++) {
		piece[i] = (struct iovec){ .iov_base = bytes, .iov_len = i * each };
		bytes += i * each + GUARD;
	}
	return 28 * each;
}

static int gathered(size_t each, uint64_t flags, uint8_t *in, uint8_t *out)
{
	struct iovec piece[PIECES_MAX];
	struct done done = { 0 };
	size_t all = cut(out, each, piece), at = 0;

	for (int i = 0; i < PIECES_MAX; at += piece[i++].iov_len)
		memcpy(piece[i].iov_base, out + FLAT + at, piece[i].iov_len);
	memset(in, 0xee, all + GUARD);
	RUN(together());
	TEST(!(flags ? message(true, piece, PIECES_MAX, all, flags, &done) :
		       RETRY(fi_writev(port.ep, piece, NULL, PIECES_MAX, port.peer[right],
				       places[right].at, places[right].key, &done))));
	RUN(ended_as(&done, FI_RMA | FI_WRITE));
	RUN(together());
	TEST(filled(in, all, seed_of(left, 9)));
	TEST(untouched(in + all, GUARD, 0xee));
	return 0;
}

static int scattered(size_t each, uint64_t flags, uint8_t *out, uint8_t *in)
{
	struct iovec piece[PIECES_MAX];
	struct done done = { 0 };
	size_t all = cut(in, each, piece), at = 0;

	memset(in, 0xee, all + PIECES_MAX * GUARD);
	fill(out, all, seed_of(rank, 9));
	RUN(together());
	TEST(!(flags ? message(false, piece, PIECES_MAX, all, flags, &done) :
		       RETRY(fi_readv(port.ep, piece, NULL, PIECES_MAX, port.peer[right],
				      places[right].at, places[right].key, &done))));
	RUN(ended_as(&done, FI_RMA | FI_READ));
	RUN(together());
	fill(out, all, seed_of(right, 9));
	for (int i = 0; i < PIECES_MAX; at += piece[i++].iov_len) {
		TEST(!memcmp(piece[i].iov_base, out + at, piece[i].iov_len));
		TEST(untouched((uint8_t *)piece[i].iov_base + piece[i].iov_len, GUARD, 0xee));
	}
	return 0;
}

static int pieces(bool write)
{
	const size_t each[] = { 0, 1, 9, 10, 1000, EACH_MAX };
	const size_t most = 2 * FLAT;
	uint8_t *shared = room(most), *local = room(most);

	RUN(memory_open(VIRTUAL, NULL));
	RUN(expose(shared, most, ANY_ACCESS));
	fill(local + FLAT, 28 * EACH_MAX, seed_of(rank, 9));
	for (int i = 0; i < 12; i++) {
		const uint64_t flags = i % 2 ? FI_COMPLETION : 0;

		RUN(write ? gathered(each[i / 2], flags, shared, local) :
			    scattered(each[i / 2], flags, shared, local));
	}
	return all_close();
}

static int pieces_gathered(void)
{
	return pieces(true);
}

static int pieces_scattered(void)
{
	return pieces(false);
}

/* ---- Inject, and what is refused at once ---- */

/* Whether a byte comes to have a value while its rank polls */
static bool comes(const volatile uint8_t *byte, uint8_t value)
{
	uint64_t since = clock_ms();

	while (*byte != value && !late(since))
		poll_all();
	return *byte == value;
}

static int inject_all(void)
{
	uint8_t out[INJECT_MAX];

	for (unsigned int i = 0; i <= INJECT_MAX; i++) {
		struct iovec piece = { .iov_base = out, .iov_len = i };
		struct done done = { 0 };

		fill(out, i, i);
		if (i == 100) {
			TEST(!message(true, &piece, 1, i, FI_INJECT | FI_COMPLETION, &done));
			memset(out, 0xaa, sizeof(out));
			RUN(ended_as(&done, FI_RMA | FI_WRITE));
			continue;
		}
		TEST(!RETRY(fi_inject_write(port.ep, out, i, port.peer[right],
					    places[right].at + i * INJECT_MAX,
					    places[right].key)));
		memset(out, 0xaa, sizeof(out));
	}
	return 0;
}

static int inject(void)
{
	const size_t bytes = (INJECT_MAX + 1) * INJECT_MAX;
	uint8_t *in = room(bytes), big[INJECT_MAX + 1] = { 0 };
	struct iovec piece = { .iov_base = big, .iov_len = INJECT_MAX + 1 };
	int before;

	memset(in, 0xee, bytes);
	RUN(memory_open(VIRTUAL, NULL));
	RUN(expose(in, bytes, ANY_ACCESS));
	before = port.entries;
	RUN(inject_all());
	for (unsigned int i = 1; i <= INJECT_MAX; i++) {
		uint8_t *at = in + (i == 100 ? 0 : i * INJECT_MAX), last[INJECT_MAX];

		fill(last, i, i);
		TEST(comes(at + i - 1, last[i - 1]));
	}
	linger(100);
	for (unsigned int i = 101; i <= INJECT_MAX; i++)
		TEST(filled(in + i * INJECT_MAX, i, i));
	TEST(filled(in, 100, 100) && untouched(in + 100, INJECT_MAX - 100, 0xee));
	TEST(port.entries == before + 1 && !port.errors);
	TEST(fi_inject_write(port.ep, big, sizeof(big), port.peer[right], places[right].at,
			     places[right].key) == -FI_EMSGSIZE);
	TEST(message(true, &piece, 1, sizeof(big), FI_INJECT, NULL) == -FI_EMSGSIZE);
	RUN(together());
	return all_close();
}

static int two_regions(const struct iovec *piece)
{
	const struct fi_rma_iov remote[2] = {
		{ places[right].at, 1, places[right].key },
		{ places[right].at + 1, 1, places[right].key },
	};
	const struct fi_msg_rma all = {
		.msg_iov = piece,
		.iov_count = 2,
		.addr = port.peer[right],
		.rma_iov = remote,
		.rma_iov_count = 2,
	};
	ssize_t ret = fi_writemsg(port.ep, &all, 0);

	TEST(ret < 0 && ret != -FI_EAGAIN);
	ret = fi_readmsg(port.ep, &all, 0);
	TEST(ret < 0 && ret != -FI_EAGAIN);
	return 0;
}

static int refused(void)
{
	static uint8_t in[64], out[64];
	struct iovec piece[PIECES_MAX + 1];
	const uint64_t at = (uintptr_t)in;
	const fi_addr_t to = FI_ADDR_UNSPEC;
	int before;

	for (int i = 0; i <= PIECES_MAX; i++)
		piece[i] = (struct iovec){ .iov_base = out, .iov_len = 1 };
	RUN(memory_open(VIRTUAL, NULL));
	RUN(expose(in, sizeof(in), ANY_ACCESS));
	before = port.entries;
	TEST(fi_writedata(port.ep, out, 8, NULL, 1, port.peer[right], places[right].at,
			  places[right].key, NULL) == -FI_EOPNOTSUPP);
	TEST(fi_inject_writedata(port.ep, out, 8, 1, port.peer[right], places[right].at,
				 places[right].key) == -FI_EOPNOTSUPP);
	TEST(message(true, piece, 1, 1, FI_REMOTE_CQ_DATA, NULL) == -FI_EOPNOTSUPP);
	TEST(fi_writev(port.ep, piece, NULL, PIECES_MAX + 1, port.peer[right], at, 0, NULL) ==
	     -FI_EINVAL);
	TEST(fi_readv(port.ep, piece, NULL, PIECES_MAX + 1, port.peer[right], at, 0, NULL) ==
	     -FI_EINVAL);
	RUN(two_regions(piece));
	TEST(fi_write(port.ep, out, 8, NULL, to, at, own.key, NULL) == -FI_EINVAL);
	TEST(fi_read(port.ep, out, 8, NULL, 12345, at, own.key, NULL) == -FI_EINVAL);
	linger(50);
	TEST(port.entries == before && untouched(in, sizeof(in), 0));
	RUN(together());
	return all_close();
}

/* ---- Many at once ---- */

#define ROUNDS 20
#define PART 40000
#define BURST 2000

static size_t part_bytes(int from, int to, int round)
{
	unsigned int mixed = (unsigned int)(from * 7919 + to * 104729 + round * 1299709);

	mixed = (mixed ^ mixed >> 7) * 2654435761u;
	return mixed >> 31 ? mixed % PART : mixed % 300;
}

static int all_round(int round, uint8_t *out, uint8_t *in)
{
	struct done done[RANKS_MAX] = { 0 };

	for (int i = 0; i < ranks; i++) {
		fill(out + i * PART, PART, seed_of(rank, i + round));
		TEST(!write_to(i, out + i * PART, part_bytes(rank, i, round),
			       (uint64_t)rank * PART, &done[i]));
	}
	TEST(succeeded(done, ranks));
	RUN(together());
	for (int i = 0; i < ranks; i++)
		TEST(filled(in + i * PART, part_bytes(i, rank, round), seed_of(i, rank + round)));
	return together();
}

static int all_to_all(void)
{
	const size_t bytes = (size_t)ranks * PART;
	uint8_t *out = room(bytes), *in = room(bytes);

	RUN(memory_open(VIRTUAL, NULL));
	RUN(expose(in, bytes, ANY_ACCESS));
	for (int round = 0; round < ROUNDS; round++)
		RUN(all_round(round, out, in));
	return all_close();
}

static int burst(void)
{
	struct done *done = room(2 * BURST * sizeof(*done));
	uint64_t *in = room(BURST * 8), *out = room(BURST * 8), *back = room(BURST * 8);

	RUN(memory_open(OFFSETS, NULL));
	fill(out, BURST * 8, seed_of(rank, 3));
	RUN(expose(in, BURST * 8, ANY_ACCESS));
	for (int i = 0; i < BURST; i++)
		TEST(!write_to(right, &out[i], 8, (uint64_t)i * 8, &done[i]));
	TEST(succeeded(done, BURST));
	for (int i = 0; i < BURST; i++)
		TEST(!read_from(right, &back[i], 8, (uint64_t)i * 8, &done[BURST + i]));
	TEST(succeeded(done, 2 * BURST));
	TEST(filled(back, BURST * 8, seed_of(rank, 3)));
	RUN(together());
	TEST(filled(in, BURST * 8, seed_of(left, 3)));
	return all_close();
}

/* ---- Who does what ---- */

#define SLEPT 65537
#define SLEEP_SECONDS 20

static int sleep_until(const volatile uint8_t *flag)
{
	for (int i = 0; i < SLEEP_SECONDS * 1000 && !*flag; i++)
		usleep(1000);
	TEST(*flag);
	return 0;
}

static int write_to_sleepers(uint8_t *out, uint8_t *back)
{
	struct done done = { 0 };
	uint8_t flag = 1;

	for (int i = 1; i < ranks; i++) {
		fill(out, SLEPT, seed_of(i, 4));
		TEST(!write_to(i, out, SLEPT, 0, &done));
		RUN(ended_as(&done, FI_RMA | FI_WRITE));
		TEST(!read_from(i, back, SLEPT, 0, &done));
		RUN(ended_as(&done, FI_RMA | FI_READ));
		TEST(filled(back, SLEPT, seed_of(i, 4)));
		TEST(!write_to(i, &flag, 1, SLEPT, &done));
		RUN(ended_as(&done, FI_RMA | FI_WRITE));
	}
	return 0;
}

/* The targets call nothing: neither while it is written, nor before they look. */
static int sleepers(void)
{
	uint8_t *in = room(SLEPT + 1), *out = room(SLEPT + 1);

	RUN(memory_open(VIRTUAL, NULL));
	RUN(expose(in, SLEPT + 1, ANY_ACCESS));
	if (!rank)
		RUN(write_to_sleepers(out, in));
	else
		RUN(sleep_until(in + SLEPT));
	TEST(filled(in, SLEPT, seed_of(rank ? rank : ranks - 1, 4)));
	TEST(meet());
	if (!rank)
		in[SLEPT] = 0;
	RUN(together());
	return all_close();
}

/* ---- Which complete ---- */

static int selective(void)
{
	const struct options options = { .send_flags = FI_SELECTIVE_COMPLETION };
	uint64_t *words = room(64), value[2] = { 1, 2 };
	struct done quiet = { 0 }, told = { 0 };
	struct iovec piece = { .iov_base = value, .iov_len = 8 };

	RUN(memory_open(VIRTUAL, &options));
	RUN(expose(words, 64, ANY_ACCESS));
	TEST(!write_to(right, value, 8, 8, &quiet));
	TEST(!read_from(right, &value[1], 8, 16, &quiet));
	TEST(!message(true, &piece, 1, 8, 0, &quiet));
	TEST(comes((uint8_t *)words, 1) && comes((uint8_t *)(words + 1), 1));
	linger(50);
	TEST(!quiet.times && !value[1]);
	TEST(!message(true, &piece, 1, 8, FI_COMPLETION, &told));
	RUN(ended_as(&told, FI_RMA | FI_WRITE));
	TEST(!message(false, &piece, 1, 8, FI_COMPLETION | FI_DELIVERY_COMPLETE, &told));
	RUN(ended_as(&told, FI_RMA | FI_READ));
	TEST(!quiet.times);
	RUN(together());
	RUN(fails(write_to(right, value, 8, 64, &quiet), &quiet));
	RUN(fails(read_from(right, value, 8, 60, &quiet), &quiet));
	RUN(together());
	return all_close();
}

static const struct test tests[] = {
	{ "writes of each length", lengths_written },
	{ "reads of each length", lengths_read },
	{ "writes and reads of each length at offsets", lengths_at_offsets },
	{ "writes and reads at odd places harm nothing else", odd_places },
	{ "writes of pieces", pieces_gathered },
	{ "reads into pieces", pieces_scattered },
	{ "writes are injected, and the buffer is used again at once", inject },
	{ "what there is not is refused at once", refused },
	{ "all write to all", all_to_all },
	{ "2000 writes at once, then 2000 reads", burst },
	{ "targets that sleep", sleepers },
	{ "of reads and writes, too, only what asks for it completes", selective },
};

const struct suite memory_suite = { tests, sizeof(tests) / sizeof(tests[0]) };
