// SPDX-License-Identifier: MIT
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/args.h"
#include "common/scale.h"
#include "tofu-sched.h"

enum { EXIT_USAGE = 2 };

/* Of a 2-D grid; from the first diagonal one on all of these are. */
static const char *const compass[] = {
	"E", "W", "N", "S", "NE", "SE", "NW", "SW",
};
#define COMPASS (sizeof(compass) / sizeof(compass[0]))
#define COMPASS_DIAGONAL 4

const struct sched_set sched_sets[SCHED_SETS] = {
	{ "ew", "east and west", SCHED_EW },
	{ "ns", "north and south", SCHED_NS },
	{ "four", "four directions", SCHED_EW | SCHED_NS },
	{ "diagonal", "diagonals", SCHED_DIAGONAL },
	{ "all", "all eight", SCHED_EW | SCHED_NS | SCHED_DIAGONAL },
};

const struct sched_set *sched_set_find(const char *name)
{
	for (size_t i = 0; i < SCHED_SETS; i++) {
		if (!strcmp(sched_sets[i].name, name))
			return &sched_sets[i];
	}
	return NULL;
}

static void compass_name(struct sched_workload *workload)
{
	memset(workload, 0, sizeof(*workload));
	for (size_t i = 0; i < COMPASS; i++)
		snprintf(workload->direction[i], SCHED_NAME, "%s", compass[i]);
	workload->directions = COMPASS;
}

static void put_add(struct sched_workload *workload, uint32_t direction,
		    uint64_t bytes, uint32_t flags)
{
	workload->request[workload->count++] = (struct tofu_rsched_request){
		.bytes = bytes,
		.direction = direction,
		.flags = flags,
	};
}

void sched_workload_scale(struct sched_workload *workload,
			  const struct sched_set *set, unsigned int k)
{
	const struct tofu_scale scale = tofu_scale_of(k);

	compass_name(workload);
	snprintf(workload->title, sizeof(workload->title),
		 "SCALE-LES3, k = %u, %s", k, set->title);
	for (uint32_t d = 0; d < 2 && set->parts & SCHED_EW; d++)
		put_add(workload, d, scale.ew, 0);
	for (uint32_t i = 0; i < 4 && set->parts & SCHED_NS; i++)
		put_add(workload, 2 + i / 2, scale.ns, 0);
	for (uint32_t i = 0; i < 8 && set->parts & SCHED_DIAGONAL; i++)
		put_add(workload, COMPASS_DIAGONAL + i / 2, scale.diagonal,
			TOFU_RSCHED_DIAGONAL);
}

void sched_workload_neighbors(struct sched_workload *workload,
			      unsigned int neighbors, uint64_t bytes)
{
	memset(workload, 0, sizeof(*workload));
	snprintf(workload->title, sizeof(workload->title),
		 "%u neighbours, %llu bytes each", neighbors,
		 (unsigned long long)bytes);
	for (uint32_t i = 0; i < neighbors; i++) {
		snprintf(workload->direction[i], SCHED_NAME, "%u", i);
		put_add(workload, i, bytes, 0);
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

static void line_take(struct sched_workload *workload, const char *where,
		      char *line)
{
	const char *const blanks = " \t\r\n";
	const char *name, *bytes, *diagonal;
	uint32_t direction, flags;
	char *rest;

	line[strcspn(line, "#")] = '\0';
	name = strtok_r(line, blanks, &rest);
	if (!name)
		return;
	bytes = strtok_r(NULL, blanks, &rest);
	diagonal = strtok_r(NULL, blanks, &rest);
	if (!bytes || (diagonal && strcmp(diagonal, "diagonal")) ||
	    strtok_r(NULL, blanks, &rest))
		errx(EXIT_USAGE, "%s: want: DIRECTION BYTES [diagonal]", where);
	if (workload->count == TOFU_RSCHED_REQUESTS_MAX)
		errx(EXIT_USAGE, "%s: more than %d puts", where,
		     TOFU_RSCHED_REQUESTS_MAX);
	direction = direction_number(workload, where, name);
	flags = diagonal || (direction >= COMPASS_DIAGONAL &&
			     direction < COMPASS) ?
			TOFU_RSCHED_DIAGONAL :
			0;
	put_add(workload, direction,
		tofu_arg_number(where, bytes, 0, TOFU_RSCHED_BYTES_MAX), flags);
}

void sched_workload_read(struct sched_workload *workload, const char *name)
{
	const bool standard = !strcmp(name, "-");
	FILE *in = standard ? stdin : fopen(name, "re");
	unsigned int number = 0;
	char *line = NULL;
	char where[128];
	size_t room = 0;

	if (!in)
		err(EXIT_FAILURE, "%s", name);
	compass_name(workload);
	snprintf(workload->title, sizeof(workload->title), "%.60s",
		 standard ? "standard input" : name);
	while (getline(&line, &room, in) >= 0) {
		snprintf(where, sizeof(where), "%.100s:%u", name, ++number);
		line_take(workload, where, line);
	}
	if (ferror(in))
		err(EXIT_FAILURE, "%s", name);
	free(line);
	if (!standard)
		fclose(in);
}
