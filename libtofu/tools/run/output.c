/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

int tofu_output_open(struct tofu_output *output, unsigned int rank, int to,
		     int *write_end)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	if (fcntl(fd[0], F_SETFL, O_NONBLOCK)) {
		int err = -errno;

		close(fd[0]);
		close(fd[1]);
		return err;
	}
	output->fd = fd[0];
	output->to = to;
	output->rank = rank;
	output->error = 0;
	output->used = 0;
	*write_end = fd[1];
	return 0;
}

/* One write a line, so that those of several nodes do not mix. */
static void line_write(struct tofu_output *output, const char *line,
		       size_t len)
{
	char prefix[16];
	struct iovec part[] = {
		{ prefix, (size_t)snprintf(prefix, sizeof(prefix), "[%u] ",
					   output->rank) },
		{ (char *)line, len },
		{ "\n", 1 },
	};

	ssize_t bytes = writev(output->to, part, 3);

	/* If nobody reads the output, there is no one to tell about it. */
	if (bytes < 0 && errno != EPIPE)
		output->error = errno;
	/* A disk takes less than a line only when it is full. */
	else if (bytes >= 0 && (size_t)bytes < part[0].iov_len + len + 1)
		output->error = ENOSPC;
}

static void lines_write(struct tofu_output *output)
{
	char *from = output->line, *end = from + output->used, *newline;

	while ((newline = memchr(from, '\n', (size_t)(end - from)))) {
		line_write(output, from, (size_t)(newline - from));
		from = newline + 1;
	}
	output->used = (size_t)(end - from);
	memmove(output->line, from, output->used);
	if (output->used == sizeof(output->line)) {
		line_write(output, output->line, output->used);
		output->used = 0;
	}
}

static void output_end(struct tofu_output *output)
{
	if (output->used)
		line_write(output, output->line, output->used);
	close(output->fd);
	output->fd = -1;
}

void tofu_output_read(struct tofu_output *output)
{
	ssize_t n;

	do {
		n = read(output->fd, output->line + output->used,
			 sizeof(output->line) - output->used);
		if (n <= 0)
			break;
		output->used += (size_t)n;
		lines_write(output);
	} while (n > 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	output_end(output);
}

void tofu_output_close(struct tofu_output *output)
{
	if (output->fd >= 0)
		tofu_output_read(output);
	if (output->fd >= 0)
		output_end(output);
}
