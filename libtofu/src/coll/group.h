/* SPDX-License-Identifier: MIT */
/* Groups of processes, from the inside. */
#ifndef COLL_GROUP_H
#define COLL_GROUP_H

#include "boot/internal.h"
#include "coll/plan.h"

/**
 * enum coll_members - how ranks follow from places
 * @COLL_MEMBERS_RANKS:   they are numbers
 * @COLL_MEMBERS_LIST:    they are in a list, by number
 * @COLL_MEMBERS_MACHINE: by the places of nodes in the machine: large groups
 *     have no list
 */
enum coll_members {
	COLL_MEMBERS_RANKS,
	COLL_MEMBERS_LIST,
	COLL_MEMBERS_MACHINE,
};

/**
 * struct tofu_group
 * @boot:  of the processes
 * @members: enum coll_members
 * @rank:  with COLL_MEMBERS_LIST
 * @whole: the torus of all that ranks follow from
 * @at:    place of this process in it
 * @torus: of the group: a part of @whole, which has size 1 along axes on which
 *         all members lie where this process does
 * @count: of members
 * @number: of this process
 * @identity: the same for the same members in the same order and shape
 */
struct tofu_group {
	struct tofu_boot *boot;
	enum coll_members members;
	uint32_t *rank;
	struct coll_torus whole;
	uint32_t at[TOFU_COLL_AXES];
	struct coll_torus torus;
	uint32_t count;
	uint32_t number;
	uint64_t identity;
};

/* coll_group_rank - rank of a member; @number is below the count */
uint32_t coll_group_rank(const struct tofu_group *group, uint32_t number);

/* coll_hash - FNV-1a, one word at a time, from COLL_HASH on */
#define COLL_HASH UINT64_C(0xcbf29ce484222325)

static inline uint64_t coll_hash(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x100000001b3);
	return hash ^ hash >> 32;
}

#endif /* COLL_GROUP_H */
