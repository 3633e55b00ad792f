/* SPDX-License-Identifier: MIT */
/*
 * Doorbells at the times of a run that was recorded, on virtual machines or
 * here. With equal doorbells all that the network does is equal, too: such a
 * run shows whether two homes of the controller agree to the nanosecond.
 *
 * The doorbells of a queue ring in their order, the k-th one at the time of the
 * k-th record of that queue in the trace of its node; likewise starts of
 * barriers by a channel. The program waits until then. It must not be late: a
 * doorbell that rings later than recorded makes another run, and comparing the
 * two says nothing. Therefore it is an error, as is a doorbell that is not
 * recorded, or a recorded one that does not ring. So that programs are not
 * late, their calls of the library take the least time (sim_costs_least()).
 */
#ifndef SIM_DOORBELLS_H
#define SIM_DOORBELLS_H

#include "icc/trace.h"
#include "sim/sim.h"

/**
 * sim_doorbells_open - read a node's trace
 * @folder: with node<number>.trace of each node
 * @why:    set on failure to a sentence, which the caller frees; or NULL
 *
 * Return: 0 or a negative errno.
 */
int sim_doorbells_open(struct sim_node *node, const char *folder, char **why);
void sim_doorbells_close(struct sim_node *node);

/**
 * sim_doorbells_wait - the program waits until its next doorbell's time
 * @kind: ICC_TRACE_DOORBELL, or ICC_TRACE_CHANNEL
 * @cq:   or gate
 *
 * Returns at once where no doorbells are given. Ends the run where there is no
 * such record, or where its time has passed.
 */
void sim_doorbells_wait(struct sim_node *node, enum icc_trace_kind kind,
			unsigned int tni, unsigned int cq);

/* sim_doorbells_end - the program has ended: ends the run if it lacks some */
void sim_doorbells_end(struct sim_node *node);

#endif /* SIM_DOORBELLS_H */
