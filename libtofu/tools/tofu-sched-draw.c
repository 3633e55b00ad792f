// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tofu-sched.h"

#define COLUMN 9

/* Of directions in turn; a start has one of its own. */
static const char fills[] = "#=:%+/-.";
#define FILL_START '^'

static char fill_of(uint32_t direction)
{
	return direction == SCHED_START ? FILL_START :
					  fills[direction % (sizeof(fills) - 1)];
}

static uint64_t panel_end(const struct sched_panel *panel)
{
	uint64_t end = 1;

	for (size_t i = 0; i < panel->bars; i++) {
		if (panel->bar[i].end_ns > end)
			end = panel->bar[i].end_ns;
	}
	return end;
}

static uint64_t common_ns(const struct sched_bar *bar, uint64_t from,
			  uint64_t to)
{
	const uint64_t begin = bar->begin_ns > from ? bar->begin_ns : from;
	const uint64_t end = bar->end_ns < to ? bar->end_ns : to;

	return begin < end ? end - begin : 0;
}

/* What an engine does for most of a time, or NULL. */
static const struct sched_bar *bar_at(const struct sched_panel *panel,
				      uint32_t engine, uint64_t from,
				      uint64_t to)
{
	const struct sched_bar *found = NULL;
	uint64_t most = 0;

	for (size_t i = 0; i < panel->bars; i++) {
		const struct sched_bar *bar = &panel->bar[i];
		const uint64_t here = common_ns(bar, from, to);

		if (bar->engine != engine || here <= most)
			continue;
		most = here;
		found = bar;
	}
	return found;
}

/* A bar's name stands in the row where it begins. */
static void cell_print(FILE *out, const struct sched_panel *panel,
		       const struct sched_bar *bar, bool first)
{
	char text[COLUMN + 1];
	const char *name;
	size_t length;

	memset(text, bar ? fill_of(bar->direction) : ' ', COLUMN);
	text[COLUMN] = '\0';
	if (bar && first) {
		name = bar->direction == SCHED_START ?
			       "start" :
			       panel->name[bar->direction];
		length = strlen(name);
		if (length > COLUMN - 2)
			length = COLUMN - 2;
		memset(&text[1], ' ', length + 2 < COLUMN ? length + 2 :
							    COLUMN - 1);
		memcpy(&text[2], name, length < COLUMN - 2 ? length :
							     COLUMN - 2);
	}
	fprintf(out, " %s |", text);
}

/* Where a row begins, counted from below. */
static uint64_t row_ns(uint64_t end, unsigned int rows, unsigned int row)
{
	return end / rows * row + end % rows * row / rows;
}

static void row_print(FILE *out, const struct sched_panel *panel, uint64_t end,
		      unsigned int rows, unsigned int row)
{
	const uint64_t from = row_ns(end, rows, row);
	const uint64_t to = row_ns(end, rows, row + 1);

	fprintf(out, "%8.2f |", (double)to / 1000);
	for (uint32_t e = 0; e < panel->engines; e++) {
		const struct sched_bar *bar = bar_at(panel, e, from, to);
		const struct sched_bar *below = NULL;

		if (row)
			below = bar_at(panel, e, row_ns(end, rows, row - 1),
				       from);
		cell_print(out, panel, bar, bar != below);
	}
	fputc('\n', out);
}

void sched_draw_text(FILE *out, const struct sched_panel *panel,
		     unsigned int rows)
{
	const uint64_t end = panel_end(panel);

	fprintf(out, "%s: %.3f us\n%8s |", panel->title,
		(double)panel->end_ns / 1000, "us");
	for (uint32_t e = 0; e < panel->engines; e++)
		fprintf(out, " engine %-2" PRIu32 " |", e);
	fputc('\n', out);
	for (unsigned int row = rows; row--;)
		row_print(out, panel, end, rows, row);
	fprintf(out, "%8.2f |", 0.0);
	for (uint32_t e = 0; e < panel->engines; e++)
		fputs("-----------|", out);
	fputc('\n', out);
}
