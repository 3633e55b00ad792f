/* SPDX-License-Identifier: MIT */
/*
 * The files by which the ranks of launchers' jobs meet: those that dead jobs
 * leave are removed by the next job, and no others are.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "port/job-file.h"
#include "port/job.h"

/* Only the jobs of this test are in the folder. */
FIXTURE(jobs)
{
	char folder[32];
};

FIXTURE_SETUP(jobs)
{
	strcpy(self->folder, "/tmp/job-files-XXXXXX");
	ASSERT_NE(mkdtemp(self->folder), NULL);
	tofu_job_folder = self->folder;
	unsetenv("TOFU_FABRIC");
	unsetenv("SLURM_STEP_ID");
	setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
	setenv("OMPI_COMM_WORLD_RANK", "0", 1);
}

FIXTURE_TEARDOWN(jobs)
{
	DIR *folder = opendir(self->folder);
	struct dirent *entry;

	ASSERT_NE(folder, NULL);
	while ((entry = readdir(folder)))
		if (unlinkat(dirfd(folder), entry->d_name, 0))
			unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
	closedir(folder);
	rmdir(self->folder);
}

/* A rank of the job comes; what it has then is locked until it has attached. */
static int job_begin(struct tofu_job *job, const char *name)
{
	setenv("PMIX_NAMESPACE", name, 1);
	return tofu_job_find(job);
}

static int job_begin_attached(struct tofu_job *job, const char *name)
{
	int err = job_begin(job, name);

	return err ? err : flock(job->fd, LOCK_UN);
}

/* Return: 0 when the only process of the job has died. */
static int job_die(const char *name)
{
	pid_t pid = fork();
	struct tofu_job job;
	int status;

	if (!pid) {
		if (!job_begin_attached(&job, name))
			raise(SIGKILL);
		_exit(1);
	}
	return waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status);
}

static char *path_of(const char *name)
{
	static char path[PATH_MAX];

	tofu_job_file_name(name, path, sizeof(path));
	return path;
}

static bool is_there(const char *name)
{
	struct stat st;

	return !lstat(path_of(name), &st);
}

static int file_make(const char *name)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_EXCL, 0600);

	return fd < 0 ? -1 : close(fd);
}

/* ---- */

TEST_F(jobs, the_next_job_removes_what_dead_ones_left)
{
	struct tofu_job job;

	ASSERT_EQ(job_die("first"), 0);
	EXPECT_TRUE(is_there("first.0"));
	ASSERT_EQ(file_make("never.formatted"), 0);
	ASSERT_EQ(job_begin(&job, "next"), 0);
	EXPECT_FALSE(is_there("first.0"));
	EXPECT_FALSE(is_there("never.formatted"));
	EXPECT_TRUE(is_there("next.0"));
}

/* Locks are of descriptors: a job's process may as well be this one. */
TEST_F(jobs, a_file_that_a_living_process_has_a_part_in_stays)
{
	struct tofu_job living, next;

	ASSERT_EQ(job_begin_attached(&living, "living"), 0);
	ASSERT_EQ(job_begin_attached(&next, "next"), 0);
	EXPECT_TRUE(is_there("living.0"));
	close(living.fd);
	ASSERT_EQ(job_begin(&living, "third"), 0);
	EXPECT_FALSE(is_there("living.0"));
	EXPECT_TRUE(is_there("next.0"));
}

TEST_F(jobs, a_file_that_is_being_made_stays)
{
	struct tofu_job next;
	int fd;

	ASSERT_EQ(file_make("born"), 0);
	fd = open(path_of("born"), O_RDWR);
	ASSERT_EQ(flock(fd, LOCK_EX), 0);
	ASSERT_EQ(job_begin(&next, "next"), 0);
	EXPECT_TRUE(is_there("born"));
}

/* The file that a process has got is the one that others of the job find. */
static int jobs_churn(int process)
{
	struct stat own, named;
	struct tofu_job job;
	char name[32];

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "churn.%d", (process / 2 + i) % 3);
		if (job_begin(&job, name) || fstat(job.fd, &own) ||
		    lstat(job.file, &named) || own.st_ino != named.st_ino)
			return 1;
		flock(job.fd, LOCK_UN);
		if ((i + process) % 3)
			tofu_job_leave(&job);
		close(job.fd); /* or dies */
	}
	return 0;
}

TEST_F(jobs, jobs_that_come_and_die_at_once_keep_their_files)
{
	int failed = 0, status;

	for (int i = 0; i < 6; i++)
		if (!fork())
			_exit(jobs_churn(i));
	while (wait(&status) > 0)
		failed += status != 0;
	EXPECT_EQ(failed, 0);
}

TEST_F(jobs, what_is_no_file_of_the_user_stays)
{
	const char *target = "elsewhere";
	char others[PATH_MAX];
	struct tofu_job job;

	ASSERT_EQ(chdir(self->folder), 0);
	ASSERT_EQ(close(open(target, O_WRONLY | O_CREAT, 0600)), 0);
	ASSERT_EQ(symlink(target, path_of("link")), 0);
	ASSERT_EQ(mkdir(path_of("folder"), 0700), 0);
	ASSERT_EQ(mkfifo(path_of("fifo"), 0600), 0);
	snprintf(others, sizeof(others), "tofu-%u0-job", geteuid());
	ASSERT_EQ(close(open(others, O_WRONLY | O_CREAT, 0600)), 0);
	ASSERT_EQ(job_begin(&job, "next"), 0);
	EXPECT_TRUE(is_there("link"));
	EXPECT_TRUE(is_there("folder"));
	EXPECT_TRUE(is_there("fifo"));
	EXPECT_EQ(access(target, F_OK), 0);
	EXPECT_EQ(access(others, F_OK), 0);
}

TEST_F(jobs, another_users_file_stays)
{
	struct tofu_job job;

	if (geteuid())
		SKIP(return, "only root can give a file away");
	ASSERT_EQ(file_make("given"), 0);
	ASSERT_EQ(chown(path_of("given"), 1, 1), 0);
	ASSERT_EQ(job_begin(&job, "next"), 0);
	EXPECT_TRUE(is_there("given"));
}

/* ---- Files that others lock ---- */

/* Return: a process of another user that has taken the name, and locked it */
static pid_t squat(const char *name)
{
	int ready[2], fd;
	pid_t pid;
	char byte;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		if (setresuid(1, 1, 1))
			_exit(1);
		fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0666);
		if (fd < 0 || flock(fd, LOCK_EX) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		return -1;
	close(ready[0]);
	return pid;
}

TEST_F(jobs, another_users_lock_is_not_waited_for)
{
	struct tofu_job job;
	pid_t pid;

	if (geteuid())
		SKIP(return, "only root can become another user");
	ASSERT_EQ(chmod(self->folder, 0777), 0);
	pid = squat(path_of("taken.0"));
	ASSERT_GT(pid, 0);
	EXPECT_EQ(job_begin(&job, "taken"), -EPERM);
	EXPECT_TRUE(is_there("taken.0"));
	kill(pid, SIGKILL);
}

TEST_F(jobs, a_lock_on_a_file_that_others_can_open_is_not_waited_for)
{
	struct tofu_job job;
	int fd;

	ASSERT_EQ(file_make("open.0"), 0);
	ASSERT_EQ(chmod(path_of("open.0"), 0644), 0);
	fd = open(path_of("open.0"), O_RDONLY);
	ASSERT_EQ(flock(fd, LOCK_EX), 0);
	EXPECT_EQ(job_begin(&job, "open"), -EPERM);
	close(fd);
}

/* By seconds for each look at the clock */
static uint64_t clock_rate;

uint64_t __real_tofu_host_now(void);
uint64_t __wrap_tofu_host_now(void);
uint64_t __wrap_tofu_host_now(void)
{
	static uint64_t looks;

	return __real_tofu_host_now() + clock_rate * looks++;
}

TEST_F(jobs, a_lock_that_the_user_holds_is_waited_for_but_not_for_ever)
{
	struct tofu_job job;
	int fd;

	ASSERT_EQ(file_make("stuck.0"), 0);
	fd = open(path_of("stuck.0"), O_RDWR);
	ASSERT_EQ(flock(fd, LOCK_EX), 0);
	clock_rate = 1000000000;
	EXPECT_EQ(job_begin(&job, "stuck"), -ETIMEDOUT);
	EXPECT_TRUE(is_there("stuck.0"));
	close(fd);
	EXPECT_EQ(job_begin(&job, "stuck"), 0);
}

TEST_F(jobs, no_pipe_is_waited_for)
{
	struct tofu_job job;

	ASSERT_EQ(mkfifo(path_of("pipe.0"), 0600), 0);
	EXPECT_EQ(job_begin(&job, "pipe"), -EPERM);
}

/* ---- The folder ---- */

static bool is_in(const char *folder)
{
	const char *path = path_of("job");

	return !strncmp(path, folder, strlen(folder)) &&
	       path[strlen(folder)] == '/';
}

/* As systemd makes one */
FIXTURE(runtime)
{
	char folder[40];
};

FIXTURE_SETUP(runtime)
{
	strcpy(self->folder, "/dev/shm/job-files-XXXXXX");
	ASSERT_NE(mkdtemp(self->folder), NULL);
	setenv("XDG_RUNTIME_DIR", self->folder, 1);
}

FIXTURE_TEARDOWN(runtime)
{
	rmdir(self->folder);
}

TEST_F(runtime, has_the_file_if_it_is_private)
{
	EXPECT_TRUE(is_in(self->folder));
}

TEST_F(runtime, has_no_file_if_others_can_enter_it)
{
	ASSERT_EQ(chmod(self->folder, 0710), 0);
	EXPECT_TRUE(is_in("/dev/shm"));
	EXPECT_FALSE(is_in(self->folder));
}

TEST_F(runtime, has_no_file_if_it_is_another_users)
{
	if (geteuid())
		SKIP(return, "only root can give a folder away");
	ASSERT_EQ(chown(self->folder, 1, 1), 0);
	EXPECT_FALSE(is_in(self->folder));
}

TEST_F(runtime, has_no_file_if_there_is_no_folder)
{
	setenv("XDG_RUNTIME_DIR", "/proc/self", 1);
	EXPECT_FALSE(is_in("/proc/self"));
	setenv("XDG_RUNTIME_DIR", "/dev/shm/missing", 1);
	EXPECT_FALSE(is_in("/dev/shm/missing"));
	setenv("XDG_RUNTIME_DIR", ".", 1);
	EXPECT_FALSE(is_in("."));
	unsetenv("XDG_RUNTIME_DIR");
	EXPECT_TRUE(is_in("/dev/shm"));
}

TEST_HARNESS_MAIN
