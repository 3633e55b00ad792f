// SPDX-License-Identifier: MIT
/*
 * Throughput against size on logarithmic axes, in the colours of Okabe and Ito:
 * formulas are lines, lines that were fitted are dashed, what was measured is a
 * circle, and the half-performance points are diamonds, hollow and filled.
 */
#include <math.h>
#include <stdlib.h>

#include "model/model.h"

/* Lengths in pixels. */
#define MARGIN 16
#define LEFT 76
#define TOP 48
#define WIDTH 760
#define HEIGHT 440
#define FOOT 52
#define LEGEND_LINE 36
#define CIRCLE 3.5
#define DIAMOND 7

#define SAMPLES 24 /* of a decade */

/* Yellow is left out: on white nobody sees it. */
static const char *const colours[MODEL_SERIES_MAX] = {
	"#0072B2", "#D55E00", "#009E73", "#CC79A7",
	"#E69F00", "#56B4E9", "#000000", "#999999",
};

/**
 * struct axis - decades, as powers of ten
 */
struct axis {
	int from;
	int to;
};

/**
 * struct picture - what its parts have in common
 */
struct picture {
	FILE *out;
	const struct model_setup *setup;
	struct axis x;
	struct axis y;
};

/* ---- Axes ---- */

static void axis_widen(struct axis *axis, double value)
{
	if (!(value > 0))
		return;
	axis->from = (int)fmin(axis->from, floor(log10(value)));
	axis->to = (int)fmax(axis->to, ceil(log10(value)));
}

static double part_of(const struct axis *axis, double value)
{
	return (log10(value) - axis->from) / (axis->to - axis->from);
}

static double x_of(const struct picture *picture, double bytes)
{
	return LEFT + WIDTH * part_of(&picture->x, bytes);
}

static double y_of(const struct picture *picture, double mbs)
{
	return TOP + HEIGHT * (1 - part_of(&picture->y, mbs));
}

/* 0 for a size of 0, which has no place on the axes */
static double throughput(double bytes, double us, double factor)
{
	return factor * bytes / us;
}

static void series_widen(struct picture *picture,
			 const struct model_series *series)
{
	const struct model_pairs *pairs = &series->pairs;

	for (size_t i = 0; i < pairs->count; i++) {
		const double bytes = pairs->bytes[i];

		axis_widen(&picture->x, bytes);
		axis_widen(&picture->y,
			   throughput(bytes, pairs->us[i], series->factor));
	}
	axis_widen(&picture->x, series->line.half_bytes);
	axis_widen(&picture->x, series->fitted.fit.half_bytes);
	axis_widen(&picture->y, series->line.b_mbs);
	axis_widen(&picture->y, series->line.b_mbs / 2);
	axis_widen(&picture->y, series->fitted.fit.b_mbs / 2);
}

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

static void power(FILE *out, double x, double y, const char *look, int exponent)
{
	fprintf(out,
		"<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">10"
		"<tspan dy=\"-5\" class=\"s\">%d</tspan></text>\n",
		x, y, look, exponent);
}

static void grid_x(const struct picture *picture)
{
	for (int decade = picture->x.from; decade <= picture->x.to; decade++) {
		const double x = x_of(picture, pow(10, decade));

		fprintf(picture->out,
			"<path class=\"grid\" d=\"M%.1f,%dV%d\"/>\n", x, TOP,
			TOP + HEIGHT);
		power(picture->out, x, TOP + HEIGHT + 20, "m", decade);
	}
	text(picture->out, LEFT + WIDTH / 2.0, TOP + HEIGHT + 42, " class=\"m\"",
	     "message / B");
}

static void grid_y(const struct picture *picture)
{
	for (int decade = picture->y.from; decade <= picture->y.to; decade++) {
		const double y = y_of(picture, pow(10, decade));

		fprintf(picture->out,
			"<path class=\"grid\" d=\"M%d,%.1fH%d\"/>\n", LEFT, y,
			LEFT + WIDTH);
		power(picture->out, LEFT - 8, y + 4, "e", decade);
	}
	fprintf(picture->out,
		"<text transform=\"translate(%d,%.1f) rotate(-90)\" class=\"m\">"
		"throughput / (MB/s)</text>\n",
		MARGIN + 8, TOP + HEIGHT / 2.0);
}

/* ---- Series ---- */

typedef double us_fn(const struct picture *picture,
		     const struct model_series *series, double bytes);

static double us_model(const struct picture *picture,
		       const struct model_series *series, double bytes)
{
	return model_formula_us(picture->setup, &series->formula, bytes);
}

static double us_fitted(const struct picture *picture,
			const struct model_series *series, double bytes)
{
	const struct tofu_model_fit *fit = &series->fitted.fit;

	(void)picture;
	return fit->t0_us + series->factor * bytes / fit->b_mbs;
}

/* Where t0 is negative, short messages would have any throughput. */
static bool is_drawn(const struct model_series *series, double bytes, double us)
{
	const double b_mbs = fmax(series->line.b_mbs,
				  series->fitted.fit.b_mbs);

	return bytes >= 1 && us > 0 &&
	       throughput(bytes, us, series->factor) < 1.5 * b_mbs;
}

static void curve_draw(const struct picture *picture,
		       const struct model_series *series, const char *look,
		       us_fn *us)
{
	const int samples = SAMPLES * (picture->x.to - picture->x.from);
	const char *command = "M";

	fprintf(picture->out, "<path class=\"%s\" d=\"", look);
	for (int i = 0; i <= samples; i++) {
		const double bytes = round(
			pow(10, picture->x.from + i / (double)SAMPLES));
		const double time = us(picture, series, bytes);

		if (!is_drawn(series, bytes, time))
			continue;
		fprintf(picture->out, "%s%.1f,%.1f", command,
			x_of(picture, bytes),
			y_of(picture, throughput(bytes, time, series->factor)));
		command = "L";
	}
	fputs("\"/>\n", picture->out);
}

static void circles_draw(const struct picture *picture,
			 const struct model_series *series)
{
	const struct model_pairs *pairs = &series->pairs;

	for (size_t i = 0; i < pairs->count; i++) {
		const double bytes = pairs->bytes[i];
		const double mbs =
			throughput(bytes, pairs->us[i], series->factor);

		if (!(mbs > 0))
			continue;
		fprintf(picture->out,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>"
			"%.0f B: %.3f us, %.1f MB/s</title></circle>\n",
			x_of(picture, bytes), y_of(picture, mbs), CIRCLE, bytes,
			pairs->us[i], mbs);
	}
}

/* Half of the bandwidth, and the message that reaches it */
static void diamond_draw(const struct picture *picture, const char *look,
			 const struct tofu_model_fit *fit)
{
	if (!(fit->half_bytes > 0))
		return;
	fprintf(picture->out,
		"<path class=\"%s\" d=\"M%.1f,%.1fm0,-%dl%d,%dl-%d,%dl-%d,-%dz\">"
		"<title>half of %.0f MB/s at %.4g B</title></path>\n",
		look, x_of(picture, fit->half_bytes),
		y_of(picture, fit->b_mbs / 2), DIAMOND, DIAMOND, DIAMOND,
		DIAMOND, DIAMOND, DIAMOND, DIAMOND, fit->b_mbs,
		fit->half_bytes);
}

static void series_draw(const struct picture *picture,
			const struct model_series *series, size_t number)
{
	fprintf(picture->out, "<g class=\"c%zu\" clip-path=\"url(#plot)\">\n",
		number);
	curve_draw(picture, series, "model", us_model);
	curve_draw(picture, series, "fitted", us_fitted);
	circles_draw(picture, series);
	diamond_draw(picture, "fitted-half", &series->fitted.fit);
	diamond_draw(picture, "model-half", &series->line);
	fputs("</g>\n", picture->out);
}

/* ---- The legend ---- */

static void line_text(char to[160], const char *what,
		      const struct tofu_model_fit *fit)
{
	char b[MODEL_DIGITS], half[MODEL_DIGITS], t0[MODEL_DIGITS];

	snprintf(to, 160, "%.60s: B %s MB/s, half %s B, t0 %s \302\265s", what,
		 model_digits(fit->b_mbs, b), model_digits(fit->half_bytes, half),
		 model_digits(fit->t0_us, t0));
}

static void legend_draw(const struct picture *picture,
			const struct model_series *series, size_t number)
{
	const int y = TOP + HEIGHT + FOOT + LEGEND_LINE * (int)number + 20;
	FILE *out = picture->out;
	char label[160];

	fprintf(out,
		"<g class=\"c%zu\"><path class=\"model\" d=\"M%d,%dh28\"/>"
		"<path class=\"fitted\" d=\"M%d,%dh28\"/>"
		"<circle cx=\"%d\" cy=\"%d\" r=\"%.1f\"/></g>\n",
		number, LEFT, y - 4, LEFT, y + 11, LEFT + 14, y + 11, CIRCLE);
	line_text(label, series->formula.name, &series->line);
	text(out, LEFT + 38, y, "", label);
	line_text(label, series->pairs.name, &series->fitted.fit);
	text(out, LEFT + 38, y + 15, "", label);
}

/* ---- All of it ---- */

static void looks_define(FILE *out)
{
	fputs("<style>text{font:12px sans-serif}.h{font-size:15px;"
	      "font-weight:bold}.m{text-anchor:middle}.e{text-anchor:end}"
	      ".s{font-size:9px}.grid{stroke:#ccc;stroke-width:.7}"
	      ".frame{fill:none;stroke:#000}path.model{fill:none;stroke-width:2}"
	      "path.fitted{fill:none;stroke-width:1.2;stroke-dasharray:6 4}"
	      ".model-half{fill:#fff;stroke-width:2}"
	      ".fitted-half{stroke:#fff;stroke-width:1}",
	      out);
	for (int i = 0; i < MODEL_SERIES_MAX; i++)
		fprintf(out,
			".c%d .model,.c%d .fitted,.c%d .model-half{stroke:%s}"
			".c%d circle,.c%d .fitted-half{fill:%s}",
			i, i, i, colours[i], i, i, colours[i]);
	fprintf(out,
		"</style>\n<defs><clipPath id=\"plot\"><rect x=\"%d\" y=\"%d\" "
		"width=\"%d\" height=\"%d\"/></clipPath></defs>\n",
		LEFT, TOP, WIDTH, HEIGHT);
}

void model_draw(FILE *out, const char *title, const struct model_setup *setup,
		const struct model_series series[], size_t count)
{
	const int width = LEFT + WIDTH + 2 * MARGIN;
	const int height = TOP + HEIGHT + FOOT + LEGEND_LINE * (int)count +
			   3 * MARGIN;
	struct picture picture = {
		.out = out,
		.setup = setup,
		.x = { 30, -30 },
		.y = { 30, -30 },
	};

	for (size_t i = 0; i < count; i++)
		series_widen(&picture, &series[i]);
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
		"height=\"%d\" viewBox=\"0 0 %d %d\">\n",
		width, height, width, height);
	looks_define(out);
	fputs("<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", out);
	text(out, MARGIN, 26, " class=\"h\"", title);
	grid_x(&picture);
	grid_y(&picture);
	for (size_t i = 0; i < count; i++)
		series_draw(&picture, &series[i], i);
	fprintf(out,
		"<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" "
		"height=\"%d\"/>\n",
		LEFT, TOP, WIDTH, HEIGHT);
	for (size_t i = 0; i < count; i++)
		legend_draw(&picture, &series[i], i);
	text(out, LEFT, height - MARGIN, "",
	     "Line: model. Circles: measured; dashed: the line fitted to them. "
	     "Diamonds: half of B, hollow of the model, filled of the fit.");
	fputs("</svg>\n", out);
}
