/* SPDX-License-Identifier: MIT */
/*
 * The 6-D torus: shapes, coordinates, node numbers and routes.
 * Pure arithmetic; used by the model, the fabric, libtofu and the tools.
 *
 * May include: uapi/
 */
#ifndef NET_TOPOLOGY_H
#define NET_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/regs.h>

enum tofu_axis { TOFU_X,
		 TOFU_Y,
		 TOFU_Z,
		 TOFU_A,
		 TOFU_B,
		 TOFU_C,
		 TOFU_AXES };

/* X, Y and Z are tori of up to 256 nodes, A and C meshes of up to 2, B is a
 * torus of up to 3.
 */
struct tofu_shape {
	uint16_t size[TOFU_AXES];
};

struct tofu_coords {
	uint8_t c[TOFU_AXES];
};

/* Hops of the longest route: half of each of X, Y, Z, and B, C, A twice. */
#define TOFU_HOPS_MAX (3 * 128 + 2 * 3)

/* tofu_path_valid - check TOFU_TOQ_PATH: B never has a coordinate 3 */
static inline bool tofu_path_valid(unsigned int path)
{
	return TOFU_GET(path, TOFU_PATH_B) != TOFU_MASK(TOFU_PATH_B_BITS);
}

/*
 * Virtual channels of a class of packets. A packet holds a buffer of a channel
 * at each node while it waits for one at the next, so no chain of such waits may
 * come back to itself. Along a route, channels come in this order:
 *
 *	B, C, A to the path coordinates: channel 0
 *	X, Y, Z: channel 0, and 1 from the link that closes the ring on
 *	A, C, B to the destination: channel 1
 *
 * Along B, C and A a route has one link each time. On a ring of X, Y or Z it
 * goes half of it at most, so that on channel 1 it never comes to the closing
 * link again.
 */
#define TOFU_VCS 2

/**
 * struct tofu_hop - one link of a route
 * @port: by which the packet leaves a node
 * @channel: where it waits at the node that it enters
 * @to:   the node that it enters
 */
struct tofu_hop {
	enum tofu_port port;
	uint8_t channel;
	struct tofu_coords to;
};

/* A route has at most so many legs: B, C, A, X, Y, Z, A, C, B. */
#define TOFU_LEGS_MAX 9

/**
 * struct tofu_leg - the links of a route along one axis
 * @port: by which the packet leaves each of the nodes
 * @hops: count of links; not 0
 * @channel: at first, see TOFU_VCS
 */
struct tofu_leg {
	uint8_t port;
	uint8_t hops;
	uint8_t channel;
};

/**
 * tofu_shape_parse - parse the text of a shape
 * @text:  "4", "2x2", "4x3x8" (X, Y, Z) or six sizes "1x1x1x2x3x2"
 * @shape: set on success only
 *
 * Return: 0, or -EINVAL (form, or a size out of its axis' range).
 */
int tofu_shape_parse(const char *text, struct tofu_shape *shape);

/* tofu_shape_nodes - count of nodes of a shape */
uint32_t tofu_shape_nodes(const struct tofu_shape *shape);

/* tofu_shape_pack, _unpack - to and from TOFU_REG_SHAPE; unpack checks
 * every size and returns 0 or -EINVAL.
 */
uint64_t tofu_shape_pack(const struct tofu_shape *shape);
int tofu_shape_unpack(uint64_t word, struct tofu_shape *shape);

/* tofu_coords_of - coordinates of a node number; C counts fastest, X slowest */
struct tofu_coords tofu_coords_of(const struct tofu_shape *shape,
				  uint32_t node);

/**
 * tofu_node_at - node number at coordinates
 *
 * Return: the number, or -1 where a coordinate is outside the shape.
 */
int64_t tofu_node_at(const struct tofu_shape *shape,
		     const struct tofu_coords *coords);

/* tofu_coords_pack, _unpack - to and from TOFU_ROUTE_X … C */
uint64_t tofu_coords_pack(const struct tofu_coords *coords);
struct tofu_coords tofu_coords_unpack(uint64_t route);

/**
 * tofu_route - the links that a packet takes
 * @shape: of the machine
 * @from:  node number
 * @to:    node number
 * @path:  TOFU_TOQ_PATH: path coordinates in A, B, C; coordinates beyond a
 *         smaller axis are taken modulo its size
 * @hop:   TOFU_HOPS_MAX entries, filled in order
 *
 * First B, C, A to the path coordinates, then X, Y, Z, then A, C, B to the
 * destination; a torus axis goes the shorter way, plus on a tie.
 *
 * Return: count of hops; 0 where @from is @to.
 */
size_t tofu_route(const struct tofu_shape *shape, uint32_t from, uint32_t to,
		  unsigned int path, struct tofu_hop *hop);

/**
 * tofu_route_legs - the same route, in a form that is small and quick to make
 * @shape: of the machine
 * @from:  coordinates, as tofu_coords_of() gives them
 * @to:    coordinates
 * @path:  TOFU_TOQ_PATH
 * @leg:   TOFU_LEGS_MAX entries, filled in order
 *
 * Return: count of legs; 0 where @from is @to.
 */
size_t tofu_route_legs(const struct tofu_shape *shape,
		       const struct tofu_coords *from,
		       const struct tofu_coords *to, unsigned int path,
		       struct tofu_leg *leg);

/**
 * tofu_neighbour - the node at the other end of a port
 *
 * Return: its number, or -1 where the axis has one node only.
 */
int64_t tofu_neighbour(const struct tofu_shape *shape, uint32_t node,
		       enum tofu_port port);

/* tofu_link_closes - whether a port's link closes the ring of X, Y or Z */
bool tofu_link_closes(const struct tofu_shape *shape, uint32_t node,
		      enum tofu_port port);

/**
 * tofu_ring_closed - whether a packet has passed the link that closes the ring
 * @from: node where its route began
 * @at:   node where it came to by @port, which is of its current leg
 */
bool tofu_ring_closed(const struct tofu_shape *shape, uint32_t from,
		      uint32_t at, enum tofu_port port);

/* tofu_port_reverse - the port at the other end of a link */
enum tofu_port tofu_port_reverse(enum tofu_port port);

#endif /* NET_TOPOLOGY_H */
