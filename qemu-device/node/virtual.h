/* SPDX-License-Identifier: MIT */
/*
 * What the sources of a node in virtual time share: virtual.c what is done
 * when, clock.c how far the others let it go, parcels.c the packets in the
 * network, links.c what is seen of it at this node's ports, virtual-host.c what
 * the controller asks for, wait.c how the host's time passes.
 */
#ifndef NODE_VIRTUAL_H
#define NODE_VIRTUAL_H

#include "node/clock.h"
#include "node/internal.h"

#include "net/network.h"

/**
 * struct tofu_parcel - a packet in the network
 * @entry:  of the sender's log
 * @number: of that entry
 * @packet: header and payload behind it, where it is for this node; or NULL
 * @holders: who knows of it: network, heaps
 * @departed, @arrived: the network has said so
 * @next:   unused ones
 */
struct tofu_parcel {
	struct tofu_log_entry entry;
	uint64_t number;
	uint32_t src;
	uint8_t holders;
	bool departed;
	bool arrived;
	struct tofu_packet *packet;
	struct tofu_parcel *next;
};

struct tofu_crossing;

/**
 * struct tofu_links - the ports of this node
 * @from:    by port: the node at the other end, or -1
 * @crossings: what will be seen, when it is: struct tofu_crossing
 * @order:   count of them
 * @unused:  crossings
 * @waited:  by port: wait_ns as the network had it last
 * @counter: as the controller has them
 */
struct tofu_links {
	int64_t from[TOFU_PORTS];
	struct tofu_heap crossings;
	uint64_t order;
	struct tofu_crossing *unused;
	uint64_t waited[TOFU_PORTS];
	uint64_t counter[TOFU_PORTS][TOFU_PORT_COUNTERS];
};

/**
 * struct tofu_virtual - virtual time of a node
 * @epoch:  the home's time at common time 0
 * @busy:   common time at which the processor may do something by itself
 * @advanced: all is known that the network does before that
 * @horizon: nothing that is not known is due before that
 * @wanted: the bound that would be of use
 * @inside: the controller is at work
 * @cpus:   that there are for all
 * @net:    the whole machine's
 * @coming: packets to this node that are in the network, by the time before
 *          which they do not come to their last link
 * @due:    packets that the controller gets, when it does
 * @leaving: own packets that have not left their first link, by the time when
 *          they came to it
 * @credits: credits that come back, when they do
 * @owed:   by engine: packets without a credit back
 * @starved: count of engines that may wait for a credit
 * @record: what is to be sent goes there when it is complete: others can write
 *          to where it goes
 * @dst, @bytes: receiver and payload of that
 * @packet, @payload: until then it is here
 */
struct tofu_virtual {
	struct tofu_node *node;
	const struct tofu_preset *machine;
	struct tofu_clock clock;
	uint64_t epoch;
	uint64_t busy;
	uint64_t advanced;
	uint64_t horizon;
	uint64_t wanted;
	bool inside;
	unsigned int cpus;
	struct tofu_net *net;
	struct tofu_heap coming;
	struct tofu_heap due;
	struct tofu_heap leaving;
	struct tofu_heap credits;
	uint32_t owed[TOFU_TNIS_MAX];
	unsigned int starved;
	struct tofu_parcel *unused;
	struct tofu_links links;
	struct tofu_trace *trace;
	struct tofu_packet *record;
	uint32_t dst;
	uint32_t bytes;
	struct tofu_packet packet;
	uint8_t payload[TOFU_PKT_MTU_MAX];
};
TOFU_ASSERT(offsetof(struct tofu_virtual, payload) ==
		    offsetof(struct tofu_virtual, packet) +
			    sizeof(struct tofu_packet),
	    "a payload follows its packet");

static inline uint64_t tofu_min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t tofu_max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* tofu_virtual_now - common time; 0 before the node has joined */
static inline uint64_t tofu_virtual_now(const struct tofu_virtual *v)
{
	return v->clock.joined ? v->node->ops->now(v->node->home) - v->epoch :
				 0;
}

/* ---- virtual.c ---- */

/* tofu_virtual_trace - a record, if there is a trace */
void tofu_virtual_trace(struct tofu_virtual *v, const struct icc_trace *trace);

/* ---- wait.c ---- */

/* tofu_wait_cpus - processors that this process can have, and the others, too
 */
unsigned int tofu_wait_cpus(void);

/* ---- parcels.c ---- */

/* tofu_parcel_entry - a packet of another node; of struct tofu_clock_ops */
void tofu_parcel_entry(void *virtual, uint32_t src, uint64_t number,
		       const struct tofu_log_entry *entry);

/* tofu_parcel_own - a packet of this node; entry and record are written */
void tofu_parcel_own(struct tofu_virtual *v, uint64_t number,
		     const struct tofu_log_entry *entry);

/* tofu_parcel_advance - the network, to @until */
void tofu_parcel_advance(struct tofu_virtual *v, uint64_t until);

/* tofu_parcel_first - of @coming or @leaving: when the first one comes to the
 * link at the earliest; UINT64_MAX: there is none
 */
uint64_t tofu_parcel_first(struct tofu_virtual *v, struct tofu_heap *heap);

/* tofu_parcel_deliver - the first one that is due, to the controller */
void tofu_parcel_deliver(struct tofu_virtual *v);

/* tofu_parcel_credit - the first credit */
void tofu_parcel_credit(struct tofu_virtual *v);

void tofu_parcel_destroy(struct tofu_virtual *v);

/* ---- links.c ---- */

void tofu_links_create(struct tofu_virtual *v);
void tofu_links_destroy(struct tofu_virtual *v);

/* tofu_links_cross - a packet crosses a link; of struct tofu_net_ops */
void tofu_links_cross(void *virtual, const struct tofu_net_packet *packet,
		      uint32_t node, enum tofu_port port, uint64_t start,
		      uint64_t end);

/**
 * tofu_links_see - what has crossed this node's links can be seen
 * @now: common time
 *
 * That is flight_ns after it began to, since before nobody can be sure to have
 * heard of it: so counters and the order of the trace depend on virtual time
 * alone.
 */
void tofu_links_see(struct tofu_virtual *v, uint64_t now);

#endif /* NODE_VIRTUAL_H */
