// SPDX-License-Identifier: MIT
/*
 * The links and routers of a machine. Times inside are in picoseconds, since
 * packets do not occupy links for whole nanoseconds.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>

#include "net/heap.h"
#include "net/network.h"
#include "net/pairing.h"

#define PS 1000ULL
#define CACHE_LINE 64
#define SLAB 62 /* packets; with the list of slabs a little less than 8 KiB */

/**
 * struct link - the link out of a node by a port
 * @free:    when it can take the next packet, ps
 * @wait_ps: what @count.wait_ns lacks, less than a ns
 * @to:      the node at its other end; without a link, the node itself
 */
struct link {
	uint64_t free;
	struct tofu_net_link count;
	uint32_t wait_ps;
	uint32_t to;
};

enum state {
	UNUSED,
	UNDER_WAY,
	GONE, /* forgotten while it was under way, and still queued */
};

/**
 * struct flying - a packet under way
 * @queued: in the queue of @node; while it is unused, only its link is in use,
 *          in the list of unused ones. The first member.
 * @ps:     time for which it occupies a link
 * @node:   where its head is, or will be at the time of @queued
 * @at:     links that its head has passed
 * @legs:   of the route; 0: loopback
 * @passed: legs that its head has passed
 * @leg:    the route; of the leg that the head is in, what is left
 */
struct flying {
	alignas(CACHE_LINE) struct tofu_queued queued;
	uint64_t ps;
	uint32_t node;
	uint16_t at;
	uint8_t state;
	uint8_t legs;
	uint8_t passed;
	struct tofu_leg leg[TOFU_LEGS_MAX];
	struct tofu_net_packet packet;
};

_Static_assert(sizeof(struct flying) <= 2 * CACHE_LINE, "two cache lines");

struct slab {
	struct slab *next;
	struct flying flying[SLAB];
};

/**
 * struct tofu_net - the links of a block of nodes, and the packets there
 * @first, @count: nodes of the block
 * @by_node: every node has a queue; else there is one
 * @coords:  of each node
 * @link:    TOFU_PORTS of each node
 * @queue:   packets by the time when their heads reach the next hop, ps
 * @flying:  packets under way that have not been forgotten
 */
struct tofu_net {
	const struct tofu_preset *machine;
	struct tofu_shape shape;
	uint32_t nodes;
	uint32_t first;
	uint32_t count;
	bool by_node;
	struct tofu_coords *coords;
	struct link *link;
	struct tofu_queue *queue;
	size_t flying;
	struct slab *slabs;
	struct tofu_queued *unused;
};

static bool in_block(const struct tofu_net *net, uint32_t node)
{
	return node >= net->first && node - net->first < net->count;
}

static struct link *link_at(const struct tofu_net *net, uint32_t node,
			    unsigned int port)
{
	return &net->link[(size_t)(node - net->first) * TOFU_PORTS + port];
}

static struct tofu_queue *queue_of(const struct tofu_net *net, uint32_t node)
{
	return &net->queue[net->by_node ? node - net->first : 0];
}

/* ---- Packets ---- */

static void flying_free(struct tofu_net *net, struct flying *f)
{
	f->state = UNUSED;
	f->queued.next = net->unused;
	net->unused = &f->queued;
}

static bool add_slab(struct tofu_net *net)
{
	struct slab *slab = aligned_alloc(alignof(struct slab), sizeof(*slab));

	if (!slab)
		return false;
	slab->next = net->slabs;
	net->slabs = slab;
	for (size_t i = SLAB; i--;)
		flying_free(net, &slab->flying[i]);
	return true;
}

static struct flying *flying_new(struct tofu_net *net)
{
	struct tofu_queued *first;

	if (!net->unused && !add_slab(net))
		return NULL;
	first = net->unused;
	net->unused = first->next;
	return (struct flying *)first;
}

static void push(struct tofu_net *net, struct flying *f, uint64_t ps)
{
	f->queued.time = ps;
	tofu_queue_push(queue_of(net, f->node), &f->queued);
}

/* The head has passed @hops more links; false: the route ends before that. */
static bool pass(struct flying *f, unsigned int hops)
{
	f->at += hops;
	for (; hops && f->passed < f->legs; f->passed++) {
		struct tofu_leg *leg = &f->leg[f->passed];

		if (hops < leg->hops) {
			leg->hops -= hops;
			return true;
		}
		hops -= leg->hops;
	}
	return !hops && f->passed < f->legs;
}

static struct tofu_coords coords_of(const struct tofu_net *net, uint32_t node)
{
	return in_block(net, node) ? net->coords[node - net->first] :
				     tofu_coords_of(&net->shape, node);
}

static void set_route(const struct tofu_net *net, struct flying *f)
{
	const struct tofu_coords from = coords_of(net, f->packet.src);
	const struct tofu_coords to = coords_of(net, f->packet.dst);

	f->at = 0;
	f->passed = 0;
	f->legs = (uint8_t)tofu_route_legs(&net->shape, &from, &to,
					   f->packet.path, f->leg);
}

static int enter(struct tofu_net *net, const struct tofu_net_packet *packet,
		 uint32_t node, uint64_t ps, unsigned int at)
{
	struct flying *f;

	if (!in_block(net, node) || packet->src >= net->nodes ||
	    packet->dst >= net->nodes || at > TOFU_HOPS_MAX)
		return -EINVAL;
	f = flying_new(net);
	if (!f)
		return -ENOMEM;
	f->packet = *packet;
	set_route(net, f);
	if (at && !pass(f, at)) {
		flying_free(net, f);
		return -EINVAL;
	}
	f->queued.order = tofu_heap_order(packet->src, packet->seq);
	f->ps = tofu_preset_ps((uint64_t)packet->payload +
				       net->machine->overhead,
			       net->machine->link_mbs);
	f->node = node;
	f->state = UNDER_WAY;
	push(net, f, ps);
	net->flying++;
	return 0;
}

int tofu_net_send(struct tofu_net *net, const struct tofu_net_packet *packet)
{
	return enter(net, packet, packet->src, packet->time * PS, 0);
}

int tofu_net_enter(struct tofu_net *net, const struct tofu_net_packet *packet,
		   uint32_t node, uint64_t ps, unsigned int at)
{
	return at ? enter(net, packet, node, ps, at) : -EINVAL;
}

/* ---- Moving ---- */

static uint64_t to_ns(uint64_t ps)
{
	return (ps + PS - 1) / PS;
}

/* struct move - the callbacks of an advance */
struct move {
	struct tofu_net *net;
	const struct tofu_net_ops *ops;
	void *ctx;
};

static void departs(const struct move *move, const struct flying *f,
		    uint64_t ps)
{
	if (move->ops->departs)
		move->ops->departs(move->ctx, &f->packet, to_ns(ps));
}

static void leave(const struct move *move, struct flying *f)
{
	move->net->flying--;
	flying_free(move->net, f);
}

static void arrives(const struct move *move, struct flying *f, uint64_t ps)
{
	move->ops->arrives(move->ctx, &f->packet, to_ns(ps));
	leave(move, f);
}

/* The head reaches f->node, not the last one, at @ps. */
static void moves(const struct move *move, struct flying *f, uint64_t ps)
{
	if (!in_block(move->net, f->node)) {
		move->ops->leaves(move->ctx, &f->packet, f->node, ps, f->at);
		leave(move, f);
		return;
	}
	push(move->net, f, ps);
	if (move->ops->moves)
		move->ops->moves(move->ctx, &f->packet, f->node, ps / PS);
}

static void count_wait(struct link *link, uint64_t ps)
{
	if (!ps)
		return;
	ps += link->wait_ps;
	link->count.wait_ns += ps / PS;
	link->wait_ps = (uint32_t)(ps % PS);
}

/* The packet occupies a link; returns when it begins, ps. */
static uint64_t cross(const struct move *move, const struct flying *f,
		      struct link *link, uint64_t ps)
{
	const uint64_t start = ps > link->free ? ps : link->free;

	link->free = start + f->ps;
	link->count.packets++;
	link->count.bytes += f->packet.payload;
	count_wait(link, start - ps);
	if (move->ops->crosses)
		move->ops->crosses(move->ctx, &f->packet, f->node,
				   f->leg[f->passed].port, start / PS,
				   to_ns(link->free));
	return start;
}

/* The packet's head reaches its next hop at @ps. */
static void happen(const struct move *move, struct flying *f, uint64_t ps)
{
	const uint64_t hop = move->net->machine->hop_ns * PS;
	struct link *link;
	uint64_t start;

	if (!f->legs) { /* loopback */
		departs(move, f, ps + hop + f->ps);
		arrives(move, f, ps + hop + f->ps);
		return;
	}
	link = link_at(move->net, f->node, f->leg[f->passed].port);
	start = cross(move, f, link, ps);
	if (!f->at)
		departs(move, f, start + f->ps);
	f->node = link->to;
	if (pass(f, 1))
		moves(move, f, start + hop);
	else
		arrives(move, f, start + hop + f->ps);
}

static void advance(struct tofu_net *net, struct tofu_queue *queue,
		    uint64_t until, const struct tofu_net_ops *ops, void *ctx)
{
	const struct move move = { net, ops, ctx };
	uint64_t ps;

	while ((ps = tofu_queue_time(queue)) < until * PS) {
		struct flying *f = (struct flying *)tofu_queue_pop(queue);

		if (f->state == GONE)
			flying_free(net, f);
		else
			happen(&move, f, ps);
	}
}

void tofu_net_advance(struct tofu_net *net, uint64_t until,
		      const struct tofu_net_ops *ops, void *ctx)
{
	advance(net, net->queue, until, ops, ctx);
}

void tofu_net_advance_at(struct tofu_net *net, uint32_t node, uint64_t until,
			 const struct tofu_net_ops *ops, void *ctx)
{
	advance(net, queue_of(net, node), until, ops, ctx);
}

uint64_t tofu_net_next_at(const struct tofu_net *net, uint32_t node)
{
	const uint64_t ps = tofu_queue_time(queue_of(net, node));

	return ps == UINT64_MAX ? ps : ps / PS;
}

bool tofu_net_idle(const struct tofu_net *net)
{
	return !net->flying;
}

void tofu_net_forget(struct tofu_net *net, uint32_t node,
		     void (*drop)(void *ctx, const struct tofu_net_packet *p),
		     void *ctx)
{
	for (struct slab *slab = net->slabs; slab; slab = slab->next) {
		for (size_t i = 0; i < SLAB; i++) {
			struct flying *f = &slab->flying[i];

			if (f->state != UNDER_WAY ||
			    (f->packet.src != node && f->packet.dst != node))
				continue;
			f->state = GONE;
			net->flying--;
			drop(ctx, &f->packet);
		}
	}
}

/* ---- Counters ---- */

const struct tofu_net_link *tofu_net_link(const struct tofu_net *net,
					  uint32_t node, enum tofu_port port)
{
	return &link_at(net, node, port)->count;
}

const struct tofu_net_link *tofu_net_link_in(const struct tofu_net *net,
					     uint32_t node, enum tofu_port port)
{
	/* An axis of one node has no link: return one that is never used. */
	const uint32_t from = link_at(net, node, port)->to;

	if (!in_block(net, from))
		return NULL;
	return tofu_net_link(net, from, tofu_port_reverse(port));
}

/* ---- Life ---- */

static void place(struct tofu_net *net, uint32_t node)
{
	net->coords[node - net->first] = tofu_coords_of(&net->shape, node);
	for (int port = 0; port < TOFU_PORTS; port++) {
		const int64_t to = tofu_neighbour(&net->shape, node,
						  (enum tofu_port)port);

		link_at(net, node, port)->to = to < 0 ? node : (uint32_t)to;
	}
}

/* A block, with a queue of each of its nodes or with a single one. */
static struct tofu_net *create(const struct tofu_shape *shape,
			       const struct tofu_preset *machine,
			       uint32_t first, uint32_t count, bool by_node)
{
	struct tofu_net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	net->machine = machine;
	net->shape = *shape;
	net->nodes = tofu_shape_nodes(shape);
	net->first = first;
	net->count = count;
	net->by_node = by_node;
	net->coords = calloc(count, sizeof(*net->coords));
	net->link = calloc((size_t)count * TOFU_PORTS, sizeof(*net->link));
	net->queue = calloc(by_node ? count : 1, sizeof(*net->queue));
	if (!net->coords || !net->link || !net->queue) {
		tofu_net_destroy(net);
		errno = ENOMEM;
		return NULL;
	}
	for (uint32_t i = 0; i < count; i++)
		place(net, first + i);
	return net;
}

struct tofu_net *tofu_net_create(const struct tofu_shape *shape,
				 const struct tofu_preset *machine)
{
	return create(shape, machine, 0, tofu_shape_nodes(shape), false);
}

struct tofu_net *tofu_net_create_block(const struct tofu_shape *shape,
				       const struct tofu_preset *machine,
				       uint32_t first, uint32_t count)
{
	if (!count || (uint64_t)first + count > tofu_shape_nodes(shape)) {
		errno = EINVAL;
		return NULL;
	}
	return create(shape, machine, first, count, true);
}

void tofu_net_destroy(struct tofu_net *net)
{
	struct slab *next;

	for (struct slab *slab = net->slabs; slab; slab = next) {
		next = slab->next;
		free(slab);
	}
	free(net->queue);
	free(net->link);
	free(net->coords);
	free(net);
}
