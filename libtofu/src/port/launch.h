/* SPDX-License-Identifier: MIT */
/*
 * The job that this process belongs to, from the environment:
 *   TOFU_RANK, TOFU_RANKS     rank and number of processes
 *   the variables of mpirun or srun   the same, if those are not set
 *   TOFU_NODE, TOFU_NODES     the same, if neither is set and TOFU_PPN is 1
 *   TOFU_PPN                  processes per node, 1 by default
 */
#ifndef PORT_LAUNCH_H
#define PORT_LAUNCH_H

#include "net/topology.h"

#define TOFU_LAUNCH_RANKS_MAX (1U << 24)

/**
 * tofu_env_number - read a number from the environment
 *
 * Return: 1 and @value if @name is set, 0 if it is not; -EINVAL, after a line
 * of tofu_debug(), if it is no number from @min to @max.
 */
int tofu_env_number(const char *name, unsigned int min, unsigned int max,
		    unsigned int *value);

/* tofu_env_text - a variable of the environment; NULL also if it is empty */
const char *tofu_env_text(const char *name);

/**
 * tofu_launcher_find - read rank and ranks from the variables of mpirun or srun
 * @max: largest number of processes
 *
 * Return: as tofu_env_number(); 1 if there is a launcher.
 */
int tofu_launcher_find(unsigned int max, unsigned int *rank,
		       unsigned int *ranks);

/**
 * tofu_launcher_hosts - find out whether the launcher's processes are on several hosts
 * @ranks: number of processes
 *
 * Return: 1 if they are, 0 if not or if it does not say; -EINVAL after a line of
 * tofu_debug().
 */
int tofu_launcher_hosts(unsigned int ranks);

/**
 * struct tofu_launch - a job's processes
 * @rank:  of this process
 * @ranks: number of processes
 * @ppn:   processes per node; the last node can have fewer
 * @first: node of rank 0; tofu_launch_place() sets it
 */
struct tofu_launch {
	uint32_t rank;
	uint32_t ranks;
	uint32_t ppn;
	uint32_t first;
};

/**
 * tofu_launch_find - read the environment; by default rank 0 of 1
 *
 * Return: 0; -EINVAL after a line of tofu_debug().
 */
int tofu_launch_find(struct tofu_launch *launch);

/**
 * tofu_launch_place - find out which nodes the processes are on
 * @shape: of the machine
 * @node:  of this process
 *
 * Processes are placed in blocks from node 0: rank r is on node r / @ppn. The
 * only process of a job can be on any node.
 *
 * Return: 0; -EINVAL, after a line of tofu_debug(), if this process is on
 * another node or the machine has too few nodes.
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
