/* SPDX-License-Identifier: MIT */
/* libfabric's calls for messages without tags. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "message.h"

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t bytes, void *desc,
			fi_addr_t from, void *context)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	(void)desc;
	return tofu_fi_receive_plain(ep, &iov, 1, from, FI_MSG, TOFU_FI_UNTAGGED, 0,
				     context);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t from,
			 void *context)
{
	(void)desc;
	return tofu_fi_receive_plain(ep, iov, count, from, FI_MSG, TOFU_FI_UNTAGGED, 0,
				     context);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg,
			   uint64_t flags)
{
	const struct tofu_fi_incoming in = {
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.from = msg->addr,
		.tag = TOFU_FI_UNTAGGED,
		.kind = FI_MSG,
		.quiet = tofu_fi_rx_quiet((struct tofu_fi_ep *)ep, flags),
		.multi = flags & FI_MULTI_RECV,
		.context = msg->context,
	};

	if (flags & (FI_PEEK | FI_CLAIM))
		return -FI_EBADFLAGS;
	return in.multi && in.count != 1 ? -FI_EINVAL :
					   tofu_fi_receive(ep, &in);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t bytes,
			void *desc, fi_addr_t to, void *context)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	(void)desc;
	return tofu_fi_send_plain(ep, &iov, 1, to, FI_MSG, TOFU_FI_UNTAGGED, NULL,
				  context);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t to, void *context)
{
	(void)desc;
	return tofu_fi_send_plain(ep, iov, count, to, FI_MSG, TOFU_FI_UNTAGGED, NULL,
				  context);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg,
			   uint64_t flags)
{
	const struct tofu_fi_outgoing out = {
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.to = msg->addr,
		.tag = TOFU_FI_UNTAGGED,
		.data = flags & FI_REMOTE_CQ_DATA ? msg->data : 0,
		.kind = FI_MSG,
		.flags = flags,
		.quiet = tofu_fi_tx_quiet((struct tofu_fi_ep *)ep, flags),
		.context = msg->context,
	};

	return tofu_fi_send(ep, &out);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t bytes,
			  fi_addr_t to)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	return tofu_fi_send_inject(ep, &iov, to, FI_MSG, TOFU_FI_UNTAGGED, NULL);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t bytes,
			    void *desc, uint64_t data, fi_addr_t to,
			    void *context)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	(void)desc;
	return tofu_fi_send_plain(ep, &iov, 1, to, FI_MSG, TOFU_FI_UNTAGGED, &data,
				  context);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t bytes,
			      uint64_t data, fi_addr_t to)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	return tofu_fi_send_inject(ep, &iov, to, FI_MSG, TOFU_FI_UNTAGGED, &data);
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
