// SPDX-License-Identifier: MIT
/*
 * The time of each algorithm, in the symbols of the published formulas.
 *
 * Members are numbered fastest along the last axis. Algorithms that double the
 * distance of their partners, in numbers, pay for hops, and where all members
 * send as far at the same time, for the messages that share a link.
 */
#include "model/internal.h"
#include "net/machine.h"

#define INVALID (-1.0)
/* What barrier gates reduce at a time */
#define GATE_BYTES 48
/* Fits an integer, unlike the largest size_t when rounded to a double */
#define BLOCK_MAX 0x1p62

/* ---- Distances ---- */

struct distance {
	double hops;
	double longest;
};

static double around(double size, double distance)
{
	return model_min(distance, size - distance);
}

/* Between members whose numbers differ by @numbers, without carries */
static struct distance distance_of(const struct model_group *group,
				   uint64_t numbers)
{
	struct distance distance = { 0, 0 };

	for (int i = TOFU_COLL_AXES - 1; i >= 0; i--) {
		const double axis = around(group->size[i],
					   (double)(numbers % group->size[i]));

		distance.hops += axis;
		distance.longest = model_max(distance.longest, axis);
		numbers /= group->size[i];
	}
	return distance;
}

static double far_us(const struct model_group *group, double hops)
{
	return model_max(hops - 1, 0) * group->machine->hop_us;
}

/* A message from one engine, which has the links for itself */
static double message_us(const struct model_group *group, uint64_t numbers,
			 double bytes)
{
	return group->latency_us +
	       far_us(group, distance_of(group, numbers).hops) +
	       bytes / group->machine->link_mbs;
}

/* A message of every member at the same time, equally far */
static double shift_us(const struct model_group *group, uint64_t numbers,
		       double bytes)
{
	const struct distance distance = distance_of(group, numbers);

	return group->latency_us + far_us(group, distance.hops) +
	       bytes * model_max(distance.longest, 1) /
		       group->machine->link_mbs;
}

static double copy_us(const struct model_group *group, double bytes)
{
	return TOFU_MEMORY_COPY * bytes / group->machine->memory_mbs;
}

static double combine_us(const struct model_group *group, double bytes)
{
	return bytes / model_combine_mbs(group, model_mbs(group, 1));
}

static bool is_power(double members)
{
	const uint64_t number = (uint64_t)members;

	return !(number & (number - 1));
}

/* ---- Gates, and barriers ---- */

/* Members beyond a power of 2 give their part to a partner, and get it back. */
static double gates_us(const struct model_group *group, double bytes,
		       unsigned int routes)
{
	const double gate_us = group->machine->gate_us;
	double us = group->latency_us;
	uint64_t times = 1;

	(void)routes;
	for (uint64_t d = 1; 2 * d <= group->members; d *= 2)
		us += gate_us + far_us(group, distance_of(group, d).hops);
	if (!is_power(group->members))
		us += 2 * gate_us;
	if (bytes > GATE_BYTES)
		times = ((uint64_t)bytes + GATE_BYTES - 1) / GATE_BYTES;
	return us * (double)times;
}

static double dissemination_us(const struct model_group *group, double bytes,
			       unsigned int routes)
{
	double us = 0;

	(void)bytes;
	(void)routes;
	for (uint64_t d = 1; d < group->members; d *= 2)
		us += message_us(group, d, 0);
	return us;
}

/* ---- Pipelines ---- */

/* Segments are as long as a route has bytes for. */
static struct model_group shortened(const struct model_group *group,
				    double bytes, unsigned int routes)
{
	struct model_group some = *group;

	some.segment = model_max(model_min(some.segment, bytes / routes), 1);
	return some;
}

static double once_us(const struct model_group *group)
{
	return group->latency_us + group->machine->start_us;
}

/*
 * The published formulas, and what they leave out: one processor finds and puts
 * on the segments of all routes, @starts for each that comes.
 */
static double pipe_us(const struct model_group *group,
		      const struct model_pipe *pipe, double bytes,
		      unsigned int routes, unsigned int starts)
{
	const double software_us = starts * group->machine->forward_us;
	const double per_byte_us = model_max(pipe->per_byte_us,
					     software_us / group->segment);

	return pipe->fill_us + per_byte_us *
				       model_max(bytes, group->segment * routes);
}

static double bcast_pipelined_us(const struct model_group *whole, double bytes,
				 unsigned int routes)
{
	const struct model_group group = shortened(whole, bytes, routes);
	const struct model_pipe pipe = model_pipe_bcast(&group, routes);

	return once_us(&group) + pipe_us(&group, &pipe, bytes, routes, 1);
}

static double reduce_pipelined_us(const struct model_group *whole, double bytes,
				  unsigned int routes)
{
	const struct model_group group = shortened(whole, bytes, routes);
	const struct model_pipe pipe = model_pipe_reduce(&group, routes);

	return once_us(&group) + pipe_us(&group, &pipe, bytes, routes, 1);
}

static double allreduce_pipelined_us(const struct model_group *group,
				     double bytes, unsigned int routes)
{
	return reduce_pipelined_us(group, bytes, routes) +
	       bcast_pipelined_us(group, bytes, routes) -
	       group->machine->start_us;
}

static double streamed_us(const struct model_group *whole, double bytes,
			  unsigned int routes)
{
	const struct model_group group = shortened(whole, bytes, routes);
	const struct model_pipe pipe = model_pipe_streamed(&group, routes);

	return once_us(&group) + group.latency_us +
	       pipe_us(&group, &pipe, bytes, routes, 2);
}

static double session_us(const struct model_group *whole, double bytes,
			 unsigned int routes)
{
	const struct model_group group = shortened(whole, bytes, 1);
	const struct model_pipe pipe = model_pipe_session(&group);

	(void)routes;
	return once_us(&group) + pipe_us(&group, &pipe, bytes, 1, 0);
}

/* ---- Trees ---- */

static double bcast_binomial_us(const struct model_group *group, double bytes,
				unsigned int routes)
{
	double us = group->machine->start_us;

	(void)routes;
	for (uint64_t d = 1; d < group->members; d *= 2)
		us += message_us(group, d, bytes);
	return us;
}

static double reduce_binomial_us(const struct model_group *group, double bytes,
				 unsigned int routes)
{
	double us = bcast_binomial_us(group, bytes, routes);

	for (uint64_t d = 1; d < group->members; d *= 2)
		us += combine_us(group, bytes);
	return us;
}

/* Gather and scatter: a message has the blocks of all beyond it. */
static double tree_us(const struct model_group *group, double bytes,
		      unsigned int routes)
{
	double us = group->machine->start_us;

	(void)routes;
	for (uint64_t d = 1; d < group->members; d *= 2) {
		const double blocks = model_min((double)d,
						group->members - (double)d);

		us += message_us(group, d, blocks * bytes);
	}
	return us;
}

/* Half of the way around each axis */
static double farthest_us(const struct model_group *group)
{
	double hops = 0;

	for (unsigned int i = 0; i < TOFU_COLL_AXES; i++)
		hops += group->size[i] / 2;
	return far_us(group, hops);
}

/* The root starts a message for each member; its links limit it, too. */
static double root_direct_us(const struct model_group *group, double bytes,
			     unsigned int routes)
{
	const double mbs = model_mbs(group, 2 * group->axes);
	const double each_us = model_max(group->machine->software_us,
					 bytes / mbs);

	(void)routes;
	return once_us(group) + farthest_us(group) +
	       (group->members - 1) * each_us;
}

/* ---- Allreduce ---- */

/* Members beyond a power of 2 give their part to a partner, and get it back. */
static double doubling_us(const struct model_group *group, double bytes,
			  unsigned int routes)
{
	const double work_us = combine_us(group, bytes);
	double us = group->machine->start_us;

	(void)routes;
	for (uint64_t d = 1; 2 * d <= group->members; d *= 2)
		us += shift_us(group, d, bytes) + work_us;
	if (!is_power(group->members))
		us += 2 * message_us(group, 1, bytes) + work_us;
	return us;
}

/*
 * Half of the message goes to the nearest member, a quarter to one twice as far.
 * Members beyond a power of 2 as above.
 */
static double allreduce_halving_us(const struct model_group *group,
				   double bytes, unsigned int routes)
{
	double us = group->machine->start_us, part = bytes;

	(void)routes;
	for (uint64_t d = 1; 2 * d <= group->members; d *= 2) {
		part /= 2;
		us += 2 * shift_us(group, d, part) + combine_us(group, part);
	}
	if (!is_power(group->members))
		us += 2 * message_us(group, 1, bytes) +
		      combine_us(group, bytes);
	return us;
}

/* The number of a block is its member's: half of them go farthest. */
static double reduce_scatter_halving_us(const struct model_group *group,
					double bytes, unsigned int routes)
{
	double us = group->machine->start_us;

	(void)routes;
	for (uint64_t d = 1; 2 * d <= group->members; d *= 2)
		us += shift_us(group, d, (double)d * bytes) +
		      combine_us(group, (double)d * bytes);
	return us;
}

/* A step of a ring: neighbours are next to each other. */
static double step_us(const struct model_group *group, double bytes)
{
	return group->latency_us + bytes / group->machine->link_mbs;
}

static double reduce_scatter_ring_us(const struct model_group *group,
				     double bytes, unsigned int routes)
{
	(void)routes;
	return group->machine->start_us +
	       (group->members - 1) *
		       (step_us(group, bytes) + combine_us(group, bytes));
}

static double allgather_ring_us(const struct model_group *group, double bytes,
				unsigned int routes)
{
	(void)routes;
	return (group->members - 1) * step_us(group, bytes);
}

static double allreduce_ring_us(const struct model_group *group, double bytes,
				unsigned int routes)
{
	const double part = bytes / group->members;

	return reduce_scatter_ring_us(group, part, routes) +
	       allgather_ring_us(group, part, routes);
}

/* ---- Allgather ---- */

static double multiring_us(const struct model_group *group, double bytes,
			   unsigned int routes)
{
	(void)routes;
	return tofu_model_allgather_us(group->machine, group->size,
				       group->engines, (size_t)bytes, NULL);
}

/* Shifts of 1, 2, 4 ... blocks */
static double blocks_us(const struct model_group *group, double bytes)
{
	double us = 0;

	for (uint64_t d = 1; d < group->members; d *= 2)
		us += shift_us(group, d, bytes *
			       model_min((double)d, group->members - (double)d));
	return us;
}

/* Before, each member tells its partners that its buffer may be written. */
static double allgather_doubling_us(const struct model_group *group,
				    double bytes, unsigned int routes)
{
	double us = blocks_us(group, bytes);

	(void)routes;
	for (uint64_t d = 1; d < group->members; d *= 2)
		us += group->machine->software_us;
	return us;
}

/* Blocks come in the order of the members' distance, and are copied once. */
static double allgather_bruck_us(const struct model_group *group, double bytes,
				 unsigned int routes)
{
	(void)routes;
	return blocks_us(group, bytes) +
	       copy_us(group, bytes * group->members);
}

/* ---- Allgather directly, and alltoall ---- */

/* Mean hops along an axis in either direction; two nodes have one link. */
static double axis_load(uint32_t size)
{
	const double hops = (double)((uint64_t)size * size / 4) / size;

	return size > 2 ? hops / 2 : hops;
}

static double among_all_us(const struct model_group *group, double bytes,
				 unsigned int routes)
{
	const double others = group->members - 1;
	double us = model_max(others * group->machine->software_us,
			      others * bytes / model_mbs(group, group->engines));

	(void)routes;
	for (unsigned int i = 0; i < TOFU_COLL_AXES; i++)
		us = model_max(us, group->members * bytes *
					   axis_load(group->size[i]) /
					   group->machine->link_mbs);
	return once_us(group) + farthest_us(group) + us;
}

/* Numbers below @members that have the bit @bit */
static double with_bit(double members, uint64_t bit)
{
	const uint64_t all = (uint64_t)members;
	const uint64_t rest = all % (2 * bit);

	return (double)(all / (2 * bit) * bit + (rest > bit ? rest - bit : 0));
}

/* In each round about half of the blocks are packed, sent and unpacked. */
static double alltoall_bruck_us(const struct model_group *group, double bytes,
				unsigned int routes)
{
	double us = group->machine->start_us;

	(void)routes;
	for (uint64_t d = 1; d < group->members; d *= 2) {
		const double some = bytes * with_bit(group->members, d);

		us += shift_us(group, d, some) + 2 * copy_us(group, some);
	}
	return us;
}

/* ---- All ---- */

typedef double time_fn(const struct model_group *group, double bytes,
		       unsigned int routes);

static time_fn *const formulas[TOFU_COLL_KINDS][TOFU_COLL_ALGORITHMS] = {
	[TOFU_COLL_BARRIER] = {
		[TOFU_COLL_GATES] = gates_us,
		[TOFU_COLL_DISSEMINATION] = dissemination_us,
	},
	[TOFU_COLL_BCAST] = {
		[TOFU_COLL_PIPELINED] = bcast_pipelined_us,
		[TOFU_COLL_SESSION] = session_us,
		[TOFU_COLL_BINOMIAL] = bcast_binomial_us,
	},
	[TOFU_COLL_REDUCE] = {
		[TOFU_COLL_PIPELINED] = reduce_pipelined_us,
		[TOFU_COLL_BINOMIAL] = reduce_binomial_us,
	},
	[TOFU_COLL_ALLREDUCE] = {
		[TOFU_COLL_GATES] = gates_us,
		[TOFU_COLL_PIPELINED] = allreduce_pipelined_us,
		[TOFU_COLL_STREAMED] = streamed_us,
		[TOFU_COLL_DOUBLING] = doubling_us,
		[TOFU_COLL_HALVING] = allreduce_halving_us,
		[TOFU_COLL_RING] = allreduce_ring_us,
	},
	[TOFU_COLL_GATHER] = {
		[TOFU_COLL_BINOMIAL] = tree_us,
		[TOFU_COLL_DIRECT] = root_direct_us,
	},
	[TOFU_COLL_SCATTER] = {
		[TOFU_COLL_BINOMIAL] = tree_us,
		[TOFU_COLL_DIRECT] = root_direct_us,
	},
	[TOFU_COLL_ALLGATHER] = {
		[TOFU_COLL_RING] = allgather_ring_us,
		[TOFU_COLL_MULTIRING] = multiring_us,
		[TOFU_COLL_BRUCK] = allgather_bruck_us,
		[TOFU_COLL_DOUBLING] = allgather_doubling_us,
		[TOFU_COLL_DIRECT] = among_all_us,
	},
	[TOFU_COLL_REDUCE_SCATTER] = {
		[TOFU_COLL_HALVING] = reduce_scatter_halving_us,
		[TOFU_COLL_RING] = reduce_scatter_ring_us,
	},
	[TOFU_COLL_ALLTOALL] = {
		[TOFU_COLL_BRUCK] = alltoall_bruck_us,
		[TOFU_COLL_DIRECT] = among_all_us,
	},
};

double tofu_model_coll_us(const struct tofu_model_machine *machine,
			  enum tofu_coll_kind kind,
			  enum tofu_coll_algorithm algorithm,
			  const uint32_t size[], size_t bytes, size_t segment,
			  unsigned int engines, unsigned int routes)
{
	struct model_group group;
	time_fn *formula;
	double block;

	if ((unsigned int)kind >= TOFU_COLL_KINDS ||
	    (unsigned int)algorithm >= TOFU_COLL_ALGORITHMS ||
	    routes > MODEL_ROUTES_MAX)
		return INVALID;
	formula = formulas[kind][algorithm];
	if (!formula ||
	    !model_group_of(machine, size, segment, engines, &group))
		return INVALID;
	block = kind == TOFU_COLL_BARRIER ? 0 : model_min((double)bytes, BLOCK_MAX);
	if (group.members < 2)
		return copy_us(&group, block);
	return formula(&group, block, model_routes(&group, routes));
}
