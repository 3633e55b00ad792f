/* SPDX-License-Identifier: MIT */
/*
 * Terms that formulas of several files have.
 *
 * May include: net/
 */
#ifndef MODEL_INTERNAL_H
#define MODEL_INTERNAL_H

#include <stdbool.h>

#include <tofu/model.h>

#define MODEL_ROUTES_MAX (2 * TOFU_COLL_AXES)

static inline double model_max(double a, double b)
{
	return a > b ? a : b;
}

static inline double model_min(double a, double b)
{
	return a < b ? a : b;
}

/**
 * struct model_group - members, and what they use of a machine
 * @members: product of @size
 * @axes:    longer than 1
 * @engines: 1 or more
 * @segment: bytes
 * @latency_us: L
 */
struct model_group {
	const struct tofu_model_machine *machine;
	uint32_t size[TOFU_COLL_AXES];
	double members;
	unsigned int axes;
	unsigned int engines;
	double segment;
	double latency_us;
};

/**
 * model_group_of - what is to be used, with the machine's numbers for each 0
 *
 * Return: false for an invalid argument.
 */
bool model_group_of(const struct tofu_model_machine *machine,
		    const uint32_t size[], size_t segment, unsigned int engines,
		    struct model_group *group);

/* model_routes - how many there are, where the caller wants @routes, or 0 */
unsigned int model_routes(const struct model_group *group, unsigned int routes);

/* model_mbs - bandwidth of some engines of a node, all together */
double model_mbs(const struct model_group *group, unsigned int engines);

/* model_combine_mbs - Tc, rate of combining while the network has @mbs */
double model_combine_mbs(const struct model_group *group, double mbs);

/**
 * struct model_pipe - a pipelined collective: t = fill_us + M per_byte_us
 * @fill_us: until the last member has the first segment
 */
struct model_pipe {
	double fill_us;
	double per_byte_us;
};

/* Of a broadcast and a reduction on @routes, without what is once a collective */
struct model_pipe model_pipe_bcast(const struct model_group *group,
				   unsigned int routes);
struct model_pipe model_pipe_reduce(const struct model_group *group,
				    unsigned int routes);

/**
 * model_pipe_streamed - a broadcast of each segment when it is reduced
 *
 * Both directions share the engines, and the memory.
 */
struct model_pipe model_pipe_streamed(const struct model_group *group,
				      unsigned int routes);

/* model_pipe_session - a chain whose engines forward without the processor */
struct model_pipe model_pipe_session(const struct model_group *group);

#endif /* MODEL_INTERNAL_H */
