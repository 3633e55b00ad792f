// SPDX-License-Identifier: MIT
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lines.h"

void tofu_lines_read(const char *name, tofu_line_fn *take, void *context)
{
	FILE *in = strcmp(name, "-") ? fopen(name, "re") : stdin;
	unsigned int number = 0;
	char *line = NULL;
	char where[128];
	size_t room = 0;

	if (!in)
		err(EXIT_FAILURE, "%s", name);
	while (getline(&line, &room, in) >= 0) {
		snprintf(where, sizeof(where), "%.100s:%u", name, ++number);
		line[strcspn(line, "#")] = '\0';
		if (line[strspn(line, TOFU_LINE_BLANKS)])
			take(context, where, line);
	}
	if (ferror(in))
		err(EXIT_FAILURE, "%s", name);
	free(line);
	if (in != stdin)
		fclose(in);
}
