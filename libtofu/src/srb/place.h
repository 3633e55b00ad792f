/* SPDX-License-Identifier: MIT */
/*
 * Places, and the layout of a record in a ring, for owner and senders.
 * Documentation/library/srb.rst describes their use.
 */
#ifndef SRB_PLACE_H
#define SRB_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <tofu/srb.h>

/* A place: epoch above offset */
#define SRB_EPOCH_SHIFT 48
#define SRB_OFFSET_MASK ((UINT64_C(1) << SRB_EPOCH_SHIFT) - 1)

/* STAGs that epochs use in turn */
#define SRB_EPOCH_STAGS (TOFU_SRB_STAGS - 1)

/* Latest end of an epoch, so that offsets never carry into it */
#define SRB_OFFSET_END (UINT64_C(1) << (SRB_EPOCH_SHIFT - 1))

/* Offsets of the counters in their region: not in one cache line */
#define SRB_PRODUCER 0
#define SRB_CONSUMER 256
#define SRB_COUNTERS_BYTES 4096

#define SRB_WORD 8

/* Heads: kind above label above payload length */
#define SRB_DATA (UINT64_C(0x5244) << 48)
#define SRB_PADDING (UINT64_C(0x5250) << 48)
#define SRB_HEAD_KIND (UINT64_C(0xffff) << 48)
#define SRB_LABEL_SHIFT 32
#define SRB_HEAD_BYTES UINT64_C(0xffffffff)

/* Places are multiples of 8, so a tail is never 0. */
#define SRB_TAIL UINT64_C(1)

static inline uint16_t srb_epoch(uint64_t place)
{
	return (uint16_t)(place >> SRB_EPOCH_SHIFT);
}

static inline uint64_t srb_offset(uint64_t place)
{
	return place & SRB_OFFSET_MASK;
}

static inline uint64_t srb_epoch_begin(uint16_t epoch)
{
	return (uint64_t)epoch << SRB_EPOCH_SHIFT;
}

/* srb_later - check whether one epoch is later than the other */
static inline bool srb_later(uint64_t place, uint64_t other)
{
	return (int16_t)(uint16_t)(srb_epoch(place) - srb_epoch(other)) > 0;
}

static inline uint64_t srb_tail(uint64_t place)
{
	return place | SRB_TAIL;
}

static inline uint64_t srb_head(uint16_t label, uint64_t payload)
{
	return SRB_DATA | (uint64_t)label << SRB_LABEL_SHIFT | payload;
}

/* srb_record_bytes - compute the bytes of a record; no overflow below 2^63 */
static inline uint64_t srb_record_bytes(uint64_t payload)
{
	return ((payload + SRB_WORD - 1) & ~(uint64_t)(SRB_WORD - 1)) +
	       TOFU_SRB_OVERHEAD;
}

#endif /* SRB_PLACE_H */
