// SPDX-License-Identifier: MIT
/* The number of a node's process is given to another process. */
#define _GNU_SOURCE
#include "fabric-util.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "fabric/process.h"

#include "harness.h"

#define REUSES 8
#define CANNOT 77

/* In a namespace of its own, where nobody else gets a number in between. */
static pid_t fork_as(pid_t number)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
	pid_t child;

	if (fd < 0 || dprintf(fd, "%d", (int)number - 1) < 0)
		_exit(CANNOT);
	close(fd);
	child = start_child();
	if (!child)
		_exit(pause());
	return child;
}

/* The number of a dead node goes to another process; 0 if none is deceived. */
static int reuse(struct tofu_fabric *a, const char *path, void *base,
		 bool same_start)
{
	struct tofu_shm_node *entry =
		(void *)((char *)base + tofu_shm_node_offset(1));
	struct sink *sink = calloc(1, sizeof(*sink));
	struct tofu_fabric *b, *c;
	pid_t node = start_child(), other;
	uint64_t start;
	int wrong;

	if (!node) {
		b = attach(path, 1);
		_exit(send_one(b, 0, TOFU_REQUEST, 1) ? 1 : pause());
	}
	wrong = !sink_wait(a, sink, 1);
	kill_child(node);
	other = fork_as(node);
	if (other != node || tofu_process_start(other, &start))
		return CANNOT;
	/* The clock of start times ticks a hundred times a second. */
	if (same_start)
		entry->start = start;
	c = attach(path, 2);
	wrong += tofu_fabric_up(c, 1) || tofu_fabric_up(a, 1);
	wrong += send_one(c, 1, TOFU_REQUEST, 2) != -EHOSTDOWN;
	wrong += !sink_wait_down(a, sink, 1);
	b = attach(path, 1);
	wrong += !b || send_one(a, 1, TOFU_REQUEST, 3) ||
		 send_one(c, 1, TOFU_REQUEST, 3);
	tofu_fabric_detach(b);
	wrong += !sink_wait_down(a, sink, 2);
	tofu_fabric_detach(c);
	kill_child(other);
	free(sink);
	return wrong;
}

/* The first process of a new namespace */
static int first_process(void)
{
	struct tofu_fabric *a;
	char path[32];
	int fd, wrong = 0;
	void *base;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, NULL))
		return CANNOT;
	fd = machine_create(3, path);
	base = machine_map(fd, 3);
	a = attach(path, 0);
	for (int i = 0; i < REUSES && !wrong; i++)
		wrong = reuse(a, path, base, i % 2);
	tofu_fabric_detach(a);
	return wrong;
}

TEST(who_gets_the_pid_of_a_dead_node_is_not_that_node)
{
	pid_t child = start_child();
	int status;

	/* The child becomes no member itself: its first child does. */
	if (!child) {
		if (unshare(CLONE_NEWPID | CLONE_NEWNS))
			_exit(CANNOT);
		child = fork();
		_exit(child ? end_child(child) : first_process());
	}
	status = end_child(child);
	if (status == CANNOT)
		SKIP(return, "this user cannot choose the number of a process");
	EXPECT_EQ(0, status);
}

TEST_HARNESS_MAIN
