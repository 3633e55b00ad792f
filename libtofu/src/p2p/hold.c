// SPDX-License-Identifier: MIT
/*
 * Messages that nobody waits for, when room for them becomes short: their senders
 * are asked to hold them back, and to offer each once, in their order. One that is
 * declined stays in its sender's queue, until a receive that has been posted since
 * is asked for there. So what is held back costs its receiver nothing, and stops
 * nothing.
 *
 * An offer and P2P_WANT may cross. An offer says for which receives its sender had
 * been asked by then, and only these may take it: for a later one, there may be an
 * earlier message that was declined. For the same reason P2P_WANT is about declined
 * messages alone; the others have their turns.
 *
 * Only one offer, and one P2P_WANT, of a pair are under way at a time.
 */
#include "p2p/internal.h"

/* ---- The receiver: who is asked to hold back ---- */

static size_t room_of(const struct tofu_p2p *p2p)
{
	return p2p_account_room(&p2p->account, P2P_UNEXPECTED);
}

static void hold_begin(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_holding *holding = &peer->holding;

	if (!holding->tell)
		p2p_peer_pin(p2p, peer);
	*holding = (struct p2p_holding){
		.held = true,
		.tell = P2P_HOLD,
		.episode = ++p2p->episodes,
		.declined = holding->declined,
	};
	TAILQ_INSERT_TAIL(&p2p->holds, peer, holding.link);
	p2p_peer_wake(p2p, peer);
}

static void hold_end(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	TAILQ_REMOVE(&p2p->holds, peer, holding.link);
	peer->holding.held = false;
	peer->holding.tell = P2P_GO;
	p2p_peer_wake(p2p, peer);
}

/* What is under way, and in the rings, needs room, too. */
void p2p_hold_kept(struct tofu_p2p *p2p, uint32_t source)
{
	struct p2p_peer *peer;

	if (room_of(p2p) >= p2p->account.cap[P2P_UNEXPECTED] / 2)
		return;
	/* Without an entry that can be kept, the next message has its turn. */
	if (p2p_peer_get(p2p, source, &peer) || peer->spare)
		return;
	if (!peer->holding.held)
		hold_begin(p2p, peer);
}

void p2p_hold_freed(struct tofu_p2p *p2p)
{
	struct p2p_peer *peer;

	if (room_of(p2p) < p2p->account.cap[P2P_UNEXPECTED] / 4 * 3)
		return;
	while ((peer = TAILQ_FIRST(&p2p->holds)))
		hold_end(p2p, peer);
}

/* ---- The receiver: what it asks for ---- */

static bool is_from(uint32_t source, const struct p2p_peer *peer)
{
	return source == TOFU_P2P_ANY_SOURCE || source == peer->rank;
}

void p2p_hold_posted(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	struct p2p_peer *peer;

	request->sought = true;
	TAILQ_INSERT_TAIL(&p2p->sought, request, link);
	TAILQ_FOREACH(peer, &p2p->holds, holding.link)
		if (is_from(request->message.source, peer))
			p2p_peer_wake(p2p, peer);
}

void p2p_hold_unposted(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	request->sought = false;
	TAILQ_REMOVE(&p2p->sought, request, link);
}

void p2p_hold_probe(struct tofu_p2p *p2p, const struct p2p_match_want *want)
{
	struct p2p_peer *peer;

	TAILQ_FOREACH(peer, &p2p->holds, holding.link) {
		struct p2p_holding *holding = &peer->holding;

		if (!holding->offers || holding->asking || holding->probing ||
		    !(want->any || want->source == peer->rank))
			continue;
		holding->probe = *want;
		holding->probing = true;
		p2p_peer_wake(p2p, peer);
	}
}

static const struct tofu_p2p_request *sought_find(const struct tofu_p2p *p2p,
						  const struct p2p_peer *peer)
{
	const struct tofu_p2p_request *request;

	TAILQ_FOREACH(request, &p2p->sought, link)
		if (request->node.number >= peer->holding.asked &&
		    is_from(request->message.source, peer))
			return request;
	return NULL;
}

static bool want_send(struct tofu_p2p *p2p, struct p2p_peer *peer,
		      const struct p2p_want *want)
{
	struct p2p_reply reply = p2p_reply_of(p2p, P2P_WANT);

	reply.handle = want->below;
	reply.code = want->send;
	reply.slot = peer->holding.episode;
	reply.tag = want->tag;
	reply.ignore = want->ignore;
	if (p2p_sender_reply(p2p, peer, &reply, 0) == UTOFU_ERR_BUSY)
		return false;
	peer->holding.asked = want->below;
	peer->holding.asking = true;
	return true;
}

/* Return: false without room. */
static bool ask(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_holding *holding = &peer->holding;
	const struct tofu_p2p_request *request;
	struct p2p_want want = { 0 };

	if (!holding->offers || holding->asking)
		return true;
	request = sought_find(p2p, peer);
	if (request) {
		want.below = request->node.number + 1;
		want.tag = request->node.link.key.tag;
		want.ignore = request->node.ignore;
		return want_send(p2p, peer, &want);
	}
	if (!holding->probing)
		return true;
	want.below = holding->asked;
	want.tag = holding->probe.tag;
	want.ignore = holding->probe.ignore;
	want.send = true;
	if (!want_send(p2p, peer, &want))
		return false;
	holding->probing = false;
	return true;
}

static bool tell(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_reply reply = p2p_reply_of(p2p, peer->holding.tell);

	reply.slot = peer->holding.episode;
	if (p2p_sender_reply(p2p, peer, &reply, 0) == UTOFU_ERR_BUSY)
		return false;
	peer->holding.tell = 0;
	if (!peer->holding.held)
		p2p_peer_unpin(p2p, peer);
	return true;
}

static bool decline(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_reply reply = p2p_reply_of(p2p, P2P_DECLINED);

	reply.handle = peer->holding.declined;
	if (p2p_sender_reply(p2p, peer, &reply, 0) == UTOFU_ERR_BUSY)
		return false;
	peer->holding.declined = 0;
	return true;
}

bool p2p_hold_reply(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	const struct p2p_holding *holding = &peer->holding;

	if (holding->tell && !tell(p2p, peer))
		return false;
	if (holding->declined && !decline(p2p, peer))
		return false;
	return !holding->held || ask(p2p, peer);
}

/* ---- The receiver: what is offered ---- */

static struct tofu_p2p_request *
receive_find(struct tofu_p2p *p2p, struct p2p_holding *holding,
	     const struct p2p_message *message, uint64_t seen)
{
	const uint64_t asked = seen > holding->base ? seen : holding->base;
	struct p2p_match_receive *node = p2p_match_posted(
		&p2p->match, message->source, message->tag);

	/* The node is its first member. */
	return node && node->number < asked ? (void *)node : NULL;
}

struct tofu_p2p_request *
p2p_hold_offered(struct tofu_p2p *p2p, struct p2p_peer *peer,
		 const struct p2p_message *message, uint64_t seen,
		 uint64_t episode)
{
	struct p2p_holding *holding = &peer->holding;
	struct tofu_p2p_request *request = NULL;

	if (holding->held && episode == holding->episode) {
		if (!holding->offers)
			holding->base = holding->asked = p2p->match.number;
		holding->offers = true;
		if (seen == holding->asked)
			holding->asking = false;
		request = receive_find(p2p, holding, message, seen);
	}
	if (!request)
		holding->declined = message->handle;
	p2p_peer_wake(p2p, peer);
	return request;
}

static void none_such_come(struct tofu_p2p *p2p, struct p2p_peer *peer,
			   const struct p2p_reply *reply)
{
	struct p2p_holding *holding = &peer->holding;

	if (!holding->held || reply->slot != holding->episode ||
	    reply->handle != holding->asked)
		return;
	holding->asking = false;
	p2p_peer_wake(p2p, peer);
}

/* ---- The sender ---- */

static void hold_come(struct tofu_p2p *p2p, struct p2p_peer *peer,
		      uint32_t episode)
{
	struct p2p_withheld *withheld = &peer->withheld;

	/* Such an entry is not to be kept for long. */
	if (peer->spare)
		return;
	if (!withheld->held)
		p2p_peer_pin(p2p, peer);
	*withheld = (struct p2p_withheld){
		.held = true,
		.episode = episode,
		.next = TAILQ_FIRST(&peer->queue),
		.offered = withheld->offered,
	};
	if (withheld->next)
		p2p_peer_wake(p2p, peer);
}

/* What is offered still has an answer to come. */
static void go_come(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	if (!peer->withheld.held)
		return;
	peer->withheld = (struct p2p_withheld){
		.offered = peer->withheld.offered,
	};
	p2p_peer_wake(p2p, peer);
	p2p_peer_unpin(p2p, peer);
}

void p2p_hold_gone(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	if (peer->withheld.offered)
		peer->withheld.offered->state = P2P_QUEUED;
	peer->withheld.offered = NULL;
	go_come(p2p, peer);
}

static void declined_come(struct tofu_p2p *p2p, struct p2p_peer *peer,
			  uint64_t handle)
{
	struct tofu_p2p_request *request = peer->withheld.offered;

	if (!request || p2p_request_handle(request) != handle)
		return;
	request->state = P2P_QUEUED;
	peer->withheld.offered = NULL;
	p2p_peer_wake(p2p, peer);
}

/* Looks as far as @end, or through the whole queue. */
static struct tofu_p2p_request *queue_find(const struct p2p_peer *peer,
					   const struct p2p_want *want,
					   const struct tofu_p2p_request *end)
{
	struct tofu_p2p_request *request;

	TAILQ_FOREACH(request, &peer->queue, link) {
		if (request == end)
			return NULL;
		if (!((request->message.tag ^ want->tag) & ~want->ignore))
			return request;
	}
	return NULL;
}

static void want_come(struct tofu_p2p *p2p, struct p2p_peer *peer,
		      const struct p2p_reply *reply)
{
	struct p2p_withheld *withheld = &peer->withheld;

	if (!withheld->held || reply->slot != withheld->episode)
		return;
	withheld->asked = true;
	withheld->want = (struct p2p_want){
		.below = reply->handle,
		.tag = reply->tag,
		.ignore = reply->ignore,
		.send = reply->code,
	};
	if (withheld->want.send)
		withheld->last = queue_find(peer, &withheld->want, NULL);
	p2p_peer_wake(p2p, peer);
}

void p2p_hold_queued(struct tofu_p2p_request *request)
{
	struct p2p_withheld *withheld = &request->peer->withheld;

	if (withheld->held && !withheld->next)
		withheld->next = request;
}

static void queue_remove(struct p2p_peer *peer,
			 struct tofu_p2p_request *request)
{
	struct p2p_withheld *withheld = &peer->withheld;

	if (withheld->next == request)
		withheld->next = TAILQ_NEXT(request, link);
	if (withheld->last == request)
		withheld->last = TAILQ_PREV(request, p2p_requests, link);
	if (withheld->offered == request)
		withheld->offered = NULL;
	TAILQ_REMOVE(&peer->queue, request, link);
}

void p2p_hold_wanted(struct tofu_p2p_request *request)
{
	queue_remove(request->peer, request);
	request->state = P2P_SENT;
}

/* Return: false without room. */
static bool offer(struct tofu_p2p *p2p, struct p2p_peer *peer,
		  struct tofu_p2p_request *request)
{
	struct p2p_withheld *withheld = &peer->withheld;

	withheld->offered = request;
	if (p2p_send_offer(p2p, request, withheld->seen, withheld->episode))
		return true;
	withheld->offered = NULL;
	return false;
}

static bool none_such(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_reply reply = p2p_reply_of(p2p, P2P_NONE_SUCH);

	reply.handle = peer->withheld.want.below;
	reply.slot = peer->withheld.episode;
	return p2p_sender_reply(p2p, peer, &reply, 0) != UTOFU_ERR_BUSY;
}

/* Return: false without room. */
static bool answer(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_withheld *withheld = &peer->withheld;
	const uint64_t seen = withheld->seen;
	struct tofu_p2p_request *request = NULL;

	if (!withheld->want.send)
		request = queue_find(peer, &withheld->want, withheld->next);
	withheld->seen = withheld->want.below;
	if (request ? offer(p2p, peer, request) : none_such(p2p, peer)) {
		withheld->asked = false;
		return true;
	}
	withheld->seen = seen;
	return false;
}

static bool send_first(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct tofu_p2p_request *request = TAILQ_FIRST(&peer->queue);

	if (!p2p_send_announce(p2p, request))
		return false;
	queue_remove(peer, request);
	return true;
}

void p2p_hold_run(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_withheld *withheld = &peer->withheld;
	struct tofu_p2p_request *request;

	if (withheld->offered)
		return;
	while (withheld->last)
		if (!send_first(p2p, peer))
			return;
	if (withheld->asked && !answer(p2p, peer))
		return;
	request = withheld->next;
	if (withheld->offered || !request || !offer(p2p, peer, request))
		return;
	/* One that fails at once has left the queue. */
	if (withheld->next == request)
		withheld->next = TAILQ_NEXT(request, link);
}

/* ---- Both ---- */

void p2p_hold_come(struct tofu_p2p *p2p, struct p2p_peer *peer,
		   const struct p2p_reply *reply)
{
	switch (reply->head.kind) {
	case P2P_HOLD:
		hold_come(p2p, peer, reply->slot);
		break;
	case P2P_GO:
		go_come(p2p, peer);
		break;
	case P2P_DECLINED:
		declined_come(p2p, peer, reply->handle);
		break;
	case P2P_WANT:
		want_come(p2p, peer, reply);
		break;
	case P2P_NONE_SUCH:
		none_such_come(p2p, peer, reply);
		break;
	default:
		break;
	}
}
