/* SPDX-License-Identifier: MIT */
/*
 * What the tools' options have in common beyond getopt_long().
 *
 * May include: fabric/, net/, uapi/
 */
#ifndef TOFU_TOOLS_ARGS_H
#define TOFU_TOOLS_ARGS_H

#include <stddef.h>
#include <stdint.h>

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

/**
 * tofu_arg_number - a whole number from an option
 * @option: as the user wrote it, for the message
 * @text:   decimal digits, then nothing or K, M or G for powers of 1024
 * @min, @max: bounds
 *
 * Return: the number. Says what is wrong and exits with status 2 otherwise.
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

#endif /* TOFU_TOOLS_ARGS_H */
