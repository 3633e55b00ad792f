// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

#define EXIT_USAGE 2

/* The number at the front of *text, moved past it; false: there is none. */
static bool number_take(const char **text, uint64_t *number)
{
	static const char suffixes[] = "KMG";
	const char *suffix;
	uint64_t value;
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	value = strtoull(*text, &end, 10);
	if (errno)
		return false;
	suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	if (suffix) {
		unsigned int shift = 10 * (unsigned int)(suffix - suffixes + 1);

		if (value > UINT64_MAX >> shift)
			return false;
		value <<= shift;
		end++;
	}
	*text = end;
	*number = value;
	return true;
}

static void number_check(const char *option, uint64_t value, uint64_t min,
			 uint64_t max)
{
	if (value < min || value > max)
		errx(EXIT_USAGE,
		     "%s: %" PRIu64 " is out of range, %" PRIu64 " to %" PRIu64,
		     option, value, min, max);
}

uint64_t tofu_arg_number(const char *option, const char *text, uint64_t min,
			 uint64_t max)
{
	const char *rest = text;
	uint64_t value;

	if (!number_take(&rest, &value) || *rest)
		errx(EXIT_USAGE, "%s: '%s' is not a number", option, text);
	number_check(option, value, min, max);
	return value;
}

static void sizes_add(const char *option, struct tofu_sizes *sizes,
		      uint64_t size)
{
	if (sizes->count == TOFU_SIZES_MAX)
		errx(EXIT_USAGE, "%s: more than %d sizes", option,
		     TOFU_SIZES_MAX);
	sizes->size[sizes->count++] = size;
}

void tofu_arg_sizes(const char *option, const char *text, uint64_t min,
		    uint64_t max, struct tofu_sizes *sizes)
{
	const char *rest = text;

	sizes->count = 0;
	for (;;) {
		uint64_t first, last;

		if (!number_take(&rest, &first))
			break;
		last = first;
		if (*rest == ':') {
			rest++;
			if (!number_take(&rest, &last) || !first || last < first)
				break;
		}
		number_check(option, first, min, max);
		number_check(option, last, min, max);
		sizes_add(option, sizes, first);
		while (first && first <= last / 2) {
			first *= 2;
			sizes_add(option, sizes, first);
		}
		if (!*rest)
			return;
		if (*rest++ != ',')
			break;
	}
	errx(EXIT_USAGE, "%s: '%s' is no list of sizes such as 8,1K:4M", option,
	     text);
}
