/* SPDX-License-Identifier: MIT */
/* The sending side of shared receive buffers: slots, memory, notices. */
#include "srb/sender.h"

#include <stdlib.h>
#include <string.h>

#include "utofu/work.h"

/* Alignment of regions */
#define ALIGN 256

_Static_assert(TOFU_SRB_RECORDS_MAX <= 256, "edata names a slot");

/* ---- Making ---- */

static int sender_check(const struct tofu_srb_sender_params *params)
{
	if (!params->records || params->records > TOFU_SRB_RECORDS_MAX)
		return UTOFU_ERR_INVALID_NUMBER;
	if (params->pool < TOFU_SRB_OVERHEAD)
		return UTOFU_ERR_INVALID_SIZE;
	if (params->flags & ~(TOFU_SRB_SENDER_SERIAL | TOFU_SRB_SENDER_FRESH))
		return UTOFU_ERR_INVALID_FLAGS;
	return UTOFU_SUCCESS;
}

/* The VCQ's TNI has the same limits as all others. */
static int sender_limits(struct tofu_srb_sender *sender, bool *armw)
{
	struct utofu_onesided_caps *caps;
	int code = utofu_query_onesided_caps(0, &caps);

	if (code)
		return code;
	*armw = caps->flags & UTOFU_ONESIDED_CAP_FLAG_ARMW;
	sender->put_max = caps->max_putget_size & ~(size_t)(ALIGN - 1);
	sender->piggyback_max = caps->max_piggyback_size;
	return UTOFU_SUCCESS;
}

/*
 * Owners of rings could write there, but nothing that their counters could not
 * say, too.
 */
static int words_make(struct tofu_srb_sender *sender)
{
	size_t bytes = srb_sender_words_bytes(sender->records);
	void *words;
	int code;

	if (posix_memalign(&words, ALIGN, bytes))
		return UTOFU_ERR_OUT_OF_MEMORY;
	memset(words, 0, bytes);
	code = utofu_reg_mem(sender->vcq, words, bytes, 0,
			     &sender->words_stadd);
	if (code)
		free(words);
	else
		sender->words = words;
	return code;
}

static void words_free(struct tofu_srb_sender *sender)
{
	if (!sender->words)
		return;
	utofu_dereg_mem(sender->vcq, sender->words_stadd, 0);
	free(sender->words);
}

static int sender_allocate(struct tofu_srb_sender *sender, size_t bytes)
{
	void *memory;

	if (posix_memalign(&memory, ALIGN, bytes))
		return UTOFU_ERR_OUT_OF_MEMORY;
	sender->memory = memory;
	srb_pool_init(&sender->pool, bytes & ~(size_t)(SRB_WORD - 1));
	sender->send = calloc(sender->records, sizeof(*sender->send));
	sender->flow = calloc(sender->records, sizeof(*sender->flow));
	if (!sender->send || !sender->flow)
		return UTOFU_ERR_OUT_OF_MEMORY;
	for (unsigned int i = sender->records; i-- > 0;) {
		sender->send[i].next = sender->free;
		sender->free = &sender->send[i];
		srb_port_flow_free(sender, &sender->flow[i]);
	}
	return utofu_reg_mem(sender->vcq, memory, bytes,
			     UTOFU_REG_MEM_FLAG_READ_ONLY, &sender->stadd);
}

static void sender_release(struct tofu_srb_sender *sender)
{
	words_free(sender);
	free(sender->memory);
	free(sender->send);
	free(sender->flow);
	free(sender);
}

/* @shared: it sends to rings with several senders, by remote atomics */
static int sender_create(utofu_vcq_hdl_t vcq,
			 const struct tofu_srb_sender_params *params,
			 bool shared, struct tofu_srb_sender **sender)
{
	struct tofu_srb_sender *made;
	bool armw;
	int code;

	if (!params || !sender)
		return UTOFU_ERR_INVALID_POINTER;
	code = sender_check(params);
	if (code)
		return code;
	made = calloc(1, sizeof(*made));
	if (!made)
		return UTOFU_ERR_OUT_OF_MEMORY;
	made->vcq = vcq;
	made->flags = params->flags;
	made->records = params->records;
	code = sender_limits(made, &armw);
	if (!code && !armw)
		code = shared ? UTOFU_ERR_NOT_SUPPORTED : words_make(made);
	if (!code)
		code = sender_allocate(made, params->pool);
	if (code) {
		sender_release(made);
		return code;
	}
	*sender = made;
	return UTOFU_SUCCESS;
}

int tofu_srb_sender_create(utofu_vcq_hdl_t vcq,
			   const struct tofu_srb_sender_params *params,
			   struct tofu_srb_sender **sender)
{
	return sender_create(vcq, params, true, sender);
}

int tofu_srb_sender_create_single(utofu_vcq_hdl_t vcq,
				  const struct tofu_srb_sender_params *params,
				  struct tofu_srb_sender **sender)
{
	return sender_create(vcq, params, false, sender);
}

void tofu_srb_sender_free(struct tofu_srb_sender *sender)
{
	if (!sender)
		return;
	for (unsigned int i = 0; i < sender->records; i++)
		if (sender->flow[i].peer)
			sender->flow[i].peer->flow = NULL;
	utofu_dereg_mem(sender->vcq, sender->stadd, 0);
	sender_release(sender);
}

/* ---- Returned by flows ---- */

void srb_port_flow_free(struct tofu_srb_sender *sender, struct tofu_srb_flow *flow)
{
	flow->peer = NULL;
	flow->single = NULL;
	flow->restart = false;
	flow->padding = false;
	flow->next = sender->free_flow;
	sender->free_flow = flow;
}

void srb_port_ended(struct tofu_srb_sender *sender, struct srb_send *send)
{
	if (send->block.bytes)
		srb_pool_give(&sender->pool, &send->block);
	send->flow = NULL;
	send->next = NULL;
	if (sender->ended)
		sender->ended_last->next = send;
	else
		sender->ended = send;
	sender->ended_last = send;
}

/* ---- Sending ---- */

/* Bytes of payload; more than any ring has if it is too long */
static uint64_t parts_bytes(const struct iovec *part, unsigned int parts)
{
	uint64_t payload = 0;

	for (unsigned int i = 0; i < parts; i++) {
		if (part[i].iov_len > TOFU_SRB_BYTES_MAX)
			return UINT64_MAX;
		payload += part[i].iov_len;
	}
	return payload;
}

/* The tail is written when the place is known. Return: where the payload goes */
static void *record_begin(struct tofu_srb_sender *sender, struct srb_send *send,
			  uint16_t label, uint64_t payload)
{
	uint64_t bytes = send->block.bytes;

	tofu_work_bytes(TOFU_WORK_COPY, bytes);
	/* Padding, or payload that follows */
	*srb_send_word(sender, send, bytes - TOFU_SRB_OVERHEAD) = 0;
	*srb_send_word(sender, send, 0) = srb_head(label, payload);
	return srb_send_word(sender, send, SRB_WORD);
}

static void parts_copy(char *to, const struct iovec *part, unsigned int parts)
{
	for (unsigned int i = 0; i < parts; i++) {
		if (part[i].iov_len)
			memcpy(to, part[i].iov_base, part[i].iov_len);
		to += part[i].iov_len;
	}
}

/* Return: a free slot, which has a block now; NULL: without room. */
static struct srb_send *send_reserve(struct tofu_srb_sender *sender,
				     uint64_t bytes)
{
	struct srb_send *send = sender->free;

	return send && srb_pool_take(&sender->pool, &send->block, bytes) ?
		       send :
		       NULL;
}

static struct srb_send *send_take(struct tofu_srb_sender *sender, void *cbdata)
{
	struct srb_send *send = sender->free;

	sender->free = send->next;
	send->next = NULL;
	send->cbdata = cbdata;
	return send;
}

/* There are as many flows as slots, so one is free. */
static struct tofu_srb_flow *flow_take(struct tofu_srb_sender *sender,
				       struct tofu_srb_peer *peer)
{
	struct tofu_srb_flow *flow = sender->free_flow;

	sender->free_flow = flow->next;
	flow->next = NULL;
	flow->sender = sender;
	flow->peer = peer;
	peer->flow = flow;
	return flow;
}

static int send_check(const struct tofu_srb_sender *sender, uint64_t payload,
		      uint64_t ring)
{
	uint64_t bytes = srb_record_bytes(payload);

	if (sender->error)
		return sender->error;
	if (payload > ring / 2 || bytes > ring / 2 ||
	    bytes > sender->pool.bytes)
		return UTOFU_ERR_INVALID_SIZE;
	return UTOFU_SUCCESS;
}

int tofu_srb_send(struct tofu_srb_sender *sender, struct tofu_srb_peer *peer,
		  const struct iovec *part, unsigned int parts, void *cbdata)
{
	utofu_stadd_t counters;
	struct tofu_srb_flow *flow;
	struct srb_where where;
	struct srb_send *send;
	uint64_t payload;
	int code;

	if (!sender || !peer || (!part && parts))
		return UTOFU_ERR_INVALID_POINTER;
	if (!srb_where(peer->address.ring, &where))
		return UTOFU_ERR_INVALID_ARG;
	payload = parts_bytes(part, parts);
	code = send_check(sender, payload, where.bytes);
	if (!code)
		code = utofu_query_stadd(peer->address.vcq, where.stag,
					 &counters);
	if (code)
		return code;
	send = send_reserve(sender, srb_record_bytes(payload));
	if (!send)
		return UTOFU_ERR_BUSY;
	tofu_work(TOFU_WORK_SRB_SEND);
	parts_copy(record_begin(sender, send, 0, payload), part, parts);
	send_take(sender, cbdata);
	flow = peer->flow;
	if (!flow) {
		flow = flow_take(sender, peer);
		flow->where = where;
		flow->producer = counters + SRB_PRODUCER;
		flow->consumer = counters + SRB_CONSUMER;
	}
	srb_flow_add(flow, send);
	srb_flow_advance(flow);
	tofu_work(TOFU_WORK_SRB_SENT);
	return UTOFU_SUCCESS;
}

int tofu_srb_reserve(struct tofu_srb_sender *sender,
		     const struct tofu_srb_single *single, uint16_t label,
		     size_t bytes, void **to)
{
	int code = send_check(sender, bytes, single->bytes);
	struct srb_send *send;

	if (code)
		return code;
	send = send_reserve(sender, srb_record_bytes(bytes));
	if (!send)
		return UTOFU_ERR_BUSY;
	*to = record_begin(sender, send, label, bytes);
	return UTOFU_SUCCESS;
}

/* The flow of records to the ring: that which is under way, or a new one */
static struct tofu_srb_flow *single_flow(struct tofu_srb_sender *sender,
					 struct tofu_srb_single *single)
{
	struct tofu_srb_flow *flow = single->peer.flow;

	if (flow)
		return flow;
	flow = flow_take(sender, &single->peer);
	flow->single = single;
	flow->where.bytes = single->bytes;
	flow->consumer = single->consumer;
	return flow;
}

/*
 * Whether a record, of @bytes that a command can have, lies in one piece, in room
 * that is known, behind nothing that waits: then nothing but its put is to be done.
 */
static bool has_way(const struct tofu_srb_sender *sender,
		    const struct tofu_srb_single *single, uint64_t bytes)
{
	const uint64_t at = single->producer & (single->bytes - 1);

	return sender->free && !sender->error &&
	       bytes <= sender->piggyback_max &&
	       !(sender->flags & TOFU_SRB_SENDER_FRESH) &&
	       (!single->peer.flow || !single->peer.flow->put) &&
	       bytes <= single->bytes / 2 && bytes <= single->bytes - at &&
	       single->producer - single->peer.consumer <=
		       single->bytes - bytes;
}

bool tofu_srb_express(struct tofu_srb_sender *sender,
		      struct tofu_srb_single *single, uint16_t label,
		      const uint64_t word[TOFU_SRB_EXPRESS / SRB_WORD],
		      size_t bytes, void *cbdata)
{
	const uint64_t place = single->producer, all = srb_record_bytes(bytes);
	uint64_t record[] = { srb_head(label, bytes), word[0], word[1], 0 };
	struct srb_send *send = sender->free;
	struct tofu_srb_flow *flow;

	if (!has_way(sender, single, all))
		return false;
	record[all / SRB_WORD - 1] = srb_tail(place);
	tofu_work(TOFU_WORK_SRB_EXPRESS);
	if (utofu_put_piggyback(sender->vcq, single->peer.address.vcq, record,
				single->memory + (place & (single->bytes - 1)),
				all, (uint64_t)(send - sender->send),
				SRB_ORDERED, send))
		return false;
	send_take(sender, cbdata);
	flow = single_flow(sender, single);
	send->block.bytes = 0;
	send->flow = flow;
	send->place = place;
	srb_send_reset(send);
	srb_flow_note(flow, send, all);
	return true;
}

void tofu_srb_commit(struct tofu_srb_sender *sender,
		     struct tofu_srb_single *single, void *cbdata)
{
	struct srb_send *send = send_take(sender, cbdata);
	struct tofu_srb_flow *flow = single_flow(sender, single);

	if (srb_flow_put(flow, send))
		return;
	tofu_work(TOFU_WORK_SRB_SEND);
	srb_flow_add(flow, send);
	srb_flow_advance(flow);
	tofu_work(TOFU_WORK_SRB_SENT);
}

bool tofu_srb_is_put(const struct tofu_srb_peer *peer)
{
	return !peer->flow || (!peer->flow->put && !peer->flow->restart);
}

/* ---- Polling ---- */

/* The only form in which lost notices are reported */
static bool notice_lost(const struct utofu_mrq_notice *notice, int code)
{
	return code == UTOFU_ERR_MRQ_OTHER && !notice->vcq_id &&
	       !notice->rmt_stadd && !notice->lcl_stadd;
}

/* Rejects notices of commands from elsewhere. */
static bool notice_own(const struct utofu_mrq_notice *notice)
{
	return notice->notice_type == UTOFU_MRQ_TYPE_LCL_PUT ||
	       notice->notice_type == UTOFU_MRQ_TYPE_LCL_GET ||
	       notice->notice_type == UTOFU_MRQ_TYPE_LCL_ARMW;
}

static void notice_take(struct tofu_srb_sender *sender,
			const struct utofu_mrq_notice *notice, int code)
{
	struct srb_send *send;

	if (!notice_own(notice) || notice->edata >= sender->records)
		return;
	send = &sender->send[notice->edata];
	if (!send->flow || !send->pending)
		return;
	tofu_work(TOFU_WORK_SRB_NOTICE);
	srb_flow_notice(send->flow, send, notice, code);
	srb_flow_advance(send->flow);
}

/* Codes with which a command can end */
static bool is_mrq_code(int code)
{
	return code <= UTOFU_ERR_MRQ_OTHER && code >= UTOFU_ERR_MRQ_RMT_LENGTH;
}

/* Return: whether there may be more notices. */
static bool notice_poll(struct tofu_srb_sender *sender)
{
	struct utofu_mrq_notice notice;
	int code = utofu_poll_mrq(sender->vcq, 0, &notice);

	if (code == UTOFU_ERR_NOT_FOUND)
		return false;
	if ((code && !is_mrq_code(code)) || notice_lost(&notice, code)) {
		sender->error = code;
		return false;
	}
	notice_take(sender, &notice, code);
	return true;
}

/* Reports come only for commands that the device refuses. */
static void report_poll(struct tofu_srb_sender *sender)
{
	void *cbdata;
	int code = utofu_poll_tcq(sender->vcq, 0, &cbdata);

	if (code && code != UTOFU_ERR_NOT_FOUND)
		sender->error = code;
}

static void again_run(struct tofu_srb_sender *sender)
{
	struct tofu_srb_flow *flow = sender->again, *next;

	sender->again = NULL;
	for (; flow; flow = next) {
		next = flow->next;
		flow->next = NULL;
		flow->again = false;
		srb_flow_advance(flow);
	}
}

static int ended_take(struct tofu_srb_sender *sender, void **cbdata, int *result)
{
	struct srb_send *send = sender->ended;

	if (!send)
		return UTOFU_ERR_NOT_FOUND;
	/* Its notice may have come long ago, but this poll was not in vain. */
	tofu_work_note_found();
	sender->ended = send->next;
	*cbdata = send->cbdata;
	*result = send->result;
	send->next = sender->free;
	sender->free = send;
	return UTOFU_SUCCESS;
}

int tofu_srb_poll(struct tofu_srb_sender *sender, void **cbdata, int *result)
{
	if (!sender || !cbdata || !result)
		return UTOFU_ERR_INVALID_POINTER;
	tofu_work(TOFU_WORK_SRB_POLL);
	for (unsigned int i = 0; i < SRB_NOTICES_MAX && !sender->error; i++)
		if (!notice_poll(sender))
			break;
	if (!sender->error)
		report_poll(sender);
	if (sender->error)
		return sender->error;
	tofu_work(TOFU_WORK_SRB_POLLED);
	again_run(sender);
	return ended_take(sender, cbdata, result);
}
