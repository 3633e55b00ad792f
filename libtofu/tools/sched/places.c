// SPDX-License-Identifier: MIT
/* Where tofu-halo places the processes of a grid: <tofu/coll.h> has the torus. */
#include <err.h>
#include <stdlib.h>

#include "coll/plan.h"
#include "common/ways.h"
#include "sched/sched.h"

static struct coll_torus torus_of(const struct tofu_shape *shape)
{
	struct coll_torus torus = { 0 };

	for (int i = 0; i < TOFU_COLL_AXES; i++)
		torus.size[i] = (uint32_t)shape->size[i] *
				shape->size[i + TOFU_COLL_AXES];
	return torus;
}

/* Sizes longer than 1 */
static size_t longer(const uint32_t size[], size_t count,
		     uint32_t found[TOFU_COLL_AXES])
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (size[i] > 1)
			found[used++] = size[i];
	return used;
}

/* Whether neighbours in the grid are neighbours in the machine */
static bool has_sizes(const struct coll_torus *torus, const uint32_t size[2])
{
	uint32_t a[TOFU_COLL_AXES], b[TOFU_COLL_AXES];
	const size_t count = longer(size, 2, a);
	bool same = longer(torus->size, TOFU_COLL_AXES, b) == count;

	for (size_t i = 0; same && i < count; i++)
		same = a[i] == b[i];
	return same;
}

static uint32_t node_at(const struct coll_torus *torus,
			const struct tofu_shape *shape, uint32_t place)
{
	uint32_t at[TOFU_COLL_AXES], row, column;
	struct tofu_coords coords;

	coll_at(torus, place, at);
	for (int i = 0; i < TOFU_COLL_AXES; i++) {
		coll_snake_at(shape->size[i], shape->size[i + TOFU_COLL_AXES],
			      at[i], &row, &column);
		coords.c[i] = (uint8_t)row;
		coords.c[i + TOFU_COLL_AXES] = (uint8_t)column;
	}
	return (uint32_t)tofu_node_at(shape, &coords);
}

void sched_places_ways(const uint32_t size[2], const struct tofu_shape *shape,
		       struct sched_ways *ways)
{
	const struct coll_torus torus = torus_of(shape);
	const uint32_t nodes = tofu_shape_nodes(shape);
	uint32_t *node = calloc(nodes, sizeof(*node));
	int code;

	if (!node)
		errx(EXIT_FAILURE, "no memory");
	for (uint32_t place = 0; place < nodes; place++)
		node[place] = has_sizes(&torus, size) ?
				      node_at(&torus, shape, place) :
				      place;
	code = sched_ways_find(size, node, shape, ways);
	free(node);
	if (code)
		errx(EXIT_FAILURE, "no memory");
}
