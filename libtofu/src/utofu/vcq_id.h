/* SPDX-License-Identifier: MIT */
/*
 * A VCQ ID, bit by bit. Coordinates and TNI stand where a descriptor's route
 * has them. NUMBER is the lane of the VCQ in its queue: the component ID, or
 * TOFU_LANE_ANONYMOUS and up. PATH is a path ID: 0 for the default, else the
 * descriptor's path plus one.
 */
#ifndef UTOFU_VCQ_ID_H
#define UTOFU_VCQ_ID_H

#include <stdbool.h>

#include <utofu.h>

#include <tofu/desc.h>

#include "net/topology.h"

#define TOFU_VCQ_ID_NODE_SHIFT 0 /* coordinates and TNI */
#define TOFU_VCQ_ID_NODE_BITS 31
#define TOFU_VCQ_ID_CQ_SHIFT 32
#define TOFU_VCQ_ID_CQ_BITS 6
#define TOFU_VCQ_ID_NUMBER_SHIFT 40
#define TOFU_VCQ_ID_NUMBER_BITS 4
#define TOFU_VCQ_ID_PATH_SHIFT 60
#define TOFU_VCQ_ID_PATH_BITS 4

/* Coordinates A, B and C have the layout of a path: TOFU_PATH_*. */
#define TOFU_VCQ_ID_ABC_SHIFT TOFU_ROUTE_A_SHIFT
#define TOFU_VCQ_ID_ABC_BITS 4
TOFU_ASSERT(TOFU_ROUTE_B_SHIFT - TOFU_ROUTE_A_SHIFT == TOFU_PATH_B_SHIFT &&
		    TOFU_ROUTE_C_SHIFT - TOFU_ROUTE_A_SHIFT ==
			    TOFU_PATH_C_SHIFT &&
		    TOFU_ROUTE_B_BITS == TOFU_PATH_B_BITS,
	    "the default path is the coordinates A, B and C");

#define TOFU_VCQ_ID_FIELDS                                               \
	(TOFU_FIELD(TOFU_VCQ_ID_NODE) | TOFU_FIELD(TOFU_VCQ_ID_CQ) | \
	 TOFU_FIELD(TOFU_VCQ_ID_NUMBER) | TOFU_FIELD(TOFU_VCQ_ID_PATH))

/* STAGs per lane that programs can choose */
#define TOFU_STAGS_RESERVED 256

/* tofu_path_id_valid - whether @id is 0 or a path plus one */
static inline bool tofu_path_id_valid(unsigned int id)
{
	return id == 0 || (id <= 14 && tofu_path_valid(id - 1));
}

/* Added to a field, makes every number that does not exist carry. */
#define TOFU_VCQ_ID_SPARE(field, count) \
	TOFU_SET(field, TOFU_MASK(field##_BITS) + 1 - (count))
#define TOFU_VCQ_ID_CARRY(field) (1ULL << (field##_SHIFT + field##_BITS))

/*
 * tofu_vcq_id_carries - fields with numbers that do not exist, the path aside
 *
 * Checks all fields at once, since every put does it.
 *
 * Return: a bit above each such field, 0 for none.
 */
static inline uint64_t tofu_vcq_id_carries(utofu_vcq_id_t id)
{
	uint64_t spare =
		TOFU_VCQ_ID_SPARE(TOFU_ROUTE_B, 3) |
		TOFU_VCQ_ID_SPARE(TOFU_ROUTE_TNI, TOFU_TNIS_MAX) |
		TOFU_VCQ_ID_SPARE(TOFU_VCQ_ID_CQ, TOFU_CQS_PER_TNI);

	return ((id + spare) ^ id) & (TOFU_VCQ_ID_CARRY(TOFU_ROUTE_B) |
				      TOFU_VCQ_ID_CARRY(TOFU_ROUTE_TNI) |
				      TOFU_VCQ_ID_CARRY(TOFU_VCQ_ID_CQ));
}

/* tofu_vcq_id_valid - whether some VCQ could have this ID */
static inline bool tofu_vcq_id_valid(utofu_vcq_id_t id)
{
	return !(id & ~TOFU_VCQ_ID_FIELDS) && !tofu_vcq_id_carries(id) &&
	       tofu_path_id_valid(
		       (unsigned int)TOFU_GET(id, TOFU_VCQ_ID_PATH));
}

/* tofu_vcq_id_plain - the ID without a path, as in notices */
static inline utofu_vcq_id_t tofu_vcq_id_plain(utofu_vcq_id_t id)
{
	return id & ~TOFU_FIELD(TOFU_VCQ_ID_PATH);
}

#endif /* UTOFU_VCQ_ID_H */
