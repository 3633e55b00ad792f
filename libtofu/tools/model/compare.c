// SPDX-License-Identifier: MIT
#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/table.h"
#include "model/model.h"

/* FILE or FORMULA=FILE */
static const char *file_take(const char *text,
			     const struct model_formula *formula,
			     struct model_formula *to)
{
	const char *equals = strchr(text, '=');
	char name[MODEL_NAME];

	if (!equals) {
		if (!formula)
			errx(EXIT_USAGE,
			     "%s: which formula? Write FORMULA=%s, such as bcast-3d=%s, or give --kind and --algorithm",
			     text, text, text);
		*to = *formula;
		return text;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	if (!model_formula_find(name, to))
		errx(EXIT_USAGE,
		     "%s: '%s' is no formula: there are those of 'tofu-model table', and KIND/ALGORITHM such as alltoall/direct",
		     text, name);
	return equals + 1;
}

static void series_make(const struct model_setup *setup,
			const struct model_formula *formula,
			const struct model_range *range, const char *text,
			struct model_series *series)
{
	const char *file = file_take(text, formula, &series->formula);

	series->factor = range->factor ?
				 range->factor :
				 model_formula_factor(setup, &series->formula);
	series->line = model_formula_line(setup, &series->formula);
	model_pairs_read(&series->pairs, file);
	series->fitted = model_pairs_fit(
		&series->pairs,
		range->from < 0 ? series->formula.from : range->from,
		range->to < 0 ? series->formula.to : range->to, series->factor);
}

static void title_make(const struct model_setup *setup, char title[128])
{
	char shape[MODEL_SHAPE_TEXT];

	snprintf(title, 128, "Model and measurement: %s members on %s",
		 model_shape_text(setup->size, shape), setup->machine_name);
}

static void svg_write(const struct model_setup *setup, const char *svg,
		      const struct model_series series[], size_t count)
{
	FILE *out = fopen(svg, "we");
	char title[128];

	if (!out)
		err(EXIT_FAILURE, "%s", svg);
	title_make(setup, title);
	model_draw(out, title, setup, series, count);
	if (ferror(out) || fclose(out))
		err(EXIT_FAILURE, "%s", svg);
}

/* ---- What is printed ---- */

static void line_json(struct tofu_json *json, const char *key,
		      const struct tofu_model_fit *fit)
{
	tofu_json_open(json, key, '{');
	tofu_json_real(json, "b_mbs", fit->b_mbs);
	tofu_json_real(json, "half_bytes", fit->half_bytes);
	tofu_json_real(json, "t0_us", fit->t0_us);
	tofu_json_close(json, '}');
}

static void series_json(const struct model_series series[], size_t count)
{
	struct tofu_json json = { .out = stdout };

	tofu_json_open(&json, NULL, '[');
	for (size_t i = 0; i < count; i++) {
		tofu_json_open(&json, NULL, '{');
		tofu_json_string(&json, "formula", series[i].formula.name);
		tofu_json_string(&json, "file", series[i].pairs.name);
		tofu_json_number(&json, "used", series[i].fitted.used);
		tofu_json_real(&json, "worst", series[i].fitted.worst);
		line_json(&json, "model", &series[i].line);
		line_json(&json, "measured", &series[i].fitted.fit);
		tofu_json_close(&json, '}');
	}
	tofu_json_close(&json, ']');
}

static void line_row(struct tofu_table *table, const char *formula,
		     const char *what, const struct tofu_model_fit *fit)
{
	char text[MODEL_DIGITS];

	tofu_table_cell(table, "%s", formula);
	tofu_table_cell(table, "%s", what);
	tofu_table_cell(table, "%s", model_digits(fit->b_mbs, text));
	tofu_table_cell(table, "%.3e", fit->half_bytes);
	tofu_table_cell(table, "%s", model_digits(fit->t0_us, text));
}

static double percent(double measured, double model)
{
	return 100 * (measured / model - 1);
}

static void series_rows(struct tofu_table *table,
			const struct model_series *series)
{
	const struct tofu_model_fit *model = &series->line;
	const struct tofu_model_fit *fit = &series->fitted.fit;

	line_row(table, series->formula.name, "model", model);
	line_row(table, "", series->pairs.name, fit);
	tofu_table_cell(table, "%s", "");
	tofu_table_cell(table, "differs by");
	tofu_table_cell(table, "%+.1f%%", percent(fit->b_mbs, model->b_mbs));
	tofu_table_cell(table, "%+.1f%%",
			percent(fit->half_bytes, model->half_bytes));
	tofu_table_cell(table, "%+.1f%%", percent(fit->t0_us, model->t0_us));
}

static void series_table(const struct model_series series[], size_t count)
{
	static const struct tofu_column columns[] = {
		{ "formula", -16 },
		{ "line", -20 },
		{ "B/(MB/s)", 10 },
		{ "half/B", 10 },
		{ "t0/us", 10 },
	};
	struct tofu_table table = {
		.out = stdout,
		.column = columns,
		.columns = 5,
	};

	tofu_table_head(&table);
	for (size_t i = 0; i < count; i++)
		series_rows(&table, &series[i]);
}

void model_compare(const struct model_setup *setup,
		   const struct model_formula *formula,
		   const struct model_range *range, char *const files[],
		   size_t count, const char *svg, bool json)
{
	static struct model_series series[MODEL_SERIES_MAX];

	if (count > MODEL_SERIES_MAX)
		errx(EXIT_USAGE, "%zu files, and a picture has room for %d",
		     count, MODEL_SERIES_MAX);
	for (size_t i = 0; i < count; i++)
		series_make(setup, formula, range, files[i], &series[i]);
	svg_write(setup, svg, series, count);
	if (json)
		series_json(series, count);
	else
		series_table(series, count);
	for (size_t i = 0; i < count; i++)
		model_pairs_free(&series[i].pairs);
}
