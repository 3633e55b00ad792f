/* SPDX-License-Identifier: MIT */
/* Shapes of machines, as people write them. */
#ifndef TOFU_TOOLS_SHAPE_H
#define TOFU_TOOLS_SHAPE_H

#include "net/topology.h"

/**
 * tofu_arg_shape - the shape of a machine from an option
 * @option: as the user wrote it, for the message
 * @shape:  of a machine that the fabric can hold
 *
 * Exits as tofu_arg_number() does.
 */
void tofu_arg_shape(const char *option, const char *text,
		    struct tofu_shape *shape);

/* tofu_shape_text - with as many axes as it takes, such as "2x2" */
#define TOFU_SHAPE_TEXT 32
const char *tofu_shape_text(const struct tofu_shape *shape,
			    char text[TOFU_SHAPE_TEXT]);

#endif /* TOFU_TOOLS_SHAPE_H */
