/* SPDX-License-Identifier: MIT */
/* Sends. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

char *tofu_fi_join(const struct iovec *iov, size_t count, size_t bytes)
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

static unsigned int send_flags(uint64_t flags)
{
	return (flags & FI_REMOTE_CQ_DATA ? TOFU_P2P_DATA : 0) |
	       (flags & FI_INJECT ? TOFU_P2P_COPY : 0) |
	       (flags & FI_DELIVERY_COMPLETE ? TOFU_P2P_DELIVERED : 0) |
	       (flags & FI_MATCH_COMPLETE ? TOFU_P2P_SYNCHRONOUS : 0);
}

static ssize_t send_check(const struct tofu_fi_ep *ep,
			  const struct tofu_fi_outgoing *out, size_t bytes)
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

/* A message that was injected has nobody to hear of it, or only a counter. */
static ssize_t send_ready(struct tofu_fi_ep *ep, const struct tofu_fi_outgoing *out,
			  struct tofu_p2p_send *send)
{
	struct tofu_fi_op *op;

	if (out->quiet && out->flags & FI_INJECT && out->count <= 1) {
		if (!ep->cntr[0])
			send->flags |= TOFU_P2P_SILENT;
		return 0;
	}
	op = tofu_fi_op_new(ep);
	if (!op)
		return -FI_EAGAIN;
	op->context = out->context;
	op->flags = FI_SEND | out->kind;
	op->buf = NULL;
	op->quiet = out->quiet;
	send->context = op;
	if (out->count <= 1)
		return 0;
	op->stage = tofu_fi_join(out->iov, out->count, send->bytes);
	send->buf = op->stage;
	if (op->stage)
		return 0;
	tofu_fi_op_free(ep, op);
	return -FI_EAGAIN;
}

/*
 * How long a call waits for what it has injected, at most; half as long after each
 * time that was in vain, so that many slow peers do not cost much. And how often it
 * just looks: all that it does for a peer that was slow the last time.
 */
#define PATIENCE_MS 100
#define LOOKS 64

/* Return: whether it makes sense to wait on. */
static bool is_patient(struct tofu_fi_ep *ep, int64_t *since)
{
	const int64_t now = tofu_fi_now_ms();

	sched_yield();
	if (!*since)
		*since = now;
	if (now - *since <= PATIENCE_MS >> ep->haste)
		return true;
	if (PATIENCE_MS >> ep->haste)
		ep->haste++;
	return false;
}

/*
 * A program takes an injected message for sent, and may make no call for long. So
 * the message is on its way before the call returns, unless the receiver makes no
 * progress: then it goes with later calls.
 */
static void send_away(struct tofu_fi_ep *ep, struct tofu_fi_peer *peer,
		      const struct tofu_p2p_request *request)
{
	unsigned int looks = 0;
	int64_t since = 0;
	int code;

	while ((code = tofu_p2p_away(ep->p2p, request)) ==
	       UTOFU_ERR_NOT_COMPLETED) {
		if (looks++ >= LOOKS &&
		    (peer->slow || !is_patient(ep, &since))) {
			peer->slow = true;
			return;
		}
		if (tofu_p2p_progress(ep->p2p))
			return;
	}
	peer->slow = code;
	if (since && !code && ep->haste)
		ep->haste--;
}

static ssize_t send_post(struct tofu_fi_ep *ep, const struct tofu_fi_outgoing *out,
			 size_t bytes)
{
	struct tofu_fi_peer *peer = &ep->av->peer[out->to];
	struct tofu_p2p_request *request = NULL;
	struct tofu_p2p_send send = {
		.buf = out->count ? out->iov[0].iov_base : NULL,
		.bytes = bytes,
		.tag = out->tag,
		.dest = peer->rank,
		.data = (uint32_t)out->data,
		.flags = send_flags(out->flags),
	};
	ssize_t err = send_ready(ep, out, &send);
	int code;

	if (err)
		return err;
	code = tofu_p2p_post_send(ep->p2p, &send, &request);
	if (code && send.context)
		tofu_fi_op_free(ep, send.context);
	if (!code && !send.context)
		send_away(ep, peer, request);
	return tofu_fi_result(code);
}

ssize_t tofu_fi_send(struct fid_ep *fid, const struct tofu_fi_outgoing *out)
{
	struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	size_t bytes;
	ssize_t err;

	if (!tofu_fi_sum(out->iov, out->count, &bytes))
		return -FI_EINVAL;
	tofu_fi_lock(ep->domain);
	err = send_check(ep, out, bytes);
	if (!err)
		err = send_post(ep, out, bytes);
	tofu_fi_unlock(ep->domain);
	return err;
}

ssize_t tofu_fi_send_plain(struct fid_ep *fid, const struct iovec *iov,
			   size_t count, fi_addr_t to, uint64_t kind,
			   uint64_t tag, const uint64_t *data, void *context)
{
	const struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	const struct tofu_fi_outgoing out = {
		.iov = iov,
		.count = count,
		.to = to,
		.tag = tag,
		.data = data ? *data : 0,
		.kind = kind,
		.flags = ep->tx_flags | (data ? FI_REMOTE_CQ_DATA : 0),
		.quiet = tofu_fi_tx_quiet(ep, ep->tx_flags),
		.context = context,
	};

	return tofu_fi_send(fid, &out);
}

ssize_t tofu_fi_send_inject(struct fid_ep *fid, const struct iovec *iov,
			    fi_addr_t to, uint64_t kind, uint64_t tag,
			    const uint64_t *data)
{
	const struct tofu_fi_outgoing out = {
		.iov = iov,
		.count = 1,
		.to = to,
		.tag = tag,
		.data = data ? *data : 0,
		.kind = kind,
		.flags = FI_INJECT | (data ? FI_REMOTE_CQ_DATA : 0),
		.quiet = true,
	};

	return tofu_fi_send(fid, &out);
}
