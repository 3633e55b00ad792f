/* SPDX-License-Identifier: MIT */
/* Which machine a tool runs on, and as which node. */
#ifndef TOFU_TOOLS_MACHINE_H
#define TOFU_TOOLS_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include <tofu/job.h>

#include "net/topology.h"

/**
 * struct tofu_machine - a machine and this node of it
 * @job:   that this process belongs to
 * @shape: of the machine
 * @nodes: count of nodes
 * @node:  number of this one
 * @armw:  there are remote atomics
 */
struct tofu_machine {
	struct tofu_job_info job;
	struct tofu_shape shape;
	uint32_t nodes;
	uint32_t node;
	bool armw;
};

/**
 * tofu_machine_find - ask the library
 * @why: on failure a sentence for the user, to be freed, or NULL
 *
 * Return: 0 or a negative errno.
 */
int tofu_machine_find(struct tofu_machine *machine, char **why);

#endif /* TOFU_TOOLS_MACHINE_H */
