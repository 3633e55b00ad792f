/* SPDX-License-Identifier: MIT */
/*
 * Large arrays of the library, which are mostly never touched: they lie in the
 * arena. The linker gives malloc() and its like of everything in tofu-sim to the
 * functions here. What is loaded calls those of libc, and frees nothing of the
 * library that is large.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

#define LARGE (16UL << 10) /* bytes, from which an array is in the arena */
#define HUGE (4UL << 20) /* from which it is one of all nodes, and dense */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *at, size_t size);
void __real_free(void *at);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *at, size_t size);
void __wrap_free(void *at);

/* struct large - stands before an array in the arena */
struct large {
	_Alignas(64) size_t size;
};

static struct large *large_of(void *at)
{
	return at && sim_arena_has(at) ? (struct large *)at - 1 : NULL;
}

static void *large_new(size_t bytes)
{
	struct large *large = sim_arena_alloc(sizeof(*large) + bytes);

	if (!large)
		return __real_calloc(1, bytes);
	large->size = bytes;
	return large + 1;
}

void *__wrap_malloc(size_t size)
{
	return size >= LARGE && size < HUGE ? large_new(size) :
					      __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	size_t bytes;
	void *at;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	if (bytes >= LARGE && bytes < HUGE)
		return large_new(bytes);
	at = __real_calloc(count, size);
	if (at && bytes >= HUGE)
		sim_heap_advise(at, (char *)at + bytes);
	return at;
}

void __wrap_free(void *at)
{
	struct large *large = large_of(at);

	if (large)
		sim_arena_free(large, sizeof(*large) + large->size);
	else
		__real_free(at);
}

void *__wrap_realloc(void *at, size_t size)
{
	struct large *large = large_of(at);
	void *new;

	if (!large)
		return __real_realloc(at, size);
	new = malloc(size);
	if (!new)
		return NULL;
	memcpy(new, at, size < large->size ? size : large->size);
	__wrap_free(at);
	return new;
}
