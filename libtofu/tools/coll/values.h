/* SPDX-License-Identifier: MIT */
/*
 * Values of members, and how they are combined: a plain reference beside the
 * library's.
 */
#ifndef TOFU_COLL_VALUES_H
#define TOFU_COLL_VALUES_H

#include "coll/contents.h"

/**
 * struct value - an element
 * @real:  of float and double
 * @bits:  of integers, signed ones extended
 * @index: of types with an index
 * @byte:  for TOFU_COLL_CALL
 */
struct value {
	double real;
	uint64_t bits;
	int64_t index;
	uint8_t byte[CONTENTS_ELEMENT_MAX];
};

/* value_of - the value of a member at a residue */
struct value value_of(const struct contents *contents, uint32_t member,
		      unsigned int residue);

/* value_combined - the values of all members at a residue, combined */
struct value value_combined(const struct contents *contents,
			    unsigned int residue);

/* value_spoiled - one that makes results differ from those with @value */
struct value value_spoiled(const struct contents *contents, struct value value);

/* value_write - write an element; @to has CONTENTS_ELEMENT_MAX bytes */
void value_write(const struct contents *contents, const struct value *value,
		 uint8_t *to);

#endif /* TOFU_COLL_VALUES_H */
