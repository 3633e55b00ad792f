// SPDX-License-Identifier: MIT
#include "scale.h"

/* Points in directions i and j, halo points on a side, bytes of a value. */
#define POINTS 16
#define WIDTH 2
#define VALUE 8

const unsigned int tofu_scale_rows[TOFU_SCALE_ROWS] = {
	60, 70, 80, 109, 218, 327, 436, 545, 654, 763, 872,
};

struct tofu_scale tofu_scale_of(unsigned int k)
{
	const size_t levels = (size_t)k + 2 * WIDTH;

	return (struct tofu_scale){
		.ew = levels * WIDTH * POINTS * VALUE,
		.ns = levels * POINTS * VALUE,
		.diagonal = levels * WIDTH * VALUE,
	};
}
