// SPDX-License-Identifier: MIT
/*
 * Virtual time: the engines. An engine sends one packet at a time and receives
 * one at a time; both directions share a part of it, and all engines share the
 * host interface, of which each way carries requests and answers for the other
 * one. Each of these is a server with a known time at which it is
 * free again. Servers' times are in picoseconds, the calendar's in nanoseconds.
 */
#include <stdlib.h>
#include <string.h>

#include "icc/time.h"

#define PS 1000ULL
#define FETCH_BURST 64 /* commands that one look at the TOQ takes */
#define ANSWERS TOFU_CQS_PER_TNI /* struct icc_engine.turn */
#define TURNS (ANSWERS + 1)

static uint64_t max64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t to_ns(uint64_t ps)
{
	return (ps + PS - 1) / PS;
}

void icc_engine_init(struct icc *icc)
{
	for (unsigned int i = 0; i < TOFU_TNIS_MAX; i++) {
		struct icc_engine *e = &icc->time->engine[i];

		e->send_at = UINT64_MAX;
		e->receive_at = UINT64_MAX;
		e->answers.end = &e->answers.first;
		e->arrivals.end = &e->arrivals.first;
		e->credits = (int32_t)icc->machine->credits;
	}
}

static void append(struct icc_held_list *list, struct icc_held *held)
{
	held->next = NULL;
	*list->end = held;
	list->end = &held->next;
}

static struct icc_held *pop(struct icc_held_list *list)
{
	struct icc_held *held = list->first;

	list->first = held->next;
	if (!list->first)
		list->end = &list->first;
	return held;
}

/* ---- Fetch ---- */

/* All blocks of a strided command are fetched with it. */
static void fetch_times(struct icc_cq *cq, struct icc_command *c,
			const struct icc_entry *entry, uint64_t ready)
{
	c->doorbell = entry->since;
	c->fetched = entry->time;
	c->ready = ready;
	cq->blocks.first.doorbell = c->doorbell;
	cq->blocks.first.fetched = c->fetched;
	cq->blocks.first.ready = c->ready;
}

/* A block's descriptor is already there, but a session's block needs a step. */
static void block_times(struct icc_command *c, const struct icc_entry *entry)
{
	c->doorbell = entry->since;
	c->fetched = entry->time;
	c->ready = max64(c->ready, entry->time);
}

static void fetch_trace(struct icc *icc, const struct icc_xfer *x)
{
	const struct icc_trace trace = {
		.kind = ICC_TRACE_FETCH,
		.time = icc_now(icc),
		.end = max64(icc_now(icc), x->command.ready),
		.id = icc_tid(x->cq, &x->command),
		.origin = icc->node,
		.peer = icc->node,
		.tni = x->cq->tni,
		.cq = x->cq->cq,
	};

	icc_time_trace(icc, &trace);
}

/*
 * Fetch one command, or one block of it; false where there is none, or the
 * window is full.
 */
static bool fetch_one(struct icc *icc, struct icc_cq *cq,
		      const struct icc_entry *entry)
{
	struct icc_xfer *x = icc_window_next(cq);
	const bool block = icc_cq_blocks_left(cq);
	const bool direct = icc_cq_direct(cq);

	if (!x)
		return false;
	x->stage = ICC_FETCH;
	icc_command_run(icc, x);
	if (x->stage == ICC_FETCH)
		return false;
	if (!block)
		fetch_times(cq, &x->command, entry,
			    icc_now(icc) +
				    (direct ? 0 : icc->machine->fetch_ns));
	else if (cq->session)
		block_times(&x->command, entry);
	if (icc_traced(icc))
		fetch_trace(icc, x);
	return true;
}

/* Commands that find the window full are fetched after one has ended. */
static void fetch(struct icc *icc, struct icc_cq *cq,
		  const struct icc_entry *entry)
{
	unsigned int fetched = 0;

	while (fetched < FETCH_BURST &&
	       !(cq->status & TOFU_CQ_STATUS_TOQ_EXCEPTION) &&
	       fetch_one(icc, cq, entry))
		fetched++;
	if (!fetched)
		return;
	icc_cq_publish(cq);
	icc->tni[cq->tni].sendable |= 1U << cq->cq;
	icc_engine_kick(icc, cq->tni, icc_now(icc));
}

void icc_engine_doorbell(struct icc *icc, const struct icc_cq *cq)
{
	const struct icc_entry entry = {
		.time = icc_time_store(icc),
		.due = ICC_DUE_FETCH,
		.tni = cq->tni,
		.cq = cq->cq,
		.life = cq->life,
		.tail = cq->tail,
		.since = icc_now(icc),
	};

	icc_time_plan(icc, entry);
}

void icc_engine_fetch(struct icc *icc, const struct icc_entry *entry)
{
	struct icc_cq *cq = icc->tni[entry->tni].cq[entry->cq];

	if (!icc_cq_enabled(cq) || cq->life != entry->life)
		return;
	/* ROOM repeats a FETCH, and @known may have moved on since. */
	if (entry->due == ICC_DUE_FETCH)
		cq->known = entry->tail;
	else if (entry->due == ICC_DUE_STEP)
		cq->steps += entry->tail;
	fetch(icc, cq, entry);
}

void icc_engine_room(struct icc *icc, struct icc_cq *cq)
{
	if (!icc_cq_enabled(cq) ||
	    (cq->known == cq->toq.pos && !icc_cq_blocks_left(cq)))
		return;
	/* Plan it: the caller is still working on the command that ended. */
	const struct icc_entry entry = {
		.time = icc_now(icc),
		.due = ICC_DUE_ROOM,
		.tni = cq->tni,
		.cq = cq->cq,
		.life = cq->life,
		.since = icc_now(icc),
	};

	icc_time_plan(icc, entry);
}

/*
 * The engine learns of a step no sooner than of a request to be answered. So no
 * command that the step releases overtakes the answer to the step's command.
 */
void icc_engine_add_steps(struct icc *icc, struct icc_cq *cq,
			  unsigned int steps)
{
	const struct icc_entry entry = {
		.time = icc_now(icc) + icc->machine->reply_ns,
		.due = ICC_DUE_STEP,
		.tni = cq->tni,
		.cq = cq->cq,
		.life = cq->life,
		.tail = steps,
		.since = icc_now(icc),
	};

	icc_time_plan(icc, entry);
}

/* ---- What can be sent ---- */

/* The oldest command of a CQ with a packet to send, or NULL. */
static struct icc_xfer *next_command(struct icc_tni *tni, unsigned int c)
{
	struct icc_cq *cq = tni->cq[c];
	struct icc_xfer *x = cq->next;

	if (x && x->stage == ICC_READ && x->command.seq == cq->unsent)
		return x;
	if (cq->unsent < cq->seq_tail)
		cq->unsent = cq->seq_tail;
	for (; cq->unsent != cq->seq_head; cq->unsent++) {
		x = icc_window_at(cq, cq->unsent);
		if (x->stage == ICC_READ) {
			cq->next = x;
			return x;
		}
	}
	cq->next = NULL;
	tni->sendable &= ~(1U << c);
	return NULL;
}

/* struct icc_choice - the leg whose packet is next, and when it is ready */
struct icc_choice {
	struct icc_xfer *x;
	unsigned int turn;
	uint64_t ready;
};

static struct icc_choice choice_at(struct icc *icc, unsigned int tni,
				   unsigned int turn)
{
	struct icc_choice choice = { .turn = turn, .ready = UINT64_MAX };
	struct icc_held *held = icc->time->engine[tni].answers.first;

	if (turn != ANSWERS) {
		choice.x = next_command(&icc->tni[tni], turn);
		if (choice.x)
			choice.ready = choice.x->command.ready;
	} else if (held) {
		choice.x = held->x;
		choice.ready = held->ready;
	}
	return choice;
}

/* Turns that may have a packet to send, a bit each. */
static uint32_t candidates(const struct icc *icc, unsigned int tni)
{
	const uint32_t answers = icc->time->engine[tni].answers.first ?
					 1U << ANSWERS :
					 0;

	return icc->tni[tni].sendable | answers;
}

/* The next in turn among those ready; else the one that is ready first. */
static struct icc_choice choose(struct icc *icc, unsigned int tni, uint64_t now)
{
	const unsigned int from = icc->time->engine[tni].turn;
	const uint32_t all = candidates(icc, tni);
	struct icc_choice best = { .ready = UINT64_MAX };
	uint32_t left;

	left = (all >> from | all << (TURNS - from)) & TOFU_MASK(TURNS);
	for (; left && best.ready > now; left &= left - 1) {
		const unsigned int i = (unsigned int)__builtin_ctz(left);
		const struct icc_choice c =
			choice_at(icc, tni, (from + i) % TURNS);

		if (c.ready < best.ready)
			best = c;
	}
	return best;
}

static bool more_to_send(struct icc *icc, unsigned int tni)
{
	uint32_t left = candidates(icc, tni);

	for (; left; left &= left - 1) {
		const unsigned int turn = (unsigned int)__builtin_ctz(left);

		if (turn == ANSWERS || next_command(&icc->tni[tni], turn))
			return true;
	}
	return false;
}

/* ---- Credits ---- */

/* Collect credits that have returned by now; true when there is one to use. */
static bool have_credit(struct icc_engine *e, uint64_t now)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < e->returns; i++) {
		if (e->returning[i] <= now)
			e->credits++;
		else
			e->returning[left++] = e->returning[i];
	}
	e->returns = left;
	return e->credits > 0;
}

static uint64_t next_credit(const struct icc_engine *e)
{
	uint64_t time = UINT64_MAX;

	for (size_t i = 0; i < e->returns; i++) {
		if (e->returning[i] < time)
			time = e->returning[i];
	}
	return time;
}

void icc_credit(struct icc *icc, unsigned int tni, uint64_t time)
{
	struct icc_engine *e = &icc->time->engine[tni % TOFU_TNIS_MAX];
	const uint64_t due = time + tofu_preset_flight_ns(icc->machine);

	if (e->returns == e->room) {
		const uint32_t room = e->room ? 2 * e->room : 16;
		uint64_t *more = realloc(e->returning, room * sizeof(*more));

		if (!more) {
			e->credits++;
			return;
		}
		e->returning = more;
		e->room = room;
	}
	e->returning[e->returns++] = due;
	if (icc->time->starved & 1U << tni % TOFU_TNIS_MAX)
		icc_engine_kick(icc, tni, due);
	/* Answers without data never collect their credits: bound the list. */
	if (e->returns > 4 * icc->machine->credits)
		have_credit(e, icc_now(icc));
}

bool icc_starved(const struct icc *icc)
{
	return icc->time->starved;
}

void icc_engine_committed(struct icc *icc, unsigned int tni)
{
	icc->time->engine[tni % TOFU_TNIS_MAX].credits--;
}

/* ---- Sending ---- */

void icc_engine_kick(struct icc *icc, unsigned int tni, uint64_t time)
{
	struct icc_engine *e = &icc->time->engine[tni];
	const uint64_t at = max64(time, icc_now(icc));

	if (e->send_at <= at)
		return;
	e->send_at = at;
	const struct icc_entry entry = {
		.time = at,
		.due = ICC_DUE_SEND,
		.tni = (uint8_t)tni,
	};

	icc_time_plan(icc, entry);
}

/* When the servers that a packet needs are all free, ps. */
static uint64_t send_free(const struct icc *icc, const struct icc_engine *e)
{
	return max64(max64(e->send_free, e->both_free), icc->time->read_free);
}

/* An idle server begins when the packet is ready. */
static void serve(uint64_t *free, uint64_t start, uint64_t ps)
{
	*free = max64(*free, start) + ps;
}

static const struct icc_service *service(struct icc *icc, uint32_t bytes)
{
	const struct tofu_preset *m = icc->machine;
	struct icc_service *s = &icc->time->service;

	if (s->bytes != bytes)
		*s = (struct icc_service){
			.bytes = bytes,
			.tni = tofu_preset_ps(bytes, m->tni_mbs),
			.both = tofu_preset_ps(bytes, m->tni_both_mbs),
			.host = tofu_preset_ps(bytes, m->host_mbs),
			.header = tofu_preset_ps((uint64_t)bytes *
							 m->host_header /
							 TOFU_HOST_LINE,
						 m->host_mbs),
		};
	return s;
}

static void sent(struct icc *icc, struct icc_engine *e, uint64_t start,
		 uint32_t bytes, bool first, unsigned int gap)
{
	const struct tofu_preset *m = icc->machine;
	const struct icc_service *s = service(icc, bytes);
	uint64_t ps = s->tni;

	if (first)
		ps = max64(ps, m->command_ns * PS);
	/* The gap begins when the packet would have left the first link. */
	if (gap)
		ps = max64(ps, tofu_preset_ps(bytes + m->overhead +
						      gap * TOFU_LINE,
					      m->link_mbs));
	serve(&e->send_free, start, ps);
	serve(&e->both_free, start, s->both);
	serve(&icc->time->read_free, start, s->host);
	serve(&icc->time->write_free, start, s->header);
}

/* Gap in lines after each packet with data; of a get the target obeys it. */
static unsigned int command_gap(const struct icc_command *c)
{
	return TOFU_GET(c->desc.ctrl, TOFU_TOQ_CMD) == TOFU_CMD_PUT ?
		       TOFU_GET(c->desc.ctrl, TOFU_TOQ_GAP) :
		       0;
}

static void send_command(struct icc *icc, struct icc_engine *e,
			 struct icc_xfer *x, uint64_t start)
{
	const struct icc_command *c = &x->command;
	const uint32_t packets = c->packets;

	icc_command_run(icc, x);
	sent(icc, e, start, icc->out->bytes, !packets,
	     c->packets == packets ? 0 : command_gap(c));
}

static void send_answer(struct icc *icc, struct icc_engine *e, uint64_t start)
{
	struct icc_held *held = e->answers.first;
	struct icc_xfer *x = held->x;
	const bool first = !x->arrival.sent;

	icc_xfer_run(icc, x);
	sent(icc, e, start, icc->out->bytes, first,
	     x->status == TOFU_ST_OK ? held->pkt->gap : 0);
	if (x->stage != ICC_READ)
		icc_time_let_go(icc, pop(&e->answers));
}

/*
 * Send a packet, if one is due, and plan the next. A packet that becomes ready
 * earlier makes a new plan.
 */
void icc_engine_send(struct icc *icc, unsigned int tni)
{
	struct icc_engine *e = &icc->time->engine[tni];
	const uint64_t now = icc_now(icc);
	const struct icc_choice choice = choose(icc, tni, now);
	struct icc_outbox out;
	uint64_t start;

	e->send_at = UINT64_MAX;
	icc->time->starved &= ~(1U << tni);
	if (!choice.x)
		return;
	start = max64(choice.ready * PS, send_free(icc, e));
	if (to_ns(start) > now) {
		icc_engine_kick(icc, tni, to_ns(start));
		return;
	}
	if (!have_credit(e, now)) {
		icc->time->starved |= 1U << tni;
		if (e->returns)
			icc_engine_kick(icc, tni, next_credit(e));
		return;
	}
	e->turn = (uint8_t)((choice.turn + 1) % TURNS);
	/* The server may have been idle; the packet has just become ready. */
	start = max64(start, now ? (now - 1) * PS : 0);
	/* A packet is read and injected at once, so no engine needs its own. */
	icc->out = &out;
	if (choice.turn == ANSWERS)
		send_answer(icc, e, start);
	else
		send_command(icc, e, choice.x, start);
	icc->out = NULL;
	if (more_to_send(icc, tni))
		icc_engine_kick(icc, tni, to_ns(send_free(icc, e)));
}

void icc_engine_answer(struct icc *icc, struct icc_held *held,
		       const struct icc_xfer *x)
{
	const unsigned int tni = held->pkt->dst_tni;

	held->x = malloc(sizeof(*x));
	if (!held->x) {
		icc_drop(icc, held->pkt, "out of memory");
		icc_time_let_go(icc, held);
		return;
	}
	*held->x = *x;
	held->ready = icc_now(icc);
	append(&icc->time->engine[tni].answers, held);
	icc_engine_kick(icc, tni, held->ready);
}

void icc_engine_stop(struct icc *icc, struct icc_cq *cq)
{
	for (uint64_t seq = cq->seq_tail; seq != cq->seq_head; seq++) {
		struct icc_xfer *x = icc_window_at(cq, seq);

		if (seq >= cq->seq_tail && x->stage == ICC_READ)
			icc_command_fail(icc, x, TOFU_ST_PEER);
	}
}

/* ---- Receiving ---- */

uint64_t icc_receive_ns(const struct tofu_preset *m,
			const struct tofu_packet *pkt)
{
	switch (pkt->type) {
	case TOFU_PKT_GET:
		return m->reply_ns;
	case TOFU_PKT_ARMW:
		return m->atomic_ns;
	case TOFU_PKT_SIGNAL:
		return m->gate_ns;
	default:
		return pkt->flags & TOFU_PKT_F_INJECT ? m->inject_ns :
							m->write_ns;
	}
}

static void receive_kick(struct icc *icc, unsigned int tni, uint64_t time)
{
	const struct icc_entry entry = {
		.time = time,
		.due = ICC_DUE_RECEIVE,
		.tni = (uint8_t)tni,
	};

	icc->time->engine[tni].receive_at = time;
	icc_time_plan(icc, entry);
}

/* When the servers that an arrival needs are all free, ps. */
static uint64_t receive_free(const struct icc *icc, const struct icc_engine *e)
{
	return max64(max64(e->receive_free, e->both_free),
		     icc->time->write_free);
}

static void received(struct icc *icc, struct icc_engine *e, uint64_t start,
		     uint32_t bytes)
{
	const struct icc_service *s = service(icc, bytes);

	serve(&e->receive_free, start, s->tni);
	serve(&e->both_free, start, s->both);
	serve(&icc->time->write_free, start, s->host);
	serve(&icc->time->read_free, start, s->header);
}

/*
 * Receive a packet, if its servers are free, and plan the next. A waiting
 * packet occupies no server, so others can use the host interface. Engines that
 * wait for it are served in the order of their plans: none gets two turns while
 * another waits.
 */
void icc_engine_receive(struct icc *icc, const struct icc_entry *entry)
{
	struct icc_engine *e = &icc->time->engine[entry->tni];
	struct icc_held *held = e->arrivals.first;
	const uint64_t start = max64(held->here * PS, receive_free(icc, e));

	if (to_ns(start) > icc_now(icc)) {
		e->receive_at = to_ns(start);
		icc_time_delay(icc, *entry, e->receive_at);
		return;
	}
	e->receive_at = UINT64_MAX;
	received(icc, e, start, held->pkt->payload);
	pop(&e->arrivals);
	icc_time_arrival(icc, held,
			 to_ns(start) +
				 icc_receive_ns(icc->machine, held->pkt));
	if (e->arrivals.first)
		receive_kick(icc, entry->tni,
			     max64(to_ns(receive_free(icc, e)), icc_now(icc)));
}

void icc_engine_arrive(struct icc *icc, struct icc_held *held)
{
	const unsigned int tni = held->pkt->dst_tni % TOFU_TNIS_MAX;
	struct icc_engine *e = &icc->time->engine[tni];

	append(&e->arrivals, held);
	if (e->receive_at == UINT64_MAX)
		receive_kick(icc, tni, icc_now(icc));
}
