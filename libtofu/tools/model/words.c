// SPDX-License-Identifier: MIT
#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

#define AXES_MAX (2 * TOFU_COLL_AXES)

const char *model_kinds[TOFU_COLL_KINDS + 1];
const char *model_algorithms[TOFU_COLL_ALGORITHMS + 1];

void model_words_make(void)
{
	for (unsigned int k = 0; k < TOFU_COLL_KINDS; k++)
		model_kinds[k] = tofu_coll_kind_name((enum tofu_coll_kind)k);
	for (unsigned int a = 0; a < TOFU_COLL_ALGORITHMS; a++)
		model_algorithms[a] =
			tofu_coll_algorithm_name((enum tofu_coll_algorithm)a);
	model_algorithms[TOFU_COLL_AUTO] = "all";
}

static void shape_refuse(const char *option, const char *text)
{
	errx(EXIT_USAGE,
	     "%s: '%s' is not a shape: one, two, three or six sizes such as 8x6x8, with less than 2^32 members",
	     option, text);
}

/* Return: how many sizes there are. */
static unsigned int sizes_parse(const char *option, const char *text,
				uint64_t size[AXES_MAX])
{
	const char *rest = text;
	unsigned int count = 0;

	for (;;) {
		char *end;

		if (count == AXES_MAX || *rest < '0' || *rest > '9')
			shape_refuse(option, text);
		size[count] = strtoull(rest, &end, 10);
		if (!size[count] || size[count] > UINT32_MAX)
			shape_refuse(option, text);
		count++;
		if (!*end)
			return count;
		if (*end != 'x')
			shape_refuse(option, text);
		rest = end + 1;
	}
}

void model_shape_parse(const char *option, const char *text,
		       uint32_t size[TOFU_COLL_AXES])
{
	uint64_t part[AXES_MAX] = { 0 };
	const unsigned int count = sizes_parse(option, text, part);
	uint64_t members = 1;

	if (count > TOFU_COLL_AXES && count < AXES_MAX)
		shape_refuse(option, text);
	for (unsigned int i = 0; i < AXES_MAX; i++) {
		if (i >= count)
			part[i] = 1;
		members *= part[i];
		if (members > UINT32_MAX)
			shape_refuse(option, text);
	}
	for (unsigned int i = 0; i < TOFU_COLL_AXES; i++)
		size[i] = (uint32_t)(part[i] * part[i + TOFU_COLL_AXES]);
}

const char *model_shape_text(const uint32_t size[TOFU_COLL_AXES],
			     char text[MODEL_SHAPE_TEXT])
{
	snprintf(text, MODEL_SHAPE_TEXT, "%ux%ux%u", size[0], size[1], size[2]);
	return text;
}

const char *model_digits(double value, char text[MODEL_DIGITS])
{
	double unit = 1;

	if (fabs(value) >= 1e5) {
		snprintf(text, MODEL_DIGITS, "%.3e", value);
		return text;
	}
	if (value)
		unit = pow(10, floor(log10(fabs(value))) - 3);
	if (unit > 1)
		snprintf(text, MODEL_DIGITS, "%.0f", round(value / unit) * unit);
	else
		snprintf(text, MODEL_DIGITS, "%.*f",
			 (int)fmin(-log10(unit) + 0.5, 9), value);
	return text;
}
