/* SPDX-License-Identifier: MIT */
/*
 * Throughput models: how long a collective takes on a machine, by formula. All
 * of it is arithmetic, and no controller is needed.
 * Documentation/library/model.rst has the formulas and says which numbers of
 * which machine have a source.
 */
#ifndef TOFU_MODEL_H
#define TOFU_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include <tofu/coll.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Throughput models ---- */

/**
 * struct tofu_model_machine - what the formulas know of a machine
 * @link_mbs:    bandwidth of a link, and of an engine, each way
 * @node_mbs:    bandwidth of all engines of a node, each way
 * @memory_mbs:  BM, bandwidth of a node's memory; more than twice @node_mbs
 * @software_us: Ls, the processor's part of the latency of a message, which it
 *               spends for each engine that it starts
 * @forward_us:  the processor's time for a segment that it receives and sends
 *               on, which the published formulas do not have
 * @hardware_us: Lh, the rest of the latency, to a neighbour
 * @hop_us:      what each node on the way adds to the latency
 * @gate_us:     from a barrier gate to one on the next node
 * @start_us:    to, start of a pipelined collective, a tree or a ring, once
 * @control_us:  control messages of a rendezvous, all of one message
 * @segment:     m, bytes of a segment
 * @engines:     of a node
 *
 * Bandwidths are in MB/s, 10^6 bytes of payload a second. All numbers are
 * greater than 0.
 */
struct tofu_model_machine {
	double link_mbs;
	double node_mbs;
	double memory_mbs;
	double software_us;
	double forward_us;
	double hardware_us;
	double hop_us;
	double gate_us;
	double start_us;
	double control_us;
	size_t segment;
	unsigned int engines;
};

/**
 * tofu_model_machine - get the numbers of a machine
 * @name:    k, fx10, fx100 or fugaku
 * @machine: filled
 *
 * The numbers of k are published. Those of other machines are derived from
 * their times in virtual time, or assumed: the documentation says which.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_NOT_FOUND where
 * there is no such machine.
 */
int tofu_model_machine(const char *name, struct tofu_model_machine *machine);

/**
 * struct tofu_model_fit - time as a straight line: t = t0 + F M / B
 * @b_mbs:      B, asymptotic bandwidth, MB/s
 * @half_bytes: half-performance length B t0 / F: the message with which half of
 *              @b_mbs is reached
 * @t0_us:      t0, the delay of the whole collective
 *
 * F says how often a message counts for the throughput: 2 for allreduce, the
 * number of members for allgather, otherwise 1.
 */
struct tofu_model_fit {
	double b_mbs;
	double half_bytes;
	double t0_us;
};

/**
 * tofu_model_pingpong_us - compute the time of a message by rendezvous
 * @machine: the machine
 * @bytes:   of the message
 * @fit:     set to the numbers of the line, or NULL
 *
 * Return: microseconds; a negative number for an invalid argument.
 */
double tofu_model_pingpong_us(const struct tofu_model_machine *machine,
			      size_t bytes, struct tofu_model_fit *fit);

/**
 * tofu_model_bcast_us - compute the time of a pipelined broadcast
 * @machine: the machine
 * @size:    members along three axes, 2 in all or more
 * @segment: bytes of a segment; 0: the machine's
 * @routes:  d, chains at the same time, 1 ... 6, and at most two for each axis
 *           that is longer than 1; 0: as struct tofu_coll_tuning
 * @bytes:   of the message
 * @fit:     set to the numbers of the line, or NULL
 *
 * As published: t = h (L + m / (B / d)) + M / d / m max(L, m / (B / d)) + L +
 * to, a straight line. Messages that do not fill a segment on each route take
 * less: see tofu_model_coll_us().
 *
 * A route along one axis passes all members, so h is their number less 1. On
 * two and three axes h is the sum of their lengths, each less 1, and 1 more.
 * Two routes of a group that has three axes take the first and the last as one.
 *
 * Return: microseconds; a negative number for an invalid argument.
 */
double tofu_model_bcast_us(const struct tofu_model_machine *machine,
			   const uint32_t size[], size_t segment,
			   unsigned int routes, size_t bytes,
			   struct tofu_model_fit *fit);

/**
 * struct tofu_model_allreduce - the two parts of an allreduce
 * @reduce: without the start of the collective
 * @bcast:  with it
 */
struct tofu_model_allreduce {
	struct tofu_model_fit reduce;
	struct tofu_model_fit bcast;
};

/**
 * tofu_model_allreduce_us - compute the time of a pipelined allreduce
 * @machine: the machine
 * @size:    members along three axes, 2 in all or more
 * @segment: bytes of a segment; 0: the machine's
 * @routes:  as for tofu_model_bcast_us()
 * @bytes:   of the message
 * @fit:     set to the numbers of the line, or NULL; the message counts twice
 * @parts:   set to the numbers of the parts, or NULL; the message counts once
 *
 * As published for three routes, Trinaryx3: a reduction and then a broadcast of
 * tofu_model_bcast_us(). Each segment of the reduction takes a latency and the
 * time to combine it, with the bandwidth of the memory that the network leaves,
 * four loads and stores for each element.
 *
 * Return: microseconds; a negative number for an invalid argument.
 */
double tofu_model_allreduce_us(const struct tofu_model_machine *machine,
			       const uint32_t size[], size_t segment,
			       unsigned int routes, size_t bytes,
			       struct tofu_model_fit *fit,
			       struct tofu_model_allreduce *parts);

/**
 * struct tofu_model_allgather - the two straight lines of an allgather
 * @equal_bytes:   of a member, where the lines meet
 * @short_blocks: for less than that: starting the engines takes longest
 * @long_blocks:  for more: the transfers do
 */
struct tofu_model_allgather {
	double equal_bytes;
	struct tofu_model_fit short_blocks;
	struct tofu_model_fit long_blocks;
};

/**
 * tofu_model_allgather_us - compute the time of a multiring allgather
 * @machine: the machine
 * @size:    members along three axes, 2 in all or more
 * @engines: TNIs that share each message; 0: all of the machine, as far as
 *           there are directions
 * @bytes:   of a member
 * @lines:   set to the numbers of both lines, or NULL
 *
 * As published: for a axes longer than 1 and C engines, t = a (C Ls + Lh + M /
 * B) + max(C Ls, Lh + M / B) (n - 1 - a).
 *
 * Return: microseconds; a negative number for an invalid argument.
 */
double tofu_model_allgather_us(const struct tofu_model_machine *machine,
			       const uint32_t size[], unsigned int engines,
			       size_t bytes,
			       struct tofu_model_allgather *lines);

/**
 * tofu_model_coll_us - compute how long a collective takes with an algorithm
 * @machine:   the machine
 * @kind:      enum tofu_coll_kind
 * @algorithm: enum tofu_coll_algorithm
 * @size:      members along three axes, each 1 or more, below 2^32 in all
 * @bytes:     of a block: of the elements that struct tofu_coll_spec counts
 * @segment:   bytes of a segment; 0: the machine's
 * @engines:   most TNIs to use; 0: all
 * @routes:    of a pipelined collective; 0: as struct tofu_coll_tuning
 *
 * Pipelined broadcast, pipelined allreduce and multiring allgather have their
 * published formulas, with a shorter segment where the message does not fill
 * one on each route. The time of more bytes is never less. It is not checked
 * whether the algorithm fits the group and the size. A group of one member
 * copies its block.
 *
 * Return: microseconds; a negative number for an invalid argument,
 * TOFU_COLL_AUTO, and an algorithm that does not exist for the kind.
 */
double tofu_model_coll_us(const struct tofu_model_machine *machine,
			  enum tofu_coll_kind kind,
			  enum tofu_coll_algorithm algorithm,
			  const uint32_t size[], size_t bytes, size_t segment,
			  unsigned int engines, unsigned int routes);

/**
 * tofu_model_fit - fit a straight line to measured times
 * @bytes:  sizes of messages, 0 or more
 * @us:     time of each
 * @count:  of the pairs, 2 or more
 * @factor: F of struct tofu_model_fit, greater than 0
 * @fit:    set on success
 *
 * Least squares of t = t0 + F M / B; the half-performance length follows from
 * both. Large messages weigh most. t0 can come out negative where the times are
 * no straight line, and the half-performance length is then negative, too.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_NUMBER
 * for less than 2 pairs; UTOFU_ERR_INVALID_ARG for a number that is not finite,
 * a negative one, and @factor; UTOFU_ERR_INVALID_SIZE where all sizes are
 * equal; UTOFU_ERR_INVALID_DATA where larger messages do not take longer.
 */
int tofu_model_fit(const double bytes[], const double us[], size_t count,
		   double factor, struct tofu_model_fit *fit);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_MODEL_H */
