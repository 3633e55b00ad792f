/* SPDX-License-Identifier: MIT */
/*
 * Which node of which machine a process of the emu port is, by its
 * environment:
 *   TOFU_FABRIC, TOFU_NODE   as tofu-run sets them: the shared file, and the
 *                            number (without it, the lowest that has room)
 *   rank and count of mpirun or srun   the shared file is then made in
 *                            /dev/shm by whoever comes first, who also
 *                            removes those of the user's dead jobs; TOFU_PPN
 *                            ranks in a row are on one node
 *   neither                  a machine of one node
 * and TOFU_TNIS, TNIs of each node.
 */
#ifndef PORT_JOB_H
#define PORT_JOB_H

#include "fabric/fabric.h"

/**
 * struct tofu_job
 * @fabric: path for tofu_fabric_attach(), or NULL
 * @node:   number, or -1
 * @processes: that will come, where that is known; else 0
 * @tnis:   of each node
 * @file:   of mpirun or srun: name of the shared file, else empty
 * @fd:     of @file, else -1
 */
struct tofu_job {
	const char *fabric;
	int node;
	unsigned int processes;
	unsigned int tnis;
	char file[128];
	char fd_path[32];
	int fd;
};

/**
 * tofu_job_find - read the environment
 *
 * On success, tofu_job_attached() or tofu_job_abandon() must follow: until
 * then no other process of the job can come or go.
 *
 * Return: 0 or a negative errno; tofu_debug() has then said why.
 */
int tofu_job_find(struct tofu_job *job);

/* tofu_job_attached - takes the shared file's name away once all are there */
void tofu_job_attached(struct tofu_job *job, struct tofu_fabric *fabric);
void tofu_job_abandon(struct tofu_job *job);

/* tofu_job_leave - the last to leave takes the name away */
void tofu_job_leave(struct tofu_job *job);

#endif /* PORT_JOB_H */
