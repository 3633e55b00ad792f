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
 * Only one offer, and one P2P_WANT, of a pair are under way at a time. Who looks
 * for a message without a receive gets what comes before it, too; the last of these
 * is the answer.
 */
#include "p2p/internal.h"

/* Messages from who has been told to hold back, after which it is told again */
#define DEAF 32

/* ---- The receiver: who is asked to hold back ---- */

static size_t kept_of(const struct tofu_p2p *p2p)
{
	return p2p->account.used[P2P_UNEXPECTED];
}

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

/* A sender that had no entry for this process has not understood. */
static void hold_again(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_holding *holding = &peer->holding;

	if (holding->offers || holding->tell || ++holding->deaf % DEAF)
		return;
	holding->tell = P2P_HOLD;
	p2p_peer_wake(p2p, peer);
}

/* What is under way, and in the rings, needs room, too. */
void p2p_hold_kept(struct tofu_p2p *p2p, uint32_t source, bool kept)
{
	struct p2p_peer *peer;

	if (room_of(p2p) >= kept_of(p2p))
		return;
	/* Without an entry that can be kept, the next message has its turn. */
	if (p2p_peer_get(p2p, source, &peer) || peer->spare)
		return;
	if (!peer->holding.held)
		hold_begin(p2p, peer);
	else if (kept)
		hold_again(p2p, peer);
}

/* One after the other: each may have much to send. */
void p2p_hold_freed(struct tofu_p2p *p2p)
{
	const size_t kept = kept_of(p2p);

	if (room_of(p2p) / 3 < kept)
		return;
	do
		hold_end(p2p, TAILQ_FIRST(&p2p->holds));
	while (!kept && p2p_holds(p2p));
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
	TAILQ_FOREACH(peer, &p2p->holds, holding.link) {
		if (!peer->holding.next)
			peer->holding.next = request;
		if (is_from(request->message.source, peer))
			p2p_peer_wake(p2p, peer);
	}
}

void p2p_hold_unposted(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	struct p2p_peer *peer;

	TAILQ_FOREACH(peer, &p2p->holds, holding.link)
		if (peer->holding.next == request)
			peer->holding.next = TAILQ_NEXT(request, link);
	request->sought = false;
	TAILQ_REMOVE(&p2p->sought, request, link);
}

static bool same(const struct p2p_match_want *a, const struct p2p_match_want *b)
{
	return a->tag == b->tag && a->ignore == b->ignore &&
	       a->source == b->source && a->any == b->any;
}

void p2p_hold_probe(struct tofu_p2p *p2p, const struct p2p_match_want *want)
{
	struct p2p_peer *peer;

	TAILQ_FOREACH(peer, &p2p->holds, holding.link) {
		struct p2p_holding *holding = &peer->holding;

		/* The same has been asked already, or has its turn. */
		if (!holding->offers || holding->probing ||
		    (holding->asking && same(&holding->probe, want)) ||
		    !(want->any || want->source == peer->rank))
			continue;
		holding->probe = *want;
		holding->probing = true;
		p2p_peer_wake(p2p, peer);
	}
}

static bool want_send(struct tofu_p2p *p2p, struct p2p_peer *peer,
		      const struct p2p_want *want)
{
	struct p2p_reply reply = p2p_reply_of(p2p, P2P_WANT);

	reply.handle = want->below;
	reply.code = want->send;
	reply.slot = peer->holding.episode;
	reply.own = peer->holding.question + 1;
	reply.tag = want->tag;
	reply.ignore = want->ignore;
	if (p2p_sender_reply(p2p, peer, &reply, 0) == UTOFU_ERR_BUSY)
		return false;
	peer->holding.question++;
	peer->holding.asking = true;
	return true;
}

static bool receive_ask(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_holding *holding = &peer->holding;
	const struct tofu_p2p_request *request = holding->next;
	const struct p2p_want want = {
		.below = request->node.number + 1,
		.tag = request->node.link.key.tag,
		.ignore = request->node.ignore,
	};

	if (!want_send(p2p, peer, &want))
		return false;
	holding->next = TAILQ_NEXT(request, link);
	return true;
}

/* Says nothing of receives. */
static bool probe_ask(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	const struct p2p_want want = {
		.tag = peer->holding.probe.tag,
		.ignore = peer->holding.probe.ignore,
		.send = true,
	};

	peer->holding.probing = !want_send(p2p, peer, &want);
	return !peer->holding.probing;
}

/* Return: false without room. */
static bool ask(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_holding *holding = &peer->holding;

	if (!holding->offers || holding->asking)
		return true;
	while (holding->next && !is_from(holding->next->message.source, peer))
		holding->next = TAILQ_NEXT(holding->next, link);
	if (holding->next)
		return receive_ask(p2p, peer);
	return !holding->probing || probe_ask(p2p, peer);
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

static void answer_come(struct tofu_p2p *p2p, struct p2p_peer *peer,
			uint32_t episode, uint64_t question)
{
	struct p2p_holding *holding = &peer->holding;

	if (!holding->held || episode != holding->episode ||
	    question != holding->question)
		return;
	holding->asking = false;
	p2p_peer_wake(p2p, peer);
}

void p2p_hold_answered(struct tofu_p2p *p2p, uint32_t source,
		       const struct p2p_offer *offer)
{
	struct p2p_peer *peer = p2p_peer_find(p2p, source);

	if (peer)
		answer_come(p2p, peer, offer->episode, offer->question);
}

struct tofu_p2p_request *
p2p_hold_offered(struct tofu_p2p *p2p, struct p2p_peer *peer,
		 const struct p2p_message *message,
		 const struct p2p_offer *offer)
{
	struct p2p_holding *holding = &peer->holding;
	struct tofu_p2p_request *request = NULL;

	if (holding->held && offer->episode == holding->episode) {
		/* All that is posted now is there for all that it will offer. */
		if (!holding->offers) {
			holding->base = p2p->match.number;
			holding->next = NULL;
		}
		holding->offers = true;
		answer_come(p2p, peer, offer->episode, offer->question);
		request = receive_find(p2p, holding, message, offer->seen);
	}
	if (!request)
		holding->declined = message->handle;
	p2p_peer_wake(p2p, peer);
	return request;
}

/* ---- The sender ---- */

static void hold_come(struct tofu_p2p *p2p, struct p2p_peer *peer,
		      uint32_t episode)
{
	struct p2p_withheld *withheld = &peer->withheld;

	/* Such an entry is not to be kept for long. */
	if (peer->spare || (withheld->held && withheld->episode == episode))
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

static void offer_forget(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	peer->withheld.offered->state = P2P_QUEUED;
	peer->withheld.offered = NULL;
	p2p_peer_wake(p2p, peer);
}

static void declined_come(struct tofu_p2p *p2p, struct p2p_peer *peer,
			  uint64_t handle)
{
	struct tofu_p2p_request *request = peer->withheld.offered;

	if (request && p2p_request_handle(request) == handle)
		offer_forget(p2p, peer);
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
		.question = (uint32_t)reply->own,
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

static void queue_leave(struct p2p_peer *peer, struct tofu_p2p_request *request)
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

void p2p_hold_dequeue(struct tofu_p2p_request *request)
{
	queue_leave(request->peer, request);
}

static bool announce(struct tofu_p2p *p2p, struct p2p_peer *peer,
		     struct tofu_p2p_request *request, unsigned int flags,
		     uint32_t question)
{
	struct p2p_offer offer = {
		.seen = peer->withheld.seen,
		.episode = peer->withheld.episode,
		.question = question,
	};

	return p2p_send_announce(p2p, request, flags, &offer);
}

/* Return: false without room. */
static bool offer(struct tofu_p2p *p2p, struct p2p_peer *peer,
		  struct tofu_p2p_request *request, uint32_t question)
{
	struct p2p_withheld *withheld = &peer->withheld;

	withheld->offered = request;
	if (announce(p2p, peer, request, P2P_OFFER, question))
		return true;
	withheld->offered = NULL;
	return false;
}

static bool none_such(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_reply reply = p2p_reply_of(p2p, P2P_NONE_SUCH);

	reply.handle = peer->withheld.want.question;
	reply.slot = peer->withheld.episode;
	return p2p_sender_reply(p2p, peer, &reply, 0) != UTOFU_ERR_BUSY;
}

/* Return: false without room. */
static bool receive_answer(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_withheld *withheld = &peer->withheld;
	const uint64_t seen = withheld->seen;
	struct tofu_p2p_request *request =
		queue_find(peer, &withheld->want, withheld->next);

	withheld->seen = withheld->want.below;
	if (request ? offer(p2p, peer, request, withheld->want.question) :
		      none_such(p2p, peer))
		return true;
	withheld->seen = seen;
	return false;
}

static bool first_send(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_withheld *withheld = &peer->withheld;
	struct tofu_p2p_request *request = TAILQ_FIRST(&peer->queue);
	const bool last = request == withheld->last;

	if (!announce(p2p, peer, request, last ? P2P_ANSWER : 0,
		      withheld->want.question))
		return false;
	queue_leave(peer, request);
	return true;
}

/* An offer that is wanted after all may have been the last. */
static bool probe_answer(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_withheld *withheld = &peer->withheld;

	if (!withheld->last)
		return none_such(p2p, peer);
	while (withheld->last)
		if (!first_send(p2p, peer))
			return false;
	return true;
}

/* Return: false without room. */
static bool answer(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	return peer->withheld.want.send ? probe_answer(p2p, peer) :
					  receive_answer(p2p, peer);
}

void p2p_hold_run(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_withheld *withheld = &peer->withheld;
	struct tofu_p2p_request *request;

	if (withheld->offered || (withheld->asked && !answer(p2p, peer)))
		return;
	withheld->asked = false;
	request = withheld->next;
	if (withheld->offered || !request || !offer(p2p, peer, request, 0))
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
		answer_come(p2p, peer, reply->slot, reply->handle);
		break;
	default:
		break;
	}
}

void p2p_hold_gone(struct tofu_p2p *p2p, struct p2p_peer *peer)
{
	struct p2p_holding *holding = &peer->holding;

	if (peer->withheld.offered)
		offer_forget(p2p, peer);
	go_come(p2p, peer);
	if (holding->held)
		TAILQ_REMOVE(&p2p->holds, peer, holding.link);
	if (holding->held || holding->tell)
		p2p_peer_unpin(p2p, peer);
	*holding = (struct p2p_holding){ 0 };
}
