/* SPDX-License-Identifier: MIT */
/*
 * A ring from the receiving side, on plain memory: finding records, giving them
 * back, and going through what an epoch has left.
 *
 * Nothing in the ring is trusted: what is used twice is read once, and no length
 * goes beyond half the ring.
 */
#ifndef SRB_RING_H
#define SRB_RING_H

#include "srb/place.h"

/**
 * struct srb_ring
 * @memory:   of it; free bytes are 0
 * @bytes:    power of two
 * @consumer: the word that senders read
 * @place:    of the next record, or of the one that is held
 * @held:     bytes of the record that is held, 0: none is
 * @payload:  of it
 * @padding:  records of padding so far
 */
struct srb_ring {
	char *memory;
	uint64_t bytes;
	uint64_t *consumer;
	uint64_t place;
	uint64_t held;
	uint64_t payload;
	uint64_t padding;
};

/* srb_ring_receive - look for the record at the ring's place, and hold it */
bool srb_ring_receive(struct srb_ring *ring, struct tofu_srb_record *record);

/* srb_ring_release - clear the record that is held and let senders know */
void srb_ring_release(struct srb_ring *ring);

/**
 * srb_ring_scan - look for the next complete record of an ended epoch, and hold it
 * @end: place that no record goes beyond
 * @skipped: bytes that are in no record are added
 *
 * srb_ring_pass() goes on. Nothing is cleared, and senders are told nothing.
 */
bool srb_ring_scan(struct srb_ring *ring, uint64_t end,
		   struct tofu_srb_record *record, uint64_t *skipped);
void srb_ring_pass(struct srb_ring *ring);

#endif /* SRB_RING_H */
