// SPDX-License-Identifier: MIT
/* <tofu/job.h> on machines of processes. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include <tofu/job.h>

#include "harness.h"
#include "utofu-util.h"

static void ranks_set(unsigned int rank, unsigned int ranks)
{
	char text[12];

	setenv("TOFU_PORT", "emu", 1);
	snprintf(text, sizeof(text), "%u", rank);
	setenv("TOFU_RANK", text, 1);
	snprintf(text, sizeof(text), "%u", ranks);
	setenv("TOFU_RANKS", text, 1);
}

static void node_main(struct tofu_nodes *nodes, unsigned int node)
{
	uint8_t coords[6], own[6];
	struct tofu_job_info info;

	ranks_set(node, nodes->count);
	CHECK(tofu_query_job(&info) == UTOFU_SUCCESS);
	CHECK(info.rank == node && info.ranks == nodes->count);
	CHECK(info.ppn == 1 && info.nodes == nodes->count);
	CHECK(info.shape[0] == nodes->count && info.shape[5] == 1);
	CHECK(utofu_query_my_coords(own) == UTOFU_SUCCESS);
	CHECK(tofu_query_rank_coords(node, coords) == UTOFU_SUCCESS);
	CHECK(!memcmp(coords, own, sizeof(own)));
	for (uint8_t rank = 0; rank < nodes->count; rank++) {
		CHECK(tofu_query_rank_coords(rank, coords) == UTOFU_SUCCESS);
		CHECK(coords[0] == rank && !coords[1] && !coords[5]);
	}
	CHECK(tofu_query_rank_coords(nodes->count, coords) ==
	      UTOFU_ERR_INVALID_NUMBER);
	/* Another rank would be on another node. */
	ranks_set((node + 1) % nodes->count, nodes->count);
	CHECK(tofu_query_job(&info) == UTOFU_ERR_NOT_AVAILABLE);
	tofu_nodes_meet(nodes);
}

TEST(each_process_knows_where_all_are)
{
	EXPECT_EQ(0, tofu_nodes_run(4, node_main, -1));
}

/* tofu_nodes_run() says which node it is, and nothing of a job. */
static void alone_main(struct tofu_nodes *nodes, unsigned int node)
{
	struct tofu_job_info info;
	uint8_t coords[6];

	setenv("TOFU_PORT", "emu", 1);
	CHECK(tofu_query_job(&info) == UTOFU_SUCCESS);
	CHECK(info.rank == 0 && info.ranks == 1 && info.nodes == nodes->count);
	CHECK(tofu_query_rank_coords(0, coords) == UTOFU_SUCCESS);
	CHECK(coords[0] == node);
	tofu_nodes_meet(nodes);
}

TEST(the_only_process_is_where_it_is)
{
	EXPECT_EQ(0, tofu_nodes_run(3, alone_main, -1));
}

TEST(arguments_and_the_environment_are_checked)
{
	struct tofu_job_info info = { .rank = 77 };
	uint8_t coords[6];

	ranks_set(0, 1);
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_query_job(NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_POINTER, tofu_query_rank_coords(0, NULL));
	EXPECT_EQ(UTOFU_ERR_INVALID_NUMBER, tofu_query_rank_coords(1, coords));
	setenv("TOFU_RANK", "1", 1);
	EXPECT_EQ(UTOFU_ERR_NOT_AVAILABLE, tofu_query_job(&info));
	EXPECT_EQ(UTOFU_ERR_NOT_AVAILABLE, tofu_query_rank_coords(0, coords));
	EXPECT_EQ(77, info.rank);
}

TEST_HARNESS_MAIN
