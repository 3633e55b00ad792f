/* SPDX-License-Identifier: MIT */
/*
 * What messages of MPI take: half a round trip between ranks 0 and 1, a message
 * of many, an allreduce of all ranks, and an exchange with four neighbours in a
 * torus of two dimensions. Rank 0 prints a line for each: what, bytes,
 * microseconds.
 *
 * usage: times [ROUNDS [MOST_BYTES]]
 *        times memory: KiB of the largest process, when all have sent to all
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

#define LONG_BYTES (64 << 10) /* from here on, a tenth of the rounds */
#define WINDOW 64
#define SIDES 4
#define MOST_BYTES (4 << 20)

static char *out, *in;
static int rank, ranks, rounds = 100;

/* Rounds of messages of @bytes */
static int rounds_of(int bytes)
{
	const int most = bytes < LONG_BYTES ? rounds : rounds / 10;

	return most ? most : 1;
}

static void round_trip(int bytes)
{
	if (rank == 0) {
		MPI_Send(out, bytes, MPI_BYTE, 1, 0, WORLD);
		MPI_Recv(in, bytes, MPI_BYTE, 1, 0, WORLD, IGNORE);
	} else if (rank == 1) {
		MPI_Recv(in, bytes, MPI_BYTE, 0, 0, WORLD, IGNORE);
		MPI_Send(out, bytes, MPI_BYTE, 0, 0, WORLD);
	}
}

static void burst(int bytes)
{
	MPI_Request request[WINDOW];

	for (int i = 0; i < WINDOW && rank < 2; i++)
		if (rank == 0)
			MPI_Isend(out, bytes, MPI_BYTE, 1, 1, WORLD,
				  &request[i]);
		else
			MPI_Irecv(in, bytes, MPI_BYTE, 0, 1, WORLD, &request[i]);
	if (rank < 2)
		MPI_Waitall(WINDOW, request, MPI_STATUSES_IGNORE);
	/* Not more than a window is under way. */
	round_trip(0);
}

static void allreduce(int bytes)
{
	MPI_Allreduce(out, in, bytes / (int)sizeof(double), MPI_DOUBLE, MPI_SUM,
		      WORLD);
}

static MPI_Comm torus;

static void exchange(int bytes)
{
	MPI_Request request[2 * SIDES];

	for (int side = 0; side < SIDES; side++) {
		int from, to;

		MPI_Cart_shift(torus, side / 2, side % 2 ? 1 : -1, &from, &to);
		MPI_Irecv(in + side * bytes, bytes, MPI_BYTE, from, side, torus,
			  &request[2 * side]);
		MPI_Isend(out + side * bytes, bytes, MPI_BYTE, to, side, torus,
			  &request[2 * side + 1]);
	}
	MPI_Waitall(2 * SIDES, request, MPI_STATUSES_IGNORE);
}

static void torus_make(void)
{
	int side[2] = { 0, 0 }, wraps[2] = { 1, 1 };

	MPI_Dims_create(ranks, 2, side);
	MPI_Cart_create(WORLD, 2, side, wraps, 0, &torus);
}

/* @parts: what one call counts for */
static void measure(const char *what, void (*run)(int bytes), int bytes,
		    int parts)
{
	const int count = rounds_of(bytes);
	double began;

	for (int i = 0; i < 2; i++)
		run(bytes);
	MPI_Barrier(WORLD);
	began = MPI_Wtime();
	for (int i = 0; i < count; i++)
		run(bytes);
	if (rank == 0)
		printf("%-9s %8d %10.3f\n", what, bytes,
		       (MPI_Wtime() - began) * 1e6 / (count * parts));
}

/* What the process has for itself, and shares with others of the job */
static double own_kib(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	double kib = 0, part;
	char line[128];

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %lf", &part) == 1 ||
		    sscanf(line, "RssShmem: %lf", &part) == 1)
			kib += part;
	if (status)
		fclose(status);
	return kib;
}

static int memory(void)
{
	double mine, most = 0;

	for (int i = 1; i < ranks; i++) {
		const int to = (rank + i) % ranks;
		const int from = (rank - i + ranks) % ranks;
		long long sent = rank, got;

		MPI_Sendrecv(&sent, 1, MPI_LONG_LONG, to, 0, &got, 1,
			     MPI_LONG_LONG, from, 0, WORLD, IGNORE);
	}
	mine = own_kib();
	MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, WORLD);
	if (rank == 0)
		printf("%-9s %8d %10.0f\n", "memory", ranks, most);
	MPI_Finalize();
	return 0;
}

int main(int argc, char **argv)
{
	static const int sizes[] = { 8, 1024, 16384, 65536, 1 << 20, 4 << 20 };
	const int kinds = sizeof(sizes) / sizeof(*sizes);
	int most = MOST_BYTES;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(WORLD, &rank);
	MPI_Comm_size(WORLD, &ranks);
	if (argc > 1 && !strcmp(argv[1], "memory"))
		return memory();
	if (argc > 1)
		rounds = atoi(argv[1]);
	if (argc > 2)
		most = atoi(argv[2]);
	if (ranks < 2 || rounds < 1 || most < sizes[0] || most > MOST_BYTES) {
		if (rank == 0)
			fprintf(stderr,
				"usage: times [ROUNDS [MOST_BYTES]], on two ranks or more\n");
		MPI_Finalize();
		return 2;
	}
	out = calloc(SIDES, (size_t)most);
	in = calloc(SIDES, (size_t)most);
	if (!out || !in)
		MPI_Abort(WORLD, 1);
	torus_make();
	for (int i = 0; i < kinds && sizes[i] <= most; i++)
		measure("ping-pong", round_trip, sizes[i], 2);
	measure("message", burst, sizes[0], WINDOW);
	for (int i = 0; i < kinds && sizes[i] <= most; i++)
		measure("allreduce", allreduce, sizes[i], 1);
	for (int i = 0; i < kinds && sizes[i] <= most; i++)
		measure("exchange", exchange, sizes[i], 1);
	MPI_Comm_free(&torus);
	free(in);
	free(out);
	MPI_Finalize();
	return 0;
}
