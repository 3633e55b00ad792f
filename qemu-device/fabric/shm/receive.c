/* SPDX-License-Identifier: MIT */
/*
 * Receiving: records out of rings, as a node polls, or as it reads logs in
 * virtual time. The order that this hangs on is at the top of ring.c.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

/* Requests taken from one node in one poll. */
#define REQUESTS_A_POLL 64

/* Polls between two looks at whether peers live, while nothing sleeps. */
#define POLLS_A_WATCH 256

/*
 * What one look at a ring knows; with virtual time, which packet is wanted,
 * and whether it was there.
 */
struct look {
	struct tofu_shm *shm;
	const struct tofu_fabric_handler *handler;
	void *ctx;
	uint16_t entry;
	bool *found;
};

enum taken {
	TAKEN, /* or dropped: go on */
	KEPT,
	MALFORMED,
};

/*
 * Join the connection that the producer has begun. It may wait for just that:
 * to it the ring is full of what the connection before left. And it is woken
 * whether it says so or not: a consumer that still was in the connection
 * before may have taken want_head from it.
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
 * rx_tail - where the producer is now; rx->head where it has not begun.
 * The tail is read once: everything is decided on what is returned.
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
 * Whether a record is a packet that is taken now. With virtual time there may
 * be some before it that this node has not seen in the log: it was not there
 * then.
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
		/* A response is always taken. */
		if (look->handler->packet(look->ctx, &record.packet,
					  shared + sizeof(record)) &&
		    class_ == TOFU_REQUEST)
			result = KEPT;
	}
	if (result == TAKEN) {
		rx->head += record.bytes;
		/* Nothing of the record, or that it refers to, is read later.
		 */
		tofu_store_release(&rx->ring->head, rx->head);
	}
	return result;
}

/* A producer that waits for the head is told. */
static void head_moved(struct tofu_shm *shm, uint32_t node,
		       struct tofu_rx *rx)
{
	tofu_fence_full();
	if (tofu_load(&rx->ring->want_head) &&
	    __atomic_exchange_n(&rx->ring->want_head, 0, __ATOMIC_SEQ_CST))
		tofu_ring_notify(shm, node);
}

/*
 * Requests end with the first whose memory has gone with its sender: who sees
 * what a later one writes may rely on all before it.
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

static bool take_responses(const struct look *look, uint32_t node)
{
	struct tofu_rx *rx = &look->shm->peers[node].rx[TOFU_RESPONSE];

	/* Bounded by the ring: the tail is looked at once. */
	return take_ring(look, node, TOFU_RESPONSE,
			 rx_tail(look->shm, node, rx), UINT32_MAX);
}

/* Both rings from a node, in the order that fabric.h promises. */
static bool take_from(const struct look *look, uint32_t node)
{
	struct tofu_shm *shm = look->shm;
	struct tofu_peer *peer = tofu_peer_get(shm, node);
	uint64_t requests;
	bool work;

	tofu_bit_clear(shm->todo, node);
	if (!peer || peer->lost || peer->broken)
		return false;
	requests = rx_tail(shm, node, &peer->rx[TOFU_REQUEST]);
	work = take_responses(look, node);
	work |= take_ring(look, node, TOFU_REQUEST, requests, REQUESTS_A_POLL);
	if (peer->rx[TOFU_REQUEST].head != requests && !peer->broken)
		tofu_bit_set(shm->todo, node);
	return work;
}

/* ---- Polling ---- */

/*
 * A peer that left or died had sent what it had sent: a response in its ring
 * says how a command ended, and must not be made a failure.
 */
static void drop_peer(const struct look *look, uint32_t node)
{
	struct tofu_shm *shm = look->shm;

	shm->peers[node].lost = true;
	if (!shm->peers[node].broken)
		take_responses(look, node);
	tofu_peer_forget(shm, node);
	look->handler->peer_down(look->ctx, node);
}

static bool drop_peers(const struct look *look)
{
	struct tofu_shm *shm = look->shm;
	bool work = false;

	shm->stale = false;
	for (uint32_t n = 0; n < shm->fabric.nodes; n++) {
		if (!shm->peers[n].life || tofu_peer_usable(shm, n))
			continue;
		drop_peer(look, n);
		/* Another that has the number now may have sent already. */
		tofu_bit_set(shm->todo, n);
		work = true;
	}
	return work;
}

static bool peers_changed(struct tofu_shm *shm)
{
	uint64_t epoch = tofu_load_acquire(&tofu_shm_header(shm)->epoch);
	bool changed;

	if (!(++shm->polls % POLLS_A_WATCH))
		tofu_peer_watch(shm, false);
	changed = shm->stale || epoch != shm->epoch;
	shm->epoch = epoch;
	return changed;
}

static void collect_pending(struct tofu_shm *shm, uint32_t word)
{
	struct tofu_shm_node *entry = tofu_shm_node_of(shm, shm->fabric.self);

	/* Exchanged before the tails are read: see the top of this file. */
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
	for (uint32_t w = 0; w * 64 < shm->fabric.nodes; w++) {
		uint64_t todo;

		collect_pending(shm, w);
		for (todo = shm->todo[w]; todo; todo &= todo - 1)
			work |= take_from(&look,
					  w * 64 + __builtin_ctzll(todo));
	}
	return work;
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
