/* SPDX-License-Identifier: MIT */
/* Messages about uTofu, for people. */
#ifndef TOFU_TOOLS_ERROR_H
#define TOFU_TOOLS_ERROR_H

/*
 * tofu_error_text - name and meaning of a negative enum utofu_return_code
 *
 * Return: a text that lasts until the thread asks for the next one.
 */
const char *tofu_error_text(int code);

/**
 * tofu_error_say - keep a sentence for the user
 * @why: where to, to be freed; nothing is done where it is NULL or already
 *       holds a sentence: the first one is the cause
 */
void tofu_error_say(char **why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif /* TOFU_TOOLS_ERROR_H */
