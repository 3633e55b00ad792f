/* SPDX-License-Identifier: MIT */
#include "port/launch.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "fabric/fabric.h"
#include "port/debug.h"

/* ---- The environment ---- */

int tofu_env_number(const char *name, unsigned int min, unsigned int max,
		    unsigned int *value)
{
	const char *text = getenv(name);
	unsigned long n;
	char *end;

	if (!text)
		return 0;
	errno = 0;
	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || n < min ||
	    n > max) {
		tofu_debug("%s=%s: not a number from %u to %u", name, text, min,
			   max);
		return -EINVAL;
	}
	*value = (unsigned int)n;
	return 1;
}

const char *tofu_env_text(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

/*
 * Variables in which a launcher passes rank and number of processes; and, of which the
 * first one that is set counts, the number of those on this host, and that of hosts
 */
struct names {
	const char *rank;
	const char *ranks;
	const char *here[2];
	const char *hosts;
};

static const struct names launchers[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
	  .here = { "OMPI_COMM_WORLD_LOCAL_SIZE" } },
	{ "PMI_RANK", "PMI_SIZE",
	  .here = { "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE" },
	  .hosts = "SLURM_STEP_NUM_NODES" },
	{ "SLURM_PROCID", "SLURM_NTASKS", .hosts = "SLURM_STEP_NUM_NODES" },
};

#define LAUNCHERS (sizeof(launchers) / sizeof(*launchers))

/* Return: as tofu_env_number(); 0 if one of the two is not set. */
static int pair_find(const struct names *names, unsigned int max,
		     unsigned int *rank, unsigned int *ranks)
{
	int ret = tofu_env_number(names->ranks, 1, max, ranks);

	if (ret > 0)
		ret = tofu_env_number(names->rank, 0, *ranks - 1, rank);
	return ret;
}

int tofu_launcher_find(unsigned int max, unsigned int *rank,
		       unsigned int *ranks)
{
	int ret = 0;

	for (size_t i = 0; !ret && i < LAUNCHERS; i++)
		ret = pair_find(&launchers[i], max, rank, ranks);
	return ret;
}

int tofu_launcher_hosts(unsigned int ranks)
{
	unsigned int here = ranks, hosts = 1;
	const struct names *names = launchers;
	int ret = 0;

	while (names < launchers + LAUNCHERS &&
	       (!getenv(names->rank) || !getenv(names->ranks)))
		names++;
	if (names == launchers + LAUNCHERS)
		return 0;
	for (size_t i = 0; i < 2 && !ret && names->here[i]; i++)
		ret = tofu_env_number(names->here[i], 1, ranks, &here);
	if (!ret && names->hosts)
		ret = tofu_env_number(names->hosts, 1, ranks, &hosts);
	return ret < 0 ? ret : here < ranks || hosts > 1;
}

/* ---- The job ---- */

/* Return: as tofu_env_number() */
static int own_find(unsigned int *rank, unsigned int *ranks)
{
	static const struct names own = { .rank = "TOFU_RANK",
					  .ranks = "TOFU_RANKS" };

	if (!getenv(own.rank) != !getenv(own.ranks)) {
		tofu_debug("%s and %s: only one of them is set", own.rank,
			   own.ranks);
		return -EINVAL;
	}
	return pair_find(&own, TOFU_LAUNCH_RANKS_MAX, rank, ranks);
}

/* With one process per node, the node's number is the rank. */
static int nodes_find(unsigned int ppn, unsigned int *rank,
		      unsigned int *ranks)
{
	static const struct names nodes = { .rank = "TOFU_NODE",
					    .ranks = "TOFU_NODES" };
	int ret = pair_find(&nodes, TOFU_LAUNCH_RANKS_MAX, rank, ranks);

	if (ret > 0 && ppn > 1) {
		tofu_debug("TOFU_PPN=%u: TOFU_RANK and TOFU_RANKS have to say which process of its node this is",
			   ppn);
		return -EINVAL;
	}
	return ret;
}

int tofu_launch_find(struct tofu_launch *launch)
{
	unsigned int rank = 0, ranks = 1, ppn = 1;
	int ret = tofu_env_number("TOFU_PPN", 1, TOFU_FABRIC_PPN_MAX, &ppn);

	if (ret >= 0)
		ret = own_find(&rank, &ranks);
	if (!ret)
		ret = tofu_launcher_find(TOFU_LAUNCH_RANKS_MAX, &rank, &ranks);
	if (!ret)
		ret = nodes_find(ppn, &rank, &ranks);
	if (ret < 0)
		return ret;
	*launch = (struct tofu_launch){
		.rank = ret ? rank : 0,
		.ranks = ret ? ranks : 1,
		.ppn = ppn,
	};
	return 0;
}

int tofu_launch_place(struct tofu_launch *launch,
		      const struct tofu_shape *shape, uint32_t node)
{
	uint32_t nodes = tofu_shape_nodes(shape);

	launch->first = launch->ranks == 1 ? node : 0;
	if (tofu_launch_node(launch, launch->ranks - 1) >= nodes) {
		tofu_debug("%u processes, %u on a node, are too many for %u nodes",
			   launch->ranks, launch->ppn, nodes);
		return -EINVAL;
	}
	if (tofu_launch_node(launch, launch->rank) != node) {
		tofu_debug("process %u is on node %u, not %u: processes have to be placed in blocks of %u (TOFU_PPN)",
			   launch->rank, node,
			   tofu_launch_node(launch, launch->rank), launch->ppn);
		return -EINVAL;
	}
	return 0;
}
