/* SPDX-License-Identifier: MIT */
/*
 * The heap of this process, which holds what the controllers and libraries of
 * all nodes allocate. It has large pages, since a large machine is as slow as
 * its misses of the processor's caches; so it is to be dense. sim/large.c keeps
 * out of it what is not.
 */
#define _GNU_SOURCE
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/sim.h"

#define LARGE_PAGE (2UL << 20)
#define GROWTH (32 * LARGE_PAGE) /* bytes by which the heap grows */
#define MAPPED (128 << 10) /* bytes, from which an array is a mapping */
#define MAPPINGS 16384 /* of 65,530 that Linux allows by default */

/* Where it is refused, pages are small. */
void sim_heap_advise(char *from, char *end)
{
	from += -(uintptr_t)from % LARGE_PAGE;
	end -= (uintptr_t)end % LARGE_PAGE;
	if (from < end)
		madvise(from, (size_t)(end - from), MADV_HUGEPAGE);
}

static char *advised;

void sim_heap_begin(void)
{
	mallopt(M_TOP_PAD, GROWTH);
	mallopt(M_TRIM_THRESHOLD, -1);
	/*
	 * Programs' large arrays may be sparse, so they are mapped, as far as a
	 * process can have mappings.
	 */
	mallopt(M_MMAP_THRESHOLD, MAPPED);
	mallopt(M_MMAP_MAX, MAPPINGS);
	advised = sbrk(0);
}

void sim_heap_grown(void)
{
	char *end = sbrk(0);

	if ((size_t)(end - advised) < LARGE_PAGE)
		return;
	sim_heap_advise(advised, end);
	advised = end - (uintptr_t)end % LARGE_PAGE;
}
