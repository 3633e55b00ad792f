// SPDX-License-Identifier: MIT
/*
 * Receiving: messages in the rings are matched, or kept until a receive asks
 * for them. If a ring's next message cannot be kept, the ring is left as it is,
 * so its senders find no room, and wait.
 */
#include "p2p/internal.h"

#include <string.h>
#include <sys/random.h>

#include "utofu/work.h"

/* Most records taken from a ring per turn */
#define TURN 64

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* ---- Records ---- */

/**
 * struct incoming - a record that has come
 * @head:  its head
 * @known: bytes of struct p2p_head that are not in it
 * @handle: with P2P_TELL
 * @offer: with P2P_OFFER and P2P_ANSWER
 */
struct incoming {
	struct tofu_srb_record record;
	struct p2p_head head;
	size_t known;
	uint64_t handle;
	struct p2p_offer offer;
};

/* Copies bytes of a record that are not all in its first piece. */
static void pieces_copy(const struct tofu_srb_record *record, size_t from,
			void *to, size_t bytes)
{
	size_t first = record->part[0].iov_len, head = 0;

	if (from < first) {
		head = first - from;
		memcpy(to, (char *)record->part[0].iov_base + from, head);
	}
	memcpy((char *)to + head,
	       (char *)record->part[1].iov_base + from + head - first,
	       bytes - head);
}

/* Copies bytes of a record, which may be in two pieces: @from counts in it. */
static inline void record_copy(const struct tofu_srb_record *record,
			       size_t from, void *to, size_t bytes)
{
	tofu_work_bytes(TOFU_WORK_COPY, bytes);
	if (!bytes)
		return;
	if (from + bytes <= record->part[0].iov_len)
		memcpy(to, (char *)record->part[0].iov_base + from, bytes);
	else
		pieces_copy(record, from, to, bytes);
}

/*
 * In a ring of several senders.
 *
 * Return: whether it is a request from a process of this program.
 */
static bool head_read(const struct tofu_p2p *p2p, struct incoming *in)
{
	const struct tofu_p2p_params *params = &p2p->config.params;
	struct p2p_head *head = &in->head;

	in->known = 0;
	if (in->record.bytes < sizeof(*head))
		return false;
	record_copy(&in->record, 0, head, sizeof(*head));
	return head->source < params->processes &&
	       head->source != params->rank && head->tag != TOFU_P2P_ANY_TAG;
}

/* The same in a ring of one, the process @source */
static inline bool head_known(const struct srb_ring *ring, uint32_t source,
			      struct incoming *in)
{
	in->head = p2p_label_head(ring->label, source);
	in->known = P2P_REQUEST_KNOWN;
	if (in->record.bytes < sizeof(in->head.tag))
		return false;
	record_copy(&in->record, 0, &in->head.tag, sizeof(in->head.tag));
	return in->head.tag != TOFU_P2P_ANY_TAG;
}

/* Copies what is behind the head. */
static inline void body_copy(const struct incoming *in, void *to, size_t bytes)
{
	record_copy(&in->record, sizeof(in->head) - in->known, to, bytes);
}

/* ---- Matching ---- */

static void *containing(void *member, size_t offset)
{
	return (char *)member - offset;
}

#define CONTAINER(pointer, type, member) \
	((type *)containing(pointer, offsetof(type, member)))

static struct tofu_p2p_request *posted_take(struct tofu_p2p *p2p,
					    const struct p2p_message *message)
{
	struct p2p_match_receive *node = p2p_match_posted(
		&p2p->match, message->source, message->tag);

	if (!node)
		return NULL;
	p2p_receive_unpost(p2p, CONTAINER(node, struct tofu_p2p_request, node));
	return CONTAINER(node, struct tofu_p2p_request, node);
}

static struct p2p_unexpected *arrived_find(struct tofu_p2p *p2p,
					   const struct p2p_match_want *want)
{
	struct p2p_match_message *node = p2p_match_arrived(&p2p->match, want);

	return node ? CONTAINER(node, struct p2p_unexpected, node) : NULL;
}

static void *match_take(void *arg, size_t bytes)
{
	return p2p_allocate(arg, P2P_REQUESTS, bytes);
}

static void match_give(void *arg, void *memory, size_t bytes)
{
	p2p_free(arg, P2P_REQUESTS, memory, bytes);
}

static void *places_take(void *arg, size_t bytes)
{
	return p2p_allocate(arg, P2P_UNEXPECTED, bytes);
}

static void places_give(void *arg, void *memory, size_t bytes)
{
	p2p_free(arg, P2P_UNEXPECTED, memory, bytes);
}

void p2p_receive_make(struct tofu_p2p *p2p)
{
	const struct p2p_match_memory tables = {
		.take = match_take,
		.give = match_give,
		.arg = &p2p->account,
	};
	const struct p2p_match_memory places = {
		.take = places_take,
		.give = places_give,
		.arg = &p2p->account,
	};
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uintptr_t)p2p;
	p2p_match_init(&p2p->match, &tables, &places, seed);
}

void p2p_receive_unpost(struct tofu_p2p *p2p, struct tofu_p2p_request *request)
{
	if (request->sought)
		p2p_hold_unposted(p2p, request);
	p2p_match_unpost(&p2p->match, &request->node);
}

struct p2p_unexpected *p2p_receive_probe(struct tofu_p2p *p2p,
					 const struct p2p_match_want *want)
{
	struct p2p_unexpected *found = arrived_find(p2p, want);

	if (!found && p2p_holds(p2p))
		p2p_hold_probe(p2p, want);
	return found;
}

void p2p_receive_claim(struct tofu_p2p *p2p, struct p2p_unexpected *message)
{
	p2p_match_take(&p2p->match, &message->node);
	TAILQ_INSERT_TAIL(&p2p->claimed, message, link);
}

/* ---- Messages ---- */

/* Immediate data is at the end of the record. */
static bool data_read(const struct incoming *in, struct p2p_message *message)
{
	if (message->bytes < sizeof(message->data))
		return false;
	message->bytes -= sizeof(message->data);
	record_copy(&in->record, in->record.bytes - sizeof(message->data),
		    &message->data, sizeof(message->data));
	return true;
}

/* Before that, a handle. */
static bool handle_read(struct incoming *in, struct p2p_message *message)
{
	const size_t data = message->flags ? sizeof(message->data) : 0;

	if (message->bytes < sizeof(in->handle))
		return false;
	message->bytes -= sizeof(in->handle);
	record_copy(&in->record, in->record.bytes - data - sizeof(in->handle),
		    &in->handle, sizeof(in->handle));
	return true;
}

static bool announce_read(struct incoming *in, struct p2p_message *message)
{
	const struct p2p_head *head = &in->head;
	const bool offer = head->flags & (P2P_OFFER | P2P_ANSWER);
	const struct p2p_announce *announce = &in->offer.announce;

	if ((head->kind != P2P_GET && head->kind != P2P_PUT) ||
	    (offer && head->kind != P2P_PUT) ||
	    message->bytes != (offer ? sizeof(in->offer) : sizeof(*announce)) -
				      sizeof(*head))
		return false;
	body_copy(in, (char *)&in->offer + sizeof(*head), message->bytes);
	message->bytes = announce->bytes;
	message->handle = announce->handle;
	message->vcq = announce->vcq;
	message->stadd = announce->stadd;
	return true;
}

static bool message_read(struct incoming *in, struct p2p_message *message)
{
	const struct p2p_head *head = &in->head;

	*message = (struct p2p_message){
		.source = head->source,
		.kind = head->kind,
		.flags = head->flags & P2P_DATA,
		.tag = head->tag,
		.bytes = in->record.bytes + in->known - sizeof(*head),
	};
	if (message->flags && !data_read(in, message))
		return false;
	if (head->kind != P2P_EAGER)
		return !(head->flags & P2P_TELL) && announce_read(in, message);
	return !(head->flags & (P2P_OFFER | P2P_ANSWER)) &&
	       (!(head->flags & P2P_TELL) || handle_read(in, message));
}

/* Records the message that a receive has found. */
static void request_match(struct tofu_p2p_request *request,
			  const struct p2p_message *message)
{
	request->message = *message;
	request->length = least(request->room, message->bytes);
}

/* Return: the message, kept without its data; NULL if out of memory. */
static struct p2p_unexpected *message_keep(struct tofu_p2p *p2p,
					   const struct p2p_message *message,
					   enum p2p_class class)
{
	size_t data = message->kind == P2P_EAGER ? message->bytes : 0;
	size_t size = p2p_unexpected_bytes(data);
	struct p2p_unexpected *unexpected =
		p2p_allocate(&p2p->account, class, size);

	if (!unexpected)
		return NULL;
	unexpected->message = *message;
	unexpected->class = class;
	unexpected->size = size;
	p2p_match_arrive(&p2p->match, &unexpected->node, message->source,
			 message->tag);
	return unexpected;
}

static void unexpected_free(struct tofu_p2p *p2p,
			    struct p2p_unexpected *unexpected)
{
	p2p_match_take(&p2p->match, &unexpected->node);
	p2p_free(&p2p->account, unexpected->class, unexpected,
		 unexpected->size);
	if (p2p_holds(p2p))
		p2p_hold_freed(p2p);
}

static void claimed_free(struct tofu_p2p *p2p, struct p2p_unexpected *claimed)
{
	TAILQ_REMOVE(&p2p->claimed, claimed, link);
	p2p_free(&p2p->account, claimed->class, claimed, claimed->size);
	if (p2p_holds(p2p))
		p2p_hold_freed(p2p);
}

/* Return: false if it cannot be kept now. */
static bool record_keep(struct tofu_p2p *p2p, const struct p2p_message *message,
			const struct incoming *in)
{
	struct p2p_unexpected *unexpected =
		message_keep(p2p, message, P2P_UNEXPECTED);

	if (unexpected && message->kind == P2P_EAGER)
		body_copy(in, unexpected->data, message->bytes);
	p2p_hold_kept(p2p, message->source, unexpected);
	return unexpected;
}

/* A message that is kept; one that is received is told of by its receive. */
static bool message_store(struct tofu_p2p *p2p, const struct p2p_message *message,
			  const struct incoming *in)
{
	if (!record_keep(p2p, message, in))
		return false;
	if (in->head.flags & P2P_TELL)
		p2p_reply_took(p2p, p2p_peer_find(p2p, message->source), in->handle);
	return true;
}

static bool message_take(struct tofu_p2p *p2p,
			 const struct p2p_message *message,
			 const struct incoming *in)
{
	struct tofu_p2p_request *request = posted_take(p2p, message);

	tofu_work(TOFU_WORK_P2P_MESSAGE);
	if (!request)
		return message_store(p2p, message, in);
	request_match(request, message);
	if (message->kind != P2P_EAGER) {
		p2p_rendezvous_begin(p2p, request);
		return true;
	}
	body_copy(in, request->buf, request->length);
	if (in->head.flags & P2P_TELL)
		p2p_rendezvous_tell(p2p, request, in->handle);
	else
		p2p_request_end(p2p, request, UTOFU_SUCCESS);
	return true;
}

/*
 * An offer is never kept, an answer is.
 *
 * Return: false if it has to stay in the ring: without room for it, or for an entry
 * of its sender.
 */
static bool offer_take(struct tofu_p2p *p2p, const struct p2p_message *message,
		       const struct incoming *in)
{
	struct tofu_p2p_request *request;
	struct p2p_peer *peer;
	int code;

	if (in->head.flags & P2P_ANSWER) {
		if (!message_take(p2p, message, in))
			return false;
		p2p_hold_answered(p2p, message->source, &in->offer);
		return true;
	}
	code = p2p_peer_get(p2p, message->source, &peer);
	if (code)
		return code != UTOFU_ERR_OUT_OF_MEMORY;
	request = p2p_hold_offered(p2p, peer, message, &in->offer);
	if (!request)
		return true;
	p2p_receive_unpost(p2p, request);
	request_match(request, message);
	p2p_rendezvous_begin(p2p, request);
	return true;
}

/* ---- Messages to this process ---- */

static void self_deliver(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
			 struct tofu_p2p_request *send)
{
	request_match(request, &send->message);
	if (request->length)
		memmove(request->buf, send->buf, request->length);
	p2p_request_end(p2p, request, UTOFU_SUCCESS);
	p2p_request_end(p2p, send, UTOFU_SUCCESS);
}

/* Keeps a short message as if it had arrived, if there is memory. */
static bool self_copy(struct tofu_p2p *p2p, struct tofu_p2p_request *send)
{
	struct p2p_unexpected *unexpected;

	if (send->room > p2p->config.eager ||
	    send->flags & TOFU_P2P_SYNCHRONOUS)
		return false;
	send->message.kind = P2P_EAGER;
	unexpected = message_keep(p2p, &send->message, P2P_UNEXPECTED);
	if (unexpected && send->room)
		memcpy(unexpected->data, send->buf, send->room);
	return unexpected;
}

/* Any other message waits in the send. */
static bool self_hold(struct tofu_p2p *p2p, struct tofu_p2p_request *send)
{
	send->message.kind = P2P_SELF;
	send->message.handle = p2p_request_handle(send);
	send->state = P2P_HELD;
	return message_keep(p2p, &send->message, P2P_REQUESTS);
}

bool p2p_receive_self(struct tofu_p2p *p2p, struct tofu_p2p_request *send)
{
	struct tofu_p2p_request *request;

	send->message.source = p2p->config.params.rank;
	request = posted_take(p2p, &send->message);
	if (request) {
		self_deliver(p2p, request, send);
		return true;
	}
	if (!self_copy(p2p, send))
		return self_hold(p2p, send);
	p2p_request_end(p2p, send, UTOFU_SUCCESS);
	return true;
}

/* ---- Receives ---- */

static void unexpected_deliver(struct tofu_p2p *p2p,
			       struct tofu_p2p_request *request,
			       const struct p2p_unexpected *unexpected)
{
	request_match(request, &unexpected->message);
	if (request->message.kind == P2P_SELF) {
		self_deliver(p2p, request,
			     p2p_request_find(p2p, request->message.handle));
	} else if (request->message.kind == P2P_EAGER) {
		if (request->length)
			memcpy(request->buf, unexpected->data, request->length);
		p2p_request_end(p2p, request, UTOFU_SUCCESS);
	} else {
		p2p_rendezvous_begin(p2p, request);
	}
}

/* Out of line, as this happens only while memory is short */
__attribute__((noinline)) static void
sought_post(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
	    const struct p2p_match_want *want)
{
	p2p_match_post(&p2p->match, &request->node, want);
	p2p_hold_posted(p2p, request);
}

void p2p_receive_begin(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		       const struct p2p_match_want *want)
{
	struct p2p_unexpected *unexpected = arrived_find(p2p, want);

	if (!unexpected) {
		request->state = P2P_POSTED;
		if (p2p_holds(p2p))
			sought_post(p2p, request, want);
		else
			p2p_match_post(&p2p->match, &request->node, want);
		return;
	}
	unexpected_deliver(p2p, request, unexpected);
	unexpected_free(p2p, unexpected);
}

void p2p_receive_claimed(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
			 struct p2p_unexpected *claimed)
{
	unexpected_deliver(p2p, request, claimed);
	claimed_free(p2p, claimed);
}

void p2p_receive_free(struct tofu_p2p *p2p)
{
	const struct p2p_match_want all = { .ignore = UINT64_MAX, .any = true };
	struct p2p_unexpected *unexpected;

	while ((unexpected = arrived_find(p2p, &all)))
		unexpected_free(p2p, unexpected);
	while ((unexpected = TAILQ_FIRST(&p2p->claimed)))
		claimed_free(p2p, unexpected);
	p2p_match_free(&p2p->match);
}

void p2p_receive_orphans(struct tofu_p2p *p2p)
{
	struct p2p_requests orphans = TAILQ_HEAD_INITIALIZER(orphans);
	struct tofu_p2p_request *request;

	/* Some may have returned to the list. */
	TAILQ_CONCAT(&orphans, &p2p->orphans, link);
	while ((request = TAILQ_FIRST(&orphans))) {
		TAILQ_REMOVE(&orphans, request, link);
		p2p_rendezvous_begin(p2p, request);
	}
}

/* ---- Rings ---- */

/*
 * An invalid record is its sender's mistake, and is dropped.
 *
 * Return: false if it has to stay in the ring.
 */
static bool record_take(struct tofu_p2p *p2p, struct incoming *in)
{
	struct p2p_message message;
	struct p2p_peer *peer;
	bool taken;
	int code;

	if (!message_read(in, &message))
		return true;
	if (in->head.flags & (P2P_OFFER | P2P_ANSWER))
		return offer_take(p2p, &message, in);
	if (!(in->head.flags & (P2P_ASK | P2P_TELL)))
		return message_take(p2p, &message, in);
	/* What is requested needs an answer: get the entry first. */
	code = p2p_peer_get(p2p, in->head.source, &peer);
	if (code)
		return code != UTOFU_ERR_OUT_OF_MEMORY;
	p2p_peer_pin(p2p, peer);
	taken = message_take(p2p, &message, in);
	if (taken && in->head.flags & P2P_ASK)
		p2p_ring_asked(p2p, peer);
	p2p_peer_unpin(p2p, peer);
	return taken;
}

/*
 * Out of line, as the others that read a ring: a turn in vain saves no registers
 * for it.
 *
 * Return: whether it is empty, or was left and has been freed.
 */
__attribute__((noinline)) static bool ring_read(struct tofu_p2p *p2p,
						struct p2p_ring *ring)
{
	struct incoming in;

	for (unsigned int i = 0; i < TURN; i++) {
		if (!srb_ring_receive(&ring->ring, &in.record))
			return true;
		if (head_known(&ring->ring, ring->peer->rank, &in)) {
			if (in.head.kind == P2P_MOVED) {
				p2p_ring_free(p2p, ring);
				return true;
			}
			if (!record_take(p2p, &in))
				return false;
		}
		p2p->clock++;
		p2p_ring_heard(p2p, ring);
		if (!srb_ring_leave(&ring->ring))
			return true;
	}
	return false;
}

/*
 * The shared ring has a record of a peer that has an own ring. The peer has
 * left its own ring, whose records come first. If it has not left, it breaks
 * the protocol, and the ring is taken from it.
 */
static bool own_first(struct tofu_p2p *p2p, uint32_t rank)
{
	struct p2p_peer *peer = p2p_peer_find(p2p, rank);

	if (!peer || !peer->ring || !peer->ring->open)
		return true;
	if (!ring_read(p2p, peer->ring))
		return false;
	if (peer->ring)
		p2p_ring_free(p2p, peer->ring);
	return true;
}

/* Return: false if it has to stay in the ring. */
static bool shared_take(struct tofu_p2p *p2p, struct incoming *in)
{
	if (!head_read(p2p, in))
		return true;
	if (!own_first(p2p, in->head.source))
		return false;
	if (in->head.kind == P2P_MOVED) {
		p2p_ring_open(p2p, in->head.source);
		return true;
	}
	return record_take(p2p, in);
}

__attribute__((noinline)) static int shared_read(struct tofu_p2p *p2p)
{
	struct incoming in;

	for (unsigned int i = 0; i < TURN; i++) {
		int code = tofu_srb_receive(p2p->requests, &in.record);

		if (code)
			return code == UTOFU_ERR_NOT_FOUND ? UTOFU_SUCCESS :
							     code;
		if (!shared_take(p2p, &in))
			return UTOFU_SUCCESS;
		tofu_srb_release(p2p->requests);
		p2p->clock++;
	}
	return UTOFU_SUCCESS;
}

/*
 * The first ring read finds the memory that is left for messages. So the peer
 * that has been silent for the longest time comes first. A peer that is heard
 * moves to the front; the loop ends where the front was before.
 */
static void own_read(struct tofu_p2p *p2p)
{
	struct p2p_ring *last = TAILQ_FIRST(&p2p->rings), *ring, *next;

	for (ring = TAILQ_LAST(&p2p->rings, p2p_rings); ring; ring = next) {
		next = ring == last ? NULL : TAILQ_PREV(ring, p2p_rings, link);
		if (ring->open && srb_ring_has(&ring->ring))
			ring_read(p2p, ring);
	}
}

/* A record that cannot be kept stays, and stalls its sender only. */
__attribute__((noinline)) static void
standing_read(struct tofu_p2p *p2p, struct p2p_standing_peer *peer)
{
	struct srb_ring *ring = &peer->ring[P2P_STANDING_REQUEST];
	const uint32_t rank = p2p_standing_rank(p2p, peer);
	struct incoming in;

	for (unsigned int i = 0; i < TURN; i++) {
		if (!srb_ring_receive(ring, &in.record))
			return;
		if ((head_known(ring, rank, &in) && !record_take(p2p, &in)) ||
		    !srb_ring_leave(ring))
			return;
	}
}

/* Each process has its turn to find the memory that is left for messages. */
static void standing_all(struct tofu_p2p *p2p, unsigned int turns)
{
	struct p2p_standing_peer *peer;

	p2p_standing_look(p2p, turns);
	p2p_standing_rotate(p2p, turns);
	TAILQ_FOREACH(peer, &p2p->standing.heard, link)
		if (srb_ring_has(&peer->ring[P2P_STANDING_REQUEST]))
			standing_read(p2p, peer);
}

static int shared_all(struct tofu_p2p *p2p)
{
	return tofu_srb_is_quiet(p2p->requests) ? UTOFU_SUCCESS :
						  shared_read(p2p);
}

int p2p_receive_all(struct tofu_p2p *p2p)
{
	const unsigned int turns = tofu_work_turns(&p2p->mark);
	int code;

	if (p2p->config.standing) {
		standing_all(p2p, turns);
		return UTOFU_SUCCESS;
	}
	tofu_work(TOFU_WORK_P2P_SHARED);
	p2p->turn += turns;
	if (p2p->turn % 2) {
		own_read(p2p);
		return shared_all(p2p);
	}
	code = shared_all(p2p);
	if (!code)
		own_read(p2p);
	return code;
}
