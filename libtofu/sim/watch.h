/* SPDX-License-Identifier: MIT */
/*
 * Looks after a run: reports on its progress, ends it when the user wants it,
 * and notices programs that never call the library.
 */
#ifndef SIM_WATCH_H
#define SIM_WATCH_H

#include "sim/sim.h"

/**
 * sim_watch_begin - from now on
 * @budget: seconds of the processor between two calls of the library
 * @quiet:  no reports
 */
void sim_watch_begin(struct sim *sim, unsigned int budget, bool quiet);

/* sim_watch_tell - after a window: report, if it is time */
void sim_watch_tell(struct sim *sim);

/* sim_watch_interrupted - by which signal the user has ended the run, or 0 */
int sim_watch_interrupted(void);

/* sim_watch_end - no more reports */
void sim_watch_end(void);

/* Status where tofu-sim itself cannot go on */
#define SIM_STATUS_FAILED 125

/* sim_watch_exit - end the process at once, even out of a handler of a signal */
void sim_watch_exit(int status) __attribute__((noreturn));

/* sim_watch_say_waiting - name nodes whose programs wait for ever; @running: how
 * many there are in all ranks
 */
void sim_watch_say_waiting(const struct sim *sim, uint64_t running);

#endif /* SIM_WATCH_H */
