/* SPDX-License-Identifier: MIT */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

#include "net/machine.h"
#include "net/topology.h"

#define SIM_SETS_MAX 32

/**
 * struct sim_options - the command line of tofu-sim
 * @machine: whose times
 * @changed: it, where its values are changed
 * @set:     changes of its values, such as "hop_ns=200"
 * @sets:    how many
 * @shape:   of the machine
 * @nodes:   that run the program, from node 0 on
 * @tnis:    of each node
 * @armw:    enum tofu_armw_choice
 * @stack:   bytes of each program's stack
 * @budget:  seconds of the host's processor that a program may take without a
 *           call of the library
 * @limit:   end the run at that virtual time, ns; UINT64_MAX: never
 * @trace:   folder, or NULL
 * @doorbells: folder of traces that say when they ring, or NULL
 * @costs:   file with what calls take, or NULL: the machine's
 * @awake:   programs do not sleep through polls in vain
 * @quiet:   say nothing about progress
 * @summary: say at the end what the run has taken
 * @argv:    program and arguments
 */
struct sim_options {
	const struct tofu_preset *machine;
	struct tofu_preset changed;
	const char *set[SIM_SETS_MAX];
	unsigned int sets;
	struct tofu_shape shape;
	uint32_t nodes;
	unsigned int tnis;
	unsigned int armw;
	uint64_t stack;
	unsigned int budget;
	uint64_t limit;
	const char *trace;
	const char *doorbells;
	const char *costs;
	bool awake;
	bool quiet;
	bool summary;
	int argc;
	char **argv;
};

/* sim_options_parse - exits with a sentence and status 2 where they are wrong
 */
void sim_options_parse(int argc, char **argv, struct sim_options *options);

#endif /* SIM_OPTIONS_H */
