/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>

#include <tofu/coll.h>

#include "boot/internal.h"
#include "coll/gates.h"
#include "utofu/error.h"

/* Each gate has a word for each of its links to other processes. */
_Static_assert(BOOT_LINKS_MAX == TOFU_NETWORK_GATES_MAX,
	       "the boot has words for all gates of a network");

/**
 * struct tofu_coll
 * @count: gates of this process
 * @id:    their IDs
 */
struct tofu_coll {
	unsigned int count;
	utofu_vbg_id_t id[TOFU_NETWORK_GATES_MAX];
};

/**
 * struct plan - a network while it is made
 * @count: gates of this process
 * @links: theirs
 */
struct plan {
	unsigned int count;
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
};

/* ---- Telling the gates at the other ends of the links ---- */

/*
 * A gate's ID is put to the words of the gates that it is linked with, so a
 * process sends as many words as it has links, and not one to every process.
 */
static int gate_tell(struct tofu_boot *boot, unsigned int rank, int gate,
		     size_t words, utofu_vbg_id_t id)
{
	int code;

	if (gate == TOFU_GATE_NONE)
		return UTOFU_SUCCESS;
	code = boot_put(boot, rank, words + (size_t)gate, id);
	return code ? boot_say_put(boot, rank, code) : UTOFU_SUCCESS;
}

static int gates_tell(const struct tofu_coll *coll, struct tofu_boot *boot,
		      const struct plan *plan)
{
	int code = UTOFU_SUCCESS;

	for (unsigned int i = 0; !code && i < coll->count; i++) {
		const struct tofu_gate_links *l = &plan->links[i];

		code = gate_tell(boot, l->dst_rank, l->dst_rmt, BOOT_LINK_SRC,
				 coll->id[i]);
		if (!code)
			code = gate_tell(boot, l->src_rank, l->src_rmt,
					 BOOT_LINK_DST, coll->id[i]);
	}
	return code;
}

/* A process that gets no gates tells the others, which wait for it. */
static int gates_allocate(struct tofu_coll *coll, struct tofu_boot *boot,
			  const struct plan *plan, utofu_tni_id_t tni,
			  unsigned long flags)
{
	int own = utofu_alloc_vbg(tni, plan->count, flags, coll->id);
	int code = UTOFU_SUCCESS;
	bool all;

	if (!own) {
		coll->count = plan->count;
		code = gates_tell(coll, boot, plan);
	}
	if (!code)
		code = boot_agree(boot, !own, &all);
	if (own || code)
		return own ? own : code;
	return all ? UTOFU_SUCCESS : tofu_error(UTOFU_ERR_FULL);
}

/* ---- Linking ---- */

static utofu_vbg_id_t told(const struct tofu_boot *boot, int link, size_t word)
{
	return link == TOFU_GATE_NONE ? UTOFU_VBG_ID_NULL :
					boot_word(boot, word);
}

static int gates_link(const struct tofu_coll *coll, struct tofu_boot *boot,
		      const struct plan *plan)
{
	struct utofu_vbg_setting settings[TOFU_NETWORK_GATES_MAX];
	int code;

	for (unsigned int i = 0; i < coll->count; i++) {
		const struct tofu_gate_links *l = &plan->links[i];

		settings[i] = tofu_gate_setting(
			l, coll->id, i,
			told(boot, l->src_rmt, BOOT_LINK_SRC + i),
			told(boot, l->dst_rmt, BOOT_LINK_DST + i));
	}
	code = utofu_set_vbg(settings, coll->count);
	/* No signal may reach a gate that is not linked yet. */
	return code ? code : tofu_boot_barrier(boot);
}

int tofu_coll_create(struct tofu_boot *boot, utofu_tni_id_t tni,
		     unsigned long flags, struct tofu_coll **result)
{
	struct tofu_coll *coll;
	struct plan plan;
	int code;

	if (!boot || !result)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	coll = calloc(1, sizeof(*coll));
	if (!coll)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	plan.count = tofu_network_links(TOFU_NETWORK_BUTTERFLY,
					(unsigned int)tofu_boot_size(boot),
					(unsigned int)tofu_boot_rank(boot),
					plan.links);
	code = gates_allocate(coll, boot, &plan, tni, flags);
	if (!code)
		code = gates_link(coll, boot, &plan);
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
