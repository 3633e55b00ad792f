/* SPDX-License-Identifier: MIT */
/*
 * Coroutines, for programs that take turns in one thread. A stack is made with
 * makecontext(); switching is a jump, since swapcontext() calls the kernel for
 * the mask of signals, which takes 25 times as long as the switch.
 *
 * All stacks are in one mapping, as a process cannot have many. So there are no
 * guard pages: the end of each stack has to stay zero, which is checked now and
 * then.
 */
#ifndef SIM_TASK_H
#define SIM_TASK_H

#include <stddef.h>
#include <stdint.h>

struct sim_task;

/**
 * sim_stacks_create - reserve memory for stacks
 * @count: how many
 * @size:  bytes of each, a multiple of a page
 *
 * Return: 0 or a negative errno.
 */
int sim_stacks_create(uint32_t count, size_t size);
void sim_stacks_destroy(void);

/**
 * sim_task_create - make a coroutine, which has not begun
 * @stack: number of its stack
 * @main:  what it runs; it ends by returning
 *
 * Return: the coroutine, or NULL.
 */
struct sim_task *sim_task_create(uint32_t stack, void (*main)(void *arg),
				 void *arg);
void sim_task_destroy(struct sim_task *task);

/* sim_task_resume - run it until it yields or ends; not within a coroutine */
void sim_task_resume(struct sim_task *task);

/* sim_task_yield - of the coroutine that runs: return from its resume */
void sim_task_yield(struct sim_task *task);

/* sim_task_ended - whether its function has returned */
int sim_task_ended(const struct sim_task *task);

/* sim_task_overrun - whether it has written beyond its stack */
int sim_task_overrun(const struct sim_task *task);

/* sim_task_below - whether an address is a little below its stack */
int sim_task_below(const struct sim_task *task, const void *at);

/* sim_stack_of - number of the stack that an address is in, or -1 */
int64_t sim_stack_of(const void *at);

#endif /* SIM_TASK_H */
