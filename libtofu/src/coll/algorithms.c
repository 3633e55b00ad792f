// SPDX-License-Identifier: MIT
/* All algorithms, and what each does not fit. */
#include "coll/algorithms.h"

static const char *any_unfit(const struct coll_job *job)
{
	(void)job;
	return NULL;
}

#define WORK_SAID "it would take more than 64 MiB of memory"

static const char *tree_unfit(const struct coll_job *job)
{
	uint64_t blocks = job->kind == TOFU_COLL_REDUCE ? 32 : job->members;

	if (job->kind == TOFU_COLL_BCAST || job->bytes <= COLL_WORK_MAX / blocks)
		return NULL;
	return WORK_SAID;
}

static const char *bruck_unfit(const struct coll_job *job)
{
	return coll_bruck_work(job) > COLL_WORK_MAX ? WORK_SAID : NULL;
}

static const char *doubling_unfit(const struct coll_job *job)
{
	return job->bytes > COLL_WORK_MAX / 128 ? WORK_SAID : NULL;
}

static const char *halving_unfit(const struct coll_job *job)
{
	return job->members & (job->members - 1) ?
		       "the number of members is no power of 2" :
		       NULL;
}

static const char *session_unfit(const struct coll_job *job)
{
	return coll_session_blocks(job) > COLL_NOTICES_MAX ?
		       "a member's queue has room for 1536 segments" :
		       NULL;
}

static const char *direct_unfit(const struct coll_job *job)
{
	return job->members > COLL_NOTICES_MAX ?
		       "a member has links with 1535 others at most" :
		       NULL;
}

/* Blocks that have come are counted when the member polls. */
static const char *ring_unfit(const struct coll_job *job)
{
	return job->members > COLL_NOTICES_MAX ?
		       "a member's queue has room for 1536 blocks" :
		       NULL;
}

static const char *gates_unfit(const struct coll_job *job)
{
	if (job->kind == TOFU_COLL_BARRIER || !job->bytes)
		return NULL;
	if (!job->gate_words)
		return "gates combine uint64_t, and double where the sum is reproducible";
	return job->bytes / sizeof(uint64_t) > job->gate_words ?
		       "there are more elements than a gate has words" :
		       NULL;
}

static const struct coll_algorithm algorithms[] = {
	{ TOFU_COLL_BARRIER, TOFU_COLL_GATES, gates_unfit, coll_gates_plan },
	{ TOFU_COLL_BARRIER, TOFU_COLL_DISSEMINATION, any_unfit,
	  coll_dissemination_plan },
	{ TOFU_COLL_BCAST, TOFU_COLL_PIPELINED, any_unfit,
	  coll_pipelined_plan },
	{ TOFU_COLL_BCAST, TOFU_COLL_SESSION, session_unfit,
	  coll_session_plan },
	{ TOFU_COLL_BCAST, TOFU_COLL_BINOMIAL, any_unfit, coll_binomial_plan },
	{ TOFU_COLL_REDUCE, TOFU_COLL_PIPELINED, any_unfit,
	  coll_pipelined_plan },
	{ TOFU_COLL_REDUCE, TOFU_COLL_BINOMIAL, tree_unfit,
	  coll_binomial_plan },
	{ TOFU_COLL_ALLREDUCE, TOFU_COLL_PIPELINED, any_unfit,
	  coll_pipelined_plan },
	{ TOFU_COLL_ALLREDUCE, TOFU_COLL_STREAMED, any_unfit,
	  coll_streamed_plan },
	{ TOFU_COLL_ALLREDUCE, TOFU_COLL_DOUBLING, doubling_unfit,
	  coll_doubling_plan },
	{ TOFU_COLL_ALLREDUCE, TOFU_COLL_HALVING, any_unfit,
	  coll_halving_plan },
	{ TOFU_COLL_ALLREDUCE, TOFU_COLL_GATES, gates_unfit, coll_gates_plan },
	{ TOFU_COLL_ALLREDUCE, TOFU_COLL_RING, ring_unfit, coll_ring_plan },
	{ TOFU_COLL_GATHER, TOFU_COLL_BINOMIAL, tree_unfit,
	  coll_binomial_plan },
	{ TOFU_COLL_GATHER, TOFU_COLL_DIRECT, direct_unfit, coll_direct_plan },
	{ TOFU_COLL_SCATTER, TOFU_COLL_BINOMIAL, tree_unfit,
	  coll_binomial_plan },
	{ TOFU_COLL_SCATTER, TOFU_COLL_DIRECT, direct_unfit,
	  coll_direct_plan },
	{ TOFU_COLL_ALLGATHER, TOFU_COLL_MULTIRING, ring_unfit,
	  coll_multiring_plan },
	{ TOFU_COLL_ALLGATHER, TOFU_COLL_RING, ring_unfit, coll_ring_plan },
	{ TOFU_COLL_ALLGATHER, TOFU_COLL_BRUCK, bruck_unfit,
	  coll_bruck_plan },
	{ TOFU_COLL_ALLGATHER, TOFU_COLL_DOUBLING, halving_unfit,
	  coll_halving_plan },
	{ TOFU_COLL_ALLGATHER, TOFU_COLL_DIRECT, direct_unfit,
	  coll_direct_plan },
	{ TOFU_COLL_REDUCE_SCATTER, TOFU_COLL_RING, any_unfit,
	  coll_ring_plan },
	{ TOFU_COLL_REDUCE_SCATTER, TOFU_COLL_HALVING, halving_unfit,
	  coll_halving_plan },
	{ TOFU_COLL_ALLTOALL, TOFU_COLL_DIRECT, direct_unfit,
	  coll_direct_plan },
	{ TOFU_COLL_ALLTOALL, TOFU_COLL_BRUCK, bruck_unfit, coll_bruck_plan },
};

#define ALGORITHMS (sizeof(algorithms) / sizeof(algorithms[0]))

const struct coll_algorithm *coll_algorithm_at(unsigned int index)
{
	return index < ALGORITHMS ? &algorithms[index] : NULL;
}

const struct coll_algorithm *
coll_algorithm_find(enum tofu_coll_kind kind,
		    enum tofu_coll_algorithm algorithm)
{
	for (unsigned int i = 0; i < ALGORITHMS; i++)
		if (algorithms[i].kind == kind &&
		    algorithms[i].algorithm == algorithm)
			return &algorithms[i];
	return NULL;
}

bool coll_algorithm_cuts(const struct coll_algorithm *algorithm)
{
	return algorithm->algorithm == TOFU_COLL_PIPELINED ||
	       algorithm->algorithm == TOFU_COLL_STREAMED ||
	       algorithm->algorithm == TOFU_COLL_SESSION;
}
