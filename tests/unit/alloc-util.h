/* SPDX-License-Identifier: MIT */
/*
 * Count a thread's allocations: the sanitizer's hooks see them, and so do the
 * mmap() and munmap() of these tests.
 */
#ifndef UNIT_ALLOC_UTIL_H
#define UNIT_ALLOC_UTIL_H

#include <stddef.h>

/* alloc_watch - begin to count this thread's allocations; 0 if that works */
int alloc_watch(void);

/* alloc_calls - allocations, and what was given back, since then */
unsigned int alloc_calls(void);

/* alloc_bytes - bytes allocated since then, less those that were given back */
ptrdiff_t alloc_bytes(void);

#endif /* UNIT_ALLOC_UTIL_H */
