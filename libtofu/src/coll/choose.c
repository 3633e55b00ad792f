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
 * processors; see tests/bench/coll. An allreduce of up to DOUBLING_MOST bytes
 * by doubling is as quick as by halving.
 */
#define CHOICES 3
#define DOUBLING_MOST (UINT64_C(64) << 10)
static const enum tofu_coll_algorithm plain[TOFU_COLL_KINDS][CHOICES] = {
	[TOFU_COLL_BARRIER] = { TOFU_COLL_GATES },
	[TOFU_COLL_BCAST] = { TOFU_COLL_BINOMIAL },
	[TOFU_COLL_REDUCE] = { TOFU_COLL_BINOMIAL },
	[TOFU_COLL_ALLREDUCE] = { TOFU_COLL_DOUBLING, TOFU_COLL_HALVING },
	[TOFU_COLL_GATHER] = { TOFU_COLL_DIRECT },
	[TOFU_COLL_SCATTER] = { TOFU_COLL_DIRECT },
	[TOFU_COLL_ALLGATHER] = { TOFU_COLL_DOUBLING, TOFU_COLL_BRUCK,
				  TOFU_COLL_RING },
	[TOFU_COLL_REDUCE_SCATTER] = { TOFU_COLL_HALVING, TOFU_COLL_RING },
	[TOFU_COLL_ALLTOALL] = { TOFU_COLL_DIRECT },
};

/* Lengths of segments to choose from, each twice the one before */
#define SEGMENT_LEAST 4096
#define SEGMENT_MOST (UINT64_C(256) << 10)

/* Where the model has no formula for what is asked for */
#define UNKNOWN_US 1e300

/**
 * struct choice - an algorithm, its segments, and how long it takes
 * @algorithm: or NULL
 */
struct choice {
	const struct coll_algorithm *algorithm;
	uint64_t segment;
	double us;
};

/* Without a machine nothing takes time. */
static double time_of(const struct coll_job *job,
		      const struct coll_algorithm *a,
		      const struct tofu_model_machine *machine)
{
	double us;

	if (!machine)
		return 0;
	us = tofu_model_coll_us(machine, job->kind, a->algorithm,
				job->torus.size, job->bytes, job->segment,
				job->engines, job->routes);
	return us < 0 ? UNKNOWN_US : us;
}

/* Take it if it fits, and is quicker than what came before. */
static void consider_segment(const struct coll_job *job,
			     const struct coll_algorithm *a,
			     const struct tofu_model_machine *machine,
			     uint64_t bytes, struct choice *best)
{
	struct coll_job one = *job;
	double us;

	one.segment = coll_whole(bytes, job->element);
	if (a->unfit(&one))
		return;
	us = time_of(&one, a, machine);
	if (!best->algorithm || us < best->us)
		*best = (struct choice){ a, one.segment, us };
}

/* A machine's times decide about segments, where none was asked for. */
static void consider(const struct coll_job *job,
		     const struct coll_algorithm *a,
		     const struct tofu_model_machine *machine,
		     struct choice *best)
{
	if (job->segment)
		consider_segment(job, a, machine, job->segment, best);
	else if (!machine || !coll_algorithm_cuts(a))
		consider_segment(job, a, machine, COLL_SEGMENT, best);
	else
		for (uint64_t b = SEGMENT_LEAST; b <= SEGMENT_MOST; b *= 2)
			consider_segment(job, a, machine, b, best);
}

/*
 * Gates are few, so that they are taken for barriers alone unless they are asked
 * for, and only where all members have some. So are queues in session mode.
 */
static bool is_candidate(const struct tofu_coll *coll,
			 const struct coll_algorithm *a)
{
	if (a->algorithm == TOFU_COLL_GATES)
		return a->kind == TOFU_COLL_BARRIER && !coll->no_gates;
	return a->algorithm != TOFU_COLL_SESSION;
}

static struct choice plainest(const struct tofu_coll *coll,
			      const struct coll_job *job)
{
	struct choice best = { NULL };

	for (unsigned int i = 0; i < CHOICES && plain[job->kind][i]; i++) {
		const enum tofu_coll_algorithm one = plain[job->kind][i];
		const struct coll_algorithm *a =
			coll_algorithm_find(job->kind, one);

		if (job->kind == TOFU_COLL_ALLREDUCE &&
		    one == TOFU_COLL_DOUBLING && job->bytes > DOUBLING_MOST)
			continue;
		if (is_candidate(coll, a))
			consider(job, a, NULL, &best);
	}
	return best;
}

static struct choice quickest(const struct tofu_coll *coll,
			      const struct coll_job *job,
			      const struct tofu_model_machine *machine)
{
	const struct coll_algorithm *a;
	struct choice best = { NULL };

	for (unsigned int i = 0; (a = coll_algorithm_at(i)); i++)
		if (a->kind == job->kind && is_candidate(coll, a))
			consider(job, a, machine, &best);
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

/* What is done where nothing else fits; and why what was asked for does not */
static struct choice fallback(const struct coll_job *job,
			      const struct coll_algorithm *wanted,
			      const char **why)
{
	struct coll_job one = *job;

	if (!one.segment)
		one.segment = coll_whole(COLL_SEGMENT, job->element);
	if (wanted)
		*why = wanted->unfit(&one);
	return (struct choice){
		coll_algorithm_find(job->kind, last_resort[job->kind]),
		one.segment, 0
	};
}

int coll_choose(struct tofu_coll *coll, struct coll_job *job)
{
	const struct coll_algorithm *wanted =
		coll_algorithm_find(job->kind, coll->tuning.algorithm);
	struct tofu_model_machine its, *machine = NULL;
	struct choice best = { NULL }, last;

	if (machine_of(coll, &its))
		machine = &its;
	else if (coll->tuning.machine)
		return UTOFU_ERR_INVALID_ARG;
	coll->fallback = NULL;
	if (wanted)
		consider(job, wanted, machine, &best);
	if (!best.algorithm) {
		last = fallback(job, wanted, &coll->fallback);
		best = machine ? quickest(coll, job, machine) :
				 plainest(coll, job);
		if (!best.algorithm)
			best = last;
	}
	coll->algorithm = best.algorithm;
	job->segment = best.segment;
	return UTOFU_SUCCESS;
}
