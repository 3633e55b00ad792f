/* SPDX-License-Identifier: MIT */
/* Looking at messages, and claiming them. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "message.h"

static struct tofu_fi_claim *claim_find(struct tofu_fi_ep *ep, void *context)
{
	struct tofu_fi_claim *claim;

	LIST_FOREACH(claim, &ep->claims, link)
		if (claim->context == context)
			return claim;
	return NULL;
}

static const struct tofu_fi_incoming nowhere = { .quiet = true };

static ssize_t claimed_receive(struct tofu_fi_ep *ep, struct tofu_p2p_claim *claim,
			       const struct tofu_fi_incoming *in, bool discard)
{
	struct tofu_p2p_receive receive =
		tofu_fi_receive_of(in, TOFU_P2P_ANY_SOURCE);
	struct tofu_fi_op *op =
		tofu_fi_receive_ready(ep, discard ? &nowhere : in, &receive);
	int code;

	if (!op)
		return -FI_EAGAIN;
	op->flags |= FI_TAGGED | (discard ? FI_DISCARD : 0);
	code = tofu_p2p_post_claimed(ep->p2p, claim, &receive, NULL);
	if (code)
		tofu_fi_op_free(ep, op);
	return tofu_fi_result(code);
}

static ssize_t claim_receive(struct tofu_fi_ep *ep, const struct tofu_fi_incoming *in,
			     uint64_t flags)
{
	struct tofu_fi_claim *claim = claim_find(ep, in->context);
	ssize_t err;

	if (!claim)
		return -FI_EINVAL;
	err = claimed_receive(ep, claim->claim, in, flags & FI_DISCARD);
	if (err)
		return err;
	if (flags & FI_DISCARD && !in->quiet)
		tofu_fi_nothing(ep, in->context, FI_RECV | FI_TAGGED, in->tag, 0);
	LIST_REMOVE(claim, link);
	free(claim);
	return 0;
}

/* Receives what has just been found, and no other: nothing has come since. */
static ssize_t found_discard(struct tofu_fi_ep *ep,
			     const struct tofu_p2p_receive *found)
{
	struct tofu_p2p_receive receive = *found;
	struct tofu_fi_op *op = tofu_fi_receive_ready(ep, &nowhere, &receive);
	int code;

	if (!op)
		return -FI_EAGAIN;
	op->flags |= FI_TAGGED | FI_DISCARD;
	code = tofu_p2p_post_receive(ep->p2p, &receive, NULL);
	if (code)
		tofu_fi_op_free(ep, op);
	return tofu_fi_result(code);
}

static void found_add(struct tofu_fi_ep *ep, const struct tofu_fi_incoming *in,
		      const struct tofu_p2p_end *end)
{
	const struct tofu_fi_entry entry = {
		.is.op_context = in->context,
		.is.flags = FI_RECV | FI_TAGGED |
			    (end->flags & TOFU_P2P_DATA ? FI_REMOTE_CQ_DATA : 0),
		.is.len = end->bytes,
		.is.data = end->data,
		.is.tag = end->tag,
		.source = tofu_fi_address(ep->av, end->source),
	};

	tofu_fi_cq_add(ep->rx, &entry);
}

/* Return: as tofu_p2p_peek(); the message is kept if that is asked for. */
static int find(struct tofu_fi_ep *ep, const struct tofu_fi_incoming *in,
		const struct tofu_p2p_receive *receive, uint64_t flags,
		struct tofu_p2p_end *end)
{
	struct tofu_fi_claim *claim;
	int code;

	if (!(flags & FI_CLAIM))
		return tofu_p2p_peek(ep->p2p, receive, end, NULL);
	claim = malloc(sizeof(*claim));
	if (!claim)
		return UTOFU_ERR_OUT_OF_MEMORY;
	code = tofu_p2p_peek(ep->p2p, receive, end, &claim->claim);
	if (code) {
		free(claim);
		return code;
	}
	claim->context = in->context;
	LIST_INSERT_HEAD(&ep->claims, claim, link);
	return UTOFU_SUCCESS;
}

static ssize_t peek(struct tofu_fi_ep *ep, const struct tofu_fi_incoming *in,
		    uint64_t flags)
{
	struct tofu_p2p_receive receive;
	struct tofu_p2p_end end;
	uint32_t source;
	ssize_t err = tofu_fi_receive_source(ep, in->from, &source);
	int code;

	if (err)
		return err;
	receive = tofu_fi_receive_of(in, source);
	code = find(ep, in, &receive, flags, &end);
	if (code == UTOFU_ERR_NOT_FOUND) {
		tofu_fi_nothing(ep, in->context, FI_RECV | FI_TAGGED, in->tag,
				FI_ENOMSG);
		return 0;
	}
	if (code)
		return tofu_fi_result(code);
	if (flags & FI_DISCARD && !(flags & FI_CLAIM))
		err = found_discard(ep, &receive);
	if (!err)
		found_add(ep, in, &end);
	return err;
}

ssize_t tofu_fi_look(struct fid_ep *fid, const struct tofu_fi_incoming *in,
		     uint64_t flags)
{
	struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	ssize_t err;

	tofu_fi_lock(ep->domain);
	err = tofu_fi_receive_check(ep, in);
	if (!err)
		err = flags & FI_PEEK ? peek(ep, in, flags) :
					claim_receive(ep, in, flags);
	tofu_fi_unlock(ep->domain);
	return err;
}
