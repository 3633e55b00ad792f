// SPDX-License-Identifier: MIT
/*
 * Outgoing records. A record under way has a flight, which keeps its peer's
 * entry and reports to its request, if that still exists.
 */
#include "p2p/internal.h"

#include <string.h>

#include "utofu/work.h"

/* Most records under way to one peer */
#define PEER_RECORDS (P2P_RECORDS / 8)

/* From here on records go only to peers that have none under way. */
#define CROWDED (P2P_RECORDS / 4 * 3)

/*
 * Records for peers that do not read their rings stay here. Neither one such
 * peer nor some of them may keep all.
 */
bool p2p_sender_fits(const struct tofu_p2p *p2p, const struct p2p_peer *peer,
		     size_t bytes)
{
	if (!peer->flying)
		return true;
	return peer->flying < PEER_RECORDS && p2p->out.flying < CROWDED &&
	       peer->flying_bytes + bytes <= p2p->config.pool / 4;
}

/* The same for replies: peers that make no progress do not take them. */
static bool reply_fits(const struct tofu_p2p *p2p, const struct p2p_peer *peer)
{
	return !peer->returning || (peer->returning < PEER_RECORDS &&
				    p2p->back.flying < CROWDED);
}

/* The record has been accepted; as a rule, its command is posted. */
static struct p2p_flight *flight_take(struct tofu_p2p *p2p,
				      struct p2p_sender *sender,
				      struct p2p_peer *peer, uint64_t handle)
{
	struct p2p_flight *flight = sender->free;

	sender->free = flight->next;
	sender->flying++;
	*flight = (struct p2p_flight){
		.peer = peer,
		.handle = handle,
	};
	p2p_peer_pin(p2p, peer);
	return flight;
}

static void flight_give(struct tofu_p2p *p2p, struct p2p_sender *sender,
			struct p2p_flight *flight)
{
	tofu_work(TOFU_WORK_P2P_FLOWN);
	p2p_peer_unpin(p2p, flight->peer);
	flight->peer = NULL;
	flight->next = sender->free;
	sender->free = flight;
	sender->flying--;
}

/* A constant size needs no call. */
static inline void copy(char *to, const void *from, size_t bytes)
{
	if (bytes == sizeof(uint64_t))
		memcpy(to, from, sizeof(uint64_t));
	else if (bytes)
		memcpy(to, from, bytes);
}

static void record_write(const struct p2p_record *record, size_t head, char *to)
{
	copy(to, (const char *)record->head + record->known, head);
	copy(to + head, record->data, record->bytes);
	copy(to + head + record->bytes, record->last, record->last_bytes);
}

/* Out of line, so that longer ones pay nothing for it. */
__attribute__((noinline)) static bool
short_send(struct tofu_srb_sender *sender, struct tofu_srb_single *single,
	   const struct p2p_record *record, size_t head, size_t bytes,
	   void *cbdata)
{
	uint64_t word[TOFU_SRB_EXPRESS / sizeof(uint64_t)] = { 0 };

	record_write(record, head, (char *)word);
	return tofu_srb_express(sender, single, p2p_label(record->head), word,
				bytes, cbdata);
}

static inline int single_send(struct tofu_srb_sender *sender,
			      struct tofu_srb_single *single,
			      const struct p2p_record *record, void *cbdata)
{
	const size_t head = record->head_bytes - record->known;
	const size_t bytes = head + record->bytes + record->last_bytes;
	void *to;
	int code;

	if (bytes <= TOFU_SRB_EXPRESS &&
	    short_send(sender, single, record, head, bytes, cbdata))
		return UTOFU_SUCCESS;
	code = tofu_srb_reserve(sender, single, p2p_label(record->head), bytes,
				&to);
	if (code)
		return code;
	record_write(record, head, to);
	tofu_srb_commit(sender, single, cbdata);
	return UTOFU_SUCCESS;
}

static inline int standing_send(struct tofu_p2p *p2p,
				struct tofu_srb_sender *sender,
				const struct p2p_peer *peer,
				enum p2p_standing_kind kind,
				const struct p2p_record *record, void *cbdata)
{
	struct tofu_srb_single *single =
		&p2p->standing.peer[peer->rank].to[kind];
	int code = UTOFU_SUCCESS;

	if (!single->bytes)
		code = p2p_standing_find(p2p, peer, kind, single);
	return code ? code : single_send(sender, single, record, cbdata);
}

static int shared_send(struct tofu_srb_sender *sender,
		       struct tofu_srb_peer *peer,
		       const struct p2p_record *record, void *cbdata)
{
	const struct iovec part[] = {
		{ (void *)(uintptr_t)record->head, record->head_bytes },
		{ (void *)(uintptr_t)record->data, record->bytes },
		{ (void *)(uintptr_t)record->last, record->last_bytes },
	};

	return tofu_srb_send(sender, peer, part, record->last_bytes ? 3 : 2,
			     cbdata);
}

bool p2p_sender_express(struct tofu_p2p *p2p, struct tofu_srb_single *single,
			uint64_t tag, const void *data, size_t bytes)
{
	const struct p2p_head head = { .kind = P2P_EAGER };
	uint64_t word[TOFU_SRB_EXPRESS / sizeof(tag)] = { tag };

	copy((char *)&word[1], data, bytes);
	return p2p->out.free &&
	       tofu_srb_express(p2p->out.sender, single, p2p_label(&head), word,
				sizeof(tag) + bytes, p2p->out.free);
}

static inline void note(struct tofu_p2p *p2p, struct p2p_peer *peer,
			size_t bytes, uint64_t handle)
{
	flight_take(p2p, &p2p->out, peer, handle)->bytes = bytes;
	peer->flying++;
	peer->flying_bytes += bytes;
}

void p2p_sender_note(struct tofu_p2p *p2p, struct p2p_peer *peer, size_t bytes,
		     uint64_t handle)
{
	note(p2p, peer, bytes, handle);
}

int p2p_sender_send(struct tofu_p2p *p2p, struct p2p_peer *peer,
		    const struct p2p_record *record, uint64_t handle, bool own)
{
	struct p2p_sender *sender = &p2p->out;
	struct p2p_flight *flight = sender->free;
	int code;

	if (!flight)
		return UTOFU_ERR_BUSY;
	tofu_work(TOFU_WORK_P2P_RECORD);
	if (own)
		code = single_send(sender->sender, &peer->own, record, flight);
	else if (p2p->config.standing)
		code = standing_send(p2p, sender->sender, peer,
				     P2P_STANDING_REQUEST, record, flight);
	else
		code = shared_send(sender->sender, &peer->requests, record,
				   flight);
	if (code)
		return code;
	note(p2p, peer, record->head_bytes + record->bytes + record->last_bytes,
	     handle);
	/* No request: the record says that an own ring is left. */
	flight->moved = own && !handle;
	flight->offer = record->head->flags & P2P_OFFER;
	tofu_work(TOFU_WORK_P2P_SENT);
	return UTOFU_SUCCESS;
}

int p2p_sender_reply(struct tofu_p2p *p2p, struct p2p_peer *peer,
		     const struct p2p_reply *reply, uint64_t handle)
{
	const struct p2p_record record = {
		.head = &reply->head,
		.head_bytes = p2p_reply_bytes(reply->head.kind),
		.known = P2P_REPLY_KNOWN,
	};
	struct p2p_sender *sender = &p2p->back;
	struct p2p_flight *flight = sender->free;
	int code;

	if (!flight || !reply_fits(p2p, peer))
		return UTOFU_ERR_BUSY;
	tofu_work(TOFU_WORK_P2P_RECORD);
	code = p2p->config.standing ?
		       standing_send(p2p, sender->sender, peer,
				     P2P_STANDING_REPLY, &record, flight) :
		       shared_send(sender->sender, &peer->replies, &record,
				   flight);
	if (code)
		return code;
	flight_take(p2p, sender, peer, handle)->hello =
		reply->head.kind == P2P_HELLO;
	peer->returning++;
	tofu_work(TOFU_WORK_P2P_SENT);
	return UTOFU_SUCCESS;
}

static void request_flown(struct tofu_p2p *p2p, struct p2p_flight *flight,
			  int code)
{
	struct p2p_peer *peer = flight->peer;

	peer->flying--;
	peer->flying_bytes -= flight->bytes;
	if (flight->moved)
		p2p_send_left(p2p, peer);
	else if (flight->handle && !(flight->offer && !code))
		p2p_send_flown(p2p, flight->handle, code);
	flight_give(p2p, &p2p->out, flight);
}

static void reply_flown(struct tofu_p2p *p2p, struct p2p_flight *flight,
			int code)
{
	flight->peer->returning--;
	if (flight->handle)
		p2p_reply_flown(p2p, flight->handle, flight->hello, code);
	if (code) {
		p2p_ring_gone(p2p, flight->peer);
		p2p_hold_gone(p2p, flight->peer);
	}
	flight_give(p2p, &p2p->back, flight);
}

/* Out of line, so that a turn in vain saves no registers for it. */
__attribute__((noinline)) static int
sender_poll(struct tofu_p2p *p2p, struct p2p_sender *sender,
	    void (*flown)(struct tofu_p2p *p2p, struct p2p_flight *flight,
			  int code))
{
	void *flight;
	int code, result;

	tofu_work(TOFU_WORK_P2P_SENDER);
	while (!(code = tofu_srb_poll(sender->sender, &flight, &result)))
		flown(p2p, flight, result);
	return code == UTOFU_ERR_NOT_FOUND ? UTOFU_SUCCESS : code;
}

int p2p_senders_poll(struct tofu_p2p *p2p)
{
	int code = UTOFU_SUCCESS;

	/* If an idle queue fails, the next record finds out. */
	if (p2p->back.flying)
		code = sender_poll(p2p, &p2p->back, reply_flown);
	if (!code && p2p->out.flying)
		code = sender_poll(p2p, &p2p->out, request_flown);
	return code;
}

static int sender_make(struct p2p_sender *sender, size_t pool)
{
	const struct tofu_srb_sender_params params = {
		.pool = pool,
		.records = P2P_RECORDS,
	};

	for (unsigned int i = 0; i < P2P_RECORDS; i++) {
		sender->flight[i].next = sender->free;
		sender->free = &sender->flight[i];
	}
	return tofu_srb_sender_create_single(sender->vcq, &params,
					     &sender->sender);
}

int p2p_senders_make(struct tofu_p2p *p2p)
{
	int code = sender_make(&p2p->back, P2P_REPLY_POOL);

	return code ? code : sender_make(&p2p->out, p2p->config.pool);
}

void p2p_senders_free(struct tofu_p2p *p2p)
{
	tofu_srb_sender_free(p2p->out.sender);
	tofu_srb_sender_free(p2p->back.sender);
}
