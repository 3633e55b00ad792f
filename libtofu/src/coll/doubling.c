// SPDX-License-Identifier: MIT
/*
 * Allreduce by recursive doubling, for short messages.
 *
 * The first 2^k members double: in step i a member exchanges its sum with the
 * one whose number differs in bit i, so that after the last all have all of it.
 * Each of the others gives its part to one of them before and gets the result
 * after. Both sides of an exchange combine the same two sums in the same order.
 *
 * Sums that come have places for even and for odd rounds: the sender of one has
 * ended the round before, which needed this member's sum. Nobody is two rounds
 * ahead. There is one put at a time, so one engine does, which leaves less to poll.
 *
 * No deadlock: a step waits for a sum that its sender has when it has ended the
 * step before.
 */
#include "coll/algorithms.h"
#include "utofu/work.h"

#define STEPS_MAX 32
/* Tags below are those of the steps. */
#define TAG_PART 40
#define TAG_RESULT 41

/**
 * struct doubling - the state of a plan
 * @steps:  of the doubling members
 * @rest:   this member is one of the others
 * @partner: this member has one of the others
 * @in, @out: of each step; where @rest or @partner, @part_* and @result_*
 */
struct doubling {
	unsigned int steps;
	bool rest;
	bool partner;
	unsigned int in[STEPS_MAX];
	unsigned int out[STEPS_MAX];
	unsigned int part;
	unsigned int result;
};

/* ---- Memory: sums that come, in each parity; then the own ones ---- */

static struct coll_place come_at(const struct coll_plan *plan, bool odd,
				 unsigned int step)
{
	const struct doubling *d = plan->state;
	uint64_t place = (odd ? d->steps + 1 : 0) + step;

	return coll_place(COLL_WORK, place * plan->job.bytes);
}

/* The own sum before a step; the last one is the result. */
static struct coll_place sum_at(const struct coll_plan *plan,
				unsigned int step)
{
	const struct doubling *d = plan->state;
	uint64_t place = 2 * ((uint64_t)d->steps + 1) + step;

	if (!step && !d->partner)
		return coll_place(coll_source(&plan->job), 0);
	if (step == d->steps)
		return coll_place(COLL_RECV, 0);
	return coll_place(COLL_WORK, place * plan->job.bytes);
}

uint64_t coll_doubling_work(const struct coll_job *job)
{
	unsigned int steps = coll_log2(job->members);

	return (2 * ((uint64_t)steps + 1) + steps + 1) * job->bytes;
}

/* ---- Steps ---- */

/* Of the others: give the part, get the result. */
static void rest_step(const struct coll_plan *plan, uint64_t index, bool odd,
		      struct coll_step *step)
{
	const struct doubling *d = plan->state;

	if (index == 0)
		coll_put(step, d->part,
			 coll_place(coll_source(&plan->job), 0),
			 come_at(plan, odd, d->steps), plan->job.bytes);
	else if (index == 1)
		coll_await(step, d->result, 1);
}

static void part_step(const struct coll_plan *plan, uint64_t index, bool odd,
		      struct coll_step *step)
{
	const struct doubling *d = plan->state;

	if (index == 0)
		coll_await(step, d->part, 1);
	else
		coll_reduce(step, sum_at(plan, 0),
			    coll_place(coll_source(&plan->job), 0),
			    come_at(plan, odd, d->steps), plan->job.bytes);
}

/*
 * Of each step: the sum goes, one comes, nothing reads what the last one
 * replaces, both are added.
 */
static void exchange_step(const struct coll_plan *plan, uint64_t index,
			  bool odd, struct coll_step *step)
{
	const struct doubling *d = plan->state;
	unsigned int i = (unsigned int)(index / 4);
	struct coll_place own = sum_at(plan, i), come = come_at(plan, odd, i);
	bool upper = plan->job.number >> i & 1;

	switch (index % 4) {
	case 0:
		coll_put(step, d->out[i], own, come, plan->job.bytes);
		break;
	case 1:
		coll_await(step, d->in[i], 1);
		break;
	case 2:
		coll_nothing(step);
		if (plan->job.in_place && i + 1 == d->steps)
			coll_flush(step, 0);
		break;
	default:
		coll_reduce(step, sum_at(plan, i + 1), upper ? come : own,
			    upper ? own : come, plan->job.bytes);
	}
}

static void doubling_step(const struct coll_plan *plan, unsigned int lane,
			  uint64_t index, bool odd, struct coll_step *step)
{
	const struct doubling *d = plan->state;
	uint64_t before = d->partner ? 2 : 0;

	(void)lane;
	if (d->rest)
		rest_step(plan, index, odd, step);
	else if (index < before)
		part_step(plan, index, odd, step);
	else if (index - before < 4 * (uint64_t)d->steps)
		exchange_step(plan, index - before, odd, step);
	else if (index - before == 4 * (uint64_t)d->steps && d->partner)
		coll_put(step, d->result, coll_place(COLL_RECV, 0),
			 coll_place(COLL_RECV, 0), plan->job.bytes);
	if (step->what != COLL_AWAIT && step->what != COLL_END)
		tofu_work(TOFU_WORK_COLL_DOUBLING);
}

/* ---- Plans ---- */

static void exchanges_make(struct coll_plan *plan)
{
	struct doubling *d = plan->state;

	for (unsigned int i = 0; i < d->steps; i++) {
		uint32_t across = plan->job.number ^ 1U << i;

		d->in[i] = coll_port_add(plan, across, 0, i, 1);
		d->out[i] = coll_link_add(plan, across, 0, i);
	}
}

void coll_doubling_plan(struct coll_plan *plan)
{
	struct doubling *d = coll_state(plan, sizeof(*d));
	uint32_t number = plan->job.number, doubling;

	if (!d)
		return;
	d->steps = coll_log2(plan->job.members);
	doubling = 1U << d->steps;
	d->rest = number >= doubling;
	d->partner = number < plan->job.members - doubling;
	if (d->rest) {
		d->part = coll_link_add(plan, number - doubling, 0, TAG_PART);
		d->result = coll_port_add(plan, number - doubling, 0,
					  TAG_RESULT, 1);
	} else {
		exchanges_make(plan);
	}
	if (d->partner) {
		d->part = coll_port_add(plan, number + doubling, 0, TAG_PART,
					1);
		d->result = coll_link_add(plan, number + doubling, 0,
					  TAG_RESULT);
	}
	plan->step = doubling_step;
	plan->lanes = 1;
	plan->routes = 1;
	plan->work = coll_doubling_work(&plan->job);
}
