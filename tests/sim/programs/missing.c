// SPDX-License-Identifier: MIT
/* Needs a function that no library has. */
#include <stdio.h>

#include <utofu.h>

int not_there_at_all(void);

int main(void)
{
	uint8_t coords[6];

	puts("here");
	return utofu_query_my_coords(coords) ? not_there_at_all() : 0;
}
