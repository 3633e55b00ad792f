/* SPDX-License-Identifier: MIT */
/*
 * The parts of tofu-run.
 *
 * May include: common/, fabric/, net/
 */
#ifndef TOFU_RUN_H
#define TOFU_RUN_H

#include <stdbool.h>
#include <stddef.h>

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

/**
 * tofu_program_is_mpi - whether a program needs an MPI library
 * @name: found as execvp() does
 *
 * Return: false also where there is no such program, or it cannot be read, or
 * is anything but an ELF file of 64 bits, little endian.
 */
bool tofu_program_is_mpi(const char *name);

#endif /* TOFU_RUN_H */
