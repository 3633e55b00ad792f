/* SPDX-License-Identifier: MIT */
/*
 * Messages between ranks: the vote of the sender, and the packets that go on in
 * the receiver's block, and credits.
 */
#ifndef SIM_PARCELS_H
#define SIM_PARCELS_H

#include "sim/mpi/transport.h"
#include "sim/ranks.h"

/* sim_parcel_clear - nothing is in @out but room for the vote; 0 or -ENOMEM */
int sim_parcel_clear(struct sim_parcel *parcel);

/* sim_parcel_add - 0, -ENOMEM, or -EMSGSIZE; the rest as of sim_ranks_post() */
int sim_parcel_add(struct sim_parcel *parcel, uint32_t node,
		   const struct tofu_net_packet *packet, uint64_t ps,
		   unsigned int at);

/* sim_parcel_add_credit - 0, -ENOMEM, or -EMSGSIZE */
int sim_parcel_add_credit(struct sim_parcel *parcel,
			  const struct tofu_net_credit *credit);

/* sim_parcel_sign - the vote that goes with @out */
void sim_parcel_sign(struct sim_parcel *parcel, const struct sim_vote *vote);

/**
 * sim_parcel_open - hand what is in @in to the block's nodes
 * @vote: of the sender
 *
 * Return: 0, -ENOMEM, or -EPROTO: that is no message of this program's.
 */
int sim_parcel_open(struct sim *sim, const struct sim_parcel *parcel,
		    struct sim_vote *vote);

/* sim_vote_count - another one's vote counts */
void sim_vote_count(struct sim_vote *vote, const struct sim_vote *other);

#endif /* SIM_PARCELS_H */
