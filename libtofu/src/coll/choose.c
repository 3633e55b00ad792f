// SPDX-License-Identifier: MIT
#include "coll/choose.h"

/* Algorithms that work for everything, though perhaps not well */
static const enum tofu_coll_algorithm last_resort[TOFU_COLL_KINDS] = {
	[TOFU_COLL_BARRIER] = TOFU_COLL_DISSEMINATION,
	[TOFU_COLL_BCAST] = TOFU_COLL_PIPELINED,
	[TOFU_COLL_REDUCE] = TOFU_COLL_PIPELINED,
	[TOFU_COLL_ALLREDUCE] = TOFU_COLL_PIPELINED,
	[TOFU_COLL_GATHER] = TOFU_COLL_BINOMIAL,
	[TOFU_COLL_SCATTER] = TOFU_COLL_BINOMIAL,
	[TOFU_COLL_ALLGATHER] = TOFU_COLL_BRUCK,
	[TOFU_COLL_REDUCE_SCATTER] = TOFU_COLL_RING,
	[TOFU_COLL_ALLTOALL] = TOFU_COLL_BRUCK,
};

static const struct coll_algorithm *quickest(const struct coll_job *job)
{
	for (unsigned int i = 0; coll_algorithm_at(i); i++) {
		const struct coll_algorithm *a = coll_algorithm_at(i);

		if (a->kind == job->kind && !a->unfit(job))
			return a;
	}
	return coll_algorithm_find(job->kind, last_resort[job->kind]);
}

int coll_choose(struct tofu_coll *coll, const struct coll_job *job)
{
	const struct coll_algorithm *wanted =
		coll_algorithm_find(job->kind, coll->tuning.algorithm);

	coll->fallback = wanted ? wanted->unfit(job) : NULL;
	coll->algorithm = wanted && !coll->fallback ? wanted : quickest(job);
	return UTOFU_SUCCESS;
}
