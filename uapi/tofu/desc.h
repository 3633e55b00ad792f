/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * Entries of the rings of a command queue (CQ): transmit order queue (TOQ),
 * transmit completion queue (TCQ) and message receive queue (MRQ). Shared by
 * device, driver and library. Documentation/spec/queues.rst is the
 * specification; this is its only copy in code.
 */
#ifndef TOFU_UAPI_DESC_H
#define TOFU_UAPI_DESC_H

#include <tofu/base.h>

/* ---- Limits of the controller ---- */

#define TOFU_TNIS_DEFAULT 4
#define TOFU_TNIS_MAX 6
#define TOFU_CQS_PER_TNI 12 /* the last is the kernel's */
#define TOFU_CQ_KERNEL (TOFU_CQS_PER_TNI - 1)

/* A ring of size code n has 2^(11+2n) entries. */
#define TOFU_RING_CODE_MAX 5
#define TOFU_RING_ENTRIES(code) (1ULL << (11 + 2 * (code)))

#define TOFU_LENGTH_MAX 0xffffffULL /* bytes of a put or get */
#define TOFU_PIGGYBACK_MAX 32 /* bytes carried in a descriptor */
#define TOFU_PIGGYBACK_SLOT 8 /* bytes that fit into the first slot */
#define TOFU_BLOCKS_MAX 0xffffffULL /* of a strided put or get */
#define TOFU_LINE 8 /* bytes: unit of MTU and gap */
#define TOFU_PATHS 12
#define TOFU_WINDOW 64 /* most commands of a CQ in flight */

/* ---- Addresses ---- */

/*
 * struct tofu_toq_desc.lcl and .rmt: a byte of registered memory, named by
 * the CQ whose translation table holds the STAG, the STAG, and an offset in
 * the region.
 */
#define TOFU_ADDR_OFFSET_SHIFT 0
#define TOFU_ADDR_OFFSET_BITS 40
#define TOFU_ADDR_STAG_SHIFT 40
#define TOFU_ADDR_STAG_BITS 18
#define TOFU_ADDR_CQ_SHIFT 58
#define TOFU_ADDR_CQ_BITS 6

/* The STADD of the uTofu interface is an address with CQ = 0. */
#define TOFU_STADD_FIELDS \
	(TOFU_FIELD(TOFU_ADDR_OFFSET) | TOFU_FIELD(TOFU_ADDR_STAG))

/*
 * struct tofu_toq_desc.route and struct tofu_mrq_entry.route: the other side of
 * a transfer. The engine ignores TAG: it copies it from the command into the
 * command's notices on both sides.
 */
#define TOFU_ROUTE_X_SHIFT 0
#define TOFU_ROUTE_X_BITS 8
#define TOFU_ROUTE_Y_SHIFT 8
#define TOFU_ROUTE_Y_BITS 8
#define TOFU_ROUTE_Z_SHIFT 16
#define TOFU_ROUTE_Z_BITS 8
#define TOFU_ROUTE_A_SHIFT 24
#define TOFU_ROUTE_A_BITS 1
#define TOFU_ROUTE_B_SHIFT 25
#define TOFU_ROUTE_B_BITS 2
#define TOFU_ROUTE_C_SHIFT 27
#define TOFU_ROUTE_C_BITS 1
#define TOFU_ROUTE_COORDS_SHIFT 0 /* all six coordinates together */
#define TOFU_ROUTE_COORDS_BITS 28
#define TOFU_ROUTE_TNI_SHIFT 28
#define TOFU_ROUTE_TNI_BITS 3
#define TOFU_ROUTE_LENGTH_SHIFT 32
#define TOFU_ROUTE_LENGTH_BITS 24
#define TOFU_ROUTE_TAG_SHIFT 56
#define TOFU_ROUTE_TAG_BITS 8
#define TOFU_ROUTE_RESERVED (1ULL << 31)

/* ---- TOQ ---- */

enum tofu_command {
	TOFU_CMD_NOP = 0x0,
	TOFU_CMD_PUT = 0x1,
	TOFU_CMD_PUT_PIGGYBACK = 0x3,
	TOFU_CMD_GET = 0x4,
	TOFU_CMD_ARMW = 0xe,
};

/* Values follow the bits of UTOFU_ONESIDED_CAP_ARMW_OP_*. */
enum tofu_armw_op {
	TOFU_ARMW_CSWAP = 0,
	TOFU_ARMW_SWAP = 1,
	TOFU_ARMW_ADD = 2,
	TOFU_ARMW_XOR = 3,
	TOFU_ARMW_AND = 4,
	TOFU_ARMW_OR = 5,
	TOFU_ARMW_OPS = 6,
};

/* struct tofu_toq_desc.ctrl; all other bits are reserved: zero */
#define TOFU_TOQ_FLIP_SHIFT 0
#define TOFU_TOQ_FLIP_BITS 1
#define TOFU_TOQ_CMD_SHIFT 8
#define TOFU_TOQ_CMD_BITS 8
#define TOFU_TOQ_FLAGS_SHIFT 16
#define TOFU_TOQ_FLAGS_BITS 16
#define TOFU_TOQ_EDATA_SHIFT 32
#define TOFU_TOQ_EDATA_BITS 8
#define TOFU_TOQ_PATH_SHIFT 40 /* pa + 2 * pb + 8 * pc */
#define TOFU_TOQ_PATH_BITS 4
#define TOFU_TOQ_SPS_SHIFT 44 /* session progress step */
#define TOFU_TOQ_SPS_BITS 4
#define TOFU_TOQ_GAP_SHIFT 48 /* lines between packets; PUT and GET only */
#define TOFU_TOQ_GAP_BITS 8
#define TOFU_TOQ_MTU_SHIFT 56 /* lines in a packet, 0: most; PUT and GET only */
#define TOFU_TOQ_MTU_BITS 8
#define TOFU_TOQ_ARMW_OP_SHIFT 48 /* ARMW only */
#define TOFU_TOQ_ARMW_OP_BITS 4
#define TOFU_TOQ_ARMW_8_SHIFT 52 /* 1: 8 bytes, 0: 4 bytes; ARMW only */
#define TOFU_TOQ_ARMW_8_BITS 1

#define TOFU_PATH_A_SHIFT 0
#define TOFU_PATH_A_BITS 1
#define TOFU_PATH_B_SHIFT 1
#define TOFU_PATH_B_BITS 2
#define TOFU_PATH_C_SHIFT 3
#define TOFU_PATH_C_BITS 1

/* TOFU_TOQ_FLAGS */
#define TOFU_TOQ_F_STRONG_ORDER (1U << 0) /* bytes land in ascending order */
#define TOFU_TOQ_F_RMT_NOTICE (1U << 1) /* RMT_* entry in the target's MRQ */
#define TOFU_TOQ_F_LCL_NOTICE (1U << 2) /* LCL_* entry in the sender's MRQ */
#define TOFU_TOQ_F_TCQ_NOTICE (1U << 3) /* entry in the TCQ */
#define TOFU_TOQ_F_CACHE_INJECTION (1U << 4) /* no effect on data */
#define TOFU_TOQ_F_STRIDE (1U << 5) /* blocks; PUT and GET only, two slots */
#define TOFU_TOQ_F_ALL 0x3fU

/**
 * struct tofu_toq_desc - a command: one slot of the TOQ, or the first of two
 * @ctrl:  TOFU_TOQ_*
 * @route: TOFU_ROUTE_*: target node and TNI, length in bytes, tag
 * @rmt:   TOFU_ADDR_*: target CQ, STAG and offset
 * @lcl:   PUT: TOFU_ADDR_* of the source; GET: of the destination; the CQ field
 *         is this CQ's number. PUT_PIGGYBACK: up to 8 bytes of data. ARMW: the
 *         operand (for CSWAP the new value)
 *
 * PUT_PIGGYBACK of more than 8 bytes and ARMW CSWAP take a second slot, struct
 * tofu_toq_data; PUT and GET with the flag STRIDE take a struct
 * tofu_toq_stride. The slots of a command may wrap around the end of the ring.
 */
struct tofu_toq_desc {
	__le64 ctrl;
	__le64 route;
	__le64 rmt;
	__le64 lcl;
};
TOFU_ASSERT_SIZE(struct tofu_toq_desc, 32);
TOFU_ASSERT_OFFSET(struct tofu_toq_desc, ctrl, 0);
TOFU_ASSERT_OFFSET(struct tofu_toq_desc, route, 8);
TOFU_ASSERT_OFFSET(struct tofu_toq_desc, rmt, 16);
TOFU_ASSERT_OFFSET(struct tofu_toq_desc, lcl, 24);

/**
 * struct tofu_toq_data - the second slot of a command
 * @word: 32 bytes of piggyback data; for CSWAP, word[0] is the value to compare
 *        with and the rest is zero
 */
struct tofu_toq_data {
	__le64 word[4];
};
TOFU_ASSERT_SIZE(struct tofu_toq_data, 32);

/**
 * struct tofu_toq_stride - second slot of a PUT or GET in blocks
 * @stride: bytes from the beginning of a block to that of the next, on both
 *          sides; TOFU_ADDR_OFFSET_BITS wide
 * @blocks: 1 … TOFU_BLOCKS_MAX; the length in the route is that of one block
 * @reserved: zero
 */
struct tofu_toq_stride {
	__le64 stride;
	__le64 blocks;
	__le64 reserved[2];
};
TOFU_ASSERT_SIZE(struct tofu_toq_stride, 32);
TOFU_ASSERT_OFFSET(struct tofu_toq_stride, blocks, 8);

/**
 * tofu_toq_slots - count the slots that a command takes
 * @ctrl:  struct tofu_toq_desc.ctrl
 * @route: struct tofu_toq_desc.route
 *
 * Return: 1 or 2; 1 for a command that the engine does not know.
 */
static inline unsigned int tofu_toq_slots(__u64 ctrl, __u64 route)
{
	switch (TOFU_GET(ctrl, TOFU_TOQ_CMD)) {
	case TOFU_CMD_PUT:
	case TOFU_CMD_GET:
		return TOFU_GET(ctrl, TOFU_TOQ_FLAGS) & TOFU_TOQ_F_STRIDE ?
			       2 : 1;
	case TOFU_CMD_PUT_PIGGYBACK:
		return TOFU_GET(route, TOFU_ROUTE_LENGTH) >
			       TOFU_PIGGYBACK_SLOT ? 2 : 1;
	case TOFU_CMD_ARMW:
		return TOFU_GET(ctrl, TOFU_TOQ_ARMW_OP) ==
			       TOFU_ARMW_CSWAP ? 2 : 1;
	default:
		return 1;
	}
}

/**
 * tofu_ring_flip - compute the flip bit of an entry
 * @index: free-running index of the entry, from 0 at the ring's start
 * @code:  size code of the ring
 *
 * The memory of a new ring is zero, so the first round writes 1.
 */
static inline unsigned int tofu_ring_flip(__u64 index, unsigned int code)
{
	return !((index >> (11 + 2 * code)) & 1);
}

/* ---- Status of a command, in TCQ and MRQ entries ---- */

enum tofu_status {
	TOFU_ST_OK = 0,
	/* Found before anything left the node; reported in the TCQ */
	TOFU_ST_TCQ_DESC = 1, /* unknown command, reserved bit, flip bit */
	TOFU_ST_TCQ_MEMORY = 2, /* local table or page cannot be read */
	TOFU_ST_TCQ_STADD = 3, /* local STAG, range, or read-only */
	TOFU_ST_TCQ_LENGTH = 4, /* invalid length for this kind of command */
	/* Found later; reported in the initiator's MRQ */
	TOFU_ST_PEER = 16, /* no such node, TNI, CQ or group; it died */
	TOFU_ST_LCL_MEMORY = 17, /* as TCQ_MEMORY, later; GET: also the copy */
	TOFU_ST_RMT_MEMORY = 18, /* target's table or page unusable */
	TOFU_ST_LCL_STADD = 19, /* local region deregistered under way */
	TOFU_ST_RMT_STADD = 20, /* target STAG, range, read-only, alignment */
	TOFU_ST_LCL_LENGTH = 21, /* the answer's length does not fit */
	TOFU_ST_RMT_LENGTH = 22, /* the request's length does not fit */
	TOFU_ST_RMT_COMMAND = 23, /* the target executes no such requests */
	TOFU_ST_MRQ_OTHER = 31, /* the peer's answer is not one of an ICC */
};

/* ---- TCQ ---- */

/*
 * An entry is one 64-bit word. INDEX is the low 32 bits of the free-running
 * TOQ index of the command's first slot. Entries come in the order of the TOQ.
 */
#define TOFU_TCQ_FLIP_SHIFT 0
#define TOFU_TCQ_FLIP_BITS 1
#define TOFU_TCQ_STATUS_SHIFT 8
#define TOFU_TCQ_STATUS_BITS 8
#define TOFU_TCQ_INDEX_SHIFT 32
#define TOFU_TCQ_INDEX_BITS 32

/* ---- MRQ ---- */

/* Same values as enum utofu_mrq_notice_type */
enum tofu_mrq_type {
	TOFU_MRQ_LCL_PUT = 0,
	TOFU_MRQ_RMT_PUT = 1,
	TOFU_MRQ_LCL_GET = 2,
	TOFU_MRQ_RMT_GET = 3,
	TOFU_MRQ_LCL_ARMW = 4,
	TOFU_MRQ_RMT_ARMW = 5,
};

/* struct tofu_mrq_entry.ctrl */
#define TOFU_MRQ_FLIP_SHIFT 0
#define TOFU_MRQ_FLIP_BITS 1
#define TOFU_MRQ_TYPE_SHIFT 8
#define TOFU_MRQ_TYPE_BITS 8
#define TOFU_MRQ_STATUS_SHIFT 16
#define TOFU_MRQ_STATUS_BITS 8
#define TOFU_MRQ_EDATA_SHIFT 32
#define TOFU_MRQ_EDATA_BITS 8
#define TOFU_MRQ_CQ_SHIFT 40 /* CQ of the other side */
#define TOFU_MRQ_CQ_BITS 6

/**
 * struct tofu_mrq_entry - a notice
 * @ctrl:  TOFU_MRQ_*; written last
 * @route: TOFU_ROUTE_* of the other side: the target for LCL_*, the initiator
 *         for RMT_*; length and tag as in the command
 * @rmt:   target's STADD as in the command
 * @lcl:   LCL_PUT (0 for piggyback), LCL_GET, RMT_PUT and RMT_GET: the
 *         initiator's STADD; LCL_ARMW and RMT_ARMW: the value before the
 *         operation, zero-extended
 */
struct tofu_mrq_entry {
	__le64 ctrl;
	__le64 route;
	__le64 rmt;
	__le64 lcl;
};
TOFU_ASSERT_SIZE(struct tofu_mrq_entry, 32);
TOFU_ASSERT_OFFSET(struct tofu_mrq_entry, ctrl, 0);
TOFU_ASSERT_OFFSET(struct tofu_mrq_entry, route, 8);
TOFU_ASSERT_OFFSET(struct tofu_mrq_entry, rmt, 16);
TOFU_ASSERT_OFFSET(struct tofu_mrq_entry, lcl, 24);

#endif /* TOFU_UAPI_DESC_H */
