// SPDX-License-Identifier: MIT
/* Barrier gates of a group: a butterfly, see gates/network.h. */
#include <stdlib.h>

#include "coll/coll.h"

/* Gates of all groups are on one TNI. */
static int gate_tni(utofu_tni_id_t *tni)
{
	utofu_tni_id_t *tnis;
	size_t count;
	int code = utofu_get_barrier_tnis(&tnis, &count);

	if (code)
		return code;
	*tni = tnis[0];
	free(tnis);
	return UTOFU_SUCCESS;
}

static unsigned int links_of(const struct tofu_coll *coll,
			     struct tofu_gate_links links[])
{
	return tofu_network_links(TOFU_NETWORK_BUTTERFLY, coll->group->count,
				  coll->group->number, links);
}

/* Whether all members have gates, by a small collective of its own */
static int gates_agree(struct tofu_coll *coll, uint64_t have)
{
	uint64_t all = 0;
	const struct tofu_coll_spec spec = {
		.kind = TOFU_COLL_ALLREDUCE,
		.type = TOFU_COLL_UINT64,
		.op = TOFU_COLL_BAND,
		.count = 1,
		.send = &have,
		.recv = &all,
	};
	const struct tofu_coll_tuning tuning = {
		.algorithm = TOFU_COLL_DOUBLING,
	};
	int code = tofu_coll_run(coll->group, &spec, &tuning);

	return code || all ? code : UTOFU_ERR_FULL;
}

int coll_gates_alloc(struct tofu_coll *coll)
{
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	unsigned int count = links_of(coll, links);
	utofu_tni_id_t tni;
	int code = gate_tni(&tni);

	if (!code)
		code = utofu_alloc_vbg(tni, count, 0, coll->gate);
	coll->gates = code ? 0 : count;
	code = gates_agree(coll, !code);
	if (code && coll->gates) {
		utofu_free_vbg(coll->gate, coll->gates);
		coll->gates = 0;
	}
	return code;
}

/* The ID of another member's gate, from its card */
static int gate_of(struct tofu_coll *coll, int gate, uint32_t number,
		   utofu_vbg_id_t *id)
{
	uint64_t card[CARD_WORDS];
	int code;

	*id = UTOFU_VBG_ID_NULL;
	if (gate == TOFU_GATE_NONE)
		return UTOFU_SUCCESS;
	code = coll_card_of(coll, number, card);
	if (code)
		return code;
	*id = card[CARD_GATE + gate];
	coll->gate_peer[coll->gate_peers++] = (struct coll_gate_peer){
		.rank = coll_group_rank(coll->group, number),
		.slot = (uint32_t)card[CARD_SLOT],
	};
	return UTOFU_SUCCESS;
}

static int gates_meet(struct tofu_coll *coll)
{
	const struct tofu_coll_spec spec = { .kind = TOFU_COLL_BARRIER };
	const struct tofu_coll_tuning tuning = {
		.algorithm = TOFU_COLL_DISSEMINATION,
	};

	return tofu_coll_run(coll->group, &spec, &tuning);
}

int coll_gates_link(struct tofu_coll *coll)
{
	struct utofu_vbg_setting settings[TOFU_NETWORK_GATES_MAX];
	struct tofu_gate_links links[TOFU_NETWORK_GATES_MAX];
	int code = UTOFU_SUCCESS;

	links_of(coll, links);
	for (unsigned int i = 0; i < coll->gates && !code; i++) {
		utofu_vbg_id_t src, dst;

		code = gate_of(coll, links[i].src_rmt, links[i].src_rank, &src);
		if (!code)
			code = gate_of(coll, links[i].dst_rmt,
				       links[i].dst_rank, &dst);
		if (!code)
			settings[i] = tofu_gate_setting(&links[i], coll->gate,
							i, src, dst);
	}
	if (!code)
		code = utofu_set_vbg(settings, coll->gates);
	return code ? code : gates_meet(coll);
}
