// SPDX-License-Identifier: MIT
#include "coll/choose.h"

#include <tofu/model.h>
#include <tofu/time.h>

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

/*
 * Without a machine's time: the first that fits. Measured with 8 processes on 2
 * processors; see tests/bench/coll.
 */
#define CHOICES 3
static const enum tofu_coll_algorithm plain[TOFU_COLL_KINDS][CHOICES] = {
	[TOFU_COLL_BARRIER] = { TOFU_COLL_GATES },
	[TOFU_COLL_BCAST] = { TOFU_COLL_BINOMIAL },
	[TOFU_COLL_REDUCE] = { TOFU_COLL_BINOMIAL },
	[TOFU_COLL_ALLREDUCE] = { TOFU_COLL_DOUBLING, TOFU_COLL_RING },
	[TOFU_COLL_GATHER] = { TOFU_COLL_DIRECT },
	[TOFU_COLL_SCATTER] = { TOFU_COLL_DIRECT },
	[TOFU_COLL_ALLGATHER] = { TOFU_COLL_BRUCK, TOFU_COLL_RING },
	[TOFU_COLL_REDUCE_SCATTER] = { TOFU_COLL_RING },
	[TOFU_COLL_ALLTOALL] = { TOFU_COLL_DIRECT },
};

/*
 * Gates are few, so that they are taken for barriers alone unless they are asked
 * for, and only where all members have some.
 */
static bool is_candidate(const struct tofu_coll *coll,
			 const struct coll_job *job,
			 const struct coll_algorithm *a)
{
	if (a->kind != job->kind || a->unfit(job))
		return false;
	return a->algorithm != TOFU_COLL_GATES ||
	       (job->kind == TOFU_COLL_BARRIER && !coll->no_gates);
}

static const struct coll_algorithm *plainest(const struct tofu_coll *coll,
					     const struct coll_job *job)
{
	for (unsigned int i = 0; i < CHOICES && plain[job->kind][i]; i++) {
		const struct coll_algorithm *a =
			coll_algorithm_find(job->kind, plain[job->kind][i]);

		if (is_candidate(coll, job, a))
			return a;
	}
	return NULL;
}

static const struct coll_algorithm *
quickest(const struct tofu_coll *coll, const struct coll_job *job,
	 const struct tofu_model_machine *machine)
{
	const struct coll_algorithm *best = NULL;
	double least = 0;

	for (unsigned int i = 0; coll_algorithm_at(i); i++) {
		const struct coll_algorithm *a = coll_algorithm_at(i);
		double us;

		if (!is_candidate(coll, job, a))
			continue;
		us = tofu_model_coll_us(machine, job->kind, a->algorithm,
					job->torus.size, job->bytes,
					job->segment, job->engines,
					job->routes);
		if (us < 0 || (best && us >= least))
			continue;
		best = a;
		least = us;
	}
	return best;
}

/* Return: whether there is a machine whose times count. */
static bool machine_of(const struct tofu_coll *coll,
		       struct tofu_model_machine *machine)
{
	struct tofu_time_info info;

	if (coll->tuning.machine)
		return !tofu_model_machine(coll->tuning.machine, machine);
	if (tofu_query_time(&info) || !info.is_virtual)
		return false;
	return !tofu_model_machine(info.machine, machine) ||
	       !tofu_model_machine("k", machine);
}

int coll_choose(struct tofu_coll *coll, const struct coll_job *job)
{
	const struct coll_algorithm *wanted =
		coll_algorithm_find(job->kind, coll->tuning.algorithm);
	struct tofu_model_machine machine;
	bool has_machine = machine_of(coll, &machine);

	if (coll->tuning.machine && !has_machine)
		return UTOFU_ERR_INVALID_ARG;
	coll->fallback = wanted ? wanted->unfit(job) : NULL;
	if (wanted && !coll->fallback)
		coll->algorithm = wanted;
	else
		coll->algorithm = has_machine ?
					  quickest(coll, job, &machine) :
					  plainest(coll, job);
	if (!coll->algorithm)
		coll->algorithm = coll_algorithm_find(job->kind,
						      last_resort[job->kind]);
	return UTOFU_SUCCESS;
}
