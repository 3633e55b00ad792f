/* SPDX-License-Identifier: MIT */
/*
 * Parts of the machine on paper: the scheduler in coll-paper.c, plans in
 * coll-paper-plan.c, their steps in coll-paper-step.c, puts under way in
 * coll-paper-put.c, contents and results in coll-paper-data.c.
 */
#ifndef COLL_PAPER_PARTS_H
#define COLL_PAPER_PARTS_H

#include "coll-paper.h"

#define PAPER_GATE_BYTES 48 /* 6 words */
#define PAPER_PRIORITIES 3

struct paper;
struct paper_member;

/**
 * struct paper_agent - what can make a move: a member or a put
 * @priority: list that it is in
 * @place:    there
 */
struct paper_agent {
	bool is_put;
	bool listed;
	unsigned int priority;
	unsigned int place;
};

struct paper_agents {
	struct paper_agent **at;
	unsigned int count;
	unsigned int room;
};

/**
 * struct paper_stream - puts whose notices come in order, and whose ends do
 * @session, @waits: of links
 * @posted, @noticed, @ended: so many
 */
struct paper_stream {
	uint32_t to;
	unsigned int engine;
	bool session;
	bool waits;
	unsigned int priority;
	uint64_t posted;
	uint64_t noticed;
	uint64_t ended;
};

/**
 * struct paper_put - a put under way, or waiting in a session
 * @lane, @round: of the member that has posted it
 * @order:   in its stream
 * @copy:    what has been read
 * @user:    it writes to memory of the user
 * @carried: its lane does not wait for its end
 * @reading: it may read its source
 * @next:    in the session's queue
 */
struct paper_put {
	struct paper_agent agent;
	struct paper_member *from;
	struct paper_member *to;
	struct paper_stream *stream;
	unsigned int lane;
	unsigned int round;
	unsigned int port;
	unsigned int engine;
	uint64_t order;
	const uint8_t *src;
	uint8_t *dst;
	uint64_t bytes;
	uint64_t read;
	uint64_t written;
	uint8_t *copy;
	bool session;
	bool user;
	bool carried;
	bool reading;
	bool noticed;
	bool ended;
	struct paper_put *next;
};

struct paper_puts {
	struct paper_put **at;
	unsigned int count;
	unsigned int room;
};

/**
 * struct paper_session - a session-mode queue
 * @credits: blocks that may go
 */
struct paper_session {
	struct paper_put *first;
	struct paper_put *last;
	uint64_t credits;
};

struct paper_lane {
	uint64_t index;
	uint64_t under_way;
	bool ended;
};

/**
 * struct paper_port - state of a port
 * @arrived: notices of all rounds
 * @awaited: of this round
 */
struct paper_port {
	uint64_t arrived;
	uint64_t awaited;
};

/**
 * struct paper_area - an area, and the memory with guards that it is in
 */
struct paper_area {
	uint8_t *base;
	uint64_t bytes;
	uint8_t *memory;
};

/**
 * struct paper_member - a member
 * @round:   that it is in, or, if not @active, that it starts next
 * @streams: entries in @stream; @stream_of has one of them for each link
 * @port_at: number + 1 of the port of an engine and a tag
 * @in:      puts that may write here
 * @out:     puts that may read here
 * @coming, @unpolled: notices of each engine that are under way, and that have
 *          come after the member's last move
 * @gates:   barrier gates started
 */
struct paper_member {
	struct paper_agent agent;
	struct paper *paper;
	uint32_t number;
	struct coll_plan plan;
	struct paper_area area[COLL_AREAS];
	bool active;
	unsigned int round;
	struct paper_lane *lane;
	struct paper_port *port;
	struct paper_stream *stream;
	unsigned int streams;
	unsigned int *stream_of;
	uint16_t port_at[COLL_ENGINES_MAX][COLL_TAGS];
	struct paper_session session[COLL_ENGINES_MAX];
	struct paper_puts in;
	struct paper_puts out;
	unsigned int coming[COLL_ENGINES_MAX];
	unsigned int unpolled[COLL_ENGINES_MAX];
	unsigned int gates;
	bool gate_open;
};

/**
 * struct paper_gate - a round of the barrier gates
 * @words: of each member
 */
struct paper_gate {
	uint32_t started;
	uint64_t bytes;
	uint8_t (*words)[PAPER_GATE_BYTES];
};

/**
 * enum paper_writing - when puts move their bytes
 * @PAPER_EAGER:  when they are posted
 * @PAPER_PIECES: in pieces at any time
 * @PAPER_LATE:   just before their notice
 */
enum paper_writing {
	PAPER_EAGER,
	PAPER_PIECES,
	PAPER_LATE,
};

/**
 * struct paper_mood - what the scheduler is after
 * @bias:   enum in coll-paper.c
 * @member: that it is about
 * @strict: lower priorities wait until nothing else can move
 * @early:  puts may end before their notice
 * @slow_ends: they end long after they could
 */
struct paper_mood {
	unsigned int bias;
	uint32_t member;
	bool strict;
	bool early;
	bool slow_ends;
	enum paper_writing writing;
};

/**
 * struct paper_data - contents of a round, made when a member first needs them
 * @input: of all members, one after the other
 * @sum:   all inputs, combined
 * @known: where the order shows: the part of @sum of this member is set
 */
struct paper_data {
	uint8_t *input;
	uint8_t *sum;
	bool *known;
};

/**
 * struct paper - the machine
 * @bytes: of a block
 * @input: bytes of a member's input
 */
struct paper {
	const struct paper_job *job;
	struct paper_report *report;
	uint32_t members;
	uint64_t bytes;
	uint64_t input;
	uint64_t random;
	struct paper_mood mood;
	struct paper_member *member;
	struct paper_data *data;
	struct paper_gate *gate;
	unsigned int gates;
	struct paper_agents agents[PAPER_PRIORITIES];
	bool broken;
};

/* ---- coll-paper.c ---- */

/* paper_broken - report what is wrong, if it is the first; false */
bool paper_broken(struct paper *paper, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* paper_list, paper_unlist - an agent may have something to do, or has not */
void paper_list(struct paper *paper, struct paper_agent *agent);
void paper_unlist(struct paper *paper, struct paper_agent *agent);

/* paper_chance - true once in @of times */
bool paper_chance(struct paper *paper, unsigned int of);

/* ---- coll-paper-plan.c ---- */

/* paper_fits - whether the job fits all members, and not some only */
bool paper_fits(struct paper *paper);

/* paper_plans - make plans and memory of all members */
bool paper_plans(struct paper *paper);
void paper_member_free(struct paper_member *member);

/* ---- coll-paper-step.c ---- */

/* paper_mutate_due - put a fault into a port, if it is the one */
void paper_mutate_due(struct paper_member *member);

/* paper_notices - notices of this round at a port */
uint64_t paper_notices(const struct paper_member *member, unsigned int port);

/* paper_step_get - compute a lane's next step */
void paper_step_get(const struct paper_member *member, unsigned int lane,
		    struct coll_step *step);

/* paper_lane_move - let a lane do a step, if it can */
bool paper_lane_move(struct paper_member *member, unsigned int number);

/* ---- coll-paper-put.c ---- */

/* paper_place - the memory of a place; NULL if its bytes are not in the area */
uint8_t *paper_place(struct paper_member *member, struct coll_place place,
		     uint64_t bytes);

/**
 * paper_may_read, paper_may_write - report a put that is in the way
 * @why: who wants to
 */
bool paper_may_read(struct paper_member *member, const uint8_t *at,
		    uint64_t bytes, const char *why);
bool paper_may_write(struct paper_member *member, const uint8_t *at,
		     uint64_t bytes, const char *why);

/* paper_post - do a step that puts */
void paper_post(struct paper_member *member, unsigned int lane,
		const struct coll_step *step);

/* paper_put_move - let a put make a move; it may be gone then */
void paper_put_move(struct paper *paper, struct paper_put *put);

/* paper_puts_free - free all that have not ended */
void paper_puts_free(struct paper *paper);

/* ---- coll-paper-data.c ---- */

/* paper_areas - give a member its memory; its plan is made */
void paper_areas(struct paper_member *member);
void paper_areas_free(struct paper_member *member);

/* paper_fill - give the user's buffers the contents of the member's round */
void paper_fill(struct paper_member *member);

/* paper_check - compare buffers with what they should have after the round */
bool paper_check(struct paper_member *member);

/* paper_guards - check that nothing was written beside the areas */
bool paper_guards(struct paper_member *member);

/* paper_combine - dst = a op b */
void paper_combine(const struct paper *paper, uint8_t *dst, const uint8_t *a,
		   const uint8_t *b, uint64_t bytes);

/* paper_data_free - free contents, after their bits have been reported */
void paper_data_free(struct paper *paper);

#endif /* COLL_PAPER_PARTS_H */
