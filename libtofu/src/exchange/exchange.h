/* SPDX-License-Identifier: MIT */
/*
 * An exchange as its makers give it: for each engine an ordered list of puts,
 * and how far an engine may go before it waits.
 *
 * May include: utofu/
 */
#ifndef EXCHANGE_EXCHANGE_H
#define EXCHANGE_EXCHANGE_H

#include <stdbool.h>

#include <tofu/exchange.h>

/* Steps of a stepwise exchange: what the edata of a notice can count. */
#define TOFU_EXCHANGE_STEPS_MAX 64

/**
 * struct tofu_part - a put of an exchange
 * @message: index
 * @step:    of a stepwise exchange: no engine begins with a step before the
 *           puts of the one before have ended here and come from the others;
 *           ascending in each engine's list
 * @offset:  in the message
 * @bytes:   0 is allowed: the neighbour is told all the same
 */
struct tofu_part {
	unsigned int message;
	unsigned int step;
	size_t offset;
	size_t bytes;
};

/**
 * struct tofu_exchange_plan - what the engines do
 * @engines: engine e is the e-th TNI of utofu_get_onesided_tnis(), on both sides
 * @stepwise: two-sided form: wait between steps; else all is posted at once
 * @parts:   lists of the engines, one behind the other
 * @count:   parts of each engine's list
 * @barrier: start and end gate of a barrier before and after each exchange, or
 *           UTOFU_VBG_ID_NULL
 * @note:    the maker's; 0 is nobody's
 *
 * Every byte of every message is in one part, and messages of 0 bytes have parts
 * as the others. All processes use the same plan, but for the sizes: the engine
 * of a part, its message and its step are the same everywhere. So each knows
 * how many parts come, by which engine and in which step.
 */
struct tofu_exchange_plan {
	unsigned int engines;
	bool stepwise;
	const struct tofu_part *parts;
	unsigned int count[TOFU_EXCHANGE_ENGINES_MAX];
	utofu_vbg_id_t barrier;
	int note;
};

/**
 * tofu_exchange_make - make queues, register buffers
 * @plan, @messages: copied
 * @exchange: set on success
 *
 * Return: enum utofu_return_code. UTOFU_ERR_INVALID_ARG is a plan that does not
 * fit the messages.
 */
int tofu_exchange_make(const struct tofu_exchange_plan *plan,
		       const struct tofu_message *messages, unsigned int count,
		       struct tofu_exchange **exchange);

/* tofu_exchange_note - the plan's */
int tofu_exchange_note(const struct tofu_exchange *exchange);

/**
 * tofu_exchange_engines - how many engines there are, at most
 * TOFU_EXCHANGE_ENGINES_MAX
 * @engines: set on success
 *
 * Return: enum utofu_return_code.
 */
int tofu_exchange_engines(unsigned int *engines);

#endif /* EXCHANGE_EXCHANGE_H */
