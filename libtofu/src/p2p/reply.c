// SPDX-License-Identifier: MIT
/*
 * Replies, both ways. Incoming replies need no memory: they are about something
 * that is known here, or dropped. Outgoing ones wait at the request or peer
 * that they are about.
 */
#include "p2p/internal.h"

#include <string.h>

#include "utofu/work.h"

/* Most replies taken per turn */
#define TURN 64

/* ---- Outgoing replies ---- */

struct p2p_reply p2p_reply_of(const struct tofu_p2p *p2p, enum p2p_kind kind)
{
	return (struct p2p_reply){
		.head.kind = (uint8_t)kind,
		.head.source = p2p->config.params.rank,
		.slot = P2P_SILENT,
	};
}

void p2p_reply_later(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		     enum p2p_kind kind, bool last)
{
	struct p2p_peer *peer = request->peer;

	request->replies = (uint8_t)kind;
	request->last = last;
	request->state = P2P_REPLYING;
	TAILQ_INSERT_TAIL(&peer->replying, request, link);
	p2p_peer_wake(p2p, peer);
	p2p_reply_push(p2p, peer);
}

static bool request_reply(struct tofu_p2p *p2p, struct p2p_peer *peer,
			  struct tofu_p2p_request *request)
{
	struct p2p_reply reply = p2p_reply_of(p2p, request->replies);
	int code;

	reply.handle = request->message.handle;
	reply.code = request->code;
	reply.slot = request->slot;
	reply.own = p2p_request_handle(request);
	reply.vcq = p2p->data_id;
	reply.stadd = request->local;
	reply.bytes = request->length;
	code = p2p_sender_reply(p2p, peer, &reply, reply.own);
	if (code == UTOFU_ERR_BUSY)
		return false;
	TAILQ_REMOVE(&peer->replying, request, link);
	request->state = P2P_AWAITED;
	if (request->last && request->posted && !code)
		request->state = P2P_TELLING;
	else if (request->last)
		p2p_request_end(p2p, request, request->code);
	else if (code)
		p2p_rendezvous_received(p2p, request, code);
	return true;
}

static bool answer_reply(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_reply reply = p2p_reply_of(p2p, peer->answer);

	p2p_ring_answer(p2p, peer, &reply);
	if (p2p_sender_reply(p2p, peer, &reply, 0) == UTOFU_ERR_BUSY)
		return false;
	peer->answer = 0;
	return true;
}

static bool take_back_reply(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_reply reply = p2p_reply_of(p2p, P2P_BACK);

	if (p2p_sender_reply(p2p, peer, &reply, 0) == UTOFU_ERR_BUSY)
		return false;
	peer->take_back = false;
	return true;
}

static bool took_reply(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_reply reply = p2p_reply_of(p2p, P2P_TAKEN);

	reply.handle = peer->took;
	if (p2p_sender_reply(p2p, peer, &reply, 0) == UTOFU_ERR_BUSY)
		return false;
	peer->took = 0;
	return true;
}

void p2p_reply_took(struct tofu_p2p *p2p, struct p2p_peer *peer, uint64_t handle)
{
	peer->took = handle;
	/* Sent in this turn, for all that are taken in it. */
	p2p_peer_wake(p2p, peer);
}

bool p2p_reply_push(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct tofu_p2p_request *request;

	/* In this order: a ring must be given before it can be taken back. */
	if (peer->answer && !answer_reply(p2p, peer))
		return false;
	if (peer->take_back && !take_back_reply(p2p, peer))
		return false;
	if (peer->took && !took_reply(p2p, peer))
		return false;
	while ((request = TAILQ_FIRST(&peer->replying)))
		if (!request_reply(p2p, peer, request))
			return false;
	return !p2p_hold_replies(peer) || p2p_hold_reply(p2p, peer);
}

/* ---- Peers that are gone ---- */

/* Whether it waits for an action of another process only, and of which. */
static bool waits_for(const struct tofu_p2p_request *request, uint32_t *rank)
{
	*rank = request->message.source;
	switch (request->state) {
	case P2P_QUEUED:
		*rank = request->dest;
		return request->peer->withheld.held ||
		       request->peer->withheld.offered;
	case P2P_OFFERED:
		*rank = request->dest;
		return true;
	case P2P_SENT:
		*rank = request->dest;
		return request->message.kind != P2P_EAGER || request->tells;
	case P2P_POSTED:
		return *rank != TOFU_P2P_ANY_SOURCE;
	default:
		return request->state == P2P_AWAITED;
	}
}

bool p2p_reply_hello(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	struct p2p_reply reply = p2p_reply_of(p2p, P2P_HELLO);
	struct p2p_peer *peer;
	uint32_t rank;

	if (!waits_for(request, &rank) || rank == p2p->config.params.rank ||
	    p2p_peer_get(p2p, rank, &peer))
		return false;
	/* Without room, replies to others are on their way: try next time. */
	p2p_sender_reply(p2p, peer, &reply, p2p_request_handle(request));
	return true;
}

/* A peer that cannot receive a reply will not act on it, either. */
void p2p_reply_flown(struct tofu_p2p *p2p, uint64_t handle, bool hello,
		     int code)
{
	struct tofu_p2p_request *request = p2p_request_find(p2p, handle);
	uint32_t rank;

	if (request && request->state == P2P_TELLING && !hello) {
		p2p_request_end(p2p, request, request->code);
		return;
	}
	if (!code || !request || !waits_for(request, &rank))
		return;
	if (request->state == P2P_AWAITED) {
		p2p_rendezvous_received(p2p, request, code);
		return;
	}
	/* It will be sent, and fail. */
	if (request->state == P2P_QUEUED)
		return;
	if (request->state == P2P_POSTED)
		p2p_receive_unpost(p2p, request);
	else if (request->state == P2P_OFFERED)
		p2p_hold_dequeue(request);
	p2p_request_end(p2p, request, code);
}

/* ---- Incoming replies ---- */

/* Gets the request of a reply, if its peer is the sender. */
static struct tofu_p2p_request *request_of(const struct tofu_p2p *p2p,
					   const struct p2p_reply *reply,
					   enum p2p_state state)
{
	struct tofu_p2p_request *request =
		p2p_request_find(p2p, reply->handle);

	if (!request || request->state != state ||
	    request->peer->rank != reply->head.source)
		return NULL;
	return request;
}

/* The same for an announced send, which leaves its queue if it was only offered. */
static struct tofu_p2p_request *announced_of(const struct tofu_p2p *p2p,
					     const struct p2p_reply *reply)
{
	struct tofu_p2p_request *request =
		request_of(p2p, reply, P2P_OFFERED);

	if (!request)
		return request_of(p2p, reply, P2P_SENT);
	p2p_hold_dequeue(request);
	request->state = P2P_SENT;
	return request;
}

/* A failure reported by the peer is an error, whatever its code is. */
static int code_of(const struct p2p_reply *reply)
{
	return reply->code > 0 ? UTOFU_ERR_MRQ_OTHER : reply->code;
}

static void done_come(struct tofu_p2p *p2p, const struct p2p_reply *reply)
{
	struct tofu_p2p_request *request = announced_of(p2p, reply);

	if (request && request->message.kind != P2P_EAGER)
		p2p_request_end(p2p, request, code_of(reply));
}

static void ready_come(struct tofu_p2p *p2p, const struct p2p_reply *reply)
{
	struct tofu_p2p_request *request = announced_of(p2p, reply);

	if (!request || request->message.kind != P2P_PUT)
		return;
	if (!reply->bytes || reply->bytes > request->room ||
	    (reply->slot >= P2P_SLOTS && reply->slot != P2P_SILENT))
		return;
	request->message.handle = reply->own;
	request->message.vcq = reply->vcq;
	request->message.stadd = reply->stadd;
	request->length = reply->bytes;
	request->slot = reply->slot;
	p2p_rendezvous_move(p2p, request);
}

static void fin_come(struct tofu_p2p *p2p, const struct p2p_reply *reply)
{
	struct tofu_p2p_request *request = request_of(p2p, reply, P2P_AWAITED);

	if (request)
		p2p_rendezvous_received(p2p, request, code_of(reply));
}

/* Handles replies that are about a known peer, and not about a request. */
static void peer_come(struct tofu_p2p *p2p, const struct p2p_reply *reply)
{
	struct p2p_peer *peer = p2p_peer_find(p2p, reply->head.source);

	if (!peer)
		return;
	switch (reply->head.kind) {
	case P2P_OWN:
		p2p_send_own(p2p, peer, reply);
		break;
	case P2P_BACK:
		p2p_send_taken(p2p, peer);
		break;
	case P2P_TAKEN:
		p2p_send_took(p2p, peer, reply->handle);
		break;
	case P2P_NONE:
	case P2P_NEVER:
		p2p_send_answered(p2p, peer, reply->head.kind == P2P_NEVER);
		break;
	case P2P_HOLD:
	case P2P_GO:
	case P2P_DECLINED:
	case P2P_WANT:
	case P2P_NONE_SUCH:
		p2p_hold_come(p2p, peer, reply);
		break;
	default:
		break;
	}
}

static void reply_take(struct tofu_p2p *p2p, const struct p2p_reply *reply)
{
	tofu_work(TOFU_WORK_P2P_REPLY);
	switch (reply->head.kind) {
	case P2P_DONE:
		done_come(p2p, reply);
		break;
	case P2P_READY:
		ready_come(p2p, reply);
		break;
	case P2P_FIN:
		fin_come(p2p, reply);
		break;
	default:
		peer_come(p2p, reply);
		break;
	}
}

/*
 * @known: bytes of @reply that are not in the record
 *
 * Return: whether it has the size of its kind.
 */
static bool reply_read(const struct tofu_srb_record *record, size_t known,
		       struct p2p_reply *reply)
{
	size_t first = record->part[0].iov_len;
	char *to = (char *)reply + known;

	if (record->bytes + known > sizeof(*reply))
		return false;
	memcpy(to, record->part[0].iov_base, first);
	if (first < record->bytes)
		memcpy(to + first, record->part[1].iov_base,
		       record->bytes - first);
	return record->bytes + known >= sizeof(reply->head) &&
	       record->bytes + known == p2p_reply_bytes(reply->head.kind);
}

/*
 * Out of line, so that a turn in vain saves no registers for it.
 */
__attribute__((noinline)) static void
standing_read(struct tofu_p2p *p2p, struct p2p_standing_peer *peer)
{
	struct srb_ring *ring = &peer->ring[P2P_STANDING_REPLY];
	struct tofu_srb_record record;
	struct p2p_reply reply;

	for (unsigned int i = 0; i < TURN; i++) {
		bool whole;

		if (!srb_ring_receive(ring, &record))
			return;
		reply.head = p2p_label_head(ring->label,
					    p2p_standing_rank(p2p, peer));
		whole = reply_read(&record, P2P_REPLY_KNOWN, &reply);
		srb_ring_release(ring);
		if (whole)
			reply_take(p2p, &reply);
	}
}

/* Out of line as well */
__attribute__((noinline)) static int shared_read(struct tofu_p2p *p2p)
{
	struct tofu_srb_record record;
	struct p2p_reply reply;

	for (unsigned int i = 0; i < TURN; i++) {
		int code = tofu_srb_receive(p2p->replies, &record);
		bool whole;

		if (code)
			return code == UTOFU_ERR_NOT_FOUND ? UTOFU_SUCCESS :
							     code;
		whole = reply_read(&record, 0, &reply);
		tofu_srb_release(p2p->replies);
		if (whole)
			reply_take(p2p, &reply);
	}
	return UTOFU_SUCCESS;
}

int p2p_reply_all(struct tofu_p2p *p2p)
{
	struct p2p_standing_peer *peer;

	if (p2p->config.standing) {
		TAILQ_FOREACH(peer, &p2p->standing.heard, link)
			if (srb_ring_has(&peer->ring[P2P_STANDING_REPLY]))
				standing_read(p2p, peer);
		return UTOFU_SUCCESS;
	}
	if (tofu_srb_is_quiet(p2p->replies))
		return UTOFU_SUCCESS;
	return shared_read(p2p);
}
