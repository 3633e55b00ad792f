/* SPDX-License-Identifier: MIT */
/*
 * An exchange as its makers describe it: for each engine an ordered list of
 * puts, and how far an engine may run before it waits.
 *
 * May include: utofu/
 */
#ifndef EXCHANGE_EXCHANGE_H
#define EXCHANGE_EXCHANGE_H

#include <tofu/exchange.h>

/* Most steps of an exchange: the range of a notice's edata */
#define TOFU_EXCHANGE_STEPS_MAX 64

/**
 * enum tofu_exchange_pace - what all engines wait for before the next step
 * @TOFU_EXCHANGE_FREE: nothing: everything is posted at once
 * @TOFU_EXCHANGE_SENT: the puts of the step have ended here
 * @TOFU_EXCHANGE_MET:  they have, and those of the others have arrived
 */
enum tofu_exchange_pace {
	TOFU_EXCHANGE_FREE,
	TOFU_EXCHANGE_SENT,
	TOFU_EXCHANGE_MET,
};

/**
 * struct tofu_part - a put of an exchange
 * @message: index
 * @step:    of an exchange in steps; ascending in each engine's list
 * @offset:  offset in the message
 * @bytes:   may be 0: the neighbour gets a notice all the same
 */
struct tofu_part {
	unsigned int message;
	unsigned int step;
	size_t offset;
	size_t bytes;
};

/**
 * struct tofu_exchange_plan - the work of the engines
 * @engines: engine e is the e-th TNI of utofu_get_onesided_tnis(), on both
 *           sides
 * @pace:    what separates steps
 * @parts:   lists of the engines, one after the other
 * @count:   parts of each engine's list
 * @barrier: start and end gate of a barrier before and after each exchange, or
 *           UTOFU_VBG_ID_NULL
 * @note:    for the maker's use; 0 if unused
 *
 * Every byte of every message is in one part, and messages of 0 bytes have
 * parts like the others. All processes use the same plan, except for the sizes:
 * the engine of a part, its message and its step are the same everywhere. So
 * each process knows how many parts come, by which engine and in which step.
 */
struct tofu_exchange_plan {
	unsigned int engines;
	enum tofu_exchange_pace pace;
	const struct tofu_part *parts;
	unsigned int count[TOFU_EXCHANGE_ENGINES_MAX];
	utofu_vbg_id_t barrier;
	int note;
};

/**
 * tofu_exchange_make - create an exchange: queues and registered buffers
 * @plan, @messages: copied
 * @exchange: set on success
 *
 * Return: enum utofu_return_code; UTOFU_ERR_INVALID_ARG for a plan that does
 * not fit the messages.
 */
int tofu_exchange_make(const struct tofu_exchange_plan *plan,
		       const struct tofu_message *messages, unsigned int count,
		       struct tofu_exchange **exchange);

/* tofu_exchange_note - get the note of the plan */
int tofu_exchange_note(const struct tofu_exchange *exchange);

/**
 * tofu_exchange_engines - count the engines, TOFU_EXCHANGE_ENGINES_MAX at most
 * @engines: set on success
 *
 * Return: enum utofu_return_code.
 */
int tofu_exchange_engines(unsigned int *engines);

#endif /* EXCHANGE_EXCHANGE_H */
