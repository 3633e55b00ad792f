// SPDX-License-Identifier: MIT
/* Making plans: what all algorithms need. */
#include "coll/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Ports and links ---- */

/* Room for one more element of an array that grows by powers of two */
static void *grown(struct coll_plan *plan, void *array, unsigned int count,
		   size_t size)
{
	void *more;

	if (count & (count - 1) || plan->full)
		return array;
	more = realloc(array, (count ? 2 * (size_t)count : 1) * size);
	plan->full = !more;
	return more ? more : array;
}

unsigned int coll_port_add(struct coll_plan *plan, uint32_t peer,
			   unsigned int engine, unsigned int tag, uint64_t due)
{
	plan->port = grown(plan, plan->port, plan->ports, sizeof(*plan->port));
	if (plan->full)
		return 0;
	plan->port[plan->ports] = (struct coll_port){
		.peer = peer,
		.due = due,
		.engine = (uint8_t)engine,
		.tag = (uint8_t)tag,
	};
	return plan->ports++;
}

unsigned int coll_link_add(struct coll_plan *plan, uint32_t peer,
			   unsigned int engine, unsigned int tag)
{
	plan->link = grown(plan, plan->link, plan->links, sizeof(*plan->link));
	if (plan->full)
		return 0;
	plan->link[plan->links] = (struct coll_link){
		.peer = peer,
		.engine = (uint8_t)engine,
		.tag = (uint8_t)tag,
	};
	return plan->links++;
}

void *coll_state(struct coll_plan *plan, size_t size)
{
	plan->state = calloc(1, size);
	plan->full = plan->full || !plan->state;
	return plan->state;
}

/* ---- Steps ---- */

void coll_await(struct coll_step *step, unsigned int port, uint64_t count)
{
	step->what = COLL_AWAIT;
	step->which = port;
	step->count = count;
}

void coll_flush(struct coll_step *step, uint64_t count)
{
	step->what = COLL_FLUSH;
	step->count = count;
}

void coll_join(struct coll_step *step, unsigned int lane, uint64_t count)
{
	step->what = COLL_JOIN;
	step->which = lane;
	step->count = count;
}

void coll_nothing(struct coll_step *step)
{
	coll_flush(step, UINT64_MAX);
}

void coll_put(struct coll_step *step, unsigned int link, struct coll_place a,
	      struct coll_place dst, uint64_t bytes)
{
	step->what = COLL_PUT;
	step->which = link;
	step->a = a;
	step->dst = dst;
	step->bytes = bytes;
}

void coll_tell(struct coll_step *step, unsigned int link)
{
	step->what = COLL_PUT;
	step->which = link;
}

void coll_copy(struct coll_step *step, struct coll_place dst,
	       struct coll_place a, uint64_t bytes)
{
	step->what = COLL_COPY;
	step->dst = dst;
	step->a = a;
	step->bytes = bytes;
}

void coll_reduce(struct coll_step *step, struct coll_place dst,
		 struct coll_place a, struct coll_place b, uint64_t bytes)
{
	step->what = COLL_REDUCE;
	step->dst = dst;
	step->a = a;
	step->b = b;
	step->bytes = bytes;
}

/* ---- A single member ---- */

/* Its result is its contribution. */
static void alone_step(const struct coll_plan *plan, unsigned int lane,
		       uint64_t index, bool odd, struct coll_step *step)
{
	(void)lane;
	(void)odd;
	if (!index)
		coll_copy(step, coll_place(COLL_RECV, 0),
			  coll_place(COLL_SEND, 0), plan->job.bytes);
}

static void alone_plan(struct coll_plan *plan)
{
	bool moves = plan->job.kind != TOFU_COLL_BARRIER &&
		     plan->job.kind != TOFU_COLL_BCAST && !plan->job.in_place;

	plan->step = alone_step;
	plan->lanes = moves ? 1 : 0;
}

/* ---- Plans ---- */

int coll_plan_make(const struct coll_algorithm *algorithm,
		   const struct coll_job *job, struct coll_plan *plan)
{
	*plan = (struct coll_plan){ .job = *job };
	if (!job->bytes && job->kind != TOFU_COLL_BARRIER)
		return 0;
	if (job->members == 1)
		alone_plan(plan);
	else
		algorithm->plan(plan);
	return plan->full ? -ENOMEM : 0;
}

void coll_plan_clear(struct coll_plan *plan)
{
	free(plan->port);
	free(plan->link);
	free(plan->state);
	*plan = (struct coll_plan){ 0 };
}
