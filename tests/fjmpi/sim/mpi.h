/* SPDX-License-Identifier: MIT */
/*
 * As much of MPI as libfjmpi and its tests call, for tofu-sim, where no MPI
 * runs. It is a layer over <tofu/boot.h> and <tofu/job.h>, in the program
 * itself: so each node has its own.
 *
 * MPI_COMM_WORLD is the only communicator. Functions return MPI_SUCCESS; one
 * that fails ends the program, as MPI's default does.
 */
#ifndef FJMPI_SIM_MPI_H
#define FJMPI_SIM_MPI_H

typedef int MPI_Comm;
typedef int MPI_Group;

#define MPI_SUCCESS 0
#define MPI_UNDEFINED (-1)

#define MPI_COMM_NULL 0
#define MPI_COMM_WORLD 1

typedef enum { MPI_BYTE, MPI_INT, MPI_DOUBLE } MPI_Datatype;
typedef enum { MPI_MIN, MPI_MAX } MPI_Op;

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_Initialized(int *flag);
int MPI_Finalized(int *flag);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_size(MPI_Comm comm, int *size);
double MPI_Wtime(void);

int MPI_Barrier(MPI_Comm comm);
/* Of MPI_BYTE, as many to be sent as to be received from each */
int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all,
		  int each, MPI_Datatype all_type, MPI_Comm comm);
/* Of MPI_INT or MPI_DOUBLE */
int MPI_Allreduce(const void *mine, void *result, int count, MPI_Datatype type,
		  MPI_Op op, MPI_Comm comm);

int MPI_Comm_test_inter(MPI_Comm comm, int *flag);
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group);
int MPI_Group_free(MPI_Group *group);
int MPI_Group_size(MPI_Group group, int *size);
int MPI_Group_translate_ranks(MPI_Group from, int count, const int ranks[],
			      MPI_Group to, int there[]);

#endif /* FJMPI_SIM_MPI_H */
