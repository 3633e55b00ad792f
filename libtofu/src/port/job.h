/* SPDX-License-Identifier: MIT */
/*
 * Which node of which machine a process of the emu port is. Its environment
 * says so:
 *   TOFU_FABRIC, TOFU_NODE   set by tofu-run: the shared file, and the node
 *                            (without it, the lowest that has room)
 *   rank and count of mpirun or srun   the first process makes the shared file
 *                            (port/job-file.h), and removes those of the user's
 *                            dead jobs; TOFU_PPN consecutive ranks are on one
 *                            node
 *   neither                  a machine of one node
 * TOFU_TNIS is the number of TNIs of each node; TOFU_ARMW is 0 for a machine
 * without remote atomics.
 */
#ifndef PORT_JOB_H
#define PORT_JOB_H

#include <limits.h>

#include "fabric/fabric.h"

/**
 * struct tofu_job
 * @fabric: path for tofu_fabric_attach(), or NULL
 * @node:   number, or -1
 * @processes: how many will join, 0 if unknown
 * @tnis:   of each node
 * @armw:   1: there are remote atomics; else 0
 * @file:   name of the shared file under mpirun or srun, else empty
 * @fd:     of @file, else -1
 */
struct tofu_job {
	const char *fabric;
	int node;
	unsigned int processes;
	unsigned int tnis;
	unsigned int armw;
	char file[PATH_MAX];
	char fd_path[32];
	int fd;
};

/**
 * tofu_job_find - read the environment
 *
 * On success, tofu_job_attached() or tofu_job_abandon() must follow: until
 * then no other process of the job can join or leave.
 *
 * Return: 0, or a negative errno after a line of tofu_debug().
 */
int tofu_job_find(struct tofu_job *job);

/* tofu_job_attached - unlink the shared file once all processes have joined */
void tofu_job_attached(struct tofu_job *job, struct tofu_fabric *fabric);
void tofu_job_abandon(struct tofu_job *job);

/* tofu_job_leave - leave the job; the last process unlinks the shared file */
void tofu_job_leave(struct tofu_job *job);

#endif /* PORT_JOB_H */
