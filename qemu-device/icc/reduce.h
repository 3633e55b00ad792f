/* SPDX-License-Identifier: MIT */
/*
 * Reductions of the elements of signals by barrier gates. Pure functions, in
 * integers only. Documentation/spec/barrier.rst defines the operations and
 * proves that BFPSUM gives the same bits in any order.
 *
 * Elements have two forms: software's, and that of signals, in which they
 * travel and are combined. The two differ for BFPSUM only.
 */
#ifndef ICC_REDUCE_H
#define ICC_REDUCE_H

#include <stdbool.h>
#include <stdint.h>

#include <tofu/barrier.h>

/* icc_reduce_known - whether @op with @count elements exists */
bool icc_reduce_known(unsigned int op, unsigned int count);

/**
 * icc_reduce_load - convert from software's form
 * @element: TOFU_REDUCE_WORDS elements, also where @count is less
 * @word:    TOFU_REDUCE_WORDS words; unused ones are set to 0
 *
 * Return: false where an element has no value: a double that is not finite.
 */
bool icc_reduce_load(unsigned int op, unsigned int count,
		     const uint64_t *element, uint64_t *word);

/* icc_reduce_good - whether _load() and _merge() can have made @word */
bool icc_reduce_good(unsigned int op, unsigned int count, const uint64_t *word);

/**
 * icc_reduce_merge - combine @from into @word; both are good
 *
 * Return: false where the result cannot be held: more doubles were added than
 * TOFU_REDUCE_ADDENDS.
 */
bool icc_reduce_merge(unsigned int op, unsigned int count, uint64_t *word,
		      const uint64_t *from);

/* icc_reduce_store - convert to software's form; unused elements become 0 */
void icc_reduce_store(unsigned int op, unsigned int count, const uint64_t *word,
		      uint64_t *element);

#endif /* ICC_REDUCE_H */
