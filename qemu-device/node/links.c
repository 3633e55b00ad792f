/* SPDX-License-Identifier: MIT */
/*
 * The links of this node's router: counters of ports, and records of the trace.
 */
#define _GNU_SOURCE
#include "node/virtual.h"

#include <stdlib.h>

#include "icc/trace.h"

/**
 * struct tofu_crossing - a packet on a link of this node
 * @rx:   it arrives by @port
 * @wait: ns that it waited for the link
 * @trace: record, of an outgoing link
 */
struct tofu_crossing {
	bool rx;
	enum tofu_port port;
	uint64_t wait;
	struct icc_trace trace;
	struct tofu_crossing *next;
};

void tofu_links_create(struct tofu_virtual *v)
{
	const struct tofu_fabric *fabric = v->node->fabric;

	for (int port = 0; port < TOFU_PORTS; port++)
		v->links.from[port] =
			tofu_neighbour(&fabric->shape, fabric->self, port);
}

/* ---- What crosses ---- */

static struct tofu_crossing *new_crossing(struct tofu_links *links)
{
	struct tofu_crossing *crossing = links->unused;

	if (!crossing)
		return malloc(sizeof(*crossing));
	links->unused = crossing->next;
	return crossing;
}

static void drop_crossing(struct tofu_links *links,
			  struct tofu_crossing *crossing)
{
	crossing->next = links->unused;
	links->unused = crossing;
}

static bool is_response(const struct tofu_log_entry *entry)
{
	return entry->type >= TOFU_PKT_DONE;
}

static struct icc_trace trace_of(const struct tofu_parcel *parcel,
				 enum tofu_port port, uint64_t start,
				 uint64_t end)
{
	const struct tofu_log_entry *entry = &parcel->entry;

	return (struct icc_trace){
		.time = start,
		.end = end,
		.id = entry->tid,
		.origin = is_response(entry) ? entry->dst : parcel->src,
		.peer = entry->dst,
		.bytes = entry->payload,
		.kind = ICC_TRACE_LINK,
		.type = entry->type,
		.tni = entry->tni,
		.cq = entry->cq,
		.detail = port,
	};
}

void tofu_links_cross(void *virtual, const struct tofu_net_packet *packet,
		      uint32_t node, enum tofu_port port, uint64_t start,
		      uint64_t end)
{
	struct tofu_virtual *v = virtual;
	struct tofu_links *links = &v->links;
	const enum tofu_port other = tofu_port_reverse(port);
	const bool tx = node == v->node->fabric->self;
	struct tofu_crossing *crossing;

	if (!tx && links->from[other] != node)
		return;
	crossing = new_crossing(links);
	if (!crossing)
		return;
	crossing->rx = !tx;
	crossing->port = tx ? port : other;
	crossing->wait = 0;
	if (tx) {
		const uint64_t waited =
			tofu_net_link(v->net, node, port)->wait_ns;

		crossing->wait = waited - links->waited[port];
		links->waited[port] = waited;
	}
	crossing->trace = trace_of(packet->cookie, port, start, end);
	crossing->trace.wait = (uint32_t)crossing->wait;
	/* A link begins with one packet at a time. */
	if (!tofu_heap_push(&links->crossings,
			    start + tofu_preset_flight_ns(v->machine),
			    2 * (uint64_t)crossing->port + crossing->rx,
			    crossing))
		drop_crossing(links, crossing);
}

/* ---- What is seen ---- */

static void count(struct tofu_virtual *v, enum tofu_port port,
		  enum tofu_port_counter counter, uint64_t more)
{
	uint64_t *value = &v->links.counter[port][counter];

	*value += more;
	icc_port_set_counter(v->node->icc, port, counter, *value);
}

static void see(struct tofu_virtual *v, const struct tofu_crossing *crossing)
{
	const enum tofu_port port = crossing->port;

	if (crossing->rx) {
		count(v, port, TOFU_PORT_RX_PACKETS, 1);
		count(v, port, TOFU_PORT_RX_BYTES, crossing->trace.bytes);
		return;
	}
	count(v, port, TOFU_PORT_TX_PACKETS, 1);
	count(v, port, TOFU_PORT_TX_BYTES, crossing->trace.bytes);
	count(v, port, TOFU_PORT_TX_WAIT_NS, crossing->wait);
	tofu_virtual_trace(v, &crossing->trace);
}

void tofu_links_see(struct tofu_virtual *v, uint64_t now)
{
	struct tofu_links *links = &v->links;

	while (tofu_heap_time(&links->crossings) < now) {
		struct tofu_crossing *crossing =
			tofu_heap_pop(&links->crossings);

		see(v, crossing);
		drop_crossing(links, crossing);
	}
}

void tofu_links_destroy(struct tofu_virtual *v)
{
	struct tofu_links *links = &v->links;
	struct tofu_crossing *crossing;

	while (links->crossings.count)
		drop_crossing(links, tofu_heap_pop(&links->crossings));
	tofu_heap_free(&links->crossings);
	while ((crossing = links->unused)) {
		links->unused = crossing->next;
		free(crossing);
	}
}
