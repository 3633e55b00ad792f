/* SPDX-License-Identifier: MIT */
#include "port/debug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void tofu_debug(const char *format, ...)
{
	const char *set = getenv("TOFU_DEBUG");
	char line[512];
	va_list args;

	if (!set || !*set)
		return;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	fprintf(stderr, "libtofu: %s\n", line);
}
