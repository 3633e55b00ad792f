/* SPDX-License-Identifier: MIT */
#include "gates/network.h"

/* ---- Links of one rank ---- */

static void link_none(struct tofu_gate_links links[], unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		links[i] = (struct tofu_gate_links){
			.src_lcl = TOFU_GATE_NONE,
			.src_rmt = TOFU_GATE_NONE,
			.dst_lcl = TOFU_GATE_NONE,
			.dst_rmt = TOFU_GATE_NONE,
		};
}

static void link_lcl(struct tofu_gate_links links[], unsigned int from,
		     unsigned int to)
{
	links[from].dst_lcl = (int)to;
	links[to].src_lcl = (int)from;
}

static void link_to(struct tofu_gate_links links[], unsigned int gate,
		    unsigned int rank, unsigned int to)
{
	links[gate].dst_rank = rank;
	links[gate].dst_rmt = (int)to;
}

static void link_from(struct tofu_gate_links links[], unsigned int gate,
		      unsigned int rank, unsigned int from)
{
	links[gate].src_rank = rank;
	links[gate].src_rmt = (int)from;
}

/* ---- Butterfly ---- */

/*
 * Ranks 0 … 2^steps - 1 double; each of the rest has a partner among them. Gate
 * 1 of such a partner adds the other rank's part to its own. Then there is one
 * gate a step: in step i, gate first(rank) + i signals gate first(rank) + i + 1
 * of its own rank, and the corresponding gate of the rank across.
 */
struct butterfly {
	unsigned int ranks;
	unsigned int steps;
};

static struct butterfly butterfly_of(unsigned int ranks)
{
	struct butterfly b = { .ranks = ranks };

	while (ranks >>= 1)
		b.steps++;
	return b;
}

static unsigned int doubling(const struct butterfly *b)
{
	return 1U << b->steps;
}

/* The gate that has all that a rank contributes to the first step */
static unsigned int first(const struct butterfly *b, unsigned int rank)
{
	return rank < b->ranks - doubling(b);
}

/* The gate of the last step, which has the result */
static unsigned int last(const struct butterfly *b, unsigned int rank)
{
	return first(b, rank) + b->steps;
}

static unsigned int butterfly_partner(const struct butterfly *b,
				      unsigned int rank,
				      struct tofu_gate_links links[])
{
	unsigned int partner = rank - doubling(b);

	link_none(links, 1);
	link_to(links, 0, partner, 1);
	link_from(links, 0, partner, last(b, partner));
	return 1;
}

static unsigned int butterfly_links(unsigned int ranks, unsigned int rank,
				    struct tofu_gate_links links[])
{
	struct butterfly b = butterfly_of(ranks);
	unsigned int end;

	if (rank >= doubling(&b))
		return butterfly_partner(&b, rank, links);
	end = last(&b, rank);
	link_none(links, end + 1);
	if (first(&b, rank)) {
		link_lcl(links, 0, 1);
		link_from(links, 1, rank + doubling(&b), 0);
		link_to(links, end, rank + doubling(&b), 0);
	}
	for (unsigned int i = 0; i < b.steps; i++) {
		unsigned int from = first(&b, rank) + i;
		unsigned int across = rank ^ 1U << i;

		link_lcl(links, from, from + 1);
		link_to(links, from, across, first(&b, across) + i + 1);
		link_from(links, from + 1, across, first(&b, across) + i);
	}
	if (end)
		link_lcl(links, end, 0);
	return end + 1;
}

/* ---- Ring ---- */

/*
 * The first turn gathers, at gate ring_gather() of each rank; rank 0's is its
 * start gate, which begins the turn. The last rank's gate then sends the result
 * around, through gate ring_spread() of each other rank.
 */
static unsigned int ring_gather(unsigned int rank)
{
	return rank ? 1 : 0;
}

static unsigned int ring_spread(unsigned int rank)
{
	return rank ? 2 : 1;
}

static unsigned int ring_links(unsigned int ranks, unsigned int rank,
			       struct tofu_gate_links links[])
{
	unsigned int end = ranks - 1;
	unsigned int gather = ring_gather(rank), spread = ring_spread(rank);

	if (rank == end)
		spread = gather;
	link_none(links, spread + 1);
	if (ranks == 1)
		return 1;
	if (rank) {
		link_lcl(links, 0, gather);
		link_from(links, gather, rank - 1, ring_gather(rank - 1));
	}
	if (rank < end) {
		link_to(links, gather, rank + 1, ring_gather(rank + 1));
		link_from(links, spread, (rank ? rank : ranks) - 1,
			  rank ? ring_spread(rank - 1) : ring_gather(end));
	}
	if (rank == end)
		link_to(links, spread, 0, ring_spread(0));
	else if (rank + 1 < end)
		link_to(links, spread, rank + 1, ring_spread(rank + 1));
	link_lcl(links, spread, 0);
	return spread + 1;
}

/* ---- Tree ---- */

/*
 * The parent of rank r is (r - 1) / 2. Gate i adds the part of the i-th child,
 * so the last such gate has the sum of the subtree. As many gates pass the
 * result to the children, one each; at rank 0, the gate that has the sum is the
 * first of these.
 */
static unsigned int tree_child(unsigned int rank, unsigned int i)
{
	return 2 * rank + i;
}

static unsigned int tree_children(unsigned int ranks, unsigned int rank)
{
	if (tree_child(rank, 1) >= ranks)
		return 0;
	return tree_child(rank, 2) >= ranks ? 1 : 2;
}

static unsigned int tree_top(unsigned int ranks, unsigned int rank)
{
	return tree_children(ranks, rank);
}

/* The gate that passes the result to child @i */
static unsigned int tree_down(unsigned int ranks, unsigned int rank,
			      unsigned int i)
{
	return tree_children(ranks, rank) + i - !rank;
}

/* The gate that gets the result from the parent */
static unsigned int tree_entry(unsigned int ranks, unsigned int rank)
{
	return tree_children(ranks, rank) ? tree_down(ranks, rank, 1) : 0;
}

static void tree_parent(unsigned int ranks, unsigned int rank,
			struct tofu_gate_links links[])
{
	unsigned int parent = (rank - 1) / 2, i = 2 - rank % 2;

	link_to(links, tree_top(ranks, rank), parent, i);
	link_from(links, tree_entry(ranks, rank), parent,
		  tree_down(ranks, parent, i));
}

static unsigned int tree_links(unsigned int ranks, unsigned int rank,
			       struct tofu_gate_links links[])
{
	unsigned int children = tree_children(ranks, rank);
	unsigned int end = children ? tree_down(ranks, rank, children) : 0;

	link_none(links, end + 1);
	if (rank)
		tree_parent(ranks, rank, links);
	for (unsigned int i = 1; i <= children; i++) {
		unsigned int child = tree_child(rank, i);
		unsigned int down = tree_down(ranks, rank, i);

		link_lcl(links, i - 1, i);
		link_from(links, i, child, tree_top(ranks, child));
		link_to(links, down, child, tree_entry(ranks, child));
		link_lcl(links, down, i < children ? down + 1 : 0);
	}
	return end + 1;
}

/* ---- All networks ---- */

unsigned int tofu_network_links(enum tofu_network network, unsigned int ranks,
				unsigned int rank,
				struct tofu_gate_links links[])
{
	switch (network) {
	case TOFU_NETWORK_RING:
		return ring_links(ranks, rank, links);
	case TOFU_NETWORK_TREE:
		return tree_links(ranks, rank, links);
	default:
		return butterfly_links(ranks, rank, links);
	}
}

static utofu_vbg_id_t id_of(const utofu_vbg_id_t ids[], int gate)
{
	return gate == TOFU_GATE_NONE ? UTOFU_VBG_ID_NULL : ids[gate];
}

struct utofu_vbg_setting tofu_gate_setting(const struct tofu_gate_links *links,
					   const utofu_vbg_id_t own[],
					   unsigned int gate,
					   utofu_vbg_id_t src_rmt,
					   utofu_vbg_id_t dst_rmt)
{
	return (struct utofu_vbg_setting){
		.vbg_id = own[gate],
		.src_lcl_vbg_id = id_of(own, links->src_lcl),
		.src_rmt_vbg_id = src_rmt,
		.dst_lcl_vbg_id = id_of(own, links->dst_lcl),
		.dst_rmt_vbg_id = dst_rmt,
		.dst_path_coords = { UTOFU_PATH_COORD_NULL,
				     UTOFU_PATH_COORD_NULL,
				     UTOFU_PATH_COORD_NULL },
	};
}

void tofu_network_settings(const struct tofu_gate_links links[],
			   unsigned int count, unsigned int rank,
			   const utofu_vbg_id_t ids[], unsigned int stride,
			   struct utofu_vbg_setting settings[])
{
	const utofu_vbg_id_t *own = ids + (size_t)rank * stride;

	for (unsigned int i = 0; i < count; i++) {
		const struct tofu_gate_links *l = &links[i];
		size_t src = (size_t)l->src_rank * stride;
		size_t dst = (size_t)l->dst_rank * stride;

		settings[i] = tofu_gate_setting(l, own, i,
						id_of(ids + src, l->src_rmt),
						id_of(ids + dst, l->dst_rmt));
	}
}
