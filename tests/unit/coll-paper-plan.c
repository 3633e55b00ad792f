// SPDX-License-Identifier: MIT
/* Making plans of all members, and checking what is in them. */
#include "coll-paper-parts.h"

#include <stdlib.h>

/* ---- Ports and links ---- */

static bool link_right(struct paper_member *member, unsigned int number)
{
	const struct coll_link *link = &member->plan.link[number];
	struct paper *paper = member->paper;
	const struct paper_member *to;
	unsigned int port;

	if (link->peer >= paper->members || link->peer == member->number ||
	    link->engine >= paper->job->engines)
		return paper_broken(paper, "member %u: link %u to %u",
				    member->number, number, link->peer);
	to = &paper->member[link->peer];
	port = to->port_at[link->engine][link->tag];
	if (!port || to->plan.port[port - 1].session != link->session ||
	    (link->waits && !link->session))
		return paper_broken(paper,
				    "member %u: link %u to tag %u of engine %u of %u, which has no such port",
				    member->number, number, link->tag,
				    link->engine, link->peer);
	return true;
}

static unsigned int stream_of(struct paper_member *member,
			      const struct coll_link *link)
{
	struct paper_stream *stream = member->stream;
	unsigned int i = 0;

	while (i < member->streams &&
	       (stream[i].to != link->peer ||
		stream[i].engine != link->engine ||
		stream[i].session != link->session ||
		stream[i].waits != link->waits))
		i++;
	if (i < member->streams)
		return i;
	stream[i] = (struct paper_stream){
		.to = link->peer,
		.engine = link->engine,
		.session = link->session,
		.waits = link->waits,
	};
	return member->streams++;
}

static bool ports_make(struct paper_member *member)
{
	const struct coll_plan *plan = &member->plan;

	for (unsigned int i = 0; i < plan->ports; i++) {
		const struct coll_port *port = &plan->port[i];

		if (port->engine >= member->paper->job->engines ||
		    member->port_at[port->engine][port->tag] ||
		    port->peer == member->number)
			return paper_broken(member->paper,
					    "member %u: port %u, tag %u of engine %u, from %d",
					    member->number, i, port->tag,
					    port->engine, (int)port->peer);
		member->port_at[port->engine][port->tag] = (uint16_t)(i + 1);
	}
	return true;
}

/* ---- Plans ---- */

static bool in_place(const struct paper_job *job, uint32_t number)
{
	uint64_t state = job->contents + number;

	if (job->how->kind != TOFU_COLL_BCAST &&
	    job->how->kind != TOFU_COLL_REDUCE &&
	    job->how->kind != TOFU_COLL_ALLREDUCE)
		return false;
	return job->in_place == PAPER_ALL ||
	       (job->in_place == PAPER_SOME && paper_random(&state) % 2);
}

static struct coll_job job_of(const struct paper_job *job, uint32_t number)
{
	return (struct coll_job){
		.kind = job->how->kind,
		.members = paper_members(&job->torus),
		.number = number,
		.root = job->root,
		.torus = job->torus,
		.bytes = job->count * job->element,
		.element = job->element,
		.engines = job->engines,
		.routes = job->routes,
		.segment = job->segment,
		.in_place = in_place(job, number),
		.gate_words = job->element == 8 ? 6 : 0,
	};
}

bool paper_fits(struct paper *paper)
{
	unsigned int misfits = 0;

	for (uint32_t m = 0; m < paper->members; m++) {
		const struct coll_job job = job_of(paper->job, m);

		misfits += paper->job->how->unfit(&job) != NULL;
	}
	if (misfits % paper->members)
		return paper_broken(paper, "fits %u of %u members",
				    paper->members - misfits, paper->members);
	if (misfits)
		paper->report->end = PAPER_UNFIT;
	return !misfits;
}

static bool member_make(struct paper *paper, uint32_t number)
{
	struct paper_member *member = &paper->member[number];
	const struct coll_job job = job_of(paper->job, number);
	struct coll_plan *plan = &member->plan;

	member->paper = paper;
	member->number = number;
	if (coll_plan_make(paper->job->how, &job, plan))
		return paper_broken(paper, "member %u: no plan", number);
	member->lane = calloc(plan->lanes + 1, sizeof(*member->lane));
	member->port = calloc(plan->ports + 1, sizeof(*member->port));
	member->stream = calloc(plan->links + 1, sizeof(*member->stream));
	member->stream_of = calloc(plan->links + 1,
				   sizeof(*member->stream_of));
	paper_areas(member);
	paper_mutate_due(member);
	return ports_make(member);
}

static bool links_make(struct paper *paper)
{
	for (uint32_t m = 0; m < paper->members; m++) {
		struct paper_member *member = &paper->member[m];

		for (unsigned int i = 0; i < member->plan.links; i++) {
			if (!link_right(member, i))
				return false;
			member->stream_of[i] =
				stream_of(member, &member->plan.link[i]);
		}
	}
	return true;
}

void paper_member_free(struct paper_member *member)
{
	coll_plan_clear(&member->plan);
	paper_areas_free(member);
	free(member->lane);
	free(member->port);
	free(member->stream);
	free(member->stream_of);
	free(member->in.at);
	free(member->out.at);
}

bool paper_plans(struct paper *paper)
{
	for (uint32_t m = 0; m < paper->members; m++)
		if (!member_make(paper, m))
			return false;
	return links_make(paper);
}
