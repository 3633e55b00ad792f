/* SPDX-License-Identifier: MIT */
/*
 * A transfer under way: the memory that it touches, its command, and what has
 * arrived of it.
 */
#ifndef ICC_TRANSFER_H
#define ICC_TRANSFER_H

#include "icc/gate.h"
#include "icc/icc.h"

/* Words of memory and packets are not swapped. */
TOFU_ASSERT(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	    "the model runs on little-endian hosts");

#define ICC_BURST 16 /* commands that a CQ starts in one icc_progress() */
#define ICC_PARTS 16 /* packets of a command, or answer, that are sent at once */
/* Bytes that a packet refers to: one pull, and what a bridge keeps of an answer */
#define ICC_REFER_MAX (63 * 4096U)
#define ICC_SETTINGS ((TOFU_CQ_GPID - TOFU_CQ_TOQ_BASE) / 8 + 1)
#define ICC_ROUTES 64 /* routes remembered, a power of two */
#define ICC_CHUNK 4 /* commands by which a window grows */
#define ICC_LINE 64 /* bytes of a cache line */

TOFU_ASSERT(TOFU_WINDOW % ICC_CHUNK == 0 && TOFU_WINDOW <= 256,
	    "a window is a whole number of chunks, and a byte numbers a slot");

/* ---- Translation ---- */

/* Why an address cannot be used; indexes the tables of statuses. */
enum icc_fault { ICC_FAULT_NONE,
		 ICC_FAULT_STADD,
		 ICC_FAULT_MEMORY };

#define ICC_RANGE_BATCH 8 /* entries of a page table read at once */

/**
 * struct icc_range - iterator over the rest of a translated range
 * @table: bus address of the page table
 * @at:    next byte, counted in the memory block
 * @left:  bytes
 * @shift: log2 of the page size
 * @blank: nothing is read or written there
 * @next:  next entry of @page
 * @count: entries of @page that have been read
 * @page:  entries of the page table, from the page of @at on
 */
struct icc_range {
	uint64_t table;
	uint64_t at;
	uint64_t left;
	uint8_t shift;
	bool blank;
	unsigned int next;
	unsigned int count;
	uint64_t page[ICC_RANGE_BATCH];
};

/* ---- Transfers ---- */

/*
 * A transfer goes through three legs, each of them a struct icc_xfer that
 * moves from stage to stage:
 *
 *   command   fetch → read → inject → route → parked (until the response)
 *   request   receive → read or write → notify → inject → route
 *   response  receive → write → notify
 *
 * In a timed controller some stages wait for their time. A command waits before
 * READ for each of its packets, since the engine reads memory then, and so does
 * a request for data. An arriving packet waits before RECEIVE; all its effects
 * on memory then happen at once.
 */
enum icc_kind { ICC_COMMAND,
		ICC_REQUEST,
		ICC_RESPONSE,
		ICC_KINDS };

enum icc_stage {
	ICC_FETCH, /* descriptor out of the TOQ, and its checks */
	ICC_READ, /* payload, or references to it, out of own memory */
	ICC_INJECT, /* packet into the network */
	ICC_ROUTE, /* through the router */
	ICC_RECEIVE, /* checks of an arriving packet */
	ICC_WRITE, /* payload into own memory */
	ICC_NOTIFY, /* tell software */
	ICC_STAGES,
	ICC_PARKED = ICC_STAGES, /* a command waiting for responses */
	ICC_ENDED,
};

/**
 * struct icc_outbox - payload between reading and injecting
 * @pkt:   the packet that has been begun for it: data are there, behind the header;
 *         or NULL, and why: @err, or 0 where none was
 * @bytes: of payload
 * @refs:  the payload is references
 * @blank: the payload comes out of a blank region, and is not there
 */
struct icc_outbox {
	struct tofu_packet *pkt;
	int err;
	uint32_t bytes;
	bool refs;
	bool blank;
	union {
		uint8_t data[TOFU_PKT_INLINE_MAX];
		struct tofu_ref ref[TOFU_PKT_REFS_MAX];
	};
};

/**
 * struct icc_command - a command in the window of its CQ
 * @desc:    private copy of the descriptor
 * @data:    of PUT_PIGGYBACK the payload, of CSWAP in [0] the operand to
 *           compare with
 * @index:   TOQ index of its first slot
 * @seq:     number of the command in its CQ; never reused
 * @peer:    endpoint of the target; -1: its coordinates are not in the machine,
 *           or no process owns that queue
 * @length:  bytes of the command
 * @sent:    bytes of the injected packets
 * @part:    bytes of the packet in the outbox
 * @packets: count of injected packets
 * @awaits:  the answer to the last packet, which need not be sent yet
 * @value:   of ARMW: the value before
 * @stream:  a put: only its last packet is answered, and any that fails
 * @all_sent: its last packet has been sent, or cannot be
 * @received: bytes of a get that have arrived
 * @looks:   of a put, see icc_carriage()
 * @last_block: no further block follows; always set unless strided
 * @lcl_beyond, @rmt_beyond: the address of the block does not fit its field
 * @doorbell: if timed: when software stored into fetch_start
 * @fetched: if timed: when the engine began with the command
 * @ready:   if timed: when the engine has the descriptor
 *
 * Each block of a strided command is a command here. What each packet of a
 * stream needs comes first and together.
 */
struct icc_command {
	struct tofu_toq_desc desc;
	uint64_t seq;
	uint64_t index;
	int64_t peer;
	uint32_t length;
	uint32_t sent;
	uint32_t part;
	uint32_t packets;
	bool awaits;
	bool stream;
	bool all_sent;
	bool last_block;
	bool lcl_beyond;
	bool rmt_beyond;
	uint64_t doorbell;
	uint64_t fetched;
	uint64_t ready;
	uint32_t received;
	uint32_t looks;
	uint64_t value;
	uint64_t data[4];
};

/**
 * struct icc_blocks - blocks of a strided command that have not begun
 * @first: the first block
 * @stride: bytes from one to the next
 * @next:  number of the next one, from 0
 * @count: of all
 */
struct icc_blocks {
	struct icc_command first;
	uint64_t stride;
	uint64_t next;
	uint64_t count;
};

/**
 * struct icc_arrival - a packet being taken
 * @pkt:     private copy of the header
 * @payload: the sender can change it at any time
 * @range:   the node's own memory that the packet reads or writes
 * @value:   of ARMW: the value before
 * @command: of a response: the command that it answers
 * @sent:    of GET: bytes that have been answered
 * @part:    of GET: bytes in the outbox
 * @looks:   of GET, see icc_carriage()
 * @life:    of the CQ, when the request was admitted
 * @arrived: if timed: when the engine had taken the packet's last byte
 */
struct icc_arrival {
	const struct tofu_packet *pkt;
	const void *payload;
	struct icc_range range;
	uint64_t value;
	struct icc_xfer *command;
	uint32_t sent;
	uint32_t part;
	uint32_t looks;
	uint32_t life;
	uint64_t arrived;
};

/**
 * struct icc_xfer - one leg of a transfer
 * @kind:   enum icc_kind
 * @stage:  enum icc_stage
 * @status: first error
 * @number: of a command: its own in the window of its CQ
 * @cq:     of the initiator (command, response) or of the target (request;
 *          NULL where there is none)
 */
struct icc_xfer {
	uint8_t kind;
	uint8_t stage;
	uint8_t status;
	uint8_t number;
	struct icc_cq *cq;
	union {
		struct icc_command command;
		struct icc_arrival arrival;
	};
};

/**
 * icc_stage_fn - a stage
 *
 * Return: the next stage; or its own number if it cannot continue now and can
 * be run again.
 */
typedef enum icc_stage icc_stage_fn(struct icc *icc, struct icc_xfer *x);

#endif /* ICC_TRANSFER_H */
