/* SPDX-License-Identifier: MIT */
/*
 * Data of which every node has its own, at one address. Small regions are
 * copied out and in at a switch. Large ones are mapped: a file in memory has
 * all nodes' copies, and the one of the node that runs is put over the region.
 *
 * A node's copy is made when it is first asked for.
 */
#ifndef SIM_DATA_H
#define SIM_DATA_H

#include <stddef.h>
#include <stdint.h>

/* From this size a mapping costs less than to copy out and in. */
#define SIM_DATA_LARGE (64u << 10)

struct sim_data;

struct sim_data *sim_data_create(uint32_t nodes);
void sim_data_destroy(struct sim_data *data);

/**
 * sim_data_add - a region more, before the first switch
 *
 * Nodes begin with what it contains now. It does not overlap another one. One of
 * SIM_DATA_LARGE and more is mapped if @pages says that the whole pages around
 * it belong to it.
 *
 * Returns: 0, -ENOMEM, -EBUSY.
 */
int sim_data_add(struct sim_data *data, void *at, size_t len, int pages);

/* These are as in sim/program.h. */
size_t sim_data_node_bytes(const struct sim_data *data);
int sim_data_switch(struct sim_data *data, int64_t node);
void *sim_data_at(struct sim_data *data, uint32_t node, uintptr_t addr,
		  size_t *len);

#endif /* SIM_DATA_H */
