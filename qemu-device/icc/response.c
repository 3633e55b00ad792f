// SPDX-License-Identifier: MIT
/*
 * The initiator's side of an answer. Any node can send a forged response. So a
 * response must match a command that is under way to its sender, which has one
 * last answer.
 */
#include <errno.h>

#include "icc/internal.h"

static uint8_t expected_type(const struct icc_command *c)
{
	switch (TOFU_GET(c->desc.ctrl, TOFU_TOQ_CMD)) {
	case TOFU_CMD_GET:
		return TOFU_PKT_DATA;
	case TOFU_CMD_ARMW:
		return TOFU_PKT_VALUE;
	default:
		return TOFU_PKT_DONE;
	}
}

/* Data arrive in order, and the last packet completes them. */
static bool place_good(const struct icc_command *c,
		       const struct tofu_packet *pkt)
{
	const bool last = pkt->flags & TOFU_PKT_F_LAST;

	return pkt->status != TOFU_ST_OK ||
	       (pkt->offset == c->received &&
		pkt->length <= c->length - c->received &&
		last == (pkt->length == c->length - c->received));
}

/* The last answer to a put is valid only after its last packet was sent. */
static bool last_good(const struct icc_xfer *x, const struct tofu_packet *pkt)
{
	return !(pkt->flags & TOFU_PKT_F_LAST) || x->command.all_sent;
}

/*
 * How many commands after the oldest one under way the named one began. Names
 * have the low bits of its number only.
 */
static uint64_t after_oldest(const struct icc_cq *cq, uint64_t tid)
{
	return (TOFU_GET(tid, ICC_TID_SEQ) - cq->seq_tail) &
	       TOFU_MASK(ICC_TID_SEQ_BITS);
}

/* The command that a response answers, or NULL. */
static struct icc_xfer *find(struct icc *icc, const struct tofu_packet *pkt)
{
	struct icc_cq *cq = icc_cq_at(icc, TOFU_GET(pkt->tid, ICC_TID_TNI),
				      TOFU_GET(pkt->tid, ICC_TID_CQ));
	const struct icc_command *c;
	struct icc_xfer *x;
	uint64_t after;

	if (!cq || pkt->dst_tni != cq->tni || pkt->dst_cq != cq->cq)
		return NULL;
	after = after_oldest(cq, pkt->tid);
	if (after >= cq->seq_head - cq->seq_tail)
		return NULL;
	x = icc_window_at(cq, cq->seq_tail + after);
	c = &x->command;
	if (x->stage == ICC_ENDED || !c->awaits ||
	    pkt->tid != icc_tid(cq, c) || !last_good(x, pkt))
		return NULL;
	if (pkt->src != c->peer || pkt->type != expected_type(c) ||
	    pkt->src_tni != TOFU_GET(c->desc.route, TOFU_ROUTE_TNI) ||
	    pkt->src_cq != TOFU_GET(c->desc.rmt, TOFU_ADDR_CQ))
		return NULL;
	if (pkt->type == TOFU_PKT_DATA && !place_good(c, pkt))
		return NULL;
	return x;
}

/* The status, if it is one that a target can report. */
static enum tofu_status answer(const struct tofu_packet *pkt)
{
	switch (pkt->status) {
	case TOFU_ST_OK:
	case TOFU_ST_PEER:
	case TOFU_ST_RMT_MEMORY:
	case TOFU_ST_RMT_STADD:
	case TOFU_ST_RMT_LENGTH:
	case TOFU_ST_RMT_COMMAND:
		return pkt->status;
	default:
		return TOFU_ST_MRQ_OTHER;
	}
}

static enum icc_stage response_receive(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;

	(void)icc;
	x->status = (uint8_t)answer(pkt);
	/* Count for a disabled CQ, too: it must recognise the last packet. */
	if (pkt->type == TOFU_PKT_DATA && x->status == TOFU_ST_OK)
		x->arrival.command->command.received += pkt->length;
	/* A disabled CQ no longer writes memory. */
	if (x->status != TOFU_ST_OK || !icc_cq_enabled(x->cq))
		return ICC_NOTIFY;
	return ICC_WRITE;
}

static enum tofu_status write_data(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;
	const struct icc_command *c = &x->arrival.command->command;
	const struct icc_span span = { .total = c->length,
				       .offset = pkt->offset,
				       .length = pkt->length,
				       .write = true };
	const bool ordered = TOFU_GET(c->desc.ctrl, TOFU_TOQ_FLAGS) &
			     TOFU_TOQ_F_STRONG_ORDER;

	switch (icc_translate(icc, x->cq, c->desc.lcl, &span,
			      &x->arrival.range)) {
	case ICC_FAULT_STADD:
		return TOFU_ST_LCL_STADD;
	case ICC_FAULT_MEMORY:
		return TOFU_ST_LCL_MEMORY;
	case ICC_FAULT_NONE:
		break;
	}
	switch (icc_scatter(icc, pkt, x->arrival.payload, &x->arrival.range,
			    ordered)) {
	case 0:
		return TOFU_ST_OK;
	case -EMSGSIZE:
		return TOFU_ST_LCL_LENGTH;
	case -EHOSTDOWN:
		return TOFU_ST_PEER;
	default:
		return TOFU_ST_LCL_MEMORY;
	}
}

static enum icc_stage response_write(struct icc *icc, struct icc_xfer *x)
{
	const struct tofu_packet *pkt = x->arrival.pkt;
	struct icc_command *c = &x->arrival.command->command;

	if (pkt->type == TOFU_PKT_DATA) {
		x->status = (uint8_t)write_data(icc, x);
	} else if (pkt->type == TOFU_PKT_VALUE) {
		c->value = c->length == 8 ? pkt->compare :
					    (uint32_t)pkt->compare;
	}
	return ICC_NOTIFY;
}

static enum icc_stage response_notify(struct icc *icc, struct icc_xfer *x)
{
	struct icc_xfer *command = x->arrival.command;

	/* More data of a get, or a put's last answer, will follow. */
	if (!(x->arrival.pkt->flags & TOFU_PKT_F_LAST)) {
		if (command->status == TOFU_ST_OK)
			command->status = x->status;
		return ICC_ENDED;
	}
	icc_command_answered(icc, x->arrival.command, x->status);
	return ICC_ENDED;
}

icc_stage_fn *const icc_response_stage[ICC_STAGES] = {
	[ICC_RECEIVE] = response_receive,
	[ICC_WRITE] = response_write,
	[ICC_NOTIFY] = response_notify,
};

bool icc_response_begin(struct icc *icc, struct icc_xfer *x,
			const struct tofu_packet *pkt, const void *payload)
{
	struct icc_xfer *command = find(icc, pkt);

	if (!command) {
		icc_drop(icc, pkt, "no such response is waited for");
		return false;
	}
	x->kind = ICC_RESPONSE;
	x->stage = ICC_RECEIVE;
	x->cq = command->cq;
	x->arrival = (struct icc_arrival){ .pkt = pkt, .payload = payload, .command = command };
	return true;
}

void icc_response(struct icc *icc, const struct tofu_packet *pkt,
		  const void *payload)
{
	struct icc_xfer x;

	if (icc_response_begin(icc, &x, pkt, payload))
		icc_xfer_run(icc, &x);
}
