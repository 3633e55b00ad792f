/* SPDX-License-Identifier: MIT */
/*
 * The rank of this process in its job, and the nodes of the others, from the
 * environment and the shape of the machine alone, without communication.
 *
 * Functions return enum utofu_return_code. They may be called at any time, by
 * any thread.
 */
#ifndef TOFU_JOB_H
#define TOFU_JOB_H

#include <stdint.h>

#include <utofu.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Job ---- */

#define TOFU_JOB_AXES 6

/**
 * struct tofu_job_info - a job, as one of its processes sees it
 * @rank:  rank of this process, 0 … @ranks - 1
 * @ranks: processes of the job
 * @ppn:   processes per node; the last node can have fewer
 * @nodes: nodes of the machine; the product of @shape
 * @shape: sizes of the machine along X, Y, Z, A, B, C, 1 … 256 each
 */
struct tofu_job_info {
	uint32_t rank;
	uint32_t ranks;
	uint32_t ppn;
	uint32_t nodes;
	uint16_t shape[TOFU_JOB_AXES];
};

/**
 * tofu_query_job - get the rank of this process, and the shape of its job
 * @info: filled
 *
 * Rank and number of processes come from TOFU_RANK and TOFU_RANKS in the
 * environment; else from mpirun or srun; else from TOFU_NODE and TOFU_NODES, as
 * tofu-run and tofu-cluster set them; else this is the only process. TOFU_PPN
 * is the number of processes per node, 1 by default.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_NOT_AVAILABLE
 * where the environment does not fit the machine, or there is no interconnect.
 */
int tofu_query_job(struct tofu_job_info *info);

/**
 * tofu_query_rank_coords - get the node of a process of the job
 * @rank:   rank of the process
 * @coords: set to the node's six coordinates X, Y, Z, A, B, C
 *
 * Nodes are numbered from 0 along C, then B, A, Z, Y and X, and processes are
 * placed in blocks: rank r is on node r / ppn. The only process of a job can be
 * on any node.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_INVALID_NUMBER
 * for a rank that the job does not have; UTOFU_ERR_NOT_AVAILABLE as
 * tofu_query_job().
 */
int tofu_query_rank_coords(uint32_t rank, uint8_t coords[]);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_JOB_H */
