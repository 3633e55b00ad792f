/* SPDX-License-Identifier: MIT */
/*
 * The data path's calls of a port. Where the engine's kick page is mapped, a
 * call is one store; otherwise the port provides a function. This costs one
 * branch, which always goes the same way in a process.
 */
#ifndef PORT_KICK_H
#define PORT_KICK_H

#include "port/barrier.h"
#include "port/port.h"

/* What a round of the loop of tofu_port_hold() takes: three instructions */
#define TOFU_HOLD_NS 3

/* The value has no meaning. The compiler must emit exactly one store. */
static inline void tofu_kick_store(void *page, unsigned int offset)
{
	*(volatile uint64_t *)((char *)page + offset) = 1;
}

/*
 * tofu_port_hold - wait as long as a store has held up the processor
 *
 * An instruction of a virtual machine in virtual time takes a nanosecond.
 */
static inline void tofu_port_hold(const struct tofu_port_dev *dev)
{
	for (uint32_t ns = dev->store_ns; ns > TOFU_HOLD_NS; ns -= TOFU_HOLD_NS)
		__asm__ volatile("");
}

/* tofu_port_doorbell - wake the engine of a queue that asked for a kick */
static inline void tofu_port_doorbell(struct tofu_port_cq *cq)
{
	if (cq->kick)
		tofu_kick_store(cq->kick, TOFU_KICK_TAIL);
	else
		cq->port->ops->doorbell(cq);
}

/**
 * tofu_port_poll - lend the processor to the engine after an empty poll
 *
 * Return: true when the engine may have done something by now.
 */
static inline bool tofu_port_poll(struct tofu_port_cq *cq)
{
	if (!cq->kick)
		return cq->port->ops->poll(cq);
	tofu_kick_store(cq->kick, TOFU_KICK_POLL);
	return true;
}

/* tofu_port_channel_poll - lend the processor after a barrier's empty poll */
static inline bool tofu_port_channel_poll(struct tofu_port_gates *gates)
{
	if (!gates->kick)
		return gates->port->ops->channel_poll(gates);
	tofu_kick_store(gates->kick, TOFU_CHANNEL_POLL);
	return true;
}

/* tofu_port_channel - start the barrier that a channel's block describes */
static inline void tofu_port_channel(struct tofu_port_gates *gates)
{
	if (gates->kick) {
		tofu_start_release((char *)gates->kick + TOFU_CHANNEL_START);
		tofu_port_hold(gates->port);
	} else {
		gates->port->ops->channel(gates);
	}
}

#endif /* PORT_KICK_H */
