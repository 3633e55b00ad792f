/* SPDX-License-Identifier: MIT */
/*
 * FNV-1a, of 64 bits: to tell things apart, not to keep anybody from making equal
 * ones.
 */
#ifndef COMMON_HASH_H
#define COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

#define TOFU_HASH_BASIS UINT64_C(0xcbf29ce484222325)

/* tofu_hash - continue a hash, which begins as TOFU_HASH_BASIS */
static inline uint64_t tofu_hash(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *byte = data;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
	return hash;
}

#endif /* COMMON_HASH_H */
