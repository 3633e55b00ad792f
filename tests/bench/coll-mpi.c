// SPDX-License-Identifier: MIT
/* The collectives of an MPI */
#include <mpi.h>

#include "coll.h"

struct coll_group coll_begin(int *argc, char ***argv)
{
	int number, members;

	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &number);
	MPI_Comm_size(MPI_COMM_WORLD, &members);
	return (struct coll_group){ .number = (uint32_t)number,
				    .members = (uint32_t)members };
}

void coll_end(void)
{
	MPI_Finalize();
}

const char *coll_make(const struct coll_case *c)
{
	(void)c;
	return "-";
}

void coll_unmake(void)
{
}

/* The communicator's handler ends the program after an error. */
void coll_once(const struct coll_case *c)
{
	int count = (int)(c->bytes / sizeof(double));

	switch (c->kind) {
	case COLL_ALLREDUCE:
		MPI_Allreduce(c->send, c->recv, count, MPI_DOUBLE, MPI_SUM,
			      MPI_COMM_WORLD);
		break;
	case COLL_BCAST:
		MPI_Bcast(c->recv, count, MPI_DOUBLE, COLL_ROOT,
			  MPI_COMM_WORLD);
		break;
	case COLL_ALLGATHER:
		MPI_Allgather(c->send, count, MPI_DOUBLE, c->recv, count,
			      MPI_DOUBLE, MPI_COMM_WORLD);
		break;
	case COLL_BARRIER:
		MPI_Barrier(MPI_COMM_WORLD);
		break;
	case COLL_ALLTOALL:
		MPI_Alltoall(c->send, count, MPI_DOUBLE, c->recv, count,
			     MPI_DOUBLE, MPI_COMM_WORLD);
		break;
	case COLL_REDUCE:
		MPI_Reduce(c->send, c->recv, count, MPI_DOUBLE, MPI_SUM,
			   COLL_ROOT, MPI_COMM_WORLD);
		break;
	default:
		coll_fail("no such collective", c->kind);
	}
}

double coll_meet(double value)
{
	double greatest;

	MPI_Allreduce(&value, &greatest, 1, MPI_DOUBLE, MPI_MAX,
		      MPI_COMM_WORLD);
	return greatest;
}
