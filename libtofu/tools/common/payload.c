// SPDX-License-Identifier: MIT
/* Fills and verifies the contents of messages. */
#include <string.h>

#include "common/mix.h"
#include "common/payload.h"

uint64_t payload_seed(uint64_t row, uint32_t sender, unsigned int message,
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

void payload_fill(void *buf, size_t bytes, uint64_t seed)
{
	uint64_t *word = buf;
	size_t words = bytes / sizeof(*word), rest = bytes % sizeof(*word);
	uint64_t last = word_at(seed, words);

	for (size_t i = 0; i < words; i++)
		word[i] = word_at(seed, i);
	memcpy(&word[words], &last, rest);
}

static void compare(struct payload_wrong *wrong, const uint8_t *seen,
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

struct payload_wrong payload_verify(const void *buf, size_t bytes, uint64_t seed)
{
	const uint64_t *word = buf;
	size_t words = bytes / sizeof(*word), rest = bytes % sizeof(*word);
	struct payload_wrong wrong = { 0 };
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

void payload_guard_fill(uint8_t *area, size_t offset, size_t bytes)
{
	for (size_t i = offset; i < offset + bytes; i++)
		area[i] = guard_at(i);
}

struct payload_wrong payload_guard_verify(const uint8_t *area, size_t offset,
				    size_t bytes)
{
	struct payload_wrong wrong = { 0 };

	for (size_t i = offset; i < offset + bytes; i++) {
		uint8_t expected = guard_at(i);

		compare(&wrong, &area[i], &expected, 1, i);
	}
	return wrong;
}
