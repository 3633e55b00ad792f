/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim/sim.h"

#include <errno.h>
#include <sys/mman.h>

#define PAGE 4096UL
#define SIZES 32

/**
 * struct sizes - pieces of one size that were given back
 * @size:  bytes; 0: unused
 * @first: a list through their first words
 */
struct sizes {
	size_t size;
	void **first;
};

static struct {
	char *base;
	size_t size;
	size_t used;
	struct sizes sizes[SIZES];
} arena;

int sim_arena_create(size_t size)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -errno;
	arena.base = base;
	arena.size = size;
	arena.used = 0;
	return 0;
}

void sim_arena_destroy(void)
{
	if (arena.base)
		munmap(arena.base, arena.size);
	arena.base = NULL;
	arena.size = 0;
	arena.used = 0;
	for (int i = 0; i < SIZES; i++)
		arena.sizes[i] = (struct sizes){ 0 };
}

bool sim_arena_has(const void *at)
{
	return (uintptr_t)at - (uintptr_t)arena.base < arena.used;
}

static size_t whole_pages(size_t size)
{
	return (size + PAGE - 1) & ~(PAGE - 1);
}

static struct sizes *sizes_of(size_t size)
{
	for (int i = 0; i < SIZES; i++) {
		if (arena.sizes[i].size == size)
			return &arena.sizes[i];
	}
	return NULL;
}

void *sim_arena_alloc(size_t size)
{
	struct sizes *sizes = sizes_of(whole_pages(size));
	void *at;

	size = whole_pages(size);
	if (sizes && sizes->first) {
		void **first = sizes->first;

		sizes->first = *first;
		*first = NULL;
		return first;
	}
	if (size > arena.size - arena.used)
		return NULL;
	at = arena.base + arena.used;
	arena.used += size;
	return at;
}

void sim_arena_free(void *at, size_t size)
{
	struct sizes *sizes = sizes_of(whole_pages(size));

	madvise(at, whole_pages(size), MADV_DONTNEED);
	if (!sizes)
		sizes = sizes_of(0);
	if (!sizes)
		return;
	sizes->size = whole_pages(size);
	*(void **)at = sizes->first;
	sizes->first = at;
}
