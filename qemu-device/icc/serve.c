// SPDX-License-Identifier: MIT
/*
 * The target's side: a request is checked against the own tables, executed on
 * the own memory, notified and answered. All of it is done at once: the room
 * for the answer has been seen before.
 */
#include <errno.h>
#include <string.h>

#include "icc/icc-internal.h"

static const uint8_t fault_status[] = {
	[ICC_FAULT_NONE] = TOFU_ST_OK,
	[ICC_FAULT_STADD] = TOFU_ST_RMT_STADD,
	[ICC_FAULT_MEMORY] = TOFU_ST_RMT_MEMORY,
};

/* ---- Receive ---- */

/* A notice follows: our memory must have been read by then. */
static bool notified(const struct tofu_packet *pkt)
{
	const unsigned int wanted = TOFU_PKT_F_RMT_NOTICE | TOFU_PKT_F_LAST;

	return (pkt->flags & wanted) == wanted;
}

static size_t get_inline_max(const struct icc *icc,
			     const struct tofu_packet *pkt)
{
	return notified(pkt) ? TOFU_PKT_INLINE_MAX : icc->inline_max;
}

static bool length_good(const struct tofu_packet *pkt)
{
	const bool last = pkt->flags & TOFU_PKT_F_LAST;

	if (pkt->total > TOFU_LENGTH_MAX || pkt->offset > pkt->total ||
	    pkt->length > pkt->total - pkt->offset ||
	    last != (pkt->length == pkt->total - pkt->offset))
		return false;
	switch (pkt->type) {
	case TOFU_PKT_PUT:
		return true;
	case TOFU_PKT_GET:
		return !pkt->payload &&
		       pkt->length <= (notified(pkt) ? TOFU_PKT_INLINE_MAX :
						       TOFU_GET_FRAGMENT_MAX);
	default: /* ARMW */
		return !pkt->payload && !pkt->offset &&
		       pkt->length == pkt->armw_size &&
		       (pkt->armw_size == 4 || pkt->armw_size == 8);
	}
}

static enum tofu_status admit(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;
	const struct icc_span span = { .total = pkt->total,
				       .offset = pkt->offset,
				       .length = pkt->length,
				       .write = pkt->type != TOFU_PKT_GET };

	if (!x->cq || !icc_cq_enabled(x->cq) || x->cq->gpid != pkt->gpid)
		return TOFU_ST_PEER;
	x->cq->counter[TOFU_CQ_RX_REQUESTS]++;
	if (!length_good(pkt))
		return TOFU_ST_RMT_LENGTH;
	return fault_status[icc_translate(icc, x->cq, pkt->rmt, &span,
					  &x->arrival.range)];
}

static enum icc_stage request_receive(struct icc *icc, struct icc_xfer *x)
{
	x->status = (uint8_t)admit(icc, x);
	if (x->status != TOFU_ST_OK)
		return ICC_INJECT;
	return x->arrival.pkt->type == TOFU_PKT_GET ? ICC_READ : ICC_WRITE;
}

/* ---- Read and write ---- */

static enum icc_stage request_read(struct icc *icc, struct icc_xfer *x)
{
	/*
	 * The outbox takes it all: no more than TOFU_GET_FRAGMENT_MAX bytes
	 * are asked for, of pages of 4 KiB at least.
	 */
	if (icc_gather(icc, &x->arrival.range,
		       get_inline_max(icc, x->arrival.pkt),
		       &icc->tni[x->cq->tni].out)) {
		x->status = TOFU_ST_RMT_MEMORY;
		return ICC_INJECT;
	}
	x->cq->counter[TOFU_CQ_RX_BYTES] += x->arrival.pkt->length;
	return ICC_NOTIFY;
}

static enum tofu_status write_put(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;

	switch (icc_scatter(icc, pkt, x->arrival.payload, &x->arrival.range,
			    pkt->flags & TOFU_PKT_F_STRONG_ORDER)) {
	case 0:
		x->cq->counter[TOFU_CQ_RX_BYTES] += pkt->length;
		return TOFU_ST_OK;
	case -EMSGSIZE:
		return TOFU_ST_RMT_LENGTH;
	case -EHOSTDOWN:
		return TOFU_ST_PEER;
	default:
		return TOFU_ST_RMT_MEMORY;
	}
}

static enum tofu_status write_armw(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;
	struct tofu_ref word;

	if (icc_range_next(icc, &x->arrival.range, &word) < 0)
		return TOFU_ST_RMT_MEMORY;
	if (word.addr % pkt->armw_size || word.len < pkt->armw_size)
		return TOFU_ST_RMT_STADD;
	return icc->ops->armw(icc->host, word.addr, pkt->armw_size,
			      pkt->armw_op, pkt->operand, pkt->compare,
			      &x->arrival.value) ?
		       TOFU_ST_RMT_MEMORY : TOFU_ST_OK;
}

static enum icc_stage request_write(struct icc *icc, struct icc_xfer *x)
{
	x->status = (uint8_t)(x->arrival.pkt->type == TOFU_PKT_PUT ?
				      write_put(icc, x) : write_armw(icc, x));
	return x->status == TOFU_ST_OK ? ICC_NOTIFY : ICC_INJECT;
}

/* ---- Notify ---- */

static void notice(struct icc *icc, struct icc_xfer *x, enum tofu_mrq_type type,
		   uint64_t lcl)
{
	const struct tofu_packet *pkt = x->arrival.pkt;
	struct tofu_mrq_entry entry = {
		.ctrl = TOFU_SET(TOFU_MRQ_TYPE, type) |
			TOFU_SET(TOFU_MRQ_EDATA, pkt->edata) |
			TOFU_SET(TOFU_MRQ_CQ, pkt->src_cq),
		.route = icc_route_coords(icc, pkt) |
			 TOFU_SET(TOFU_ROUTE_TNI, pkt->src_tni) |
			 TOFU_SET(TOFU_ROUTE_LENGTH, pkt->total) |
			 TOFU_SET(TOFU_ROUTE_TAG, pkt->tag),
		.rmt = pkt->rmt & TOFU_STADD_FIELDS,
		.lcl = lcl,
	};

	icc_mrq_write(icc, x->cq, &entry);
}

static enum icc_stage request_notify(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;
	const uint64_t stadd = pkt->lcl & TOFU_STADD_FIELDS;

	if (!notified(pkt))
		return ICC_INJECT;
	if (pkt->type == TOFU_PKT_PUT)
		notice(icc, x, TOFU_MRQ_RMT_PUT, stadd);
	else if (pkt->type == TOFU_PKT_GET)
		notice(icc, x, TOFU_MRQ_RMT_GET, stadd);
	else
		notice(icc, x, TOFU_MRQ_RMT_ARMW, x->arrival.value);
	return ICC_INJECT;
}

/* ---- Inject and route the answer ---- */

static uint8_t response_type(const struct tofu_packet *pkt)
{
	switch (pkt->type) {
	case TOFU_PKT_GET:
		return TOFU_PKT_DATA;
	case TOFU_PKT_ARMW:
		return TOFU_PKT_VALUE;
	default:
		return TOFU_PKT_DONE;
	}
}

static enum icc_stage request_inject(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *req = x->arrival.pkt;
	const bool with_data = req->type == TOFU_PKT_GET &&
			       x->status == TOFU_ST_OK;
	const struct icc_outbox *out =
		with_data ? &icc->tni[x->cq->tni].out : NULL;
	struct tofu_packet *pkt;
	int err;

	pkt = icc->ops->tx_begin(icc->host, req->src, TOFU_RESPONSE,
				 out ? out->bytes : 0, &err);
	if (!pkt)
		return ICC_ENDED; /* gone: nobody waits for the answer */
	*pkt = (struct tofu_packet){
		.src = icc->node,
		.payload = out ? out->bytes : 0,
		.type = response_type(req),
		.flags = out && out->refs ? TOFU_PKT_F_REFS : 0,
		.path = req->path,
		.src_tni = req->dst_tni,
		.src_cq = req->dst_cq,
		.dst_tni = req->src_tni,
		.dst_cq = req->src_cq,
		.gpid = req->gpid,
		.status = x->status,
		.length = req->length,
		.total = req->total,
		.offset = req->offset,
		.tid = req->tid,
		.compare = x->arrival.value,
	};
	if (out)
		memcpy(pkt + 1, out->data, out->bytes);
	icc->ops->tx_commit(icc->host);
	return ICC_ROUTE;
}

static enum icc_stage request_route(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;

	icc_route_sent(icc, pkt->src, pkt->path,
		       pkt->type == TOFU_PKT_GET && x->status == TOFU_ST_OK ?
			       pkt->length : 0);
	return ICC_ENDED;
}

icc_stage_fn *const icc_request_stage[ICC_STAGES] = {
	[ICC_RECEIVE] = request_receive, [ICC_READ] = request_read,
	[ICC_WRITE] = request_write,	 [ICC_NOTIFY] = request_notify,
	[ICC_INJECT] = request_inject,	 [ICC_ROUTE] = request_route,
};

void icc_serve(struct icc *icc, const struct tofu_packet *pkt,
	       const void *payload)
{
	struct icc_tni *tni =
		&icc->tni[pkt->dst_tni < icc->tnis ? pkt->dst_tni : 0];
	struct icc_xfer *x = &tni->arrival;

	if (pkt->type == TOFU_PKT_ARMW && pkt->armw_op >= TOFU_ARMW_OPS) {
		icc_drop(icc, pkt, "unknown operation");
		return;
	}
	x->kind = ICC_REQUEST;
	x->stage = ICC_RECEIVE;
	x->status = TOFU_ST_OK;
	x->cq = icc_cq_at(icc, pkt->dst_tni, pkt->dst_cq);
	x->arrival.pkt = pkt;
	x->arrival.payload = payload;
	x->arrival.value = 0;
	icc_xfer_run(icc, x);
}
