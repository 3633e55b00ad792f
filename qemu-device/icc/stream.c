// SPDX-License-Identifier: MIT
/*
 * Streams: payload arrives in several packets. Those from a CQ to an engine
 * arrive in order, one put after the other, so one status for each such pair is enough.
 *
 * A hash table holds the streams whose state matters: those that have failed,
 * and those with a request that is still to be carried out. It is searched
 * linearly from a stream's place; entries leave it only when it is made anew.
 */
#include <stdlib.h>

#include "icc/time.h"

#define FIRST_ROOM 16 /* a power of two */

/*
 * Number the pair of a request's source CQ, of the whole machine, and its
 * target TNI, from 1.
 */
static uint64_t key_of(const struct tofu_packet *pkt)
{
	const uint64_t tni = (uint64_t)pkt->src * TOFU_TNIS_MAX +
			     pkt->src_tni % TOFU_TNIS_MAX;
	const uint64_t cq =
		tni * TOFU_CQS_PER_TNI + pkt->src_cq % TOFU_CQS_PER_TNI;

	return cq * TOFU_TNIS_MAX + pkt->dst_tni % TOFU_TNIS_MAX + 1;
}

/* The entry of a stream, or the unused one where it belongs. */
static struct icc_stream *place(const struct icc_streams *s, uint64_t key)
{
	size_t at = key * 0x9e3779b97f4a7c15 >> 32;

	for (;; at++) {
		struct icc_stream *stream = &s->stream[at & (s->room - 1)];

		if (!stream->key || stream->key == key)
			return stream;
	}
}

static bool matters(const struct icc_stream *stream, uint64_t now)
{
	return stream->key &&
	       (stream->failed != TOFU_ST_OK || stream->carried > now);
}

/* Make the table anew, with the streams that matter and as much room again. */
static bool renew(struct icc *icc)
{
	struct icc_streams *s = &icc->streams;
	const uint64_t now = icc_now(icc);
	struct icc_streams new = *s;

	new.room = FIRST_ROOM;
	new.count = 0;
	for (size_t i = 0; i < s->room; i++)
		new.count += matters(&s->stream[i], now);
	while (new.room < 4 * new.count)
		new.room *= 2;
	new.stream = calloc(new.room, sizeof(*new.stream));
	if (!new.stream)
		return false;
	for (size_t i = 0; i < s->room; i++) {
		if (matters(&s->stream[i], now))
			*place(&new, s->stream[i].key) = s->stream[i];
	}
	free(s->stream);
	*s = new;
	return true;
}

static struct icc_stream *find(const struct icc *icc,
			       const struct tofu_packet *pkt)
{
	struct icc_stream *stream;

	if (!icc->streams.room)
		return NULL;
	stream = place(&icc->streams, key_of(pkt));
	return stream->key ? stream : NULL;
}

/* Find or add a stream; NULL where there is no memory. */
static struct icc_stream *find_or_add(struct icc *icc,
				      const struct tofu_packet *pkt)
{
	struct icc_streams *s = &icc->streams;
	struct icc_stream *stream = find(icc, pkt);

	if (stream)
		return stream;
	/* One entry always stays unused, where a search ends. */
	if (2 * s->count >= s->room && !renew(icc) && s->count + 1 >= s->room)
		return NULL;
	stream = place(s, key_of(pkt));
	*stream = (struct icc_stream){ .key = key_of(pkt) };
	s->count++;
	return stream;
}

void icc_streams_destroy(struct icc *icc)
{
	free(icc->streams.stream);
}

uint64_t icc_stream_carry(struct icc *icc, const struct tofu_packet *pkt,
			  uint64_t time)
{
	struct icc_stream *stream = find_or_add(icc, pkt);

	if (!stream)
		return UINT64_MAX;
	if (stream->carried < time)
		stream->carried = time;
	return stream->carried;
}

enum tofu_status icc_stream_status(struct icc *icc,
				   const struct tofu_packet *pkt,
				   enum tofu_status status)
{
	struct icc_streams *s = &icc->streams;
	struct icc_stream *stream;

	if (status == TOFU_ST_OK && !s->failures && !s->lost)
		return status;
	stream = status == TOFU_ST_OK ? find(icc, pkt) : find_or_add(icc, pkt);
	if (!stream) {
		s->lost |= status != TOFU_ST_OK;
		/* This put may be the one whose failure could not be kept. */
		if (status == TOFU_ST_OK && pkt->offset && s->lost)
			return TOFU_ST_RMT_MEMORY;
		return status;
	}
	s->failures -= stream->failed != TOFU_ST_OK;
	if (status != TOFU_ST_OK || !pkt->offset)
		stream->failed = (uint8_t)status;
	s->failures += stream->failed != TOFU_ST_OK;
	return stream->failed;
}
