// SPDX-License-Identifier: MIT
/*
 * Allgather by rings along each axis in turn: on three axes the 3-D multiring.
 *
 * Each block is cut into parts, one for each engine and direction of an axis. A
 * part goes around along one axis first; then all blocks of a line go around
 * along the next axis, then those of a plane along the last. Parts take the axes
 * in different orders, so that at no time two of them use a link in the same
 * direction.
 *
 * A member's buffer is written by its neighbours, which are told at the
 * beginning of a round that they may.
 *
 * No deadlock: a part's lane waits for its own stages before, and in a stage for
 * blocks that have come one step before from one direction. The first waits are
 * for notices that members send without waiting.
 */
#include "coll/algorithms.h"
#include "utofu/work.h"

#define PARTS_MAX COLL_ENGINES_MAX
#define DIRECTIONS_MAX (2 * TOFU_COLL_AXES)
/* Tags: of a stage of the part that has the engine; of a direction */
#define TAG_READY 8

/**
 * struct stage - a part's way along one axis
 * @axis:   of the fold
 * @down:   against its direction
 * @held:   blocks of each member when it begins
 * @steps:  of the lane, before it
 */
struct stage {
	unsigned int axis;
	bool down;
	unsigned int in;
	unsigned int out;
	uint64_t held;
	uint64_t steps;
};

/**
 * struct part - a part of all blocks
 * @offset, @bytes: in a block
 * @steps:  of its lane
 */
struct part {
	uint64_t offset;
	uint64_t bytes;
	uint64_t steps;
	struct stage stage[TOFU_COLL_AXES];
};

/**
 * struct multiring - the state of a plan
 * @at: place of the member
 * @ready: links of @readies neighbours that want to be told
 * @told: port where the neighbour in a direction tells
 */
struct multiring {
	struct coll_fold fold;
	uint32_t at[TOFU_COLL_AXES];
	unsigned int parts;
	struct part part[PARTS_MAX];
	unsigned int readies;
	unsigned int ready[DIRECTIONS_MAX];
	unsigned int told[DIRECTIONS_MAX];
};

static unsigned int direction(const struct multiring *m, unsigned int axis,
			      bool down)
{
	return axis + (down ? m->fold.axes : 0);
}

/* The neighbour along an axis, in its direction or against it */
static uint32_t neighbour(const struct multiring *m, unsigned int axis,
			  bool against)
{
	uint32_t at[TOFU_COLL_AXES], size = m->fold.size[axis];

	for (unsigned int i = 0; i < m->fold.axes; i++)
		at[i] = m->at[i];
	at[axis] = (at[axis] + (against ? size - 1 : 1)) % size;
	return coll_fold_number(&m->fold, at);
}

/* ---- Steps ---- */

/*
 * Block @index of those that a member holds along the axes of the stages before,
 * of the member @by steps behind along the stage's axis
 */
static uint32_t block_of(const struct multiring *m, const struct part *part,
			 unsigned int s, uint64_t by, uint64_t index)
{
	const struct stage *stage = &part->stage[s];
	uint32_t at[TOFU_COLL_AXES], size = m->fold.size[stage->axis];

	for (unsigned int i = 0; i < m->fold.axes; i++)
		at[i] = m->at[i];
	for (unsigned int i = 0; i < s; i++) {
		unsigned int axis = part->stage[i].axis;

		at[axis] = (uint32_t)(index % m->fold.size[axis]);
		index /= m->fold.size[axis];
	}
	at[stage->axis] = (uint32_t)((at[stage->axis] +
				      (stage->down ? by : size - by)) % size);
	return coll_fold_number(&m->fold, at);
}

static void block_put(const struct coll_plan *plan, const struct part *part,
		      const struct stage *stage, uint32_t block,
		      struct coll_step *step)
{
	uint64_t to = block * plan->job.bytes + part->offset;
	struct coll_place from = coll_place(COLL_RECV, to);

	if (block == plan->job.number)
		from = coll_place(COLL_SEND, part->offset);
	coll_put(step, stage->out, from, coll_place(COLL_RECV, to),
		 part->bytes);
}

/*
 * Of a stage: the neighbour is ready; of each step and block: it has come, it
 * goes on; all have come.
 */
static void stage_step(const struct coll_plan *plan, const struct part *part,
		       unsigned int s, uint64_t index, struct coll_step *step)
{
	const struct multiring *m = plan->state;
	const struct stage *stage = &part->stage[s];
	uint64_t number = (index - 1) / 2, by = number / stage->held;
	uint64_t puts = (m->fold.size[stage->axis] - 1) * stage->held;

	tofu_work(TOFU_WORK_COLL_RINGS);
	if (!index)
		coll_await(step,
			   m->told[direction(m, stage->axis, stage->down)], 1);
	else if (number == puts)
		coll_await(step, stage->in, puts);
	else if (index % 2 == 0)
		block_put(plan, part, stage,
			  block_of(m, part, s, by, number % stage->held),
			  step);
	else if (by)
		coll_await(step, stage->in, number - stage->held + 1);
	else
		coll_nothing(step);
}

/* Tells all that want to know, and copies the own block. */
static void first_step(const struct coll_plan *plan, uint64_t index,
		       struct coll_step *step)
{
	const struct multiring *m = plan->state;

	if (index < m->readies)
		coll_tell(step, m->ready[index]);
	else if (index == m->readies)
		coll_copy(step,
			  coll_place(COLL_RECV,
				     plan->job.number * plan->job.bytes),
			  coll_place(COLL_SEND, 0), plan->job.bytes);
}

static void multiring_step(const struct coll_plan *plan, unsigned int lane,
			   uint64_t index, bool odd, struct coll_step *step)
{
	const struct multiring *m = plan->state;
	const struct part *part;
	unsigned int s = m->fold.axes - 1;

	(void)odd;
	if (!lane) {
		first_step(plan, index, step);
		return;
	}
	part = &m->part[lane - 1];
	if (index >= part->steps)
		return;
	while (index < part->stage[s].steps)
		s--;
	stage_step(plan, part, s, index - part->stage[s].steps, step);
}

/* ---- Plans ---- */

static void stage_make(struct coll_plan *plan, unsigned int number,
		       unsigned int s)
{
	struct multiring *m = plan->state;
	struct part *part = &m->part[number];
	struct stage *stage = &part->stage[s];
	uint64_t puts;

	stage->axis = (number + s) % m->fold.axes;
	stage->down = number >= m->fold.axes;
	stage->held = s ? part->stage[s - 1].held *
				  m->fold.size[part->stage[s - 1].axis] :
			  1;
	stage->steps = part->steps;
	puts = (m->fold.size[stage->axis] - 1) * stage->held;
	part->steps += 2 + 2 * puts;
	stage->in = coll_port_add(plan,
				  neighbour(m, stage->axis, !stage->down),
				  number, s, puts);
	stage->out = coll_link_add(plan,
				   neighbour(m, stage->axis, stage->down),
				   number, s);
}

/* Cut at cache lines, where a block is long enough */
static uint64_t cut(uint64_t bytes, unsigned int number, unsigned int parts)
{
	return number == parts ? bytes :
				 bytes / parts * number & ~UINT64_C(63);
}

static void part_make(struct coll_plan *plan, unsigned int number)
{
	struct multiring *m = plan->state;
	struct part *part = &m->part[number];

	part->offset = cut(plan->job.bytes, number, m->parts);
	part->bytes = cut(plan->job.bytes, number + 1, m->parts) -
		      part->offset;
	for (unsigned int s = 0; s < m->fold.axes; s++)
		stage_make(plan, number, s);
}

/* The member before tells, in each direction that blocks take. */
static void readiness_make(struct coll_plan *plan)
{
	struct multiring *m = plan->state;
	unsigned int ways = m->parts > m->fold.axes ? 2 : 1;

	for (unsigned int i = 0; i < ways * m->fold.axes; i++) {
		unsigned int axis = i % m->fold.axes;
		bool down = i >= m->fold.axes;
		unsigned int engine = i % plan->job.engines;

		m->told[i] = coll_port_add(plan, neighbour(m, axis, down),
					   engine, TAG_READY + i, 1);
		m->ready[m->readies++] =
			coll_link_add(plan, neighbour(m, axis, !down), engine,
				      TAG_READY + i);
	}
}

void coll_multiring_plan(struct coll_plan *plan)
{
	struct multiring *m = coll_state(plan, sizeof(*m));
	unsigned int most;

	if (!m)
		return;
	m->fold = coll_fold(&plan->job.torus, TOFU_COLL_AXES);
	coll_fold_at(&m->fold, plan->job.number, m->at);
	most = 2 * m->fold.axes;
	m->parts = plan->job.engines < most ? plan->job.engines : most;
	/* Parts of less are not worth an engine. */
	if (plan->job.bytes < 64 * (uint64_t)m->parts)
		m->parts = 1;
	readiness_make(plan);
	for (unsigned int i = 0; i < m->parts; i++)
		part_make(plan, i);
	plan->step = multiring_step;
	plan->lanes = 1 + m->parts;
	plan->routes = m->parts;
}
