/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "port/job.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fabric/process.h"
#include "net/shape.h"
#include "port/bridge.h"
#include "port/debug.h"
#include "port/host.h"
#include "port/job-file.h"
#include "port/launch.h"

/* How long a process waits for another one that makes the file, and how often it looks */
#define MADE_NS (120 * 1000000000ULL)
#define NAP_NS 1000000L

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

/**
 * struct launched - a launcher's job, as this process knows it
 * @ppn:   processes per node
 * @hosts: where the bridge finds other hosts; without a table there are none
 * @makes: this process may make the file: where hosts meet, only the first one
 */
struct launched {
	struct tofu_shape shape;
	unsigned int ppn;
	struct tofu_hosts_known hosts;
	bool makes;
};

/* Files of dead jobs are removed first: they may fill the folder. */
static int file_make(struct tofu_job *job, const struct launched *launched)
{
	int err;

	tofu_job_files_clean();
	err = tofu_fabric_format(job->fd, &launched->shape, launched->ppn);
	if (err || !launched->hosts.table)
		return err;
	return tofu_bridge_start(job->fd, &launched->hosts);
}

static void file_leave_alone(struct tofu_job *job)
{
	close(job->fd);
	job->fd = -1;
}

/*
 * Return: as file_open_locked(), with 0 after a while also if another process has to
 * make the file
 */
static int file_open_made(struct tofu_job *job, const struct launched *launched,
			  struct stat *st)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };
	const int ret = file_open_locked(job, st);

	if (ret != 1 || st->st_size || launched->makes)
		return ret;
	file_leave_alone(job);
	nanosleep(&nap, NULL);
	return 0;
}

static int file_open(struct tofu_job *job, const struct launched *launched)
{
	const uint64_t end = tofu_host_now() + MADE_NS;
	struct stat st;
	int ret;

	do {
		ret = file_open_made(job, launched, &st);
	} while (!ret && (launched->makes || tofu_host_now() < end));
	if (!ret) {
		tofu_debug("the first process of this host has not opened the interconnect");
		ret = -ETIMEDOUT;
	}
	if (ret < 0)
		return ret;
	ret = st.st_size ? 0 : file_make(job, launched);
	if (ret) {
		unlink(job->file);
		file_leave_alone(job);
	}
	return ret;
}

/* ---- A launcher's job ---- */

/* Where other hosts are, and whether this process makes the file */
static int find_hosts(struct launched *launched, unsigned int rank,
		      unsigned int ranks)
{
	int ret;

	launched->makes = true;
	launched->hosts.table = tofu_env_text("TOFU_HOSTS");
	ret = launched->hosts.table ? 0 : tofu_launcher_hosts(ranks);
	if (ret <= 0)
		return ret;
	if (launched->ppn > 1) {
		tofu_debug("TOFU_PPN=%u: on several hosts each process is a node",
			   launched->ppn);
		return -EINVAL;
	}
	if (!getenv("PMIX_NAMESPACE")) {
		tofu_debug("the job is on several hosts: name them in TOFU_HOSTS, since the launcher has no PMIx (srun has it with --mpi=pmix)");
		return -EINVAL;
	}
	ret = tofu_meet_join(rank, ranks, &launched->makes);
	if (ret || !launched->makes)
		return ret;
	/* Before the file is locked, since it can take long */
	return tofu_meet_hosts(tofu_shape_nodes(&launched->shape), &launched->hosts);
}

static int launcher_job(struct tofu_job *job, unsigned int rank,
			unsigned int size)
{
	struct launched launched = { .ppn = 1 };
	char name[64];
	int err;

	err = tofu_env_number("TOFU_PPN", 1, TOFU_FABRIC_PPN_MAX, &launched.ppn);
	if (err < 0)
		return err;
	err = job_shape((size + launched.ppn - 1) / launched.ppn, &launched.shape);
	if (!err)
		err = find_hosts(&launched, rank, size);
	if (err)
		return err;
	job_name(name, sizeof(name));
	tofu_job_file_name(name, job->file, sizeof(job->file));
	err = file_open(job, &launched);
	if (err) {
		tofu_debug("%s: %s", job->file,
			   err == -ENOSPC ? TOFU_FABRIC_FULL : strerror(-err));
		return err;
	}
	snprintf(job->fd_path, sizeof(job->fd_path), "/proc/self/fd/%d",
		 job->fd);
	job->fabric = job->fd_path;
	job->node = (int)(rank / launched.ppn);
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
