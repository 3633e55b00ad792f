/* SPDX-License-Identifier: MIT */
/*
 * A ring from the receiving side, on plain memory: finding records, giving them
 * back, and searching what an epoch has left.
 *
 * Nothing in the ring is trusted: what is used twice is read once, and no
 * length exceeds half the ring.
 */
#ifndef SRB_RING_H
#define SRB_RING_H

#include "srb/place.h"
#include "utofu/work.h"

/**
 * struct srb_ring
 * @memory:   memory of the ring; free bytes are 0
 * @bytes:    its size, a power of two
 * @consumer: word that senders read
 * @place:    place of the next record, or of the held one
 * @held:     bytes of the held record; 0: none
 * @left:     it has been read, see srb_ring_leave()
 * @payload:  payload of the held record
 * @label:    its label, which the layer above gave it
 * @padding:  records of padding so far
 */
struct srb_ring {
	char *memory;
	uint64_t bytes;
	uint64_t *consumer;
	uint64_t place;
	uint64_t held;
	uint64_t payload;
	uint16_t label;
	bool left;
	uint64_t padding;
};

/*
 * srb_ring_has - whether something has come, or is held: most looks are in vain
 *
 * The first word of a record is never 0.
 */
static inline bool srb_ring_has(const struct srb_ring *ring)
{
	const void *at = ring->memory + (ring->place & (ring->bytes - 1));

	tofu_work(TOFU_WORK_RING_LOOK);
	return ring->held ||
	       __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
}

/* srb_ring_hold - for srb_ring_receive(): look closely, where srb_ring_has() */
bool srb_ring_hold(struct srb_ring *ring, struct tofu_srb_record *record);

/* srb_ring_release - clear the held record, left or not, and tell senders */
void srb_ring_release(struct srb_ring *ring);

/* srb_ring_receive - look for the record at the ring's place, and hold it */
static inline bool srb_ring_receive(struct srb_ring *ring,
				    struct tofu_srb_record *record)
{
	if (ring->left)
		srb_ring_release(ring);
	return srb_ring_has(ring) && srb_ring_hold(ring, record);
}

/*
 * srb_ring_leave - the held record has been read: the next srb_ring_receive()
 * releases it, so that who waits for it need not wait for that, too
 *
 * It is released at once if another has come, or if it is long, itself or for its
 * ring: clearing it takes a part of the time of all that comes, and a sender may
 * wait for its room.
 *
 * Return: whether there may be another one.
 */
bool srb_ring_leave(struct srb_ring *ring);

/**
 * srb_ring_scan - find the next complete record of an ended epoch, and hold it
 * @end: place that no record exceeds
 * @skipped: increased by the bytes that are in no record
 *
 * srb_ring_pass() continues. Nothing is cleared, and senders do not notice.
 */
bool srb_ring_scan(struct srb_ring *ring, uint64_t end,
		   struct tofu_srb_record *record, uint64_t *skipped);
void srb_ring_pass(struct srb_ring *ring);

#endif /* SRB_RING_H */
