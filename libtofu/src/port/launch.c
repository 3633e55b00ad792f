/* SPDX-License-Identifier: MIT */
#include "port/launch.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "port/debug.h"

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

/* Names of the variables that tell a process its number, and how many there are */
struct names {
	const char *rank;
	const char *ranks;
};

/* Return: as tofu_env_number(); 0 where one of the two is not set. */
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
	static const struct names launchers[] = {
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "PMI_RANK", "PMI_SIZE" },
		{ "SLURM_PROCID", "SLURM_NTASKS" },
	};
	int ret = 0;

	for (size_t i = 0; !ret && i < sizeof(launchers) / sizeof(*launchers);
	     i++)
		ret = pair_find(&launchers[i], max, rank, ranks);
	return ret;
}
