/* SPDX-License-Identifier: MIT */
/*
 * Paths. Three coordinates A, B and C name one, so does a path ID, and a
 * descriptor has it as TOFU_PATH_*; see vcq_id.h.
 */
#ifndef UTOFU_PATH_H
#define UTOFU_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "utofu/vcq_id.h"

/**
 * tofu_path_id_to - the path ID of path coordinates
 * @id:     whose own A, B and C are taken where the first coordinate is
 *          UTOFU_PATH_COORD_NULL: a VCQ ID, or what has these bits as one
 * @coords: path coordinates
 *
 * The instance is open. Return: -1 for coordinates outside the machine.
 */
int tofu_path_id_to(uint64_t id, const uint8_t coords[]);

/* tofu_path_id_exists - whether the machine has the path; 0 is one; likewise */
bool tofu_path_id_exists(unsigned int id);

/* tofu_path_taken - of a command to @id, as in its descriptor; both are valid */
static inline unsigned int tofu_path_taken(utofu_vcq_id_t id,
					   unsigned int path_id)
{
	if (!path_id)
		path_id = (unsigned int)TOFU_GET(id, TOFU_VCQ_ID_PATH);
	return path_id ? path_id - 1 :
			 (unsigned int)TOFU_GET(id, TOFU_VCQ_ID_ABC);
}

#endif /* UTOFU_PATH_H */
