// SPDX-License-Identifier: MIT
#include <string.h>

#include "tofu-halo.h"

#define ODD 0x9e3779b97f4a7c15ULL /* 2^64 divided by the golden ratio */

/* Every bit of the result depends on every bit of @x (SplitMix64). */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

uint64_t halo_seed(uint64_t row, uint32_t sender, unsigned int message,
		   uint64_t iteration)
{
	uint64_t seed = mix(row + ODD);

	seed = mix(seed ^ ((uint64_t)sender << 32 | message));
	return mix(seed ^ iteration);
}

/*
 * Word @index of a message: three operations in a loop, since under emulation
 * this is what most of a run's time goes into.
 */
static uint64_t word_at(uint64_t seed, size_t index)
{
	uint64_t x = seed + index * ODD;

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
