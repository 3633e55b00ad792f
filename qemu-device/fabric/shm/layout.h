/* SPDX-License-Identifier: MIT */
/*
 * The shared file of the shm transport: a page of header, a page for every
 * node, the control lines of a ring for every ordered pair of nodes and class,
 * and the rings' data; then, for virtual time, a clock for every node, each
 * node's positions in the others' logs, and the logs. The file is sparse: only
 * used parts take memory.
 *
 * Every process of the machine can write all of it, so readers check whatever
 * they take from it. A producer and a consumer keep their own positions
 * privately and only publish them here.
 */
#ifndef FABRIC_SHM_LAYOUT_H
#define FABRIC_SHM_LAYOUT_H

#include <stdint.h>

#include "fabric/clock.h"

#define TOFU_SHM_MAGIC 0x4d48535f55464f54ULL /* "TOFU_SHM" in memory order */
#define TOFU_SHM_VERSION 11
#define TOFU_SHM_PAGE 4096
#define TOFU_SHM_RING 65536 /* bytes of data of a ring */
#define TOFU_SHM_ALIGN 64   /* of a record */
#define TOFU_SHM_LOG 4096   /* entries of a node's log */

/* Bytes from here on are behind the file's end, and only locked. */
#define TOFU_SHM_LIFE_LOCK 0x4000000000000000ULL

/**
 * struct tofu_shm_header - the first page
 * @magic:     TOFU_SHM_MAGIC, written last by tofu_fabric_format()
 * @version:   TOFU_SHM_VERSION
 * @nodes:     endpoints: nodes of @shape times @ppn
 * @shape:     as TOFU_REG_SHAPE
 * @ring_size: TOFU_SHM_RING
 * @ppn:       processes that a node can have
 * @epoch:     count of arrivals and departures of nodes
 */
struct tofu_shm_header {
	uint64_t magic;
	uint32_t version;
	uint32_t nodes;
	uint64_t shape;
	uint32_t ring_size;
	uint32_t ppn;
	uint8_t reserved0[32];
	uint64_t epoch;
	uint8_t reserved1[TOFU_SHM_PAGE - 72];
};
TOFU_ASSERT_SIZE(struct tofu_shm_header, TOFU_SHM_PAGE);
TOFU_ASSERT_OFFSET(struct tofu_shm_header, shape, 16);
TOFU_ASSERT_OFFSET(struct tofu_shm_header, epoch, 64);

/**
 * struct tofu_shm_ram - struct tofu_ram in the shared file
 * @fd: file descriptor number in the node's process, or -1
 */
struct tofu_shm_ram {
	uint64_t addr;
	uint64_t len;
	uint64_t offset;
	int32_t fd;
	uint32_t reserved;
};
TOFU_ASSERT_SIZE(struct tofu_shm_ram, 32);

/* struct tofu_shm_node.life: one word, so that it changes atomically */
#define TOFU_SHM_LIFE_UP 1ULL
#define TOFU_SHM_LIFE_GEN_SHIFT 1
#define TOFU_SHM_LIFE_GEN_BITS 32

/* struct tofu_shm_node.want_wake */
#define TOFU_SHM_WAKE_GEN_SHIFT 0
#define TOFU_SHM_WAKE_GEN_BITS 32
#define TOFU_SHM_WAKE_LATE (1ULL << 32) /* its program polls: wait a little */

/**
 * struct tofu_shm_node - entry of an endpoint
 * @life:      TOFU_SHM_LIFE_*: whether a process has the number, and the count
 *             of processes that have had it (the generation, never 0 once up)
 * @start:     start time of that process, from /proc/PID/stat; distinguishes
 *             it from a later process with the same @pid
 * @pid:       process
 * @wake_fd:   in that process, a pipe: a byte wakes it
 * @file_fd:   in that process, the shared file; the process has locked the byte
 *             of this life by it, see tofu_shm_life_lock()
 * @want_wake: TOFU_SHM_WAKE_*; not 0: it sleeps, and the peer that changes this
 *             to 0 writes to the pipe. Holds the generation, so that a request
 *             of one process does not wake another.
 * @pending:   bit s: node s has sent something since the bit was cleared
 * @ram_seq:   odd while the table of memory is written; changes with it
 * @ram_count: count of pieces
 * @ram:       pieces
 * @cq_owner, @gate_owner: in the page of a node's first endpoint, by TNI and
 *             number: the process of the node that owns the queue or gate, plus
 *             one; 0: none (fabric/shm/shares.c)
 */
struct tofu_shm_node {
	uint64_t life;
	uint64_t start;
	int32_t pid;
	int32_t wake_fd;
	int32_t file_fd;
	uint8_t reserved0[36];
	uint64_t want_wake;
	uint8_t reserved1[56];
	uint64_t pending[TOFU_FABRIC_NODES_MAX / 64];
	uint32_t ram_seq;
	uint32_t ram_count;
	uint8_t reserved2[56];
	struct tofu_shm_ram ram[TOFU_FABRIC_RAM_MAX];
	uint8_t cq_owner[TOFU_TNIS_MAX][TOFU_CQS_PER_TNI];
	uint8_t gate_owner[TOFU_TNIS_MAX][TOFU_GATES];
	uint8_t reserved3[TOFU_SHM_PAGE - 320 - 32 * TOFU_FABRIC_RAM_MAX -
			  TOFU_TNIS_MAX * (TOFU_CQS_PER_TNI + TOFU_GATES)];
};
TOFU_ASSERT_SIZE(struct tofu_shm_node, TOFU_SHM_PAGE);
TOFU_ASSERT_OFFSET(struct tofu_shm_node, want_wake, 64);
TOFU_ASSERT_OFFSET(struct tofu_shm_node, pending, 128);
TOFU_ASSERT_OFFSET(struct tofu_shm_node, ram_seq, 256);
TOFU_ASSERT_OFFSET(struct tofu_shm_node, ram, 320);
TOFU_ASSERT_OFFSET(struct tofu_shm_node, cq_owner, 1344);

/*
 * A connection is a ring between two processes, not two node numbers: both
 * generations name it. Each connection begins with an empty ring, wherever the
 * one before it ended.
 */
#define TOFU_SHM_CONN(src_gen, dst_gen) \
	((uint64_t)(uint32_t)(src_gen) | (uint64_t)(dst_gen) << 32)

/**
 * struct tofu_shm_ring - control lines of a ring
 * @tail:      producer: bytes written so far, free-running
 * @start:     producer: @tail when the connection began
 * @conn:      producer: TOFU_SHM_CONN, written after @start and @tail
 * @want_head: set by the producer; a consumer that moves the head changes it
 *             to 0 and wakes the producer
 * @followed:  consumer: @conn, as long as it looks at @tail by itself
 * @head:      consumer: bytes released so far
 * @head_conn: consumer: the connection that @head is about
 */
struct tofu_shm_ring {
	uint64_t tail;
	uint64_t start;
	uint64_t conn;
	uint32_t want_head;
	uint32_t reserved0;
	uint64_t followed;
	uint8_t reserved1[24];
	uint64_t head;
	uint64_t head_conn;
	uint8_t reserved2[48];
};
TOFU_ASSERT_SIZE(struct tofu_shm_ring, 128);
TOFU_ASSERT_OFFSET(struct tofu_shm_ring, head, 64);

/**
 * struct tofu_shm_record - a record of a ring
 * @bytes:   of the record, a multiple of TOFU_SHM_ALIGN
 * @src_gen: generation of the sender
 * @dst_gen: of the receiver that it was meant for
 * @pad:     1: only fills the ring up to its end and has no packet; else 0
 * @entry:   in virtual time: low bits of the number of this packet's entry in
 *           the sender's log; else 0
 * @packet:  header; the payload follows
 *
 * A record does not wrap around the ring's end.
 */
struct tofu_shm_record {
	uint32_t bytes;
	uint32_t src_gen;
	uint32_t dst_gen;
	uint16_t pad;
	uint16_t entry;
	struct tofu_packet packet;
};
TOFU_ASSERT_SIZE(struct tofu_shm_record, 112);
TOFU_ASSERT_OFFSET(struct tofu_shm_record, packet, 16);

#define TOFU_SHM_ROUND(bytes) \
	(((uint64_t)(bytes) + TOFU_SHM_ALIGN - 1) & ~(TOFU_SHM_ALIGN - 1ULL))
#define TOFU_SHM_RECORD(payload) \
	TOFU_SHM_ROUND(sizeof(struct tofu_shm_record) + (payload))
#define TOFU_SHM_RECORD_MAX TOFU_SHM_RECORD(TOFU_PKT_INLINE_MAX)

TOFU_ASSERT(TOFU_SHM_RING % TOFU_SHM_ALIGN == 0 &&
		    !(TOFU_SHM_RING & (TOFU_SHM_RING - 1)),
	    "positions are masked");
TOFU_ASSERT(TOFU_SHM_RING >= 4 * TOFU_SHM_RECORD_MAX, "a ring holds several");

/* ---- Virtual time; node/clock.h defines the words ---- */

#define TOFU_SHM_CLOCK_READY 1ULL  /* the node has come */
#define TOFU_SHM_CLOCK_JOINED 2ULL /* it has seen that all have come */
#define TOFU_SHM_CLOCK_STATE_SHIFT 0
#define TOFU_SHM_CLOCK_STATE_BITS 2
#define TOFU_SHM_CLOCK_GEN_SHIFT 2
#define TOFU_SHM_CLOCK_GEN_BITS 32

/**
 * struct tofu_shm_clock - the clock of a node
 * @words:   see fabric/clock.h
 * @state:   TOFU_SHM_CLOCK_*; valid for the life of that generation only
 * @now:     common time; for tools
 * @waits_for: number, plus one, of the node that it waits for; 0: it runs. For
 *           tools.
 * @asleep:  a futex, not 0 while it sleeps; the node that changes it to 0 wakes
 *           it
 * @due:     it has something to do, whatever it waits for
 * @wait_promise, @wait_counted: it sleeps until another node's words reach one
 *           of these
 * @wait_on: that node, where nodes take turns
 * @cpu:     processor, plus one, on which it takes turns; 0: on none
 * @sleepers: bit s: node s sleeps until this node's words reach its values
 *
 * The node itself writes all but @asleep, @due and @sleepers, which all write.
 */
struct tofu_shm_clock {
	struct tofu_clock_words words;
	uint64_t state;
	uint64_t now;
	uint32_t waits_for;
	uint8_t reserved0[12];
	uint32_t asleep;
	uint32_t due;
	uint64_t wait_promise;
	uint64_t wait_counted;
	uint32_t wait_on;
	uint32_t cpu;
	uint8_t reserved1[32];
	uint64_t sleepers[TOFU_FABRIC_NODES_MAX / 64];
};
TOFU_ASSERT_SIZE(struct tofu_shm_clock, 256);
TOFU_ASSERT_OFFSET(struct tofu_shm_clock, asleep, 64);
TOFU_ASSERT_OFFSET(struct tofu_shm_clock, sleepers, 128);

TOFU_ASSERT(!(TOFU_SHM_LOG & (TOFU_SHM_LOG - 1)) && TOFU_SHM_LOG <= 1 << 14,
	    "positions are masked, and told apart by 16 bits");

/* ---- Where things are in the file ---- */

static inline uint64_t tofu_shm_node_offset(uint32_t node)
{
	return TOFU_SHM_PAGE * (1ULL + node);
}

/* tofu_shm_ring_index - index of the ring from @src to @dst among @nodes */
static inline uint64_t tofu_shm_ring_index(uint32_t nodes, uint32_t dst,
					   uint32_t src, enum tofu_class class_)
{
	return ((uint64_t)dst * nodes + src) * TOFU_CLASSES + class_;
}

static inline uint64_t tofu_shm_ring_offset(uint32_t nodes, uint64_t index)
{
	return tofu_shm_node_offset(nodes) +
	       index * sizeof(struct tofu_shm_ring);
}

static inline uint64_t tofu_shm_data_offset(uint32_t nodes, uint64_t index)
{
	uint64_t rings = (uint64_t)nodes * nodes * TOFU_CLASSES;
	uint64_t lines = tofu_shm_ring_offset(nodes, rings);
	uint64_t data = (lines + TOFU_SHM_PAGE - 1) & ~(TOFU_SHM_PAGE - 1ULL);

	return data + index * TOFU_SHM_RING;
}

static inline uint64_t tofu_shm_clock_offset(uint32_t nodes, uint32_t node)
{
	return tofu_shm_data_offset(nodes,
				    (uint64_t)nodes * nodes * TOFU_CLASSES) +
	       node * sizeof(struct tofu_shm_clock);
}

/* tofu_shm_read_offset - positions of @reader in the others' logs, a word each
 */
static inline uint64_t tofu_shm_read_offset(uint32_t nodes, uint32_t reader)
{
	return tofu_shm_clock_offset(nodes, nodes) +
	       reader * TOFU_SHM_ROUND(nodes * sizeof(uint64_t));
}

static inline uint64_t tofu_shm_log_offset(uint32_t nodes, uint32_t node)
{
	uint64_t end = tofu_shm_read_offset(nodes, nodes);
	uint64_t logs = (end + TOFU_SHM_PAGE - 1) & ~(TOFU_SHM_PAGE - 1ULL);

	return logs + (uint64_t)node * TOFU_SHM_LOG *
			      sizeof(struct tofu_log_entry);
}

/**
 * tofu_shm_life_lock - the byte that a process locks while it is a node
 *
 * Each life has another one. So a forked child of a dead process, which keeps
 * its lock, is in nobody's way.
 */
static inline uint64_t tofu_shm_life_lock(uint32_t node, uint32_t gen)
{
	return TOFU_SHM_LIFE_LOCK + ((uint64_t)node << 32) + gen;
}

/* tofu_shm_size - bytes of the file of a machine */
static inline uint64_t tofu_shm_size(uint32_t nodes)
{
	return tofu_shm_log_offset(nodes, nodes);
}

static inline uint32_t tofu_shm_gen(uint64_t life)
{
	return (uint32_t)TOFU_GET(life, TOFU_SHM_LIFE_GEN);
}

#endif /* FABRIC_SHM_LAYOUT_H */
