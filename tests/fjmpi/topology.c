/* SPDX-License-Identifier: MIT */
/*
 * Where ranks are, on whatever machine TOFU_SHAPE names and with TOFU_PPN processes
 * a node.
 */
#include "fjmpi-test.h"

#include <string.h>
#include <tofu/job.h>

#define ERR(name) FJMPI_ERR_TOPOLOGY_##name
#define AXES 6

static struct tofu_job_info job;
static int dimensions, size[3];

static const int views[] = { FJMPI_LOGICAL, FJMPI_TOFU_SYS, FJMPI_TOFU_REL };

static int shape(void)
{
	int product = 1;

	TEST(tofu_query_job(&job) == UTOFU_SUCCESS);
	TEST(!FJMPI_Topology_get_dimension(&dimensions));
	TEST(dimensions >= 1 && dimensions <= 3);
	TEST(!FJMPI_Topology_get_shape(&size[0], &size[1], &size[2]));
	for (int i = 0; i < 3; i++) {
		TEST(i < dimensions ? size[i] > 0 : !size[i]);
		product *= size[i] ? size[i] : 1;
	}
	TEST(product == (int)job.nodes);
	return 0;
}

static int system_coordinates(void)
{
	uint8_t own[AXES], all[16][AXES];
	int coords[AXES];

	TEST(utofu_query_my_coords(own) == UTOFU_SUCCESS);
	MPI_Allgather(own, AXES, MPI_BYTE, all, AXES, MPI_BYTE, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++) {
		TEST(!FJMPI_Topology_get_coords(MPI_COMM_WORLD, r,
						FJMPI_TOFU_SYS, AXES, coords));
		for (int i = 0; i < AXES; i++)
			TEST(coords[i] == all[r][i]);
	}
	return 0;
}

static int relative_coordinates(void)
{
	int sys[AXES], first[AXES], rel[AXES];

	FJMPI_Topology_get_coords(MPI_COMM_WORLD, 0, FJMPI_TOFU_SYS, AXES,
				  first);
	for (int r = 0; r < ranks; r++) {
		FJMPI_Topology_get_coords(MPI_COMM_WORLD, r, FJMPI_TOFU_SYS,
					  AXES, sys);
		TEST(!FJMPI_Topology_get_coords(MPI_COMM_WORLD, r,
						FJMPI_TOFU_REL, AXES, rel));
		for (int i = 0; i < AXES; i++)
			TEST((first[i] + rel[i]) % job.shape[i] == sys[i]);
	}
	return 0;
}

static int logical_coordinates(void)
{
	int coords[AXES] = { 9, 9, 9, 9, 9, 9 };

	for (int r = 0; r < ranks; r++) {
		TEST(!FJMPI_Topology_get_coords(MPI_COMM_WORLD, r,
						FJMPI_LOGICAL, AXES, coords));
		for (int i = 0; i < AXES; i++) {
			if (i < dimensions)
				TEST(coords[i] >= 0 && coords[i] < size[i]);
			else
				TEST(coords[i] == (i < 3 ? 0 : 9));
		}
	}
	return 0;
}

/* The ranks of a rank's node, in any view */
static int node_ranks(void)
{
	int ppn = (int)job.ppn, coords[AXES], found[64], count;

	for (int i = 0; i < 3 * ranks; i++) {
		int r = i / 3, first = r / ppn * ppn;
		int there = ranks - first < ppn ? ranks - first : ppn;

		TEST(!FJMPI_Topology_get_coords(MPI_COMM_WORLD, r, views[i % 3],
						AXES, coords));
		TEST(!FJMPI_Topology_get_ranks(MPI_COMM_WORLD, views[i % 3],
					       coords, 64, &count, found));
		TEST(count == there);
		for (int j = 0; j < count; j++)
			TEST(found[j] == first + j);
	}
	return 0;
}

/* Every place of the logical shape: a rank's, or nobody's */
static int all_places(void)
{
	int nodes = (ranks + (int)job.ppn - 1) / (int)job.ppn, found = 0;
	int coords[3], rank_there, count, err;

	for (int i = 0; i < (int)job.nodes; i++) {
		coords[0] = i % size[0];
		coords[1] = size[1] ? i / size[0] % size[1] : 0;
		coords[2] = size[2] ? i / size[0] / size[1] : 0;
		err = FJMPI_Topology_get_ranks(MPI_COMM_WORLD, FJMPI_LOGICAL,
					       coords, 1, &count, &rank_there);
		TEST(!err || err == ERR(NO_PROCESS));
		found += !err;
		TEST(FJMPI_Topology_xyz2rank(coords[0], coords[1], coords[2],
					     &rank_there) == err);
	}
	TEST(found == nodes);
	return 0;
}

/* The forms of K that the shape has enough dimensions for, and those it has not */
static int k_logical(void)
{
	int first = rank / (int)job.ppn * (int)job.ppn;
	int c[3] = { 9, 9, 9 }, r = -1;

	TEST(!FJMPI_Topology_rank2xyz(rank, &c[0], &c[1], &c[2]));
	TEST(!FJMPI_Topology_xyz2rank(c[0], c[1], c[2], &r) && r == first);
	if (dimensions <= 2) {
		TEST(!FJMPI_Topology_rank2xy(rank, &c[0], &c[1]));
		TEST(!FJMPI_Topology_xy2rank(c[0], c[1], &r) && r == first);
	} else {
		TEST(FJMPI_Topology_rank2xy(rank, &c[0], &c[1]) ==
		     ERR(INVALID_DIMENSION));
		TEST(FJMPI_Topology_xy2rank(0, 0, &r) ==
		     ERR(INVALID_DIMENSION));
	}
	if (dimensions == 1) {
		TEST(!FJMPI_Topology_rank2x(rank, &c[0]));
		TEST(!FJMPI_Topology_x2rank(c[0], &r) && r == first);
	} else {
		TEST(FJMPI_Topology_rank2x(rank, &c[0]) ==
		     ERR(INVALID_DIMENSION));
		TEST(FJMPI_Topology_x2rank(0, &r) == ERR(INVALID_DIMENSION));
	}
	return 0;
}

static int k_machine(void)
{
	int sys[AXES], rel[AXES], c[AXES];

	FJMPI_Topology_get_coords(MPI_COMM_WORLD, right, FJMPI_TOFU_SYS, AXES,
				  sys);
	FJMPI_Topology_get_coords(MPI_COMM_WORLD, right, FJMPI_TOFU_REL, AXES,
				  rel);
	TEST(!FJMPI_Topology_sys_rank2xyzabc(right, &c[0], &c[1], &c[2], &c[3],
					     &c[4], &c[5]));
	TEST(!memcmp(c, sys, sizeof(c)));
	TEST(!FJMPI_Topology_rel_rank2xyzabc(right, &c[0], &c[1], &c[2], &c[3],
					     &c[4], &c[5]));
	TEST(!memcmp(c, rel, sizeof(c)));
	return 0;
}

/* Of a communicator of all ranks, backwards */
static int other_ranks(void)
{
	int own[AXES], there[AXES], found[64], count, first;
	MPI_Comm back;

	MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &back);
	FJMPI_Topology_get_coords(MPI_COMM_WORLD, rank, FJMPI_TOFU_SYS, AXES,
				  own);
	TEST(!FJMPI_Topology_get_coords(back, ranks - 1 - rank, FJMPI_TOFU_SYS,
					AXES, there));
	TEST(!memcmp(own, there, sizeof(own)));
	TEST(!FJMPI_Topology_get_ranks(back, FJMPI_TOFU_SYS, own, 64, &count,
				       found));
	first = rank / (int)job.ppn * (int)job.ppn;
	for (int i = 0; i < count; i++)
		TEST(found[i] == ranks - 1 - first - i);
	MPI_Comm_free(&back);
	return 0;
}

/* Of this rank alone: the others' nodes have none of it. */
static int one_rank(void)
{
	int coords[AXES], found = -1, count = -1, err;
	bool same = left / (int)job.ppn == rank / (int)job.ppn;

	FJMPI_Topology_get_coords(MPI_COMM_WORLD, rank, FJMPI_TOFU_SYS, AXES,
				  coords);
	TEST(!FJMPI_Topology_get_ranks(MPI_COMM_SELF, FJMPI_TOFU_SYS, coords, 1,
				       &count, &found));
	TEST(count == 1 && found == 0);
	FJMPI_Topology_get_coords(MPI_COMM_WORLD, left, FJMPI_TOFU_SYS, AXES,
				  coords);
	count = found = -1;
	err = FJMPI_Topology_get_ranks(MPI_COMM_SELF, FJMPI_TOFU_SYS, coords, 1,
				       &count, &found);
	TEST(same ? !err : err == ERR(NO_PROCESS) && count == -1 && found == -1);
	TEST(FJMPI_Topology_get_coords(MPI_COMM_SELF, 1, FJMPI_TOFU_SYS, AXES,
				       coords) == ERR(INVALID_RANK));
	return 0;
}

/* ---- Errors ---- */

static int intercommunicators(void)
{
	MPI_Comm half, inter;
	int coords[AXES], count, found, err[2];

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &inter);
	err[0] = FJMPI_Topology_get_coords(inter, 0, FJMPI_TOFU_SYS, AXES,
					   coords);
	memset(coords, 0, sizeof(coords));
	err[1] = FJMPI_Topology_get_ranks(inter, FJMPI_TOFU_SYS, coords, 1,
					  &count, &found);
	MPI_Comm_free(&inter);
	MPI_Comm_free(&half);
	TEST(err[0] == ERR(INVALID_COMM) && err[1] == ERR(INVALID_COMM));
	return 0;
}

static int coords_refused(MPI_Comm comm, int r, int view, int maxdims, int err)
{
	int coords[AXES] = { 9, 9, 9, 9, 9, 9 };

	TEST(FJMPI_Topology_get_coords(comm, r, view, maxdims, coords) == err);
	for (int i = 0; i < AXES; i++)
		TEST(coords[i] == 9);
	return 0;
}

static int coords_arguments(void)
{
	TEST(!coords_refused(MPI_COMM_NULL, 0, FJMPI_LOGICAL, 3,
			     ERR(INVALID_COMM)));
	TEST(!coords_refused(MPI_COMM_WORLD, -1, FJMPI_LOGICAL, 3,
			     ERR(INVALID_RANK)));
	TEST(!coords_refused(MPI_COMM_WORLD, ranks, FJMPI_LOGICAL, 3,
			     ERR(INVALID_RANK)));
	TEST(!coords_refused(MPI_COMM_WORLD, 0, 0, 6, ERR(INVALID_VIEW)));
	TEST(!coords_refused(MPI_COMM_WORLD, 0, 4, 6, ERR(INVALID_VIEW)));
	TEST(!coords_refused(MPI_COMM_WORLD, 0, FJMPI_LOGICAL, dimensions - 1,
			     ERR(INVALID_MAXDIMS)));
	TEST(!coords_refused(MPI_COMM_WORLD, 0, FJMPI_TOFU_SYS, 5,
			     ERR(INVALID_MAXDIMS)));
	TEST(!coords_refused(MPI_COMM_WORLD, 0, FJMPI_TOFU_REL, -1,
			     ERR(INVALID_MAXDIMS)));
	TEST(FJMPI_Topology_get_coords(MPI_COMM_WORLD, 0, FJMPI_TOFU_SYS, AXES,
				       NULL) == ERR(INVALID_POINTER));
	return 0;
}

static int ranks_refused(MPI_Comm comm, int view, int *coords, int maxppn,
			 int err)
{
	int count = 9, found = 9;

	TEST(FJMPI_Topology_get_ranks(comm, view, coords, maxppn, &count,
				      &found) == err);
	TEST(count == 9 && found == 9);
	return 0;
}

static int ranks_arguments(void)
{
	int good[AXES] = { 0 }, count, found;

	TEST(!ranks_refused(MPI_COMM_NULL, FJMPI_TOFU_SYS, good, 1,
			    ERR(INVALID_COMM)));
	TEST(!ranks_refused(MPI_COMM_WORLD, 77, good, 1, ERR(INVALID_VIEW)));
	TEST(!ranks_refused(MPI_COMM_WORLD, FJMPI_TOFU_SYS, good, 0,
			    ERR(INVALID_MAXPPN)));
	TEST(!ranks_refused(MPI_COMM_WORLD, FJMPI_TOFU_SYS, NULL, 1,
			    ERR(INVALID_POINTER)));
	TEST(FJMPI_Topology_get_ranks(MPI_COMM_WORLD, FJMPI_TOFU_SYS, good, 1,
				      NULL, &found) == ERR(INVALID_POINTER));
	TEST(FJMPI_Topology_get_ranks(MPI_COMM_WORLD, FJMPI_TOFU_SYS, good, 1,
				      &count, NULL) == ERR(INVALID_POINTER));
	for (int i = 0; i < AXES * 2; i++) {
		int bad[AXES] = { 0 };

		bad[i / 2] = i % 2 ? -1 : job.shape[i / 2];
		TEST(!ranks_refused(MPI_COMM_WORLD, FJMPI_TOFU_SYS, bad, 1,
				    ERR(INVALID_COORDS)));
		TEST(!ranks_refused(MPI_COMM_WORLD, FJMPI_TOFU_REL, bad, 1,
				    ERR(INVALID_COORDS)));
	}
	good[0] = size[0];
	TEST(!ranks_refused(MPI_COMM_WORLD, FJMPI_LOGICAL, good, 1,
			    ERR(INVALID_COORDS)));
	return 0;
}

static int k_arguments(void)
{
	int c[AXES] = { 9, 9, 9, 9, 9, 9 };

	TEST(FJMPI_Topology_get_dimension(NULL) == ERR(INVALID_POINTER));
	TEST(FJMPI_Topology_get_shape(&c[0], NULL, &c[2]) ==
	     ERR(INVALID_POINTER));
	TEST(FJMPI_Topology_rank2xyz(ranks, &c[0], &c[1], &c[2]) ==
	     ERR(INVALID_RANK));
	TEST(FJMPI_Topology_rank2xyz(0, &c[0], &c[1], NULL) ==
	     ERR(INVALID_POINTER));
	TEST(FJMPI_Topology_sys_rank2xyzabc(-1, &c[0], &c[1], &c[2], &c[3],
					    &c[4], &c[5]) == ERR(INVALID_RANK));
	TEST(FJMPI_Topology_rel_rank2xyzabc(0, NULL, &c[1], &c[2], &c[3], &c[4],
					    &c[5]) == ERR(INVALID_POINTER));
	TEST(FJMPI_Topology_xyz2rank(-1, 0, 0, &c[0]) == ERR(INVALID_COORDS));
	TEST(FJMPI_Topology_xyz2rank(size[0], 0, 0, &c[0]) ==
	     ERR(INVALID_COORDS));
	TEST(FJMPI_Topology_xyz2rank(0, 0, size[2] ? size[2] : 1, &c[0]) ==
	     ERR(INVALID_COORDS));
	TEST(FJMPI_Topology_xyz2rank(0, 0, 0, NULL) == ERR(INVALID_POINTER));
	for (int i = 0; i < AXES; i++)
		TEST(c[i] == 9);
	return 0;
}

static const struct test tests[] = {
	{ "the logical shape has all nodes", shape },
	{ "coordinates on the machine are those of uTofu", system_coordinates },
	{ "relative ones count from rank 0", relative_coordinates },
	{ "logical ones are in the logical shape", logical_coordinates },
	{ "coordinates lead back to their ranks", node_ranks },
	{ "every place has a rank or none", all_places },
	{ "logical coordinates as on K", k_logical },
	{ "the machine's coordinates as on K", k_machine },
	{ "ranks of another communicator", other_ranks },
	{ "a communicator with no rank there", one_rank },
	{ "intercommunicators are refused", intercommunicators },
	{ "wrong arguments for coordinates", coords_arguments },
	{ "wrong arguments for ranks", ranks_arguments },
	{ "wrong arguments as on K", k_arguments },
};

int main(int argc, char **argv)
{
	if (FJMPI_Topology_get_dimension(&dimensions) != ERR(NOT_AVAILABLE))
		return 1;
	test_begin(&argc, &argv);
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
