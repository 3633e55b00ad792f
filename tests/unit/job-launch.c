// SPDX-License-Identifier: MIT
/* A job as the environment describes it, and the places of its processes. */
#include <errno.h>
#include <stdlib.h>

#include "harness.h"

#include "port/launch.h"

static const char *const variables[] = {
	"TOFU_RANK",	 "TOFU_RANKS",		 "TOFU_PPN",
	"TOFU_NODE",	 "TOFU_NODES",		 "OMPI_COMM_WORLD_RANK",
	"PMI_RANK",	 "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
	"SLURM_PROCID",	 "SLURM_NTASKS",	 "OMPI_COMM_WORLD_LOCAL_SIZE",
	"PMI_LOCAL_SIZE", "MPI_LOCALNRANKS",	 "SLURM_STEP_NUM_NODES",
};

FIXTURE(launch)
{
	struct tofu_launch launch;
};

FIXTURE_SETUP(launch)
{
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		unsetenv(variables[i]);
	self->launch = (struct tofu_launch){ .rank = 77 };
}

FIXTURE_TEARDOWN(launch)
{
}

static void pair_set(const char *rank, const char *rank_value,
		     const char *ranks, const char *ranks_value)
{
	setenv(rank, rank_value, 1);
	setenv(ranks, ranks_value, 1);
}

#define EXPECT_JOB(expected_rank, expected_ranks, expected_ppn)    \
	do {                                                       \
		ASSERT_EQ(0, tofu_launch_find(&self->launch));     \
		EXPECT_EQ(expected_rank, self->launch.rank);       \
		EXPECT_EQ(expected_ranks, self->launch.ranks);     \
		EXPECT_EQ(expected_ppn, self->launch.ppn);         \
	} while (0)

TEST_F(launch, without_a_word_it_is_the_only_process)
{
	EXPECT_JOB(0, 1, 1);
	/* One of a pair alone says nothing. */
	setenv("TOFU_NODE", "3", 1);
	setenv("PMI_SIZE", "9", 1);
	EXPECT_JOB(0, 1, 1);
}

TEST_F(launch, sources_come_in_order)
{
	pair_set("TOFU_NODE", "1", "TOFU_NODES", "2");
	EXPECT_JOB(1, 2, 1);
	pair_set("SLURM_PROCID", "2", "SLURM_NTASKS", "3");
	EXPECT_JOB(2, 3, 1);
	pair_set("PMI_RANK", "3", "PMI_SIZE", "4");
	EXPECT_JOB(3, 4, 1);
	pair_set("OMPI_COMM_WORLD_RANK", "4", "OMPI_COMM_WORLD_SIZE", "5");
	EXPECT_JOB(4, 5, 1);
	pair_set("TOFU_RANK", "5", "TOFU_RANKS", "6");
	setenv("TOFU_PPN", "4", 1);
	EXPECT_JOB(5, 6, 4);
}

/* struct word - a variable that is set, and what is known then */
struct word {
	const char *name;
	const char *value;
	int hosts;
};

TEST_F(launch, a_launcher_says_whether_there_are_several_hosts)
{
	static const struct word words[] = {
		/* Not for a process that srun did not start */
		{ "SLURM_STEP_NUM_NODES", "2", 0 },
		{ "SLURM_PROCID", "2", 0 },
		{ "SLURM_NTASKS", "4", 1 },
		{ "SLURM_STEP_NUM_NODES", "x", -EINVAL },
		{ "SLURM_STEP_NUM_NODES", "2", 1 },
		/* srun --mpi=pmi2, then a hydra that srun has started */
		{ "PMI_RANK", "2", 1 },
		{ "PMI_SIZE", "4", 1 },
		{ "PMI_LOCAL_SIZE", "4", 0 },
		{ "MPI_LOCALNRANKS", "1", 1 },
		{ "MPI_LOCALNRANKS", "4", 0 },
		{ "PMI_LOCAL_SIZE", "2", 0 },
		/* An mpirun inside: its own count, if it gives any. */
		{ "MPI_LOCALNRANKS", "1", 1 },
		{ "OMPI_COMM_WORLD_RANK", "0", 1 },
		{ "OMPI_COMM_WORLD_SIZE", "4", 0 },
		{ "OMPI_COMM_WORLD_LOCAL_SIZE", "4", 0 },
		{ "OMPI_COMM_WORLD_LOCAL_SIZE", "3", 1 },
		{ "OMPI_COMM_WORLD_LOCAL_SIZE", "5", -EINVAL },
	};

	EXPECT_EQ(0, tofu_launcher_hosts(4));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		setenv(words[i].name, words[i].value, 1);
		EXPECT_EQ(words[i].hosts, tofu_launcher_hosts(4)) {
			TH_LOG("%s=%s", words[i].name, words[i].value);
		}
	}
}

TEST_F(launch, bad_values_are_refused)
{
	static const char *const bad[] = { "", "-1", "x", "1x", " 1", "6",
					   "99999999999" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		pair_set("TOFU_RANK", bad[i], "TOFU_RANKS", "6");
		EXPECT_EQ(-EINVAL, tofu_launch_find(&self->launch));
	}
	pair_set("TOFU_RANK", "0", "TOFU_RANKS", "0");
	EXPECT_EQ(-EINVAL, tofu_launch_find(&self->launch));
	unsetenv("TOFU_RANKS");
	EXPECT_EQ(-EINVAL, tofu_launch_find(&self->launch));
	pair_set("TOFU_RANK", "0", "TOFU_RANKS", "1");
	setenv("TOFU_PPN", "0", 1);
	EXPECT_EQ(-EINVAL, tofu_launch_find(&self->launch));
	EXPECT_EQ(77, self->launch.rank);
}

TEST_F(launch, nodes_do_not_say_which_of_several_processes)
{
	pair_set("TOFU_NODE", "1", "TOFU_NODES", "2");
	setenv("TOFU_PPN", "2", 1);
	EXPECT_EQ(-EINVAL, tofu_launch_find(&self->launch));
	pair_set("TOFU_RANK", "3", "TOFU_RANKS", "4");
	EXPECT_JOB(3, 4, 2);
}

static const struct tofu_shape shape = { { 4, 2, 1, 1, 1, 1 } };

TEST_F(launch, processes_are_placed_in_blocks)
{
	for (uint32_t rank = 0; rank < 7; rank++) {
		struct tofu_launch launch = { .rank = rank, .ranks = 7,
					      .ppn = 2 };

		ASSERT_EQ(0, tofu_launch_place(&launch, &shape, rank / 2));
		for (uint32_t other = 0; other < 7; other++)
			EXPECT_EQ(other / 2, tofu_launch_node(&launch, other));
		EXPECT_EQ(-EINVAL,
			  tofu_launch_place(&launch, &shape, rank / 2 + 1));
	}
}

TEST_F(launch, a_job_has_to_fit_the_machine)
{
	struct tofu_launch launch = { .ranks = 16, .ppn = 2 };

	EXPECT_EQ(0, tofu_launch_place(&launch, &shape, 0));
	launch.ranks = 17;
	EXPECT_EQ(-EINVAL, tofu_launch_place(&launch, &shape, 0));
}

TEST_F(launch, the_only_process_can_be_anywhere)
{
	struct tofu_launch launch = { .ranks = 1, .ppn = 1 };

	ASSERT_EQ(0, tofu_launch_place(&launch, &shape, 5));
	EXPECT_EQ(5, tofu_launch_node(&launch, 0));
}

TEST_HARNESS_MAIN
