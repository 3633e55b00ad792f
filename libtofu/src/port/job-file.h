/* SPDX-License-Identifier: MIT */
/*
 * The files in /dev/shm through which the processes of launchers' jobs meet,
 * and which processes use one. A process holds flock() on the file while it
 * joins, and while it unlinks the file. Once it has the lock it checks
 * st_nlink: the file may have been unlinked while it waited.
 */
#ifndef PORT_JOB_FILE_H
#define PORT_JOB_FILE_H

#include <stddef.h>

/*
 * tofu_job_folder - the folder of the files. The library never changes it;
 * tests set another one before they open an instance.
 */
extern const char *tofu_job_folder;

/* tofu_job_file_name - path of the file of this user's job @job */
void tofu_job_file_name(const char *job, char *path, size_t size);

/* Return: 0 or a negative errno. */
int tofu_job_file_join(int fd);
int tofu_job_file_leave(int fd);

/* Return: 1 if another process uses the file, 0 if not, or an errno. */
int tofu_job_file_others(int fd);

/* tofu_job_file_unlink - unlink @path if it names the file @fd */
void tofu_job_file_unlink(int fd, const char *path);

/*
 * tofu_job_files_clean - remove the user's files that no process uses, left
 * behind by jobs that have died
 */
void tofu_job_files_clean(void);

#endif /* PORT_JOB_FILE_H */
