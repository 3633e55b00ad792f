/* SPDX-License-Identifier: MIT */
/*
 * Persistent exchanges: a process sends some messages and receives as many, the
 * same ones again and again. <tofu/neighbor.h> and <tofu/rsched.h> make such an
 * exchange, each with its own idea of which engine sends what when; from then on
 * all is done by the functions of this file. Documentation/library/exchange.rst
 * tells of it at length.
 *
 * Making one registers memory, and connecting it prepares every descriptor.
 * Starting and testing allocate nothing, register nothing and make no system
 * call.
 *
 * Functions return enum utofu_return_code. An exchange belongs to one thread at
 * a time.
 */
#ifndef TOFU_EXCHANGE_H
#define TOFU_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- Persistent exchanges ---- */

#define TOFU_EXCHANGE_MESSAGES_MAX 64
#define TOFU_EXCHANGE_ENGINES_MAX 8

struct tofu_exchange;

/**
 * struct tofu_message - what goes to a neighbour, and what comes from it
 * @send:       bytes to be sent
 * @send_bytes: how many; 0: nothing is sent
 * @recv:       two buffers, used in turn, each of @recv_bytes
 * @recv_bytes: how many come; 0: nothing comes
 * @back:       index that the message coming from there has there, whose @back
 *              is the index of this one. Of a torus the message that goes in a
 *              direction has the opposite one as its @back.
 *
 * With 0 bytes both ways it is none: there may be no neighbour. Several messages
 * can go to the same process, or to this one. Where all processes meet before each
 * exchange, what comes may be from another process than the one that this message
 * goes to: around a ring in one direction, for one.
 */
struct tofu_message {
	const void *send;
	size_t send_bytes;
	void *recv[2];
	size_t recv_bytes;
	unsigned int back;
};

#define TOFU_EXCHANGE_CARD_WORDS 32

/**
 * struct tofu_exchange_card - what a neighbour has to know of a receive buffer
 * @word: opaque; means the same on every node
 */
struct tofu_exchange_card {
	uint64_t word[TOFU_EXCHANGE_CARD_WORDS];
};

/**
 * tofu_exchange_card - tell what the neighbour needs that fills a receive buffer
 * @exchange: the exchange
 * @message:  index of the message that is received
 * @card:     filled; to be brought to the neighbour by any means, MPI for one
 *
 * The first exchange of a neighbour that has the card may fill the first buffer
 * at any time.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER (no
 * such message).
 */
int tofu_exchange_card(const struct tofu_exchange *exchange,
		       unsigned int message, struct tofu_exchange_card *card);

/**
 * tofu_exchange_connect - tell where a message goes
 * @exchange: the exchange
 * @message:  index of the message that is sent
 * @card:     that the neighbour has made for its message @back
 *
 * Once for every message that has bytes in either direction, before the first
 * start; for the others it is allowed. The last one prepares all descriptors.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER (no
 * such message); UTOFU_ERR_INVALID_DATA for a card that is none, or another
 * message's, or of an exchange with other sizes, engines, algorithm or barrier;
 * UTOFU_ERR_USED where it is connected.
 */
int tofu_exchange_connect(struct tofu_exchange *exchange, unsigned int message,
			  const struct tofu_exchange_card *card);

/**
 * tofu_exchange_start - begin the next exchange
 * @exchange: the exchange
 *
 * From here on the send buffers must not be written, and what the last exchange
 * but one has received may be overwritten, until this one has ended; what the
 * last one has received may be read until the next start.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_BUSY: the last one, or another barrier of the
 * same gate, has not ended; UTOFU_ERR_INVALID_ARG: a message is not connected; or
 * what went wrong before, as tofu_exchange_test().
 */
int tofu_exchange_start(struct tofu_exchange *exchange);

/**
 * tofu_exchange_test - make progress, and see whether it has ended
 * @exchange: the exchange
 *
 * Ended: all that was sent may be written again, all that comes is there.
 *
 * Return: UTOFU_SUCCESS, also where none was started; UTOFU_ERR_NOT_COMPLETED;
 * UTOFU_ERR_TCQ_*, UTOFU_ERR_MRQ_*, UTOFU_ERR_BARRIER_*: what went wrong, of which
 * UTOFU_ERR_MRQ_OTHER can also say that a neighbour has sent more than belongs to
 * an exchange. The exchange can then only be freed. A neighbour that is gone is
 * UTOFU_ERR_MRQ_PEER, also where it had answered all puts: after many tests without
 * success those that still owe something are asked.
 */
int tofu_exchange_test(struct tofu_exchange *exchange);

/**
 * tofu_exchange_wait - test until it has ended
 * @exchange: the exchange
 *
 * Leaves the processor to others, by sched_yield(), where nothing has come for
 * long.
 *
 * Return: as tofu_exchange_test(), without UTOFU_ERR_NOT_COMPLETED.
 */
int tofu_exchange_wait(struct tofu_exchange *exchange);

/**
 * tofu_exchange_puts - tell how many puts this process makes in an exchange
 * @exchange: the exchange
 * @puts:     set to their number, on all engines
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER.
 */
int tofu_exchange_puts(const struct tofu_exchange *exchange, size_t *puts);

/**
 * tofu_exchange_received - find what the last exchange that ended has received
 * @exchange: the exchange
 * @message:  index
 * @buffer:   set to one of the message's two buffers
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER (no
 * such message); UTOFU_ERR_NOT_PROCESSED where none has ended.
 */
int tofu_exchange_received(const struct tofu_exchange *exchange,
			   unsigned int message, void **buffer);

/**
 * tofu_exchange_free - free it
 * @exchange: the exchange; NULL is nothing
 *
 * No neighbour may be in an exchange that this process has not ended: it would
 * learn that its neighbour is gone.
 */
void tofu_exchange_free(struct tofu_exchange *exchange);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_EXCHANGE_H */
