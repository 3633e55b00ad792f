/* SPDX-License-Identifier: MIT */
/*
 * Parcels: into the replica of the network, out of it, and to the controller.
 */
#define _GNU_SOURCE
#include "node/virtual.h"

#include <stdlib.h>
#include <string.h>

static uint64_t order_of(const struct tofu_parcel *parcel)
{
	return tofu_heap_order(parcel->src, parcel->number);
}

static struct tofu_parcel *new_parcel(struct tofu_virtual *v)
{
	struct tofu_parcel *parcel = v->unused;

	if (parcel)
		v->unused = parcel->next;
	else
		parcel = malloc(sizeof(*parcel));
	if (parcel)
		memset(parcel, 0, sizeof(*parcel));
	return parcel;
}

static void let_go(struct tofu_virtual *v, struct tofu_parcel *parcel)
{
	if (--parcel->holders)
		return;
	free(parcel->packet);
	parcel->next = v->unused;
	v->unused = parcel;
}

/* Add to a heap. Without memory the packet is lost: it is too late to fail. */
static void put(struct tofu_virtual *v, struct tofu_heap *heap, uint64_t time,
		struct tofu_parcel *parcel)
{
	if (tofu_heap_push(heap, time, order_of(parcel), parcel))
		parcel->holders++;
	else
		tofu_node_misuse(v->node, "out of memory: a packet is lost");
}

/* ---- Into the network ---- */

static enum tofu_class class_of(const struct tofu_log_entry *entry)
{
	return tofu_class_of(entry->type);
}

/* Copy the record of an entry, which frees its room in the ring. */
static int take_packet(void *ctx, const struct tofu_packet *pkt,
		       const void *payload)
{
	struct tofu_parcel *parcel = ctx;

	parcel->packet = malloc(sizeof(*pkt) + pkt->payload);
	if (!parcel->packet)
		return 0;
	*parcel->packet = *pkt;
	memcpy(parcel->packet + 1, payload, pkt->payload);
	return 0;
}

static const struct tofu_fabric_handler take_handler = { .packet =
								 take_packet };

/* The controller gets the record; the entry must agree with it. */
static void fetch_packet(struct tofu_virtual *v, struct tofu_parcel *parcel)
{
	const struct tofu_log_entry *entry = &parcel->entry;
	struct tofu_fabric *fabric = v->node->fabric;

	if (!tofu_fabric_log_take(fabric, parcel->src, class_of(entry),
				  parcel->number, &take_handler, parcel) ||
	    !parcel->packet)
		return;
	if (parcel->packet->time == entry->time &&
	    parcel->packet->payload == entry->payload &&
	    parcel->packet->type == entry->type &&
	    parcel->packet->dst_tni % TOFU_TNIS_MAX == entry->taker)
		return;
	tofu_fabric_clock_break(fabric, parcel->src);
	free(parcel->packet);
	parcel->packet = NULL;
}

/* The packet arrives at least a hop's time after that. */
static uint64_t earliest(const struct tofu_virtual *v,
			 const struct tofu_log_entry *entry)
{
	const struct tofu_preset *m = v->machine;

	return entry->time +
	       tofu_preset_ps(entry->payload + m->overhead, m->link_mbs) / 1000;
}

static struct tofu_parcel *send(struct tofu_virtual *v, uint32_t src,
				uint64_t number,
				const struct tofu_log_entry *entry)
{
	struct tofu_parcel *parcel = new_parcel(v);
	struct tofu_net_packet packet = {
		.time = entry->time,
		.src = src,
		.dst = entry->dst,
		.seq = number,
		.path = entry->path,
		.class_ = (uint8_t)class_of(entry),
		.engine = tofu_packet_engine(entry->type, entry->tni),
		.taker = tofu_packet_engine(entry->type, entry->taker),
		.payload = entry->payload,
		.cookie = parcel,
	};

	/* Happens only if the sender came late or lies. */
	if (packet.time < v->advanced)
		packet.time = v->advanced;
	if (!parcel || tofu_net_send(v->net, &packet)) {
		tofu_node_misuse(v->node, "out of memory: a packet is lost");
		free(parcel);
		return NULL;
	}
	parcel->entry = *entry;
	parcel->number = number;
	parcel->src = src;
	parcel->holders = 1;
	return parcel;
}

static void expect(struct tofu_virtual *v, struct tofu_parcel *parcel)
{
	fetch_packet(v, parcel);
	if (parcel->packet)
		put(v, &v->coming, earliest(v, &parcel->entry), parcel);
}

void tofu_parcel_entry(void *virtual, uint32_t src, uint64_t number,
		       const struct tofu_log_entry *entry)
{
	struct tofu_virtual *v = virtual;
	struct tofu_parcel *parcel;

	if (v->flying[src] >= TOFU_FLYING_MAX) {
		tofu_fabric_clock_break(v->node->fabric, src);
		return;
	}
	parcel = send(v, src, number, entry);
	if (!parcel)
		return;
	v->flying[src]++;
	if (entry->dst == v->node->fabric->self)
		expect(v, parcel);
}

void tofu_parcel_own(struct tofu_virtual *v, uint64_t number,
		     const struct tofu_log_entry *entry)
{
	const uint32_t self = v->node->fabric->self;
	struct tofu_parcel *parcel = send(v, self, number, entry);

	if (!parcel)
		return;
	put(v, &v->leaving, entry->time, parcel);
	if (entry->dst == self)
		expect(v, parcel);
}

/* ---- Through it ---- */

static void departs(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct tofu_virtual *v = ctx;
	struct tofu_parcel *parcel = packet->cookie;

	parcel->departed = true;
	if (packet->src == v->node->fabric->self)
		put(v, &v->credits, time + tofu_preset_flight_ns(v->machine),
		    parcel);
}

static void arrives(void *ctx, const struct tofu_net_packet *packet,
		    uint64_t time)
{
	struct tofu_virtual *v = ctx;
	struct tofu_parcel *parcel = packet->cookie;

	parcel->arrived = true;
	if (packet->src != v->node->fabric->self)
		v->flying[packet->src]--;
	if (parcel->packet)
		put(v, &v->due, time + v->machine->receive_ns, parcel);
	let_go(v, parcel);
}

static const struct tofu_net_ops net_ops = {
	.departs = departs,
	.arrives = arrives,
	.crosses = tofu_links_cross,
};

void tofu_parcel_advance(struct tofu_virtual *v, uint64_t until)
{
	tofu_net_advance(v->net, until, &net_ops, v);
	v->advanced = until;
}

void tofu_parcel_settle(struct tofu_virtual *v, uint64_t own)
{
	const uint32_t self = v->node->fabric->self;
	const uint64_t end = v->advanced + v->machine->hop_ns;

	tofu_net_advance_at(v->net, self, tofu_min64(own, end), &net_ops, v);
	v->settled = tofu_net_take_at(v->net, self, end, &net_ops, v);
}

/* Drop those of a heap that have passed. */
static bool one_is_left(struct tofu_virtual *v, struct tofu_heap *heap)
{
	while (heap->count) {
		struct tofu_parcel *parcel = heap->item[0].what;

		if (heap == &v->coming ? !parcel->arrived : !parcel->departed)
			return true;
		let_go(v, tofu_heap_pop(heap));
	}
	return false;
}

/*
 * Not before what is settled, nor before a hop's time after its last byte could
 * have entered the last link.
 */
uint64_t tofu_parcel_coming(struct tofu_virtual *v)
{
	if (!one_is_left(v, &v->coming))
		return UINT64_MAX;
	return tofu_max64(v->coming.item[0].time + v->machine->hop_ns,
			  v->settled);
}

/*
 * A response makes room for a command that waits now. Of one that comes to wait
 * later the fetch is planned, or software has yet to store: both are known, and
 * what follows from them is in the network no later than what follows from room.
 */
static uint64_t answer_at(const struct tofu_virtual *v,
			  const struct tofu_parcel *parcel, uint64_t received,
			  uint64_t limit)
{
	return tofu_min64(limit, tofu_clock_add(received,
						icc_answer_ns(v->node->icc,
							      parcel->packet)));
}

/* Of those below @i in a heap that have, or have not, arrived. */
static uint64_t answers(const struct tofu_virtual *v,
			const struct tofu_heap *heap, size_t i, uint64_t limit)
{
	const bool coming = heap == &v->coming;
	uint64_t received;

	if (i >= heap->count)
		return limit;
	received = heap->item[i].time;
	if (coming)
		received = tofu_max64(received + v->machine->hop_ns,
				      v->settled) +
			   v->machine->receive_ns;
	if (received + v->answer >= limit)
		return limit;
	if (!coming || !((struct tofu_parcel *)heap->item[i].what)->arrived)
		limit = answer_at(v, heap->item[i].what, received, limit);
	limit = answers(v, heap, 2 * i + 1, limit);
	return answers(v, heap, 2 * i + 2, limit);
}

uint64_t tofu_parcel_answers(struct tofu_virtual *v, uint64_t limit)
{
	if (!one_is_left(v, &v->coming))
		return answers(v, &v->due, 0, limit);
	return answers(v, &v->coming, 0, answers(v, &v->due, 0, limit));
}

uint64_t tofu_parcel_leaving(struct tofu_virtual *v)
{
	if (!one_is_left(v, &v->leaving))
		return UINT64_MAX;
	return tofu_max64(v->leaving.item[0].time, v->advanced);
}

/* ---- To the controller ---- */

void tofu_parcel_deliver(struct tofu_virtual *v)
{
	struct tofu_parcel *parcel = tofu_heap_pop(&v->due);

	icc_receive(v->node->icc, parcel->packet, parcel->packet + 1);
	let_go(v, parcel);
}

void tofu_parcel_credit(struct tofu_virtual *v)
{
	const uint64_t flight = tofu_preset_flight_ns(v->machine);
	const uint64_t time = tofu_heap_time(&v->credits) - flight;
	struct tofu_parcel *parcel = tofu_heap_pop(&v->credits);

	icc_credit(v->node->icc, parcel->entry.tni, time);
	let_go(v, parcel);
}

/* ---- End ---- */

static void drop_heap(struct tofu_virtual *v, struct tofu_heap *heap)
{
	while (heap->count)
		let_go(v, tofu_heap_pop(heap));
	tofu_heap_free(heap);
}

static void drop_parcel(void *ctx, const struct tofu_net_packet *packet)
{
	let_go(ctx, packet->cookie);
}

void tofu_parcel_destroy(struct tofu_virtual *v)
{
	struct tofu_parcel *parcel;

	for (uint32_t n = 0; n < v->node->fabric->nodes; n++)
		tofu_net_forget(v->net, n, drop_parcel, v);
	drop_heap(v, &v->coming);
	drop_heap(v, &v->due);
	drop_heap(v, &v->leaving);
	drop_heap(v, &v->credits);
	while ((parcel = v->unused)) {
		v->unused = parcel->next;
		free(parcel);
	}
}
