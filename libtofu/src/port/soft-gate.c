/* SPDX-License-Identifier: MIT */
#include "port/soft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct tofu_soft *soft_of(const struct tofu_port_gates *gates)
{
	return (struct tofu_soft *)gates->port;
}

/* ---- Registers of a gate; locked ---- */

static void reg_write(const struct tofu_port_gates *gates, unsigned int index,
		      unsigned int reg, uint64_t value)
{
	icc_reg_write(soft_of(gates)->icc,
		      TOFU_GATE_REGS(gates->tni, gates->gate[index]) + reg,
		      value, sizeof(value));
}

static uint64_t reg_read(const struct tofu_port_gates *gates,
			 unsigned int index, unsigned int reg)
{
	return icc_reg_read(soft_of(gates)->icc,
			    TOFU_GATE_REGS(gates->tni, gates->gate[index]) +
				    reg,
			    sizeof(uint64_t));
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

/* The pick of struct tofu_soft_ops */
static uint64_t pick_gates(void *ctx, uint64_t taken)
{
	struct tofu_port_gates *gates = ctx;

	return pick(taken, gates->count, gates->gate) ? 0 : mask_of(gates);
}

/* ---- Their life ---- */

int tofu_soft_gates_create(struct tofu_port_dev *dev, unsigned int tni,
			   unsigned int count, struct tofu_port_gates **gates)
{
	struct tofu_soft *soft = (struct tofu_soft *)dev;
	struct tofu_port_gates *new = calloc(1, sizeof(*new));
	int err = -ENOMEM;

	if (!new)
		return -ENOMEM;
	new->channel = aligned_alloc(TOFU_CHANNEL_ALIGN, sizeof(*new->channel));
	if (!new->channel)
		goto err_free;
	memset(new->channel, 0, sizeof(*new->channel));
	new->port = dev;
	new->tni = tni;
	new->count = count;
	/* The engine runs in this thread, so the first empty poll kicks. */
	new->poll_patience = 1;
	err = soft->ops->take(soft, TOFU_SHARE_GATE, tni, pick_gates, new);
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

void tofu_soft_gates_destroy(struct tofu_port_gates *gates)
{
	struct tofu_soft *soft = soft_of(gates);

	soft->ops->lock(soft);
	for (unsigned int i = 0; i < gates->count; i++)
		reg_write(gates, i, TOFU_GATE_CTRL, 0);
	/* Signals of an abandoned barrier are not for the next owner. */
	soft->ops->drain(soft);
	soft->ops->unlock(soft);
	soft->ops->give(soft, TOFU_SHARE_GATE, gates->tni, mask_of(gates));
	free(gates->channel);
	free(gates);
}

int tofu_soft_gate_set(struct tofu_port_gates *gates, unsigned int index,
		       const struct tofu_port_links *links)
{
	struct tofu_soft *soft = soft_of(gates);
	uint64_t ctrl;

	soft->ops->lock(soft);
	reg_write(gates, index, TOFU_GATE_CTRL, 0);
	reg_write(gates, index, TOFU_GATE_SRC_LCL, links->src_lcl);
	reg_write(gates, index, TOFU_GATE_SRC_RMT, links->src_rmt);
	reg_write(gates, index, TOFU_GATE_DST_LCL, links->dst_lcl);
	reg_write(gates, index, TOFU_GATE_DST_RMT, links->dst_rmt);
	reg_write(gates, index, TOFU_GATE_GPID, tofu_soft_group());
	reg_write(gates, index, TOFU_GATE_CHANNEL,
		  index ? 0 : (uintptr_t)gates->channel);
	reg_write(gates, index, TOFU_GATE_CTRL, TOFU_GATE_CTRL_ENABLE);
	ctrl = reg_read(gates, index, TOFU_GATE_CTRL);
	soft->ops->unlock(soft);
	return ctrl & TOFU_GATE_CTRL_ENABLE ? 0 : -EIO;
}
