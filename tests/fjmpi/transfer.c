/* SPDX-License-Identifier: MIT */
/*
 * Transfers in a ring of ranks, each of which sends to its right.
 */
#include "fjmpi-test.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_MAX 16777212
#define BUFFER (16 << 20)
#define MPUT_MAX 1993

/* memid 0 is what is sent from, 1 what is received in. */
static uint32_t *out, *in;
static uint64_t out_at, in_at, right_out, right_in;

static const int nics[] = { FJMPI_RDMA_NIC0, FJMPI_RDMA_NIC1, FJMPI_RDMA_NIC2,
			    FJMPI_RDMA_NIC3 };
static const int locals[] = { FJMPI_RDMA_LOCAL_NIC0, FJMPI_RDMA_LOCAL_NIC1,
			      FJMPI_RDMA_LOCAL_NIC2, FJMPI_RDMA_LOCAL_NIC3 };
static const int remotes[] = { FJMPI_RDMA_REMOTE_NIC0, FJMPI_RDMA_REMOTE_NIC1,
			       FJMPI_RDMA_REMOTE_NIC2, FJMPI_RDMA_REMOTE_NIC3 };
static const int paths[] = { FJMPI_RDMA_PATH0, FJMPI_RDMA_PATH1,
			     FJMPI_RDMA_PATH2, FJMPI_RDMA_PATH3 };

/* What most tests use: sends with NIC 0, receives with NIC 1. */
#define FLAGS (FJMPI_RDMA_LOCAL_NIC0 | FJMPI_RDMA_REMOTE_NIC1)
#define NOTICE_FLAGS (FLAGS | FJMPI_RDMA_REMOTE_NOTICE)

/* In the middle of a test: all ranks have come here. */
static void meet(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static bool sent(int tag)
{
	return wait_for(FJMPI_RDMA_NIC0, FJMPI_RDMA_NOTICE, right, tag);
}

static bool received(int tag)
{
	return wait_for(FJMPI_RDMA_NIC1, FJMPI_RDMA_HALFWAY_NOTICE, left, tag);
}

static int open_all(void)
{
	out = aligned_alloc(4096, BUFFER);
	in = aligned_alloc(4096, BUFFER);
	TEST(out && in);
	TEST(FJMPI_Rdma_init() == 0);
	out_at = FJMPI_Rdma_reg_mem(0, out, BUFFER);
	in_at = FJMPI_Rdma_reg_mem(1, in, BUFFER);
	TEST(out_at != FJMPI_RDMA_ERROR && in_at != FJMPI_RDMA_ERROR);
	right_out = remote(right, 0);
	right_in = remote(right, 1);
	TEST(right_out != FJMPI_RDMA_ERROR && right_in != FJMPI_RDMA_ERROR);
	return 0;
}

static int close_all(void)
{
	TEST(nothing_left());
	meet();
	TEST(FJMPI_Rdma_dereg_mem(0) == 0);
	TEST(FJMPI_Rdma_dereg_mem(1) == 0);
	TEST(FJMPI_Rdma_finalize() == 0);
	free(out);
	free(in);
	return 0;
}

static int put_round(void)
{
	fill(out, 4096, rank, 1);
	meet();
	TEST(!FJMPI_Rdma_put(right, 3, right_in, out_at, 4096, NOTICE_FLAGS));
	TEST(sent(3));
	TEST(received(3));
	TEST(filled(in, 4096, left, 1));
	return 0;
}

static int get_round(void)
{
	fill(out, 4096, rank, 2);
	memset(in, 0, 4096);
	meet();
	TEST(!FJMPI_Rdma_get(right, 14, right_out, in_at, 4096, FLAGS));
	TEST(sent(14));
	TEST(filled(in, 4096, right, 2));
	meet();
	return 0;
}

static int get_notice(void)
{
	meet();
	TEST(!FJMPI_Rdma_get(right, 1, right_out, in_at, 8, NOTICE_FLAGS));
	TEST(sent(1));
	TEST(received(1));
	return 0;
}

static int to_self(void)
{
	uint64_t self = remote(rank, 1);

	fill(out, 256, rank, 3);
	meet();
	TEST(self == in_at);
	TEST(!FJMPI_Rdma_put(rank, 2, self, out_at, 256, NOTICE_FLAGS));
	TEST(wait_for(FJMPI_RDMA_NIC0, FJMPI_RDMA_NOTICE, rank, 2));
	TEST(wait_for(FJMPI_RDMA_NIC1, FJMPI_RDMA_HALFWAY_NOTICE, rank, 2));
	TEST(filled(in, 256, rank, 3));
	return 0;
}

/* Both notices come to one NIC where the two are the same: in either order. */
static int nic_pair(int local, int remote_nic, int tag)
{
	struct FJMPI_Rdma_cq cq;
	int kind, notices = 0;

	TEST(!FJMPI_Rdma_put(right, tag, right_in, out_at, 4,
			     locals[local] | remotes[remote_nic] |
				     FJMPI_RDMA_REMOTE_NOTICE));
	if (local != remote_nic) {
		TEST(wait_for(nics[local], FJMPI_RDMA_NOTICE, right, tag));
		TEST(wait_for(nics[remote_nic], FJMPI_RDMA_HALFWAY_NOTICE,
			      left, tag));
		return 0;
	}
	for (int i = 0; i < 2; i++) {
		kind = wait_cq(nics[local], &cq);
		TEST(cq.tag == tag);
		TEST(cq.pid == (kind == FJMPI_RDMA_NOTICE ? right : left));
		notices |= kind;
	}
	TEST(notices == (FJMPI_RDMA_NOTICE | FJMPI_RDMA_HALFWAY_NOTICE));
	return 0;
}

static int nic_pairs(void)
{
	for (int i = 0; i < 16; i++) {
		meet();
		out[0] = (uint32_t)(100 * rank + i);
		if (nic_pair(i / 4, i % 4, i % 15))
			return 1;
		TEST(in[0] == (uint32_t)(100 * left + i));
	}
	TEST(nothing_left());
	return 0;
}

static int path_each(void)
{
	for (int i = 0; i < 4; i++) {
		fill(out, 1024, rank, (unsigned int)i);
		meet();
		TEST(!FJMPI_Rdma_put(right, i, right_in, out_at, 1024,
				     NOTICE_FLAGS | paths[i] |
					     FJMPI_RDMA_IMMEDIATE_RETURN));
		TEST(sent(i));
		TEST(received(i));
		TEST(filled(in, 1024, left, (unsigned int)i));
		meet();
		TEST(!FJMPI_Rdma_get(right, i, right_out + 1024, out_at + 2048,
				     4, FLAGS | paths[i]));
		TEST(sent(i));
	}
	return 0;
}

static int tag_order(void)
{
	meet();
	for (int tag = 0; tag < 15; tag++)
		TEST(!FJMPI_Rdma_put(right, tag, right_in, out_at, 64,
				     NOTICE_FLAGS));
	for (int tag = 0; tag < 15; tag++)
		TEST(sent(tag));
	for (int tag = 0; tag < 15; tag++)
		TEST(received(tag));
	return 0;
}

static int one_length(size_t length, unsigned int seed)
{
	size_t behind = length / 4;

	fill(out, length, rank, seed);
	memset(in, 0, length);
	if (length < LENGTH_MAX)
		in[behind] = 12345;
	meet();
	TEST(!FJMPI_Rdma_put(right, 0, right_in, out_at, length,
			     NOTICE_FLAGS));
	TEST(sent(0));
	TEST(received(0));
	TEST(filled(in, length, left, seed));
	TEST(length == LENGTH_MAX || in[behind] == 12345);
	meet();
	memset(in, 0, length);
	TEST(!FJMPI_Rdma_get(right, 0, right_out, in_at, length, FLAGS));
	TEST(sent(0));
	TEST(filled(in, length, right, seed));
	meet();
	return 0;
}

static int lengths(void)
{
	static const size_t length[] = { 0,    4,     8,     32,	252,
					 260,  1920,  4096,  65540,	1 << 20,
					 LENGTH_MAX };

	for (size_t i = 0; i < sizeof(length) / sizeof(*length); i++)
		if (one_length(length[i], (unsigned int)i))
			return 1;
	return 0;
}

/* Addresses are added to, on both sides. */
static int arithmetic(void)
{
	fill(out, 8192, rank, 5);
	memset(in, 0, 8192);
	meet();
	TEST(!FJMPI_Rdma_put(right, 0, right_in + 2004, out_at, 400, FLAGS));
	TEST(!FJMPI_Rdma_put(right, 1, right_in, out_at + 2004, 400, FLAGS));
	TEST(!FJMPI_Rdma_put(right, 2, right_in + BUFFER - 4,
			     out_at + BUFFER - 4, 4, NOTICE_FLAGS));
	TEST(sent(0) && sent(1) && sent(2));
	TEST(received(2));
	TEST(filled(in + 501, 400, left, 5));
	fill(out, 8192, left, 5);
	TEST(!memcmp(in, out + 501, 400));
	return 0;
}

/* The receiver polls for nothing: it waits for the last word. */
static int strong_order(void)
{
	enum { WORDS = 5000, ROUNDS = 50 };

	memset(in, 0, 4 * WORDS);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		for (int i = 0; i < WORDS; i++)
			out[i] = round;
		meet();
		TEST(!FJMPI_Rdma_put(right, 0, right_in, out_at, 4 * WORDS,
				     FLAGS | FJMPI_RDMA_STRONG_ORDER));
		TEST(wait_word(&in[WORDS - 1], round));
		for (int i = 0; i < WORDS; i++)
			TEST(in[i] == round);
		TEST(sent(0));
	}
	return 0;
}

/* Data, then a flag: both of one NIC, so the flag comes second. */
static int flag_after_data(void)
{
	memset(in, 0, 1 << 20);
	for (uint32_t round = 1; round <= 20; round++) {
		fill(out, 1 << 16, rank, round);
		out[1 << 17] = round;
		meet();
		TEST(!FJMPI_Rdma_put(right, 0, right_in, out_at, 1 << 16,
				     FLAGS));
		TEST(!FJMPI_Rdma_put(right, 1, right_in + (1 << 19),
				     out_at + (1 << 19), 4,
				     FLAGS | FJMPI_RDMA_STRONG_ORDER));
		TEST(wait_word(&in[1 << 17], round));
		TEST(filled(in, 1 << 16, left, round));
		TEST(sent(0) && sent(1));
	}
	return 0;
}

/* Many, each elsewhere: one notice on each side, when all are there. */
static int mput_lists(void)
{
	static uint64_t raddrs[MPUT_MAX], laddrs[MPUT_MAX];
	static size_t sizes[MPUT_MAX];

	fill(out, 32 * MPUT_MAX, rank, 6);
	memset(in, 0, 32 * MPUT_MAX);
	for (int i = 0; i < MPUT_MAX; i++) {
		raddrs[i] = right_in + 32 * (uint64_t)(MPUT_MAX - 1 - i);
		laddrs[i] = out_at + 32 * (uint64_t)i;
		sizes[i] = i % 3 ? 8 : 16;
	}
	meet();
	TEST(!FJMPI_Rdma_mput(right, 9, raddrs, laddrs, sizes, 0, MPUT_MAX,
			      NOTICE_FLAGS));
	TEST(sent(9));
	TEST(received(9));
	fill(out, 32 * MPUT_MAX, left, 6);
	for (int i = 0; i < MPUT_MAX; i++) {
		const uint32_t *at = in + 8 * (MPUT_MAX - 1 - i);

		TEST(!memcmp(at, out + 8 * i, sizes[i]));
		TEST(at[sizes[i] / 4] == 0);
	}
	TEST(nothing_left());
	return 0;
}

static int mput_stride(void)
{
	uint64_t raddr = right_in, laddr = out_at;
	size_t size = 12;

	fill(out, 20 * 100, rank, 7);
	memset(in, 0, 20 * 100);
	meet();
	TEST(!FJMPI_Rdma_mput(right, 1, &raddr, &laddr, &size, 20, 100,
			      NOTICE_FLAGS));
	TEST(sent(1));
	TEST(received(1));
	fill(out, 20 * 100, left, 7);
	for (int i = 0; i < 100; i++) {
		TEST(!memcmp(in + 5 * i, out + 5 * i, 12));
		TEST(in[5 * i + 3] == 0 && in[5 * i + 4] == 0);
	}
	return 0;
}

static int mput_backwards(void)
{
	uint64_t raddr = right_in + 4 * 99, laddr = out_at + 4 * 99;
	size_t size = 4;

	fill(out, 400, rank, 8);
	memset(in, 0, 400);
	meet();
	TEST(!FJMPI_Rdma_mput(right, 1, &raddr, &laddr, &size, -4, 100,
			      NOTICE_FLAGS));
	TEST(sent(1));
	TEST(received(1));
	TEST(filled(in, 400, left, 8));
	return 0;
}

/* More than any ring holds; nobody polls before all are posted. */
static int many_unpolled(void)
{
	enum { COUNT = 6000 };

	meet();
	for (int i = 0; i < COUNT; i++)
		TEST(!FJMPI_Rdma_put(right, i % 15, right_in, out_at, 4,
				     FLAGS));
	for (int i = 0; i < COUNT; i++)
		TEST(sent(i % 15));
	TEST(nothing_left());
	meet();
	return 0;
}

static int all_to_all(void)
{
	struct FJMPI_Rdma_cq cq;
	int seen = 0;

	meet();
	for (int to = 0; to < ranks; to++) {
		uint64_t there = remote(to, 1);

		out[to] = (uint32_t)(10 * rank + to);
		TEST(!FJMPI_Rdma_put(to, rank, there + 4 * (uint64_t)rank,
				     out_at + 4 * (uint64_t)to, 4,
				     FJMPI_RDMA_LOCAL_NIC2 |
					     FJMPI_RDMA_REMOTE_NIC3 |
					     FJMPI_RDMA_REMOTE_NOTICE));
	}
	for (int i = 0; i < ranks; i++)
		TEST(wait_cq(FJMPI_RDMA_NIC2, NULL) == FJMPI_RDMA_NOTICE);
	for (int i = 0; i < ranks; i++) {
		TEST(wait_cq(FJMPI_RDMA_NIC3, &cq) ==
		     FJMPI_RDMA_HALFWAY_NOTICE);
		TEST(cq.pid == cq.tag);
		TEST(in[cq.pid] == (uint32_t)(10 * cq.pid + rank));
		seen |= 1 << cq.pid;
	}
	TEST(seen == (1 << ranks) - 1);
	return 0;
}

/*
 * A NIC that nobody polls while more notices come than its queue holds; then all
 * goes on. Where all NICs are one queue, those of the own puts could be lost.
 */
static int lost_notices(void)
{
	enum { COUNT = 3000 };
	const char *tnis = getenv("TOFU_TNIS");
	int ret, got = 0, lost = 0;

	if (tnis && atoi(tnis) == 1)
		return 0;
	meet();
	for (int i = 0; i < COUNT; i++)
		TEST(!FJMPI_Rdma_put(right, 0, right_in, out_at, 4,
				     FJMPI_RDMA_LOCAL_NIC2 |
					     FJMPI_RDMA_REMOTE_NIC0 |
					     FJMPI_RDMA_REMOTE_NOTICE));
	for (int i = 0; i < COUNT; i++)
		TEST(wait_for(FJMPI_RDMA_NIC2, FJMPI_RDMA_NOTICE, right, 0));
	meet();
	TEST(remote(right, 1) == right_in);
	while ((ret = FJMPI_Rdma_poll_cq(FJMPI_RDMA_NIC0, NULL))) {
		got += ret == FJMPI_RDMA_HALFWAY_NOTICE;
		lost += ret == (int)FJMPI_RDMA_ERROR;
	}
	TEST(got < COUNT && lost == 1);
	TEST(remote(right, 1) == right_in);
	return put_round();
}

/* A source may go as soon as it is put: that waits for what is queued. */
static int dereg_after_put(void)
{
	enum { PUTS = 1000 };
	static uint32_t once[1 << 14];
	uint64_t once_at;

	memset(in, 0, sizeof(once));
	fill(once, sizeof(once), rank, 9);
	once_at = FJMPI_Rdma_reg_mem(300, once, sizeof(once));
	TEST(once_at != FJMPI_RDMA_ERROR);
	meet();
	for (int i = 1; i < PUTS; i++)
		TEST(!FJMPI_Rdma_put(right, 3, right_in, once_at,
				     sizeof(once), FLAGS));
	TEST(!FJMPI_Rdma_put(right, 4, right_in, once_at, sizeof(once),
			     NOTICE_FLAGS));
	TEST(!FJMPI_Rdma_dereg_mem(300));
	memset(once, 0, sizeof(once));
	for (int i = 1; i < PUTS; i++)
		TEST(sent(3));
	TEST(sent(4));
	TEST(received(4));
	TEST(filled(in, sizeof(once), left, 9));
	return 0;
}

static const struct test tests[] = {
	{ "start, register, look up", open_all },
	{ "put", put_round },
	{ "get", get_round },
	{ "get with a remote notice", get_notice },
	{ "put to oneself", to_self },
	{ "each NIC to each NIC", nic_pairs },
	{ "each path", path_each },
	{ "each tag, in order", tag_order },
	{ "lengths from 0 to the largest", lengths },
	{ "addresses can be added to", arithmetic },
	{ "the last word of a strongly ordered put is the last", strong_order },
	{ "a flag comes after the data before it", flag_after_data },
	{ "the most puts in one mput", mput_lists },
	{ "mput with a stride", mput_stride },
	{ "mput with a negative stride", mput_backwards },
	{ "more puts than a queue holds, unpolled", many_unpolled },
	{ "all to all", all_to_all },
	{ "memory is deregistered when it has been put", dereg_after_put },
	{ "notices that are lost are told once", lost_notices },
	{ "deregister, end", close_all },
};

int main(int argc, char **argv)
{
	/* The smallest rings */
	setenv("TOFU_TOQ_CODE", "0", 1);
	setenv("TOFU_MRQ_CODE", "0", 1);
	test_begin(&argc, &argv);
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
