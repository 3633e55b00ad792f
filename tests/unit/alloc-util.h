/* SPDX-License-Identifier: MIT */
/*
 * What a thread allocates: seen by the sanitizer's hooks, and by mmap() and
 * munmap() of these tests' own.
 */
#ifndef UNIT_ALLOC_UTIL_H
#define UNIT_ALLOC_UTIL_H

#include <stddef.h>

/* alloc_watch - from now on, what this thread does is counted; 0 if it can be */
int alloc_watch(void);

/* alloc_calls - allocations, and what was given back, since then */
unsigned int alloc_calls(void);

/* alloc_bytes - bytes allocated since then, less those that were given back */
ptrdiff_t alloc_bytes(void);

#endif /* UNIT_ALLOC_UTIL_H */
