/* SPDX-License-Identifier: MIT */
/* Reads and writes of other processes' memory. */
#include "message.h"

#define READ_FLAGS (FI_COMPLETION | FI_MORE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define WRITE_FLAGS                                                        \
	(READ_FLAGS | FI_INJECT | FI_INJECT_COMPLETE | FI_MATCH_COMPLETE | \
	 FI_REMOTE_CQ_DATA)

/**
 * struct transfer - a read or write
 * @reads: else it writes
 * @at:    where in the other process
 * @flags: FI_*
 * @quiet: it completes only if it fails
 */
struct transfer {
	const struct iovec *iov;
	size_t count;
	bool reads;
	fi_addr_t to;
	struct fi_rma_iov at;
	uint64_t flags;
	bool quiet;
	void *context;
};

static ssize_t check(const struct tofu_fi_ep *ep, const struct transfer *t,
		     size_t bytes)
{
	if (!ep->p2p)
		return -FI_EOPBADSTATE;
	if (!ep->rma)
		return -FI_EOPNOTSUPP;
	if (t->count > TOFU_FI_IOV || !tofu_fi_peer(ep->av, t->to) ||
	    t->at.len != bytes)
		return -FI_EINVAL;
	if (t->flags & ~(t->reads ? READ_FLAGS : WRITE_FLAGS))
		return -FI_EBADFLAGS;
	/* An entry of the target's queue needs the target. */
	if (t->flags & FI_REMOTE_CQ_DATA)
		return -FI_EOPNOTSUPP;
	return t->flags & FI_INJECT && bytes > TOFU_FI_INJECT ? -FI_EMSGSIZE :
								0;
}

/* The pieces of a write are joined; a read comes in one, and is divided. */
static bool stage_make(struct tofu_fi_op *op, const struct transfer *t,
		       size_t bytes)
{
	if (t->count <= 1)
		return true;
	if (!t->reads) {
		op->stage = tofu_fi_join(t->iov, t->count, bytes);
		return op->stage;
	}
	return tofu_fi_divide(op, t->iov, t->count);
}

static struct tofu_fi_op *op_make(struct tofu_fi_ep *ep,
				  const struct transfer *t, size_t bytes)
{
	struct tofu_fi_op *op = tofu_fi_op_new(ep);

	if (!op)
		return NULL;
	op->context = t->context;
	op->flags = FI_RMA | (t->reads ? FI_READ : FI_WRITE);
	op->buf = NULL;
	op->room = bytes;
	op->quiet = t->quiet;
	if (stage_make(op, t, bytes))
		return op;
	tofu_fi_op_free(ep, op);
	return NULL;
}

static ssize_t post(struct tofu_fi_ep *ep, const struct transfer *t,
		    size_t bytes)
{
	struct tofu_p2p_move move = {
		.buf = t->count ? t->iov[0].iov_base : NULL,
		.bytes = bytes,
		.remote.rank = ep->av->peer[t->to].rank,
		.remote.stadd = t->at.key + t->at.addr,
		.flags = t->flags & FI_INJECT ? TOFU_P2P_COPY : 0,
	};
	struct tofu_fi_op *op;
	int code = tofu_fi_window(ep->domain, move.remote.rank,
				  &move.remote.vcq);

	if (code)
		return -tofu_fi_errno(code);
	op = op_make(ep, t, bytes);
	if (!op)
		return -FI_EAGAIN;
	if (op->stage)
		move.buf = op->stage;
	move.context = op;
	code = t->reads ? tofu_p2p_post_get(ep->p2p, &move) :
			  tofu_p2p_post_put(ep->p2p, &move);
	if (code)
		tofu_fi_op_free(ep, op);
	return tofu_fi_result(code);
}

static ssize_t transfer(struct fid_ep *fid, const struct transfer *t)
{
	struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	size_t bytes;
	ssize_t err;

	if (!tofu_fi_sum(t->iov, t->count, &bytes))
		return -FI_EINVAL;
	tofu_fi_lock(ep->domain);
	err = check(ep, t, bytes);
	if (!err)
		err = post(ep, t, bytes);
	tofu_fi_unlock(ep->domain);
	return err;
}

/* A transfer with the endpoint's flags */
static ssize_t transfer_plain(struct fid_ep *fid, struct transfer *t,
			      uint64_t address, uint64_t key)
{
	const struct tofu_fi_ep *ep = (struct tofu_fi_ep *)fid;
	size_t bytes;

	if (!tofu_fi_sum(t->iov, t->count, &bytes))
		return -FI_EINVAL;
	t->at = (struct fi_rma_iov){ address, bytes, key };
	t->flags |= t->reads ? 0 : ep->tx_flags;
	t->quiet = t->quiet || tofu_fi_tx_quiet(ep, ep->tx_flags);
	return transfer(fid, t);
}

static ssize_t transfer_msg(struct fid_ep *fid, const struct fi_msg_rma *msg,
			    uint64_t flags, bool reads)
{
	const struct transfer t = {
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.reads = reads,
		.to = msg->addr,
		.at = msg->rma_iov_count ? msg->rma_iov[0] : (struct fi_rma_iov){ 0 },
		.flags = flags,
		.quiet = tofu_fi_tx_quiet((struct tofu_fi_ep *)fid, flags),
		.context = msg->context,
	};

	return msg->rma_iov_count > 1 ? -FI_EINVAL : transfer(fid, &t);
}

/* ---- libfabric's calls ---- */

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t from,
			 uint64_t address, uint64_t key, void *context)
{
	struct transfer t = {
		.iov = iov,
		.count = count,
		.reads = true,
		.to = from,
		.context = context,
	};

	(void)desc;
	return transfer_plain(ep, &t, address, key);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t bytes, void *desc,
			fi_addr_t from, uint64_t address, uint64_t key,
			void *context)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	(void)desc;
	return rma_readv(ep, &iov, NULL, 1, from, address, key, context);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg,
			   uint64_t flags)
{
	return transfer_msg(ep, msg, flags, true);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov,
			  void **desc, size_t count, fi_addr_t to,
			  uint64_t address, uint64_t key, void *context)
{
	struct transfer t = {
		.iov = iov,
		.count = count,
		.to = to,
		.context = context,
	};

	(void)desc;
	return transfer_plain(ep, &t, address, key);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t bytes,
			 void *desc, fi_addr_t to, uint64_t address,
			 uint64_t key, void *context)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);

	(void)desc;
	return rma_writev(ep, &iov, NULL, 1, to, address, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg,
			    uint64_t flags)
{
	return transfer_msg(ep, msg, flags, false);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t bytes,
			  fi_addr_t to, uint64_t address, uint64_t key)
{
	const struct iovec iov = tofu_fi_piece(buf, bytes);
	struct transfer t = {
		.iov = &iov,
		.count = 1,
		.to = to,
		.flags = FI_INJECT,
		.quiet = true,
	};

	return transfer_plain(ep, &t, address, key);
}

static ssize_t no_writedata(struct fid_ep *ep, const void *buf, size_t bytes,
			    void *desc, uint64_t data, fi_addr_t to,
			    uint64_t address, uint64_t key, void *context)
{
	(void)ep;
	(void)buf;
	(void)bytes;
	(void)desc;
	(void)data;
	(void)to;
	(void)address;
	(void)key;
	(void)context;
	return -FI_EOPNOTSUPP;
}

static ssize_t no_injectdata(struct fid_ep *ep, const void *buf, size_t bytes,
			     uint64_t data, fi_addr_t to, uint64_t address,
			     uint64_t key)
{
	return no_writedata(ep, buf, bytes, NULL, data, to, address, key, NULL);
}

struct fi_ops_rma tofu_fi_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = no_writedata,
	.injectdata = no_injectdata,
};
