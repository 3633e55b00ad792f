/* SPDX-License-Identifier: MIT */
#include "net/shape.h"

#include <errno.h>

#define AXIS_MAX 256

/* The largest divisor that does not exceed the square root. */
static uint32_t near_root(uint32_t n)
{
	uint32_t best = 1;

	for (uint32_t d = 1; d * d <= n; d++)
		if (n % d == 0)
			best = d;
	return best;
}

int tofu_shape_of_count(uint32_t nodes, struct tofu_shape *shape)
{
	uint32_t best = UINT32_MAX;

	if (!nodes || nodes > AXIS_MAX * AXIS_MAX)
		return -EINVAL;
	/* x <= y <= z; the smallest sum is the most cubic. */
	for (uint32_t x = 1; x * x * x <= nodes; x++) {
		uint32_t y, z;

		if (nodes % x)
			continue;
		y = near_root(nodes / x);
		z = nodes / x / y;
		if (z > AXIS_MAX || x + y + z >= best)
			continue;
		best = x + y + z;
		*shape = (struct tofu_shape){
			.size = { (uint16_t)z, (uint16_t)y, (uint16_t)x,
				  1, 1, 1 },
		};
	}
	return best == UINT32_MAX ? -EINVAL : 0;
}
