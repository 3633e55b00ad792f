// SPDX-License-Identifier: MIT
/*
 * Payload: from the node's memory into packets, and back. A packet carries
 * payload, or refers to the sender's memory, from which the receiver copies.
 *
 * Where the receiver has to ask the system for the sender's memory, both copy
 * faster, at the same time: one into packets and the other out of them. But that
 * needs both; so what is left goes by reference when the receiver does not keep up.
 */
#include <errno.h>
#include <string.h>

#include "icc/internal.h"

static int gather_data(struct icc *icc, struct icc_range *range,
		       struct icc_outbox *out)
{
	uint8_t *to = out->pkt ? (uint8_t *)(out->pkt + 1) : out->data;
	struct tofu_ref piece;
	int more;

	out->refs = false;
	out->bytes = 0;
	while ((more = icc_range_next(icc, range, &piece)) > 0) {
		if (icc->ops->read(icc->host, piece.addr, to + out->bytes,
				   piece.len))
			return -EFAULT;
		out->bytes += (uint32_t)piece.len;
	}
	return more;
}

/*
 * The receiver of a reference could not tell whose fault a bad address is. So
 * the sender finds it, by reading both ends.
 */
static int probe(struct icc *icc, const struct tofu_ref *piece)
{
	uint8_t byte;

	return icc->ops->read(icc->host, piece->addr, &byte, 1) ||
			       icc->ops->read(icc->host,
					      piece->addr + piece->len - 1,
					      &byte, 1) ?
		       -EFAULT : 0;
}

void icc_out_begin(struct icc *icc, struct icc_outbox *out, uint32_t peer,
		   enum tofu_class class_, size_t bytes)
{
	if (!icc->time)
		out->pkt = icc->ops->tx_begin(icc->host, peer, class_, bytes,
					      &out->err);
}

struct tofu_packet *icc_out_packet(struct icc *icc, struct icc_outbox *out,
				   uint32_t peer, enum tofu_class class_,
				   int *err)
{
	struct tofu_packet *pkt = out->pkt;

	*err = out->err;
	out->pkt = NULL;
	out->err = 0;
	if (pkt || *err)
		return pkt;
	pkt = icc->ops->tx_begin(icc->host, peer, class_, icc_out_carried(out),
				 err);
	if (pkt)
		memcpy(pkt + 1, out->data, icc_out_carried(out));
	return pkt;
}

int icc_gather(struct icc *icc, struct icc_range *range, bool refer,
	       struct icc_outbox *out)
{
	unsigned int refs = 0;
	int more = 1;

	out->blank = range->blank;
	if (out->blank) {
		out->refs = false;
		out->bytes = (uint32_t)range->left;
		range->left = 0;
		return 0;
	}
	if (!refer)
		return gather_data(icc, range, out);

	while (refs < TOFU_PKT_REFS_MAX) {
		more = icc_range_next(icc, range, &out->ref[refs]);
		if (more > 0 && probe(icc, &out->ref[refs]))
			more = -EFAULT;
		if (more <= 0)
			break;
		refs++;
	}
	out->refs = true;
	out->bytes = refs * sizeof(struct tofu_ref);
	return more < 0 ? more : 0;
}

enum icc_carriage icc_carriage(struct icc *icc, int64_t peer,
			       enum tofu_class class_, uint64_t total,
			       uint32_t *looks)
{
	unsigned int patience;

	if (!icc->refers || peer < 0)
		return ICC_CARRY;
	if (total > icc->inline_max)
		return ICC_REFER;
	/* A single packet is as good as a reference. */
	if (total <= icc->mtu ||
	    icc->ops->tx_room(icc->host, (uint32_t)peer, class_))
		return ICC_CARRY;
	patience = icc->ops->patience(icc->host);
	if (patience == ICC_PATIENT)
		return ICC_WAIT;
	return (*looks)++ < patience ? ICC_WAIT : ICC_REFER;
}

static int scatter_data(struct icc *icc, const struct tofu_packet *pkt,
			const uint8_t *data, struct icc_range *range,
			bool ordered)
{
	int (*write)(void *, uint64_t, const void *, size_t) =
		ordered ? icc->ops->write_ordered : icc->ops->write;
	struct tofu_ref piece;
	int more;

	if (pkt->payload != pkt->length || pkt->length > TOFU_PKT_INLINE_MAX)
		return -EMSGSIZE;
	if (range->blank || pkt->flags & TOFU_PKT_F_BLANK)
		return 0;
	while ((more = icc_range_next(icc, range, &piece)) > 0) {
		if (write(icc->host, piece.addr, data, piece.len))
			return -EFAULT;
		data += piece.len;
	}
	return more;
}

/* Copy the references once, and check that they cover @length bytes. */
static int take_refs(const struct tofu_packet *pkt, const void *payload,
		     struct tofu_ref *ref)
{
	const struct tofu_ref *shared = payload;
	const size_t count = pkt->payload / sizeof(*ref);
	uint64_t left = pkt->length;

	if (pkt->payload % sizeof(*ref) || count > TOFU_PKT_REFS_MAX)
		return -EMSGSIZE;
	for (size_t i = 0; i < count; i++) {
		/*
		 * Relaxed: the transport has ordered the packet's arrival. The
		 * load must not be repeated after the checks.
		 */
		ref[i].addr = __atomic_load_n(&shared[i].addr,
					      __ATOMIC_RELAXED);
		ref[i].len = __atomic_load_n(&shared[i].len, __ATOMIC_RELAXED);
		if (!ref[i].len || ref[i].len > left ||
		    ref[i].addr > UINT64_MAX - ref[i].len)
			return -EMSGSIZE;
		left -= ref[i].len;
	}
	return left ? -EMSGSIZE : 0;
}

static int scatter_refs(struct icc *icc, const struct tofu_packet *pkt,
			const void *payload, struct icc_range *range,
			bool ordered)
{
	int (*pull)(void *, uint32_t, uint64_t, uint64_t, size_t) =
		ordered ? icc->ops->pull_ordered : icc->ops->pull;
	struct tofu_ref ref[TOFU_PKT_REFS_MAX];
	struct tofu_ref piece, *src = ref;
	int more, err;

	err = take_refs(pkt, payload, ref);
	if (err)
		return err;
	while ((more = icc_range_next(icc, range, &piece)) > 0) {
		while (piece.len) {
			uint64_t len = piece.len < src->len ? piece.len :
							      src->len;

			err = pull(icc->host, pkt->src, src->addr, piece.addr,
				   len);
			if (err)
				return err == -EHOSTDOWN ? err : -EFAULT;
			piece.addr += len;
			piece.len -= len;
			src->addr += len;
			src->len -= len;
			if (!src->len)
				src++;
		}
	}
	return more;
}

int icc_scatter(struct icc *icc, const struct tofu_packet *pkt,
		const void *payload, struct icc_range *range, bool ordered)
{
	if (!(pkt->flags & TOFU_PKT_F_REFS))
		return scatter_data(icc, pkt, payload, range, ordered);
	if (!icc->refers)
		return -EMSGSIZE;
	return scatter_refs(icc, pkt, payload, range, ordered);
}
