// SPDX-License-Identifier: MIT
/* Schedules as pictures, in the colours of Okabe and Ito, with a pattern each. */
#include <inttypes.h>
#include <stdlib.h>

#include "sched/sched.h"

/* Lengths in pixels. */
#define MARGIN 16
#define AXIS 64
#define COLUMN 76
#define COLUMN_GAP 6
#define PANEL_GAP 36
#define PANEL_MIN 200 /* for its title */
#define HEAD 88
#define HEIGHT 460
#define FOOT 64
#define LEGEND_ITEM 64
#define LABEL_MIN 13 /* height of a bar that has room for a name */
#define TICKS 8

#define COLOURS 8

/* Fill, ink upon it, and a line of its pattern in a square of 8. */
static const struct {
	const char *fill;
	const char *ink;
	const char *pattern;
} looks[COLOURS] = {
	{ "#E69F00", "#000", "M-1,1l2,-2M0,8l8,-8M7,9l2,-2" },
	{ "#56B4E9", "#000", "M0,4h8" },
	{ "#009E73", "#fff", "M4,0v8" },
	{ "#F0E442", "#000", "M2,2h.1M6,6h.1" },
	{ "#0072B2", "#fff", "M-1,7l2,2M0,0l8,8M7,-1l2,2" },
	{ "#D55E00", "#fff", "M0,4h8M4,0v8" },
	{ "#CC79A7", "#000", "M0,0l8,8M0,8l8,-8" },
	{ "#999999", "#000", "M0,6l4,-4l4,4" },
};

/**
 * struct picture - what its parts have in common
 * @top_ns: time at the upper end of the axis
 */
struct picture {
	FILE *out;
	uint64_t top_ns;
};

static void escape(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else if ((unsigned char)*text >= ' ')
			fputc(*text, out);
	}
}

static void text(FILE *out, double x, double y, const char *more,
		 const char *what)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, more);
	escape(out, what);
	fputs("</text>\n", out);
}

static double height_of(const struct picture *picture, uint64_t ns)
{
	return (double)ns * HEIGHT / (double)picture->top_ns;
}

static double y_of(const struct picture *picture, uint64_t ns)
{
	return HEAD + HEIGHT - height_of(picture, ns);
}

/* ---- The axis ---- */

/* 1, 2 or 5 times a power of ten. */
static uint64_t tick_of(uint64_t end)
{
	static const uint64_t steps[] = { 2, 5, 10 };
	uint64_t power = 1, tick = 1;

	for (size_t i = 0; end / tick > TICKS; i++) {
		tick = power * steps[i % 3];
		if (i % 3 == 2)
			power *= 10;
	}
	return tick;
}

static void axis_draw(const struct picture *picture, uint64_t tick, double to)
{
	char label[32];

	text(picture->out, MARGIN, HEAD - 12, "", "time / \302\265s");
	for (uint64_t ns = 0; ns <= picture->top_ns; ns += tick) {
		const double y = y_of(picture, ns);

		fprintf(picture->out,
			"<path class=\"grid\" d=\"M%d,%.1fH%.1f\"/>\n",
			MARGIN + AXIS - 8, y, to);
		snprintf(label, sizeof(label), "%g", (double)ns / 1000);
		text(picture->out, MARGIN + AXIS - 14, y + 4, " class=\"e\"",
		     label);
	}
}

/* ---- Panels ---- */

static void look_name(char name[8], uint32_t direction)
{
	if (direction == SCHED_START)
		snprintf(name, 8, "start");
	else
		snprintf(name, 8, "d%u", direction % COLOURS);
}

static void bar_draw(const struct picture *picture,
		     const struct sched_panel *panel,
		     const struct sched_bar *bar, double x)
{
	const char *name = bar->direction == SCHED_START ?
				   "start" :
				   panel->name[bar->direction];
	const double y = y_of(picture, bar->end_ns);
	const double height = height_of(picture, bar->end_ns - bar->begin_ns);
	FILE *out = picture->out;
	char look[8];

	look_name(look, bar->direction);
	fprintf(out,
		"<g class=\"%s\"><rect x=\"%.1f\" y=\"%.2f\" width=\"%d\" "
		"height=\"%.2f\" fill=\"url(#%s)\"/><title>",
		look, x, y, COLUMN - COLUMN_GAP, height, look);
	escape(out, name);
	fprintf(out, ": %.3f to %.3f us</title>\n",
		(double)bar->begin_ns / 1000, (double)bar->end_ns / 1000);
	if (height >= LABEL_MIN) {
		const double middle = x + (COLUMN - COLUMN_GAP) / 2.0;

		fprintf(out,
			"<rect class=\"tag\" x=\"%.1f\" y=\"%.2f\" width=\"38\" "
			"height=\"12\" rx=\"3\"/>",
			middle - 19, y + height / 2 - 6);
		text(out, middle, y + height / 2 + 4, " class=\"m\"", name);
	}
	fputs("</g>\n", out);
}

static double panel_width(const struct sched_panel *panel)
{
	const double width = panel->engines * COLUMN;

	return width > PANEL_MIN ? width : PANEL_MIN;
}

static void panel_draw(const struct picture *picture,
		       const struct sched_panel *panel, double x)
{
	char label[64];

	text(picture->out, x, HEAD - 40, " class=\"b\"", panel->title);
	snprintf(label, sizeof(label), "%.3f \302\265s",
		 (double)panel->end_ns / 1000);
	text(picture->out, x, HEAD - 24, "", label);
	for (uint32_t e = 0; e < panel->engines; e++) {
		const double column = x + e * COLUMN;

		fprintf(picture->out,
			"<rect class=\"column\" x=\"%.1f\" y=\"%d\" width=\"%d\" "
			"height=\"%d\"/>\n",
			column, HEAD, COLUMN - COLUMN_GAP, HEIGHT);
		snprintf(label, sizeof(label), "engine %" PRIu32, e);
		text(picture->out, column + (COLUMN - COLUMN_GAP) / 2.0,
		     HEAD + HEIGHT + 18, " class=\"m\"", label);
	}
	for (size_t i = 0; i < panel->bars; i++)
		bar_draw(picture, panel, &panel->bar[i],
			 x + panel->bar[i].engine * COLUMN);
}

/* ---- The legend ---- */

static bool is_shown(const struct sched_panel *panel, size_t panels,
		     uint32_t direction)
{
	for (size_t p = 0; p < panels; p++)
		for (size_t i = 0; i < panel[p].bars; i++)
			if (panel[p].bar[i].direction == direction)
				return true;
	return false;
}

/* Return: where the next item goes. */
static double item_draw(FILE *out, uint32_t direction, const char *name,
			double x)
{
	const int y = HEAD + HEIGHT + 34;
	char look[8];

	look_name(look, direction);
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%d\" width=\"16\" height=\"16\" "
		"fill=\"url(#%s)\" stroke=\"#000\"/>\n",
		x, y, look);
	text(out, x + 22, y + 12, "", name);
	return x + LEGEND_ITEM;
}

static unsigned int legend_items(const struct sched_panel *panel, size_t panels)
{
	unsigned int items = 1;

	for (uint32_t d = 0; d < SCHED_DIRECTIONS; d++)
		items += is_shown(panel, panels, d);
	return items;
}

static void legend_draw(FILE *out, const struct sched_panel *panel,
			size_t panels)
{
	double x = MARGIN + AXIS;

	for (uint32_t d = 0; d < SCHED_DIRECTIONS; d++) {
		if (is_shown(panel, panels, d))
			x = item_draw(out, d, panel->name[d], x);
	}
	if (is_shown(panel, panels, SCHED_START))
		item_draw(out, SCHED_START, "start of an engine", x);
}

/* ---- All of it ---- */

static void looks_define(FILE *out)
{
	fputs("<style>text{font:12px sans-serif}.b{font-weight:bold}"
	      ".h{font-size:15px;font-weight:bold}.m{text-anchor:middle}"
	      ".e{text-anchor:end}.grid{stroke:#bbb;stroke-width:.7}"
	      ".column{fill:#f4f4f4}g rect{stroke:#000;stroke-width:.8}"
	      "g .tag{fill:#fff;stroke:none;opacity:.85}"
	      "g text{font-size:11px}</style>\n<defs>\n",
	      out);
	for (int i = 0; i < COLOURS; i++)
		fprintf(out,
			"<pattern id=\"d%d\" width=\"8\" height=\"8\" "
			"patternUnits=\"userSpaceOnUse\"><path fill=\"%s\" "
			"d=\"M0,0h8v8h-8z\"/><path d=\"%s\" stroke=\"%s\" "
			"stroke-opacity=\".45\" stroke-width=\"1.2\" "
			"stroke-linecap=\"round\" fill=\"none\"/></pattern>\n",
			i, looks[i].fill, looks[i].pattern, looks[i].ink);
	fputs("<pattern id=\"start\" width=\"4\" height=\"4\" "
	      "patternUnits=\"userSpaceOnUse\"><path fill=\"#fff\" "
	      "d=\"M0,0h4v4h-4z\"/><path d=\"M0,4l4,-4\" stroke=\"#000\" "
	      "stroke-width=\".6\"/></pattern>\n</defs>\n",
	      out);
}

static double panels_width(const struct sched_panel *panel, size_t panels)
{
	double width = 0;

	for (size_t p = 0; p < panels; p++)
		width += panel_width(&panel[p]) + PANEL_GAP;
	return width - PANEL_GAP;
}

/* The name of a start takes the room of two. */
static double legend_width(const struct sched_panel *panel, size_t panels)
{
	return (legend_items(panel, panels) + 1) * LEGEND_ITEM;
}

void sched_draw_svg(FILE *out, const char *title,
		    const struct sched_panel *panel, size_t panels)
{
	const double inner = panels_width(panel, panels);
	const double legend = legend_width(panel, panels);
	const double width = (inner > legend ? inner : legend) + AXIS +
			     2 * MARGIN;
	const uint64_t end = sched_panels_end(panel, panels);
	const uint64_t tick = tick_of(end);
	const struct picture picture = {
		.out = out,
		.top_ns = (end + tick - 1) / tick * tick,
	};
	double x = MARGIN + AXIS;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
		"height=\"%d\" viewBox=\"0 0 %.0f %d\">\n",
		width, HEAD + HEIGHT + FOOT, width, HEAD + HEIGHT + FOOT);
	looks_define(out);
	fputs("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", out);
	text(out, MARGIN, 24, " class=\"h\"", title);
	axis_draw(&picture, tick, MARGIN + AXIS + inner);
	for (size_t p = 0; p < panels; p++) {
		panel_draw(&picture, &panel[p], x);
		x += panel_width(&panel[p]) + PANEL_GAP;
	}
	legend_draw(out, panel, panels);
	fputs("</svg>\n", out);
}
