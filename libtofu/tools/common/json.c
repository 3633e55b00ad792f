// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <stddef.h>

#include "json.h"

/*
 * Bytes of the UTF-8 character at @text, 0 where there is none: bad lead byte,
 * cut short, longer than needed, a surrogate, or beyond U+10FFFF.
 */
static size_t utf8_length(const unsigned char *text)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = text[0] < 0x80		 ? 1 :
			(text[0] & 0xe0) == 0xc0 ? 2 :
			(text[0] & 0xf0) == 0xe0 ? 3 :
			(text[0] & 0xf8) == 0xf0 ? 4 :
						   0;
	uint32_t code;

	if (length <= 1)
		return length;
	code = text[0] & (0x7fU >> length);
	for (size_t i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff ||
	    (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

static void quote(FILE *out, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	fputc('"', out);
	while (*at) {
		size_t length = utf8_length(at);

		if (!length) {
			fputs("\\ufffd", out);
			length = 1;
		} else if (*at == '"' || *at == '\\') {
			fprintf(out, "\\%c", *at);
		} else if (*at < 0x20 || *at == 0x7f) {
			fprintf(out, "\\u%04x", *at);
		} else {
			fwrite(at, 1, length, out);
		}
		at += length;
	}
	fputc('"', out);
}

/* Print what precedes any value: comma, new line, indentation, key. */
static void member(struct tofu_json *json, const char *key)
{
	if (json->some)
		fputc(',', json->out);
	if (json->depth)
		fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
	if (key) {
		quote(json->out, key);
		fputs(": ", json->out);
	}
	json->some = true;
}

void tofu_json_open(struct tofu_json *json, const char *key, char bracket)
{
	member(json, key);
	fputc(bracket, json->out);
	json->depth++;
	json->some = false;
}

void tofu_json_close(struct tofu_json *json, char bracket)
{
	json->depth--;
	if (json->some)
		fprintf(json->out, "\n%*s", (int)json->depth * 2, "");
	fputc(bracket, json->out);
	if (!json->depth)
		fputc('\n', json->out);
	json->some = true;
}

void tofu_json_string(struct tofu_json *json, const char *key, const char *text)
{
	member(json, key);
	quote(json->out, text);
}

void tofu_json_number(struct tofu_json *json, const char *key, uint64_t value)
{
	member(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void tofu_json_bool(struct tofu_json *json, const char *key, bool value)
{
	member(json, key);
	fputs(value ? "true" : "false", json->out);
}

void tofu_json_null(struct tofu_json *json, const char *key)
{
	member(json, key);
	fputs("null", json->out);
}

void tofu_json_real(struct tofu_json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		tofu_json_null(json, key);
		return;
	}
	member(json, key);
	fprintf(json->out, "%.9g", value);
}
