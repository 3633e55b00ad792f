// SPDX-License-Identifier: MIT
/*
 * One ring through all members, in which neighbours are next to each other.
 *
 * Reduce-scatter: the sum of a block begins behind the member that gets it, and
 * goes around once; each member adds its part. Allgather: each block goes around
 * once. Allreduce is both, with a block of the message for each member.
 *
 * A member's memory for what comes is written by the member before it, which is
 * told at the beginning of a round that it may. In an allreduce a finished block
 * contains what the member has sent in this round, so there needs no other
 * leave for it.
 *
 * No deadlock: a block waits for what came one step before from one direction;
 * the first step waits only for a notice that members send without waiting.
 */
#include "coll/algorithms.h"
#include "utofu/work.h"

enum { TAG_SUM,
       TAG_BLOCK,
       TAG_READY };

/**
 * struct ring - the state of a plan
 * @place:  of the member in the ring
 * @number: members by place
 * @next:   link for sums, blocks, and for readiness to the one before
 * @in:     ports
 */
struct ring {
	struct coll_fold fold;
	uint32_t place;
	unsigned int sums_in;
	unsigned int sums_out;
	unsigned int blocks_in;
	unsigned int blocks_out;
	unsigned int ready_in;
	unsigned int ready_out;
};

/* The member @by places behind; @by is less than two times around. */
static uint32_t behind(const struct coll_plan *plan, uint64_t by)
{
	const struct ring *ring = plan->state;
	uint64_t members = plan->job.members;
	uint32_t at[TOFU_COLL_AXES] = {
		(uint32_t)((ring->place + 2 * members - by) % members),
	};

	return coll_fold_number(&ring->fold, at);
}

/* A member's block; those of an allreduce are parts of the message. */
static uint64_t block_begin(const struct coll_plan *plan, uint32_t member)
{
	const struct coll_job *job = &plan->job;

	return job->kind == TOFU_COLL_ALLREDUCE ?
		       coll_part_begin(job, member, job->members) :
		       member * job->bytes;
}

static uint64_t block_bytes(const struct coll_plan *plan, uint32_t member)
{
	return block_begin(plan, member + 1) - block_begin(plan, member);
}

/* ---- Sums ---- */

/* Where the sum comes that is the @step-th of a round */
static struct coll_place sum_at(const struct coll_plan *plan, uint64_t step)
{
	uint64_t most = block_bytes(plan, 0);

	return coll_place(COLL_WORK, step * most);
}

/* The sum of a block goes on; the first one is the member's own part alone. */
static void sum_goes(const struct coll_plan *plan, uint64_t at,
		     struct coll_step *step)
{
	const struct ring *ring = plan->state;
	uint32_t gone = behind(plan, at + 1);
	struct coll_place from =
		at ? sum_at(plan, at - 1) :
		     coll_place(coll_source(&plan->job),
				block_begin(plan, gone));

	coll_put(step, ring->sums_out, from, sum_at(plan, at),
		 block_bytes(plan, gone));
}

/* The member's own part is added to the sum that has come; the last is the result. */
static void sum_grows(const struct coll_plan *plan, uint64_t at,
		      struct coll_step *step)
{
	uint64_t last = plan->job.members - 2;
	uint32_t come = behind(plan, at + 2);
	uint64_t begin = block_begin(plan, come);
	struct coll_place sum = sum_at(plan, at), to = sum;

	tofu_work(TOFU_WORK_COLL_SUM);
	if (at == last && plan->job.kind == TOFU_COLL_ALLREDUCE)
		to = coll_place(COLL_RECV, begin);
	else if (at == last)
		to = coll_place(COLL_RECV, 0);
	coll_reduce(step, to, sum, coll_place(coll_source(&plan->job), begin),
		    block_bytes(plan, come));
}

/* Of each step: a sum goes on, one comes, and grows. */
static void sums_step(const struct coll_plan *plan, uint64_t index,
		      struct coll_step *step)
{
	const struct ring *ring = plan->state;
	uint64_t at = index / 3;

	if (index % 3 == 1) {
		coll_await(step, ring->sums_in, at + 1);
		return;
	}
	tofu_work(TOFU_WORK_COLL_RING);
	if (index % 3 == 0)
		sum_goes(plan, at, step);
	else
		sum_grows(plan, at, step);
}

/* ---- Blocks ---- */

static struct coll_place block_source(const struct coll_plan *plan,
				      uint32_t member)
{
	bool own = plan->job.kind == TOFU_COLL_ALLGATHER &&
		   member == plan->job.number;

	return own ? coll_place(COLL_SEND, 0) :
		     coll_place(COLL_RECV, block_begin(plan, member));
}

/* Of each step: a block goes on, one comes. */
static void blocks_step(const struct coll_plan *plan, uint64_t index,
			struct coll_step *step)
{
	const struct ring *ring = plan->state;
	uint32_t gone;

	if (index % 2) {
		coll_await(step, ring->blocks_in, index / 2 + 1);
		return;
	}
	tofu_work(TOFU_WORK_COLL_RING);
	gone = behind(plan, index / 2);
	coll_put(step, ring->blocks_out, block_source(plan, gone),
		 coll_place(COLL_RECV, block_begin(plan, gone)),
		 block_bytes(plan, gone));
}

/* ---- Lanes ---- */

static bool has_sums(const struct coll_plan *plan)
{
	return plan->job.kind != TOFU_COLL_ALLGATHER;
}

static bool has_blocks(const struct coll_plan *plan)
{
	return plan->job.kind != TOFU_COLL_REDUCE_SCATTER;
}

/* A lane of its own copies the member's block. */
static void own_step(const struct coll_plan *plan, uint64_t index,
		     struct coll_step *step)
{
	uint32_t number = plan->job.number;

	if (!index)
		coll_copy(step,
			  coll_place(COLL_RECV, block_begin(plan, number)),
			  coll_place(COLL_SEND, 0), plan->job.bytes);
}

static void ring_step(const struct coll_plan *plan, unsigned int lane,
		      uint64_t index, bool odd, struct coll_step *step)
{
	const struct ring *ring = plan->state;
	uint64_t steps = plan->job.members - 1;
	uint64_t sums = has_sums(plan) ? 3 * steps : 0;
	uint64_t blocks = has_blocks(plan) ? 2 * steps : 0;

	(void)odd;
	if (lane)
		own_step(plan, index, step);
	else if (!index)
		coll_tell(step, ring->ready_out);
	else if (index == 1)
		coll_await(step, ring->ready_in, 1);
	else if (index - 2 < sums)
		sums_step(plan, index - 2, step);
	else if (index - 2 - sums < blocks)
		blocks_step(plan, index - 2 - sums, step);
}

void coll_ring_plan(struct coll_plan *plan)
{
	struct ring *ring = coll_state(plan, sizeof(*ring));
	uint64_t steps = plan->job.members - 1;
	uint32_t at[TOFU_COLL_AXES], before, after;

	if (!ring)
		return;
	ring->fold = coll_fold(&plan->job.torus, 1);
	coll_fold_at(&ring->fold, plan->job.number, at);
	ring->place = at[0];
	before = behind(plan, 1);
	after = behind(plan, steps);
	if (has_sums(plan)) {
		ring->sums_in = coll_port_add(plan, before, 0, TAG_SUM, steps);
		ring->sums_out = coll_link_add(plan, after, 0, TAG_SUM);
		plan->work = steps * block_bytes(plan, 0);
	}
	if (has_blocks(plan)) {
		ring->blocks_in = coll_port_add(plan, before, 0, TAG_BLOCK,
						steps);
		ring->blocks_out = coll_link_add(plan, after, 0, TAG_BLOCK);
	}
	ring->ready_in = coll_port_add(plan, after, 0, TAG_READY, 1);
	ring->ready_out = coll_link_add(plan, before, 0, TAG_READY);
	plan->step = ring_step;
	plan->lanes = has_sums(plan) ? 1 : 2;
	plan->routes = 1;
}
