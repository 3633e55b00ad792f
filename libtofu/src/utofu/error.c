/* SPDX-License-Identifier: MIT */
#include "utofu/error.h"

#include <stddef.h>
#include <stdio.h>

#include <tofu/error.h>
#include <utofu.h>

/**
 * struct code - a return code
 * @code: enum utofu_return_code
 * @name: without UTOFU_ERR_
 * @meaning: in a few words
 * @text: what tofu_error_text() returns
 */
struct code {
	int code;
	const char *name;
	const char *meaning;
	const char *text;
};

#define CODE(name, meaning) \
	{ UTOFU_ERR_##name, #name, meaning, #name " (" meaning ")" }

static const struct code codes[] = {
	CODE(NOT_FOUND, "nothing there"),
	CODE(NOT_COMPLETED, "still under way"),
	CODE(NOT_PROCESSED, "none was started"),
	CODE(BUSY, "the queue is full, or something is under way"),
	CODE(USED, "already in use"),
	CODE(FULL, "none is left"),
	CODE(NOT_AVAILABLE, "no interconnect here; TOFU_DEBUG=1 says why"),
	CODE(NOT_SUPPORTED, "not here"),
	CODE(TCQ_OTHER, "the command failed on this side"),
	CODE(TCQ_DESC, "bad command"),
	CODE(TCQ_MEMORY, "own memory cannot be read"),
	CODE(TCQ_STADD, "bad address on this side"),
	CODE(TCQ_LENGTH, "bad length"),
	CODE(MRQ_OTHER, "notices were lost, or the command failed under way"),
	CODE(MRQ_PEER, "nobody there, or it died"),
	CODE(MRQ_LCL_MEMORY, "own memory cannot be written"),
	CODE(MRQ_RMT_MEMORY, "the target's memory is unusable"),
	CODE(MRQ_LCL_STADD, "deregistered on the way"),
	CODE(MRQ_RMT_STADD, "not registered at the target"),
	CODE(MRQ_LCL_LENGTH, "bad length of the answer"),
	CODE(MRQ_RMT_LENGTH, "bad length at the target"),
	CODE(BARRIER_OTHER, "a node is gone, or gates are linked wrongly"),
	CODE(BARRIER_MISMATCH, "the nodes did not start the same"),
	CODE(INVALID_ARG, "an argument is outside its range"),
	CODE(INVALID_POINTER, "a pointer is NULL"),
	CODE(INVALID_FLAGS, "no such flag"),
	CODE(INVALID_COORDS, "coordinates outside the machine"),
	CODE(INVALID_PATH, "path coordinates outside the machine"),
	CODE(INVALID_TNI_ID, "no such TNI"),
	CODE(INVALID_CQ_ID, "no such command queue"),
	CODE(INVALID_BG_ID, "no such barrier gate"),
	CODE(INVALID_CMP_ID, "no such component ID"),
	CODE(INVALID_VCQ_HDL, "not the handle of a VCQ"),
	CODE(INVALID_VCQ_ID, "not the ID of a VCQ"),
	CODE(INVALID_VBG_ID, "not the ID of a gate that can be used so"),
	CODE(INVALID_PATH_ID, "no such path"),
	CODE(INVALID_STADD, "not a STADD, or not registered here"),
	CODE(INVALID_ADDRESS, "no memory there"),
	CODE(INVALID_SIZE, "a length is outside its range"),
	CODE(INVALID_STAG, "no such STAG"),
	CODE(INVALID_EDATA, "edata is too large"),
	CODE(INVALID_NUMBER, "a count is outside its range"),
	CODE(INVALID_OP, "no such operation, or another was started"),
	CODE(INVALID_DESC, "not a prepared command of this VCQ"),
	CODE(INVALID_DATA, "a NaN or an infinity"),
	CODE(OUT_OF_RESOURCE, "the system has no more of something"),
	CODE(OUT_OF_MEMORY, "see also ulimit -l, locked memory"),
	CODE(FATAL, "the interconnect is broken or gone"),
};

static const struct code *code_find(int code)
{
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		if (codes[i].code == code)
			return &codes[i];
	return NULL;
}

const char *tofu_error_text(int code)
{
	const struct code *known = code_find(code);

	if (known)
		return known->text;
	return code == UTOFU_SUCCESS ? "SUCCESS (no error)" : "unknown code";
}

/* Per thread, as errno is, whichever instance the call used */
static _Thread_local int last_error;

int tofu_error(int code)
{
	switch (code) {
	case UTOFU_SUCCESS:
	case UTOFU_ERR_BUSY:
	case UTOFU_ERR_NOT_FOUND:
	case UTOFU_ERR_NOT_COMPLETED:
		break;
	default:
		last_error = code;
	}
	return code;
}

int tofu_last_error_get(void)
{
	return last_error;
}

void tofu_last_error_set(int code)
{
	last_error = code;
}

void utofu_get_last_error(const char *text)
{
	const struct code *code = code_find(last_error);
	const char *colon = text ? ": " : "";

	if (!text)
		text = "";
	if (code)
		fprintf(stderr, "%s%sUTOFU_ERR_%s (%d): %s\n", text, colon,
			code->name, code->code, code->meaning);
	else
		fprintf(stderr, "%s%sUTOFU_SUCCESS (0): no error\n", text,
			colon);
}
