/* SPDX-License-Identifier: MIT */
/*
 * The parts of tofu-run.
 *
 * May include: common/, fabric/, net/
 */
#ifndef TOFU_RUN_H
#define TOFU_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "net/shape.h"

/* ---- The command line ---- */

/**
 * struct tofu_plan - what is to be started
 * @ranks:    number of processes of the job
 * @processes: how many of them are started here
 * @first:    rank of the first one here
 * @on_node:  the machine is there: one node's processes are started, on it
 * @hosts:    the machine is spread over these hosts: as the user wrote it, or NULL
 * @host:     name of this one
 * @token:    file with what they have in common, or NULL
 * @ppn:      processes of a node
 * @shape:    shape of the machine
 * @tnis:     TNIs of a node
 * @armw:     there are remote atomics
 * @prefix:   whether output goes through pipes
 * @bind:     whether processes are bound to processors
 * @spins:    whether they spin on memory
 * @mpi:      whether they are ranks of an MPI over Tofu
 * @timeout:  seconds after which all are ended; 0: never
 * @program:  program and its arguments
 */
struct tofu_plan {
	unsigned int ranks;
	unsigned int processes;
	unsigned int first;
	bool on_node;
	const char *hosts;
	const char *host;
	const char *token;
	unsigned int ppn;
	struct tofu_shape shape;
	unsigned int tnis;
	bool armw;
	bool prefix;
	bool bind;
	bool spins;
	bool mpi;
	unsigned int timeout;
	char **program;
};

/* tofu_plan_read - parse the command line; exits where it is wrong */
void tofu_plan_read(struct tofu_plan *plan, int argc, char **argv);

/* tofu_plan_nodes - how many nodes have processes of the job */
unsigned int tofu_plan_nodes(const struct tofu_plan *plan);

/* ---- Several hosts ---- */

/**
 * tofu_bridge_start - start the bridge to the other hosts
 * @fabric: descriptor of the shared file
 * @mask:   signal mask of the bridge
 *
 * Return: its process. Exits where it cannot be started.
 */
pid_t tofu_bridge_start(const struct tofu_plan *plan, int fabric,
			const sigset_t *mask);

/* tofu_bridge_end - let it send what is left, and wait for its end */
void tofu_bridge_end(pid_t bridge);

/* ---- Output ---- */

#define TOFU_RUN_LINE 8192

/**
 * struct tofu_output - a pipe from a process, taken apart into lines
 * @fd:   to read from, not blocking; -1 when it has ended
 * @to:   where lines are written
 * @rank: of the process
 * @error: errno of a line that could not be written, or 0
 * @used: bytes of @line
 * @line: what has come of the line so far
 */
struct tofu_output {
	int fd;
	int to;
	unsigned int rank;
	int error;
	size_t used;
	char line[TOFU_RUN_LINE];
};

/* tofu_output_open - make the pipe; @write_end is the process's side of it */
int tofu_output_open(struct tofu_output *output, unsigned int rank, int to,
		     int *write_end);

/* tofu_output_read - copy what is there, each line with its process's number;
 * closes at the end
 */
void tofu_output_read(struct tofu_output *output);

/* tofu_output_close - copy what is there and close, end or not */
void tofu_output_close(struct tofu_output *output);

/* ---- MPI ---- */

/**
 * enum tofu_mpi - the MPI library that a program needs
 * @TOFU_MPI_NONE:  none
 * @TOFU_MPI_MPICH: the distribution's MPICH, or one with its names
 * @TOFU_MPI_WIRE:  an MPICH under its own name, or what has its binary interface
 * @TOFU_MPI_OTHER: Open MPI, or one that is named like it
 */
enum tofu_mpi {
	TOFU_MPI_NONE,
	TOFU_MPI_MPICH,
	TOFU_MPI_WIRE,
	TOFU_MPI_OTHER,
};

/**
 * tofu_program_mpi - which MPI library a program needs
 * @name: found as execvp() does
 *
 * Return: TOFU_MPI_NONE also where there is no such program, or it cannot be
 * read, or is anything but an ELF file of 64 bits, little endian.
 */
enum tofu_mpi tofu_program_mpi(const char *name);

/*
 * tofu_open_mpi_version - the first number of the version of the Open MPI that
 * programs find here; 0: there is none, or it is not known
 */
unsigned int tofu_open_mpi_version(void);

/* tofu_mpi_print - print what ranks of mpirun need, one NAME=VALUE a line */
void tofu_mpi_print(void);

/**
 * tofu_mpi_environment - set what a process needs that no mpirun starts
 * @mpi:    of its program
 * @job:    number of the job, the same in all its processes and different from
 *          those of others on this host; 0: there are no others
 * @yields: there are more processes than processors
 */
void tofu_mpi_environment(enum tofu_mpi mpi, pid_t job, bool yields);

#endif /* TOFU_RUN_H */
