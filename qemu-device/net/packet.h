/* SPDX-License-Identifier: MIT */
/*
 * The packets between nodes. The ICC model makes and reads them, transports
 * carry them. A receiver treats every field as hostile.
 */
#ifndef NET_PACKET_H
#define NET_PACKET_H

#include <stdint.h>

#include <tofu/barrier.h>
#include <tofu/desc.h>

/*
 * Two classes, as virtual channels: a request is taken only when its response
 * has room, a response is always taken. So neither blocks the other in a ring.
 * A packet that needs no response travels as a response: it waits for nothing,
 * and is taken even after its sender has left.
 */
enum tofu_class { TOFU_REQUEST,
		  TOFU_RESPONSE,
		  TOFU_CLASSES };

enum tofu_packet_type {
	TOFU_PKT_PUT = 1, /* request: data, or references to it */
	TOFU_PKT_GET = 2, /* request: what to read */
	TOFU_PKT_ARMW = 3, /* request */
	TOFU_PKT_SIGNAL = 15, /* of a gate; never answered */
	TOFU_PKT_DONE = 16, /* response to PUT: status */
	TOFU_PKT_DATA = 17, /* response to GET: status, data or references */
	TOFU_PKT_VALUE = 18, /* response to ARMW: status, value before */
};

/* tofu_class_of - class of a packet type, even of an unknown one */
static inline enum tofu_class tofu_class_of(unsigned int type)
{
	return type >= TOFU_PKT_SIGNAL ? TOFU_RESPONSE : TOFU_REQUEST;
}

/* The resources of a node that its processes share out; targets of packets. */
enum tofu_share { TOFU_SHARE_CQ,
		  TOFU_SHARE_GATE,
		  TOFU_SHARES };

/* struct tofu_packet.flags */
#define TOFU_PKT_F_STRONG_ORDER (1U << 0)
#define TOFU_PKT_F_RMT_NOTICE (1U << 1)
#define TOFU_PKT_F_LAST (1U << 2) /* last packet of the command, or of the answer */
#define TOFU_PKT_F_REFS (1U << 3) /* the payload is struct tofu_ref[] */
#define TOFU_PKT_F_BLANK (1U << 4) /* the payload takes time, but is not there */
#define TOFU_PKT_F_INJECT (1U << 5) /* into the cache of the target's processor */
#define TOFU_PKT_F_ASK (1U << 6) /* of SIGNAL: a question or, with F_LAST, its answer */

#define TOFU_PKT_INLINE_MAX 16128 /* bytes of data in a packet: a ring holds four */
#define TOFU_PKT_MTU_MAX 2048 /* the same in virtual time */
#define TOFU_PKT_REFS_MAX 64

/**
 * struct tofu_ref - bytes of the sender's memory
 * @addr: bus address in the sender's memory
 * @len:  bytes
 */
struct tofu_ref {
	uint64_t addr;
	uint64_t len;
};
TOFU_ASSERT_SIZE(struct tofu_ref, 16);

/*
 * SIGNAL uses of the header: src, src_tni, dst_tni, gpid, path, time;
 * src_cq and dst_cq are the numbers of the two gates, armw_op is enum
 * tofu_reduce_op, armw_size the count of elements, status enum
 * tofu_barrier_status; with F_LAST the gate will never signal again; tid is for
 * traces. The payload is TOFU_SIGNAL_BYTES. With F_ASK alone the gate asks the
 * other one whether that can still signal to it, with F_ASK and F_LAST it says
 * that it cannot; operand is the number of the question.
 */
#define TOFU_SIGNAL_BYTES 48

/* Polling in vain for so long makes a gate ask; ns */
#define TOFU_ASK_NS 100000000

/**
 * struct tofu_packet - header of a packet; the payload follows
 * @src:     endpoint of the sender; the transport checks it
 * @payload: bytes that follow: data, or a whole number of struct tofu_ref; with
 *           F_BLANK, bytes that would follow
 * @type:    enum tofu_packet_type
 * @flags:   TOFU_PKT_F_*
 * @path:    TOFU_TOQ_PATH of the command
 * @edata:   of the command
 * @src_tni: of the sender of this packet (of a response: of the target)
 * @src_cq:  of the sender of this packet
 * @dst_tni: of the receiver of this packet
 * @dst_cq:  of the receiver of this packet
 * @gpid:    group of the initiator
 * @status:  of a response: enum tofu_status
 * @tag:     TOFU_ROUTE_TAG of the command
 * @armw_op: enum tofu_armw_op
 * @armw_size: 4 or 8
 * @length:  bytes of the command that it covers
 * @total:   bytes of the whole command
 * @offset:  of these in the command
 * @tid:     chosen by the initiator, echoed by responses
 * @rmt:     TOFU_ADDR_* of the target as in the command
 * @lcl:     STADD of the initiator as in the command
 * @operand: of ARMW
 * @compare: of ARMW CSWAP; of VALUE the value before
 * @sps:     session progress step of the command
 * @gap:     of GET: TOFU_TOQ_GAP of the command, for the data
 * @mtu:     of GET: TOFU_TOQ_MTU of the command, for the data
 * @time:    ns of virtual time at which it enters the first link; 0 without
 *           virtual time
 */
struct tofu_packet {
	uint32_t src;
	uint32_t payload;
	uint8_t type;
	uint8_t flags;
	uint8_t path;
	uint8_t edata;
	uint8_t src_tni;
	uint8_t src_cq;
	uint8_t dst_tni;
	uint8_t dst_cq;
	uint16_t gpid;
	uint8_t status;
	uint8_t tag;
	uint8_t armw_op;
	uint8_t armw_size;
	uint8_t sps;
	uint8_t gap;
	uint32_t length;
	uint32_t total;
	uint64_t offset;
	uint64_t tid;
	uint64_t rmt;
	uint64_t lcl;
	uint64_t operand;
	uint64_t compare;
	uint64_t time;
	uint8_t mtu;
	uint8_t reserved[7];
};
TOFU_ASSERT_SIZE(struct tofu_packet, 96);
TOFU_ASSERT_OFFSET(struct tofu_packet, length, 24);
TOFU_ASSERT_OFFSET(struct tofu_packet, tid, 40);
TOFU_ASSERT_OFFSET(struct tofu_packet, time, 80);

/* tofu_packet_carried - bytes that really follow the header */
static inline uint32_t tofu_packet_carried(const struct tofu_packet *pkt)
{
	return pkt->flags & TOFU_PKT_F_BLANK ? 0 : pkt->payload;
}

/* tofu_packet_cqs - upper limit of src_cq and dst_cq, by packet type */
static inline unsigned int tofu_packet_cqs(unsigned int type)
{
	return type == TOFU_PKT_SIGNAL ? TOFU_GATES : TOFU_CQS_PER_TNI;
}

/* tofu_packet_engine - who puts it into the network, or takes it: a TNI, or
 * TOFU_TNIS_MAX for the barrier unit
 */
static inline uint8_t tofu_packet_engine(unsigned int type, uint8_t tni)
{
	return type == TOFU_PKT_SIGNAL ? TOFU_TNIS_MAX : tni % TOFU_TNIS_MAX;
}

#define TOFU_PKT_BYTES_MAX (sizeof(struct tofu_packet) + TOFU_PKT_INLINE_MAX)
TOFU_ASSERT(TOFU_PKT_MTU_MAX <= TOFU_PKT_INLINE_MAX, "no packet has more data");
TOFU_ASSERT(TOFU_PKT_REFS_MAX * sizeof(struct tofu_ref) <= TOFU_PKT_INLINE_MAX,
	    "references fit where data fits");

#endif /* NET_PACKET_H */
