// SPDX-License-Identifier: MIT
#include <errno.h>

#include "error.h"
#include "machine.h"
#include "utofu/instance.h"

int tofu_machine_find(struct tofu_machine *machine, char **why)
{
	struct tofu_coords coords;
	int64_t node;
	int code = tofu_instance_open();

	if (code == UTOFU_SUCCESS)
		code = utofu_query_my_coords(coords.c);
	if (code != UTOFU_SUCCESS) {
		tofu_error_say(why, "cannot use the interconnect: %s",
			       tofu_error_text(code));
		return -ENODEV;
	}
	machine->shape = tofu_instance()->shape;
	node = tofu_node_at(&machine->shape, &coords);
	if (node < 0) {
		tofu_error_say(why, "this node is outside its machine's shape");
		return -EINVAL;
	}
	machine->node = (uint32_t)node;
	machine->nodes = tofu_shape_nodes(&machine->shape);
	return 0;
}
