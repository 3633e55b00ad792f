/* SPDX-License-Identifier: MIT */
/* What the functions of sim/libc.h know of nodes, and program.c tells them. */
#ifndef SIM_LIBC_NODE_H
#define SIM_LIBC_NODE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/libc.h"

/* The next definition of a function that this executable defines, too */
#define REAL(name)                                              \
	({                                                      \
		static __typeof__(&(name)) real_;               \
								\
		if (!real_)                                     \
			*(void **)&real_ = dlsym(RTLD_NEXT, #name); \
		real_;                                          \
	})

/**
 * struct sim_handler - a function that is called when a node ends
 * @call: with @arg; @with_status has the status before it
 */
struct sim_handler {
	struct sim_handler *next;
	void (*call)(void *arg);
	void (*with_status)(int status, void *arg);
	void *arg;
};

/**
 * struct sim_variable - a node's own variable of the environment
 * @text:  "NAME=value", or "NAME" if there is none any more
 * @owned: @text is to be freed
 */
struct sim_variable {
	struct sim_variable *next;
	char *text;
	size_t name_len;
	bool owned;
};

/**
 * struct sim_node - a node's part of what is the process's elsewhere
 * @end:       where its program ends
 * @exits:     handlers, the last registered first; so are @quick and @threads,
 *             which are destructors of thread-local objects
 * @ending:    destructors of the program run, or have run
 * @variables: of the environment, the latest first
 * @cleared:   the process's variables are not there
 * @drawn:     random numbers so far
 */
struct sim_node {
	jmp_buf *end;
	struct sim_handler *exits;
	struct sim_handler *quick;
	struct sim_handler *threads;
	struct sim_variable *variables;
	uint64_t drawn;
	int status;
	bool ending;
	bool cleared;
};

/**
 * struct sim_owner - the program
 * @start, @size: where it is loaded
 * @started:      is given what the program's start hands to
 *                __libc_start_main(), if it is set; does not return
 * @finish:       runs the program's destructors
 * @optind:       the program's own copy of the variable, or NULL; so are those
 *                that follow
 */
struct sim_owner {
	uintptr_t start;
	size_t size;
	void (*started)(int (*main)(int argc, char **argv, char **envp),
			void (*init)(int argc, char **argv, char **envp));
	void (*finish)(void);
	int *optind;
	int *opterr;
	int *optopt;
	char **optarg;
};

/* sim_libc_open, sim_libc_close - there is a program; 0 or -ENOMEM */
int sim_libc_open(uint32_t nodes, const struct sim_owner *owner);
void sim_libc_close(void);

extern struct sim_libc_hooks sim_hooks;
extern struct sim_owner sim_owner;

/* sim_running - number of the node in whose context this is, or -1 */
int64_t sim_running(void);

/* sim_running_node - the same node's part, or NULL */
struct sim_node *sim_running_node(void);

/* sim_node_of - node @number is the caller's business */
struct sim_node *sim_node_of(uint32_t number);

/* sim_node_exit - end the running node after its handlers */
void sim_node_exit(int status) __attribute__((noreturn));

/* sim_refuse - true in a node, which has been told */
bool sim_refuse(const char *function);

/* For sim_libc_close() */
void sim_variables_free(struct sim_node *node);
void sim_values_free(void);

/* For sim_libc_open() */
void sim_getopt_reset(void);

#endif /* SIM_LIBC_NODE_H */
