/* SPDX-License-Identifier: MIT */
/*
 * What the sources of a node share: node.c its life, host.c what its controller
 * asks for and memory.c what of that is memory, progress.c its lock and its
 * engine, kick.c the kicks of programs, sleep.c how its thread sleeps and is
 * woken, virtual.c what it has in virtual time, trace.c its trace.
 */
#ifndef NODE_INTERNAL_H
#define NODE_INTERNAL_H

#include <pthread.h>

#include "node/node.h"

struct tofu_virtual;
struct tofu_trace;

/**
 * struct tofu_node
 * @lock:   serialises @fabric and @icc
 * @door:   held by the thread that waits for @lock next
 * @again:  somebody found the lock taken: whoever gives it back makes progress
 * @polled: whether the last kick was by a poll
 * @assists: count of kicks by polls that followed a poll, not a post
 * @assists_seen: that count when the node's thread last went to sleep
 * @idle_since: when the first of the kicks in a row that found nothing came;
 *          0: the last one found something
 * @assist: whether polls shall kick
 * @virtual: virtual time, or NULL
 */
struct tofu_node {
	struct tofu_fabric *fabric;
	struct icc *icc;
	const struct tofu_node_ops *ops;
	void *home;
	pthread_mutex_t lock;
	pthread_mutex_t door;
	bool again;
	bool polled;
	unsigned int assists;
	unsigned int assists_seen;
	uint64_t idle_since;
	bool assist;
	struct tofu_virtual *virtual;
};

/* tofu_node_kicks - the TOFU_NEED_KICK_* to ask for; @asleep: its thread is */
static inline uint32_t tofu_node_kicks(const struct tofu_node *node,
				       bool asleep)
{
	return (node->assist ? TOFU_NEED_KICK_POLL : 0) |
	       (asleep ? TOFU_NEED_KICK_TAIL : 0);
}

/* ---- host.c, virtual-host.c: the services, by the way time goes ---- */

extern const struct icc_host_ops tofu_host_ops;
extern const struct icc_host_ops tofu_virtual_host_ops;

/* tofu_node_misuse - into the log of the home of @host, a struct tofu_node */
void tofu_node_misuse(void *host, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- memory.c: services of struct icc_host_ops; @host as above ---- */

int tofu_memory_read(void *host, uint64_t addr, void *buf, size_t len);
int tofu_memory_write(void *host, uint64_t addr, const void *buf, size_t len);
int tofu_memory_write_ordered(void *host, uint64_t addr, const void *buf,
			      size_t len);
int tofu_memory_store64(void *host, uint64_t addr, uint64_t value);
int tofu_memory_armw(void *host, uint64_t addr, unsigned int size,
		     enum tofu_armw_op op, uint64_t operand, uint64_t compare,
		     uint64_t *old);
int tofu_memory_pull(void *host, uint32_t from, uint64_t src, uint64_t dst,
		     size_t len);
int tofu_memory_pull_ordered(void *host, uint32_t from, uint64_t src,
			     uint64_t dst, size_t len);

/* ---- progress.c ---- */

/**
 * tofu_node_try_progress - as far as a kick goes; takes the lock
 *
 * Return: true when there was work. Where the lock is taken, whoever has it
 * makes progress before it gives it back.
 */
bool tofu_node_try_progress(struct tofu_node *node);

/* ---- virtual.c ---- */

/* tofu_virtual_create - before the controller; 0 or a negative errno */
int tofu_virtual_create(struct tofu_node *node,
			const struct tofu_node_params *params);
void tofu_virtual_destroy(struct tofu_node *node);

/* ---- trace.c ---- */

/**
 * tofu_trace_create - a file of records (icc/trace.h)
 * @path: is replaced if it exists
 *
 * Return: 0 or a negative errno.
 */
int tofu_trace_create(const char *path, const struct tofu_shape *shape,
		      uint32_t node, const struct tofu_preset *machine,
		      struct tofu_trace **trace);

/* tofu_trace_destroy - the file ends behind the last record; NULL is good */
void tofu_trace_destroy(struct tofu_trace *trace);

/* tofu_trace_add - a record; it is in the file even if the process is killed.
 * false: the file cannot grow, the record is lost
 */
bool tofu_trace_add(struct tofu_trace *trace, const struct icc_trace *record);

#endif /* NODE_INTERNAL_H */
