// SPDX-License-Identifier: MIT
/* The published formulas, each a straight line, or two. */
#include "model/internal.h"

#define INVALID (-1.0)

static struct tofu_model_fit fit_of(double t0_us, double per_byte_us,
				    double factor)
{
	return (struct tofu_model_fit){
		.b_mbs = factor / per_byte_us,
		.half_bytes = t0_us / per_byte_us,
		.t0_us = t0_us,
	};
}

double tofu_model_pingpong_us(const struct tofu_model_machine *machine,
			      size_t bytes, struct tofu_model_fit *fit)
{
	static const uint32_t pair[] = { 1, 1, 2 };
	struct model_group group;
	double t0_us;

	if (!model_group_of(machine, pair, 0, 0, &group))
		return INVALID;
	t0_us = machine->control_us + group.latency_us;
	if (fit)
		*fit = fit_of(t0_us, 1 / machine->link_mbs, 1);
	return t0_us + (double)bytes / machine->link_mbs;
}

/* A group that sends, and its routes */
static bool routes_of(const struct tofu_model_machine *machine,
		      const uint32_t size[], size_t segment,
		      unsigned int *routes, struct model_group *group)
{
	if (*routes > MODEL_ROUTES_MAX ||
	    !model_group_of(machine, size, segment, 0, group) ||
	    group->members < 2)
		return false;
	*routes = model_routes(group, *routes);
	return true;
}

double tofu_model_bcast_us(const struct tofu_model_machine *machine,
			   const uint32_t size[], size_t segment,
			   unsigned int routes, size_t bytes,
			   struct tofu_model_fit *fit)
{
	struct model_group group;
	struct model_pipe pipe;
	double t0_us;

	if (!routes_of(machine, size, segment, &routes, &group))
		return INVALID;
	pipe = model_pipe_bcast(&group, routes);
	t0_us = pipe.fill_us + group.latency_us + machine->start_us;
	if (fit)
		*fit = fit_of(t0_us, pipe.per_byte_us, 1);
	return t0_us + (double)bytes * pipe.per_byte_us;
}

double tofu_model_allreduce_us(const struct tofu_model_machine *machine,
			       const uint32_t size[], size_t segment,
			       unsigned int routes, size_t bytes,
			       struct tofu_model_fit *fit,
			       struct tofu_model_allreduce *parts)
{
	struct model_pipe reduce, bcast;
	struct model_group group;
	double reduce_us, bcast_us;

	if (!routes_of(machine, size, segment, &routes, &group))
		return INVALID;
	reduce = model_pipe_reduce(&group, routes);
	bcast = model_pipe_bcast(&group, routes);
	reduce_us = reduce.fill_us + group.latency_us;
	bcast_us = bcast.fill_us + group.latency_us + machine->start_us;
	if (fit)
		*fit = fit_of(reduce_us + bcast_us,
			      reduce.per_byte_us + bcast.per_byte_us, 2);
	if (parts)
		*parts = (struct tofu_model_allreduce){
			.reduce = fit_of(reduce_us, reduce.per_byte_us, 1),
			.bcast = fit_of(bcast_us, bcast.per_byte_us, 1),
		};
	return reduce_us + bcast_us +
	       (double)bytes * (reduce.per_byte_us + bcast.per_byte_us);
}

/* ---- Allgather ---- */

/**
 * struct rings - terms of an allgather
 * @starts_us: C Ls
 * @first:     messages that begin a stage
 * @other:     messages that do not
 */
struct rings {
	double starts_us;
	double first;
	double other;
	double mbs;
};

static struct rings rings_of(const struct model_group *group)
{
	const unsigned int directions = 2 * group->axes;
	const unsigned int engines = group->engines < directions ?
					     group->engines : directions;

	return (struct rings){
		.starts_us = engines * group->machine->software_us,
		.first = group->axes,
		.other = group->members - 1 - group->axes,
		.mbs = model_mbs(group, engines),
	};
}

static void lines_fill(const struct model_group *group,
		       const struct rings *rings,
		       struct tofu_model_allgather *lines)
{
	const double hardware_us = group->machine->hardware_us;
	const double first_us = rings->first * (rings->starts_us + hardware_us);

	lines->equal_bytes =
		model_max(0, rings->mbs * (rings->starts_us - hardware_us));
	lines->short_blocks = fit_of(first_us + rings->starts_us * rings->other,
				     rings->first / rings->mbs, group->members);
	lines->long_blocks = fit_of(first_us + hardware_us * rings->other,
				    (group->members - 1) / rings->mbs,
				    group->members);
}

double tofu_model_allgather_us(const struct tofu_model_machine *machine,
			       const uint32_t size[], unsigned int engines,
			       size_t bytes, struct tofu_model_allgather *lines)
{
	struct model_group group;
	struct rings rings;
	double sent_us;

	if (!model_group_of(machine, size, 0, engines, &group) ||
	    group.members < 2)
		return INVALID;
	rings = rings_of(&group);
	if (lines)
		lines_fill(&group, &rings, lines);
	sent_us = machine->hardware_us + (double)bytes / rings.mbs;
	return rings.first * (rings.starts_us + sent_us) +
	       rings.other * model_max(rings.starts_us, sent_us);
}
