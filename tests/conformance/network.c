// SPDX-License-Identifier: MIT
/* Networks of barrier gates: see network.h. */
#include "network.h"

const char *const network_names[NETWORKS] = { "butterfly", "ring", "tree" };

static void gates_alloc(struct gates *gates, utofu_tni_id_t tni,
			unsigned int count)
{
	utofu_vbg_id_t own[GATES_MAX] = { 0 };

	gates->count = count;
	CODE(utofu_alloc_vbg(tni, count, 0, own), UTOFU_SUCCESS);
	for (unsigned int g = 0; g < GATES_MAX; g++) {
		uint64_t all[RANKS_MAX];

		exchange(own[g], all);
		for (unsigned int r = 0; r < world.ranks; r++)
			gates->id[r][g] = all[r];
	}
	for (unsigned int g = 0; g < count; g++) {
		struct utofu_vbg_setting none = {
			.vbg_id = own[g],
			.src_lcl_vbg_id = UTOFU_VBG_ID_NULL,
			.src_rmt_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_lcl_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_rmt_vbg_id = UTOFU_VBG_ID_NULL,
			/* The first alone says that it is the default. */
			.dst_path_coords = { UTOFU_PATH_COORD_NULL, 7, 7, },
		};

		gates->link[g] = none;
	}
}

/* A signal from one own gate to another. */
static void link_local(struct gates *gates, unsigned int from, unsigned int to)
{
	gates->link[from].dst_lcl_vbg_id = gates->id[world.rank][to];
	gates->link[to].src_lcl_vbg_id = gates->id[world.rank][from];
}

static void link_to(struct gates *gates, unsigned int from, unsigned int rank,
		    unsigned int to)
{
	gates->link[from].dst_rmt_vbg_id = gates->id[rank][to];
}

static void link_from(struct gates *gates, unsigned int rank,
		      unsigned int from, unsigned int to)
{
	gates->link[to].src_rmt_vbg_id = gates->id[rank][from];
}

static unsigned int log2_of(unsigned int n)
{
	unsigned int steps = 0;

	while (1u << steps < n)
		steps++;
	return steps;
}

/* Step i meets the node whose number differs in bit i. */
static void butterfly(struct gates *gates)
{
	unsigned int steps = log2_of(world.ranks);

	for (unsigned int i = 0; i < steps; i++) {
		unsigned int partner = world.rank ^ 1u << i;

		link_local(gates, i, i + 1);
		link_to(gates, i, partner, i + 1);
		link_from(gates, partner, i, i + 1);
	}
	link_local(gates, steps, 0);
}

/* Once round to collect, by gates 1, and once more to tell, by gates 2. */
static void ring(struct gates *gates)
{
	unsigned int r = world.rank, last = world.ranks - 1;

	if (r > 0) {
		link_local(gates, 0, 1);
		link_from(gates, r - 1, r == 1 ? 0 : 1, 1);
	}
	if (r < last)
		link_to(gates, r == 0 ? 0 : 1, r + 1, 1);
	else
		link_to(gates, 1, 0, 2);
	if (r == last) {
		link_local(gates, 1, 0);
		return;
	}
	link_from(gates, r == 0 ? last : r - 1, r == 0 ? 1 : 2, 2);
	if (r + 1 < last)
		link_to(gates, 2, r + 1, 2);
	link_local(gates, 2, 0);
}

static unsigned int children(unsigned int r)
{
	return (2 * r + 1 < world.ranks) + (2 * r + 2 < world.ranks);
}

/*
 * A tree of two children a node: gates 1 and 2 collect from a child each, gates
 * 3 and 4 tell a child each. A leaf's end gate hears from its parent itself.
 */
static void tree(struct gates *gates)
{
	unsigned int r = world.rank, n = children(r);
	unsigned int parent = (r - 1) / 2, side = (r - 1) % 2;

	for (unsigned int c = 0; c < n; c++) {
		unsigned int child = 2 * r + 1 + c;

		link_local(gates, c, c + 1);
		link_from(gates, child, children(child), c + 1);
		link_to(gates, 3 + c, child, children(child) ? 3 : 0);
		link_local(gates, 3 + c, c + 1 < n ? 4 + c : 0);
	}
	if (r == 0) {
		link_local(gates, n, 3);
		return;
	}
	link_to(gates, n, parent, 1 + side);
	link_from(gates, parent, 3 + side, n ? 3 : 0);
}

bool network_make(struct gates *gates, enum network network,
		  utofu_tni_id_t tni)
{
	if (network == BUTTERFLY && (world.ranks & (world.ranks - 1)))
		return false;
	gates_alloc(gates, tni, network == BUTTERFLY ?
					log2_of(world.ranks) + 1 :
				network == RING ? 3 :
						  5);
	if (network == BUTTERFLY)
		butterfly(gates);
	else if (network == RING)
		ring(gates);
	else
		tree(gates);
	CODE(utofu_set_vbg(gates->link, gates->count), UTOFU_SUCCESS);
	meet();
	return true;
}

void network_free(struct gates *gates)
{
	meet();
	CODE(utofu_free_vbg(gates->id[world.rank], gates->count),
	     UTOFU_SUCCESS);
	meet();
}

utofu_vbg_id_t start_of(const struct gates *gates)
{
	return gates->id[world.rank][0];
}

/* ---- Waiting for the end ---- */

int end_barrier(utofu_vbg_id_t vbg)
{
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_poll_barrier(vbg, 0);
	} while (code == UTOFU_ERR_NOT_COMPLETED && patient(&patience));
	return code;
}

int end_uint64(utofu_vbg_id_t vbg, uint64_t data[])
{
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_poll_reduce_uint64(vbg, 0, data);
	} while (code == UTOFU_ERR_NOT_COMPLETED && patient(&patience));
	return code;
}

int end_double(utofu_vbg_id_t vbg, double data[])
{
	struct patience patience = { 0 };
	int code;

	do {
		code = utofu_poll_reduce_double(vbg, 0, data);
	} while (code == UTOFU_ERR_NOT_COMPLETED && patient(&patience));
	return code;
}
