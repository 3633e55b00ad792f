/* SPDX-License-Identifier: MIT */
/*
 * Matching of messages with receives, in MPI's order: a message goes to the
 * earliest receive that fits, a receive gets the earliest message that fits. It
 * knows sources and tags and nothing else; what is matched belongs to the caller.
 *
 * Queues of all that have the same key hang in a hash table. The key of a receive
 * has what it asks for: source and tag, one of them, or nothing. A message could
 * be asked for in four ways, and waits in the four queues of these keys. So each
 * call looks at four heads at most, however much is waiting, with wildcards too.
 */
#ifndef P2P_MATCH_H
#define P2P_MATCH_H

#include <stddef.h>
#include <stdint.h>

/* What a receive does not ask for */
#define P2P_ANY_SOURCE 1U
#define P2P_ANY_TAG 2U
#define P2P_MATCH_WAYS 4

/**
 * struct p2p_match_key - what a queue is of
 * @tag:    0 where it is any
 * @source: likewise
 * @any:    P2P_ANY_*
 */
struct p2p_match_key {
	uint64_t tag;
	uint32_t source;
	uint32_t any;
};

/**
 * struct p2p_match_link - a place in a queue
 * @next:  of the queue, which is a circle
 * @prev:  likewise
 * @chain: next queue of the bucket; of a queue's head
 * @at:    what points to this one in the bucket; NULL if not a queue's head
 * @key:   of the queue
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
 * @number: of the receive, counted
 */
struct p2p_match_receive {
	struct p2p_match_link link;
	uint64_t number;
};

/**
 * struct p2p_match_message - a message that nobody has asked for yet
 * @link: by P2P_ANY_*
 */
struct p2p_match_message {
	struct p2p_match_link link[P2P_MATCH_WAYS];
};

/**
 * struct p2p_match_memory - where tables come from
 * @take: returns zeros, or NULL; then there are no more buckets than before
 * @give: what @take has returned
 * @arg:  of both
 */
struct p2p_match_memory {
	void *(*take)(void *arg, size_t bytes);
	void (*give)(void *arg, void *memory, size_t bytes);
	void *arg;
};

#define P2P_MATCH_BUCKETS_MIN 8

/**
 * struct p2p_match_table - queues by their keys
 * @bucket:  @buckets of them, a power of two
 * @least:   the buckets that need no memory
 * @queues:  that are not empty
 * @grow_at: queues when more buckets are asked for
 * @ways:    queues by P2P_ANY_*, so that no empty ones are looked for
 */
struct p2p_match_table {
	struct p2p_match_link **bucket;
	struct p2p_match_link *least[P2P_MATCH_BUCKETS_MIN];
	size_t buckets;
	size_t queues;
	size_t grow_at;
	size_t ways[P2P_MATCH_WAYS];
};

/**
 * struct p2p_match
 * @posted:  receives
 * @arrived: messages
 * @memory:  of the tables
 * @seed:    of the hash, which peers should not know: tags are theirs to choose
 * @number:  of the next receive
 * @steps:   links that were looked at since the beginning
 */
struct p2p_match {
	struct p2p_match_table posted;
	struct p2p_match_table arrived;
	struct p2p_match_memory memory;
	uint64_t seed;
	uint64_t number;
	uint64_t steps;
};

/* p2p_match_init - @match stays where it is until p2p_match_free() */
void p2p_match_init(struct p2p_match *match,
		    const struct p2p_match_memory *memory, uint64_t seed);

/* p2p_match_free - give the tables back, whatever waits in them */
void p2p_match_free(struct p2p_match *match);

/**
 * p2p_match_posted - who gets a message
 *
 * Return: the earliest receive that fits, which goes on waiting; or NULL.
 */
struct p2p_match_receive *p2p_match_posted(struct p2p_match *match,
					   uint32_t source, uint64_t tag);

/**
 * p2p_match_arrived - what a receive gets
 * @any: P2P_ANY_*; then @source or @tag is not looked at
 *
 * Return: the earliest message that fits, which goes on waiting; or NULL.
 */
struct p2p_match_message *p2p_match_arrived(struct p2p_match *match,
					    uint32_t source, uint64_t tag,
					    unsigned int any);

/* p2p_match_post - let a receive wait, behind all others */
void p2p_match_post(struct p2p_match *match, struct p2p_match_receive *receive,
		    uint32_t source, uint64_t tag, unsigned int any);

/* p2p_match_arrive - let a message wait, behind all others */
void p2p_match_arrive(struct p2p_match *match,
		      struct p2p_match_message *message, uint32_t source,
		      uint64_t tag);

/* p2p_match_unpost - a receive that waits does so no more: matched, or cancelled */
void p2p_match_unpost(struct p2p_match *match,
		      struct p2p_match_receive *receive);

/* p2p_match_take - a message that waits does so no more */
void p2p_match_take(struct p2p_match *match, struct p2p_match_message *message);

#endif /* P2P_MATCH_H */
