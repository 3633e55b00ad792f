// SPDX-License-Identifier: MIT
/* How a program starts, and how it ends. */

#include "sim/libc-node.h"

#include <stdlib.h>
#include <unistd.h>

/* For programs, whatever else is hidden from them */
#pragma GCC visibility push(default)

typedef int main_fn(int argc, char **argv, char **envp);
typedef void init_fn(int argc, char **argv, char **envp);

/* Declared by no header */
int __libc_start_main(main_fn *main, int argc, char **argv, init_fn *init,
		      void (*fini)(void), void (*rtld_fini)(void), void *stack);
int __cxa_atexit(void (*call)(void *arg), void *arg, void *dso);
int __cxa_at_quick_exit(void (*call)(void *arg), void *dso);
int __cxa_thread_atexit_impl(void (*call)(void *arg), void *arg, void *dso);
void __cxa_finalize(void *dso);

/* The first instructions of every executable lead here, of this one, too. */
int __libc_start_main(main_fn *main, int argc, char **argv, init_fn *init,
		      void (*fini)(void), void (*rtld_fini)(void), void *stack)
{
	if (sim_owner.started)
		sim_owner.started(main, init);
	return REAL(__libc_start_main)(main, argc, argv, init, fini, rtld_fini,
				       stack);
}

/* ---- Handlers ---- */

/*
 * owner_of - the node whose handler it is
 *
 * A library that the nodes share may first be used by any of them, and what it
 * registers then is none of this node's.
 */
static struct sim_node *owner_of(const void *place)
{
	if ((uintptr_t)place - sim_owner.start >= sim_owner.size)
		return NULL;
	return sim_running_node();
}

static int add_handler(struct sim_handler **list, struct sim_handler handler)
{
	struct sim_handler *added = malloc(sizeof(*added));

	if (!added)
		return -1;
	*added = handler;
	added->next = *list;
	*list = added;
	return 0;
}

int __cxa_atexit(void (*call)(void *arg), void *arg, void *dso)
{
	struct sim_node *node = owner_of(dso ? dso : (void *)call);

	if (!node)
		return REAL(__cxa_atexit)(call, arg, dso);
	return add_handler(&node->exits,
			   (struct sim_handler){ .call = call, .arg = arg });
}

int __cxa_at_quick_exit(void (*call)(void *arg), void *dso)
{
	struct sim_node *node = owner_of(dso ? dso : (void *)call);

	if (!node)
		return REAL(__cxa_at_quick_exit)(call, dso);
	return add_handler(&node->quick, (struct sim_handler){ .call = call });
}

int __cxa_thread_atexit_impl(void (*call)(void *arg), void *arg, void *dso)
{
	struct sim_node *node = owner_of(dso);

	if (!node)
		return REAL(__cxa_thread_atexit_impl)(call, arg, dso);
	return add_handler(&node->threads,
			   (struct sim_handler){ .call = call, .arg = arg });
}

int on_exit(void (*call)(int status, void *arg), void *arg)
{
	struct sim_node *node = owner_of((void *)call);

	if (!node)
		return REAL(on_exit)(call, arg);
	return add_handler(&node->exits, (struct sim_handler){
						 .with_status = call,
						 .arg = arg,
					 });
}

/* A program's destructors call it; sim_node_exit() has run the handlers. */
void __cxa_finalize(void *dso)
{
	void (*real)(void *dso) = REAL(__cxa_finalize);

	if (!dso || !owner_of(dso))
		real(dso);
}

/* A handler may register others, and may call exit(). */
static void run_handlers(struct sim_handler **list, int status)
{
	while (*list) {
		struct sim_handler handler = **list;

		free(*list);
		*list = handler.next;
		if (handler.with_status)
			handler.with_status(status, handler.arg);
		else
			handler.call(handler.arg);
	}
}

/* ---- Ends ---- */

static void __attribute__((noreturn)) leave(struct sim_node *node, int status)
{
	node->status = status & 0xff;
	_longjmp(*node->end, 1);
}

void sim_node_exit(int status)
{
	struct sim_node *node = sim_running_node();

	run_handlers(&node->threads, status);
	run_handlers(&node->exits, status);
	if (!node->ending) {
		node->ending = true;
		sim_owner.finish();
	}
	leave(node, status);
}

/* ending - the node to end, or NULL: it is the process that is to end */
static struct sim_node *ending(void)
{
	struct sim_node *node = sim_running_node();

	return node && node->end ? node : NULL;
}

void exit(int status)
{
	void (*real)(int status) = REAL(exit);

	if (ending())
		sim_node_exit(status);
	real(status);
	__builtin_unreachable();
}

void quick_exit(int status)
{
	void (*real)(int status) = REAL(quick_exit);
	struct sim_node *node = ending();

	if (node) {
		run_handlers(&node->quick, status);
		leave(node, status);
	}
	real(status);
	__builtin_unreachable();
}

void _exit(int status)
{
	void (*real)(int status) = REAL(_exit);
	struct sim_node *node = ending();

	if (node)
		leave(node, status);
	real(status);
	__builtin_unreachable();
}

void _Exit(int status)
{
	_exit(status);
}

#pragma GCC visibility pop
