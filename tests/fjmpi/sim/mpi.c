/* SPDX-License-Identifier: MIT */
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tofu/boot.h>

/* Seconds of virtual time that a wait may take */
#define TIMEOUT 60

static struct tofu_boot *boot;
static char why[TOFU_BOOT_WHY];
static int finalized;

static void check(int code)
{
	if (!code)
		return;
	fprintf(stderr, "mpi: %s\n", why);
	exit(EXIT_FAILURE);
}

/* ---- The program ---- */

int MPI_Init(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	check(tofu_boot_join(TIMEOUT, why, &boot));
	return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
	check(tofu_boot_leave(boot));
	finalized = 1;
	return MPI_SUCCESS;
}

int MPI_Initialized(int *flag)
{
	*flag = boot != NULL;
	return MPI_SUCCESS;
}

int MPI_Finalized(int *flag)
{
	*flag = finalized;
	return MPI_SUCCESS;
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
	(void)comm;
	*rank = tofu_boot_rank(boot);
	return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
	(void)comm;
	*size = tofu_boot_size(boot);
	return MPI_SUCCESS;
}

double MPI_Wtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Collectives ---- */

int MPI_Barrier(MPI_Comm comm)
{
	(void)comm;
	check(tofu_boot_barrier(boot));
	return MPI_SUCCESS;
}

int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all,
		  int each, MPI_Datatype all_type, MPI_Comm comm)
{
	(void)type, (void)each, (void)all_type, (void)comm;
	check(tofu_boot_allgather(boot, mine, (size_t)count, all));
	return MPI_SUCCESS;
}

static void take_double(double *result, double value, MPI_Op op)
{
	if (op == MPI_MIN ? value < *result : value > *result)
		*result = value;
}

static void take_int(int *result, int value, MPI_Op op)
{
	if (op == MPI_MIN ? value < *result : value > *result)
		*result = value;
}

/* @all: @count values of each process */
static void reduce(const void *all, void *result, int count, MPI_Datatype type,
		   MPI_Op op)
{
	int processes = tofu_boot_size(boot);

	for (int i = 0; i < processes * count; i++)
		if (type == MPI_DOUBLE)
			take_double((double *)result + i % count,
				    ((const double *)all)[i], op);
		else
			take_int((int *)result + i % count,
				 ((const int *)all)[i], op);
}

int MPI_Allreduce(const void *mine, void *result, int count, MPI_Datatype type,
		  MPI_Op op, MPI_Comm comm)
{
	size_t bytes = (size_t)count *
		       (type == MPI_DOUBLE ? sizeof(double) : sizeof(int));
	void *all = calloc((size_t)tofu_boot_size(boot), bytes);

	(void)comm;
	if (!all)
		exit(EXIT_FAILURE);
	check(tofu_boot_allgather(boot, mine, bytes, all));
	memcpy(result, mine, bytes);
	reduce(all, result, count, type, op);
	free(all);
	return MPI_SUCCESS;
}

/* ---- Groups: all processes ---- */

int MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
	(void)comm;
	*flag = 0;
	return MPI_SUCCESS;
}

int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
	*group = comm;
	return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group *group)
{
	*group = 0;
	return MPI_SUCCESS;
}

int MPI_Group_size(MPI_Group group, int *size)
{
	return MPI_Comm_size(group, size);
}

int MPI_Group_translate_ranks(MPI_Group from, int count, const int ranks[],
			      MPI_Group to, int there[])
{
	(void)from, (void)to;
	memcpy(there, ranks, (size_t)count * sizeof(ranks[0]));
	return MPI_SUCCESS;
}
