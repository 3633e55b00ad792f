/* SPDX-License-Identifier: MIT */
/*
 * Asking for memory before it is used. A home that has many nodes, and handles a
 * little of each in turn, finds hardly anything of a node in the processor's
 * caches. It knows which node comes next but one, so what is needed there can be
 * on its way meanwhile. Pointers are followed a step at a time: a step reads
 * only what the one before has asked for.
 */
#ifndef NET_PREFETCH_H
#define NET_PREFETCH_H

#include <stddef.h>

#define TOFU_PREFETCH_LINE 64

/* tofu_prefetch - the memory is about to be used; NULL: there is none */
static inline void tofu_prefetch(const void *at, size_t size)
{
	for (size_t i = 0; at && i < size; i += TOFU_PREFETCH_LINE)
		__builtin_prefetch((const char *)at + i);
}

#endif /* NET_PREFETCH_H */
