// SPDX-License-Identifier: MIT
/*
 * The links and routers of a machine. Times are picoseconds inside: links are
 * not of whole nanoseconds a packet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/network.h"

#define PS 1000ULL
#define ROUTES 4096 /* remembered, a power of two */

/**
 * struct link - the way out of a node by a port
 * @free: when it can take the next packet, ps
 * @wait_ps: count.wait_ns, exactly
 */
struct link {
	uint64_t free;
	uint64_t wait_ps;
	struct icc_net_link count;
};

/**
 * struct route - from a node to another by a path
 * @key:  what it is for, plus one; 0: nothing yet
 * @hop:  links by their index
 */
struct route {
	uint64_t key;
	uint32_t hops;
	uint32_t *hop;
};

/**
 * struct flying - a packet under way
 * @next:  of the unused ones
 * @ps:    that it occupies a link for
 * @gone:  forgotten while it was under way
 * @hop:   links by their index, @hops of them, with room for @room
 */
struct flying {
	struct icc_net_packet packet;
	struct flying *next;
	uint64_t ps;
	bool gone;
	uint32_t hops;
	uint32_t room;
	uint32_t *hop;
};

/* struct event - a packet's head reaches its hop number @hop, at @time ps */
struct event {
	uint64_t time;
	uint64_t seq;
	uint32_t src;
	uint32_t hop;
	struct flying *flying;
};

struct icc_net {
	const struct icc_machine *machine;
	struct tofu_shape shape;
	uint32_t nodes;
	struct link *link;
	struct event *heap;
	size_t count;
	size_t room;
	size_t flying;
	struct flying *unused;
	struct route route[ROUTES];
};

/* ---- Routes ---- */

static uint32_t link_index(uint32_t node, enum tofu_port port)
{
	return node * TOFU_PORTS + port;
}

static uint32_t walk(const struct icc_net *net, const struct icc_net_packet *p,
		     uint32_t hop[TOFU_HOPS_MAX])
{
	struct tofu_hop way[TOFU_HOPS_MAX];
	const size_t hops =
		tofu_route(&net->shape, p->src, p->dst, p->path, way);
	uint32_t node = p->src;

	for (size_t i = 0; i < hops; i++) {
		hop[i] = link_index(node, way[i].port);
		node = (uint32_t)tofu_node_at(&net->shape, &way[i].to);
	}
	return (uint32_t)hops;
}

static int set_hops(uint32_t **to, const uint32_t *from, uint32_t hops)
{
	uint32_t *copy = realloc(*to, (hops ? hops : 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, from, hops * sizeof(*copy));
	*to = copy;
	return 0;
}

/* A route takes longer to find than a packet to move: remember some. */
static const struct route *find_route(struct icc_net *net,
				      const struct icc_net_packet *p)
{
	const uint64_t key = (((uint64_t)p->src * net->nodes + p->dst)
				      << TOFU_TOQ_PATH_BITS |
			      (p->path & TOFU_MASK(TOFU_TOQ_PATH_BITS))) +
			     1;
	struct route *r = &net->route[key * 0x9e3779b97f4a7c15ULL >> 52];
	uint32_t hop[TOFU_HOPS_MAX];

	if (r->key == key)
		return r;
	r->key = 0;
	r->hops = walk(net, p, hop);
	if (set_hops(&r->hop, hop, r->hops))
		return NULL;
	r->key = key;
	return r;
}

/* ---- Events: a binary heap ---- */

static bool before(const struct event *a, const struct event *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->src != b->src)
		return a->src < b->src;
	if (a->seq != b->seq)
		return a->seq < b->seq;
	return a->hop < b->hop;
}

static void push(struct icc_net *net, const struct event *event)
{
	struct event *heap = net->heap;
	size_t at = net->count++;

	for (; at && before(event, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = *event;
}

static struct event pop(struct icc_net *net)
{
	struct event *heap = net->heap;
	const struct event first = heap[0];
	const struct event last = heap[--net->count];
	size_t at = 0, child;

	while ((child = 2 * at + 1) < net->count) {
		if (child + 1 < net->count &&
		    before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return first;
}

/* Every packet under way has one event: room for it is made when it comes. */
static int make_room(struct icc_net *net)
{
	const size_t room = net->room ? 2 * net->room : 64;
	struct event *heap;

	if (net->count < net->room)
		return 0;
	heap = realloc(net->heap, room * sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	net->heap = heap;
	net->room = room;
	return 0;
}

/* ---- Packets ---- */

static struct flying *flying_new(struct icc_net *net)
{
	struct flying *f = net->unused;

	if (!f)
		return calloc(1, sizeof(*f));
	net->unused = f->next;
	return f;
}

static void flying_free(struct icc_net *net, struct flying *f)
{
	f->next = net->unused;
	net->unused = f;
}

static int set_route(struct flying *f, const struct route *r)
{
	if (f->room < r->hops || !f->hop) {
		if (set_hops(&f->hop, r->hop, r->hops))
			return -ENOMEM;
		f->room = r->hops;
	}
	memcpy(f->hop, r->hop, r->hops * sizeof(*f->hop));
	f->hops = r->hops;
	return 0;
}

int icc_net_send(struct icc_net *net, const struct icc_net_packet *packet)
{
	const struct route *route = find_route(net, packet);
	struct flying *f;

	if (!route || make_room(net))
		return -ENOMEM;
	f = flying_new(net);
	if (!f)
		return -ENOMEM;
	if (set_route(f, route)) {
		flying_free(net, f);
		return -ENOMEM;
	}
	f->packet = *packet;
	f->gone = false;
	f->ps = icc_machine_ps((uint64_t)packet->payload +
				       net->machine->overhead,
			       net->machine->link_mbs);
	net->flying++;
	push(net, &(struct event){ .time = packet->time * PS,
				   .seq = packet->seq,
				   .src = packet->src,
				   .flying = f });
	return 0;
}

/* ---- Moving ---- */

static uint64_t to_ns(uint64_t ps)
{
	return (ps + PS - 1) / PS;
}

/* struct move - whom to tell */
struct move {
	struct icc_net *net;
	const struct icc_net_ops *ops;
	void *ctx;
};

static void departs(const struct move *move, const struct flying *f,
		    uint64_t ps)
{
	if (move->ops->departs)
		move->ops->departs(move->ctx, &f->packet, to_ns(ps));
}

static void arrives(const struct move *move, struct flying *f, uint64_t ps)
{
	move->ops->arrives(move->ctx, &f->packet, to_ns(ps));
	move->net->flying--;
	flying_free(move->net, f);
}

/* The packet takes the link of its hop; returns when it begins to, ps. */
static uint64_t cross(const struct move *move, const struct event *e)
{
	const struct flying *f = e->flying;
	const uint32_t index = f->hop[e->hop];
	struct link *link = &move->net->link[index];
	const uint64_t start = e->time > link->free ? e->time : link->free;

	link->free = start + f->ps;
	link->count.packets++;
	link->count.bytes += f->packet.payload;
	link->wait_ps += start - e->time;
	link->count.wait_ns = link->wait_ps / PS;
	if (move->ops->crosses)
		move->ops->crosses(move->ctx, &f->packet, index / TOFU_PORTS,
				   index % TOFU_PORTS, start / PS,
				   to_ns(link->free));
	return start;
}

static void happen(const struct move *move, struct event *e)
{
	const uint64_t hop = move->net->machine->hop_ns * PS;
	struct flying *f = e->flying;
	uint64_t start;

	if (!f->hops) { /* to oneself */
		departs(move, f, e->time + hop + f->ps);
		arrives(move, f, e->time + hop + f->ps);
		return;
	}
	start = cross(move, e);
	if (!e->hop)
		departs(move, f, start + f->ps);
	if (++e->hop == f->hops) {
		arrives(move, f, start + hop + f->ps);
		return;
	}
	e->time = start + hop;
	push(move->net, e);
}

void icc_net_advance(struct icc_net *net, uint64_t until,
		     const struct icc_net_ops *ops, void *ctx)
{
	const struct move move = { net, ops, ctx };

	while (net->count && net->heap[0].time < until * PS) {
		struct event event = pop(net);

		if (event.flying->gone)
			flying_free(net, event.flying);
		else
			happen(&move, &event);
	}
}

bool icc_net_idle(const struct icc_net *net)
{
	return !net->flying;
}

void icc_net_forget(struct icc_net *net, uint32_t node,
		    void (*drop)(void *ctx, const struct icc_net_packet *packet),
		    void *ctx)
{
	for (size_t i = 0; i < net->count; i++) {
		struct flying *f = net->heap[i].flying;

		if (f->gone ||
		    (f->packet.src != node && f->packet.dst != node))
			continue;
		f->gone = true;
		net->flying--;
		drop(ctx, &f->packet);
	}
}

/* ---- Counters ---- */

const struct icc_net_link *icc_net_link(const struct icc_net *net,
					uint32_t node, enum tofu_port port)
{
	return &net->link[link_index(node, port)].count;
}

const struct icc_net_link *icc_net_link_in(const struct icc_net *net,
					   uint32_t node, enum tofu_port port)
{
	const int64_t from = tofu_neighbour(&net->shape, node, port);

	/* An axis of one node has no link: that which nobody uses will do. */
	return icc_net_link(net, from < 0 ? node : (uint32_t)from,
			    tofu_port_reverse(port));
}

/* ---- Life ---- */

struct icc_net *icc_net_create(const struct tofu_shape *shape,
			       const struct icc_machine *machine)
{
	struct icc_net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	net->machine = machine;
	net->shape = *shape;
	net->nodes = tofu_shape_nodes(shape);
	net->link = calloc((size_t)net->nodes * TOFU_PORTS,
			   sizeof(*net->link));
	if (!net->link || make_room(net)) {
		icc_net_destroy(net);
		errno = ENOMEM;
		return NULL;
	}
	return net;
}

static void destroy_flying(struct flying *f)
{
	free(f->hop);
	free(f);
}

void icc_net_destroy(struct icc_net *net)
{
	struct flying *next;

	for (size_t i = 0; i < net->count; i++)
		destroy_flying(net->heap[i].flying);
	for (struct flying *f = net->unused; f; f = next) {
		next = f->next;
		destroy_flying(f);
	}
	for (size_t i = 0; i < ROUTES; i++)
		free(net->route[i].hop);
	free(net->heap);
	free(net->link);
	free(net);
}
