// SPDX-License-Identifier: MIT
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/args.h"
#include "common/lines.h"
#include "sched/sched.h"

void sched_workload_neighbors(struct sched_workload *workload,
			      unsigned int neighbors, uint64_t bytes)
{
	memset(workload, 0, sizeof(*workload));
	snprintf(workload->title, sizeof(workload->title),
		 "%u neighbours, %llu bytes each", neighbors,
		 (unsigned long long)bytes);
	for (uint32_t i = 0; i < neighbors; i++) {
		snprintf(workload->direction[i], SCHED_NAME, "%u", i);
		sched_workload_put(workload, i, bytes, 0);
	}
	workload->directions = neighbors;
}

/* ---- Files ---- */

static uint32_t direction_number(struct sched_workload *workload,
				 const char *where, const char *name)
{
	for (uint32_t i = 0; i < workload->directions; i++) {
		if (!strcasecmp(workload->direction[i], name))
			return i;
	}
	if (workload->directions == SCHED_DIRECTIONS)
		errx(EXIT_USAGE, "%s: more than %d directions", where,
		     SCHED_DIRECTIONS);
	if (strlen(name) >= SCHED_NAME)
		errx(EXIT_USAGE, "%s: '%s' is too long a name", where, name);
	strcpy(workload->direction[workload->directions], name);
	return workload->directions++;
}

static void line_take(void *context, const char *where, char *line)
{
	struct sched_workload *workload = context;
	char *rest;
	const char *name = strtok_r(line, TOFU_LINE_BLANKS, &rest);
	const char *bytes = strtok_r(NULL, TOFU_LINE_BLANKS, &rest);
	const char *diagonal = strtok_r(NULL, TOFU_LINE_BLANKS, &rest);
	uint32_t direction, flags;

	if (!bytes || (diagonal && strcmp(diagonal, "diagonal")) ||
	    strtok_r(NULL, TOFU_LINE_BLANKS, &rest))
		errx(EXIT_USAGE, "%s: want: DIRECTION BYTES [diagonal]", where);
	if (workload->count == TOFU_RSCHED_REQUESTS_MAX)
		errx(EXIT_USAGE, "%s: more than %d puts", where,
		     TOFU_RSCHED_REQUESTS_MAX);
	direction = direction_number(workload, where, name);
	flags = diagonal || (direction >= SCHED_COMPASS_DIAGONAL &&
			     direction < SCHED_COMPASS) ?
			TOFU_RSCHED_DIAGONAL :
			0;
	sched_workload_put(workload, direction,
			   tofu_arg_number(where, bytes, 0,
					   TOFU_RSCHED_BYTES_MAX),
			   flags);
}

void sched_workload_read(struct sched_workload *workload, const char *name)
{
	sched_workload_compass(workload);
	snprintf(workload->title, sizeof(workload->title), "%.60s",
		 strcmp(name, "-") ? name : "standard input");
	tofu_lines_read(name, line_take, workload);
}
