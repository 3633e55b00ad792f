// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"

/* ---- Arguments ---- */

/* Take the number at the front of *text and move past it; false: none. */
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

unsigned int tofu_arg_word(const char *option, const char *text,
			   const char *const *words)
{
	for (unsigned int i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return i;
	errx(EXIT_USAGE, "%s: '%s' is not one of those that --help names",
	     option, text);
}

void tofu_arg_words(const char *option, const char *text,
		    const char *const *words, unsigned int each,
		    tofu_add_fn *add, void *to)
{
	char *copy = strdup(text), *rest = copy, *word;

	if (!copy)
		errx(EXIT_FAILURE, "no memory");
	while ((word = strsep(&rest, ","))) {
		if (each && !strcmp(word, "each"))
			for (unsigned int i = 0; i < each; i++)
				add(to, option, i);
		else
			add(to, option, tofu_arg_word(option, word, words));
	}
	free(copy);
}

/* ---- The command line ---- */

/* The values of getopt_long() for the first option and for --help */
enum { FIRST = 256, HELP = FIRST + TOFU_OPTIONS_MAX };

static bool takes_argument(const struct tofu_option *option)
{
	return option->kind != TOFU_ARG_SET && option->kind != TOFU_ARG_DO;
}

/* Make the list of options for getopt_long(). */
static void list_make(const struct tofu_args *args, struct option *list)
{
	for (size_t i = 0; i < args->count; i++)
		list[i] = (struct option){
			.name = args->option[i].name,
			.has_arg = takes_argument(&args->option[i]),
			.val = FIRST + (int)i,
		};
	list[args->count] = (struct option){ "help", no_argument, NULL, HELP };
}

/* Return: the option of a value of getopt_long(); exits for other values. */
static size_t option_find(const struct tofu_args *args, int value)
{
	if (value == HELP || value == 'h') {
		fputs(args->usage, stdout);
		exit(EXIT_SUCCESS);
	}
	if (value >= FIRST)
		return (size_t)(value - FIRST);
	for (size_t i = 0; i < args->count; i++)
		if (args->option[i].letter == value)
			return i;
	fprintf(stderr, "Try '%s --help'.\n", program_invocation_short_name);
	exit(EXIT_USAGE);
}

static void number_keep(void *to, size_t width, uint64_t value)
{
	if (width == sizeof(uint8_t))
		*(uint8_t *)to = (uint8_t)value;
	else if (width == sizeof(uint32_t))
		*(uint32_t *)to = (uint32_t)value;
	else
		*(uint64_t *)to = value;
}

static void option_take(const struct tofu_option *o, const char *text,
			void *options)
{
	void *to = (char *)options + o->at;
	char name[64];

	snprintf(name, sizeof(name), "--%s", o->name);
	switch (o->kind) {
	case TOFU_ARG_SET:
		number_keep(to, o->width, o->min);
		break;
	case TOFU_ARG_NUMBER:
		number_keep(to, o->width,
			    tofu_arg_number(name, text, o->min, o->max));
		break;
	case TOFU_ARG_SIZES:
		tofu_arg_sizes(name, text, o->min, o->max, to);
		break;
	case TOFU_ARG_WORD:
		number_keep(to, o->width, tofu_arg_word(name, text, o->words));
		break;
	case TOFU_ARG_TEXT:
		*(const char **)to = text;
		break;
	case TOFU_ARG_TAKE:
	case TOFU_ARG_DO:
		o->take(options, name, text);
		break;
	}
}

uint64_t tofu_args_parse(const struct tofu_args *args, int argc, char **argv,
			 void *options)
{
	const char *letters = args->letters ? args->letters : "";
	struct option list[TOFU_OPTIONS_MAX + 2] = { { 0 } };
	uint64_t given = 0;
	int value;

	list_make(args, list);
	while ((value = getopt_long(argc, argv, letters, list, NULL)) != -1) {
		size_t i = option_find(args, value);

		given |= UINT64_C(1) << i;
		option_take(&args->option[i], optarg, options);
	}
	if (optind < argc && !args->operands)
		errx(EXIT_USAGE, "'%s' is not an option", argv[optind]);
	return given;
}
