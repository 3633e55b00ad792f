/* SPDX-License-Identifier: MIT */
/*
 * The links and routers of a whole machine in virtual time: every link is a
 * server that sends a packet at a time, and a packet's head moves on to the
 * next router as soon as its link is free (virtual cut-through).
 *
 * What it computes depends on nothing but the packets that were put in: so
 * every node of a machine can keep a network of its own, put in the packets of
 * all nodes, and all of them agree. Memory grows with the packets under way.
 *
 * Not thread-safe.
 */
#ifndef NET_NETWORK_H
#define NET_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "net/machine.h"
#include "net/topology.h"

struct tofu_net;

/**
 * struct tofu_net_packet - what is put in
 * @time:    at which it enters the first link, ns
 * @src, @dst: nodes; a packet to oneself takes a hop's time and no link
 * @seq:     a number that @src uses once: among packets of the same time the
 *           one of the lower @src goes first, then that of the lower @seq
 * @path:    TOFU_TOQ_PATH
 * @payload: bytes
 * @cookie:  given back
 */
struct tofu_net_packet {
	uint64_t time;
	uint32_t src;
	uint32_t dst;
	uint64_t seq;
	uint32_t path;
	uint32_t payload;
	void *cookie;
};

/**
 * struct tofu_net_link - counters of a link, leaving a node by a port
 * @packets, @bytes: payload bytes
 * @wait_ns: sum over packets of the time that they waited for the link
 */
struct tofu_net_link {
	uint64_t packets;
	uint64_t bytes;
	uint64_t wait_ns;
};

/**
 * struct tofu_net_ops - what tofu_net_advance() tells
 * @departs: the last byte of a packet leaves its first link at @time (ns,
 *           rounded up; may be later than what was advanced to). May be NULL.
 * @arrives: the last byte comes through the last link at @time. Told as soon as
 *           that is certain, when the link begins with the packet: @time can
 *           be later than what was advanced to, by hop_ns at least, and these
 *           calls are not in the order of their times. The packet is
 *           forgotten after that.
 * @crosses: it occupies a link from @start to @end (ns); for traces. May be
 *           NULL.
 *
 * For the packets of all nodes. Nothing may be put in from within.
 */
struct tofu_net_ops {
	void (*departs)(void *ctx, const struct tofu_net_packet *packet,
			uint64_t time);
	void (*arrives)(void *ctx, const struct tofu_net_packet *packet,
			uint64_t time);
	void (*crosses)(void *ctx, const struct tofu_net_packet *packet,
			uint32_t node, enum tofu_port port, uint64_t start,
			uint64_t end);
};

/* tofu_net_create - an idle network; NULL with errno set */
struct tofu_net *tofu_net_create(const struct tofu_shape *shape,
				 const struct tofu_preset *machine);

/* tofu_net_destroy - packets under way are forgotten, cookies are not freed */
void tofu_net_destroy(struct tofu_net *net);

/**
 * tofu_net_send - put a packet in
 *
 * @packet->time is not before what was advanced to.
 *
 * Return: 0 or -ENOMEM.
 */
int tofu_net_send(struct tofu_net *net, const struct tofu_net_packet *packet);

/**
 * tofu_net_advance - everything that happens before @until
 *
 * All packets of times before @until have been put in.
 */
void tofu_net_advance(struct tofu_net *net, uint64_t until,
		      const struct tofu_net_ops *ops, void *ctx);

/* tofu_net_idle - true when no packet is under way */
bool tofu_net_idle(const struct tofu_net *net);

/* tofu_net_forget - packets to and from @node vanish; cookies by @drop */
void tofu_net_forget(struct tofu_net *net, uint32_t node,
		     void (*drop)(void *ctx, const struct tofu_net_packet *p),
		     void *ctx);

/* tofu_net_link - counters of the link that leaves @node by @port */
const struct tofu_net_link *tofu_net_link(const struct tofu_net *net,
					  uint32_t node, enum tofu_port port);

/* tofu_net_link_in - the same for the link that enters @node by @port */
const struct tofu_net_link *tofu_net_link_in(const struct tofu_net *net,
					     uint32_t node, enum tofu_port port);

#endif /* NET_NETWORK_H */
