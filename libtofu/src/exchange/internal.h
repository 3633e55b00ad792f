/* SPDX-License-Identifier: MIT */
/*
 * An exchange from the inside: made in make.c, connected in connect.c, run in
 * run.c.
 *
 * Each engine has a VCQ of its own, so that no other commands come between the
 * parts and no other handler takes their notices. What it puts is known when
 * the exchange is made; the commands are prepared when all cards are there.
 * There are two copies of the commands, for the two receive buffers at the
 * other end.
 *
 * A part ends in one notice at its target. The notice names the set of receive
 * buffers and the step, and is counted: the exchange has ended when all have
 * come, whoever sent them. The senders are recorded for probe.c alone.
 */
#ifndef EXCHANGE_CORE_H
#define EXCHANGE_CORE_H

#include <stdbool.h>

#include "exchange/exchange.h"

#define EXCHANGE_SETS 2

/* Most commands per report, few enough to be queued beside others */
#define EXCHANGE_GROUP_MAX 64

/* edata of a put: the set and the step that counts it */
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
 * @step:    step that posts it; 0 where everything is posted at once
 * @counts:  step that does not end at the target before it has arrived
 * @told:    last of its part: with a notice at the target
 * @report:  last of its group: with a report here
 * @offset:  offset in the message
 * @bytes:   at most what a put can have
 */
struct tofu_exchange_put {
	unsigned int message;
	unsigned int step;
	unsigned int counts;
	bool told;
	bool report;
	size_t offset;
	size_t bytes;
};

/**
 * struct tofu_exchange_group - commands of one step that are posted together
 * @begin: first byte of the prepared commands
 * @bytes: length of these commands
 */
struct tofu_exchange_group {
	unsigned int step;
	size_t begin;
	size_t bytes;
};

/* Addresses of a message's buffers for the VCQ of an engine */
struct tofu_exchange_place {
	utofu_stadd_t send;
	utofu_stadd_t recv[EXCHANGE_SETS];
};

/**
 * struct tofu_exchange_engine
 * @put, @puts: its commands, in order
 * @group, @groups: the same commands, in groups
 * @command: the prepared commands, for each set
 * @place:   addresses for each message
 * @posted, @reported: groups of the current exchange
 * @parts:   number of the plan's parts of each message
 * @due:     parts that arrive by this engine in an exchange
 * @heard:   VCQs that they came from, for each set: @due entries
 * @heards:  entries of @heard so far
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
 * enum tofu_exchange_phase - the progress of an exchange
 * @EXCHANGE_IDLE:  none is under way
 * @EXCHANGE_MEET:  in the barrier before it
 * @EXCHANGE_STEPS: puts
 * @EXCHANGE_LEAVE: the barrier after it has to be started
 * @EXCHANGE_PART:  in the barrier after it
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
 * @nowhere: stands for buffers without bytes. It comes first, at the boundary
 *           of a region, so that nothing else is registered with it.
 * @plan_id: equal for equal plans
 * @steps:   at least 1
 * @connected, @missing: messages that are connected, and the number of the
 *     others
 * @card:    cards of the neighbours
 * @expected: parts that must have arrived at the end of each step
 * @arrived: those of them that have, of each set
 * @phase:   phase of the current exchange
 * @set:     receive set of the current exchange, or of the next one
 * @step:    step of the current exchange
 * @tests:   tests without success since it began or since the last probes
 * @probe:   a command for each message, all with the same room, and its size
 * @probed:  message whose neighbour was probed last
 * @probing: that neighbour has not answered
 * @probe_error: its answer, to be judged
 * @probe_next: message to probe next, or past the last one: none
 * @last:    set of the last exchange that ended, or EXCHANGE_SETS: none has
 * @error:   error that broke the exchange
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
 * A message that has bytes one way only has puts without bytes the other way: a
 * process must hear from each neighbour in each exchange, before the next
 * exchange but one overwrites what that neighbour received.
 */
static inline bool tofu_message_exists(const struct tofu_message *message)
{
	return message->send_bytes || message->recv_bytes;
}

/* exchange_peer - get the neighbour's VCQ on an engine */
static inline utofu_vcq_id_t exchange_peer(const struct tofu_exchange *exchange,
					   unsigned int message,
					   unsigned int engine)
{
	return exchange->card[message]
		.word[CARD_ENGINE + CARD_ENGINE_WORDS * engine];
}

/*
 * exchange_peer_buffer - get the address where the neighbour receives a message
 */
static inline utofu_stadd_t
exchange_peer_buffer(const struct tofu_exchange *exchange, unsigned int message,
		     unsigned int engine, unsigned int set)
{
	return exchange->card[message]
		.word[CARD_ENGINE + CARD_ENGINE_WORDS * engine + 1 + set];
}

/* ---- Neighbours that are gone, probe.c ---- */

/* exchange_probe_prepare - prepare the probes, when all cards are there */
int exchange_probe_prepare(struct tofu_exchange *exchange);

/**
 * exchange_probe - probe the neighbours that owe something
 *
 * Probes go one after the other: each answer triggers the next one.
 *
 * Return: UTOFU_SUCCESS, or the error of a post.
 */
int exchange_probe(struct tofu_exchange *exchange);

/**
 * exchange_probe_answered - take a local notice
 * @code: code of the notice; puts have a local notice only when they fail
 *
 * Return: the error of the exchange, except for what has to be judged.
 */
int exchange_probe_answered(struct tofu_exchange *exchange,
			    const struct utofu_mrq_notice *notice, int code);

/**
 * exchange_probe_judge - interpret an answer, after all engines have been
 * polled
 *
 * A neighbour that has sent everything since may have ended the exchange and be
 * gone before the probe came: what it sent is there by now.
 *
 * Return: the error of the exchange.
 */
int exchange_probe_judge(struct tofu_exchange *exchange);

#endif /* EXCHANGE_CORE_H */
