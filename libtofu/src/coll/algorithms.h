/* SPDX-License-Identifier: MIT */
/* The plans of the algorithms, by file; algorithms.c lists them. */
#ifndef COLL_ALGORITHMS_H
#define COLL_ALGORITHMS_H

#include "coll/plan.h"

/* Bytes of COLL_WORK that an algorithm for short messages may take */
#define COLL_WORK_MAX (UINT64_C(64) << 20)

/* binomial.c */
void coll_binomial_plan(struct coll_plan *plan);

/* bruck.c */
void coll_bruck_plan(struct coll_plan *plan);
uint64_t coll_bruck_work(const struct coll_job *job);

/* direct.c */
void coll_direct_plan(struct coll_plan *plan);

/* doubling.c */
void coll_doubling_plan(struct coll_plan *plan);
uint64_t coll_doubling_work(const struct coll_job *job);

/* halving.c */
void coll_halving_plan(struct coll_plan *plan);

/* meet.c */
void coll_dissemination_plan(struct coll_plan *plan);
void coll_gates_plan(struct coll_plan *plan);

/* multiring.c */
void coll_multiring_plan(struct coll_plan *plan);

/* pipeline.c */
void coll_pipelined_plan(struct coll_plan *plan);
void coll_streamed_plan(struct coll_plan *plan);

/* ring.c */
void coll_ring_plan(struct coll_plan *plan);

/* session.c */
void coll_session_plan(struct coll_plan *plan);
uint64_t coll_session_blocks(const struct coll_job *job);

/* ---- Rounds of notices among all, in meet.c ---- */

/**
 * struct coll_meeting - a barrier by dissemination, as a part of a lane
 * @in, @out: port and link of each round
 * @rounds: log2 of the members
 */
struct coll_meeting {
	unsigned int in[32];
	unsigned int out[32];
	unsigned int rounds;
};

/* Tags from here on are those of a meeting. */
#define COLL_TAG_MEETING 224

void coll_meeting_make(struct coll_plan *plan, struct coll_meeting *meeting);

/* coll_meeting_steps - number of steps; coll_meeting_step - one of them */
uint64_t coll_meeting_steps(const struct coll_meeting *meeting);
void coll_meeting_step(const struct coll_meeting *meeting, uint64_t index,
		       struct coll_step *step);

#endif /* COLL_ALGORITHMS_H */
