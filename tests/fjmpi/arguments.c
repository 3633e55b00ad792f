/* SPDX-License-Identifier: MIT */
/*
 * Arguments that are wrong, and calls that come too early or too late.
 */
#include "fjmpi-test.h"

#include <stdlib.h>

#define ERROR ((int)FJMPI_RDMA_ERROR)
#define LENGTH_MAX 16777212
#define MPUT_MAX 1993

static uint32_t buffer[4096];
static uint64_t at, there;

/* None is to do anything; so the arguments are such that would be right. */
static int nothing_up(void)
{
	uint64_t addr[1] = { at };
	size_t size[1] = { 4 };
	struct FJMPI_Rdma_cq cq;

	TEST(FJMPI_Rdma_finalize() == ERROR);
	TEST(FJMPI_Rdma_reg_mem(0, buffer, sizeof(buffer)) ==
	     FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_dereg_mem(0) == ERROR);
	TEST(FJMPI_Rdma_get_remote_addr(0, 0) == FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_put(0, 0, at, at, 4, 0) == ERROR);
	TEST(FJMPI_Rdma_get(0, 0, at, at, 4, 0) == ERROR);
	TEST(FJMPI_Rdma_mput(0, 0, addr, addr, size, 0, 1, 0) == ERROR);
	TEST(FJMPI_Rdma_poll_cq(0, &cq) == ERROR);
	TEST(FJMPI_Rdma_poll_cq(0, NULL) == ERROR);
	return 0;
}

static int start(void)
{
	TEST(FJMPI_Rdma_init() == 0);
	TEST(FJMPI_Rdma_init() == ERROR);
	at = FJMPI_Rdma_reg_mem(0, buffer, sizeof(buffer));
	TEST(at != FJMPI_RDMA_ERROR);
	there = remote(right, 0);
	TEST(there != FJMPI_RDMA_ERROR);
	return 0;
}

static bool put_refused(int pid, int tag, uint64_t raddr, uint64_t laddr,
			size_t length, int flags)
{
	return FJMPI_Rdma_put(pid, tag, raddr, laddr, length, flags) ==
		       ERROR &&
	       FJMPI_Rdma_get(pid, tag, raddr, laddr, length, flags) == ERROR;
}

static int pids_tags_flags(void)
{
	TEST(put_refused(-1, 0, there, at, 4, 0));
	TEST(put_refused(ranks, 0, there, at, 4, 0));
	TEST(put_refused(right, -1, there, at, 4, 0));
	TEST(put_refused(right, 15, there, at, 4, 0));
	TEST(put_refused(right, 0, there, at, 4, -1));
	TEST(put_refused(right, 0, there, at, 4, 1 << 20));
	return 0;
}

static int lengths(void)
{
	TEST(put_refused(right, 0, there, at, 1, 0));
	TEST(put_refused(right, 0, there, at, 6, 0));
	TEST(put_refused(right, 0, there, at, LENGTH_MAX + 1, 0));
	TEST(put_refused(right, 0, there, at, LENGTH_MAX + 4, 0));
	TEST(put_refused(right, 0, there, at, SIZE_MAX - 3, 0));
	return 0;
}

static int addresses(void)
{
	TEST(put_refused(right, 0, there, at, sizeof(buffer) + 4, 0));
	TEST(put_refused(right, 0, there, at + 4, sizeof(buffer), 0));
	TEST(put_refused(right, 0, there, at - 4, 4, 0));
	TEST(put_refused(right, 0, there, at + (1ULL << 40), 4, 0));
	/* One memid more than there are: that is the library's own. */
	TEST(put_refused(right, 0, there, at + (511ULL << 40), 4, 0));
	TEST(put_refused(right, 0, there + (511ULL << 40), at, 4, 0));
	TEST(put_refused(right, 0, there + (512ULL << 40), at, 4, 0));
	TEST(put_refused(right, 0, there, 0, 4, 0));
	TEST(put_refused(right, 0, there, FJMPI_RDMA_ERROR, 4, 0));
	TEST(put_refused(right, 0, 0, at, 4, 0));
	TEST(put_refused(right, 0, FJMPI_RDMA_ERROR, at, 4, 0));
	return 0;
}

static bool mput_refused(uint64_t *raddrs, uint64_t *laddrs, size_t *sizes,
			 ptrdiff_t stride, int n)
{
	return FJMPI_Rdma_mput(right, 0, raddrs, laddrs, sizes, stride, n,
			       0) == ERROR;
}

static int mputs(void)
{
	static uint64_t raddrs[MPUT_MAX + 1], laddrs[MPUT_MAX + 1];
	static size_t sizes[MPUT_MAX + 1];

	for (int i = 0; i <= MPUT_MAX; i++) {
		raddrs[i] = there;
		laddrs[i] = at;
		sizes[i] = 4;
	}
	TEST(mput_refused(raddrs, laddrs, sizes, 0, 0));
	TEST(mput_refused(raddrs, laddrs, sizes, 0, -1));
	TEST(mput_refused(raddrs, laddrs, sizes, 0, MPUT_MAX + 1));
	TEST(mput_refused(raddrs, laddrs, sizes, 4, MPUT_MAX + 1));
	TEST(mput_refused(NULL, laddrs, sizes, 0, 1));
	TEST(mput_refused(raddrs, NULL, sizes, 0, 1));
	TEST(mput_refused(raddrs, laddrs, NULL, 0, 1));
	TEST(mput_refused(raddrs, laddrs, sizes, sizeof(buffer), 2));
	TEST(mput_refused(raddrs, laddrs, sizes, PTRDIFF_MIN, 3));
	/* All are looked at before the first one goes. */
	sizes[MPUT_MAX - 1] = 2;
	TEST(mput_refused(raddrs, laddrs, sizes, 0, MPUT_MAX));
	sizes[MPUT_MAX - 1] = 4;
	laddrs[1] = at + sizeof(buffer);
	TEST(mput_refused(raddrs, laddrs, sizes, 0, 2));
	TEST(nothing_left());
	return 0;
}

static int polls(void)
{
	struct FJMPI_Rdma_cq cq = { 9, 9 };

	TEST(FJMPI_Rdma_poll_cq(-1, &cq) == ERROR);
	TEST(FJMPI_Rdma_poll_cq(4, &cq) == ERROR);
	TEST(FJMPI_Rdma_poll_cq(1 << 30, NULL) == ERROR);
	cq.pid = 9;
	TEST(FJMPI_Rdma_poll_cq(0, &cq) == 0 && cq.pid == 9);
	return 0;
}

/* ---- Anything at all ---- */

static uint64_t state;

static uint64_t any(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static int any_int(void)
{
	static const int favourites[] = { -1, 0, 1, 14, 15, 255, 510, 511, 1992,
					  1993 };

	return any() % 4 ? favourites[any() % 10] : (int)any();
}

static uint64_t any_addr(void)
{
	switch (any() % 4) {
	case 0:
		return any();
	case 1:
		return at ^ (1ULL << any() % 64);
	default:
		return at + any() % (2 * sizeof(buffer));
	}
}

static size_t any_size(void)
{
	return any() % 4 ? any() % (2 * sizeof(buffer)) & ~3ULL : any();
}

static void any_list(void)
{
	uint64_t raddrs[8], laddrs[8];
	size_t sizes[8];
	int n = any_int();

	for (int i = 0; i < 8; i++) {
		raddrs[i] = any_addr();
		laddrs[i] = any_addr();
		sizes[i] = any_size();
	}
	/* With a stride, one of each is enough; without, so many are read. */
	if (any() % 2 && n <= 8)
		FJMPI_Rdma_mput(any_int(), any_int(), raddrs, laddrs, sizes, 0,
				n, any_int());
	else
		FJMPI_Rdma_mput(any_int(), any_int(), raddrs, laddrs, sizes,
				(ptrdiff_t)(any() | 1), n, any_int());
}

static void any_call(void)
{
	static uint32_t other[64];
	struct FJMPI_Rdma_cq cq;
	/* memid 0 stays: it is what addresses are made from. */
	int memid = any_int();

	switch (any() % 7) {
	case 0:
		FJMPI_Rdma_put(any_int(), any_int(), any_addr(), any_addr(),
			       any_size(), (int)any());
		break;
	case 1:
		FJMPI_Rdma_get(any_int(), any_int(), any_addr(), any_addr(),
			       any_size(), any_int());
		break;
	case 2:
		any_list();
		break;
	case 3:
		FJMPI_Rdma_reg_mem(memid, other, any() % 257);
		break;
	case 4:
		FJMPI_Rdma_dereg_mem(memid ? memid : 1);
		break;
	case 5:
		FJMPI_Rdma_get_remote_addr(any_int(), memid);
		break;
	default:
		FJMPI_Rdma_poll_cq(any_int(), any() % 2 ? &cq : NULL);
	}
}

/* Whatever is called, transfers go on. */
static int fuzz(void)
{
	state = 88172645463325252ULL + (uint64_t)rank;
	for (int i = 0; i < 20000; i++)
		any_call();
	MPI_Barrier(MPI_COMM_WORLD);
	for (int nic = 0; nic < 4; nic++)
		while (FJMPI_Rdma_poll_cq(nic, NULL))
			;
	MPI_Barrier(MPI_COMM_WORLD);
	TEST(!FJMPI_Rdma_put(right, 11, there, at, sizeof(buffer),
			     FJMPI_RDMA_REMOTE_NIC3 |
				     FJMPI_RDMA_REMOTE_NOTICE));
	TEST(wait_for(0, FJMPI_RDMA_NOTICE, right, 11));
	TEST(wait_for(3, FJMPI_RDMA_HALFWAY_NOTICE, left, 11));
	return 0;
}

static int end(void)
{
	TEST(FJMPI_Rdma_finalize() == 0);
	TEST(FJMPI_Rdma_finalize() == ERROR);
	return 0;
}

static const struct test tests[] = {
	{ "nothing works before the start", nothing_up },
	{ "one starts once", start },
	{ "pids, tags and flags", pids_tags_flags },
	{ "lengths", lengths },
	{ "addresses", addresses },
	{ "several puts", mputs },
	{ "polls", polls },
	{ "anything at all", fuzz },
	{ "one ends once", end },
	{ "nothing works after the end", nothing_up },
};

int main(int argc, char **argv)
{
	if (FJMPI_Rdma_init() != ERROR)
		return 1;
	test_begin(&argc, &argv);
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
