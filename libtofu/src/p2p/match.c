// SPDX-License-Identifier: MIT
/* Matching of messages with receives. */
#include "p2p/match.h"

#include <stdbool.h>

/* ---- Keys ---- */

static struct p2p_match_key key_of(uint32_t source, uint64_t tag,
				   unsigned int any)
{
	return (struct p2p_match_key){
		.tag = any & P2P_ANY_TAG ? 0 : tag,
		.source = any & P2P_ANY_SOURCE ? 0 : source,
		.any = any,
	};
}

static bool key_equal(const struct p2p_match_key *a,
		      const struct p2p_match_key *b)
{
	return a->tag == b->tag && a->source == b->source && a->any == b->any;
}

/* The finalizer of MurmurHash3: each bit of the result depends on all. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 33) * UINT64_C(0xff51afd7ed558ccd);
	x = (x ^ x >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

static inline struct p2p_match_link **
bucket_of(const struct p2p_match *match, const struct p2p_match_table *table,
	  const struct p2p_match_key *key)
{
	uint64_t who = (uint64_t)key->source << 2 | key->any, hash;

	if (table->buckets == 1)
		return table->bucket;
	hash = mix(mix(match->seed ^ key->tag) + match->seed + who);
	return &table->bucket[hash & (table->buckets - 1)];
}

/* ---- Queues in a table ---- */

/* Finds the head of a key's queue, or NULL. */
static inline struct p2p_match_link *find(struct p2p_match *match,
					  const struct p2p_match_table *table,
					  const struct p2p_match_key *key)
{
	struct p2p_match_link *link;

	if (!table->ways[key->any])
		return NULL;
	link = *bucket_of(match, table, key);
	while (link) {
		match->steps++;
		if (key_equal(&link->key, key))
			break;
		link = link->chain;
	}
	return link;
}

static void chain_in(struct p2p_match_link **at, struct p2p_match_link *head)
{
	head->at = at;
	head->chain = *at;
	if (head->chain)
		head->chain->at = &head->chain;
	*at = head;
}

static void chain_out(struct p2p_match_link *head)
{
	*head->at = head->chain;
	if (head->chain)
		head->chain->at = head->at;
	head->at = NULL;
}

static void table_init(struct p2p_match_table *table)
{
	*table = (struct p2p_match_table){
		.bucket = &table->least,
		.buckets = 1,
		.grow_at = P2P_MATCH_CHAINED,
	};
}

static void table_free(struct p2p_match *match, struct p2p_match_table *table)
{
	if (table->bucket != &table->least)
		match->memory.give(match->memory.arg, table->bucket,
				   table->buckets * sizeof(table->bucket[0]));
}

/* Adds buckets; without memory the table just stays slower. */
static void table_grow(struct p2p_match *match, struct p2p_match_table *table)
{
	struct p2p_match_link **old = table->bucket;
	size_t buckets = table->buckets;
	size_t more = buckets == 1 ? P2P_MATCH_BUCKETS : 2 * buckets;
	struct p2p_match_link **bucket = match->memory.take(match->memory.arg,
							    more * sizeof(*bucket));

	table->grow_at = bucket ? more : 2 * table->grow_at;
	if (!bucket)
		return;
	table->bucket = bucket;
	table->buckets = more;
	for (size_t i = 0; i < buckets; i++)
		while (old[i]) {
			struct p2p_match_link *head = old[i];

			match->steps++;
			old[i] = head->chain;
			chain_in(bucket_of(match, table, &head->key), head);
		}
	if (old != &table->least)
		match->memory.give(match->memory.arg, old, buckets * sizeof(*old));
}

static void enqueue(struct p2p_match *match, struct p2p_match_table *table,
		    struct p2p_match_link *link,
		    const struct p2p_match_key *key)
{
	struct p2p_match_link *head = find(match, table, key);

	link->key = *key;
	if (head) {
		link->at = NULL;
		link->next = head;
		link->prev = head->prev;
		head->prev->next = link;
		head->prev = link;
		return;
	}
	if (table->queues >= table->grow_at)
		table_grow(match, table);
	link->next = link;
	link->prev = link;
	chain_in(bucket_of(match, table, key), link);
	table->queues++;
	table->ways[key->any]++;
}

static void dequeue(struct p2p_match_table *table, struct p2p_match_link *link)
{
	struct p2p_match_link **at = link->at, *next = link->next;

	if (at)
		chain_out(link);
	if (next == link) {
		table->queues--;
		table->ways[link->key.any]--;
		return;
	}
	next->prev = link->prev;
	link->prev->next = next;
	if (at)
		chain_in(at, next);
}

/* ---- Matching ---- */

void p2p_match_init(struct p2p_match *match,
		    const struct p2p_match_memory *memory, uint64_t seed)
{
	*match = (struct p2p_match){ .memory = *memory, .seed = seed };
	table_init(&match->posted);
	table_init(&match->arrived);
}

void p2p_match_free(struct p2p_match *match)
{
	table_free(match, &match->posted);
	table_free(match, &match->arrived);
}

struct p2p_match_receive *p2p_match_posted(struct p2p_match *match,
					   uint32_t source, uint64_t tag)
{
	struct p2p_match_receive *first = NULL;

	for (unsigned int any = 0; any < P2P_MATCH_WAYS; any++) {
		struct p2p_match_receive *receive;
		struct p2p_match_key key;

		if (!match->posted.ways[any])
			continue;
		key = key_of(source, tag, any);
		/* The link is its first member. */
		receive = (void *)find(match, &match->posted, &key);
		if (receive && (!first || receive->number < first->number))
			first = receive;
	}
	return first;
}

struct p2p_match_message *p2p_match_arrived(struct p2p_match *match,
					    uint32_t source, uint64_t tag,
					    unsigned int any)
{
	struct p2p_match_key key = key_of(source, tag, any);
	struct p2p_match_link *link = find(match, &match->arrived, &key);

	/* A message's links are in the order of P2P_ANY_*. */
	return link ? (void *)(link - any) : NULL;
}

void p2p_match_post(struct p2p_match *match, struct p2p_match_receive *receive,
		    uint32_t source, uint64_t tag, unsigned int any)
{
	struct p2p_match_key key = key_of(source, tag, any);

	receive->number = match->number++;
	enqueue(match, &match->posted, &receive->link, &key);
}

void p2p_match_arrive(struct p2p_match *match,
		      struct p2p_match_message *message, uint32_t source,
		      uint64_t tag)
{
	for (unsigned int any = 0; any < P2P_MATCH_WAYS; any++) {
		struct p2p_match_key key = key_of(source, tag, any);

		enqueue(match, &match->arrived, &message->link[any], &key);
	}
}

void p2p_match_unpost(struct p2p_match *match,
		      struct p2p_match_receive *receive)
{
	dequeue(&match->posted, &receive->link);
}

void p2p_match_take(struct p2p_match *match, struct p2p_match_message *message)
{
	for (unsigned int any = 0; any < P2P_MATCH_WAYS; any++)
		dequeue(&match->arrived, &message->link[any]);
}
