// SPDX-License-Identifier: MIT
/*
 * The 6-D torus: shapes, coordinates, node numbers and routes.
 */
#include <errno.h>
#include <string.h>

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

/* Divide *node by @size; returns the remainder. This is done for each packet of
 * a machine in time, and division by a variable is slow: most axes need none.
 */
static uint8_t take(uint32_t *node, uint32_t size)
{
	const uint32_t n = *node;

	switch (size) {
	case 1:
		return 0;
	case 2:
		*node = n / 2;
		return n % 2;
	case 3:
		*node = n / 3;
		return n % 3;
	default:
		*node = n < size ? 0 : n / size;
		return (uint8_t)(n - *node * size);
	}
}

struct tofu_coords tofu_coords_of(const struct tofu_shape *shape, uint32_t node)
{
	struct tofu_coords coords;

	for (int i = TOFU_AXES - 1; i >= 0; i--)
		coords.c[i] = take(&node, shape->size[i]);
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

/* The other end of a link. Both ports of A, and of C, lead to the only other
 * node.
 */
static void cross(const struct tofu_shape *shape, enum tofu_axis axis,
		  enum tofu_port port, struct tofu_coords *at)
{
	const unsigned int size = shape->size[axis];
	const unsigned int c = at->c[axis];

	if (port == axis_port[axis][0])
		at->c[axis] = (uint8_t)(c + 1 < size ? c + 1 : 0);
	else
		at->c[axis] = (uint8_t)(c ? c - 1 : size - 1);
}

/* Of rings of X, Y and Z: of two nodes, and along others, nothing goes on. */
static bool closes(enum tofu_axis axis, unsigned int from, unsigned int to)
{
	return axis <= TOFU_Z && (from > to ? from - to : to - from) > 1;
}

static unsigned int path_goal(unsigned int path, unsigned int size)
{
	return path < size ? path : path % size;
}

/* Returns the count of legs added at @leg: 0 or 1. */
static size_t add_leg(const struct tofu_shape *shape, enum tofu_axis axis,
		      unsigned int from, unsigned int to, uint8_t channel,
		      struct tofu_leg *leg)
{
	const unsigned int size = shape->size[axis];
	bool plus = to > from;
	unsigned int hops = plus ? to - from : from - to;

	if (!hops)
		return 0;
	if (axis_torus[axis]) {
		const unsigned int up = plus ? hops : size - hops;

		plus = 2 * up <= size;
		hops = plus ? up : size - up;
	}
	leg->port = (uint8_t)axis_port[axis][!plus];
	leg->hops = (uint8_t)hops;
	leg->channel = channel;
	return 1;
}

size_t tofu_route_legs(const struct tofu_shape *shape,
		       const struct tofu_coords *from,
		       const struct tofu_coords *to, unsigned int path,
		       struct tofu_leg *leg)
{
	const unsigned int a = path_goal(TOFU_GET(path, TOFU_PATH_A),
					 shape->size[TOFU_A]);
	const unsigned int b = path_goal(TOFU_GET(path, TOFU_PATH_B),
					 shape->size[TOFU_B]);
	const unsigned int c = path_goal(TOFU_GET(path, TOFU_PATH_C),
					 shape->size[TOFU_C]);
	const uint8_t *s = from->c, *e = to->c;
	size_t n = 0;

	if (!memcmp(s, e, sizeof(from->c)))
		return 0;
	n += add_leg(shape, TOFU_B, s[TOFU_B], b, 0, &leg[n]);
	n += add_leg(shape, TOFU_C, s[TOFU_C], c, 0, &leg[n]);
	n += add_leg(shape, TOFU_A, s[TOFU_A], a, 0, &leg[n]);
	n += add_leg(shape, TOFU_X, s[TOFU_X], e[TOFU_X], 0, &leg[n]);
	n += add_leg(shape, TOFU_Y, s[TOFU_Y], e[TOFU_Y], 0, &leg[n]);
	n += add_leg(shape, TOFU_Z, s[TOFU_Z], e[TOFU_Z], 0, &leg[n]);
	n += add_leg(shape, TOFU_A, a, e[TOFU_A], 1, &leg[n]);
	n += add_leg(shape, TOFU_C, c, e[TOFU_C], 1, &leg[n]);
	n += add_leg(shape, TOFU_B, b, e[TOFU_B], 1, &leg[n]);
	return n;
}

static enum tofu_axis axis_of(enum tofu_port port)
{
	int axis = 0;

	while (axis_port[axis][0] != port && axis_port[axis][1] != port)
		axis++;
	return (enum tofu_axis)axis;
}

size_t tofu_route(const struct tofu_shape *shape, uint32_t from, uint32_t to,
		  unsigned int path, struct tofu_hop *hop)
{
	struct tofu_coords at = tofu_coords_of(shape, from);
	const struct tofu_coords end = tofu_coords_of(shape, to);
	struct tofu_leg leg[TOFU_LEGS_MAX];
	const size_t legs = tofu_route_legs(shape, &at, &end, path, leg);
	size_t hops = 0;

	for (size_t i = 0; i < legs; i++) {
		const enum tofu_port port = (enum tofu_port)leg[i].port;
		const enum tofu_axis axis = axis_of(port);
		uint8_t channel = leg[i].channel;

		for (unsigned int n = 0; n < leg[i].hops; n++) {
			const unsigned int c = at.c[axis];

			cross(shape, axis, port, &at);
			if (closes(axis, c, at.c[axis]))
				channel = 1;
			hop[hops].port = port;
			hop[hops].channel = channel;
			hop[hops++].to = at;
		}
	}
	return hops;
}

int64_t tofu_neighbour(const struct tofu_shape *shape, uint32_t node,
		       enum tofu_port port)
{
	struct tofu_coords at = tofu_coords_of(shape, node);
	const enum tofu_axis axis = axis_of(port);

	if (shape->size[axis] == 1)
		return -1;
	cross(shape, axis, port, &at);
	return tofu_node_at(shape, &at);
}

bool tofu_link_closes(const struct tofu_shape *shape, uint32_t node,
		      enum tofu_port port)
{
	const struct tofu_coords from = tofu_coords_of(shape, node);
	const enum tofu_axis axis = axis_of(port);
	struct tofu_coords to = from;

	cross(shape, axis, port, &to);
	return closes(axis, from.c[axis], to.c[axis]);
}

/* On X, Y and Z a packet is where its route began until their leg. */
bool tofu_ring_closed(const struct tofu_shape *shape, uint32_t from,
		      uint32_t at, enum tofu_port port)
{
	const enum tofu_axis axis = axis_of(port);
	const unsigned int begin = tofu_coords_of(shape, from).c[axis];
	const unsigned int end = tofu_coords_of(shape, at).c[axis];

	if (axis > TOFU_Z || shape->size[axis] == 2)
		return false;
	return port == axis_port[axis][0] ? end < begin : end > begin;
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
