/* SPDX-License-Identifier: MIT */
/*
 * A rank that has ended what it has to do in MPI, and calls nothing of it for a
 * while: what it has sent arrives, and who has sent to it is told so.
 *
 * usage: leaves FOLDER     by two ranks of one host, which tell each other the rest
 *                          by files there
 */
#include "mpi-test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE
#define LARGE (1 << 20)
#define NAP_NS 1000000

static const char *folder;
static unsigned int turns;

static const char *sign(int of)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%u.%d", folder, turns, of);
	return path;
}

/* Without MPI */
static int tell(void)
{
	int fd = open(sign(rank), O_WRONLY | O_CREAT, 0600);

	TEST(fd >= 0);
	close(fd);
	return 0;
}

static int wait_for(int other)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	for (int ms = 0; ms < WAIT_SECONDS * 1000; ms++) {
		if (!access(sign(other), F_OK))
			return 0;
		nanosleep(&nap, NULL);
	}
	fprintf(stderr, "# rank %d: %s does not come\n", rank, sign(other));
	return 1;
}

/* Rank @leaves does its part and goes; the other one needs no more of it. */
static int with(int leaves, bool sends, int bytes)
{
	const int other = 1 - leaves;
	static char data[LARGE];

	turns++;
	if (sends == (rank == leaves))
		MPI_Send(data, bytes, MPI_BYTE, 1 - rank, 0, WORLD);
	else
		MPI_Recv(data, bytes, MPI_BYTE, 1 - rank, 0, WORLD, IGNORE);
	return rank == leaves ? wait_for(other) : tell();
}

static int first_small(void)
{
	return with(0, true, 4);
}

static int small(void)
{
	for (int i = 0; i < 300; i++)
		TEST(!with(i % 2, true, i));
	return 0;
}

static int large_sender(void)
{
	for (int i = 0; i < 20; i++)
		TEST(!with(i % 2, true, LARGE));
	return 0;
}

static int large_receiver(void)
{
	for (int i = 0; i < 20; i++)
		TEST(!with(i % 2, false, LARGE >> i % 8));
	return 0;
}

static const struct test tests[] = {
	{ "the first message comes, though its sender has gone on", first_small },
	{ "so do others", small },
	{ "and large ones", large_sender },
	{ "a sender ends, though its receiver has gone on", large_receiver },
};

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: leaves FOLDER\n");
		return 2;
	}
	folder = argv[1];
	test_begin(&argc, &argv);
	if (ranks != 2) {
		fprintf(stderr, "leaves: %d ranks, not 2\n", ranks);
		return 2;
	}
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
