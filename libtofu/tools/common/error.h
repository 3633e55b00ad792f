/* SPDX-License-Identifier: MIT */
/* Error messages for people. */
#ifndef TOFU_TOOLS_ERROR_H
#define TOFU_TOOLS_ERROR_H

#include <tofu/error.h>

/**
 * tofu_error_say - keep a sentence for the user
 * @why: set to the sentence, to be freed. Unchanged if NULL or if it already
 *       holds a sentence, since the first one is the cause.
 */
void tofu_error_say(char **why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TOFU_TOOLS_ERROR_H */
