// SPDX-License-Identifier: MIT
#include <errno.h>

#include "error.h"
#include "machine.h"

int tofu_machine_find(struct tofu_machine *machine, char **why)
{
	struct tofu_coords coords;
	struct utofu_onesided_caps *caps;
	int64_t node;
	int code = tofu_query_job(&machine->job);

	if (code == UTOFU_SUCCESS)
		code = utofu_query_my_coords(coords.c);
	if (code == UTOFU_SUCCESS)
		code = utofu_query_onesided_caps(0, &caps);
	if (code != UTOFU_SUCCESS) {
		tofu_error_say(why, "cannot use the interconnect: %s",
			       tofu_error_text(code));
		return -ENODEV;
	}
	for (int i = 0; i < TOFU_AXES; i++)
		machine->shape.size[i] = machine->job.shape[i];
	node = tofu_node_at(&machine->shape, &coords);
	if (node < 0) {
		tofu_error_say(why, "this node is outside its machine's shape");
		return -EINVAL;
	}
	machine->armw = caps->flags & UTOFU_ONESIDED_CAP_FLAG_ARMW;
	machine->node = (uint32_t)node;
	machine->nodes = machine->job.nodes;
	return 0;
}
