// SPDX-License-Identifier: MIT
#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

#define KIB 1024.0

enum { PINGPONG,
       BCAST_1D,
       BCAST_2D,
       BCAST_3D,
       ALLREDUCE_3D,
       ALLGATHER_SHORT,
       ALLGATHER_LONG };

/* Ranges are those to which the published lines were fitted. */
static const struct model_formula published[MODEL_PUBLISHED] = {
	{ "pingpong", TOFU_COLL_KINDS, TOFU_COLL_AUTO, PINGPONG, 0, INFINITY },
	{ "bcast-1d", TOFU_COLL_BCAST, TOFU_COLL_PIPELINED, BCAST_1D, 0,
	  INFINITY },
	{ "bcast-2d", TOFU_COLL_BCAST, TOFU_COLL_PIPELINED, BCAST_2D, 0,
	  INFINITY },
	{ "bcast-3d", TOFU_COLL_BCAST, TOFU_COLL_PIPELINED, BCAST_3D, 0,
	  INFINITY },
	{ "allreduce-3d", TOFU_COLL_ALLREDUCE, TOFU_COLL_PIPELINED,
	  ALLREDUCE_3D, 128 * KIB, INFINITY },
	{ "allgather-short", TOFU_COLL_ALLGATHER, TOFU_COLL_MULTIRING,
	  ALLGATHER_SHORT, 0, 32 * KIB },
	{ "allgather-long", TOFU_COLL_ALLGATHER, TOFU_COLL_MULTIRING,
	  ALLGATHER_LONG, 64 * KIB, INFINITY },
};

struct model_formula model_formula_published(int number)
{
	return published[number];
}

static bool word_find(const char *const words[], const char *word, size_t length,
		      unsigned int *number)
{
	for (unsigned int i = 0; words[i]; i++) {
		if (strlen(words[i]) == length &&
		    !strncmp(words[i], word, length)) {
			*number = i;
			return true;
		}
	}
	return false;
}

bool model_exists(unsigned int kind, unsigned int algorithm)
{
	static const uint32_t pair[TOFU_COLL_AXES] = { 1, 1, 2 };
	struct tofu_model_machine k;

	return !tofu_model_machine("k", &k) &&
	       tofu_model_coll_us(&k, (enum tofu_coll_kind)kind,
				  (enum tofu_coll_algorithm)algorithm, pair, 0,
				  0, 0, 0) >= 0;
}

bool model_formula_find(const char *name, struct model_formula *formula)
{
	const char *slash = strchr(name, '/');
	unsigned int kind, algorithm;

	for (int i = 0; i < MODEL_PUBLISHED; i++) {
		if (!strcmp(name, published[i].name)) {
			*formula = published[i];
			return true;
		}
	}
	if (!slash ||
	    !word_find(model_kinds, name, (size_t)(slash - name), &kind) ||
	    !word_find(model_algorithms, slash + 1, strlen(slash + 1),
		       &algorithm) ||
	    kind == TOFU_COLL_BARRIER || !model_exists(kind, algorithm))
		return false;
	*formula = (struct model_formula){
		.kind = (enum tofu_coll_kind)kind,
		.algorithm = (enum tofu_coll_algorithm)algorithm,
		.published = -1,
		.to = INFINITY,
	};
	snprintf(formula->name, sizeof(formula->name), "%s", name);
	return true;
}

double model_formula_factor(const struct model_setup *setup,
			    const struct model_formula *formula)
{
	if (formula->kind == TOFU_COLL_ALLREDUCE)
		return 2;
	if (formula->kind == TOFU_COLL_ALLGATHER)
		return (double)setup->size[0] * setup->size[1] * setup->size[2];
	return 1;
}

/* Return: negative where the formula needs more members. */
static double published_fit(const struct model_setup *setup, int number,
			    struct tofu_model_fit *fit)
{
	const struct tofu_model_machine *machine = &setup->machine;
	struct tofu_model_allgather lines;
	double us;

	switch (number) {
	case PINGPONG:
		return tofu_model_pingpong_us(machine, 0, fit);
	case BCAST_1D:
	case BCAST_2D:
	case BCAST_3D:
		return tofu_model_bcast_us(machine, setup->size, setup->segment,
					   (unsigned int)(number - BCAST_1D + 1),
					   0, fit);
	case ALLREDUCE_3D:
		return tofu_model_allreduce_us(machine, setup->size,
					       setup->segment, 3, 0, fit, NULL);
	default:
		us = tofu_model_allgather_us(machine, setup->size,
					     setup->engines, 0, &lines);
		*fit = number == ALLGATHER_SHORT ? lines.short_blocks :
						   lines.long_blocks;
		return us;
	}
}

static double coll_us(const struct model_setup *setup,
		      const struct model_formula *formula, double bytes)
{
	return tofu_model_coll_us(&setup->machine, formula->kind,
				  formula->algorithm, setup->size,
				  (size_t)bytes, setup->segment, setup->engines,
				  setup->routes);
}

/* A line through the times of long messages */
static int coll_fit(const struct model_setup *setup,
		    const struct model_formula *formula,
		    struct tofu_model_fit *fit)
{
	static const double bytes[] = { 1e6, 1e7, 1e8, 1e9 };
	double us[4];

	for (int i = 0; i < 4; i++)
		us[i] = coll_us(setup, formula, bytes[i]);
	return tofu_model_fit(bytes, us, 4,
			      model_formula_factor(setup, formula), fit);
}

struct tofu_model_fit model_formula_line(const struct model_setup *setup,
					 const struct model_formula *formula)
{
	struct tofu_model_fit fit = { 0 };
	char shape[MODEL_SHAPE_TEXT];
	bool wrong;

	if (formula->published >= 0)
		wrong = published_fit(setup, formula->published, &fit) < 0;
	else
		wrong = coll_fit(setup, formula, &fit);
	if (wrong)
		errx(EXIT_USAGE, "%s: %s needs 2 members and more",
		     model_shape_text(setup->size, shape), formula->name);
	return fit;
}

double model_formula_us(const struct model_setup *setup,
			const struct model_formula *formula, double bytes)
{
	struct tofu_model_fit fit;

	if (formula->published < 0)
		return coll_us(setup, formula, bytes);
	fit = model_formula_line(setup, formula);
	return fit.t0_us +
	       bytes * model_formula_factor(setup, formula) / fit.b_mbs;
}
