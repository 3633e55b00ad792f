/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/job-file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "port/debug.h"
#include "port/host.h"

#define PREFIX "tofu-%u-" /* and the user's number */
#define PUBLIC_FOLDER "/dev/shm"

/* Processes hold the lock for milliseconds, and there may be a thousand. */
#define LOCK_NS 30000000000ULL

/* ---- Names ---- */

const char *tofu_job_folder;

static bool is_private(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & (S_IRWXG | S_IRWXO));
}

/* The shared file is written all the time: a disk would be kept busy. */
static bool is_private_folder(const char *path)
{
	struct statfs fs;
	struct stat st;

	return path[0] == '/' && strlen(path) < PATH_MAX - NAME_MAX - 1 &&
	       !stat(path, &st) && S_ISDIR(st.st_mode) && is_private(&st) &&
	       !statfs(path, &fs) && fs.f_type == TMPFS_MAGIC;
}

/* All processes of a job have the same environment. */
static const char *folder(void)
{
	const char *own = getenv("XDG_RUNTIME_DIR");

	if (tofu_job_folder)
		return tofu_job_folder;
	return own && is_private_folder(own) ? own : PUBLIC_FOLDER;
}

void tofu_job_file_name(const char *job, char *path, size_t size)
{
	snprintf(path, size, "%s/" PREFIX "%s", folder(),
		 (unsigned int)geteuid(), job);
}

/* ---- The lock ---- */

/* flock() itself waits without a limit. */
static int lock_in_time(int fd)
{
	const uint64_t end = tofu_host_now() + LOCK_NS;
	unsigned int turn = 0;

	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (tofu_host_now() > end)
			return -ETIMEDOUT;
		tofu_host_wait(turn++);
	}
	return 0;
}

int tofu_job_file_lock(int fd, struct stat *st)
{
	int err;

	if (fstat(fd, st))
		return -errno;
	if (!S_ISREG(st->st_mode) || !is_private(st))
		return -EPERM;
	err = lock_in_time(fd);
	return !err && fstat(fd, st) ? -errno : err;
}

/* ---- Parts ---- */

/*
 * Each process that uses the file holds a lock on its first byte, which goes
 * with the process however it ends. So the kernel knows whether there is a
 * user, even if the file's contents were written by processes that are dead.
 * The lock belongs to this descriptor and does not conflict with those that the
 * fabric takes.
 */
static int first_byte_lock(int fd, short type)
{
	struct flock lock = { .l_type = type, .l_whence = SEEK_SET, .l_len = 1 };

	return fcntl(fd, F_OFD_SETLK, &lock) ? -errno : 0;
}

int tofu_job_file_join(int fd)
{
	return first_byte_lock(fd, F_RDLCK);
}

int tofu_job_file_leave(int fd)
{
	return first_byte_lock(fd, F_UNLCK);
}

int tofu_job_file_others(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	if (fcntl(fd, F_OFD_GETLK, &lock))
		return -errno;
	return lock.l_type != F_UNLCK;
}

/* A name that no longer leads to this file belongs to another job. */
void tofu_job_file_unlink(int fd, const char *path)
{
	struct stat own, named;

	if (!fstat(fd, &own) && !lstat(path, &named) &&
	    own.st_ino == named.st_ino && own.st_dev == named.st_dev)
		unlink(path);
}

/* ---- Files of dead jobs ---- */

/*
 * While the lock is held no process can join: one that has opened the file and
 * waits finds the name gone, and makes another file. A lock that is taken is
 * not waited for, since its owner joins, leaves or cleans up itself. That also
 * spares the file that this process is making.
 */
static bool is_leftover(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB) &&
	       !tofu_job_file_others(fd);
}

static void leftover_remove(const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder(), name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	if (is_leftover(fd)) {
		tofu_debug("%s: removed, its job has died", path);
		tofu_job_file_unlink(fd, path);
	}
	close(fd);
}

void tofu_job_files_clean(void)
{
	DIR *files = opendir(folder());
	struct dirent *entry;
	char prefix[32];

	if (!files)
		return;
	snprintf(prefix, sizeof(prefix), PREFIX, (unsigned int)geteuid());
	while ((entry = readdir(files)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix)))
			leftover_remove(entry->d_name);
	closedir(files);
}
