/* SPDX-License-Identifier: MIT */
/*
 * Writing JSON. Values are written as they come, so nothing is kept; the
 * caller closes what it opens. In an array @key is NULL.
 */
#ifndef TOFU_TOOLS_JSON_H
#define TOFU_TOOLS_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct tofu_json - a document being written
 * @out:   where to
 * @depth: objects and arrays that are open
 * @some:  the innermost of them has a member already
 */
struct tofu_json {
	FILE *out;
	unsigned int depth;
	bool some;
};

/* tofu_json_open, tofu_json_close - '{' or '[' and its counterpart; closing the
 * outermost one ends the line
 */
void tofu_json_open(struct tofu_json *json, const char *key, char bracket);
void tofu_json_close(struct tofu_json *json, char bracket);

/* @text ends with NUL; bytes that are not UTF-8 become U+FFFD. */
void tofu_json_string(struct tofu_json *json, const char *key,
		      const char *text);
void tofu_json_number(struct tofu_json *json, const char *key, uint64_t value);
void tofu_json_bool(struct tofu_json *json, const char *key, bool value);
void tofu_json_null(struct tofu_json *json, const char *key);

/*
 * tofu_json_real - nine significant digits, so that up to a second a time in us
 * has its nanoseconds; null where @value is not finite
 */
void tofu_json_real(struct tofu_json *json, const char *key, double value);

#endif /* TOFU_TOOLS_JSON_H */
