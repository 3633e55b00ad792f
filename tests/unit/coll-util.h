/* SPDX-License-Identifier: MIT */
/* Collectives in processes of tofu_nodes_run() */
#ifndef UNIT_COLL_UTIL_H
#define UNIT_COLL_UTIL_H

#include <stdio.h>
#include <stdlib.h>

#include <tofu/coll.h>

#include "utofu-util.h"

/* joined_for - a boot whose waits take up to @seconds; joined - long ones */
static inline struct tofu_boot *joined_for(unsigned int rank,
					   unsigned int ranks,
					   unsigned int seconds)
{
	struct tofu_boot *boot;
	char text[12];

	setenv("TOFU_PORT", "emu", 1);
	snprintf(text, sizeof(text), "%u", rank);
	setenv("TOFU_RANK", text, 1);
	snprintf(text, sizeof(text), "%u", ranks);
	setenv("TOFU_RANKS", text, 1);
	CHECK(!tofu_boot_join(seconds, NULL, &boot));
	return boot;
}

static inline struct tofu_boot *joined(unsigned int rank, unsigned int ranks)
{
	return joined_for(rank, ranks, WAIT_SECONDS);
}

static inline struct tofu_group *group_of_all(struct tofu_boot *boot)
{
	struct tofu_group *group;

	CHECK(!tofu_group_create(boot, NULL, 0, NULL, &group));
	return group;
}

#endif /* UNIT_COLL_UTIL_H */
