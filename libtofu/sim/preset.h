/* SPDX-License-Identifier: MIT */
/*
 * Machines that differ from a preset in a few values, to see what a value does.
 */
#ifndef SIM_PRESET_H
#define SIM_PRESET_H

#include "net/machine.h"

/**
 * sim_preset_set - change a value of a machine
 * @machine:    a copy of a preset
 * @assignment: such as "hop_ns=200", or "hop_ns=50%" of what it is; the names
 *              are those of struct tofu_preset
 * @why:        receives a sentence that names what is wrong, to be freed
 */
bool sim_preset_set(struct tofu_preset *machine, const char *assignment,
		    char **why);

#endif /* SIM_PRESET_H */
