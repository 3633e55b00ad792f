// SPDX-License-Identifier: MIT
/*
 * The dispatcher of stages, and the stages of a command at its initiator.
 */
#include <errno.h>
#include <string.h>

#include "icc/time.h"

#define CTRL_KNOWN                                                \
	(TOFU_FIELD(TOFU_TOQ_FLIP) | TOFU_FIELD(TOFU_TOQ_CMD) |   \
	 TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_ALL) |               \
	 TOFU_FIELD(TOFU_TOQ_EDATA) | TOFU_FIELD(TOFU_TOQ_PATH) | \
	 TOFU_FIELD(TOFU_TOQ_SPS))
#define CTRL_ARMW (TOFU_FIELD(TOFU_TOQ_ARMW_OP) | TOFU_FIELD(TOFU_TOQ_ARMW_8))
#define CTRL_PACE (TOFU_FIELD(TOFU_TOQ_GAP) | TOFU_FIELD(TOFU_TOQ_MTU))

/* ---- Small questions about a command ---- */

static enum tofu_command kind_of(const struct icc_command *c)
{
	return TOFU_GET(c->desc.ctrl, TOFU_TOQ_CMD);
}

static bool has_flag(const struct icc_command *c, uint64_t flag)
{
	return TOFU_GET(c->desc.ctrl, TOFU_TOQ_FLAGS) & flag;
}

static bool put_or_get(const struct icc_command *c)
{
	return kind_of(c) == TOFU_CMD_PUT || kind_of(c) == TOFU_CMD_GET;
}

static unsigned int armw_size(const struct icc_command *c)
{
	return TOFU_GET(c->desc.ctrl, TOFU_TOQ_ARMW_8) ? 8 : 4;
}

static uint64_t armw_operand(const struct icc_command *c, uint64_t value)
{
	return armw_size(c) == 8 ? value : (uint32_t)value;
}

/* The initiator's STADD, where the command has one. */
static uint64_t own_stadd(const struct icc_command *c)
{
	if (!put_or_get(c))
		return 0;
	return c->desc.lcl & TOFU_STADD_FIELDS;
}

/* ---- End of a command ---- */

static void command_notice_trace(struct icc *icc, const struct icc_xfer *x,
				 enum tofu_mrq_type type)
{
	const struct icc_command *c = &x->command;
	const struct icc_trace trace = {
		.kind = ICC_TRACE_NOTICE,
		.time = icc_now(icc),
		.end = icc_now(icc),
		.id = icc_tid(x->cq, c),
		.origin = icc->node,
		.peer = (uint32_t)c->peer,
		.tni = x->cq->tni,
		.cq = x->cq->cq,
		.detail = type,
	};

	icc_time_trace(icc, &trace);
}

static void command_notice(struct icc *icc, struct icc_xfer *x)
{
	const struct icc_command *c = &x->command;
	struct tofu_mrq_entry entry = {
		.route = c->desc.route,
		.rmt = c->desc.rmt & TOFU_STADD_FIELDS,
		.lcl = own_stadd(c),
	};
	enum tofu_mrq_type type = TOFU_MRQ_LCL_PUT;

	if (kind_of(c) == TOFU_CMD_GET) {
		type = TOFU_MRQ_LCL_GET;
	} else if (kind_of(c) == TOFU_CMD_ARMW) {
		type = TOFU_MRQ_LCL_ARMW;
		entry.lcl = c->value;
	}
	entry.ctrl = TOFU_SET(TOFU_MRQ_TYPE, type) |
		     TOFU_SET(TOFU_MRQ_STATUS, x->status) |
		     TOFU_SET(TOFU_MRQ_EDATA,
			      TOFU_GET(c->desc.ctrl, TOFU_TOQ_EDATA)) |
		     TOFU_SET(TOFU_MRQ_CQ,
			      TOFU_GET(c->desc.rmt, TOFU_ADDR_CQ));
	icc_mrq_write(icc, x->cq, &entry);
	if (icc_traced(icc))
		command_notice_trace(icc, x, type);
}

/* What software hears of a command that has ended in the MRQ */
static void command_tell(struct icc *icc, struct icc_xfer *x)
{
	if (!icc_cq_enabled(x->cq) || icc_status_is_tcq(x->status) ||
	    kind_of(&x->command) == TOFU_CMD_NOP)
		return;
	if (x->status != TOFU_ST_OK)
		x->cq->counter[TOFU_CQ_MRQ_ERRORS]++;
	if (x->status != TOFU_ST_OK ||
	    has_flag(&x->command, TOFU_TOQ_F_LCL_NOTICE))
		command_notice(icc, x);
}

/* Who sees the entry in the TCQ finds that in the MRQ: it may look for no other
 * word of an error.
 */
static void command_end(struct icc *icc, struct icc_xfer *x)
{
	x->stage = ICC_ENDED;
	command_tell(icc, x);
	icc_cq_retire(icc, x->cq);
}

/*
 * The next stage of a command that must not send more. Only the last packet of
 * a stream is answered. So a stream that has begun still sends that packet,
 * without data.
 */
static enum icc_stage unsent(const struct icc_command *c)
{
	if (!c->awaits)
		return ICC_ENDED;
	return c->stream && !c->all_sent ? ICC_READ : ICC_PARKED;
}

static enum icc_stage failed(struct icc_xfer *x, enum tofu_status status)
{
	if (x->status == TOFU_ST_OK)
		x->status = status;
	return unsent(&x->command);
}

/* Finish a run that left the command parked or ended. */
static void command_left(struct icc *icc, struct icc_xfer *x)
{
	if (x->stage < ICC_STAGES)
		return;
	if (x->cq->sending == x) {
		x->cq->sending = NULL;
		icc->sending--;
	}
	if (x->stage == ICC_ENDED)
		command_end(icc, x);
}

void icc_command_fail(struct icc *icc, struct icc_xfer *x,
		      enum tofu_status status)
{
	x->stage = failed(x, status);
	command_left(icc, x);
}

void icc_command_answered(struct icc *icc, struct icc_xfer *x,
			  enum tofu_status status)
{
	x->command.awaits = false;
	if (x->status == TOFU_ST_OK)
		x->status = status;
	command_end(icc, x);
}

/* ---- Blocks of a strided command ---- */

static const struct tofu_toq_stride *stride_of(const struct icc_command *c)
{
	TOFU_ASSERT(sizeof(struct tofu_toq_stride) == sizeof(c->data),
		    "a second slot");
	return (const struct tofu_toq_stride *)c->data;
}

static bool stride_good(const struct icc_command *c)
{
	const struct tofu_toq_stride *s = stride_of(c);

	return put_or_get(c) && s->blocks && s->blocks <= TOFU_BLOCKS_MAX &&
	       s->stride <= TOFU_MASK(TOFU_ADDR_OFFSET_BITS) &&
	       !(s->reserved[0] | s->reserved[1]);
}

/* False: the offset does not fit its field. blocks_next() bounds the sum. */
static bool address_move(__le64 *addr, uint64_t bytes)
{
	const uint64_t offset = TOFU_GET(*addr, TOFU_ADDR_OFFSET) + bytes;

	*addr &= ~TOFU_FIELD(TOFU_ADDR_OFFSET);
	*addr |= TOFU_SET(TOFU_ADDR_OFFSET, offset);
	return offset <= TOFU_MASK(TOFU_ADDR_OFFSET_BITS);
}

static void blocks_begin(struct icc_cq *cq, struct icc_command *c)
{
	struct icc_blocks *blocks = &cq->blocks;

	c->last_block = stride_of(c)->blocks == 1;
	blocks->first = *c;
	blocks->stride = stride_of(c)->stride;
	blocks->next = 1;
	blocks->count = stride_of(c)->blocks;
}

static void blocks_next(struct icc_cq *cq, struct icc_command *c)
{
	struct icc_blocks *blocks = &cq->blocks;
	/* Fits: TOFU_BLOCKS_MAX strides plus an offset are below 2^64. */
	const uint64_t moved = blocks->next++ * blocks->stride;

	*c = blocks->first;
	c->lcl_beyond = !address_move(&c->desc.lcl, moved);
	c->rmt_beyond = !address_move(&c->desc.rmt, moved);
	c->last_block = !icc_cq_blocks_left(cq);
}

/* ---- Fetch ---- */

/* Bits that a command may set in its first word. */
static uint64_t ctrl_known(const struct icc_command *c)
{
	if (kind_of(c) == TOFU_CMD_ARMW)
		return CTRL_KNOWN | CTRL_ARMW;
	return put_or_get(c) ? CTRL_KNOWN | CTRL_PACE : CTRL_KNOWN;
}

static enum tofu_status armw_check(const struct icc_command *c)
{
	const uint64_t op = TOFU_GET(c->desc.ctrl, TOFU_TOQ_ARMW_OP);

	if (op >= TOFU_ARMW_OPS)
		return TOFU_ST_TCQ_DESC;
	if (op == TOFU_ARMW_CSWAP && (c->data[1] | c->data[2] | c->data[3]))
		return TOFU_ST_TCQ_DESC;
	return c->length == armw_size(c) ? TOFU_ST_OK : TOFU_ST_TCQ_LENGTH;
}

static enum tofu_status command_check(const struct icc *icc,
				      const struct icc_cq *cq,
				      const struct icc_command *c)
{
	const uint64_t ctrl = c->desc.ctrl;
	const unsigned int path = (unsigned int)TOFU_GET(ctrl, TOFU_TOQ_PATH);

	if (TOFU_GET(ctrl, TOFU_TOQ_FLIP) !=
	    tofu_ring_flip(c->index, cq->toq.code))
		return TOFU_ST_TCQ_DESC;
	if ((ctrl & ~ctrl_known(c)) || (c->desc.route & TOFU_ROUTE_RESERVED) ||
	    !tofu_path_valid(path))
		return TOFU_ST_TCQ_DESC;
	if (has_flag(c, TOFU_TOQ_F_STRIDE) && !stride_good(c))
		return TOFU_ST_TCQ_DESC;

	switch (kind_of(c)) {
	case TOFU_CMD_NOP:
		return TOFU_ST_OK;
	case TOFU_CMD_PUT:
	case TOFU_CMD_GET:
		return TOFU_GET(c->desc.lcl, TOFU_ADDR_CQ) == cq->cq ?
			       TOFU_ST_OK :
			       TOFU_ST_TCQ_STADD;
	case TOFU_CMD_PUT_PIGGYBACK:
		return c->length >= 1 && c->length <= TOFU_PIGGYBACK_MAX ?
			       TOFU_ST_OK :
			       TOFU_ST_TCQ_LENGTH;
	case TOFU_CMD_ARMW:
		return icc->armw ? armw_check(c) : TOFU_ST_TCQ_DESC;
	default:
		return TOFU_ST_TCQ_DESC;
	}
}

/* The target endpoint of a command, or -1. */
static int64_t target_of(const struct icc *icc, const struct icc_command *c)
{
	const uint64_t route = c->desc.route;
	const struct tofu_coords coords = tofu_coords_unpack(route);

	return icc_endpoint(icc, tofu_node_at(&icc->shape, &coords),
			    TOFU_SHARE_CQ,
			    (unsigned int)TOFU_GET(route, TOFU_ROUTE_TNI),
			    (unsigned int)TOFU_GET(c->desc.rmt, TOFU_ADDR_CQ));
}

/* Fetch the next command of the TOQ; false: none may be fetched now. */
static bool fetch_command(struct icc *icc, struct icc_cq *cq,
			  struct icc_command *c)
{
	unsigned int slots;

	slots = icc_cq_fetch(icc, cq, c);
	if (!slots)
		return false;
	if (slots == 1)
		c->data[0] = c->desc.lcl;
	c->peer = target_of(icc, c);
	c->length = (uint32_t)TOFU_GET(c->desc.route, TOFU_ROUTE_LENGTH);
	c->last_block = true;
	c->lcl_beyond = false;
	c->rmt_beyond = false;
	cq->counter[TOFU_CQ_TX_COMMANDS]++;
	return true;
}

static enum icc_stage command_fetch(struct icc *icc, struct icc_xfer *x)
{
	struct icc_command *c = &x->command;
	struct icc_cq *cq = x->cq;
	const bool block = icc_cq_blocks_left(cq);
	enum tofu_status status;

	if (cq->session && !cq->steps)
		return ICC_FETCH;
	if (block)
		blocks_next(cq, c);
	else if (!fetch_command(icc, cq, c))
		return ICC_FETCH;
	if (cq->session)
		cq->steps--;
	c->sent = 0;
	c->packets = 0;
	c->awaits = false;
	c->value = 0;
	c->received = 0;
	c->looks = 0;
	c->all_sent = false;
	c->stream = kind_of(c) == TOFU_CMD_PUT ||
		    kind_of(c) == TOFU_CMD_PUT_PIGGYBACK;
	icc_window_add(cq, x);
	x->status = TOFU_ST_OK;
	if (!icc->time) {
		cq->sending = x;
		icc->sending++;
	}
	if (block)
		return ICC_READ;

	status = command_check(icc, cq, c);
	if (status != TOFU_ST_OK)
		return failed(x, status);
	if (has_flag(c, TOFU_TOQ_F_STRIDE))
		blocks_begin(cq, c);
	return ICC_READ;
}

/* ---- Read ---- */

/*
 * An error before the first packet is reported in the TCQ. Later ones go to the
 * MRQ, since the command may have had effects elsewhere.
 */
static enum icc_stage read_failed(struct icc_xfer *x, enum icc_fault fault)
{
	if (x->command.packets)
		return failed(x, fault == ICC_FAULT_STADD ?
					 TOFU_ST_LCL_STADD :
					 TOFU_ST_LCL_MEMORY);
	return failed(x, fault == ICC_FAULT_STADD ? TOFU_ST_TCQ_STADD :
						    TOFU_ST_TCQ_MEMORY);
}

static enum icc_stage read_put(struct icc *icc, struct icc_xfer *x)
{
	struct icc_outbox *out = icc_cq_out(icc, x->cq);
	struct icc_command *c = &x->command;
	const uint32_t left = c->length - c->sent;
	const enum icc_carriage how = icc_carriage(
		icc, c->peer, TOFU_REQUEST, c->length, &c->looks);
	const bool refer = how == ICC_REFER;
	const struct icc_span span = {
		.total = c->length,
		.offset = c->sent,
		.length = icc_part_max(icc,
				       TOFU_GET(c->desc.ctrl, TOFU_TOQ_MTU),
				       refer, left),
	};
	struct icc_range range;
	enum icc_fault fault;

	if (how == ICC_WAIT)
		return ICC_READ;
	fault = icc_translate(icc, x->cq, c->desc.lcl, &span, &range);
	if (!fault && !refer && c->peer >= 0)
		icc_out_begin(icc, out, (uint32_t)c->peer, TOFU_REQUEST,
			      span.length);
	if (!fault && icc_gather(icc, &range, refer, out))
		fault = ICC_FAULT_MEMORY;
	if (fault)
		return read_failed(x, fault);
	c->part = (uint32_t)(span.length - range.left);
	return ICC_INJECT;
}

static enum icc_stage read_get(struct icc *icc, struct icc_xfer *x)
{
	struct icc_command *c = &x->command;
	const struct icc_span span = { .total = c->length,
				       .length = c->length,
				       .write = true };
	struct icc_range range;
	enum icc_fault fault;

	fault = icc_translate(icc, x->cq, c->desc.lcl, &span, &range);
	if (fault)
		return read_failed(x, fault);
	c->part = (uint32_t)span.length;
	return ICC_INJECT;
}

/* The last packet of a stream that has failed. */
static enum icc_stage read_nothing(struct icc_command *c)
{
	c->sent = c->length;
	c->part = 0;
	return ICC_INJECT;
}

static enum icc_stage command_read(struct icc *icc, struct icc_xfer *x)
{
	struct icc_command *c = &x->command;
	struct icc_outbox *out = icc_cq_out(icc, x->cq);

	out->pkt = NULL;
	out->err = 0;
	out->bytes = 0;
	out->refs = false;
	out->blank = false;
	if (x->status != TOFU_ST_OK)
		return read_nothing(c);
	if (c->lcl_beyond)
		return read_failed(x, ICC_FAULT_STADD);
	c->part = c->length;
	switch (kind_of(c)) {
	case TOFU_CMD_NOP:
		return ICC_ENDED;
	case TOFU_CMD_PUT:
		return read_put(icc, x);
	case TOFU_CMD_GET:
		return read_get(icc, x);
	case TOFU_CMD_PUT_PIGGYBACK:
		out->bytes = c->length;
		memcpy(out->data, c->data, c->length);
		break;
	case TOFU_CMD_ARMW:
		break;
	}
	return ICC_INJECT;
}

/* ---- Inject ---- */

static uint8_t packet_flags(const struct icc_xfer *x,
			    const struct icc_outbox *out)
{
	const struct icc_command *c = &x->command;
	unsigned int flags = 0;

	if (has_flag(c, TOFU_TOQ_F_STRONG_ORDER))
		flags |= TOFU_PKT_F_STRONG_ORDER;
	if (has_flag(c, TOFU_TOQ_F_RMT_NOTICE) && x->status == TOFU_ST_OK)
		flags |= TOFU_PKT_F_RMT_NOTICE;
	if (c->sent + c->part == c->length)
		flags |= TOFU_PKT_F_LAST;
	if (has_flag(c, TOFU_TOQ_F_CACHE_INJECTION))
		flags |= TOFU_PKT_F_INJECT;
	if (out->refs)
		flags |= TOFU_PKT_F_REFS;
	if (out->blank)
		flags |= TOFU_PKT_F_BLANK;
	return (uint8_t)flags;
}

/*
 * Payload from memory is ready later than payload in the descriptor, and that it
 * cannot be read is known as late.
 */
uint64_t icc_command_wire_ns(const struct icc *icc, const struct icc_command *c)
{
	const bool memory = kind_of(c) == TOFU_CMD_PUT && c->length;

	return tofu_preset_send_ns(icc->machine) +
	       (memory ? icc->machine->read_ns : 0);
}

/* Packets of a CQ stay in order, so later ones wait for payload, too. */
static uint64_t wire_time(const struct icc *icc, const struct icc_xfer *x)
{
	const uint64_t last = x->cq->stamp[TOFU_CQ_TX_WIRE];
	uint64_t time;

	if (!icc->time)
		return 0;
	time = icc_now(icc) + icc_command_wire_ns(icc, &x->command);
	return time > last ? time : last;
}

/* A put that has failed here gives the target's session no step. */
static uint8_t step_of(const struct icc_xfer *x)
{
	return x->status == TOFU_ST_OK ?
		       TOFU_GET(x->command.desc.ctrl, TOFU_TOQ_SPS) :
		       0;
}

static void command_packet(const struct icc *icc, const struct icc_xfer *x,
			   const struct icc_outbox *out,
			   struct tofu_packet *pkt)
{
	const struct icc_command *c = &x->command;
	const struct icc_cq *cq = x->cq;
	const uint64_t ctrl = c->desc.ctrl;

	*pkt = (struct tofu_packet){
		.src = icc->node,
		.payload = out->bytes,
		.type = TOFU_PKT_PUT,
		.flags = packet_flags(x, out),
		.path = TOFU_GET(ctrl, TOFU_TOQ_PATH),
		.edata = TOFU_GET(ctrl, TOFU_TOQ_EDATA),
		.src_tni = cq->tni,
		.src_cq = cq->cq,
		.dst_tni = TOFU_GET(c->desc.route, TOFU_ROUTE_TNI),
		.dst_cq = TOFU_GET(c->desc.rmt, TOFU_ADDR_CQ),
		.gpid = cq->gpid,
		.tag = TOFU_GET(c->desc.route, TOFU_ROUTE_TAG),
		.length = c->part,
		.total = c->length,
		.offset = c->sent,
		.tid = icc_tid(cq, c),
		.rmt = c->desc.rmt,
		.lcl = own_stadd(c),
		.sps = step_of(x),
		.time = wire_time(icc, x),
	};
	if (kind_of(c) == TOFU_CMD_GET) {
		pkt->type = TOFU_PKT_GET;
		pkt->gap = TOFU_GET(ctrl, TOFU_TOQ_GAP);
		pkt->mtu = TOFU_GET(ctrl, TOFU_TOQ_MTU);
	} else if (kind_of(c) == TOFU_CMD_ARMW) {
		pkt->type = TOFU_PKT_ARMW;
		pkt->armw_op = TOFU_GET(ctrl, TOFU_TOQ_ARMW_OP);
		pkt->armw_size = (uint8_t)armw_size(c);
		pkt->operand = armw_operand(c, c->desc.lcl);
		pkt->compare = armw_operand(c, c->data[0]);
	}
}

static void command_stamp(struct icc *icc, const struct icc_xfer *x,
			  const struct tofu_packet *pkt)
{
	struct icc_cq *cq = x->cq;

	if (!icc->time)
		return;
	cq->stamp[TOFU_CQ_TX_DOORBELL] = x->command.doorbell;
	cq->stamp[TOFU_CQ_TX_ENGINE] = x->command.fetched;
	cq->stamp[TOFU_CQ_TX_WIRE] = pkt->time;
	if (!icc_traced(icc))
		return;
	const struct icc_trace trace = {
		.kind = ICC_TRACE_SEND,
		.time = icc_now(icc),
		.end = pkt->time,
		.id = pkt->tid,
		.origin = icc->node,
		.peer = (uint32_t)x->command.peer,
		.bytes = pkt->payload,
		.type = pkt->type,
		.tni = cq->tni,
		.cq = cq->cq,
	};

	icc_time_trace(icc, &trace);
}

/* The target is gone: icc_peer_down() ends commands that have begun. */
static enum icc_stage unreachable(struct icc_xfer *x)
{
	x->command.all_sent = true;
	return failed(x, TOFU_ST_PEER);
}

static void command_sent(struct icc_command *c)
{
	c->awaits = true;
	c->packets++;
	c->sent += c->part;
	c->all_sent = c->sent == c->length;
}

static enum icc_stage command_inject(struct icc *icc, struct icc_xfer *x)
{
	struct icc_command *c = &x->command;
	struct icc_cq *cq = x->cq;
	struct icc_outbox *out = icc_cq_out(icc, cq);
	struct tofu_packet *pkt;
	int err;

	if (x->status != TOFU_ST_OK && !c->stream)
		return unsent(c);
	if (c->peer < 0 ||
	    TOFU_GET(c->desc.rmt, TOFU_ADDR_CQ) >= TOFU_CQS_PER_TNI)
		return failed(x, TOFU_ST_PEER);
	if (c->rmt_beyond)
		return failed(x, TOFU_ST_RMT_STADD);
	pkt = icc_out_packet(icc, out, (uint32_t)c->peer, TOFU_REQUEST, &err);
	if (!pkt)
		return err == -EAGAIN ? ICC_INJECT : unreachable(x);
	command_packet(icc, x, out, pkt);
	command_stamp(icc, x, pkt);
	icc->ops->tx_commit(icc->host);
	if (icc->time)
		icc_engine_committed(icc, cq->tni);
	command_sent(c);
	return ICC_ROUTE;
}

/* ---- Route ---- */

static enum icc_stage command_route(struct icc *icc, struct icc_xfer *x)
{
	const struct icc_command *c = &x->command;
	const bool put = kind_of(c) == TOFU_CMD_PUT ||
			 kind_of(c) == TOFU_CMD_PUT_PIGGYBACK;

	icc_port_count_sent(icc, (uint32_t)c->peer,
			    TOFU_GET(c->desc.ctrl, TOFU_TOQ_PATH),
			    put ? c->part : 0);
	if (kind_of(c) != TOFU_CMD_ARMW)
		x->cq->counter[TOFU_CQ_TX_BYTES] += c->part;
	return c->all_sent ? ICC_PARKED : ICC_READ;
}

/* ---- Dispatcher ---- */

static icc_stage_fn *const command_stage[ICC_STAGES] = {
	[ICC_FETCH] = command_fetch,
	[ICC_READ] = command_read,
	[ICC_INJECT] = command_inject,
	[ICC_ROUTE] = command_route,
};

static icc_stage_fn *const *const stages[ICC_KINDS] = {
	[ICC_COMMAND] = command_stage,
	[ICC_REQUEST] = icc_request_stage,
	[ICC_RESPONSE] = icc_response_stage,
};

/*
 * In virtual time each packet waits for the engine before READ. Otherwise others have
 * their turn after some, even where the receiver makes room all the time.
 */
static bool waits(const struct icc *icc, enum icc_stage stage,
		  unsigned int *parts)
{
	return stage == ICC_READ && (icc->time || ++*parts > ICC_PARTS);
}

void icc_xfer_run(struct icc *icc, struct icc_xfer *x)
{
	unsigned int parts = 0;

	while (x->stage < ICC_STAGES) {
		const enum icc_stage next = stages[x->kind][x->stage](icc, x);

		if (next == x->stage)
			break;
		x->stage = (uint8_t)next;
		if (waits(icc, next, &parts))
			break;
	}
}

void icc_command_run(struct icc *icc, struct icc_xfer *x)
{
	icc_xfer_run(icc, x);
	command_left(icc, x);
}

/* Retry a packet that could not be injected. */
static bool resume(struct icc *icc, struct icc_xfer *x)
{
	const uint32_t packets = x->command.packets;

	icc_command_run(icc, x);
	return x->cq->sending != x || x->command.packets != packets;
}

bool icc_cq_start(struct icc *icc, struct icc_cq *cq)
{
	unsigned int started = 0;
	struct icc_xfer *x;
	bool done = false;

	/* Most of the CQs that are looked at have nothing to do. */
	if (!cq->sending && !icc_cq_filled(icc, cq) && !icc_cq_blocks_left(cq) &&
	    icc_cq_enabled(cq))
		return false;
	if (cq->sending)
		done = resume(icc, cq->sending);
	if (!cq->sending)
		icc->tni[cq->tni].ending &= ~(1U << cq->cq);
	while (started < ICC_BURST && !cq->sending && icc_cq_enabled(cq) &&
	       !(cq->status & TOFU_CQ_STATUS_TOQ_EXCEPTION) &&
	       (x = icc_window_next(cq))) {
		x->stage = ICC_FETCH;
		icc_command_run(icc, x);
		if (x->stage == ICC_FETCH)
			break;
		started++;
	}
	if (started)
		icc_cq_publish(cq);
	return done || started;
}
