/* SPDX-License-Identifier: MIT */
/*
 * What a run has done, record by record (icc/trace.h): a hash that tells runs
 * apart, and files for those who look closer.
 */
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "icc/trace.h"
#include "sim/sim.h"

/* sim_trace_open - begin the file of a node; 0 or a negative errno */
int sim_trace_open(struct sim_node *node, const char *folder);
void sim_trace_close(struct sim_node *node);

/* sim_trace_add - a record of a node */
void sim_trace_add(struct sim_node *node, const struct icc_trace *record);

/* sim_trace_mark - a program stores a mark, at a time that it may not have reached */
void sim_trace_mark(struct sim_node *node, uint64_t time, uint64_t name);

/* sim_trace_link - the crosses of struct tofu_net_ops */
void sim_trace_link(void *sim, const struct tofu_net_packet *packet,
		    uint32_t number, enum tofu_port port, uint64_t start,
		    uint64_t end);

/*
 * sim_trace_hash - of the traces of this process's nodes. Those of several
 * processes are added up.
 */
uint64_t sim_trace_hash(const struct sim *sim);

#endif /* SIM_TRACE_H */
