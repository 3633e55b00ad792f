/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tofu interconnect controller: a processor that runs ahead
 *
 * Where the processor has to wait, it finds out what its program will do if
 * nothing comes from outside: it executes on, and all that it has changed is
 * put back. If nothing has come by the time to which it got, the changes are
 * made again at once; else they are forgotten. It runs until it would do what
 * has an effect outside of itself and RAM.
 */
#ifndef HW_TOFU_TOFU_AHEAD_H
#define HW_TOFU_TOFU_AHEAD_H

/*
 * tofu_ahead_run: execute up to @limit instructions, and put all back
 *
 * Called where timers are run, by the processor's thread, under the BQL.
 *
 * Returns: the instructions that were executed, 0 where it can't run ahead
 */
uint64_t tofu_ahead_run(CPUState *cpu, uint64_t limit);

/*
 * tofu_ahead_keep: make true what was executed
 *
 * Returns: whether it could be; else it is forgotten
 */
bool tofu_ahead_keep(CPUState *cpu);

/* tofu_ahead_drop: forget what was executed, if it has not been kept */
void tofu_ahead_drop(CPUState *cpu);

#endif /* HW_TOFU_TOFU_AHEAD_H */
