// SPDX-License-Identifier: MIT
/*
 * Allgather and alltoall in log2(n) rounds, for short blocks.
 *
 * Allgather: a member's memory begins with its own block, followed by those of
 * the members behind it. In round i it gets the 2^i blocks that follow from the
 * member 2^i behind it.
 *
 * Alltoall: block j of a member is for the one j behind it. In round i all
 * blocks whose bit i is set go 2^i further, so after the last round each has
 * gone as far as its number says, and block j is from the member j before.
 *
 * What comes has places for even and for odd rounds of the collective: its end
 * needs a part of every member, so nobody is two ahead.
 *
 * No deadlock: a round waits for what members send that have ended the round
 * before.
 */
#include "coll/algorithms.h"

#define ROUNDS_MAX 32

/**
 * struct bruck - the state of a plan
 * @in, @out: of each round
 * @blocks: that move in a round of an alltoall, at most
 */
struct bruck {
	unsigned int rounds;
	unsigned int in[ROUNDS_MAX];
	unsigned int out[ROUNDS_MAX];
	uint64_t blocks;
};

static unsigned int rounds_of(uint32_t members)
{
	unsigned int rounds = 0;

	while (UINT64_C(1) << rounds < members)
		rounds++;
	return rounds;
}

static struct coll_place work_at(const struct coll_plan *plan, uint64_t block)
{
	return coll_place(COLL_WORK, block * plan->job.bytes);
}

static struct coll_place recv_at(const struct coll_plan *plan, uint64_t block)
{
	return coll_place(COLL_RECV, block * plan->job.bytes);
}

static struct coll_place send_at(const struct coll_plan *plan, uint64_t block)
{
	return coll_place(COLL_SEND, block * plan->job.bytes);
}

/* ---- Allgather ---- */

static struct coll_place gathered_at(const struct coll_plan *plan, bool odd,
				     uint64_t block)
{
	return work_at(plan, (odd ? plan->job.members : 0) + block);
}

/* The own block; of each round: blocks go, blocks come; all to their places. */
static void gather_step(const struct coll_plan *plan, uint64_t index, bool odd,
			struct coll_step *step)
{
	const struct bruck *b = plan->state;
	uint64_t members = plan->job.members, number = plan->job.number;
	uint64_t size = plan->job.bytes, round = (index - 1) / 2;
	uint64_t have = UINT64_C(1) << round % 64, more = members - have;

	if (!index) {
		coll_copy(step, gathered_at(plan, odd, 0), send_at(plan, 0),
			  size);
	} else if (round < b->rounds) {
		if (index % 2)
			coll_put(step, b->out[round],
				 gathered_at(plan, odd, 0),
				 gathered_at(plan, odd, have),
				 (more < have ? more : have) * size);
		else
			coll_await(step, b->in[round], 1);
	} else if (index == 1 + 2 * (uint64_t)b->rounds) {
		coll_copy(step, recv_at(plan, number),
			  gathered_at(plan, odd, 0), (members - number) * size);
	} else if (index == 2 + 2 * (uint64_t)b->rounds) {
		coll_copy(step, recv_at(plan, 0),
			  gathered_at(plan, odd, members - number),
			  number * size);
	}
}

/* ---- Alltoall ---- */

/*
 * Blocks with bit @round set come in runs of 2^round. Memory: the blocks by
 * distance; what goes, of each round; what comes, of each round and parity.
 */
static uint64_t runs_of(uint64_t members, unsigned int round)
{
	uint64_t run = UINT64_C(1) << round;

	return (members + run - 1) / (2 * run);
}

static uint64_t run_blocks(uint64_t members, unsigned int round, uint64_t run)
{
	uint64_t length = UINT64_C(1) << round;
	uint64_t left = members - (2 * run + 1) * length;

	return left < length ? left : length;
}

static uint64_t round_blocks(uint64_t members, unsigned int round)
{
	uint64_t runs = runs_of(members, round);

	return runs ? ((runs - 1) << round) +
			      run_blocks(members, round, runs - 1) :
		      0;
}

static struct coll_place goes_at(const struct coll_plan *plan,
				 unsigned int round)
{
	const struct bruck *b = plan->state;

	return work_at(plan, plan->job.members + round * b->blocks);
}

static struct coll_place comes_at(const struct coll_plan *plan, bool odd,
				  unsigned int round)
{
	const struct bruck *b = plan->state;
	uint64_t turn = (odd ? 2 : 1) * (uint64_t)b->rounds + round;

	return work_at(plan, plan->job.members + turn * b->blocks);
}

/* Packs or unpacks a run. */
static void run_copy(const struct coll_plan *plan, unsigned int round,
		     uint64_t run, struct coll_place packed, bool pack,
		     struct coll_step *step)
{
	uint64_t length = UINT64_C(1) << round;
	struct coll_place at = work_at(plan, (2 * run + 1) * length);

	packed.offset += run * length * plan->job.bytes;
	coll_copy(step, pack ? packed : at, pack ? at : packed,
		  run_blocks(plan->job.members, round, run) * plan->job.bytes);
}

/* Of a round: each run is packed, all go, as many come, each is unpacked. */
static void round_step(const struct coll_plan *plan, unsigned int round,
		       uint64_t index, bool odd, struct coll_step *step)
{
	const struct bruck *b = plan->state;
	uint64_t members = plan->job.members, runs = runs_of(members, round);

	if (index < runs)
		run_copy(plan, round, index, goes_at(plan, round), true, step);
	else if (index == runs)
		coll_put(step, b->out[round], goes_at(plan, round),
			 comes_at(plan, odd, round),
			 round_blocks(members, round) * plan->job.bytes);
	else if (index == runs + 1)
		coll_await(step, b->in[round], 1);
	else
		run_copy(plan, round, index - runs - 2,
			 comes_at(plan, odd, round), false, step);
}

/* By distance, in two pieces; the rounds; back by number, one by one. */
static void alltoall_step(const struct coll_plan *plan, uint64_t index,
			  bool odd, struct coll_step *step)
{
	const struct bruck *b = plan->state;
	uint64_t members = plan->job.members, number = plan->job.number;
	uint64_t size = plan->job.bytes, ahead = members - number;

	if (index < 2) {
		if (!index)
			coll_copy(step, work_at(plan, 0),
				  send_at(plan, number), ahead * size);
		else
			coll_copy(step, work_at(plan, ahead), send_at(plan, 0),
				  number * size);
		return;
	}
	index -= 2;
	for (unsigned int round = 0; round < b->rounds; round++) {
		uint64_t steps = 2 * runs_of(members, round) + 2;

		if (index < steps) {
			round_step(plan, round, index, odd, step);
			return;
		}
		index -= steps;
	}
	if (index < members)
		coll_copy(step,
			  recv_at(plan, (number + members - index) % members),
			  work_at(plan, index), size);
}

static void bruck_step(const struct coll_plan *plan, unsigned int lane,
		       uint64_t index, bool odd, struct coll_step *step)
{
	(void)lane;
	if (plan->job.kind == TOFU_COLL_ALLGATHER)
		gather_step(plan, index, odd, step);
	else
		alltoall_step(plan, index, odd, step);
}

/* ---- Plans ---- */

uint64_t coll_bruck_work(const struct coll_job *job)
{
	uint64_t members = job->members;
	uint64_t blocks = 2 * members;

	if (job->kind == TOFU_COLL_ALLTOALL)
		blocks = members +
			 3 * rounds_of(job->members) * ((members + 1) / 2);
	if (job->bytes > UINT64_MAX / blocks)
		return UINT64_MAX;
	return blocks * job->bytes;
}

void coll_bruck_plan(struct coll_plan *plan)
{
	struct bruck *b = coll_state(plan, sizeof(*b));
	uint64_t members = plan->job.members, number = plan->job.number;
	bool gathers = plan->job.kind == TOFU_COLL_ALLGATHER;

	if (!b)
		return;
	b->rounds = rounds_of(plan->job.members);
	b->blocks = (members + 1) / 2;
	for (unsigned int i = 0; i < b->rounds; i++) {
		uint64_t by = UINT64_C(1) << i;
		uint32_t behind = (uint32_t)((number + by) % members);
		uint32_t before = (uint32_t)((number + members - by) % members);
		unsigned int engine = i % plan->job.engines;

		b->out[i] = coll_link_add(plan, gathers ? before : behind,
					  engine, i);
		b->in[i] = coll_port_add(plan, gathers ? behind : before,
					 engine, i, 1);
	}
	plan->step = bruck_step;
	plan->lanes = 1;
	plan->routes = 1;
	plan->work = coll_bruck_work(&plan->job);
}
