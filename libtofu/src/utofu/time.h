/* SPDX-License-Identifier: MIT */
/*
 * Clock and waiting for the layers above. Both come from the port, since the
 * node's time need not be the host's. The instance is open.
 */
#ifndef UTOFU_TIME_H
#define UTOFU_TIME_H

#include "utofu/instance.h"

/* Empty polls before other threads get the processor */
#define TOFU_PATIENCE 1000

/**
 * tofu_give_way - perhaps yield the processor, after an empty poll of a loop
 * @polls: empty polls so far; 0 when the loop begins
 *
 * The caller holds no lock.
 *
 * Return: the time this took, counted in polls, including the empty one.
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
