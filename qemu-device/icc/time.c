// SPDX-License-Identifier: MIT
/*
 * Virtual time: the calendar, and packets that wait for their time. For timed
 * controllers only. Memory grows with the packets under way; where allocation
 * fails, the event is dropped and counted as a bad packet.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "icc/time.h"
#include "net/prefetch.h"

/* ---- Calendar ---- */

static struct icc_entry *entry_new(struct icc_time *t)
{
	struct icc_entry *entry = t->unused_entry;

	if (!entry)
		return malloc(sizeof(*entry));
	t->unused_entry = entry->next;
	return entry;
}

static void entry_free(struct icc_time *t, struct icc_entry *entry)
{
	entry->next = t->unused_entry;
	t->unused_entry = entry;
}

static bool enter(struct icc_time *t, const struct icc_entry *entry)
{
	struct icc_entry *copy = entry_new(t);

	if (!copy)
		return false;
	*copy = *entry;
	if (tofu_heap_push(&t->calendar, copy->time, copy->order, copy))
		return true;
	entry_free(t, copy);
	return false;
}

static struct icc_held *held_of(const struct icc_entry *entry)
{
	return entry->due == ICC_DUE_ARRIVAL ? entry->held : NULL;
}

static void insert(struct icc *icc, const struct icc_entry *entry)
{
	if (enter(icc->time, entry))
		return;
	icc->bad_packets++;
	if (held_of(entry))
		icc_time_let_go(icc, held_of(entry));
}

void icc_time_plan(struct icc *icc, struct icc_entry entry)
{
	entry.order = icc->time->order++;
	insert(icc, &entry);
}

void icc_time_delay(struct icc *icc, struct icc_entry entry, uint64_t time)
{
	entry.time = time;
	insert(icc, &entry);
}

static struct icc_entry take(struct icc_time *t)
{
	struct icc_entry *first = tofu_heap_pop(&t->calendar);
	const struct icc_entry entry = *first;

	entry_free(t, first);
	return entry;
}

uint64_t icc_next_time(const struct icc *icc)
{
	return icc->time ? tofu_heap_time(&icc->time->calendar) : UINT64_MAX;
}

/* Only software that waits for room in the TOQ looks how far it was fetched. */
static bool fetch_visible(const struct icc *icc, const struct icc_entry *entry)
{
	const struct icc_cq *cq = icc->tni[entry->tni].cq[entry->cq];

	return cq && cq->tail - cq->toq.pos >
			     TOFU_RING_ENTRIES(cq->toq.code) / 2;
}

static bool visible(const struct icc *icc, const struct icc_entry *entry)
{
	switch (entry->due) {
	case ICC_DUE_SEND:
	case ICC_DUE_RECEIVE:
		return false;
	case ICC_DUE_ARRIVAL:
		return !(entry->held->pkt->flags & TOFU_PKT_F_BLANK) ||
		       entry->held->pkt->flags & TOFU_PKT_F_LAST;
	case ICC_DUE_GATE:
		return true;
	default:
		return fetch_visible(icc, entry);
	}
}

/* The entries of one time are at the top of the heap, below each other. */
static bool visible_below(const struct icc *icc, size_t i)
{
	const struct tofu_heap *calendar = &icc->time->calendar;

	if (i >= calendar->count ||
	    calendar->item[i].time != tofu_heap_time(calendar))
		return false;
	return visible(icc, calendar->item[i].what) ||
	       visible_below(icc, 2 * i + 1) || visible_below(icc, 2 * i + 2);
}

bool icc_next_visible(const struct icc *icc)
{
	return visible_below(icc, 0);
}

/* ---- When stores take effect ---- */

void icc_time_opened(struct icc *icc)
{
	if (!icc->open++ && icc->time)
		icc->time->open_at = icc_now(icc) + icc->quiet_ns;
}

void icc_time_closed(struct icc *icc)
{
	icc->open--;
}

uint64_t icc_takes_effect(const struct icc *icc, uint64_t time)
{
	uint64_t from;

	if (icc->open)
		from = icc->time->open_at;
	else if (__builtin_add_overflow(time, icc->quiet_ns, &from))
		from = UINT64_MAX;
	return time > from ? time : from;
}

uint64_t icc_time_store(const struct icc *icc)
{
	return icc_takes_effect(icc, icc_now(icc)) + icc->machine->doorbell_ns;
}

/* ---- Packets that wait ---- */

static bool is_request(const struct tofu_packet *pkt)
{
	return pkt->type < TOFU_PKT_DONE;
}

/* Nobody sees these in a trace: they carry nothing of a barrier. */
static bool is_question(const struct tofu_packet *pkt)
{
	return pkt->type == TOFU_PKT_SIGNAL && pkt->flags & TOFU_PKT_F_ASK;
}

static bool keeps(const struct icc *icc)
{
	return icc->ops->release;
}

static struct icc_held *held_new(const struct icc *icc,
				 const struct tofu_packet *pkt,
				 const void *payload)
{
	const size_t carried = tofu_packet_carried(pkt);
	const size_t copy = keeps(icc) ? 0 : sizeof(*pkt) + carried;
	struct icc_held *held = malloc(sizeof(*held) + copy);

	if (!held)
		return NULL;
	held->x = NULL;
	held->pkt = pkt;
	if (keeps(icc))
		return held;
	held->copy[0] = *pkt;
	memcpy(held->copy + 1, payload, carried);
	held->pkt = held->copy;
	return held;
}

int icc_time_hold(struct icc *icc, const struct tofu_packet *pkt,
		  const void *payload)
{
	struct icc_held *held = held_new(icc, pkt, payload);

	if (!held) {
		icc_drop(icc, pkt, "out of memory");
		return 0;
	}
	held->here = icc_now(icc);
	held->arrived = held->here - icc->machine->receive_ns;
	icc_engine_arrive(icc, held);
	return keeps(icc) ? ICC_KEPT : 0;
}

void icc_time_let_go(struct icc *icc, struct icc_held *held)
{
	if (held->pkt != held->copy)
		icc->ops->release(icc->host, held->pkt);
	free(held->x);
	free(held);
}

/* Requests of a CQ are carried out in order, however long each takes. */
void icc_time_arrival(struct icc *icc, struct icc_held *held, uint64_t time)
{
	const struct tofu_packet *pkt = held->pkt;
	struct icc_entry entry = {
		.time = time,
		.due = ICC_DUE_ARRIVAL,
		.tni = pkt->dst_tni,
		.held = held,
	};

	if (is_request(pkt) && pkt->type != TOFU_PKT_SIGNAL) {
		entry.time = icc_stream_carry(icc, pkt, time);
		if (entry.time == UINT64_MAX) {
			icc_drop(icc, pkt, "out of memory");
			icc_time_let_go(icc, held);
			return;
		}
	}
	icc_time_plan(icc, entry);
}

static void arrival_trace(struct icc *icc, const struct icc_held *held)
{
	const struct tofu_packet *pkt = held->pkt;

	const struct icc_trace trace = {
		.kind = ICC_TRACE_RECEIVE,
		.time = held->arrived,
		.end = icc_now(icc),
		.id = pkt->tid,
		.origin = is_request(pkt) ? pkt->src : icc->node,
		.peer = pkt->src,
		.bytes = pkt->payload,
		.type = pkt->type,
		.tni = pkt->dst_tni,
		.cq = pkt->dst_cq,
	};

	icc_time_trace(icc, &trace);
}

/* An arrival's access to memory: all its effects happen now. */
static void arrival(struct icc *icc, struct icc_held *held)
{
	const struct tofu_packet *pkt = held->pkt;
	struct icc_xfer x;

	if (icc_traced(icc) && !is_question(pkt))
		arrival_trace(icc, held);
	if (pkt->type == TOFU_PKT_SIGNAL) {
		icc_gate_signal(icc, pkt, pkt + 1);
		icc_time_let_go(icc, held);
		return;
	}
	if (is_request(pkt)) {
		icc_request_begin(icc, &x, pkt, pkt + 1);
	} else if (!icc_response_begin(icc, &x, pkt, pkt + 1)) {
		icc_time_let_go(icc, held);
		return;
	}
	x.arrival.arrived = held->arrived;
	icc_xfer_run(icc, &x);
	if (x.stage == ICC_READ)
		icc_engine_answer(icc, held, &x);
	else
		icc_time_let_go(icc, held);
}

/* ---- Running ---- */

static void run(struct icc *icc, const struct icc_entry *entry)
{
	switch (entry->due) {
	case ICC_DUE_FETCH:
	case ICC_DUE_ROOM:
	case ICC_DUE_STEP:
		icc_engine_fetch(icc, entry);
		break;
	case ICC_DUE_SEND:
		/* Only the last plan that the engine made is valid. */
		if (icc->time->engine[entry->tni].send_at == entry->time)
			icc_engine_send(icc, entry->tni);
		break;
	case ICC_DUE_RECEIVE:
		if (icc->time->engine[entry->tni].receive_at == entry->time)
			icc_engine_receive(icc, entry);
		break;
	case ICC_DUE_ARRIVAL:
		arrival(icc, entry->held);
		break;
	case ICC_DUE_GATE:
		icc_gate_due(icc, entry);
		break;
	}
}

static bool ready(const struct icc *icc)
{
	return !icc->ops->ready || icc->ops->ready(icc->host);
}

bool icc_time_run(struct icc *icc)
{
	struct icc_time *t = icc->time;
	const uint64_t now = icc_now(icc);
	bool done = false;

	while (tofu_heap_time(&t->calendar) <= now && ready(icc)) {
		const struct icc_entry entry = take(t);

		run(icc, &entry);
		done = true;
	}
	return done;
}

void icc_time_trace(struct icc *icc, const struct icc_trace *trace)
{
	icc->ops->trace(icc->host, trace);
}

/* ---- Prefetch ---- */

/* Entries of the calendar that may be due together */
#define SOON 4

static void prefetch_engines(const struct icc *icc)
{
	for (unsigned int i = 0; i < icc->tnis; i++) {
		const struct icc_engine *e = &icc->time->engine[i];
		const uint32_t enabled = icc->tni[i].enabled;

		if (enabled)
			tofu_prefetch(icc->tni[i].cq[__builtin_ctz(enabled)],
				      offsetof(struct icc_cq, toq));
		tofu_prefetch(e->returning, ICC_LINE);
		tofu_prefetch(e->arrivals.first, ICC_LINE);
	}
}

static void prefetch_packets(const struct icc *icc)
{
	const struct tofu_heap *calendar = &icc->time->calendar;

	for (uint32_t i = 0; i < SOON && i < calendar->count; i++)
		tofu_prefetch(calendar->item[i].what, ICC_LINE);
	for (unsigned int i = 0; i < icc->tnis; i++) {
		const struct icc_held *held = icc->time->engine[i].arrivals.first;
		const uint32_t sendable = icc->tni[i].sendable;

		if (sendable)
			tofu_prefetch(icc->tni[i].cq[__builtin_ctz(sendable)]
					      ->next,
				      sizeof(struct icc_xfer));
		if (held)
			tofu_prefetch(held->pkt, sizeof(*held->pkt));
	}
}

void icc_prefetch(const struct icc *icc, unsigned int step)
{
	switch (step) {
	case 0:
		tofu_prefetch(icc, offsetof(struct icc, port));
		for (unsigned int i = 0; i < icc->tnis; i++)
			tofu_prefetch(&icc->tni[i],
				      offsetof(struct icc_tni, gate));
		break;
	case 1:
		tofu_prefetch(icc->time, sizeof(*icc->time));
		break;
	case 2:
		tofu_prefetch(icc->time->calendar.item,
			      SOON * sizeof(*icc->time->calendar.item));
		prefetch_engines(icc);
		break;
	case 3:
		prefetch_packets(icc);
		break;
	}
}

/* ---- Life ---- */

int icc_time_create(struct icc *icc)
{
	struct icc_time *t = icc_alloc_lines(sizeof(*t));

	if (!t)
		return -ENOMEM;
	icc->time = t;
	icc_engine_init(icc);
	return 0;
}

static void free_list(struct icc *icc, struct icc_held_list *list)
{
	*list->end = NULL;
	while (list->first) {
		struct icc_held *held = list->first;

		list->first = held->next;
		icc_time_let_go(icc, held);
	}
}

static void free_calendar(struct icc *icc)
{
	struct icc_time *t = icc->time;

	while (t->calendar.count) {
		const struct icc_entry entry = take(t);

		if (held_of(&entry))
			icc_time_let_go(icc, held_of(&entry));
	}
	while (t->unused_entry) {
		struct icc_entry *next = t->unused_entry->next;

		free(t->unused_entry);
		t->unused_entry = next;
	}
	tofu_heap_free(&t->calendar);
}

void icc_time_destroy(struct icc *icc)
{
	struct icc_time *t = icc->time;

	if (!t)
		return;
	free_calendar(icc);
	for (unsigned int i = 0; i < TOFU_TNIS_MAX; i++) {
		free_list(icc, &t->engine[i].answers);
		free_list(icc, &t->engine[i].arrivals);
		free(t->engine[i].returning);
	}
	free(t);
}
