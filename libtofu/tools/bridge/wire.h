/* SPDX-License-Identifier: MIT */
/*
 * What bridges send to each other. A connection carries messages of at most
 * BRIDGE_MESSAGE bytes, each of them one or more frames without gaps. Two hosts
 * have a connection for each class of packets, so a response never waits behind
 * a request that does not go on. All fields are little endian, as in the fabric's
 * file, and all of them are hostile. Documentation/spec/bridge.rst describes what
 * they mean.
 */
#ifndef TOFU_BRIDGE_WIRE_H
#define TOFU_BRIDGE_WIRE_H

#include <stdint.h>

#include "net/packet.h"

#define BRIDGE_MAGIC 0x454744495242464fULL /* "OFBRIDGE" */
#define BRIDGE_VERSION 5
#define BRIDGE_NONCE 32
#define BRIDGE_PROOF 32

/*
 * The most that a packet refers to, TOFU_LENGTH_MAX, fits into fewer messages
 * than a packet can have references.
 */
#define BRIDGE_MESSAGE 294912
#define BRIDGE_ALIGN 8

/* A pair of nodes and a class: what is under way before credits return */
#define BRIDGE_WINDOW (16U << 20)
/* The least that a packet with references costs of it: it holds a message */
#define BRIDGE_COST_MIN BRIDGE_MESSAGE
/* Data of a packet with references are in pieces of so many bytes, but for the last */
#define BRIDGE_PIECE (256U << 10)
/* The most that a request carries by the connection of responses */
#define BRIDGE_SMALL 1024

/**
 * struct bridge_hello - the first message of both sides
 * @version: BRIDGE_VERSION; where it differs only @magic and @version are known
 * @packets: the class whose connection this is
 * @from, @to: hosts, by their places in the table
 * @table:   hash of the table of hosts, with the machine's shape
 * @session: of the side that connects: both connections have the same. The other
 *           side repeats it
 * @nonce:   random
 */
struct bridge_hello {
	uint64_t magic;
	uint32_t version;
	uint32_t packets;
	uint32_t from;
	uint32_t to;
	uint64_t table;
	uint64_t session;
	uint8_t nonce[BRIDGE_NONCE];
};
TOFU_ASSERT_SIZE(struct bridge_hello, 72);

/* struct bridge_proof - the second message: HMAC-SHA256 by the token, of the
 * side ('c' connects, 's' listens), the hello of 'c' and the hello of 's'
 */
struct bridge_proof {
	uint8_t mac[BRIDGE_PROOF];
};

/**
 * enum bridge_type - of a frame
 * @BRIDGE_PACKET: a packet from @src to @dst, and the first bytes of its data
 * @BRIDGE_CHUNK:  more data of the pair's packet of this class before
 * @BRIDGE_CREDIT: bytes of the window from @src to @dst are free again: a
 *                 struct bridge_credit
 * @BRIDGE_UP:     @src has come, as @src_gen
 * @BRIDGE_DOWN:   @src has gone
 * @BRIDGE_STATE:  in virtual time: @src has come so far: a struct bridge_state
 * @BRIDGE_ENTRY:  the next entry of the log of @src: a struct tofu_log_entry; where
 *                 its packet is for a node of the receiver, that and its payload
 * @BRIDGE_WORDS:  the words of @src: a struct bridge_words
 * @BRIDGE_PING:   a struct bridge_ping, which is returned
 * @BRIDGE_PONG:   the answer
 */
enum bridge_type {
	BRIDGE_PACKET = 1,
	BRIDGE_CHUNK,
	BRIDGE_CREDIT,
	BRIDGE_UP,
	BRIDGE_DOWN,
	BRIDGE_PING,
	BRIDGE_PONG,
	BRIDGE_BYE,
	BRIDGE_STATE,
	BRIDGE_ENTRY,
	BRIDGE_WORDS,
};

/* Flag of a PACKET or CHUNK: the data that follow could not be read. They are
 * not sent, and @bytes is as if they were none.
 */
#define BRIDGE_F_LOST 1

/**
 * struct bridge_frame - the head of a frame
 * @bytes:   of the frame with its head; the next one begins at a multiple of
 *           BRIDGE_ALIGN
 * @type:    enum bridge_type
 * @src, @dst: nodes
 * @src_gen, @dst_gen: their generations at their own hosts
 * @after:   of a request: that many responses from @src to @dst come before it,
 *           modulo 2^32
 * @number:  of a packet: that many of its class from @src to @dst come before it,
 *           modulo 2^32
 */
struct bridge_frame {
	uint32_t bytes;
	uint16_t type;
	uint16_t flags;
	uint32_t src;
	uint32_t dst;
	uint32_t src_gen;
	uint32_t dst_gen;
	uint32_t after;
	uint32_t number;
};
TOFU_ASSERT_SIZE(struct bridge_frame, 32);

struct bridge_credit {
	uint32_t packets;
	uint32_t bytes;
};

/* struct bridge_state - enum tofu_clock_state, common time and the first promise, ns
 */
struct bridge_state {
	uint64_t state;
	uint64_t now;
	uint64_t promise;
};

/* struct bridge_words - as of struct tofu_clock_words */
struct bridge_words {
	uint64_t promise;
	uint64_t counted;
};

/* struct bridge_ping - a clock of the side that asks */
struct bridge_ping {
	uint64_t time;
};

/* bridge_round - where the next frame begins */
static inline uint32_t bridge_round(uint32_t bytes)
{
	return (bytes + BRIDGE_ALIGN - 1) & ~(uint32_t)(BRIDGE_ALIGN - 1);
}

/* bridge_cost - bytes of the window that a packet takes */
static inline uint32_t bridge_cost(const struct tofu_packet *packet)
{
	const uint32_t head = sizeof(struct bridge_frame) + sizeof(*packet);

	if (!(packet->flags & TOFU_PKT_F_REFS))
		return head + packet->payload;
	return packet->length < BRIDGE_COST_MIN ? BRIDGE_COST_MIN :
						  packet->length;
}

#endif /* TOFU_BRIDGE_WIRE_H */
