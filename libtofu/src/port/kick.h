/* SPDX-License-Identifier: MIT */
/*
 * Waking the engine: the only thing of a port that the data path calls.
 */
#ifndef PORT_KICK_H
#define PORT_KICK_H

#include <stdbool.h>
#include <stdint.h>

#include <tofu/regs.h>

#include "node/node.h"
#include "port/barrier.h"

/**
 * struct tofu_kick - how the engine of a queue or of a channel is woken
 * @page: the mapped kick page, or the channel's; NULL in the emu port
 * @node: the node of the emu port
 */
struct tofu_kick {
	void *page;
	struct tofu_node *node;
};

/**
 * tofu_kick_write - kick
 * @offset: TOFU_KICK_* or TOFU_CHANNEL_POLL
 *
 * One branch, always taken the same way in a process. The value stored says
 * nothing; the store must be one and must not be left out, hence volatile.
 *
 * Return: true when the engine may have done something by now.
 */
static inline bool tofu_kick_write(const struct tofu_kick *kick,
				   unsigned int offset)
{
	if (kick->page) {
		*(volatile uint64_t *)((char *)kick->page + offset) = 1;
		return true;
	}
	return tofu_node_kick(kick->node, offset == TOFU_KICK_POLL);
}
TOFU_ASSERT(TOFU_CHANNEL_POLL == TOFU_KICK_POLL, "a poll is a poll");

/* tofu_kick_channel - start what a channel's block says */
static inline void tofu_kick_channel(const struct tofu_kick *kick,
				     unsigned int tni, unsigned int channel)
{
	if (kick->page) {
		tofu_start_release((char *)kick->page + TOFU_CHANNEL_START);
		return;
	}
	tofu_node_lock(kick->node);
	tofu_node_channel(kick->node, tni, channel);
	tofu_node_unlock(kick->node);
	tofu_node_kick(kick->node, false);
}

#endif /* PORT_KICK_H */
