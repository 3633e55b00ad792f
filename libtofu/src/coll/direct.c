// SPDX-License-Identifier: MIT
/*
 * Blocks from buffer to buffer, each in one put: gather, scatter, allgather,
 * alltoall.
 *
 * Every engine has a lane and every n-th of the other members. Gather: the root
 * lets members send, a few at a time. Scatter: members tell the root that they
 * are ready; when all of an engine have, it sends, a few puts at a time.
 * Allgather and alltoall: all members meet; then each sends to all others by their distance in
 * dimension order, so that at each time all go the same way, a few puts of each
 * engine at a time. What is sent at distance d by one engine comes from distance
 * -d by the same one.
 *
 * A port counts the puts of several members. None of them is in the next round:
 * for that it needs leave of the root, or the meeting of all.
 *
 * No deadlock: members wait for the root or for the meeting, which wait for
 * notices that are sent first of all; the root waits for members that it has
 * let send.
 */
#include "coll/algorithms.h"

enum { TAG_DATA,
       TAG_READY };

/* Puts under way from an engine, or members that may send to it */
#define THROTTLE 4

/**
 * struct direct - the state of a plan
 * @count:  others of each engine
 * @in:     port of each engine
 * @link:   the first of an engine's links, which follow each other
 */
struct direct {
	struct coll_meeting meeting;
	uint32_t count[COLL_ENGINES_MAX];
	unsigned int in[COLL_ENGINES_MAX];
	unsigned int link[COLL_ENGINES_MAX];
};

/* Whether all send to all */
static bool is_among_all(const struct coll_job *job)
{
	return job->kind == TOFU_COLL_ALLGATHER ||
	       job->kind == TOFU_COLL_ALLTOALL;
}

/* Whether members send one block, to whomever; others have one for each. */
static bool has_one_block(const struct coll_job *job)
{
	return job->kind == TOFU_COLL_GATHER ||
	       job->kind == TOFU_COLL_ALLGATHER;
}

static bool is_root(const struct coll_plan *plan)
{
	return plan->job.number == plan->job.root;
}

/* Member number @index of an engine's others, by distance in dimension order */
static uint32_t other(const struct coll_job *job, unsigned int engine,
		      uint64_t index)
{
	uint32_t by[TOFU_COLL_AXES], at[TOFU_COLL_AXES];

	coll_at(&job->torus, (uint32_t)(1 + engine + index * job->engines),
		by);
	coll_at(&job->torus, job->number, at);
	for (int i = 0; i < TOFU_COLL_AXES; i++)
		at[i] = (at[i] + by[i]) % job->torus.size[i];
	return coll_number(&job->torus, at);
}

/* The engine of a member at the root */
static unsigned int engine_of(const struct coll_job *job, uint32_t member)
{
	uint32_t by[TOFU_COLL_AXES], root[TOFU_COLL_AXES];

	coll_at(&job->torus, member, by);
	coll_at(&job->torus, job->root, root);
	for (int i = 0; i < TOFU_COLL_AXES; i++)
		by[i] = (by[i] + job->torus.size[i] - root[i]) %
			job->torus.size[i];
	return (coll_number(&job->torus, by) - 1) % job->engines;
}

static struct coll_place block_at(const struct coll_job *job,
				  enum coll_area area, uint32_t member)
{
	return coll_place(area, member * job->bytes);
}

/* ---- Steps ---- */

/* The root of a gather: a member may send when THROTTLE others have not yet. */
static void gather_step(const struct coll_plan *plan, unsigned int engine,
			uint64_t index, struct coll_step *step)
{
	const struct direct *d = plan->state;
	uint64_t count = d->count[engine], i = index / 2;

	coll_nothing(step);
	if (i == count)
		coll_await(step, d->in[engine], count);
	else if (index % 2)
		coll_tell(step, d->link[engine] + (unsigned int)i);
	else if (i >= THROTTLE)
		coll_await(step, d->in[engine], i - THROTTLE + 1);
	if (i == count && index % 2)
		*step = (struct coll_step){ 0 };
}

/* Of each other member: few puts are under way, its block goes. */
static void send_step(const struct coll_plan *plan, unsigned int engine,
		      uint64_t index, struct coll_step *step)
{
	const struct direct *d = plan->state;
	const struct coll_job *job = &plan->job;
	uint64_t i = index / 2;
	uint32_t to = other(job, engine, i);

	if (index % 2 == 0)
		coll_flush(step, THROTTLE - 1);
	else
		coll_put(step, d->link[engine] + (unsigned int)i,
			 block_at(job, COLL_SEND, has_one_block(job) ? 0 : to),
			 block_at(job, COLL_RECV,
				  is_among_all(job) ? job->number : 0),
			 job->bytes);
}

static void scatter_step(const struct coll_plan *plan, unsigned int engine,
			 uint64_t index, struct coll_step *step)
{
	const struct direct *d = plan->state;
	uint64_t count = d->count[engine];

	if (!index)
		coll_await(step, d->in[engine], count);
	else if (index - 1 < 2 * count)
		send_step(plan, engine, index - 1, step);
}

/* The meeting is the last lane. */
static void among_all_step(const struct coll_plan *plan, unsigned int engine,
			  uint64_t index, struct coll_step *step)
{
	const struct direct *d = plan->state;
	uint64_t count = d->count[engine];

	if (!index)
		coll_join(step, plan->lanes - 1, UINT64_MAX);
	else if (index - 1 < 2 * count)
		send_step(plan, engine, index - 1, step);
	else if (index - 1 == 2 * count)
		coll_await(step, d->in[engine], count);
}

/* Not the root: ready or leave, and the block. */
static void member_step(const struct coll_plan *plan, uint64_t index,
			struct coll_step *step)
{
	const struct direct *d = plan->state;
	const struct coll_job *job = &plan->job;
	bool gathers = job->kind == TOFU_COLL_GATHER;

	if (index > 1)
		return;
	if ((index == 0) == gathers)
		coll_await(step, d->in[0], 1);
	else if (gathers)
		coll_put(step, d->link[0], coll_place(COLL_SEND, 0),
			 block_at(job, COLL_RECV, job->number), job->bytes);
	else
		coll_tell(step, d->link[0]);
}

/* The own block */
static void own_step(const struct coll_plan *plan, uint64_t index,
		     struct coll_step *step)
{
	const struct coll_job *job = &plan->job;
	bool joined = job->kind != TOFU_COLL_SCATTER;

	if (!index)
		coll_copy(step,
			  block_at(job, COLL_RECV, joined ? job->number : 0),
			  block_at(job, COLL_SEND,
				   has_one_block(job) ? 0 : job->number),
			  job->bytes);
}

static void direct_step(const struct coll_plan *plan, unsigned int lane,
			uint64_t index, bool odd, struct coll_step *step)
{
	const struct direct *d = plan->state;

	(void)odd;
	if (is_among_all(&plan->job)) {
		if (lane < plan->job.engines)
			among_all_step(plan, lane, index, step);
		else if (lane == plan->job.engines)
			own_step(plan, index, step);
		else if (index < coll_meeting_steps(&d->meeting))
			coll_meeting_step(&d->meeting, index, step);
	} else if (!is_root(plan)) {
		member_step(plan, index, step);
	} else if (lane == plan->job.engines) {
		own_step(plan, index, step);
	} else if (plan->job.kind == TOFU_COLL_GATHER) {
		gather_step(plan, lane, index, step);
	} else {
		scatter_step(plan, lane, index, step);
	}
}

/* ---- Plans ---- */

/* Links to all others, and a port of each engine */
static void others_make(struct coll_plan *plan, unsigned int in,
			unsigned int out)
{
	struct direct *d = plan->state;
	const struct coll_job *job = &plan->job;
	uint32_t others = job->members - 1;

	for (unsigned int e = 0; e < job->engines; e++) {
		d->count[e] = others / job->engines +
			      (e < others % job->engines);
		if (!d->count[e])
			continue;
		d->in[e] = coll_port_add(plan, COLL_NOBODY, e, in,
					 d->count[e]);
		d->link[e] = plan->links;
		for (uint32_t i = 0; i < d->count[e]; i++)
			coll_link_add(plan, other(job, e, i), e, out);
	}
}

static void member_make(struct coll_plan *plan, unsigned int in,
			unsigned int out)
{
	struct direct *d = plan->state;
	unsigned int engine = engine_of(&plan->job, plan->job.number);

	d->in[0] = coll_port_add(plan, plan->job.root, engine, in, 1);
	d->link[0] = coll_link_add(plan, plan->job.root, engine, out);
}

void coll_direct_plan(struct coll_plan *plan)
{
	struct direct *d = coll_state(plan, sizeof(*d));
	bool gathers = plan->job.kind == TOFU_COLL_GATHER;

	if (!d)
		return;
	plan->step = direct_step;
	plan->lanes = plan->job.engines + 1;
	plan->routes = plan->job.engines;
	if (is_among_all(&plan->job)) {
		others_make(plan, TAG_DATA, TAG_DATA);
		coll_meeting_make(plan, &d->meeting);
		plan->lanes++;
	} else if (is_root(plan)) {
		others_make(plan, gathers ? TAG_DATA : TAG_READY,
			    gathers ? TAG_READY : TAG_DATA);
	} else {
		member_make(plan, gathers ? TAG_READY : TAG_DATA,
			    gathers ? TAG_DATA : TAG_READY);
		plan->lanes = 1;
	}
}
