// SPDX-License-Identifier: MIT
/*
 * The target's side: a request is checked against the node's own tables,
 * executed on its own memory, notified and answered. All stages run at once, since
 * there was room for the answer before they began; but a long answer to a GET goes on
 * when there is room again.
 */
#include <errno.h>
#include <string.h>

#include "icc/time.h"

static const uint8_t fault_status[] = {
	[ICC_FAULT_NONE] = TOFU_ST_OK,
	[ICC_FAULT_STADD] = TOFU_ST_RMT_STADD,
	[ICC_FAULT_MEMORY] = TOFU_ST_RMT_MEMORY,
};

/* ---- Receive ---- */

/* Software or a session is told, so this node's memory must have been read. */
static bool tells(const struct tofu_packet *pkt)
{
	return (pkt->flags & TOFU_PKT_F_LAST) &&
	       ((pkt->flags & TOFU_PKT_F_RMT_NOTICE) || pkt->sps);
}

/*
 * How the next part of an answer goes. A part that has been read, and told at this node,
 * must find room, except by reference, of which nothing is told.
 */
static enum icc_carriage carriage(struct icc *icc, struct icc_xfer *x)
{
	struct icc_arrival *a = &x->arrival;
	enum icc_carriage how = ICC_CARRY;

	if (!tells(a->pkt))
		how = icc_carriage(icc, a->pkt->src, TOFU_RESPONSE,
				   a->pkt->total, &a->looks);
	if (how == ICC_CARRY && a->sent && !icc->time &&
	    !icc->ops->tx_room(icc->host, a->pkt->src, TOFU_RESPONSE))
		return ICC_WAIT;
	return how;
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
		return !pkt->payload;
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
	if (!x->arrival.sent) {
		x->cq->counter[TOFU_CQ_RX_REQUESTS]++;
		x->arrival.life = x->cq->life;
	}
	if (pkt->type == TOFU_PKT_ARMW && !icc->armw)
		return TOFU_ST_RMT_COMMAND;
	if (!length_good(pkt))
		return TOFU_ST_RMT_LENGTH;
	return fault_status[icc_translate(icc, x->cq, pkt->rmt, &span,
					  &x->arrival.range)];
}

static enum icc_stage request_receive(struct icc *icc, struct icc_xfer *x)
{
	const bool put = x->arrival.pkt->type == TOFU_PKT_PUT;

	x->status = (uint8_t)admit(icc, x);
	if (put)
		x->status = (uint8_t)icc_stream_status(icc, x->arrival.pkt,
						       x->status);
	if (x->status != TOFU_ST_OK)
		return ICC_INJECT;
	return x->arrival.pkt->type == TOFU_PKT_GET ? ICC_READ : ICC_WRITE;
}

/* ---- Read and write ---- */

/* A stream is read packet by packet; the CQ may be disabled in between. */
static enum tofu_status next_part(struct icc *icc, struct icc_xfer *x)
{
	struct icc_arrival *a = &x->arrival;
	const struct icc_span span = { .total = a->pkt->total,
				       .offset = a->pkt->offset + a->sent,
				       .length = a->part };

	/* The tables may already be another program's. */
	if (!icc_cq_enabled(x->cq) || x->cq->life != a->life)
		return TOFU_ST_PEER;
	return fault_status[icc_translate(icc, x->cq, a->pkt->rmt, &span,
					  &a->range)];
}

static enum icc_stage request_read(struct icc *icc, struct icc_xfer *x)
{
	struct icc_arrival *a = &x->arrival;
	struct icc_outbox *out = icc->out;
	const enum icc_carriage how = carriage(icc, x);

	if (how == ICC_WAIT)
		return ICC_READ;
	/*
	 * A failed answer carries no data. What is gathered leaves in this run or
	 * is forgotten: a fence, or a flush, waits for references that were sent.
	 */
	out->pkt = NULL;
	out->err = 0;
	out->bytes = 0;
	out->blank = false;
	a->part = (uint32_t)icc_part_max(icc, a->pkt->mtu, how == ICC_REFER,
					 a->pkt->length - a->sent);
	x->status = (uint8_t)next_part(icc, x);
	if (x->status != TOFU_ST_OK)
		return ICC_INJECT;
	if (how == ICC_CARRY)
		icc_out_begin(icc, out, a->pkt->src, TOFU_RESPONSE, a->part);
	if (icc_gather(icc, &a->range, how == ICC_REFER, out)) {
		x->status = TOFU_ST_RMT_MEMORY;
		return ICC_INJECT;
	}
	a->part -= (uint32_t)a->range.left;
	return a->sent + a->part == a->pkt->length ? ICC_NOTIFY : ICC_INJECT;
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

	if (x->arrival.range.blank ||
	    icc_range_next(icc, &x->arrival.range, &word) < 0)
		return TOFU_ST_RMT_MEMORY;
	if (word.addr % pkt->armw_size || word.len < pkt->armw_size)
		return TOFU_ST_RMT_STADD;
	return icc->ops->armw(icc->host, word.addr, pkt->armw_size,
			      pkt->armw_op, pkt->operand, pkt->compare,
			      &x->arrival.value) ?
		       TOFU_ST_RMT_MEMORY :
		       TOFU_ST_OK;
}

static enum icc_stage request_write(struct icc *icc, struct icc_xfer *x)
{
	const bool put = x->arrival.pkt->type == TOFU_PKT_PUT;

	x->status = (uint8_t)(put ? write_put(icc, x) : write_armw(icc, x));
	if (put && x->status != TOFU_ST_OK)
		icc_stream_status(icc, x->arrival.pkt, x->status);
	return x->status == TOFU_ST_OK ? ICC_NOTIFY : ICC_INJECT;
}

/* ---- Notify ---- */

static void notice_stamp(struct icc *icc, struct icc_xfer *x)
{
	struct icc_cq *cq = x->cq;

	cq->stamp[TOFU_CQ_RX_WIRE] = x->arrival.pkt->time;
	cq->stamp[TOFU_CQ_RX_ENGINE] = x->arrival.arrived;
	cq->stamp[TOFU_CQ_RX_NOTICE] = icc_now(icc);
}

static void notice_trace(struct icc *icc, const struct icc_xfer *x,
			 enum tofu_mrq_type type)
{
	const struct tofu_packet *pkt = x->arrival.pkt;

	const struct icc_trace trace = {
		.kind = ICC_TRACE_NOTICE,
		.time = icc_now(icc),
		.end = icc_now(icc),
		.id = pkt->tid,
		.origin = pkt->src,
		.peer = pkt->src,
		.tni = x->cq->tni,
		.cq = x->cq->cq,
		.detail = type,
	};

	icc_time_trace(icc, &trace);
}

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
	if (icc->time)
		notice_stamp(icc, x);
	if (icc_traced(icc))
		notice_trace(icc, x, type);
}

static void request_notice(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;
	const uint64_t stadd = pkt->lcl & TOFU_STADD_FIELDS;

	if (pkt->type == TOFU_PKT_PUT)
		notice(icc, x, TOFU_MRQ_RMT_PUT, stadd);
	else if (pkt->type == TOFU_PKT_GET)
		notice(icc, x, TOFU_MRQ_RMT_GET, stadd);
	else
		notice(icc, x, TOFU_MRQ_RMT_ARMW, x->arrival.value);
}

static enum icc_stage request_notify(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;

	if (!(pkt->flags & TOFU_PKT_F_LAST))
		return ICC_INJECT;
	if (pkt->flags & TOFU_PKT_F_RMT_NOTICE)
		request_notice(icc, x);
	icc_cq_add_steps(icc, x->cq, pkt->sps);
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

static uint64_t response_time(const struct icc *icc, bool with_data)
{
	if (!icc->time)
		return 0;
	return icc_now(icc) + tofu_preset_send_ns(icc->machine) +
	       (with_data ? icc->machine->read_ns : icc->machine->reply_ns);
}

uint64_t icc_answer_wire_ns(const struct icc *icc)
{
	const struct tofu_preset *m = icc->machine;

	return tofu_preset_send_ns(m) +
	       (m->read_ns < m->reply_ns ? m->read_ns : m->reply_ns);
}

/* The last packet that answers the request. */
static bool response_last(const struct icc_xfer *x)
{
	const struct icc_arrival *a = &x->arrival;

	if (a->pkt->type == TOFU_PKT_GET)
		return x->status != TOFU_ST_OK ||
		       a->sent + a->part == a->pkt->length;
	return a->pkt->flags & TOFU_PKT_F_LAST;
}

static void response_packet(const struct icc *icc, const struct icc_xfer *x,
			    const struct icc_outbox *out,
			    struct tofu_packet *pkt)
{
	const struct tofu_packet *req = x->arrival.pkt;
	unsigned int flags = req->flags & TOFU_PKT_F_INJECT;

	if (out && out->refs)
		flags |= TOFU_PKT_F_REFS;
	if (out && out->blank)
		flags |= TOFU_PKT_F_BLANK;
	if (response_last(x))
		flags |= TOFU_PKT_F_LAST;
	*pkt = (struct tofu_packet){
		.src = icc->node,
		.payload = out ? out->bytes : 0,
		.type = response_type(req),
		.flags = (uint8_t)flags,
		.path = req->path,
		.src_tni = req->dst_tni,
		.src_cq = req->dst_cq,
		.dst_tni = req->src_tni,
		.dst_cq = req->src_cq,
		.gpid = req->gpid,
		.status = x->status,
		.length = out ? x->arrival.part : req->length,
		.total = req->total,
		.offset = req->offset + x->arrival.sent,
		.tid = req->tid,
		.compare = x->arrival.value,
		.time = response_time(icc, out),
	};
}

static void response_trace(struct icc *icc, const struct tofu_packet *req,
			   const struct tofu_packet *pkt)
{
	const struct icc_trace trace = {
		.kind = ICC_TRACE_SEND,
		.time = icc_now(icc),
		.end = pkt->time,
		.id = pkt->tid,
		.origin = req->src,
		.peer = req->src,
		.bytes = pkt->payload,
		.type = pkt->type,
		.tni = pkt->src_tni,
		.cq = pkt->src_cq,
	};

	icc_time_trace(icc, &trace);
}

static enum icc_stage request_inject(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *req = x->arrival.pkt;
	const bool with_data = req->type == TOFU_PKT_GET &&
			       x->status == TOFU_ST_OK;
	struct icc_outbox *out = with_data ? icc->out : NULL;
	struct tofu_packet *pkt;
	int err;

	/* Of a good put only the last packet is answered. */
	if (x->status == TOFU_ST_OK &&
	    req->type == TOFU_PKT_PUT && !(req->flags & TOFU_PKT_F_LAST))
		return ICC_ENDED;
	if (out)
		pkt = icc_out_packet(icc, out, req->src, TOFU_RESPONSE, &err);
	else
		pkt = icc->ops->tx_begin(icc->host, req->src, TOFU_RESPONSE, 0,
					 &err);
	if (!pkt) /* gone: drop the answer */
		return err == -EAGAIN ? ICC_INJECT : ICC_ENDED;
	response_packet(icc, x, out, pkt);
	if (icc_traced(icc))
		response_trace(icc, req, pkt);
	icc->ops->tx_commit(icc->host);
	if (icc->time)
		icc_engine_committed(icc, req->dst_tni);
	return ICC_ROUTE;
}

static enum icc_stage request_route(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;

	icc_port_count_sent(icc, pkt->src, pkt->path,
			    pkt->type == TOFU_PKT_GET &&
					    x->status == TOFU_ST_OK ?
				    x->arrival.part :
				    0);
	if (pkt->type == TOFU_PKT_GET && x->status == TOFU_ST_OK)
		x->cq->counter[TOFU_CQ_RX_BYTES] += x->arrival.part;
	if (pkt->type != TOFU_PKT_GET || response_last(x))
		return ICC_ENDED;
	x->arrival.sent += x->arrival.part;
	return ICC_READ;
}

icc_stage_fn *const icc_request_stage[ICC_STAGES] = {
	[ICC_RECEIVE] = request_receive,
	[ICC_READ] = request_read,
	[ICC_WRITE] = request_write,
	[ICC_NOTIFY] = request_notify,
	[ICC_INJECT] = request_inject,
	[ICC_ROUTE] = request_route,
};

void icc_request_begin(struct icc *icc, struct icc_xfer *x,
		       const struct tofu_packet *pkt, const void *payload)
{
	x->kind = ICC_REQUEST;
	x->stage = ICC_RECEIVE;
	x->status = TOFU_ST_OK;
	x->cq = icc_cq_at(icc, pkt->dst_tni, pkt->dst_cq);
	x->arrival = (struct icc_arrival){ .pkt = pkt, .payload = payload };
}

/* ---- Answers that go on ---- */

/* The sender can change the header in its queue: then it is another request. */
bool icc_serve_begun(const struct icc *icc, const struct tofu_packet *pkt)
{
	const struct icc_answer *answer = &icc->answer[pkt->src];

	return answer->sent && pkt->type == TOFU_PKT_GET &&
	       answer->tid == pkt->tid && answer->sent < pkt->length;
}

void icc_serve_forget(struct icc *icc, uint32_t endpoint)
{
	icc->answering -= icc->answer[endpoint].sent != 0;
	icc->answer[endpoint].sent = 0;
}

bool icc_serve(struct icc *icc, const struct tofu_packet *pkt,
	       const void *payload)
{
	struct icc_answer *answer = &icc->answer[pkt->src];
	const bool begun = icc_serve_begun(icc, pkt);
	struct icc_xfer x;

	icc_request_begin(icc, &x, pkt, payload);
	if (begun) {
		x.arrival.sent = answer->sent;
		x.arrival.looks = answer->looks;
		x.arrival.life = answer->life;
	}
	icc_xfer_run(icc, &x);
	/* The transport does not count a request that stays as work. */
	icc->answered |= x.stage == ICC_ENDED ?
				 begun :
				 x.arrival.sent != (begun ? answer->sent : 0);
	icc_serve_forget(icc, pkt->src);
	if (x.stage == ICC_ENDED)
		return true;
	icc->answering += x.arrival.sent != 0;
	*answer = (struct icc_answer){ .tid = pkt->tid,
				       .sent = x.arrival.sent,
				       .looks = x.arrival.looks,
				       .life = x.arrival.life };
	return false;
}
