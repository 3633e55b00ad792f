// SPDX-License-Identifier: MIT
/*
 * A process would wait for ever for a neighbour that dies after it has answered
 * this process's puts. So neighbours that owe something for long are probed,
 * one after the other, by a put without bytes, which they do not notice. The
 * controller there answers, with an error where the neighbour's queue no longer
 * exists.
 *
 * A neighbour that owes nothing is not probed: it may have finished, and be
 * gone.
 */
#include "exchange/internal.h"

/* All queues of a neighbour end together, so one of them is enough. */
#define PROBE_ENGINE 0

int exchange_probe_prepare(struct tofu_exchange *exchange)
{
	const struct tofu_exchange_engine *engine =
		&exchange->engine[PROBE_ENGINE];
	char *command = exchange->probe;

	for (unsigned int i = 0; i < exchange->messages; i++) {
		int code;

		if (!tofu_message_exists(&exchange->message[i]))
			continue;
		code = utofu_prepare_put(
			engine->vcq, exchange_peer(exchange, i, PROBE_ENGINE),
			engine->place[i].send,
			exchange_peer_buffer(exchange, i, PROBE_ENGINE, 0), 0,
			EXCHANGE_EDATA_PROBE,
			UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE,
			command + i * exchange->probe_room,
			&exchange->probe_bytes);
		if (code)
			return code;
	}
	return UTOFU_SUCCESS;
}

/* ---- Neighbours that owe something ---- */

static uint32_t heard_from(const struct tofu_exchange_engine *engine,
			   unsigned int set, utofu_vcq_id_t peer)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < engine->heards[set]; i++)
		count += engine->heard[set][i] == peer;
	return count;
}

/* Several messages may come from one neighbour. */
static uint32_t due_from(const struct tofu_exchange *exchange, unsigned int e,
			 utofu_vcq_id_t peer)
{
	const uint32_t *parts = exchange->engine[e].parts;
	uint32_t count = 0;

	for (unsigned int i = 0; i < exchange->messages; i++)
		if (tofu_message_exists(&exchange->message[i]) &&
		    exchange_peer(exchange, i, e) == peer)
			count += parts[exchange->message[i].back];
	return count;
}

static bool owes(const struct tofu_exchange *exchange, unsigned int message)
{
	if (!tofu_message_exists(&exchange->message[message]))
		return false;
	for (unsigned int e = 0; e < exchange->engines; e++) {
		utofu_vcq_id_t peer = exchange_peer(exchange, message, e);

		if (heard_from(&exchange->engine[e], exchange->set, peer) <
		    due_from(exchange, e, peer))
			return true;
	}
	return false;
}

/* ---- Probing ---- */

static int ask(struct tofu_exchange *exchange, unsigned int message)
{
	int code = utofu_post_toq(
		exchange->engine[PROBE_ENGINE].vcq,
		exchange->probe + message * exchange->probe_room,
		exchange->probe_bytes, NULL);

	/* The queue has no room now: try later. */
	if (code)
		return code == UTOFU_ERR_BUSY ? UTOFU_SUCCESS : code;
	exchange->probed = message;
	exchange->probing = true;
	exchange->probe_next = message + 1;
	return UTOFU_SUCCESS;
}

/* Probes the next neighbour that owes something, if any, from @message on. */
static int ask_next(struct tofu_exchange *exchange, unsigned int message)
{
	while (message < exchange->messages && !owes(exchange, message))
		message++;
	return message < exchange->messages ? ask(exchange, message) :
					      UTOFU_SUCCESS;
}

int exchange_probe(struct tofu_exchange *exchange)
{
	return exchange->probing ? UTOFU_SUCCESS : ask_next(exchange, 0);
}

int exchange_probe_answered(struct tofu_exchange *exchange,
			    const struct utofu_mrq_notice *notice, int code)
{
	/* For a part that failed there is no doubt. */
	if (!exchange->probing || notice->edata != EXCHANGE_EDATA_PROBE)
		return code;
	exchange->probing = false;
	exchange->probe_error = code;
	return code ? UTOFU_SUCCESS : ask_next(exchange, exchange->probe_next);
}

int exchange_probe_judge(struct tofu_exchange *exchange)
{
	int code = exchange->probe_error;

	exchange->probe_error = UTOFU_SUCCESS;
	return code && owes(exchange, exchange->probed) ? code : UTOFU_SUCCESS;
}
