/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "fabric/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Field 22 of a stat file; field 2 is a name in parentheses. */
#define STAT_START_FIELD 22

/* Read a file of /proc as a string; -ESRCH: it is gone. */
static int read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;
	int err;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	len = read(fd, text, size - 1);
	err = len < 0 ? -errno : 0;
	close(fd);
	text[len < 0 ? 0 : len] = '\0';
	return err;
}

int tofu_process_start(pid_t pid, uint64_t *start)
{
	char path[64], text[1024], *field;
	int err;

	/*
	 * The first thread began with the process. User-mode emulators fake
	 * /proc/PID/stat for the process itself, but not this file.
	 */
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid,
		 (int)pid);
	err = read_text(path, text, sizeof(text));
	if (err)
		return err;

	/* The name can contain blanks and parentheses; the last one ends it. */
	field = strrchr(text, ')');
	for (int i = 2; field && i < STAT_START_FIELD; i++)
		field = strchr(field + 1, ' ');
	if (!field)
		return -ESRCH;
	*start = strtoull(field, NULL, 10);
	return 0;
}

bool tofu_process_alive(int pidfd)
{
	struct pollfd pfd = { .fd = pidfd, .events = POLLIN };
	int ready;

	/* It does not wait, but a signal of the program can interrupt it. */
	do {
		ready = poll(&pfd, 1, 0);
	} while (ready < 0 && errno == EINTR);
	/* An error says nothing about the process. */
	return ready <= 0;
}

int tofu_process_open(pid_t pid, uint64_t start)
{
	uint64_t found;
	int pidfd, err;

	if (pid <= 0)
		return -ESRCH;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;

	/*
	 * If the process of the pidfd is alive at the end, it has had the
	 * number all the time, and the start time is its own.
	 */
	err = tofu_process_start(pid, &found);
	if (!err && found == start && tofu_process_alive(pidfd))
		return pidfd;
	close(pidfd);
	/* -ESRCH only if the check worked and found another process. */
	return err ? err : -ESRCH;
}

/* ---- Who it is ---- */

/*
 * Not the owner of /proc/PID: that is root for a process that has changed its
 * user.
 */
static int check_user(pid_t pid)
{
	char path[32], text[2048], *line;
	unsigned int user;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	err = read_text(path, text, sizeof(text));
	if (err)
		return err;
	line = strstr(text, "\nUid:");
	if (!line || sscanf(line, " Uid: %*u %u", &user) != 1)
		return -EPERM;
	return user == geteuid() ? 0 : -EPERM;
}

static int check_file(pid_t pid, int fd, int file)
{
	struct stat theirs, own;
	char path[64];

	if (fstat(file, &own))
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	if (stat(path, &theirs))
		return errno == ENOENT ? -ESRCH : -errno;
	return theirs.st_dev == own.st_dev && theirs.st_ino == own.st_ino ?
		       0 :
		       -ESRCH;
}

/* Whether a line of fdinfo is such a lock. */
static bool is_lock(const char *line, uint64_t at)
{
	unsigned long long first, last;

	return sscanf(line,
		      "lock: %*u: OFDLCK ADVISORY WRITE %*d %*x:%*x:%*u %llu "
		      "%llu",
		      &first, &last) == 2 &&
	       first <= at && at <= last;
}

/* The kernel lists only locks of the descriptor's open file description. */
static int check_lock(pid_t pid, int fd, uint64_t at)
{
	char path[64], text[4096], *line, *rest;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	err = read_text(path, text, sizeof(text));
	if (err)
		return err;
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		if (is_lock(line, at))
			return 0;
	return -ESRCH;
}

int tofu_process_holds(pid_t pid, int fd, int file, uint64_t at)
{
	int err = check_user(pid);

	if (!err)
		err = check_file(pid, fd, file);
	return err ? err : check_lock(pid, fd, at);
}

/* ---- What it has open ---- */

int tofu_process_file(int pidfd, pid_t pid, int fd, mode_t type, int flags)
{
	struct stat st;
	char path[64];
	int file, err = 0;

	/* Check before opening: opening a device can have effects. */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
	file = open(path, O_PATH | O_CLOEXEC);
	if (file < 0)
		return -errno;
	if (fstat(file, &st) || (st.st_mode & S_IFMT) != type)
		err = -EINVAL;
	else if (!tofu_process_alive(pidfd))
		err = -ESRCH;
	if (!err) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
		fd = open(path, flags | O_CLOEXEC);
		if (fd < 0)
			err = -errno;
	}
	close(file);
	return err ? err : fd;
}

int tofu_process_memory(int pidfd, pid_t pid)
{
	char path[32];
	int file;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	/* If it is alive now, the file was its own. */
	if (tofu_process_alive(pidfd))
		return file;
	close(file);
	return -ESRCH;
}
