/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>

#include <tofu/coll.h>

#include "coll/gates.h"
#include "utofu/error.h"

/**
 * struct tofu_coll
 * @ranks, @rank: of the boot
 * @count:  gates of this process
 * @stride: gates that a process has at most
 * @all:    IDs of all processes' gates, while they are linked
 * @links:  of this process's gates
 * @id:     IDs of this process's gates
 */
struct tofu_coll {
	unsigned int ranks;
	unsigned int rank;
	unsigned int count;
	unsigned int stride;
	utofu_vbg_id_t *all;
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	utofu_vbg_id_t id[TOFU_NETWORK_GATES_MAX];
};

static struct tofu_coll *coll_new(const struct tofu_boot *boot)
{
	struct tofu_coll *coll = calloc(1, sizeof(*coll));

	if (!coll)
		return NULL;
	coll->ranks = (unsigned int)tofu_boot_size(boot);
	coll->rank = (unsigned int)tofu_boot_rank(boot);
	/* Rank 0 has a partner if any rank has, so none has more gates. */
	coll->stride = tofu_network_links(TOFU_NETWORK_BUTTERFLY, coll->ranks,
					  0, coll->links);
	coll->all = calloc(coll->ranks, coll->stride * sizeof(*coll->all));
	if (coll->all)
		return coll;
	free(coll);
	return NULL;
}

static bool all_have_gates(const struct tofu_coll *coll)
{
	for (size_t r = 0; r < coll->ranks; r++)
		if (coll->all[r * coll->stride] == UTOFU_VBG_ID_NULL)
			return false;
	return true;
}

/* A process that gets no gates tells the others, which wait for it. */
static int gates_allocate(struct tofu_coll *coll, struct tofu_boot *boot,
			  utofu_tni_id_t tni, unsigned long flags)
{
	unsigned int count = tofu_network_links(TOFU_NETWORK_BUTTERFLY,
						coll->ranks, coll->rank,
						coll->links);
	int own = utofu_alloc_vbg(tni, count, flags, coll->id);
	int code;

	if (own)
		coll->id[0] = UTOFU_VBG_ID_NULL;
	else
		coll->count = count;
	code = tofu_boot_allgather(boot, coll->id,
				   coll->stride * sizeof(coll->id[0]),
				   coll->all);
	if (own || code)
		return own ? own : code;
	return all_have_gates(coll) ? UTOFU_SUCCESS :
				      tofu_error(UTOFU_ERR_FULL);
}

static int gates_link(const struct tofu_coll *coll, struct tofu_boot *boot)
{
	struct utofu_vbg_setting settings[TOFU_NETWORK_GATES_MAX];
	int code;

	tofu_network_settings(coll->links, coll->count, coll->rank, coll->all,
			      coll->stride, settings);
	code = utofu_set_vbg(settings, coll->count);
	/* No signal may reach a gate that is not linked yet. */
	return code ? code : tofu_boot_barrier(boot);
}

int tofu_coll_create(struct tofu_boot *boot, utofu_tni_id_t tni,
		     unsigned long flags, struct tofu_coll **result)
{
	struct tofu_coll *coll;
	int code;

	if (!boot || !result)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	coll = coll_new(boot);
	if (!coll)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	code = gates_allocate(coll, boot, tni, flags);
	if (!code)
		code = gates_link(coll, boot);
	free(coll->all);
	coll->all = NULL;
	if (code)
		tofu_coll_free(coll);
	else
		*result = coll;
	return code;
}

int tofu_coll_gate(const struct tofu_coll *coll, utofu_vbg_id_t *gate)
{
	if (!coll || !gate)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	*gate = coll->id[0];
	return UTOFU_SUCCESS;
}

void tofu_coll_free(struct tofu_coll *coll)
{
	if (!coll)
		return;
	if (coll->count)
		utofu_free_vbg(coll->id, coll->count);
	free(coll);
}
