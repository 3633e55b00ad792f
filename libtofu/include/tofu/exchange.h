/* SPDX-License-Identifier: MIT */
/*
 * Persistent exchanges: a process sends some messages and receives as many, the
 * same ones again and again. <tofu/neighbor.h> and <tofu/rsched.h> create such
 * an exchange; each decides in its own way which engine sends what, and when.
 * The functions of this file do the rest. See
 * Documentation/library/exchange.rst.
 *
 * Creating an exchange registers memory, and connecting it prepares every
 * descriptor. Starting and testing allocate nothing, register nothing and make
 * no system call.
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
 * struct tofu_message - a message to a neighbour and a message from it
 * @send:       bytes to send
 * @send_bytes: how many; 0: nothing is sent
 * @recv:       two buffers of @recv_bytes, used in turn
 * @recv_bytes: bytes to receive; 0: nothing is received
 * @back:       index that the incoming message has at its sender, where @back
 *              is the index of this one. On a torus, @back of the message in
 *              one direction is the index of the opposite direction.
 *
 * A message with 0 bytes both ways does not exist: there may be no neighbour.
 * Several messages can go to the same process, or to this one. Where a barrier
 * precedes each exchange, the incoming message may be from another process than
 * the one that the outgoing message goes to: around a ring in one direction,
 * for example.
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
 * struct tofu_exchange_card - what a neighbour needs to know of a receive
 * buffer
 * @word: opaque; means the same on every node
 */
struct tofu_exchange_card {
	uint64_t word[TOFU_EXCHANGE_CARD_WORDS];
};

/**
 * tofu_exchange_card - describe a receive buffer to the neighbour that fills it
 * @exchange: the exchange
 * @message:  index of the message that is received
 * @card:     filled; to be sent to the neighbour by any means, for example MPI
 *
 * As soon as the neighbour has the card, its first exchange may fill the first
 * buffer at any time.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (no such message).
 */
int tofu_exchange_card(const struct tofu_exchange *exchange,
		       unsigned int message, struct tofu_exchange_card *card);

/**
 * tofu_exchange_connect - connect a message to its neighbour
 * @exchange: the exchange
 * @message:  index of the message that is sent
 * @card:     card that the neighbour has made for its message @back
 *
 * To be called once, before the first start, for each message that has bytes in
 * either direction; allowed for the others. The last call prepares all
 * descriptors.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (no such message); UTOFU_ERR_INVALID_DATA for what is not a card, or the card
 * of another message, or of an exchange with other sizes, engines, algorithm or
 * barrier; UTOFU_ERR_USED where it is already connected.
 */
int tofu_exchange_connect(struct tofu_exchange *exchange, unsigned int message,
			  const struct tofu_exchange_card *card);

/**
 * tofu_exchange_start - begin the next exchange
 * @exchange: the exchange
 *
 * Until this exchange has ended, the send buffers must not be written, and the
 * buffers that the exchange before the last one received may be overwritten.
 * What the last exchange received may be read until the next start.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_BUSY: the last exchange, or another barrier
 * of the same gate, has not ended; UTOFU_ERR_INVALID_ARG: a message is not
 * connected; or an earlier error, as tofu_exchange_test().
 */
int tofu_exchange_start(struct tofu_exchange *exchange);

/**
 * tofu_exchange_test - make progress, and check whether the exchange has ended
 * @exchange: the exchange
 *
 * Once it has ended, the send buffers may be written again, and all incoming
 * messages are there.
 *
 * Return: UTOFU_SUCCESS, also where none was started; UTOFU_ERR_NOT_COMPLETED;
 * UTOFU_ERR_TCQ_*, UTOFU_ERR_MRQ_*, UTOFU_ERR_BARRIER_*: the exchange has
 * failed and can only be freed. UTOFU_ERR_MRQ_OTHER can also say that a
 * neighbour has sent more than belongs to an exchange. UTOFU_ERR_MRQ_PEER says
 * that a neighbour is gone, even if it had answered all puts: after many tests
 * without success, the neighbours that still owe something are probed.
 */
int tofu_exchange_test(struct tofu_exchange *exchange);

/**
 * tofu_exchange_wait - wait until the exchange has ended
 * @exchange: the exchange
 *
 * Yields the processor, with sched_yield(), when nothing has come for long.
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
 * tofu_exchange_received - get the buffer that the last ended exchange received
 * @exchange: the exchange
 * @message:  index
 * @buffer:   set to one of the message's two buffers
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (no such message); UTOFU_ERR_NOT_PROCESSED where none has ended.
 */
int tofu_exchange_received(const struct tofu_exchange *exchange,
			   unsigned int message, void **buffer);

/**
 * tofu_exchange_free - free an exchange
 * @exchange: the exchange, or NULL
 *
 * No neighbour may be in an exchange that this process has not ended: it would
 * find its neighbour gone.
 */
void tofu_exchange_free(struct tofu_exchange *exchange);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* TOFU_EXCHANGE_H */
