// SPDX-License-Identifier: MIT
/*
 * A binomial tree, for short messages: broadcast, reduction, gather, scatter.
 *
 * Members count from the root. The parent of member v is v without its lowest
 * bit; so the members of a subtree follow each other, and their blocks can go
 * together. At the root, where numbers wrap around, they go in two pieces.
 *
 * What receives says at the beginning of a round that it may be written: members
 * to their parents where something goes down, parents to their children where it
 * comes up.
 *
 * No deadlock: going down, a member waits for its parent's data, and for notices
 * that its children send first of all; going up, the same with parent and
 * children exchanged.
 */
#include "coll/algorithms.h"

#define CHILDREN_MAX 32

enum { TAG_DATA = 0, /* and the child's bit */
       TAG_READY = 64 };

/**
 * struct child - a subtree
 * @in, @out: port and link
 * @place:  of its first member, counted from this one
 * @members: in it
 * @puts:   pieces in which its blocks go
 */
struct child {
	unsigned int in;
	unsigned int out;
	uint32_t place;
	uint32_t members;
	unsigned int puts;
};

/**
 * struct binomial - the state of a plan
 * @from:   this member, counted from the root
 * @members: in its subtree
 * @in, @out: port and link to the parent
 * @puts:   pieces between it and the parent
 * @child:  the one with the lowest bit first
 */
struct binomial {
	uint32_t from;
	uint32_t members;
	unsigned int in;
	unsigned int out;
	unsigned int puts;
	unsigned int children;
	struct child child[CHILDREN_MAX];
};

static bool is_root(const struct binomial *b)
{
	return !b->from;
}

static uint32_t member_at(const struct coll_job *job, uint32_t from)
{
	return (uint32_t)(((uint64_t)job->root + from) % job->members);
}

/* ---- Blocks of a subtree ---- */

/*
 * Piece @piece of the blocks of members @from … of a subtree: where it begins in
 * the root's buffer, and in the subtree. Only between the root and a child of
 * its is there more than one.
 */
struct piece {
	uint64_t number;
	uint64_t place;
	uint64_t blocks;
};

static struct piece piece_of(const struct coll_job *job, uint32_t from,
			     uint32_t members, bool at_root,
			     unsigned int piece)
{
	uint32_t first = member_at(job, from);
	uint64_t before = job->members - first;

	if (before > members || !at_root)
		before = members;
	if (!piece)
		return (struct piece){ first, 0, before };
	return (struct piece){ 0, before, members - before };
}

static unsigned int pieces_of(const struct coll_job *job, uint32_t from,
			      uint32_t members, bool at_root)
{
	return piece_of(job, from, members, at_root, 0).blocks < members ? 2 :
									   1;
}

/* ---- Broadcast and scatter: down ---- */

/* What a child gets, and where */
static void down_put(const struct coll_plan *plan, const struct child *child,
		     unsigned int piece, struct coll_step *step)
{
	const struct binomial *b = plan->state;
	const struct coll_job *job = &plan->job;
	struct coll_place to = coll_place(COLL_RECV, 0), from = to;
	struct piece p;

	if (job->kind == TOFU_COLL_BCAST) {
		if (is_root(b))
			from.area = coll_source(job);
		coll_put(step, child->out, from, to, job->bytes);
		return;
	}
	p = piece_of(job, child->place, child->members, is_root(b), piece);
	from = is_root(b) ? coll_place(COLL_SEND, p.number * job->bytes) :
			    coll_place(COLL_WORK, child->place * job->bytes);
	if (child->members > 1)
		to = coll_place(COLL_WORK, p.place * job->bytes);
	coll_put(step, child->out, from, to, p.blocks * job->bytes);
}

/* A scatter's own block, unless it came to its place */
static void down_own(const struct coll_plan *plan, struct coll_step *step)
{
	const struct binomial *b = plan->state;
	const struct coll_job *job = &plan->job;
	struct coll_place to = coll_place(COLL_RECV, 0);

	if (job->kind == TOFU_COLL_BCAST)
		return;
	if (is_root(b))
		coll_copy(step, to,
			  coll_place(COLL_SEND, job->root * job->bytes),
			  job->bytes);
	else if (b->members > 1)
		coll_copy(step, to, coll_place(COLL_WORK, 0), job->bytes);
}

/*
 * Ready; the data have come; of each child, the largest subtree first: it is
 * ready, its data go in up to two pieces; the own block.
 */
static void down_step(const struct coll_plan *plan, uint64_t index,
		      struct coll_step *step)
{
	const struct binomial *b = plan->state;
	const struct child *child;
	unsigned int slot;

	coll_nothing(step);
	if (index == 0 && !is_root(b)) {
		coll_tell(step, b->out);
	} else if (index == 1 && !is_root(b)) {
		coll_await(step, b->in, b->puts);
	} else if (index >= 2 && index - 2 < 3 * (uint64_t)b->children) {
		slot = (unsigned int)(index - 2);
		child = &b->child[b->children - 1 - slot / 3];
		if (slot % 3 == 0)
			coll_await(step, child->in, 1);
		else if (slot % 3 <= child->puts)
			down_put(plan, child, slot % 3 - 1, step);
	} else if (index >= 2) {
		*step = (struct coll_step){ 0 };
		if (index - 2 == 3 * (uint64_t)b->children)
			down_own(plan, step);
	}
}

/* ---- Reduction and gather: up ---- */

/* Where a child's data come; after them, the sum of a reduction */
static struct coll_place up_at(const struct coll_plan *plan, unsigned int bit)
{
	return coll_place(COLL_WORK, bit * plan->job.bytes);
}

static struct coll_place sum_at(const struct coll_plan *plan)
{
	const struct binomial *b = plan->state;

	return is_root(b) ? coll_place(COLL_RECV, 0) :
			    up_at(plan, b->children);
}

static void up_reduce(const struct coll_plan *plan, unsigned int bit,
		      struct coll_step *step)
{
	struct coll_place own = coll_place(coll_source(&plan->job), 0);

	coll_reduce(step, sum_at(plan), bit ? sum_at(plan) : own,
		    up_at(plan, bit), plan->job.bytes);
}

/* The own block of a gather, unless it goes from its place */
static void up_own(const struct coll_plan *plan, struct coll_step *step)
{
	const struct binomial *b = plan->state;
	const struct coll_job *job = &plan->job;
	struct coll_place to = coll_place(COLL_WORK, 0);

	if (job->kind != TOFU_COLL_GATHER || (!is_root(b) && !b->children))
		return;
	if (is_root(b))
		to = coll_place(COLL_RECV, job->root * job->bytes);
	coll_copy(step, to, coll_place(COLL_SEND, 0), job->bytes);
}

static void up_put(const struct coll_plan *plan, unsigned int piece,
		   struct coll_step *step)
{
	const struct binomial *b = plan->state;
	const struct coll_job *job = &plan->job;
	struct coll_place from = coll_place(coll_source(job), 0), to;
	unsigned int bit = (unsigned int)__builtin_ctz(b->from);
	struct piece p;
	bool at_root;

	if (job->kind == TOFU_COLL_REDUCE) {
		coll_put(step, b->out, b->children ? sum_at(plan) : from,
			 up_at(plan, bit), job->bytes);
		return;
	}
	at_root = !(b->from & (b->from - 1));
	p = piece_of(job, b->from, b->members, at_root, piece);
	if (b->children)
		from = coll_place(COLL_WORK, p.place * job->bytes);
	to = coll_place(COLL_WORK, ((UINT64_C(1) << bit) + p.place) *
					   job->bytes);
	if (at_root)
		to = coll_place(COLL_RECV, p.number * job->bytes);
	coll_put(step, b->out, from, to, p.blocks * job->bytes);
}

/*
 * Children may send; the own block; of each child: its data have come, they are
 * added; the parent is ready; up to two pieces go there.
 */
static void up_step(const struct coll_plan *plan, uint64_t index,
		    struct coll_step *step)
{
	const struct binomial *b = plan->state;
	uint64_t children = b->children;
	uint64_t slot = index - children - 1;
	unsigned int bit = (unsigned int)(slot / 2);

	coll_nothing(step);
	if (index < children) {
		coll_tell(step, b->child[index].out);
	} else if (index == children) {
		up_own(plan, step);
	} else if (slot < 2 * children) {
		if (slot % 2 == 0)
			coll_await(step, b->child[bit].in,
				   b->child[bit].puts);
		else if (plan->job.kind == TOFU_COLL_REDUCE)
			up_reduce(plan, bit, step);
	} else if (is_root(b) || slot - 2 * children > b->puts) {
		*step = (struct coll_step){ 0 };
	} else if (slot == 2 * children) {
		coll_await(step, b->in, 1);
	} else {
		up_put(plan, (unsigned int)(slot - 2 * children - 1), step);
	}
}

static void binomial_step(const struct coll_plan *plan, unsigned int lane,
			  uint64_t index, bool odd, struct coll_step *step)
{
	(void)lane;
	(void)odd;
	if (plan->job.kind == TOFU_COLL_BCAST ||
	    plan->job.kind == TOFU_COLL_SCATTER)
		down_step(plan, index, step);
	else
		up_step(plan, index, step);
}

/* ---- Plans ---- */

/* Only blocks are in pieces. */
static unsigned int puts_of(const struct coll_job *job, uint32_t from,
			    uint32_t members, bool at_root)
{
	bool blocks = job->kind == TOFU_COLL_GATHER ||
		      job->kind == TOFU_COLL_SCATTER;

	return blocks ? pieces_of(job, from, members, at_root) : 1;
}

static void parent_make(struct coll_plan *plan, bool down)
{
	struct binomial *b = plan->state;
	unsigned int bit = (unsigned int)__builtin_ctz(b->from);
	uint32_t parent = b->from & (b->from - 1);
	uint32_t member = member_at(&plan->job, parent);
	unsigned int engine = bit % plan->job.engines;

	b->puts = puts_of(&plan->job, b->from, b->members, !parent);
	b->in = coll_port_add(plan, member, engine,
			      (down ? TAG_DATA : TAG_READY) + bit,
			      down ? b->puts : 1);
	b->out = coll_link_add(plan, member, engine,
			       (down ? TAG_READY : TAG_DATA) + bit);
}

static void child_make(struct coll_plan *plan, unsigned int bit, bool down)
{
	struct binomial *b = plan->state;
	struct child *child = &b->child[b->children++];
	uint32_t from = b->from + (1U << bit);
	uint32_t left = plan->job.members - from;
	unsigned int engine = bit % plan->job.engines;
	uint32_t member = member_at(&plan->job, from);

	child->members = left < 1U << bit ? left : 1U << bit;
	child->place = is_root(b) ? from : 1U << bit;
	child->puts = puts_of(&plan->job, from, child->members, is_root(b));
	child->in = coll_port_add(plan, member, engine,
				  (down ? TAG_READY : TAG_DATA) + bit,
				  down ? 1 : child->puts);
	child->out = coll_link_add(plan, member, engine,
				   (down ? TAG_DATA : TAG_READY) + bit);
}

static uint64_t work_of(const struct coll_plan *plan)
{
	const struct binomial *b = plan->state;

	switch (plan->job.kind) {
	case TOFU_COLL_BCAST:
		return 0;
	case TOFU_COLL_REDUCE:
		return (b->children + UINT64_C(1)) * plan->job.bytes;
	default:
		return is_root(b) || !b->children ?
			       0 :
			       b->members * plan->job.bytes;
	}
}

void coll_binomial_plan(struct coll_plan *plan)
{
	struct binomial *b = coll_state(plan, sizeof(*b));
	bool down = plan->job.kind == TOFU_COLL_BCAST ||
		    plan->job.kind == TOFU_COLL_SCATTER;
	uint32_t members = plan->job.members;

	if (!b)
		return;
	b->from = (uint32_t)(((uint64_t)plan->job.number + members -
			      plan->job.root) % members);
	for (unsigned int bit = 0; bit < CHILDREN_MAX - 1 &&
				   !(b->from >> bit & 1) &&
				   b->from + (UINT64_C(1) << bit) < members;
	     bit++)
		child_make(plan, bit, down);
	b->members = 1;
	for (unsigned int i = 0; i < b->children; i++)
		b->members += b->child[i].members;
	if (!is_root(b))
		parent_make(plan, down);
	plan->step = binomial_step;
	plan->lanes = 1;
	plan->routes = 1;
	plan->work = work_of(plan);
}
