/* SPDX-License-Identifier: MIT */
/* By which engines the parts of an exchange have come, seen from the inside. */
#ifndef UNIT_EXCHANGE_ENGINES_H
#define UNIT_EXCHANGE_ENGINES_H

#include "exchange/internal.h"
#include "utofu-util.h"

/*
 * engines_check - every part of the last exchange that ended was received by the
 * engine with the number of the sending one
 *
 * The senders stand there until the next exchange but one.
 */
static inline void engines_check(const struct tofu_exchange *exchange)
{
	utofu_tni_id_t own, sender;
	uint8_t coords[6];
	uint16_t extra;
	utofu_cq_id_t cq;

	for (unsigned int e = 0; e < exchange->engines; e++) {
		const struct tofu_exchange_engine *engine =
			&exchange->engine[e];
		const utofu_vcq_id_t *heard = engine->heard[exchange->last];

		CHECK(!utofu_query_vcq_info(engine->id, coords, &own, &cq,
					    &extra));
		for (uint32_t i = 0; i < engine->due; i++) {
			CHECK(!utofu_query_vcq_info(heard[i], coords, &sender,
						    &cq, &extra));
			CHECK(sender == own);
		}
	}
}

#endif /* UNIT_EXCHANGE_ENGINES_H */
