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

struct icc_net;

/**
 * struct icc_net_packet - what is put in
 * @time:    at which it enters the first link, ns
 * @src, @dst: nodes; a packet to oneself takes a hop's time and no link
 * @seq:     a number that @src uses once: among packets of the same time the
 *           one of the lower @src goes first, then that of the lower @seq
 * @path:    TOFU_TOQ_PATH
 * @payload: bytes
 * @cookie:  given back
 */
struct icc_net_packet {
	uint64_t time;
	uint32_t src;
	uint32_t dst;
	uint64_t seq;
	uint32_t path;
	uint32_t payload;
	void *cookie;
};

/**
 * struct icc_net_link - counters of a link, leaving a node by a port
 * @packets, @bytes: payload bytes
 * @wait_ns: sum over packets of the time that they waited for the link
 */
struct icc_net_link {
	uint64_t packets;
	uint64_t bytes;
	uint64_t wait_ns;
};

/**
 * struct icc_net_ops - what icc_net_advance() tells
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
struct icc_net_ops {
	void (*departs)(void *ctx, const struct icc_net_packet *packet,
			uint64_t time);
	void (*arrives)(void *ctx, const struct icc_net_packet *packet,
			uint64_t time);
	void (*crosses)(void *ctx, const struct icc_net_packet *packet,
			uint32_t node, enum tofu_port port, uint64_t start,
			uint64_t end);
};

/* icc_net_create - an idle network; NULL with errno set */
struct icc_net *icc_net_create(const struct tofu_shape *shape,
			       const struct icc_machine *machine);

/* icc_net_destroy - packets under way are forgotten, cookies are not freed */
void icc_net_destroy(struct icc_net *net);

/**
 * icc_net_send - put a packet in
 *
 * @packet->time is not before what was advanced to.
 *
 * Return: 0 or -ENOMEM.
 */
int icc_net_send(struct icc_net *net, const struct icc_net_packet *packet);

/**
 * icc_net_advance - everything that happens before @until
 *
 * All packets of times before @until have been put in.
 */
void icc_net_advance(struct icc_net *net, uint64_t until,
		     const struct icc_net_ops *ops, void *ctx);

/* icc_net_idle - true when no packet is under way */
bool icc_net_idle(const struct icc_net *net);

/* icc_net_forget - packets to and from @node vanish; cookies by @drop */
void icc_net_forget(struct icc_net *net, uint32_t node,
		    void (*drop)(void *ctx, const struct icc_net_packet *packet),
		    void *ctx);

/* icc_net_link - counters of the link that leaves @node by @port */
const struct icc_net_link *icc_net_link(const struct icc_net *net,
					uint32_t node, enum tofu_port port);

/* icc_net_link_in - the same for the link that enters @node by @port */
const struct icc_net_link *icc_net_link_in(const struct icc_net *net,
					   uint32_t node, enum tofu_port port);

#endif /* NET_NETWORK_H */
