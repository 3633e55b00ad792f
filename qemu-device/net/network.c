// SPDX-License-Identifier: MIT
/*
 * The links and routers of a machine: what enters them, and what they count.
 */
#include <errno.h>
#include <stdlib.h>

#include "net/flight.h"
#include "net/prefetch.h"

/* ---- Packets ---- */

void tofu_flying_free(struct tofu_net *net, struct flying *f)
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
		tofu_flying_free(net, &slab->flying[i]);
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
	f->closed = false;
	f->legs = (uint8_t)tofu_route_legs(&net->shape, &from, &to,
					   f->packet.path, f->leg);
}

/* Whether its route is at @node after @at links */
static bool comes_by(const struct tofu_net *net, const struct flying *f,
		     uint32_t node, unsigned int at)
{
	struct tofu_hop hop[TOFU_HOPS_MAX];

	return at <= tofu_route(&net->shape, f->packet.src, f->packet.dst,
				f->packet.path, hop) &&
	       tofu_node_at(&net->shape, &hop[at - 1].to) == node;
}

/* Of a packet from another block: it has gone from its source to @node. */
static bool set_passed(const struct tofu_net *net, struct flying *f,
		       uint32_t node, unsigned int at)
{
	if (!at) {
		f->lane = (uint8_t)(LINK_LANES +
				    f->packet.engine * TOFU_CLASSES +
				    f->packet.class_);
		return true;
	}
	if (!comes_by(net, f, node, at) || (at > 1 && !pass(f, at - 1)) ||
	    at_end(f))
		return false;
	set_lane(f, tofu_ring_closed(&net->shape, f->packet.src, node,
				     (enum tofu_port)f->leg[f->passed].port));
	return pass(f, 1);
}

static int enter(struct tofu_net *net, const struct tofu_net_packet *packet,
		 uint32_t node, uint64_t ps, unsigned int at)
{
	const struct tofu_preset *m = net->machine;
	struct flying *f;

	if (!in_block(net, node) || packet->src >= net->nodes ||
	    packet->dst >= net->nodes || at > TOFU_HOPS_MAX ||
	    packet->class_ >= TOFU_CLASSES || packet->engine >= ENGINES ||
	    packet->taker >= ENGINES)
		return -EINVAL;
	f = flying_new(net);
	if (!f)
		return -ENOMEM;
	f->packet = *packet;
	f->first = false;
	set_route(net, f);
	if (!set_passed(net, f, node, at)) {
		tofu_flying_free(net, f);
		return -EINVAL;
	}
	f->queued.order = tofu_heap_order(packet->src, packet->seq);
	f->ps = tofu_preset_ps((uint64_t)packet->payload + m->overhead +
				       m->control,
			       m->link_mbs);
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

static uint64_t next_of_all(const struct tofu_net *net)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < net->count; i++) {
		const uint64_t ps = tofu_queue_time(&net->queue[i]);

		if (ps < first)
			first = ps;
	}
	return first / PS;
}

/* In windows, in which no node can reach another one. */
void tofu_net_advance(struct tofu_net *net, uint64_t until,
		      const struct tofu_net_ops *ops, void *ctx)
{
	uint64_t time;

	while ((time = next_of_all(net)) < until) {
		time += net->machine->hop_ns;
		if (time > until)
			time = until;
		for (uint32_t i = 0; i < net->count; i++)
			tofu_router_run(net, net->first + i, time, ops, ctx);
	}
}

void tofu_net_advance_at(struct tofu_net *net, uint32_t node, uint64_t until,
			 const struct tofu_net_ops *ops, void *ctx)
{
	tofu_router_run(net, node, until, ops, ctx);
}

uint64_t tofu_net_next_at(const struct tofu_net *net, uint32_t node)
{
	const uint64_t ps = tofu_queue_time(queue_of(net, node));

	return ps == UINT64_MAX ? ps : ps / PS;
}

void tofu_net_prefetch(const struct tofu_net *net, uint32_t node,
		       unsigned int step)
{
	const struct tofu_queue *queue = queue_of(net, node);

	switch (step) {
	case 0:
		tofu_prefetch(queue, sizeof(*queue));
		break;
	case 1:
		tofu_prefetch(link_at(net, node, 0),
			      TOFU_PORTS * sizeof(struct link));
		tofu_prefetch(queue->first, sizeof(struct flying));
		break;
	case 2:
		if (queue->first)
			tofu_prefetch(queue->first->child,
				      sizeof(struct flying));
		break;
	}
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

static uint64_t retries_of(uint32_t node, unsigned int output)
{
	return RETRIES + (uint64_t)node * RETRIES_OF_NODE +
	       output * RETRIES_OF_OUTPUT;
}

static void place(struct tofu_net *net, uint32_t node)
{
	net->coords[node - net->first] = tofu_coords_of(&net->shape, node);
	for (unsigned int port = 0; port < TOFU_PORTS; port++) {
		const int64_t to = tofu_neighbour(&net->shape, node,
						  (enum tofu_port)port);
		struct link *link = link_at(net, node, port);

		link->to = to < 0 ? node : (uint32_t)to;
		link->port = (uint8_t)port;
		link->closes = tofu_link_closes(&net->shape, node,
						(enum tofu_port)port);
		link->out.retry.order = retries_of(node, port);
		for (unsigned int c = 0; c < CHANNELS; c++)
			room_at(net, link, c)->retry.order =
				retries_of(node, port) + 1 + c;
	}
	for (unsigned int engine = 0; engine < ENGINES; engine++)
		engine_at(net, node, engine)->retry.order =
			retries_of(node, TOFU_PORTS + engine);
}

struct tofu_net *tofu_net_create_block(const struct tofu_shape *shape,
				       const struct tofu_preset *machine,
				       uint32_t first, uint32_t count)
{
	const uint32_t nodes = tofu_shape_nodes(shape);
	struct tofu_net *net;

	if (!count || (uint64_t)first + count > nodes ||
	    tofu_heap_order(nodes - 1, 0) >= RETRIES) {
		errno = EINVAL;
		return NULL;
	}
	net = calloc(1, sizeof(*net));
	if (!net)
		return NULL;
	net->machine = machine;
	net->shape = *shape;
	net->nodes = nodes;
	net->first = first;
	net->count = count;
	net->coords = calloc(count, sizeof(*net->coords));
	net->link = calloc((size_t)count * TOFU_PORTS, sizeof(*net->link));
	net->engine = calloc((size_t)count * ENGINES, sizeof(*net->engine));
	net->room = calloc((size_t)count * TOFU_PORTS * CHANNELS,
			   sizeof(*net->room));
	net->lane = calloc((size_t)count * LANES, sizeof(*net->lane));
	net->queue = calloc(count, sizeof(*net->queue));
	if (!net->coords || !net->link || !net->engine || !net->room ||
	    !net->lane || !net->queue) {
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
	return tofu_net_create_block(shape, machine, 0,
				     tofu_shape_nodes(shape));
}

void tofu_net_destroy(struct tofu_net *net)
{
	struct slab *next;

	for (struct slab *slab = net->slabs; slab; slab = next) {
		next = slab->next;
		free(slab);
	}
	free(net->queue);
	free(net->lane);
	free(net->room);
	free(net->engine);
	free(net->link);
	free(net->coords);
	free(net);
}
