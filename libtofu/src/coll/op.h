/* SPDX-License-Identifier: MIT */
/*
 * Combining elements: all operations on all types, in loops that compilers
 * vectorise, and sums of double that do not depend on the order.
 */
#ifndef COLL_OP_H
#define COLL_OP_H

#include <stdbool.h>
#include <stddef.h>

#include <tofu/coll.h>

/**
 * struct coll_op - how elements are combined
 * @size: bytes of an element
 * @call, @data: for TOFU_COLL_CALL
 */
struct coll_op {
	enum tofu_coll_type type;
	enum tofu_coll_op op;
	size_t size;
	tofu_coll_call_fn *call;
	void *data;
};

/* coll_op_exists - whether elements of the type can be combined so */
bool coll_op_exists(enum tofu_coll_type type, enum tofu_coll_op op);

/**
 * coll_op_run - dst = a op b, element by element
 * @dst:   may be @a or @b
 * @a, @b: aligned as an element, or not at all
 * @bytes: a multiple of an element
 */
void coll_op_run(const struct coll_op *op, void *dst, const void *a,
		 const void *b, size_t bytes);

/* ---- Reproducible sums of double ---- */

/* Bytes that stand for a double while it is summed */
size_t coll_pieces_size(void);

/* coll_pieces_split - take values apart: @dst has coll_pieces_size() for each */
void coll_pieces_split(void *dst, const double *src, size_t count);

/* coll_pieces_run - dst = a + b; @dst may be @a or @b */
void coll_pieces_run(void *dst, const void *a, const void *b, size_t count);

/* coll_pieces_join - the sums, rounded once */
void coll_pieces_join(double *dst, const void *src, size_t count);

#endif /* COLL_OP_H */
