/* SPDX-License-Identifier: MIT */
/*
 * Gates as set up by a driver and a program: links between gates of a machine's
 * nodes, the barriers built from them, and their channels.
 */
#ifndef TESTS_ICC_MESH_H
#define TESTS_ICC_MESH_H

#include "icc-host.h"

#define MESH_GPID 1000
#define MESH_RELAY 16 /* first gate that never has a channel */

/* struct gate - a gate of the machine; all are of one TNI */
struct gate {
	uint32_t node;
	unsigned int number;
};

/**
 * struct mesh - gates of a machine
 * @tni:     of all gates
 * @setting: registers from TOFU_GATE_SRC_LCL on, to be written
 * @used:    a bit for each gate that has a link or a channel
 * @relays:  count of relays in use
 * @block:   bus address of the channel's block, of gate 0
 */
struct mesh {
	struct net *net;
	unsigned int tni;
	uint64_t setting[NET_NODES][TOFU_GATES][6];
	uint64_t used[NET_NODES];
	unsigned int relays[NET_NODES];
	uint64_t block[NET_NODES];
};

/* mesh_create - gate 0 of every node gets a channel; no links yet */
struct mesh *mesh_create(struct net *net, unsigned int tni);
void mesh_destroy(struct mesh *mesh);

/* mesh_relay - allocate a relay of a node */
struct gate mesh_relay(struct mesh *mesh, uint32_t node);

/* mesh_link - link @from to @to */
void mesh_link(struct mesh *mesh, struct gate from, struct gate to);

/* mesh_enable, mesh_disable - all gates of all nodes, or of one */
void mesh_enable(struct mesh *mesh);
void mesh_enable_node(struct mesh *mesh, uint32_t node);
void mesh_disable(struct mesh *mesh);

/* The barriers, over the first @count nodes of the machine. */
typedef void mesh_fn(struct mesh *mesh, uint32_t count);
mesh_fn mesh_butterfly;
mesh_fn mesh_ring;
mesh_fn mesh_tree;

#define MESHES 3
extern mesh_fn *const mesh_all[MESHES];

uint64_t gate_reg(struct mesh *mesh, struct gate gate, unsigned int reg);
void gate_set(struct mesh *mesh, struct gate gate, unsigned int reg,
	      uint64_t value);

/* mesh_command - fill a block; mesh_start - and start the channel */
struct tofu_channel *mesh_block(struct mesh *mesh, uint32_t node);
void mesh_command(struct mesh *mesh, uint32_t node, unsigned int op,
		  unsigned int count, const uint64_t *operand);
void mesh_start(struct mesh *mesh, uint32_t node, unsigned int op,
		unsigned int count, const uint64_t *operand);

/* mesh_ended - count of ended barriers; mesh_status - status of the last one */
uint32_t mesh_ended(struct mesh *mesh, uint32_t node);
unsigned int mesh_status(struct mesh *mesh, uint32_t node);

/* mesh_barrier - start a node's barrier */
void mesh_barrier(struct mesh *mesh, uint32_t node);

/* mesh_rebuild - replace the mesh by one over the first @count nodes */
void mesh_rebuild(struct mesh **mesh, mesh_fn *make, uint32_t count);

/* mesh_pair - two channels, of nodes 0 and 1, that signal to each other */
void mesh_pair(struct mesh *mesh);

/* mesh_signal - a packet from node 0's channel to node 1's of such a pair */
struct tofu_packet mesh_signal(const struct mesh *mesh);

#endif /* TESTS_ICC_MESH_H */
