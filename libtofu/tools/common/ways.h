/* SPDX-License-Identifier: MIT */
/* What puts of a grid of processes meet on their ways through a machine. */
#ifndef TOFU_TOOLS_WAYS_H
#define TOFU_TOOLS_WAYS_H

#include <stdint.h>

#include "net/topology.h"
#include "sched.h"

/* Each node follows the routes of all: beyond so many nodes that is too long. */
#define SCHED_WAYS_NODES 2048

/**
 * sched_ways_find - follow the routes of all puts between neighbours of a grid
 * @size:  of the grid, which is periodic, from west to east and south to north;
 *         as many places as the machine has nodes, which are numbered from south
 *         to north first
 * @node:  of each place; NULL: places are nodes
 * @shape: of the machine
 * @ways:  set; no sites where there are more than SCHED_WAYS_NODES nodes
 *
 * Links that the same directions cross equally often are one link of the ways,
 * and those that fewer cross, or less often, are part of another one. Likewise
 * nodes from which less is crowded are part of a site. More than
 * TOFU_RSCHED_CROWD_MAX puts in a crowd or chain count as so many.
 *
 * Return: 0 or -ENOMEM.
 */
int sched_ways_find(const uint32_t size[2], const uint32_t *node,
		    const struct tofu_shape *shape, struct sched_ways *ways);

#endif /* TOFU_TOOLS_WAYS_H */
