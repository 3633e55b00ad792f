/* SPDX-License-Identifier: MIT */
/*
 * Registering, looking up, and what becomes of transfers that miss.
 */
#include "fjmpi-test.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MEMIDS 511
#define FLAGS (FJMPI_RDMA_LOCAL_NIC1 | FJMPI_RDMA_REMOTE_NIC2)

static uint32_t a[1024], b[1024], every[MEMIDS][8];

static void meet(void)
{
	MPI_Barrier(MPI_COMM_WORLD);
}

static bool registered(int memid, void *buf, size_t size)
{
	return FJMPI_Rdma_reg_mem(memid, buf, size) != FJMPI_RDMA_ERROR;
}

/* The own side of a put that finds nothing there. */
static bool fails(int tag)
{
	return wait_for(FJMPI_RDMA_NIC1, (int)FJMPI_RDMA_ERROR, right, tag);
}

static bool succeeds(int tag)
{
	return wait_for(FJMPI_RDMA_NIC1, FJMPI_RDMA_NOTICE, right, tag);
}

/* ---- */

static int start(void)
{
	TEST(FJMPI_Rdma_init() == 0);
	return 0;
}

static int memids(void)
{
	TEST(!registered(-1, a, sizeof(a)));
	TEST(!registered(511, a, sizeof(a)));
	TEST(!registered(1 << 20, a, sizeof(a)));
	TEST(registered(0, a, sizeof(a)));
	TEST(registered(510, b, sizeof(b)));
	TEST(!registered(0, b, sizeof(b)));
	TEST(FJMPI_Rdma_dereg_mem(0) == 0);
	TEST(FJMPI_Rdma_dereg_mem(0) == (int)FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_dereg_mem(510) == 0);
	TEST(FJMPI_Rdma_dereg_mem(1) == (int)FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_dereg_mem(-1) == (int)FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_dereg_mem(511) == (int)FJMPI_RDMA_ERROR);
	return 0;
}

static int bad_memory(void)
{
	TEST(!registered(3, NULL, 8));
	TEST(!registered(3, a, 0));
	TEST(!registered(3, a, SIZE_MAX));
	TEST(!registered(3, (void *)(uintptr_t)4096, 8));
	/* What failed has left nothing behind. */
	TEST(registered(3, a, sizeof(a)));
	TEST(FJMPI_Rdma_dereg_mem(3) == 0);
	return 0;
}

/* A buffer need not begin where anything else does. */
static int odd_address(void)
{
	uint64_t at = FJMPI_Rdma_reg_mem(7, (char *)a + 36, 64), there;

	TEST(at != FJMPI_RDMA_ERROR);
	there = remote(right, 7);
	a[9] = 100 + (uint32_t)rank;
	meet();
	TEST(!FJMPI_Rdma_put(right, 1, there + 4, at, 4, FLAGS));
	TEST(succeeds(1));
	meet();
	TEST(a[10] == 100 + (uint32_t)left);
	TEST(FJMPI_Rdma_put(right, 1, there, at + 4, 64, FLAGS));
	TEST(FJMPI_Rdma_put(right, 1, there, at - 4, 4, FLAGS));
	TEST(FJMPI_Rdma_dereg_mem(7) == 0);
	return 0;
}

static int all_memids(void)
{
	static uint64_t at[MEMIDS];

	for (int i = 0; i < MEMIDS; i++) {
		every[i][0] = (uint32_t)(1000 * rank + i);
		at[i] = FJMPI_Rdma_reg_mem(i, every[i], sizeof(every[i]));
		TEST(at[i] != FJMPI_RDMA_ERROR);
	}
	for (int i = 0; i < MEMIDS; i++) {
		uint64_t there = remote(right, i);

		TEST(there != FJMPI_RDMA_ERROR);
		TEST(!FJMPI_Rdma_put(right, i % 15, there + 4, at[i], 4,
				     FLAGS));
	}
	for (int i = 0; i < MEMIDS; i++)
		TEST(succeeds(i % 15));
	meet();
	for (int i = 0; i < MEMIDS; i++)
		TEST(every[i][1] == (uint32_t)(1000 * left + i));
	for (int i = 0; i < MEMIDS; i++)
		TEST(FJMPI_Rdma_dereg_mem(i) == 0);
	meet();
	TEST(FJMPI_Rdma_get_remote_addr(right, 510) == FJMPI_RDMA_ERROR);
	return 0;
}

/* The last rank registers late; it polls for nothing, and answers all. */
static int late(void)
{
	TEST(FJMPI_Rdma_get_remote_addr(right, 20) == FJMPI_RDMA_ERROR);
	meet();
	if (rank == ranks - 1) {
		struct timespec pause = { 0, 20000000 };

		nanosleep(&pause, NULL);
		TEST(registered(20, a, sizeof(a)));
	} else {
		TEST(remote(ranks - 1, 20) != FJMPI_RDMA_ERROR);
	}
	meet();
	if (rank == ranks - 1)
		TEST(FJMPI_Rdma_dereg_mem(20) == 0);
	return 0;
}

static int bad_lookups(void)
{
	TEST(FJMPI_Rdma_get_remote_addr(-1, 0) == FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_get_remote_addr(ranks, 0) == FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_get_remote_addr(right, -1) == FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_get_remote_addr(right, 511) == FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_get_remote_addr(right, 512) == FJMPI_RDMA_ERROR);
	return 0;
}

/* A memid is used again, for other memory: what was looked up before is old. */
static int anew(void)
{
	uint64_t at = FJMPI_Rdma_reg_mem(1, b, sizeof(b)), before, there;

	TEST(registered(2, a, sizeof(a)));
	before = remote(right, 2);
	TEST(before != FJMPI_RDMA_ERROR);
	meet();
	TEST(FJMPI_Rdma_dereg_mem(2) == 0);
	meet();
	TEST(!FJMPI_Rdma_put(right, 5, before, at, 4, FLAGS));
	TEST(fails(5));
	TEST(FJMPI_Rdma_get_remote_addr(right, 2) == FJMPI_RDMA_ERROR);
	meet();
	memset(a, 0, sizeof(a));
	b[0] = 77 + (uint32_t)rank;
	TEST(registered(2, a + 13, 512));
	there = remote(right, 2);
	TEST(!FJMPI_Rdma_put(right, 6, there + 8, at, 4, FLAGS));
	TEST(succeeds(6));
	meet();
	TEST(a[15] == 77 + (uint32_t)left);
	TEST(FJMPI_Rdma_dereg_mem(1) == 0);
	TEST(FJMPI_Rdma_dereg_mem(2) == 0);
	return 0;
}

/* The peer's memory ends before the transfer does; others are not harmed. */
static int beyond(void)
{
	uint64_t at = FJMPI_Rdma_reg_mem(1, b, sizeof(b)), there;
	uint64_t raddrs[2], laddrs[2] = { at, at };
	size_t sizes[2] = { 8, 8 };

	TEST(registered(2, a, 64));
	there = remote(right, 2);
	raddrs[0] = there + 60;
	raddrs[1] = there;
	meet();
	TEST(!FJMPI_Rdma_put(right, 7, there + 60, at, 8, FLAGS));
	TEST(fails(7));
	TEST(!FJMPI_Rdma_get(right, 8, there + 1000, at, 8, FLAGS));
	TEST(fails(8));
	TEST(!FJMPI_Rdma_mput(right, 9, raddrs, laddrs, sizes, 0, 2, FLAGS));
	TEST(fails(9));
	TEST(succeeds(9));
	TEST(!FJMPI_Rdma_put(right, 10, there + 56, at, 8, FLAGS));
	TEST(succeeds(10));
	meet();
	TEST(nothing_left());
	TEST(FJMPI_Rdma_dereg_mem(1) == 0);
	TEST(FJMPI_Rdma_dereg_mem(2) == 0);
	return 0;
}

static int again(void)
{
	TEST(registered(400, a, sizeof(a)));
	meet();
	TEST(FJMPI_Rdma_finalize() == 0);
	TEST(FJMPI_Rdma_init() == 0);
	TEST(FJMPI_Rdma_get_remote_addr(right, 400) == FJMPI_RDMA_ERROR);
	meet();
	TEST(registered(400, a, sizeof(a)));
	TEST(remote(right, 400) != FJMPI_RDMA_ERROR);
	TEST(FJMPI_Rdma_finalize() == 0);
	return 0;
}

/*
 * What is not polled for is gone; what was put is there. One rank is late: the
 * others may not go before it.
 */
static int end_with_work(void)
{
	uint64_t at, there;

	TEST(FJMPI_Rdma_init() == 0);
	memset(a, 0, sizeof(a));
	b[1] = 5000 + (uint32_t)rank;
	at = FJMPI_Rdma_reg_mem(0, b, sizeof(b));
	TEST(registered(1, a, sizeof(a)));
	there = remote(right, 1);
	if (!rank) {
		struct timespec pause = { 0, 100000000 };

		nanosleep(&pause, NULL);
	}
	for (int i = 0; i < 1000; i++)
		TEST(!FJMPI_Rdma_put(right, 0, there, at, 2048, FLAGS));
	TEST(!FJMPI_Rdma_put(right, 0, there + 2048, at, 2048, FLAGS));
	TEST(FJMPI_Rdma_finalize() == 0);
	TEST(a[1] == 5000 + (uint32_t)left);
	TEST(a[513] == 5000 + (uint32_t)left);
	return 0;
}

static const struct test tests[] = {
	{ "start", start },
	{ "memids are 0 to 510, and used once", memids },
	{ "memory that cannot be registered", bad_memory },
	{ "memory that begins anywhere", odd_address },
	{ "all memids at once", all_memids },
	{ "what is registered late is found", late },
	{ "lookups of nobody and nothing", bad_lookups },
	{ "a memid used anew", anew },
	{ "transfers beyond the peer's memory", beyond },
	{ "end and start again", again },
	{ "the end waits for what was put", end_with_work },
};

int main(int argc, char **argv)
{
	test_begin(&argc, &argv);
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
