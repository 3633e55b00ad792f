/* SPDX-License-Identifier: MIT */
/*
 * The processes (ranks) of a machine that is too large for one, or too slow. Each
 * has a block of nodes, their links included. Without a launcher there is one.
 *
 * It is a conservative simulation: the lookahead is hop_ns, and after each
 * window the ranks hand over the packets that go on in other blocks, and credits,
 * and agree on the next window. They go from a block to those that have a link
 * with it, and only with these messages are exchanged.
 *
 * All of these functions but sim_ranks_post() and sim_ranks_credit() are called by
 * all ranks together.
 */
#ifndef SIM_RANKS_H
#define SIM_RANKS_H

#include "sim/sim.h"

/**
 * struct sim_vote - what all ranks have to know between two windows
 * @next:    in: own, out: the least; when there is something to do
 * @event:   the largest; when a program or controller last did something
 * @running: the largest; programs that have not ended
 * @stop:    the largest; 0, or the number plus 1 of a rank that ends the run
 */
struct sim_vote {
	uint64_t next;
	uint64_t event;
	uint64_t running;
	uint64_t stop;
};

/**
 * sim_ranks_begin - find the other ranks
 *
 * A launcher is known by its variables in the environment, and TOFU_SIM_MPI
 * names an MPI, or a file, or says "none".
 *
 * Return: 0; -ENOEXEC: a launcher has started several processes, but there is no
 * way to them, with the reason in @why.
 */
int sim_ranks_begin(char **why);

unsigned int sim_ranks_rank(void);
unsigned int sim_ranks_count(void);

/**
 * sim_ranks_block - the nodes of this rank
 *
 * Return: 0, -ENOMEM, or -EINVAL: there are more ranks than nodes.
 */
int sim_ranks_block(const struct tofu_shape *shape, uint32_t *first,
		    uint32_t *count);

/**
 * sim_ranks_post - a packet goes on in another block
 * @node:   the next node of its way
 * @packet: its cookie, the mail, is taken
 * @ps:     when its head reaches @node
 * @at:     as of the callback @leaves of struct tofu_net_ops
 */
void sim_ranks_post(struct sim *sim, uint32_t node,
		    const struct tofu_net_packet *packet, uint64_t ps,
		    unsigned int at);

/* sim_ranks_credit - a credit goes to another block */
void sim_ranks_credit(struct sim *sim, const struct tofu_net_credit *credit);

/* sim_ranks_turn - after a window: hand packets over, and vote */
void sim_ranks_turn(struct sim *sim, struct sim_vote *vote);

/* sim_ranks_sum - numbers become the sums over all ranks */
void sim_ranks_sum(uint64_t *numbers, unsigned int count);

/* sim_ranks_host_sum - the sum over this host's ranks */
uint64_t sim_ranks_host_sum(uint64_t number);

/* sim_ranks_most - the largest of all ranks' numbers */
uint64_t sim_ranks_most(uint64_t number);

/* sim_ranks_end - the machine needs the others no longer */
void sim_ranks_end(void);

#endif /* SIM_RANKS_H */
