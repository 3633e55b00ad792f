/* SPDX-License-Identifier: MIT */
#include "mpi-test.h"

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

int test_points(const struct test tests[], int count, int plan)
{
	int failed = 0;

	if (!rank)
		printf("TAP version 13\n1..%d\n", plan);
	for (int i = 0; i < count; i++) {
		int own = tests[i].run(), any;

		MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
		failed += any;
		if (!rank)
			printf("%sok %d %s\n", any ? "not " : "", i + 1,
			       tests[i].name);
		fflush(stdout);
	}
	return failed;
}

int test_run(const struct test tests[], int count)
{
	int failed = test_points(tests, count, count);

	MPI_Finalize();
	return failed ? 1 : 0;
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
