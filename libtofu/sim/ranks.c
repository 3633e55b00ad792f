/* SPDX-License-Identifier: MIT */
#include "sim/ranks.h"

int sim_ranks_begin(char **why)
{
	*why = NULL;
	return 0;
}

unsigned int sim_ranks_rank(void)
{
	return 0;
}

unsigned int sim_ranks_count(void)
{
	return 1;
}

void sim_ranks_block(uint32_t nodes, uint32_t *first, uint32_t *count)
{
	const uint64_t rank = sim_ranks_rank(), ranks = sim_ranks_count();

	*first = (uint32_t)(nodes * rank / ranks);
	*count = (uint32_t)(nodes * (rank + 1) / ranks) - *first;
}

void sim_ranks_post(struct sim *sim, uint32_t node,
		    const struct tofu_net_packet *packet, uint64_t time,
		    unsigned int at)
{
	(void)sim;
	(void)node;
	(void)packet;
	(void)time;
	(void)at;
}

void sim_ranks_turn(struct sim *sim, struct sim_vote *vote)
{
	(void)sim;
	(void)vote;
}

void sim_ranks_sum(uint64_t *numbers, unsigned int count)
{
	(void)numbers;
	(void)count;
}

uint64_t sim_ranks_most(uint64_t number)
{
	return number;
}

void sim_ranks_end(int status)
{
	(void)status;
}
