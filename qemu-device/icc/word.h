/* SPDX-License-Identifier: MIT */
#ifndef ICC_WORD_H
#define ICC_WORD_H

#include <stdint.h>

#include <tofu/desc.h>

/**
 * icc_word_armw - execute an atomic of the interconnect by the host's, for the
 * armw of struct icc_host_ops
 * @word: aligned to @size, 4 or 8
 * @old:  set to the value before, zero-extended
 *
 * Return: 0; -EINVAL: unknown operation or size.
 */
int icc_word_armw(void *word, unsigned int size, enum tofu_armw_op op,
		  uint64_t operand, uint64_t compare, uint64_t *old);

#endif /* ICC_WORD_H */
