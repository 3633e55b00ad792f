// SPDX-License-Identifier: MIT
/*
 * The barrier interface: gates that wait for signals, combine them and signal
 * on, and the channels by which software starts and ends barriers.
 *
 * A gate takes one step at a time, and a set holds the gates that may have a
 * step to take. So there is no recursion, and a program that links its gates in
 * a loop does not block others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "icc/time.h"
#include "icc/reduce.h"

#define PASSES 16 /* steps of each gate in one icc_progress() */

#define BIT(side) (1U << (side))

TOFU_ASSERT(sizeof(((struct icc_signal *)0)->word) == TOFU_SIGNAL_BYTES,
	    "a signal's elements are the payload of its packet");

static void touch(struct icc *icc, const struct icc_gate *gate)
{
	icc->tni[gate->tni].ready |= 1ULL << gate->gate;
}

/* ---- Time ---- */

/* Timed controllers: run the gate in @ns. */
static void plan_at(struct icc *icc, const struct icc_gate *gate, uint64_t time)
{
	const struct icc_entry entry = {
		.time = time,
		.due = ICC_DUE_GATE,
		.tni = gate->tni,
		.cq = gate->gate,
	};

	icc_time_plan(icc, entry);
}

static void plan(struct icc *icc, const struct icc_gate *gate, uint32_t ns)
{
	plan_at(icc, gate, icc_now(icc) + ns);
}

/* Delay the gate's next step, timed, until @time. */
static void defer_to(struct icc *icc, struct icc_gate *gate, uint64_t time)
{
	gate->due = time;
	plan_at(icc, gate, time);
}

/* Delay the gate's next step by @ns, if timed. */
static void defer(struct icc *icc, struct icc_gate *gate, uint32_t ns)
{
	if (icc->time)
		defer_to(icc, gate, icc_now(icc) + ns);
}

static void trace_sent(struct icc *icc, const struct icc_gate *gate,
		       const struct tofu_packet *pkt)
{
	const struct icc_trace trace = {
		.kind = ICC_TRACE_SEND,
		.time = icc_now(icc),
		.end = pkt->time,
		.id = pkt->tid,
		.origin = icc->node,
		.peer = gate->dst[ICC_RMT].node,
		.bytes = pkt->payload,
		.type = pkt->type,
		.tni = gate->tni,
		.cq = gate->gate,
	};

	icc_time_trace(icc, &trace);
}

/* ---- Signals in ---- */

/* Replaces a signal that is invalid or will never come. */
static struct icc_signal failed(bool last)
{
	return (struct icc_signal){ .status = TOFU_BARRIER_OTHER,
				    .last = last };
}

static void put_in(struct icc *icc, struct icc_gate *gate, enum icc_side side,
		   const struct icc_signal *signal)
{
	struct icc_signal *in = &gate->in[side];
	const bool waits = gate->full & BIT(side) && !in->last;

	if (signal->last)
		gate->lost |= BIT(side);
	if (!waits) {
		*in = *signal;
	} else if (!signal->last) {
		*in = failed(false);
		icc->ops->misuse(icc->host, "gate %u of TNI %u: overrun",
				 gate->gate, gate->tni);
	}
	gate->full |= BIT(side);
	touch(icc, gate);
}

/* Empty the slots; a lost source fills its slot at once. */
static void empty(struct icc_gate *gate)
{
	gate->full = gate->lost;
	for (unsigned int side = 0; side < ICC_SIDES; side++) {
		if (gate->lost & BIT(side))
			gate->in[side] = failed(true);
	}
}

/*
 * Accept the signal also if the sender has freed its gate since, or allocated
 * it after this one was enabled.
 */
static bool is_source(const struct icc *icc, struct icc_gate *gate,
		      const struct tofu_packet *pkt)
{
	struct icc_link *src = &gate->src[ICC_RMT];

	if (!gate->enabled || !(gate->sources & BIT(ICC_RMT)) ||
	    src->tni != pkt->src_tni || src->gate != pkt->src_cq ||
	    gate->gpid != pkt->gpid)
		return false;
	if (src->peer != pkt->src && icc_link_owner(icc, src) != pkt->src)
		return false;
	src->peer = pkt->src;
	return true;
}

/* The sender can still write to @payload, so each word is read once. */
static struct icc_signal signal_of(const struct tofu_packet *pkt,
				   const uint64_t *payload)
{
	struct icc_signal signal = {
		.op = pkt->armw_op,
		.count = pkt->armw_size,
		.status = pkt->status,
		.last = pkt->flags & TOFU_PKT_F_LAST,
	};

	if (signal.status != TOFU_BARRIER_OK) {
		if (signal.status > TOFU_BARRIER_OTHER)
			signal.status = TOFU_BARRIER_OTHER;
		return signal;
	}
	/* Relaxed: the transport has ordered the packet's arrival. */
	for (unsigned int i = 0; i < TOFU_REDUCE_WORDS; i++)
		signal.word[i] = __atomic_load_n(&payload[i],
						 __ATOMIC_RELAXED);
	if (signal.last ||
	    !icc_reduce_good(signal.op, signal.count, signal.word))
		return failed(signal.last);
	return signal;
}

/* Timed controllers: run all gates of the TNI until none can continue. */
static void run(struct icc *icc, unsigned int tni);

static bool step(struct icc *icc, struct icc_gate *gate);

/*
 * The gate may have all its signals and only not have taken its step yet. Then
 * another signal from the same source is no overrun: it belongs to the next
 * barrier, which the sender may reach without this gate.
 */
static void make_way(struct icc *icc, struct icc_gate *gate)
{
	while (gate->full & ~gate->lost & BIT(ICC_RMT) && step(icc, gate))
		touch(icc, gate);
}

void icc_gate_signal(struct icc *icc, const struct tofu_packet *pkt,
		     const void *payload)
{
	struct icc_signal signal;
	struct icc_gate *gate;

	if (pkt->dst_tni >= icc->tnis || pkt->dst_cq >= TOFU_GATES ||
	    pkt->payload != TOFU_SIGNAL_BYTES) {
		icc_drop(icc, pkt, "no such gate or size");
		return;
	}
	gate = icc->tni[pkt->dst_tni].gate[pkt->dst_cq];
	if (pkt->flags & TOFU_PKT_F_ASK && !(pkt->flags & TOFU_PKT_F_LAST)) {
		icc_gate_asked(icc, gate, pkt);
		return;
	}
	if (!gate || !is_source(icc, gate, pkt)) {
		icc_drop(icc, pkt, "not a source of that gate");
		return;
	}
	if (pkt->flags & TOFU_PKT_F_ASK) {
		if (pkt->operand == gate->enables)
			icc_gate_lose(icc, gate);
		return;
	}
	signal = signal_of(pkt, payload);
	make_way(icc, gate);
	put_in(icc, gate, ICC_RMT, &signal);
	if (icc->time)
		run(icc, gate->tni);
}

static void put_in_local(struct icc *icc, const struct icc_gate *from,
			 struct icc_gate *gate)
{
	if (!gate || !gate->enabled || !(gate->sources & BIT(ICC_LCL)) ||
	    gate->src[ICC_LCL].gate != from->gate ||
	    gate->gpid != from->gpid) {
		icc->ops->misuse(icc->host,
				 "TNI %u: gate %u is no source of gate %u",
				 from->tni, from->gate,
				 from->dst[ICC_LCL].gate);
		return;
	}
	put_in(icc, gate, ICC_LCL, &from->out);
}

/* ---- A peer that is gone ---- */

void icc_gate_lose(struct icc *icc, struct icc_gate *gate)
{
	const struct icc_signal last = failed(true);

	put_in(icc, gate, ICC_RMT, &last);
	/* Plan it: the node may be inside the controller now. */
	if (icc->time)
		plan(icc, gate, icc->machine->gate_ns);
}

void icc_gates_peer_down(struct icc *icc, uint32_t endpoint)
{
	for (unsigned int t = 0; t < icc->tnis; t++) {
		for (unsigned int g = 0; g < TOFU_GATES; g++) {
			struct icc_gate *gate = icc->tni[t].gate[g];

			if (gate && gate->sources & BIT(ICC_RMT) &&
			    gate->src[ICC_RMT].peer == endpoint)
				icc_gate_lose(icc, gate);
		}
	}
}

/* ---- Signals out ---- */

/*
 * For traces: CQ 15 stands for none, and the number counts the gate's signals.
 */
static uint64_t signal_tid(const struct icc_gate *gate)
{
	return TOFU_SET(ICC_TID_CQ, TOFU_MASK(ICC_TID_CQ_BITS)) |
	       TOFU_SET(ICC_TID_TNI, gate->tni) |
	       TOFU_SET(ICC_TID_GATE, gate->gate) |
	       TOFU_SET(ICC_TID_SEQ, gate->fired);
}

static struct tofu_packet signal_packet(const struct icc_gate *gate)
{
	const struct icc_link *dst = &gate->dst[ICC_RMT];
	const struct icc_signal *out = &gate->out;

	return (struct tofu_packet){
		.flags = out->last ? TOFU_PKT_F_LAST : 0,
		.path = dst->path,
		.src_tni = gate->tni,
		.src_cq = gate->gate,
		.dst_tni = dst->tni,
		.dst_cq = dst->gate,
		.gpid = gate->gpid,
		.status = out->status,
		.armw_op = out->op,
		.armw_size = out->count,
		.tid = signal_tid(gate),
	};
}

int icc_signal_post(struct icc *icc, uint32_t peer, struct tofu_packet *pkt,
		    const uint64_t *word)
{
	struct tofu_packet *to;
	int err = -EHOSTDOWN;

	to = icc->ops->tx_begin(icc->host, peer, TOFU_RESPONSE,
				TOFU_SIGNAL_BYTES, &err);
	if (!to)
		return err;
	pkt->src = icc->node;
	pkt->payload = TOFU_SIGNAL_BYTES;
	pkt->type = TOFU_PKT_SIGNAL;
	pkt->time = icc->time ? icc_now(icc) + tofu_preset_send_ns(icc->machine) : 0;
	*to = *pkt;
	memcpy(to + 1, word, TOFU_SIGNAL_BYTES);
	icc->ops->tx_commit(icc->host);
	if (icc->time)
		icc_engine_committed(icc, pkt->src_tni);
	icc_port_count_sent(icc, peer, pkt->path, TOFU_SIGNAL_BYTES);
	return 0;
}

/* False: there is no room now. */
static bool send_remote(struct icc *icc, struct icc_gate *gate)
{
	const int64_t peer = icc_link_owner(icc, &gate->dst[ICC_RMT]);
	struct tofu_packet pkt = signal_packet(gate);
	int err = -EHOSTDOWN;

	if (peer >= 0)
		err = icc_signal_post(icc, (uint32_t)peer, &pkt,
				      gate->out.word);
	if (err == -EAGAIN)
		return false;
	gate->pending &= ~BIT(ICC_RMT);
	/* No signal comes from a peer that is gone either. */
	if (err && peer >= 0)
		icc_gates_peer_down(icc, (uint32_t)peer);
	if (!err && icc_traced(icc))
		trace_sent(icc, gate, &pkt);
	return true;
}

/* Whether the gate has all its signals and may fire. */
static bool fires(const struct icc_gate *gate)
{
	if (gate->full != gate->sources)
		return false;
	if (gate->channel)
		return gate->phase == ICC_GATE_BEGUN;
	return gate->sources && !gate->closed;
}

/* As in make_way(): the gate only has not handled its signal yet. */
static bool fires_first(const struct icc *icc, const struct icc_gate *gate)
{
	return gate->full & ~gate->lost & BIT(ICC_LCL) && !gate->pending &&
	       icc_now(icc) >= gate->due && fires(gate);
}

static void deliver_local(struct icc *icc, struct icc_gate *gate)
{
	struct icc_gate *to =
		icc->tni[gate->tni].gate[gate->dst[ICC_LCL].gate];

	if (to && fires_first(icc, to)) {
		touch(icc, to);
		touch(icc, gate);
		return;
	}
	gate->pending &= ~BIT(ICC_LCL);
	put_in_local(icc, gate, to);
}

/* Send to pending destinations; true when one of them could be served. */
static bool deliver(struct icc *icc, struct icc_gate *gate)
{
	const uint8_t before = gate->pending;

	if (gate->pending & BIT(ICC_LCL) && icc_now(icc) >= gate->due)
		deliver_local(icc, gate);
	if (gate->pending & BIT(ICC_RMT))
		send_remote(icc, gate);
	return gate->pending != before;
}

static void send_out(struct icc *icc, struct icc_gate *gate)
{
	gate->pending = gate->destinations;
	if (gate->pending & BIT(ICC_LCL))
		defer(icc, gate, icc->machine ? icc->machine->gate_ns : 0);
	deliver(icc, gate);
}

/* ---- Combining ---- */

/* Raise the status to @status; data survive only while it is OK. */
static void spoil(struct icc_signal *signal, unsigned int status)
{
	if (status > signal->status)
		signal->status = (uint8_t)status;
	if (signal->status != TOFU_BARRIER_OK)
		memset(signal->word, 0, sizeof(signal->word));
}

static bool alike(const struct icc_signal *a, const struct icc_signal *b)
{
	return a->op == b->op && a->count == b->count;
}

static void check(struct icc_signal *signal, const struct icc_signal *other)
{
	spoil(signal, other->status);
	if (signal->status == TOFU_BARRIER_OK && !alike(signal, other))
		spoil(signal, TOFU_BARRIER_MISMATCH);
}

static void merge(struct icc_signal *signal, const struct icc_signal *from)
{
	check(signal, from);
	if (signal->status == TOFU_BARRIER_OK &&
	    !icc_reduce_merge(signal->op, signal->count, signal->word,
			      from->word))
		spoil(signal, TOFU_BARRIER_OTHER);
}

/* Combine all sources; without any the result is the gate's own signal. */
static struct icc_signal combine(const struct icc_gate *gate)
{
	struct icc_signal signal = gate->out;

	if (gate->sources & BIT(ICC_LCL))
		signal = gate->in[ICC_LCL];
	if (gate->sources & BIT(ICC_RMT)) {
		if (gate->sources & BIT(ICC_LCL))
			merge(&signal, &gate->in[ICC_RMT]);
		else
			signal = gate->in[ICC_RMT];
	}
	signal.last = false;
	return signal;
}

/* ---- Relays ---- */

/* Whether no source will signal again. */
static bool cut_off(const struct icc_gate *gate)
{
	for (unsigned int side = 0; side < ICC_SIDES; side++) {
		if (gate->sources & BIT(side) && !gate->in[side].last)
			return false;
	}
	return true;
}

static void relay(struct icc *icc, struct icc_gate *gate)
{
	gate->closed = cut_off(gate);
	gate->out = combine(gate);
	gate->out.last = gate->closed;
	gate->fired++;
	empty(gate);
	send_out(icc, gate);
}

/* ---- Channels ---- */

static void channel_misuse(struct icc *icc, const struct icc_gate *gate,
			   const char *what)
{
	icc->ops->misuse(icc->host, "channel %u of TNI %u: %s", gate->gate,
			 gate->tni, what);
}

static void trace_started(struct icc *icc, const struct icc_gate *gate)
{
	const struct icc_trace trace = {
		.kind = ICC_TRACE_CHANNEL,
		.time = icc_now(icc),
		.end = icc_now(icc),
		.origin = icc->node,
		.peer = icc->node,
		.tni = gate->tni,
		.cq = gate->gate,
	};

	icc_time_trace(icc, &trace);
}

void icc_channel_start(struct icc *icc, unsigned int tni, unsigned int channel)
{
	struct icc_gate *gate;

	if (tni >= icc->tnis || channel >= TOFU_CHANNELS)
		return;
	gate = icc->tni[tni].gate[channel];
	if (!gate || !gate->channel || gate->phase != ICC_GATE_IDLE) {
		icc->ops->misuse(icc->host,
				 "channel %u of TNI %u: started while it cannot be",
				 channel, tni);
		return;
	}
	if (icc_traced(icc))
		trace_started(icc, gate);
	gate->phase = ICC_GATE_STARTED;
	touch(icc, gate);
	if (icc->time)
		defer_to(icc, gate,
			 icc_time_store(icc) + icc->machine->fetch_ns);
}

/* Without virtual time the first poll starts the clock. */
void icc_channel_poll(struct icc *icc, unsigned int tni, unsigned int channel,
		      uint64_t now)
{
	struct icc_gate *gate;

	if (tni >= icc->tnis || channel >= TOFU_CHANNELS)
		return;
	gate = icc->tni[tni].gate[channel];
	if (!gate || gate->phase != ICC_GATE_BEGUN)
		return;
	if (icc->time)
		now = icc_now(icc);
	if (!gate->ask_at) {
		gate->ask_at = now + TOFU_ASK_NS;
		return;
	}
	if (now < gate->ask_at)
		return;
	gate->ask_at = now + TOFU_ASK_NS;
	gate->ask = true;
	if (icc->time)
		plan_at(icc, gate, icc_time_store(icc));
	else
		touch(icc, gate);
}

/* The signal of a channel's block, copied once; OTHER where it is invalid. */
static struct icc_signal command(struct icc *icc, const struct icc_gate *gate)
{
	struct icc_signal signal = { .status = TOFU_BARRIER_OK };
	uint64_t element[TOFU_REDUCE_WORDS];
	struct tofu_channel block;

	if (icc->ops->read(icc->host, gate->channel, &block,
			   offsetof(struct tofu_channel, reserved0))) {
		channel_misuse(icc, gate, "its block is not in memory");
		return failed(false);
	}
	memcpy(element, block.operand, sizeof(element));
	signal.op = (uint8_t)TOFU_GET(block.command, TOFU_CHANNEL_OP);
	signal.count = (uint8_t)TOFU_GET(block.command, TOFU_CHANNEL_COUNT);
	if (block.command & ~(TOFU_FIELD(TOFU_CHANNEL_OP) |
			      TOFU_FIELD(TOFU_CHANNEL_COUNT)) ||
	    !icc_reduce_known(signal.op, signal.count) ||
	    !icc_reduce_load(signal.op, signal.count, element,
			     signal.word)) {
		channel_misuse(icc, gate, "no such operation or element");
		return failed(false);
	}
	return signal;
}

static void channel_begin(struct icc *icc, struct icc_gate *gate)
{
	gate->phase = ICC_GATE_BEGUN;
	gate->ask = false;
	gate->ask_at = icc->time ? icc_now(icc) + TOFU_ASK_NS : 0;
	gate->out = command(icc, gate);
	send_out(icc, gate);
	icc_gates_watch(icc, gate);
}

static void channel_end(struct icc *icc, struct icc_gate *gate)
{
	const struct icc_signal own = gate->out;

	gate->out = combine(gate);
	check(&gate->out, &own);
	gate->fired++;
	gate->phase = ICC_GATE_ENDING;
	empty(gate);
	defer(icc, gate, icc->machine ? icc->machine->write_ns : 0);
}

static void channel_write(struct icc *icc, struct icc_gate *gate)
{
	const struct icc_signal *out = &gate->out;
	uint64_t result[TOFU_REDUCE_WORDS] = { 0 };
	unsigned int status = out->status;

	if (status == TOFU_BARRIER_OK)
		icc_reduce_store(out->op, out->count, out->word, result);
	if (icc->ops->write(icc->host,
			    gate->channel +
				    offsetof(struct tofu_channel, result),
			    result, sizeof(result)))
		status = TOFU_BARRIER_OTHER;
	gate->ended++;
	gate->phase = ICC_GATE_IDLE;
	if (icc->ops->store64(icc->host,
			      gate->channel +
				      offsetof(struct tofu_channel, done),
			      TOFU_SET(TOFU_CHANNEL_ENDED, gate->ended) |
				      TOFU_SET(TOFU_CHANNEL_STATUS, status)))
		channel_misuse(icc, gate, "its block is not in memory");
}

/* ---- Steps ---- */

static bool asks(struct icc *icc, struct icc_gate *gate)
{
	if (!gate->ask)
		return false;
	gate->ask = false;
	icc_gates_ask(icc, gate);
	return true;
}

/* Take a gate's next step; true when there was one. */
static bool step(struct icc *icc, struct icc_gate *gate)
{
	if (!gate->enabled)
		return false;
	if (gate->pending)
		return deliver(icc, gate);
	if (icc_now(icc) < gate->due)
		return false;
	if (gate->phase == ICC_GATE_STARTED)
		channel_begin(icc, gate);
	else if (gate->phase == ICC_GATE_ENDING)
		channel_write(icc, gate);
	else if (!fires(gate))
		return asks(icc, gate);
	else if (gate->channel)
		channel_end(icc, gate);
	else
		relay(icc, gate);
	return true;
}

/* One step of each gate that may have one. */
static bool pass(struct icc *icc, struct icc_tni *tni)
{
	uint64_t left = tni->ready;
	bool done = false;

	tni->ready = 0;
	for (; left; left &= left - 1) {
		struct icc_gate *gate = tni->gate[__builtin_ctzll(left)];

		if (step(icc, gate)) {
			done = true;
			touch(icc, gate);
		} else if (gate->pending) {
			tni->blocked |= 1ULL << gate->gate;
		}
	}
	return done;
}

static bool tni_progress(struct icc *icc, struct icc_tni *tni)
{
	bool done = false;

	tni->ready |= tni->blocked;
	tni->blocked = 0;
	for (unsigned int i = 0; i < PASSES && tni->ready; i++)
		done |= pass(icc, tni);
	return done;
}

bool icc_gates_progress(struct icc *icc)
{
	bool done = false;

	for (unsigned int t = 0; t < icc->tnis; t++)
		done |= tni_progress(icc, &icc->tni[t]);
	return done;
}

/* ---- Timed controllers ---- */

/* This loop ends, since a local signal takes time. */
static void run(struct icc *icc, unsigned int tni)
{
	while (icc->tni[tni].ready)
		pass(icc, &icc->tni[tni]);
}

void icc_gate_due(struct icc *icc, const struct icc_entry *entry)
{
	touch(icc, icc->tni[entry->tni].gate[entry->cq]);
	run(icc, entry->tni);
}
