// SPDX-License-Identifier: MIT
/* A program with static data of 64 MiB, of which it touches a word. */
#include <stdlib.h>

#include <utofu.h>

static volatile char large[64 << 20];

int main(void)
{
	uint8_t coords[6];

	if (utofu_query_my_coords(coords))
		return 1;
	large[coords[0] * 4096UL] = 1;
	return 0;
}
