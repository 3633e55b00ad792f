/* SPDX-License-Identifier: MIT */
/*
 * The shm transport: nodes that are processes of one host exchange packets
 * through rings in one shared file, and read each other's memory through /proc.
 * These are its private declarations; other folders include none of its files.
 *
 * The shared file (fabric/shm/layout.h) holds a table of nodes and, for every
 * ordered pair and class, a single-producer single-consumer ring. A process
 * that dies leaves complete records only; another that takes the same node
 * number gets a new generation, and records of old generations are dropped.
 *
 * Processes check what they read from the shared file. A peer that writes
 * invalid data counts as dead, and never causes a fault. The processes share a
 * pid namespace and a user, since they open each other's files through /proc.
 *
 * A peer is connected on first contact (a packet to it or from it, or a read of
 * its memory) and stays connected until tofu_fabric_poll() finds that it is
 * gone, calls the handler, and forgets it. Mappings are removed only there, so
 * they stay valid between polls.
 *
 * May include: fabric/, net/, uapi/
 */
#ifndef FABRIC_SHM_INTERNAL_H
#define FABRIC_SHM_INTERNAL_H

#include <string.h>

#include "fabric/clock.h"
#include "fabric/shm/layout.h"

#define TOFU_FABRIC_WORDS (TOFU_FABRIC_NODES_MAX / 64)

#define tofu_load(p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define tofu_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define tofu_load_ordered(p) __atomic_load_n(p, __ATOMIC_SEQ_CST)
#define tofu_store(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define tofu_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define tofu_fence_full() __atomic_thread_fence(__ATOMIC_SEQ_CST)

/**
 * struct tofu_tx - producer's side of a ring
 * @ring: control lines
 * @data: the ring
 * @conn: the connection
 * @tail: bytes committed
 * @head: the consumer's head, as last read
 */
struct tofu_tx {
	struct tofu_shm_ring *ring;
	uint8_t *data;
	uint64_t conn;
	uint64_t tail;
	uint64_t head;
};

/**
 * struct tofu_rx - consumer's side of a ring
 * @ready: the producer has begun the connection, @head is valid
 */
struct tofu_rx {
	struct tofu_shm_ring *ring;
	const uint8_t *data;
	uint64_t conn;
	uint64_t head;
	bool ready;
};

/* tofu_tx_followed - whether the consumer looks at the tail by itself */
static inline bool tofu_tx_followed(const struct tofu_tx *tx)
{
	return tofu_load(&tx->ring->followed) == tx->conn;
}

/* Most nodes whose rings a node follows */
#define TOFU_FOLLOWS 4

/**
 * struct tofu_follow - a node whose rings this one follows
 * @used:  it has sent something since others were preferred to it
 * @ring:  by class; @seen: its tail, as last read
 */
struct tofu_follow {
	uint32_t node;
	bool used;
	const struct tofu_shm_ring *ring[TOFU_CLASSES];
	uint64_t seen[TOFU_CLASSES];
};

/**
 * struct tofu_peer_ram - a piece of a peer's memory, checked
 * @map:     mapping of it, or NULL
 * @map_len: bytes of the mapping
 * @data:    first byte of the piece in the mapping
 */
struct tofu_peer_ram {
	struct tofu_shm_ram piece;
	void *map;
	size_t map_len;
	const uint8_t *data;
};

/**
 * struct tofu_peer - this process's state of another node
 * @life:     of the connected process; 0: not connected
 * @bad_gen:  the last generation known to be dead or malformed, which is not
 *            connected again
 * @lost:     ended or left; the next poll forgets it, after taking the
 *            responses, but not the requests, that it had sent
 * @broken:   has written invalid data; the next poll forgets it
 * @pid, @pidfd, @wake: the process, and the writing end of its wake pipe
 * @tx, @rx:  by class
 * @refs:     response tail behind the last record with references
 * @fence:    position that the response head must reach
 * @memory:   the file of the process's memory; negative: not opened yet
 * @ram_seq:  version of @ram; odd: none was read
 * @ram:      its TOFU_FABRIC_RAM_MAX entries of struct tofu_shm.ram
 */
struct tofu_peer {
	uint64_t life;
	uint32_t bad_gen;
	bool lost;
	bool broken;
	pid_t pid;
	int pidfd;
	int wake;
	struct tofu_tx tx[TOFU_CLASSES];
	struct tofu_rx rx[TOFU_CLASSES];
	uint64_t refs;
	uint64_t fence;
	int memory;
	uint32_t ram_seq;
	uint32_t ram_count;
	struct tofu_peer_ram *ram;
};

/**
 * struct tofu_own_rings - from a node to itself, by class
 *
 * Not in the shared file, where others could write: references in a loopback
 * packet are to this node's own memory and are not checked like a peer's.
 */
struct tofu_own_rings {
	struct tofu_shm_ring ring[TOFU_CLASSES];
	_Alignas(TOFU_SHM_ALIGN) uint8_t data[TOFU_CLASSES][TOFU_SHM_RING];
};

/**
 * struct tofu_shm - a node of a machine; an observer uses the first four only
 * @fabric: the public part
 * @fd, @base, @size: the shared file
 * @gen:    generation of this process
 * @epoch:  of the header, when peers were last checked
 * @polls:  count of polls, for work that is done every few polls
 * @alone:  nobody has roused this node in virtual time: the next poll looks
 *          whether the others live
 * @stale:  a peer is lost or broken
 * @lack:   0; or of the last attempt to connect, the error that tofu_fabric_lack()
 *          explains
 * @epoll:  watches the wake pipe, and every peer's pidfd and wake pipe
 * @pipe:   the wake pipe
 * @own:    rings from this node to itself, which only it can write
 * @open:   the record that tofu_fabric_tx_begin() returned, until it is
 *          committed; else NULL
 * @open_node, @open_class, @open_payload, @open_pad: of that record
 * @timed:  virtual time: tofu_shm_take() takes the records of rings
 * @entry:  if @timed: the entry field of the next record
 * @log_tail: if @timed: entries of this node's log
 * @log_room: limit of @log_tail until the readers' positions are read again
 * @shown:  by node: last published position in its log
 * @cpu:    processor, plus one, that this node keeps to; 0: none yet
 * @in_vain: turns in a row in which no node of @cpu could go on
 * @payload_max: of a packet
 * @known:  connected peers
 * @todo:   peers whose rings may hold records
 * @fenced: peers that the fence waits for
 * @ram:    TOFU_FABRIC_RAM_MAX entries for each node, since the data path must not
 *          allocate; those of nodes that are not connected are never touched
 * @follow: nodes whose rings this one follows, @follows of them
 * @hand:   the next of them to make room
 * @others: looks that have found packets of other nodes, since the last chance of one
 * @unseen: peers that were sent something and not woken, since they want to be
 *          woken late
 */
struct tofu_shm {
	struct tofu_fabric fabric;
	int fd;
	uint8_t *base;
	size_t size;
	uint32_t gen;
	uint64_t epoch;
	uint64_t polls;
	bool alone;
	bool stale;
	int lack;
	int epoll;
	int pipe[2];
	struct tofu_own_rings *own;
	struct tofu_shm_record *open;
	uint32_t open_node;
	enum tofu_class open_class;
	uint32_t open_payload;
	uint32_t open_pad;
	bool timed;
	uint16_t entry;
	uint64_t log_tail;
	uint64_t log_room;
	uint64_t *shown;
	uint32_t cpu;
	uint32_t in_vain;
	uint32_t payload_max;
	uint64_t known[TOFU_FABRIC_WORDS];
	uint64_t todo[TOFU_FABRIC_WORDS];
	uint64_t fenced[TOFU_FABRIC_WORDS];
	struct tofu_follow follow[TOFU_FOLLOWS];
	unsigned int follows;
	unsigned int hand;
	unsigned int others;
	uint64_t unseen[TOFU_FABRIC_WORDS];
	struct tofu_peer *peers;
	struct tofu_peer_ram *ram;
};

TOFU_ASSERT_OFFSET(struct tofu_shm, fabric, 0);

static inline struct tofu_shm *tofu_shm_of(struct tofu_fabric *fabric)
{
	return (struct tofu_shm *)fabric;
}

static inline struct tofu_shm_header *
tofu_shm_header(const struct tofu_shm *shm)
{
	return (struct tofu_shm_header *)shm->base;
}

static inline struct tofu_shm_node *
tofu_shm_node_of(const struct tofu_shm *shm, uint32_t node)
{
	return (struct tofu_shm_node *)(shm->base +
					tofu_shm_node_offset(node));
}

static inline struct tofu_shm_clock *
tofu_shm_clock_of(const struct tofu_shm *shm, uint32_t node)
{
	return (struct tofu_shm_clock *)(shm->base +
					 tofu_shm_clock_offset(
						 shm->fabric.nodes, node));
}

static inline void tofu_bit_set(uint64_t *map, uint32_t bit)
{
	map[bit / 64] |= 1ULL << (bit % 64);
}

static inline void tofu_bit_clear(uint64_t *map, uint32_t bit)
{
	map[bit / 64] &= ~(1ULL << (bit % 64));
}

/* tofu_copy_once - copy; the compiler cannot read @shared again later */
static inline void tofu_copy_once(void *private, const void *shared, size_t len)
{
	memcpy(private, shared, len);
	__asm__ volatile("" : : : "memory");
}

/* ---- file.c ---- */

/* tofu_shm_map - check and map the file @shm->fd, or close it; 0 or a negative
 * errno, -EINVAL where it is no fabric
 */
int tofu_shm_map(struct tofu_shm *shm, int prot);
void tofu_shm_unmap(struct tofu_shm *shm);

/**
 * tofu_file_reserve - reserve bytes of the sparse file before they are touched
 *
 * Without room, touching a hole raises SIGBUS. Bytes that are reserved already
 * cost little.
 *
 * Return: 0 or a negative errno, -ENOSPC where the filesystem is full.
 */
int tofu_file_reserve(int fd, uint64_t at, uint64_t bytes);

/**
 * tofu_shm_peek - copy from a part of the file that nobody may have reserved
 *
 * To read a hole of it by the mapping needs room, too. Sets @to to zeros where
 * the file cannot be read.
 */
void tofu_shm_peek(const struct tofu_shm *shm, uint64_t at, void *to,
		   size_t len);

/* ---- peer.c ---- */

/* struct tofu_identity - fields of an entry: the process that has the number */
struct tofu_identity {
	uint64_t life;
	uint64_t start;
	pid_t pid;
	int wake_fd;
	int file_fd;
};

/* tofu_identity_read - read an entry, all of one life; false where no process
 * has the number
 */
bool tofu_identity_read(const struct tofu_shm *shm, uint32_t node,
			struct tofu_identity *id);

/**
 * tofu_identity_open - open the process that says to be a node
 *
 * Others could have written the entry, so it is not believed: the kernel must
 * say that the process belongs to this one's user, and holds the lock of the
 * entry's life.
 *
 * Return: a pidfd; -ESRCH where the process has ended or executed another
 * program, or was never that node; or another negative errno, which says
 * nothing about the process.
 */
int tofu_identity_open(const struct tofu_shm *shm, uint32_t node,
		       const struct tofu_identity *id);

/* tofu_peer_connect - connect to a node; NULL where it is not up */
struct tofu_peer *tofu_peer_connect(struct tofu_shm *shm, uint32_t node);

/**
 * tofu_peer_get - get a peer, connecting to it if needed
 *
 * Return: the peer, or NULL where the node is not up. A peer that is lost or
 * broken is returned until the next poll forgets it; see tofu_peer_usable().
 */
static inline struct tofu_peer *tofu_peer_get(struct tofu_shm *shm,
					      uint32_t node)
{
	if (node >= shm->fabric.nodes)
		return NULL;
	return shm->peers[node].life ? &shm->peers[node] :
				       tofu_peer_connect(shm, node);
}

/* tofu_peer_usable - whether a connected peer is still the same process, and up
 */
static inline bool tofu_peer_usable(const struct tofu_shm *shm, uint32_t node)
{
	const struct tofu_peer *peer = &shm->peers[node];

	return !peer->lost && !peer->broken &&
	       tofu_load_acquire(&tofu_shm_node_of(shm, node)->life) ==
		       peer->life;
}

/* tofu_peer_wake_stranger - wake a node that is not connected if it wants that,
 * now or late
 */
void tofu_peer_wake_stranger(struct tofu_shm *shm, uint32_t node);

/* tofu_peer_alive - whether the process of a connected peer has neither ended
 * nor executed another program
 */
bool tofu_peer_alive(const struct tofu_peer *peer);

/* tofu_peer_break - a peer has written invalid data */
void tofu_peer_break(struct tofu_shm *shm, uint32_t node);

/* tofu_peer_lose - a peer has ended or left */
void tofu_peer_lose(struct tofu_shm *shm, uint32_t node);

/* tofu_peer_forget - undo the connection */
void tofu_peer_forget(struct tofu_shm *shm, uint32_t node);

/* tofu_peer_watch - note which peers have ended; drain the wake pipe if @ack */
void tofu_peer_watch(struct tofu_shm *shm, bool ack);

/* ---- wake.c ---- */

/* tofu_wake_by - wake a node that has generation @gen by its pipe, if it wants
 * that, now or late
 */
void tofu_wake_by(struct tofu_shm *shm, uint32_t node, uint32_t gen, int pipe);

/* tofu_peer_wake - wake a connected peer if it wants that, now or late */
void tofu_peer_wake(struct tofu_shm *shm, uint32_t node);

/**
 * tofu_peer_tell - wake a connected peer if it wants that now
 *
 * The caller has set its pending bit at the peer. A peer that wants to be woken
 * late is noted as unseen.
 */
void tofu_peer_tell(struct tofu_shm *shm, uint32_t node);

/* ---- ring.c ---- */

/* tofu_ring_reserve - reserve the rings to and from a node; 0 or a negative errno
 */
int tofu_ring_reserve(const struct tofu_shm *shm, uint32_t node);

/* tofu_ring_connect - begin the rings to and from a peer */
void tofu_ring_connect(struct tofu_shm *shm, uint32_t node);

/* tofu_ring_notify - set the pending bit at @node, and wake it if it wants */
void tofu_ring_notify(struct tofu_shm *shm, uint32_t node);

/* ---- follow.c ---- */

/* tofu_follow_look - add to @shm->todo the followed nodes that have sent */
void tofu_follow_look(struct tofu_shm *shm);

/* tofu_follow_quiet - whether none of them has sent; any thread, at any time */
bool tofu_follow_quiet(const struct tofu_shm *shm);

/* tofu_follow_seen - these tails of a node's rings have been read; @taken: and packets
 * taken, so that the next poll looks once more
 */
void tofu_follow_seen(struct tofu_shm *shm, uint32_t node, const uint64_t tail[TOFU_CLASSES],
		      bool taken);

/* tofu_follow_forget - a node is gone */
void tofu_follow_forget(struct tofu_shm *shm, uint32_t node);

/* ---- memory.c ---- */

/* tofu_ram_forget - unmap what is mapped of a peer, and read its table again */
void tofu_ram_forget(struct tofu_peer *peer);

/* tofu_memory_forget - close the file of the peer's memory */
void tofu_memory_forget(struct tofu_peer *peer);

/* ---- attach.c ---- */

/*
 * tofu_shm_lock_byte - F_WRLCK or F_UNLCK on a byte of an endpoint's page;
 * -ETIMEDOUT where another process holds it for ten seconds
 */
int tofu_shm_lock_byte(struct tofu_shm *shm, uint32_t node,
		       unsigned int byte, short type);

/* ---- shares.c ---- */

/* tofu_shares_forget - free all shares of earlier processes of this number */
int tofu_shares_forget(struct tofu_shm *shm);

/* ---- clock.c ---- */

/* tofu_clock_state - TOFU_SHM_CLOCK_* of a node, in the life that is connected
 * here; or 0
 */
uint64_t tofu_clock_state(const struct tofu_shm *shm, uint32_t node);

/* tofu_clock_news - whether a log has entries that this node has not read: they
 * may have come too early to wake it
 */
bool tofu_clock_news(const struct tofu_shm *shm);

/* ---- turns.c; see also fabric/clock.h ---- */

/* tofu_turn_due - a node has something to do, if it is asleep */
void tofu_turn_due(const struct tofu_shm *shm, uint32_t node);

/* tofu_turn_moved - wake who sleeps until this node's words are what they are */
void tofu_turn_moved(const struct tofu_shm *shm);

void tofu_turn_sleep(struct tofu_fabric *fabric, uint32_t node,
		     uint64_t promise, uint64_t counted, bool crowd);
void tofu_turn_pass(struct tofu_fabric *fabric, bool leaves);

/* ---- Of struct tofu_fabric_ops, by source ---- */

/* attach.c */
bool tofu_shm_up(struct tofu_fabric *fabric, uint32_t node);

/* peer.c */
uint32_t tofu_shm_peer_generation(struct tofu_fabric *fabric, uint32_t node);

/* observe.c */
uint32_t tofu_shm_generation(struct tofu_fabric *fabric, uint32_t node);
void tofu_shm_report(struct tofu_fabric *fabric, uint32_t node,
		     struct tofu_fabric_report *report);

/* shares.c */
int64_t tofu_shm_owner(struct tofu_fabric *fabric, uint32_t node,
		       enum tofu_share share, unsigned int tni,
		       unsigned int number);
int tofu_shm_shares_lock(struct tofu_fabric *fabric);
void tofu_shm_shares_unlock(struct tofu_fabric *fabric);
uint64_t tofu_shm_taken_locked(struct tofu_fabric *fabric,
			       enum tofu_share share, unsigned int tni);
void tofu_shm_take_locked(struct tofu_fabric *fabric, enum tofu_share share,
			  unsigned int tni, uint64_t numbers);
void tofu_shm_give(struct tofu_fabric *fabric, enum tofu_share share,
		   unsigned int tni, uint64_t numbers);

/* memory.c */
int tofu_shm_publish(struct tofu_fabric *fabric, const struct tofu_ram *ram,
		     size_t count);
const void *tofu_shm_peer_memory(struct tofu_fabric *fabric, uint32_t node,
				 uint64_t addr, size_t *len);
int tofu_shm_read(struct tofu_fabric *fabric, uint32_t node, uint64_t addr,
		  void *buf, size_t len);

/* ring.c */
struct tofu_packet *tofu_shm_tx_begin(struct tofu_fabric *fabric, uint32_t node,
				      enum tofu_class class_, size_t payload,
				      int *err);
void tofu_shm_tx_commit(struct tofu_fabric *fabric);
bool tofu_shm_tx_room(struct tofu_fabric *fabric, uint32_t node,
		      enum tofu_class class_);
uint64_t tofu_shm_tx_position(struct tofu_fabric *fabric, uint32_t node,
			      enum tofu_class class_);
bool tofu_shm_tx_passed(struct tofu_fabric *fabric, uint32_t node,
			enum tofu_class class_, uint64_t position);
void tofu_shm_fence_begin(struct tofu_fabric *fabric);
bool tofu_shm_fence_done(struct tofu_fabric *fabric);

/* receive.c */
bool tofu_shm_poll(struct tofu_fabric *fabric,
		   const struct tofu_fabric_handler *handler, void *ctx);
bool tofu_shm_quiet(const struct tofu_fabric *fabric);

/* wake.c */
void tofu_shm_want_wake(struct tofu_fabric *fabric, bool want);
void tofu_shm_want_wake_late(struct tofu_fabric *fabric);
void tofu_shm_wake_unseen(struct tofu_fabric *fabric);
void tofu_shm_wake(struct tofu_fabric *fabric);
int tofu_shm_fd(struct tofu_fabric *fabric);
void tofu_shm_fd_ack(struct tofu_fabric *fabric);

/* clock.c: for nodes and for observers; two functions are in receive.c */
extern const struct tofu_fabric_clock_ops tofu_shm_clock_ops;
extern const struct tofu_fabric_clock_ops tofu_shm_observer_clock_ops;
void tofu_shm_meet(struct tofu_fabric *fabric,
		   const struct tofu_fabric_handler *handler, void *ctx);
bool tofu_shm_take(struct tofu_fabric *fabric, uint32_t node,
		   enum tofu_class class_, uint64_t number,
		   const struct tofu_fabric_handler *handler, void *ctx);

#endif /* FABRIC_SHM_INTERNAL_H */
