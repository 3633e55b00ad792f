/* SPDX-License-Identifier: MIT */
/*
 * An exchange from the inside: made in make.c, connected in connect.c, run in
 * run.c.
 *
 * Each engine has a VCQ of its own, so that nobody else's commands stand
 * between the parts and no handler but ours takes its notices. What it
 * puts is known when the exchange is made; what the commands look like when
 * all cards are there. There are two copies of the commands, for the two
 * receive buffers at the other end.
 *
 * A part ends in one notice at its target. The notice names the set of receive
 * buffers and the step, and is counted: the exchange has ended when all have
 * come, whoever sent them. Who did is noted, and looked at by probe.c alone.
 */
#ifndef EXCHANGE_CORE_H
#define EXCHANGE_CORE_H

#include "exchange/exchange.h"

#define EXCHANGE_SETS 2

/* Commands with one report: so many can be queued while there are others. */
#define EXCHANGE_GROUP_MAX 64

/* edata of a put: which set, and which step. */
#define EXCHANGE_EDATA(set, step) ((uint64_t)(set) << 7 | (step))
#define EXCHANGE_EDATA_SET(edata) ((unsigned int)((edata) >> 7 & 1))
#define EXCHANGE_EDATA_STEP(edata) ((unsigned int)((edata)&0x3f))

/* edata of a probe, which no part has */
#define EXCHANGE_EDATA_PROBE 0x40

_Static_assert(TOFU_EXCHANGE_STEPS_MAX <= EXCHANGE_EDATA_PROBE,
	       "steps and probes are told apart");

/* Words of a card */
enum exchange_card_word {
	CARD_IS,
	CARD_PLAN,
	CARD_MESSAGE, /* index, and that of its opposite */
	CARD_RECV, /* bytes */
	CARD_SEND, /* bytes */
	CARD_ENGINE, /* three words of each */
};

#define CARD_ENGINE_WORDS 3

/**
 * struct tofu_exchange_put - a command
 * @message: index
 * @step:    0 unless stepwise
 * @told:    last of its part: with a notice at the target
 * @report:  last of its group: with a report here
 * @offset:  in the message
 * @bytes:   no more than a put can have
 */
struct tofu_exchange_put {
	unsigned int message;
	unsigned int step;
	bool told;
	bool report;
	size_t offset;
	size_t bytes;
};

/**
 * struct tofu_exchange_group - commands of one step that are posted together
 * @begin: first byte of the prepared commands
 * @bytes: of them
 */
struct tofu_exchange_group {
	unsigned int step;
	size_t begin;
	size_t bytes;
};

/* Where a message's buffers are for the VCQ of an engine. */
struct tofu_exchange_place {
	utofu_stadd_t send;
	utofu_stadd_t recv[EXCHANGE_SETS];
};

/**
 * struct tofu_exchange_engine
 * @put, @puts: its commands, in order
 * @group, @groups: the same in groups
 * @command: the same prepared, for each set
 * @place:   of each message
 * @posted, @reported: groups of the exchange that is under way
 * @parts:   that the plan has of each message
 * @due:     parts that come by this engine in an exchange
 * @heard:   VCQs that they have come from, for each set: @due of them
 * @heards:  how many have come so far
 */
struct tofu_exchange_engine {
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	struct tofu_exchange_put *put;
	size_t puts;
	struct tofu_exchange_group *group;
	size_t groups;
	char *command[EXCHANGE_SETS];
	struct tofu_exchange_place place[TOFU_EXCHANGE_MESSAGES_MAX];
	size_t posted;
	size_t reported;
	uint32_t parts[TOFU_EXCHANGE_MESSAGES_MAX];
	uint32_t due;
	utofu_vcq_id_t *heard[EXCHANGE_SETS];
	uint32_t heards[EXCHANGE_SETS];
};

/**
 * enum tofu_exchange_phase - how far an exchange has come
 * @EXCHANGE_IDLE:  none is under way
 * @EXCHANGE_MEET:  in the barrier before
 * @EXCHANGE_STEPS: puts
 * @EXCHANGE_LEAVE: the barrier after has to be begun
 * @EXCHANGE_PART:  in the barrier after
 */
enum tofu_exchange_phase {
	EXCHANGE_IDLE,
	EXCHANGE_MEET,
	EXCHANGE_STEPS,
	EXCHANGE_LEAVE,
	EXCHANGE_PART,
};

/**
 * struct tofu_exchange
 * @nowhere: stands for buffers without bytes. It is first, where a region can
 *           begin, so that nothing else is registered with it.
 * @plan_id: the same where plans are
 * @steps:   at least 1
 * @connected, @missing: messages that are, and how many are not
 * @card:    of the neighbours
 * @expected: parts that come in each step
 * @arrived: parts that have come, of each set
 * @phase:   of the exchange that is under way
 * @set:     that it receives into; without one, that the next will
 * @step:    that it is in
 * @tests:   without success since it began or since the last probes
 * @probe:   a command for each message, each with as much room, and its size
 * @probed:  message whose neighbour was asked last
 * @probing: it has not answered
 * @probe_error: what it has answered, to be judged
 * @probe_next: message that comes then, or too many: none
 * @last:    buffers of the last one that ended, or NULL's number: EXCHANGE_SETS
 * @error:   what has gone wrong
 */
struct tofu_exchange {
	uint64_t nowhere;
	struct tofu_message message[TOFU_EXCHANGE_MESSAGES_MAX];
	unsigned int messages;
	struct tofu_exchange_engine engine[TOFU_EXCHANGE_ENGINES_MAX];
	unsigned int engines;
	utofu_vbg_id_t barrier;
	int note;
	uint64_t plan_id;
	unsigned int steps;
	bool connected[TOFU_EXCHANGE_MESSAGES_MAX];
	unsigned int missing;
	struct tofu_exchange_card card[TOFU_EXCHANGE_MESSAGES_MAX];
	uint32_t expected[TOFU_EXCHANGE_STEPS_MAX];
	uint32_t arrived[EXCHANGE_SETS][TOFU_EXCHANGE_STEPS_MAX];
	enum tofu_exchange_phase phase;
	unsigned int set;
	unsigned int step;
	unsigned int tests;
	char *probe;
	size_t probe_room;
	size_t probe_bytes;
	unsigned int probed;
	bool probing;
	int probe_error;
	unsigned int probe_next;
	unsigned int last;
	int error;
};

/*
 * Where bytes go one way only, the other way has puts without any: a process
 * must hear of each neighbour in each exchange before it overwrites, in the next
 * but one, what that neighbour has received.
 */
static inline bool tofu_message_exists(const struct tofu_message *message)
{
	return message->send_bytes || message->recv_bytes;
}

/* exchange_peer - the neighbour's VCQ on an engine */
static inline utofu_vcq_id_t exchange_peer(const struct tofu_exchange *exchange,
					   unsigned int message,
					   unsigned int engine)
{
	return exchange->card[message]
		.word[CARD_ENGINE + CARD_ENGINE_WORDS * engine];
}

/* exchange_peer_buffer - where the neighbour receives a message on an engine */
static inline utofu_stadd_t
exchange_peer_buffer(const struct tofu_exchange *exchange, unsigned int message,
		     unsigned int engine, unsigned int set)
{
	return exchange->card[message]
		.word[CARD_ENGINE + CARD_ENGINE_WORDS * engine + 1 + set];
}

/* ---- Neighbours that are gone, probe.c ---- */

/* exchange_probe_prepare - commands, when all cards are there */
int exchange_probe_prepare(struct tofu_exchange *exchange);

/**
 * exchange_probe - ask neighbours that owe something whether they are there
 *
 * One after the other: each answer has the next one asked.
 *
 * Return: UTOFU_SUCCESS, or what a post gave.
 */
int exchange_probe(struct tofu_exchange *exchange);

/**
 * exchange_probe_answered - take a local notice
 * @code: of the notice; puts have one only where they have failed
 *
 * Return: what is wrong with the exchange, but for what has to be judged.
 */
int exchange_probe_answered(struct tofu_exchange *exchange,
			    const struct utofu_mrq_notice *notice, int code);

/**
 * exchange_probe_judge - what an answer means, when all engines have been polled
 *
 * A neighbour that was asked and has sent all since may have ended the exchange
 * and be gone before the question came: what it has sent is there by now.
 *
 * Return: what is wrong with the exchange.
 */
int exchange_probe_judge(struct tofu_exchange *exchange);

#endif /* EXCHANGE_CORE_H */
