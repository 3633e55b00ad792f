/* SPDX-License-Identifier: MIT */
/*
 * A rank that ends before the others, which wait for its message. Prints 'waiting'
 * before it waits.
 *
 * usage: lost abort|kill|exit|stay
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VICTIM 1
#define ABORT_CODE 7
#define EXIT_CODE 9
/* A limit for the case that nobody ends it */
#define STAY_SECONDS 300

static void end(const char *how)
{
	if (!strcmp(how, "abort"))
		MPI_Abort(MPI_COMM_WORLD, ABORT_CODE);
	if (!strcmp(how, "kill"))
		raise(SIGKILL);
	if (!strcmp(how, "exit"))
		_exit(EXIT_CODE);
	sleep(STAY_SECONDS);
	_exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
	int rank, got = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	/* Nobody is still starting. */
	MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	printf("waiting\n");
	fflush(stdout);
	if (rank == VICTIM && argc > 1)
		end(argv[1]);
	MPI_Recv(&got, 1, MPI_INT, VICTIM, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	printf("received\n");
	MPI_Finalize();
	return EXIT_SUCCESS;
}
