/* SPDX-License-Identifier: MIT */
/*
 * The C library as a node's program sees it. This executable defines some of
 * the C library's functions anew, and so everybody in the process calls these.
 * What is called in the context of a node acts on the node: exit() ends it,
 * clocks show virtual time, sleeping takes virtual time. All else goes on to
 * the C library.
 *
 *   exit, _exit, _Exit, quick_exit       end the node
 *   atexit, on_exit, at_quick_exit       the node's, if they name a function of
 *                                        the program
 *   getenv, secure_getenv, setenv,       the node's changes, then what the hook
 *   putenv, unsetenv, clearenv           says, then the process's variables
 *   clock_gettime, gettimeofday, time,   virtual time; the date at time 0 is
 *   clock, timespec_get                  SIM_LIBC_EPOCH
 *   nanosleep, clock_nanosleep, usleep,  spend virtual time; poll and select
 *   sleep, thrd_sleep, poll, select      where they only sleep
 *   sched_yield, thrd_yield              the hook
 *   getrandom, getentropy, arc4random    a sequence that follows from the
 *                                        node's number
 *   getopt and relatives                 the node's variables
 *   fork, vfork, exec, daemon,           refused
 *   pthread_create, thrd_create
 *
 * This executable has to export them: the linker does so on its own, unless a
 * version script says that they are local.
 *
 * A program that reads environ or the third parameter of main() sees the
 * process's variables. A program that parses its arguments, communicates, and
 * parses on continues with the next argument: what is left of "-abc" is lost.
 */
#ifndef SIM_LIBC_H
#define SIM_LIBC_H

#include <stdint.h>

/* 1 January 2026, in seconds */
#define SIM_LIBC_EPOCH 1767225600

/**
 * struct sim_libc_hooks - what the simulator does for a node's calls
 * @node:     the node in whose context this is called, or -1
 * @now:      the node's virtual time in ns. A program may wait by looking at
 *            the clock, which never ends if looking takes no time.
 * @spend:    returns when so much virtual time has passed
 * @yield:    the node has nothing to do for the moment
 * @variable: value of an environment variable that differs between nodes, or
 *            NULL. It is copied before the next call.
 * @crashed:  a node got SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT. Called from
 *            a handler of the signal. When it returns, the signal ends the
 *            process.
 * @refused:  a node called a function that it cannot have, such as fork()
 *
 * Any but @node may be NULL. @spend and @yield may switch to other nodes.
 */
struct sim_libc_hooks {
	int64_t (*node)(void);
	uint64_t (*now)(void);
	void (*spend)(uint64_t ns);
	void (*yield)(void);
	const char *(*variable)(const char *name);
	void (*crashed)(int64_t node, int sig, void *addr);
	void (*refused)(int64_t node, const char *function);
};

/* sim_libc_hooks_set - from now on; NULL is none. The hooks are copied. */
void sim_libc_hooks_set(const struct sim_libc_hooks *hooks);

/* sim_libc_catch - handle the signals of @crashed; 0 or a negative errno */
int sim_libc_catch(void);

#endif /* SIM_LIBC_H */
