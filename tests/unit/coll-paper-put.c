// SPDX-License-Identifier: MIT
/* Puts under way, and what they may touch meanwhile. */
#include "coll-paper-parts.h"

#include <stdlib.h>
#include <string.h>

uint8_t *paper_place(struct paper_member *member, struct coll_place place,
		     uint64_t bytes)
{
	const struct paper_area *area;

	if (place.area >= COLL_AREAS) {
		paper_broken(member->paper, "member %u: no area %d",
			     member->number, (int)place.area);
		return NULL;
	}
	area = &member->area[place.area];
	if (bytes > area->bytes || place.offset > area->bytes - bytes) {
		paper_broken(member->paper,
			     "member %u: bytes %llu … + %llu of area %u, which has %llu",
			     member->number, (unsigned long long)place.offset,
			     (unsigned long long)bytes, place.area,
			     (unsigned long long)area->bytes);
		return NULL;
	}
	return area->base + place.offset;
}

/* ---- Lists ---- */

static void puts_add(struct paper_puts *puts, struct paper_put *put)
{
	if (puts->count == puts->room) {
		puts->room = 2 * puts->room + 8;
		puts->at = realloc(puts->at, puts->room * sizeof(*puts->at));
	}
	puts->at[puts->count++] = put;
}

static void puts_remove(struct paper_puts *puts, const struct paper_put *put)
{
	unsigned int i = 0;

	while (puts->at[i] != put)
		i++;
	puts->at[i] = puts->at[--puts->count];
}

/* ---- Who may touch what ---- */

static bool overlap(const uint8_t *a, uint64_t a_bytes, const uint8_t *b,
		    uint64_t b_bytes)
{
	return a_bytes && b_bytes && a < b + b_bytes && b < a + a_bytes;
}

static bool in_the_way(struct paper_member *member, const struct paper_put *put,
		       bool writes, const char *why)
{
	return paper_broken(member->paper,
			    "member %u, round %u: %s, while a put from %u to %u of round %u, %llu bytes to tag %u of engine %u, may still %s them",
			    member->number, member->round, why,
			    put->from->number, put->to->number, put->round,
			    (unsigned long long)put->bytes,
			    put->to->plan.port[put->port].tag, put->engine,
			    writes ? "write" : "read");
}

bool paper_may_read(struct paper_member *member, const uint8_t *at,
		    uint64_t bytes, const char *why)
{
	for (unsigned int i = 0; i < member->in.count; i++) {
		const struct paper_put *put = member->in.at[i];

		if (overlap(at, bytes, put->dst, put->bytes))
			return in_the_way(member, put, true, why);
	}
	return true;
}

bool paper_may_write(struct paper_member *member, const uint8_t *at,
		     uint64_t bytes, const char *why)
{
	if (!paper_may_read(member, at, bytes, why))
		return false;
	for (unsigned int i = 0; i < member->out.count; i++) {
		const struct paper_put *put = member->out.at[i];

		if (overlap(at, bytes, put->src, put->bytes))
			return in_the_way(member, put, false, why);
	}
	return true;
}

/* Check what does not depend on where other puts are. */
static bool put_allowed(const struct paper_put *put)
{
	const struct paper_member *to = put->to;
	struct paper *paper = to->paper;
	const struct coll_port *port = &to->plan.port[put->port];

	if (put->user && put->bytes && (!to->active || to->round != put->round))
		return paper_broken(paper,
				    "member %u puts to the user's memory of %u in round %u, where this one %s round %u",
				    put->from->number, to->number, put->round,
				    to->active ? "is in" : "has not started",
				    to->round);
	if (port->peer != COLL_NOBODY && port->peer != put->from->number)
		return paper_broken(paper,
				    "member %u puts to tag %u of engine %u of %u, which is for %u",
				    put->from->number, port->tag, port->engine,
				    to->number, port->peer);
	if (port->peer == COLL_NOBODY && put->round > to->round &&
	    to->port[put->port].arrived < put->round * port->due)
		return paper_broken(paper,
				    "member %u puts to a port of several senders, tag %u of engine %u, of %u in round %u, where not all have come of round %u",
				    put->from->number, port->tag, port->engine,
				    to->number, put->round, to->round);
	if (to->coming[put->engine] + to->unpolled[put->engine] >=
	    COLL_NOTICES_MAX)
		return paper_broken(paper,
				    "member %u may get more notices than its queue has room for",
				    to->number);
	return true;
}

/* ---- Moves ---- */

static void put_read(struct paper_put *put, uint64_t bytes)
{
	memcpy(put->copy + put->read, put->src + put->read, bytes);
	put->read += bytes;
}

static void put_write(struct paper_put *put, uint64_t bytes)
{
	memcpy(put->dst + put->written, put->copy + put->written, bytes);
	put->written += bytes;
}

static void put_read_ends(struct paper_put *put)
{
	if (put->reading)
		puts_remove(&put->from->out, put);
	put->reading = false;
}

static void put_free(struct paper_put *put)
{
	free(put->copy);
	free(put);
}

/* A put may go: from now on it may read and write. */
static void put_release(struct paper *paper, struct paper_put *put)
{
	const enum paper_writing writing = paper->mood.writing;

	if (!put_allowed(put) ||
	    !paper_may_read(put->from, put->src, put->bytes, "puts bytes") ||
	    !paper_may_write(put->to, put->dst, put->bytes, "is put bytes")) {
		put_free(put);
		return;
	}
	puts_add(&put->from->out, put);
	puts_add(&put->to->in, put);
	put->to->coming[put->engine]++;
	put->reading = true;
	if (put->carried || writing == PAPER_EAGER)
		put_read(put, put->bytes);
	if (put->carried)
		put_read_ends(put);
	if (writing == PAPER_EAGER)
		put_write(put, put->bytes);
	put->agent.priority = put->stream->priority;
	paper_list(paper, &put->agent);
}

static void session_move(struct paper *paper, struct paper_session *session)
{
	while (session->credits && session->first && !paper->broken) {
		struct paper_put *put = session->first;

		session->first = put->next;
		session->credits--;
		put_release(paper, put);
	}
}

static void put_gone(struct paper *paper, struct paper_put *put)
{
	if (!put->noticed || !put->ended)
		return;
	paper_unlist(paper, &put->agent);
	put_free(put);
}

static void put_notice(struct paper *paper, struct paper_put *put)
{
	struct paper_member *to = put->to;
	struct paper_session *session = &to->session[put->engine];

	puts_remove(&to->in, put);
	put_read_ends(put);
	put->noticed = true;
	put->stream->noticed++;
	to->port[put->port].arrived++;
	to->coming[put->engine]--;
	to->unpolled[put->engine]++;
	paper_list(paper, &to->agent);
	if (put->session) {
		session->credits++;
		session_move(paper, session);
	}
}

static void put_end(struct paper *paper, struct paper_put *put)
{
	put_read_ends(put);
	put->ended = true;
	put->stream->ended++;
	if (!put->carried)
		put->from->lane[put->lane].under_way--;
	paper_list(paper, &put->from->agent);
}

static bool put_carry(struct paper *paper, struct paper_put *put)
{
	const uint64_t piece =
		1 + paper_random(&paper->random) % (put->bytes + 1);
	const uint64_t unread = put->bytes - put->read;
	const uint64_t unwritten = put->read - put->written;

	if (unread && (!unwritten || paper_chance(paper, 2)))
		put_read(put, piece < unread ? piece : unread);
	else if (unwritten)
		put_write(put, piece < unwritten ? piece : unwritten);
	else
		return false;
	return true;
}

void paper_put_move(struct paper *paper, struct paper_put *put)
{
	const bool first = put->order == put->stream->noticed;
	const bool late = paper->mood.writing == PAPER_LATE;
	const bool ends = put->order == put->stream->ended &&
			  put->read == put->bytes &&
			  (put->noticed || paper->mood.early);

	if (ends && paper_chance(paper, paper->mood.slow_ends ? 16 : 2)) {
		put_end(paper, put);
	} else if (put->noticed || (late && !first)) {
		return;
	} else if (late) {
		put_read(put, put->bytes - put->read);
		put_write(put, put->bytes - put->written);
		put_notice(paper, put);
	} else if (!put_carry(paper, put) && first) {
		put_notice(paper, put);
	}
	put_gone(paper, put);
}

/* ---- Posting ---- */

static struct paper_put *put_make(struct paper_member *from, unsigned int lane,
				  const struct coll_step *step, uint64_t block)
{
	const struct coll_link *link = &from->plan.link[step->which];
	struct paper_member *to = &from->paper->member[link->peer];
	struct paper_put *put = calloc(1, sizeof(*put));
	const struct coll_place src = { step->a.area,
					step->a.offset + block * step->bytes };
	const struct coll_place dst = {
		step->dst.area, step->dst.offset + block * step->bytes
	};

	put->agent.is_put = true;
	put->from = from;
	put->to = to;
	put->stream = &from->stream[from->stream_of[step->which]];
	put->order = put->stream->posted++;
	put->lane = lane;
	put->round = from->round;
	put->port = to->port_at[link->engine][link->tag] - 1U;
	put->engine = link->engine;
	put->session = link->session;
	put->bytes = step->bytes;
	put->user = dst.area != COLL_WORK;
	put->src = paper_place(from, src, put->bytes);
	put->dst = paper_place(to, dst, put->bytes);
	put->copy = malloc(put->bytes + 1);
	put->carried = step->what == COLL_PUT && put->bytes <= COLL_CARRIED;
	if (!put->carried)
		from->lane[lane].under_way++;
	from->paper->report->puts++;
	return put;
}

static void session_add(struct paper_session *session, struct paper_put *put)
{
	if (session->first)
		session->last->next = put;
	else
		session->first = put;
	session->last = put;
}

void paper_post(struct paper_member *member, unsigned int lane,
		const struct coll_step *step)
{
	const struct coll_link *link = &member->plan.link[step->which];
	struct paper_session *session = &member->session[link->engine];
	const bool blocks = step->what == COLL_BLOCKS;
	const uint64_t count = blocks ? step->count : 1;
	struct paper *paper = member->paper;

	for (uint64_t i = 0; i < count && !paper->broken; i++) {
		struct paper_put *put = put_make(member, lane, step, i);

		if (paper->broken)
			put_free(put);
		else if (link->waits)
			session_add(session, put);
		else
			put_release(paper, put);
	}
	if (link->waits)
		session_move(paper, session);
}

void paper_puts_free(struct paper *paper)
{
	for (unsigned int p = 0; p < PAPER_PRIORITIES; p++)
		for (unsigned int i = 0; i < paper->agents[p].count; i++)
			if (paper->agents[p].at[i]->is_put)
				put_free((struct paper_put *)paper->agents[p]
						 .at[i]);
	for (uint32_t m = 0; m < paper->members; m++)
		for (unsigned int e = 0; e < COLL_ENGINES_MAX; e++)
			for (struct paper_put *put =
				     paper->member[m].session[e].first;
			     put;) {
				struct paper_put *next = put->next;

				put_free(put);
				put = next;
			}
}
