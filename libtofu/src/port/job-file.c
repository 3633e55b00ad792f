/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/job-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

const char *tofu_job_folder = "/dev/shm";

void tofu_job_file_name(const char *job, char *path, size_t size)
{
	snprintf(path, size, "%s/tofu-%u-%s", tofu_job_folder,
		 (unsigned int)geteuid(), job);
}

/* ---- Parts ---- */

/*
 * Whoever has a part in the file has a lock on its first byte, which goes with
 * the process however that ends. So the system knows whether anybody has, also
 * where what the file says was written by processes that are dead. The lock
 * is of this descriptor, and not in the way of those that the fabric takes.
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

/* A name that is not this file's any more is another job's. */
void tofu_job_file_unlink(int fd, const char *path)
{
	struct stat own, named;

	if (!fstat(fd, &own) && !lstat(path, &named) &&
	    own.st_ino == named.st_ino && own.st_dev == named.st_dev)
		unlink(path);
}
