// SPDX-License-Identifier: MIT
/*
 * Barriers.
 *
 * Dissemination: in round i a member tells the one 2^i behind it and hears of
 * the one 2^i before it. No deadlock: a round waits for puts of the round alone,
 * which their senders make when they have ended the round before. There is one put
 * at a time, so one engine does, which leaves less to poll.
 *
 * Gates: one step starts the gate, another awaits its end. The gates are linked
 * when the collective is created; see gates/network.h for their progress.
 */
#include "coll/algorithms.h"

void coll_meeting_make(struct coll_plan *plan, struct coll_meeting *meeting)
{
	uint64_t members = plan->job.members, number = plan->job.number;
	unsigned int r = 0;

	for (uint64_t by = 1; by < members; by *= 2, r++) {
		uint32_t to = (uint32_t)((number + by) % members);
		uint32_t from = (uint32_t)((number + members - by) % members);

		meeting->out[r] = coll_link_add(plan, to, 0,
						COLL_TAG_MEETING + r);
		meeting->in[r] = coll_port_add(plan, from, 0,
					       COLL_TAG_MEETING + r, 1);
	}
	meeting->rounds = r;
}

uint64_t coll_meeting_steps(const struct coll_meeting *meeting)
{
	return 2 * (uint64_t)meeting->rounds;
}

void coll_meeting_step(const struct coll_meeting *meeting, uint64_t index,
		       struct coll_step *step)
{
	if (index % 2)
		coll_await(step, meeting->in[index / 2], 1);
	else
		coll_tell(step, meeting->out[index / 2]);
}

static void dissemination_step(const struct coll_plan *plan, unsigned int lane,
			       uint64_t index, bool odd, struct coll_step *step)
{
	const struct coll_meeting *meeting = plan->state;

	(void)lane;
	(void)odd;
	if (index < coll_meeting_steps(meeting))
		coll_meeting_step(meeting, index, step);
}

void coll_dissemination_plan(struct coll_plan *plan)
{
	struct coll_meeting *meeting = coll_state(plan, sizeof(*meeting));

	if (!meeting)
		return;
	coll_meeting_make(plan, meeting);
	plan->step = dissemination_step;
	plan->lanes = 1;
	plan->routes = 1;
}

/* ---- Gates ---- */

static void gates_step(const struct coll_plan *plan, unsigned int lane,
		       uint64_t index, bool odd, struct coll_step *step)
{
	(void)lane;
	(void)odd;
	if (index > 1)
		return;
	step->what = index ? COLL_RESULT : COLL_GATE;
	step->a = coll_place(coll_source(&plan->job), 0);
	step->dst = coll_place(COLL_RECV, 0);
	if (plan->job.kind == TOFU_COLL_ALLREDUCE)
		step->bytes = plan->job.bytes;
}

void coll_gates_plan(struct coll_plan *plan)
{
	plan->step = gates_step;
	plan->lanes = 1;
	plan->routes = 1;
}
