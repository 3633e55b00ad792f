/* SPDX-License-Identifier: MIT */
/*
 * What the sources of a node share: node.c what every node has, progress.c
 * who runs it, virtual.c what it has in virtual time, trace.c its trace.
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
 * @door:   held by the one that waits for @lock next
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

/* ---- node.c ---- */

/* tofu_node_misuse - into the home's log */
void tofu_node_misuse(struct tofu_node *node, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- virtual.c ---- */

/* tofu_virtual_create - before the controller; 0 or a negative errno */
int tofu_virtual_create(struct tofu_node *node,
			const struct tofu_node_params *params);
void tofu_virtual_destroy(struct tofu_node *node);

/* The services of struct icc_host_ops that differ with virtual time. */
struct tofu_packet *tofu_virtual_tx_begin(struct tofu_node *node, uint32_t dst,
					  enum tofu_class class_,
					  size_t payload, int *err);
void tofu_virtual_tx_commit(struct tofu_node *node);
uint64_t tofu_virtual_now(const struct tofu_node *node);
void tofu_virtual_trace(struct tofu_node *node, const struct icc_trace *trace);

/* tofu_virtual_wake - the processor gets an interrupt now */
void tofu_virtual_wake(struct tofu_node *node);

/* ---- trace.c ---- */

/**
 * tofu_trace_create - a file of records (icc/trace.h)
 * @path: is replaced if it exists
 *
 * Return: 0 or a negative errno.
 */
int tofu_trace_create(const char *path, const struct tofu_shape *shape,
		      uint32_t node, const struct icc_machine *machine,
		      struct tofu_trace **trace);

/* tofu_trace_destroy - the file ends behind the last record; NULL is good */
void tofu_trace_destroy(struct tofu_trace *trace);

/* tofu_trace_add - a record; it is in the file even if the process is killed.
 * false: the file cannot grow, the record is lost
 */
bool tofu_trace_add(struct tofu_trace *trace, const struct icc_trace *record);

#endif /* NODE_INTERNAL_H */
