// SPDX-License-Identifier: MIT
/*
 * Allreduce and reduce-scatter by recursive halving, allgather by its way back.
 *
 * The first 2^k members halve: in a step a member gives the sums of one half of
 * its blocks to the one whose number differs in a bit, and gets those of the
 * other half, so that after k steps each has the sum of one block. Allreduce: the
 * same way back collects the sums of all blocks. Each of the members beyond 2^k
 * gives its part to one of them before, and gets the result after; the others are
 * for 2^k members. The way back alone, recursive doubling, is an allgather.
 *
 * A member's place is the number of its block. The first step is with the member
 * whose place differs in the highest bit, and moves most. In an allreduce the bits
 * of the place are those of the number in reverse: the longest messages go to the
 * nearest members. In the others place and number are the same.
 *
 * What comes in a step is added to in place, and half of it goes on in the next
 * one. In an allreduce nobody overwrites what is still needed: who begins a round
 * has got, on the way back, what this member could send only when it had the sum
 * of its block. In a reduce-scatter no way leads back, so there are places for
 * even and for odd rounds: the sender of a half has ended the round before, which
 * needed this member's half, and nobody is two rounds ahead. In an allgather
 * members tell each other when their buffers may be written.
 *
 * No deadlock: a step waits for what its sender has when it has ended the step
 * before, and in the first steps nobody waits.
 */
#include "coll/algorithms.h"

#define STEPS_MAX 32
/* Tags below are those of the steps, there and back. */
#define TAG_BACK STEPS_MAX
#define TAG_PART (2 * STEPS_MAX)
#define TAG_RESULT (2 * STEPS_MAX + 1)
#define TAG_READY (3 * STEPS_MAX)

/**
 * struct halving - the state of a plan
 * @steps:  of the halving members
 * @blocks: 2^@steps
 * @place:  of this member, if it halves
 * @rest:   this member is one of the others
 * @partner: this member has one of the others
 * @in, @out: of each step; @back_*: of each step back; @ready_*: of leave for it
 * @part, @result: where @rest or @partner
 */
struct halving {
	unsigned int steps;
	uint32_t blocks;
	uint32_t place;
	bool rest;
	bool partner;
	unsigned int in[STEPS_MAX];
	unsigned int out[STEPS_MAX];
	unsigned int back_in[STEPS_MAX];
	unsigned int back_out[STEPS_MAX];
	unsigned int ready_in[STEPS_MAX];
	unsigned int ready_out[STEPS_MAX];
	unsigned int part;
	unsigned int result;
};

static bool is_allreduce(const struct coll_plan *plan)
{
	return plan->job.kind == TOFU_COLL_ALLREDUCE;
}

/* ---- Blocks: of an allreduce, parts of the message ---- */

static uint64_t block_begin(const struct coll_plan *plan, uint32_t block)
{
	const struct halving *h = plan->state;
	const struct coll_job *job = &plan->job;

	return is_allreduce(plan) ? coll_part_begin(job, block, h->blocks) :
				    block * job->bytes;
}

/**
 * struct half - blocks that a member has, or gives, in a step
 */
struct half {
	uint32_t first;
	uint32_t count;
};

static uint64_t half_begin(const struct coll_plan *plan, struct half half)
{
	return block_begin(plan, half.first);
}

static uint64_t half_bytes(const struct coll_plan *plan, struct half half)
{
	return block_begin(plan, half.first + half.count) -
	       block_begin(plan, half.first);
}

/* What the member of a place has after so many steps */
static struct half half_of(const struct halving *h, uint32_t place,
			   unsigned int steps)
{
	uint32_t count = h->blocks >> steps;

	return (struct half){ place & ~(count - 1), count };
}

/* What this member keeps in a step, and what it gives */
static struct half half_kept(const struct halving *h, unsigned int step)
{
	return half_of(h, h->place, step + 1);
}

static struct half half_gone(const struct halving *h, unsigned int step)
{
	return half_of(h, h->place ^ h->blocks >> (step + 1), step + 1);
}

/* ---- Memory: what comes in each step, longest first; then a part ---- */

static uint64_t come_bytes(const struct coll_plan *plan)
{
	const struct halving *h = plan->state;

	return (h->blocks - 1) * block_begin(plan, 1);
}

static struct coll_place come_at(const struct coll_plan *plan, bool odd,
				 unsigned int step)
{
	const struct halving *h = plan->state;
	uint64_t before = h->blocks - (h->blocks >> step);
	bool other = odd && !is_allreduce(plan);

	return coll_place(COLL_WORK, before * block_begin(plan, 1) +
					     (other ? come_bytes(plan) : 0));
}

static struct coll_place part_at(const struct coll_plan *plan)
{
	return coll_place(COLL_WORK, come_bytes(plan));
}

/* The own sums of blocks that a member has after so many steps */
static struct coll_place sum_at(const struct coll_plan *plan, bool odd,
				unsigned int steps, struct half half)
{
	const struct halving *h = plan->state;
	struct half all = half_of(h, h->place, steps);
	struct coll_place at;

	if (steps)
		at = come_at(plan, odd, steps - 1);
	else if (h->partner)
		at = part_at(plan);
	else
		at = coll_place(coll_source(&plan->job), 0);
	at.offset += half_begin(plan, half) - half_begin(plan, all);
	return at;
}

/* ---- Steps ---- */

/* Of the others: give the part, get the result. */
static void rest_step(const struct coll_plan *plan, uint64_t index,
		      struct coll_step *step)
{
	const struct halving *h = plan->state;

	if (index == 0)
		coll_put(step, h->part,
			 coll_place(coll_source(&plan->job), 0),
			 part_at(plan), plan->job.bytes);
	else if (index == 1)
		coll_await(step, h->result, 1);
}

static void part_step(const struct coll_plan *plan, uint64_t index,
		      struct coll_step *step)
{
	const struct halving *h = plan->state;

	if (index == 0)
		coll_await(step, h->part, 1);
	else
		coll_reduce(step, part_at(plan),
			    coll_place(coll_source(&plan->job), 0),
			    part_at(plan), plan->job.bytes);
}

/* Of each step: a half goes, one comes, it is added to. */
static void halve_step(const struct coll_plan *plan, uint64_t index, bool odd,
		       struct coll_step *step)
{
	const struct halving *h = plan->state;
	unsigned int i = (unsigned int)(index / 3);
	struct half gone = half_gone(h, i), kept = half_kept(h, i);
	struct coll_place come = come_at(plan, odd, i), sum = come;

	if (index % 3 == 0) {
		coll_put(step, h->out[i], sum_at(plan, odd, i, gone), come,
			 half_bytes(plan, gone));
	} else if (index % 3 == 1) {
		coll_await(step, h->in[i], 1);
	} else {
		if (i + 1 == h->steps)
			sum = coll_place(COLL_RECV, is_allreduce(plan) ?
						    half_begin(plan, kept) : 0);
		coll_reduce(step, sum, sum_at(plan, odd, i, kept), come,
			    half_bytes(plan, kept));
	}
}

/* Of each step back: there is leave, what is complete goes, as much comes. */
static void back_step(const struct coll_plan *plan, uint64_t index,
		      struct coll_step *step)
{
	const struct halving *h = plan->state;
	unsigned int i = h->steps - 1 - (unsigned int)(index / 3);
	struct half kept = half_kept(h, i);
	struct coll_place at = coll_place(COLL_RECV, half_begin(plan, kept));

	coll_nothing(step);
	if (index % 3 == 0 && !is_allreduce(plan))
		coll_await(step, h->ready_in[i], 1);
	else if (index % 3 == 1)
		coll_put(step, h->back_out[i], at, at, half_bytes(plan, kept));
	else if (index % 3 == 2)
		coll_await(step, h->back_in[i], 1);
}

/* All are told that they have leave, and the own block is complete. */
static void allgather_step(const struct coll_plan *plan, unsigned int lane,
			   uint64_t index, bool odd, struct coll_step *step)
{
	const struct halving *h = plan->state;

	(void)lane;
	(void)odd;
	if (index < h->steps)
		coll_tell(step, h->ready_out[index]);
	else if (index == h->steps)
		coll_copy(step,
			  coll_place(COLL_RECV, block_begin(plan, h->place)),
			  coll_place(COLL_SEND, 0), plan->job.bytes);
	else if (index - h->steps - 1 < 3 * (uint64_t)h->steps)
		back_step(plan, index - h->steps - 1, step);
}

static void halving_step(const struct coll_plan *plan, unsigned int lane,
			 uint64_t index, bool odd, struct coll_step *step)
{
	const struct halving *h = plan->state;
	uint64_t before = h->partner ? 2 : 0;
	uint64_t there = 3 * (uint64_t)h->steps;
	uint64_t back = is_allreduce(plan) ? there : 0;

	(void)lane;
	if (h->rest)
		rest_step(plan, index, step);
	else if (index < before)
		part_step(plan, index, step);
	else if (index - before < there)
		halve_step(plan, index - before, odd, step);
	else if (index - before - there < back)
		back_step(plan, index - before - there, step);
	else if (index - before - there == back && h->partner)
		coll_put(step, h->result, coll_place(COLL_RECV, 0),
			 coll_place(COLL_RECV, 0), plan->job.bytes);
}

/* ---- Plans ---- */

/* The member with which a step is */
static uint32_t across(const struct coll_plan *plan, unsigned int step)
{
	const struct halving *h = plan->state;
	uint32_t bit = is_allreduce(plan) ? 1U << step : h->blocks >> (step + 1);

	return plan->job.number ^ bit;
}

static uint32_t place_of(const struct coll_plan *plan)
{
	const struct halving *h = plan->state;
	uint32_t place = 0;

	if (!is_allreduce(plan))
		return plan->job.number;
	for (unsigned int i = 0; i < h->steps; i++)
		if (plan->job.number >> i & 1)
			place |= h->blocks >> (i + 1);
	return place;
}

/* Ports and links of each step, both by a tag and the step */
static void exchanges_make(struct coll_plan *plan, unsigned int tag,
			   unsigned int in[], unsigned int out[])
{
	const struct halving *h = plan->state;

	for (unsigned int i = 0; i < h->steps; i++) {
		in[i] = coll_port_add(plan, across(plan, i), 0, tag + i, 1);
		out[i] = coll_link_add(plan, across(plan, i), 0, tag + i);
	}
}

static void part_make(struct coll_plan *plan)
{
	struct halving *h = plan->state;
	uint32_t number = plan->job.number;
	uint32_t other = h->rest ? number - h->blocks : number + h->blocks;
	unsigned int to = h->rest ? TAG_PART : TAG_RESULT;
	unsigned int from = h->rest ? TAG_RESULT : TAG_PART;
	unsigned int out = coll_link_add(plan, other, 0, to);
	unsigned int in = coll_port_add(plan, other, 0, from, 1);

	h->part = h->rest ? out : in;
	h->result = h->rest ? in : out;
}

void coll_halving_plan(struct coll_plan *plan)
{
	struct halving *h = coll_state(plan, sizeof(*h));
	const struct coll_job *job = &plan->job;

	if (!h)
		return;
	h->steps = coll_log2(job->members);
	h->blocks = 1U << h->steps;
	h->rest = job->number >= h->blocks;
	h->partner = job->number < job->members - h->blocks;
	h->place = place_of(plan);
	if (!h->rest && job->kind != TOFU_COLL_ALLGATHER)
		exchanges_make(plan, 0, h->in, h->out);
	if (!h->rest && job->kind != TOFU_COLL_REDUCE_SCATTER)
		exchanges_make(plan, TAG_BACK, h->back_in, h->back_out);
	if (job->kind == TOFU_COLL_ALLGATHER)
		exchanges_make(plan, TAG_READY, h->ready_in, h->ready_out);
	if (h->rest || h->partner)
		part_make(plan);
	plan->step = halving_step;
	plan->lanes = 1;
	plan->routes = 1;
	if (is_allreduce(plan))
		plan->work = come_bytes(plan) + job->bytes;
	else if (job->kind == TOFU_COLL_REDUCE_SCATTER)
		plan->work = 2 * come_bytes(plan);
	else
		plan->step = allgather_step;
}
