/* SPDX-License-Identifier: MIT */
/*
 * Services for the controller in virtual time, where they differ from host.c: a
 * packet waits until it can be sent, and gets an entry in this node's log.
 *
 * Waiting for room must not happen inside the controller, where the home has
 * its locks and cannot be stopped, and another node may stand still for any
 * time. So the controller handles no entry of its calendar before there is room
 * for all that it can send to each node, and the node waits at its horizon. Time
 * stands still in both places, so no time depends on where it waits.
 */
#define _GNU_SOURCE
#include "node/virtual.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Turns of waiting between two checks whether peers live. */
#define TURNS_A_WATCH 64

/* An entry of the calendar sends a packet, or the signals of gates of a TNI. */
#define ENTRY_PACKETS TOFU_GATES

/* ---- Room for what comes next ---- */

/* Note that the next packet to a node may find its ring full. */
static void note_room(struct tofu_virtual *v, uint32_t dst,
		      enum tofu_class class_)
{
	if (!tofu_fabric_tx_room(v->node->fabric, dst, class_))
		v->full[class_][dst / 64] |= 1ULL << dst % 64;
}

/* Whether all nodes of a word of @full have room again. */
static bool have_room(struct tofu_virtual *v, enum tofu_class class_,
		      uint32_t word)
{
	uint64_t *full = &v->full[class_][word];

	while (*full) {
		const uint32_t bit = (uint32_t)__builtin_ctzll(*full);

		if (!tofu_fabric_tx_room(v->node->fabric, word * 64 + bit,
					 class_))
			return false;
		*full &= *full - 1;
	}
	return true;
}

static bool all_have_room(struct tofu_virtual *v)
{
	const uint32_t nodes = v->node->fabric->nodes;

	if (!tofu_fabric_log_room(v->node->fabric, ENTRY_PACKETS))
		return false;
	for (uint32_t word = 0; word * 64 < nodes; word++) {
		if (!have_room(v, TOFU_REQUEST, word) ||
		    !have_room(v, TOFU_RESPONSE, word))
			return false;
	}
	return true;
}

static bool host_ready(void *host)
{
	struct tofu_virtual *v = ((struct tofu_node *)host)->virtual;

	v->held_up = !all_have_room(v);
	return !v->held_up;
}

/* ---- Packets out ---- */

/*
 * Wait inside the controller for room that host_ready() did not see. No entry of
 * the calendar needs it; should one, a delay is better than the loss of a
 * packet. Meanwhile this node takes what others have sent, since they may wait
 * for that.
 */
static void wait_inside(struct tofu_virtual *v, unsigned int turn)
{
	if (turn % TURNS_A_WATCH == TURNS_A_WATCH - 1)
		tofu_fabric_clock_watch(v->node->fabric);
	tofu_clock_look(&v->clock);
	tofu_node_wait(v->node, turn);
}

static struct tofu_packet *host_tx_begin(void *host, uint32_t dst,
					 enum tofu_class class_, size_t payload,
					 int *err)
{
	struct tofu_node *node = host;
	struct tofu_virtual *v = node->virtual;

	for (unsigned int turn = 0; !tofu_fabric_log_room(node->fabric, 1);
	     turn++)
		wait_inside(v, turn);
	for (unsigned int turn = 0;; turn++) {
		if (!tofu_clock_in(&v->clock, dst)) {
			*err = -EHOSTDOWN;
			return NULL;
		}
		v->record = tofu_node_tx_begin(node, dst, class_, payload, err);
		if (v->record) {
			v->dst = dst;
			v->class_ = class_;
			v->bytes = (uint32_t)payload;
			return &v->packet;
		}
		if (*err != -EAGAIN)
			return NULL;
		wait_inside(v, turn);
	}
}

static void host_tx_commit(void *host)
{
	struct tofu_node *node = host;
	struct tofu_virtual *v = node->virtual;
	const struct tofu_packet *pkt = &v->packet;
	const struct tofu_log_entry entry = {
		.time = pkt->time,
		.tid = pkt->tid,
		.dst = v->dst,
		.payload = v->bytes,
		.type = pkt->type,
		.path = pkt->path,
		/* An answer echoes the request's values, which may be any. */
		.tni = pkt->src_tni % TOFU_TNIS_MAX,
		.cq = (uint8_t)(pkt->src_cq % tofu_packet_cqs(pkt->type)),
		.taker = pkt->dst_tni % TOFU_TNIS_MAX,
	};

	/* An error of the model, by which others would see other times. */
	if (pkt->time < v->promised)
		tofu_node_misuse(node,
				 "a packet enters the network at %" PRIu64
				 " ns, before the promise of %" PRIu64 " ns",
				 pkt->time, v->promised);
	memcpy(v->record, pkt, sizeof(*pkt) + entry.payload);
	tofu_fabric_tx_commit(node->fabric);
	tofu_parcel_own(v, tofu_clock_append(&v->clock, &entry), &entry);
	note_room(v, v->dst, v->class_);
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
	.ready = host_ready,
	.fence_begin = host_fence_begin,
	.fence_done = host_fence_done,
	.irq = host_irq,
	.misuse = tofu_node_misuse,
	.now = host_now,
	.trace = host_trace,
};
