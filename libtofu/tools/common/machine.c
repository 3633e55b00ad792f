// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>

#include "error.h"
#include "machine.h"
#include "utofu/context.h"

int tofu_machine_find(struct tofu_machine *machine, char **why)
{
	struct tofu_coords coords;
	int64_t node;
	int code = tofu_context_open();

	if (code == UTOFU_SUCCESS)
		code = utofu_query_my_coords(coords.c);
	if (code != UTOFU_SUCCESS) {
		tofu_error_say(why, "cannot use the interconnect: %s",
			       tofu_error_text(code));
		return -ENODEV;
	}
	machine->shape = tofu_context.shape;
	node = tofu_node_at(&machine->shape, &coords);
	if (node < 0) {
		tofu_error_say(why, "this node is outside its machine's shape");
		return -EINVAL;
	}
	machine->node = (uint32_t)node;
	machine->nodes = tofu_shape_nodes(&machine->shape);
	return 0;
}

const char *tofu_machine_shape(const struct tofu_machine *machine,
			       char text[TOFU_SHAPE_TEXT])
{
	const uint16_t *size = machine->shape.size;
	int axes = 1, used = 0;

	for (int i = 0; i < TOFU_AXES; i++) {
		if (size[i] > 1)
			axes = i < TOFU_A ? i + 1 : TOFU_AXES;
	}
	for (int i = 0; i < axes; i++)
		used += snprintf(text + used, (size_t)(TOFU_SHAPE_TEXT - used),
				 "%s%u", i ? "x" : "", size[i]);
	return text;
}
