/* SPDX-License-Identifier: MIT */
/*
 * What the library's calls take on a machine: a table per preset.
 */
#ifndef SIM_COSTS_H
#define SIM_COSTS_H

#include <stdint.h>

#include "net/machine.h"
#include "port/work.h"

/**
 * sim_costs - the costs on a machine, by enum tofu_work
 *
 * They are what virtual machines in virtual time take, where every instruction
 * is a nanosecond on each machine, by the machine's work_percent; measured there
 * by scripts/tofu-costs (see Documentation/sim-costs.rst).
 */
const struct tofu_cost *sim_costs(const struct tofu_preset *machine);

/* sim_costs_least - as little as lets time go on; memory takes none */
const struct tofu_cost *sim_costs_least(void);

/**
 * sim_costs_read - a table from a file, of lines of a name and a number
 *
 * What the file does not name keeps its cost on @machine.
 *
 * Return: the table, or NULL with a sentence in @why, to be freed.
 */
const struct tofu_cost *sim_costs_read(const char *path,
				       const struct tofu_preset *machine,
				       char **why);

#endif /* SIM_COSTS_H */
