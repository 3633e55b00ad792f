// SPDX-License-Identifier: MIT
/*
 * Broadcast, reduction and both, in segments along the trees of routes.h. On
 * three routes this is Trinaryx3.
 *
 * A lane for each route and direction. Down a tree: a member tells its parent
 * that its buffer may be written, forwards each segment as it comes, and says
 * from time to time that it has taken more, so that no more notices wait for it
 * than its queue has room for. Up a tree: a parent grants each child places for
 * a window of segments; a member combines its own segment with those of its
 * children, always in the same order, and puts the sum into its parent's window.
 *
 * Allreduce goes up and then down. What comes down needs no leave: a segment
 * that comes down contains what the member has sent up in this round.
 *
 * No deadlock: a wait is for the parent or the children in the same tree, for
 * a segment or a grant. Downwards, the first segment that is missing anywhere
 * is waited for by no member nearer to the root, and its parent can send it as
 * soon as the child has told that it has taken the ones before, which it does
 * without waiting for its own children: it forwards segments in order, so a
 * grandchild can hold back the member, but a leaf waits for nobody. Upwards it
 * is the same with root and leaves exchanged. The broadcast's lanes wait for
 * those of the reduction, never the other way round.
 */
#include "coll/algorithms.h"

#include "coll/routes.h"

/* Segments under way: up a tree, into memory for them; down, notices only */
#define UP_WINDOW 8
#define DOWN_WINDOW 64

/* ---- Tags: a member has one wire in each direction of each axis ---- */

#define TAG_DOWN 0 /* data, from the parent */
#define TAG_TAKEN 8 /* grants, from the child */
#define TAG_UP 16 /* data, from the child */
#define TAG_ROOM 24 /* grants, from the parent */

/**
 * struct branch - what a member has with a neighbour in a tree
 * @in:  port of data, or of grants where data go out
 * @out: link for data, or for grants where data come in
 */
struct branch {
	unsigned int in;
	unsigned int out;
};

/**
 * struct way - a direction of a tree
 * @tree:   of the member
 * @parent, @child: ports and links
 */
struct way {
	struct coll_tree tree;
	struct branch parent;
	struct branch child[TOFU_COLL_AXES];
};

/**
 * struct route - a route's part of the message
 * @offset, @bytes: of it
 * @segments: that it is cut into
 */
struct route {
	uint64_t offset;
	uint64_t bytes;
	uint64_t segments;
	struct way up;
	struct way down;
};

/**
 * struct pipeline - the state of a plan
 * @wires: of a member
 * @streamed: segments go down before all have come up
 */
struct pipeline {
	unsigned int routes;
	unsigned int wires;
	bool streamed;
	struct route route[ROUTES_MAX];
};

/* ---- Segments ---- */

static uint64_t segment_begin(const struct coll_plan *plan,
			      const struct route *route, uint64_t segment)
{
	return route->offset + segment * plan->job.segment;
}

static uint64_t segment_bytes(const struct coll_plan *plan,
			      const struct route *route, uint64_t segment)
{
	uint64_t left = route->bytes - segment * plan->job.segment;

	return left < plan->job.segment ? left : plan->job.segment;
}

/*
 * Grants: the first is for a whole window, and each further one for half of it
 * when that has been taken. There are as many as the sender needs.
 */
static uint64_t grants(uint64_t segments, unsigned int window)
{
	uint64_t half = window / 2;

	return segments <= window ? 1 : 1 + (segments - window + half - 1) / half;
}

/* Whether a grant is due when so many segments have been taken */
static bool grant_due(uint64_t taken, uint64_t segments, unsigned int window)
{
	uint64_t half = window / 2;

	return taken % half == 0 && taken / half < grants(segments, window);
}

/* ---- Down ---- */

/* The broadcast of an allreduce has a leave already: see above. */
static bool is_told(const struct coll_plan *plan)
{
	return plan->job.kind == TOFU_COLL_BCAST;
}

static struct coll_place down_source(const struct coll_plan *plan,
				     const struct way *way, uint64_t begin)
{
	bool own = plan->job.kind == TOFU_COLL_BCAST && !way->tree.has_parent;

	return coll_place(own ? coll_source(&plan->job) : COLL_RECV, begin);
}

/* Grants that the parent has before the first segment without a first one */
static uint64_t down_grants(const struct coll_plan *plan, uint64_t segments)
{
	uint64_t all = grants(segments, DOWN_WINDOW);

	return is_told(plan) ? all : all - 1;
}

/*
 * Of each segment: it comes, its taking is told, each child has room for it, it
 * goes to each child.
 */
static void down_segment(const struct coll_plan *plan,
			 const struct route *route, uint64_t index,
			 struct coll_step *step)
{
	const struct way *way = &route->down;
	unsigned int children = way->tree.children;
	uint64_t slots = 2 + 2 * (uint64_t)children;
	uint64_t segment = index / slots, slot = index % slots;
	uint64_t begin = segment_begin(plan, route, segment);
	struct coll_place to = coll_place(COLL_RECV, begin);
	bool parent = way->tree.has_parent;

	if (segment == route->segments)
		return;
	coll_nothing(step);
	if (slot == 0 && parent)
		coll_await(step, way->parent.in, segment + 1);
	else if (slot == 1 && parent &&
		 grant_due(segment + 1, route->segments, DOWN_WINDOW))
		coll_tell(step, way->parent.out);
	else if (slot >= 2 && slot < 2 + children)
		coll_await(step, way->child[slot - 2].in,
			   down_grants(plan, segment + 1));
	else if (slot >= 2)
		coll_put(step, way->child[slot - 2 - children].out,
			 down_source(plan, way, begin), to,
			 segment_bytes(plan, route, segment));
}

static void down_step(const struct coll_plan *plan, const struct route *route,
		      uint64_t index, struct coll_step *step)
{
	if (!is_told(plan) || !route->down.tree.has_parent)
		down_segment(plan, route, index, step);
	else if (!index && route->segments)
		coll_tell(step, route->down.parent.out);
	else if (index)
		down_segment(plan, route, index - 1, step);
}

/* ---- Up ---- */

/* Where segments from a child wait, and where a member's sums do */
static struct coll_place up_window(const struct coll_plan *plan,
				   unsigned int window, uint64_t segment)
{
	uint64_t place = window * UP_WINDOW + segment % UP_WINDOW;

	return coll_place(COLL_WORK, place * plan->job.segment);
}

static struct coll_place up_from(const struct coll_plan *plan,
				 const struct way *way, unsigned int child,
				 uint64_t segment)
{
	return up_window(plan, way->tree.child[child].wire, segment);
}

static struct coll_place up_sum(const struct coll_plan *plan,
				const struct route *route, uint64_t segment)
{
	const struct pipeline *p = plan->state;
	unsigned int number = (unsigned int)(route - p->route);

	if (!route->up.tree.has_parent)
		return coll_place(COLL_RECV,
				  segment_begin(plan, route, segment));
	return up_window(plan, p->wires + number, segment);
}

static struct coll_place up_own(const struct coll_plan *plan,
				const struct route *route, uint64_t segment)
{
	return coll_place(coll_source(&plan->job),
			  segment_begin(plan, route, segment));
}

static void up_reduce(const struct coll_plan *plan, const struct route *route,
		      unsigned int child, uint64_t segment,
		      struct coll_step *step)
{
	struct coll_place sum = up_sum(plan, route, segment);

	coll_reduce(step, sum,
		    child ? sum : up_own(plan, route, segment),
		    up_from(plan, &route->up, child, segment),
		    segment_bytes(plan, route, segment));
}

static void up_put(const struct coll_plan *plan, const struct route *route,
		   uint64_t segment, struct coll_step *step)
{
	const struct way *way = &route->up;

	coll_put(step, way->parent.out,
		 way->tree.children ? up_sum(plan, route, segment) :
				      up_own(plan, route, segment),
		 up_window(plan, way->tree.parent.wire, segment),
		 segment_bytes(plan, route, segment));
}

/*
 * Of each segment: the place of its sum is free, it comes from each child and is
 * added, each child gets room, the parent has room, the sum goes there.
 */
static void up_segment(const struct coll_plan *plan, const struct route *route,
		       uint64_t index, struct coll_step *step)
{
	const struct way *way = &route->up;
	unsigned int children = way->tree.children;
	uint64_t slots = 3 + 3 * (uint64_t)children;
	uint64_t segment = index / slots, slot = index % slots;
	bool parent = way->tree.has_parent;

	if (segment == route->segments)
		return;
	coll_nothing(step);
	if (slot == 0 && parent && children)
		coll_flush(step, UP_WINDOW - 1);
	else if (slot >= 1 && slot < 1 + 2 * children && slot % 2)
		coll_await(step, way->child[slot / 2].in, segment + 1);
	else if (slot >= 1 && slot < 1 + 2 * children)
		up_reduce(plan, route, (unsigned int)slot / 2 - 1, segment,
			  step);
	else if (slot >= 1 + 2 * children && slot < 1 + 3 * children &&
		 grant_due(segment + 1, route->segments, UP_WINDOW))
		coll_tell(step, way->child[slot - 1 - 2 * children].out);
	else if (slot == 1 + 3 * children && parent)
		coll_await(step, way->parent.in,
			   grants(segment + 1, UP_WINDOW));
	else if (slot == 2 + 3 * children && parent)
		up_put(plan, route, segment, step);
}

static void up_step(const struct coll_plan *plan, const struct route *route,
		    uint64_t index, struct coll_step *step)
{
	const struct way *way = &route->up;

	if (!route->segments)
		return;
	if (index < way->tree.children)
		coll_tell(step, way->child[index].out);
	else
		up_segment(plan, route, index - way->tree.children, step);
}

/* ---- Both ---- */

static uint64_t up_steps(const struct route *route, uint64_t segments)
{
	uint64_t children = route->up.tree.children;

	return children + segments * (3 + 3 * children);
}

/* What the root sends down has come up. */
static void turn_step(const struct coll_plan *plan, unsigned int number,
		      uint64_t index, struct coll_step *step)
{
	const struct pipeline *p = plan->state;
	const struct route *route = &p->route[number];
	uint64_t slots = 2 + 2 * (uint64_t)route->down.tree.children;

	if (route->down.tree.has_parent) {
		down_step(plan, route, index, step);
	} else if (!p->streamed) {
		if (!index)
			coll_join(step, number, UINT64_MAX);
		else
			down_step(plan, route, index - 1, step);
	} else if (index % slots == 0 && index / slots < route->segments) {
		/* In the place of a wait for the parent, which there is none */
		coll_join(step, number, up_steps(route, index / slots + 1));
	} else {
		down_step(plan, route, index, step);
	}
}

static void pipeline_step(const struct coll_plan *plan, unsigned int lane,
			  uint64_t index, bool odd, struct coll_step *step)
{
	const struct pipeline *p = plan->state;
	unsigned int number = lane % p->routes;

	(void)odd;
	if (plan->job.kind == TOFU_COLL_BCAST)
		down_step(plan, &p->route[number], index, step);
	else if (lane < p->routes)
		up_step(plan, &p->route[number], index, step);
	else
		turn_step(plan, number, index, step);
}

/* ---- Plans ---- */

static void way_make(struct coll_plan *plan, struct way *way, bool up,
		     uint64_t data, uint64_t granted)
{
	unsigned int in = up ? TAG_UP : TAG_TAKEN;
	unsigned int out = up ? TAG_ROOM : TAG_DOWN;
	const struct coll_branch *b = &way->tree.parent;

	if (way->tree.has_parent) {
		way->parent.in = coll_port_add(
			plan, b->member, b->engine,
			(up ? TAG_ROOM : TAG_DOWN) + b->wire,
			up ? granted : data);
		way->parent.out = coll_link_add(
			plan, b->member, b->engine,
			(up ? TAG_UP : TAG_TAKEN) + b->wire);
	}
	for (unsigned int i = 0; i < way->tree.children; i++) {
		b = &way->tree.child[i];
		way->child[i].in = coll_port_add(plan, b->member, b->engine,
						 in + b->wire,
						 up ? data : granted);
		way->child[i].out = coll_link_add(plan, b->member, b->engine,
						  out + b->wire);
	}
}

/* The route's part of the message, in whole elements */
static void route_cut(const struct coll_job *job, unsigned int number,
		      unsigned int routes, struct route *route)
{
	route->offset = coll_part_begin(job, number, routes);
	route->bytes = coll_part_begin(job, number + 1, routes) - route->offset;
	route->segments = (route->bytes + job->segment - 1) / job->segment;
}

static void route_make(struct coll_plan *plan, const struct coll_routes *r,
		       unsigned int number)
{
	struct pipeline *p = plan->state;
	struct route *route = &p->route[number];
	uint64_t segments;

	route_cut(&plan->job, number, r->routes, route);
	segments = route->segments;
	if (!segments)
		return;
	route->up.tree = coll_tree(r, number, plan->job.number);
	route->down.tree = route->up.tree;
	if (plan->job.kind != TOFU_COLL_BCAST)
		way_make(plan, &route->up, true, segments,
			 grants(segments, UP_WINDOW));
	if (plan->job.kind != TOFU_COLL_REDUCE)
		way_make(plan, &route->down, false, segments,
			 down_grants(plan, segments));
}

static void pipeline_make(struct coll_plan *plan, bool streamed)
{
	struct coll_routes r = coll_routes(&plan->job);
	struct pipeline *p = coll_state(plan, sizeof(*p));

	if (!p)
		return;
	p->routes = r.routes;
	p->wires = 2 * r.fold.axes;
	p->streamed = streamed;
	for (unsigned int i = 0; i < r.routes; i++)
		route_make(plan, &r, i);
	plan->step = pipeline_step;
	plan->routes = r.routes;
	plan->lanes = r.routes;
	if (plan->job.kind == TOFU_COLL_ALLREDUCE)
		plan->lanes *= 2;
	if (plan->job.kind != TOFU_COLL_BCAST)
		plan->work = (uint64_t)(p->wires + r.routes) * UP_WINDOW *
			     plan->job.segment;
}

void coll_pipelined_plan(struct coll_plan *plan)
{
	pipeline_make(plan, false);
}

void coll_streamed_plan(struct coll_plan *plan)
{
	pipeline_make(plan, true);
}
