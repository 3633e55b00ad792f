// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "icc-mesh.h"

uint64_t gate_reg(struct mesh *mesh, struct gate gate, unsigned int reg)
{
	return icc_reg_read(mesh->net->node[gate.node].icc,
			    TOFU_GATE_REGS(mesh->tni, gate.number) + reg, 8);
}

void gate_set(struct mesh *mesh, struct gate gate, unsigned int reg,
	      uint64_t value)
{
	icc_reg_write(mesh->net->node[gate.node].icc,
		      TOFU_GATE_REGS(mesh->tni, gate.number) + reg, value, 8);
}

/* ---- Links ---- */

static uint64_t *setting(struct mesh *mesh, struct gate gate, unsigned int reg)
{
	mesh->used[gate.node] |= 1ULL << gate.number;
	return &mesh->setting[gate.node][gate.number]
			     [(reg - TOFU_GATE_SRC_LCL) / 8];
}

/* Each end of a link can be set once. */
static void set_link(uint64_t *word, uint64_t value)
{
	if (*word)
		abort();
	*word = value;
}

static uint64_t link_to(struct mesh *mesh, struct gate gate, bool local)
{
	uint64_t word = TOFU_SET(TOFU_LINK_GATE, gate.number) |
			TOFU_SET(TOFU_LINK_VALID, 1);

	if (!local)
		word |= coords_word(&mesh->net->node[gate.node]) |
			TOFU_SET(TOFU_LINK_TNI, mesh->tni);
	return word;
}

void mesh_link(struct mesh *mesh, struct gate from, struct gate to)
{
	const bool local = from.node == to.node;

	set_link(setting(mesh, from,
			 local ? TOFU_GATE_DST_LCL : TOFU_GATE_DST_RMT),
		 link_to(mesh, to, local));
	set_link(setting(mesh, to,
			 local ? TOFU_GATE_SRC_LCL : TOFU_GATE_SRC_RMT),
		 link_to(mesh, from, local));
}

struct gate mesh_relay(struct mesh *mesh, uint32_t node)
{
	return (struct gate){ node, MESH_RELAY + mesh->relays[node]++ };
}

void mesh_enable_node(struct mesh *mesh, uint32_t node)
{
	for (unsigned int g = 0; g < TOFU_GATES; g++) {
		const struct gate gate = { node, g };

		if (!(mesh->used[node] >> g & 1))
			continue;
		*setting(mesh, gate, TOFU_GATE_GPID) = MESH_GPID;
		for (unsigned int i = 0; i < 6; i++)
			gate_set(mesh, gate, TOFU_GATE_SRC_LCL + 8 * i,
				 mesh->setting[node][g][i]);
		gate_set(mesh, gate, TOFU_GATE_CTRL, TOFU_GATE_CTRL_ENABLE);
		if (gate_reg(mesh, gate, TOFU_GATE_CTRL) !=
		    TOFU_GATE_CTRL_ENABLE)
			abort();
	}
}

void mesh_enable(struct mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->net->nodes; i++)
		mesh_enable_node(mesh, i);
}

void mesh_disable(struct mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->net->nodes; i++) {
		for (unsigned int g = 0; g < TOFU_GATES; g++)
			gate_set(mesh, (struct gate){ i, g }, TOFU_GATE_CTRL,
				 0);
	}
}

struct mesh *mesh_create(struct net *net, unsigned int tni)
{
	struct mesh *mesh = calloc(1, sizeof(*mesh));

	mesh->net = net;
	mesh->tni = tni;
	for (uint32_t i = 0; i < net->nodes; i++) {
		mesh->block[i] = ram_alloc(&net->node[i],
					   sizeof(struct tofu_channel),
					   TOFU_CHANNEL_ALIGN);
		*setting(mesh, (struct gate){ i, 0 }, TOFU_GATE_CHANNEL) =
			mesh->block[i];
	}
	return mesh;
}

void mesh_destroy(struct mesh *mesh)
{
	free(mesh);
}

/* ---- Barriers ---- */

static struct gate channel(uint32_t node)
{
	return (struct gate){ node, 0 };
}

/*
 * In each step a node combines its value with its partner's. Nodes beyond a
 * power of two give their values to a partner first, and get the result from it
 * in the end.
 */
void mesh_butterfly(struct mesh *mesh, uint32_t count)
{
	struct gate have[NET_NODES], next[NET_NODES];
	uint32_t power = 1;

	while (2 * power <= count)
		power *= 2;
	for (uint32_t i = 0; i < power; i++)
		have[i] = channel(i);
	for (uint32_t i = 0; power + i < count; i++) {
		have[i] = mesh_relay(mesh, i);
		mesh_link(mesh, channel(i), have[i]);
		mesh_link(mesh, channel(power + i), have[i]);
	}
	for (uint32_t step = 1; step < power; step *= 2) {
		for (uint32_t i = 0; i < power; i++)
			next[i] = mesh_relay(mesh, i);
		for (uint32_t i = 0; i < power; i++) {
			mesh_link(mesh, have[i], next[i]);
			mesh_link(mesh, have[i], next[i ^ step]);
		}
		memcpy(have, next, sizeof(have));
	}
	for (uint32_t i = 0; i < power && count > 1; i++)
		mesh_link(mesh, have[i], channel(i));
	for (uint32_t i = 0; power + i < count; i++)
		mesh_link(mesh, have[i], channel(power + i));
}

/* Once around to combine, and once more to distribute. */
void mesh_ring(struct mesh *mesh, uint32_t count)
{
	struct gate at = channel(0);

	for (uint32_t i = 1; i < count; i++) {
		const struct gate relay = mesh_relay(mesh, i);

		mesh_link(mesh, at, relay);
		mesh_link(mesh, channel(i), relay);
		at = relay;
	}
	for (uint32_t i = 0; i + 1 < count; i++) {
		const struct gate relay = mesh_relay(mesh, i);

		mesh_link(mesh, at, relay);
		mesh_link(mesh, at, channel((i + count - 1) % count));
		at = relay;
	}
	if (count > 1)
		mesh_link(mesh, at, channel(count - 2));
}

/* Values go up a binary tree; the result comes down to the returned gate. */
static struct gate tree_up(struct mesh *mesh, uint32_t node, uint32_t count)
{
	struct gate have = channel(node);

	for (uint32_t child = 2 * node + 1; child <= 2 * node + 2; child++) {
		struct gate relay;

		if (child >= count)
			break;
		relay = mesh_relay(mesh, node);
		mesh_link(mesh, have, relay);
		mesh_link(mesh, tree_up(mesh, child, count), relay);
		have = relay;
	}
	return have;
}

static void tree_down(struct mesh *mesh, struct gate from, uint32_t node,
		      uint32_t count)
{
	for (uint32_t child = 2 * node + 1; child <= 2 * node + 2; child++) {
		const struct gate relay = mesh_relay(mesh, node);

		mesh_link(mesh, from, relay);
		from = relay;
		if (child < count)
			tree_down(mesh, from, child, count);
	}
	mesh_link(mesh, from, channel(node));
}

void mesh_tree(struct mesh *mesh, uint32_t count)
{
	if (count > 1)
		tree_down(mesh, tree_up(mesh, 0, count), 0, count);
}

mesh_fn *const mesh_all[MESHES] = { mesh_butterfly, mesh_ring, mesh_tree };

/* ---- Channels ---- */

struct tofu_channel *mesh_block(struct mesh *mesh, uint32_t node)
{
	return ram_at(&mesh->net->node[node], mesh->block[node],
		      sizeof(struct tofu_channel));
}

void mesh_command(struct mesh *mesh, uint32_t node, unsigned int op,
		  unsigned int count, const uint64_t *operand)
{
	struct tofu_channel *block = mesh_block(mesh, node);

	block->command = TOFU_SET(TOFU_CHANNEL_OP, op) |
			 TOFU_SET(TOFU_CHANNEL_COUNT, count);
	for (unsigned int i = 0; i < TOFU_REDUCE_WORDS; i++)
		block->operand[i] = operand ? operand[i] : 0;
}

void mesh_start(struct mesh *mesh, uint32_t node, unsigned int op,
		unsigned int count, const uint64_t *operand)
{
	mesh_command(mesh, node, op, count, operand);
	icc_channel_start(mesh->net->node[node].icc, mesh->tni, 0);
}

uint32_t mesh_ended(struct mesh *mesh, uint32_t node)
{
	return (uint32_t)TOFU_GET(mesh_block(mesh, node)->done,
				  TOFU_CHANNEL_ENDED);
}

unsigned int mesh_status(struct mesh *mesh, uint32_t node)
{
	return TOFU_GET(mesh_block(mesh, node)->done, TOFU_CHANNEL_STATUS);
}

/* ---- What tests do with them ---- */

void mesh_barrier(struct mesh *mesh, uint32_t node)
{
	mesh_start(mesh, node, TOFU_REDUCE_BARRIER, 0, NULL);
}

void mesh_rebuild(struct mesh **mesh, mesh_fn *make, uint32_t count)
{
	struct net *net = (*mesh)->net;

	mesh_disable(*mesh);
	net_run(net);
	mesh_destroy(*mesh);
	*mesh = mesh_create(net, 1);
	make(*mesh, count);
	mesh_enable(*mesh);
}

void mesh_pair(struct mesh *mesh)
{
	const struct gate channel0 = { 0, 0 }, channel1 = { 1, 0 };

	mesh_link(mesh, channel0, channel1);
	mesh_link(mesh, channel1, channel0);
	mesh_enable(mesh);
}

struct tofu_packet mesh_signal(const struct mesh *mesh)
{
	return (struct tofu_packet){
		.src = 0,
		.payload = TOFU_SIGNAL_BYTES,
		.type = TOFU_PKT_SIGNAL,
		.src_tni = (uint8_t)mesh->tni,
		.dst_tni = (uint8_t)mesh->tni,
		.gpid = MESH_GPID,
		.armw_op = TOFU_REDUCE_SUM,
		.armw_size = 1,
	};
}
