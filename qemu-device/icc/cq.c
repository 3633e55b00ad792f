// SPDX-License-Identifier: MIT
/*
 * A command queue: enabling, its three rings, its interrupts. The guest can
 * write anything to the CQ page and the rings at any time. So positions are
 * kept here, and the device never reads back what it wrote.
 */
#include <stdlib.h>
#include <string.h>

#include "icc/time.h"

#define RING_ALIGN 256

/* ---- The window ---- */

static bool window_grow(struct icc_cq *cq)
{
	struct icc_window *w = &cq->window;
	struct icc_xfer *chunk;

	if (w->room == TOFU_WINDOW)
		return false;
	chunk = icc_alloc_lines(ICC_CHUNK * sizeof(*chunk));
	if (!chunk)
		return false;
	w->chunk[w->room / ICC_CHUNK] = chunk;
	/* From behind, so that the lowest number is used first. */
	for (unsigned int i = ICC_CHUNK; i-- > 0;) {
		chunk[i].kind = ICC_COMMAND;
		chunk[i].stage = ICC_ENDED;
		chunk[i].number = (uint8_t)(w->room + i);
		chunk[i].cq = cq;
		w->unused[w->spare++] = chunk[i].number;
	}
	w->room += ICC_CHUNK;
	return true;
}

struct icc_xfer *icc_window_next(struct icc_cq *cq)
{
	struct icc_window *w = &cq->window;
	unsigned int n;

	if (!w->spare && !window_grow(cq))
		return NULL;
	n = w->unused[w->spare - 1];
	return &w->chunk[n / ICC_CHUNK][n % ICC_CHUNK];
}

void icc_window_add(struct icc_cq *cq, struct icc_xfer *x)
{
	cq->window.spare--;
	cq->window.slot[cq->seq_head % TOFU_WINDOW] = x->number;
	x->command.seq = cq->seq_head++;
}

/* The oldest command leaves. It can be looked at until the next one begins. */
static void window_remove(struct icc_cq *cq)
{
	struct icc_window *w = &cq->window;

	w->unused[w->spare++] = w->slot[cq->seq_tail++ % TOFU_WINDOW];
}

/* ---- Life ---- */

struct icc_cq *icc_cq_make(struct icc *icc, unsigned int tni, unsigned int c)
{
	struct icc_cq *cq = icc->tni[tni].cq[c];

	if (cq)
		return cq;
	cq = icc_alloc_lines(sizeof(*cq));
	if (!cq) {
		icc->tni[tni].lost |= 1U << c;
		icc->ops->misuse(icc->host, "TNI %u CQ %u: out of memory", tni,
				 c);
		return NULL;
	}
	cq->tni = (uint8_t)tni;
	cq->cq = (uint8_t)c;
	cq->page = icc_cq_page(icc, tni, c);
	icc->tni[tni].cq[c] = cq;
	return cq;
}

void icc_cq_free(struct icc_cq *cq)
{
	if (!cq)
		return;
	for (unsigned int i = 0; i < cq->window.room / ICC_CHUNK; i++)
		free(cq->window.chunk[i]);
	free(cq->out);
	free(cq);
}

/*
 * What an enabled CQ needs. A timed one gets the rest of its window by demand;
 * without memory for it, fewer commands are in flight.
 */
static bool equip(const struct icc *icc, struct icc_cq *cq)
{
	const unsigned int room = icc->time ? ICC_CHUNK : TOFU_WINDOW;

	if (!icc->time && !cq->out)
		cq->out = calloc(1, sizeof(*cq->out));
	while (cq->window.room < room) {
		if (!window_grow(cq))
			return false;
	}
	return icc->time || cq->out;
}

static uint64_t setting(const struct icc_cq *cq, unsigned int reg)
{
	return cq->setting[(reg - TOFU_CQ_TOQ_BASE) / 8];
}

/* Whether @count items of @size bytes at @base are in the address space. */
static bool area_good(uint64_t base, uint64_t count, uint64_t size)
{
	uint64_t bytes, end;

	return !__builtin_mul_overflow(count, size, &bytes) &&
	       !__builtin_add_overflow(base, bytes, &end);
}

static bool ring_good(uint64_t base, unsigned int code, uint64_t entry)
{
	return code <= TOFU_RING_CODE_MAX && base % RING_ALIGN == 0 &&
	       area_good(base, TOFU_RING_ENTRIES(code), entry);
}

static bool settings_good(const struct icc_cq *cq)
{
	const uint64_t rings = setting(cq, TOFU_CQ_RINGS);
	const unsigned int toq = TOFU_GET(rings, TOFU_CQ_RINGS_TOQ);
	const unsigned int mrq = TOFU_GET(rings, TOFU_CQ_RINGS_MRQ);

	return !(rings & ~(TOFU_FIELD(TOFU_CQ_RINGS_TOQ) |
			   TOFU_FIELD(TOFU_CQ_RINGS_MRQ) |
			   TOFU_FIELD(TOFU_CQ_RINGS_SESSION))) &&
	       ring_good(setting(cq, TOFU_CQ_TOQ_BASE), toq,
			 sizeof(struct tofu_toq_desc)) &&
	       ring_good(setting(cq, TOFU_CQ_TCQ_BASE), toq, sizeof(__le64)) &&
	       ring_good(setting(cq, TOFU_CQ_MRQ_BASE), mrq,
			 sizeof(struct tofu_mrq_entry)) &&
	       setting(cq, TOFU_CQ_STT_COUNT) <= 1ULL << TOFU_STAG_BITS_MAX &&
	       area_good(setting(cq, TOFU_CQ_STT_BASE),
			 setting(cq, TOFU_CQ_STT_COUNT),
			 sizeof(struct tofu_steering)) &&
	       area_good(setting(cq, TOFU_CQ_MBT_BASE),
			 setting(cq, TOFU_CQ_MBT_COUNT),
			 sizeof(struct tofu_memory_block)) &&
	       setting(cq, TOFU_CQ_GPID) <= UINT16_MAX;
}

static void set_status(struct icc_cq *cq, uint32_t status)
{
	cq->status = status;
	/* Relaxed: the word is complete by itself and orders nothing else. */
	icc_store_relaxed32(&cq->page->status, status);
}

static struct icc_ring ring(const struct icc_cq *cq, unsigned int base_reg,
			    unsigned int code)
{
	return (struct icc_ring){ .base = setting(cq, base_reg), .code = code };
}

void icc_cq_enable(struct icc *icc, struct icc_cq *cq)
{
	const uint64_t rings = setting(cq, TOFU_CQ_RINGS);

	if (icc_cq_enabled(cq))
		return;
	set_status(cq, 0);
	if (icc->resetting || cq->seq_head != cq->seq_tail ||
	    icc->tni[cq->tni].lost & 1U << cq->cq || !settings_good(cq) ||
	    !equip(icc, cq)) {
		icc_cq_set_error(icc, cq, TOFU_CQ_STATUS_BAD_CONFIG);
		return;
	}
	cq->toq = ring(cq, TOFU_CQ_TOQ_BASE,
		       TOFU_GET(rings, TOFU_CQ_RINGS_TOQ));
	cq->tcq = ring(cq, TOFU_CQ_TCQ_BASE,
		       TOFU_GET(rings, TOFU_CQ_RINGS_TOQ));
	cq->mrq = ring(cq, TOFU_CQ_MRQ_BASE,
		       TOFU_GET(rings, TOFU_CQ_RINGS_MRQ));
	cq->stt_base = setting(cq, TOFU_CQ_STT_BASE);
	cq->stt_count = setting(cq, TOFU_CQ_STT_COUNT);
	cq->mbt_base = setting(cq, TOFU_CQ_MBT_BASE);
	cq->mbt_count = setting(cq, TOFU_CQ_MBT_COUNT);
	memset(cq->memo, 0, sizeof(cq->memo));
	cq->gpid = (uint16_t)setting(cq, TOFU_CQ_GPID);
	memset(cq->counter, 0, sizeof(cq->counter));
	memset(cq->stamp, 0, sizeof(cq->stamp));
	cq->session = TOFU_GET(rings, TOFU_CQ_RINGS_SESSION);
	cq->steps = 0;
	cq->tcq_status = TOFU_ST_OK;
	cq->tail = 0;
	cq->known = 0;
	cq->direct_tail = 0;
	cq->life++;
	icc_cq_publish(cq);
	icc_store_relaxed32(&cq->page->need_kick, icc->need_kick);
	set_status(cq, TOFU_CQ_STATUS_ENABLED);
	icc->tni[cq->tni].enabled |= 1U << cq->cq;
	icc_time_opened(icc);
}

void icc_cq_disable(struct icc *icc, struct icc_cq *cq)
{
	if (icc_cq_enabled(cq))
		icc_time_closed(icc);
	set_status(cq, 0);
	icc->tni[cq->tni].enabled &= ~(1U << cq->cq);
	cq->blocks.next = cq->blocks.count;
	if (cq->sending)
		icc_command_fail(icc, cq->sending, TOFU_ST_PEER);
	if (cq->sending) /* it has to end a stream */
		icc->tni[cq->tni].ending |= 1U << cq->cq;
	if (icc->time)
		icc_engine_stop(icc, cq);
}

void icc_cq_event(struct icc *icc, struct icc_cq *cq, uint64_t cause)
{
	if (!(cq->armed & cause))
		return;
	cq->armed &= ~cause;
	cq->cause |= cause;
	icc->ops->irq(icc->host, TOFU_VECTOR_CQ(cq->tni, cq->cq));
}

void icc_cq_set_error(struct icc *icc, struct icc_cq *cq, uint32_t error)
{
	if (cq->status & error)
		return;
	set_status(cq, cq->status | error);
	icc->ops->misuse(icc->host, "TNI %u CQ %u: status %#x", cq->tni, cq->cq,
			 cq->status);
	icc_cq_event(icc, cq, TOFU_CQ_IRQ_EXCEPTION);
}

void icc_cq_add_steps(struct icc *icc, struct icc_cq *cq, unsigned int steps)
{
	if (!cq->session || !steps)
		return;
	if (icc->time)
		icc_engine_add_steps(icc, cq, steps);
	else
		cq->steps += steps;
}

/* ---- Doorbells ---- */

static void doorbell_trace(struct icc *icc, const struct icc_cq *cq,
			   uint64_t slots)
{
	const struct icc_trace trace = {
		.kind = ICC_TRACE_DOORBELL,
		.time = icc_now(icc),
		.end = icc_now(icc),
		.origin = icc->node,
		.peer = icc->node,
		.bytes = (uint32_t)slots,
		.tni = cq->tni,
		.cq = cq->cq,
	};

	icc_time_trace(icc, &trace);
}

void icc_doorbell(struct icc *icc, unsigned int tni, unsigned int c,
		  uint64_t value)
{
	struct icc_cq *cq = icc_cq_at(icc, tni, c);
	const uint64_t tail = value & ~TOFU_FETCH_DIRECT;

	if (!icc->doorbells || !cq || !icc_cq_enabled(cq) || tail == cq->tail)
		return;
	if (icc_traced(icc))
		doorbell_trace(icc, cq, tail - cq->tail);
	cq->tail = tail;
	if (value & TOFU_FETCH_DIRECT) {
		memcpy(cq->direct, cq->page->direct, sizeof(cq->direct));
		cq->direct_tail = tail;
	}
	if (icc->time)
		icc_engine_doorbell(icc, cq);
	else
		cq->known = tail;
}

/* ---- TOQ ---- */

static int read_slot(struct icc *icc, const struct icc_cq *cq, uint64_t index,
		     void *slot)
{
	index &= icc_ring_mask(&cq->toq);
	return icc->ops->read(icc->host,
			      cq->toq.base +
				      index * sizeof(struct tofu_toq_desc),
			      slot, sizeof(struct tofu_toq_desc));
}

static unsigned int fetch_direct(struct icc_cq *cq, uint64_t slots,
				 struct icc_command *command)
{
	command->desc = cq->direct[0];
	memcpy(command->data, &cq->direct[1], sizeof(command->data));
	command->index = cq->toq.pos;
	cq->toq.pos += slots;
	return (unsigned int)slots;
}

unsigned int icc_cq_fetch(struct icc *icc, struct icc_cq *cq,
			  struct icc_command *command)
{
	const uint64_t filled = icc_cq_filled(icc, cq);
	unsigned int slots = 1;

	if (!filled)
		return 0;
	if (icc_cq_direct(cq))
		return fetch_direct(cq, filled, command);
	if (filled > TOFU_RING_ENTRIES(cq->toq.code) ||
	    read_slot(icc, cq, cq->toq.pos, &command->desc))
		goto exception;
	/* An entry of an old round has no length of its own: one slot. */
	if (TOFU_GET(command->desc.ctrl, TOFU_TOQ_FLIP) ==
	    tofu_ring_flip(cq->toq.pos, cq->toq.code))
		slots = tofu_toq_slots(command->desc.ctrl, command->desc.route);
	if (slots > filled)
		return 0;
	if (slots > 1 && read_slot(icc, cq, cq->toq.pos + 1, command->data))
		goto exception;
	command->index = cq->toq.pos;
	cq->toq.pos += slots;
	return slots;

exception:
	icc_cq_set_error(icc, cq, TOFU_CQ_STATUS_TOQ_EXCEPTION);
	return 0;
}

void icc_cq_publish(struct icc_cq *cq)
{
	/* Release: the slots have been read before software overwrites them. */
	icc_store_release(&cq->page->toq_head, cq->toq.pos);
}

/* ---- TCQ ---- */

static void tcq_trace(struct icc *icc, const struct icc_cq *cq,
		      const struct icc_command *c, enum tofu_status status)
{
	const struct icc_trace trace = {
		.kind = ICC_TRACE_TCQ,
		.time = icc_now(icc),
		.end = icc_now(icc),
		.id = icc_tid(cq, c),
		.origin = icc->node,
		.peer = (uint32_t)c->peer,
		.tni = cq->tni,
		.cq = cq->cq,
		.detail = status,
	};

	icc_time_trace(icc, &trace);
}

static void tcq_write(struct icc *icc, struct icc_cq *cq,
		      const struct icc_command *c, enum tofu_status status)
{
	const uint64_t slot = cq->tcq.pos & icc_ring_mask(&cq->tcq);
	const uint64_t entry =
		TOFU_SET(TOFU_TCQ_FLIP,
			 tofu_ring_flip(cq->tcq.pos, cq->tcq.code)) |
		TOFU_SET(TOFU_TCQ_STATUS, status) |
		TOFU_SET(TOFU_TCQ_INDEX, c->index);

	cq->tcq.pos++;
	if (icc->ops->store64(icc->host, cq->tcq.base + slot * sizeof(entry),
			      entry))
		icc->ops->misuse(icc->host, "TNI %u CQ %u: no TCQ at %#llx",
				 cq->tni, cq->cq,
				 (unsigned long long)cq->tcq.base);
	if (icc_traced(icc))
		tcq_trace(icc, cq, c, status);
	icc_cq_event(icc, cq, TOFU_CQ_IRQ_TCQ);
}

/* All blocks share one entry, if any, with the first error. */
static void tcq_report(struct icc *icc, struct icc_cq *cq,
		       const struct icc_command *c)
{
	const enum tofu_status status = cq->tcq_status;

	cq->tcq_status = TOFU_ST_OK;
	if (status != TOFU_ST_OK)
		cq->counter[TOFU_CQ_TCQ_ERRORS]++;
	if (status != TOFU_ST_OK ||
	    (TOFU_GET(c->desc.ctrl, TOFU_TOQ_FLAGS) & TOFU_TOQ_F_TCQ_NOTICE))
		tcq_write(icc, cq, c, status);
}

void icc_cq_retire(struct icc *icc, struct icc_cq *cq)
{
	while (cq->seq_tail != cq->seq_head) {
		const struct icc_xfer *x = icc_window_at(cq, cq->seq_tail);

		if (x->stage != ICC_ENDED)
			break;
		window_remove(cq);
		if (!icc_cq_enabled(cq))
			continue;
		if (icc->time)
			icc_engine_room(icc, cq);
		if (cq->tcq_status == TOFU_ST_OK &&
		    icc_status_is_tcq(x->status))
			cq->tcq_status = x->status;
		if (x->command.last_block)
			tcq_report(icc, cq, &x->command);
	}
}

/* ---- MRQ ---- */

static bool mrq_store(struct icc *icc, struct icc_cq *cq,
		      const struct tofu_mrq_entry *entry)
{
	const uint64_t addr = cq->mrq.base +
			      (cq->mrq.pos & icc_ring_mask(&cq->mrq)) *
				      sizeof(*entry);

	/* Software reads word 0 first, so write it last, with release. */
	return !icc->ops->write(icc->host, addr + sizeof(entry->ctrl),
				&entry->route,
				sizeof(*entry) - sizeof(entry->ctrl)) &&
	       !icc->ops->store64(icc->host, addr, entry->ctrl);
}

void icc_mrq_write(struct icc *icc, struct icc_cq *cq,
		   struct tofu_mrq_entry *entry)
{
	/* Acquire: software has read the entries before it freed them. */
	const uint64_t unread = cq->mrq.pos -
				icc_load_acquire(&cq->page->mrq_full_pointer);

	entry->ctrl |= TOFU_SET(TOFU_MRQ_FLIP,
				tofu_ring_flip(cq->mrq.pos, cq->mrq.code));
	if (unread >= TOFU_RING_ENTRIES(cq->mrq.code) ||
	    !mrq_store(icc, cq, entry)) {
		cq->counter[TOFU_CQ_MRQ_LOST]++;
		icc_cq_set_error(icc, cq, TOFU_CQ_STATUS_MRQ_OVERFLOW);
		return;
	}
	cq->mrq.pos++;
	icc_cq_event(icc, cq, TOFU_CQ_IRQ_MRQ);
}
