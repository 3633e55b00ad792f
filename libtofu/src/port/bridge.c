/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/bridge.h"

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

#include "port/beside.h"
#include "port/debug.h"

#define BRIDGE "tofu-bridge"
#define TOKEN "TOFU_BRIDGE_TOKEN"

/* To look up its own address, and to listen */
#define READY_MS 20000 /* less than others wait for the lock meanwhile */

extern char **environ;

/* ---- Its environment: ours, with the token ---- */

/* Return: an array that environment_free() frees, or NULL */
static char **environment_with(const char *token)
{
	const size_t key = strlen(TOKEN "=");
	size_t count = 0, kept = 0;
	char **all;

	while (environ[count])
		count++;
	all = calloc(count + 2, sizeof(*all));
	if (!all)
		return NULL;
	if (asprintf(&all[kept++], TOKEN "=%s", token) < 0) {
		free(all);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		if (strncmp(environ[i], TOKEN "=", key) != 0)
			all[kept++] = environ[i];
	return all;
}

static void environment_free(char **all)
{
	free(all[0]);
	free(all);
}

/* ---- Starting it ---- */

/*
 * In a session of its own: signals for the program are not for the bridge, which
 * others may still need.
 */
static int bridge_spawn(int fabric, int ready, const struct tofu_hosts_known *hosts,
			char **environment)
{
	char path[PATH_MAX], file[32], fd[16];
	const char *words[] = { BRIDGE,
				"--quiet",
				"--while-used",
				"--fabric",
				file,
				"--ready",
				fd,
				"--hosts",
				hosts->table,
				hosts->self ? "--self" : NULL,
				hosts->self,
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
	if (tofu_beside("../bin/" BRIDGE, path))
		err = posix_spawn(&pid, path, &files, &attr, (char **)words,
				  environment);
	else
		err = posix_spawnp(&pid, BRIDGE, &files, &attr, (char **)words,
				   environment);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	/* It goes to the background, and is no child of this process then. */
	if (!err)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	if (err)
		tofu_debug("%s, which several hosts need: %s", BRIDGE,
			   strerror(err));
	return -err;
}

static int bridge_spawn_with_token(int fabric, int ready,
				   const struct tofu_hosts_known *hosts)
{
	char **environment = hosts->token ? environment_with(hosts->token) : environ;
	int err;

	if (!environment)
		return -ENOMEM;
	err = bridge_spawn(fabric, ready, hosts, environment);
	if (hosts->token)
		environment_free(environment);
	return err;
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
int tofu_bridge_start(int fabric, const struct tofu_hosts_known *hosts)
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
	err = bridge_spawn_with_token(file, pipe[1], hosts);
	close(pipe[1]);
	if (!err)
		err = await(pipe[0]);
	close(pipe[0]);
err_file:
	close(file);
	return err;
}
