/* SPDX-License-Identifier: MIT */
/*
 * Receiving records from rings, by polling, or in virtual time by the logs. The
 * top of ring.c describes the memory ordering.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

/* Requests taken from one node in one poll. */
#define REQUESTS_A_POLL 64

/* Polls between two checks whether peers live, while the thread is awake. */
#define POLLS_A_WATCH 256

/*
 * The context of a look at rings; in virtual time also the packet that is
 * wanted, and whether it was found.
 */
struct look {
	struct tofu_shm *shm;
	const struct tofu_fabric_handler *handler;
	void *ctx;
	uint16_t entry;
	bool *found;
};

enum taken {
	TAKEN, /* or dropped: continue */
	KEPT,
	MALFORMED,
};

/*
 * Join the connection that the producer has begun. The producer may wait for
 * that, since records of the connection before may fill the ring. It is woken
 * even if want_head is 0: a consumer of the connection before may have cleared
 * it.
 */
static void join_rx(struct tofu_shm *shm, uint32_t node,
		    struct tofu_rx *rx)
{
	rx->head = TOFU_SHM_ROUND(tofu_load(&rx->ring->start));
	rx->ready = true;
	tofu_store(&rx->ring->head, rx->head);
	tofu_store_release(&rx->ring->head_conn, rx->conn);
	tofu_ring_notify(shm, node);
}

/*
 * rx_tail - the producer's tail, or rx->head if it has not begun. The tail is
 * read once: the caller uses only the returned value.
 */
static uint64_t rx_tail(struct tofu_shm *shm, uint32_t node,
			struct tofu_rx *rx)
{
	uint64_t tail;

	if (!rx->ready) {
		if (tofu_load_ordered(&rx->ring->conn) != rx->conn)
			return rx->head;
		join_rx(shm, node, rx);
	}
	tail = tofu_load_ordered(&rx->ring->tail);
	if (tail - rx->head > TOFU_SHM_RING || tail % TOFU_SHM_ALIGN) {
		tofu_peer_break(shm, node);
		return rx->head;
	}
	return tail;
}

static bool packet_valid(const struct tofu_shm *shm,
			 const struct tofu_packet *pkt, uint32_t node,
			 enum tofu_class class_, uint32_t bytes)
{
	return pkt->src == node && pkt->payload <= shm->payload_max &&
	       TOFU_SHM_RECORD(pkt->payload) == bytes &&
	       tofu_class_of(pkt->type) == class_;
}

/*
 * Whether a record is a packet to be taken now. In virtual time, records before
 * the wanted one, which were logged before this node came, are dropped.
 */
static bool wanted(const struct look *look,
		   const struct tofu_shm_record *record,
		   const struct tofu_rx *rx)
{
	if (record->pad ||
	    TOFU_SHM_CONN(record->src_gen, record->dst_gen) != rx->conn)
		return false;
	if (look->found)
		*look->found = record->entry == look->entry;
	return !look->found || *look->found;
}

/* Take the record at the head; @avail bytes are there. */
static enum taken take_record(const struct look *look, uint32_t node,
			      enum tofu_class class_, uint64_t avail)
{
	const size_t prefix = offsetof(struct tofu_shm_record, packet);
	struct tofu_rx *rx = &look->shm->peers[node].rx[class_];
	uint64_t pos = rx->head & (TOFU_SHM_RING - 1);
	const uint8_t *shared = rx->data + pos;
	struct tofu_shm_record record;
	enum taken result = TAKEN;

	/* A little payload is on a line of its own, and is copied last. */
	__builtin_prefetch(shared + sizeof(record));
	__builtin_prefetch(shared + sizeof(record) + TOFU_SHM_ALIGN);
	if (avail > TOFU_SHM_RING - pos)
		avail = TOFU_SHM_RING - pos;
	tofu_copy_once(&record, shared, prefix);
	if (!record.bytes || record.bytes % TOFU_SHM_ALIGN ||
	    record.bytes > avail)
		return MALFORMED;
	if (wanted(look, &record, rx)) {
		if (record.bytes < sizeof(record))
			return MALFORMED;
		tofu_copy_once(&record.packet, shared + prefix,
			       sizeof(record.packet));
		if (!packet_valid(look->shm, &record.packet, node, class_,
				  record.bytes))
			return MALFORMED;
		if (look->handler->packet(look->ctx, &record.packet,
					  shared + sizeof(record)))
			result = KEPT;
	}
	if (result == TAKEN) {
		rx->head += record.bytes;
		/* Release: all reads of the record, and of the memory that it
		 * refers to, are done.
		 */
		tofu_store_release(&rx->ring->head, rx->head);
	}
	return result;
}

/* Wake a producer that waits for the head. */
static void head_moved(struct tofu_shm *shm, uint32_t node,
		       struct tofu_rx *rx)
{
	tofu_fence_full();
	if (tofu_load(&rx->ring->want_head) &&
	    __atomic_exchange_n(&rx->ring->want_head, 0, __ATOMIC_SEQ_CST))
		tofu_ring_notify(shm, node);
}

/*
 * Take no request after the first one whose memory has gone with its sender: a
 * program that sees the effect of a later one may rely on all before it.
 */
static bool takes_more(const struct tofu_peer *peer, enum tofu_class class_)
{
	return !peer->broken && (class_ == TOFU_RESPONSE || !peer->lost);
}

/* Take records up to @tail, at most @max; true when any was taken. */
static bool take_ring(const struct look *look, uint32_t node,
		      enum tofu_class class_, uint64_t tail, unsigned int max)
{
	struct tofu_peer *peer = &look->shm->peers[node];
	struct tofu_rx *rx = &peer->rx[class_];
	enum taken result = TAKEN;
	unsigned int count = 0;

	while (result == TAKEN && rx->head != tail && count < max &&
	       takes_more(peer, class_)) {
		result = take_record(look, node, class_, tail - rx->head);
		count += result == TAKEN;
	}
	if (result == MALFORMED)
		tofu_peer_break(look->shm, node);
	if (count)
		head_moved(look->shm, node, rx);
	return count;
}

/* Bounded by the ring: the tail is read once. */
static bool take_responses(const struct look *look, uint32_t node,
			   uint64_t tail)
{
	return take_ring(look, node, TOFU_RESPONSE, tail, UINT32_MAX);
}

/* Both rings from a node, in the order that fabric.h promises. */
static bool take_from(const struct look *look, uint32_t node)
{
	struct tofu_shm *shm = look->shm;
	struct tofu_peer *peer = tofu_peer_get(shm, node);
	uint64_t tail[TOFU_CLASSES];
	bool work;

	tofu_bit_clear(shm->todo, node);
	if (!peer || peer->lost || peer->broken)
		return false;
	tail[TOFU_REQUEST] = rx_tail(shm, node, &peer->rx[TOFU_REQUEST]);
	tail[TOFU_RESPONSE] = rx_tail(shm, node, &peer->rx[TOFU_RESPONSE]);
	work = take_responses(look, node, tail[TOFU_RESPONSE]);
	if (peer->rx[TOFU_RESPONSE].head == tail[TOFU_RESPONSE])
		work |= take_ring(look, node, TOFU_REQUEST, tail[TOFU_REQUEST],
				  REQUESTS_A_POLL);
	if (peer->rx[TOFU_REQUEST].head != tail[TOFU_REQUEST] ||
	    peer->rx[TOFU_RESPONSE].head != tail[TOFU_RESPONSE])
		tofu_bit_set(shm->todo, node);
	tofu_follow_seen(shm, node, tail, work);
	return work;
}

/* ---- Polling ---- */

/*
 * Responses that a peer sent before it left or died still count: the commands
 * that they end must not fail. It stays until all of them are taken.
 */
static bool drop_peer(const struct look *look, uint32_t node)
{
	struct tofu_shm *shm = look->shm;
	struct tofu_peer *peer = &shm->peers[node];
	uint64_t tail;

	peer->lost = true;
	if (!peer->broken) {
		tail = rx_tail(shm, node, &peer->rx[TOFU_RESPONSE]);
		take_responses(look, node, tail);
		if (!peer->broken && peer->rx[TOFU_RESPONSE].head != tail)
			return false;
	}
	tofu_peer_forget(shm, node);
	look->handler->peer_down(look->ctx, node);
	return true;
}

static bool drop_peers(const struct look *look)
{
	struct tofu_shm *shm = look->shm;
	bool work = false;

	shm->stale = false;
	for (uint32_t n = 0; n < shm->fabric.nodes; n++) {
		if (!shm->peers[n].life || tofu_peer_usable(shm, n))
			continue;
		if (!drop_peer(look, n)) {
			shm->stale = true;
			continue;
		}
		/* A new process with the number may have sent already. */
		tofu_bit_set(shm->todo, n);
		work = true;
	}
	return work;
}

static bool peers_changed(struct tofu_shm *shm)
{
	uint64_t epoch = tofu_load_acquire(&tofu_shm_header(shm)->epoch);
	bool changed;

	if (!(++shm->polls % POLLS_A_WATCH) || shm->alone)
		tofu_peer_watch(shm, false);
	shm->alone = false;
	changed = shm->stale || epoch != shm->epoch;
	shm->epoch = epoch;
	return changed;
}

static void collect_pending(struct tofu_shm *shm, uint32_t word)
{
	struct tofu_shm_node *entry = tofu_shm_node_of(shm, shm->fabric.self);

	/* Exchange before the tails are read: see the top of ring.c. */
	if (tofu_load(&entry->pending[word]))
		shm->todo[word] |= __atomic_exchange_n(&entry->pending[word],
						       0, __ATOMIC_SEQ_CST);
}

bool tofu_shm_poll(struct tofu_fabric *fabric,
		   const struct tofu_fabric_handler *handler, void *ctx)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	const struct look look = { .shm = shm,
				   .handler = handler,
				   .ctx = ctx };
	bool work = false;

	if (peers_changed(shm))
		work = drop_peers(&look);
	tofu_follow_look(shm);
	for (uint32_t w = 0; w * 64 < shm->fabric.nodes; w++) {
		uint64_t todo;

		collect_pending(shm, w);
		for (todo = shm->todo[w]; todo; todo &= todo - 1)
			work |= take_from(&look,
					  w * 64 + __builtin_ctzll(todo));
	}
	return work;
}

bool tofu_shm_quiet(const struct tofu_fabric *fabric)
{
	const struct tofu_shm *shm =
		tofu_shm_of((struct tofu_fabric *)fabric);
	const struct tofu_shm_node *entry =
		tofu_shm_node_of(shm, fabric->self);
	uint64_t pending = 0;

	for (uint32_t w = 0; w * 64 < fabric->nodes; w++)
		pending |= tofu_load(&entry->pending[w]);
	return !pending && tofu_follow_quiet(shm);
}

/* ---- Virtual time ---- */

/* Join the connections that @node has begun. */
static void meet(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_peer *peer = tofu_peer_get(shm, node);

	if (!peer || peer->lost || peer->broken)
		return;
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++)
		rx_tail(shm, node, &peer->rx[class_]);
}

static void tell_lost(struct tofu_shm *shm,
		      const struct tofu_fabric_handler *handler, void *ctx)
{
	shm->stale = false;
	for (uint32_t n = 0; n < shm->fabric.nodes; n++) {
		if (!shm->peers[n].life || tofu_peer_usable(shm, n))
			continue;
		shm->peers[n].lost = true;
		handler->peer_down(ctx, n);
		tofu_peer_forget(shm, n);
		tofu_bit_set(shm->todo, n);
	}
}

void tofu_shm_meet(struct tofu_fabric *fabric,
		   const struct tofu_fabric_handler *handler, void *ctx)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	if (peers_changed(shm))
		tell_lost(shm, handler, ctx);
	for (uint32_t w = 0; w * 64 < shm->fabric.nodes; w++) {
		uint64_t todo;

		collect_pending(shm, w);
		todo = shm->todo[w];
		shm->todo[w] = 0;
		for (; todo; todo &= todo - 1)
			meet(shm, w * 64 + __builtin_ctzll(todo));
	}
}

bool tofu_shm_take(struct tofu_fabric *fabric, uint32_t node,
		   enum tofu_class class_, uint64_t number,
		   const struct tofu_fabric_handler *handler, void *ctx)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_peer *peer = &shm->peers[node];
	bool found = false;
	const struct look look = { .shm = shm,
				   .handler = handler,
				   .ctx = ctx,
				   .entry = (uint16_t)number,
				   .found = &found };
	enum taken result = TAKEN;
	uint64_t tail;

	if (!peer->life || peer->broken)
		return false;
	tail = rx_tail(shm, node, &peer->rx[class_]);
	while (result == TAKEN && !found && peer->rx[class_].head != tail)
		result = take_record(&look, node, class_,
				     tail - peer->rx[class_].head);
	if (result == TAKEN && found)
		return true;
	tofu_peer_break(shm, node);
	return false;
}
