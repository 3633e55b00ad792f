// SPDX-License-Identifier: MIT
/*
 * The 6-D torus: shapes, coordinates, node numbers and routes.
 */
#include <errno.h>

#include "net/topology.h"

/* Largest size of each axis, and whether its ends are joined. */
static const uint16_t axis_max[TOFU_AXES] = { 256, 256, 256, 2, 3, 2 };
static const bool axis_torus[TOFU_AXES] = { true, true, true,
					    false, true, false };

/* Ports of each axis: towards larger coordinates, towards smaller. */
static const enum tofu_port axis_port[TOFU_AXES][2] = {
	{ TOFU_PORT_XP, TOFU_PORT_XM },
	{ TOFU_PORT_YP, TOFU_PORT_YM },
	{ TOFU_PORT_ZP, TOFU_PORT_ZM },
	{ TOFU_PORT_A, TOFU_PORT_A },
	{ TOFU_PORT_BP, TOFU_PORT_BM },
	{ TOFU_PORT_C, TOFU_PORT_C },
};

static int shape_check(const struct tofu_shape *shape)
{
	for (int i = 0; i < TOFU_AXES; i++) {
		if (shape->size[i] < 1 || shape->size[i] > axis_max[i])
			return -EINVAL;
	}
	return 0;
}

int tofu_shape_parse(const char *text, struct tofu_shape *shape)
{
	struct tofu_shape s = { { 1, 1, 1, 1, 1, 1 } };
	int axes = 0;

	for (;; text++) {
		unsigned int size = 0;

		if (axes == TOFU_AXES || *text < '0' || *text > '9')
			return -EINVAL;
		for (; *text >= '0' && *text <= '9'; text++) {
			size = size * 10 + (unsigned int)(*text - '0');
			if (size > axis_max[axes])
				return -EINVAL;
		}
		s.size[axes++] = (uint16_t)size;
		if (*text != 'x')
			break;
	}
	if (*text || (axes > 3 && axes != TOFU_AXES) || shape_check(&s))
		return -EINVAL;
	*shape = s;
	return 0;
}

uint32_t tofu_shape_nodes(const struct tofu_shape *shape)
{
	uint32_t nodes = 1;

	for (int i = 0; i < TOFU_AXES; i++)
		nodes *= shape->size[i];
	return nodes;
}

uint64_t tofu_shape_pack(const struct tofu_shape *shape)
{
	uint64_t word = 0;

	for (int i = 0; i < TOFU_AXES; i++)
		word |= (uint64_t)shape->size[i] << (i * TOFU_SHAPE_AXIS_BITS);
	return word;
}

int tofu_shape_unpack(uint64_t word, struct tofu_shape *shape)
{
	struct tofu_shape s;

	for (int i = 0; i < TOFU_AXES; i++) {
		s.size[i] = word & TOFU_MASK(TOFU_SHAPE_AXIS_BITS);
		word >>= TOFU_SHAPE_AXIS_BITS;
	}
	if (word || shape_check(&s))
		return -EINVAL;
	*shape = s;
	return 0;
}

struct tofu_coords tofu_coords_of(const struct tofu_shape *shape, uint32_t node)
{
	struct tofu_coords coords;

	for (int i = TOFU_AXES - 1; i >= 0; i--) {
		coords.c[i] = (uint8_t)(node % shape->size[i]);
		node /= shape->size[i];
	}
	return coords;
}

int64_t tofu_node_at(const struct tofu_shape *shape,
		     const struct tofu_coords *coords)
{
	int64_t node = 0;

	for (int i = 0; i < TOFU_AXES; i++) {
		if (coords->c[i] >= shape->size[i])
			return -1;
		node = node * shape->size[i] + coords->c[i];
	}
	return node;
}

uint64_t tofu_coords_pack(const struct tofu_coords *coords)
{
	return TOFU_SET(TOFU_ROUTE_X, coords->c[TOFU_X]) |
	       TOFU_SET(TOFU_ROUTE_Y, coords->c[TOFU_Y]) |
	       TOFU_SET(TOFU_ROUTE_Z, coords->c[TOFU_Z]) |
	       TOFU_SET(TOFU_ROUTE_A, coords->c[TOFU_A]) |
	       TOFU_SET(TOFU_ROUTE_B, coords->c[TOFU_B]) |
	       TOFU_SET(TOFU_ROUTE_C, coords->c[TOFU_C]);
}

struct tofu_coords tofu_coords_unpack(uint64_t route)
{
	return (struct tofu_coords){ {
		[TOFU_X] = TOFU_GET(route, TOFU_ROUTE_X),
		[TOFU_Y] = TOFU_GET(route, TOFU_ROUTE_Y),
		[TOFU_Z] = TOFU_GET(route, TOFU_ROUTE_Z),
		[TOFU_A] = TOFU_GET(route, TOFU_ROUTE_A),
		[TOFU_B] = TOFU_GET(route, TOFU_ROUTE_B),
		[TOFU_C] = TOFU_GET(route, TOFU_ROUTE_C),
	} };
}

/* Walk along one axis from *at to @goal; returns the hops added at @hop. */
static size_t walk(const struct tofu_shape *shape, struct tofu_coords *at,
		   enum tofu_axis axis, unsigned int goal, struct tofu_hop *hop)
{
	unsigned int size = shape->size[axis];
	unsigned int c = at->c[axis];
	bool plus = goal > c;
	size_t hops = 0;

	if (axis_torus[axis])
		plus = (goal + size - c) % size * 2 <= size;
	while (c != goal) {
		c = (c + (plus ? 1 : size - 1)) % size;
		at->c[axis] = (uint8_t)c;
		hop[hops].port = axis_port[axis][!plus];
		hop[hops++].to = *at;
	}
	return hops;
}

size_t tofu_route(const struct tofu_shape *shape, uint32_t from, uint32_t to,
		  unsigned int path, struct tofu_hop *hop)
{
	const unsigned int pa = TOFU_GET(path, TOFU_PATH_A);
	const unsigned int pb = TOFU_GET(path, TOFU_PATH_B);
	const unsigned int pc = TOFU_GET(path, TOFU_PATH_C);
	struct tofu_coords at = tofu_coords_of(shape, from);
	const struct tofu_coords end = tofu_coords_of(shape, to);
	const struct {
		enum tofu_axis axis;
		unsigned int goal;
	} leg[] = {
		{ TOFU_B, pb % shape->size[TOFU_B] },
		{ TOFU_C, pc % shape->size[TOFU_C] },
		{ TOFU_A, pa % shape->size[TOFU_A] },
		{ TOFU_X, end.c[TOFU_X] },
		{ TOFU_Y, end.c[TOFU_Y] },
		{ TOFU_Z, end.c[TOFU_Z] },
		{ TOFU_A, end.c[TOFU_A] },
		{ TOFU_C, end.c[TOFU_C] },
		{ TOFU_B, end.c[TOFU_B] },
	};
	size_t hops = 0;

	if (from == to)
		return 0;
	for (size_t i = 0; i < sizeof(leg) / sizeof(leg[0]); i++)
		hops += walk(shape, &at, leg[i].axis, leg[i].goal, hop + hops);
	return hops;
}

int64_t tofu_neighbour(const struct tofu_shape *shape, uint32_t node,
		       enum tofu_port port)
{
	struct tofu_coords at = tofu_coords_of(shape, node);
	int axis = 0;

	while (axis_port[axis][0] != port && axis_port[axis][1] != port)
		axis++;
	if (shape->size[axis] == 1)
		return -1;
	/* Both ports of A, and of C, lead to the only other node. */
	at.c[axis] = (uint8_t)((at.c[axis] + (axis_port[axis][0] == port ?
						      1u :
						      shape->size[axis] - 1u)) %
			       shape->size[axis]);
	return tofu_node_at(shape, &at);
}

enum tofu_port tofu_port_reverse(enum tofu_port port)
{
	for (int i = 0; i < TOFU_AXES; i++) {
		if (axis_port[i][0] == port)
			return axis_port[i][1];
		if (axis_port[i][1] == port)
			return axis_port[i][0];
	}
	return port;
}
