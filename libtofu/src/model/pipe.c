// SPDX-License-Identifier: MIT
/*
 * Pipelined collectives. A segment of m bytes on each of d routes is d m bytes
 * of the message.
 */
#include "model/internal.h"

/* h: hops of a segment, along the chain, or through the tree of chains */
static double hops(const struct model_group *group, unsigned int routes)
{
	double sum = 1;

	if (routes == 1 || group->axes < 2)
		return group->members - 1;
	/* The last axis is folded into the first: 8x6x8 as 64x6. */
	if (routes == 2 && group->axes == TOFU_COLL_AXES)
		return group->members / group->size[1] + group->size[1] - 1;
	for (unsigned int i = 0; i < TOFU_COLL_AXES; i++)
		sum += group->size[i] - 1;
	return sum;
}

struct model_pipe model_pipe_bcast(const struct model_group *group,
				   unsigned int routes)
{
	const double bytes = group->segment * routes;
	const double send_us = bytes / model_mbs(group, routes);
	const double latency_us = group->latency_us;

	return (struct model_pipe){
		.fill_us = hops(group, routes) * (latency_us + send_us),
		.per_byte_us = model_max(latency_us, send_us) / bytes,
	};
}

struct model_pipe model_pipe_reduce(const struct model_group *group,
				    unsigned int routes)
{
	const double mbs = model_mbs(group, routes);
	const double bytes = group->segment * routes;
	const double send_us = bytes / mbs;
	const double work_us = group->latency_us +
			       bytes / model_combine_mbs(group, mbs);

	return (struct model_pipe){
		.fill_us = hops(group, routes) * (send_us + work_us),
		.per_byte_us = model_max(work_us, send_us) / bytes,
	};
}

struct model_pipe model_pipe_streamed(const struct model_group *group,
				      unsigned int routes)
{
	const double mbs = model_mbs(group, 2 * routes);
	const double bytes = group->segment * routes;
	const double send_us = 2 * bytes / mbs;
	const double work_us = group->latency_us +
			       bytes / model_combine_mbs(group, mbs);

	return (struct model_pipe){
		.fill_us = model_pipe_reduce(group, routes).fill_us +
			   model_pipe_bcast(group, routes).fill_us,
		.per_byte_us = model_max(work_us, send_us) / bytes,
	};
}

struct model_pipe model_pipe_session(const struct model_group *group)
{
	const double send_us = group->segment / group->machine->link_mbs;
	const double latency_us = group->machine->hardware_us;

	return (struct model_pipe){
		.fill_us = (group->members - 1) * (latency_us + send_us),
		.per_byte_us = model_max(latency_us, send_us) /
			       group->segment,
	};
}
