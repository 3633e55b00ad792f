/* SPDX-License-Identifier: MIT */
/*
 * A node: an ICC on the fabric, with the lock and the sleeping protocol that
 * every home needs. The QEMU device and the emu port are two thin homes above
 * it: they provide memory, interrupts, and a thread that sleeps in poll().
 *
 * Two kinds of threads make progress: the node's own while there is work, and
 * any thread of the program that kicks (QEMU: a vCPU that writes the kick page;
 * emu: a caller of post or poll). With assist, a poll that finds nothing also
 * kicks and so lends its processor to the engine. While such polls continue,
 * the node's thread stays asleep, which saves the cost of waking it. After they
 * have stopped, a peer whose own polls find nothing wakes the thread.
 *
 * With a machine (net/machine.h) the node lives in virtual time and has no
 * thread of its own. Its home calls tofu_node_run() from the thread of its
 * processor, which stands still meanwhile, at the times that the last call
 * returned; see the end of this file.
 *
 * Other folders include this file and trace.h only.
 *
 * May include: icc/, fabric/, net/, uapi/
 */
#ifndef NODE_NODE_H
#define NODE_NODE_H

#include <stdarg.h>

#include "fabric/fabric.h"
#include "icc/icc.h"

struct tofu_node;

/**
 * struct tofu_node_ops - services of the home; see also struct icc_host_ops
 * @map: a pointer to the node's memory at bus address @addr, or NULL. @len: in,
 *       bytes wanted; out, bytes (at least one) for which the pointer is valid
 *       until the lock is released
 * @written: bytes at a pointer that map() returned have been written (dirty
 *           tracking); may be NULL
 * @now: the home's own clock, ns, of any origin; with a machine only
 */
struct tofu_node_ops {
	void *(*map)(void *home, uint64_t addr, size_t *len, bool write);
	void (*written)(void *home, uint64_t addr, size_t len);
	void (*irq)(void *home, unsigned int vector);
	void (*misuse)(void *home, const char *format, va_list args)
		__attribute__((format(printf, 2, 0)));
	uint64_t (*now)(void *home);
};

/**
 * struct tofu_node_params
 * @fabric: path, see tofu_fabric_attach()
 * @node:   number in the machine, see tofu_fabric_attach()
 * @whole:  refuse a machine whose nodes can have several processes
 * @tnis, @pages, @ram_pages, @inline_max, @armw, @changes: see struct icc_params
 * @mtu:    the same, without a machine
 * @assist: ask polls that find nothing to kick
 * @machine, @quiet_ns: virtual time, see struct icc_params; or NULL. With a
 *          @quiet_ns, nodes that do not use their controllers yet, or no longer,
 *          need not wait for each other at each step
 * @trace:  with a machine: a file for the trace (icc/trace.h), replaced if it
 *          exists; or NULL
 */
struct tofu_node_params {
	const char *fabric;
	int node;
	bool whole;
	unsigned int tnis;
	void *pages;
	bool ram_pages;
	size_t inline_max;
	uint32_t mtu;
	bool armw;
	const uint64_t *changes;
	bool assist;
	const struct tofu_preset *machine;
	uint32_t quiet_ns;
	const char *trace;
	const struct tofu_node_ops *ops;
	void *home;
};

/* tofu_node_create - attach and make the controller; @why: see fabric.h */
int tofu_node_create(const struct tofu_node_params *params, char **why,
		     struct tofu_node **node);
void tofu_node_destroy(struct tofu_node *node);

/* The caller holds the lock for every function below that does not take it. */
void tofu_node_lock(struct tofu_node *node);
void tofu_node_unlock(struct tofu_node *node);

/**
 * tofu_node_lock_until - take the lock, in a thread that may hold it already
 * @deadline: nanoseconds of the host's monotonic clock
 *
 * For a process that ends in a signal handler, which may have interrupted
 * whoever holds the lock.
 *
 * Return: 0; -EDEADLK: this thread holds it; -ETIMEDOUT.
 */
int tofu_node_lock_until(struct tofu_node *node, uint64_t deadline);

struct icc *tofu_node_icc(struct tofu_node *node);
struct tofu_fabric *tofu_node_fabric(struct tofu_node *node);

/* tofu_node_progress - bounded work of fabric and engine; true if there was any
 */
bool tofu_node_progress(struct tofu_node *node);

/**
 * tofu_node_kick - a program's thread lends its processor; takes the lock
 * @poll: a poll found nothing (TOFU_KICK_POLL), else TOFU_KICK_TAIL
 *
 * Return: true when there was work. Does not wait for another thread that is
 * making progress already, unless that thread could miss the kick.
 */
bool tofu_node_kick(struct tofu_node *node, bool poll);

/**
 * tofu_node_channel - a store to TOFU_CHANNEL_START of a channel's page
 *
 * Call tofu_node_kick() next, or in virtual time tofu_node_run().
 */
void tofu_node_channel(struct tofu_node *node, unsigned int tni,
		       unsigned int channel);

/**
 * tofu_node_channel_poll - a store to TOFU_CHANNEL_POLL of a channel's page
 *
 * Without virtual time it is a kick as well, and takes the lock; in virtual time
 * call tofu_node_run() next.
 *
 * Return: as tofu_node_kick(); in virtual time false.
 */
bool tofu_node_channel_poll(struct tofu_node *node, unsigned int tni,
			    unsigned int channel);

/**
 * tofu_node_sleep - get ready to sleep on tofu_node_fd(); takes the lock
 *
 * Return: milliseconds to sleep at most (-1: until readable), or 0: there is
 * work, do not sleep.
 */
int tofu_node_sleep(struct tofu_node *node);

/* tofu_node_awake - the thread has woken and polls; takes the lock */
void tofu_node_awake(struct tofu_node *node);

/* tofu_node_fd - for poll(2), any thread */
int tofu_node_fd(const struct tofu_node *node);

/* ---- Virtual time (node/virtual.c); only for a node with a machine ---- */

/**
 * tofu_node_join - enter the machine's common time
 *
 * Call it until it succeeds, with tofu_node_wait() in between, while the home's
 * clock stands. The first call announces this node to the others. When all have
 * come, common time 0 is the home's present time. A node that comes after the
 * others have begun joins a little in their future.
 *
 * Return: 0: joined, now or before. -EAGAIN: others are missing.
 */
int tofu_node_join(struct tofu_node *node);

/* tofu_node_joined - whether the node is in common time */
bool tofu_node_joined(const struct tofu_node *node);

/**
 * tofu_node_run - handle all that is due now, and return the horizon
 * @busy_from: the home's time at which its processor may next act by itself:
 *             now or earlier when it runs, its first timer when it is halted,
 *             UINT64_MAX when it has none
 *
 * Return: the home's time at which to call again. Until then the processor may
 * run. If that is not later than now, the processor must not run: call
 * tofu_node_wait(), then this again. UINT64_MAX before the node has joined.
 */
uint64_t tofu_node_run(struct tofu_node *node, uint64_t busy_from);

/**
 * tofu_node_run_ahead - the same, where it is known what software will do
 * @busy_from: software does nothing until then if nothing reaches it
 *
 * Return: as tofu_node_run(), but before @busy_from only the time of an event;
 * now until there is one or all is known up to @busy_from.
 */
uint64_t tofu_node_run_ahead(struct tofu_node *node, uint64_t busy_from);

/* tofu_node_due - the home's time of the next known event, or UINT64_MAX */
uint64_t tofu_node_due(const struct tofu_node *node);

/* tofu_node_handled - the number of events so far */
uint64_t tofu_node_handled(const struct tofu_node *node);

/**
 * tofu_node_wait - wait for the others, for a little of the host's time
 * @turn: count of calls in a row: the first ones spin, then it yields the
 *        processor, then it sleeps for a millisecond at most
 */
void tofu_node_wait(struct tofu_node *node, unsigned int turn);

/* tofu_node_store - software stored into fetch_start; call tofu_node_run() next
 */
void tofu_node_store(struct tofu_node *node, unsigned int tni, unsigned int cq,
		     uint64_t value);

/*
 * tofu_node_catch_up - count what crossed the links before now
 *
 * Call it before software reads or writes registers, and before a reset: between
 * stops, which come at times of the host, nothing is counted.
 */
void tofu_node_catch_up(struct tofu_node *node);

/* tofu_node_mark - a store to TOFU_KICK_MARK */
void tofu_node_mark(struct tofu_node *node, unsigned int tni, unsigned int cq,
		    uint64_t value);

/* tofu_node_time - TOFU_REG_TIME: common time, ns */
uint64_t tofu_node_time(const struct tofu_node *node);

#endif /* NODE_NODE_H */
