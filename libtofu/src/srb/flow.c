/* SPDX-License-Identifier: MIT */
/*
 * The steps that the records of a flow go through. Steps 1 to 4 are those of
 * Documentation/library/srb.rst.
 */
#include "srb/sender.h"
#include "utofu/work.h"

static uint64_t slot_of(const struct srb_send *send)
{
	return (uint64_t)(send - send->flow->sender->send);
}

static void send_end(struct srb_send *send, int result)
{
	send->stage = SRB_ENDED;
	send->result = result;
}

static void count_posted(struct srb_send *send)
{
	send->pending++;
	send->flow->pending++;
}

/*
 * Handles the result of a post. Return: whether the command is posted. If the
 * queue is full, the flow is tried again; if it takes no such command, the
 * record ends.
 */
static bool posted(struct srb_send *send, int code)
{
	struct tofu_srb_flow *flow = send->flow;
	struct tofu_srb_sender *sender = flow->sender;

	if (!code) {
		count_posted(send);
		return true;
	}
	if (code != UTOFU_ERR_BUSY) {
		send_end(send, code);
	} else if (!flow->again) {
		flow->again = true;
		flow->next = sender->again;
		sender->again = flow;
	}
	return false;
}

/* ---- Steps 1 and 2 ---- */

/* Strong order, so that the word comes whole */
static int consumer_get(const struct srb_send *send)
{
	const struct tofu_srb_flow *flow = send->flow;
	const struct tofu_srb_sender *sender = flow->sender;

	return utofu_get(sender->vcq, flow->peer->address.vcq,
			 sender->words_stadd + slot_of(send) * SRB_WORD,
			 flow->consumer, SRB_WORD, slot_of(send), SRB_ORDERED,
			 (void *)(uintptr_t)send);
}

static bool consumer_read(struct srb_send *send)
{
	const struct tofu_srb_flow *flow = send->flow;

	if (send->reading)
		return true;
	if (flow->sender->words)
		send->reading = posted(send, consumer_get(send));
	else
		send->reading = posted(
			send, utofu_armw8(flow->sender->vcq,
					  flow->peer->address.vcq,
					  UTOFU_ARMW_OP_OR, 0, flow->consumer,
					  slot_of(send), SRB_NOTICE, send));
	return send->reading;
}

/*
 * Whether step 2 goes along with step 1. If the last known consumer index left
 * too little room, the consumer is read at once.
 */
static bool reads_along(const struct tofu_srb_flow *flow)
{
	if (flow->sender->flags & TOFU_SRB_SENDER_SERIAL)
		return false;
	return flow->sender->flags & TOFU_SRB_SENDER_FRESH || flow->peer->stale;
}

static bool place_ask(struct srb_send *send)
{
	struct tofu_srb_flow *flow = send->flow;
	struct tofu_srb_single *single = flow->single;

	send->known = flow->peer->consumer;
	if (single) {
		send->place = single->producer;
		single->producer += send->block.bytes;
		send->stage = SRB_PLACED;
		return true;
	}
	if (!posted(send, utofu_armw8(flow->sender->vcq, flow->peer->address.vcq,
				      UTOFU_ARMW_OP_ADD, send->block.bytes,
				      flow->producer, slot_of(send), SRB_NOTICE,
				      send)))
		return false;
	send->stage = SRB_ASKED;
	if (reads_along(flow))
		consumer_read(send);
	return true;
}

static void flow_ask(struct tofu_srb_flow *flow)
{
	for (; flow->ask; flow->ask = flow->ask->next)
		if (flow->ask->stage == SRB_NEW && !place_ask(flow->ask) &&
		    flow->ask->stage == SRB_NEW)
			return;
}

/* ---- Step 3 ---- */

enum verdict { GO, READ, IS_VOID };

/*
 * A consumer of another epoch is further away than any ring is long. One that
 * lies beyond the place is not an honest owner's, and gives no room either.
 */
static bool has_room(const struct srb_send *send, uint64_t consumer)
{
	return send->place - consumer <=
	       send->flow->where.bytes - send->block.bytes;
}

/*
 * The known consumer may be so old that its epoch counts as a later one: only a
 * read after the place is known decides that.
 */
static enum verdict place_judge(const struct srb_send *send)
{
	const struct tofu_srb_flow *flow = send->flow;
	uint64_t consumer = flow->peer->consumer;

	if (flow->sender->flags & TOFU_SRB_SENDER_FRESH && !send->read)
		return READ;
	if (has_room(send, consumer))
		return GO;
	return !flow->single && send->read && srb_later(consumer, send->place) ?
		       IS_VOID :
		       READ;
}

static int ring_stadd(const struct tofu_srb_flow *flow, uint64_t place,
		      utofu_stadd_t *stadd)
{
	int code = UTOFU_SUCCESS;

	if (flow->single)
		*stadd = flow->single->memory;
	else
		code = utofu_query_stadd(flow->peer->address.vcq,
					 srb_epoch_stag(flow->where.stag,
							place),
					 stadd);
	*stadd += place & (flow->where.bytes - 1);
	return code;
}

/* Bytes of the next put, at most up to the end of the ring */
static uint64_t put_bytes(const struct srb_send *send)
{
	const struct tofu_srb_flow *flow = send->flow;
	uint64_t bytes = send->block.bytes - send->posted;
	uint64_t at = (send->place + send->posted) & (flow->where.bytes - 1);

	if (bytes > flow->where.bytes - at)
		bytes = flow->where.bytes - at;
	return bytes < flow->sender->put_max ? bytes : flow->sender->put_max;
}

/* The engine need not read what its command has in itself. */
static inline int put_post(struct srb_send *send, utofu_stadd_t to,
			   uint64_t bytes)
{
	const struct tofu_srb_flow *flow = send->flow;
	const struct tofu_srb_sender *sender = flow->sender;
	uint64_t at = send->block.at + send->posted;

	if (bytes <= sender->piggyback_max)
		return utofu_put_piggyback(sender->vcq, flow->peer->address.vcq,
					   sender->memory + at, to, bytes,
					   slot_of(send), SRB_ORDERED, send);
	return utofu_put(sender->vcq, flow->peer->address.vcq,
			 sender->stadd + at, to, bytes, slot_of(send), SRB_ORDERED,
			 send);
}

static bool put_next(struct srb_send *send)
{
	uint64_t bytes = put_bytes(send);
	utofu_stadd_t to;
	int code = ring_stadd(send->flow, send->place + send->posted, &to);

	tofu_work(TOFU_WORK_SRB_PUT);
	if (!code)
		code = put_post(send, to, bytes);
	if (!posted(send, code))
		return false;
	tofu_work(TOFU_WORK_SRB_POSTED);
	send->puts++;
	send->posted += bytes;
	return true;
}

/*
 * Runs when all puts have ended. If the ring is not there, its epoch has ended:
 * step 4.
 */
static void put_check(struct srb_send *send)
{
	if (send->puts || send->stage != SRB_PUT)
		return;
	if (send->error == UTOFU_ERR_MRQ_RMT_STADD && !send->flow->single) {
		send->stage = SRB_LATE;
		send->read = false;
	} else {
		send_end(send, send->error);
	}
}

static void tail_write(struct srb_send *send)
{
	*srb_send_word(send->flow->sender, send,
		       send->block.bytes - SRB_WORD) = srb_tail(send->place);
}

/* Return: whether everything is posted, or nothing more will be. */
static bool send_put(struct srb_send *send)
{
	tail_write(send);
	send->stage = SRB_PUTTING;
	while (!send->error && send->posted < send->block.bytes)
		if (!put_next(send))
			return send->stage == SRB_ENDED;
	send->stage = SRB_PUT;
	put_check(send);
	return true;
}

/* A record is put only when all records of earlier epochs have ended. */
static bool has_turn(const struct tofu_srb_flow *flow,
		     const struct srb_send *send)
{
	return srb_epoch(flow->first->place) == srb_epoch(send->place);
}

/* Return: whether the next record may be tried. */
static bool put_try(struct srb_send *send)
{
	if (send->stage == SRB_ENDED)
		return true;
	if (send->stage == SRB_PUTTING)
		return send_put(send);
	if (send->stage != SRB_PLACED || !has_turn(send->flow, send))
		return false;
	switch (place_judge(send)) {
	case GO:
		send->flow->peer->stale = !has_room(send, send->known);
		return send_put(send);
	case READ:
		consumer_read(send);
		return send->stage == SRB_ENDED;
	default:
		send->stage = SRB_VOID;
		return false;
	}
}

static void flow_put(struct tofu_srb_flow *flow)
{
	while (flow->put && put_try(flow->put))
		flow->put = flow->put->next;
}

/* ---- Starting over ---- */

/* Tells for the first record: nothing before it is under way any more. */
static bool must_restart(struct tofu_srb_flow *flow)
{
	struct srb_send *first = flow->first;

	if (!first || flow->restart)
		return false;
	if (first->stage == SRB_LATE) {
		if (first->read &&
		    srb_later(flow->peer->consumer, first->place))
			first->stage = SRB_VOID;
		else
			consumer_read(first);
	}
	return first->stage == SRB_VOID;
}

/* Places of the new epoch get padding; everything else is forgotten. */
static void restart_mark(struct tofu_srb_flow *flow)
{
	uint64_t consumer = flow->peer->consumer;

	for (struct srb_send *send = flow->first; send; send = send->next) {
		bool pad = send->stage == SRB_PLACED &&
			   !srb_later(consumer, send->place);

		if (send->stage == SRB_ENDED)
			continue;
		send->stage = pad ? SRB_PAD : SRB_NEW;
		srb_send_reset(send);
	}
	flow->padding = true;
}

/* Puts head and tail; the ring between them is 0. */
static bool pad_put(struct srb_send *send)
{
	const struct tofu_srb_flow *flow = send->flow;
	uint64_t last = send->block.bytes - SRB_WORD;
	uint64_t at = send->place + (send->posted ? last : 0);
	uint64_t head = SRB_PADDING | (send->block.bytes - TOFU_SRB_OVERHEAD);
	uint64_t word = send->posted ? srb_tail(send->place) : head;
	utofu_stadd_t to;
	int code = ring_stadd(flow, at, &to);

	if (!code)
		code = utofu_put_piggyback8(flow->sender->vcq,
					    flow->peer->address.vcq, word, to,
					    SRB_WORD, slot_of(send), SRB_ORDERED,
					    send);
	if (!posted(send, code))
		return false;
	send->puts++;
	send->posted += SRB_WORD;
	return true;
}

/* Return: whether the padding is posted, or its place is void, too. */
static bool pad_try(struct srb_send *send)
{
	enum verdict verdict = send->posted ? GO : place_judge(send);

	if (verdict == READ) {
		consumer_read(send);
		return false;
	}
	while (verdict == GO && send->posted < TOFU_SRB_OVERHEAD)
		if (!pad_put(send))
			return false;
	send->stage = SRB_NEW;
	return true;
}

/* Return: whether the flow can continue. */
static bool restart_run(struct tofu_srb_flow *flow)
{
	if (!flow->padding && flow->pending)
		return false;
	if (!flow->padding)
		restart_mark(flow);
	for (struct srb_send *send = flow->first; send; send = send->next)
		if (send->stage == SRB_PAD && !pad_try(send) &&
		    send->stage == SRB_PAD)
			return false;
	if (flow->pending)
		return false;
	for (struct srb_send *send = flow->first; send; send = send->next)
		srb_send_reset(send);
	flow->ask = flow->first;
	flow->put = flow->first;
	flow->restart = false;
	flow->padding = false;
	return true;
}

/* ---- Notices ---- */

static void place_come(struct srb_send *send, uint64_t place, int code)
{
	if (send->stage != SRB_ASKED)
		return;
	if (code) {
		send_end(send, code);
		return;
	}
	send->place = place & ~(uint64_t)(SRB_WORD - 1);
	send->stage = SRB_PLACED;
}

static void consumer_come(struct srb_send *send, uint64_t consumer, int code)
{
	send->reading = false;
	if (!code) {
		send->flow->peer->consumer = consumer;
		send->read = true;
	} else if (send->stage == SRB_PLACED || send->stage == SRB_LATE ||
		   send->stage == SRB_PAD) {
		send_end(send, code);
	}
}

static void put_come(struct srb_send *send, int code)
{
	send->puts--;
	if (!send->error)
		send->error = code;
	put_check(send);
}

/* The consumer that consumer_get() has brought */
static uint64_t word_read(const struct srb_send *send)
{
	const struct tofu_srb_sender *sender = send->flow->sender;

	return sender->words ? __atomic_load_n(&sender->words[slot_of(send)],
					       __ATOMIC_RELAXED) :
			       0;
}

void srb_flow_notice(struct tofu_srb_flow *flow, struct srb_send *send,
		     const struct utofu_mrq_notice *notice, int code)
{
	send->pending--;
	flow->pending--;
	if (notice->notice_type == UTOFU_MRQ_TYPE_LCL_PUT)
		put_come(send, code);
	else if (notice->notice_type == UTOFU_MRQ_TYPE_LCL_GET)
		consumer_come(send, word_read(send), code);
	else if (notice->rmt_stadd == flow->consumer)
		consumer_come(send, notice->rmt_value, code);
	else
		place_come(send, notice->rmt_value, code);
}

/* ---- The whole ---- */

static void flow_append(struct tofu_srb_flow *flow, struct srb_send *send)
{
	if (flow->last)
		flow->last->next = send;
	else
		flow->first = send;
	flow->last = send;
}

void srb_flow_add(struct tofu_srb_flow *flow, struct srb_send *send)
{
	send->flow = flow;
	send->stage = SRB_NEW;
	srb_send_reset(send);
	flow_append(flow, send);
	if (!flow->ask)
		flow->ask = send;
	if (!flow->put)
		flow->put = send;
}

/* Whether it lies in one piece, in room that is known, behind nothing that waits */
static bool is_ready(const struct tofu_srb_flow *flow,
		     const struct srb_send *send)
{
	uint64_t at = send->place & (flow->where.bytes - 1);

	return !flow->put && send->block.bytes <= flow->where.bytes - at &&
	       send->block.bytes <= flow->sender->put_max &&
	       place_judge(send) == GO;
}

static inline void note(struct tofu_srb_flow *flow, struct srb_send *send,
			uint64_t bytes)
{
	struct tofu_srb_single *single = flow->single;

	count_posted(send);
	send->puts = 1;
	send->posted = bytes;
	send->stage = SRB_PUT;
	single->producer += bytes;
	single->peer.stale = false;
	flow_append(flow, send);
}

void srb_flow_note(struct tofu_srb_flow *flow, struct srb_send *send,
		   uint64_t bytes)
{
	note(flow, send, bytes);
}

bool srb_flow_put(struct tofu_srb_flow *flow, struct srb_send *send)
{
	struct tofu_srb_single *single = flow->single;
	uint64_t bytes = send->block.bytes;

	send->flow = flow;
	send->place = single->producer;
	srb_send_reset(send);
	if (!is_ready(flow, send))
		return false;
	tofu_work(TOFU_WORK_SRB_SINGLE);
	tail_write(send);
	if (put_post(send, single->memory +
				   (send->place & (flow->where.bytes - 1)),
		     bytes))
		return false;
	note(flow, send, bytes);
	return true;
}

/* Records end in order. Return: whether one has ended. */
static bool flow_pop(struct tofu_srb_flow *flow)
{
	struct srb_send *send, *first = flow->first;

	while ((send = flow->first) && send->stage == SRB_ENDED &&
	       !send->pending) {
		flow->first = send->next;
		if (!flow->first)
			flow->last = NULL;
		if (flow->ask == send)
			flow->ask = send->next;
		if (flow->put == send)
			flow->put = send->next;
		tofu_work(TOFU_WORK_SRB_ENDED);
		srb_port_ended(flow->sender, send);
	}
	return flow->first != first;
}

void srb_flow_advance(struct tofu_srb_flow *flow)
{
	do {
		flow->restart |= must_restart(flow);
		if (flow->restart && !restart_run(flow))
			continue;
		flow_ask(flow);
		flow_put(flow);
	} while (flow_pop(flow) || must_restart(flow));
	if (flow->first || flow->again)
		return;
	flow->peer->flow = NULL;
	srb_port_flow_free(flow->sender, flow);
}
