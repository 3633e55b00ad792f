/* SPDX-License-Identifier: MIT */
/*
 * The shm transport: nodes that are processes of one host exchange packets
 * through rings in one shared file, and read each other's memory where a
 * packet refers to it. Nothing of another node is ever written but the rings
 * to it: owner executes.
 *
 * The shared file (fabric/shm/layout.h) holds a table of nodes and, for every
 * ordered pair and class, a single-producer single-consumer ring. A process
 * that dies leaves complete records only; another that takes the same node
 * number gets a new generation, and records of old generations are dropped.
 *
 * A node of the machine can have several processes, which share its queues and
 * gates. Each of them is an endpoint, which here is called a node, too: to the
 * fabric all are alike. Node n of the machine has the endpoints n * ppn and on;
 * with one process a node the two numbers are the same. Who has which queue and
 * gate stands in the shared file.
 *
 * The nodes' processes trust each other with the shared file no further than
 * this: whatever one writes into it, the others answer with a dead peer, not
 * with a fault. They share a pid namespace and a user (or are root), since
 * they open each other's files through /proc.
 *
 * Not thread-safe: the owner serialises all calls but tofu_fabric_fd() and
 * tofu_fabric_wake().
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

#define TOFU_FABRIC_NODES_MAX 1024 /* endpoints */
#define TOFU_FABRIC_PPN_MAX 48

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
 * Return: 0 or a negative errno: -EBUSY where the node has all processes that it
 * can have, -EINVAL where the file is no fabric or has no such node.
 */
int tofu_fabric_attach(const char *path, int node, char **why,
		       struct tofu_fabric **fabric);

/* tofu_fabric_detach - leave; others see the node go at once */
void tofu_fabric_detach(struct tofu_fabric *fabric);

/* tofu_fabric_endpoint - the number of this endpoint */
uint32_t tofu_fabric_endpoint(const struct tofu_fabric *fabric);
/* tofu_fabric_ppn - processes that a node of the machine can have */
uint32_t tofu_fabric_ppn(const struct tofu_fabric *fabric);
const struct tofu_shape *tofu_fabric_shape(const struct tofu_fabric *fabric);

/* tofu_fabric_up - whether a node is there now; reads the shared table */
bool tofu_fabric_up(struct tofu_fabric *fabric, uint32_t node);

/* ---- What the processes of a node share ---- */

/**
 * tofu_fabric_owner - the endpoint that has a queue or gate
 * @node: of the machine; it, @tni and @number may be any
 *
 * Of a process that has died, too, until another of its node takes it.
 *
 * Return: its number, or -1 where nobody has it.
 */
int64_t tofu_fabric_owner(const struct tofu_fabric *fabric, uint32_t node,
			  enum tofu_share share, unsigned int tni,
			  unsigned int number);

/* tofu_fabric_shares_lock - among the processes of the own node */
int tofu_fabric_shares_lock(struct tofu_fabric *fabric);
void tofu_fabric_shares_unlock(struct tofu_fabric *fabric);

/* tofu_fabric_taken_locked - what living processes of the own node have, a bit
 * for each number
 */
uint64_t tofu_fabric_taken_locked(struct tofu_fabric *fabric,
				  enum tofu_share share, unsigned int tni);

/* tofu_fabric_take_locked - numbers, a bit each, that nobody has */
void tofu_fabric_take_locked(struct tofu_fabric *fabric, enum tofu_share share,
			     unsigned int tni, uint64_t numbers);

/* tofu_fabric_give - own ones; nothing of them may be in use any more */
void tofu_fabric_give(struct tofu_fabric *fabric, enum tofu_share share,
		      unsigned int tni, uint64_t numbers);

/**
 * tofu_fabric_publish - say what memory this node has
 * @ram:   at most TOFU_FABRIC_RAM_MAX pieces (fabric/shm/layout.h)
 *
 * Replaces what was said before. Return: 0 or a negative errno.
 */
int tofu_fabric_publish(struct tofu_fabric *fabric, const struct tofu_ram *ram,
			size_t count);

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
const void *tofu_fabric_peer_memory(struct tofu_fabric *fabric, uint32_t node,
				    uint64_t addr, size_t *len);

/**
 * tofu_fabric_read - copy out of a node's memory, of either kind
 *
 * Return: 0, -EHOSTDOWN where the node is gone, -EFAULT where that is not its
 * memory, -EPERM where the system forbids to read the process (Yama's
 * ptrace_scope of 2 or 3, or another user). After an error @buf may be written
 * in part.
 */
int tofu_fabric_read(struct tofu_fabric *fabric, uint32_t node, uint64_t addr,
		     void *buf, size_t len);

/* Sending: the contracts of the same names in struct icc_host_ops. */
struct tofu_packet *tofu_fabric_tx_begin(struct tofu_fabric *fabric,
					 uint32_t node, enum tofu_class class_,
					 size_t payload, int *err);
void tofu_fabric_tx_commit(struct tofu_fabric *fabric);
bool tofu_fabric_tx_room(struct tofu_fabric *fabric, uint32_t node,
			 enum tofu_class class_);
void tofu_fabric_fence_begin(struct tofu_fabric *fabric);
bool tofu_fabric_fence_done(struct tofu_fabric *fabric);

/**
 * struct tofu_fabric_handler - who takes what arrives
 * @packet:    as icc_receive(): 0 or, for a request, -EAGAIN. @pkt->src is
 *             true, @pkt->type of the ring's class, @pkt->payload within
 *             TOFU_PKT_INLINE_MAX; the rest is as the sender wrote it
 * @peer_down: a node that this one had exchanged packets with, or sent to, is
 *             gone; called from tofu_fabric_poll(), after the responses that
 *             it had sent have been given to @packet
 */
struct tofu_fabric_handler {
	int (*packet)(void *ctx, const struct tofu_packet *pkt,
		      const void *payload);
	void (*peer_down)(void *ctx, uint32_t node);
};

/**
 * tofu_fabric_poll - take what has arrived
 *
 * From each node: first every response, then the requests that had been there
 * before the responses were looked at: so an answer is never seen before the
 * response to what it answers. Bounded work a call.
 *
 * Return: true when anything was taken: call again soon.
 */
bool tofu_fabric_poll(struct tofu_fabric *fabric,
		      const struct tofu_fabric_handler *handler, void *ctx);

/**
 * tofu_fabric_want_wake - whether senders make tofu_fabric_fd() readable
 *
 * Before sleeping: want, then a full fence (inside), then poll once more.
 * Wanting is cleared by the sender that wakes.
 */
void tofu_fabric_want_wake(struct tofu_fabric *fabric, bool want);

/**
 * tofu_fabric_want_wake_late - the same for a node whose program polls
 *
 * A sender does not make the descriptor readable when it sends, but by
 * tofu_fabric_wake_unseen().
 */
void tofu_fabric_want_wake_late(struct tofu_fabric *fabric);

/**
 * tofu_fabric_wake_unseen - wake who has not looked at what it was sent
 *
 * To be called when this node has waited for a while: each node that wants to
 * be woken late, and has not polled since this one sent to it, is woken.
 */
void tofu_fabric_wake_unseen(struct tofu_fabric *fabric);

/* tofu_fabric_wake - make tofu_fabric_fd() of this node readable; any thread */
void tofu_fabric_wake(struct tofu_fabric *fabric);

/* tofu_fabric_fd - readable when woken, or when the process of a peer ended */
int tofu_fabric_fd(const struct tofu_fabric *fabric);

/* tofu_fabric_fd_ack - take note of why the descriptor was readable */
void tofu_fabric_fd_ack(struct tofu_fabric *fabric);

#endif /* FABRIC_FABRIC_H */
