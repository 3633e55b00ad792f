/* SPDX-License-Identifier: MIT */
/*
 * A sender from the inside: records and memory in sender.c, what is done for a
 * record and when in flow.c.
 *
 * Records to one ring are a flow: a queue in the order of the sends. Each
 * record goes through its stages by commands of its own, and each command has
 * one notice, which names the record's slot in its edata. A slot is used again
 * when all of them have come.
 */
#ifndef SRB_SENDER_H
#define SRB_SENDER_H

#include "srb/pool.h"
#include "srb/srb.h"

/* Notices that a poll takes at most */
#define SRB_NOTICES_MAX 64

/**
 * enum srb_stage - how far a record has come
 * @SRB_FREE:   the slot is
 * @SRB_NEW:    it has no place
 * @SRB_ASKED:  for a place
 * @SRB_PLACED: waits for its turn, and for room
 * @SRB_PUTTING: some puts are posted
 * @SRB_PUT:    all are
 * @SRB_LATE:   the ring was not there any more
 * @SRB_VOID:   its place is of an epoch that has ended
 * @SRB_PAD:    its place has to be filled with padding, before it gets another
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
 * struct srb_send - a record that is under way
 * @next:    in its flow, or among those that are free or have ended
 * @block:   of the pool: the record as it will lie in the ring
 * @known:   of the consumer, when the place was asked for
 * @posted:  bytes of it for which puts are posted
 * @pending: commands whose notice has not come
 * @puts:    those of them that are puts
 * @reading: one of them reads the consumer
 * @read:    the consumer was read for this record, and since it has this place
 * @error:   of a put
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
 * @next:    among those that are free or have to be tried again
 * @peer:    whose flow it is; @single the same where it is one, or NULL
 * @first, @last: records, in order
 * @ask, @put: the first that have not asked for a place, or not been put all
 * @pending: of all records
 * @again:   a command found no room in the queue
 * @restart: the first record's place is void: all start over
 * @padding: in that: it is known which places have to be filled
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
 * @memory, @stadd: of the pool
 * @put_max: bytes of a put
 * @send:    all slots
 * @free, @free_flow: those that are not used
 * @ended, @ended_last: records that tofu_srb_poll() has to tell of
 * @again:   flows that a poll goes on with
 */
struct tofu_srb_sender {
	utofu_vcq_hdl_t vcq;
	unsigned int flags;
	unsigned int records;
	struct srb_pool pool;
	char *memory;
	utofu_stadd_t stadd;
	size_t put_max;
	struct srb_send *send;
	struct tofu_srb_flow *flow;
	struct srb_send *free;
	struct tofu_srb_flow *free_flow;
	struct srb_send *ended;
	struct srb_send *ended_last;
	struct tofu_srb_flow *again;
	int error;
};

/* srb_flow_add - a record, with all that it has, comes last */
void srb_flow_add(struct tofu_srb_flow *flow, struct srb_send *send);

/* srb_flow_notice - a command of one of its records has ended */
void srb_flow_notice(struct tofu_srb_flow *flow, struct srb_send *send,
		     const struct utofu_mrq_notice *notice, int code);

/*
 * srb_flow_advance - do what can be done now. A flow without records is given
 * back and its peer forgets it.
 */
void srb_flow_advance(struct tofu_srb_flow *flow);

/* srb_port_ended, srb_port_flow_free - what a flow gives back to its sender */
void srb_port_ended(struct tofu_srb_sender *sender, struct srb_send *send);
void srb_port_flow_free(struct tofu_srb_sender *sender, struct tofu_srb_flow *flow);

static inline uint64_t *srb_send_word(const struct tofu_srb_sender *sender,
				      const struct srb_send *send, uint64_t at)
{
	return (uint64_t *)(void *)(sender->memory + send->block.at + at);
}

#endif /* SRB_SENDER_H */
