/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "alloc-util.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of the sanitizers, which not every compiler has a header for. */
int __sanitizer_install_malloc_and_free_hooks(
	void (*on_malloc)(const volatile void *, size_t),
	void (*on_free)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *at);

/*
 * Of this thread alone: the machine is in this process, too. The compiler thinks
 * that malloc() changes nothing of ours.
 */
static _Thread_local volatile bool counting;
static _Thread_local volatile unsigned int calls;
static _Thread_local volatile ptrdiff_t bytes;

static void count(ptrdiff_t more)
{
	if (!counting)
		return;
	calls++;
	bytes += more;
}

static void on_malloc(const volatile void *at, size_t size)
{
	(void)at;
	count((ptrdiff_t)size);
}

static void on_free(const volatile void *at)
{
	if (counting)
		count(-(ptrdiff_t)__sanitizer_get_allocated_size(at));
}

void *mmap(void *at, size_t size, int protection, int flags, int fd,
	   off_t offset)
{
	long got = syscall(SYS_mmap, at, size, protection, flags, fd, offset);

	if (got != -1)
		count((ptrdiff_t)size);
	return (void *)got;
}

int munmap(void *at, size_t size)
{
	long err = syscall(SYS_munmap, at, size);

	if (!err)
		count(-(ptrdiff_t)size);
	return (int)err;
}

int alloc_watch(void)
{
	int err = __sanitizer_install_malloc_and_free_hooks(on_malloc,
							    on_free) > 0 ?
			  0 :
			  -1;

	counting = true;
	return err;
}

unsigned int alloc_calls(void)
{
	return calls;
}

ptrdiff_t alloc_bytes(void)
{
	return bytes;
}
