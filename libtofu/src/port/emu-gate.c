/* SPDX-License-Identifier: MIT */
#include "port/emu-gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Peers can send without limit: work beyond this is left for later. */
#define DRAIN_ROUNDS 16

/* ---- Registers of a gate; node locked ---- */

static void reg_write(struct tofu_node *node,
		      const struct tofu_port_gates *gates, unsigned int index,
		      unsigned int reg, uint64_t value)
{
	icc_reg_write(tofu_node_icc(node),
		      TOFU_GATE_REGS(gates->tni, gates->gate[index]) + reg,
		      value, sizeof(value));
}

static uint64_t reg_read(struct tofu_node *node,
			 const struct tofu_port_gates *gates,
			 unsigned int index, unsigned int reg)
{
	return icc_reg_read(tofu_node_icc(node),
			    TOFU_GATE_REGS(gates->tni, gates->gate[index]) +
				    reg,
			    sizeof(uint64_t));
}

unsigned int tofu_emu_gates_count(struct tofu_node *node)
{
	uint64_t caps;

	tofu_node_lock(node);
	caps = icc_reg_read(tofu_node_icc(node), TOFU_REG_CAPS, sizeof(caps));
	tofu_node_unlock(node);
	return (unsigned int)TOFU_GET(caps, TOFU_CAPS_GATES);
}

/* ---- Which gates ---- */

/* Relays are taken in this order: gates that can have a channel come last. */
static unsigned int relay_number(unsigned int i)
{
	unsigned int plain = TOFU_GATES - TOFU_CHANNELS;

	return i < plain ? TOFU_CHANNELS + i : TOFU_GATES - 1 - i;
}

static int pick(uint64_t used, unsigned int count, uint8_t gate[])
{
	unsigned int n = 0;

	while (n < TOFU_CHANNELS && used & 1ULL << n)
		n++;
	if (n == TOFU_CHANNELS)
		return -ENOSPC;
	gate[0] = (uint8_t)n;
	used |= 1ULL << n;
	n = 1;
	for (unsigned int i = 0; i < TOFU_GATES && n < count; i++)
		if (!(used & 1ULL << relay_number(i)))
			gate[n++] = (uint8_t)relay_number(i);
	return n == count ? 0 : -ENOSPC;
}

static uint64_t mask_of(const struct tofu_port_gates *gates)
{
	uint64_t mask = 0;

	for (unsigned int i = 0; i < gates->count; i++)
		mask |= 1ULL << gates->gate[i];
	return mask;
}

/* Takes gates that no process of the node has. */
static int gates_take(struct tofu_node *node, struct tofu_port_gates *gates)
{
	struct tofu_fabric *fabric = tofu_node_fabric(node);
	int err = tofu_fabric_shares_lock(fabric);
	uint64_t taken;

	if (err)
		return err;
	tofu_node_lock(node);
	taken = tofu_fabric_taken_locked(fabric, TOFU_SHARE_GATE, gates->tni);
	err = pick(taken, gates->count, gates->gate);
	if (!err)
		tofu_fabric_take_locked(fabric, TOFU_SHARE_GATE, gates->tni,
					mask_of(gates));
	tofu_node_unlock(node);
	tofu_fabric_shares_unlock(fabric);
	return err;
}

/* ---- Their life ---- */

int tofu_emu_gates_create(struct tofu_node *node, unsigned int tni,
			  unsigned int count, struct tofu_port_gates **gates)
{
	struct tofu_port_gates *new = calloc(1, sizeof(*new));
	int err = -ENOMEM;

	if (!new)
		return -ENOMEM;
	new->channel = aligned_alloc(TOFU_CHANNEL_ALIGN, sizeof(*new->channel));
	if (!new->channel)
		goto err_free;
	memset(new->channel, 0, sizeof(*new->channel));
	new->tni = tni;
	new->count = count;
	/* The engine runs in this thread, so the first empty poll kicks. */
	new->poll_patience = 1;
	err = gates_take(node, new);
	if (err)
		goto err_channel;
	*gates = new;
	return 0;

err_channel:
	free(new->channel);
err_free:
	free(new);
	return err;
}

void tofu_emu_gates_destroy(struct tofu_node *node,
			    struct tofu_port_gates *gates)
{
	int rounds = DRAIN_ROUNDS;

	tofu_node_lock(node);
	for (unsigned int i = 0; i < gates->count; i++)
		reg_write(node, gates, i, TOFU_GATE_CTRL, 0);
	/* Signals of an abandoned barrier are not for the next owner. */
	while (rounds-- && tofu_node_progress(node))
		;
	tofu_node_unlock(node);
	tofu_fabric_give(tofu_node_fabric(node), TOFU_SHARE_GATE,
			 gates->tni, mask_of(gates));
	free(gates->channel);
	free(gates);
}

int tofu_emu_gate_set(struct tofu_node *node, struct tofu_port_gates *gates,
		      unsigned int index, const struct tofu_port_links *links,
		      unsigned int group)
{
	uint64_t ctrl;

	tofu_node_lock(node);
	reg_write(node, gates, index, TOFU_GATE_CTRL, 0);
	reg_write(node, gates, index, TOFU_GATE_SRC_LCL, links->src_lcl);
	reg_write(node, gates, index, TOFU_GATE_SRC_RMT, links->src_rmt);
	reg_write(node, gates, index, TOFU_GATE_DST_LCL, links->dst_lcl);
	reg_write(node, gates, index, TOFU_GATE_DST_RMT, links->dst_rmt);
	reg_write(node, gates, index, TOFU_GATE_GPID, group);
	reg_write(node, gates, index, TOFU_GATE_CHANNEL,
		  index ? 0 : (uintptr_t)gates->channel);
	reg_write(node, gates, index, TOFU_GATE_CTRL, TOFU_GATE_CTRL_ENABLE);
	ctrl = reg_read(node, gates, index, TOFU_GATE_CTRL);
	tofu_node_unlock(node);
	return ctrl & TOFU_GATE_CTRL_ENABLE ? 0 : -EIO;
}
