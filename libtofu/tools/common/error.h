/* SPDX-License-Identifier: MIT */
/* Sentences about what has failed, for people. */
#ifndef TOFU_TOOLS_ERROR_H
#define TOFU_TOOLS_ERROR_H

#include <tofu/error.h>

/**
 * tofu_error_say - keep a sentence for the user
 * @why: where to, to be freed; nothing is done where it is NULL or already
 *       holds a sentence: the first one is the cause
 */
void tofu_error_say(char **why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TOFU_TOOLS_ERROR_H */
