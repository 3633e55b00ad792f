/* SPDX-License-Identifier: MIT */
/*
 * Where ranks are, three on a node, on a machine that is made up here: libfjmpi
 * takes these two functions for the library's. Nodes 0 and 1 are at B = 0 and 1, so
 * rank 3 is alone on its node.
 */
#include "fjmpi-test.h"

#include <string.h>
#include <tofu/job.h>

#define ERR(name) FJMPI_ERR_TOPOLOGY_##name
#define PPN 3

static bool other_world;

int tofu_query_job(struct tofu_job_info *info)
{
	*info = (struct tofu_job_info){
		.rank = (uint32_t)rank,
		.ranks = (uint32_t)ranks + other_world,
		.ppn = PPN,
		.nodes = 6,
		.shape = { 1, 2, 1, 1, 3, 1 },
	};
	return UTOFU_SUCCESS;
}

int tofu_query_rank_coords(uint32_t of, uint8_t coords[])
{
	if (of >= (uint32_t)ranks)
		return UTOFU_ERR_INVALID_NUMBER;
	memset(coords, 0, 6);
	coords[4] = (uint8_t)(of / PPN);
	return UTOFU_SUCCESS;
}

static int all_ranks_of_a_node(void)
{
	int coords[6] = { 0 }, found[PPN] = { 9, 9, 9 }, count;

	TEST(!FJMPI_Topology_get_ranks(MPI_COMM_WORLD, FJMPI_TOFU_SYS, coords,
				       PPN, &count, found));
	TEST(count == 3 && !found[0] && found[1] == 1 && found[2] == 2);
	coords[4] = 1;
	TEST(!FJMPI_Topology_get_ranks(MPI_COMM_WORLD, FJMPI_TOFU_SYS, coords,
				       PPN, &count, found));
	TEST(count == 1 && found[0] == 3 && found[1] == 1);
	return 0;
}

static int no_more_than_there_is_room_for(void)
{
	int coords[6] = { 0 }, found[PPN] = { 9, 9, 9 }, count;

	TEST(!FJMPI_Topology_get_ranks(MPI_COMM_WORLD, FJMPI_TOFU_SYS, coords,
				       2, &count, found));
	TEST(count == 3 && !found[0] && found[1] == 1 && found[2] == 9);
	return 0;
}

static int only_those_of_the_communicator(void)
{
	int coords[6] = { 0 }, found[PPN] = { 9, 9, 9 }, count, err;
	MPI_Comm some;

	/* Ranks 3, 2, 1 are 0, 1, 2; rank 0 is alone. */
	MPI_Comm_split(MPI_COMM_WORLD, !rank, -rank, &some);
	err = FJMPI_Topology_get_ranks(some, FJMPI_TOFU_SYS, coords, PPN,
				       &count, found);
	MPI_Comm_free(&some);
	TEST(!err);
	if (rank)
		TEST(count == 2 && found[0] == 2 && found[1] == 1);
	else
		TEST(count == 1 && found[0] == 0);
	return 0;
}

static int ranks_of_a_node_share_coordinates(void)
{
	int x, y, there;

	for (int r = 0; r < 4; r++) {
		TEST(!FJMPI_Topology_rank2xy(r, &x, &y));
		TEST(x == 0 && y == r / PPN);
		TEST(!FJMPI_Topology_xy2rank(x, y, &there));
		TEST(there == r / PPN * PPN);
	}
	TEST(FJMPI_Topology_xy2rank(0, 2, &there) == ERR(NO_PROCESS));
	TEST(FJMPI_Topology_xy2rank(0, 6, &there) == ERR(INVALID_COORDS));
	return 0;
}

static int ranks_have_to_be_those_of_mpi(void)
{
	int x, y;

	other_world = true;
	TEST(FJMPI_Topology_rank2xy(0, &x, &y) == ERR(NOT_AVAILABLE));
	other_world = false;
	return 0;
}

static const struct test tests[] = {
	{ "all ranks of a node", all_ranks_of_a_node },
	{ "no more than there is room for", no_more_than_there_is_room_for },
	{ "only those of the communicator", only_those_of_the_communicator },
	{ "ranks of a node share coordinates", ranks_of_a_node_share_coordinates },
	{ "ranks have to be those of MPI", ranks_have_to_be_those_of_mpi },
};

int main(int argc, char **argv)
{
	test_begin(&argc, &argv);
	return test_run(tests, sizeof(tests) / sizeof(*tests));
}
