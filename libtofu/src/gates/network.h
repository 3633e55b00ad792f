/* SPDX-License-Identifier: MIT */
/*
 * Networks of barrier gates: how the gates of some ranks are linked so that a
 * barrier or reduction of all ranks ends at each. This is plain arithmetic:
 * every rank computes its own links, and ranks agree about each other's gates.
 *
 * In each network a rank's last signal to others leaves before its own barrier
 * ends, and no signal reaches a gate that has not finished the round before.
 * Dissemination is not offered: for 2^n ranks it takes the steps of the
 * butterfly, and for other numbers it would count some parts twice.
 *
 * May include: utofu/, boot/
 */
#ifndef GATES_NETWORK_H
#define GATES_NETWORK_H

#include <utofu.h>

/**
 * enum tofu_network
 * @TOFU_NETWORK_BUTTERFLY: recursive doubling, log2(ranks) steps; ranks beyond
 *     the largest power of 2 give their part to a partner and get the result
 *     from it
 * @TOFU_NETWORK_RING: twice around, 2 or 3 gates a rank
 * @TOFU_NETWORK_TREE: a binary tree, up and down again, 1 to 5 gates a rank
 */
enum tofu_network {
	TOFU_NETWORK_BUTTERFLY,
	TOFU_NETWORK_RING,
	TOFU_NETWORK_TREE,
	TOFU_NETWORKS,
};

/* Most gates that a rank needs: a butterfly of 2^31 ranks and more */
#define TOFU_NETWORK_GATES_MAX 33

/* In struct tofu_gate_links: no link */
#define TOFU_GATE_NONE (-1)

/**
 * struct tofu_gate_links - links of one gate
 * @src_lcl, @dst_lcl: gate of the same rank, or TOFU_GATE_NONE
 * @src_rmt, @dst_rmt: gate of rank @src_rank and @dst_rank, or TOFU_GATE_NONE
 *
 * Gates of a rank are counted from 0, which is its start and end gate.
 */
struct tofu_gate_links {
	int src_lcl;
	int src_rmt;
	unsigned int src_rank;
	int dst_lcl;
	int dst_rmt;
	unsigned int dst_rank;
};

/**
 * tofu_network_links - compute the links of a rank's gates
 * @rank:  below @ranks, which is 1 or more
 * @links: TOFU_NETWORK_GATES_MAX entries; filled, one for each gate
 *
 * Return: how many gates the rank has.
 */
unsigned int tofu_network_links(enum tofu_network network, unsigned int ranks,
				unsigned int rank,
				struct tofu_gate_links links[]);

/**
 * tofu_gate_setting - turn the links of one gate into a setting
 * @own:  VBG IDs of the rank's gates
 * @gate: number of the gate
 * @src_rmt, @dst_rmt: ID of the gate of the other rank, or UTOFU_VBG_ID_NULL
 */
struct utofu_vbg_setting tofu_gate_setting(const struct tofu_gate_links *links,
					   const utofu_vbg_id_t own[],
					   unsigned int gate,
					   utofu_vbg_id_t src_rmt,
					   utofu_vbg_id_t dst_rmt);

/**
 * tofu_network_settings - turn links into settings for utofu_set_vbg()
 * @links:  of rank @rank
 * @count:  number of links
 * @ids:    VBG IDs of all ranks' gates: gate g of rank r is ids[r * stride + g]
 * @settings: @count entries, filled
 */
void tofu_network_settings(const struct tofu_gate_links links[],
			   unsigned int count, unsigned int rank,
			   const utofu_vbg_id_t ids[], unsigned int stride,
			   struct utofu_vbg_setting settings[]);

#endif /* GATES_NETWORK_H */
