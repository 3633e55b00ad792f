/* SPDX-License-Identifier: MIT */
/*
 * A sender from the inside: sender.c has records and memory, flow.c the steps
 * of a record.
 *
 * Records to one ring are a flow: a queue in the order of the sends. Each
 * record goes through its stages by commands of its own, and each command has
 * one notice, which names the record's slot in its edata. A slot is reused when
 * all its notices have come.
 */
#ifndef SRB_SENDER_H
#define SRB_SENDER_H

#include "srb/pool.h"
#include "srb/srb.h"

/* Flags of a record's commands, and of those that come in order */
#define SRB_NOTICE UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE
#define SRB_ORDERED (SRB_NOTICE | UTOFU_ONESIDED_FLAG_STRONG_ORDER)

/* Most notices that a poll takes */
#define SRB_NOTICES_MAX 64

/**
 * enum srb_stage - the progress of a record
 * @SRB_FREE:   the slot is free
 * @SRB_NEW:    has not asked for a place
 * @SRB_ASKED:  has asked for a place
 * @SRB_PLACED: waits for its turn, and for room
 * @SRB_PUTTING: some of its puts are posted
 * @SRB_PUT:    all of its puts are posted
 * @SRB_LATE:   found the ring gone
 * @SRB_VOID:   its place is of an epoch that has ended
 * @SRB_PAD:    needs padding in its place, before it gets another one
 * @SRB_ENDED:  see @result
 */
enum srb_stage {
	SRB_FREE,
	SRB_NEW,
	SRB_ASKED,
	SRB_PLACED,
	SRB_PUTTING,
	SRB_PUT,
	SRB_LATE,
	SRB_VOID,
	SRB_PAD,
	SRB_ENDED,
};

struct tofu_srb_flow;

/**
 * struct srb_send - a record under way
 * @next:    in its flow, or among free or ended records
 * @block:   block of the pool: the record as it will lie in the ring; without
 *           bytes where it was in its command
 * @known:   known consumer index when the place was requested
 * @posted:  bytes for which puts are posted
 * @pending: commands without a notice so far
 * @puts:    puts among @pending
 * @reading: a read of the consumer is among @pending
 * @read:    the consumer was read for this record after it got its place
 * @error:   error of a put
 */
struct srb_send {
	struct srb_send *next;
	struct tofu_srb_flow *flow;
	struct srb_block block;
	void *cbdata;
	enum srb_stage stage;
	uint64_t place;
	uint64_t known;
	uint64_t posted;
	unsigned int pending;
	unsigned int puts;
	bool reading;
	bool read;
	int error;
	int result;
};

/**
 * struct tofu_srb_flow - records to one ring
 * @next:    among free flows, or flows to be tried again
 * @peer:    receiver of the flow; @single: the same if its ring has one sender,
 *           or NULL
 * @first, @last: records, in order
 * @ask, @put: the first records without a request for a place, and not put
 *             completely
 * @pending: commands of all records without a notice
 * @again:   a command found no room in the queue
 * @restart: the first record's place is void: all records start over
 * @padding: during a restart: the places to be padded are known
 */
struct tofu_srb_flow {
	struct tofu_srb_flow *next;
	struct tofu_srb_sender *sender;
	struct tofu_srb_peer *peer;
	struct tofu_srb_single *single;
	utofu_stadd_t producer;
	utofu_stadd_t consumer;
	struct srb_where where;
	struct srb_send *first;
	struct srb_send *last;
	struct srb_send *ask;
	struct srb_send *put;
	unsigned int pending;
	bool again;
	bool restart;
	bool padding;
};

/**
 * struct tofu_srb_sender
 * @memory, @stadd: the pool
 * @put_max: most bytes of a put
 * @piggyback_max: most bytes that a put has in its command
 * @words, @words_stadd: on a machine without remote atomics, a word for each
 *           slot, to which consumers are read; else NULL
 * @send:    all slots
 * @free, @free_flow: unused slots and flows
 * @ended, @ended_last: records for tofu_srb_poll() to return
 * @again:   flows that a poll continues
 */
struct tofu_srb_sender {
	utofu_vcq_hdl_t vcq;
	unsigned int flags;
	unsigned int records;
	struct srb_pool pool;
	char *memory;
	utofu_stadd_t stadd;
	size_t put_max;
	size_t piggyback_max;
	uint64_t *words;
	utofu_stadd_t words_stadd;
	struct srb_send *send;
	struct tofu_srb_flow *flow;
	struct srb_send *free;
	struct tofu_srb_flow *free_flow;
	struct srb_send *ended;
	struct srb_send *ended_last;
	struct tofu_srb_flow *again;
	int error;
};

/* srb_send_reset - nothing of a record has been put */
static inline void srb_send_reset(struct srb_send *send)
{
	send->posted = 0;
	send->read = false;
	send->error = 0;
}

/* srb_flow_add - append a complete record to a flow */
void srb_flow_add(struct tofu_srb_flow *flow, struct srb_send *send);

/*
 * srb_flow_put - append a record and put it, where nothing but its put is to be
 * done; else nothing happens. Return: whether it is put.
 */
bool srb_flow_put(struct tofu_srb_flow *flow, struct srb_send *send);

/*
 * srb_flow_note - append a record that has been put, @bytes in one piece at the
 * ring's next place
 */
void srb_flow_note(struct tofu_srb_flow *flow, struct srb_send *send,
		   uint64_t bytes);

/* srb_flow_notice - handle the end of a record's command */
void srb_flow_notice(struct tofu_srb_flow *flow, struct srb_send *send,
		     const struct utofu_mrq_notice *notice, int code);

/*
 * srb_flow_advance - do what can be done now; a flow without records is given
 * back, and its peer forgets it
 */
void srb_flow_advance(struct tofu_srb_flow *flow);

/* srb_port_ended, srb_port_flow_free - return a record or flow to the sender */
void srb_port_ended(struct tofu_srb_sender *sender, struct srb_send *send);
void srb_port_flow_free(struct tofu_srb_sender *sender, struct tofu_srb_flow *flow);

/* srb_sender_words_bytes - compute the memory of struct tofu_srb_sender.words */
static inline size_t srb_sender_words_bytes(unsigned int records)
{
	return records * sizeof(uint64_t);
}

static inline uint64_t *srb_send_word(const struct tofu_srb_sender *sender,
				      const struct srb_send *send, uint64_t at)
{
	return (uint64_t *)(void *)(sender->memory + send->block.at + at);
}

#endif /* SRB_SENDER_H */
