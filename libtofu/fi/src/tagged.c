/* SPDX-License-Identifier: MIT */
/* libfabric's calls for messages with tags. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "message.h"

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t bytes,
			   void *desc, fi_addr_t from, uint64_t tag,
			   uint64_t ignore, void *context)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	(void)desc;
	return tofu_fi_receive_plain(ep, &iov, 1, from, FI_TAGGED, tag, ignore, context);
}

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t from,
			    uint64_t tag, uint64_t ignore, void *context)
{
	(void)desc;
	return tofu_fi_receive_plain(ep, iov, count, from, FI_TAGGED, tag, ignore,
				     context);
}

static ssize_t tagged_recvmsg(struct fid_ep *ep,
			      const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct tofu_fi_incoming in = {
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.from = msg->addr,
		.tag = msg->tag,
		.ignore = msg->ignore,
		.kind = FI_TAGGED,
		.quiet = tofu_fi_rx_quiet((struct tofu_fi_ep *)ep, flags),
		.context = msg->context,
	};

	return flags & (FI_PEEK | FI_CLAIM) ? tofu_fi_look(ep, &in, flags) :
					      tofu_fi_receive(ep, &in);
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t bytes,
			   void *desc, fi_addr_t to, uint64_t tag,
			   void *context)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	(void)desc;
	return tofu_fi_send_plain(ep, &iov, 1, to, FI_TAGGED, tag, NULL, context);
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t to,
			    uint64_t tag, void *context)
{
	(void)desc;
	return tofu_fi_send_plain(ep, iov, count, to, FI_TAGGED, tag, NULL, context);
}

static ssize_t tagged_sendmsg(struct fid_ep *ep,
			      const struct fi_msg_tagged *msg, uint64_t flags)
{
	const struct tofu_fi_outgoing out = {
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.to = msg->addr,
		.tag = msg->tag,
		.data = flags & FI_REMOTE_CQ_DATA ? msg->data : 0,
		.kind = FI_TAGGED,
		.flags = flags,
		.quiet = tofu_fi_tx_quiet((struct tofu_fi_ep *)ep, flags),
		.context = msg->context,
	};

	return tofu_fi_send(ep, &out);
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t bytes,
			     fi_addr_t to, uint64_t tag)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	return tofu_fi_send_inject(ep, &iov, to, FI_TAGGED, tag, NULL);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t bytes,
			       void *desc, uint64_t data, fi_addr_t to,
			       uint64_t tag, void *context)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	(void)desc;
	return tofu_fi_send_plain(ep, &iov, 1, to, FI_TAGGED, tag, &data, context);
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf,
				 size_t bytes, uint64_t data, fi_addr_t to,
				 uint64_t tag)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	return tofu_fi_send_inject(ep, &iov, to, FI_TAGGED, tag, &data);
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
