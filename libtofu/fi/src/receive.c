/* SPDX-License-Identifier: MIT */
/* Receives. */
#include "message.h"

ssize_t tofu_fi_receive_source(const struct tofu_fi_ep *ep, fi_addr_t from,
			       uint32_t *source)
{
	const struct tofu_fi_peer *peer;

	*source = TOFU_P2P_ANY_SOURCE;
	if (!ep->directed || from == FI_ADDR_UNSPEC)
		return 0;
	peer = tofu_fi_peer(ep->av, from);
	if (!peer)
		return -FI_EINVAL;
	*source = peer->rank;
	return 0;
}

/* Bits that no tag has must not differ. */
struct tofu_p2p_receive tofu_fi_receive_of(const struct tofu_fi_incoming *in,
					   uint32_t source)
{
	return (struct tofu_p2p_receive){
		.tag = in->tag & ~in->ignore,
		.ignore = in->ignore & TOFU_FI_TAGS,
		.source = source,
	};
}

/* Return: NULL without memory. */
struct tofu_fi_op *tofu_fi_receive_ready(struct tofu_fi_ep *ep,
					 const struct tofu_fi_incoming *in,
					 struct tofu_p2p_receive *receive)
{
	struct tofu_fi_op *op = tofu_fi_op_new(ep);

	if (!op)
		return NULL;
	op->context = in->context;
	op->flags = FI_RECV | in->kind;
	op->buf = in->count ? in->iov[0].iov_base : NULL;
	op->quiet = in->quiet;
	tofu_fi_sum(in->iov, in->count, &op->room);
	if (!tofu_fi_divide(op, in->iov, in->count)) {
		tofu_fi_op_free(ep, op);
		return NULL;
	}
	receive->buf = op->stage ? op->stage : op->buf;
	receive->room = op->room;
	receive->context = op;
	return op;
}

ssize_t tofu_fi_receive_post(struct tofu_fi_ep *ep, const struct tofu_fi_incoming *in)
{
	struct tofu_p2p_receive receive;
	struct tofu_fi_op *op;
	uint32_t source;
	ssize_t err = tofu_fi_receive_source(ep, in->from, &source);
	int code;

	if (err)
		return err;
	receive = tofu_fi_receive_of(in, source);
	op = tofu_fi_receive_ready(ep, in, &receive);
	if (!op)
		return -FI_EAGAIN;
	code = in->multi ?
		       tofu_fi_multi_post(ep, op, source) :
		       tofu_p2p_post_receive(ep->p2p, &receive, &op->request);
	if (code)
		tofu_fi_op_free(ep, op);
	return tofu_fi_result(code);
}

ssize_t tofu_fi_receive_check(const struct tofu_fi_ep *ep,
			      const struct tofu_fi_incoming *in)
{
	size_t bytes;

	if (!ep->p2p)
		return -FI_EOPBADSTATE;
	return in->count > TOFU_FI_IOV ||
			       !tofu_fi_sum(in->iov, in->count, &bytes) ?
		       -FI_EINVAL :
		       0;
}

ssize_t tofu_fi_receive(struct fid_ep *fid, const struct tofu_fi_incoming *in)
{
	struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	ssize_t err;

	tofu_fi_lock(ep->domain);
	err = tofu_fi_receive_check(ep, in);
	if (!err)
		err = tofu_fi_receive_post(ep, in);
	tofu_fi_unlock(ep->domain);
	return err;
}

ssize_t tofu_fi_receive_plain(struct fid_ep *fid, const struct iovec *iov,
			      size_t count, fi_addr_t from, uint64_t kind,
			      uint64_t tag, uint64_t ignore, void *context)
{
	const struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	const struct tofu_fi_incoming in = {
		.iov = iov,
		.count = count,
		.from = from,
		.tag = tag,
		.ignore = ignore,
		.kind = kind,
		.quiet = tofu_fi_rx_quiet(ep, ep->rx_flags),
		.multi = kind == FI_MSG && count == 1 &&
			 ep->rx_flags & FI_MULTI_RECV,
		.context = context,
	};

	return tofu_fi_receive(fid, &in);
}

/* The error that tells of a receive, or a look, that has found nothing */
void tofu_fi_nothing(struct tofu_fi_ep *ep, void *context, uint64_t flags,
		     uint64_t tag, int err)
{
	const struct tofu_fi_entry entry = {
		.is.op_context = context,
		.is.flags = flags,
		.is.tag = tag,
		.is.err = err,
		.source = FI_ADDR_NOTAVAIL,
	};

	tofu_fi_cq_add(ep->rx, &entry);
}

/* Not one that has matched: it completes as it does. */
static struct tofu_fi_op *receive_find(struct tofu_fi_ep *ep, void *context)
{
	struct tofu_fi_op *op;

	LIST_FOREACH(op, &ep->ops, link)
		if (op->context == context && op->flags & FI_RECV &&
		    (op->request || op->multi))
			return op;
	return NULL;
}

void tofu_fi_cancel(struct tofu_fi_ep *ep, void *context)
{
	struct tofu_fi_op *op = receive_find(ep, context);
	bool multi, posted;
	uint32_t source;

	if (!op)
		return;
	multi = op->multi;
	posted = op->request;
	source = op->source;
	if (posted && tofu_p2p_cancel(ep->p2p, &op->request))
		return;
	tofu_fi_nothing(ep, context, op->flags | (multi ? FI_MULTI_RECV : 0), 0,
			FI_ECANCELED);
	tofu_fi_op_free(ep, op);
	if (multi && posted)
		tofu_fi_multi_next(ep, source);
}
