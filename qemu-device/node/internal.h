/* SPDX-License-Identifier: MIT */
/*
 * Private declarations of a node:
 *
 *   node.c       its life
 *   host.c       services for its controller
 *   memory.c     services that access memory
 *   progress.c   its lock and its engine
 *   kick.c       kicks of programs
 *   sleep.c      sleep and wake-up of its thread
 *   virtual.c    virtual time
 *   trace.c      its trace
 */
#ifndef NODE_INTERNAL_H
#define NODE_INTERNAL_H

#include <pthread.h>
#include <time.h>

#include "node/node.h"

struct tofu_virtual;
struct tofu_trace;

/*
 * Each piece costs two system calls, which take longer than the copying of some
 * KiB. With larger pieces the second copy would miss the processor's caches.
 */
#define TOFU_BOUNCE (64U << 10)

/**
 * struct tofu_node
 * @lock:   serialises @fabric and @icc
 * @door:   held by the thread that waits for @lock next
 * @again:  a thread found the lock taken: its holder makes progress before it
 *          releases the lock
 * @polling: a poll runs the engine
 * @kicked: whatever is posted kicks; else the node's thread is awake, and looks
 * @goes_on: there was something to do, or something waits for room
 * @looks:  count of polls after one that has found nothing
 * @polled: whether the last kick was by a poll
 * @assists: count of kicks by polls that followed a poll, not a post
 * @assists_seen: value of @assists when the node's thread last went to sleep
 * @assisted_until: the node's thread leaves the work to polls until this time
 * @idle_since: time of the first kick of a poll since which the node had no
 *          work; 0: no such kick
 * @idle_kicks: count of kicks of polls that found nothing
 * @yields: count of kicks that gave way
 * @crowded: the last of them let another task run; @yield_ns: the least that one
 *          took
 * @channel_polls: count of polls of channels that found nothing
 * @assist: polls that find nothing are asked to kick
 * @virtual: virtual time, or NULL
 * @bounce: a piece of an ordered pull whose source is not mapped
 */
struct tofu_node {
	struct tofu_fabric *fabric;
	struct icc *icc;
	const struct tofu_node_ops *ops;
	void *home;
	pthread_mutex_t lock;
	pthread_mutex_t door;
	bool again;
	bool polling;
	bool kicked;
	bool goes_on;
	unsigned int looks;
	bool polled;
	unsigned int assists;
	unsigned int assists_seen;
	uint64_t assisted_until;
	uint64_t idle_since;
	unsigned int idle_kicks;
	unsigned int yields;
	bool crowded;
	uint64_t yield_ns;
	unsigned int channel_polls;
	bool assist;
	struct tofu_virtual *virtual;
	uint8_t bounce[TOFU_BOUNCE];
};

/* tofu_node_now - the host's clock, ns */
static inline uint64_t tofu_node_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* tofu_node_idle_end - what polls wait for may have come */
static inline void tofu_node_idle_end(struct tofu_node *node)
{
	if (__atomic_load_n(&node->idle_since, __ATOMIC_RELAXED))
		__atomic_store_n(&node->idle_since, 0, __ATOMIC_RELAXED);
}

/* tofu_node_kicks - the TOFU_NEED_KICK_* to set; @asleep: the thread sleeps */
static inline uint32_t tofu_node_kicks(const struct tofu_node *node,
				       bool asleep)
{
	return (node->assist ? TOFU_NEED_KICK_POLL : 0) |
	       (asleep ? TOFU_NEED_KICK_TAIL : 0);
}

/* ---- host.c, virtual-host.c: services, functional and in virtual time ---- */

extern const struct icc_host_ops tofu_host_ops;
extern const struct icc_host_ops tofu_virtual_host_ops;

/* tofu_node_misuse - log at the home of @host, which is a struct tofu_node */
void tofu_node_misuse(void *host, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* tofu_node_tx_begin - tofu_fabric_tx_begin(), but -EHOSTDOWN after a line of
 * tofu_node_misuse() for errors that the controller does not know
 */
struct tofu_packet *tofu_node_tx_begin(struct tofu_node *node, uint32_t dst,
				       enum tofu_class class_, size_t payload,
				       int *err);

/* ---- memory.c: of struct icc_host_ops; @host is a struct tofu_node ---- */

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
 * tofu_node_try_progress - the bounded progress of a kick; takes the lock
 * @poll: of a poll, which is a single round
 *
 * Return: true when there was work. Does not wait for the lock: its holder then
 * makes progress before it releases it.
 */
bool tofu_node_try_progress(struct tofu_node *node, bool poll);

/* ---- virtual.c ---- */

/* tofu_virtual_create - call before icc_create(); 0 or a negative errno */
int tofu_virtual_create(struct tofu_node *node,
			const struct tofu_node_params *params);
void tofu_virtual_destroy(struct tofu_node *node);

/* ---- trace.c ---- */

#endif /* NODE_INTERNAL_H */
