/* SPDX-License-Identifier: MIT */
/*
 * The links and routers of a whole machine in virtual time. Every link is a
 * server that sends one packet at a time. A packet's head moves on to the next
 * router as soon as its link is free and the next router has a buffer for it
 * (virtual cut-through).
 *
 * Each input of a router has a few buffers for each class of packets and each of
 * its channels (topology.h). At its destination a packet waits in one for its
 * engine, which takes one packet at a time. A buffer can be used again when the
 * packet's last byte has left the router and a credit has gone back to the
 * router before. Packets of one input and channel go on in their order, so that
 * one that waits holds up those behind it. Of the packets that want a link, the
 * one goes first that has waited for the longest time.
 *
 * The result depends only on the packets that were put in. So every node of a
 * machine can keep a replica and feed it with the packets of all nodes, and the
 * replicas agree. Memory grows with the packets under way.
 *
 * A machine consists of one block of nodes or of several, which can be in
 * different processes. A head takes hop_ns at least to the next node, and so
 * does a credit. So within a window of hop_ns the nodes can be advanced in any
 * order, each to the end of the window; all orders have the same results.
 *
 * Not thread-safe.
 */
#ifndef NET_NETWORK_H
#define NET_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "net/machine.h"
#include "net/packet.h"
#include "net/topology.h"

struct tofu_net;

/**
 * struct tofu_net_packet - a packet, as the caller puts it in
 * @time:    at which it enters the first link, ns
 * @src, @dst: nodes; a loopback packet takes a hop's time and no link
 * @seq:     a number that @src uses once. Packets of one time are ordered by
 *           @src, then by @seq.
 * @path:    TOFU_TOQ_PATH
 * @class_:  enum tofu_class
 * @engine:  the TNI of @src that sends it; TOFU_TNIS_MAX: its barrier unit.
 *           Packets of one engine and class go out in their order.
 * @taker:   the same of @dst. It takes one packet at a time, as fast as a link;
 *           loopback packets are beside that.
 * @payload: bytes
 * @cookie:  the caller's
 */
struct tofu_net_packet {
	uint64_t time;
	uint32_t src;
	uint32_t dst;
	uint64_t seq;
	uint8_t path;
	uint8_t class_;
	uint8_t engine;
	uint8_t taker;
	uint32_t payload;
	void *cookie;
};

/**
 * struct tofu_net_credit - the buffer behind a link is free again
 * @ps:      from when on, picoseconds
 * @node:    that the link leaves
 * @port:    by which it does
 * @channel: of the buffer, among all of the link
 */
struct tofu_net_credit {
	uint64_t ps;
	uint32_t node;
	uint8_t port;
	uint8_t channel;
};

/**
 * struct tofu_net_link - counters of a link, one way
 * @packets, @bytes: payload bytes
 * @wait_ns: sum over packets of the time that they waited for the link
 */
struct tofu_net_link {
	uint64_t packets;
	uint64_t bytes;
	uint64_t wait_ns;
};

/**
 * struct tofu_net_ops - callbacks of tofu_net_advance()
 * @departs: the last byte of a packet leaves its first link at @time (ns,
 *           rounded up; may be later than @until). May be NULL.
 * @arrives: @taker has its last byte at @time. Called as soon as that is
 *           certain, when the engine begins to take the packet: @time can be
 *           later than @until, and calls are not in the order of their times.
 *           The network then forgets the packet.
 * @crosses: the packet occupies a link from @start to @end (ns); for traces.
 *           May be NULL.
 * @touches: something happens at @node, of this block, at @time (ns, rounded
 *           down): tofu_net_next_at() of @node is not later now. May be NULL.
 * @leaves:  the head is going on to @node, which is not of this block, and will
 *           be there at @ps (picoseconds). The network then forgets the packet:
 *           hand it to tofu_net_enter() of the block that @node is in. @at is
 *           the count of links that the head has begun to cross. May be NULL
 *           where the block is all nodes.
 * @credits: a credit goes to another block: hand it to tofu_net_credit() there.
 *           May be NULL where the block is all nodes.
 *
 * They are called for the packets of all nodes, and must not put packets in.
 * With several blocks, @departs is called in the block that @src is in and
 * @arrives in the block that @dst is in.
 */
struct tofu_net_ops {
	void (*departs)(void *ctx, const struct tofu_net_packet *packet,
			uint64_t time);
	void (*arrives)(void *ctx, const struct tofu_net_packet *packet,
			uint64_t time);
	void (*crosses)(void *ctx, const struct tofu_net_packet *packet,
			uint32_t node, enum tofu_port port, uint64_t start,
			uint64_t end);
	void (*touches)(void *ctx, uint32_t node, uint64_t time);
	void (*leaves)(void *ctx, const struct tofu_net_packet *packet,
		       uint32_t node, uint64_t ps, unsigned int at);
	void (*credits)(void *ctx, const struct tofu_net_credit *credit);
};

/* tofu_net_create - an idle network; NULL with errno set */
struct tofu_net *tofu_net_create(const struct tofu_shape *shape,
				 const struct tofu_preset *machine);

/**
 * tofu_net_create_block - an idle network of a block of nodes
 * @shape:   of the whole machine
 * @machine: must outlive the network
 * @first:   first node of the block
 * @count:   nodes of the block; at least 1
 *
 * Memory does not depend on the nodes outside the block.
 *
 * Return: NULL with errno set to EINVAL (not a part of the shape) or ENOMEM.
 */
struct tofu_net *tofu_net_create_block(const struct tofu_shape *shape,
				       const struct tofu_preset *machine,
				       uint32_t first, uint32_t count);

/* tofu_net_destroy - drop packets under way; does not free their cookies */
void tofu_net_destroy(struct tofu_net *net);

/**
 * tofu_net_send - put a packet in
 *
 * @packet->time is not before @until of the last tofu_net_advance(), or of the
 * last tofu_net_advance_at() of @packet->src.
 *
 * Return: 0, -ENOMEM, or -EINVAL (@src not in the block, @dst not a node, no
 * such class or engine).
 */
int tofu_net_send(struct tofu_net *net, const struct tofu_net_packet *packet);

/**
 * tofu_net_enter - take in a packet from another block
 *
 * The arguments are those of the callback @leaves there; the cookie may be
 * another one. @ps is not before @until of the last tofu_net_advance_at() of
 * @node.
 *
 * Return: 0, -ENOMEM, or -EINVAL (@node not in the block, @src or @dst not a
 * node, @node not where the route is after @at links).
 */
int tofu_net_enter(struct tofu_net *net, const struct tofu_net_packet *packet,
		   uint32_t node, uint64_t ps, unsigned int at);

/**
 * tofu_net_credit - take in a credit from another block
 *
 * @credit->ps is not before @until of the last tofu_net_advance_at() of its
 * node. Credits of a link and channel come in the order in which they were given.
 *
 * Return: 0, or -EINVAL (its node not in the block, no such link and channel, or
 * none of its buffers in use).
 */
int tofu_net_credit(struct tofu_net *net, const struct tofu_net_credit *credit);

/**
 * tofu_net_advance - compute all events before @until
 *
 * For a block that is all nodes. All packets with times before @until have been
 * put in.
 */
void tofu_net_advance(struct tofu_net *net, uint64_t until,
		      const struct tofu_net_ops *ops, void *ctx);

/**
 * tofu_net_next_at - time of the first event at @node of a block
 *
 * Events happen where a link begins that a packet crosses, and where an engine
 * takes one. A loopback packet is an event at its node.
 *
 * Return: ns, rounded down; UINT64_MAX where there is none.
 */
uint64_t tofu_net_next_at(const struct tofu_net *net, uint32_t node);

/**
 * tofu_net_advance_at - compute the events at @node of a block before @until
 *
 * All packets of @node with times before @until have been put in, and all other
 * nodes have been advanced to @until - hop_ns at least and what left their
 * blocks has entered this one.
 */
void tofu_net_advance_at(struct tofu_net *net, uint32_t node, uint64_t until,
			 const struct tofu_net_ops *ops, void *ctx);

/**
 * tofu_net_take_at - let the engines of @node take packets before @until, as far
 * as nothing can change that
 *
 * As tofu_net_advance_at(), but packets of @node itself may still be missing: it
 * ends at the first event that these could have to do with. They cannot delay a
 * packet at its end, except by packets on their way before it.
 *
 * Return: what engines take before that is known; @until at most.
 */
uint64_t tofu_net_take_at(struct tofu_net *net, uint32_t node, uint64_t until,
			  const struct tofu_net_ops *ops, void *ctx);

/**
 * tofu_net_prefetch - what the links of a node need next is to be in the caches
 * @step: 0 to TOFU_NET_PREFETCHES - 1, as of icc_prefetch()
 */
void tofu_net_prefetch(const struct tofu_net *net, uint32_t node,
		       unsigned int step);
#define TOFU_NET_PREFETCHES 3

/* tofu_net_idle - true when no packet is under way, in the block */
bool tofu_net_idle(const struct tofu_net *net);

/* tofu_net_forget - drop packets to and from @node, calling @drop for each; of
 * a block, packets that are in it
 */
void tofu_net_forget(struct tofu_net *net, uint32_t node,
		     void (*drop)(void *ctx, const struct tofu_net_packet *p),
		     void *ctx);

/* tofu_net_link - counters of the link that leaves @node by @port */
const struct tofu_net_link *tofu_net_link(const struct tofu_net *net,
					  uint32_t node, enum tofu_port port);

/* tofu_net_link_in - counters of the link that enters @node by @port; NULL
 * where it begins in another block
 */
const struct tofu_net_link *tofu_net_link_in(const struct tofu_net *net,
					     uint32_t node, enum tofu_port port);

#endif /* NET_NETWORK_H */
