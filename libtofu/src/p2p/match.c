// SPDX-License-Identifier: MIT
/* Matching of messages with receives. */
#include "p2p/match.h"

/* ---- Keys ---- */

static inline unsigned int way_of(unsigned int mask, bool any)
{
	return 2 * mask + any;
}

static struct p2p_match_key key_of(const struct p2p_match *match,
				   uint32_t source, uint64_t tag,
				   unsigned int way)
{
	return (struct p2p_match_key){
		.tag = tag & ~match->mask[way / 2].bits,
		.source = way % 2 ? 0 : source,
		.way = way,
	};
}

static bool key_equal(const struct p2p_match_key *a,
		      const struct p2p_match_key *b)
{
	return a->tag == b->tag && a->source == b->source && a->way == b->way;
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
	uint64_t who = (uint64_t)key->source << 4 | key->way, hash;

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

	if (!table->ways[key->way])
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
		match->tables.give(match->tables.arg, table->bucket,
				   table->buckets * sizeof(table->bucket[0]));
}

/* Adds buckets; without memory the table just stays slower. */
static void table_grow(struct p2p_match *match, struct p2p_match_table *table)
{
	struct p2p_match_link **old = table->bucket;
	size_t buckets = table->buckets;
	size_t more = buckets == 1 ? P2P_MATCH_BUCKETS : 2 * buckets;
	struct p2p_match_link **bucket = match->tables.take(match->tables.arg,
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
		match->tables.give(match->tables.arg, old, buckets * sizeof(*old));
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
	table->ways[key->way]++;
}

static void dequeue(struct p2p_match_table *table, struct p2p_match_link *link)
{
	struct p2p_match_link **at = link->at, *next = link->next;

	if (at)
		chain_out(link);
	if (next == link) {
		table->queues--;
		table->ways[link->key.way]--;
		return;
	}
	next->prev = link->prev;
	link->prev->next = next;
	if (at)
		chain_in(at, next);
}

/* ---- Masks ---- */

/* All messages, the earliest first: the queue of what asks for anything */
static struct p2p_match_link *all_find(struct p2p_match *match)
{
	const struct p2p_match_key key = {
		.way = way_of(P2P_MASK_ALL, true),
	};

	return find(match, &match->arrived, &key);
}

static struct p2p_match_message *message_of_all(struct p2p_match_link *link)
{
	return (void *)(link - way_of(P2P_MASK_ALL, true));
}

static inline uint64_t message_tag(const struct p2p_match_message *message)
{
	return message->link[0].key.tag;
}

static inline uint32_t message_source(const struct p2p_match_message *message)
{
	return message->link[0].key.source;
}

/* Gives a message its places for a mask. Return: false without memory. */
static bool places_make(struct p2p_match *match, unsigned int mask,
			struct p2p_match_message *message)
{
	struct p2p_match_places *places =
		match->places.take(match->places.arg, sizeof(*places));

	if (!places)
		return false;
	places->message = message;
	places->next = message->more;
	message->more = places;
	for (unsigned int any = 0; any < 2; any++) {
		struct p2p_match_key key =
			key_of(match, message_source(message),
			       message_tag(message), way_of(mask, any));

		enqueue(match, &match->arrived, &places->link[any], &key);
	}
	return true;
}

static void places_free(struct p2p_match *match,
			struct p2p_match_places **at)
{
	struct p2p_match_places *places = *at;

	*at = places->next;
	dequeue(&match->arrived, &places->link[0]);
	dequeue(&match->arrived, &places->link[1]);
	match->places.give(match->places.arg, places, sizeof(*places));
}

static void message_forget(struct p2p_match *match, unsigned int mask,
			   struct p2p_match_message *message)
{
	struct p2p_match_places **at = &message->more;

	while (*at && (*at)->link[0].key.way != way_of(mask, false))
		at = &(*at)->next;
	if (*at)
		places_free(match, at);
}

/* From now on what asks with this mask goes through all messages. */
static void mask_unlink(struct p2p_match *match, unsigned int mask)
{
	struct p2p_match_link *first = all_find(match), *link = first;

	match->mask[mask].linked = false;
	if (!first)
		return;
	do {
		message_forget(match, mask, message_of_all(link));
		link = link->next;
	} while (link != first);
}

/*
 * Gives all messages places for a mask when it is asked for the second time.
 *
 * Return: whether they have them.
 */
static bool mask_link(struct p2p_match *match, unsigned int mask)
{
	struct p2p_match_link *first, *link;

	if (match->mask[mask].linked || !match->mask[mask].asked) {
		match->mask[mask].asked = true;
		return match->mask[mask].linked;
	}
	first = link = all_find(match);
	if (first)
		do {
			match->steps++;
			if (!places_make(match, mask, message_of_all(link))) {
				mask_unlink(match, mask);
				return false;
			}
			link = link->next;
		} while (link != first);
	match->mask[mask].linked = true;
	return true;
}

static bool mask_waits(const struct p2p_match *match, unsigned int mask)
{
	return match->posted.ways[way_of(mask, false)] ||
	       match->posted.ways[way_of(mask, true)];
}

/*
 * Return: a place for one more mask: a free one, or that of a mask with which
 * no receive waits; P2P_MATCH_MASKS if there is none.
 */
static unsigned int mask_place(struct p2p_match *match)
{
	if (match->masks < P2P_MATCH_MASKS)
		return match->masks++;
	for (unsigned int i = P2P_MASK_ALL + 1; i < P2P_MATCH_MASKS; i++) {
		unsigned int mask = match->evict;

		match->evict = mask + 1 < P2P_MATCH_MASKS ? mask + 1 :
							    P2P_MASK_ALL + 1;
		if (mask_waits(match, mask))
			continue;
		mask_unlink(match, mask);
		return mask;
	}
	return P2P_MATCH_MASKS;
}

/* Out of line: most receives ignore nothing, or everything. */
__attribute__((noinline)) static unsigned int
mask_find(struct p2p_match *match, uint64_t ignore)
{
	unsigned int mask;

	for (mask = P2P_MASK_ALL + 1; mask < match->masks; mask++)
		if (match->mask[mask].bits == ignore)
			return mask;
	mask = mask_place(match);
	if (mask < P2P_MATCH_MASKS)
		match->mask[mask] = (struct p2p_match_mask){ .bits = ignore };
	return mask;
}

/* Return: the mask's number, or P2P_MATCH_MASKS if it has none. */
static inline unsigned int mask_of(struct p2p_match *match, uint64_t ignore)
{
	if (!ignore)
		return P2P_MASK_NONE;
	return ignore == UINT64_MAX ? P2P_MASK_ALL : mask_find(match, ignore);
}

/* ---- What has no queue of its own ---- */

static bool fits(const struct p2p_match_want *want, uint32_t source,
		 uint64_t tag)
{
	return (want->any || want->source == source) &&
	       !((want->tag ^ tag) & ~want->ignore);
}

static struct p2p_match_message *
message_search(struct p2p_match *match, const struct p2p_match_want *want)
{
	struct p2p_match_link *first = all_find(match), *link = first;

	if (!first)
		return NULL;
	do {
		struct p2p_match_message *message = message_of_all(link);

		match->steps++;
		if (fits(want, message_source(message), message_tag(message)))
			return message;
		link = link->next;
	} while (link != first);
	return NULL;
}

static struct p2p_match_receive *odd_search(struct p2p_match *match,
					    uint32_t source, uint64_t tag)
{
	struct p2p_match_link *link = match->odd;

	do {
		struct p2p_match_receive *receive = (void *)link;
		const struct p2p_match_want want = {
			.tag = link->key.tag,
			.ignore = receive->ignore,
			.source = link->key.source,
			.any = link->key.way != P2P_MATCH_ODD,
		};

		match->steps++;
		if (fits(&want, source, tag))
			return receive;
		link = link->next;
	} while (link != match->odd);
	return NULL;
}

static void odd_post(struct p2p_match *match, struct p2p_match_receive *receive,
		     const struct p2p_match_want *want)
{
	struct p2p_match_link *link = &receive->link, *first = match->odd;

	link->key = (struct p2p_match_key){
		.tag = want->tag,
		.source = want->source,
		.way = P2P_MATCH_ODD + want->any,
	};
	link->next = first ? first : link;
	link->prev = first ? first->prev : link;
	link->next->prev = link;
	link->prev->next = link;
	if (!first)
		match->odd = link;
}

static void odd_unpost(struct p2p_match *match, struct p2p_match_link *link)
{
	link->next->prev = link->prev;
	link->prev->next = link->next;
	if (match->odd == link)
		match->odd = link->next == link ? NULL : link->next;
}

/* ---- Matching ---- */

void p2p_match_init(struct p2p_match *match,
		    const struct p2p_match_memory *tables,
		    const struct p2p_match_memory *places, uint64_t seed)
{
	*match = (struct p2p_match){
		.mask = {
			[P2P_MASK_NONE] = { .bits = 0, .linked = true },
			[P2P_MASK_ALL] = { .bits = UINT64_MAX, .linked = true },
		},
		.masks = 2,
		.evict = P2P_MASK_ALL + 1,
		.tables = *tables,
		.places = *places,
		.seed = seed,
	};
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
	struct p2p_match_receive *first = NULL, *receive;

	for (unsigned int way = 0; way < 2 * match->masks; way++) {
		struct p2p_match_key key;

		if (!match->posted.ways[way])
			continue;
		key = key_of(match, source, tag, way);
		/* The link is its first member. */
		receive = (void *)find(match, &match->posted, &key);
		if (receive && (!first || receive->number < first->number))
			first = receive;
	}
	if (!match->odd)
		return first;
	receive = odd_search(match, source, tag);
	return receive && (!first || receive->number < first->number) ?
		       receive :
		       first;
}

/* A message's links are in the order of the ways. */
static struct p2p_match_message *message_of(struct p2p_match_link *link,
					    unsigned int way)
{
	struct p2p_match_places *places;

	if (way < 4)
		return (void *)(link - way);
	places = (void *)(link - way % 2);
	return places->message;
}

struct p2p_match_message *
p2p_match_arrived(struct p2p_match *match, const struct p2p_match_want *want)
{
	struct p2p_match_link *link;
	struct p2p_match_key key;
	unsigned int mask, way;

	if (!match->arrived.queues)
		return NULL;
	mask = mask_of(match, want->ignore);
	if (mask == P2P_MATCH_MASKS || !mask_link(match, mask))
		return message_search(match, want);
	way = way_of(mask, want->any);
	key = key_of(match, want->source, want->tag, way);
	link = find(match, &match->arrived, &key);
	return link ? message_of(link, way) : NULL;
}

void p2p_match_post(struct p2p_match *match, struct p2p_match_receive *receive,
		    const struct p2p_match_want *want)
{
	unsigned int mask = mask_of(match, want->ignore);
	struct p2p_match_key key;

	receive->number = match->number++;
	receive->ignore = want->ignore;
	if (mask == P2P_MATCH_MASKS) {
		odd_post(match, receive, want);
		return;
	}
	key = key_of(match, want->source, want->tag, way_of(mask, want->any));
	enqueue(match, &match->posted, &receive->link, &key);
}

void p2p_match_arrive(struct p2p_match *match,
		      struct p2p_match_message *message, uint32_t source,
		      uint64_t tag)
{
	message->more = NULL;
	for (unsigned int way = 0; way < 4; way++) {
		struct p2p_match_key key = key_of(match, source, tag, way);

		enqueue(match, &match->arrived, &message->link[way], &key);
	}
	for (unsigned int i = P2P_MASK_ALL + 1; i < match->masks; i++)
		if (match->mask[i].linked && !places_make(match, i, message))
			mask_unlink(match, i);
}

void p2p_match_unpost(struct p2p_match *match,
		      struct p2p_match_receive *receive)
{
	if (receive->link.key.way >= P2P_MATCH_ODD)
		odd_unpost(match, &receive->link);
	else
		dequeue(&match->posted, &receive->link);
}

void p2p_match_take(struct p2p_match *match, struct p2p_match_message *message)
{
	while (message->more)
		places_free(match, &message->more);
	for (unsigned int way = 0; way < 4; way++)
		dequeue(&match->arrived, &message->link[way]);
}
