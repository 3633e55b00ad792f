/* SPDX-License-Identifier: MIT */
/* Messages, with tags and without, and their ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

/* ---- What somebody wants to hear of ---- */

static struct tofu_fi_op *op_new(struct tofu_fi_ep *ep)
{
	struct tofu_fi_op *op = LIST_FIRST(&ep->unused);

	if (op)
		LIST_REMOVE(op, link);
	else
		op = malloc(sizeof(*op));
	if (!op)
		return NULL;
	op->stage = NULL;
	op->request = NULL;
	op->quiet = false;
	op->count = 0;
	LIST_INSERT_HEAD(&ep->ops, op, link);
	return op;
}

static void op_free(struct tofu_fi_ep *ep, struct tofu_fi_op *op)
{
	free(op->stage);
	LIST_REMOVE(op, link);
	LIST_INSERT_HEAD(&ep->unused, op, link);
}

static void ops_free(struct tofu_fi_ops *ops)
{
	struct tofu_fi_op *op;

	while ((op = LIST_FIRST(ops))) {
		LIST_REMOVE(op, link);
		free(op);
	}
}

void tofu_fi_forget(struct tofu_fi_ep *ep)
{
	struct tofu_fi_claim *claim;
	struct tofu_fi_op *op;

	while ((op = LIST_FIRST(&ep->ops)))
		op_free(ep, op);
	ops_free(&ep->unused);
	while ((claim = LIST_FIRST(&ep->claims))) {
		LIST_REMOVE(claim, link);
		free(claim);
	}
}

/* ---- Ends ---- */

/* Gives the pieces of the program what has come in one. */
static void pieces_fill(const struct tofu_fi_op *op, size_t bytes)
{
	const char *from = op->stage;

	for (size_t i = 0; i < op->count && bytes; i++) {
		size_t length = op->iov[i].iov_len < bytes ?
					op->iov[i].iov_len :
					bytes;

		memcpy(op->iov[i].iov_base, from, length);
		from += length;
		bytes -= length;
	}
}

static bool is_cancelled(const struct tofu_p2p_end *end)
{
	return end->code == UTOFU_ERR_MRQ_PEER;
}

static void error_say(const struct tofu_fi_ep *ep,
		      const struct tofu_p2p_end *end)
{
	tofu_fi_warn(FI_LOG_EP_DATA, "process %u: a message %s process %u: %s\n",
		     ep->domain->job.rank,
		     end->flags & TOFU_P2P_SENT ? "to" : "from", end->source,
		     is_cancelled(end) ? "it is gone" :
					 tofu_error_text(end->code));
}

static void end_add(struct tofu_fi_ep *ep, const struct tofu_fi_op *op,
		    const struct tofu_p2p_end *end)
{
	const bool sent = end->flags & TOFU_P2P_SENT;
	const bool known = !sent && end->source < ep->domain->job.ranks;
	size_t length = end->bytes;
	struct tofu_fi_entry entry = {
		.is.op_context = op ? op->context : NULL,
		.is.flags = op ? op->flags : FI_SEND,
		.is.buf = op ? op->buf : NULL,
		.is.data = end->data,
		.is.tag = end->tag & TOFU_FI_TAGS,
		.is.err = tofu_fi_errno(end->code),
		.is.prov_errno = end->code,
		.source = known ? tofu_fi_address(ep->av, end->source) :
				  FI_ADDR_NOTAVAIL,
	};

	if (end->flags & TOFU_P2P_DATA)
		entry.is.flags |= FI_REMOTE_CQ_DATA;
	if (!sent && op && length > op->room) {
		entry.is.olen = length - op->room;
		length = op->room;
	}
	entry.is.len = length;
	if (end->code && end->code != UTOFU_ERR_INVALID_SIZE)
		error_say(ep, end);
	tofu_fi_cq_add(sent ? ep->tx : ep->rx, &entry);
}

static void end_take(struct tofu_fi_ep *ep, const struct tofu_p2p_end *end)
{
	struct tofu_fi_op *op = end->context;

	if (op && op->stage && op->count)
		pieces_fill(op, end->bytes < op->room ? end->bytes : op->room);
	/* What is discarded has no room, and nobody wants to hear of it. */
	if (end->code && op && op->flags & FI_DISCARD)
		op->quiet = true;
	else if (end->code || (op && !op->quiet))
		end_add(ep, op, end);
	if (op)
		op_free(ep, op);
}

/* The endpoint is of no use any more: told once, without a message. */
static void break_tell(struct tofu_fi_ep *ep, int code)
{
	const struct tofu_fi_entry entry = {
		.is.err = tofu_fi_errno(code),
		.is.prov_errno = code,
		.source = FI_ADDR_NOTAVAIL,
	};

	if (ep->broken)
		return;
	ep->broken = true;
	tofu_fi_warn(FI_LOG_EP_DATA, "process %u: its endpoint is broken: %s\n",
		     ep->domain->job.rank, tofu_error_text(code));
	tofu_fi_cq_add(ep->rx, &entry);
}

void tofu_fi_progress(struct tofu_fi_ep *ep, size_t most)
{
	struct tofu_p2p_end end;
	int code = UTOFU_SUCCESS;

	if (!ep->p2p)
		return;
	while (most-- && !(code = tofu_p2p_ended(ep->p2p, &end)))
		end_take(ep, &end);
	if (code && code != UTOFU_ERR_NOT_FOUND)
		break_tell(ep, code);
}

/* Errors that the caller hears of at once */
static ssize_t post_result(int code)
{
	return code == UTOFU_ERR_OUT_OF_MEMORY ? -FI_EAGAIN :
						 -tofu_fi_errno(code);
}

/* ---- Pieces ---- */

static bool pieces_sum(const struct iovec *iov, size_t count, size_t *bytes)
{
	*bytes = 0;
	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(*bytes, iov[i].iov_len, bytes))
			return false;
	return true;
}

/* Return: the message in one piece, or NULL without memory for it. */
static char *pieces_join(const struct iovec *iov, size_t count, size_t bytes)
{
	char *stage = malloc(bytes ? bytes : 1), *to = stage;

	if (!stage)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		if (iov[i].iov_len)
			memcpy(to, iov[i].iov_base, iov[i].iov_len);
		to += iov[i].iov_len;
	}
	return stage;
}

/* ---- Sends ---- */

/**
 * struct outgoing - a message to send
 * @kind:  FI_TAGGED or FI_MSG
 * @flags: FI_*
 * @quiet: it completes only if it fails
 */
struct outgoing {
	const struct iovec *iov;
	size_t count;
	fi_addr_t to;
	uint64_t tag;
	uint64_t data;
	uint64_t kind;
	uint64_t flags;
	bool quiet;
	void *context;
};

static unsigned int send_flags(uint64_t flags)
{
	return (flags & FI_REMOTE_CQ_DATA ? TOFU_P2P_DATA : 0) |
	       (flags & FI_INJECT ? TOFU_P2P_COPY : 0) |
	       (flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE) ?
			TOFU_P2P_SYNCHRONOUS :
			0);
}

static ssize_t send_check(const struct tofu_fi_ep *ep,
			  const struct outgoing *out, size_t bytes)
{
	if (!ep->p2p)
		return -FI_EOPBADSTATE;
	if (out->count > TOFU_FI_IOV || !tofu_fi_peer(ep->av, out->to) ||
	    (out->kind == FI_TAGGED && out->tag & ~TOFU_FI_TAGS) ||
	    out->data > UINT32_MAX)
		return -FI_EINVAL;
	return out->flags & FI_INJECT && bytes > TOFU_FI_INJECT ? -FI_EMSGSIZE :
								  0;
}

/* A message that was injected has nobody to hear of it. */
static ssize_t send_ready(struct tofu_fi_ep *ep, const struct outgoing *out,
			  struct tofu_p2p_send *send)
{
	struct tofu_fi_op *op;

	if (out->quiet && out->flags & FI_INJECT && out->count <= 1) {
		send->flags |= TOFU_P2P_SILENT;
		return 0;
	}
	op = op_new(ep);
	if (!op)
		return -FI_EAGAIN;
	op->context = out->context;
	op->flags = FI_SEND | out->kind;
	op->buf = NULL;
	op->quiet = out->quiet;
	send->context = op;
	if (out->count <= 1)
		return 0;
	op->stage = pieces_join(out->iov, out->count, send->bytes);
	send->buf = op->stage;
	if (op->stage)
		return 0;
	op_free(ep, op);
	return -FI_EAGAIN;
}

static ssize_t send_post(struct tofu_fi_ep *ep, const struct outgoing *out,
			 size_t bytes)
{
	struct tofu_p2p_send send = {
		.buf = out->count ? out->iov[0].iov_base : NULL,
		.bytes = bytes,
		.tag = out->tag,
		.dest = ep->av->peer[out->to].rank,
		.data = (uint32_t)out->data,
		.flags = send_flags(out->flags),
	};
	ssize_t err = send_ready(ep, out, &send);
	int code;

	if (err)
		return err;
	code = tofu_p2p_post_send(ep->p2p, &send, NULL);
	if (code && send.context)
		op_free(ep, send.context);
	return post_result(code);
}

static ssize_t message_send(struct fid_ep *fid, const struct outgoing *out)
{
	struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	size_t bytes;
	ssize_t err;

	if (!pieces_sum(out->iov, out->count, &bytes))
		return -FI_EINVAL;
	tofu_fi_lock(ep->domain);
	err = send_check(ep, out, bytes);
	if (!err)
		err = send_post(ep, out, bytes);
	tofu_fi_unlock(ep->domain);
	return err;
}

static bool tx_quiet(const struct tofu_fi_ep *ep, uint64_t flags)
{
	return ep->tx_selective && !(flags & FI_COMPLETION);
}

static ssize_t plain_send(struct fid_ep *fid, const struct iovec *iov,
			  size_t count, fi_addr_t to, uint64_t kind,
			  uint64_t tag, const uint64_t *data, void *context)
{
	const struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	const struct outgoing out = {
		.iov = iov,
		.count = count,
		.to = to,
		.tag = tag,
		.data = data ? *data : 0,
		.kind = kind,
		.flags = ep->tx_flags | (data ? FI_REMOTE_CQ_DATA : 0),
		.quiet = tx_quiet(ep, ep->tx_flags),
		.context = context,
	};

	return message_send(fid, &out);
}

static ssize_t plain_inject(struct fid_ep *fid, const struct iovec *iov,
			    fi_addr_t to, uint64_t kind, uint64_t tag,
			    const uint64_t *data)
{
	const struct outgoing out = {
		.iov = iov,
		.count = 1,
		.to = to,
		.tag = tag,
		.data = data ? *data : 0,
		.kind = kind,
		.flags = FI_INJECT | (data ? FI_REMOTE_CQ_DATA : 0),
		.quiet = true,
	};

	return message_send(fid, &out);
}

static struct iovec piece_of(const void *buf, size_t bytes)
{
	return (struct iovec){
		.iov_base = (void *)(uintptr_t)buf,
		.iov_len = bytes,
	};
}

/* ---- Receives ---- */

/**
 * struct incoming - a message to receive
 * @any: from any source
 */
struct incoming {
	const struct iovec *iov;
	size_t count;
	fi_addr_t from;
	uint64_t tag;
	uint64_t ignore;
	uint64_t kind;
	bool quiet;
	void *context;
};

static ssize_t receive_source(const struct tofu_fi_ep *ep, fi_addr_t from,
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
static struct tofu_p2p_receive receive_of(const struct incoming *in,
					  uint32_t source)
{
	return (struct tofu_p2p_receive){
		.tag = in->tag & ~in->ignore,
		.ignore = in->ignore & TOFU_FI_TAGS,
		.source = source,
	};
}

static bool stage_make(struct tofu_fi_op *op, const struct incoming *in)
{
	if (in->count <= 1)
		return true;
	op->stage = malloc(op->room ? op->room : 1);
	if (!op->stage)
		return false;
	op->count = in->count;
	memcpy(op->iov, in->iov, in->count * sizeof(*in->iov));
	return true;
}

/* Return: NULL without memory. */
static struct tofu_fi_op *receive_ready(struct tofu_fi_ep *ep,
					const struct incoming *in,
					struct tofu_p2p_receive *receive)
{
	struct tofu_fi_op *op = op_new(ep);

	if (!op)
		return NULL;
	op->context = in->context;
	op->flags = FI_RECV | in->kind;
	op->buf = in->count ? in->iov[0].iov_base : NULL;
	op->quiet = in->quiet;
	pieces_sum(in->iov, in->count, &op->room);
	if (!stage_make(op, in)) {
		op_free(ep, op);
		return NULL;
	}
	receive->buf = op->stage ? op->stage : op->buf;
	receive->room = op->room;
	receive->context = op;
	return op;
}

static ssize_t receive_post(struct tofu_fi_ep *ep, const struct incoming *in)
{
	struct tofu_p2p_receive receive;
	struct tofu_fi_op *op;
	uint32_t source;
	ssize_t err = receive_source(ep, in->from, &source);
	int code;

	if (err)
		return err;
	receive = receive_of(in, source);
	op = receive_ready(ep, in, &receive);
	if (!op)
		return -FI_EAGAIN;
	code = tofu_p2p_post_receive(ep->p2p, &receive, &op->request);
	if (code)
		op_free(ep, op);
	return post_result(code);
}

static ssize_t receive_check(const struct tofu_fi_ep *ep,
			     const struct incoming *in)
{
	size_t bytes;

	if (!ep->p2p)
		return -FI_EOPBADSTATE;
	return in->count > TOFU_FI_IOV ||
			       !pieces_sum(in->iov, in->count, &bytes) ?
		       -FI_EINVAL :
		       0;
}

static ssize_t message_receive(struct fid_ep *fid, const struct incoming *in)
{
	struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	ssize_t err;

	tofu_fi_lock(ep->domain);
	err = receive_check(ep, in);
	if (!err)
		err = receive_post(ep, in);
	tofu_fi_unlock(ep->domain);
	return err;
}

static bool rx_quiet(const struct tofu_fi_ep *ep, uint64_t flags)
{
	return ep->rx_selective && !(flags & FI_COMPLETION);
}

static ssize_t plain_receive(struct fid_ep *fid, const struct iovec *iov,
			     size_t count, fi_addr_t from, uint64_t kind,
			     uint64_t tag, uint64_t ignore, void *context)
{
	const struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	const struct incoming in = {
		.iov = iov,
		.count = count,
		.from = from,
		.tag = tag,
		.ignore = ignore,
		.kind = kind,
		.quiet = rx_quiet(ep, ep->rx_flags),
		.context = context,
	};

	return message_receive(fid, &in);
}

/* The error that tells of a receive, or a look, that has found nothing */
static void nothing_add(struct tofu_fi_ep *ep, void *context, uint64_t flags,
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

void tofu_fi_cancel(struct tofu_fi_ep *ep, void *context)
{
	struct tofu_fi_op *op;

	LIST_FOREACH(op, &ep->ops, link)
		if (op->context == context && op->request &&
		    op->flags & FI_RECV)
			break;
	/* One that has begun, or ended, completes as it does. */
	if (!op || tofu_p2p_cancel(ep->p2p, &op->request))
		return;
	nothing_add(ep, context, op->flags, 0, FI_ECANCELED);
	op_free(ep, op);
}

/* ---- Looking, and claiming ---- */

static struct tofu_fi_claim *claim_find(struct tofu_fi_ep *ep, void *context)
{
	struct tofu_fi_claim *claim;

	LIST_FOREACH(claim, &ep->claims, link)
		if (claim->context == context)
			return claim;
	return NULL;
}

static ssize_t claimed_receive(struct tofu_fi_ep *ep, struct tofu_p2p_claim *claim,
			       const struct incoming *in, bool discard)
{
	static const struct incoming nowhere = { .quiet = true };
	struct tofu_p2p_receive receive =
		receive_of(in, TOFU_P2P_ANY_SOURCE);
	struct tofu_fi_op *op =
		receive_ready(ep, discard ? &nowhere : in, &receive);
	int code;

	if (!op)
		return -FI_EAGAIN;
	op->flags |= FI_TAGGED | (discard ? FI_DISCARD : 0);
	code = tofu_p2p_post_claimed(ep->p2p, claim, &receive, NULL);
	if (code)
		op_free(ep, op);
	return post_result(code);
}

static ssize_t claim_receive(struct tofu_fi_ep *ep, const struct incoming *in,
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
		nothing_add(ep, in->context, FI_RECV | FI_TAGGED, in->tag, 0);
	LIST_REMOVE(claim, link);
	free(claim);
	return 0;
}

static ssize_t claim_keep(struct tofu_fi_ep *ep, struct tofu_fi_claim *claim,
			  const struct incoming *in, uint64_t flags)
{
	ssize_t err;

	if (flags & FI_CLAIM) {
		claim->context = in->context;
		LIST_INSERT_HEAD(&ep->claims, claim, link);
		return 0;
	}
	err = claimed_receive(ep, claim->claim, in, true);
	free(claim);
	return err;
}

/* The message is there: tell of it, and keep it for its receive if asked to. */
static ssize_t peek_found(struct tofu_fi_ep *ep, struct tofu_fi_claim *claim,
			  const struct incoming *in,
			  const struct tofu_p2p_end *end, uint64_t flags)
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
	ssize_t err = claim ? claim_keep(ep, claim, in, flags) : 0;

	if (!err)
		tofu_fi_cq_add(ep->rx, &entry);
	return err;
}

static ssize_t peek(struct tofu_fi_ep *ep, const struct incoming *in,
		    uint64_t flags)
{
	struct tofu_p2p_receive receive;
	struct tofu_fi_claim *claim = NULL;
	struct tofu_p2p_end end;
	uint32_t source;
	ssize_t err = receive_source(ep, in->from, &source);
	int code;

	if (err)
		return err;
	if (flags & (FI_CLAIM | FI_DISCARD)) {
		claim = malloc(sizeof(*claim));
		if (!claim)
			return -FI_EAGAIN;
	}
	receive = receive_of(in, source);
	code = tofu_p2p_peek(ep->p2p, &receive, &end,
			     claim ? &claim->claim : NULL);
	if (!code)
		return peek_found(ep, claim, in, &end, flags);
	free(claim);
	if (code != UTOFU_ERR_NOT_FOUND)
		return -tofu_fi_errno(code);
	nothing_add(ep, in->context, FI_RECV | FI_TAGGED, in->tag, FI_ENOMSG);
	return 0;
}

static ssize_t look(struct fid_ep *fid, const struct incoming *in,
		    uint64_t flags)
{
	struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	ssize_t err;

	tofu_fi_lock(ep->domain);
	err = receive_check(ep, in);
	if (!err)
		err = flags & FI_PEEK ? peek(ep, in, flags) :
					claim_receive(ep, in, flags);
	tofu_fi_unlock(ep->domain);
	return err;
}

/* ---- libfabric's calls: messages with tags ---- */

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t bytes,
			   void *desc, fi_addr_t from, uint64_t tag,
			   uint64_t ignore, void *context)
{
	const struct iovec iov = piece_of(buf, bytes);

	(void)desc;
	return plain_receive(ep, &iov, 1, from, FI_TAGGED, tag, ignore, context);
}

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t from,
			    uint64_t tag, uint64_t ignore, void *context)
{
	(void)desc;
	return plain_receive(ep, iov, count, from, FI_TAGGED, tag, ignore,
			     context);
}

static ssize_t tagged_recvmsg(struct fid_ep *ep,
			      const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct incoming in = {
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.from = msg->addr,
		.tag = msg->tag,
		.ignore = msg->ignore,
		.kind = FI_TAGGED,
		.quiet = rx_quiet((struct tofu_fi_ep *)ep, flags),
		.context = msg->context,
	};

	return flags & (FI_PEEK | FI_CLAIM) ? look(ep, &in, flags) :
					      message_receive(ep, &in);
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t bytes,
			   void *desc, fi_addr_t to, uint64_t tag,
			   void *context)
{
	const struct iovec iov = piece_of(buf, bytes);

	(void)desc;
	return plain_send(ep, &iov, 1, to, FI_TAGGED, tag, NULL, context);
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t to,
			    uint64_t tag, void *context)
{
	(void)desc;
	return plain_send(ep, iov, count, to, FI_TAGGED, tag, NULL, context);
}

static ssize_t tagged_sendmsg(struct fid_ep *ep,
			      const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct outgoing out = {
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.to = msg->addr,
		.tag = msg->tag,
		.data = flags & FI_REMOTE_CQ_DATA ? msg->data : 0,
		.kind = FI_TAGGED,
		.flags = flags,
		.quiet = tx_quiet((struct tofu_fi_ep *)ep, flags),
		.context = msg->context,
	};

	return message_send(ep, &out);
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t bytes,
			     fi_addr_t to, uint64_t tag)
{
	const struct iovec iov = piece_of(buf, bytes);

	return plain_inject(ep, &iov, to, FI_TAGGED, tag, NULL);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t bytes,
			       void *desc, uint64_t data, fi_addr_t to,
			       uint64_t tag, void *context)
{
	const struct iovec iov = piece_of(buf, bytes);

	(void)desc;
	return plain_send(ep, &iov, 1, to, FI_TAGGED, tag, &data, context);
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf,
				 size_t bytes, uint64_t data, fi_addr_t to,
				 uint64_t tag)
{
	const struct iovec iov = piece_of(buf, bytes);

	return plain_inject(ep, &iov, to, FI_TAGGED, tag, &data);
}

struct fi_ops_tagged tofu_fi_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};

/* ---- Messages without ---- */

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t bytes, void *desc,
			fi_addr_t from, void *context)
{
	const struct iovec iov = piece_of(buf, bytes);

	(void)desc;
	return plain_receive(ep, &iov, 1, from, FI_MSG, TOFU_FI_UNTAGGED, 0,
			     context);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t from,
			 void *context)
{
	(void)desc;
	return plain_receive(ep, iov, count, from, FI_MSG, TOFU_FI_UNTAGGED, 0,
			     context);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg,
			   uint64_t flags)
{
	const struct incoming in = {
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.from = msg->addr,
		.tag = TOFU_FI_UNTAGGED,
		.kind = FI_MSG,
		.quiet = rx_quiet((struct tofu_fi_ep *)ep, flags),
		.context = msg->context,
	};

	return flags & (FI_PEEK | FI_CLAIM | FI_MULTI_RECV) ?
		       -FI_EBADFLAGS :
		       message_receive(ep, &in);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t bytes,
			void *desc, fi_addr_t to, void *context)
{
	const struct iovec iov = piece_of(buf, bytes);

	(void)desc;
	return plain_send(ep, &iov, 1, to, FI_MSG, TOFU_FI_UNTAGGED, NULL,
			  context);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t to, void *context)
{
	(void)desc;
	return plain_send(ep, iov, count, to, FI_MSG, TOFU_FI_UNTAGGED, NULL,
			  context);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg,
			   uint64_t flags)
{
	const struct outgoing out = {
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.to = msg->addr,
		.tag = TOFU_FI_UNTAGGED,
		.data = flags & FI_REMOTE_CQ_DATA ? msg->data : 0,
		.kind = FI_MSG,
		.flags = flags,
		.quiet = tx_quiet((struct tofu_fi_ep *)ep, flags),
		.context = msg->context,
	};

	return message_send(ep, &out);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t bytes,
			  fi_addr_t to)
{
	const struct iovec iov = piece_of(buf, bytes);

	return plain_inject(ep, &iov, to, FI_MSG, TOFU_FI_UNTAGGED, NULL);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t bytes,
			    void *desc, uint64_t data, fi_addr_t to,
			    void *context)
{
	const struct iovec iov = piece_of(buf, bytes);

	(void)desc;
	return plain_send(ep, &iov, 1, to, FI_MSG, TOFU_FI_UNTAGGED, &data,
			  context);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t bytes,
			      uint64_t data, fi_addr_t to)
{
	const struct iovec iov = piece_of(buf, bytes);

	return plain_inject(ep, &iov, to, FI_MSG, TOFU_FI_UNTAGGED, &data);
}

struct fi_ops_msg tofu_fi_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};
