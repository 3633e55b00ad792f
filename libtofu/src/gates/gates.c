/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdlib.h>

#include <tofu/gates.h>

#include "boot/internal.h"
#include "gates/network.h"
#include "utofu/error.h"

/* Each gate has a word for each of its links to other processes. */
_Static_assert(BOOT_LINKS_MAX == TOFU_NETWORK_GATES_MAX,
	       "the boot has words for all gates of a network");

/**
 * struct tofu_gates
 * @count: gates of this process
 * @id:    their IDs
 */
struct tofu_gates {
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

static int gates_tell(const struct tofu_gates *gates, struct tofu_boot *boot,
		      const struct plan *plan)
{
	int code = UTOFU_SUCCESS;

	for (unsigned int i = 0; !code && i < gates->count; i++) {
		const struct tofu_gate_links *l = &plan->links[i];

		code = gate_tell(boot, l->dst_rank, l->dst_rmt, BOOT_LINK_SRC,
				 gates->id[i]);
		if (!code)
			code = gate_tell(boot, l->src_rank, l->src_rmt,
					 BOOT_LINK_DST, gates->id[i]);
	}
	return code;
}

/* A process that gets no gates tells the others, which wait for it. */
static int gates_allocate(struct tofu_gates *gates, struct tofu_boot *boot,
			  const struct plan *plan, utofu_tni_id_t tni,
			  unsigned long flags)
{
	int own = utofu_alloc_vbg(tni, plan->count, flags, gates->id);
	int code = UTOFU_SUCCESS;
	bool all;

	if (!own) {
		gates->count = plan->count;
		code = gates_tell(gates, boot, plan);
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

static int gates_link(const struct tofu_gates *gates, struct tofu_boot *boot,
		      const struct plan *plan)
{
	struct utofu_vbg_setting settings[TOFU_NETWORK_GATES_MAX];
	int code;

	for (unsigned int i = 0; i < gates->count; i++) {
		const struct tofu_gate_links *l = &plan->links[i];

		settings[i] = tofu_gate_setting(
			l, gates->id, i,
			told(boot, l->src_rmt, BOOT_LINK_SRC + i),
			told(boot, l->dst_rmt, BOOT_LINK_DST + i));
	}
	code = utofu_set_vbg(settings, gates->count);
	/* No signal may reach a gate that is not linked yet. */
	return code ? code : tofu_boot_barrier(boot);
}

int tofu_gates_create(struct tofu_boot *boot, utofu_tni_id_t tni,
		     unsigned long flags, struct tofu_gates **result)
{
	struct tofu_gates *gates;
	struct plan plan;
	int code;

	if (!boot || !result)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	gates = calloc(1, sizeof(*gates));
	if (!gates)
		return tofu_error(UTOFU_ERR_OUT_OF_MEMORY);
	plan.count = tofu_network_links(TOFU_NETWORK_BUTTERFLY,
					(unsigned int)tofu_boot_size(boot),
					(unsigned int)tofu_boot_rank(boot),
					plan.links);
	code = gates_allocate(gates, boot, &plan, tni, flags);
	if (!code)
		code = gates_link(gates, boot, &plan);
	if (code)
		tofu_gates_free(gates);
	else
		*result = gates;
	return code;
}

int tofu_gates_id(const struct tofu_gates *gates, utofu_vbg_id_t *gate)
{
	if (!gates || !gate)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	*gate = gates->id[0];
	return UTOFU_SUCCESS;
}

void tofu_gates_free(struct tofu_gates *gates)
{
	if (!gates)
		return;
	if (gates->count)
		utofu_free_vbg(gates->id, gates->count);
	free(gates);
}
