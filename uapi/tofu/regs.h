/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * The PCI device: identity, BARs, registers, CQ pages, translation tables.
 * Shared by device and driver; the library uses the CQ page.
 * Documentation/spec/ is the specification; this is its only copy in code.
 */
#ifndef TOFU_UAPI_REGS_H
#define TOFU_UAPI_REGS_H

#include <tofu/barrier.h>
#include <tofu/desc.h>

/* ---- PCI ---- */

/*
 * 1b36:00xx is the vendor and range that QEMU gives to its own devices; the
 * number is not registered.
 */
#define TOFU_PCI_VENDOR_ID 0x1b36
#define TOFU_PCI_DEVICE_ID 0x00f0
#define TOFU_PCI_REVISION 1
#define TOFU_PCI_CLASS 0x0280 /* network controller, other */

#define TOFU_BAR_REGS 0
#define TOFU_BAR_REGS_SIZE 0x20000
#define TOFU_BAR_PAGES 2 /* 64-bit, prefetchable */
#define TOFU_BAR_PAGES_SIZE 0x200000
#define TOFU_BAR_MSIX 4

/* MSI-X: vector 0 is the controller's; each CQ has one more. */
#define TOFU_VECTOR_GLOBAL 0
#define TOFU_VECTOR_CQ(tni, cq) (1 + (tni) * TOFU_CQS_PER_TNI + (cq))
#define TOFU_VECTORS(tnis) (1 + (tnis) * TOFU_CQS_PER_TNI)

/*
 * Every register is 64 bits wide and accessed by an aligned 8-byte access.
 * Any other access, and any access to a hole, reads as all ones or is
 * ignored, and is counted in TOFU_REG_BAD_ACCESS.
 */

/* ---- Registers of the controller, in TOFU_BAR_REGS ---- */

#define TOFU_REG_ID 0x000
#define TOFU_ID_MAGIC_SHIFT 0
#define TOFU_ID_MAGIC_BITS 32
#define TOFU_ID_MAGIC 0x55464f54 /* "TOFU" in memory order */
#define TOFU_ID_VERSION_SHIFT 32
#define TOFU_ID_VERSION_BITS 16
#define TOFU_ID_VERSION 1

#define TOFU_REG_CAPS 0x008
#define TOFU_CAPS_TNIS_SHIFT 0
#define TOFU_CAPS_TNIS_BITS 4
#define TOFU_CAPS_CQS_SHIFT 4 /* per TNI */
#define TOFU_CAPS_CQS_BITS 4
#define TOFU_CAPS_RING_CODE_SHIFT 8 /* largest */
#define TOFU_CAPS_RING_CODE_BITS 4
#define TOFU_CAPS_STAG_SHIFT 12 /* log2 of the largest table */
#define TOFU_CAPS_STAG_BITS 5
#define TOFU_CAPS_RAM_PAGES_SHIFT 17 /* CQ pages are memory: map cached */
#define TOFU_CAPS_RAM_PAGES_BITS 1
#define TOFU_CAPS_DIRECT_SHIFT 18 /* direct descriptors save time: use them */
#define TOFU_CAPS_DIRECT_BITS 1
#define TOFU_CAPS_GATES_SHIFT 19 /* per TNI; 0: no barrier interface */
#define TOFU_CAPS_GATES_BITS 7
#define TOFU_CAPS_ARMW_SHIFT 26 /* executes remote atomics */
#define TOFU_CAPS_ARMW_BITS 1

#define TOFU_REG_CTRL 0x010
/*
 * Write 1: disables every CQ and forgets its state. Reads 1 until no other node
 * reads this node's memory any more.
 */
#define TOFU_CTRL_RESET (1ULL << 0)

#define TOFU_REG_NODE 0x018 /* number of this node, count of nodes << 32 */
#define TOFU_REG_COORDS 0x020 /* TOFU_ROUTE_X … C of this node */
#define TOFU_REG_SHAPE 0x028 /* size of axis i (X Y Z A B C) at bit 10 * i */
#define TOFU_SHAPE_AXIS_BITS 10
#define TOFU_REG_BAD_ACCESS 0x030 /* count, read-only */
#define TOFU_REG_BAD_PACKETS 0x038 /* count of packets dropped, read-only */
#define TOFU_REG_TIME 0x040 /* ns of virtual time; 0: no virtual time */
#define TOFU_REG_MACHINE 0x048 /* name: 8 characters, zero-padded, or 0 */

/* Ports of the router: counters, read-only */
enum tofu_port {
	TOFU_PORT_XP, TOFU_PORT_XM, TOFU_PORT_YP, TOFU_PORT_YM,
	TOFU_PORT_ZP, TOFU_PORT_ZM, TOFU_PORT_A, TOFU_PORT_BP,
	TOFU_PORT_BM, TOFU_PORT_C,
	TOFU_PORTS,
};

enum tofu_port_counter {
	TOFU_PORT_TX_PACKETS,
	TOFU_PORT_TX_BYTES,
	TOFU_PORT_RX_PACKETS,
	TOFU_PORT_RX_BYTES,
	TOFU_PORT_TX_WAIT_NS, /* total time that packets waited for the link */
	TOFU_PORT_COUNTERS,
};

#define TOFU_REG_PORT(port, counter) (0x400 + (port) * 0x40 + (counter) * 8)

/* ---- Registers of a CQ, in TOFU_BAR_REGS ---- */

#define TOFU_CQ_REGS(tni, cq) (0x10000 + (tni) * 0x1000 + (cq) * 0x100)
#define TOFU_CQ_REGS_STRIDE 0x100

/*
 * Writing ENABLE = 1 takes over the registers from TOQ_BASE to GPID, checks
 * them and starts with empty rings at index 0; invalid settings leave the CQ
 * disabled with TOFU_CQ_STATUS_BAD_CONFIG. Those registers can only be written
 * while the CQ is disabled.
 */
#define TOFU_CQ_CTRL 0x00
#define TOFU_CQ_CTRL_ENABLE (1ULL << 0)

#define TOFU_CQ_STATUS 0x08 /* read-only */
#define TOFU_CQ_STATUS_ENABLED (1ULL << 0)
#define TOFU_CQ_STATUS_BAD_CONFIG (1ULL << 1)
#define TOFU_CQ_STATUS_TOQ_EXCEPTION (1ULL << 2) /* stopped, see spec */
#define TOFU_CQ_STATUS_MRQ_OVERFLOW (1ULL << 3) /* a notice was lost */

#define TOFU_CQ_TOQ_BASE 0x10 /* bus address, 256-byte aligned */
#define TOFU_CQ_TCQ_BASE 0x18
#define TOFU_CQ_MRQ_BASE 0x20
#define TOFU_CQ_RINGS 0x28
#define TOFU_CQ_RINGS_TOQ_SHIFT 0 /* size code, also of the TCQ */
#define TOFU_CQ_RINGS_TOQ_BITS 4
#define TOFU_CQ_RINGS_MRQ_SHIFT 4
#define TOFU_CQ_RINGS_MRQ_BITS 4
#define TOFU_CQ_RINGS_SESSION_SHIFT 8 /* session mode */
#define TOFU_CQ_RINGS_SESSION_BITS 1
#define TOFU_CQ_STT_BASE 0x30 /* steering table */
#define TOFU_CQ_STT_COUNT 0x38 /* entries, up to 2^TOFU_STAG_BITS_MAX */
#define TOFU_CQ_MBT_BASE 0x40 /* memory block table */
#define TOFU_CQ_MBT_COUNT 0x48
#define TOFU_CQ_GPID 0x50 /* 16 bits; both ends of a transfer must agree */

/*
 * Write 1: starts a flush. Reads 1 until nothing that began before it can touch
 * this node's memory through this CQ's tables: every command that had been
 * fetched has ended, and no other node reads a get's source any more. A write
 * while it reads 1 restarts the flush.
 */
#define TOFU_CQ_FLUSH 0x58

/* Causes, each armed by a one and disarmed when its interrupt is raised */
#define TOFU_CQ_IRQ_ARM 0x60 /* write: arms; read: armed causes */
#define TOFU_CQ_IRQ_CAUSE 0x68 /* raised causes; write 1s to clear */
#define TOFU_CQ_IRQ_TCQ (1ULL << 0) /* an entry was written */
#define TOFU_CQ_IRQ_MRQ (1ULL << 1)
#define TOFU_CQ_IRQ_FLUSH (1ULL << 2) /* a flush has ended */
#define TOFU_CQ_IRQ_EXCEPTION (1ULL << 3) /* STATUS has gained an error */
#define TOFU_CQ_IRQ_ALL 0xfULL

/* Free-running positions, read-only: entries fetched or written so far */
#define TOFU_CQ_TOQ_HEAD 0x70
#define TOFU_CQ_TCQ_TAIL 0x78
#define TOFU_CQ_MRQ_TAIL 0x80

/*
 * Read-only: commands that a CQ in session mode may still fetch: steps received
 * minus commands fetched.
 */
#define TOFU_CQ_SESSION 0x88

/* Counters, read-only, from zero at ENABLE. */
enum tofu_cq_counter {
	TOFU_CQ_TX_COMMANDS,
	TOFU_CQ_TX_BYTES, /* payload sent by puts, requested by gets */
	TOFU_CQ_RX_REQUESTS,
	TOFU_CQ_RX_BYTES, /* payload written by others' puts, read by gets */
	TOFU_CQ_TCQ_ERRORS,
	TOFU_CQ_MRQ_ERRORS,
	TOFU_CQ_MRQ_LOST, /* notices that found the MRQ full */
	TOFU_CQ_COUNTERS,
};

#define TOFU_CQ_COUNTER(counter) (0x90 + (counter) * 8)

/*
 * Time stamps, read-only, in ns of virtual time: of the last command that was
 * sent, and of the last request that ended with a notice here. 0 without
 * virtual time.
 */
enum tofu_cq_stamp {
	TOFU_CQ_TX_DOORBELL, /* software stored to fetch_start */
	TOFU_CQ_TX_ENGINE, /* the engine began the command */
	TOFU_CQ_TX_WIRE, /* its last packet entered the first link */
	TOFU_CQ_RX_WIRE, /* the request entered its first link */
	TOFU_CQ_RX_ENGINE, /* its engine had taken the request */
	TOFU_CQ_RX_NOTICE, /* the notice became visible */
	TOFU_CQ_STAMPS,
};

#define TOFU_CQ_STAMP(stamp) (0xd0 + (stamp) * 8)

/* ---- Registers of a gate, in TOFU_BAR_REGS ---- */

#define TOFU_GATE_REGS(tni, gate) (0x18000 + (tni) * 0x1000 + (gate) * 0x40)
#define TOFU_GATE_REGS_STRIDE 0x40

/*
 * Writing ENABLE = 1 takes over the registers from SRC_LCL to CHANNEL, checks
 * them and drops signals that had arrived; invalid settings leave the gate
 * disabled. Those registers can only be written while the gate is disabled.
 */
#define TOFU_GATE_CTRL 0x00
#define TOFU_GATE_CTRL_ENABLE (1ULL << 0)
#define TOFU_GATE_SRC_LCL 0x08 /* link words: TOFU_LINK_* */
#define TOFU_GATE_SRC_RMT 0x10
#define TOFU_GATE_DST_LCL 0x18
#define TOFU_GATE_DST_RMT 0x20
#define TOFU_GATE_GPID 0x28 /* 16 bits; as TOFU_CQ_GPID */
#define TOFU_GATE_CHANNEL 0x30 /* address of struct tofu_channel; 0: relay */
#define TOFU_GATE_STATE 0x38 /* read-only */
#define TOFU_GATE_STATE_LCL_SHIFT 0 /* a signal from SRC_LCL waits */
#define TOFU_GATE_STATE_LCL_BITS 1
#define TOFU_GATE_STATE_RMT_SHIFT 1 /* a signal from SRC_RMT waits */
#define TOFU_GATE_STATE_RMT_BITS 1
#define TOFU_GATE_STATE_BEGUN_SHIFT 2 /* started by software, not yet ended */
#define TOFU_GATE_STATE_BEGUN_BITS 1
#define TOFU_GATE_STATE_FIRED_SHIFT 32 /* number of times it has fired */
#define TOFU_GATE_STATE_FIRED_BITS 32

/* ---- CQ pages, in TOFU_BAR_PAGES ---- */

/*
 * The BAR holds the CQ pages, a kick page for each CQ at the same offset in the
 * second TOFU_PAGES_HALF, and the pages of the channels in the third.
 */
#define TOFU_PAGE_SIZE 0x1000
#define TOFU_PAGE_CQS 16 /* pages per TNI, of which 12 exist */
#define TOFU_PAGES_HALF 0x80000
#define TOFU_CQ_PAGE(tni, cq) \
	(((tni) * TOFU_PAGE_CQS + (cq)) * (__u64)TOFU_PAGE_SIZE)
#define TOFU_KICK_PAGE(tni, cq) (TOFU_PAGES_HALF + TOFU_CQ_PAGE(tni, cq))

#define TOFU_CHANNEL_PAGE(tni, channel) \
	(2 * TOFU_PAGES_HALF + TOFU_CQ_PAGE(tni, channel))

/* A write of any value and size to a channel's page at: */
#define TOFU_CHANNEL_START 0x0 /* start what the channel's block describes */
/*
 * A poll of the block found nothing; like TOFU_KICK_POLL, and for the same
 * reason. The device may then also ask other nodes whether the barrier can still
 * end. In virtual time it is never wanted, and does only that.
 */
#define TOFU_CHANNEL_POLL 0x8

/* A write of any value and size to the kick page at: */
#define TOFU_KICK_TAIL 0x0 /* fetch_start has moved */
#define TOFU_KICK_POLL 0x8 /* a poll of the rings found nothing */
/*
 * For traces: the value is the name of a phase that begins, 8 characters, the
 * first in the lowest byte; 0: the phase has ended.
 */
#define TOFU_KICK_MARK 0x10

/* struct tofu_cq_page.need_kick: the kicks that the engine wants now */
#define TOFU_NEED_KICK_TAIL (1U << 0)
#define TOFU_NEED_KICK_POLL (1U << 1)

/* Either word of a device that is gone: need_kick and status read so. */
#define TOFU_WORD_GONE 0xffffffffU

/*
 * struct tofu_cq_page.fetch_start: the last command, the only one since the
 * word was last stored, is in @direct as well as in the TOQ. To be set only
 * when all earlier commands have ended.
 */
#define TOFU_FETCH_DIRECT (1ULL << 63)

/**
 * struct tofu_cq_page - the page of a CQ that user space maps
 * @direct:      software: slots of a direct command, see TOFU_FETCH_DIRECT
 * @fetch_start: software: free-running count of TOQ slots written, 63 bits
 * @mrq_full_pointer: software: free-running count of MRQ entries read
 * @piggyback:   reserved
 * @tcq_read:    software: free-running count of TCQ entries read; tells the
 *               kernel whether any are unread
 * @need_kick:   device: TOFU_NEED_KICK_*
 * @status:      device: TOFU_CQ_STATUS_*
 * @toq_head:    device: free-running count of TOQ slots fetched
 *
 * The rest of the page is reserved. The device reads only what software writes,
 * and trusts none of it.
 */
struct tofu_cq_page {
	__u8 direct[64];
	__le64 fetch_start;
	__le64 mrq_full_pointer;
	__u8 piggyback[32];
	__le64 tcq_read;
	__u8 reserved0[8];
	__le32 need_kick;
	__le32 status;
	__le64 toq_head;
	__u8 reserved1[48];
};
TOFU_ASSERT_SIZE(struct tofu_cq_page, 0xc0);
TOFU_ASSERT_OFFSET(struct tofu_cq_page, direct, 0x00);
TOFU_ASSERT_OFFSET(struct tofu_cq_page, fetch_start, 0x40);
TOFU_ASSERT_OFFSET(struct tofu_cq_page, mrq_full_pointer, 0x48);
TOFU_ASSERT_OFFSET(struct tofu_cq_page, piggyback, 0x50);
TOFU_ASSERT_OFFSET(struct tofu_cq_page, tcq_read, 0x70);
TOFU_ASSERT_OFFSET(struct tofu_cq_page, need_kick, 0x80);
TOFU_ASSERT_OFFSET(struct tofu_cq_page, status, 0x84);
TOFU_ASSERT_OFFSET(struct tofu_cq_page, toq_head, 0x88);

/* ---- Translation: STAG → steering entry → memory block → page ---- */

#define TOFU_STAG_BITS_MIN 13
#define TOFU_STAG_BITS_MAX 15
#define TOFU_STAG_AUTO 4096 /* callers choose STAGs below */
#define TOFU_STAG_ALIGN 256 /* a region begins at such a boundary */

/**
 * struct tofu_steering - entry of the steering table, indexed by STAG
 * @ctrl:   TOFU_STEERING_*
 * @mbva:   offset of the region in its memory block, bytes
 * @length: length of the region, bytes
 */
struct tofu_steering {
	__le64 ctrl;
	__le64 mbva;
	__le64 length;
	__le64 reserved;
};
TOFU_ASSERT_SIZE(struct tofu_steering, 32);
TOFU_ASSERT_OFFSET(struct tofu_steering, mbva, 8);
TOFU_ASSERT_OFFSET(struct tofu_steering, length, 16);

#define TOFU_STEERING_ENABLE_SHIFT 0
#define TOFU_STEERING_ENABLE_BITS 1
#define TOFU_STEERING_READONLY_SHIFT 1 /* others may only read it */
#define TOFU_STEERING_READONLY_BITS 1
#define TOFU_STEERING_BLANK_SHIFT 2 /* its bytes are never read or written */
#define TOFU_STEERING_BLANK_BITS 1
#define TOFU_STEERING_FIRST_SHIFT 8 /* offset of the first byte within reach */
#define TOFU_STEERING_FIRST_BITS 8
#define TOFU_STEERING_MBID_SHIFT 32
#define TOFU_STEERING_MBID_BITS 32
TOFU_ASSERT(TOFU_STAG_ALIGN == 1 << TOFU_STEERING_FIRST_BITS,
	    "any byte up to the next boundary can be the first");

/**
 * struct tofu_memory_block - entry of the memory block table, indexed by mbid
 * @ctrl:  TOFU_MB_*
 * @table: bus address of the page table: npage 64-bit bus addresses
 * @npage: number of pages of the block
 *
 * Byte v of the block is byte v mod page size of page v / page size. The
 * address of a page need not be aligned to its size.
 */
struct tofu_memory_block {
	__le64 ctrl;
	__le64 table;
	__le64 npage;
	__le64 reserved;
};
TOFU_ASSERT_SIZE(struct tofu_memory_block, 32);
TOFU_ASSERT_OFFSET(struct tofu_memory_block, table, 8);
TOFU_ASSERT_OFFSET(struct tofu_memory_block, npage, 16);

#define TOFU_MB_ENABLE_SHIFT 0
#define TOFU_MB_ENABLE_BITS 1
#define TOFU_MB_PAGE_SHIFT_SHIFT 8 /* log2 of the page size, 12 to 40 */
#define TOFU_MB_PAGE_SHIFT_BITS 6

#endif /* TOFU_UAPI_REGS_H */
