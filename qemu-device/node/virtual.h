/* SPDX-License-Identifier: MIT */
/*
 * Private declarations of a node in virtual time:
 *
 *   virtual.c        what is due when, and the horizon
 *   clock.c          the bound
 *   parcels.c        packets in the network
 *   links.c          counters and trace of this node's ports
 *   virtual-host.c   services for the controller
 *   wait.c           waiting for other nodes
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
 * @packet: header and payload behind it, if it is for this node; or NULL
 * @holders: count of references: by the network, by heaps
 * @departed, @arrived: reported by the network
 * @next:   in the list of unused ones
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

/*
 * Packets that another node may have in the network. A node's engines wait for
 * credits, and a log is read before it has room again; only answers without
 * data need no credit, and there are no more than requests. So this is far more
 * than any node has, and limits the memory that one can make others use.
 */
#define TOFU_FLYING_MAX 65536

struct tofu_crossing;

/**
 * struct tofu_links - the ports of this node
 * @from:    by port: the node at the other end, or -1
 * @crossings: struct tofu_crossing, by the time when it becomes visible
 * @unused:  list of unused crossings
 * @waited:  by port: the network's last wait_ns
 * @counter: by port, as passed to the controller
 */
struct tofu_links {
	int64_t from[TOFU_PORTS];
	struct tofu_heap crossings;
	struct tofu_crossing *unused;
	uint64_t waited[TOFU_PORTS];
	uint64_t counter[TOFU_PORTS][TOFU_PORT_COUNTERS];
};

/**
 * struct tofu_virtual - virtual time of a node
 * @epoch:  the home's time at common time 0
 * @busy:   common time at which the processor may act by itself
 * @advanced: the network has been computed up to that time
 * @settled: what this node's engines take before that is known: up to hop_ns
 *          later than @advanced
 * @horizon: all events before that time are known
 * @wanted: the bound that would let this node continue
 * @inside: the controller is running
 * @cpus:   processors that all nodes share
 * @net:    replica of the whole machine's network
 * @flying: by node, without this one: count of its packets in the network
 * @coming: packets to this node in the network, by a hop's time before the
 *          earliest time at which they can arrive
 * @due:    arrived packets, by the time when the controller gets them
 * @leaving: packets of this node that have not left their first link, by the
 *          time when they entered it
 * @credits: returning credits, by time
 * @answer: nothing follows sooner from a packet that is received
 * @promised: the last promise
 * @full:   by class, a bit for each node: its ring had no room for another
 *          packet of this node
 * @held_up: the controller waits for room
 * @handled: events so far
 * @known: of them, those that the last promise took account of
 * @record: where the packet to be sent goes when complete; others can write
 *          there
 * @dst, @class_, @bytes: receiver, class and payload of that packet
 * @packet, @payload: that packet while it is being made
 */
struct tofu_virtual {
	struct tofu_node *node;
	const struct tofu_preset *machine;
	struct tofu_clock clock;
	uint64_t epoch;
	uint64_t busy;
	uint64_t handled;
	uint64_t known;
	uint64_t advanced;
	uint64_t settled;
	uint64_t horizon;
	uint64_t wanted;
	uint64_t answer;
	uint64_t promised;
	bool inside;
	unsigned int cpus;
	struct tofu_net *net;
	uint32_t *flying;
	struct tofu_heap coming;
	struct tofu_heap due;
	struct tofu_heap leaving;
	struct tofu_heap credits;
	struct tofu_parcel *unused;
	struct tofu_links links;
	struct tofu_trace *trace;
	uint64_t full[TOFU_CLASSES][TOFU_FABRIC_NODES_MAX / 64];
	bool held_up;
	struct tofu_packet *record;
	uint32_t dst;
	enum tofu_class class_;
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

/* tofu_virtual_trace - add a record, if there is a trace */
void tofu_virtual_trace(struct tofu_virtual *v, const struct icc_trace *trace);

/* ---- wait.c ---- */

/* tofu_wait_cpus - count of processors that the nodes of this host share */
unsigned int tofu_wait_cpus(void);

/* ---- parcels.c ---- */

/* tofu_parcel_entry - add another node's packet; for struct tofu_clock_ops. A
 * node that has too many counts as gone.
 */
void tofu_parcel_entry(void *virtual, uint32_t src, uint64_t number,
		       const struct tofu_log_entry *entry);

/* tofu_parcel_own - add a packet of this node, after its entry and record */
void tofu_parcel_own(struct tofu_virtual *v, uint64_t number,
		     const struct tofu_log_entry *entry);

/* tofu_parcel_advance - advance the network to @until */
void tofu_parcel_advance(struct tofu_virtual *v, uint64_t until);

/* tofu_parcel_settle - let engines of this node take packets, as far as that is
 * known; this node sends nothing before @own
 */
void tofu_parcel_settle(struct tofu_virtual *v, uint64_t own);

/* tofu_parcel_coming - the earliest time at which a packet that is in the
 * network, and has not arrived, can arrive; UINT64_MAX: there is none
 */
uint64_t tofu_parcel_coming(struct tofu_virtual *v);

/* tofu_parcel_answers - when what packets to this node make it send enters the
 * network, at the earliest; the result is no later than @limit
 */
uint64_t tofu_parcel_answers(struct tofu_virtual *v, uint64_t limit);

/* tofu_parcel_leaving - the earliest time at which one of this node begins with
 * its first link; UINT64_MAX: there is none
 */
uint64_t tofu_parcel_leaving(struct tofu_virtual *v);

/* tofu_parcel_deliver - pass the first due packet to the controller */
void tofu_parcel_deliver(struct tofu_virtual *v);

/* tofu_parcel_credit - return the first credit to the controller */
void tofu_parcel_credit(struct tofu_virtual *v);

void tofu_parcel_destroy(struct tofu_virtual *v);

/* ---- links.c ---- */

void tofu_links_create(struct tofu_virtual *v);
void tofu_links_destroy(struct tofu_virtual *v);

/* tofu_links_cross - note a packet on a link; for struct tofu_net_ops */
void tofu_links_cross(void *virtual, const struct tofu_net_packet *packet,
		      uint32_t node, enum tofu_port port, uint64_t start,
		      uint64_t end);

/**
 * tofu_links_see - count and trace the crossings that are visible before @now
 * @now: common time
 *
 * A crossing becomes visible flight_ns after it began, since a node may learn
 * of it that late. So counters and the order of the trace depend on virtual
 * time alone.
 */
void tofu_links_see(struct tofu_virtual *v, uint64_t now);

#endif /* NODE_VIRTUAL_H */
