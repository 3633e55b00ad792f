/* SPDX-License-Identifier: MIT */
/*
 * Shared receive buffers for the layers above: rings with one sender.
 *
 * Such a ring has the same records, but no producer at its owner: the sender
 * counts by itself, in its struct tofu_srb_single, and needs no request for a
 * place. There are no epochs, since a hole harms only the one sender: places
 * go on without end. The owner uses a plain struct srb_ring, in memory that is
 * initially 0, with srb_ring_receive() and srb_ring_release().
 *
 * May include: utofu/
 */
#ifndef SRB_SRB_H
#define SRB_SRB_H

#include "srb/ring.h"

/**
 * struct tofu_srb_single - a ring with one sender, as the sender knows it
 * @peer:     .address.vcq is the owner's; everything else is initially 0
 * @memory:   STADD of the ring, a multiple of 8
 * @consumer: STADD of the consumer's word
 * @bytes:    size of the ring, a power of two, 32 or more
 * @producer: place of the next record; initially 0
 *
 * If the owner reports its consumer in another way, the sender may write it to
 * @peer.consumer, which then is read less often.
 */
struct tofu_srb_single {
	struct tofu_srb_peer peer;
	utofu_stadd_t memory;
	utofu_stadd_t consumer;
	uint64_t bytes;
	uint64_t producer;
};

/**
 * tofu_srb_reserve - begin a record to a ring with one sender
 * @label: comes with the record, in struct srb_ring
 * @bytes: of its payload
 * @to:    set to where the caller has to write that
 *
 * The next call with this sender has to be tofu_srb_commit().
 *
 * Return: as tofu_srb_send().
 */
int tofu_srb_reserve(struct tofu_srb_sender *sender,
		     const struct tofu_srb_single *single, uint16_t label,
		     size_t bytes, void **to);

/* tofu_srb_commit - send the record, as tofu_srb_send() */
void tofu_srb_commit(struct tofu_srb_sender *sender,
		     struct tofu_srb_single *single, void *cbdata);

/* Most bytes of payload that a command has in itself, with the record's words */
#define TOFU_SRB_EXPRESS 16

/**
 * tofu_srb_express - send a short record, which is in its command, at once
 * @word:  its payload, up to a multiple of 8 bytes with zeros
 * @bytes: of its payload, up to TOFU_SRB_EXPRESS
 *
 * The record is on its way before anything is noted of it.
 *
 * Return: whether it is sent; if not, tofu_srb_reserve() has to be tried.
 */
bool tofu_srb_express(struct tofu_srb_sender *sender,
		      struct tofu_srb_single *single, uint16_t label,
		      const uint64_t word[TOFU_SRB_EXPRESS / 8], size_t bytes,
		      void *cbdata);

/* tofu_srb_is_put - whether all that was sent to a ring needs no more of its sender */
bool tofu_srb_is_put(const struct tofu_srb_peer *peer);

/*
 * tofu_srb_sender_create_single - tofu_srb_sender_create() for rings with one
 * sender only, which work without remote atomics
 */
int tofu_srb_sender_create_single(utofu_vcq_hdl_t vcq,
				  const struct tofu_srb_sender_params *params,
				  struct tofu_srb_sender **sender);

/*
 * tofu_srb_is_quiet - whether nobody has reserved anything that has not been
 * released, so that tofu_srb_receive() has nothing to do. It does not poll.
 */
bool tofu_srb_is_quiet(const struct tofu_srb *srb);

/* tofu_srb_create_at - tofu_srb_create() with the place of the first record */
int tofu_srb_create_at(utofu_vcq_hdl_t vcq,
		       const struct tofu_srb_params *params, uint64_t place,
		       struct tofu_srb **srb);

/**
 * struct srb_where - a decoded address
 * @stag:  STAG of the counters; those of the epochs follow
 * @bytes: size of the ring
 */
struct srb_where {
	unsigned int stag;
	uint64_t bytes;
};

/* srb_where - decode the word of a ring; false if it is invalid */
bool srb_where(uint64_t ring, struct srb_where *where);

/* srb_epoch_stag - get the STAG of the ring in the epoch of a place */
static inline unsigned int srb_epoch_stag(unsigned int stag, uint64_t place)
{
	return stag + 1 + srb_epoch(place) % SRB_EPOCH_STAGS;
}

#endif /* SRB_SRB_H */
