/* SPDX-License-Identifier: MIT */
/* Networks of barrier gates over all nodes: butterfly, ring and tree. */
#ifndef NETWORK_H
#define NETWORK_H

#include "conform.h"

#define GATES_MAX 6

/**
 * struct gates - the gates of all nodes, and the links of this node's gates
 * @count: of a node; the first is the start and end gate
 * @id:    by node
 * @link:  of this node's gates
 */
struct gates {
	unsigned int count;
	utofu_vbg_id_t id[RANKS_MAX][GATES_MAX];
	struct utofu_vbg_setting link[GATES_MAX];
};

enum network { BUTTERFLY, RING, TREE, NETWORKS };

extern const char *const network_names[NETWORKS];

/* Called by all nodes. False if this number of nodes has no such network. */
bool network_make(struct gates *gates, enum network network,
		  utofu_tni_id_t tni);
void network_free(struct gates *gates);

/* This node's start and end gate. */
utofu_vbg_id_t start_of(const struct gates *gates);

/* Wait for the end; UTOFU_ERR_NOT_COMPLETED when it does not come. */
int end_barrier(utofu_vbg_id_t vbg);
int end_uint64(utofu_vbg_id_t vbg, uint64_t data[]);
int end_double(utofu_vbg_id_t vbg, double data[]);

#endif /* NETWORK_H */
