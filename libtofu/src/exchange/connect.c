// SPDX-License-Identifier: MIT
/* Connecting an exchange: cards, and the commands prepared from them. */
#include "exchange/internal.h"

/* Identifies a card and its version. */
#define CARD_MAGIC 0x544f465558434801ULL

_Static_assert(CARD_ENGINE + CARD_ENGINE_WORDS * TOFU_EXCHANGE_ENGINES_MAX <=
		       TOFU_EXCHANGE_CARD_WORDS,
	       "a card has room for all engines");

static uint64_t card_message(unsigned int message, unsigned int back)
{
	return (uint64_t)back << 32 | message;
}

int tofu_exchange_card(const struct tofu_exchange *exchange,
		       unsigned int message, struct tofu_exchange_card *card)
{
	const struct tofu_message *m;

	if (!exchange || !card)
		return UTOFU_ERR_INVALID_POINTER;
	if (message >= exchange->messages)
		return UTOFU_ERR_INVALID_NUMBER;
	m = &exchange->message[message];
	*card = (struct tofu_exchange_card){
		.word = {
			[CARD_IS] = CARD_MAGIC,
			[CARD_PLAN] = exchange->plan_id,
			[CARD_MESSAGE] = card_message(message, m->back),
			[CARD_RECV] = m->recv_bytes,
			[CARD_SEND] = m->send_bytes,
		},
	};
	for (unsigned int e = 0; e < exchange->engines; e++) {
		const struct tofu_exchange_engine *engine =
			&exchange->engine[e];
		uint64_t *word =
			&card->word[CARD_ENGINE + CARD_ENGINE_WORDS * e];

		word[0] = engine->id;
		word[1] = engine->place[message].recv[0];
		word[2] = engine->place[message].recv[1];
	}
	return UTOFU_SUCCESS;
}

/* The neighbour must have the same idea of the pair of messages. */
static bool card_fits(const struct tofu_exchange *exchange,
		      unsigned int message,
		      const struct tofu_exchange_card *card)
{
	const struct tofu_message *m = &exchange->message[message];

	return card->word[CARD_IS] == CARD_MAGIC &&
	       card->word[CARD_PLAN] == exchange->plan_id &&
	       card->word[CARD_MESSAGE] == card_message(m->back, message) &&
	       card->word[CARD_RECV] == m->send_bytes &&
	       card->word[CARD_SEND] == m->recv_bytes;
}

static int put_prepare(const struct tofu_exchange *exchange, unsigned int e,
		       unsigned int set, const struct tofu_exchange_put *put,
		       char *command, size_t *bytes)
{
	const struct tofu_exchange_engine *engine = &exchange->engine[e];
	unsigned long flags = 0;

	if (put->told)
		flags |= UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE;
	if (put->report)
		flags |= UTOFU_ONESIDED_FLAG_TCQ_NOTICE;
	return utofu_prepare_put(
		engine->vcq, exchange_peer(exchange, put->message, e),
		engine->place[put->message].send + put->offset,
		exchange_peer_buffer(exchange, put->message, e, set) +
			put->offset,
		put->bytes, EXCHANGE_EDATA(set, put->counts), flags, command,
		bytes);
}

/* Both sets have their groups at the same places: only addresses differ. */
static int commands_prepare(struct tofu_exchange *exchange, unsigned int e,
			    unsigned int set)
{
	struct tofu_exchange_engine *engine = &exchange->engine[e];
	struct tofu_exchange_group *group = engine->group;
	size_t begin = 0, end = 0, bytes;

	for (size_t i = 0; i < engine->puts; i++) {
		const struct tofu_exchange_put *put = &engine->put[i];
		int code = put_prepare(exchange, e, set, put,
				       engine->command[set] + end, &bytes);

		if (code)
			return code;
		end += bytes;
		if (!put->report)
			continue;
		*group++ = (struct tofu_exchange_group){
			.step = put->step,
			.begin = begin,
			.bytes = end - begin,
		};
		begin = end;
	}
	return UTOFU_SUCCESS;
}

static int all_prepare(struct tofu_exchange *exchange)
{
	for (unsigned int e = 0; e < exchange->engines; e++)
		for (unsigned int set = 0; set < EXCHANGE_SETS; set++) {
			int code = commands_prepare(exchange, e, set);

			if (code)
				return code;
		}
	return UTOFU_SUCCESS;
}

/* A card's addresses are not trusted: uTofu checks them. */
static int message_connect(struct tofu_exchange *exchange,
			   unsigned int message,
			   const struct tofu_exchange_card *card)
{
	int code = UTOFU_SUCCESS;

	exchange->card[message] = *card;
	if (exchange->missing == 1) {
		code = all_prepare(exchange);
		if (!code)
			code = exchange_probe_prepare(exchange);
	}
	if (code)
		return UTOFU_ERR_INVALID_DATA;
	exchange->connected[message] = true;
	exchange->missing--;
	return UTOFU_SUCCESS;
}

int tofu_exchange_connect(struct tofu_exchange *exchange, unsigned int message,
			  const struct tofu_exchange_card *card)
{
	if (!exchange || !card)
		return UTOFU_ERR_INVALID_POINTER;
	if (message >= exchange->messages)
		return UTOFU_ERR_INVALID_NUMBER;
	if (exchange->connected[message])
		return UTOFU_ERR_USED;
	if (!card_fits(exchange, message, card))
		return UTOFU_ERR_INVALID_DATA;
	if (!tofu_message_exists(&exchange->message[message]))
		return UTOFU_SUCCESS;
	return message_connect(exchange, message, card);
}
