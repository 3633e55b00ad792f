// SPDX-License-Identifier: MIT
/* Steps of lanes, and faults that are put into them. */
#include "coll-paper-parts.h"

#include <string.h>

/* ---- Faults ---- */

static bool is_mutant(const struct paper_member *member,
		      enum paper_mutation what, unsigned int which)
{
	const struct paper_mutant *mutant = &member->paper->job->mutant;

	return mutant->what == what && mutant->which == which &&
	       (mutant->member == member->number ||
		mutant->member == COLL_NOBODY);
}

static bool mutates(const struct paper_member *member, unsigned int lane,
		    const struct coll_step *step)
{
	switch (step->what) {
	case COLL_AWAIT:
		return is_mutant(member, PAPER_NO_AWAIT, step->which);
	case COLL_FLUSH:
		return step->count < member->lane[lane].under_way &&
		       is_mutant(member, PAPER_NO_FLUSH, lane);
	case COLL_JOIN:
		return is_mutant(member, PAPER_NO_JOIN, lane);
	case COLL_PUT:
		return !step->bytes &&
		       is_mutant(member, PAPER_NO_NOTICE, step->which);
	default:
		return false;
	}
}

static void even_step(const struct paper_member *member, unsigned int lane,
		      struct coll_step *step)
{
	struct coll_step even;

	memset(&even, 0, sizeof(even));
	member->plan.step(&member->plan, lane, member->lane[lane].index, false,
			  &even);
	if (even.what == step->what && memcmp(&even, step, sizeof(even))) {
		member->paper->report->mutated++;
		*step = even;
	}
}

void paper_mutate_due(struct paper_member *member)
{
	for (unsigned int i = 0; i < member->plan.ports; i++) {
		struct coll_port *port = &member->plan.port[i];
		const bool more = is_mutant(member, PAPER_DUE_MORE, i);

		if (!more && (!port->due ||
			      !is_mutant(member, PAPER_DUE_LESS, i)))
			continue;
		port->due += more ? 1 : UINT64_MAX;
		member->paper->report->mutated++;
	}
}

/* ---- Steps ---- */

uint64_t paper_notices(const struct paper_member *member, unsigned int port)
{
	return member->port[port].arrived -
	       member->round * member->plan.port[port].due;
}

static bool joined(const struct paper_member *member, unsigned int lane,
		   uint64_t count)
{
	return member->lane[lane].ended || member->lane[lane].index >= count;
}

static bool gate_ended(const struct paper_member *member)
{
	const struct paper *paper = member->paper;

	return paper->gate[member->gates - 1].started == paper->members;
}

static bool step_waits(const struct paper_member *member, unsigned int lane,
		       const struct coll_step *step)
{
	switch (step->what) {
	case COLL_AWAIT:
		return paper_notices(member, step->which) < step->count;
	case COLL_FLUSH:
		return member->lane[lane].under_way > step->count;
	case COLL_JOIN:
		return !joined(member, step->which, step->count);
	case COLL_RESULT:
		return !gate_ended(member);
	default:
		return false;
	}
}

static bool step_valid(const struct paper_member *member, unsigned int lane,
		       const struct coll_step *step)
{
	const struct coll_plan *plan = &member->plan;
	struct paper *paper = member->paper;
	unsigned int below = UINT32_MAX;

	if (step->what > COLL_RESULT)
		return paper_broken(paper, "member %u: step %d",
				    member->number, (int)step->what);
	if (step->what == COLL_AWAIT)
		below = plan->ports;
	else if (step->what == COLL_JOIN)
		below = plan->lanes;
	else if (step->what == COLL_PUT || step->what == COLL_BLOCKS)
		below = plan->links;
	if (step->which >= below)
		return paper_broken(paper,
				    "member %u, lane %u, step %llu: names number %u of %u",
				    member->number, lane,
				    (unsigned long long)member->lane[lane].index,
				    step->which, below);
	if (step->what == COLL_AWAIT &&
	    step->count > plan->port[step->which].due &&
	    !is_mutant(member, PAPER_DUE_LESS, step->which))
		return paper_broken(paper,
				    "member %u, lane %u: awaits %llu notices at port %u, which is due %llu",
				    member->number, lane,
				    (unsigned long long)step->count,
				    step->which,
				    (unsigned long long)plan->port[step->which].due);
	if ((step->what == COLL_BLOCKS || step->what == COLL_PUT) &&
	    plan->link[step->which].session != (step->what == COLL_BLOCKS))
		return paper_broken(paper,
				    "member %u, lane %u: link %u is of another mode",
				    member->number, lane, step->which);
	if (step->what == COLL_RESULT && !member->gate_open)
		return paper_broken(paper, "member %u: no gate was started",
				    member->number);
	return true;
}

static bool half_over(const uint8_t *a, const uint8_t *b, uint64_t bytes)
{
	return a != b && a < b + bytes && b < a + bytes;
}

/* A copy, or a reduction if @b is there. */
static void do_local(struct paper_member *member, const struct coll_step *step,
		     bool reduces)
{
	const uint64_t bytes = step->bytes;
	uint8_t *dst = paper_place(member, step->dst, bytes);
	const uint8_t *a = paper_place(member, step->a, bytes), *b = a;
	struct paper *paper = member->paper;

	if (reduces)
		b = paper_place(member, step->b, bytes);
	if (!dst || !a || !b || !paper_may_read(member, a, bytes, "reads") ||
	    !paper_may_read(member, b, bytes, "reads") ||
	    !paper_may_write(member, dst, bytes, "writes"))
		return;
	if (half_over(dst, a, bytes) || half_over(dst, b, bytes))
		paper_broken(paper, "member %u: operands overlap",
			     member->number);
	else if (reduces && bytes % paper->job->element)
		paper_broken(paper, "member %u: an element is cut",
			     member->number);
	else if (reduces)
		paper_combine(paper, dst, a, b, bytes);
	else
		memmove(dst, a, bytes);
}

static void do_gate(struct paper_member *member, const struct coll_step *step)
{
	struct paper *paper = member->paper;
	struct paper_gate *gate = &paper->gate[member->gates];
	const uint8_t *words = paper_place(member, step->a, step->bytes);

	if (!words || !paper_may_read(member, words, step->bytes, "reads"))
		return;
	if (member->gate_open || member->gates == paper->gates ||
	    step->bytes > PAPER_GATE_BYTES ||
	    (gate->started && gate->bytes != step->bytes)) {
		paper_broken(paper, "member %u: starts a gate of %llu bytes",
			     member->number, (unsigned long long)step->bytes);
		return;
	}
	gate->bytes = step->bytes;
	gate->started++;
	memcpy(gate->words[member->number], words, step->bytes);
	member->gates++;
	member->gate_open = true;
	if (gate->started == paper->members)
		for (uint32_t m = 0; m < paper->members; m++)
			paper_list(paper, &paper->member[m].agent);
}

static void do_result(struct paper_member *member, const struct coll_step *step)
{
	struct paper *paper = member->paper;
	const struct paper_gate *gate = &paper->gate[member->gates - 1];
	uint8_t *dst = paper_place(member, step->dst, gate->bytes);

	member->gate_open = false;
	if (step->bytes != gate->bytes)
		paper_broken(paper, "member %u: a result of %llu bytes",
			     member->number, (unsigned long long)step->bytes);
	if (!gate->bytes || !dst ||
	    !paper_may_write(member, dst, gate->bytes, "writes a result"))
		return;
	memcpy(dst, gate->words[0], gate->bytes);
	for (uint32_t m = 1; m < paper->members; m++)
		paper_combine(paper, dst, dst, gate->words[m], gate->bytes);
}

static void step_do(struct paper_member *member, unsigned int lane,
		    const struct coll_step *step)
{
	struct paper_port *port = &member->port[step->which];

	switch (step->what) {
	case COLL_END:
		member->lane[lane].ended = true;
		break;
	case COLL_AWAIT:
		if (step->count > port->awaited)
			port->awaited = step->count;
		break;
	case COLL_PUT:
	case COLL_BLOCKS:
		paper_post(member, lane, step);
		break;
	case COLL_COPY:
	case COLL_REDUCE:
		do_local(member, step, step->what == COLL_REDUCE);
		break;
	case COLL_GATE:
		do_gate(member, step);
		break;
	case COLL_RESULT:
		do_result(member, step);
		break;
	default:
		break;
	}
}

void paper_step_get(const struct paper_member *member, unsigned int lane,
		     struct coll_step *step)
{
	memset(step, 0, sizeof(*step));
	member->plan.step(&member->plan, lane, member->lane[lane].index,
			  member->round % 2, step);
	if (is_mutant(member, PAPER_EVEN, lane) && member->round % 2)
		even_step(member, lane, step);
}

static uint64_t most_steps(const struct paper *paper)
{
	const uint64_t segments = paper->bytes / paper->job->segment + 1;

	return 256 + 64 * paper->members * segments;
}

bool paper_lane_move(struct paper_member *member, unsigned int number)
{
	struct paper_lane *lane = &member->lane[number];
	struct coll_step step;
	bool skips;

	if (lane->ended)
		return false;
	paper_step_get(member, number, &step);
	if (!step_valid(member, number, &step))
		return false;
	skips = mutates(member, number, &step);
	if (!skips && step_waits(member, number, &step))
		return false;
	member->paper->report->mutated += skips;
	if (!skips || step.what == COLL_AWAIT)
		step_do(member, number, &step);
	if (++lane->index > most_steps(member->paper))
		paper_broken(member->paper,
			     "member %u: lane %u has done %llu steps",
			     member->number, number,
			     (unsigned long long)lane->index);
	return true;
}
