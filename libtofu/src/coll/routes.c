// SPDX-License-Identifier: MIT
#include "coll/routes.h"

struct coll_routes coll_routes(const struct coll_job *job)
{
	unsigned int axes = coll_axes(&job->torus);
	unsigned int wanted = job->routes;
	struct coll_routes r = { .engines = job->engines };

	if (!wanted)
		wanted = job->engines >= 2 * axes ? 2 * axes : axes;
	r.fold = coll_fold(&job->torus, wanted < 1 ? 1 : wanted);
	axes = r.fold.axes;
	r.routes = wanted < 2 * axes ? wanted : 2 * axes;
	coll_fold_at(&r.fold, job->root, r.root);
	return r;
}

/* ---- Places relative to the root, in the direction of a route ---- */

static bool is_mirrored(const struct coll_routes *r, unsigned int route)
{
	return route >= r->fold.axes;
}

static void relative(const struct coll_routes *r, unsigned int route,
		     uint32_t number, uint32_t at[TOFU_COLL_AXES])
{
	coll_fold_at(&r->fold, number, at);
	for (unsigned int i = 0; i < r->fold.axes; i++) {
		uint32_t size = r->fold.size[i];

		at[i] = (at[i] + size - r->root[i]) % size;
		if (is_mirrored(r, route))
			at[i] = (size - at[i]) % size;
	}
}

static uint32_t absolute(const struct coll_routes *r, unsigned int route,
			 const uint32_t at[TOFU_COLL_AXES])
{
	uint32_t in[TOFU_COLL_AXES];

	for (unsigned int i = 0; i < r->fold.axes; i++) {
		uint32_t size = r->fold.size[i];

		in[i] = is_mirrored(r, route) ? (size - at[i]) % size : at[i];
		in[i] = (in[i] + r->root[i]) % size;
	}
	return coll_fold_number(&r->fold, in);
}

/* Axis by which a member gets the tree, or ROUTES_NONE for the root. */
static int axis_of(const struct coll_routes *r, unsigned int route,
		   const uint32_t at[TOFU_COLL_AXES])
{
	unsigned int axes = r->fold.axes, first = route % axes;
	int last = ROUTES_NONE;

	for (unsigned int i = 0; i < axes; i++)
		if (at[(first + i) % axes])
			last = (int)((first + i) % axes);
	return last == ROUTES_NONE || at[first] ? last : (int)first;
}

/* ---- Trees ---- */

/* The member one step along an axis, up or down */
static struct coll_branch branch(const struct coll_routes *r,
				 unsigned int route,
				 const uint32_t at[TOFU_COLL_AXES], int axis,
				 bool up)
{
	uint32_t next[TOFU_COLL_AXES], size = r->fold.size[axis];
	unsigned int wire = (unsigned int)axis;

	for (unsigned int i = 0; i < r->fold.axes; i++)
		next[i] = at[i];
	next[axis] = (at[axis] + (up ? 1 : size - 1)) % size;
	if (is_mirrored(r, route))
		wire += r->fold.axes;
	return (struct coll_branch){
		.member = absolute(r, route, next),
		.wire = wire,
		.engine = wire % r->engines,
	};
}

static bool is_child(const struct coll_routes *r, unsigned int route,
		     const uint32_t at[TOFU_COLL_AXES], int axis)
{
	uint32_t next[TOFU_COLL_AXES], size = r->fold.size[axis];

	for (unsigned int i = 0; i < r->fold.axes; i++)
		next[i] = at[i];
	next[axis] = (at[axis] + 1) % size;
	return axis_of(r, route, next) == axis;
}

struct coll_tree coll_tree(const struct coll_routes *r, unsigned int route,
			   uint32_t number)
{
	uint32_t at[TOFU_COLL_AXES];
	struct coll_tree tree = { 0 };
	int axis;

	relative(r, route, number, at);
	axis = axis_of(r, route, at);
	tree.has_parent = axis != ROUTES_NONE;
	if (tree.has_parent)
		tree.parent = branch(r, route, at, axis, false);
	for (unsigned int i = 0; i < r->fold.axes; i++)
		if (is_child(r, route, at, (int)i))
			tree.child[tree.children++] =
				branch(r, route, at, (int)i, true);
	return tree;
}
