/* SPDX-License-Identifier: MIT */
/*
 * Virtual time inside the model: the calendar, its entries, and the state of
 * the engines. For timed controllers only.
 */
#ifndef ICC_TIME_H
#define ICC_TIME_H

#include "icc/internal.h"
#include "net/heap.h"

/* ---- time.c ---- */

enum icc_due {
	ICC_DUE_FETCH,
	ICC_DUE_ROOM,
	ICC_DUE_STEP,
	ICC_DUE_SEND,
	ICC_DUE_RECEIVE,
	ICC_DUE_ARRIVAL,
	ICC_DUE_GATE,
};

/**
 * struct icc_entry - an entry of the calendar
 * @time:  when it is due, ns
 * @order: among entries of one time the lowest comes first
 * @due:   enum icc_due; ROOM repeats a FETCH that found the window full, or no
 *         step
 * @tni:   engine
 * @cq:    of FETCH, ROOM and STEP; of GATE: the gate
 * @life:  of FETCH, ROOM and STEP: life of the CQ
 * @tail:  of FETCH: slots that have been written; of STEP: steps
 * @since: of FETCH: when the doorbell rang; of others: when it was found
 * @held:  of ARRIVAL
 * @next:  in the list of unused entries
 */
struct icc_entry {
	uint64_t time;
	uint64_t order;
	uint8_t due;
	uint8_t tni;
	uint8_t cq;
	uint32_t life;
	uint64_t since;
	union {
		uint64_t tail;
		struct icc_held *held;
		struct icc_entry *next;
	};
};

/**
 * struct icc_held - an arrived packet that waits
 * @next:    in a list
 * @pkt:     the home's packet, or the copy in @copy; the payload follows it
 * @arrived: when its engine had taken its last byte from the network
 * @here:    when the engine could have taken it
 * @ready:   of a GET that is being answered: when the answer may be sent
 * @x:       of such a GET: its leg
 * @copy:    where the home wants its packet back at once
 */
struct icc_held {
	struct icc_held *next;
	const struct tofu_packet *pkt;
	uint64_t arrived;
	union {
		uint64_t here;
		uint64_t ready;
	};
	struct icc_xfer *x;
	struct tofu_packet copy[];
};

struct icc_held_list {
	struct icc_held *first;
	struct icc_held **end;
};

/**
 * struct icc_engine - timing state of a TNI
 * @send_free, @receive_free: when the direction can take the next packet, ps
 * @both_free: when the part that both directions share can, ps
 * @send_at, @receive_at: when the engine next looks for a packet to send or to
 *            receive, ns; UINT64_MAX: not planned
 * @arrivals: packets that it has not taken yet
 * @turn:     the CQ that is first; TOFU_CQS_PER_TNI: the answers
 * @answers:  GETs that are being answered
 * @credits:  packets that may still be sent; negative where answers without
 *            data, which do not wait for a credit, took more
 * @returning: times at which credits return
 * @returns, @room: count and capacity of @returning
 *
 * What sending needs is one cache line, and what only receiving needs the next.
 */
struct icc_engine {
	_Alignas(ICC_LINE) uint64_t send_free;
	uint64_t both_free;
	uint64_t send_at;
	uint64_t *returning;
	struct icc_held_list answers;
	int32_t credits;
	uint32_t returns;
	uint32_t room;
	uint8_t turn;
	uint64_t receive_free;
	uint64_t receive_at;
	struct icc_held_list arrivals;
};
TOFU_ASSERT_OFFSET(struct icc_engine, receive_free, ICC_LINE);

/**
 * struct icc_service - how long servers take for a number of bytes, ps
 * @tni, @both: an engine: one direction, and the part that both share
 * @host: the host interface, and @header: its other way
 */
struct icc_service {
	uint64_t bytes;
	uint64_t tni;
	uint64_t both;
	uint64_t host;
	uint64_t header;
};

/**
 * struct icc_time - timing state of a controller
 * @calendar:  of struct icc_entry
 * @order:     of the next entry
 * @open_at:   when stores begin to take effect, since a CQ or gate was enabled
 *             when none was
 * @unused_entry: free list
 * @read_free, @write_free: when the host interface is free again, each way; ps
 * @starved:   engines that wait for a credit, a bit each
 * @service:   of the last packet, since the next one often has the same size
 * @engine:    by TNI
 */
struct icc_time {
	struct tofu_heap calendar;
	uint64_t order;
	uint64_t open_at;
	struct icc_entry *unused_entry;
	uint64_t read_free;
	uint64_t write_free;
	uint32_t starved;
	struct icc_service service;
	struct icc_engine engine[TOFU_TNIS_MAX];
};

int icc_time_create(struct icc *icc);
void icc_time_destroy(struct icc *icc);

static inline uint64_t icc_now(const struct icc *icc)
{
	return icc->time ? icc->ops->now(icc->host) : 0;
}

/* icc_traced - whether records are wanted: else none need be made */
static inline bool icc_traced(const struct icc *icc)
{
	return icc->time && icc->ops->trace;
}

/* icc_time_opened, icc_time_closed - a CQ or gate is enabled, or no longer */
void icc_time_opened(struct icc *icc);
void icc_time_closed(struct icc *icc);

/* icc_time_store - when a store of now reaches the engine */
uint64_t icc_time_store(const struct icc *icc);

/* icc_time_plan - add an entry, complete but for @order, to the calendar */
void icc_time_plan(struct icc *icc, struct icc_entry entry);

/* icc_time_delay - put a due entry back, before all that were planned later */
void icc_time_delay(struct icc *icc, struct icc_entry entry, uint64_t time);

/* icc_time_run - handle the entries that are due; true when there was any */
bool icc_time_run(struct icc *icc);

/* icc_time_hold - keep a packet until its time; as icc_receive() returns */
int icc_time_hold(struct icc *icc, const struct tofu_packet *pkt,
		  const void *payload);

/* icc_time_let_go - the packet has had its effect, or will have none */
void icc_time_let_go(struct icc *icc, struct icc_held *held);

/* icc_time_trace - pass a record to the host, which keeps a trace */
void icc_time_trace(struct icc *icc, const struct icc_trace *trace);

/*
 * icc_time_arrival - plan the effect of a packet that the engine has taken:
 * at @time, but not before that of earlier packets from the same CQ
 */
void icc_time_arrival(struct icc *icc, struct icc_held *held, uint64_t time);

/* ---- engine.c ---- */

void icc_engine_init(struct icc *icc);

/* icc_engine_doorbell - plan the arrival of a doorbell of @cq at the engine */
void icc_engine_doorbell(struct icc *icc, const struct icc_cq *cq);

/* icc_engine_fetch - a doorbell has reached the engine */
void icc_engine_fetch(struct icc *icc, const struct icc_entry *entry);

/* icc_engine_room - plan the fetch of another command, if there is one */
void icc_engine_room(struct icc *icc, struct icc_cq *cq);

/* icc_engine_add_steps - @steps have arrived for a session */
void icc_engine_add_steps(struct icc *icc, struct icc_cq *cq,
			  unsigned int steps);

/* icc_engine_send - send the next packet, if there is one and it may go */
void icc_engine_send(struct icc *icc, unsigned int tni);

/* icc_engine_committed - a packet of @tni has been put into the network */
void icc_engine_committed(struct icc *icc, unsigned int tni);

/* icc_engine_kick - make the engine look for a packet to send at @time, ns */
void icc_engine_kick(struct icc *icc, unsigned int tni, uint64_t time);

/* icc_engine_answer - queue a GET for its answer, with its leg */
void icc_engine_answer(struct icc *icc, struct icc_held *held,
		       const struct icc_xfer *x);

/* icc_engine_arrive - queue a packet for the engine to receive */
void icc_engine_arrive(struct icc *icc, struct icc_held *held);

/* icc_engine_receive - receive the next packet, if the engine is free */
void icc_engine_receive(struct icc *icc, const struct icc_entry *entry);

/* icc_receive_ns - from taking a packet until it has its effect */
uint64_t icc_receive_ns(const struct tofu_preset *m,
			const struct tofu_packet *pkt);

/* icc_engine_stop - begin no further command of the CQ */
void icc_engine_stop(struct icc *icc, struct icc_cq *cq);

/* ---- xfer.c, serve.c ---- */

/* icc_command_wire_ns - from sending a command's packet until the first link */
uint64_t icc_command_wire_ns(const struct icc *icc,
			     const struct icc_command *c);

/* icc_answer_wire_ns - the same, at least, of an answer to a GET */
uint64_t icc_answer_wire_ns(const struct icc *icc);

#endif /* ICC_TIME_H */
