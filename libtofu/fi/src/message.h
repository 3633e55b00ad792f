/* SPDX-License-Identifier: MIT */
/*
 * Messages, with tags and without, between libfabric's calls and endpoints.
 *
 * May include: provider.h
 */
#ifndef TOFU_FI_MESSAGE_H
#define TOFU_FI_MESSAGE_H

#include "provider.h"

/**
 * struct tofu_fi_outgoing - a message to send
 * @kind:  FI_TAGGED or FI_MSG
 * @flags: FI_*
 * @quiet: it completes only if it fails
 */
struct tofu_fi_outgoing {
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

/**
 * struct tofu_fi_incoming - a message to receive
 * @kind:  FI_TAGGED or FI_MSG
 * @quiet: it completes only if it fails
 * @multi: the buffer is for several messages
 */
struct tofu_fi_incoming {
	const struct iovec *iov;
	size_t count;
	fi_addr_t from;
	uint64_t tag;
	uint64_t ignore;
	uint64_t kind;
	bool quiet;
	bool multi;
	void *context;
};

static inline bool tofu_fi_tx_quiet(const struct tofu_fi_ep *ep, uint64_t flags)
{
	return ep->tx_selective && !(flags & FI_COMPLETION);
}

static inline bool tofu_fi_rx_quiet(const struct tofu_fi_ep *ep, uint64_t flags)
{
	return ep->rx_selective && !(flags & FI_COMPLETION);
}

static inline struct iovec tofu_fi_piece(const void *buf, size_t bytes)
{
	return (struct iovec){
		.iov_base = (void *)(uintptr_t)buf,
		.iov_len = bytes,
	};
}

static inline bool tofu_fi_sum(const struct iovec *iov, size_t count, size_t *bytes)
{
	*bytes = 0;
	for (size_t i = 0; i < count; i++)
		if (__builtin_add_overflow(*bytes, iov[i].iov_len, bytes))
			return false;
	return true;
}

/* ---- op.c ---- */

/* tofu_fi_op_new - begin a message. Return: NULL without memory */
struct tofu_fi_op *tofu_fi_op_new(struct tofu_fi_ep *ep);
void tofu_fi_op_free(struct tofu_fi_ep *ep, struct tofu_fi_op *op);

/*
 * tofu_fi_divide - have what comes, up to @op->room bytes, in one piece first, and
 * then in these. Return: false without memory
 */
bool tofu_fi_divide(struct tofu_fi_op *op, const struct iovec *iov,
		    size_t count);

/*
 * tofu_fi_end_add - tell of an end; @before: bytes of the buffer that earlier
 * messages have
 */
void tofu_fi_end_add(struct tofu_fi_ep *ep, const struct tofu_fi_op *op,
		     const struct tofu_p2p_end *end, size_t before);

/* tofu_fi_result - get what a call returns that has posted a message */
ssize_t tofu_fi_result(int code);

/* ---- send.c ---- */

/* tofu_fi_join - copy pieces into one, to be freed. Return: NULL without memory */
char *tofu_fi_join(const struct iovec *iov, size_t count, size_t bytes);

/* tofu_fi_send - send a message, with the domain's lock yet to take */
ssize_t tofu_fi_send(struct fid_ep *fid, const struct tofu_fi_outgoing *out);

/* The same with the endpoint's flags, and @data if there is any */
ssize_t tofu_fi_send_plain(struct fid_ep *fid, const struct iovec *iov,
			   size_t count, fi_addr_t to, uint64_t kind,
			   uint64_t tag, const uint64_t *data, void *context);
ssize_t tofu_fi_send_inject(struct fid_ep *fid, const struct iovec *iov,
			    fi_addr_t to, uint64_t kind, uint64_t tag,
			    const uint64_t *data);

/* ---- receive.c ---- */

/* tofu_fi_receive - receive a message, with the domain's lock yet to take */
ssize_t tofu_fi_receive(struct fid_ep *fid, const struct tofu_fi_incoming *in);

/* The same with the endpoint's flags */
ssize_t tofu_fi_receive_plain(struct fid_ep *fid, const struct iovec *iov,
			      size_t count, fi_addr_t from, uint64_t kind,
			      uint64_t tag, uint64_t ignore, void *context);

/* Parts of a receive: check it; find the process; what to post, and for whom */
ssize_t tofu_fi_receive_check(const struct tofu_fi_ep *ep,
			      const struct tofu_fi_incoming *in);
ssize_t tofu_fi_receive_source(const struct tofu_fi_ep *ep, fi_addr_t from,
			       uint32_t *source);
struct tofu_p2p_receive
tofu_fi_receive_of(const struct tofu_fi_incoming *in, uint32_t source);
struct tofu_fi_op *tofu_fi_receive_ready(struct tofu_fi_ep *ep,
					 const struct tofu_fi_incoming *in,
					 struct tofu_p2p_receive *receive);

/* tofu_fi_receive_post - receive a message that has been checked */
ssize_t tofu_fi_receive_post(struct tofu_fi_ep *ep,
			     const struct tofu_fi_incoming *in);

/* tofu_fi_nothing - complete a receive, or a look, without a message */
void tofu_fi_nothing(struct tofu_fi_ep *ep, void *context, uint64_t flags,
		     uint64_t tag, int err);

/* ---- multi.c ---- */

/* tofu_fi_multi_post - post a buffer for several messages. Return: as uTofu */
int tofu_fi_multi_post(struct tofu_fi_ep *ep, struct tofu_fi_op *op,
		       uint32_t source);

/* tofu_fi_multi_take - one of its messages has ended */
void tofu_fi_multi_take(struct tofu_fi_ep *ep, struct tofu_fi_op *op,
			const struct tofu_p2p_end *end);

/* tofu_fi_multi_next - the first of its source is gone: post the next */
void tofu_fi_multi_next(struct tofu_fi_ep *ep, uint32_t source);

/* ---- claim.c ---- */

/* tofu_fi_look - peek at a message, claim it, discard it: FI_* in @flags */
ssize_t tofu_fi_look(struct fid_ep *fid, const struct tofu_fi_incoming *in,
		     uint64_t flags);

#endif /* TOFU_FI_MESSAGE_H */
