/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/job.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/process.h"
#include "net/shape.h"
#include "port/bridge.h"
#include "port/debug.h"
#include "port/job-file.h"
#include "port/launch.h"

/* ---- Environment ---- */

/*
 * A name that distinguishes this job from the user's others. Where the launcher
 * gives none, it is made of the parent that the processes on this host share;
 * the parent's start time tells it from a later process of the same number.
 */
static void job_name(char *name, size_t size)
{
	static const char *const ids[] = { "PMIX_NAMESPACE",
					   "OMPI_MCA_ess_base_jobid",
					   "SLURM_JOB_ID" };
	const char *step = getenv("SLURM_STEP_ID");
	const char *id = NULL;
	uint64_t start = 0;
	pid_t parent;

	for (size_t i = 0; !id && i < sizeof(ids) / sizeof(*ids); i++)
		id = getenv(ids[i]);
	if (id) {
		snprintf(name, size, "%s.%s", id, step ? step : "0");
	} else {
		parent = getppid();
		tofu_process_start(parent, &start);
		snprintf(name, size, "%d.%" PRIu64, (int)parent, start);
	}
	for (; *name; name++)
		if (!isalnum((unsigned char)*name))
			*name = '.';
}

static int job_shape(unsigned int size, struct tofu_shape *shape)
{
	const char *text = getenv("TOFU_SHAPE");
	int err;

	if (!text) {
		err = tofu_shape_of_count(size, shape);
		if (err)
			tofu_debug("no torus has %u nodes: set TOFU_SHAPE",
				   size);
		return err;
	}
	err = tofu_shape_parse(text, shape);
	if (!err && tofu_shape_nodes(shape) < size)
		err = -EINVAL;
	if (err)
		tofu_debug("TOFU_SHAPE=%s: not a shape of %u nodes or more",
			   text, size);
	return err;
}

/* ---- The shared file of a launcher's job ---- */

/*
 * Becomes a user of the file, or unlinks it if it belongs to a job whose
 * processes are all dead. Called with the lock held.
 *
 * Return: 1; 0 if the file was unlinked; or a negative errno.
 */
static int file_take_part(const struct tofu_job *job, const struct stat *st)
{
	int ret = tofu_job_file_others(job->fd);

	if (ret < 0)
		return ret;
	if (st->st_size && !ret)
		return unlink(job->file) ? -errno : 0;
	ret = tofu_job_file_join(job->fd);
	return ret ? ret : 1;
}

/*
 * Opens the file of that name and locks it. By flock(), since that lock belongs
 * to this descriptor: one of fcntl() would go when the fabric closes its own.
 * Whatever else has the name, opening it does not wait.
 *
 * Return: 1; 0 if the file was unlinked, here or while waiting for the lock:
 * try again; or a negative errno.
 */
static int file_open_locked(struct tofu_job *job, struct stat *st)
{
	int ret;

	job->fd = open(job->file,
		       O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		       0600);
	if (job->fd < 0)
		return -errno;
	ret = tofu_job_file_lock(job->fd, st);
	if (!ret)
		ret = st->st_nlink ? file_take_part(job, st) : 0;
	if (ret == 1)
		return 1;
	close(job->fd);
	job->fd = -1;
	return ret;
}

/* Files of dead jobs are removed first: they may fill the folder. */
static int file_make(struct tofu_job *job, const struct tofu_shape *shape,
		     unsigned int ppn)
{
	const char *hosts = getenv("TOFU_HOSTS");
	int err;

	tofu_job_files_clean();
	err = tofu_fabric_format(job->fd, shape, ppn);
	return !err && hosts ? tofu_bridge_start(job->fd, hosts) : err;
}

static int file_open(struct tofu_job *job, const struct tofu_shape *shape,
		     unsigned int ppn)
{
	struct stat st;
	int ret;

	do {
		ret = file_open_locked(job, &st);
	} while (!ret);
	if (ret < 0)
		return ret;
	ret = st.st_size ? 0 : file_make(job, shape, ppn);
	if (ret) {
		unlink(job->file);
		close(job->fd);
		job->fd = -1;
	}
	return ret;
}

static int launcher_job(struct tofu_job *job, unsigned int rank,
			unsigned int size)
{
	struct tofu_shape shape;
	unsigned int ppn = 1;
	char name[64];
	int err;

	err = tofu_env_number("TOFU_PPN", 1, TOFU_FABRIC_PPN_MAX, &ppn);
	if (err < 0)
		return err;
	err = job_shape((size + ppn - 1) / ppn, &shape);
	if (err)
		return err;
	job_name(name, sizeof(name));
	tofu_job_file_name(name, job->file, sizeof(job->file));
	err = file_open(job, &shape, ppn);
	if (err) {
		tofu_debug("%s: %s", job->file,
			   err == -ENOSPC ? TOFU_FABRIC_FULL : strerror(-err));
		return err;
	}
	snprintf(job->fd_path, sizeof(job->fd_path), "/proc/self/fd/%d",
		 job->fd);
	job->fabric = job->fd_path;
	job->node = (int)(rank / ppn);
	job->processes = size;
	return 0;
}

int tofu_job_find(struct tofu_job *job)
{
	unsigned int node, rank, size;
	int ret;

	memset(job, 0, sizeof(*job));
	job->fd = -1;
	job->node = -1;
	job->tnis = TOFU_TNIS_DEFAULT;
	job->armw = 1;
	ret = tofu_env_number("TOFU_TNIS", 1, TOFU_TNIS_MAX, &job->tnis);
	if (ret >= 0)
		ret = tofu_env_number("TOFU_ARMW", 0, 1, &job->armw);
	if (ret < 0)
		return ret;
	job->fabric = getenv("TOFU_FABRIC");
	if (job->fabric) {
		ret = tofu_env_number("TOFU_NODE", 0,
				      TOFU_FABRIC_NODES_MAX - 1, &node);
		if (ret > 0)
			job->node = (int)node;
		return ret < 0 ? ret : 0;
	}
	ret = tofu_launcher_find(TOFU_FABRIC_NODES_MAX, &rank, &size);
	if (ret < 0)
		return ret;
	return ret && size > 1 ? launcher_job(job, rank, size) : 0;
}

/* Return: how many other processes of the job are attached. */
static unsigned int others_up(struct tofu_fabric *fabric)
{
	const uint32_t endpoints = tofu_shape_nodes(tofu_fabric_shape(fabric)) *
				   tofu_fabric_ppn(fabric);
	unsigned int count = 0;

	for (uint32_t i = 0; i < endpoints; i++)
		if (i != tofu_fabric_endpoint(fabric) && tofu_fabric_up(fabric, i))
			count++;
	return count;
}

void tofu_job_attached(struct tofu_job *job, struct tofu_fabric *fabric)
{
	if (job->fd < 0)
		return;
	if (others_up(fabric) == job->processes - 1)
		tofu_job_file_unlink(job->fd, job->file);
	flock(job->fd, LOCK_UN);
}

void tofu_job_abandon(struct tofu_job *job)
{
	if (job->fd >= 0)
		close(job->fd);
	job->fd = -1;
}

void tofu_job_leave(struct tofu_job *job)
{
	struct stat st;

	if (job->fd < 0 || tofu_job_file_lock(job->fd, &st))
		return;
	tofu_job_file_leave(job->fd);
	if (!tofu_job_file_others(job->fd))
		tofu_job_file_unlink(job->fd, job->file);
	flock(job->fd, LOCK_UN);
}
