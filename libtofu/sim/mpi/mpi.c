/* SPDX-License-Identifier: MIT */
#include "sim/mpi/transport.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TAG 1
#define STATUS_FAILED 125

/* Vain tests before a process sleeps, about a tenth of a millisecond */
#define PATIENCE 1000

/**
 * @host:     processes of this host
 * @patience: vain tests before this one sleeps
 * @sent:     requests, @room of them
 */
static struct {
	MPI_Comm host;
	unsigned int patience;
	MPI_Request *sent;
	unsigned int room;
} mpi;

static void begin(unsigned int *rank, unsigned int *count)
{
	int number, numbers, here, level;

	/* The library may have threads; MPI is called by one. */
	MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &number);
	MPI_Comm_size(MPI_COMM_WORLD, &numbers);
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, number,
			    MPI_INFO_NULL, &mpi.host);
	MPI_Comm_size(mpi.host, &here);
	mpi.patience = here > sysconf(_SC_NPROCESSORS_ONLN) ? 1 : PATIENCE;
	*rank = (unsigned int)number;
	*count = (unsigned int)numbers;
}

static __attribute__((noreturn)) void no_memory(void)
{
	fputs("tofu-sim: out of memory\n", stderr);
	MPI_Abort(MPI_COMM_WORLD, STATUS_FAILED);
	abort();
}

/*
 * MPI's own waiting keeps the processor, and with it the process that is waited
 * for where there are more processes than processors. Who sleeps for a little
 * gets it again soon.
 */
static void give_way(unsigned int *tries)
{
	static const struct timespec nap = { .tv_nsec = 10000 };

	if (++*tries > mpi.patience)
		nanosleep(&nap, NULL);
}

static void wait_for(MPI_Request *request)
{
	unsigned int tries = 0;
	int done;

	for (;;) {
		MPI_Test(request, &done, MPI_STATUS_IGNORE);
		if (done)
			return;
		give_way(&tries);
	}
}

static void receive(struct sim_parcel *parcel)
{
	MPI_Message message;
	MPI_Status status;
	unsigned int tries = 0;
	int bytes, came;

	for (;;) {
		MPI_Improbe((int)parcel->rank, TAG, MPI_COMM_WORLD, &came,
			    &message, &status);
		if (came)
			break;
		give_way(&tries);
	}
	MPI_Get_count(&status, MPI_BYTE, &bytes);
	if (!sim_bytes_need(&parcel->in, (size_t)bytes))
		no_memory();
	MPI_Mrecv(parcel->in.at, bytes, MPI_BYTE, &message, &status);
	parcel->in.used = (size_t)bytes;
}

static MPI_Request *requests(unsigned int count)
{
	if (count > mpi.room) {
		free(mpi.sent);
		mpi.sent = calloc(count, sizeof(*mpi.sent));
		mpi.room = count;
		if (!mpi.sent)
			no_memory();
	}
	return mpi.sent;
}

static void exchange(struct sim_parcel *parcels, unsigned int count,
		     uint64_t *most, unsigned int numbers)
{
	MPI_Request *sent = requests(count + 1);

	sent[count] = MPI_REQUEST_NULL;
	for (unsigned int i = 0; i < count; i++)
		MPI_Isend(parcels[i].out.at, (int)parcels[i].out.used, MPI_BYTE,
			  (int)parcels[i].rank, TAG, MPI_COMM_WORLD, &sent[i]);
	if (numbers)
		MPI_Iallreduce(MPI_IN_PLACE, most, (int)numbers, MPI_UINT64_T,
			       MPI_MAX, MPI_COMM_WORLD, &sent[count]);
	for (unsigned int i = 0; i < count; i++)
		receive(&parcels[i]);
	for (unsigned int i = 0; i <= count; i++)
		wait_for(&sent[i]);
}

static void most(uint64_t *numbers, unsigned int count)
{
	MPI_Allreduce(MPI_IN_PLACE, numbers, (int)count, MPI_UINT64_T, MPI_MAX,
		      MPI_COMM_WORLD);
}

static void sum(uint64_t *numbers, unsigned int count)
{
	MPI_Allreduce(MPI_IN_PLACE, numbers, (int)count, MPI_UINT64_T, MPI_SUM,
		      MPI_COMM_WORLD);
}

static void host_sum(uint64_t *numbers, unsigned int count)
{
	MPI_Allreduce(MPI_IN_PLACE, numbers, (int)count, MPI_UINT64_T, MPI_SUM,
		      mpi.host);
}

static void end(void)
{
	MPI_Comm_free(&mpi.host);
	MPI_Finalize();
	free(mpi.sent);
	mpi.sent = NULL;
	mpi.room = 0;
}

__attribute__((visibility("default")))
const struct sim_transport sim_transport_of_mpi = {
	.size = sizeof(struct sim_transport),
	.begin = begin,
	.exchange = exchange,
	.most = most,
	.sum = sum,
	.host_sum = host_sum,
	.end = end,
};
