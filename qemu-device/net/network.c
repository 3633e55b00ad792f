// SPDX-License-Identifier: MIT
/*
 * The links and routers of a machine. Times inside are in picoseconds, since
 * packets do not occupy links for whole nanoseconds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/heap.h"
#include "net/network.h"

#define PS 1000ULL
#define ROUTES 4096 /* cached, a power of two */

/**
 * struct link - the link out of a node by a port
 * @free: when it can take the next packet, ps
 * @wait_ps: count.wait_ns, in ps
 */
struct link {
	uint64_t free;
	uint64_t wait_ps;
	struct tofu_net_link count;
};

/**
 * struct route - a cached route from a node to another by a path
 * @key:  the nodes and the path, plus one; 0: unused
 * @hop:  links by their index
 */
struct route {
	uint64_t key;
	uint32_t hops;
	uint32_t *hop;
};

/**
 * struct flying - a packet under way
 * @next:  in the list of unused ones
 * @ps:    time for which it occupies a link
 * @gone:  forgotten while it was under way
 * @at:    hop that its head reaches next
 * @hop:   links by their index, @hops of them, with room for @room
 */
struct flying {
	struct tofu_net_packet packet;
	struct flying *next;
	uint64_t ps;
	bool gone;
	uint32_t at;
	uint32_t hops;
	uint32_t room;
	uint32_t *hop;
};

/**
 * struct tofu_net - the links, and the packets under way
 * @heads:  packets by the time when their heads reach the next hop, ps; one
 *          entry for each packet
 * @flying: packets under way that have not been forgotten
 */
struct tofu_net {
	const struct tofu_preset *machine;
	struct tofu_shape shape;
	uint32_t nodes;
	struct link *link;
	struct tofu_heap heads;
	size_t flying;
	struct flying *unused;
	struct route route[ROUTES];
};

/* ---- Routes ---- */

static uint32_t link_index(uint32_t node, enum tofu_port port)
{
	return node * TOFU_PORTS + port;
}

static uint32_t walk(const struct tofu_net *net,
		     const struct tofu_net_packet *p,
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

/* Computing a route takes longer than moving a packet: cache some. */
static const struct route *find_route(struct tofu_net *net,
				      const struct tofu_net_packet *p)
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

/* ---- Packets ---- */

static struct flying *flying_new(struct tofu_net *net)
{
	struct flying *f = net->unused;

	if (!f)
		return calloc(1, sizeof(*f));
	net->unused = f->next;
	return f;
}

static void flying_free(struct tofu_net *net, struct flying *f)
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

static bool push(struct tofu_net *net, struct flying *f, uint64_t ps)
{
	return tofu_heap_push(&net->heads, ps,
			      tofu_heap_order(f->packet.src, f->packet.seq), f);
}

int tofu_net_send(struct tofu_net *net, const struct tofu_net_packet *packet)
{
	const struct route *route = find_route(net, packet);
	struct flying *f = route ? flying_new(net) : NULL;

	if (!f)
		return -ENOMEM;
	f->packet = *packet;
	f->gone = false;
	f->at = 0;
	f->ps = tofu_preset_ps((uint64_t)packet->payload +
				       net->machine->overhead,
			       net->machine->link_mbs);
	if (set_route(f, route) || !push(net, f, packet->time * PS)) {
		flying_free(net, f);
		return -ENOMEM;
	}
	net->flying++;
	return 0;
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

static void arrives(const struct move *move, struct flying *f, uint64_t ps)
{
	move->ops->arrives(move->ctx, &f->packet, to_ns(ps));
	move->net->flying--;
	flying_free(move->net, f);
}

/* The packet occupies the link of its hop; returns when it begins, ps. */
static uint64_t cross(const struct move *move, const struct flying *f,
		      uint64_t ps)
{
	const uint32_t index = f->hop[f->at];
	struct link *link = &move->net->link[index];
	const uint64_t start = ps > link->free ? ps : link->free;

	link->free = start + f->ps;
	link->count.packets++;
	link->count.bytes += f->packet.payload;
	link->wait_ps += start - ps;
	link->count.wait_ns = link->wait_ps / PS;
	if (move->ops->crosses)
		move->ops->crosses(move->ctx, &f->packet, index / TOFU_PORTS,
				   index % TOFU_PORTS, start / PS,
				   to_ns(link->free));
	return start;
}

/* The packet's head reaches its next hop at @ps. */
static void happen(const struct move *move, struct flying *f, uint64_t ps)
{
	const uint64_t hop = move->net->machine->hop_ns * PS;
	uint64_t start;

	if (!f->hops) { /* loopback */
		departs(move, f, ps + hop + f->ps);
		arrives(move, f, ps + hop + f->ps);
		return;
	}
	start = cross(move, f, ps);
	if (!f->at)
		departs(move, f, start + f->ps);
	if (++f->at == f->hops)
		arrives(move, f, start + hop + f->ps);
	else /* Cannot fail: the entry that was taken out has left room. */
		push(move->net, f, start + hop);
}

void tofu_net_advance(struct tofu_net *net, uint64_t until,
		      const struct tofu_net_ops *ops, void *ctx)
{
	const struct move move = { net, ops, ctx };
	uint64_t ps;

	while ((ps = tofu_heap_time(&net->heads)) < until * PS) {
		struct flying *f = tofu_heap_pop(&net->heads);

		if (f->gone)
			flying_free(net, f);
		else
			happen(&move, f, ps);
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
	for (size_t i = 0; i < net->heads.count; i++) {
		struct flying *f = net->heads.item[i].what;

		if (f->gone ||
		    (f->packet.src != node && f->packet.dst != node))
			continue;
		f->gone = true;
		net->flying--;
		drop(ctx, &f->packet);
	}
}

/* ---- Counters ---- */

const struct tofu_net_link *tofu_net_link(const struct tofu_net *net,
					  uint32_t node, enum tofu_port port)
{
	return &net->link[link_index(node, port)].count;
}

const struct tofu_net_link *tofu_net_link_in(const struct tofu_net *net,
					     uint32_t node, enum tofu_port port)
{
	const int64_t from = tofu_neighbour(&net->shape, node, port);

	/* An axis of one node has no link: return one that is never used. */
	return tofu_net_link(net, from < 0 ? node : (uint32_t)from,
			     tofu_port_reverse(port));
}

/* ---- Life ---- */

struct tofu_net *tofu_net_create(const struct tofu_shape *shape,
				 const struct tofu_preset *machine)
{
	struct tofu_net *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	net->machine = machine;
	net->shape = *shape;
	net->nodes = tofu_shape_nodes(shape);
	net->link = calloc((size_t)net->nodes * TOFU_PORTS,
			   sizeof(*net->link));
	if (!net->link) {
		tofu_net_destroy(net);
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

void tofu_net_destroy(struct tofu_net *net)
{
	struct flying *next;

	for (size_t i = 0; i < net->heads.count; i++)
		destroy_flying(net->heads.item[i].what);
	for (struct flying *f = net->unused; f; f = next) {
		next = f->next;
		destroy_flying(f);
	}
	for (size_t i = 0; i < ROUTES; i++)
		free(net->route[i].hop);
	tofu_heap_free(&net->heads);
	free(net->link);
	free(net);
}
