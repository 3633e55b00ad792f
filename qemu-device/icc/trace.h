/* SPDX-License-Identifier: MIT */
/*
 * The trace of a node in virtual time: a file with a header and records. Each
 * node writes one file; numbers are little-endian, times are ns of the
 * machine's common time.
 */
#ifndef ICC_TRACE_H
#define ICC_TRACE_H

#include <stdint.h>

#include <tofu/desc.h>

#define ICC_TRACE_MAGIC 0x4543415254464f54ULL /* "TOFTRACE" in memory order */
#define ICC_TRACE_VERSION 2

/**
 * enum icc_trace_kind - the event of a record
 * @ICC_TRACE_DOORBELL: software stored into fetch_start; @bytes is the count of
 *                      new slots
 * @ICC_TRACE_FETCH:  a descriptor is read, from @time to @end
 * @ICC_TRACE_SEND:   the engine sends a packet: @end is when it enters the
 *                    first link
 * @ICC_TRACE_LINK:   a packet leaves this node by port @detail
 * @ICC_TRACE_RECEIVE: an engine has taken a packet's last byte (@time), and it
 *                    has its effect on memory (@end)
 * @ICC_TRACE_NOTICE: an MRQ entry; @detail is enum tofu_mrq_type
 * @ICC_TRACE_TCQ:    a TCQ entry; @detail is enum tofu_status
 * @ICC_TRACE_MARK:   software begins a phase: @id holds eight characters of
 *                    its name, the first one lowest; 0: the phase ends
 * @ICC_TRACE_CHANNEL: software starts a barrier by the channel of gate @cq
 */
enum icc_trace_kind {
	ICC_TRACE_DOORBELL = 1,
	ICC_TRACE_FETCH,
	ICC_TRACE_SEND,
	ICC_TRACE_LINK,
	ICC_TRACE_RECEIVE,
	ICC_TRACE_NOTICE,
	ICC_TRACE_TCQ,
	ICC_TRACE_MARK,
	ICC_TRACE_CHANNEL,
};

/**
 * struct icc_trace_header - first bytes of a file
 * @magic:   ICC_TRACE_MAGIC
 * @version: ICC_TRACE_VERSION
 * @node:    node that wrote the file
 * @records: count of records; grows while the machine runs
 * @shape:   as TOFU_REG_SHAPE
 * @machine: name, NUL-terminated
 * @lost:    count of records that are missing at the end, since the file could
 *           not grow
 */
struct icc_trace_header {
	uint64_t magic;
	uint32_t version;
	uint32_t node;
	uint64_t records;
	uint64_t shape;
	char machine[24];
	uint64_t lost;
};
TOFU_ASSERT_SIZE(struct icc_trace_header, 64);

/**
 * struct icc_trace - a record
 * @time, @end: ns
 * @id:     of packets and notices: tid of the command; with @origin it names
 *          one transfer from its doorbell to its notices
 * @origin: node that gave the command
 * @peer:   the other node
 * @bytes:  payload
 * @kind:   enum icc_trace_kind
 * @type:   of packets: enum tofu_packet_type
 * @tni:    of this node; of LINK: of the packet's sender
 * @cq:     of @tni; of a SIGNAL and of CHANNEL the gate
 * @detail: see above
 * @wait:   of LINK: ns that the packet waited for the link
 */
struct icc_trace {
	uint64_t time;
	uint64_t end;
	uint64_t id;
	uint32_t origin;
	uint32_t peer;
	uint32_t bytes;
	uint8_t kind;
	uint8_t type;
	uint8_t tni;
	uint8_t cq;
	uint32_t detail;
	uint32_t wait;
};
TOFU_ASSERT_SIZE(struct icc_trace, 48);

#endif /* ICC_TRACE_H */
