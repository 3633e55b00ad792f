// SPDX-License-Identifier: MIT
/*
 * Broadcast along a chain that forwards itself. Each member leaves one command
 * in a queue in session mode, which puts the whole message on in blocks. Every
 * block that comes releases the next block of this command, without the
 * processor.
 *
 * A member tells the one before it that its buffer may be written, and leaves
 * its command when the one behind it has told: from then on its processor only
 * counts what has come.
 *
 * No deadlock: members wait for notices that are sent first of all, and then for
 * blocks from one direction.
 */
#include "coll/algorithms.h"

enum { TAG_BLOCK,
       TAG_READY };

/**
 * struct session - the state of a plan
 * @first, @last: in the chain
 * @in, @out: of blocks
 * @ready_in, @ready_out: of notices
 */
struct session {
	bool first;
	bool last;
	unsigned int in;
	unsigned int out;
	unsigned int ready_in;
	unsigned int ready_out;
};

uint64_t coll_session_blocks(const struct coll_job *job)
{
	return (job->bytes + job->segment - 1) / job->segment;
}

/* All whole blocks, or the rest behind them */
static void blocks_put(const struct coll_plan *plan, bool rest,
		       struct coll_step *step)
{
	const struct session *s = plan->state;
	const struct coll_job *job = &plan->job;
	uint64_t whole = job->bytes / job->segment;
	uint64_t begin = rest ? whole * job->segment : 0;

	if (rest ? begin == job->bytes : !whole) {
		coll_nothing(step);
		return;
	}
	coll_put(step, s->out,
		 coll_place(s->first ? coll_source(job) : COLL_RECV, begin),
		 coll_place(COLL_RECV, begin),
		 rest ? job->bytes - begin : job->segment);
	step->what = COLL_BLOCKS;
	step->count = rest ? 1 : whole;
}

static void session_step(const struct coll_plan *plan, unsigned int lane,
			 uint64_t index, bool odd, struct coll_step *step)
{
	const struct session *s = plan->state;

	(void)lane;
	(void)odd;
	if (index > 4)
		return;
	coll_nothing(step);
	if (index == 0 && !s->first)
		coll_tell(step, s->ready_out);
	else if (index == 1 && !s->last)
		coll_await(step, s->ready_in, 1);
	else if ((index == 2 || index == 3) && !s->last)
		blocks_put(plan, index == 3, step);
	else if (index == 4 && !s->first)
		coll_await(step, s->in, coll_session_blocks(&plan->job));
}

void coll_session_plan(struct coll_plan *plan)
{
	struct session *s = coll_state(plan, sizeof(*s));
	struct coll_fold fold = coll_fold(&plan->job.torus, 1);
	uint32_t at[TOFU_COLL_AXES], root[TOFU_COLL_AXES];
	uint32_t members = plan->job.members;
	uint32_t before[TOFU_COLL_AXES], behind[TOFU_COLL_AXES];

	if (!s)
		return;
	coll_fold_at(&fold, plan->job.number, at);
	coll_fold_at(&fold, plan->job.root, root);
	before[0] = (at[0] + members - 1) % members;
	behind[0] = (at[0] + 1) % members;
	s->first = at[0] == root[0];
	s->last = behind[0] == root[0];
	plan->step = session_step;
	plan->lanes = 1;
	plan->routes = 1;
	if (!s->first) {
		uint32_t peer = coll_fold_number(&fold, before);

		s->in = coll_port_add(plan, peer, 0, TAG_BLOCK,
				      coll_session_blocks(&plan->job));
		s->ready_out = coll_link_add(plan, peer, 0, TAG_READY);
		if (!plan->full)
			plan->port[s->in].session = true;
	}
	if (!s->last) {
		uint32_t peer = coll_fold_number(&fold, behind);

		s->ready_in = coll_port_add(plan, peer, 0, TAG_READY, 1);
		s->out = coll_link_add(plan, peer, 0, TAG_BLOCK);
		if (plan->full)
			return;
		plan->link[s->out].session = true;
		plan->link[s->out].waits = !s->first;
	}
}
