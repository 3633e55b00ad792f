// SPDX-License-Identifier: MIT
/* The programs are linked with it, as libtofu.so.1, and never run with it. */

#include "nodes.h"

#include <stdlib.h>

int tofu_test_node(void)
{
	abort();
}

void tofu_test_turn(void)
{
	abort();
}

void tofu_test_note(const char __attribute__((unused)) *text)
{
	abort();
}

void tofu_test_register(void __attribute__((unused)) *data,
			size_t __attribute__((unused)) len)
{
	abort();
}
