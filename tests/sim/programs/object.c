// SPDX-License-Identifier: MIT
/* A library for programs, and none itself. */
#include <stdio.h>

#include <utofu.h>

int where_am_i(uint8_t coords[6])
{
	puts("here");
	return utofu_query_my_coords(coords);
}
