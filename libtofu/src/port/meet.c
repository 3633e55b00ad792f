/* SPDX-License-Identifier: MIT */
#include "port/meet.h"

#include <errno.h>
#include <stddef.h>

#include "port/debug.h"
#include "port/load.h"

#define LIBRARY "libtofu-pmix.so"

static const struct tofu_meet_ops *ops;

static int find_ops(void)
{
	const char *why = NULL;

	ops = tofu_load(LIBRARY, TOFU_MEET_OPS, &why);
	if (ops)
		return 0;
	tofu_debug("the job is on several hosts: name them in TOFU_HOSTS, since PMIx cannot: %s",
		   why ? why : LIBRARY " has nothing for it");
	return -ENOENT;
}

int tofu_meet_join(uint32_t rank, uint32_t ranks, bool *leads)
{
	const int err = ops ? 0 : find_ops();

	return err ? err : ops->join(rank, ranks, leads, tofu_debug);
}

int tofu_meet_hosts(uint32_t nodes, struct tofu_hosts_known *hosts)
{
	return ops->hosts(nodes, hosts, tofu_debug);
}
