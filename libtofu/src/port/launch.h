/* SPDX-License-Identifier: MIT */
/*
 * What the environment says of the job that this process belongs to:
 *   TOFU_RANK, TOFU_RANKS     which process of how many
 *   the variables of mpirun or srun   the same, where those are not set
 *   TOFU_NODE, TOFU_NODES     the same again, where a node has one process
 *   TOFU_PPN                  processes a node, 1 by default
 */
#ifndef PORT_LAUNCH_H
#define PORT_LAUNCH_H

#include "net/topology.h"

#define TOFU_LAUNCH_RANKS_MAX (1U << 24)

/**
 * tofu_env_number - read a number from the environment
 *
 * Return: 1 where @name is set and @value with it, 0 where not; -EINVAL for what
 * is no number from @min to @max, and tofu_debug() has then said so.
 */
int tofu_env_number(const char *name, unsigned int min, unsigned int max,
		    unsigned int *value);

/**
 * tofu_launcher_find - read what mpirun or srun says
 * @max: processes of a job at most
 *
 * Return: as tofu_env_number(); 1 where there is a launcher.
 */
int tofu_launcher_find(unsigned int max, unsigned int *rank,
		       unsigned int *ranks);

/**
 * struct tofu_launch - a job's processes
 * @rank:  this one
 * @ranks: how many there are
 * @ppn:   of each node; the last node can have fewer
 * @first: node of rank 0; tofu_launch_place() sets it
 */
struct tofu_launch {
	uint32_t rank;
	uint32_t ranks;
	uint32_t ppn;
	uint32_t first;
};

/**
 * tofu_launch_find - read the environment; without a word it is process 0 of 1
 *
 * Return: 0; -EINVAL, and tofu_debug() has said why.
 */
int tofu_launch_find(struct tofu_launch *launch);

/**
 * tofu_launch_place - find out which nodes the processes are on
 * @shape: of the machine
 * @node:  of this process
 *
 * Processes are placed in blocks from node 0 on: rank r is on node r / @ppn. The
 * only process of a job can be on any node.
 *
 * Return: 0; -EINVAL where this process is on another node, or some have none,
 * and tofu_debug() has said why.
 */
int tofu_launch_place(struct tofu_launch *launch,
		      const struct tofu_shape *shape, uint32_t node);

/* tofu_launch_node - of a rank, after tofu_launch_place() */
static inline uint32_t tofu_launch_node(const struct tofu_launch *launch,
					uint32_t rank)
{
	return launch->first + rank / launch->ppn;
}

#endif /* PORT_LAUNCH_H */
