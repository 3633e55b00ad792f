/* SPDX-License-Identifier: MIT */
/*
 * The fabric: how the nodes of a machine exchange packets, read each other's
 * memory where a packet refers to it, and learn who is there. A transport
 * implements struct tofu_fabric_ops; everybody else calls the functions below,
 * and for virtual time those of fabric/clock.h. fabric/shm/ is the transport
 * between processes of one host.
 *
 * Nothing of another node is ever written but the packets to it: owner
 * executes.
 *
 * A node of the machine can have several processes, which share its queues and
 * gates. Each of them is an endpoint, which here is called a node, too: to the
 * fabric all are alike. Node n of the machine has the endpoints n * ppn and on;
 * with one process a node the two numbers are the same. The fabric knows which
 * endpoint has which queue and gate.
 *
 * Not thread-safe: the owner serialises all calls but tofu_fabric_fd() and
 * tofu_fabric_wake().
 *
 * Other folders include fabric/fabric.h, fabric/clock.h and fabric/process.h,
 * and nothing of fabric/shm/; only tests that look into its file do.
 *
 * May include: net/, uapi/
 */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/packet.h"
#include "net/topology.h"

struct tofu_fabric;
struct tofu_fabric_clock;
struct tofu_fabric_clock_ops;

#define TOFU_FABRIC_NODES_MAX 1024 /* endpoints */
#define TOFU_FABRIC_PPN_MAX 48
#define TOFU_FABRIC_RAM_MAX 32 /* pieces of memory of a node */

/**
 * struct tofu_ram - a piece of a node's memory as others can read it
 * @addr:   bus address
 * @len:    bytes
 * @fd:     of this process, to stay open; a file sealed against shrinking
 *          that is not of huge pages, or one of the same user, who then must
 *          not take pages of it away. -1: the bus
 *          address is an address of this process, read by process_vm_readv(),
 *          or where the system has none, from /proc/PID/mem
 * @offset: in the file
 */
struct tofu_ram {
	uint64_t addr;
	uint64_t len;
	int fd;
	uint64_t offset;
};

/**
 * struct tofu_fabric_handler - what takes what arrives
 * @packet:    as icc_receive(): 0 or, for a request, -EAGAIN. @pkt->src is
 *             true, @pkt->type of the class that it came in, @pkt->payload
 *             within what this fabric carries; the rest is as the sender wrote
 *             it
 * @peer_down: a node that this one had exchanged packets with, or sent to, is
 *             gone; called from tofu_fabric_poll(), after the responses that
 *             it had sent have been given to @packet
 */
struct tofu_fabric_handler {
	int (*packet)(void *ctx, const struct tofu_packet *pkt,
		      const void *payload);
	void (*peer_down)(void *ctx, uint32_t node);
};

/* TOFU_LIFE_DEAD: the process has ended without leaving */
enum tofu_life {
	TOFU_LIFE_DOWN,
	TOFU_LIFE_DEAD,
	TOFU_LIFE_UP,
};

/**
 * struct tofu_fabric_report - a node as an observer sees it
 * @generation: how many processes have had the number
 * @pid:     of the last one
 * @asleep:  it wants to be woken
 * @pieces:  of memory that others can read
 * @waiting: bytes that were sent to it and that it has not taken, by class
 */
struct tofu_fabric_report {
	enum tofu_life life;
	uint32_t generation;
	pid_t pid;
	bool asleep;
	uint32_t pieces;
	uint64_t waiting[TOFU_CLASSES];
};

/**
 * struct tofu_fabric_ops - a transport
 * @clock: virtual time
 *
 * Each of the others is what the function of that name below does. An
 * observer's fabric has @detach and @report, and @clock->report.
 */
struct tofu_fabric_ops {
	void (*detach)(struct tofu_fabric *fabric);
	bool (*up)(struct tofu_fabric *fabric, uint32_t node);
	void (*report)(struct tofu_fabric *fabric, uint32_t node,
		       struct tofu_fabric_report *report);

	int64_t (*owner)(struct tofu_fabric *fabric, uint32_t node,
			 enum tofu_share share, unsigned int tni,
			 unsigned int number);
	int (*shares_lock)(struct tofu_fabric *fabric);
	void (*shares_unlock)(struct tofu_fabric *fabric);
	uint64_t (*taken_locked)(struct tofu_fabric *fabric,
				 enum tofu_share share, unsigned int tni);
	void (*take_locked)(struct tofu_fabric *fabric, enum tofu_share share,
			    unsigned int tni, uint64_t numbers);
	void (*give)(struct tofu_fabric *fabric, enum tofu_share share,
		     unsigned int tni, uint64_t numbers);

	int (*publish)(struct tofu_fabric *fabric, const struct tofu_ram *ram,
		       size_t count);
	const void *(*peer_memory)(struct tofu_fabric *fabric, uint32_t node,
				   uint64_t addr, size_t *len);
	int (*read)(struct tofu_fabric *fabric, uint32_t node, uint64_t addr,
		    void *buf, size_t len);

	struct tofu_packet *(*tx_begin)(struct tofu_fabric *fabric,
					uint32_t node, enum tofu_class class_,
					size_t payload, int *err);
	void (*tx_commit)(struct tofu_fabric *fabric);
	bool (*tx_room)(struct tofu_fabric *fabric, uint32_t node,
			enum tofu_class class_);
	void (*fence_begin)(struct tofu_fabric *fabric);
	bool (*fence_done)(struct tofu_fabric *fabric);
	bool (*poll)(struct tofu_fabric *fabric,
		     const struct tofu_fabric_handler *handler, void *ctx);

	void (*want_wake)(struct tofu_fabric *fabric, bool want);
	void (*want_wake_late)(struct tofu_fabric *fabric);
	void (*wake_unseen)(struct tofu_fabric *fabric);
	void (*wake)(struct tofu_fabric *fabric);
	int (*fd)(struct tofu_fabric *fabric);
	void (*fd_ack)(struct tofu_fabric *fabric);

	const struct tofu_fabric_clock_ops *clock;
};

/**
 * struct tofu_fabric - a node's, or an observer's; what all transports have
 * @shape: of the machine
 * @nodes: count of endpoints
 * @ppn:   of each node of the machine
 * @self:  number of this endpoint; of an observer UINT32_MAX
 * @clocks: in virtual time: by node, see fabric/clock.h
 */
struct tofu_fabric {
	const struct tofu_fabric_ops *ops;
	struct tofu_shape shape;
	uint32_t nodes;
	uint32_t ppn;
	uint32_t self;
	struct tofu_fabric_clock *clocks;
};

/* ---- Coming and leaving; shm's, as there is no other transport yet ---- */

/**
 * tofu_fabric_format - make a file the shared memory of a machine
 * @fd:    empty file; is sized, and sealed against shrinking if it can be
 * @shape: of the machine
 * @ppn:   processes that a node can have, 1 … TOFU_FABRIC_PPN_MAX
 *
 * Return: 0 or a negative errno: -EINVAL where that are too many endpoints or
 * the file is no regular one, -EEXIST where it is not empty.
 */
int tofu_fabric_format(int fd, const struct tofu_shape *shape, uint32_t ppn);

/**
 * tofu_fabric_attach - become a process of a node
 * @path:   of the shared file, e.g. /dev/fd/3; NULL for a machine of one node
 * @node:   its number in the machine, or -1 for the lowest that has room
 * @why:    on failure, if not NULL: a sentence that says what to do, to be
 *          freed
 * @fabric: set on success
 *
 * Return: 0 or a negative errno: -EBUSY where the node has all processes that
 * it can have, -EINVAL where the file is no fabric or has no such node.
 */
int tofu_fabric_attach(const char *path, int node, char **why,
		       struct tofu_fabric **fabric);

/**
 * tofu_fabric_observe - look at a machine without being one of its nodes
 *
 * Nothing of it is written. Return: 0 or a negative errno: -EINVAL where the
 * file is no fabric.
 */
int tofu_fabric_observe(const char *path, struct tofu_fabric **fabric);

/* tofu_fabric_detach - leave; others see the node go at once */
static inline void tofu_fabric_detach(struct tofu_fabric *fabric)
{
	fabric->ops->detach(fabric);
}

/* ---- Who is there ---- */

/* tofu_fabric_endpoint - the number of this endpoint */
static inline uint32_t tofu_fabric_endpoint(const struct tofu_fabric *fabric)
{
	return fabric->self;
}

/* tofu_fabric_endpoints - how many there are */
static inline uint32_t tofu_fabric_endpoints(const struct tofu_fabric *fabric)
{
	return fabric->nodes;
}

/* tofu_fabric_ppn - processes that a node of the machine can have */
static inline uint32_t tofu_fabric_ppn(const struct tofu_fabric *fabric)
{
	return fabric->ppn;
}

static inline const struct tofu_shape *
tofu_fabric_shape(const struct tofu_fabric *fabric)
{
	return &fabric->shape;
}

/* tofu_fabric_up - whether a node is there now, be it connected or not */
static inline bool tofu_fabric_up(struct tofu_fabric *fabric, uint32_t node)
{
	return fabric->ops->up(fabric, node);
}

/* tofu_fabric_report - for people and tests; @node is below the count */
static inline void tofu_fabric_report(struct tofu_fabric *fabric, uint32_t node,
				      struct tofu_fabric_report *report)
{
	fabric->ops->report(fabric, node, report);
}

/* ---- What the processes of a node share ---- */

/**
 * tofu_fabric_owner - the endpoint that has a queue or gate
 * @node: of the machine; it, @tni and @number may be any
 *
 * Of a process that has died, too, until another of its node takes it.
 *
 * Return: its number, or -1 where nobody has it.
 */
static inline int64_t tofu_fabric_owner(struct tofu_fabric *fabric,
					uint32_t node, enum tofu_share share,
					unsigned int tni, unsigned int number)
{
	return fabric->ops->owner(fabric, node, share, tni, number);
}

/* tofu_fabric_shares_lock - among the processes of this node */
static inline int tofu_fabric_shares_lock(struct tofu_fabric *fabric)
{
	return fabric->ops->shares_lock(fabric);
}

static inline void tofu_fabric_shares_unlock(struct tofu_fabric *fabric)
{
	fabric->ops->shares_unlock(fabric);
}

/* tofu_fabric_taken_locked - what living processes of this node have, a bit
 * for each number
 */
static inline uint64_t tofu_fabric_taken_locked(struct tofu_fabric *fabric,
						enum tofu_share share,
						unsigned int tni)
{
	return fabric->ops->taken_locked(fabric, share, tni);
}

/* tofu_fabric_take_locked - numbers, a bit each, that nobody has */
static inline void tofu_fabric_take_locked(struct tofu_fabric *fabric,
					   enum tofu_share share,
					   unsigned int tni, uint64_t numbers)
{
	fabric->ops->take_locked(fabric, share, tni, numbers);
}

/* tofu_fabric_give - numbers of this process; none may be in use any more */
static inline void tofu_fabric_give(struct tofu_fabric *fabric,
				    enum tofu_share share, unsigned int tni,
				    uint64_t numbers)
{
	fabric->ops->give(fabric, share, tni, numbers);
}

/* ---- Memory ---- */

/**
 * tofu_fabric_publish - say what memory this node has
 * @ram:   at most TOFU_FABRIC_RAM_MAX pieces
 *
 * Replaces what was said before. Return: 0 or a negative errno.
 */
static inline int tofu_fabric_publish(struct tofu_fabric *fabric,
				      const struct tofu_ram *ram, size_t count)
{
	return fabric->ops->publish(fabric, ram, count);
}

/**
 * tofu_fabric_peer_memory - where bytes of a node's memory are in this process
 * @addr: bus address in the memory of @node
 * @len:  in: bytes wanted; out: bytes that can be read from the result
 *
 * For memory in a file: a read-only mapping, checked against the node's table
 * and the file's size.
 *
 * Return: the address, good until the next call with @fabric; or NULL: not
 * memory of that node, node gone, or memory that has to be read by
 * tofu_fabric_read().
 */
static inline const void *tofu_fabric_peer_memory(struct tofu_fabric *fabric,
						  uint32_t node, uint64_t addr,
						  size_t *len)
{
	return fabric->ops->peer_memory(fabric, node, addr, len);
}

/**
 * tofu_fabric_read - copy out of a node's memory, of either kind
 *
 * Return: 0, -EHOSTDOWN where the node is gone, -EFAULT where that is not its
 * memory, -EPERM where the system forbids to read the process (Yama's
 * ptrace_scope of 2 or 3, or another user). After an error @buf may be written
 * in part.
 */
static inline int tofu_fabric_read(struct tofu_fabric *fabric, uint32_t node,
				   uint64_t addr, void *buf, size_t len)
{
	return fabric->ops->read(fabric, node, addr, buf, len);
}

/* ---- Packets ---- */

/* Sending: the contracts of the same names in struct icc_host_ops. */
static inline struct tofu_packet *
tofu_fabric_tx_begin(struct tofu_fabric *fabric, uint32_t node,
		     enum tofu_class class_, size_t payload, int *err)
{
	return fabric->ops->tx_begin(fabric, node, class_, payload, err);
}

static inline void tofu_fabric_tx_commit(struct tofu_fabric *fabric)
{
	fabric->ops->tx_commit(fabric);
}

static inline bool tofu_fabric_tx_room(struct tofu_fabric *fabric,
				       uint32_t node, enum tofu_class class_)
{
	return fabric->ops->tx_room(fabric, node, class_);
}

static inline void tofu_fabric_fence_begin(struct tofu_fabric *fabric)
{
	fabric->ops->fence_begin(fabric);
}

static inline bool tofu_fabric_fence_done(struct tofu_fabric *fabric)
{
	return fabric->ops->fence_done(fabric);
}

/**
 * tofu_fabric_poll - take what has arrived
 *
 * From each node: first every response, then the requests that had been there
 * before the responses were looked at: so an answer is never seen before the
 * response to what it answers. Bounded work a call.
 *
 * Return: true when anything was taken: call again soon.
 */
static inline bool tofu_fabric_poll(struct tofu_fabric *fabric,
				    const struct tofu_fabric_handler *handler,
				    void *ctx)
{
	return fabric->ops->poll(fabric, handler, ctx);
}

/* ---- Sleeping ---- */

/**
 * tofu_fabric_want_wake - whether senders make tofu_fabric_fd() readable
 *
 * Before sleeping: want, then a full fence (inside), then poll once more.
 * Wanting is cleared by the sender that wakes.
 */
static inline void tofu_fabric_want_wake(struct tofu_fabric *fabric, bool want)
{
	fabric->ops->want_wake(fabric, want);
}

/**
 * tofu_fabric_want_wake_late - the same for a node whose program polls
 *
 * A sender does not make the descriptor readable when it sends, but by
 * tofu_fabric_wake_unseen().
 */
static inline void tofu_fabric_want_wake_late(struct tofu_fabric *fabric)
{
	fabric->ops->want_wake_late(fabric);
}

/**
 * tofu_fabric_wake_unseen - wake nodes that have not looked at what they got
 *
 * To be called when this node has waited for a while: each node that wants to
 * be woken late, and has not polled since this one sent to it, is woken.
 */
static inline void tofu_fabric_wake_unseen(struct tofu_fabric *fabric)
{
	fabric->ops->wake_unseen(fabric);
}

/* tofu_fabric_wake - make tofu_fabric_fd() of this node readable; any thread */
static inline void tofu_fabric_wake(struct tofu_fabric *fabric)
{
	fabric->ops->wake(fabric);
}

/* tofu_fabric_fd - readable when woken, or when the process of a peer ended */
static inline int tofu_fabric_fd(struct tofu_fabric *fabric)
{
	return fabric->ops->fd(fabric);
}

/* tofu_fabric_fd_ack - take note of why the descriptor was readable */
static inline void tofu_fabric_fd_ack(struct tofu_fabric *fabric)
{
	fabric->ops->fd_ack(fabric);
}

#endif /* FABRIC_FABRIC_H */
