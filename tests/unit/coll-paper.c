// SPDX-License-Identifier: MIT
/* Rounds of members, and the scheduler. */
#include "coll-paper-parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the scheduler is after */
enum bias {
	BIAS_EVEN,
	BIAS_FAST_PUTS,
	BIAS_SLOW_PUTS,
	BIAS_AHEAD, /* one member, and its puts */
	BIAS_BEHIND, /* one member */
	BIAS_SLOW_FROM, /* puts of one member */
	BIAS_SLOW_TO, /* puts to one member */
	BIAS_ANY, /* each has a priority of its own */
	BIASES,
};

#define MOST_MEMBERS_SHOWN 6

uint64_t paper_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

bool paper_chance(struct paper *paper, unsigned int of)
{
	return paper_random(&paper->random) % of == 0;
}

uint32_t paper_members(const struct coll_torus *torus)
{
	return torus->size[0] * torus->size[1] * torus->size[2];
}

static void append(struct paper_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append(struct paper_report *report, const char *format, ...)
{
	size_t used = strlen(report->text);
	va_list args;

	va_start(args, format);
	vsnprintf(report->text + used, sizeof(report->text) - used, format,
		  args);
	va_end(args);
}

bool paper_broken(struct paper *paper, const char *format, ...)
{
	va_list args;

	if (paper->broken)
		return false;
	paper->broken = true;
	va_start(args, format);
	vsnprintf(paper->report->text, sizeof(paper->report->text), format,
		  args);
	va_end(args);
	return false;
}

/* ---- Rounds ---- */

static void round_begin(struct paper_member *member)
{
	for (unsigned int i = 0; i < member->plan.lanes; i++) {
		member->lane[i].index = 0;
		member->lane[i].ended = false;
	}
	for (unsigned int i = 0; i < member->plan.ports; i++)
		member->port[i].awaited = 0;
	paper_fill(member);
	member->active = true;
}

/* A round ends with all puts of the member. */
static bool lanes_ended(const struct paper_member *member)
{
	for (unsigned int i = 0; i < member->plan.lanes; i++)
		if (!member->lane[i].ended || member->lane[i].under_way)
			return false;
	return true;
}

/* A plan that lacks waits only comes here by a fault that was put into it. */
static bool ports_done(struct paper_member *member)
{
	const bool faulty = member->paper->job->mutant.what == PAPER_NO_AWAIT;

	for (unsigned int i = 0; i < member->plan.ports; i++) {
		const uint64_t due = member->plan.port[i].due;

		if (faulty && paper_notices(member, i) < due)
			return false;
		if (member->port[i].awaited != due)
			return paper_broken(member->paper,
					    "member %u, round %u: awaited %llu notices at port %u, which is due %llu",
					    member->number, member->round,
					    (unsigned long long)member->port[i]
						    .awaited,
					    i, (unsigned long long)due);
	}
	return true;
}

/*
 * What is still to come belongs to the round, if its sender has not ended a later
 * one.
 */
static bool nothing_comes(struct paper_member *member)
{
	for (unsigned int i = 0; i < member->in.count; i++)
		if (member->in.at[i]->round <= member->round)
			return paper_broken(member->paper,
					    "member %u, round %u: ended, while a put from %u comes",
					    member->number, member->round,
					    member->in.at[i]->from->number);
	return true;
}

/* A barrier is ended by nobody before all have started it. */
static bool all_started(struct paper_member *member)
{
	const struct paper *paper = member->paper;

	for (uint32_t m = 0; m < paper->members; m++) {
		const struct paper_member *other = &paper->member[m];

		if (other->round < member->round ||
		    (other->round == member->round && !other->active))
			return paper_broken(member->paper,
					    "member %u, round %u: ended, while %u has not started",
					    member->number, member->round, m);
	}
	return true;
}

static bool round_end(struct paper_member *member)
{
	if (!lanes_ended(member) || !ports_done(member))
		return false;
	if (member->gate_open)
		return paper_broken(member->paper,
				    "member %u: its gate has not ended",
				    member->number);
	if (member->paper->job->how->kind == TOFU_COLL_BARRIER &&
	    !all_started(member))
		return false;
	if (!nothing_comes(member) || !paper_check(member))
		return false;
	member->active = false;
	member->round++;
	return true;
}

/* ---- Scheduler ---- */

void paper_list(struct paper *paper, struct paper_agent *agent)
{
	struct paper_agents *list = &paper->agents[agent->priority];

	if (agent->listed)
		return;
	if (list->count == list->room) {
		list->room = 2 * list->room + 16;
		list->at = realloc(list->at, list->room * sizeof(*list->at));
	}
	agent->listed = true;
	agent->place = list->count;
	list->at[list->count++] = agent;
}

void paper_unlist(struct paper *paper, struct paper_agent *agent)
{
	struct paper_agents *list = &paper->agents[agent->priority];
	struct paper_agent *last = list->at[--list->count];

	list->at[agent->place] = last;
	last->place = agent->place;
	agent->listed = false;
}

static struct paper_agent *pick(struct paper *paper)
{
	struct paper_agent *agent = NULL;

	for (unsigned int p = 0; p < PAPER_PRIORITIES; p++) {
		const struct paper_agents *list = &paper->agents[p];

		if (!list->count)
			continue;
		agent = list->at[paper_random(&paper->random) % list->count];
		if (paper->mood.strict || !paper_chance(paper, 16))
			break;
	}
	return agent;
}

static bool member_try(struct paper_member *member)
{
	const unsigned int lanes = member->plan.lanes;
	uint64_t first = paper_random(&member->paper->random);

	if (!member->active) {
		if (member->round == member->paper->job->rounds)
			return false;
		round_begin(member);
		return true;
	}
	for (unsigned int i = 0; i < lanes; i++)
		if (paper_lane_move(member, (unsigned int)((first + i) % lanes)))
			return true;
	return round_end(member);
}

static void member_move(struct paper *paper, struct paper_member *member)
{
	memset(member->unpolled, 0, sizeof(member->unpolled));
	if (!member_try(member))
		paper_unlist(paper, &member->agent);
}

static unsigned int member_priority(struct paper *paper,
				    const struct paper_member *member)
{
	const bool about = member->number == paper->mood.member;

	switch (paper->mood.bias) {
	case BIAS_SLOW_PUTS:
		return 0;
	case BIAS_AHEAD:
		return about ? 0 : 1;
	case BIAS_BEHIND:
		return about ? 2 : 1;
	case BIAS_ANY:
		return paper_random(&paper->random) % PAPER_PRIORITIES;
	default:
		return 1;
	}
}

static unsigned int stream_priority(struct paper *paper,
				    const struct paper_member *from,
				    const struct paper_stream *stream)
{
	const bool is_from = from->number == paper->mood.member;
	const bool is_to = stream->to == paper->mood.member;

	switch (paper->mood.bias) {
	case BIAS_FAST_PUTS:
		return 0;
	case BIAS_SLOW_PUTS:
		return 2;
	case BIAS_AHEAD:
		return is_from || is_to ? 0 : 1;
	case BIAS_SLOW_FROM:
		return is_from ? 2 : 1;
	case BIAS_SLOW_TO:
		return is_to ? 2 : 1;
	case BIAS_ANY:
		return paper_random(&paper->random) % PAPER_PRIORITIES;
	default:
		return 1;
	}
}

/* ---- Accounts ---- */

static void tell_lane(const struct paper_member *member, unsigned int number)
{
	static const char *const names[] = {
		"end",	"await", "flush",  "join", "put",
		"blocks", "copy", "reduce", "gate", "result",
	};
	struct paper_report *report = member->paper->report;
	struct coll_step step;

	paper_step_get(member, number, &step);
	append(report, "\n  lane %u, step %llu: %s %llu", number,
	       (unsigned long long)member->lane[number].index,
	       names[step.what], (unsigned long long)step.count);
	if (step.what == COLL_AWAIT) {
		const struct coll_port *port = &member->plan.port[step.which];

		append(report,
		       " at port %u (tag %u of engine %u, from %d), has %lld",
		       step.which, port->tag, port->engine, (int)port->peer,
		       (long long)paper_notices(member, step.which));
	} else if (step.what == COLL_FLUSH) {
		append(report, ", %llu under way",
		       (unsigned long long)member->lane[number].under_way);
	} else if (step.what == COLL_JOIN) {
		append(report, " of lane %u, which has done %llu", step.which,
		       (unsigned long long)member->lane[step.which].index);
	}
}

static void tell_waiting(struct paper *paper)
{
	unsigned int shown = 0, waiting = 0;

	for (uint32_t m = 0; m < paper->members; m++)
		waiting += paper->member[m].active;
	paper_broken(paper, "%u of %u members wait for ever:", waiting,
		     paper->members);
	for (uint32_t m = 0; m < paper->members; m++) {
		const struct paper_member *member = &paper->member[m];

		if (!member->active || shown++ >= MOST_MEMBERS_SHOWN)
			continue;
		append(paper->report, "\n member %u, round %u:", m,
		       member->round);
		for (unsigned int i = 0; i < member->plan.lanes; i++)
			if (!member->lane[i].ended)
				tell_lane(member, i);
	}
}

/* After the last round, when nothing is under way any more. */
static bool all_right(struct paper *paper)
{
	for (uint32_t m = 0; m < paper->members; m++) {
		struct paper_member *member = &paper->member[m];

		if (member->active || member->round < paper->job->rounds) {
			tell_waiting(paper);
			return false;
		}
		for (unsigned int i = 0; i < member->plan.ports; i++)
			if (paper_notices(member, i))
				return paper_broken(paper,
						    "member %u: %llu notices too many at port %u",
						    m,
						    (unsigned long long)
							    paper_notices(member, i),
						    i);
		for (unsigned int e = 0; e < COLL_ENGINES_MAX; e++)
			if (member->session[e].first)
				return paper_broken(paper,
						    "member %u: blocks wait in the session of engine %u",
						    m, e);
		if (!paper_guards(member))
			return false;
	}
	return true;
}

/* ---- The machine ---- */

static void priorities(struct paper *paper)
{
	for (uint32_t m = 0; m < paper->members; m++) {
		struct paper_member *member = &paper->member[m];

		member->agent.priority = member_priority(paper, member);
		for (unsigned int i = 0; i < member->streams; i++)
			member->stream[i].priority = stream_priority(
				paper, member, &member->stream[i]);
	}
}

static struct paper_mood mood_of(struct paper *paper)
{
	uint64_t *random = &paper->random;

	return (struct paper_mood){
		.bias = paper_random(random) % BIASES,
		.member = (uint32_t)(paper_random(random) % paper->members),
		.strict = paper_random(random) % 2,
		.early = paper_random(random) % 2,
		.slow_ends = paper_random(random) % 2,
		.writing = paper_random(random) % (PAPER_LATE + 1),
	};
}

static void machine_make(struct paper *paper, const struct paper_job *job,
			 struct paper_report *report)
{
	const bool wide = job->how->kind == TOFU_COLL_SCATTER ||
			  job->how->kind == TOFU_COLL_ALLTOALL ||
			  job->how->kind == TOFU_COLL_REDUCE_SCATTER;

	*report = (struct paper_report){ 0 };
	*paper = (struct paper){
		.job = job,
		.report = report,
		.members = paper_members(&job->torus),
		.bytes = job->count * job->element,
		.random = job->seed,
		.gates = 2 * job->rounds,
	};
	paper->input = (wide ? paper->members : 1) * paper->bytes;
	paper->member = calloc(paper->members, sizeof(*paper->member));
	paper->data = calloc(job->rounds, sizeof(*paper->data));
	paper->gate = calloc(paper->gates, sizeof(*paper->gate));
	for (unsigned int i = 0; i < paper->gates; i++)
		paper->gate[i].words = calloc(paper->members,
					      sizeof(*paper->gate[i].words));
	paper->mood = mood_of(paper);
}

static void machine_free(struct paper *paper)
{
	paper_puts_free(paper);
	paper_data_free(paper);
	for (uint32_t m = 0; m < paper->members; m++)
		paper_member_free(&paper->member[m]);
	for (unsigned int i = 0; i < paper->gates; i++)
		free(paper->gate[i].words);
	for (unsigned int p = 0; p < PAPER_PRIORITIES; p++)
		free(paper->agents[p].at);
	free(paper->gate);
	free(paper->member);
}

static bool machine_run(struct paper *paper)
{
	struct paper_agent *agent;

	priorities(paper);
	for (uint32_t m = 0; m < paper->members; m++)
		paper_list(paper, &paper->member[m].agent);
	while (!paper->broken && (agent = pick(paper))) {
		if (agent->is_put)
			paper_put_move(paper, (struct paper_put *)agent);
		else
			member_move(paper, (struct paper_member *)agent);
	}
	return !paper->broken && all_right(paper);
}

void paper_run(const struct paper_job *job, struct paper_report *report)
{
	struct paper paper;

	machine_make(&paper, job, report);
	if (paper_fits(&paper) && paper_plans(&paper))
		machine_run(&paper);
	if (paper.broken)
		report->end = PAPER_BROKEN;
	machine_free(&paper);
}
