/* SPDX-License-Identifier: MIT */
/*
 * A program that runs once for each of many nodes, in one thread of one
 * process. Its file is loaded once. Its writable data are at one place, and
 * sim_program_switch() brings in those of the node that runs. A node has a
 * stack of its own, which is the caller's business.
 *
 * What is a node's own: static and thread-local data of the program's file,
 * arguments, handlers of exit, changes of the environment, errno, the variables
 * of getopt, and what the caller adds. Memory of malloc, open files, stdio and
 * its buffers, the locale, signal handlers, rand() and the data of the shared
 * libraries that a program brings are common to all nodes.
 *
 * There is one program at a time, and none of the functions may be called by
 * two threads at once. A function that fails returns a negative errno; where it
 * has a parameter "why", a text says more, which the caller frees.
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

struct sim_program;

/**
 * sim_program_load - load a program for nodes 0 to @nodes - 1
 * @path: a position-independent executable, or a shared object with main()
 *
 * The program has to be linked with libtofu.so, dynamically. The library is not
 * loaded: the program's references to it find the functions that this
 * executable exports. What else the program needs is loaded as usual. Its
 * constructors are not run yet.
 *
 * Static data that cost too much to copy at each switch are mapped instead.
 * Nodes that have not run take no memory, however many there are.
 *
 * Returns: 0, -ENOENT and others of open(2), -ENOEXEC (no such program, with
 * the reason in @why), -ENOMEM, -EBUSY (another program is loaded).
 */
int sim_program_load(const char *path, uint32_t nodes,
		     struct sim_program **program, char **why);

/* sim_program_unload - its nodes never run again; NULL is none */
void sim_program_unload(struct sim_program *program);

/**
 * sim_program_add - make more data each node's own
 *
 * Those are data of the executable, such as a pointer to the node's instance of
 * the library. A node begins with what they contain now. Only before the first
 * switch.
 *
 * Returns: 0, -ENOMEM, -EBUSY (there has been a switch).
 */
int sim_program_add(struct sim_program *program, void *data, size_t len);

/* sim_program_node_bytes - of a node that runs, what its data take at most */
size_t sim_program_node_bytes(const struct sim_program *program);

/**
 * sim_program_switch - bring in a node's data
 * @node: -1 for none, which leaves everything in place for the time being
 *
 * Returns: 0, -ENOMEM (the node's data cannot be mapped: the process cannot go
 * on).
 */
int sim_program_switch(struct sim_program *program, int64_t node);

/**
 * sim_program_at - where an address of a node is now
 * @addr: as the node's program knows it
 * @len:  of what is wanted there; cut to what is in one piece
 *
 * This is @addr itself, unless it is an address of the node's own data and
 * those of another node are in. The result holds until the next switch.
 */
void *sim_program_at(struct sim_program *program, uint32_t node, uintptr_t addr,
		     size_t *len);

/**
 * sim_program_run - run the program as the node that is in
 *
 * Runs constructors, main(), handlers of exit, and destructors, on the stack of
 * the caller, which the hooks of <sim/libc.h> say to be the node's. Arguments
 * are copied to the stack. exit() and its relatives leave the functions that
 * they are called from as longjmp() does.
 *
 * Returns: the exit status, 0 to 255.
 */
int sim_program_run(struct sim_program *program, int argc, char *const *argv);

#endif /* SIM_PROGRAM_H */
