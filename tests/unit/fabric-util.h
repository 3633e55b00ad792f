/* SPDX-License-Identifier: MIT */
/*
 * Shared by the tests of the fabric: a machine in a memfd, a handler that
 * records its calls, and processes that end with the test.
 */
#ifndef FABRIC_UTIL_H
#define FABRIC_UTIL_H

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fabric/fabric.h"
#include "fabric/shm/layout.h"

#define UNUSED __attribute__((unused))

/* Milliseconds that anything may take: a limit, not a measure. */
#define LIMIT_MS 20000

/* Make a machine of @nodes nodes along X; @path is set to its file. */
static UNUSED int machine_create(uint32_t nodes, char path[32])
{
	struct tofu_shape shape = { { 1, 1, 1, 1, 1, 1 } };
	int fd = memfd_create("test-fabric", MFD_ALLOW_SEALING);

	shape.size[TOFU_X] = (uint16_t)(nodes > 256 ? 256 : nodes);
	shape.size[TOFU_Y] = (uint16_t)(nodes > 256 ? nodes / 256 : 1);
	if (fd < 0 || tofu_fabric_format(fd, &shape, 1))
		return -1;
	snprintf(path, 32, "/dev/fd/%d", fd);
	return fd;
}

static UNUSED void *machine_map(int fd, uint32_t nodes)
{
	return mmap(NULL, tofu_shm_size(nodes), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_NORESERVE, fd, 0);
}

static UNUSED struct tofu_fabric *attach(const char *path, int node)
{
	struct tofu_fabric *fabric = NULL;
	char *why = NULL;

	if (tofu_fabric_attach(path, node, &why, &fabric))
		fprintf(stderr, "# attach: %s\n", why);
	free(why);
	return fabric;
}

/* The error of attaching, and whether a reason was given. */
static UNUSED int attach_error(const char *path, int node, bool *said)
{
	struct tofu_fabric *fabric = NULL;
	char *why = NULL;
	int err = tofu_fabric_attach(path, node, &why, &fabric);

	*said = why && strlen(why) > 10;
	free(why);
	if (!err)
		tofu_fabric_detach(fabric);
	return err;
}

/* A child that does not outlive its parent. */
static UNUSED pid_t start_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(99);
	alarm(2 * LIMIT_MS / 1000);
	return 0;
}

/* The exit status of a child, or 1000 + the signal that ended it. */
static UNUSED int end_child(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : 1000 + WTERMSIG(status);
}

static UNUSED void kill_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static UNUSED int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* ---- Received packets ---- */

#define SINK_MAX 4096

/**
 * struct sink - a handler's memory
 * @count:  packets that were taken
 * @seen:   their headers, the first SINK_MAX of them
 * @offered: calls, including those that were refused
 * @refuse: answer requests with -EAGAIN; @refuse_all: responses, too
 * @down:   calls of peer_down
 * @down_node, @down_after: the node of the last such call, and @count then
 */
struct sink {
	unsigned int count;
	unsigned int offered;
	bool refuse;
	bool refuse_all;
	unsigned int down;
	uint32_t down_node;
	unsigned int down_after;
	struct tofu_packet seen[SINK_MAX];
};

static UNUSED int sink_packet(void *ctx, const struct tofu_packet *pkt,
			      const void *payload)
{
	struct sink *sink = ctx;

	(void)payload;
	sink->offered++;
	if (sink->refuse_all || (sink->refuse && pkt->type < TOFU_PKT_DONE))
		return -EAGAIN;
	if (sink->count < SINK_MAX)
		sink->seen[sink->count] = *pkt;
	sink->count++;
	return 0;
}

static UNUSED void sink_down(void *ctx, uint32_t node)
{
	struct sink *sink = ctx;

	sink->down++;
	sink->down_node = node;
	sink->down_after = sink->count;
}

static UNUSED const struct tofu_fabric_handler sink_handler = { sink_packet,
								sink_down };

static UNUSED bool sink_poll(struct tofu_fabric *fabric, struct sink *sink)
{
	return tofu_fabric_poll(fabric, &sink_handler, sink);
}

/* Poll until @count packets have been taken; false after the limit. */
static UNUSED bool sink_wait(struct tofu_fabric *fabric, struct sink *sink,
			     unsigned int count)
{
	int64_t end = now_ms() + LIMIT_MS;

	while (sink->count < count && now_ms() < end)
		sink_poll(fabric, sink);
	return sink->count >= count;
}

/* Poll until @count peers have gone; false after the limit. */
static UNUSED bool sink_wait_down(struct tofu_fabric *fabric, struct sink *sink,
				  unsigned int count)
{
	int64_t end = now_ms() + LIMIT_MS;

	while (sink->down < count && now_ms() < end)
		sink_poll(fabric, sink);
	return sink->down >= count;
}

/* ---- Sending ---- */

static UNUSED int send_flags(struct tofu_fabric *fabric, uint32_t node,
			     enum tofu_class class_, uint64_t tid,
			     const void *payload, size_t len, uint8_t flags)
{
	int err = 0;
	struct tofu_packet *pkt =
		tofu_fabric_tx_begin(fabric, node, class_, len, &err);

	if (!pkt)
		return err;
	pkt->type = class_ == TOFU_REQUEST ? TOFU_PKT_PUT : TOFU_PKT_DONE;
	pkt->flags = flags;
	pkt->src = tofu_fabric_endpoint(fabric);
	pkt->payload = (uint32_t)len;
	pkt->tid = tid;
	if (len)
		memcpy(pkt + 1, payload, len);
	tofu_fabric_tx_commit(fabric);
	return 0;
}

static UNUSED int send_one(struct tofu_fabric *fabric, uint32_t node,
			   enum tofu_class class_, uint64_t tid)
{
	return send_flags(fabric, node, class_, tid, NULL, 0, 0);
}

/* Repeat send_one() until there is room; false after the limit. */
static UNUSED bool send_wait(struct tofu_fabric *fabric, uint32_t node,
			     enum tofu_class class_, uint64_t tid)
{
	int64_t end = now_ms() + LIMIT_MS;
	int err;

	do {
		err = send_one(fabric, node, class_, tid);
	} while (err == -EAGAIN && now_ms() < end);
	return !err;
}

#endif /* FABRIC_UTIL_H */
