/* SPDX-License-Identifier: MIT */
/*
 * What the tests of FJMPI_Rdma share.
 */
#include "fjmpi-test.h"

#include <time.h>
#include <unistd.h>

int rank, ranks, left, right;

/* ---- Running them ---- */

void test_begin(int *argc, char ***argv)
{
	/* For what hangs in a call; waits have their own limit. */
	alarm(8 * WAIT_SECONDS);
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	left = (rank + ranks - 1) % ranks;
	right = (rank + 1) % ranks;
}

int test_run(const struct test tests[], int count)
{
	int failed = 0;

	if (!rank)
		printf("TAP version 13\n1..%d\n", count);
	for (int i = 0; i < count; i++) {
		int own = tests[i].run(), any;

		MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		failed += any;
		if (!rank)
			printf("%sok %d %s\n", any ? "not " : "", i + 1,
			       tests[i].name);
		fflush(stdout);
	}
	MPI_Finalize();
	return failed ? 1 : 0;
}

/* ---- Waiting ---- */

static bool expired(time_t since)
{
	return time(NULL) - since > WAIT_SECONDS;
}

int wait_cq(int nic, struct FJMPI_Rdma_cq *cq)
{
	time_t since = time(NULL);
	int ret;

	do {
		ret = FJMPI_Rdma_poll_cq(nic, cq);
	} while (!ret && !expired(since));
	return ret;
}

bool wait_for(int nic, int kind, int pid, int tag)
{
	struct FJMPI_Rdma_cq cq = { -2, -2 };
	int ret = wait_cq(nic, &cq);

	if (ret == kind && cq.pid == pid && cq.tag == tag)
		return true;
	fprintf(stderr, "# rank %d: nic %d: %d of pid %d tag %d, not %d of pid %d tag %d\n", rank,
		nic, ret, cq.pid, cq.tag, kind, pid, tag);
	return false;
}

bool wait_word(const volatile uint32_t *word, uint32_t value)
{
	time_t since = time(NULL);

	while (*word != value)
		if (expired(since))
			return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return true;
}

bool nothing_left(void)
{
	for (int nic = 0; nic < 4; nic++)
		if (FJMPI_Rdma_poll_cq(nic, NULL))
			return false;
	return true;
}

uint64_t remote(int pid, int memid)
{
	time_t since = time(NULL);
	uint64_t addr;

	do {
		addr = FJMPI_Rdma_get_remote_addr(pid, memid);
	} while (addr == FJMPI_RDMA_ERROR && !expired(since));
	return addr;
}

/* ---- Data ---- */

static uint32_t word_of(size_t at, int who, unsigned int seed)
{
	return (uint32_t)at * 2654435761u + (uint32_t)who * 40503u + seed;
}

void fill(uint32_t *word, size_t bytes, int who, unsigned int seed)
{
	for (size_t i = 0; i < bytes / 4; i++)
		word[i] = word_of(i, who, seed);
}

bool filled(const uint32_t *word, size_t bytes, int who, unsigned int seed)
{
	for (size_t i = 0; i < bytes / 4; i++)
		if (word[i] != word_of(i, who, seed)) {
			fprintf(stderr, "# rank %d: word %zu is %x\n", rank, i,
				word[i]);
			return false;
		}
	return true;
}
