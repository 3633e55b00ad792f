/* SPDX-License-Identifier: MIT */
/*
 * The files through which the processes of launchers' jobs meet, and which
 * processes use one. They are in XDG_RUNTIME_DIR, if that is a folder in memory
 * which nobody else can enter, and otherwise in /dev/shm, where other users can
 * take names. A process locks the file while it joins, and while it unlinks the
 * file. Once it has the lock it checks st_nlink: the file may have been unlinked
 * while it waited.
 */
#ifndef PORT_JOB_FILE_H
#define PORT_JOB_FILE_H

#include <stddef.h>
#include <sys/stat.h>

/*
 * tofu_job_folder - another folder for the files, or NULL. The library never
 * changes it; tests set it before they open an instance.
 */
extern const char *tofu_job_folder;

/* tofu_job_file_name - path of the file of this user's job @job */
void tofu_job_file_name(const char *job, char *path, size_t size);

/**
 * tofu_job_file_lock - lock the file, until flock() unlocks it
 * @st: set on success: the file's state since then
 *
 * A file that another user could have locked is not waited for.
 *
 * Return: 0; -EPERM where other users own the file or can open it; -ETIMEDOUT
 * where a process of the user keeps it locked; or another negative errno.
 */
int tofu_job_file_lock(int fd, struct stat *st);

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
