/* SPDX-License-Identifier: MIT */
#include <tofu/job.h>

#include "port/launch.h"
#include "utofu/instance.h"

_Static_assert(TOFU_JOB_AXES == TOFU_AXES, "a shape has all axes");

/* Opens the instance, too. */
static int launch_get(struct tofu_launch *launch)
{
	int code = tofu_instance_open();

	if (code)
		return code;
	if (tofu_launch_find(launch) ||
	    tofu_launch_place(launch, &tofu_instance()->shape,
			      tofu_instance()->port->info.node))
		return tofu_error(UTOFU_ERR_NOT_AVAILABLE);
	return UTOFU_SUCCESS;
}

int tofu_query_job(struct tofu_job_info *info)
{
	struct tofu_launch launch;
	int code;

	if (!info)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	code = launch_get(&launch);
	if (code)
		return code;
	*info = (struct tofu_job_info){
		.rank = launch.rank,
		.ranks = launch.ranks,
		.ppn = launch.ppn,
		.nodes = tofu_shape_nodes(&tofu_instance()->shape),
	};
	for (int i = 0; i < TOFU_AXES; i++)
		info->shape[i] = tofu_instance()->shape.size[i];
	return UTOFU_SUCCESS;
}

int tofu_query_rank_coords(uint32_t rank, uint8_t coords[])
{
	struct tofu_launch launch;
	struct tofu_coords at;
	int code;

	if (!coords)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	code = launch_get(&launch);
	if (code)
		return code;
	if (rank >= launch.ranks)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	at = tofu_coords_of(&tofu_instance()->shape,
			    tofu_launch_node(&launch, rank));
	for (int i = 0; i < TOFU_AXES; i++)
		coords[i] = at.c[i];
	return UTOFU_SUCCESS;
}
