// SPDX-License-Identifier: MIT
/* The last node crashes, in the way that its argument says. */

#include "nodes.h"

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	int *volatile nowhere = (int *)64;

	tofu_test_turn();
	if (argc < 2 || tofu_test_node() != 4)
		return 0;
	if (!strcmp(argv[1], "abort"))
		abort();
	return *nowhere;
}
