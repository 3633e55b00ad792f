/* SPDX-License-Identifier: MIT */
/*
 * A VBG ID, bit by bit. The layout is that of the real machine, since programs
 * take IDs apart, and compose IDs of other nodes' gates.
 */
#ifndef UTOFU_VBG_ID_H
#define UTOFU_VBG_ID_H

#include <stdbool.h>

#include <utofu.h>

#include <tofu/barrier.h>

#include "utofu/vcq_id.h"

#define TOFU_VBG_ID_GATE_SHIFT 0
#define TOFU_VBG_ID_GATE_BITS 6
#define TOFU_VBG_ID_COORDS_SHIFT 32 /* laid out as in a route */
#define TOFU_VBG_ID_COORDS_BITS TOFU_ROUTE_COORDS_BITS
#define TOFU_VBG_ID_TNI_SHIFT 61
#define TOFU_VBG_ID_TNI_BITS TOFU_ROUTE_TNI_BITS

#define TOFU_VBG_ID_FIELDS                                             \
	(TOFU_FIELD(TOFU_VBG_ID_GATE) | TOFU_FIELD(TOFU_VBG_ID_COORDS) | \
	 TOFU_FIELD(TOFU_VBG_ID_TNI))

TOFU_ASSERT(TOFU_GATES <= TOFU_MASK(TOFU_VBG_ID_GATE_BITS) + 1,
	    "a gate's number fits");

static inline unsigned int tofu_vbg_id_gate(utofu_vbg_id_t id)
{
	return (unsigned int)TOFU_GET(id, TOFU_VBG_ID_GATE);
}

static inline unsigned int tofu_vbg_id_tni(utofu_vbg_id_t id)
{
	return (unsigned int)TOFU_GET(id, TOFU_VBG_ID_TNI);
}

/* tofu_vbg_id_route - coordinates and TNI, placed as in a route or VCQ ID */
static inline uint64_t tofu_vbg_id_route(utofu_vbg_id_t id)
{
	return TOFU_SET(TOFU_ROUTE_COORDS,
			TOFU_GET(id, TOFU_VBG_ID_COORDS)) |
	       TOFU_SET(TOFU_ROUTE_TNI, tofu_vbg_id_tni(id));
}

static inline utofu_vbg_id_t tofu_vbg_id_of(uint64_t coords, unsigned int tni,
					    unsigned int gate)
{
	return TOFU_SET(TOFU_VBG_ID_GATE, gate) |
	       TOFU_SET(TOFU_VBG_ID_COORDS, coords) |
	       TOFU_SET(TOFU_VBG_ID_TNI, tni);
}

/*
 * tofu_vbg_id_valid - whether this is a VBG ID; its gate need not exist on any
 * TNI
 */
static inline bool tofu_vbg_id_valid(utofu_vbg_id_t id)
{
	return !(id & ~TOFU_VBG_ID_FIELDS) &&
	       !tofu_vcq_id_carries(tofu_vbg_id_route(id));
}

#endif /* UTOFU_VBG_ID_H */
