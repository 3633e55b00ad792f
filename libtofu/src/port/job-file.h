/* SPDX-License-Identifier: MIT */
/*
 * The files in /dev/shm by which the processes of launchers' jobs meet, and who
 * has a part in one. A process holds flock() on the file while it joins, and
 * while it takes the name away. When it has got the lock it looks at st_nlink:
 * the name may have gone while it waited.
 */
#ifndef PORT_JOB_FILE_H
#define PORT_JOB_FILE_H

#include <stddef.h>

/*
 * tofu_job_folder - where the files are. The library never changes it; tests
 * set a folder of their own before they open an instance.
 */
extern const char *tofu_job_folder;

/* tofu_job_file_name - path of the file of the user's job @job */
void tofu_job_file_name(const char *job, char *path, size_t size);

/* Return: 0 or a negative errno. */
int tofu_job_file_join(int fd);
int tofu_job_file_leave(int fd);

/* Return: 1 where another process has a part in the file, 0, or an errno. */
int tofu_job_file_others(int fd);

/* tofu_job_file_unlink - takes @path away if that is the file @fd */
void tofu_job_file_unlink(int fd, const char *path);

/*
 * tofu_job_files_clean - removes the user's files in which nobody has a part:
 * those of jobs that have died
 */
void tofu_job_files_clean(void);

#endif /* PORT_JOB_FILE_H */
