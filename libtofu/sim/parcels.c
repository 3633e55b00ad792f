/* SPDX-License-Identifier: MIT */
#include "sim/parcels.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define PS 1000ULL

enum kind {
	PACKET,
	CREDIT,
};

/**
 * struct entry - what is next in a message
 * @kind: enum kind
 * @node: where it goes
 */
struct entry {
	uint32_t kind;
	uint32_t node;
};

/**
 * struct packet - follows the entry of a PACKET; then comes its payload, padded
 *                 to ALIGN
 * @ps:   when its head reaches the node
 * @seq:  of the sender
 * @dst:  of the packet
 * @at:   links that its head has begun to cross
 */
struct packet {
	uint64_t ps;
	uint64_t seq;
	uint32_t dst;
	uint32_t at;
	struct tofu_packet pkt;
};

#define ALIGN 8UL

static size_t padded(size_t bytes)
{
	return (bytes + ALIGN - 1) & ~(ALIGN - 1);
}

/* ---- Write ---- */

static int make_room(struct sim_bytes *bytes, size_t more)
{
	const size_t need = bytes->used + more;

	if (need > INT_MAX)
		return -EMSGSIZE;
	return sim_bytes_need(bytes, need) ? 0 : -ENOMEM;
}

int sim_parcel_clear(struct sim_parcel *parcel)
{
	int err;

	parcel->out.used = 0;
	err = make_room(&parcel->out, sizeof(struct sim_vote));
	if (!err)
		parcel->out.used = sizeof(struct sim_vote);
	return err;
}

static void put(struct sim_bytes *out, const void *from, size_t bytes)
{
	memcpy(out->at + out->used, from, bytes);
	out->used += bytes;
}

int sim_parcel_add(struct sim_parcel *parcel, uint32_t node,
		   const struct tofu_net_packet *packet, uint64_t ps,
		   unsigned int at)
{
	const struct sim_mail *mail = packet->cookie;
	const struct entry entry = { .kind = PACKET, .node = node };
	const struct packet of = {
		.ps = ps,
		.seq = packet->seq,
		.dst = packet->dst,
		.at = at,
		.pkt = mail->pkt,
	};
	struct sim_bytes *out = &parcel->out;
	const uint32_t carried = tofu_packet_carried(&mail->pkt);
	int err = make_room(out, sizeof(entry) + sizeof(of) + padded(carried));

	if (err)
		return err;
	put(out, &entry, sizeof(entry));
	put(out, &of, sizeof(of));
	put(out, mail->payload, carried);
	out->used += padded(carried) - carried;
	return 0;
}

int sim_parcel_add_credit(struct sim_parcel *parcel,
			  const struct tofu_net_credit *credit)
{
	const struct entry entry = { .kind = CREDIT, .node = credit->node };
	struct sim_bytes *out = &parcel->out;
	int err = make_room(out, sizeof(entry) + sizeof(*credit));

	if (err)
		return err;
	put(out, &entry, sizeof(entry));
	put(out, credit, sizeof(*credit));
	return 0;
}

void sim_parcel_sign(struct sim_parcel *parcel, const struct sim_vote *vote)
{
	memcpy(parcel->out.at, vote, sizeof(*vote));
}

/* ---- Read ---- */

/* struct reader - what is left of a message */
struct reader {
	const uint8_t *at;
	size_t left;
};

static bool get(struct reader *reader, void *to, size_t bytes)
{
	if (reader->left < bytes)
		return false;
	memcpy(to, reader->at, bytes);
	reader->at += bytes;
	reader->left -= bytes;
	return true;
}

/* Nothing reaches a node in the window in which it was sent. */
static bool is_timely(const struct sim *sim, uint64_t ps)
{
	return ps / PS >= sim->until && ps <= INT64_MAX;
}

static int go_on(struct sim *sim, uint32_t node, const struct packet *of,
		 struct sim_mail *mail)
{
	const struct tofu_net_packet packet = {
		.time = of->pkt.time,
		.src = of->pkt.src,
		.dst = of->dst,
		.seq = of->seq,
		.path = of->pkt.path,
		.class_ = (uint8_t)tofu_class_of(of->pkt.type),
		.taker = tofu_packet_engine(of->pkt.type, of->pkt.dst_tni),
		.payload = of->pkt.payload,
		.cookie = mail,
	};
	int err = tofu_net_enter(sim->net, &packet, node, of->ps, of->at);

	if (!err)
		sim_touch(sim, node, of->ps / PS);
	return err == -EINVAL ? -EPROTO : err;
}

static int take_packet(struct sim *sim, uint32_t node, struct reader *reader)
{
	struct packet of;
	struct sim_mail *mail;
	uint8_t padding[ALIGN];
	uint32_t carried;
	int err;

	if (!get(reader, &of, sizeof(of)) || !is_timely(sim, of.ps) ||
	    of.pkt.payload > TOFU_PKT_MTU_MAX)
		return -EPROTO;
	carried = tofu_packet_carried(&of.pkt);
	mail = sim_mail_new(sim, carried);
	if (!mail)
		return -ENOMEM;
	mail->to = of.dst;
	mail->pkt = of.pkt;
	if (!get(reader, mail->payload, carried) ||
	    !get(reader, padding, padded(carried) - carried))
		err = -EPROTO;
	else
		err = go_on(sim, node, &of, mail);
	if (err)
		sim_mail_free(sim, mail);
	return err;
}

static int take_credit(struct sim *sim, uint32_t node, struct reader *reader)
{
	struct tofu_net_credit credit;

	if (!get(reader, &credit, sizeof(credit)) || credit.node != node ||
	    !is_timely(sim, credit.ps) ||
	    tofu_net_credit(sim->net, &credit))
		return -EPROTO;
	sim_touch(sim, node, credit.ps / PS);
	return 0;
}

static int take(struct sim *sim, struct reader *reader)
{
	struct entry entry;

	if (!get(reader, &entry, sizeof(entry)))
		return -EPROTO;
	switch (entry.kind) {
	case PACKET:
		return take_packet(sim, entry.node, reader);
	case CREDIT:
		return take_credit(sim, entry.node, reader);
	default:
		return -EPROTO;
	}
}

int sim_parcel_open(struct sim *sim, const struct sim_parcel *parcel,
		    struct sim_vote *vote)
{
	struct reader reader = { parcel->in.at, parcel->in.used };
	int err = 0;

	if (!get(&reader, vote, sizeof(*vote)))
		return -EPROTO;
	while (!err && reader.left)
		err = take(sim, &reader);
	return err;
}

/* ---- Votes ---- */

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void sim_vote_count(struct sim_vote *vote, const struct sim_vote *other)
{
	if (other->next < vote->next)
		vote->next = other->next;
	vote->event = larger(vote->event, other->event);
	vote->running = larger(vote->running, other->running);
	vote->stop = larger(vote->stop, other->stop);
}
