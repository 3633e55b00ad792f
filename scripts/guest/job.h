/* SPDX-License-Identifier: MIT */
#ifndef TOFU_AGENT_JOB_H
#define TOFU_AGENT_JOB_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define JOB_MAX 64
/* Descriptors that one job adds to the poll set */
#define JOB_FDS 2
/* Most bytes of input kept for a job */
#define JOB_INPUT_MAX (4u << 20)
#define JOB_POLL_MAX (JOB_MAX * (JOB_FDS + 1))

struct port;

/*
 * The programs that run for the host.  Each has a session of its own, so that
 * a signal reaches what it has started.  One thread owns all of this.
 */

/**
 * job_start - start a program
 * @id: the host's number for it
 * @request: struct tofu_agent_exec and its strings, not trusted
 * @length: bytes of @request
 *
 * Returns 0 or a negative errno: -EINVAL for a malformed request, -EBUSY when
 * JOB_MAX are running or @id is.
 */
int job_start(uint16_t id, const void *request, size_t length);

/**
 * job_input - pass bytes to a job's input
 * @id: the job; one that has ended is ignored
 * @data: the bytes
 * @length: how many; 0 closes the input, once all of it has been taken
 *
 * Never waits: input that the program does not take at once is kept for it. A
 * program that lets more than JOB_INPUT_MAX bytes accumulate loses its input.
 */
void job_input(uint16_t id, const void *data, size_t length);

/** job_resize - tell a job's terminal its size; ignored without a terminal */
void job_resize(uint16_t id, uint16_t rows, uint16_t columns);

/** job_signal - send a signal to a job's process group */
void job_signal(uint16_t id, int signo);

/**
 * job_poll_fill - list the descriptors to wait for
 * @fds: room for JOB_POLL_MAX
 *
 * Returns how many were written.
 */
nfds_t job_poll_fill(struct pollfd *fds);

/** job_poll_handle - forward input and output of the listed descriptors */
void job_poll_handle(struct port *port, const struct pollfd *fds, nfds_t count);

/**
 * job_reap - collect ended processes and report ended jobs
 * @port: where the reports go
 *
 * The agent is process 1: orphans are collected as well.
 */
void job_reap(struct port *port);

#endif
