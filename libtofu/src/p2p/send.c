// SPDX-License-Identifier: MIT
/*
 * Sends: in order for each peer, through its shared ring or through the own
 * ring that it keeps for this process.
 */
#include "p2p/internal.h"

#include <string.h>

#include "utofu/work.h"

static struct p2p_head head_of(const struct tofu_p2p *p2p, enum p2p_kind kind,
			       uint64_t tag)
{
	return (struct p2p_head){
		.kind = (uint8_t)kind,
		.source = p2p->config.params.rank,
		.tag = tag,
	};
}

/* ---- Choice of the ring ---- */

/*
 * Tells the peer, in the ring that is left, that records continue in the other.
 * The own ring may be used at once, since the peer looks there only then. The
 * shared ring may be used when the word has arrived in the own ring: the
 * peer empties that as soon as it finds something in the shared one.
 */
static bool path_move(struct tofu_p2p *p2p, struct p2p_peer *peer, bool own,
		      enum p2p_path next)
{
	struct p2p_head head = head_of(p2p, P2P_MOVED, 0);
	const struct p2p_record record = {
		.head = &head,
		.head_bytes = sizeof(head),
		.known = P2P_REQUEST_KNOWN,
	};
	int code = p2p_sender_send(p2p, peer, &record, 0, own);

	if (code == UTOFU_ERR_BUSY)
		return false;
	peer->path = next;
	/* A ring that fails is left, too. */
	if (code && own)
		p2p_send_left(p2p, peer);
	return true;
}

/* Return: whether something can be sent. */
static bool path_run(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	if (peer->path == P2P_MOVING_IN &&
	    !path_move(p2p, peer, false, P2P_BY_OWN))
		return false;
	if (peer->path == P2P_BY_OWN && peer->taken)
		peer->path = P2P_LEAVING;
	if (peer->path == P2P_LEAVING && !path_move(p2p, peer, true, P2P_LEFT))
		return false;
	return peer->path != P2P_LEFT;
}

void p2p_send_left(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	peer->path = P2P_BY_SHARED;
	peer->taken = false;
	peer->ask_at = peer->sent + p2p->config.ask_again;
	p2p_peer_wake(p2p, peer);
	p2p_peer_unpin(p2p, peer);
}

void p2p_send_answered(struct tofu_p2p *p2p, struct p2p_peer *peer, bool never)
{
	if (peer->path != P2P_ASKED)
		return;
	peer->path = P2P_BY_SHARED;
	peer->never = never;
	peer->ask_at = peer->sent + p2p->config.ask_again;
	p2p_peer_unpin(p2p, peer);
}

/* uTofu finds all other errors of the address when something is put there. */
static bool own_fits(const struct p2p_reply *reply)
{
	return reply->bytes >= TOFU_SRB_BYTES_MIN &&
	       reply->bytes <= TOFU_SRB_BYTES_MAX &&
	       !(reply->bytes & (reply->bytes - 1)) &&
	       !(reply->stadd % sizeof(uint64_t)) &&
	       !(reply->consumer % sizeof(uint64_t));
}

void p2p_send_own(struct tofu_p2p *p2p, struct p2p_peer *peer,
		  const struct p2p_reply *reply)
{
	if (peer->path != P2P_ASKED)
		return;
	if (!own_fits(reply)) {
		p2p_send_answered(p2p, peer, false);
		return;
	}
	peer->own = (struct tofu_srb_single){
		.peer.address.vcq = reply->vcq,
		.memory = reply->stadd,
		.consumer = reply->consumer,
		.bytes = reply->bytes,
	};
	peer->path = P2P_MOVING_IN;
	p2p_peer_wake(p2p, peer);
}

void p2p_send_taken(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	if (peer->path != P2P_MOVING_IN && peer->path != P2P_BY_OWN)
		return;
	peer->taken = true;
	p2p_peer_wake(p2p, peer);
}

static bool by_own(const struct p2p_peer *peer)
{
	return peer->path == P2P_BY_OWN;
}

/* Whether this message should ask for an own ring */
static bool asks(const struct p2p_peer *peer)
{
	return peer->path == P2P_BY_SHARED && !peer->never && !peer->spare &&
	       peer->sent >= peer->ask_at;
}

/* Counts a message that is on its way. */
static void path_used(struct tofu_p2p *p2p, struct p2p_peer *peer, bool asked)
{
	if (!by_own(peer))
		peer->sent++;
	if (!asked)
		return;
	peer->path = P2P_ASKED;
	p2p_peer_pin(p2p, peer);
}

/* ---- Records ---- */

/* Bytes of immediate data */
static size_t data_bytes(const struct tofu_p2p_request *request)
{
	return request->message.flags & P2P_DATA ?
		       sizeof(request->message.data) :
		       0;
}

/* The same of all that is behind an eager message */
static size_t tail_bytes(const struct tofu_p2p_request *request)
{
	return data_bytes(request) +
	       (request->flags & TOFU_P2P_DELIVERED ? sizeof(uint64_t) : 0);
}

static bool is_eager(const struct tofu_p2p *p2p,
		     const struct tofu_p2p_request *request)
{
	const struct p2p_peer *peer = request->peer;
	size_t ring = by_own(peer) ? peer->own.bytes : p2p->config.ring;

	return request->room <= p2p->config.eager &&
	       request->room + tail_bytes(request) <= p2p_eager_max(ring) &&
	       !(request->flags & TOFU_P2P_SYNCHRONOUS);
}

/*
 * If the buffer cannot be registered now because there are too many, the
 * message is put: then the buffer is registered when the message's turn has
 * come. So is an empty one, of which only the receiver's answer is wanted.
 */
static enum p2p_kind kind_of(struct tofu_p2p *p2p,
			     struct tofu_p2p_request *request)
{
	if (is_eager(p2p, request))
		return P2P_EAGER;
	if (request->room > p2p->config.get || !request->room)
		return P2P_PUT;
	if (request->registered ||
	    !p2p_region_take(p2p, request, request->room))
		return P2P_GET;
	return P2P_PUT;
}

static int eager_send(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		      struct p2p_head *head)
{
	const uint64_t handle = p2p_request_handle(request);
	const bool tells = request->flags & TOFU_P2P_DELIVERED;
	char last[sizeof(handle) + sizeof(request->message.data)];
	const struct p2p_record record = {
		.head = head,
		.head_bytes = sizeof(*head),
		.known = P2P_REQUEST_KNOWN,
		.data = request->buf,
		.bytes = request->room,
		.last = tells ? (void *)last : &request->message.data,
		.last_bytes = tail_bytes(request),
	};
	int code;

	if (tells) {
		head->flags |= P2P_TELL;
		memcpy(last, &handle, sizeof(handle));
		memcpy(last + sizeof(handle), &request->message.data,
		       sizeof(request->message.data));
	}
	code = p2p_sender_send(p2p, request->peer, &record, handle, by_own(request->peer));
	if (tells && !code) {
		request->tells = true;
		TAILQ_INSERT_TAIL(&request->peer->untaken, request, untaken);
	}
	return code;
}

/* @offer: with its own members filled in, where @head says that they are there */
static int announce_send(struct tofu_p2p *p2p,
			 struct tofu_p2p_request *request,
			 const struct p2p_head *head, struct p2p_offer *offer)
{
	struct p2p_announce *announce = &offer->announce;
	const struct p2p_record record = {
		.head = &announce->head,
		.head_bytes = head->flags & (P2P_OFFER | P2P_ANSWER) ?
				      sizeof(*offer) :
				      sizeof(*announce),
		.known = P2P_REQUEST_KNOWN,
		.last = &request->message.data,
		.last_bytes = data_bytes(request),
	};

	*announce = (struct p2p_announce){
		.head = *head,
		.bytes = request->room,
		.handle = p2p_request_handle(request),
		.vcq = p2p->data_id,
		.stadd = request->local,
	};
	return p2p_sender_send(p2p, request->peer, &record, announce->handle,
			       by_own(request->peer));
}

static size_t record_bytes(const struct tofu_p2p_request *request)
{
	return request->message.kind == P2P_EAGER ?
		       sizeof(struct p2p_head) + request->room + tail_bytes(request) :
		       sizeof(struct p2p_announce) + data_bytes(request);
}

/* Return: whether it is on its way, or has ended; else it has to wait. */
static bool request_post(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	struct p2p_peer *peer = request->peer;
	struct p2p_head head = head_of(p2p, P2P_EAGER, request->message.tag);
	struct p2p_offer scratch;
	bool asking = asks(peer);
	int code;

	head.kind = (uint8_t)kind_of(p2p, request);
	request->message.kind = head.kind;
	if (!p2p_sender_fits(p2p, peer, record_bytes(request)))
		return false;
	head.flags = (uint8_t)request->message.flags;
	if (asking)
		head.flags |= P2P_ASK;
	code = head.kind == P2P_EAGER ? eager_send(p2p, request, &head) :
					announce_send(p2p, request, &head,
						      &scratch);
	if (code == UTOFU_ERR_BUSY)
		return false;
	if (code) {
		p2p_request_end(p2p, request, code);
		return true;
	}
	request->state = P2P_SENT;
	path_used(p2p, peer, asking);
	return true;
}

/*
 * The receiver has to answer, and the data stays here until then: so it is a
 * message to be put, which needs no registration before.
 */
bool p2p_send_announce(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		       unsigned int flags, struct p2p_offer *offer)
{
	struct p2p_peer *peer = request->peer;
	struct p2p_head head = head_of(p2p, P2P_PUT, request->message.tag);
	int code;

	request->message.kind = head.kind;
	head.flags = (uint8_t)(request->message.flags | flags);
	if (!p2p_sender_fits(p2p, peer, data_bytes(request) + sizeof(*offer)))
		return false;
	code = announce_send(p2p, request, &head, offer);
	if (code == UTOFU_ERR_BUSY)
		return false;
	if (flags & P2P_OFFER)
		request->state = P2P_OFFERED;
	else
		request->state = P2P_SENT;
	path_used(p2p, peer, false);
	if (code)
		p2p_send_flown(p2p, p2p_request_handle(request), code);
	return true;
}

static bool queue_run(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	while (path_run(p2p, peer)) {
		struct tofu_p2p_request *request = TAILQ_FIRST(&peer->queue);

		if (peer->withheld.held || peer->withheld.offered) {
			p2p_hold_run(p2p, peer);
			return TAILQ_EMPTY(&peer->queue) &&
			       !peer->withheld.asked;
		}
		if (!request)
			return true;
		if (!request_post(p2p, request))
			return false;
		TAILQ_REMOVE(&peer->queue, request, link);
	}
	return false;
}

void p2p_send_push(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	bool replied = p2p_reply_push(p2p, peer);

	if (!queue_run(p2p, peer) || !replied || !peer->active)
		return;
	peer->active = false;
	TAILQ_REMOVE(&p2p->peers.active, peer, link);
	p2p_peer_unpin(p2p, peer);
}

/* An eager message has reached the receiver's ring; others, and those that are to be
 * delivered, wait for answers.
 */
void p2p_send_flown(struct tofu_p2p *p2p, uint64_t handle, int code)
{
	struct tofu_p2p_request *request = p2p_request_find(p2p, handle);

	if (request && request->state == P2P_OFFERED && code) {
		p2p_hold_dequeue(request);
		request->state = P2P_SENT;
		p2p_hold_gone(p2p, request->peer);
	}
	if (!request || request->state != P2P_SENT)
		return;
	if (code || (request->message.kind == P2P_EAGER && !request->tells))
		p2p_request_end(p2p, request, code);
}

void p2p_send_took(struct tofu_p2p *p2p, struct p2p_peer *peer, uint64_t handle)
{
	const struct tofu_p2p_request *last = p2p_request_find(p2p, handle);
	struct tofu_p2p_request *request;

	/* Another process could name any. */
	if (!last || !last->tells || last->peer != peer)
		return;
	do {
		request = TAILQ_FIRST(&peer->untaken);
		p2p_request_end(p2p, request, UTOFU_SUCCESS);
	} while (request != last);
}

/* Whether all records to the peer are put, by whatever ring they go. */
static bool is_put(const struct tofu_p2p *p2p, const struct p2p_peer *peer)
{
	const struct tofu_srb_single *standing;

	if (!p2p->config.standing)
		return tofu_srb_is_put(&peer->requests) &&
		       tofu_srb_is_put(&peer->own.peer);
	standing = &p2p->standing.peer[peer->rank].to[P2P_STANDING_REQUEST];
	return tofu_srb_is_put(&standing->peer);
}

static int away(const struct tofu_p2p *p2p,
		const struct tofu_p2p_request *request)
{
	const struct p2p_peer *peer = request->peer;

	switch (request->state) {
	case P2P_ENDED:
		return UTOFU_SUCCESS;
	case P2P_PEERLESS:
		return UTOFU_ERR_NOT_COMPLETED;
	case P2P_QUEUED:
		return peer->withheld.held ? UTOFU_ERR_BUSY :
					     UTOFU_ERR_NOT_COMPLETED;
	case P2P_SENT:
		if (request->message.kind != P2P_EAGER)
			return UTOFU_ERR_BUSY;
		return is_put(p2p, peer) ? UTOFU_SUCCESS :
					   UTOFU_ERR_NOT_COMPLETED;
	default:
		return UTOFU_ERR_BUSY;
	}
}

int tofu_p2p_away(const struct tofu_p2p *p2p,
		  const struct tofu_p2p_request *request)
{
	if (!p2p || !request)
		return UTOFU_ERR_INVALID_POINTER;
	return p2p->error ? p2p->error : away(p2p, request);
}

/* ---- Short messages ---- */

/* The ring of one sender that a message may go through at once, or NULL */
static struct tofu_srb_single *express_ring(struct tofu_p2p *p2p,
					    struct p2p_peer *peer)
{
	struct tofu_srb_single *standing;

	if (by_own(peer))
		return &peer->own;
	if (!p2p->config.standing)
		return NULL;
	standing = &p2p->standing.peer[peer->rank].to[P2P_STANDING_REQUEST];
	return standing->bytes ? standing : NULL;
}

/* Whether nothing is before a message, and a request can be had for it. */
static bool is_clear(const struct tofu_p2p *p2p, const struct p2p_peer *peer)
{
	return !peer->active && !peer->withheld.held && !peer->spare &&
	       TAILQ_EMPTY(&p2p->peerless) && !TAILQ_EMPTY(&p2p->slabs.free);
}

struct tofu_p2p_request *p2p_send_express(struct tofu_p2p *p2p, const void *buf,
					  size_t bytes, uint32_t dest,
					  uint64_t tag)
{
	const size_t record = sizeof(struct p2p_head) + bytes;
	struct tofu_p2p_request *request;
	struct tofu_srb_single *single;
	struct p2p_peer *peer;

	if (!p2p_is_express(bytes) || bytes > p2p->config.eager)
		return NULL;
	peer = p2p_peer_find(p2p, dest);
	if (!peer || !is_clear(p2p, peer) ||
	    !p2p_sender_fits(p2p, peer, record))
		return NULL;
	single = express_ring(p2p, peer);
	if (!single)
		return NULL;
	tofu_work(TOFU_WORK_P2P_EXPRESS);
	if (!p2p_sender_express(p2p, single, tag, buf, bytes))
		return NULL;
	request = p2p_request_new(p2p, true);
	request->peer = peer;
	request->message.kind = P2P_EAGER;
	request->state = P2P_SENT;
	p2p_peer_pin(p2p, peer);
	p2p_sender_note(p2p, peer, record, p2p_request_handle(request));
	path_used(p2p, peer, false);
	tofu_work(TOFU_WORK_P2P_EXPRESSED);
	return request;
}

/* ---- Beginning ---- */

/* Return: false if it has to wait for memory. */
static bool send_queue(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	struct p2p_peer *peer;
	int code = p2p_peer_get(p2p, request->dest, &peer);

	if (code == UTOFU_ERR_OUT_OF_MEMORY ||
	    (!code && !p2p_peer_lends(p2p, peer)))
		return false;
	if (code) {
		p2p_request_end(p2p, request, code);
		return true;
	}
	request->peer = peer;
	p2p_peer_pin(p2p, peer);
	/* As a rule, nothing else waits for this peer. */
	if (!peer->active && !peer->withheld.held && request_post(p2p, request))
		return true;
	request->state = P2P_QUEUED;
	TAILQ_INSERT_TAIL(&peer->queue, request, link);
	p2p_hold_queued(request);
	/* Its buffer may have to be copied before it is offered. */
	if (peer->active && !peer->withheld.held)
		p2p_send_push(p2p, peer);
	else
		p2p_peer_wake(p2p, peer);
	return true;
}

void p2p_send_begin(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	/* Sends that already wait come first. */
	if (TAILQ_EMPTY(&p2p->peerless) && send_queue(p2p, request))
		return;
	request->state = P2P_PEERLESS;
	TAILQ_INSERT_TAIL(&p2p->peerless, request, link);
}

void p2p_send_take_back(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	if (request->state == P2P_PEERLESS) {
		TAILQ_REMOVE(&p2p->peerless, request, link);
	} else {
		p2p_hold_dequeue(request);
		p2p_peer_unpin(p2p, request->peer);
	}
	p2p_request_free(p2p, request);
}

void p2p_send_peerless(struct tofu_p2p *p2p)
{
	struct tofu_p2p_request *request;

	while ((request = TAILQ_FIRST(&p2p->peerless))) {
		TAILQ_REMOVE(&p2p->peerless, request, link);
		if (send_queue(p2p, request))
			continue;
		TAILQ_INSERT_HEAD(&p2p->peerless, request, link);
		return;
	}
}
