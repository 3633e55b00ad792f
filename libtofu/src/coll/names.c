// SPDX-License-Identifier: MIT
/* Words for enumerations, and sizes of elements. */
#include <tofu/coll.h>

#include "coll/plan.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *name_of(const char *const names[], size_t count, size_t i)
{
	return i < count ? names[i] : NULL;
}

const char *tofu_coll_kind_name(enum tofu_coll_kind kind)
{
	static const char *const names[TOFU_COLL_KINDS] = {
		"barrier",   "bcast",	       "reduce",
		"allreduce", "gather",	       "scatter",
		"allgather", "reduce-scatter", "alltoall",
	};

	return name_of(names, COUNT(names), kind);
}

const char *tofu_coll_algorithm_name(enum tofu_coll_algorithm algorithm)
{
	static const char *const names[TOFU_COLL_ALGORITHMS] = {
		"auto",	    "gates",	"dissemination", "pipelined",
		"streamed", "session",	"binomial",	 "doubling",
		"ring",	    "multiring", "bruck",	 "direct",
		"halving",
	};

	return name_of(names, COUNT(names), algorithm);
}

const char *tofu_coll_type_name(enum tofu_coll_type type)
{
	static const char *const names[TOFU_COLL_TYPES] = {
		"byte",	      "float",	    "double",	  "int32",
		"int64",      "uint64",	    "float-int",  "int32-int",
		"double-int", "int64-int",  "uint64-int", "user",
	};

	return name_of(names, COUNT(names), type);
}

const char *tofu_coll_op_name(enum tofu_coll_op op)
{
	static const char *const names[TOFU_COLL_OPS] = {
		"sum", "prod", "min",	 "max",	   "band",
		"bor", "bxor", "minloc", "maxloc", "call",
	};

	return name_of(names, COUNT(names), op);
}

size_t tofu_coll_type_size(enum tofu_coll_type type)
{
	static const uint8_t sizes[TOFU_COLL_TYPES] = {
		[TOFU_COLL_BYTE] = 1,	     [TOFU_COLL_FLOAT] = 4,
		[TOFU_COLL_DOUBLE] = 8,	     [TOFU_COLL_INT32] = 4,
		[TOFU_COLL_INT64] = 8,	     [TOFU_COLL_UINT64] = 8,
		[TOFU_COLL_FLOAT_INT] = 8,   [TOFU_COLL_INT32_INT] = 8,
		[TOFU_COLL_DOUBLE_INT] = 16, [TOFU_COLL_INT64_INT] = 16,
		[TOFU_COLL_UINT64_INT] = 16,
	};

	return (size_t)type < COUNT(sizes) ? sizes[type] : 0;
}

int tofu_coll_fits(enum tofu_coll_kind kind,
		   enum tofu_coll_algorithm algorithm)
{
	return coll_algorithm_find(kind, algorithm) != NULL;
}
