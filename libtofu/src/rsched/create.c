// SPDX-License-Identifier: MIT
/* Turns a schedule into an exchange: its orders, without its times. */
#include <stdlib.h>

#include <tofu/rsched.h>

#include "exchange/exchange.h"

static int create(const struct tofu_rsched_plan *plan,
		  const struct tofu_message *messages, utofu_vbg_id_t barrier,
		  struct tofu_part *parts, struct tofu_exchange **exchange)
{
	struct tofu_exchange_plan made = {
		.engines = plan->engines,
		.parts = parts,
		.barrier = barrier,
	};

	for (size_t i = 0; i < plan->count; i++)
		parts[i] = (struct tofu_part){
			.message = (unsigned int)plan->order[i],
			.bytes = messages[plan->order[i]].send_bytes,
		};
	for (unsigned int e = 0; e < plan->engines; e++)
		made.count[e] = (unsigned int)(plan->first[e + 1] -
					       plan->first[e]);
	return tofu_exchange_make(&made, messages, (unsigned int)plan->count,
				  exchange);
}

int tofu_rsched_create(const struct tofu_rsched_plan *plan,
		       const struct tofu_message *messages,
		       utofu_vbg_id_t barrier, struct tofu_exchange **exchange)
{
	struct tofu_part *parts;
	int code;

	if (!plan || !messages || !exchange)
		return UTOFU_ERR_INVALID_POINTER;
	if (!plan->count || plan->count > TOFU_EXCHANGE_MESSAGES_MAX)
		return UTOFU_ERR_INVALID_NUMBER;
	parts = calloc(plan->count, sizeof(*parts));
	if (!parts)
		return UTOFU_ERR_OUT_OF_MEMORY;
	code = create(plan, messages, barrier, parts, exchange);
	free(parts);
	return code;
}
