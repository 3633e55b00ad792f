/* SPDX-License-Identifier: MIT */
/*
 * What members of a collective send, and what each has to get. Both depend on
 * nothing but numbers, so a member verifies every element alone.
 *
 * Elements that are combined: members fall into classes, and elements of an
 * iteration into residues. All members of a class have the same value at a
 * residue. So there are few results, whatever the number of members, and a
 * table has them. Every value is chosen such that results are exact in any
 * order of additions or multiplications.
 */
#ifndef TOFU_COLL_CONTENTS_H
#define TOFU_COLL_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tofu/coll.h>

#include "common/payload.h"

#define CONTENTS_RESIDUES 16
#define CONTENTS_ELEMENT_MAX 16

/* The type and the operation of --type user and --op call */
#define CONTENTS_USER_SIZE 12
tofu_coll_call_fn contents_call;

/**
 * struct contents - of a collective, for one member
 * @kind, @type, @op, @root, @count: as in struct tofu_coll_spec
 * @cancel:  sums have two huge values that cancel out, as only
 *           TOFU_COLL_REPRODUCIBLE can sum them
 * @members: how many
 * @number:  of this member
 * @row:     another one has other contents
 * @size:    bytes of an element
 * @mine, @result: this member's values and the combined ones, by residue
 */
struct contents {
	enum tofu_coll_kind kind;
	enum tofu_coll_type type;
	enum tofu_coll_op op;
	uint32_t root;
	size_t count;
	bool cancel;
	uint32_t members;
	uint32_t number;
	uint64_t row;
	size_t size;
	uint8_t mine[CONTENTS_RESIDUES][CONTENTS_ELEMENT_MAX];
	uint8_t result[CONTENTS_RESIDUES][CONTENTS_ELEMENT_MAX];
};

/* contents_combines - whether a kind combines elements */
bool contents_combines(enum tofu_coll_kind kind);

/* contents_roots - whether a kind has a root */
bool contents_roots(enum tofu_coll_kind kind);

/* contents_size - bytes of an element */
size_t contents_size(enum tofu_coll_type type);

/* contents_op_goes - whether elements of a type can be combined so */
bool contents_op_goes(enum tofu_coll_type type, enum tofu_coll_op op);

/* contents_op_of - an operation that goes with a type */
enum tofu_coll_op contents_op_of(enum tofu_coll_type type);

/**
 * contents_send_bytes, contents_recv_bytes - bytes that this member has to
 * send, and that it gets; 0: it has no such buffer
 */
size_t contents_send_bytes(const struct contents *contents);
size_t contents_recv_bytes(const struct contents *contents);

/*
 * contents_make - fill in @size, @mine and @result from the others; needed by
 * contents_fill() and what is below it
 */
void contents_make(struct contents *contents);

/* contents_fill - write what this member sends */
void contents_fill(const struct contents *contents, uint64_t iteration,
		   uint8_t *buf);

/* contents_spoil - make the last element wrong, so that others notice */
void contents_spoil(const struct contents *contents, uint64_t iteration,
		    uint8_t *buf);

/* contents_verify - compare every byte of what this member has got */
struct payload_wrong contents_verify(const struct contents *contents,
				     uint64_t iteration, const uint8_t *buf);

#endif /* TOFU_COLL_CONTENTS_H */
