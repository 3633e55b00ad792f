/* SPDX-License-Identifier: MIT */
#include "sim/parcels.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define PS 1000ULL

/**
 * struct entry - a packet in a message; its payload follows, padded to ALIGN
 * @time: ps at which its head reaches @node, or ns at which it arrives there
 * @seq:  of the sender
 * @dst:  of the packet
 * @at:   links that its head has begun to cross; 0: it arrives
 */
struct entry {
	uint64_t time;
	uint64_t seq;
	uint32_t node;
	uint32_t dst;
	uint32_t at;
	uint32_t reserved;
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

int sim_parcel_add(struct sim_parcel *parcel, uint32_t node,
		   const struct tofu_net_packet *packet, uint64_t time,
		   unsigned int at)
{
	const struct sim_mail *mail = packet->cookie;
	const struct entry entry = {
		.time = time,
		.seq = packet->seq,
		.node = node,
		.dst = packet->dst,
		.at = at,
		.pkt = mail->pkt,
	};
	struct sim_bytes *out = &parcel->out;
	const uint32_t carried = tofu_packet_carried(&mail->pkt);
	const size_t bytes = sizeof(entry) + padded(carried);
	int err = make_room(out, bytes);

	if (err)
		return err;
	memcpy(out->at + out->used, &entry, sizeof(entry));
	memcpy(out->at + out->used + sizeof(entry), mail->payload, carried);
	out->used += bytes;
	return 0;
}

void sim_parcel_sign(struct sim_parcel *parcel, const struct sim_vote *vote)
{
	memcpy(parcel->out.at, vote, sizeof(*vote));
}

/* ---- Read ---- */

static int arrive(struct sim *sim, const struct entry *entry,
		  struct sim_mail *mail)
{
	if (entry->node != entry->dst || !sim_node_at(sim, entry->node))
		return -EPROTO;
	sim_deliver(sim, mail, entry->seq, entry->time);
	return 0;
}

static int go_on(struct sim *sim, const struct entry *entry,
		 struct sim_mail *mail)
{
	const struct tofu_net_packet packet = {
		.time = entry->pkt.time,
		.src = entry->pkt.src,
		.dst = entry->dst,
		.seq = entry->seq,
		.path = entry->pkt.path,
		.payload = entry->pkt.payload,
		.cookie = mail,
	};
	int err = tofu_net_enter(sim->net, &packet, entry->node, entry->time,
				 entry->at);

	if (!err)
		sim_touch(sim, entry->node, entry->time / PS);
	return err == -EINVAL ? -EPROTO : err;
}

static int take(struct sim *sim, const struct entry *entry,
		const uint8_t *payload)
{
	const uint32_t carried = tofu_packet_carried(&entry->pkt);
	struct sim_mail *mail = sim_mail_new(sim, carried);
	int err;

	if (!mail)
		return -ENOMEM;
	mail->to = entry->dst;
	mail->pkt = entry->pkt;
	memcpy(mail->payload, payload, carried);
	err = entry->at ? go_on(sim, entry, mail) : arrive(sim, entry, mail);
	if (err)
		sim_mail_free(sim, mail);
	return err;
}

int sim_parcel_open(struct sim *sim, const struct sim_parcel *parcel,
		    struct sim_vote *vote)
{
	const struct sim_bytes *in = &parcel->in;
	size_t at = sizeof(*vote);
	struct entry entry;
	size_t carried;
	int err;

	if (in->used < at)
		return -EPROTO;
	memcpy(vote, in->at, sizeof(*vote));
	while (at < in->used) {
		if (in->used - at < sizeof(entry))
			return -EPROTO;
		memcpy(&entry, in->at + at, sizeof(entry));
		at += sizeof(entry);
		carried = tofu_packet_carried(&entry.pkt);
		if (entry.pkt.payload > TOFU_PKT_MTU_MAX ||
		    in->used - at < padded(carried))
			return -EPROTO;
		err = take(sim, &entry, in->at + at);
		if (err)
			return err;
		at += padded(carried);
	}
	return 0;
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
