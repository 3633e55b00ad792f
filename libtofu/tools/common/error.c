// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>

#include "error.h"
#include "utofu/error.h"

const char *tofu_error_text(int code)
{
	const struct tofu_code *known = tofu_code_find(code);
	static _Thread_local char text[80];

	if (known)
		snprintf(text, sizeof(text), "%s (%s)", known->name,
			 known->text);
	else
		snprintf(text, sizeof(text), "uTofu error %d", code);
	return text;
}

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
