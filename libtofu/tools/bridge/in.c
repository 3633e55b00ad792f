/* SPDX-License-Identifier: MIT */
/*
 * Packets from another host, out of messages, into rings. Small ones go there at
 * once; others wait for the rest of their data, for room, or for those that come
 * before them by the other connection. Data stay in the message until the local
 * node has read them.
 *
 * Nothing of a message is believed. What cannot be is said, and ends the
 * connection. What is about an earlier life of a node is dropped: that is usual.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"

/* Give credits back when they are a good part of the window. */
#define OWED_MANY (BRIDGE_WINDOW / 4)

/* Where references lead that stand for data which could not be read */
#define NOWHERE (UINT64_MAX / 2)

const char bridge_no_memory[] = "there is no memory for what it sends, or gets";

/* ---- Queues ---- */

static void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static void queue_add(struct queue *queue, struct parcel *parcel)
{
	parcel->next = NULL;
	*queue->last = parcel;
	queue->last = &parcel->next;
	queue->number = parcel->number;
}

static struct parcel *queue_take(struct queue *queue)
{
	struct parcel *parcel = queue->first;

	queue->first = parcel->next;
	if (!queue->first)
		queue->last = &queue->first;
	return parcel;
}

static void parcel_drop(struct parcel *parcel, void (*put)(struct buffer *buffer))
{
	for (unsigned int i = 0; i < parcel->pieces; i++)
		if (parcel->piece[i].buffer)
			put(parcel->piece[i].buffer);
	free(parcel);
}

static void parcel_free(struct parcel *parcel)
{
	parcel_drop(parcel, pool_put);
}

void in_reset(struct in *in)
{
	if (in->arriving)
		parcel_free(in->arriving);
	for (int c = 0; c < TOFU_CLASSES; c++)
		while (in->waiting[c].first)
			parcel_free(queue_take(&in->waiting[c]));
	/* Somebody may be reading. */
	while (in->held.first)
		parcel_drop(queue_take(&in->held), pool_put_late);
	*in = (struct in){ 0 };
	for (int c = 0; c < TOFU_CLASSES; c++)
		queue_init(&in->waiting[c]);
	queue_init(&in->held);
}

void in_activate(struct bridge *bridge, struct pair *pair)
{
	if (pair->active)
		return;
	pair->active = true;
	pair->next = bridge->active;
	bridge->active = pair;
}

/* ---- Into rings ---- */

static void owe(struct in *in, uint32_t bytes)
{
	in->owed += bytes;
}

/*
 * Packets of a class are in the order of their numbers. Answers to a node's own
 * requests come before what it sends later.
 */
static bool in_order(const struct pair *pair, enum tofu_class class_,
		     uint32_t number, uint32_t after)
{
	return number == pair->in[class_].count &&
	       (class_ == TOFU_RESPONSE ||
		(int32_t)(pair->in[TOFU_RESPONSE].count - after) >= 0);
}

bool in_waits(const struct in *in)
{
	return in->waiting[TOFU_REQUEST].first ||
	       in->waiting[TOFU_RESPONSE].first;
}

/* Room in the ring for a packet. Return: NULL with *@err as of tx_begin() */
static void *begin(struct proxy *proxy, const struct pair *pair,
		   const struct tofu_packet *packet, uint32_t payload, int *err)
{
	struct tofu_packet *to;

	if (!proxy->fabric) {
		*err = -EHOSTDOWN;
		return NULL;
	}
	to = tofu_fabric_tx_begin(proxy->fabric, pair->local,
				  tofu_class_of(packet->type), payload, err);
	if (!to)
		return NULL;
	*to = *packet;
	return to + 1;
}

/*
 * After a failure: whether to try again. A node that is another by now needs no packet
 * of its predecessor. What cannot be delivered to one that lives must not be lost
 * without a word: then the host is given up, and its commands end with PEER.
 */
static bool try_again(struct proxy *proxy, uint32_t local, int err)
{
	struct bridge *bridge = proxy->link->bridge;
	char lack[TOFU_FABRIC_LACK_TEXT] = "it does not take any";

	if (err == -EAGAIN || !proxy->fabric)
		return true;
	if (tofu_fabric_generation(bridge->watch, local) !=
	    bridge_local(bridge, local)->gen)
		return false;
	tofu_fabric_lack(proxy->fabric, err, lack);
	if (proxy->link->stream[TOFU_REQUEST])
		stream_fail(proxy->link->stream[TOFU_REQUEST],
			    "packets for node %u cannot be delivered: %s",
			    local, lack);
	return true;
}

static void write_refs(const struct parcel *parcel, struct tofu_ref *ref)
{
	for (unsigned int i = 0; i < parcel->pieces; i++) {
		const struct piece *piece = &parcel->piece[i];

		ref[i].addr = piece->buffer ? piece->offset : NOWHERE;
		ref[i].len = piece->bytes;
	}
}

static uint32_t ring_payload(const struct parcel *parcel)
{
	return parcel->packet.flags & TOFU_PKT_F_REFS ?
		       parcel->pieces * (uint32_t)sizeof(struct tofu_ref) :
		       parcel->packet.payload;
}

/* Return: 0 when it is in the ring or lost, or -EAGAIN */
static int deliver(struct proxy *proxy, struct pair *pair,
		   struct parcel *parcel)
{
	const enum tofu_class class_ = tofu_class_of(parcel->packet.type);
	const bool refs = parcel->packet.flags & TOFU_PKT_F_REFS;
	struct in *in = &pair->in[class_];
	void *to;
	int err;

	if (!in_order(pair, class_, parcel->number, parcel->after))
		return -EAGAIN;
	to = begin(proxy, pair, &parcel->packet, ring_payload(parcel), &err);
	if (!to) {
		if (try_again(proxy, pair->local, err))
			return -EAGAIN;
		owe(in, parcel->cost);
		in->count++;
		parcel_free(parcel);
		return 0;
	}
	if (refs)
		write_refs(parcel, to);
	else
		memcpy(to, parcel_data(parcel), parcel->packet.payload);
	tofu_fabric_tx_commit(proxy->fabric);
	in->count++;
	if (!refs) {
		owe(in, parcel->cost);
		parcel_free(parcel);
		return 0;
	}
	parcel->position = tofu_fabric_tx_position(proxy->fabric, pair->local,
						   class_);
	queue_add(&in->held, parcel);
	return 0;
}

/* ---- Packets ---- */

/**
 * struct arrival - a frame about a packet
 * @way:   the connection by which it came
 * @more:  data in it
 * @bytes: of them
 */
struct arrival {
	struct proxy *proxy;
	struct pair *pair;
	struct in *in;
	enum tofu_class way;
	const struct bridge_frame *frame;
	struct buffer *buffer;
	const uint8_t *more;
	uint32_t bytes;
};

/* Take the data of the frame, of which the packet has @left at least. */
static bool add_piece(struct parcel *parcel, const struct arrival *a)
{
	const bool lost = a->frame->flags & BRIDGE_F_LOST;
	const uint32_t left = parcel->packet.length - parcel->have;
	struct piece *piece = &parcel->piece[parcel->pieces];

	/* A parcel has room for so many pieces, and buffers should not be many. */
	if (lost ? a->bytes != 0 :
		   a->bytes > left ||
			   (a->bytes < left && a->bytes < BRIDGE_PIECE))
		return false;
	*piece = (struct piece){ .bytes = lost ? left : a->bytes };
	if (!lost) {
		piece->buffer = a->buffer;
		piece->offset = a->buffer->offset +
				(uint64_t)(a->more - a->buffer->data);
		a->buffer->users++;
	}
	parcel->have += piece->bytes;
	parcel->pieces++;
	return true;
}

/* Return: whether one has gone */
static bool deliver_first(struct proxy *proxy, struct pair *pair,
			  struct queue *waiting)
{
	struct parcel *parcel = waiting->first;
	struct parcel *next = parcel ? parcel->next : NULL;

	if (!parcel || deliver(proxy, pair, parcel))
		return false;
	waiting->first = next;
	if (!next)
		waiting->last = &waiting->first;
	return true;
}

static bool deliver_waiting(struct proxy *proxy, struct pair *pair,
			    struct in *in)
{
	bool work = false;

	while (deliver_first(proxy, pair, &in->waiting[TOFU_REQUEST]) ||
	       deliver_first(proxy, pair, &in->waiting[TOFU_RESPONSE]))
		work = true;
	return work;
}

/* A packet that is whole goes where others of its connection are, or on. */
static void complete(const struct arrival *a, struct parcel *parcel)
{
	struct link *link = a->proxy->link;

	link->bridge->busy = true;
	link->packets[0]++;
	link->bytes[0] += parcel->packet.flags & TOFU_PKT_F_REFS ?
				  parcel->packet.length :
				  parcel->packet.payload;
	queue_add(&a->in->waiting[a->way], parcel);
	deliver_waiting(a->proxy, a->pair, a->in);
	if (in_waits(a->in) || a->in->held.first || a->in->owed >= OWED_MANY)
		in_activate(link->bridge, a->pair);
}

/* Most packets: no references, and room in the ring. Saves a parcel. */
static bool deliver_now(const struct arrival *a,
			const struct tofu_packet *packet)
{
	struct link *link = a->proxy->link;
	void *to;
	int err;

	if (in_waits(a->in) ||
	    !in_order(a->pair, tofu_class_of(packet->type), a->frame->number,
		      a->frame->after))
		return false;
	to = begin(a->proxy, a->pair, packet, packet->payload, &err);
	if (!to)
		return false;
	memcpy(to, a->more, packet->payload);
	tofu_fabric_tx_commit(a->proxy->fabric);
	a->in->count++;
	owe(a->in, bridge_cost(packet));
	link->bridge->busy = true;
	link->packets[0]++;
	link->bytes[0] += packet->payload;
	if (a->in->owed >= OWED_MANY)
		in_activate(link->bridge, a->pair);
	return true;
}

/*
 * Whether a connection can bring that packet now. Requests between those that it
 * brings may come by the other one.
 */
static bool may_come(const struct arrival *a, const struct tofu_packet *packet,
		     enum tofu_class class_)
{
	const struct queue *waiting = &a->in->waiting[a->way];
	const uint32_t next = waiting->first ? waiting->number + 1 :
					       a->in->count;
	const uint32_t number = a->frame->number;

	if (class_ == TOFU_RESPONSE)
		return a->way == TOFU_RESPONSE && number == next;
	if (a->way == TOFU_RESPONSE && (packet->flags & TOFU_PKT_F_REFS ||
					packet->payload > BRIDGE_SMALL))
		return false;
	return (int32_t)(number - next) >= 0;
}

/* The most pieces of a packet with references */
static uint32_t pieces_of(const struct tofu_packet *packet)
{
	return packet->length / BRIDGE_PIECE + 1;
}

/* Return: what is wrong with it, or NULL */
static const char *take_packet(struct arrival *a)
{
	struct tofu_packet packet;
	struct parcel *parcel;
	enum tofu_class class_;
	bool refs;

	if (a->bytes < sizeof(packet))
		return "a packet without its head";
	memcpy(&packet, a->more, sizeof(packet));
	a->more += sizeof(packet);
	a->bytes -= (uint32_t)sizeof(packet);
	refs = packet.flags & TOFU_PKT_F_REFS;
	class_ = tofu_class_of(packet.type);
	a->in = &a->pair->in[class_];
	if (packet.src != a->frame->src || !may_come(a, &packet, class_))
		return "a packet of another node or class, or out of order";
	if (a->in->arriving && a->way == class_)
		return "a packet within another";
	if (a->in->used > BRIDGE_WINDOW + TOFU_LENGTH_MAX)
		return "more than there are credits for";
	if (packet.payload > (refs ? TOFU_PKT_REFS_MAX * sizeof(struct tofu_ref) :
				     TOFU_PKT_INLINE_MAX) ||
	    (refs ? !packet.length || packet.length > TOFU_LENGTH_MAX :
		    packet.payload != a->bytes))
		return "a packet of a wrong size";
	a->in->used += bridge_cost(&packet);
	if (!refs && deliver_now(a, &packet))
		return NULL;
	parcel = calloc(1, sizeof(*parcel) +
				   (refs ? pieces_of(&packet) *
						   sizeof(parcel->piece[0]) :
					   packet.payload));
	if (!parcel)
		return bridge_no_memory;
	parcel->packet = packet;
	parcel->after = a->frame->after;
	parcel->number = a->frame->number;
	parcel->cost = bridge_cost(&packet);
	if (!refs) {
		memcpy(parcel_data(parcel), a->more, packet.payload);
		complete(a, parcel);
		return NULL;
	}
	a->in->arriving = parcel;
	if (!add_piece(parcel, a))
		return "data of a wrong size";
	if (parcel->have == packet.length) {
		a->in->arriving = NULL;
		complete(a, parcel);
	}
	return NULL;
}

static const char *take_chunk(const struct arrival *a)
{
	struct parcel *parcel = a->in->arriving;

	if (!parcel || !add_piece(parcel, a))
		return "data of no packet, or too many";
	if (parcel->have == parcel->packet.length) {
		a->in->arriving = NULL;
		complete(a, parcel);
	}
	return NULL;
}

/* Whether a frame is about both nodes as they are now. */
static bool is_current(struct bridge *bridge, const struct proxy *proxy,
		       const struct bridge_frame *frame)
{
	return proxy->gen && frame->src_gen == proxy->gen &&
	       frame->dst_gen == bridge_local(bridge, frame->dst)->gen &&
	       tofu_fabric_generation(bridge->watch, frame->dst) ==
		       frame->dst_gen;
}

static const char *take_data(struct stream *stream, struct buffer *buffer,
			     const struct bridge_frame *frame)
{
	struct bridge *bridge = stream->bridge;
	struct arrival a = {
		.way = stream->class_,
		.frame = frame,
		.buffer = buffer,
		.more = (const uint8_t *)(frame + 1),
		.bytes = frame->bytes - (uint32_t)sizeof(*frame),
	};

	if (!bridge_is_local(bridge, frame->dst))
		return "a packet for a node that is not here";
	a.proxy = &bridge->proxy[frame->src];
	if (!is_current(bridge, a.proxy, frame))
		return NULL;
	a.pair = proxy_pair(a.proxy, frame->dst);
	if (!a.pair)
		return bridge_no_memory;
	a.in = &a.pair->in[stream->class_];
	return frame->type == BRIDGE_PACKET ? take_packet(&a) : take_chunk(&a);
}

/* ---- Other frames ---- */

/* From @src, which is here, to @dst, which is there. */
static const char *take_credit(struct stream *stream,
			       const struct bridge_frame *frame,
			       const struct bridge_credit *credit)
{
	struct bridge *bridge = stream->bridge;
	const struct proxy *proxy;
	struct pair *pair;
	struct out *out;

	if (!bridge_is_local(bridge, frame->src) ||
	    frame->dst - stream->link->host->first >= stream->link->host->nodes ||
	    credit->packets >= TOFU_CLASSES)
		return "a credit of nobody";
	proxy = &bridge->proxy[frame->dst];
	if (frame->dst_gen != proxy->gen ||
	    frame->src_gen != bridge_local(bridge, frame->src)->gen)
		return NULL;
	pair = proxy->pair[frame->src - bridge->host->first];
	out = pair ? &pair->out[credit->packets] : NULL;
	if (!out || credit->bytes > out->used)
		return "more credits than were used";
	out->used -= credit->bytes;
	return NULL;
}

static const char *take_life(struct stream *stream,
			     const struct bridge_frame *frame)
{
	struct proxy *proxy = &stream->bridge->proxy[frame->src];

	if (!frame->src_gen)
		return "a node without a life";
	/* The other connection may have told it before, and its end as well. */
	if (frame->type == BRIDGE_UP) {
		if ((int32_t)(frame->src_gen - proxy->last) > 0)
			proxy_up(proxy, frame->src_gen);
		return NULL;
	}
	/*
	 * With the connection of responses: those that it sent before count. Its
	 * requests do not, after its end.
	 */
	if (stream->class_ == TOFU_RESPONSE && proxy->gen == frame->src_gen)
		proxy_end(proxy);
	return NULL;
}

static void answer_ping(struct stream *stream, const struct bridge_ping *ping)
{
	const uint32_t bytes = sizeof(struct bridge_frame) + sizeof(*ping);
	struct bridge_frame *frame = stream_put(stream, bytes, bytes);

	/* Where there is no room there is traffic, which is a sign, too. */
	if (!frame)
		return;
	frame->type = BRIDGE_PONG;
	memcpy(frame + 1, ping, sizeof(*ping));
}

static void take_pong(struct link *link, const struct bridge_ping *ping)
{
	const uint64_t past = bridge_now_us() - ping->time;

	link->rtt_us = past < UINT32_MAX ? (uint32_t)past : UINT32_MAX;
}

/* Bytes that a frame has behind its head; UINT32_MAX: any */
static uint32_t body_bytes(unsigned int type)
{
	switch (type) {
	case BRIDGE_CREDIT:
		return sizeof(struct bridge_credit);
	case BRIDGE_STATE:
		return sizeof(struct bridge_state);
	case BRIDGE_WORDS:
		return sizeof(struct bridge_words);
	case BRIDGE_PING:
	case BRIDGE_PONG:
		return sizeof(struct bridge_ping);
	case BRIDGE_UP:
	case BRIDGE_DOWN:
	case BRIDGE_BYE:
		return 0;
	default:
		return UINT32_MAX;
	}
}

/* ---- Frames ---- */

static const char *take_frame(struct stream *stream, struct buffer *buffer,
			      const struct bridge_frame *frame)
{
	const uint32_t body = body_bytes(frame->type);
	const struct tofu_host *host = stream->link->host;

	if (body != UINT32_MAX && frame->bytes != sizeof(*frame) + body)
		return "a frame of a wrong size";
	switch (frame->type) {
	case BRIDGE_PING:
		answer_ping(stream, (const void *)(frame + 1));
		return NULL;
	case BRIDGE_PONG:
		take_pong(stream->link, (const void *)(frame + 1));
		return NULL;
	case BRIDGE_BYE:
		/* With the second one all has come. */
		if (stream->link->leaves)
			stream->state = STREAM_DEAD;
		stream->link->leaves = true;
		return NULL;
	case BRIDGE_CREDIT:
		return take_credit(stream, frame, (const void *)(frame + 1));
	case BRIDGE_PACKET:
	case BRIDGE_CHUNK:
	case BRIDGE_UP:
	case BRIDGE_DOWN:
	case BRIDGE_STATE:
	case BRIDGE_ENTRY:
	case BRIDGE_WORDS:
		break;
	default:
		return "a frame of no known type";
	}
	if (frame->src - host->first >= host->nodes)
		return "a frame of a node that is not there";
	if (frame->type == BRIDGE_PACKET || frame->type == BRIDGE_CHUNK)
		return take_data(stream, buffer, frame);
	if (frame->type == BRIDGE_UP || frame->type == BRIDGE_DOWN)
		return take_life(stream, frame);
	return clock_take(stream, frame);
}

void in_message(struct stream *stream, struct buffer *buffer, size_t bytes)
{
	size_t at = 0;

	while (at < bytes && stream->state == STREAM_OPEN) {
		const struct bridge_frame *frame =
			(const void *)(buffer->data + at);
		const char *wrong = "a frame that does not end";

		if (bytes - at >= sizeof(*frame) &&
		    frame->bytes >= sizeof(*frame) &&
		    frame->bytes <= bytes - at)
			wrong = take_frame(stream, buffer, frame);
		if (wrong) {
			stream_fail(stream,
				    wrong == bridge_no_memory ?
					    "%s" :
					    "it sends nonsense: %s",
				    wrong);
			return;
		}
		at += bridge_round(frame->bytes);
	}
}

/* ---- What waits ---- */

static bool release(struct proxy *proxy, struct pair *pair,
		    enum tofu_class class_)
{
	struct in *in = &pair->in[class_];
	bool work = false;

	while (in->held.first &&
	       tofu_fabric_tx_passed(proxy->fabric, pair->local, class_,
				     in->held.first->position)) {
		owe(in, in->held.first->cost);
		parcel_free(queue_take(&in->held));
		work = true;
	}
	return work;
}

/* By the connection of responses, where they wait for the least. */
static void give_credits(struct proxy *proxy, struct pair *pair,
			 enum tofu_class class_)
{
	const uint32_t bytes =
		sizeof(struct bridge_frame) + sizeof(struct bridge_credit);
	struct bridge *bridge = proxy->link->bridge;
	struct stream *stream = proxy->link->stream[TOFU_RESPONSE];
	struct in *in = &pair->in[class_];
	struct bridge_frame *frame;

	if (in->owed < OWED_MANY || !stream)
		return;
	frame = stream_put(stream, bytes, bytes);
	if (!frame)
		return;
	frame->type = BRIDGE_CREDIT;
	frame->src = pair->remote;
	frame->dst = pair->local;
	frame->src_gen = proxy->gen;
	frame->dst_gen = bridge_local(bridge, pair->local)->gen;
	*(struct bridge_credit *)(frame + 1) =
		(struct bridge_credit){ .packets = class_, .bytes = in->owed };
	in->used -= in->owed;
	in->owed = 0;
}

static bool is_idle(const struct pair *pair)
{
	for (int c = 0; c < TOFU_CLASSES; c++) {
		const struct in *in = &pair->in[c];

		if (in_waits(in) || in->held.first || in->owed >= OWED_MANY)
			return false;
	}
	return true;
}

static bool pair_progress(struct bridge *bridge, struct pair *pair)
{
	struct proxy *proxy = &bridge->proxy[pair->remote];
	bool work = false;

	/* What waits is for the node as it was, not for its successor. */
	if (tofu_fabric_generation(bridge->watch, pair->local) !=
	    bridge_local(bridge, pair->local)->gen) {
		bridge->rescan = true;
		return false;
	}
	/* Responses first: requests wait for them. */
	for (int c = TOFU_CLASSES - 1; c >= 0 && proxy->fabric; c--) {
		const enum tofu_class class_ = (enum tofu_class)c;

		work |= release(proxy, pair, class_);
		work |= deliver_waiting(proxy, pair, &pair->in[class_]);
		give_credits(proxy, pair, class_);
	}
	return work;
}

bool in_progress(struct bridge *bridge)
{
	struct pair **at = &bridge->active;
	bool work = false;

	while (*at) {
		struct pair *pair = *at;

		work |= pair_progress(bridge, pair);
		if (is_idle(pair)) {
			pair->active = false;
			*at = pair->next;
		} else {
			at = &pair->next;
		}
	}
	return work;
}
