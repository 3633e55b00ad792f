// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

#define AXIS 10 /* columns before the first panel */
#define COLUMN 9
#define CELL (COLUMN + 3) /* with spaces and border */
#define GAP "  "

/* One for each direction in turn; a start has one of its own. */
static const char fills[] = "#=:%+/-.";
#define FILL_START '^'

static char fill_of(uint32_t direction)
{
	return direction == SCHED_START ? FILL_START :
					  fills[direction % (sizeof(fills) - 1)];
}

uint64_t sched_panels_end(const struct sched_panel *panel, size_t panels)
{
	uint64_t end = 1;

	for (size_t p = 0; p < panels; p++)
		for (size_t i = 0; i < panel[p].bars; i++)
			if (panel[p].bar[i].end_ns > end)
				end = panel[p].bar[i].end_ns;
	return end;
}

static uint64_t common_ns(const struct sched_bar *bar, uint64_t from,
			  uint64_t to)
{
	const uint64_t begin = bar->begin_ns > from ? bar->begin_ns : from;
	const uint64_t end = bar->end_ns < to ? bar->end_ns : to;

	return begin < end ? end - begin : 0;
}

/* Return: the bar that takes most of an engine's time, or NULL. */
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
		memset(&text[1], ' ', length + 2 < COLUMN ? length + 2 : COLUMN - 1);
		memcpy(&text[2], name, length < COLUMN - 2 ? length : COLUMN - 2);
	}
	fprintf(out, " %s |", text);
}

/* Return: the beginning of a row, counted from below. */
static uint64_t row_ns(uint64_t end, unsigned int rows, unsigned int row)
{
	return end / rows * row + end % rows * row / rows;
}

static void row_print(FILE *out, const struct sched_panel *panel, uint64_t end,
		      unsigned int rows, unsigned int row)
{
	const uint64_t from = row_ns(end, rows, row);
	const uint64_t to = row_ns(end, rows, row + 1);

	for (uint32_t e = 0; e < panel->engines; e++) {
		const struct sched_bar *bar = bar_at(panel, e, from, to);
		const struct sched_bar *below = NULL;

		if (row)
			below = bar_at(panel, e, row_ns(end, rows, row - 1),
				       from);
		cell_print(out, panel, bar, bar != below);
	}
}

/* Print the gap between two panels. */
static void gap_print(FILE *out, size_t panel)
{
	if (panel)
		fputs(GAP "|", out);
}

static void titles_print(FILE *out, const struct sched_panel *panel,
			 size_t panels)
{
	for (size_t p = 0; p < panels; p++) {
		/* The first title stands above the times, too. */
		const int width = (int)panel[p].engines * CELL +
				  (int)strlen(GAP) + (p ? 1 : AXIS);
		const int length = fprintf(out, "%s: %.3f us", panel[p].title,
					   (double)panel[p].end_ns / 1000);

		if (p + 1 < panels)
			fprintf(out, "%*s", width > length ? width - length : 1,
				"");
	}
	fputc('\n', out);
}

static void engines_print(FILE *out, const struct sched_panel *panel,
			  size_t panels)
{
	fprintf(out, "%8s |", "us");
	for (size_t p = 0; p < panels; p++) {
		gap_print(out, p);
		for (uint32_t e = 0; e < panel[p].engines; e++)
			fprintf(out, " engine %-2" PRIu32 " |", e);
	}
	fputc('\n', out);
}

static void bottom_print(FILE *out, const struct sched_panel *panel,
			 size_t panels)
{
	fprintf(out, "%8.2f |", 0.0);
	for (size_t p = 0; p < panels; p++) {
		gap_print(out, p);
		for (uint32_t e = 0; e < panel[p].engines; e++)
			fputs("-----------|", out);
	}
	fputc('\n', out);
}

void sched_draw_text(FILE *out, const struct sched_panel *panel, size_t panels,
		     unsigned int rows)
{
	const uint64_t end = sched_panels_end(panel, panels);

	titles_print(out, panel, panels);
	engines_print(out, panel, panels);
	for (unsigned int row = rows; row--;) {
		fprintf(out, "%8.2f |",
			(double)row_ns(end, rows, row + 1) / 1000);
		for (size_t p = 0; p < panels; p++) {
			gap_print(out, p);
			row_print(out, &panel[p], end, rows, row);
		}
		fputc('\n', out);
	}
	bottom_print(out, panel, panels);
}
