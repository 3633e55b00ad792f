// SPDX-License-Identifier: MIT
/*
 * Posted messages: with all that a message can have, and whose ends come in one
 * list, so that a program with many of them does not ask each.
 */
#include "p2p/internal.h"

#include "utofu/work.h"

#define SEND_FLAGS \
	(TOFU_P2P_DATA | TOFU_P2P_SYNCHRONOUS | TOFU_P2P_COPY | TOFU_P2P_SILENT | \
	 TOFU_P2P_DELIVERED)
#define RECEIVE_FLAGS TOFU_P2P_SILENT

/* Of sends, those that ask for nothing of a short message */
#define EXPRESS_FLAGS (TOFU_P2P_COPY | TOFU_P2P_SILENT)

/* ---- Sends ---- */

static int send_check(const struct tofu_p2p *p2p,
		      const struct tofu_p2p_send *send)
{
	if (!send)
		return UTOFU_ERR_INVALID_POINTER;
	if (send->flags & ~SEND_FLAGS)
		return UTOFU_ERR_INVALID_FLAGS;
	return p2p_send_check(p2p, send->buf, send->bytes, send->dest,
			      send->tag);
}

static void send_fill(struct tofu_p2p_request *made,
		      const struct tofu_p2p_send *send)
{
	made->dest = send->dest;
	made->buf = (void *)(uintptr_t)send->buf;
	made->room = send->bytes;
	made->posted = true;
	made->flags = send->flags;
	made->context = send->context;
	made->message.tag = send->tag;
	made->message.bytes = send->bytes;
	if (send->flags & TOFU_P2P_DATA) {
		made->message.flags = P2P_DATA;
		made->message.data = send->data;
	}
}

/* Return: the send, on its way; NULL: it has to be begun. */
static struct tofu_p2p_request *express(struct tofu_p2p *p2p,
					const struct tofu_p2p_send *send)
{
	if (!p2p_is_express(send->bytes) || send->flags & ~EXPRESS_FLAGS)
		return NULL;
	return p2p_send_express(p2p, send->buf, send->bytes, send->dest,
				send->tag);
}

/* A message that no ring is too small for goes into it without being copied. */
static bool goes_eagerly(const struct tofu_p2p *p2p,
			 const struct tofu_p2p_send *send)
{
	return send->dest != p2p->config.params.rank &&
	       !(send->flags & TOFU_P2P_SYNCHRONOUS) &&
	       send->bytes <= p2p->config.eager &&
	       send->bytes + sizeof(send->data) + sizeof(uint64_t) <=
		       p2p_eager_max(TOFU_SRB_BYTES_MIN);
}

static bool is_queued(const struct tofu_p2p_request *request)
{
	return request->state == P2P_QUEUED || request->state == P2P_PEERLESS;
}

static bool send_begin(struct tofu_p2p *p2p, struct tofu_p2p_request *request,
		       const struct tofu_p2p_send *send)
{
	const bool copy = send->flags & TOFU_P2P_COPY && send->bytes;
	const bool later = copy && goes_eagerly(p2p, send);

	if ((copy && !later && !p2p_request_copy(p2p, request)) ||
	    (send->dest == p2p->config.params.rank &&
	     !p2p_receive_self(p2p, request))) {
		p2p_request_drop(p2p, request);
		return false;
	}
	if (send->dest == p2p->config.params.rank)
		return true;
	p2p_send_begin(p2p, request);
	if (!later || !is_queued(request) || p2p_request_copy(p2p, request))
		return true;
	p2p_send_take_back(p2p, request);
	return false;
}

int tofu_p2p_post_send(struct tofu_p2p *p2p, const struct tofu_p2p_send *send,
		       struct tofu_p2p_request **request)
{
	struct tofu_p2p_request *made, *sent;
	int code = send_check(p2p, send);

	if (code)
		return code;
	sent = express(p2p, send);
	made = sent ? sent : p2p_request_begin(p2p, true);
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	send_fill(made, send);
	if (!sent && !send_begin(p2p, made, send))
		return UTOFU_ERR_OUT_OF_MEMORY;
	if (request)
		*request = made;
	return UTOFU_SUCCESS;
}

/* ---- Receives ---- */

static int receive_check(const struct tofu_p2p *p2p,
			 const struct tofu_p2p_receive *receive)
{
	if (!receive)
		return UTOFU_ERR_INVALID_POINTER;
	if (receive->flags & ~RECEIVE_FLAGS)
		return UTOFU_ERR_INVALID_FLAGS;
	return p2p_receive_check(p2p, receive->buf, receive->room,
				 receive->source);
}

static struct tofu_p2p_request *
receive_make(struct tofu_p2p *p2p, const struct tofu_p2p_receive *receive)
{
	struct tofu_p2p_request *made = p2p_request_begin(p2p, false);

	if (!made)
		return NULL;
	made->buf = receive->buf;
	made->room = receive->room;
	made->posted = true;
	made->flags = receive->flags;
	made->context = receive->context;
	made->message.source = receive->source;
	return made;
}

static struct p2p_match_want want_of(const struct tofu_p2p_receive *receive)
{
	return (struct p2p_match_want){
		.tag = receive->tag,
		.ignore = receive->ignore,
		.source = receive->source,
		.any = receive->source == TOFU_P2P_ANY_SOURCE,
	};
}

int tofu_p2p_post_receive(struct tofu_p2p *p2p,
			  const struct tofu_p2p_receive *receive,
			  struct tofu_p2p_request **request)
{
	struct tofu_p2p_request *made;
	struct p2p_match_want want;
	int code = receive_check(p2p, receive);

	if (code)
		return code;
	made = receive_make(p2p, receive);
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	want = want_of(receive);
	p2p_receive_begin(p2p, made, &want);
	if (request)
		*request = made;
	return UTOFU_SUCCESS;
}

/* ---- Messages that are there ---- */

static struct tofu_p2p_end end_of(const struct p2p_message *message)
{
	return (struct tofu_p2p_end){
		.flags = message->flags & P2P_DATA ? TOFU_P2P_DATA : 0,
		.source = message->source,
		.tag = message->tag,
		.bytes = message->bytes,
		.data = message->data,
	};
}

int tofu_p2p_peek(struct tofu_p2p *p2p, const struct tofu_p2p_receive *receive,
		  struct tofu_p2p_end *end, struct tofu_p2p_claim **claim)
{
	struct p2p_unexpected *found;
	struct p2p_match_want want;
	int code = receive ? p2p_receive_check(p2p, NULL, 0, receive->source) :
			     UTOFU_ERR_INVALID_POINTER;

	if (!code && !end)
		code = UTOFU_ERR_INVALID_POINTER;
	if (!code)
		code = tofu_p2p_progress(p2p);
	if (code)
		return code;
	want = want_of(receive);
	found = p2p_receive_probe(p2p, &want);
	if (!found)
		return UTOFU_ERR_NOT_FOUND;
	*end = end_of(&found->message);
	end->context = receive->context;
	if (!claim)
		return UTOFU_SUCCESS;
	p2p_receive_claim(p2p, found);
	*claim = (void *)found;
	return UTOFU_SUCCESS;
}

int tofu_p2p_post_claimed(struct tofu_p2p *p2p, struct tofu_p2p_claim *claim,
			  const struct tofu_p2p_receive *receive,
			  struct tofu_p2p_request **request)
{
	struct tofu_p2p_request *made;
	int code = receive_check(p2p, receive);

	if (!code && !claim)
		code = UTOFU_ERR_INVALID_POINTER;
	if (code)
		return code;
	made = receive_make(p2p, receive);
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	p2p_receive_claimed(p2p, made, (void *)claim);
	if (request)
		*request = made;
	return UTOFU_SUCCESS;
}

/* ---- Ends ---- */

/* Return: whether there is something to tell. */
static bool told_take(struct tofu_p2p *p2p, struct tofu_p2p_end *end)
{
	struct tofu_p2p_request *request = STAILQ_FIRST(&p2p->told);
	const bool silent = !request->code && request->flags & TOFU_P2P_SILENT;

	tofu_work(TOFU_WORK_P2P_ENDED);
	STAILQ_REMOVE_HEAD(&p2p->told, told);
	if (!silent) {
		*end = end_of(&request->message);
		if (request->sends || request->access)
			*end = (struct tofu_p2p_end){
				.flags = request->access ? TOFU_P2P_ONESIDED :
							   TOFU_P2P_SENT,
				.source = request->dest,
				.tag = request->message.tag,
				.bytes = request->room,
			};
		end->context = request->context;
		end->code = request->code;
	}
	p2p_request_free(p2p, request);
	p2p->tests = 0;
	return !silent;
}

static bool told_find(struct tofu_p2p *p2p, struct tofu_p2p_end *end)
{
	while (!STAILQ_EMPTY(&p2p->told))
		if (told_take(p2p, end))
			return true;
	return false;
}

/* Requests have their turns: their peers may be gone. */
static void one_doubt(struct tofu_p2p *p2p)
{
	const uint32_t count = (uint32_t)p2p->slabs.slabs * P2P_SLAB;

	for (uint32_t i = 0; i < count; i++) {
		struct tofu_p2p_request *request;

		if (p2p->doubted >= count)
			p2p->doubted = 0;
		request = p2p_request_at(p2p, p2p->doubted++);
		if (request && p2p_reply_hello(p2p, request))
			return;
	}
}

int tofu_p2p_told(struct tofu_p2p *p2p, struct tofu_p2p_end *end)
{
	if (!p2p || !end)
		return UTOFU_ERR_INVALID_POINTER;
	return told_find(p2p, end) ? UTOFU_SUCCESS : UTOFU_ERR_NOT_FOUND;
}

int tofu_p2p_ended(struct tofu_p2p *p2p, struct tofu_p2p_end *end)
{
	int code;

	if (!p2p || !end)
		return UTOFU_ERR_INVALID_POINTER;
	if (told_find(p2p, end))
		return UTOFU_SUCCESS;
	code = tofu_p2p_progress(p2p);
	if (told_find(p2p, end))
		return UTOFU_SUCCESS;
	if (code)
		return code;
	if (++p2p->tests >= P2P_HELLO_TESTS) {
		p2p->tests = 0;
		one_doubt(p2p);
	}
	return UTOFU_ERR_NOT_FOUND;
}
