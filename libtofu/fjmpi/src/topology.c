/* SPDX-License-Identifier: MIT */
/*
 * FJMPI_Topology: the places of ranks, from the machine's shape and the rank
 * alone. Each call computes everything anew.
 */
#include <mpi.h>
#include <mpi-ext.h>
#include <tofu/job.h>

#include <string.h>

#include "fjmpi.h"
#include "fold.h"

#define AXES FJMPI_MACHINE_AXES
#define ERR(name) FJMPI_ERR_TOPOLOGY_##name

/**
 * struct job - this process's job
 * @info:   of <tofu/job.h>
 * @origin: coordinates of rank 0 on the machine
 * @size:   sizes of the logical shape, 1 or more
 * @dimensions: number of its dimensions
 */
struct job {
	struct tofu_job_info info;
	uint8_t origin[AXES];
	int size[FJMPI_LOGICAL_AXES];
	int dimensions;
};

/* MPI's ranks must be those that the library computes with. */
static bool job_is_world(const struct job *job)
{
	int rank, ranks;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	return job->info.rank == (uint32_t)rank &&
	       job->info.ranks == (uint32_t)ranks;
}

static int job_get(struct job *job)
{
	if (!fjmpi_mpi_usable() || tofu_query_job(&job->info) ||
	    tofu_query_rank_coords(0, job->origin) || !job_is_world(job))
		return ERR(NOT_AVAILABLE);
	job->dimensions = fjmpi_fold_shape(job->info.shape, job->size);
	return FJMPI_SUCCESS;
}

/* ---- Coordinates ---- */

static bool is_view(int view)
{
	return view == FJMPI_LOGICAL || view == FJMPI_TOFU_SYS ||
	       view == FJMPI_TOFU_REL;
}

/* Number of coordinates of a view */
static int view_dimensions(const struct job *job, int view)
{
	return view == FJMPI_LOGICAL ? job->dimensions : AXES;
}

/* Sets missing coordinates to 0. */
static void view_coords(const struct job *job, int view,
			const uint8_t at[AXES], int coords[AXES])
{
	memset(coords, 0, AXES * sizeof(*coords));
	if (view == FJMPI_LOGICAL) {
		fjmpi_fold_logical(job->info.shape, at, coords);
		return;
	}
	for (int i = 0; i < AXES; i++) {
		int size = job->info.shape[i];

		coords[i] = at[i];
		if (view == FJMPI_TOFU_REL)
			coords[i] = (at[i] + size - job->origin[i]) % size;
	}
}

static int machine_coords(const struct job *job, int view, const int coords[],
			  uint8_t at[AXES])
{
	int logical[FJMPI_LOGICAL_AXES] = { 0 };

	if (view == FJMPI_LOGICAL) {
		memcpy(logical, coords, job->dimensions * sizeof(*coords));
		return fjmpi_fold_machine(job->info.shape, logical, at) ?
			       FJMPI_SUCCESS :
			       ERR(INVALID_COORDS);
	}
	for (int i = 0; i < AXES; i++) {
		int size = job->info.shape[i];

		if (coords[i] < 0 || coords[i] >= size)
			return ERR(INVALID_COORDS);
		at[i] = (uint8_t)coords[i];
		if (view == FJMPI_TOFU_REL)
			at[i] = (uint8_t)((coords[i] + job->origin[i]) % size);
	}
	return FJMPI_SUCCESS;
}

static int rank_coords(const struct job *job, int rank, int view,
		       int coords[AXES])
{
	uint8_t at[AXES];

	if (rank < 0 || tofu_query_rank_coords((uint32_t)rank, at))
		return ERR(INVALID_RANK);
	view_coords(job, view, at, coords);
	return FJMPI_SUCCESS;
}

/* ---- Ranks ---- */

static int64_t node_number(const struct job *job, const uint8_t at[AXES])
{
	int64_t number = 0;

	for (int i = 0; i < AXES; i++)
		number = number * job->info.shape[i] + at[i];
	return number;
}

/* The lowest rank at coordinates, as tofu_query_rank_coords() places them */
static int first_rank(const struct job *job, int view, const int coords[],
		      int *rank)
{
	uint8_t at[AXES];
	int64_t first;
	int err = machine_coords(job, view, coords, at);

	if (err)
		return err;
	first = node_number(job, at) - node_number(job, job->origin);
	first *= job->info.ppn;
	if (first < 0 || first >= job->info.ranks)
		return ERR(NO_PROCESS);
	*rank = (int)first;
	return FJMPI_SUCCESS;
}

/* ---- Communicators ---- */

/**
 * struct groups - groups, to translate ranks
 * @world: group of MPI_COMM_WORLD
 * @own:   group of the communicator
 */
struct groups {
	MPI_Group world;
	MPI_Group own;
};

static int groups_open(MPI_Comm comm, struct groups *groups)
{
	int inter;

	if (comm == MPI_COMM_NULL)
		return ERR(INVALID_COMM);
	MPI_Comm_test_inter(comm, &inter);
	if (inter)
		return ERR(INVALID_COMM);
	MPI_Comm_group(MPI_COMM_WORLD, &groups->world);
	MPI_Comm_group(comm, &groups->own);
	return FJMPI_SUCCESS;
}

static void groups_close(struct groups *groups)
{
	MPI_Group_free(&groups->own);
	MPI_Group_free(&groups->world);
}

/* Return: the rank, or -1 where there is none. */
static int translate(MPI_Group from, int rank, MPI_Group to)
{
	int size, there;

	MPI_Group_size(from, &size);
	if (rank < 0 || rank >= size)
		return -1;
	MPI_Group_translate_ranks(from, 1, &rank, to, &there);
	return there == MPI_UNDEFINED ? -1 : there;
}

static int world_rank(MPI_Comm comm, int rank, int *there)
{
	struct groups groups;
	int err = groups_open(comm, &groups);

	if (err)
		return err;
	*there = translate(groups.own, rank, groups.world);
	groups_close(&groups);
	return *there < 0 ? ERR(INVALID_RANK) : FJMPI_SUCCESS;
}

/* Ranks of the communicator among the ranks of a node */
static int comm_ranks(const struct job *job, const struct groups *groups,
		      int first, int max, int ranks[])
{
	int64_t end = (int64_t)first + job->info.ppn;
	int count = 0;

	for (int64_t i = first; i < end && i < job->info.ranks; i++) {
		int rank = translate(groups->world, (int)i, groups->own);

		if (rank >= 0 && count++ < max)
			ranks[count - 1] = rank;
	}
	return count;
}

/* ---- The interface of Fugaku ---- */

int FJMPI_Topology_get_dimension(int *size)
{
	struct job job;
	int err = job_get(&job);

	if (err)
		return err;
	if (!size)
		return ERR(INVALID_POINTER);
	*size = job.dimensions;
	return FJMPI_SUCCESS;
}

int FJMPI_Topology_get_shape(int *x, int *y, int *z)
{
	struct job job;
	int err = job_get(&job);

	if (err)
		return err;
	if (!x || !y || !z)
		return ERR(INVALID_POINTER);
	*x = job.size[0];
	*y = job.dimensions > 1 ? job.size[1] : 0;
	*z = job.dimensions > 2 ? job.size[2] : 0;
	return FJMPI_SUCCESS;
}

int FJMPI_Topology_get_coords(MPI_Comm comm, int rank, int view, int maxdims,
			      int coords[])
{
	int room = view == FJMPI_LOGICAL ? FJMPI_LOGICAL_AXES : AXES;
	int all[AXES];
	struct job job;
	int err = job_get(&job);

	if (!err)
		err = world_rank(comm, rank, &rank);
	if (err)
		return err;
	if (!is_view(view))
		return ERR(INVALID_VIEW);
	if (maxdims < view_dimensions(&job, view))
		return ERR(INVALID_MAXDIMS);
	if (!coords)
		return ERR(INVALID_POINTER);
	err = rank_coords(&job, rank, view, all);
	if (err)
		return err;
	memcpy(coords, all, (maxdims < room ? maxdims : room) * sizeof(*all));
	return FJMPI_SUCCESS;
}

int FJMPI_Topology_get_ranks(MPI_Comm comm, int view, int coords[], int maxppn,
			     int *outppn, int ranks[])
{
	struct groups groups;
	struct job job;
	int first, count;
	int err = job_get(&job);

	if (err)
		return err;
	if (!is_view(view))
		return ERR(INVALID_VIEW);
	if (maxppn < 1)
		return ERR(INVALID_MAXPPN);
	if (!coords || !outppn || !ranks)
		return ERR(INVALID_POINTER);
	err = groups_open(comm, &groups);
	if (err)
		return err;
	err = first_rank(&job, view, coords, &first);
	if (!err) {
		count = comm_ranks(&job, &groups, first, maxppn, ranks);
		if (count)
			*outppn = count;
		else
			err = ERR(NO_PROCESS);
	}
	groups_close(&groups);
	return err;
}

/* ---- The interface of K and FX10 ---- */

/* The place of a rank, by the first @count coordinates of the view */
static int rank_to(int rank, int view, int count, int *const out[])
{
	int coords[AXES];
	struct job job;
	int err = job_get(&job);

	if (err)
		return err;
	if (view_dimensions(&job, view) > count)
		return ERR(INVALID_DIMENSION);
	for (int i = 0; i < count; i++)
		if (!out[i])
			return ERR(INVALID_POINTER);
	err = rank_coords(&job, rank, view, coords);
	for (int i = 0; i < count && !err; i++)
		*out[i] = coords[i];
	return err;
}

/* The rank at logical coordinates, of which the function has @count */
static int to_rank(int count, const int logical[FJMPI_LOGICAL_AXES], int *rank)
{
	struct job job;
	int err = job_get(&job);

	if (err)
		return err;
	if (job.dimensions > count)
		return ERR(INVALID_DIMENSION);
	if (!rank)
		return ERR(INVALID_POINTER);
	for (int i = job.dimensions; i < count; i++)
		if (logical[i])
			return ERR(INVALID_COORDS);
	return first_rank(&job, FJMPI_LOGICAL, logical, rank);
}

int FJMPI_Topology_rank2x(int rank, int *x)
{
	return rank_to(rank, FJMPI_LOGICAL, 1, (int *const[]){ x });
}

int FJMPI_Topology_rank2xy(int rank, int *x, int *y)
{
	return rank_to(rank, FJMPI_LOGICAL, 2, (int *const[]){ x, y });
}

int FJMPI_Topology_rank2xyz(int rank, int *x, int *y, int *z)
{
	return rank_to(rank, FJMPI_LOGICAL, 3, (int *const[]){ x, y, z });
}

int FJMPI_Topology_x2rank(int x, int *rank)
{
	return to_rank(1, (const int[3]){ x }, rank);
}

int FJMPI_Topology_xy2rank(int x, int y, int *rank)
{
	return to_rank(2, (const int[3]){ x, y }, rank);
}

int FJMPI_Topology_xyz2rank(int x, int y, int z, int *rank)
{
	return to_rank(3, (const int[3]){ x, y, z }, rank);
}

int FJMPI_Topology_sys_rank2xyzabc(int rank, int *x, int *y, int *z, int *a,
				   int *b, int *c)
{
	return rank_to(rank, FJMPI_TOFU_SYS, AXES,
		       (int *const[]){ x, y, z, a, b, c });
}

int FJMPI_Topology_rel_rank2xyzabc(int rank, int *x, int *y, int *z, int *a,
				   int *b, int *c)
{
	return rank_to(rank, FJMPI_TOFU_REL, AXES,
		       (int *const[]){ x, y, z, a, b, c });
}
