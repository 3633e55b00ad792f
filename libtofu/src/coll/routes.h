/* SPDX-License-Identifier: MIT */
/*
 * Routes of a broadcast or reduction: spanning trees of a torus, one a route,
 * no two of which share a link in the same direction.
 *
 * On a torus of d axes every member but the root has d links by which something
 * can come in the direction up, one for each axis, and as many for the direction
 * down. So d trees upwards are the most there can be, and each of them has to
 * come to each member by another axis. Relative to the root, tree c goes along
 * axis c first, then along c + 1, and so on around: a member gets it by the last
 * of these axes on which it does not lie in the root's plane. Where a member
 * lies in the root's plane of axis c, this would be the axis of another tree;
 * there tree c comes around the torus, from the last member of axis c, whose
 * own link of that axis nobody else uses. The longest way is the sum of all
 * (size - 1), and 1 for the way around. Trees d … 2 d - 1 are the mirror images,
 * downwards.
 */
#ifndef COLL_ROUTES_H
#define COLL_ROUTES_H

#include "coll/plan.h"

#define ROUTES_MAX (2 * TOFU_COLL_AXES)
#define ROUTES_NONE (-1)

/**
 * struct coll_routes - the trees of a job, as a member sees them
 * @fold:   the torus
 * @routes: number of trees
 * @engines: of the job
 * @root:   its place
 */
struct coll_routes {
	struct coll_fold fold;
	unsigned int routes;
	unsigned int engines;
	uint32_t root[TOFU_COLL_AXES];
};

struct coll_routes coll_routes(const struct coll_job *job);

/**
 * struct coll_branch - a link of a tree
 * @member: at its other end
 * @wire:   its number among the links of a member: axis, and direction
 * @engine: for it
 */
struct coll_branch {
	uint32_t member;
	unsigned int wire;
	unsigned int engine;
};

/**
 * struct coll_tree - a member in a tree
 * @has_parent: it is not the root
 * @children: number of them
 */
struct coll_tree {
	bool has_parent;
	struct coll_branch parent;
	unsigned int children;
	struct coll_branch child[TOFU_COLL_AXES];
};

struct coll_tree coll_tree(const struct coll_routes *routes,
			   unsigned int route, uint32_t number);

#endif /* COLL_ROUTES_H */
