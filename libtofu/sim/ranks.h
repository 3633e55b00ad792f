/* SPDX-License-Identifier: MIT */
/*
 * The processes of a machine that is too large for one, or too slow: each has a
 * block of nodes, their links included. Without a launcher there is one.
 */
#ifndef SIM_RANKS_H
#define SIM_RANKS_H

#include "sim/sim.h"

/**
 * struct sim_vote - what all processes have to know between two windows
 * @next:    in: own, out: the least; when there is something to do
 * @event:   the largest; when a program or controller last did something
 * @running: the sum; programs that have not ended
 * @stop:    the largest; not 0: end the run
 */
struct sim_vote {
	uint64_t next;
	uint64_t event;
	uint64_t running;
	uint64_t stop;
};

/**
 * sim_ranks_begin - find out about the other processes
 *
 * Return: 0; -ENOEXEC: a launcher has started several, but there is no way to
 * them, with the reason in @why.
 */
int sim_ranks_begin(char **why);

unsigned int sim_ranks_rank(void);
unsigned int sim_ranks_count(void);

/* sim_ranks_block - the nodes of this process */
void sim_ranks_block(uint32_t nodes, uint32_t *first, uint32_t *count);

/* sim_ranks_post - a packet goes on in another block, to @node */
void sim_ranks_post(struct sim *sim, uint32_t node,
		    const struct tofu_net_packet *packet, uint64_t time,
		    unsigned int at);

/* sim_ranks_turn - after a window: hand packets over, and vote */
void sim_ranks_turn(struct sim *sim, struct sim_vote *vote);

/* sim_ranks_sum - the sums of @count numbers, in all processes */
void sim_ranks_sum(uint64_t *numbers, unsigned int count);

/* sim_ranks_most - the largest of all processes' */
uint64_t sim_ranks_most(uint64_t number);

/* sim_ranks_end - @status: not 0 ends the other processes, too */
void sim_ranks_end(int status);

#endif /* SIM_RANKS_H */
