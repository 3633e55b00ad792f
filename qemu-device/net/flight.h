/* SPDX-License-Identifier: MIT */
/*
 * Inside a network: packets under way, and where they are. Times are in
 * picoseconds, since packets do not occupy links for whole nanoseconds.
 */
#ifndef NET_FLIGHT_H
#define NET_FLIGHT_H

#include <stdalign.h>

#include "net/heap.h"
#include "net/network.h"
#include "net/pairing.h"

#define PS 1000ULL
#define CACHE_LINE 64
#define SLAB 62 /* packets; with the list of slabs a little less than 8 KiB */

/* Channels of all classes of packets, and the lanes of a router's inputs */
#define CHANNELS (TOFU_CLASSES * TOFU_VCS)
#define ENGINES (TOFU_TNIS_MAX + 1) /* with the barrier unit */
#define LINK_LANES (TOFU_PORTS * CHANNELS)
#define LANES (LINK_LANES + ENGINES * TOFU_CLASSES)
/* Where packets leave a router: by its links, and to the engines of its node */
#define OUTPUTS (TOFU_PORTS + ENGINES)
/* From here on, orders of what is no packet: first of an output, then of its
 * rooms. Senders' numbers are less than 2^23.
 */
#define RETRIES (1ULL << 63)
#define RETRIES_OF_OUTPUT (1 + CHANNELS)
#define RETRIES_OF_NODE (OUTPUTS * RETRIES_OF_OUTPUT)

_Static_assert(LANES <= 64, "struct output.wanted has a bit for each");

/**
 * struct output - a way out of a router
 * @free:    when it can take the next packet, ps
 * @wanted:  lanes whose first packets wait for it
 * @retry:   when it is free again, while packets want it
 * @watched: @retry is queued
 */
struct output {
	uint64_t free;
	uint64_t wanted;
	struct tofu_queued retry;
	bool watched;
};

/**
 * struct link - the link out of a node by a port
 * @count:   its counters
 * @wait_ps: what @count.wait_ns lacks, less than a ns
 * @to:      the node at its other end; without a link, the node itself
 * @port:    by which it leaves
 * @closes:  tofu_link_closes()
 */
struct link {
	struct output out;
	struct tofu_net_link count;
	uint32_t wait_ps;
	uint32_t to;
	uint8_t port;
	bool closes;
};

/**
 * struct room - the buffers of a channel behind a link
 * @used:    buffers whose credits have not been taken back
 * @coming:  credits on their way
 * @first:   of them, in @back
 * @watched: @retry is queued
 * @back:    when credits come back, ps; a ring in the order of their times
 * @retry:   when the next comes, while packets want it
 */
struct room {
	uint8_t used;
	uint8_t coming;
	uint8_t first;
	bool watched;
	uint64_t back[TOFU_BUFFERS_MAX];
	struct tofu_queued retry;
};

enum state {
	UNUSED,
	UNDER_WAY,
	GONE, /* forgotten while it was under way, and still queued or in a lane */
};

/**
 * struct flying - a packet under way
 * @queued: the first member. In the queue of @node: its head comes there, or it
 *          becomes the first of its lane; @time stays when that was. @next alone
 *          is in use of one in a lane that is not its first, and of an unused one.
 * @ps:     time for which it occupies a link
 * @came:   when its head came to @node, ps
 * @node:   where its head is, or will be at the time of @queued
 * @at:     links that its head has passed
 * @lane:   in which it waits at @node, or will
 * @first:  it is the first one there
 * @closed: it has passed the link that closes the ring of its leg
 * @legs:   of the route; 0: loopback
 * @passed: legs that its head has passed; all of them: it waits for its engine
 * @leg:    the route; of the leg that the head is in, what is left
 */
struct flying {
	alignas(CACHE_LINE) struct tofu_queued queued;
	uint64_t ps;
	uint64_t came;
	uint32_t node;
	uint16_t at;
	uint8_t state;
	uint8_t lane;
	bool first;
	bool closed;
	uint8_t legs;
	uint8_t passed;
	struct tofu_leg leg[TOFU_LEGS_MAX];
	struct tofu_net_packet packet;
};

_Static_assert(sizeof(struct flying) <= 2 * CACHE_LINE, "two cache lines");

/**
 * struct lane - the packets of an input and channel that wait in a router
 * @first, @second, @last: in the order in which they came, NULL where there is
 *         none; the others are linked by their @queued.next
 * @free:  when the last one that left has done so with its last byte, ps
 */
struct lane {
	struct flying *first;
	struct flying *second;
	struct flying *last;
	uint64_t free;
};

struct slab {
	struct slab *next;
	struct flying flying[SLAB];
};

/**
 * struct tofu_net - the links of a block of nodes, and the packets there
 * @first, @count: nodes of the block
 * @coords:  of each node
 * @link:    TOFU_PORTS of each node
 * @engine:  ENGINES of each node
 * @room:    CHANNELS of each link
 * @lane:    LANES of each node
 * @queue:   of each node: what happens there, by time in ps
 * @flying:  packets under way that have not been forgotten
 */
struct tofu_net {
	const struct tofu_preset *machine;
	struct tofu_shape shape;
	uint32_t nodes;
	uint32_t first;
	uint32_t count;
	struct tofu_coords *coords;
	struct link *link;
	struct output *engine;
	struct room *room;
	struct lane *lane;
	struct tofu_queue *queue;
	size_t flying;
	struct slab *slabs;
	struct tofu_queued *unused;
};

static inline bool in_block(const struct tofu_net *net, uint32_t node)
{
	return node >= net->first && node - net->first < net->count;
}

static inline struct link *link_at(const struct tofu_net *net, uint32_t node,
			    unsigned int port)
{
	return &net->link[(size_t)(node - net->first) * TOFU_PORTS + port];
}

static inline struct output *engine_at(const struct tofu_net *net,
				       uint32_t node, unsigned int engine)
{
	return &net->engine[(size_t)(node - net->first) * ENGINES + engine];
}

static inline struct room *room_at(const struct tofu_net *net, const struct link *link,
			    unsigned int channel)
{
	return &net->room[(size_t)(link - net->link) * CHANNELS + channel];
}

static inline struct lane *lane_at(const struct tofu_net *net, uint32_t node,
			    unsigned int lane)
{
	return &net->lane[(size_t)(node - net->first) * LANES + lane];
}

static inline struct tofu_queue *queue_of(const struct tofu_net *net, uint32_t node)
{
	return &net->queue[node - net->first];
}

static inline void push(struct tofu_net *net, struct flying *f, uint64_t ps)
{
	f->queued.time = ps;
	tofu_queue_push(queue_of(net, f->node), &f->queued);
}

/* The head is at its destination, by a link. */
static inline bool at_end(const struct flying *f)
{
	return f->passed == f->legs;
}

/* The head has passed @hops more links; false: the route has fewer. */
static inline bool pass(struct flying *f, unsigned int hops)
{
	f->at += hops;
	for (; hops && !at_end(f); f->passed++) {
		struct tofu_leg *leg = &f->leg[f->passed];

		if (hops < leg->hops) {
			leg->hops -= hops;
			return true;
		}
		hops -= leg->hops;
		f->closed = false;
	}
	return !hops;
}

/* Its channel among all of the next link, which closes a ring or not. */
static inline unsigned int channel_of(const struct flying *f, bool closes)
{
	const unsigned int channel =
		f->closed || closes ? 1 : f->leg[f->passed].channel;

	return f->packet.class_ * TOFU_VCS + channel;
}

/* The head is to come by the next link of its leg. */
static inline void set_lane(struct flying *f, bool closes)
{
	const enum tofu_port port = (enum tofu_port)f->leg[f->passed].port;

	f->lane = (uint8_t)(tofu_port_reverse(port) * CHANNELS +
			    channel_of(f, closes));
	f->closed |= closes;
}

/* ---- network.c ---- */

void tofu_flying_free(struct tofu_net *net, struct flying *f);

/* ---- router.c ---- */

/* tofu_router_run - all that happens at @node before @until, ns */
void tofu_router_run(struct tofu_net *net, uint32_t node, uint64_t until,
		     const struct tofu_net_ops *ops, void *ctx);

#endif /* NET_FLIGHT_H */
