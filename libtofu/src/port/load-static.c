/* SPDX-License-Identifier: MIT */
/* In place of load.c in the static library, whose programs may have no loader. */
#include "port/load.h"

#include <stddef.h>

const void *tofu_load(const char *name, const char *symbol, const char **why)
{
	(void)name;
	(void)symbol;
	*why = "a program with the static library loads none";
	return NULL;
}
