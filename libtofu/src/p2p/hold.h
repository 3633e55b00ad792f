/* SPDX-License-Identifier: MIT */
/*
 * What is known of a peer that holds messages back, or is asked to; see hold.c.
 */
#ifndef P2P_HOLD_H
#define P2P_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "p2p/match.h"

struct p2p_peer;
struct tofu_p2p_request;

/**
 * struct p2p_want - a message that a peer asks for
 * @question: its number
 * @below: receives with lower numbers have all been asked for then
 * @tag, @ignore: of the message, and bits that may differ
 * @send:  it is to be sent, with all that come before it; else offered
 */
struct p2p_want {
	uint32_t question;
	uint64_t below;
	uint64_t tag;
	uint64_t ignore;
	bool send;
};

/**
 * struct p2p_withheld - sends to a peer that has no room for what it does not
 * wait for
 * @held:    it has said so, in @episode; its entry is pinned
 * @asked:   @want has to be answered
 * @seen:    of the last one that has been
 * @next:    first send of the queue that has not been offered
 * @offered: the send whose offer has no answer yet
 * @last:    sends up to this one are sent, wanted or not
 */
struct p2p_withheld {
	bool held;
	bool asked;
	uint32_t episode;
	struct p2p_want want;
	uint64_t seen;
	struct tofu_p2p_request *next;
	struct tofu_p2p_request *offered;
	struct tofu_p2p_request *last;
};

/**
 * struct p2p_holding - a peer that is asked to hold back what nobody waits for
 * @held:     since @episode; in the list of those
 * @tell:     P2P_HOLD or P2P_GO, which has to be sent; 0: none. The entry is pinned
 *            while it is held or this is not 0
 * @deaf:     messages that it has sent all the same, without an offer
 * @offers:   it has offered something
 * @asking:   @question has no answer yet
 * @base:     receives with lower numbers were there at its first offer
 * @next:     first of the sought receives that it has not been asked for
 * @probe:    what has been looked for last: has to be asked for, where @probing
 * @declined: handle of an offer that nobody waits for, which has to be said, or 0
 */
struct p2p_holding {
	bool held;
	bool offers;
	bool asking;
	bool probing;
	uint8_t tell;
	uint32_t episode;
	uint32_t question;
	uint32_t deaf;
	uint64_t base;
	const struct tofu_p2p_request *next;
	struct p2p_match_want probe;
	uint64_t declined;
	TAILQ_ENTRY(p2p_peer) link;
};

#endif /* P2P_HOLD_H */
