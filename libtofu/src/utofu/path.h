/* SPDX-License-Identifier: MIT */
/*
 * Paths. A path is named by three coordinates A, B and C, or by a path ID, and
 * stands in a descriptor as TOFU_PATH_*; see vcq_id.h.
 */
#ifndef UTOFU_PATH_H
#define UTOFU_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "utofu/vcq_id.h"

/**
 * tofu_path_id_to - the path ID of path coordinates
 * @id:     a VCQ ID, or a value with its coordinate bits: its A, B and C are
 *          used if the first coordinate is UTOFU_PATH_COORD_NULL
 * @coords: path coordinates
 *
 * The instance is open. Return: -1 for coordinates outside the machine.
 */
int tofu_path_id_to(uint64_t id, const uint8_t coords[]);

/* tofu_path_id_exists - whether the machine has path @id or it is 0; instance
 * open
 */
bool tofu_path_id_exists(unsigned int id);

/* tofu_path_taken - descriptor path of a command to @id; both IDs are valid */
static inline unsigned int tofu_path_taken(utofu_vcq_id_t id,
					   unsigned int path_id)
{
	if (!path_id)
		path_id = (unsigned int)TOFU_GET(id, TOFU_VCQ_ID_PATH);
	return path_id ? path_id - 1 :
			 (unsigned int)TOFU_GET(id, TOFU_VCQ_ID_ABC);
}

#endif /* UTOFU_PATH_H */
