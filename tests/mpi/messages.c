/* SPDX-License-Identifier: MIT */
/*
 * What MPI programs do with messages, in a ring of ranks. The MPI is the
 * distribution's; what is tested is what carries its messages.
 */
#include "mpi-test.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#define IGNORE MPI_STATUS_IGNORE

#define BUFFER (20 << 20)

static uint32_t *out, *in;

/* ---- Point to point ---- */

static int lengths_round(int bytes, int tag)
{
	MPI_Status status;
	int got;

	fill(out, (size_t)bytes + 4, rank, (unsigned int)tag);
	memset(in, 0, (size_t)bytes + 4);
	MPI_Sendrecv(out, bytes, MPI_BYTE, right, tag, in, bytes, MPI_BYTE, left,
		     tag, WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &got);
	TEST(got == bytes && status.MPI_SOURCE == left && status.MPI_TAG == tag);
	TEST(filled(in, (size_t)bytes, left, (unsigned int)tag));
	return 0;
}

static int lengths(void)
{
	static const int bytes[] = { 0, 4, 252, 256, 260,
				     1024, 4096, 16384, 16388, 65536,
				     1 << 20, 3 << 20, 16777212, 16777216, BUFFER - 4 };

	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++)
		TEST(!lengths_round(bytes[i], (int)i));
	return 0;
}

#define ORDERED 1000

static int order(void)
{
	MPI_Request request[ORDERED];
	int number[ORDERED], got;

	for (int i = 0; i < ORDERED; i++) {
		number[i] = i;
		MPI_Isend(&number[i], 1, MPI_INT, right, i % 3 ? 1 : 2, WORLD,
			  &request[i]);
	}
	for (int i = 0; i < ORDERED; i++) {
		MPI_Recv(&got, 1, MPI_INT, left, MPI_ANY_TAG, WORLD, IGNORE);
		TEST(got == i);
	}
	MPI_Waitall(ORDERED, request, MPI_STATUSES_IGNORE);
	return 0;
}

#define SHORT_ONES 2000
#define LONG_ONES 48
#define LONG_BYTES 102400

/* Nobody waits for them yet, and they are wanted the other way round. */
static int unexpected(void)
{
	static MPI_Request request[SHORT_ONES + LONG_ONES];
	int got;

	fill(out, LONG_BYTES, rank, 7);
	for (int i = 0; i < SHORT_ONES + LONG_ONES; i++)
		MPI_Isend(out, i < SHORT_ONES ? 16 : LONG_BYTES, MPI_BYTE,
			  right, i, WORLD, &request[i]);
	for (int i = SHORT_ONES + LONG_ONES - 1; i >= 0; i--) {
		MPI_Status status;

		MPI_Recv(in, LONG_BYTES, MPI_BYTE, left, i, WORLD, &status);
		MPI_Get_count(&status, MPI_BYTE, &got);
		TEST(got == (i < SHORT_ONES ? 16 : LONG_BYTES));
		TEST(filled(in, (size_t)got, left, 7));
	}
	MPI_Waitall(SHORT_ONES + LONG_ONES, request, MPI_STATUSES_IGNORE);
	return 0;
}

#define FLOOD 9000
#define FLOOD_BYTES 2048

/* More than an endpoint keeps by default; the last is wanted first. */
static int flood(void)
{
	static MPI_Request request[FLOOD];
	MPI_Status status;

	fill(out, FLOOD_BYTES, rank, 8);
	for (int i = 0; i < FLOOD; i++)
		MPI_Isend(out, FLOOD_BYTES, MPI_BYTE, right, i, WORLD,
			  &request[i]);
	for (int i = -1; i < FLOOD - 1; i++) {
		MPI_Recv(in, FLOOD_BYTES, MPI_BYTE, left,
			 i < 0 ? FLOOD - 1 : MPI_ANY_TAG, WORLD, &status);
		TEST(status.MPI_TAG == (i < 0 ? FLOOD - 1 : i));
		TEST(filled(in, FLOOD_BYTES, left, 8));
	}
	MPI_Waitall(FLOOD, request, MPI_STATUSES_IGNORE);
	return 0;
}

static int any_source(void)
{
	bool heard[64] = { false };
	MPI_Request request[64];

	for (int i = 0; i < ranks; i++)
		MPI_Isend(&rank, 1, MPI_INT, i, 100 + rank, WORLD, &request[i]);
	for (int i = 0; i < ranks; i++) {
		MPI_Status status;
		int got = -1;

		MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD,
			 &status);
		TEST(got == status.MPI_SOURCE && status.MPI_TAG == 100 + got);
		TEST(!heard[got]);
		heard[got] = true;
	}
	MPI_Waitall(ranks, request, MPI_STATUSES_IGNORE);
	return 0;
}

static int probes(void)
{
	MPI_Request request;
	MPI_Message message;
	MPI_Status status;
	int bytes;

	fill(out, 40000, rank, 9);
	MPI_Isend(out, 40000, MPI_BYTE, right, 11, WORLD, &request);
	MPI_Probe(MPI_ANY_SOURCE, 11, WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &bytes);
	TEST(bytes == 40000 && status.MPI_SOURCE == left);
	MPI_Mprobe(left, 11, WORLD, &message, &status);
	MPI_Mrecv(in, bytes, MPI_BYTE, &message, IGNORE);
	TEST(filled(in, 40000, left, 9));
	MPI_Wait(&request, IGNORE);
	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &bytes, IGNORE);
	TEST(!bytes);
	return 0;
}

/* It has not been sent while nobody receives it, however long one asks. */
static int synchronous(void)
{
	MPI_Request request;
	int done = 0, got;

	MPI_Issend(&rank, 1, MPI_INT, right, 12, WORLD, &request);
	for (int i = 0; i < 1000 && !done; i++)
		MPI_Test(&request, &done, IGNORE);
	TEST(!done);
	MPI_Barrier(WORLD);
	MPI_Recv(&got, 1, MPI_INT, left, 12, WORLD, IGNORE);
	MPI_Wait(&request, IGNORE);
	TEST(got == left);
	return 0;
}

static int cancelled(void)
{
	MPI_Request request;
	MPI_Status status;
	int is, got = -1;

	MPI_Irecv(&got, 1, MPI_INT, left, 13, WORLD, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, &status);
	MPI_Test_cancelled(&status, &is);
	/* Nobody has sent before. */
	MPI_Barrier(WORLD);
	TEST(is);
	MPI_Sendrecv(&rank, 1, MPI_INT, right, 13, &got, 1, MPI_INT, left, 13,
		     WORLD, IGNORE);
	TEST(got == left);
	return 0;
}

static int truncated(void)
{
	MPI_Request request;
	int error, class;

	MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
	fill(out, 4096, rank, 14);
	MPI_Isend(out, 4096, MPI_BYTE, right, 14, WORLD, &request);
	error = MPI_Recv(in, 64, MPI_BYTE, left, 14, WORLD, IGNORE);
	MPI_Wait(&request, IGNORE);
	MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Error_class(error, &class);
	TEST(class == MPI_ERR_TRUNCATE);
	return 0;
}

static int self(void)
{
	MPI_Request request;

	for (int bytes = 4; bytes <= 1 << 20; bytes *= 64) {
		fill(out, (size_t)bytes, rank, 15);
		MPI_Irecv(in, bytes, MPI_BYTE, rank, 15, WORLD, &request);
		MPI_Send(out, bytes, MPI_BYTE, rank, 15, WORLD);
		MPI_Wait(&request, IGNORE);
		TEST(filled(in, (size_t)bytes, rank, 15));
	}
	return 0;
}

/* Every other word, sent as they lie and received in one piece */
static int vectors(void)
{
	MPI_Datatype every_other;

	MPI_Type_vector(20000, 1, 2, MPI_UINT32_T, &every_other);
	MPI_Type_commit(&every_other);
	fill(out, 160000, rank, 16);
	MPI_Sendrecv(out, 1, every_other, right, 16, in, 20000, MPI_UINT32_T,
		     left, 16, WORLD, IGNORE);
	MPI_Type_free(&every_other);
	fill(out, 160000, left, 16);
	for (int i = 0; i < 20000; i++)
		TEST(in[i] == out[2 * i]);
	return 0;
}

static int persistent(void)
{
	MPI_Request request[2];
	int value = 0, got;

	MPI_Send_init(&value, 1, MPI_INT, right, 17, WORLD, &request[0]);
	MPI_Recv_init(&got, 1, MPI_INT, left, 17, WORLD, &request[1]);
	for (int i = 0; i < 100; i++) {
		value = rank * 1000 + i;
		MPI_Startall(2, request);
		MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
		TEST(got == left * 1000 + i);
	}
	MPI_Request_free(&request[0]);
	MPI_Request_free(&request[1]);
	return 0;
}

/* ---- Collectives and communicators ---- */

static int collectives(void)
{
	for (int count = 1; count <= 1 << 16; count *= 16) {
		const uint32_t sum = (uint32_t)(ranks * (ranks - 1) / 2);

		for (int i = 0; i < count; i++)
			out[i] = (uint32_t)(rank + i);
		MPI_Allreduce(out, in, count, MPI_UINT32_T, MPI_SUM, WORLD);
		for (int i = 0; i < count; i++)
			TEST(in[i] == sum + (uint32_t)(i * ranks));
		MPI_Bcast(out, count, MPI_UINT32_T, count % ranks, WORLD);
		TEST(out[0] == (uint32_t)(count % ranks));
		MPI_Allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, WORLD);
		for (int i = 0; i < ranks; i++)
			TEST(in[i] == (uint32_t)i);
	}
	return 0;
}

static int alltoall(void)
{
	const int each = 5000;
	MPI_Request request;

	for (int to = 0; to < ranks; to++)
		fill(out + to * each, (size_t)each * 4, rank, (unsigned int)to);
	MPI_Ialltoall(out, each, MPI_UINT32_T, in, each, MPI_UINT32_T, WORLD,
		      &request);
	MPI_Wait(&request, IGNORE);
	for (int from = 0; from < ranks; from++)
		TEST(filled(in + from * each, (size_t)each * 4, from,
			    (unsigned int)rank));
	return 0;
}

/* The same tag in another communicator is another message. */
static int communicators(void)
{
	MPI_Comm twin, half;
	int got[2], sum;

	MPI_Comm_dup(WORLD, &twin);
	MPI_Comm_split(WORLD, rank % 2, -rank, &half);
	got[0] = rank;
	got[1] = rank + 1000;
	MPI_Send(&got[0], 1, MPI_INT, right, 18, WORLD);
	MPI_Send(&got[1], 1, MPI_INT, right, 18, twin);
	MPI_Recv(&got[1], 1, MPI_INT, left, 18, twin, IGNORE);
	MPI_Recv(&got[0], 1, MPI_INT, left, 18, WORLD, IGNORE);
	TEST(got[0] == left && got[1] == left + 1000);
	MPI_Allreduce(&(int){ 1 }, &sum, 1, MPI_INT, MPI_SUM, half);
	TEST(sum == (ranks + 1 - rank % 2) / 2);
	MPI_Comm_free(&half);
	MPI_Comm_free(&twin);
	return 0;
}

/* ---- Windows ---- */

static int windows(void)
{
	uint32_t *words, got = 0;
	MPI_Win window;

	MPI_Win_allocate(64 * sizeof(*words), sizeof(*words), MPI_INFO_NULL,
			 WORLD, &words, &window);
	memset(words, 0, 64 * sizeof(*words));
	MPI_Win_fence(0, window);
	MPI_Put(&(uint32_t){ (uint32_t)rank + 1 }, 1, MPI_UINT32_T, right, 3, 1,
		MPI_UINT32_T, window);
	for (int i = 0; i < 10; i++)
		MPI_Accumulate(&(uint32_t){ 2 }, 1, MPI_UINT32_T, 0, 5, 1,
			       MPI_UINT32_T, MPI_SUM, window);
	MPI_Win_fence(0, window);
	TEST(words[3] == (uint32_t)left + 1);
	TEST(rank || words[5] == 20u * (uint32_t)ranks);
	MPI_Get(&got, 1, MPI_UINT32_T, 0, 5, 1, MPI_UINT32_T, window);
	MPI_Win_fence(0, window);
	TEST(got == 20u * (uint32_t)ranks);
	MPI_Win_free(&window);
	return 0;
}

/* ---- All at once ---- */

#define ROUNDS 60

/* Lengths are the same on both sides: of sender, receiver and round. */
static int length_of(int from, int to, int round)
{
	const uint32_t mixed = (uint32_t)(from * 31 + to * 17 + round * 101) *
			       2654435761u;

	return (int)(4 * (mixed >> (mixed % 3 ? 22 : 17)));
}

static int random_round(int round)
{
	MPI_Request request[128];
	const size_t room = BUFFER / 4 / (size_t)ranks;

	for (int i = 0; i < ranks; i++)
		MPI_Irecv(in + (size_t)i * room, length_of(i, rank, round),
			  MPI_BYTE, i, round, WORLD, &request[i]);
	for (int i = 0; i < ranks; i++) {
		fill(out + (size_t)i * room,
		     (size_t)length_of(rank, i, round), rank,
		     (unsigned int)round);
		MPI_Isend(out + (size_t)i * room, length_of(rank, i, round),
			  MPI_BYTE, i, round, WORLD, &request[ranks + i]);
	}
	MPI_Waitall(2 * ranks, request, MPI_STATUSES_IGNORE);
	for (int i = 0; i < ranks; i++)
		TEST(filled(in + (size_t)i * room,
			    (size_t)length_of(i, rank, round), i,
			    (unsigned int)round));
	return 0;
}

static int random_ones(void)
{
	for (int round = 0; round < ROUNDS; round++)
		TEST(!random_round(round));
	return 0;
}

/* Rank 0 goes on to MPI_Finalize() while others have yet to receive these. */
#define LATE 3000

static int late(void)
{
	int got;

	if (!rank) {
		for (int i = 0; i < LATE; i++)
			MPI_Send(&i, 1, MPI_INT, 1, 19, WORLD);
		return 0;
	}
	if (rank > 1)
		return 0;
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	for (int i = 0; i < LATE; i++) {
		MPI_Recv(&got, 1, MPI_INT, 0, 19, WORLD, IGNORE);
		TEST(got == i);
	}
	return 0;
}

static const struct test tests[] = {
	{ "messages of all lengths", lengths },
	{ "messages of one sender come in their order", order },
	{ "thousands of unexpected messages wait for their receives",
	  unexpected },
	{ "a message that is wanted comes before more than there is room for",
	  flood },
	{ "receives from any source, with any tag", any_source },
	{ "probes, and messages that are claimed", probes },
	{ "a synchronous send waits for its receive", synchronous },
	{ "a receive can be cancelled", cancelled },
	{ "a message that is too long is an error of its receive", truncated },
	{ "messages to oneself", self },
	{ "messages that do not lie in one piece", vectors },
	{ "persistent requests", persistent },
	{ "collectives", collectives },
	{ "everybody to everybody", alltoall },
	{ "communicators do not mix", communicators },
	{ "windows", windows },
	{ "random lengths, all at once", random_ones },
};

#define TESTS ((int)(sizeof(tests) / sizeof(*tests)))

int main(int argc, char **argv)
{
	int failed, late_failed;

	test_begin(&argc, &argv);
	out = aligned_alloc(4096, BUFFER);
	in = aligned_alloc(4096, BUFFER);
	if (!out || !in)
		abort();
	failed = test_points(tests, TESTS, TESTS + 1);
	late_failed = late();
	MPI_Finalize();
	/* Where one was lost, its receiver hangs or fails. */
	if (!rank)
		printf("ok %d what is under way in MPI_Finalize() arrives\n",
		       TESTS + 1);
	free(out);
	free(in);
	return failed || late_failed;
}
