/* SPDX-License-Identifier: MIT */
/*
 * How far a record has come, for measurements of its parts (tofu-p2p): no part
 * of the library's face. Of a sender with one slot, between two polls.
 */
#ifndef SRB_MEASURE_H
#define SRB_MEASURE_H

#include "srb/sender.h"

/* srb_record_is_placed - its place in the ring is known */
static inline bool srb_record_is_placed(const struct tofu_srb_sender *sender)
{
	return sender->send[0].stage > SRB_ASKED;
}

/* srb_record_has_read - the consumer has been read for it */
static inline bool srb_record_has_read(const struct tofu_srb_sender *sender)
{
	return sender->send[0].read;
}

/* srb_record_is_put - all of its puts are posted */
static inline bool srb_record_is_put(const struct tofu_srb_sender *sender)
{
	return sender->send[0].stage == SRB_PUT;
}

#endif /* SRB_MEASURE_H */
