// SPDX-License-Identifier: MIT
/*
 * Virtual time: what is certain about the packets that the controller has not
 * sent yet. Each entry of the calendar, and each packet that it has not handled,
 * can make it send; this file tells when at the earliest. For timed controllers
 * only.
 *
 * Whatever an entry does may also wake software, which then stores. So none is
 * granted more than a store takes.
 */
#include "icc/time.h"

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t store_ns(const struct icc *icc)
{
	return tofu_preset_store_ns(icc->machine);
}

static uint64_t send_ns(const struct icc *icc)
{
	return tofu_preset_send_ns(icc->machine);
}

/* ---- Commands ---- */

/* From a look at the TOQ until what it fetches enters the network. */
static uint64_t fetch_ns(const struct icc *icc, const struct icc_cq *cq)
{
	/* Blocks are there, and so are commands that came with their doorbell. */
	if (icc_cq_blocks_left(cq) || cq->direct_tail > cq->toq.pos)
		return send_ns(icc);
	return icc->machine->fetch_ns + send_ns(icc);
}

/* A command that has nothing to send lets the next one go at once. */
static uint64_t window_ns(const struct icc *icc, const struct icc_cq *cq)
{
	uint64_t ns = UINT64_MAX;
	uint64_t seq = cq->unsent;

	if (seq < cq->seq_tail)
		seq = cq->seq_tail;
	for (; seq != cq->seq_head && ns > send_ns(icc); seq++) {
		const struct icc_xfer *x = icc_window_at(cq, seq);

		if (x->stage == ICC_READ)
			ns = min64(ns, icc_command_wire_ns(icc, &x->command));
	}
	return ns;
}

static uint64_t engine_ns(const struct icc *icc, unsigned int tni)
{
	uint64_t ns = icc->time->engine[tni].answers.first ?
			      icc_answer_wire_ns(icc) :
			      UINT64_MAX;
	uint32_t left = icc->tni[tni].sendable;

	for (; left && ns > send_ns(icc); left &= left - 1)
		ns = min64(ns, window_ns(icc,
					 icc->tni[tni].cq[__builtin_ctz(left)]));
	return ns;
}

/* ---- Packets ---- */

/* A command that has ended may let the next one be fetched. */
static uint64_t response_ns(const struct icc *icc, const struct tofu_packet *pkt)
{
	const struct icc_cq *cq = icc_cq_at(icc, pkt->dst_tni, pkt->dst_cq);

	if (!cq || (cq->known == cq->toq.pos && !icc_cq_blocks_left(cq)))
		return UINT64_MAX;
	return fetch_ns(icc, cq);
}

/* From a packet's effect until what it makes the controller send. */
static uint64_t effect_ns(const struct icc *icc, const struct tofu_packet *pkt)
{
	switch (pkt->type) {
	case TOFU_PKT_PUT:
	case TOFU_PKT_ARMW:
		/* A step of a session takes as long as an answer. */
		return icc->machine->reply_ns + send_ns(icc);
	case TOFU_PKT_GET:
		return icc_answer_wire_ns(icc);
	case TOFU_PKT_DONE:
	case TOFU_PKT_DATA:
	case TOFU_PKT_VALUE:
		return response_ns(icc, pkt);
	default:
		return send_ns(icc);
	}
}

static uint64_t capped_effect_ns(const struct icc *icc,
				 const struct tofu_packet *pkt)
{
	return min64(effect_ns(icc, pkt), store_ns(icc));
}

uint64_t icc_answer_ns(const struct icc *icc, const struct tofu_packet *pkt)
{
	return icc_receive_ns(icc->machine, pkt) + capped_effect_ns(icc, pkt);
}

/* ---- Calendar ---- */

static uint64_t arrivals_ns(const struct icc *icc, unsigned int tni)
{
	const struct icc_held *held = icc->time->engine[tni].arrivals.first;
	uint64_t ns = UINT64_MAX;

	for (; held; held = held->next)
		ns = min64(ns, icc_answer_ns(icc, held->pkt));
	return ns;
}

/* Of an arrival the engine can be any number: it is the sender's. */
static uint64_t entry_ns(const struct icc *icc, const struct icc_entry *entry)
{
	const struct icc_engine *engine = icc->time->engine;
	const struct icc_cq *cq;

	switch (entry->due) {
	case ICC_DUE_FETCH:
	case ICC_DUE_ROOM:
		cq = icc->tni[entry->tni].cq[entry->cq];
		return cq ? fetch_ns(icc, cq) : UINT64_MAX;
	case ICC_DUE_SEND:
		return engine[entry->tni].send_at == entry->time ?
			       engine_ns(icc, entry->tni) :
			       UINT64_MAX;
	case ICC_DUE_RECEIVE:
		return engine[entry->tni].receive_at == entry->time ?
			       arrivals_ns(icc, entry->tni) :
			       UINT64_MAX;
	case ICC_DUE_ARRIVAL:
		return effect_ns(icc, entry->held->pkt);
	default:
		return send_ns(icc);
	}
}

/* An entry below another one in the heap is not earlier. */
static uint64_t sends_from(const struct icc *icc, size_t i, uint64_t limit)
{
	const struct tofu_heap *calendar = &icc->time->calendar;
	uint64_t time, ns;

	if (i >= calendar->count)
		return limit;
	time = calendar->item[i].time;
	if (time + send_ns(icc) >= limit)
		return limit;
	ns = min64(entry_ns(icc, calendar->item[i].what), store_ns(icc));
	limit = min64(limit, time + ns);
	limit = sends_from(icc, 2 * i + 1, limit);
	return sends_from(icc, 2 * i + 2, limit);
}

uint64_t icc_sends_from(const struct icc *icc, uint64_t limit)
{
	return sends_from(icc, 0, limit);
}
