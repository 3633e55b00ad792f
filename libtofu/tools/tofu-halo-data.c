// SPDX-License-Identifier: MIT
/* What is in a message, and whether it is what came. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/mix.h"
#include "tofu-halo.h"

#define SAY_MAX 8 /* messages about wrong bytes, each node */

uint64_t halo_seed(uint64_t row, uint32_t sender, unsigned int message,
		   uint64_t iteration)
{
	uint64_t seed = tofu_mix(row + TOFU_MIX_ODD);

	seed = tofu_mix(seed ^ ((uint64_t)sender << 32 | message));
	return tofu_mix(seed ^ iteration);
}

/*
 * Word @index of a message: three operations in a loop, since under emulation
 * this is what most of a run's time goes into.
 */
static uint64_t word_at(uint64_t seed, size_t index)
{
	uint64_t x = seed + index * TOFU_MIX_ODD;

	return x ^ x >> 29;
}

void halo_fill(void *buf, size_t bytes, uint64_t seed)
{
	uint64_t *word = buf;
	size_t words = bytes / sizeof(*word), rest = bytes % sizeof(*word);
	uint64_t last = word_at(seed, words);

	for (size_t i = 0; i < words; i++)
		word[i] = word_at(seed, i);
	memcpy(&word[words], &last, rest);
}

static void compare(struct halo_wrong *wrong, const uint8_t *seen,
		    const uint8_t *expected, size_t bytes, size_t offset)
{
	for (size_t i = 0; i < bytes; i++) {
		if (seen[i] == expected[i])
			continue;
		if (!wrong->count++) {
			wrong->first = offset + i;
			wrong->expected = expected[i];
			wrong->seen = seen[i];
		}
	}
}

struct halo_wrong halo_verify(const void *buf, size_t bytes, uint64_t seed)
{
	const uint64_t *word = buf;
	size_t words = bytes / sizeof(*word), rest = bytes % sizeof(*word);
	struct halo_wrong wrong = { 0 };
	uint64_t expected;

	for (size_t i = 0; i < words; i++) {
		expected = word_at(seed, i);
		if (word[i] != expected)
			compare(&wrong, (const uint8_t *)&word[i],
				(const uint8_t *)&expected, sizeof(expected),
				i * sizeof(expected));
	}
	expected = word_at(seed, words);
	compare(&wrong, (const uint8_t *)&word[words],
		(const uint8_t *)&expected, rest, words * sizeof(expected));
	return wrong;
}

static uint8_t guard_at(size_t offset)
{
	return (uint8_t)(0xa5 + offset * 31);
}

void halo_guard_fill(uint8_t *area, size_t offset, size_t bytes)
{
	for (size_t i = offset; i < offset + bytes; i++)
		area[i] = guard_at(i);
}

struct halo_wrong halo_guard_verify(const uint8_t *area, size_t offset,
				    size_t bytes)
{
	struct halo_wrong wrong = { 0 };

	for (size_t i = offset; i < offset + bytes; i++) {
		uint8_t expected = guard_at(i);

		compare(&wrong, &area[i], &expected, 1, i);
	}
	return wrong;
}

/* ---- An exchange ---- */

void halo_data_fill(const struct halo_pattern *pattern,
		    const struct halo_turn *turn, uint8_t *area)
{
	for (unsigned int i = 0; i < pattern->count; i++) {
		const struct halo_message *m = &pattern->message[i];

		halo_fill(area + m->offset, m->bytes,
			  halo_seed(turn->row, turn->node, i, turn->iteration));
	}
}

static void say_wrong(const struct halo_pattern *pattern, unsigned int message,
		      struct halo_turn *turn, const struct halo_wrong *wrong,
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
		uint64_t seed = halo_seed(turn->row, m->from, m->back,
					  turn->iteration);
		struct halo_wrong wrong =
			halo_verify(set + m->offset, m->bytes, seed);

		if (wrong.count)
			say_wrong(pattern, i, turn, &wrong, "");
		count += wrong.count;
	}
	return count;
}

/* The bytes between the buffers, after each up to the next one. */
static uint64_t verify_guards(const struct halo_pattern *pattern,
			      struct halo_turn *turn, const uint8_t *set)
{
	struct halo_wrong wrong = halo_guard_verify(set, 0, HALO_GUARD);
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

		wrong = halo_guard_verify(set, end, next - end);
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
