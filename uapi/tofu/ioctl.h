/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR MIT */
/*
 * The driver's interface to user space: /dev/tofuN.
 *
 * A CQ is a file descriptor: TOFU_IOC_CQ_CREATE on the device returns it, its
 * rings and pages are mapped from it, memory is registered on it, poll(2) waits
 * on it, and closing the last reference destroys it and all that was
 * registered. Documentation/driver.rst describes it at length.
 *
 * Every structure begins with its size as the caller knows it. A kernel with a
 * longer structure takes the rest as zero; a kernel with a shorter one requires
 * the caller's rest to be zero (E2BIG). Reserved fields and unknown flags must
 * be zero.
 *
 * errno, the same for all calls:
 *   EINVAL    a field is out of its range, or a reserved one not zero
 *   E2BIG     size is larger than this kernel knows, and the rest not zero
 *   EFAULT    a pointer cannot be read or written
 *   ENOTTY    not a command of this file
 *   ENODEV    the device is gone, or was reset: close and open again
 *   ENOMEM    no kernel memory, or RLIMIT_MEMLOCK is exhausted
 *   EBUSY     CQ_CREATE: that CQ is in use
 *   EIO       CQ_CREATE, GATE_SET: the device refuses the settings
 *   ENOSPC    CQ_CREATE: no CQ of the TNI is free, or the user has too many;
 *             GATES_CREATE: no channel, or too few gates are free, or the user
 *             has too many;
 *             MEM_REG: no STAG or memory block is free
 *   EUSERS    CQ_CREATE, GATES_CREATE: another user of this node, whose queues
 *             or gates are open, has the same group
 *   EEXIST    MEM_REG: that STAG is in use
 *   ENOENT    MEM_DEREG: no such STAG
 *   EINTR     a fatal signal; the kernel finishes MEM_DEREG by itself
 */
#ifndef TOFU_UAPI_IOCTL_H
#define TOFU_UAPI_IOCTL_H

#include <linux/ioctl.h>
#include <tofu/barrier.h>

#define TOFU_IOC_TYPE 'T'

/* Size of the first version of struct tofu_ioc_info, still accepted */
#define TOFU_IOC_INFO_SIZE_1 48

/**
 * struct tofu_ioc_info - TOFU_IOC_INFO, on device and CQ
 * @size:    size of this structure
 * @flags:   in: 0
 * @tnis:    TNIs of the controller
 * @cqs:     CQs of a TNI that are for user space (0 … cqs - 1)
 * @node:    number of this node
 * @nodes:   nodes of the machine
 * @coords:  TOFU_ROUTE_X … C of this node
 * @shape:   as TOFU_REG_SHAPE
 * @ring_code_max: largest size code of a ring
 * @stags:   entries of a CQ's steering table
 * @caps:    TOFU_INFO_*; this and what follows are not in the first version
 * @gates:   in: 0; out: gates of a TNI; 0: there is no barrier interface
 */
struct tofu_ioc_info {
	__u32 size;
	__u32 flags;
	__u32 tnis;
	__u32 cqs;
	__u32 node;
	__u32 nodes;
	__u64 coords;
	__u64 shape;
	__u32 ring_code_max;
	__u32 stags;
	__u32 caps;
	__u32 gates;
};
TOFU_ASSERT_SIZE(struct tofu_ioc_info, 56);
TOFU_ASSERT_OFFSET(struct tofu_ioc_info, caps, TOFU_IOC_INFO_SIZE_1);

/* As TOFU_CAPS_DIRECT: direct descriptors save time, kicks are never wanted. */
#define TOFU_INFO_DIRECT (1U << 0)
/* As TOFU_CAPS_ARMW: there are remote atomics. */
#define TOFU_INFO_ARMW (1U << 1)

/**
 * struct tofu_ioc_time - TOFU_IOC_TIME, on device and CQ
 * @size:   size of this structure
 * @flags:  0
 * @time:   out: as TOFU_REG_TIME: ns of virtual time, or 0
 * @cycles: out: the processor's cycle counter, as user space reads it, within
 *          an instruction or two of @time
 */
struct tofu_ioc_time {
	__u32 size;
	__u32 flags;
	__u64 time;
	__u64 cycles;
};
TOFU_ASSERT_SIZE(struct tofu_ioc_time, 24);

/* struct tofu_map.cache */
#define TOFU_MAP_CACHED 0
#define TOFU_MAP_UNCACHED 1

/**
 * struct tofu_map - a mapping that a file offers
 * @key:    offset for mmap(2) on the file; opaque
 * @length: length for mmap(2), bytes
 * @cache:  TOFU_MAP_*: how the kernel will map it
 * @reserved: 0
 *
 * To be mapped whole and MAP_SHARED; PROT_EXEC is refused.
 */
struct tofu_map {
	__u64 key;
	__u64 length;
	__u32 cache;
	__u32 reserved;
};
TOFU_ASSERT_SIZE(struct tofu_map, 24);

enum tofu_map_index {
	TOFU_MAP_PAGE, /* struct tofu_cq_page */
	TOFU_MAP_KICK, /* the kick page */
	TOFU_MAP_TOQ,
	TOFU_MAP_TCQ,
	TOFU_MAP_MRQ,
	TOFU_MAPS,
};

#define TOFU_CQ_ANY 0xffffffffU
#define TOFU_CQ_SESSION_MODE (1U << 0) /* as TOFU_CQ_RINGS_SESSION */

/**
 * struct tofu_ioc_cq_create - TOFU_IOC_CQ_CREATE, on the device
 * @size:     size of this structure
 * @flags:    TOFU_CQ_SESSION_MODE
 * @tni:      TNI
 * @cq:       in: number of the CQ, or TOFU_CQ_ANY for the lowest free one; out:
 *            its number
 * @toq_code: size code of TOQ and TCQ
 * @mrq_code: size code of the MRQ
 * @fd:       out: the CQ's file, O_CLOEXEC
 * @reserved: 0
 * @map:      out: the mappings that it offers
 *
 * The CQ's group (GPID) is made of the caller's effective user id: processes of
 * different users cannot reach each other's memory.
 */
struct tofu_ioc_cq_create {
	__u32 size;
	__u32 flags;
	__u32 tni;
	__u32 cq;
	__u32 toq_code;
	__u32 mrq_code;
	__s32 fd;
	__u32 reserved;
	struct tofu_map map[TOFU_MAPS];
};
TOFU_ASSERT_SIZE(struct tofu_ioc_cq_create, 152);

#define TOFU_STAG_ANY 0xffffffffU
#define TOFU_MEM_READ_ONLY (1U << 0) /* other nodes may only read it */
#define TOFU_MEM_WATCH (1U << 1) /* mark it in struct tofu_watch when stale */

/**
 * struct tofu_ioc_mem_reg - TOFU_IOC_MEM_REG, on a CQ
 * @size:     size of this structure
 * @flags:    TOFU_MEM_*
 * @addr:     first byte
 * @length:   bytes, not 0
 * @stag:     in: below TOFU_STAG_AUTO, or TOFU_STAG_ANY; out: the STAG
 * @reserved: 0
 * @offset:   out: offset of @addr in the region, which begins at the
 *            TOFU_STAG_ALIGN boundary below it; what lies between is out of
 *            reach
 *
 * Pins the pages. Unmapping the memory later does no harm: the region then
 * refers to pages that have no other user. TOFU_MEM_WATCH needs an earlier
 * TOFU_IOC_WATCH on the CQ.
 */
struct tofu_ioc_mem_reg {
	__u32 size;
	__u32 flags;
	__u64 addr;
	__u64 length;
	__u32 stag;
	__u32 reserved;
	__u64 offset;
};
TOFU_ASSERT_SIZE(struct tofu_ioc_mem_reg, 40);

/**
 * struct tofu_ioc_mem_dereg - TOFU_IOC_MEM_DEREG, on a CQ
 * @size:  size of this structure
 * @flags: 0
 * @stag:  STAG
 * @reserved: 0
 *
 * Returns when nothing under way can touch the pages any more.
 */
struct tofu_ioc_mem_dereg {
	__u32 size;
	__u32 flags;
	__u32 stag;
	__u32 reserved;
};
TOFU_ASSERT_SIZE(struct tofu_ioc_mem_dereg, 16);

/* STAGs of a CQ, at most */
#define TOFU_WATCH_STAGS 8192

/**
 * struct tofu_watch - which watched regions of a CQ are stale
 * @generation: changes whenever a region becomes stale, after its mark is set
 * @stale: a bit for each STAG, from the lowest bit of the first word
 *
 * A region is stale once the addresses that it was registered with may have
 * other pages: after munmap(), mremap(), MADV_DONTNEED, truncation of a mapped
 * file and the like. A call that changes the addresses sets the mark before it
 * returns. Marks may be set without need, by fork() for one. Registering with
 * TOFU_MEM_WATCH clears the mark of the STAG.
 */
struct tofu_watch {
	__u64 generation;
	__u64 stale[TOFU_WATCH_STAGS / 64];
};
TOFU_ASSERT_SIZE(struct tofu_watch, 1032);

/**
 * struct tofu_ioc_watch - TOFU_IOC_WATCH, on a CQ
 * @size:  size of this structure
 * @flags: 0
 * @map:   out: the mapping of struct tofu_watch, which can only be read
 *
 * Every call on a CQ returns the same mapping.
 */
struct tofu_ioc_watch {
	__u32 size;
	__u32 flags;
	struct tofu_map map;
};
TOFU_ASSERT_SIZE(struct tofu_ioc_watch, 32);

enum tofu_gates_map_index {
	TOFU_GATES_MAP_CHANNEL, /* struct tofu_channel */
	TOFU_GATES_MAP_START, /* the channel's page */
	TOFU_GATES_MAPS,
};

/**
 * struct tofu_ioc_gates_create - TOFU_IOC_GATES_CREATE, on the device
 * @size:     size of this structure
 * @flags:    0
 * @tni:      TNI
 * @count:    number of gates, 1 … TOFU_GATES
 * @fd:       out: their file, O_CLOEXEC; closing its last reference frees them
 * @reserved: 0
 * @gate:     in: 0; out: their numbers. The first one has the channel of its
 *            number; the others are relays.
 * @map:      out: the mappings that the file offers
 *
 * Gates are created without links: a gate is disabled until TOFU_IOC_GATE_SET.
 * Their group (GPID) is chosen as that of a CQ.
 */
struct tofu_ioc_gates_create {
	__u32 size;
	__u32 flags;
	__u32 tni;
	__u32 count;
	__s32 fd;
	__u32 reserved;
	__u8 gate[TOFU_GATES];
	struct tofu_map map[TOFU_GATES_MAPS];
};
TOFU_ASSERT_SIZE(struct tofu_ioc_gates_create, 120);

/**
 * struct tofu_ioc_gate_set - TOFU_IOC_GATE_SET, on gates
 * @size:    size of this structure
 * @flags:   0
 * @index:   index into struct tofu_ioc_gates_create.gate
 * @reserved: 0
 * @src_lcl, @src_rmt, @dst_lcl, @dst_rmt: link words, TOFU_LINK_*
 *
 * Enables the gate, and drops signals that had arrived at it. A channel counts
 * ended barriers from zero again.
 */
struct tofu_ioc_gate_set {
	__u32 size;
	__u32 flags;
	__u32 index;
	__u32 reserved;
	__u64 src_lcl;
	__u64 src_rmt;
	__u64 dst_lcl;
	__u64 dst_rmt;
};
TOFU_ASSERT_SIZE(struct tofu_ioc_gate_set, 48);

#define TOFU_IOC_INFO _IOWR(TOFU_IOC_TYPE, 0x00, struct tofu_ioc_info)
#define TOFU_IOC_CQ_CREATE \
	_IOWR(TOFU_IOC_TYPE, 0x01, struct tofu_ioc_cq_create)
#define TOFU_IOC_TIME _IOWR(TOFU_IOC_TYPE, 0x02, struct tofu_ioc_time)
#define TOFU_IOC_GATES_CREATE \
	_IOWR(TOFU_IOC_TYPE, 0x03, struct tofu_ioc_gates_create)
#define TOFU_IOC_GATE_SET \
	_IOWR(TOFU_IOC_TYPE, 0x20, struct tofu_ioc_gate_set)
#define TOFU_IOC_MEM_REG _IOWR(TOFU_IOC_TYPE, 0x10, struct tofu_ioc_mem_reg)
#define TOFU_IOC_MEM_DEREG \
	_IOWR(TOFU_IOC_TYPE, 0x11, struct tofu_ioc_mem_dereg)
#define TOFU_IOC_WATCH _IOWR(TOFU_IOC_TYPE, 0x12, struct tofu_ioc_watch)

#endif /* TOFU_UAPI_IOCTL_H */
