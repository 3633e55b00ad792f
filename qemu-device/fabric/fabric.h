/* SPDX-License-Identifier: MIT */
/*
 * The fabric: the nodes of a machine exchange packets, read each other's memory
 * where a packet refers to it, and see which nodes are up. A transport
 * implements struct tofu_fabric_ops; all other code calls the functions below,
 * and for virtual time those of fabric/clock.h. fabric/shm/ is the transport
 * between processes of one host.
 *
 * A node only sends packets to another node and never writes its memory: owner
 * executes.
 *
 * A node of the machine can have several processes, which share its queues and
 * gates. Each of them is an endpoint, called a node here, since the fabric does
 * not distinguish them. Node n of the machine has the endpoints n * ppn to
 * n * ppn + ppn - 1; with one process a node the two numbers are the same. The
 * fabric knows which endpoint owns which queue and gate.
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
 * struct tofu_ram - a piece of a node's memory that others can read
 * @addr:   bus address
 * @len:    bytes
 * @fd:     of this process, must stay open: a file of the same user, who must
 *          not remove pages of it. -1: the bus address is an address of this
 *          process, read by process_vm_readv(), or from /proc/PID/mem where the
 *          system lacks that
 * @offset: in the file
 */
struct tofu_ram {
	uint64_t addr;
	uint64_t len;
	int fd;
	uint64_t offset;
};

/**
 * struct tofu_fabric_handler - callbacks of tofu_fabric_poll()
 * @packet:    as icc_receive(): returns 0, or -EAGAIN for a packet that a later
 *             poll offers again. A controller takes every response; a bridge
 *             may keep some. The transport has checked @pkt->src, that
 *             @pkt->type belongs to the packet's class, and the limit of
 *             @pkt->payload; the rest is as the sender wrote it
 * @peer_down: a node that this one had exchanged packets with, or sent to, is
 *             gone; called after @packet has got the responses that the node
 *             had sent
 */
struct tofu_fabric_handler {
	int (*packet)(void *ctx, const struct tofu_packet *pkt,
		      const void *payload);
	void (*peer_down)(void *ctx, uint32_t node);
};

/* TOFU_LIFE_DEAD: the process has ended, or executed another program, without
 * leaving
 */
enum tofu_life {
	TOFU_LIFE_DOWN,
	TOFU_LIFE_DEAD,
	TOFU_LIFE_UP,
};

/**
 * struct tofu_fabric_report - a node as an observer sees it
 * @generation: count of processes that have had the number
 * @pid:     of the last of them
 * @asleep:  it wants to be woken
 * @pieces:  count of pieces of memory that others can read
 * @waiting: by class: bytes that were sent to it and that it has not taken
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
 * The function of the same name below documents each of the others. An
 * observer's fabric has only @detach, @generation, @report and @clock->report.
 */
struct tofu_fabric_ops {
	void (*detach)(struct tofu_fabric *fabric);
	void (*forked)(struct tofu_fabric *fabric);
	bool (*up)(struct tofu_fabric *fabric, uint32_t node);
	uint32_t (*generation)(struct tofu_fabric *fabric, uint32_t node);
	uint32_t (*peer_generation)(struct tofu_fabric *fabric, uint32_t node);
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
	uint64_t (*tx_position)(struct tofu_fabric *fabric, uint32_t node,
				enum tofu_class class_);
	bool (*tx_passed)(struct tofu_fabric *fabric, uint32_t node,
			  enum tofu_class class_, uint64_t position);
	void (*fence_begin)(struct tofu_fabric *fabric);
	bool (*fence_done)(struct tofu_fabric *fabric);
	bool (*poll)(struct tofu_fabric *fabric,
		     const struct tofu_fabric_handler *handler, void *ctx);
	bool (*quiet)(const struct tofu_fabric *fabric);

	void (*want_wake)(struct tofu_fabric *fabric, bool want);
	void (*want_wake_late)(struct tofu_fabric *fabric);
	void (*wake_unseen)(struct tofu_fabric *fabric);
	void (*wake)(struct tofu_fabric *fabric);
	int (*fd)(struct tofu_fabric *fabric);
	void (*fd_ack)(struct tofu_fabric *fabric);

	const struct tofu_fabric_clock_ops *clock;
};

/**
 * struct tofu_fabric - a node's or an observer's fabric, of any transport
 * @shape: of the machine
 * @nodes: count of endpoints
 * @ppn:   processes that a node of the machine can have
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

/* What to do after -ENOSPC, to end a message with */
#define TOFU_FABRIC_FULL                                                   \
	"the filesystem of the fabric's file is full; enlarge it (in a "   \
	"container /dev/shm is small: see --shm-size), or use fewer nodes"

/* Descriptors of a connection to another endpoint, and a process's others */
#define TOFU_FABRIC_PEER_FILES 2
#define TOFU_FABRIC_OTHER_FILES 64

#define TOFU_FABRIC_LACK_TEXT 224

/**
 * tofu_fabric_lack - whether an error of connecting is a lack on this host
 * @err:  negative errno
 * @text: set where it is, to what is missing and what to do: the end of a
 *        message
 */
bool tofu_fabric_lack(const struct tofu_fabric *fabric, int err,
		      char text[TOFU_FABRIC_LACK_TEXT]);

/* ---- Attaching and leaving; of shm, the only transport so far ---- */

/**
 * tofu_fabric_format - make a file the shared memory of a machine
 * @fd:    empty file of this user; it is closed to others (mode 0600), sized
 *         and, where possible, sealed against shrinking
 * @shape: of the machine
 * @ppn:   processes that a node can have, 1 … TOFU_FABRIC_PPN_MAX
 *
 * Return: 0 or a negative errno: -EINVAL where these are too many endpoints or
 * the file is not regular, -EEXIST where it is not empty, -EPERM where it
 * belongs to another user, -ENOSPC where its filesystem is full.
 */
int tofu_fabric_format(int fd, const struct tofu_shape *shape, uint32_t ppn);

/**
 * tofu_fabric_attach - become a process of a node
 * @path:   of the shared file, e.g. /dev/fd/3; NULL for a machine of one node.
 *          It must belong to this process's user, and nobody else may be able
 *          to write it
 * @node:   its number in the machine, or -1 for the lowest that has room
 * @why:    if not NULL, set on failure to a sentence that says what to do; the
 *          caller frees it
 * @fabric: set on success
 *
 * Return: 0 or a negative errno: -EBUSY where the node has all processes that
 * it can have, -EINVAL where the file is no fabric or has no such node, -EPERM
 * where it belongs to another user, or others can write it.
 */
int tofu_fabric_attach(const char *path, int node, char **why,
		       struct tofu_fabric **fabric);

/**
 * tofu_fabric_observe - map a machine's file read-only, to report on its nodes
 *
 * Return: 0 or a negative errno: -EINVAL where the file is no fabric.
 */
int tofu_fabric_observe(const char *path, struct tofu_fabric **fabric);

/* tofu_fabric_detach - leave; others see the node go at once */
static inline void tofu_fabric_detach(struct tofu_fabric *fabric)
{
	fabric->ops->detach(fabric);
}

/*
 * tofu_fabric_forked - called in a forked child: it is not the node, and must
 * not use the fabric. What the parent executes later ends the node at once.
 * Takes no lock.
 */
static inline void tofu_fabric_forked(struct tofu_fabric *fabric)
{
	fabric->ops->forked(fabric);
}

/* ---- Nodes ---- */

/* tofu_fabric_endpoint - the number of this endpoint */
static inline uint32_t tofu_fabric_endpoint(const struct tofu_fabric *fabric)
{
	return fabric->self;
}

/* tofu_fabric_endpoints - count of endpoints of the machine */
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

/* tofu_fabric_up - whether a node is attached now, connected or not */
static inline bool tofu_fabric_up(struct tofu_fabric *fabric, uint32_t node)
{
	return fabric->ops->up(fabric, node);
}

/**
 * tofu_fabric_generation - which life of a node this is
 * @node: < endpoints
 *
 * Cheap: reads the shared file and asks nobody. So a process that has died
 * without leaving still has its generation: see tofu_fabric_up().
 *
 * Return: count of processes that have had the number, or 0 where none has it.
 */
static inline uint32_t tofu_fabric_generation(struct tofu_fabric *fabric,
					      uint32_t node)
{
	return fabric->ops->generation(fabric, node);
}

/* tofu_fabric_peer_generation - which life of a node this one is connected to, or
 * 0: all that tofu_fabric_poll() takes from it is of that life
 */
static inline uint32_t
tofu_fabric_peer_generation(struct tofu_fabric *fabric, uint32_t node)
{
	return fabric->ops->peer_generation(fabric, node);
}

/* tofu_fabric_report - a node's state, for tools; @node < endpoints */
static inline void tofu_fabric_report(struct tofu_fabric *fabric, uint32_t node,
				      struct tofu_fabric_report *report)
{
	fabric->ops->report(fabric, node, report);
}

/* ---- Queues and gates that the processes of a node share ---- */

/**
 * tofu_fabric_owner - the endpoint that owns a queue or gate
 * @node: of the machine; @node, @tni and @number may have any value
 *
 * A process that has died stays the owner until another of its node takes the
 * queue or gate.
 *
 * Return: its number, or -1 where there is none.
 */
static inline int64_t tofu_fabric_owner(struct tofu_fabric *fabric,
					uint32_t node, enum tofu_share share,
					unsigned int tni, unsigned int number)
{
	return fabric->ops->owner(fabric, node, share, tni, number);
}

/* tofu_fabric_shares_lock - lock the shares of this node's processes */
static inline int tofu_fabric_shares_lock(struct tofu_fabric *fabric)
{
	return fabric->ops->shares_lock(fabric);
}

static inline void tofu_fabric_shares_unlock(struct tofu_fabric *fabric)
{
	fabric->ops->shares_unlock(fabric);
}

/* tofu_fabric_taken_locked - numbers that living processes of this node own, a
 * bit each
 */
static inline uint64_t tofu_fabric_taken_locked(struct tofu_fabric *fabric,
						enum tofu_share share,
						unsigned int tni)
{
	return fabric->ops->taken_locked(fabric, share, tni);
}

/* tofu_fabric_take_locked - own numbers, a bit each, that are not taken */
static inline void tofu_fabric_take_locked(struct tofu_fabric *fabric,
					   enum tofu_share share,
					   unsigned int tni, uint64_t numbers)
{
	fabric->ops->take_locked(fabric, share, tni, numbers);
}

/* tofu_fabric_give - give up numbers of this process that are not in use */
static inline void tofu_fabric_give(struct tofu_fabric *fabric,
				    enum tofu_share share, unsigned int tni,
				    uint64_t numbers)
{
	fabric->ops->give(fabric, share, tni, numbers);
}

/* ---- Memory ---- */

/**
 * tofu_fabric_publish - publish the table of this node's memory
 * @ram:   at most TOFU_FABRIC_RAM_MAX pieces
 *
 * Replaces the previous table. Return: 0 or a negative errno: -EPERM where a
 * file belongs to another user.
 */
static inline int tofu_fabric_publish(struct tofu_fabric *fabric,
				      const struct tofu_ram *ram, size_t count)
{
	return fabric->ops->publish(fabric, ram, count);
}

/**
 * tofu_fabric_peer_memory - find a node's memory in this process
 * @addr: bus address in the memory of @node
 * @len:  in: bytes wanted; out: bytes that can be read from the result
 *
 * For memory in a file: a read-only mapping, checked against the node's table
 * and the file's size.
 *
 * Return: the address, valid until the next call with @fabric; or NULL where
 * that is not memory of the node, the node is gone, or the memory has to be
 * read by tofu_fabric_read().
 */
static inline const void *tofu_fabric_peer_memory(struct tofu_fabric *fabric,
						  uint32_t node, uint64_t addr,
						  size_t *len)
{
	return fabric->ops->peer_memory(fabric, node, addr, len);
}

/**
 * tofu_fabric_read - copy from a node's memory, of a file or of the process
 *
 * Return: 0, -EHOSTDOWN where the node is gone, -EFAULT where that is not its
 * memory, -EPERM where the system forbids reading the process (Yama's
 * ptrace_scope of 2 or 3, or another user). After an error @buf may be written
 * in part.
 */
static inline int tofu_fabric_read(struct tofu_fabric *fabric, uint32_t node,
				   uint64_t addr, void *buf, size_t len)
{
	return fabric->ops->read(fabric, node, addr, buf, len);
}

/* ---- Packets ---- */

/*
 * Sending: struct icc_host_ops documents the functions of the same names. Here
 * tx_begin can also fail with an error that tofu_fabric_lack() explains: the
 * first packet between two nodes needs memory for their rings in the shared
 * file, and descriptors. In virtual time tx_room of TOFU_RESPONSE means room for
 * the signals of all gates of a TNI, too.
 */
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

/* tofu_fabric_tx_position - end of what was sent to a node so far, bytes */
static inline uint64_t tofu_fabric_tx_position(struct tofu_fabric *fabric,
					       uint32_t node,
					       enum tofu_class class_)
{
	return fabric->ops->tx_position(fabric, node, class_);
}

/**
 * tofu_fabric_tx_passed - whether a node has released what was sent to it
 * @position: of tofu_fabric_tx_position()
 *
 * Memory to which packets up to there refer is then no longer read. If it is
 * false, the node wakes this one when it releases something.
 *
 * Return: also true where the node is gone.
 */
static inline bool tofu_fabric_tx_passed(struct tofu_fabric *fabric,
					 uint32_t node, enum tofu_class class_,
					 uint64_t position)
{
	return fabric->ops->tx_passed(fabric, node, class_, position);
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
 * tofu_fabric_poll - take packets that have arrived
 *
 * Takes from each node first all responses, then the requests that had arrived
 * before the responses were looked at. So a program's answer to a put is never
 * seen before the response to that put. The work of a call is bounded.
 *
 * Return: true when a packet was taken: call again soon.
 */
static inline bool tofu_fabric_poll(struct tofu_fabric *fabric,
				    const struct tofu_fabric_handler *handler,
				    void *ctx)
{
	return fabric->ops->poll(fabric, handler, ctx);
}

/*
 * tofu_fabric_quiet - true when nobody has sent since the last tofu_fabric_poll() looked
 *
 * Any thread may call it at any time. What that poll has left, or that a peer is gone,
 * it does not tell.
 */
static inline bool tofu_fabric_quiet(const struct tofu_fabric *fabric)
{
	return fabric->ops->quiet(fabric);
}

/* ---- Sleeping ---- */

/**
 * tofu_fabric_want_wake - ask senders to make tofu_fabric_fd() readable
 *
 * Before sleeping, call it, then poll once more; it contains the full fence
 * that this needs. The sender that wakes clears the request.
 */
static inline void tofu_fabric_want_wake(struct tofu_fabric *fabric, bool want)
{
	fabric->ops->want_wake(fabric, want);
}

/**
 * tofu_fabric_want_wake_late - tofu_fabric_want_wake() while the program polls
 *
 * A sender makes the descriptor readable not when it sends, but later in
 * tofu_fabric_wake_unseen().
 */
static inline void tofu_fabric_want_wake_late(struct tofu_fabric *fabric)
{
	fabric->ops->want_wake_late(fabric);
}

/**
 * tofu_fabric_wake_unseen - wake nodes that have not looked at their packets
 *
 * Call it after waiting for a while. It wakes each node that wants to be woken
 * late and has not polled since this one sent to it.
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

/* tofu_fabric_fd - readable when woken, or when the process of a peer has ended
 * or executed another program
 */
static inline int tofu_fabric_fd(struct tofu_fabric *fabric)
{
	return fabric->ops->fd(fabric);
}

/* tofu_fabric_fd_ack - handle what made the descriptor readable */
static inline void tofu_fabric_fd_ack(struct tofu_fabric *fabric)
{
	fabric->ops->fd_ack(fabric);
}

#endif /* FABRIC_FABRIC_H */
