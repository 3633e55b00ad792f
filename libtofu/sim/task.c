/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "sim/task.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(from, to) 0
#define VALGRIND_STACK_DEREGISTER(id) ((void)(id))
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

/* Words at the end of a stack that stay zero unless it is used up */
#define CANARIES 64
/* What is so far below a stack was meant to be in it. */
#define BELOW (64UL << 10)

/**
 * struct sim_task
 * @here:  where it goes on
 * @caller: where its resume goes on
 * @first: its context, until it has begun
 * @fake, @caller_fake: of ASan: fake stacks of who does not run
 * @valgrind: the stack's number there
 */
struct sim_task {
	jmp_buf here;
	jmp_buf caller;
	void (*main)(void *arg);
	void *arg;
	uint64_t *stack;
	size_t size;
	int begun;
	int ended;
	void *fake;
	void *caller_fake;
	const void *caller_stack;
	size_t caller_size;
	unsigned int valgrind;
};

static struct {
	char *base;
	size_t size;
	uint32_t count;
} stacks;

int sim_stacks_create(uint32_t count, size_t size)
{
	void *base = mmap(NULL, count * size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return -errno;
	stacks.base = base;
	stacks.size = size;
	stacks.count = count;
	return 0;
}

void sim_stacks_destroy(void)
{
	if (stacks.base)
		munmap(stacks.base, stacks.count * stacks.size);
	stacks.base = NULL;
}

int64_t sim_stack_of(const void *at)
{
	const size_t in = (size_t)((const char *)at - stacks.base);

	if (!stacks.base || (const char *)at < stacks.base ||
	    in / stacks.size >= stacks.count)
		return -1;
	return (int64_t)(in / stacks.size);
}

struct sim_task *sim_task_create(uint32_t stack, void (*main)(void *arg),
				 void *arg)
{
	struct sim_task *task = calloc(1, sizeof(*task));

	if (!task)
		return NULL;
	task->main = main;
	task->arg = arg;
	task->stack = (void *)(stacks.base + stack * stacks.size);
	task->size = stacks.size;
	task->valgrind = VALGRIND_STACK_REGISTER(
		task->stack, (char *)task->stack + task->size);
	return task;
}

void sim_task_destroy(struct sim_task *task)
{
	if (!task)
		return;
	VALGRIND_STACK_DEREGISTER(task->valgrind);
	/* The next run of it finds zeroes, and nobody pays for it till then. */
	madvise(task->stack, task->size, MADV_DONTNEED);
	free(task);
}

/* ---- Telling ASan which stack is in use ---- */

#ifdef __SANITIZE_ADDRESS__
static void leave_for(void **fake, const void *stack, size_t size)
{
	__sanitizer_start_switch_fiber(fake, stack, size);
}

static void arrived(void *fake, const void **stack, size_t *size)
{
	__sanitizer_finish_switch_fiber(fake, stack, size);
}
#else
static void leave_for(void **fake, const void *stack, size_t size)
{
	(void)fake;
	(void)stack;
	(void)size;
}

static void arrived(void *fake, const void **stack, size_t *size)
{
	(void)fake;
	(void)stack;
	(void)size;
}
#endif

/* ---- Switching ---- */

/* makecontext() passes integers only. */
static struct sim_task *beginning;

static void begin(void)
{
	struct sim_task *task = beginning;

	arrived(NULL, &task->caller_stack, &task->caller_size);
	task->main(task->arg);
	task->ended = 1;
	leave_for(NULL, task->caller_stack, task->caller_size);
	_longjmp(task->caller, 1);
}

/* Its frame is left without an end, and ASan would keep the context's bounds. */
static void __attribute__((no_sanitize("address")))
enter(struct sim_task *task)
{
	ucontext_t context;

	if (task->begun)
		_longjmp(task->here, 1);
	task->begun = 1;
	beginning = task;
	getcontext(&context);
	context.uc_stack.ss_sp = task->stack;
	context.uc_stack.ss_size = task->size;
	context.uc_link = NULL;
	makecontext(&context, begin, 0);
	setcontext(&context);
}

void sim_task_resume(struct sim_task *task)
{
	if (!_setjmp(task->caller)) {
		leave_for(&task->caller_fake, task->stack, task->size);
		enter(task);
	}
	arrived(task->caller_fake, NULL, NULL);
}

void sim_task_yield(struct sim_task *task)
{
	if (!_setjmp(task->here)) {
		leave_for(&task->fake, task->caller_stack, task->caller_size);
		_longjmp(task->caller, 1);
	}
	arrived(task->fake, &task->caller_stack, &task->caller_size);
}

int sim_task_ended(const struct sim_task *task)
{
	return task->ended;
}

int sim_task_below(const struct sim_task *task, const void *at)
{
	const size_t below = (uintptr_t)task->stack - (uintptr_t)at;

	return below && below <= BELOW;
}

int sim_task_overrun(const struct sim_task *task)
{
	for (int i = 0; i < CANARIES; i++) {
		if (task->stack[i])
			return 1;
	}
	return 0;
}
