/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * Static assertions and field accessors for the other headers of this folder.
 * Every structure here is little-endian, naturally aligned, and has no implicit
 * padding.
 */
#ifndef TOFU_UAPI_BASE_H
#define TOFU_UAPI_BASE_H

#include <linux/types.h>

#ifdef __cplusplus
#define TOFU_ASSERT(expr, msg) static_assert(expr, msg)
#else
#define TOFU_ASSERT(expr, msg) _Static_assert(expr, msg)
#endif

#define TOFU_ASSERT_SIZE(type, size) \
	TOFU_ASSERT(sizeof(type) == (size), #type " is " #size " bytes")
#define TOFU_ASSERT_OFFSET(type, member, offset)               \
	TOFU_ASSERT(__builtin_offsetof(type, member) == (offset), \
		    #type "." #member " is at " #offset)

/*
 * A field of a 64-bit word is named by a shift and a width: TOFU_X_SHIFT and
 * TOFU_X_BITS. TOFU_GET(word, TOFU_X) reads it. TOFU_SET(TOFU_X, value) gives a
 * word with only that field set, to the value truncated to the field's width.
 */
#define TOFU_MASK(bits) ((1ULL << (bits)) - 1)
#define TOFU_GET(word, field) \
	(((__u64)(word) >> field##_SHIFT) & TOFU_MASK(field##_BITS))
#define TOFU_SET(field, value) \
	(((__u64)(value) & TOFU_MASK(field##_BITS)) << field##_SHIFT)
#define TOFU_FIELD(field) (TOFU_MASK(field##_BITS) << field##_SHIFT)

#endif /* TOFU_UAPI_BASE_H */
