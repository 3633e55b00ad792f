/* SPDX-License-Identifier: MIT */
/*
 * A ring on plain memory: every size at every position, incomplete records,
 * the remains of an epoch, and invalid contents.
 */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "srb/pool.h"
#include "srb/ring.h"

static uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* The ring's memory is by itself, so that the sanitizer sees its ends. */
static struct srb_ring ring_make(uint64_t bytes, uint64_t place,
				 uint64_t *consumer)
{
	*consumer = place;
	return (struct srb_ring){
		.memory = calloc(1, bytes),
		.bytes = bytes,
		.consumer = consumer,
		.place = place,
	};
}

static void word_put(const struct srb_ring *ring, uint64_t place, uint64_t word)
{
	memcpy(ring->memory + (place & (ring->bytes - 1)), &word, sizeof(word));
}

static unsigned char payload_byte(uint64_t place, uint64_t at)
{
	return (unsigned char)((place + at) * 37 + 1);
}

static void payload_put(const struct srb_ring *ring, uint64_t place,
			uint64_t payload)
{
	for (uint64_t i = 0; i < payload; i++)
		ring->memory[(place + SRB_WORD + i) & (ring->bytes - 1)] =
			(char)payload_byte(place, i);
}

/* Put a record of this kind there. Return: the bytes that it takes. */
static uint64_t record_put(const struct srb_ring *ring, uint64_t place,
			   uint64_t kind, uint64_t payload)
{
	uint64_t bytes = srb_record_bytes(payload);

	word_put(ring, place, kind | payload);
	payload_put(ring, place, kind == SRB_DATA ? payload : 0);
	word_put(ring, place + bytes - SRB_WORD, srb_tail(place));
	return bytes;
}

static bool payload_is(const struct tofu_srb_record *record, uint64_t place,
		       uint64_t payload)
{
	const unsigned char *first = record->part[0].iov_base;
	const unsigned char *second = record->part[1].iov_base;
	uint64_t cut = record->part[0].iov_len;

	if (record->bytes != payload ||
	    cut + record->part[1].iov_len != payload)
		return false;
	for (uint64_t i = 0; i < payload; i++)
		if ((i < cut ? first[i] : second[i - cut]) !=
		    payload_byte(place, i))
			return false;
	return true;
}

static bool ring_is_clear(const struct srb_ring *ring)
{
	for (uint64_t i = 0; i < ring->bytes; i++)
		if (ring->memory[i])
			return false;
	return true;
}

/* ---- Records ---- */

static bool comes_and_goes(struct srb_ring *ring, uint64_t payload)
{
	uint64_t place = ring->place;
	struct tofu_srb_record record;
	uint64_t bytes;

	if (srb_ring_receive(ring, &record))
		return false;
	bytes = record_put(ring, place, SRB_DATA, payload);
	for (int again = 0; again < 2; again++)
		if (!srb_ring_receive(ring, &record) ||
		    !payload_is(&record, place, payload))
			return false;
	if (*ring->consumer != place)
		return false;
	srb_ring_release(ring);
	return *ring->consumer == place + bytes && ring->place == *ring->consumer;
}

TEST(every_size_at_every_position)
{
	for (uint64_t bytes = 32; bytes <= 512; bytes *= 2)
		for (uint64_t payload = 0; payload <= bytes / 2 - TOFU_SRB_OVERHEAD;
		     payload++)
			for (uint64_t at = 0; at < bytes; at += SRB_WORD) {
				uint64_t consumer;
				struct srb_ring ring = ring_make(
					bytes, srb_epoch_begin(3) + bytes + at,
					&consumer);

				ASSERT_TRUE(comes_and_goes(&ring, payload))
				TH_LOG("%lu of %lu at %lu", payload, bytes, at);
				ASSERT_TRUE(ring_is_clear(&ring));
				free(ring.memory);
			}
}

TEST(a_ring_goes_round_and_round)
{
	uint64_t state = 1, consumer;
	struct srb_ring ring = ring_make(4096, 0, &consumer);

	for (int i = 0; i < 20000; i++)
		ASSERT_TRUE(comes_and_goes(&ring, random_next(&state) % 2033));
	EXPECT_TRUE(ring_is_clear(&ring));
	free(ring.memory);
}

/* Whether the ring has been given back up to @place, and no further */
static bool is_back(const struct srb_ring *ring, uint64_t place)
{
	return *ring->consumer == place;
}

/*
 * Whether a record that was read stays until the next look: then it goes, and the
 * one of @next bytes that has come meanwhile is there, if any.
 */
static bool goes_with_the_next_look(struct srb_ring *ring, uint64_t next)
{
	struct tofu_srb_record record;
	const uint64_t place = record_put(ring, 0, SRB_DATA, 100);

	if (!srb_ring_receive(ring, &record) || srb_ring_leave(ring) ||
	    !is_back(ring, 0) || !srb_ring_has(ring))
		return false;
	if (next)
		record_put(ring, place, SRB_DATA, next);
	if (srb_ring_receive(ring, &record) != !!next || !is_back(ring, place))
		return false;
	return next ? payload_is(&record, place, next) :
		      !srb_ring_has(ring) && ring_is_clear(ring);
}

TEST(a_record_that_was_read_goes_with_the_next_look)
{
	for (uint64_t next = 0; next <= 60; next += 60) {
		uint64_t consumer;
		struct srb_ring ring = ring_make(4096, 0, &consumer);

		EXPECT_TRUE(goes_with_the_next_look(&ring, next))
		TH_LOG("%lu", next);
		free(ring.memory);
	}
}

TEST(a_record_goes_at_once_where_another_has_come)
{
	struct tofu_srb_record record;
	uint64_t consumer, place;
	struct srb_ring ring = ring_make(4096, 0, &consumer);

	place = record_put(&ring, 0, SRB_DATA, 100);
	record_put(&ring, place, SRB_DATA, 60);
	ASSERT_TRUE(srb_ring_receive(&ring, &record));
	EXPECT_TRUE(srb_ring_leave(&ring));
	EXPECT_TRUE(is_back(&ring, place));
	ASSERT_TRUE(srb_ring_receive(&ring, &record));
	EXPECT_TRUE(payload_is(&record, place, 60));
	free(ring.memory);
}

/* Itself, or for its ring */
TEST(a_long_record_goes_at_once)
{
	static const uint64_t size[][2] = { { 4096, 500 }, { 512, 200 } };

	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		struct tofu_srb_record record;
		uint64_t consumer, place;
		struct srb_ring ring = ring_make(size[i][0], 0, &consumer);

		place = record_put(&ring, 0, SRB_DATA, size[i][1]);
		ASSERT_TRUE(srb_ring_receive(&ring, &record));
		EXPECT_TRUE(srb_ring_leave(&ring));
		EXPECT_TRUE(is_back(&ring, place));
		EXPECT_TRUE(ring_is_clear(&ring));
		free(ring.memory);
	}
}

TEST(padding_is_skipped)
{
	struct tofu_srb_record record;
	uint64_t consumer, place = 4000;
	struct srb_ring ring = ring_make(4096, place, &consumer);

	place += record_put(&ring, place, SRB_PADDING, 0);
	place += record_put(&ring, place, SRB_PADDING, 320);
	record_put(&ring, place, SRB_DATA, 100);
	ASSERT_TRUE(srb_ring_receive(&ring, &record));
	EXPECT_TRUE(payload_is(&record, place, 100));
	EXPECT_EQ(consumer, place);
	EXPECT_EQ(ring.padding, 2);
	srb_ring_release(&ring);
	EXPECT_TRUE(ring_is_clear(&ring));
	free(ring.memory);
}

/* ---- Incomplete and invalid records ---- */

TEST(a_record_comes_with_its_tail)
{
	struct tofu_srb_record record;
	uint64_t consumer, place = srb_epoch_begin(9) + 4088, tail;
	struct srb_ring ring = ring_make(4096, place, &consumer);

	tail = place + srb_record_bytes(77) - SRB_WORD;
	word_put(&ring, tail, srb_tail(place));
	EXPECT_FALSE(srb_ring_receive(&ring, &record));
	payload_put(&ring, place, 77);
	EXPECT_FALSE(srb_ring_receive(&ring, &record));
	word_put(&ring, place, SRB_DATA | 77);
	word_put(&ring, tail, 0);
	EXPECT_FALSE(srb_ring_receive(&ring, &record));
	/* Tails of other places, an epoch and a round away */
	word_put(&ring, tail, srb_tail(place + 4096));
	EXPECT_FALSE(srb_ring_receive(&ring, &record));
	word_put(&ring, tail, srb_tail(place - srb_epoch_begin(1)));
	EXPECT_FALSE(srb_ring_receive(&ring, &record));
	word_put(&ring, tail, place);
	EXPECT_FALSE(srb_ring_receive(&ring, &record));
	EXPECT_EQ(consumer, place);
	word_put(&ring, tail, srb_tail(place));
	EXPECT_TRUE(srb_ring_receive(&ring, &record));
	EXPECT_TRUE(payload_is(&record, place, 77));
	free(ring.memory);
}

TEST(heads_that_lie)
{
	static const uint64_t lies[] = {
		SRB_DATA | 2033,
		SRB_DATA | 4096,
		SRB_DATA | SRB_HEAD_BYTES,
		SRB_DATA | 0xfffffff8,
		SRB_PADDING | 2040,
		SRB_PADDING | SRB_HEAD_BYTES,
		77,
		~UINT64_C(0),
		SRB_DATA ^ SRB_PADDING,
	};
	struct tofu_srb_record record;
	uint64_t consumer, skipped;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct srb_ring ring = ring_make(4096, 0, &consumer);

		/* The tail is there for any length in the head. */
		for (uint64_t at = 0; at < 4096; at += SRB_WORD)
			word_put(&ring, at, srb_tail(0));
		word_put(&ring, 0, lies[i]);
		EXPECT_FALSE(srb_ring_receive(&ring, &record));
		skipped = 0;
		EXPECT_FALSE(srb_ring_scan(&ring, 4096, &record, &skipped));
		EXPECT_EQ(skipped, 4096);
		free(ring.memory);
	}
}

TEST(what_changes_after_it_has_come)
{
	struct tofu_srb_record record;
	uint64_t consumer;
	struct srb_ring ring = ring_make(4096, 4000, &consumer);

	record_put(&ring, 4000, SRB_DATA, 200);
	ASSERT_TRUE(srb_ring_receive(&ring, &record));
	word_put(&ring, 4000, SRB_DATA | SRB_HEAD_BYTES);
	ASSERT_TRUE(srb_ring_receive(&ring, &record));
	EXPECT_EQ(record.bytes, 200);
	srb_ring_release(&ring);
	EXPECT_EQ(consumer, 4216);
	free(ring.memory);
}

TEST(anything_may_stand_in_a_ring)
{
	uint64_t state = 7;

	for (int i = 0; i < 3000; i++) {
		uint64_t consumer, skipped = 0, place = 8 * (random_next(&state) % 64);
		struct srb_ring ring = ring_make(256, place, &consumer);
		struct tofu_srb_record record;

		for (uint64_t at = 0; at < 256; at += SRB_WORD) {
			uint64_t word = random_next(&state);

			if (word % 4 == 0)
				word = SRB_DATA | word % 150;
			else if (word % 4 == 1)
				word = SRB_PADDING | word % 150;
			else if (word % 4 == 2)
				word = srb_tail(8 * (word % 96));
			word_put(&ring, at, word);
		}
		if (srb_ring_receive(&ring, &record))
			srb_ring_release(&ring);
		while (srb_ring_scan(&ring, place + 256, &record, &skipped))
			srb_ring_pass(&ring);
		EXPECT_EQ(ring.place, place + 256);
		free(ring.memory);
	}
}

/* ---- Remains of an epoch ---- */

/* Kinds of contents of a place: some are complete. */
enum left { WHOLE, PADDED, NOTHING, HEAD, HALF, NO_TAIL, NO_HEAD, KINDS };

static uint64_t left_put(const struct srb_ring *ring, uint64_t place,
			 enum left kind, uint64_t payload)
{
	uint64_t bytes = srb_record_bytes(payload);

	switch (kind) {
	case WHOLE:
		return record_put(ring, place, SRB_DATA, payload);
	case PADDED:
		return record_put(ring, place, SRB_PADDING, payload);
	case HEAD:
		word_put(ring, place, SRB_DATA | payload);
		break;
	case HALF:
		word_put(ring, place, SRB_DATA | payload);
		payload_put(ring, place, payload / 2);
		break;
	case NO_TAIL:
		word_put(ring, place, SRB_DATA | payload);
		payload_put(ring, place, payload);
		break;
	case NO_HEAD:
		payload_put(ring, place, payload);
		word_put(ring, place + bytes - SRB_WORD, srb_tail(place));
		break;
	default:
		break;
	}
	return bytes;
}

struct expected {
	uint64_t place;
	uint64_t payload;
};

TEST(all_that_is_complete_is_found)
{
	uint64_t state = 3;

	for (int i = 0; i < 4000; i++) {
		uint64_t begin = srb_epoch_begin(65535) +
				 8 * (random_next(&state) % 1000);
		uint64_t consumer, place = begin, skipped = 0, holes = 0;
		struct srb_ring ring = ring_make(1024, begin, &consumer);
		struct expected expected[64];
		struct tofu_srb_record record;
		unsigned int count = 0;

		for (;;) {
			enum left kind = random_next(&state) % KINDS;
			uint64_t payload = random_next(&state) % 100;
			uint64_t bytes = srb_record_bytes(payload);

			if (place + bytes > begin + 1024)
				break;
			left_put(&ring, place, kind, payload);
			if (kind == WHOLE)
				expected[count++] = (struct expected){ place, payload };
			else if (kind != PADDED)
				holes += bytes;
			place += bytes;
		}
		for (unsigned int n = 0; n < count; n++) {
			ASSERT_TRUE(srb_ring_scan(&ring, place, &record, &skipped));
			ASSERT_EQ(ring.place, expected[n].place);
			ASSERT_TRUE(payload_is(&record, expected[n].place,
					       expected[n].payload));
			srb_ring_pass(&ring);
		}
		ASSERT_FALSE(srb_ring_scan(&ring, place, &record, &skipped));
		ASSERT_EQ(ring.place, place);
		ASSERT_EQ(skipped, holes);
		ASSERT_EQ(consumer, begin);
		free(ring.memory);
	}
}

TEST(a_scan_ends_where_it_should)
{
	struct tofu_srb_record record;
	uint64_t consumer, skipped = 0;
	struct srb_ring ring = ring_make(1024, 0, &consumer);

	record_put(&ring, 0, SRB_DATA, 100);
	EXPECT_FALSE(srb_ring_scan(&ring, 112, &record, &skipped));
	EXPECT_EQ(ring.place, 112);
	free(ring.memory);
}

/* ---- Places ---- */

TEST(epochs_are_compared_as_they_wrap)
{
	EXPECT_TRUE(srb_later(srb_epoch_begin(1), srb_epoch_begin(0)));
	EXPECT_TRUE(srb_later(srb_epoch_begin(0), srb_epoch_begin(65535)));
	EXPECT_FALSE(srb_later(srb_epoch_begin(65535), srb_epoch_begin(0)));
	EXPECT_FALSE(srb_later(srb_epoch_begin(5) + 1, srb_epoch_begin(5)));
}

/* ---- The senders' memory ---- */

#define BLOCKS 40

TEST(blocks_of_a_pool_never_meet)
{
	struct srb_block block[BLOCKS];
	bool taken[BLOCKS] = { false };
	struct srb_pool pool;
	uint64_t state = 5;
	unsigned char owner[1000] = { 0 };
	size_t full = 0;

	srb_pool_init(&pool, sizeof(owner));
	for (int i = 0; i < 100000; i++) {
		unsigned int b = random_next(&state) % BLOCKS;
		size_t bytes = 8 + random_next(&state) % 100;

		if (taken[b]) {
			for (size_t at = 0; at < block[b].bytes; at++) {
				ASSERT_EQ(owner[block[b].at + at], b + 1);
				owner[block[b].at + at] = 0;
			}
			srb_pool_give(&pool, &block[b]);
			taken[b] = false;
		} else if (srb_pool_take(&pool, &block[b], bytes)) {
			ASSERT_EQ(block[b].bytes, bytes);
			ASSERT_LE(block[b].at + bytes, sizeof(owner));
			for (size_t at = 0; at < bytes; at++) {
				ASSERT_EQ(owner[block[b].at + at], 0);
				owner[block[b].at + at] = (unsigned char)(b + 1);
			}
			taken[b] = true;
		} else {
			size_t gap = 0;

			/* Nowhere is there such a gap. */
			for (size_t at = 0; at < sizeof(owner); at++) {
				gap = owner[at] ? 0 : gap + 1;
				ASSERT_LT(gap, bytes);
			}
			full++;
		}
	}
	EXPECT_GT(full, 0);
}

TEST(a_pool_can_be_taken_whole)
{
	struct srb_block a, b;
	struct srb_pool pool;

	srb_pool_init(&pool, 64);
	EXPECT_FALSE(srb_pool_take(&pool, &a, 65));
	EXPECT_TRUE(srb_pool_take(&pool, &a, 64));
	EXPECT_FALSE(srb_pool_take(&pool, &b, 8));
	srb_pool_give(&pool, &a);
	EXPECT_TRUE(srb_pool_take(&pool, &b, 64));
}

TEST_HARNESS_MAIN
