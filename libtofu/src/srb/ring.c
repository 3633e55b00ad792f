/* SPDX-License-Identifier: MIT */
#include "srb/ring.h"

#include <string.h>

/* Bytes of a short record, and its part of a ring, at most: little of the room */
#define SHORT 256
#define PART 4

/*
 * Reads a word that senders write. Acquire: makes what they wrote before it
 * visible. A record's bytes come in ascending order, so its tail shows all of
 * it.
 */
static uint64_t word_read(const struct srb_ring *ring, uint64_t place)
{
	const void *at = ring->memory + (place & (ring->bytes - 1));

	return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

/**
 * struct found - a complete record
 * @bytes: bytes in the ring
 */
struct found {
	bool padding;
	uint16_t label;
	uint64_t payload;
	uint64_t bytes;
};

static inline bool record_find(const struct srb_ring *ring, uint64_t place,
			       struct found *found)
{
	uint64_t head = word_read(ring, place);
	uint64_t kind = head & SRB_HEAD_KIND;

	if (kind != SRB_DATA && kind != SRB_PADDING)
		return false;
	found->padding = kind == SRB_PADDING;
	found->label = (uint16_t)(head >> SRB_LABEL_SHIFT);
	found->payload = head & SRB_HEAD_BYTES;
	found->bytes = srb_record_bytes(found->payload);
	return found->bytes <= ring->bytes / 2 &&
	       word_read(ring, place + found->bytes - SRB_WORD) ==
		       srb_tail(place);
}

/* ---- The record that is held ---- */

static void record_hold(struct srb_ring *ring, const struct found *found)
{
	ring->held = found->bytes;
	ring->payload = found->payload;
	ring->label = found->label;
}

static void record_show(const struct srb_ring *ring,
			struct tofu_srb_record *record)
{
	uint64_t at = (ring->place + SRB_WORD) & (ring->bytes - 1);
	uint64_t first = ring->bytes - at;

	if (first > ring->payload)
		first = ring->payload;
	*record = (struct tofu_srb_record){
		.part = {
			{ ring->memory + at, first },
			{ ring->memory, ring->payload - first },
		},
		.bytes = ring->payload,
	};
}

/* ---- Receiving ---- */

static void ring_clear(struct srb_ring *ring, uint64_t bytes)
{
	uint64_t at = ring->place & (ring->bytes - 1);
	uint64_t first = ring->bytes - at;

	if (first > bytes)
		first = bytes;
	memset(ring->memory + at, 0, first);
	if (bytes > first)
		memset(ring->memory, 0, bytes - first);
}

static void ring_consume(struct srb_ring *ring, uint64_t bytes)
{
	tofu_work(TOFU_WORK_RING_CONSUME);
	tofu_work_bytes(TOFU_WORK_CLEAR, bytes);
	ring_clear(ring, bytes);
	ring->place += bytes;
	/* A sender that sees the place free must see it cleared, too. */
	__atomic_store_n(ring->consumer, ring->place, __ATOMIC_RELEASE);
}

/* Skips at most a ring of padding per call, so endless padding stops nobody. */
static bool ring_next(struct srb_ring *ring)
{
	uint64_t end = ring->place + ring->bytes;
	struct found found;

	while (ring->place < end && record_find(ring, ring->place, &found)) {
		if (!found.padding) {
			record_hold(ring, &found);
			return true;
		}
		ring->padding++;
		ring_consume(ring, found.bytes);
	}
	return false;
}

bool srb_ring_hold(struct srb_ring *ring, struct tofu_srb_record *record)
{
	if (!ring->held && !ring_next(ring))
		return false;
	tofu_work_found(TOFU_WORK_RING_FOUND);
	record_show(ring, record);
	return true;
}

void srb_ring_release(struct srb_ring *ring)
{
	/* A turn that only does this is not like the next ones. */
	if (ring->left)
		tofu_work_note_found();
	ring->left = false;
	ring_consume(ring, ring->held);
	ring->held = 0;
}

bool srb_ring_leave(struct srb_ring *ring)
{
	tofu_work(TOFU_WORK_RING_LOOK);
	ring->left = ring->held <= SHORT && ring->held <= ring->bytes / PART &&
		     !word_read(ring, ring->place + ring->held);
	if (ring->left)
		return false;
	srb_ring_release(ring);
	return true;
}

/* ---- Remains of an epoch ---- */

static bool scan_next(struct srb_ring *ring, uint64_t end, uint64_t *skipped)
{
	struct found found;

	while (ring->place < end) {
		if (!record_find(ring, ring->place, &found) ||
		    found.bytes > end - ring->place) {
			ring->place += SRB_WORD;
			*skipped += SRB_WORD;
			continue;
		}
		record_hold(ring, &found);
		if (!found.padding)
			return true;
		ring->padding++;
		srb_ring_pass(ring);
	}
	return false;
}

bool srb_ring_scan(struct srb_ring *ring, uint64_t end,
		   struct tofu_srb_record *record, uint64_t *skipped)
{
	if (!ring->held && !scan_next(ring, end, skipped))
		return false;
	record_show(ring, record);
	return true;
}

void srb_ring_pass(struct srb_ring *ring)
{
	ring->place += ring->held;
	ring->held = 0;
}
