/* SPDX-License-Identifier: MIT */
/*
 * Paths: as coordinates, as path IDs, and in VCQ IDs.
 */
#include "utofu/path.h"

#include "utofu/instance.h"
#include "utofu/vcq_id.h"

/* ---- Instance open ---- */

/* Return: the path ID of path coordinates; -1 if they are out of range. */
static int path_id_of(const uint8_t coords[])
{
	const uint16_t *size = tofu_instance()->shape.size;

	if (coords[0] >= size[TOFU_A] || coords[1] >= size[TOFU_B] ||
	    coords[2] >= size[TOFU_C])
		return -1;
	return 1 + (int)(TOFU_SET(TOFU_PATH_A, coords[0]) |
			 TOFU_SET(TOFU_PATH_B, coords[1]) |
			 TOFU_SET(TOFU_PATH_C, coords[2]));
}

static void coords_of_path(unsigned int path, uint8_t coords[])
{
	coords[0] = (uint8_t)TOFU_GET(path, TOFU_PATH_A);
	coords[1] = (uint8_t)TOFU_GET(path, TOFU_PATH_B);
	coords[2] = (uint8_t)TOFU_GET(path, TOFU_PATH_C);
}

int tofu_path_id_to(uint64_t id, const uint8_t coords[])
{
	uint8_t own[3];

	if (coords[0] != UTOFU_PATH_COORD_NULL)
		return path_id_of(coords);
	coords_of_path((unsigned int)TOFU_GET(id, TOFU_VCQ_ID_ABC), own);
	return path_id_of(own);
}

bool tofu_path_id_exists(unsigned int id)
{
	uint8_t coords[3];

	if (!id || !tofu_path_id_valid(id))
		return !id;
	coords_of_path(id - 1, coords);
	return path_id_of(coords) >= 0;
}

/* ---- The interface ---- */

int utofu_set_vcq_id_path(utofu_vcq_id_t *id, uint8_t path_coords[])
{
	int path = 0;

	if (!id)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!tofu_vcq_id_valid(*id))
		return tofu_error(UTOFU_ERR_INVALID_VCQ_ID);
	if (path_coords) {
		int code = tofu_instance_open();

		if (code)
			return code;
		path = path_id_of(path_coords);
		if (path < 0)
			return tofu_error(UTOFU_ERR_INVALID_PATH);
	}
	*id &= ~TOFU_FIELD(TOFU_VCQ_ID_PATH);
	*id |= TOFU_SET(TOFU_VCQ_ID_PATH, path);
	return UTOFU_SUCCESS;
}

int utofu_get_path_id(utofu_vcq_id_t id, uint8_t path_coords[],
		      utofu_path_id_t *path_id)
{
	int code, path;

	if (!path_coords || !path_id)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!tofu_vcq_id_valid(id))
		return tofu_error(UTOFU_ERR_INVALID_VCQ_ID);
	code = tofu_instance_open();
	if (code)
		return code;
	path = tofu_path_id_to(id, path_coords);
	if (path < 0)
		return tofu_error(UTOFU_ERR_INVALID_PATH);
	*path_id = (utofu_path_id_t)path;
	return UTOFU_SUCCESS;
}

int utofu_get_path_coords(utofu_vcq_id_t id, utofu_path_id_t path_id,
			  uint8_t path_coords[])
{
	int code;

	if (!path_coords)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!tofu_vcq_id_valid(id))
		return tofu_error(UTOFU_ERR_INVALID_VCQ_ID);
	code = tofu_instance_open();
	if (code)
		return code;
	if (!tofu_path_id_exists(path_id))
		return tofu_error(UTOFU_ERR_INVALID_PATH_ID);
	coords_of_path(tofu_path_taken(id, path_id), path_coords);
	return UTOFU_SUCCESS;
}
