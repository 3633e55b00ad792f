/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/bridge.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/debug.h"

#define BRIDGE "tofu-bridge"

/* To look up its own address, and to listen */
#define READY_MS 30000

extern char **environ;

/* In the folder of programs beside that of this library, where both are built or
 * installed.
 */
static bool beside_library(char path[PATH_MAX])
{
	char own[PATH_MAX];
	Dl_info info;
	char *slash;

	if (!dladdr((void *)&tofu_bridge_start, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, own))
		return false;
	for (int up = 0; up < 2; up++) {
		slash = strrchr(own, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return snprintf(path, PATH_MAX, "%s/bin/" BRIDGE, own) < PATH_MAX &&
	       !access(path, X_OK);
}

/*
 * In a session of its own: signals for the program are not for the bridge, which
 * others may still need.
 */
static int bridge_spawn(int fabric, int ready, const char *hosts)
{
	char path[PATH_MAX], file[32], fd[16];
	const char *words[] = { BRIDGE,	   "--quiet", "--while-used",
				"--fabric", file,     "--ready",
				fd,	   "--hosts", hosts,
				NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	pid_t pid;
	int err;

	snprintf(file, sizeof(file), "/dev/fd/%d", fabric);
	snprintf(fd, sizeof(fd), "%d", ready);
	/* To itself: only this child gets it, whatever other threads start. */
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, fabric, fabric);
	posix_spawn_file_actions_adddup2(&files, ready, ready);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID);
	if (beside_library(path))
		err = posix_spawn(&pid, path, &files, &attr, (char **)words,
				  environ);
	else
		err = posix_spawnp(&pid, BRIDGE, &files, &attr, (char **)words,
				   environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	/* It goes to the background, and is no child of this process then. */
	if (!err)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	if (err)
		tofu_debug("%s, which TOFU_HOSTS needs: %s", BRIDGE,
			   strerror(err));
	return -err;
}

/* The bridge's end of the pipe is closed when it has ended. */
static int await(int ready)
{
	struct pollfd end = { .fd = ready, .events = POLLIN };
	char byte;
	ssize_t got;
	int some;

	do {
		some = poll(&end, 1, READY_MS);
	} while (some < 0 && errno == EINTR);
	if (some <= 0)
		return -ETIMEDOUT;
	do {
		got = read(ready, &byte, 1);
	} while (got < 0 && errno == EINTR);
	return got == 1 ? 0 : -ENOTCONN;
}

/*
 * The bridge opens the file itself, with locks of its own: those of this process
 * say whether the job lives.
 */
int tofu_bridge_start(int fabric, const char *hosts)
{
	char path[32];
	int pipe[2];
	int file, err;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fabric);
	file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return -errno;
	err = pipe2(pipe, O_CLOEXEC) ? -errno : 0;
	if (err)
		goto err_file;
	err = bridge_spawn(file, pipe[1], hosts);
	close(pipe[1]);
	if (!err)
		err = await(pipe[0]);
	close(pipe[0]);
err_file:
	close(file);
	return err;
}
