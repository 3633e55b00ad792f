// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <utofu.h>

#include "error.h"

static const struct {
	int code;
	const char *text;
} texts[] = {
	{ UTOFU_ERR_NOT_FOUND, "NOT_FOUND (nothing there)" },
	{ UTOFU_ERR_BUSY, "BUSY (the queue is full)" },
	{ UTOFU_ERR_USED, "USED (already in use)" },
	{ UTOFU_ERR_FULL, "FULL (none is left)" },
	{ UTOFU_ERR_NOT_AVAILABLE,
	  "NOT_AVAILABLE (no interconnect here; TOFU_DEBUG=1 says why)" },
	{ UTOFU_ERR_NOT_SUPPORTED, "NOT_SUPPORTED" },
	{ UTOFU_ERR_TCQ_DESC, "TCQ_DESC (bad command)" },
	{ UTOFU_ERR_TCQ_MEMORY, "TCQ_MEMORY (own memory cannot be read)" },
	{ UTOFU_ERR_TCQ_STADD, "TCQ_STADD (bad address on this side)" },
	{ UTOFU_ERR_TCQ_LENGTH, "TCQ_LENGTH (bad length)" },
	{ UTOFU_ERR_MRQ_OTHER, "MRQ_OTHER (notices were lost)" },
	{ UTOFU_ERR_MRQ_PEER, "MRQ_PEER (nobody there, or it died)" },
	{ UTOFU_ERR_MRQ_LCL_MEMORY,
	  "MRQ_LCL_MEMORY (own memory cannot be written)" },
	{ UTOFU_ERR_MRQ_RMT_MEMORY,
	  "MRQ_RMT_MEMORY (the target's memory is unusable)" },
	{ UTOFU_ERR_MRQ_LCL_STADD, "MRQ_LCL_STADD (deregistered on the way)" },
	{ UTOFU_ERR_MRQ_RMT_STADD,
	  "MRQ_RMT_STADD (not registered at the target)" },
	{ UTOFU_ERR_MRQ_LCL_LENGTH, "MRQ_LCL_LENGTH" },
	{ UTOFU_ERR_MRQ_RMT_LENGTH, "MRQ_RMT_LENGTH" },
	{ UTOFU_ERR_INVALID_TNI_ID, "INVALID_TNI_ID" },
	{ UTOFU_ERR_INVALID_CMP_ID, "INVALID_CMP_ID" },
	{ UTOFU_ERR_INVALID_VCQ_ID, "INVALID_VCQ_ID" },
	{ UTOFU_ERR_INVALID_ADDRESS, "INVALID_ADDRESS" },
	{ UTOFU_ERR_INVALID_SIZE, "INVALID_SIZE" },
	{ UTOFU_ERR_OUT_OF_RESOURCE, "OUT_OF_RESOURCE" },
	{ UTOFU_ERR_OUT_OF_MEMORY,
	  "OUT_OF_MEMORY (see also ulimit -l, locked memory)" },
	{ UTOFU_ERR_FATAL, "FATAL (the interconnect is broken or gone)" },
};

const char *tofu_error_text(int code)
{
	static _Thread_local char other[32];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (texts[i].code == code)
			return texts[i].text;
	}
	snprintf(other, sizeof(other), "uTofu error %d", code);
	return other;
}

void tofu_error_say(char **why, const char *format, ...)
{
	va_list args;

	if (!why || *why)
		return;
	va_start(args, format);
	if (vasprintf(why, format, args) < 0)
		*why = NULL;
	va_end(args);
}
