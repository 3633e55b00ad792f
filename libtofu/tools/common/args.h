/* SPDX-License-Identifier: MIT */
/*
 * The tools' options: a table says what each option takes and where its value
 * is stored, and one function parses the command line with it. An error ends
 * the tool with a sentence that names the option, and status EXIT_USAGE.
 *
 * May include: fabric/, net/, uapi/
 */
#ifndef TOFU_TOOLS_ARGS_H
#define TOFU_TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIT_USAGE = 2 };

#define TOFU_SIZES_MAX 64

/**
 * struct tofu_sizes - a list of sizes in bytes
 * @count: how many
 * @size:  in the order given
 */
struct tofu_sizes {
	size_t count;
	uint64_t size[TOFU_SIZES_MAX];
};

/* ---- The command line ---- */

/**
 * enum tofu_arg - what an option takes, and what is stored
 * @TOFU_ARG_SET:    nothing: struct tofu_option.min is stored
 * @TOFU_ARG_NUMBER: tofu_arg_number() from @min to @max, in an integer
 * @TOFU_ARG_SIZES:  tofu_arg_sizes() from @min to @max, in a struct tofu_sizes
 * @TOFU_ARG_WORD:   tofu_arg_word() of @words, its number in an integer
 * @TOFU_ARG_TEXT:   any text, in a const char *
 * @TOFU_ARG_TAKE:   any text, which @take parses
 * @TOFU_ARG_DO:     nothing: @take carries the option out
 */
enum tofu_arg {
	TOFU_ARG_SET,
	TOFU_ARG_NUMBER,
	TOFU_ARG_SIZES,
	TOFU_ARG_WORD,
	TOFU_ARG_TEXT,
	TOFU_ARG_TAKE,
	TOFU_ARG_DO,
};

/**
 * typedef tofu_take_fn - handle an option
 * @options: of tofu_args_parse()
 * @option:  as the user writes it, for messages
 * @text:    of the argument, or NULL
 */
typedef void tofu_take_fn(void *options, const char *option, const char *text);

/**
 * struct tofu_option - an option
 * @name:  after "--"
 * @kind:  enum tofu_arg
 * @at:    offset of the value in the tool's options
 * @width: bytes of the value
 * @letter: after "-", or 0
 * @with:  for the tool's use, such as the options it can be combined with
 */
struct tofu_option {
	const char *name;
	enum tofu_arg kind;
	size_t at;
	size_t width;
	uint64_t min;
	uint64_t max;
	const char *const *words;
	tofu_take_fn *take;
	char letter;
	unsigned int with;
};

/* TOFU_AT - @at and @width of struct tofu_option */
#define TOFU_AT(type, member) \
	.at = offsetof(type, member), .width = sizeof(((type *)0)->member)

/**
 * struct tofu_args - a command line
 * @usage:    what --help prints, which needs no option of its own
 * @option:   TOFU_OPTIONS_MAX at most
 * @letters:  for getopt_long(): the letters of options, and h for --help; NULL
 *            if no option has one. With a leading +, options end at the first
 *            word that is none.
 * @operands: words that are no options are allowed: from optind on
 */
#define TOFU_OPTIONS_MAX 64
struct tofu_args {
	const char *usage;
	const struct tofu_option *option;
	size_t count;
	const char *letters;
	bool operands;
};

#define TOFU_ARGS(text, table) \
	.usage = text, .option = table, \
	.count = sizeof(table) / sizeof((table)[0])

/**
 * tofu_args_parse - read the command line
 * @options: the tool's, with its defaults
 *
 * Prints @args->usage and ends the tool if --help is given.
 *
 * Return: which options were given: bit i stands for the i-th of the table.
 */
uint64_t tofu_args_parse(const struct tofu_args *args, int argc, char **argv,
			 void *options);

/* ---- Arguments ---- */

/**
 * tofu_arg_number - a whole number from an option
 * @option: as the user wrote it, for the message
 * @text:   decimal digits, then nothing or K, M or G for powers of 1024
 * @min, @max: bounds
 *
 * Return: the number. Otherwise prints the error and exits with status 2.
 */
uint64_t tofu_arg_number(const char *option, const char *text, uint64_t min,
			 uint64_t max);

/**
 * tofu_arg_sizes - a list of sizes from an option
 * @text: items separated by commas: a number, or FIRST:LAST for FIRST, twice
 *        that, and so on, up to LAST
 * @sizes: replaced
 *
 * Exits as tofu_arg_number() does.
 */
void tofu_arg_sizes(const char *option, const char *text, uint64_t min,
		    uint64_t max, struct tofu_sizes *sizes);

/**
 * tofu_arg_word - a word from a list
 * @words: a list that ends with NULL
 *
 * Return: number of the word in the list. Exits as tofu_arg_number() does.
 */
unsigned int tofu_arg_word(const char *option, const char *text,
			   const char *const *words);

/**
 * typedef tofu_add_fn - take a word of a list
 * @to:   of tofu_arg_words()
 * @word: its number
 */
typedef void tofu_add_fn(void *to, const char *option, unsigned int word);

/**
 * tofu_arg_words - several words from a list, separated by commas
 * @each: how many of the first words "each" stands for; 0: it is no word
 * @add:  called for each word, in the order given
 *
 * Exits as tofu_arg_number() does.
 */
void tofu_arg_words(const char *option, const char *text,
		    const char *const *words, unsigned int each,
		    tofu_add_fn *add, void *to);

#endif /* TOFU_TOOLS_ARGS_H */
