// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>

#include "error.h"

void tofu_error_say(char **why, const char *format, ...)
{
	va_list args;

	if (!why || *why)
		return;
	va_start(args, format);
	if (vasprintf(why, format, args) < 0)
		*why = NULL;
	va_end(args);
}
