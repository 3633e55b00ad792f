// SPDX-License-Identifier: MIT
#include <err.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/table.h"
#include "model/model.h"

static void line_cells(struct tofu_table *table,
		       const struct tofu_model_fit *fit)
{
	char text[MODEL_DIGITS];

	tofu_table_cell(table, "%s", model_digits(fit->b_mbs, text));
	tofu_table_cell(table, "%.3e", fit->half_bytes);
	tofu_table_cell(table, "%s", model_digits(fit->t0_us, text));
}

static void line_json(struct tofu_json *json, const struct tofu_model_fit *fit)
{
	tofu_json_real(json, "b_mbs", fit->b_mbs);
	tofu_json_real(json, "half_bytes", fit->half_bytes);
	tofu_json_real(json, "t0_us", fit->t0_us);
}

static void setup_json(struct tofu_json *json, const struct model_setup *setup)
{
	char shape[MODEL_SHAPE_TEXT];

	tofu_json_string(json, "machine", setup->machine_name);
	tofu_json_string(json, "shape", model_shape_text(setup->size, shape));
}

/* ---- table ---- */

static void table_json(const struct model_setup *setup)
{
	struct tofu_json json = { .out = stdout };

	tofu_json_open(&json, NULL, '{');
	setup_json(&json, setup);
	tofu_json_open(&json, "formulas", '[');
	for (int i = 0; i < MODEL_PUBLISHED; i++) {
		const struct model_formula formula = model_formula_published(i);
		const struct tofu_model_fit fit =
			model_formula_line(setup, &formula);

		tofu_json_open(&json, NULL, '{');
		tofu_json_string(&json, "name", formula.name);
		line_json(&json, &fit);
		tofu_json_close(&json, '}');
	}
	tofu_json_close(&json, ']');
	tofu_json_close(&json, '}');
}

void model_table(const struct model_setup *setup, bool json)
{
	static const struct tofu_column columns[] = {
		{ "formula", -15 },
		{ "B/(MB/s)", 10 },
		{ "half/B", 10 },
		{ "t0/us", 8 },
	};
	struct tofu_table table = {
		.out = stdout,
		.column = columns,
		.columns = 4,
	};
	char shape[MODEL_SHAPE_TEXT];

	/* Nothing is printed where a formula needs more members. */
	for (int i = 0; i < MODEL_PUBLISHED; i++) {
		const struct model_formula formula = model_formula_published(i);

		model_formula_line(setup, &formula);
	}
	if (json) {
		table_json(setup);
		return;
	}
	printf("%s members on %s\n\n", model_shape_text(setup->size, shape),
	       setup->machine_name);
	tofu_table_head(&table);
	for (int i = 0; i < MODEL_PUBLISHED; i++) {
		const struct model_formula formula = model_formula_published(i);
		const struct tofu_model_fit fit =
			model_formula_line(setup, &formula);

		tofu_table_cell(&table, "%s", formula.name);
		line_cells(&table, &fit);
	}
}

/* ---- time ---- */

/**
 * struct choice - algorithms whose times are printed
 */
struct choice {
	const struct model_setup *setup;
	enum tofu_coll_kind kind;
	enum tofu_coll_algorithm algorithm[TOFU_COLL_ALGORITHMS];
	size_t count;
};

static void choice_refuse(enum tofu_coll_kind kind,
			  enum tofu_coll_algorithm algorithm)
{
	char there[256] = "";

	for (unsigned int a = 0; a < TOFU_COLL_ALGORITHMS; a++) {
		const size_t used = strlen(there);

		if (model_exists(kind, a))
			snprintf(there + used, sizeof(there) - used, "%s%s",
				 used ? ", " : "", model_algorithms[a]);
	}
	errx(EXIT_USAGE, "--algorithm: '%s' does not exist for %s, which has %s",
	     model_algorithms[algorithm], model_kinds[kind], there);
}

static struct choice choice_make(const struct model_setup *setup,
				 enum tofu_coll_kind kind,
				 enum tofu_coll_algorithm algorithm)
{
	struct choice choice = { .setup = setup, .kind = kind };

	for (unsigned int a = 0; a < TOFU_COLL_ALGORITHMS; a++)
		if (model_exists(kind, a) && (!algorithm || algorithm == a))
			choice.algorithm[choice.count++] =
				(enum tofu_coll_algorithm)a;
	if (!choice.count)
		choice_refuse(kind, algorithm);
	return choice;
}

static double choice_us(const struct choice *choice, size_t which,
			uint64_t bytes)
{
	const struct model_setup *s = choice->setup;

	return tofu_model_coll_us(&s->machine, choice->kind,
				  choice->algorithm[which], s->size, bytes,
				  s->segment, s->engines, s->routes);
}

static void time_json(const struct choice *choice,
		      const struct tofu_sizes *sizes)
{
	struct tofu_json json = { .out = stdout };

	tofu_json_open(&json, NULL, '{');
	setup_json(&json, choice->setup);
	tofu_json_string(&json, "kind", model_kinds[choice->kind]);
	tofu_json_open(&json, "times", '[');
	for (size_t i = 0; i < sizes->count; i++) {
		tofu_json_open(&json, NULL, '{');
		tofu_json_number(&json, "bytes", sizes->size[i]);
		tofu_json_open(&json, "us", '{');
		for (size_t a = 0; a < choice->count; a++)
			tofu_json_real(&json,
				       model_algorithms[choice->algorithm[a]],
				       choice_us(choice, a, sizes->size[i]));
		tofu_json_close(&json, '}');
		tofu_json_close(&json, '}');
	}
	tofu_json_close(&json, ']');
	tofu_json_close(&json, '}');
}

static void time_row(struct tofu_table *table, const struct choice *choice,
		     uint64_t bytes)
{
	double us[TOFU_COLL_ALGORITHMS];
	size_t least = 0;

	tofu_table_cell(table, "%" PRIu64, bytes);
	for (size_t a = 0; a < choice->count; a++) {
		us[a] = choice_us(choice, a, bytes);
		if (us[a] < us[least])
			least = a;
	}
	for (size_t a = 0; a < choice->count; a++)
		tofu_table_cell(table, "%.2f%s", us[a],
				choice->count == 1 ? "" :
				a == least	   ? "*" : " ");
}

void model_time(const struct model_setup *setup, enum tofu_coll_kind kind,
		enum tofu_coll_algorithm algorithm,
		const struct tofu_sizes *sizes, bool json)
{
	const struct choice choice = choice_make(setup, kind, algorithm);
	struct tofu_column columns[TOFU_COLL_ALGORITHMS + 1] = {
		{ "bytes", 10 },
	};
	struct tofu_table table = {
		.out = stdout,
		.column = columns,
		.columns = choice.count + 1,
	};
	const struct tofu_sizes none = { .count = 1 };
	char shape[MODEL_SHAPE_TEXT];

	if (kind == TOFU_COLL_BARRIER)
		sizes = &none;
	if (json) {
		time_json(&choice, sizes);
		return;
	}
	for (size_t a = 0; a < choice.count; a++)
		columns[a + 1] = (struct tofu_column){
			model_algorithms[choice.algorithm[a]], 14
		};
	printf("%s of %s members on %s, us%s\n\n", model_kinds[kind],
	       model_shape_text(setup->size, shape), setup->machine_name,
	       choice.count > 1 ? "; * takes least" : "");
	tofu_table_head(&table);
	for (size_t i = 0; i < sizes->count; i++)
		time_row(&table, &choice, sizes->size[i]);
}

/* ---- fit ---- */

static void fitted_json(struct tofu_json *json, const struct model_pairs *pairs,
			const struct model_fitted *fitted)
{
	tofu_json_open(json, NULL, '{');
	tofu_json_string(json, "file", pairs->name);
	tofu_json_number(json, "pairs", pairs->count);
	tofu_json_number(json, "used", fitted->used);
	line_json(json, &fitted->fit);
	tofu_json_real(json, "worst", fitted->worst);
	tofu_json_close(json, '}');
}

static void fitted_row(struct tofu_table *table, const struct model_pairs *pairs,
		       const struct model_fitted *fitted)
{
	tofu_table_cell(table, "%s", pairs->name);
	tofu_table_cell(table, "%zu", fitted->used);
	line_cells(table, &fitted->fit);
	tofu_table_cell(table, "%.1f", 100 * fitted->worst);
}

static struct model_fitted file_fit(const struct model_range *range,
				    const char *file, struct model_pairs *pairs)
{
	model_pairs_read(pairs, file);
	return model_pairs_fit(pairs, range->from < 0 ? 0 : range->from,
			       range->to < 0 ? INFINITY : range->to,
			       range->factor ? range->factor : 1);
}

/* What is wrong in any file is said before anything is printed. */
void model_fit(const struct model_range *range, char *const files[],
	       size_t count, bool json)
{
	static const struct tofu_column columns[] = {
		{ "file", -20 },
		{ "pairs", 6 },
		{ "B/(MB/s)", 10 },
		{ "half/B", 10 },
		{ "t0/us", 10 },
		{ "worst/%", 8 },
	};
	struct tofu_table table = {
		.out = stdout,
		.column = columns,
		.columns = 6,
	};
	struct tofu_json out = { .out = stdout };
	struct model_fitted *fitted = calloc(count, sizeof(*fitted));
	struct model_pairs *pairs = calloc(count, sizeof(*pairs));

	if (!fitted || !pairs)
		errx(EXIT_FAILURE, "no memory");
	for (size_t i = 0; i < count; i++)
		fitted[i] = file_fit(range, files[i], &pairs[i]);
	if (json)
		tofu_json_open(&out, NULL, '[');
	else
		tofu_table_head(&table);
	for (size_t i = 0; i < count; i++) {
		if (json)
			fitted_json(&out, &pairs[i], &fitted[i]);
		else
			fitted_row(&table, &pairs[i], &fitted[i]);
		model_pairs_free(&pairs[i]);
	}
	if (json)
		tofu_json_close(&out, ']');
	free(fitted);
	free(pairs);
}
