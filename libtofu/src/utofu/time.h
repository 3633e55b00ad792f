/* SPDX-License-Identifier: MIT */
/*
 * Clock and waiting for the layers above. Both come from the port, since the
 * node's time need not be the host's. The instance is open.
 */
#ifndef UTOFU_TIME_H
#define UTOFU_TIME_H

#include "utofu/instance.h"
#include "utofu/work.h"

/* Empty polls before other threads get the processor */
#define TOFU_PATIENCE 1000

/**
 * struct tofu_turns - empty polls of a loop
 * @polls: so far
 * @mark:  of tofu_work_turns()
 */
struct tofu_turns {
	unsigned int polls;
	unsigned int mark;
};

/* tofu_turns_begin - a loop begins that has polled @polls times already */
static inline struct tofu_turns tofu_turns_begin(unsigned int polls)
{
	return (struct tofu_turns){ .polls = polls, .mark = tofu_work_mark() };
}

/**
 * tofu_give_way - perhaps yield the processor, after an empty poll of a loop
 *
 * The caller holds no lock.
 *
 * Return: the time this took, counted in polls, including the empty one.
 */
static inline unsigned int tofu_give_way(struct tofu_turns *loop)
{
	struct tofu_port_dev *port = tofu_instance()->port;
	unsigned int left_out = tofu_work_turns(&loop->mark) - 1;

	if (loop->polls >= TOFU_PATIENCE)
		left_out = 0;
	loop->polls += left_out;
	if (loop->polls >= TOFU_PATIENCE)
		return left_out +
		       port->ops->wait(port, loop->polls++ - TOFU_PATIENCE);
	loop->polls++;
	tofu_work(TOFU_WORK_WAIT);
	tofu_work_alike(TOFU_PATIENCE - loop->polls);
	tofu_work_own();
	return left_out + 1;
}

/* tofu_time_now - nanoseconds, of any origin */
static inline uint64_t tofu_time_now(void)
{
	struct tofu_port_dev *port = tofu_instance()->port;

	return port->ops->now(port);
}

#endif /* UTOFU_TIME_H */
