/* SPDX-License-Identifier: MIT */
/*
 * The bridge to the other hosts of a machine: a process beside those of the
 * program, from before they begin until after they have ended.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/run.h"

#define BRIDGE "tofu-bridge"
#define STATUS_FAILED 125

/* It sends for a second at most. */
#define END_MS 3000
#define NAP_MS 5

/* To look up its own address, and to listen */
#define READY_MS 30000

/* Beside this program, or where the shell looks. */
static void bridge_execute(char **words)
{
	char path[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (bytes > 0) {
		path[bytes] = '\0';
		slash = strrchr(path, '/');
		if (slash && (size_t)(slash + 1 - path) + sizeof(BRIDGE) <=
				     sizeof(path)) {
			strcpy(slash + 1, BRIDGE);
			execv(path, words);
		}
	}
	execvp(BRIDGE, words);
}

/* Until the other hosts' nodes are expected in the fabric; it says why not. */
static void bridge_await(pid_t bridge, int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char byte;

	if (poll(&ready, 1, READY_MS) <= 0) {
		kill(bridge, SIGKILL);
		waitpid(bridge, NULL, 0);
		errx(STATUS_FAILED, "the bridge to the other hosts does not begin");
	}
	if (read(fd, &byte, 1) != 1) {
		waitpid(bridge, NULL, 0);
		exit(STATUS_FAILED);
	}
	close(fd);
}

pid_t tofu_bridge_start(const struct tofu_plan *plan, int fabric,
			const sigset_t *mask)
{
	char path[64];
	char ready[16];
	char *words[16] = { BRIDGE,    "--quiet", "--fabric",
			    path,      "--ready", ready,
			    "--hosts", (char *)plan->hosts };
	unsigned int count = 8;
	pid_t parent = getpid(), pid;
	int pipe[2];

	if (pipe2(pipe, O_CLOEXEC))
		err(STATUS_FAILED, "pipe");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)parent, fabric);
	if (plan->host) {
		words[count++] = "--self";
		words[count++] = (char *)plan->host;
	}
	if (plan->token) {
		words[count++] = "--token";
		words[count++] = (char *)plan->token;
	}
	pid = fork();
	if (pid < 0)
		err(STATUS_FAILED, "cannot start a process");
	if (pid) {
		close(pipe[1]);
		bridge_await(pid, pipe[0]);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(STATUS_FAILED);
	setpgid(0, 0);
	sigprocmask(SIG_SETMASK, mask, NULL);
	snprintf(ready, sizeof(ready), "%d", dup(pipe[1]));
	bridge_execute(words);
	warn("%s, which --hosts needs, cannot be started", BRIDGE);
	_exit(STATUS_FAILED);
}

void tofu_bridge_end(pid_t bridge)
{
	const struct timespec nap = { .tv_nsec = NAP_MS * 1000000L };

	kill(bridge, SIGTERM);
	for (int ms = 0; ms < END_MS; ms += NAP_MS) {
		if (waitpid(bridge, NULL, WNOHANG))
			return;
		nanosleep(&nap, NULL);
	}
	kill(bridge, SIGKILL);
	waitpid(bridge, NULL, 0);
}
