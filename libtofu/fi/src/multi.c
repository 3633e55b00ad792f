/* SPDX-License-Identifier: MIT */
/*
 * Buffers for several messages. They are used up in their order: of those for
 * the same source only the first is posted, with what it has left.
 */
#define _GNU_SOURCE
#include "message.h"

static int rest_post(struct tofu_fi_ep *ep, struct tofu_fi_op *op)
{
	const struct tofu_p2p_receive receive = {
		.buf = (char *)op->buf + op->used,
		.room = op->room - op->used,
		.tag = TOFU_FI_UNTAGGED,
		.source = op->source,
		.context = op,
	};

	return tofu_p2p_post_receive(ep->p2p, &receive, &op->request);
}

static struct tofu_fi_op *first_of(const struct tofu_fi_ep *ep, uint32_t source)
{
	struct tofu_fi_op *op;

	TAILQ_FOREACH(op, &ep->multis, multis)
		if (op->source == source)
			break;
	return op;
}

int tofu_fi_multi_post(struct tofu_fi_ep *ep, struct tofu_fi_op *op,
		       uint32_t source)
{
	int code = UTOFU_SUCCESS;

	op->source = source;
	if (!first_of(ep, source))
		code = rest_post(ep, op);
	if (code)
		return code;
	op->multi = true;
	TAILQ_INSERT_TAIL(&ep->multis, op, multis);
	return UTOFU_SUCCESS;
}

/* Without memory for it, the program has its buffer back. */
void tofu_fi_multi_next(struct tofu_fi_ep *ep, uint32_t source)
{
	struct tofu_fi_op *op;

	while ((op = first_of(ep, source)) && rest_post(ep, op)) {
		tofu_fi_nothing(ep, op->context, op->flags | FI_MULTI_RECV, 0,
				FI_ENOMEM);
		tofu_fi_op_free(ep, op);
	}
}

/* After an error, such as a source that is gone, nothing more would come. */
static bool goes_on(struct tofu_fi_ep *ep, struct tofu_fi_op *op, int code)
{
	const size_t left = op->room - op->used;

	return !code && left && left >= ep->multi_min && !rest_post(ep, op);
}

void tofu_fi_multi_take(struct tofu_fi_ep *ep, struct tofu_fi_op *op,
			const struct tofu_p2p_end *end)
{
	const size_t left = op->room - op->used;
	const size_t came = end->bytes < left ? end->bytes : left;
	const size_t before = op->used;
	const uint32_t source = op->source;
	bool more;

	op->used += came;
	more = goes_on(ep, op, end->code);
	if (!more)
		op->flags |= FI_MULTI_RECV;
	if (end->code || !more || !op->quiet)
		tofu_fi_end_add(ep, op, end, before);
	if (more)
		return;
	tofu_fi_op_free(ep, op);
	tofu_fi_multi_next(ep, source);
}
