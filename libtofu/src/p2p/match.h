/* SPDX-License-Identifier: MIT */
/*
 * Matching of messages with receives, in MPI's order: a message goes to the
 * earliest receive that fits, a receive gets the earliest message that fits.
 * Only sources and tags matter here; the entries belong to the caller.
 *
 * A hash table has a queue for each key in use. The key of a receive is what it
 * asks for: source and tag, one of them, or neither. A receive could ask for a
 * message in four ways, so a message waits in the queues of these four keys. So
 * each call looks at four heads at most, however much is waiting, even with
 * wildcards.
 */
#ifndef P2P_MATCH_H
#define P2P_MATCH_H

#include <stddef.h>
#include <stdint.h>

/* Wildcards of a receive */
#define P2P_ANY_SOURCE 1U
#define P2P_ANY_TAG 2U
#define P2P_MATCH_WAYS 4

/**
 * struct p2p_match_key - key of a queue
 * @tag:    0 for any
 * @source: 0 for any
 * @any:    P2P_ANY_*
 */
struct p2p_match_key {
	uint64_t tag;
	uint32_t source;
	uint32_t any;
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
 */
struct p2p_match_receive {
	struct p2p_match_link link;
	uint64_t number;
};

/**
 * struct p2p_match_message - a message that no receive has matched
 * @link: in four queues, by P2P_ANY_*
 */
struct p2p_match_message {
	struct p2p_match_link link[P2P_MATCH_WAYS];
};

/**
 * struct p2p_match_memory - allocator of tables
 * @take: returns zeroed memory, or NULL; then the buckets stay as they are
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
 * @ways:    queues by P2P_ANY_*, so that wildcards without a queue are skipped
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
 * struct p2p_match
 * @posted:  receives
 * @arrived: messages
 * @memory:  allocator of the tables
 * @seed:    secret seed of the hash: peers choose the tags
 * @number:  number of the next receive
 * @steps:   links visited so far
 */
struct p2p_match {
	struct p2p_match_table posted;
	struct p2p_match_table arrived;
	struct p2p_match_memory memory;
	uint64_t seed;
	uint64_t number;
	uint64_t steps;
};

/* p2p_match_init - set up @match, which must not move until p2p_match_free() */
void p2p_match_init(struct p2p_match *match,
		    const struct p2p_match_memory *memory, uint64_t seed);

/* p2p_match_free - free the tables, whatever waits in them */
void p2p_match_free(struct p2p_match *match);

/**
 * p2p_match_posted - find the receive for a message
 *
 * Return: the earliest receive that fits, still in its queue; or NULL.
 */
struct p2p_match_receive *p2p_match_posted(struct p2p_match *match,
					   uint32_t source, uint64_t tag);

/**
 * p2p_match_arrived - find the message for a receive
 * @any: P2P_ANY_*; @source or @tag is ignored then
 *
 * Return: the earliest message that fits, still in its queues; or NULL.
 */
struct p2p_match_message *p2p_match_arrived(struct p2p_match *match,
					    uint32_t source, uint64_t tag,
					    unsigned int any);

/* p2p_match_post - append a receive */
void p2p_match_post(struct p2p_match *match, struct p2p_match_receive *receive,
		    uint32_t source, uint64_t tag, unsigned int any);

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
