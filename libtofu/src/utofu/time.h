/* SPDX-License-Identifier: MIT */
/*
 * The clock and the waiting of the layers above, by the port: both are the
 * node's, whose time need not be the host's. The instance is open.
 */
#ifndef UTOFU_TIME_H
#define UTOFU_TIME_H

#include "utofu/instance.h"

/* Polls without success before others get the processor. */
#define TOFU_PATIENCE 1000

/**
 * tofu_give_way - a poll of a loop that waits has found nothing
 * @polls: how many so far; 0 when the loop begins
 *
 * No lock is held by the caller.
 *
 * Return: about how many polls this took as long as, the one that has found
 * nothing included.
 */
static inline unsigned int tofu_give_way(unsigned int *polls)
{
	struct tofu_port_dev *port = tofu_instance()->port;

	if (++*polls <= TOFU_PATIENCE)
		return 1;
	return port->ops->wait(port, *polls - TOFU_PATIENCE - 1);
}

/* tofu_time_now - nanoseconds, of any origin */
static inline uint64_t tofu_time_now(void)
{
	struct tofu_port_dev *port = tofu_instance()->port;

	return port->ops->now(port);
}

#endif /* UTOFU_TIME_H */
