// SPDX-License-Identifier: MIT
#include "icc/word.h"

#include <errno.h>
#include <stdbool.h>

/* Execute @op and set @old to the value before; false: @op is unknown. */
#define DEFINE_ARMW(name, type)                                              \
	static bool name(type *word, enum tofu_armw_op op, type operand,     \
			 type compare, uint64_t *old)                        \
	{                                                                    \
		switch (op) {                                                \
		case TOFU_ARMW_CSWAP:                                        \
			__atomic_compare_exchange_n(word, &compare, operand, \
						    false, __ATOMIC_SEQ_CST, \
						    __ATOMIC_SEQ_CST);       \
			*old = compare;                                      \
			return true;                                         \
		case TOFU_ARMW_SWAP:                                         \
			*old = __atomic_exchange_n(word, operand,            \
						   __ATOMIC_SEQ_CST);        \
			return true;                                         \
		case TOFU_ARMW_ADD:                                          \
			*old = __atomic_fetch_add(word, operand,             \
						  __ATOMIC_SEQ_CST);         \
			return true;                                         \
		case TOFU_ARMW_XOR:                                          \
			*old = __atomic_fetch_xor(word, operand,             \
						  __ATOMIC_SEQ_CST);         \
			return true;                                         \
		case TOFU_ARMW_AND:                                          \
			*old = __atomic_fetch_and(word, operand,             \
						  __ATOMIC_SEQ_CST);         \
			return true;                                         \
		case TOFU_ARMW_OR:                                           \
			*old = __atomic_fetch_or(word, operand,              \
						 __ATOMIC_SEQ_CST);          \
			return true;                                         \
		default:                                                     \
			return false;                                        \
		}                                                            \
	}

DEFINE_ARMW(armw32, uint32_t)
DEFINE_ARMW(armw64, uint64_t)

int icc_word_armw(void *word, unsigned int size, enum tofu_armw_op op,
		  uint64_t operand, uint64_t compare, uint64_t *old)
{
	bool known = false;

	if (size == sizeof(uint32_t))
		known = armw32(word, op, (uint32_t)operand, (uint32_t)compare,
			       old);
	else if (size == sizeof(uint64_t))
		known = armw64(word, op, operand, compare, old);
	return known ? 0 : -EINVAL;
}
