// SPDX-License-Identifier: MIT
#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/lines.h"
#include "model/model.h"

/* Of a CSV, too */
#define SEPARATORS TOFU_LINE_BLANKS ",;"

static double number_take(const char *where, const char *what, const char *text,
			  double least)
{
	char *end;
	const double value = strtod(text, &end);

	if (end == text || *end || !isfinite(value))
		errx(EXIT_USAGE,
		     "%s: '%s' is not a number: want BYTES MICROSECONDS; put a # before a heading",
		     where, text);
	if (value < least || value > 1e18)
		errx(EXIT_USAGE, "%s: %s is out of range: %s", where, what, text);
	return value;
}

static void pair_add(struct model_pairs *pairs, double bytes, double us)
{
	const size_t count = pairs->count + 1;

	/* Room doubles when it is full. */
	if (!(pairs->count & (pairs->count - 1))) {
		const size_t room = 2 * count * sizeof(double);

		pairs->bytes = realloc(pairs->bytes, room);
		pairs->us = realloc(pairs->us, room);
		if (!pairs->bytes || !pairs->us)
			errx(EXIT_FAILURE, "no memory");
	}
	pairs->bytes[pairs->count] = bytes;
	pairs->us[pairs->count] = us;
	pairs->count = count;
}

static void line_take(void *context, const char *where, char *line)
{
	char *rest;
	const char *bytes = strtok_r(line, SEPARATORS, &rest);
	const char *us = strtok_r(NULL, SEPARATORS, &rest);
	double size;

	if (!us || strtok_r(NULL, SEPARATORS, &rest))
		errx(EXIT_USAGE,
		     "%s: want two numbers, BYTES MICROSECONDS, and a # before a comment",
		     where);
	size = number_take(where, "the size", bytes, 0);
	/* A time of 0 has no throughput. */
	pair_add(context, size, number_take(where, "the time", us, 1e-6));
}

void model_pairs_read(struct model_pairs *pairs, const char *name)
{
	*pairs = (struct model_pairs){ .name = name };
	tofu_lines_read(name, line_take, pairs);
	if (!pairs->count)
		errx(EXIT_USAGE, "%s: has no pairs: want lines of BYTES MICROSECONDS",
		     name);
}

void model_pairs_free(struct model_pairs *pairs)
{
	free(pairs->bytes);
	free(pairs->us);
}

static double worst_of(const struct model_fitted *fitted, const double bytes[],
		       const double us[], double factor)
{
	double worst = 0;

	for (size_t i = 0; i < fitted->used; i++) {
		const double line = fitted->fit.t0_us +
				    factor * bytes[i] / fitted->fit.b_mbs;

		worst = fmax(worst, fabs(line - us[i]) / us[i]);
	}
	return worst;
}

static void refuse(const char *name, int error, size_t used, double from,
		   double to)
{
	if (error == UTOFU_ERR_INVALID_NUMBER)
		errx(EXIT_USAGE,
		     "%s: %zu of its sizes are from %.0f to %.0f bytes, and a line needs 2: see --from and --to",
		     name, used, from, to);
	if (error == UTOFU_ERR_INVALID_SIZE)
		errx(EXIT_USAGE, "%s: all sizes are the same, and a line needs 2",
		     name);
	errx(EXIT_USAGE,
	     "%s: larger messages do not take longer, so there is no bandwidth: see --from and --to",
	     name);
}

struct model_fitted model_pairs_fit(const struct model_pairs *pairs,
				    double from, double to, double factor)
{
	double *const bytes = calloc(2 * pairs->count, sizeof(*bytes));
	double *const us = bytes + pairs->count;
	struct model_fitted fitted = { .used = 0 };
	int error;

	if (!bytes)
		errx(EXIT_FAILURE, "no memory");
	for (size_t i = 0; i < pairs->count; i++) {
		if (pairs->bytes[i] < from || pairs->bytes[i] > to)
			continue;
		bytes[fitted.used] = pairs->bytes[i];
		us[fitted.used++] = pairs->us[i];
	}
	error = tofu_model_fit(bytes, us, fitted.used, factor, &fitted.fit);
	if (error)
		refuse(pairs->name, error, fitted.used, from, to);
	fitted.worst = worst_of(&fitted, bytes, us, factor);
	free(bytes);
	return fitted;
}
