/* SPDX-License-Identifier: MIT */
/*
 * A machine on paper: carries out the plans of all members of a group in one
 * process, in an order that a hostile scheduler chooses. coll/plan.h says what a
 * plan may rely on. The machine gives no more than that, and reports the first
 * rule that is broken:
 *
 * - A put reads its source between its post and its end, and writes its
 *   destination between its post and its notice. Whatever else touches these
 *   bytes in that time is reported, even if the result would be right.
 * - The end of a put and its notice come in any order.
 * - Notices of puts from one member to another through one engine come in order,
 *   all others in any order.
 * - A user gets its buffers back at the end of each round, and writes to them.
 * - Members, lanes and puts run ahead or fall behind as the seed says.
 */
#ifndef COLL_PAPER_H
#define COLL_PAPER_H

#include <stdbool.h>
#include <stdint.h>

#include "coll/plan.h"

#define PAPER_TEXT 4096

/**
 * enum paper_in_place - members whose buffers are one
 * @PAPER_SOME: every other one, by the contents' seed
 */
enum paper_in_place {
	PAPER_NONE,
	PAPER_ALL,
	PAPER_SOME,
};

/**
 * enum paper_mutation - a fault that is put into plans
 * @PAPER_NO_AWAIT:  waits at a port do not wait; the round's end does
 * @PAPER_NO_FLUSH:  flushes of a lane do not wait
 * @PAPER_NO_JOIN:   joins of a lane do not wait
 * @PAPER_NO_NOTICE: puts without bytes on a link are left out
 * @PAPER_DUE_MORE, @PAPER_DUE_LESS: a port is due another number of notices
 * @PAPER_EVEN:      a lane takes all rounds for even ones, but for its waits
 */
enum paper_mutation {
	PAPER_SOUND,
	PAPER_NO_AWAIT,
	PAPER_NO_FLUSH,
	PAPER_NO_JOIN,
	PAPER_NO_NOTICE,
	PAPER_DUE_MORE,
	PAPER_DUE_LESS,
	PAPER_EVEN,
	PAPER_MUTATIONS,
};

/**
 * struct paper_mutant - where the fault is
 * @member: its number, or COLL_NOBODY: all
 * @which:  port, lane or link
 */
struct paper_mutant {
	enum paper_mutation what;
	uint32_t member;
	unsigned int which;
};

/**
 * struct paper_job - what is run
 * @how:      makes the plans
 * @count:    elements of a block
 * @ordered:  combine elements so that the order shows in the result
 * @contents: seed of the buffers' contents
 * @seed:     of the schedule
 */
struct paper_job {
	const struct coll_algorithm *how;
	struct coll_torus torus;
	uint32_t root;
	uint64_t count;
	uint32_t element;
	unsigned int engines;
	unsigned int routes;
	uint64_t segment;
	enum paper_in_place in_place;
	unsigned int rounds;
	bool ordered;
	uint64_t contents;
	uint64_t seed;
	struct paper_mutant mutant;
};

/**
 * enum paper_end - how a run has ended
 * @PAPER_FINE:   all members have ended all rounds, with the right results
 * @PAPER_UNFIT:  the job does not fit the algorithm
 * @PAPER_BROKEN: a rule was broken, or a result is wrong
 */
enum paper_end {
	PAPER_FINE,
	PAPER_UNFIT,
	PAPER_BROKEN,
};

/**
 * struct paper_report - what has happened
 * @puts:    of all members
 * @mutated: steps or ports that the mutant has changed
 * @bits:    of all results of combining, where the order shows
 * @text:    what is wrong, in lines
 */
struct paper_report {
	enum paper_end end;
	uint64_t puts;
	uint64_t mutated;
	uint64_t bits;
	char text[PAPER_TEXT];
};

/* paper_run - carry out plans; @report is filled */
void paper_run(const struct paper_job *job, struct paper_report *report);

/* paper_members - how many members a torus has */
uint32_t paper_members(const struct coll_torus *torus);

/* paper_random - the next number of a sequence */
uint64_t paper_random(uint64_t *state);

#endif /* COLL_PAPER_H */
