// SPDX-License-Identifier: MIT
#include "coll/group.h"

#include <stdlib.h>
#include <string.h>

#include "utofu/error.h"

/* ---- The machine as a torus of three axes ---- */

/* Axis i of the torus is made of axes i and i + 3 of the machine. */
static uint32_t ring_size(const struct tofu_boot *boot, int axis)
{
	return (uint32_t)boot->shape.size[axis] *
	       boot->shape.size[axis + TOFU_COLL_AXES];
}

static uint32_t machine_rank(const struct tofu_boot *boot,
			     const uint32_t at[TOFU_COLL_AXES])
{
	const uint32_t ppn = boot->job.ppn;
	struct tofu_coords coords;

	for (int i = 0; i < TOFU_COLL_AXES; i++) {
		int last = i == TOFU_COLL_AXES - 1;
		uint32_t row, column;

		coll_snake_at(boot->shape.size[i],
			      boot->shape.size[i + TOFU_COLL_AXES],
			      last ? at[i] / ppn : at[i], &row, &column);
		coords.c[i] = (uint8_t)row;
		coords.c[i + TOFU_COLL_AXES] = (uint8_t)column;
	}
	return (uint32_t)tofu_node_at(&boot->shape, &coords) * ppn +
	       at[TOFU_COLL_AXES - 1] % ppn;
}

static void machine_at(const struct tofu_boot *boot, uint32_t rank,
		       uint32_t at[TOFU_COLL_AXES])
{
	const uint32_t ppn = boot->job.ppn;
	struct tofu_coords coords = tofu_coords_of(&boot->shape, rank / ppn);

	for (int i = 0; i < TOFU_COLL_AXES; i++)
		at[i] = coll_snake(boot->shape.size[i],
				   boot->shape.size[i + TOFU_COLL_AXES],
				   coords.c[i], coords.c[i + TOFU_COLL_AXES]);
	at[TOFU_COLL_AXES - 1] *= ppn;
	at[TOFU_COLL_AXES - 1] += rank % ppn;
}

/* Whether every node of the machine has the same number of processes */
static bool machine_is_full(const struct tofu_boot *boot)
{
	return !boot->first &&
	       boot->job.ranks == (uint64_t)boot->job.nodes * boot->job.ppn;
}

/* ---- Members ---- */

uint32_t coll_group_rank(const struct tofu_group *group, uint32_t number)
{
	uint32_t at[TOFU_COLL_AXES], in_whole;

	coll_at(&group->torus, number, at);
	for (int i = 0; i < TOFU_COLL_AXES; i++)
		if (group->torus.size[i] != group->whole.size[i])
			at[i] = group->at[i];
	if (group->members == COLL_MEMBERS_MACHINE)
		return machine_rank(group->boot, at);
	in_whole = coll_number(&group->whole, at);
	return group->members == COLL_MEMBERS_LIST ? group->rank[in_whole] :
						     in_whole;
}

static int rank_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int list_check(const struct tofu_boot *boot, const uint32_t ranks[],
		      uint32_t count)
{
	uint32_t *sorted = malloc(count * sizeof(*sorted));
	int code = UTOFU_SUCCESS;

	if (!sorted)
		return UTOFU_ERR_OUT_OF_MEMORY;
	memcpy(sorted, ranks, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), rank_order);
	if (sorted[count - 1] >= boot->job.ranks)
		code = UTOFU_ERR_INVALID_NUMBER;
	for (uint32_t i = 1; i < count; i++)
		if (sorted[i] == sorted[i - 1])
			code = UTOFU_ERR_INVALID_NUMBER;
	free(sorted);
	return code;
}

static int list_take(struct tofu_group *group, const uint32_t ranks[],
		     uint32_t count)
{
	int code;

	if (!count)
		return UTOFU_ERR_NOT_FOUND;
	code = list_check(group->boot, ranks, count);
	if (code)
		return code;
	while (group->number < count &&
	       ranks[group->number] != group->boot->job.rank)
		group->number++;
	if (group->number == count)
		return UTOFU_ERR_NOT_FOUND;
	group->rank = malloc(count * sizeof(*group->rank));
	if (!group->rank)
		return UTOFU_ERR_OUT_OF_MEMORY;
	memcpy(group->rank, ranks, count * sizeof(*group->rank));
	group->members = COLL_MEMBERS_LIST;
	group->count = count;
	return UTOFU_SUCCESS;
}

/* ---- Shape ---- */

static int size_take(struct tofu_group *group, const uint32_t size[])
{
	uint64_t all = 1;

	for (int i = 0; i < TOFU_COLL_AXES; i++) {
		all *= size[i];
		if (!all || all > group->count)
			return UTOFU_ERR_INVALID_SIZE;
		group->whole.size[i] = size[i];
	}
	return all == group->count ? UTOFU_SUCCESS : UTOFU_ERR_INVALID_SIZE;
}

static void machine_take(struct tofu_group *group)
{
	const struct tofu_boot *boot = group->boot;

	group->members = COLL_MEMBERS_MACHINE;
	for (int i = 0; i < TOFU_COLL_AXES; i++)
		group->whole.size[i] = ring_size(boot, i);
	group->whole.size[TOFU_COLL_AXES - 1] *= boot->job.ppn;
	machine_at(boot, boot->job.rank, group->at);
	group->number = coll_number(&group->whole, group->at);
}

static int shape_take(struct tofu_group *group, const uint32_t size[])
{
	const uint32_t ring[TOFU_COLL_AXES] = { 1, 1, group->count };
	int code = UTOFU_SUCCESS;

	if (!size && !group->rank && machine_is_full(group->boot))
		machine_take(group);
	else
		code = size_take(group, size ? size : ring);
	if (code)
		return code;
	group->torus = group->whole;
	coll_at(&group->whole, group->number, group->at);
	return UTOFU_SUCCESS;
}

static uint64_t identity_of(const struct tofu_group *group)
{
	uint64_t hash = coll_hash(COLL_HASH, group->members);

	for (int i = 0; i < TOFU_COLL_AXES; i++) {
		bool same = group->torus.size[i] == group->whole.size[i];

		hash = coll_hash(hash, group->whole.size[i]);
		hash = coll_hash(hash, same ? UINT64_MAX : group->at[i]);
	}
	for (uint32_t i = 0; group->rank && i < group->count; i++)
		hash = coll_hash(hash, group->rank[i]);
	return hash;
}

/* ---- The interface ---- */

static int group_fill(struct tofu_group *group, const uint32_t ranks[],
		      uint32_t count, const uint32_t size[])
{
	int code = UTOFU_SUCCESS;

	if (ranks) {
		code = list_take(group, ranks, count);
	} else {
		group->count = group->boot->job.ranks;
		group->number = group->boot->job.rank;
	}
	if (!code)
		code = shape_take(group, size);
	if (!code)
		group->identity = identity_of(group);
	return code;
}

int tofu_group_create(struct tofu_boot *boot, const uint32_t ranks[],
		      uint32_t count, const uint32_t size[],
		      struct tofu_group **result)
{
	struct tofu_group *group;
	int code;

	if (!boot || !result)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	group = calloc(1, sizeof(*group));
	if (!group)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	group->boot = boot;
	code = group_fill(group, ranks, count, size);
	if (code) {
		tofu_group_free(group);
		return tofu_error(code);
	}
	*result = group;
	return UTOFU_SUCCESS;
}

static int rank_copy(struct tofu_group *group)
{
	size_t all = 1;
	uint32_t *rank;

	if (!group->rank)
		return UTOFU_SUCCESS;
	for (int i = 0; i < TOFU_COLL_AXES; i++)
		all *= group->whole.size[i];
	rank = malloc(all * sizeof(*rank));
	if (rank)
		memcpy(rank, group->rank, all * sizeof(*rank));
	group->rank = rank;
	return rank ? UTOFU_SUCCESS : UTOFU_ERR_OUT_OF_MEMORY;
}

int tofu_group_sub(const struct tofu_group *group, unsigned int axes,
		   struct tofu_group **result)
{
	uint32_t at[TOFU_COLL_AXES];
	struct tofu_group *sub;

	if (!group || !result)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (axes >> TOFU_COLL_AXES)
		return tofu_error(UTOFU_ERR_INVALID_ARG);
	sub = malloc(sizeof(*sub));
	if (!sub)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	*sub = *group;
	if (rank_copy(sub)) {
		free(sub);
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	}
	sub->count = 1;
	for (int i = 0; i < TOFU_COLL_AXES; i++) {
		at[i] = group->at[i];
		if (!(axes >> i & 1))
			sub->torus.size[i] = 1;
		if (sub->torus.size[i] == 1)
			at[i] = 0;
		sub->count *= sub->torus.size[i];
	}
	sub->number = coll_number(&sub->torus, at);
	sub->identity = identity_of(sub);
	*result = sub;
	return UTOFU_SUCCESS;
}

int tofu_group_query(const struct tofu_group *group,
		     struct tofu_group_info *info)
{
	if (!group || !info)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	info->count = group->count;
	info->number = group->number;
	for (int i = 0; i < TOFU_COLL_AXES; i++)
		info->size[i] = group->torus.size[i];
	return UTOFU_SUCCESS;
}

int tofu_group_rank(const struct tofu_group *group, uint32_t number,
		    uint32_t *rank)
{
	if (!group || !rank)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (number >= group->count)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	*rank = coll_group_rank(group, number);
	return UTOFU_SUCCESS;
}

void tofu_group_free(struct tofu_group *group)
{
	if (!group)
		return;
	free(group->rank);
	free(group);
}
