/* SPDX-License-Identifier: MIT */
/*
 * Matching of messages with receives, in MPI's order: a message goes to the
 * earliest receive that fits, a receive gets the earliest message that fits.
 * Only sources and tags matter here; the entries belong to the caller.
 *
 * A receive asks for one source or any, and for a tag, of which it may ignore
 * some bits. The ways to ask are numbered: a mask of ignored bits, and whether
 * any source will do. A hash table has a queue for each key in use: the source
 * and the bits of the tag that count, and the way. A receive waits in one queue,
 * a message in one of each way that is known. So each call looks at as many
 * heads as there are ways, however much is waiting, even with wildcards.
 *
 * The masks that ignore nothing and everything are always there; others are kept
 * while there is room in their table. What asks with a mask that is not in it is
 * found by going through a list.
 */
#ifndef P2P_MATCH_H
#define P2P_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Masks that are hashed at a time; the first two are always these */
#define P2P_MATCH_MASKS 8
#define P2P_MASK_NONE 0
#define P2P_MASK_ALL 1

/* Ways to ask: by a mask, and from one source or from any */
#define P2P_MATCH_WAYS (2 * P2P_MATCH_MASKS)
/* The way of the receives whose mask has no place */
#define P2P_MATCH_ODD P2P_MATCH_WAYS

/**
 * struct p2p_match_key - key of a queue
 * @tag:    without the ignored bits
 * @source: 0 for any
 * @way:    how this is asked for
 */
struct p2p_match_key {
	uint64_t tag;
	uint32_t source;
	uint32_t way;
};

/**
 * struct p2p_match_link - a place in a queue
 * @next:  next link of the queue, which is a circle
 * @prev:  previous link
 * @chain: of a queue's head: next queue of the bucket
 * @at:    of a queue's head: what points to it in the bucket; else NULL
 * @key:   key of the queue
 */
struct p2p_match_link {
	struct p2p_match_link *next;
	struct p2p_match_link *prev;
	struct p2p_match_link *chain;
	struct p2p_match_link **at;
	struct p2p_match_key key;
};

/**
 * struct p2p_match_receive - a receive that waits for its message
 * @link:   in the one queue that it waits in
 * @number: sequence number
 * @ignore: bits of the tag that do not count
 */
struct p2p_match_receive {
	struct p2p_match_link link;
	uint64_t number;
	uint64_t ignore;
};

struct p2p_match_message;

/**
 * struct p2p_match_places - places of a message in the queues of one more mask
 * @link:    by one source, and by any
 * @message: the message
 * @next:    its places for another mask
 */
struct p2p_match_places {
	struct p2p_match_link link[2];
	struct p2p_match_message *message;
	struct p2p_match_places *next;
};

/**
 * struct p2p_match_message - a message that no receive has matched
 * @link: in the queues of the first two masks, by ways
 * @more: places in the queues of others
 */
struct p2p_match_message {
	struct p2p_match_link link[4];
	struct p2p_match_places *more;
};

/**
 * struct p2p_match_memory - allocator
 * @take: returns zeroed memory, or NULL: then tables stay as they are, and masks
 *        without places
 * @give: frees what @take has returned
 * @arg:  argument of both
 */
struct p2p_match_memory {
	void *(*take)(void *arg, size_t bytes);
	void (*give)(void *arg, void *memory, size_t bytes);
	void *arg;
};

/* Queues that are one chain: to go through it takes less than a hash. */
#define P2P_MATCH_CHAINED 4

/* Buckets when there are more */
#define P2P_MATCH_BUCKETS 16

/**
 * struct p2p_match_table - queues by their keys
 * @bucket:  array of @buckets, a power of two
 * @least:   the first bucket, which needs no memory
 * @queues:  number of queues, none of them empty
 * @grow_at: number of queues at which to add buckets
 * @ways:    queues by way, so that ways without a queue are skipped
 */
struct p2p_match_table {
	struct p2p_match_link **bucket;
	struct p2p_match_link *least;
	size_t buckets;
	size_t queues;
	size_t grow_at;
	size_t ways[P2P_MATCH_WAYS];
};

/**
 * struct p2p_match_mask - bits of tags that receives ignore
 * @bits:   these bits
 * @asked:  somebody has looked for a message with it: who does so again does not
 *          go through the list
 * @linked: all messages have places for it
 */
struct p2p_match_mask {
	uint64_t bits;
	bool asked;
	bool linked;
};

/**
 * struct p2p_match
 * @posted:  receives
 * @arrived: messages
 * @mask:    the masks in use, @masks of them
 * @evict:   the next to be replaced
 * @odd:     the first of a circle of receives whose mask is none of these
 * @tables:  allocator of the tables
 * @places:  allocator of messages' places
 * @seed:    secret seed of the hash: peers choose the tags
 * @number:  number of the next receive
 * @steps:   links visited so far
 */
struct p2p_match {
	struct p2p_match_table posted;
	struct p2p_match_table arrived;
	struct p2p_match_mask mask[P2P_MATCH_MASKS];
	unsigned int masks;
	unsigned int evict;
	struct p2p_match_link *odd;
	struct p2p_match_memory tables;
	struct p2p_match_memory places;
	uint64_t seed;
	uint64_t number;
	uint64_t steps;
};

/* p2p_match_init - set up @match, which must not move until p2p_match_free() */
void p2p_match_init(struct p2p_match *match,
		    const struct p2p_match_memory *tables,
		    const struct p2p_match_memory *places, uint64_t seed);

/* p2p_match_free - free the tables; no message may be left */
void p2p_match_free(struct p2p_match *match);

/**
 * struct p2p_match_want - what a receive asks for
 * @tag:    of the message
 * @ignore: bits of @tag that may differ
 * @source: of the message
 * @any:    any source will do
 */
struct p2p_match_want {
	uint64_t tag;
	uint64_t ignore;
	uint32_t source;
	bool any;
};

/**
 * p2p_match_posted - find the receive for a message
 *
 * Return: the earliest receive that fits, still in its queue; or NULL.
 */
struct p2p_match_receive *p2p_match_posted(struct p2p_match *match,
					   uint32_t source, uint64_t tag);

/**
 * p2p_match_arrived - find the message for a receive
 *
 * Return: the earliest message that fits, still in its queues; or NULL.
 */
struct p2p_match_message *
p2p_match_arrived(struct p2p_match *match, const struct p2p_match_want *want);

/* p2p_match_post - append a receive */
void p2p_match_post(struct p2p_match *match, struct p2p_match_receive *receive,
		    const struct p2p_match_want *want);

/* p2p_match_arrive - append a message */
void p2p_match_arrive(struct p2p_match *match,
		      struct p2p_match_message *message, uint32_t source,
		      uint64_t tag);

/* p2p_match_unpost - remove a receive that is matched or cancelled */
void p2p_match_unpost(struct p2p_match *match,
		      struct p2p_match_receive *receive);

/* p2p_match_take - remove a message */
void p2p_match_take(struct p2p_match *match, struct p2p_match_message *message);

#endif /* P2P_MATCH_H */
