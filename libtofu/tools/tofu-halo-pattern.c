// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include "common/scale.h"
#include "tofu-halo.h"

#define BUFFER_ALIGN 64

static uint32_t node_at(const struct halo_grid *grid, int64_t x, int64_t y)
{
	int64_t p = grid->p, q = grid->q;

	return (uint32_t)(((x % p + p) % p) * q + (y % q + q) % q);
}

static void direction_name(char name[HALO_NAME], int dx, int dy)
{
	static const char *const ns[] = { "south", "", "north" };
	static const char *const ew[] = { "west", "", "east" };

	if (abs(dx) > 1 || abs(dy) > 1)
		snprintf(name, HALO_NAME, "%+d,%+d", dx, dy);
	else
		snprintf(name, HALO_NAME, "%s%s%s", ns[dy + 1],
			 dx && dy ? "-" : "", ew[dx + 1]);
}

static void pattern_add(struct halo_pattern *pattern,
			const struct halo_grid *grid, uint32_t node, int dx,
			int dy, unsigned int part, size_t bytes)
{
	struct halo_message *m = &pattern->message[pattern->count++];
	int64_t x = node / grid->q, y = node % grid->q;

	direction_name(m->direction, dx, dy);
	m->part = part;
	m->to = node_at(grid, x + dx, y + dy);
	m->from = node_at(grid, x - dx, y - dy);
	m->bytes = bytes;
	m->offset = pattern->span;
	pattern->bytes += bytes;
	pattern->span += bytes + HALO_GUARD;
	pattern->span = (pattern->span + BUFFER_ALIGN - 1) &
			~(size_t)(BUFFER_ALIGN - 1);
}

/* The guard of the first buffer lies before it. */
static void pattern_begin(struct halo_pattern *pattern, uint64_t row)
{
	*pattern = (struct halo_pattern){ .row = row, .span = HALO_GUARD };
}

void halo_pattern_scale(const struct halo_grid *grid, uint32_t node,
			unsigned int k, struct halo_pattern *pattern)
{
	const struct tofu_scale scale = tofu_scale_of(k);

	pattern_begin(pattern, k);
	for (int side = 1; side >= -1; side -= 2)
		pattern_add(pattern, grid, node, side, 0, 0,
			    scale.ew);
	for (int side = 1; side >= -1; side -= 2)
		for (unsigned int part = 0; part < 2; part++)
			pattern_add(pattern, grid, node, 0, side, part,
				    scale.ns);
	for (int dx = 1; dx >= -1; dx -= 2)
		for (int dy = 1; dy >= -1; dy -= 2)
			for (unsigned int part = 0; part < 2; part++)
				pattern_add(pattern, grid, node, dx, dy, part,
					    scale.diagonal);
	pattern->planned = pattern->count;
}

void halo_pattern_neighbor(const struct halo_grid *grid, uint32_t node,
			   unsigned int neighbors, size_t bytes,
			   struct halo_pattern *pattern)
{
	pattern_begin(pattern, bytes);
	pattern->planned = neighbors;
	for (int ring = 1; pattern->count < neighbors; ring++) {
		for (int dy = 0; dy <= ring; dy++) {
			/* One half of the ring; the other is its opposite. */
			int dx = dy ? -ring : ring;
			int step = dy == ring ? 1 : 2 * ring;

			for (; dx <= ring && pattern->count < neighbors;
			     dx += step) {
				pattern_add(pattern, grid, node, dx, dy, 0,
					    bytes);
				pattern_add(pattern, grid, node, -dx, -dy, 0,
					    pattern->count < neighbors ? bytes :
								       0);
			}
		}
	}
}
