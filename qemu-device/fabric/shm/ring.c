/* SPDX-License-Identifier: MIT */
/*
 * Rings of records, with one producer and one consumer. Connecting and sending
 * are here, receiving is in receive.c.
 *
 * The memory ordering of both sides:
 *
 *	producer			consumer
 *	record				pending bit := 0
 *	tail (release)			tail (ordered)
 *	full fence			record
 *	pending bit, or followed?	head (release)
 *	want_wake?			full fence
 *	  wake				want_head?
 *					  wake
 *
 * If the producer finds the bit set, the consumer has yet to clear it, and then
 * sees the tail. For that the tail must not be read before the bit is cleared:
 * both are sequentially consistent, since an acquiring load may overtake even a
 * releasing store. The same holds for the word that begins a connection.
 *
 * A consumer that follows the ring (follow.c) looks at the tail whenever it looks at its
 * pending bits. It begins and ends that with a full fence behind the word "followed",
 * and looks at the tail after it: so either the producer has found the word cleared,
 * and has set the bit, or the consumer sees the tail.
 *
 * A consumer whose program polls sleeps with TOFU_SHM_WAKE_LATE in want_wake.
 * Its polls look at the bits, so a producer that sends does not wake it, but
 * remembers it as unseen. A producer that has waited in vain then looks at its
 * bit in the consumer's word:
 *
 *	clear	The consumer has looked since: there is nothing to do. Where it
 *		follows the ring, it has if it has taken all of it; one that keeps
 *		something back is woken once more than it had to be.
 *	set	The consumer has not looked. The producer wakes it, for any
 *		want_wake but 0. With 0 the consumer is awake and looks before
 *		it sleeps: it stores want_wake, executes a full fence, then
 *		looks at the bits.
 *
 * In both cases the consumer is no longer unseen. So it is woken at most once
 * for the records, and only if no poll lends it a processor. The same holds for
 * a producer that waits for the head, since its bit is set as well.
 */
#define _GNU_SOURCE
#include "fabric/shm/internal.h"

#include <errno.h>
#include <string.h>

/* ---- Connecting ---- */

/* The ring from @src to @dst: in the shared file, or private if the same. */
static struct tofu_shm_ring *ring_at(const struct tofu_shm *shm,
				     uint32_t dst, uint32_t src,
				     enum tofu_class class_, uint8_t **data)
{
	uint64_t index =
		tofu_shm_ring_index(shm->fabric.nodes, dst, src, class_);

	if (dst == src) {
		*data = shm->own->data[class_];
		return &shm->own->ring[class_];
	}
	*data = shm->base + tofu_shm_data_offset(shm->fabric.nodes, index);
	return (struct tofu_shm_ring *)(shm->base +
					tofu_shm_ring_offset(shm->fabric.nodes,
							     index));
}

/* Reserve the rings from @src to @dst. */
static int reserve(const struct tofu_shm *shm, uint32_t dst, uint32_t src)
{
	const uint32_t nodes = shm->fabric.nodes;
	const uint64_t index = tofu_shm_ring_index(nodes, dst, src, 0);
	int err;

	err = tofu_file_reserve(shm->fd, tofu_shm_ring_offset(nodes, index),
				TOFU_CLASSES * sizeof(struct tofu_shm_ring));
	return err ? err :
		     tofu_file_reserve(shm->fd,
				       tofu_shm_data_offset(nodes, index),
				       TOFU_CLASSES * TOFU_SHM_RING);
}

int tofu_ring_reserve(const struct tofu_shm *shm, uint32_t node)
{
	int err;

	if (node == shm->fabric.self)
		return 0;
	err = reserve(shm, node, shm->fabric.self);
	return err ? err : reserve(shm, shm->fabric.self, node);
}

static void connect_tx(struct tofu_shm *shm, uint32_t node,
		       enum tofu_class class_)
{
	struct tofu_peer *peer = &shm->peers[node];
	struct tofu_tx *tx = &peer->tx[class_];

	tx->ring = ring_at(shm, node, shm->fabric.self, class_, &tx->data);
	tx->conn = TOFU_SHM_CONN(shm->gen, tofu_shm_gen(peer->life));
	tx->tail = TOFU_SHM_ROUND(tofu_load(&tx->ring->tail));
	/*
	 * The consumer may still read a record of the connection before. Bytes
	 * that it has not released count as used until it joins this one.
	 */
	tx->head = tofu_load(&tx->ring->head);
	if (tx->tail - tx->head > TOFU_SHM_RING)
		tx->head = tx->tail;
	tofu_store(&tx->ring->tail, tx->tail);
	tofu_store(&tx->ring->start, tx->tail);
	tofu_store(&tx->ring->want_head, 0);
	tofu_store_release(&tx->ring->conn, tx->conn);
}

static void connect_rx(struct tofu_shm *shm, uint32_t node,
		       enum tofu_class class_)
{
	struct tofu_peer *peer = &shm->peers[node];
	struct tofu_rx *rx = &peer->rx[class_];
	uint8_t *data;

	rx->ring = ring_at(shm, shm->fabric.self, node, class_, &data);
	rx->data = data;
	rx->conn = TOFU_SHM_CONN(tofu_shm_gen(peer->life), shm->gen);
	rx->head = 0;
	rx->ready = false;
}

static void pending_set(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_shm_node *entry = tofu_shm_node_of(shm, node);
	uint64_t *word = &entry->pending[shm->fabric.self / 64];
	uint64_t bit = 1ULL << (shm->fabric.self % 64);

	/* If the bit is set, the consumer clears it later and sees the tail. */
	if (!(tofu_load(word) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
}

void tofu_ring_notify(struct tofu_shm *shm, uint32_t node)
{
	tofu_fence_full();
	pending_set(shm, node);
	tofu_peer_tell(shm, node);
}

/* The tail has moved. */
static void tail_notify(struct tofu_shm *shm, uint32_t node,
			const struct tofu_tx *tx)
{
	tofu_fence_full();
	if (!tofu_tx_followed(tx))
		pending_set(shm, node);
	tofu_peer_tell(shm, node);
}

void tofu_ring_connect(struct tofu_shm *shm, uint32_t node)
{
	for (int class_ = 0; class_ < TOFU_CLASSES; class_++) {
		connect_tx(shm, node, class_);
		connect_rx(shm, node, class_);
	}
	/* No references were sent yet: a fence need not wait for a join. */
	shm->peers[node].refs = shm->peers[node].tx[TOFU_RESPONSE].head;
	/* The other end joins, and frees records of the connection before. */
	tofu_ring_notify(shm, node);
}

/* ---- Sending ---- */

/* Read the consumer's head, if it is valid. */
static void read_head(struct tofu_shm *shm, uint32_t node,
		      struct tofu_tx *tx)
{
	uint64_t head;

	/* Until the consumer has joined, its head is of another connection. */
	if (tofu_load_acquire(&tx->ring->head_conn) != tx->conn)
		return;
	head = tofu_load_acquire(&tx->ring->head);
	if (tx->tail - head > TOFU_SHM_RING)
		tofu_peer_break(shm, node);
	else
		tx->head = head;
}

static uint32_t pad_before(const struct tofu_tx *tx, uint64_t bytes)
{
	uint64_t left = TOFU_SHM_RING - (tx->tail & (TOFU_SHM_RING - 1));

	return left < bytes ? (uint32_t)left : 0;
}

static bool fits(const struct tofu_tx *tx, uint64_t need)
{
	return TOFU_SHM_RING - (tx->tail - tx->head) >= need;
}

/* Whether there is room; if not, ask the consumer to wake this node later. */
static bool has_room(struct tofu_shm *shm, uint32_t node,
		     struct tofu_tx *tx, uint64_t bytes)
{
	uint64_t need = bytes + pad_before(tx, bytes);

	if (fits(tx, need))
		return true;
	read_head(shm, node, tx);
	if (fits(tx, need))
		return true;
	tofu_store(&tx->ring->want_head, 1);
	tofu_fence_full();
	read_head(shm, node, tx);
	return fits(tx, need);
}

/* The peer, if a packet can be sent to it; else NULL. */
static struct tofu_peer *peer_to_send(struct tofu_shm *shm, uint32_t node)
{
	struct tofu_peer *peer = tofu_peer_get(shm, node);

	if (peer && tofu_peer_usable(shm, node))
		return peer;
	return NULL;
}

struct tofu_packet *tofu_shm_tx_begin(struct tofu_fabric *fabric,
				      uint32_t node, enum tofu_class class_,
				      size_t payload, int *err)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_peer *peer;
	struct tofu_tx *tx;
	uint64_t bytes;
	bool room;

	shm->open = NULL;
	shm->lack = 0;
	peer = peer_to_send(shm, node);
	if (payload > shm->payload_max) {
		*err = -EMSGSIZE;
		return NULL;
	}
	if (!peer) {
		*err = shm->lack ? shm->lack : -EHOSTDOWN;
		return NULL;
	}
	tx = &peer->tx[class_];
	bytes = TOFU_SHM_RECORD(payload);
	room = has_room(shm, node, tx, bytes);
	if (!room || peer->broken) {
		*err = peer->broken ? -EHOSTDOWN : -EAGAIN;
		return NULL;
	}
	shm->open_node = node;
	shm->open_class = class_;
	shm->open_payload = (uint32_t)payload;
	shm->open_pad = pad_before(tx, bytes);
	shm->open =
		(struct tofu_shm_record *)(tx->data +
					   ((tx->tail + shm->open_pad) &
					    (TOFU_SHM_RING - 1)));
	memset(&shm->open->packet, 0, sizeof(shm->open->packet));
	return &shm->open->packet;
}

static void write_pad(struct tofu_tx *tx, uint32_t bytes)
{
	struct tofu_shm_record *record =
		(struct tofu_shm_record *)(tx->data +
					   (tx->tail & (TOFU_SHM_RING - 1)));

	/* Set only the prefix: a pad can be shorter than a record. */
	record->bytes = bytes;
	record->src_gen = (uint32_t)tx->conn;
	record->dst_gen = (uint32_t)(tx->conn >> 32);
	record->pad = 1;
	tx->tail += bytes;
}

/* Lines of a packet without data, or with little */
#define NEXT_LINES 3

/*
 * The consumer has read where the next record will be, a round of the ring ago. The lines
 * are fetched now, not when the next packet has to leave.
 */
static void next_prepare(const struct tofu_tx *tx)
{
	for (uint64_t line = 0; line < NEXT_LINES; line++)
		__builtin_prefetch(tx->data + ((tx->tail + line * TOFU_SHM_ALIGN) &
					       (TOFU_SHM_RING - 1)),
				   1);
}

void tofu_shm_tx_commit(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_peer *peer = &shm->peers[shm->open_node];
	struct tofu_tx *tx = &peer->tx[shm->open_class];
	struct tofu_shm_record *record = shm->open;
	uint32_t bytes = (uint32_t)TOFU_SHM_RECORD(shm->open_payload);

	if (!record)
		return;
	shm->open = NULL;
	if (shm->open_pad)
		write_pad(tx, shm->open_pad);
	record->bytes = bytes;
	record->src_gen = (uint32_t)tx->conn;
	record->dst_gen = (uint32_t)(tx->conn >> 32);
	record->pad = 0;
	record->entry = shm->entry;
	record->packet.src = shm->fabric.self;
	record->packet.payload = shm->open_payload;
	tx->tail += bytes;
	if (shm->open_class == TOFU_RESPONSE &&
	    (record->packet.flags & TOFU_PKT_F_REFS))
		peer->refs = tx->tail;
	/* Release: a consumer that sees the tail sees the record. */
	tofu_store_release(&tx->ring->tail, tx->tail);
	/* In virtual time the log notifies. */
	if (!shm->timed)
		tail_notify(shm, shm->open_node, tx);
	next_prepare(tx);
}

/*
 * What is sent to a node at once: a packet, or the signals of all gates of a
 * TNI. In virtual time nobody can be waited for between two of these.
 */
static uint64_t most_at_once(const struct tofu_shm *shm, enum tofu_class class_)
{
	const uint64_t packet = TOFU_SHM_RECORD(shm->payload_max);
	const uint64_t signals =
		TOFU_GATES * TOFU_SHM_RECORD(TOFU_SIGNAL_BYTES);

	if (!shm->timed || class_ != TOFU_RESPONSE || packet > signals)
		return packet;
	return signals;
}

bool tofu_shm_tx_room(struct tofu_fabric *fabric, uint32_t node,
		      enum tofu_class class_)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_peer *peer = peer_to_send(shm, node);

	return !peer ||
	       has_room(shm, node, &peer->tx[class_],
			most_at_once(shm, class_)) ||
	       peer->broken;
}

/* ---- Fences ---- */

/* Whether @node has released all up to @position; if not, ask it to wake this one
 * later.
 */
static bool released(struct tofu_shm *shm, uint32_t node, struct tofu_tx *tx,
		     uint64_t position)
{
	for (int look = 0; look < 2; look++) {
		read_head(shm, node, tx);
		if ((int64_t)(tx->head - position) >= 0)
			return true;
		tofu_store(&tx->ring->want_head, 1);
		tofu_fence_full();
	}
	return false;
}

uint64_t tofu_shm_tx_position(struct tofu_fabric *fabric, uint32_t node,
			      enum tofu_class class_)
{
	return tofu_shm_of(fabric)->peers[node].tx[class_].tail;
}

bool tofu_shm_tx_passed(struct tofu_fabric *fabric, uint32_t node,
			enum tofu_class class_, uint64_t position)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);
	struct tofu_peer *peer = &shm->peers[node];

	return !peer->life || !tofu_peer_usable(shm, node) ||
	       released(shm, node, &peer->tx[class_], position);
}

void tofu_shm_fence_begin(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	memcpy(shm->fenced, shm->known, sizeof(shm->fenced));
	for (uint32_t n = 0; n < shm->fabric.nodes; n++)
		shm->peers[n].fence = shm->peers[n].refs;
}

bool tofu_shm_fence_done(struct tofu_fabric *fabric)
{
	struct tofu_shm *shm = tofu_shm_of(fabric);

	for (uint32_t w = 0; w < TOFU_FABRIC_WORDS; w++) {
		uint64_t left = shm->fenced[w];

		for (; left; left &= left - 1) {
			uint32_t node = w * 64 + __builtin_ctzll(left);

			if (!released(shm, node, &shm->peers[node].tx[TOFU_RESPONSE],
				      shm->peers[node].fence))
				return false;
			tofu_bit_clear(shm->fenced, node);
		}
	}
	return true;
}
