// SPDX-License-Identifier: MIT
/* The data that a node sends in an exchange, and the check of what it gets. */
#include <inttypes.h>
#include <stdio.h>

#include "halo/halo.h"

#define SAY_MAX 8 /* messages about wrong bytes, each node */

void halo_data_fill(const struct halo_pattern *pattern,
		    const struct halo_turn *turn, uint8_t *area)
{
	for (unsigned int i = 0; i < pattern->count; i++) {
		const struct halo_message *m = &pattern->message[i];

		payload_fill(area + m->offset, m->bytes,
			  payload_seed(turn->row, turn->node, i, turn->iteration));
	}
}

static void say_wrong(const struct halo_pattern *pattern, unsigned int message,
		      struct halo_turn *turn, const struct payload_wrong *wrong,
		      const char *where)
{
	const struct halo_message *m = &pattern->message[message];
	const struct halo_message *sent = &pattern->message[m->back];

	if (turn->said++ >= SAY_MAX)
		return;
	fprintf(stderr,
		"tofu-halo: node %u: row %" PRIu64 ", exchange %" PRIu64
		", from node %u going %s, message %u%s: byte %zu of %zu is 0x%02x, should be 0x%02x (%zu wrong)\n",
		turn->node, turn->size, turn->iteration, m->from,
		sent->direction, sent->part, where, wrong->first, m->bytes,
		wrong->seen, wrong->expected, wrong->count);
}

static uint64_t verify_payload(const struct halo_pattern *pattern,
			       struct halo_turn *turn, const uint8_t *set)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < pattern->count; i++) {
		const struct halo_message *m = &pattern->message[i];
		uint64_t seed = payload_seed(turn->row, m->from, m->back,
					  turn->iteration);
		struct payload_wrong wrong =
			payload_verify(set + m->offset, m->bytes, seed);

		if (wrong.count)
			say_wrong(pattern, i, turn, &wrong, "");
		count += wrong.count;
	}
	return count;
}

/* Check the bytes from the end of each buffer up to the next buffer. */
static uint64_t verify_guards(const struct halo_pattern *pattern,
			      struct halo_turn *turn, const uint8_t *set)
{
	struct payload_wrong wrong = payload_guard_verify(set, 0, HALO_GUARD);
	uint64_t count = wrong.count;

	if (wrong.count)
		say_wrong(pattern, 0, turn, &wrong,
			  ", guard before the buffer");
	for (unsigned int i = 0; i < pattern->count; i++) {
		const struct halo_message *m = &pattern->message[i];
		size_t end = m->offset + m->bytes;
		size_t next = i + 1 < pattern->count ?
				      pattern->message[i + 1].offset :
				      pattern->span;

		wrong = payload_guard_verify(set, end, next - end);
		if (wrong.count) {
			wrong.first -= m->offset;
			say_wrong(pattern, i, turn, &wrong,
				  ", guard behind the buffer");
		}
		count += wrong.count;
	}
	return count;
}

uint64_t halo_data_verify(const struct halo_pattern *pattern,
			  struct halo_turn *turn, const uint8_t *set)
{
	return verify_payload(pattern, turn, set) +
	       verify_guards(pattern, turn, set);
}
