/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

/* The output may be a pipe or terminal that someone else made nonblocking. */
static bool try_again(int fd)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	return errno == EINTR ||
	       (errno == EAGAIN && (poll(&room, 1, -1) >= 0 || errno == EINTR));
}

/* What follows a write that took less than all tells why it did. */
static int write_all(int fd, struct iovec *part, int parts)
{
	while (parts) {
		ssize_t bytes = writev(fd, part, parts);

		if (bytes < 0 && !try_again(fd))
			return errno;
		for (; bytes > 0 && (size_t)bytes >= part->iov_len; parts--)
			bytes -= (ssize_t)(part++)->iov_len;
		if (bytes > 0) {
			part->iov_base = (char *)part->iov_base + bytes;
			part->iov_len -= (size_t)bytes;
		}
	}
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
	const int err = write_all(output->to, part, 3);

	/* If nobody reads the output, there is no one to tell about it. */
	if (err && err != EPIPE)
		output->error = err;
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
