/* SPDX-License-Identifier: MIT */
/*
 * What an MPI needs in its environment to find the interconnect: its messages then go
 * through libfabric to the provider of libtofu.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/run.h"

/* Beside the folder of programs, where both were built or installed */
#define LIBRARIES "lib"
#define PMI_NAME "libtofu-pmi.so"

/*
 * Number of a job without one; and the most. Open MPI takes what is above 16 bits
 * for the number of a launcher, and then does not find its ranks.
 */
#define ONLY_JOB 1
#define JOB_MAX 65535

struct variable {
	const char *name;
	const char *value;
};

/*
 * Open MPI passes all messages to libfabric, opens no socket and no shared
 * memory of its own, looks for no graphics card, and does windows by messages. An
 * MPICH for libfabric has no shared memory for ranks of one host.
 */
static const struct variable of_mpi[] = {
	{ "FI_PROVIDER", "tofu" },
	{ "OMPI_MCA_pml", "cm" },
	{ "OMPI_MCA_mtl", "ofi" },
	{ "OMPI_MCA_btl", "self" },
	{ "OMPI_MCA_osc", "pt2pt" },
	{ "HWLOC_COMPONENTS", "-gl" },
	{ "MPIR_CVAR_NOLOCAL", "1" },
};

#define OF_MPI (sizeof(of_mpi) / sizeof(of_mpi[0]))

/* Return: false if it is not there: the system's folders are searched then. */
static bool library_find(const char *name, char path[PATH_MAX])
{
	char own[PATH_MAX];
	ssize_t bytes = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (bytes < 0)
		return false;
	own[bytes] = '\0';
	for (int up = 0; up < 2; up++) {
		slash = strrchr(own, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return snprintf(path, PATH_MAX, "%s/" LIBRARIES "/%s", own, name) <
		       PATH_MAX &&
	       !access(path, R_OK);
}

void tofu_mpi_print(void)
{
	char path[PATH_MAX];

	if (library_find("libfabric", path))
		printf("FI_PROVIDER_PATH=%s\n", path);
	for (size_t i = 0; i < OF_MPI; i++)
		printf("%s=%s\n", of_mpi[i].name, of_mpi[i].value);
}

/* An MPICH talks to a process manager, which the library that is loaded first is. */
static void wire_environment(const char *library)
{
	const char *before = getenv("LD_PRELOAD");
	char list[2 * PATH_MAX];

	if (snprintf(list, sizeof(list), "%s%s%s", library,
		     before ? ":" : "", before ? before : "") >=
	    (int)sizeof(list))
		return;
	setenv("LD_PRELOAD", list, 1);
	setenv("TOFU_PMI_WIRE", "1", 1);
}

/* What the user has set stays. */
void tofu_mpi_environment(enum tofu_mpi mpi, pid_t job, bool yields)
{
	char path[PATH_MAX];
	const char *pmi;
	char id[16];

	if (library_find("libfabric", path))
		setenv("FI_PROVIDER_PATH", path, 0);
	for (size_t i = 0; i < OF_MPI; i++)
		setenv(of_mpi[i].name, of_mpi[i].value, 0);
	if (yields)
		setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
	/* By these it knows that it need not ask a launcher of its own. */
	snprintf(id, sizeof(id), "%d",
		 job ? (int)((job - 1) % JOB_MAX + 1) : ONLY_JOB);
	setenv("FLUX_JOB_ID", id, 1);
	pmi = library_find(PMI_NAME, path) ? path : PMI_NAME;
	setenv("FLUX_PMI_LIBRARY_PATH", pmi, 1);
	if (mpi == TOFU_MPI_WIRE)
		wire_environment(pmi);
}
