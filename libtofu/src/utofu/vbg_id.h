/* SPDX-License-Identifier: MIT */
/*
 * A VBG ID, bit by bit. Coordinates and TNI stand where a VCQ ID has them, the
 * number of the gate where a link word has it. MARK tells a VBG ID from a VCQ
 * ID, which has zeros there, and from UTOFU_VBG_ID_NULL.
 */
#ifndef UTOFU_VBG_ID_H
#define UTOFU_VBG_ID_H

#include <stdbool.h>

#include <utofu.h>

#include <tofu/barrier.h>

#include "utofu/vcq_id.h"

#define TOFU_VBG_ID_GATE_SHIFT 32
#define TOFU_VBG_ID_GATE_BITS 8
#define TOFU_VBG_ID_MARK_SHIFT 44
#define TOFU_VBG_ID_MARK_BITS 16
#define TOFU_VBG_ID_MARK 0xba9eULL

#define TOFU_VBG_ID_FIELDS                                             \
	(TOFU_FIELD(TOFU_VCQ_ID_NODE) | TOFU_FIELD(TOFU_VBG_ID_GATE) | \
	 TOFU_FIELD(TOFU_VBG_ID_MARK))

TOFU_ASSERT(!(TOFU_FIELD(TOFU_VBG_ID_MARK) & TOFU_VCQ_ID_FIELDS),
	    "no VCQ ID has the mark");

/* What a link word takes over as it is */
#define TOFU_VBG_ID_LINK \
	(TOFU_FIELD(TOFU_VCQ_ID_NODE) | TOFU_FIELD(TOFU_VBG_ID_GATE))
TOFU_ASSERT(TOFU_VBG_ID_LINK == (TOFU_FIELD(TOFU_LINK_COORDS) |
				 TOFU_FIELD(TOFU_LINK_TNI) |
				 TOFU_FIELD(TOFU_LINK_GATE)),
	    "a VBG ID is laid out as a link word is");

static inline unsigned int tofu_vbg_id_gate(utofu_vbg_id_t id)
{
	return (unsigned int)TOFU_GET(id, TOFU_VBG_ID_GATE);
}

/*
 * tofu_vbg_id_valid - whether this is a VBG ID; its gate may be one that no TNI
 * has
 */
static inline bool tofu_vbg_id_valid(utofu_vbg_id_t id)
{
	uint64_t node = TOFU_GET(id, TOFU_VCQ_ID_NODE);

	return !(id & ~TOFU_VBG_ID_FIELDS) && !tofu_vcq_id_carries(node) &&
	       TOFU_GET(id, TOFU_VBG_ID_MARK) == TOFU_VBG_ID_MARK;
}

#endif /* UTOFU_VBG_ID_H */
