// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "halo/halo.h"

#define BUFFER_ALIGN 64

/* How far it is from a node to another, in each dimension of the grid. */
struct offset {
	int d[TOFU_GRID_DIMS_MAX];
};

static struct offset opposite(const struct offset *offset)
{
	struct offset other;

	for (int i = 0; i < TOFU_GRID_DIMS_MAX; i++)
		other.d[i] = -offset->d[i];
	return other;
}

/* The grid has no end, so there is always a next one. */
static unsigned int node_at(const struct tofu_grid *grid, unsigned int node,
			    const struct offset *offset)
{
	unsigned int back;

	for (unsigned int i = 0; i < grid->dims; i++)
		for (int n = abs(offset->d[i]); n; n--)
			tofu_grid_neighbor(grid, node,
					   2 * i + (offset->d[i] < 0), &node,
					   &back);
	return node;
}

static void compass_name(char name[HALO_NAME], int dx, int dy)
{
	static const char *const ns[] = { "south", "", "north" };
	static const char *const ew[] = { "west", "", "east" };

	snprintf(name, HALO_NAME, "%s%s%s", ns[dy + 1], dx && dy ? "-" : "",
		 ew[dx + 1]);
}

static void direction_name(char name[HALO_NAME], const struct tofu_grid *grid,
			   const struct offset *offset)
{
	size_t used = 0;

	if (grid->dims == 2 && abs(offset->d[0]) <= 1 &&
	    abs(offset->d[1]) <= 1) {
		compass_name(name, offset->d[0], offset->d[1]);
		return;
	}
	for (unsigned int i = 0; i < grid->dims && used < HALO_NAME; i++)
		used += (size_t)snprintf(name + used, HALO_NAME - used,
					 "%s%+d", i ? "," : "", offset->d[i]);
}

static void pattern_add(struct halo_pattern *pattern,
			const struct tofu_grid *grid, uint32_t node,
			const struct offset *offset, unsigned int part,
			size_t bytes)
{
	struct halo_message *m = &pattern->message[pattern->count++];

	direction_name(m->direction, grid, offset);
	m->part = part;
	m->to = node_at(grid, node, offset);
	m->bytes = bytes;
	m->offset = pattern->span;
	pattern->bytes += bytes;
	pattern->span += bytes + HALO_GUARD;
	pattern->span = (pattern->span + BUFFER_ALIGN - 1) &
			~(size_t)(BUFFER_ALIGN - 1);
}

/* The guard of the first buffer lies before it. */
static void pattern_begin(struct halo_pattern *pattern)
{
	*pattern = (struct halo_pattern){ .span = HALO_GUARD };
}

/* A message that goes around in one direction comes from the node behind. */
static void pattern_around(struct halo_pattern *pattern,
			   const struct tofu_grid *grid, uint32_t node,
			   const struct offset *offset, unsigned int message)
{
	struct offset other = opposite(offset);

	pattern->message[message].back = message;
	pattern->message[message].from = node_at(grid, node, &other);
}

/* A message to a node is answered by one from there. */
static void pattern_pair(struct halo_pattern *pattern, unsigned int message,
			 unsigned int back)
{
	pattern->message[message].back = back;
	pattern->message[message].from = pattern->message[message].to;
}

/* ---- Puts that schedulers plan ---- */

static const struct offset compass[SCHED_COMPASS] = {
	{ { 1, 0 } },
	{ { -1, 0 } },
	{ { 0, 1 } },
	{ { 0, -1 } },
	{ { -1, 1 } },
	{ { 1, 1 } },
	{ { -1, -1 } },
	{ { 1, -1 } },
};

static bool is_opposite(uint32_t a, uint32_t b)
{
	struct offset other = opposite(&compass[a]);

	return !memcmp(&other, &compass[b], sizeof(other));
}

/* The put of the same number in the opposite direction. */
static unsigned int scale_back(const struct sched_workload *workload,
			       const struct halo_pattern *pattern,
			       unsigned int message)
{
	uint32_t direction = workload->request[message].direction;
	unsigned int i = 0;

	while (!is_opposite(workload->request[i].direction, direction) ||
	       pattern->message[i].part != pattern->message[message].part)
		i++;
	return i;
}

void halo_pattern_scale(const struct tofu_grid *grid, uint32_t node,
			const struct sched_workload *workload,
			struct halo_pattern *pattern)
{
	unsigned int parts[SCHED_COMPASS] = { 0 };

	pattern_begin(pattern);
	for (size_t i = 0; i < workload->count; i++) {
		const struct tofu_rsched_request *put = &workload->request[i];

		pattern_add(pattern, grid, node, &compass[put->direction],
			    parts[put->direction]++, put->bytes);
	}
	for (unsigned int i = 0; i < pattern->count; i++)
		pattern_pair(pattern, i, scale_back(workload, pattern, i));
}

void halo_pattern_random(const struct tofu_grid *grid, uint32_t node,
			 const struct sched_workload *workload,
			 struct halo_pattern *pattern)
{
	unsigned int parts[SCHED_COMPASS] = { 0 };

	pattern_begin(pattern);
	for (unsigned int i = 0; i < workload->count; i++) {
		const struct tofu_rsched_request *put = &workload->request[i];
		const struct offset *offset = &compass[put->direction];

		pattern_add(pattern, grid, node, offset,
			    parts[put->direction]++, put->bytes);
		pattern_around(pattern, grid, node, offset, i);
	}
}

/* ---- Neighbours ---- */

/* Around all that lie in [-ring, ring] in each dimension, the positive half. */
static bool offset_next(const struct tofu_grid *grid, int ring,
			struct offset *offset)
{
	unsigned int i = grid->dims;

	while (i--) {
		if (offset->d[i]-- > -ring)
			break;
		offset->d[i] = ring;
	}
	for (i = 0; i < grid->dims; i++)
		if (offset->d[i])
			return true;
	return false;
}

static bool is_at(const struct tofu_grid *grid, const struct offset *offset,
		  int ring, int sum)
{
	int most = 0;

	for (unsigned int i = 0; i < grid->dims; i++) {
		most = abs(offset->d[i]) > most ? abs(offset->d[i]) : most;
		sum -= abs(offset->d[i]);
	}
	return most == ring && !sum;
}

/*
 * What goes to the one comes from the other. The last of an odd number goes
 * around in one direction: what comes is the same message of the node behind.
 */
static void neighbor_add(struct halo_pattern *pattern,
			 const struct tofu_grid *grid, uint32_t node,
			 const struct offset *offset, unsigned int neighbors,
			 size_t bytes)
{
	struct offset other = opposite(offset);
	unsigned int i = pattern->count;

	pattern_add(pattern, grid, node, offset, 0, bytes);
	if (pattern->count == neighbors) {
		pattern_around(pattern, grid, node, offset, i);
		return;
	}
	pattern_add(pattern, grid, node, &other, 0, bytes);
	pattern_pair(pattern, i, i + 1);
	pattern_pair(pattern, i + 1, i);
}

static void sum_add(struct halo_pattern *pattern, const struct tofu_grid *grid,
		    uint32_t node, int ring, int sum, unsigned int neighbors,
		    size_t bytes)
{
	struct offset offset = { { 0 } };

	for (unsigned int i = 0; i < grid->dims; i++)
		offset.d[i] = ring;
	do {
		if (is_at(grid, &offset, ring, sum))
			neighbor_add(pattern, grid, node, &offset, neighbors,
				     bytes);
	} while (pattern->count < neighbors &&
		 offset_next(grid, ring, &offset));
}

void halo_pattern_neighbor(const struct tofu_grid *grid, uint32_t node,
			   unsigned int neighbors, size_t bytes,
			   struct halo_pattern *pattern)
{
	pattern_begin(pattern);
	for (int ring = 1; pattern->count < neighbors; ring++)
		for (int sum = ring; sum <= ring * (int)grid->dims &&
				     pattern->count < neighbors;
		     sum++)
			sum_add(pattern, grid, node, ring, sum, neighbors,
				bytes);
}

void halo_pattern_overlay(struct halo_pattern *pattern)
{
	pattern->span = 0;
	for (unsigned int i = 0; i < pattern->count; i++) {
		struct halo_message *m = &pattern->message[i];

		m->offset = 0;
		if (m->bytes > pattern->span)
			pattern->span = m->bytes;
	}
}
