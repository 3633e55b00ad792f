// SPDX-License-Identifier: MIT
/*
 * getopt() of a node. The variables that the C library reads and writes are
 * data of the node, but an executable has copies of them, which it reads and
 * writes itself. What is left to read of an argument like "-abc" stands in
 * static data of the library that nobody can reach.
 */

#include "sim/libc-node.h"

#include <getopt.h>

/* For programs, whatever else is hidden from them */
#pragma GCC visibility push(default)

/* Whose arguments the library is reading, and how many it did not see */
static int64_t reader = -1;
static int hidden;

void sim_getopt_reset(void)
{
	reader = -1;
	hidden = 0;
}

/* Another node's arguments were read in between: start anew behind the last. */
static void begin(int argc)
{
	int64_t node = sim_running();

	if (sim_owner.optind)
		optind = *sim_owner.optind;
	if (sim_owner.opterr)
		opterr = *sim_owner.opterr;
	if (node == reader && optind > hidden) {
		optind -= hidden;
		return;
	}
	hidden = node != reader && optind > 1 ? optind - 1 : 0;
	if (hidden >= argc)
		hidden = argc > 0 ? argc - 1 : 0;
	reader = node;
	optind = 0;
}

static int end(int option)
{
	optind += hidden;
	if (sim_owner.optind)
		*sim_owner.optind = optind;
	if (sim_owner.opterr)
		*sim_owner.opterr = opterr;
	if (sim_owner.optopt)
		*sim_owner.optopt = optopt;
	if (sim_owner.optarg)
		*sim_owner.optarg = optarg;
	return option;
}

int getopt(int argc, char *const *argv, const char *options)
{
	if (!sim_running_node())
		return REAL(getopt)(argc, argv, options);
	begin(argc);
	return end(REAL(getopt)(argc - hidden, argv + hidden, options));
}

int getopt_long(int argc, char *const *argv, const char *options,
		const struct option *names, int *index)
{
	if (!sim_running_node())
		return REAL(getopt_long)(argc, argv, options, names, index);
	begin(argc);
	return end(REAL(getopt_long)(argc - hidden, argv + hidden, options,
				     names, index));
}

int getopt_long_only(int argc, char *const *argv, const char *options,
		     const struct option *names, int *index)
{
	if (!sim_running_node())
		return REAL(getopt_long_only)(argc, argv, options, names,
					      index);
	begin(argc);
	return end(REAL(getopt_long_only)(argc - hidden, argv + hidden, options,
					  names, index));
}

#pragma GCC visibility pop
