/* SPDX-License-Identifier: MIT */
/*
 * The parts of tofu-model.
 *
 * May include: common/
 */
#ifndef TOFU_TOOL_MODEL_H
#define TOFU_TOOL_MODEL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tofu/model.h>

#include "common/args.h"

/**
 * struct model_setup - what formulas are computed for
 * @machine_name: for people
 * @size:     members along three axes
 * @segment, @engines, @routes: 0: those of the machine
 */
struct model_setup {
	struct tofu_model_machine machine;
	const char *machine_name;
	uint32_t size[TOFU_COLL_AXES];
	uint64_t segment;
	unsigned int engines;
	unsigned int routes;
};

/* ---- Words (model/words.c) ---- */

/* Lists that end with NULL, in the order of the enumerations */
extern const char *model_kinds[];
extern const char *model_algorithms[];

/* model_words_make - fill both with the library's words, before all else */
void model_words_make(void);

/**
 * model_shape_parse - members along three axes from an option
 * @text: one, two, three or six sizes; six are those of a machine, whose last
 *        three are on the axes of the first three
 *
 * Exits as tofu_arg_number() does.
 */
void model_shape_parse(const char *option, const char *text,
		       uint32_t size[TOFU_COLL_AXES]);

/* model_shape_text - of the sizes, such as 8x6x8 */
#define MODEL_SHAPE_TEXT 40
const char *model_shape_text(const uint32_t size[TOFU_COLL_AXES],
			     char text[MODEL_SHAPE_TEXT]);

/* model_digits - four digits of a number, as the published table has them */
#define MODEL_DIGITS 32
const char *model_digits(double value, char text[MODEL_DIGITS]);

/* ---- Formulas (model/formula.c) ---- */

#define MODEL_NAME 40

/**
 * struct model_formula - one of those that have a line in pictures
 * @name:   as users write it
 * @kind, @algorithm: where it is none of the published ones
 * @published: number of a published one, or -1
 * @from, @to: sizes to which a line is fitted, unless the user says which
 */
struct model_formula {
	char name[MODEL_NAME];
	enum tofu_coll_kind kind;
	enum tofu_coll_algorithm algorithm;
	int published;
	double from;
	double to;
};

/* model_exists - whether there is a formula of an algorithm for a kind */
bool model_exists(unsigned int kind, unsigned int algorithm);

/* The published ones, in the order of the published table */
enum { MODEL_PUBLISHED = 7 };
struct model_formula model_formula_published(int number);

/**
 * model_formula_find - the formula that a user names
 * @name: of a published one, or KIND/ALGORITHM
 *
 * Return: false if there is none.
 */
bool model_formula_find(const char *name, struct model_formula *formula);

/* model_formula_factor - how often a message counts for the throughput */
double model_formula_factor(const struct model_setup *setup,
			    const struct model_formula *formula);

/**
 * model_formula_line - the numbers of its line
 *
 * Those of formulas that are no straight line are fitted to their own times.
 * Exits with a sentence where the shape has too few members.
 */
struct tofu_model_fit model_formula_line(const struct model_setup *setup,
					 const struct model_formula *formula);

/* model_formula_us - time of so many bytes */
double model_formula_us(const struct model_setup *setup,
			const struct model_formula *formula, double bytes);

/* ---- Measured pairs (model/pairs.c) ---- */

/**
 * struct model_pairs - sizes and times of a file
 * @name: of the file
 */
struct model_pairs {
	const char *name;
	size_t count;
	double *bytes;
	double *us;
};

/**
 * model_pairs_read - read a file, or "-" for standard input
 *
 * A line has a size in bytes and a time in microseconds, separated by blanks or
 * a comma. Exits with a sentence where a line is wrong.
 */
void model_pairs_read(struct model_pairs *pairs, const char *name);
void model_pairs_free(struct model_pairs *pairs);

/**
 * struct model_fitted - a line fitted to the pairs of a range
 * @used:  pairs in the range
 * @worst: largest difference of a time from the line, as a part of the time
 */
struct model_fitted {
	struct tofu_model_fit fit;
	size_t used;
	double worst;
};

/* model_pairs_fit - exits with a sentence where that cannot be done */
struct model_fitted model_pairs_fit(const struct model_pairs *pairs,
				    double from, double to, double factor);

/* ---- Commands (model/print.c, model/compare.c) ---- */

void model_table(const struct model_setup *setup, bool json);

/**
 * model_time - times of a kind
 * @algorithm: TOFU_COLL_AUTO: all that there are
 */
void model_time(const struct model_setup *setup, enum tofu_coll_kind kind,
		enum tofu_coll_algorithm algorithm,
		const struct tofu_sizes *sizes, bool json);

/**
 * struct model_range - sizes to which lines are fitted
 * @from, @to: negative: not given
 * @factor:    0: that of the formula
 */
struct model_range {
	double from;
	double to;
	double factor;
};

void model_fit(const struct model_range *range, char *const files[],
	       size_t count, bool json);

/**
 * model_compare - formulas beside what was measured
 * @formula: for files that do not name one; NULL: there is none
 * @files:   FILE or FORMULA=FILE each
 * @svg:     file of the picture
 */
void model_compare(const struct model_setup *setup,
		   const struct model_formula *formula,
		   const struct model_range *range, char *const files[],
		   size_t count, const char *svg, bool json);

/* ---- Pictures (model/draw.c) ---- */

#define MODEL_SERIES_MAX 8

/**
 * struct model_series - a formula and what was measured
 * @factor: of the throughput
 * @line:   of the formula
 */
struct model_series {
	struct model_formula formula;
	struct model_pairs pairs;
	double factor;
	struct tofu_model_fit line;
	struct model_fitted fitted;
};

void model_draw(FILE *out, const char *title, const struct model_setup *setup,
		const struct model_series series[], size_t count);

#endif /* TOFU_TOOL_MODEL_H */
