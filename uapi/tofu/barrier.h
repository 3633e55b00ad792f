/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * The barrier interface (TBI) of a TNI: gates, and the channels by which
 * software starts a barrier or reduction and learns of its end. Shared by
 * device, driver and library. Documentation/spec/barrier.rst is the
 * specification; this is its only copy in code.
 */
#ifndef TOFU_UAPI_BARRIER_H
#define TOFU_UAPI_BARRIER_H

#include <tofu/base.h>

#define TOFU_GATES 48 /* of a TNI */
#define TOFU_CHANNELS 16 /* gates 0 … 15 can have one, of the same number */

/* ---- Operations ---- */

/* Same values as enum utofu_reduce_op */
enum tofu_reduce_op {
	TOFU_REDUCE_BARRIER = 1,
	TOFU_REDUCE_BAND = 2,
	TOFU_REDUCE_BOR = 3,
	TOFU_REDUCE_BXOR = 4,
	TOFU_REDUCE_MAX = 5, /* unsigned */
	TOFU_REDUCE_MAXLOC = 6, /* pairs: value, location; lowest location */
	TOFU_REDUCE_SUM = 7, /* wrapping */
	TOFU_REDUCE_BFPSUM = 8, /* sum of doubles */
	TOFU_REDUCE_OPS = 9,
};

#define TOFU_REDUCE_WORDS 6 /* most elements of 64 bits */
#define TOFU_REDUCE_DOUBLES 3 /* most elements of BFPSUM */
#define TOFU_REDUCE_ADDENDS 8192 /* channels that BFPSUM can add up */

/* How a barrier ended */
enum tofu_barrier_status {
	TOFU_BARRIER_OK = 0,
	TOFU_BARRIER_MISMATCH = 1, /* operations or counts that differ */
	TOFU_BARRIER_OTHER = 2, /* node gone, gate overrun, or bad command */
};

/* ---- Channels ---- */

/* struct tofu_channel.command */
#define TOFU_CHANNEL_OP_SHIFT 0 /* enum tofu_reduce_op */
#define TOFU_CHANNEL_OP_BITS 8
#define TOFU_CHANNEL_COUNT_SHIFT 8 /* elements; BARRIER: 0 */
#define TOFU_CHANNEL_COUNT_BITS 8

/* struct tofu_channel.done */
#define TOFU_CHANNEL_ENDED_SHIFT 0 /* barriers ended, from zero at ENABLE */
#define TOFU_CHANNEL_ENDED_BITS 32
#define TOFU_CHANNEL_STATUS_SHIFT 32 /* of the last one */
#define TOFU_CHANNEL_STATUS_BITS 8

/* The kernel stores this in struct tofu_channel.done when the device is gone. */
#define TOFU_CHANNEL_GONE 0xffffffffffffffffULL

/**
 * struct tofu_channel - a channel's block in main memory
 * @command: software: TOFU_CHANNEL_OP and _COUNT
 * @operand: software: elements; doubles as their 64 bits
 * @reserved0: 0
 * @done:    device: TOFU_CHANNEL_ENDED and _STATUS; written last
 * @result:  device: elements; all zero unless the status is OK
 * @reserved1: 0
 *
 * Software fills its part and writes to the channel's page. The device reads
 * that part before it stores @done.
 */
struct tofu_channel {
	__le64 command;
	__le64 operand[TOFU_REDUCE_WORDS];
	__le64 reserved0;
	__le64 done;
	__le64 result[TOFU_REDUCE_WORDS];
	__le64 reserved1;
};
TOFU_ASSERT_SIZE(struct tofu_channel, 128);
TOFU_ASSERT_OFFSET(struct tofu_channel, operand, 8);
TOFU_ASSERT_OFFSET(struct tofu_channel, done, 64);
TOFU_ASSERT_OFFSET(struct tofu_channel, result, 72);

#define TOFU_CHANNEL_ALIGN 128

/* ---- Gates ---- */

/*
 * A link word names a gate: TOFU_LINK_COORDS is TOFU_ROUTE_COORDS of its node.
 * Links within a TNI have only GATE and VALID. A remote destination also has
 * PATH, which is TOFU_TOQ_PATH.
 */
#define TOFU_LINK_COORDS_SHIFT 0
#define TOFU_LINK_COORDS_BITS 28
#define TOFU_LINK_TNI_SHIFT 28
#define TOFU_LINK_TNI_BITS 3
#define TOFU_LINK_GATE_SHIFT 32
#define TOFU_LINK_GATE_BITS 8
#define TOFU_LINK_PATH_SHIFT 40
#define TOFU_LINK_PATH_BITS 4
#define TOFU_LINK_VALID_SHIFT 63 /* 0: there is no such link */
#define TOFU_LINK_VALID_BITS 1

#endif /* TOFU_UAPI_BARRIER_H */
