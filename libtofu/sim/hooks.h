/* SPDX-License-Identifier: MIT */
#ifndef SIM_HOOKS_H
#define SIM_HOOKS_H

#include "sim/sim.h"

/* sim_hooks_begin - programs' calls of the C library act on their nodes */
int sim_hooks_begin(struct sim *sim);

#endif /* SIM_HOOKS_H */
