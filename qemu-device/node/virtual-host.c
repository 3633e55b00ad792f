/* SPDX-License-Identifier: MIT */
/*
 * Services for the controller in virtual time, where they differ from host.c: a
 * packet that finds no room is held, and each gets an entry in this node's log.
 */
#define _GNU_SOURCE
#include "node/virtual.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Turns of waiting between two checks whether peers live. */
#define TURNS_A_WATCH 64

/**
 * struct tofu_held - a packet that waits for room
 * @payload: behind @packet
 */
struct tofu_held {
	struct tofu_held *next;
	uint32_t dst;
	uint32_t bytes;
	enum tofu_class class_;
	struct tofu_packet packet;
	uint8_t payload[];
};
TOFU_ASSERT(offsetof(struct tofu_held, payload) ==
		    offsetof(struct tofu_held, packet) +
			    sizeof(struct tofu_packet),
	    "a payload follows its packet");

/*
 * There is always room: a packet that finds none is held, and the node waits at
 * its horizon, where its home can stop it. So nothing waits in here.
 */
static struct tofu_packet *host_tx_begin(void *host, uint32_t dst,
					 enum tofu_class class_, size_t payload,
					 int *err)
{
	struct tofu_node *node = host;
	struct tofu_virtual *v = node->virtual;

	*err = -EHOSTDOWN;
	if (!tofu_clock_in(&v->clock, dst))
		return NULL;
	v->record = NULL;
	if (!v->held && tofu_fabric_log_room(node->fabric)) {
		v->record = tofu_node_tx_begin(node, dst, class_, payload, err);
		if (!v->record && *err != -EAGAIN)
			return NULL;
	}
	v->dst = dst;
	v->class_ = class_;
	v->bytes = (uint32_t)payload;
	return &v->packet;
}

/* @record: for the receiver; NULL: it is gone, but not from the network. */
static void publish(struct tofu_virtual *v, struct tofu_packet *record,
		    const struct tofu_packet *pkt, uint32_t dst, uint32_t bytes)
{
	const struct tofu_log_entry entry = {
		.time = pkt->time,
		.tid = pkt->tid,
		.dst = dst,
		.payload = bytes,
		.type = pkt->type,
		.path = pkt->path,
		/* An answer echoes the request's values, which may be any. */
		.tni = pkt->src_tni % TOFU_TNIS_MAX,
		.cq = (uint8_t)(pkt->src_cq % tofu_packet_cqs(pkt->type)),
	};

	if (record) {
		memcpy(record, pkt, sizeof(*pkt) + bytes);
		tofu_fabric_tx_commit(v->node->fabric);
	}
	tofu_parcel_own(v, tofu_clock_append(&v->clock, &entry), &entry);
}

static void hold(struct tofu_virtual *v)
{
	struct tofu_held *held = malloc(sizeof(*held) + v->bytes);

	if (!held) {
		tofu_node_misuse(v->node, "no memory: a packet is lost");
		return;
	}
	held->next = NULL;
	held->dst = v->dst;
	held->bytes = v->bytes;
	held->class_ = v->class_;
	memcpy(&held->packet, &v->packet, sizeof(v->packet) + v->bytes);
	*(v->held ? v->held_end : &v->held) = held;
	v->held_end = &held->next;
}

static void host_tx_commit(void *host)
{
	struct tofu_node *node = host;
	struct tofu_virtual *v = node->virtual;

	if (v->record)
		publish(v, v->record, &v->packet, v->dst, v->bytes);
	else
		hold(v);
}

void tofu_held_send(struct tofu_virtual *v)
{
	struct tofu_held *held;
	struct tofu_packet *record;
	int err;

	if (v->held && ++v->held_turns % TURNS_A_WATCH == 0)
		tofu_fabric_clock_watch(v->node->fabric);
	while ((held = v->held) && tofu_fabric_log_room(v->node->fabric)) {
		err = -EHOSTDOWN;
		record = NULL;
		if (tofu_clock_in(&v->clock, held->dst))
			record = tofu_node_tx_begin(v->node, held->dst,
						    held->class_, held->bytes,
						    &err);
		if (!record && err == -EAGAIN)
			return;
		publish(v, record, &held->packet, held->dst, held->bytes);
		v->held = held->next;
		free(held);
	}
}

uint64_t tofu_held_time(const struct tofu_virtual *v)
{
	return v->held ? v->held->packet.time : UINT64_MAX;
}

void tofu_held_destroy(struct tofu_virtual *v)
{
	struct tofu_held *held;

	while ((held = v->held)) {
		v->held = held->next;
		free(held);
	}
}

static bool host_tx_room(void *host, uint32_t node, enum tofu_class class_)
{
	(void)host;
	(void)node;
	(void)class_;
	return true;
}

/*
 * No packet refers to memory, so a fence has nothing to wait for. When a
 * receiver empties its ring depends on the host and must not matter.
 */
static void host_fence_begin(void *host)
{
	(void)host;
}

static bool host_fence_done(void *host)
{
	(void)host;
	return true;
}

/* The interrupt wakes a sleeping processor, which may act from now on. */
static void host_irq(void *host, unsigned int vector)
{
	struct tofu_node *node = host;
	struct tofu_virtual *v = node->virtual;

	v->busy = tofu_min64(v->busy, tofu_virtual_now(v));
	node->ops->irq(node->home, vector);
}

static uint64_t host_now(void *host)
{
	return tofu_virtual_now(((struct tofu_node *)host)->virtual);
}

static void host_trace(void *host, const struct icc_trace *trace)
{
	tofu_virtual_trace(((struct tofu_node *)host)->virtual, trace);
}

const struct icc_host_ops tofu_virtual_host_ops = {
	.read = tofu_memory_read,
	.write = tofu_memory_write,
	.write_ordered = tofu_memory_write_ordered,
	.store64 = tofu_memory_store64,
	.armw = tofu_memory_armw,
	.pull = tofu_memory_pull,
	.pull_ordered = tofu_memory_pull_ordered,
	.tx_begin = host_tx_begin,
	.tx_commit = host_tx_commit,
	.tx_room = host_tx_room,
	.fence_begin = host_fence_begin,
	.fence_done = host_fence_done,
	.irq = host_irq,
	.misuse = tofu_node_misuse,
	.now = host_now,
	.trace = host_trace,
};
