/* SPDX-License-Identifier: MIT */
/*
 * Packets from local nodes, out of rings, into messages. Data to which a packet
 * refers are read out of the sender's memory here. A packet that cannot go on
 * stays at the head of its ring, whatever of its data has gone already.
 */
#include <errno.h>
#include <string.h>

#include "bridge/bridge.h"

TOFU_ASSERT(TOFU_LENGTH_MAX / BRIDGE_PIECE + 1 <= TOFU_PKT_REFS_MAX,
	    "a packet's pieces are references");
TOFU_ASSERT(sizeof(struct bridge_frame) + sizeof(struct tofu_packet) +
			    BRIDGE_PIECE <=
		    BRIDGE_MESSAGE,
	    "the least fits a message");

/* struct source - the data of a packet; @refs: in the memory of @packet->src */
struct source {
	struct tofu_fabric *fabric;
	const struct tofu_packet *packet;
	const void *payload;
	bool refs;
	struct tofu_ref ref[TOFU_PKT_REFS_MAX];
	unsigned int count;
};

/* Whether the references are as many bytes as the packet says. */
static bool take_refs(struct source *source)
{
	const struct tofu_packet *packet = source->packet;
	uint64_t left = packet->length;

	source->count = packet->payload / sizeof(source->ref[0]);
	if (packet->payload % sizeof(source->ref[0]) ||
	    source->count > TOFU_PKT_REFS_MAX)
		return false;
	memcpy(source->ref, source->payload, packet->payload);
	for (unsigned int i = 0; i < source->count; i++) {
		if (!source->ref[i].len || source->ref[i].len > left)
			return false;
		left -= source->ref[i].len;
	}
	return !left;
}

/* Copy @bytes from @at on. Return: as tofu_fabric_read() */
static int source_read(const struct source *source, uint32_t at, void *to,
		       uint32_t bytes)
{
	uint8_t *next = to;
	int err = 0;

	if (!source->refs) {
		memcpy(to, (const uint8_t *)source->payload + at, bytes);
		return 0;
	}
	for (unsigned int i = 0; i < source->count && bytes && !err; i++) {
		const struct tofu_ref *ref = &source->ref[i];
		uint64_t some;

		if (at >= ref->len) {
			at -= (uint32_t)ref->len;
			continue;
		}
		some = ref->len - at < bytes ? ref->len - at : bytes;
		err = tofu_fabric_read(source->fabric, source->packet->src,
				       ref->addr + at, next, some);
		next += some;
		bytes -= (uint32_t)some;
		at = 0;
	}
	return err ? err : bytes ? -EFAULT : 0;
}

static uint32_t data_bytes(const struct tofu_packet *packet)
{
	return packet->flags & TOFU_PKT_F_REFS ? packet->length :
						 packet->payload;
}

/* The connection by which a packet goes, or what is left of it */
static enum tofu_class way_of(const struct pair *pair,
			      const struct tofu_packet *packet)
{
	const enum tofu_class class_ = tofu_class_of(packet->type);
	const bool small = !(packet->flags & TOFU_PKT_F_REFS) &&
			   packet->payload <= BRIDGE_SMALL;

	return small && !pair->out[class_].begun ? TOFU_RESPONSE : class_;
}

/*
 * Put the next frame of the packet. Return: 0, -EAGAIN where there is no room, or
 * -EHOSTDOWN where the sender is gone.
 */
static int put_frame(struct pair *pair, struct proxy *proxy,
		     const struct source *source)
{
	const enum tofu_class class_ = tofu_class_of(source->packet->type);
	struct stream *stream =
		proxy->link->stream[way_of(pair, source->packet)];
	struct out *out = &pair->out[class_];
	const uint32_t left = out->bytes - out->done;
	uint32_t head = sizeof(struct bridge_frame);
	struct bridge_frame *frame;
	int err;

	if (!out->begun)
		head += sizeof(*source->packet);
	frame = stream_put(stream,
			   head + (left < BRIDGE_PIECE ? left : BRIDGE_PIECE),
			   head + left);
	if (!frame)
		return -EAGAIN;
	frame->type = out->begun ? BRIDGE_CHUNK : BRIDGE_PACKET;
	frame->src = pair->local;
	frame->dst = pair->remote;
	frame->src_gen = bridge_local(stream->bridge, pair->local)->gen;
	frame->dst_gen = proxy->gen;
	frame->after = pair->out[TOFU_RESPONSE].count;
	frame->number = out->count;
	if (!out->begun)
		memcpy(frame + 1, source->packet, sizeof(*source->packet));
	err = source_read(source, out->done, (uint8_t *)frame + head,
			  frame->bytes - head);
	out->begun = true;
	out->done += frame->bytes - head;
	if (err) {
		stream_cut(stream, frame, head);
		frame->flags = BRIDGE_F_LOST;
		out->done = out->bytes;
	}
	return err == -EHOSTDOWN ? err : 0;
}

/*
 * Whose packet it is: 0: of the life that others know; negative: of an earlier one,
 * which is over; positive: of one that is still to be told.
 */
static int whose(struct proxy *proxy, uint32_t node)
{
	struct bridge *bridge = proxy->link->bridge;
	const struct local *local = bridge_local(bridge, node);
	const uint32_t gen =
		tofu_fabric_peer_generation(proxy->fabric, node);

	if (gen == local->gen)
		return 0;
	if (gen == local->past || gen == local->dead ||
	    (int32_t)(gen - local->gen) < 0)
		return -1;
	bridge->rescan = true;
	return 1;
}

/* Whether the other side knows the node as it is, and there is room for more. */
static bool may_begin(const struct pair *pair, const struct proxy *proxy,
		      const struct tofu_packet *packet)
{
	const struct out *out = &pair->out[tofu_class_of(packet->type)];
	struct link *link = proxy->link;
	struct bridge *bridge = link->bridge;
	const struct local *local = bridge_local(bridge, packet->src);

	if (!proxy->gen || !local->gen ||
	    link->told[way_of(pair, packet)]
		      [packet->src - bridge->host->first] != local->gen)
		return false;
	/*
	 * A packet can be larger than the window. What is used counts a part that
	 * the other side owes and keeps until it is more.
	 */
	if (out->used < BRIDGE_WINDOW / 2 ||
	    out->used + bridge_cost(packet) <= BRIDGE_WINDOW)
		return true;
	link->waits++;
	return false;
}

static void out_begin(struct out *out, const struct tofu_packet *packet)
{
	out->bytes = data_bytes(packet);
	out->cost = bridge_cost(packet);
	out->done = 0;
}

static int pass_packet(struct proxy *proxy, const struct tofu_packet *packet,
		       const void *payload)
{
	struct source source = { .fabric = proxy->fabric,
				 .packet = packet,
				 .payload = payload };
	const enum tofu_class class_ = tofu_class_of(packet->type);
	struct link *link = proxy->link;
	struct pair *pair;
	struct out *out;
	int err = 0;

	pair = link->up ? proxy_pair(proxy, packet->src) : NULL;
	if (!pair)
		return -EAGAIN;
	out = &pair->out[class_];
	if (!out->begun && !may_begin(pair, proxy, packet))
		return -EAGAIN;
	if (!out->begun)
		out_begin(out, packet);
	/*
	 * A packet that is not what it was has no data either: the receiver finds
	 * that there are none where they should be.
	 */
	source.refs = packet->flags & TOFU_PKT_F_REFS;
	if (source.refs && !take_refs(&source))
		source.count = 0;
	if (data_bytes(packet) != out->bytes)
		source = (struct source){ .packet = packet, .refs = true };
	do {
		err = put_frame(pair, proxy, &source);
	} while (!err && out->done < out->bytes);
	if (err == -EAGAIN)
		return err;
	out->begun = false;
	out->used += out->cost;
	out->count++;
	link->bridge->busy = true;
	link->packets[1]++;
	link->bytes[1] += out->bytes;
	return 0;
}

int out_packet(struct proxy *proxy, const struct tofu_packet *packet,
	       const void *payload)
{
	struct bridge *bridge = proxy->link->bridge;
	int life, err;

	/* What makes no sense here would not there; and nobody is there any more. */
	if (!bridge_is_local(bridge, packet->src) ||
	    data_bytes(packet) > TOFU_LENGTH_MAX ||
	    (packet->flags & TOFU_PKT_F_REFS && !packet->length) ||
	    proxy->ending)
		return 0;
	life = whose(proxy, packet->src);
	if (life)
		return life < 0 ? 0 : -EAGAIN;
	err = pass_packet(proxy, packet, payload);
	if (err && tofu_class_of(packet->type) == TOFU_RESPONSE)
		bridge_local(bridge, packet->src)->answers = true;
	return err;
}
