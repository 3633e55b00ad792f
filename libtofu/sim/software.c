/* SPDX-License-Identifier: MIT */
/*
 * Loaded programs as the software of the nodes.
 */
#include <unistd.h>

#include "sim/program.h"
#include "sim/sim.h"
#include "sim/watch.h"

static int run(struct sim_node *node)
{
	const struct sim_params *params = &node->sim->params;

	return sim_program_run(params->program, params->argc, params->argv);
}

static void enter(struct sim_node *node)
{
	static const char text[] =
		"tofu-sim: no memory for a node's data: the run cannot go on\n";

	if (!sim_program_switch(node->sim->params.program, node->number))
		return;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	sim_watch_exit(SIM_STATUS_FAILED);
}

static void *place(struct sim_node *node, uint64_t addr, size_t *len)
{
	return sim_program_at(node->sim->params.program, node->number,
			      (uintptr_t)addr, len);
}

/* Ports of the library never arm an interrupt here. */
const struct sim_software sim_programs = {
	.run = run,
	.enter = enter,
	.place = place,
};
