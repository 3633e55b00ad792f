/* SPDX-License-Identifier: MIT */
/*
 * Shared receive buffers for the layers above: rings with one sender.
 *
 * Such a ring has the same records, but no producer at its owner: the sender
 * counts for itself, in its struct tofu_srb_single, and asks nobody for a
 * place. There are no epochs, for its sender is the only one whom a hole harms:
 * all places are of epoch 0. The owner uses a struct srb_ring as it is, in
 * memory that is 0 when the ring begins, with srb_ring_receive() and
 * srb_ring_release().
 *
 * May include: utofu/
 */
#ifndef SRB_SRB_H
#define SRB_SRB_H

#include "srb/ring.h"

/**
 * struct tofu_srb_single - a ring with one sender, as this knows it
 * @peer:     .address.vcq, the owner's; all else is 0 to begin with
 * @memory:   STADD of the ring, a multiple of 8
 * @consumer: STADD of the consumer's word
 * @bytes:    of the ring: power of two, 32 or more
 * @producer: place of the next record; 0 to begin with
 *
 * An owner that tells its consumer by other ways lets the sender write it to
 * @peer.consumer: then it is read less often.
 */
struct tofu_srb_single {
	struct tofu_srb_peer peer;
	utofu_stadd_t memory;
	utofu_stadd_t consumer;
	uint64_t bytes;
	uint64_t producer;
};

/* tofu_srb_send_single - as tofu_srb_send() */
int tofu_srb_send_single(struct tofu_srb_sender *sender,
			 struct tofu_srb_single *single,
			 const struct iovec *part, unsigned int parts,
			 void *cbdata);

/* tofu_srb_create_at - tofu_srb_create(), and the first record's place */
int tofu_srb_create_at(utofu_vcq_hdl_t vcq,
		       const struct tofu_srb_params *params, uint64_t place,
		       struct tofu_srb **srb);

/**
 * struct srb_where - what an address says
 * @stag:  of the counters; those of the epochs follow
 * @bytes: of the ring
 */
struct srb_where {
	unsigned int stag;
	uint64_t bytes;
};

/* srb_where - false: that is no ring's word */
bool srb_where(uint64_t ring, struct srb_where *where);

/* srb_epoch_stag - STAG of the ring in the epoch of a place */
static inline unsigned int srb_epoch_stag(unsigned int stag, uint64_t place)
{
	return stag + 1 + srb_epoch(place) % SRB_EPOCH_STAGS;
}

#endif /* SRB_SRB_H */
