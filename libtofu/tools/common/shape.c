// SPDX-License-Identifier: MIT
#include <err.h>
#include <stdio.h>

#include "fabric/fabric.h"
#include "args.h"
#include "shape.h"

void tofu_arg_shape(const char *option, const char *text,
		    struct tofu_shape *shape)
{
	if (tofu_shape_parse(text, shape))
		errx(EXIT_USAGE,
		     "%s: '%s' is not a shape: one, two, three or six sizes such as 2x2, up to 256x256x256x2x3x2",
		     option, text);
	if (tofu_shape_nodes(shape) > TOFU_FABRIC_NODES_MAX)
		errx(EXIT_USAGE, "%s: %s has %u nodes, more than %d", option,
		     text, tofu_shape_nodes(shape), TOFU_FABRIC_NODES_MAX);
}

const char *tofu_shape_text(const struct tofu_shape *shape,
			    char text[TOFU_SHAPE_TEXT])
{
	int axes = 1, used = 0;

	for (int i = 0; i < TOFU_AXES; i++) {
		if (shape->size[i] > 1)
			axes = i < TOFU_A ? i + 1 : TOFU_AXES;
	}
	for (int i = 0; i < axes; i++)
		used += snprintf(text + used, (size_t)(TOFU_SHAPE_TEXT - used),
				 "%s%u", i ? "x" : "", shape->size[i]);
	return text;
}
