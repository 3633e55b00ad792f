/* SPDX-License-Identifier: MIT */
/*
 * The uTofu interface: one-sided communication through the command queues of
 * a Tofu interconnect, and barriers and reductions by its barrier gates.
 * Documentation/library/utofu.rst says what this implementation chose where the
 * public facts about the interface are silent. Programs link with -ltofucom, or
 * -ltofu, which is the same library.
 * which is the same library.
 *
 * Terms used below. A TNI is one of the network interfaces of a node. A program
 * sends and receives through a virtual control queue (VCQ); its handle is valid
 * in the process that created it, its VCQ ID names it everywhere. A STADD is an
 * address that other nodes can use: (stag << 40) | offset; adding bytes to it
 * addresses further into the region. A TCQ report says that a command no longer
 * needs its source; an MRQ notice says that data came in, or that a command has
 * ended at its target.
 *
 * All functions but three return enum utofu_return_code, and set their results
 * on UTOFU_SUCCESS only, unless stated otherwise. Any of them can return
 * UTOFU_ERR_NOT_AVAILABLE and UTOFU_ERR_FATAL, and any that takes a handle
 * UTOFU_ERR_INVALID_VCQ_HDL. With TOFU_DEBUG=1 in the environment the library
 * explains on standard error why something is not available.
 */
#ifndef UTOFU_H
#define UTOFU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define UTOFU_VERSION_MAJOR 1
#define UTOFU_VERSION_MINOR 0

/* ---- Types ---- */

typedef uint16_t utofu_tni_id_t;
typedef uint16_t utofu_cq_id_t;
typedef uint16_t utofu_bg_id_t;
typedef uint16_t utofu_cmp_id_t;
typedef uintptr_t utofu_vcq_hdl_t;
typedef uint64_t utofu_vcq_id_t;
typedef uint64_t utofu_vbg_id_t;
typedef uint64_t utofu_stadd_t;
typedef uint8_t utofu_path_id_t;

#define UTOFU_VBG_ID_NULL ((utofu_vbg_id_t)(-1))
#define UTOFU_PATH_COORD_NULL ((uint8_t)-1)

/* ---- Constants ---- */

/**
 * DOC: UTOFU_ONESIDED_CAP_FLAG_*
 * @SESSION_MODE: VCQs can be made in SESSION_MODE
 * @ARMW: atomic operations
 */
#define UTOFU_ONESIDED_CAP_FLAG_SESSION_MODE (1UL << 0)
#define UTOFU_ONESIDED_CAP_FLAG_ARMW (1UL << 1)

/**
 * DOC: UTOFU_ONESIDED_CAP_ARMW_OP_*
 * @CSWAP: utofu_cswap4() and utofu_cswap8()
 * @SWAP: UTOFU_ARMW_OP_SWAP
 * @ADD: UTOFU_ARMW_OP_ADD
 * @XOR: UTOFU_ARMW_OP_XOR
 * @AND: UTOFU_ARMW_OP_AND
 * @OR: UTOFU_ARMW_OP_OR
 */
#define UTOFU_ONESIDED_CAP_ARMW_OP_CSWAP (1UL << 0)
#define UTOFU_ONESIDED_CAP_ARMW_OP_SWAP (1UL << 1)
#define UTOFU_ONESIDED_CAP_ARMW_OP_ADD (1UL << 2)
#define UTOFU_ONESIDED_CAP_ARMW_OP_XOR (1UL << 3)
#define UTOFU_ONESIDED_CAP_ARMW_OP_AND (1UL << 4)
#define UTOFU_ONESIDED_CAP_ARMW_OP_OR (1UL << 5)

/**
 * DOC: UTOFU_BARRIER_CAP_REDUCE_OP_*
 * @BARRIER: utofu_barrier()
 * @BAND: UTOFU_REDUCE_OP_BAND
 * @BOR: UTOFU_REDUCE_OP_BOR
 * @BXOR: UTOFU_REDUCE_OP_BXOR
 * @MAX: UTOFU_REDUCE_OP_MAX
 * @MAXLOC: UTOFU_REDUCE_OP_MAXLOC
 * @SUM: UTOFU_REDUCE_OP_SUM
 * @BFPSUM: UTOFU_REDUCE_OP_BFPSUM
 */
#define UTOFU_BARRIER_CAP_REDUCE_OP_BARRIER (1UL << 1)
#define UTOFU_BARRIER_CAP_REDUCE_OP_BAND (1UL << 2)
#define UTOFU_BARRIER_CAP_REDUCE_OP_BOR (1UL << 3)
#define UTOFU_BARRIER_CAP_REDUCE_OP_BXOR (1UL << 4)
#define UTOFU_BARRIER_CAP_REDUCE_OP_MAX (1UL << 5)
#define UTOFU_BARRIER_CAP_REDUCE_OP_MAXLOC (1UL << 6)
#define UTOFU_BARRIER_CAP_REDUCE_OP_SUM (1UL << 7)
#define UTOFU_BARRIER_CAP_REDUCE_OP_BFPSUM (1UL << 8)

/**
 * DOC: UTOFU_VCQ_FLAG_*
 * @THREAD_SAFE: calls with this VCQ may overlap in time with any others
 * @EXCLUSIVE: the VCQ has a command queue to itself
 * @SESSION_MODE: its commands wait until other processes release them
 */
#define UTOFU_VCQ_FLAG_THREAD_SAFE (1UL << 0)
#define UTOFU_VCQ_FLAG_EXCLUSIVE (1UL << 1)
#define UTOFU_VCQ_FLAG_SESSION_MODE (1UL << 2)

/**
 * DOC: UTOFU_VBG_FLAG_*
 * @THREAD_SAFE: calls with these gates may overlap in time with any others
 */
#define UTOFU_VBG_FLAG_THREAD_SAFE (1UL << 0)

/**
 * DOC: UTOFU_REG_MEM_FLAG_*
 * @READ_ONLY: others can get the memory, but neither put to it nor change it
 *     atomically
 */
#define UTOFU_REG_MEM_FLAG_READ_ONLY (1UL << 0)

/**
 * DOC: UTOFU_ONESIDED_FLAG_*
 * @STRONG_ORDER: the bytes land in ascending order, the last ones last
 * @PACKET_RESPONSE: accepted; a report always follows the response
 * @REMOTE_MRQ_NOTICE: RMT_* notice in the target's MRQ
 * @PADDING: accepted; bytes outside the range are never written
 * @CACHE_INJECTION: a hint, without effect on the data
 * @DELAY_START: queue the command, and start it together with the next one that
 *     lacks this flag
 * @TCQ_NOTICE: report in the sender's TCQ
 * @LOCAL_MRQ_NOTICE: LCL_* notice in the sender's MRQ
 * @SPS(n): session progress step, 0 … 15: number of commands to release at a
 *     target in SESSION_MODE; other targets ignore it
 * @PATH(id): a path ID; 0 is the path of the VCQ ID
 */
#define UTOFU_ONESIDED_FLAG_STRONG_ORDER (1UL << 0)
#define UTOFU_ONESIDED_FLAG_PACKET_RESPONSE (1UL << 1)
#define UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE (1UL << 2)
#define UTOFU_ONESIDED_FLAG_PADDING (1UL << 3)
#define UTOFU_ONESIDED_FLAG_CACHE_INJECTION (1UL << 5)
#define UTOFU_ONESIDED_FLAG_DELAY_START (1UL << 8)
#define UTOFU_ONESIDED_FLAG_TCQ_NOTICE (1UL << 14)
#define UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE (1UL << 15)
#define UTOFU_ONESIDED_FLAG_SPS(sps) ((unsigned long)(sps) << 24)
#define UTOFU_ONESIDED_FLAG_PATH(path_id) ((unsigned long)(path_id) << 28)

/**
 * enum utofu_armw_op - atomic operations
 * @UTOFU_ARMW_OP_SWAP: the operand replaces the word
 * @UTOFU_ARMW_OP_ADD: sum, without carry out of the word
 * @UTOFU_ARMW_OP_XOR: exclusive or
 * @UTOFU_ARMW_OP_AND: bitwise and
 * @UTOFU_ARMW_OP_OR: bitwise or
 */
enum utofu_armw_op {
	UTOFU_ARMW_OP_SWAP = 1,
	UTOFU_ARMW_OP_ADD = 2,
	UTOFU_ARMW_OP_XOR = 3,
	UTOFU_ARMW_OP_AND = 4,
	UTOFU_ARMW_OP_OR = 5
};

/**
 * enum utofu_reduce_op - how gates combine the values of a reduction
 * @UTOFU_REDUCE_OP_BARRIER: no values
 * @UTOFU_REDUCE_OP_BAND: bitwise and
 * @UTOFU_REDUCE_OP_BOR: bitwise or
 * @UTOFU_REDUCE_OP_BXOR: bitwise exclusive or
 * @UTOFU_REDUCE_OP_MAX: the largest
 * @UTOFU_REDUCE_OP_MAXLOC: pairs of value and location: the largest value, and
 *     among equal values the lowest location
 * @UTOFU_REDUCE_OP_SUM: sum, modulo 2^64
 * @UTOFU_REDUCE_OP_BFPSUM: sum of floating-point numbers, bit for bit the same
 *     in any order
 */
enum utofu_reduce_op {
	UTOFU_REDUCE_OP_BARRIER = 1,
	UTOFU_REDUCE_OP_BAND = 2,
	UTOFU_REDUCE_OP_BOR = 3,
	UTOFU_REDUCE_OP_BXOR = 4,
	UTOFU_REDUCE_OP_MAX = 5,
	UTOFU_REDUCE_OP_MAXLOC = 6,
	UTOFU_REDUCE_OP_SUM = 7,
	UTOFU_REDUCE_OP_BFPSUM = 8
};

/**
 * enum utofu_mrq_notice_type - what a notice reports
 * @UTOFU_MRQ_TYPE_LCL_PUT: a put of this VCQ has arrived at its target
 * @UTOFU_MRQ_TYPE_RMT_PUT: a put from another VCQ has arrived here
 * @UTOFU_MRQ_TYPE_LCL_GET: the data of a get of this VCQ have arrived
 * @UTOFU_MRQ_TYPE_RMT_GET: a get of another VCQ was served here
 * @UTOFU_MRQ_TYPE_LCL_ARMW: the result of an atomic operation of this VCQ has
 *     arrived
 * @UTOFU_MRQ_TYPE_RMT_ARMW: an atomic operation of another VCQ was done here
 */
enum utofu_mrq_notice_type {
	UTOFU_MRQ_TYPE_LCL_PUT = 0,
	UTOFU_MRQ_TYPE_RMT_PUT = 1,
	UTOFU_MRQ_TYPE_LCL_GET = 2,
	UTOFU_MRQ_TYPE_RMT_GET = 3,
	UTOFU_MRQ_TYPE_LCL_ARMW = 4,
	UTOFU_MRQ_TYPE_RMT_ARMW = 5
};

/**
 * enum utofu_return_code - what functions return
 * @UTOFU_SUCCESS: success
 * @UTOFU_ERR_NOT_FOUND: there is nothing to take
 * @UTOFU_ERR_NOT_COMPLETED: still under way
 * @UTOFU_ERR_NOT_PROCESSED: nothing was started
 * @UTOFU_ERR_BUSY: not now: a queue is full, or what is under way must end
 *                  first
 * @UTOFU_ERR_USED: already taken
 * @UTOFU_ERR_FULL: none is left
 * @UTOFU_ERR_NOT_AVAILABLE: no interconnect is available; or this process is
 *     the child of a fork() of one that had opened it
 * @UTOFU_ERR_NOT_SUPPORTED: defined, but not supported here
 * @UTOFU_ERR_TCQ_OTHER: the command did not leave the node, for an unknown
 *     reason
 * @UTOFU_ERR_TCQ_DESC: it did not leave: its descriptor was damaged
 * @UTOFU_ERR_TCQ_MEMORY: it did not leave: local memory could not be accessed
 * @UTOFU_ERR_TCQ_STADD: it did not leave: its range is not within a registered
 *     local region that permits the access
 * @UTOFU_ERR_TCQ_LENGTH: it did not leave: its length is invalid
 * @UTOFU_ERR_MRQ_OTHER: a command failed under way, for an unknown reason; or
 *     notices were lost
 * @UTOFU_ERR_MRQ_PEER: it failed: the target has no such VCQ, or no longer, or
 *     the VCQ is another user's
 * @UTOFU_ERR_MRQ_LCL_MEMORY: it failed: local memory could not be accessed
 * @UTOFU_ERR_MRQ_RMT_MEMORY: it failed: the target's memory could not be
 *     accessed
 * @UTOFU_ERR_MRQ_LCL_STADD: it failed: local memory was deregistered meanwhile
 * @UTOFU_ERR_MRQ_RMT_STADD: it failed: its range is not aligned, or not within
 *     a registered region of the target that permits the access
 * @UTOFU_ERR_MRQ_LCL_LENGTH: it failed: the answer's length is invalid
 * @UTOFU_ERR_MRQ_RMT_LENGTH: it failed: the target found its length invalid
 * @UTOFU_ERR_BARRIER_OTHER: a node is gone or has freed its gates, or a gate got
 *     two signals where it waits for one
 * @UTOFU_ERR_BARRIER_MISMATCH: the nodes did not agree on what they started
 * @UTOFU_ERR_INVALID_ARG: an argument is outside its range
 * @UTOFU_ERR_INVALID_POINTER: a pointer is NULL
 * @UTOFU_ERR_INVALID_FLAGS: a flag is unknown to the function
 * @UTOFU_ERR_INVALID_COORDS: coordinates are outside the machine
 * @UTOFU_ERR_INVALID_PATH: path coordinates are outside the machine
 * @UTOFU_ERR_INVALID_TNI_ID: no such TNI
 * @UTOFU_ERR_INVALID_CQ_ID: no such command queue
 * @UTOFU_ERR_INVALID_BG_ID: no such barrier gate
 * @UTOFU_ERR_INVALID_CMP_ID: no such component ID
 * @UTOFU_ERR_INVALID_VCQ_HDL: not a handle, or the handle of a freed VCQ
 * @UTOFU_ERR_INVALID_VCQ_ID: not the ID of a VCQ
 * @UTOFU_ERR_INVALID_VBG_ID: not the ID of a gate, or the gate cannot be used
 *     so
 * @UTOFU_ERR_INVALID_PATH_ID: no such path
 * @UTOFU_ERR_INVALID_STADD: not a STADD, or not one that was registered here
 * @UTOFU_ERR_INVALID_ADDRESS: no memory is mapped there
 * @UTOFU_ERR_INVALID_SIZE: a length is outside its range
 * @UTOFU_ERR_INVALID_STAG: not a reserved STAG
 * @UTOFU_ERR_INVALID_EDATA: edata takes more than max_edata_size bytes
 * @UTOFU_ERR_INVALID_NUMBER: a count is outside its range
 * @UTOFU_ERR_INVALID_OP: no such operation, or not the one that was started
 * @UTOFU_ERR_INVALID_DESC: not a prepared command, or one of another VCQ
 * @UTOFU_ERR_INVALID_DATA: a value is a NaN or an infinity
 * @UTOFU_ERR_OUT_OF_RESOURCE: the system is out of a resource
 * @UTOFU_ERR_OUT_OF_MEMORY: the system is out of memory
 * @UTOFU_ERR_FATAL: the interconnect is broken or gone
 */
enum utofu_return_code {
	UTOFU_SUCCESS = 0,
	UTOFU_ERR_NOT_FOUND = -1,
	UTOFU_ERR_NOT_COMPLETED = -2,
	UTOFU_ERR_NOT_PROCESSED = -3,
	UTOFU_ERR_BUSY = -4,
	UTOFU_ERR_USED = -5,
	UTOFU_ERR_FULL = -6,
	UTOFU_ERR_NOT_AVAILABLE = -7,
	UTOFU_ERR_NOT_SUPPORTED = -8,

	UTOFU_ERR_TCQ_OTHER = -128,
	UTOFU_ERR_TCQ_DESC = -129,
	UTOFU_ERR_TCQ_MEMORY = -130,
	UTOFU_ERR_TCQ_STADD = -131,
	UTOFU_ERR_TCQ_LENGTH = -132,

	UTOFU_ERR_MRQ_OTHER = -192,
	UTOFU_ERR_MRQ_PEER = -193,
	UTOFU_ERR_MRQ_LCL_MEMORY = -194,
	UTOFU_ERR_MRQ_RMT_MEMORY = -195,
	UTOFU_ERR_MRQ_LCL_STADD = -196,
	UTOFU_ERR_MRQ_RMT_STADD = -197,
	UTOFU_ERR_MRQ_LCL_LENGTH = -198,
	UTOFU_ERR_MRQ_RMT_LENGTH = -199,

	UTOFU_ERR_BARRIER_OTHER = -256,
	UTOFU_ERR_BARRIER_MISMATCH = -257,

	UTOFU_ERR_INVALID_ARG = -512,
	UTOFU_ERR_INVALID_POINTER = -513,
	UTOFU_ERR_INVALID_FLAGS = -514,
	UTOFU_ERR_INVALID_COORDS = -515,
	UTOFU_ERR_INVALID_PATH = -516,
	UTOFU_ERR_INVALID_TNI_ID = -517,
	UTOFU_ERR_INVALID_CQ_ID = -518,
	UTOFU_ERR_INVALID_BG_ID = -519,
	UTOFU_ERR_INVALID_CMP_ID = -520,
	UTOFU_ERR_INVALID_VCQ_HDL = -521,
	UTOFU_ERR_INVALID_VCQ_ID = -522,
	UTOFU_ERR_INVALID_VBG_ID = -523,
	UTOFU_ERR_INVALID_PATH_ID = -524,
	UTOFU_ERR_INVALID_STADD = -525,
	UTOFU_ERR_INVALID_ADDRESS = -526,
	UTOFU_ERR_INVALID_SIZE = -527,
	UTOFU_ERR_INVALID_STAG = -528,
	UTOFU_ERR_INVALID_EDATA = -529,
	UTOFU_ERR_INVALID_NUMBER = -530,
	UTOFU_ERR_INVALID_OP = -531,
	UTOFU_ERR_INVALID_DESC = -532,
	UTOFU_ERR_INVALID_DATA = -533,

	UTOFU_ERR_OUT_OF_RESOURCE = -640,
	UTOFU_ERR_OUT_OF_MEMORY = -641,
	UTOFU_ERR_FATAL = -768
};

/* ---- Structures ---- */

/**
 * struct utofu_onesided_caps - what a TNI can do
 * @flags:      UTOFU_ONESIDED_CAP_FLAG_*
 * @armw_ops:   UTOFU_ONESIDED_CAP_ARMW_OP_*; 0 on a machine without remote
 *     atomics, as K and FX10 are
 * @num_cmp_ids: component IDs are 0 … @num_cmp_ids - 1
 * @num_reserved_stags: STAGs for utofu_reg_mem_with_stag() are 0 …
 *     @num_reserved_stags - 1
 * @cache_line_size: bytes
 * @stag_address_alignment: bytes; a region begins at such a boundary
 * @max_toq_desc_size: largest prepared descriptor, bytes
 * @max_putget_size: largest put or get, bytes
 * @max_piggyback_size: largest piggyback put, bytes
 * @max_edata_size: bytes of edata
 * @max_mtu:    bytes
 * @max_gap:    between packets
 */
struct utofu_onesided_caps {
	unsigned long int flags;
	unsigned long int armw_ops;
	unsigned int num_cmp_ids;
	unsigned int num_reserved_stags;
	size_t cache_line_size;
	size_t stag_address_alignment;
	size_t max_toq_desc_size;
	size_t max_putget_size;
	size_t max_piggyback_size;
	size_t max_edata_size;
	size_t max_mtu;
	size_t max_gap;
};

/**
 * struct utofu_barrier_caps - what a TNI's barrier gates can do
 * @flags:      0
 * @reduce_ops: UTOFU_BARRIER_CAP_REDUCE_OP_*
 * @max_uint64_reduction: elements
 * @max_double_reduction: elements
 */
struct utofu_barrier_caps {
	unsigned long int flags;
	unsigned long int reduce_ops;
	size_t max_uint64_reduction;
	size_t max_double_reduction;
};

/**
 * struct utofu_vbg_setting - how a barrier gate is linked
 * @vbg_id:         the gate
 * @src_lcl_vbg_id: gate of this node that signals it
 * @src_rmt_vbg_id: gate of another node that signals it
 * @dst_lcl_vbg_id: gate of this node that it signals
 * @dst_rmt_vbg_id: gate of another node that it signals
 * @dst_path_coords: path to @dst_rmt_vbg_id
 */
struct utofu_vbg_setting {
	utofu_vbg_id_t vbg_id;
	utofu_vbg_id_t src_lcl_vbg_id;
	utofu_vbg_id_t src_rmt_vbg_id;
	utofu_vbg_id_t dst_lcl_vbg_id;
	utofu_vbg_id_t dst_rmt_vbg_id;
	uint8_t dst_path_coords[3];
};

/**
 * struct utofu_mrq_notice - an entry of the MRQ
 * @notice_type: enum utofu_mrq_notice_type
 * @padding1:  0
 * @vcq_id:    the other side of the transfer, without path bits: the target for
 *             LCL_*, the initiator for RMT_*
 * @edata:     as in the command
 * @rmt_value: LCL_ARMW: the value before the operation; RMT_ARMW: the STADD of
 *             the word that was changed; else 0
 * @lcl_stadd: the initiator's STADD as in the command; 0 for ARMW and for
 *             piggyback puts
 * @rmt_stadd: the target's STADD as in the command
 * @reserved:  0
 */
struct utofu_mrq_notice {
	uint8_t notice_type;
	uint8_t padding1[7];
	utofu_vcq_id_t vcq_id;
	uint64_t edata;
	uint64_t rmt_value;
	utofu_stadd_t lcl_stadd;
	utofu_stadd_t rmt_stadd;
	uint64_t reserved[2];
};

/* ---- TNIs ---- */

/**
 * utofu_get_onesided_tnis - find the TNIs that can make one-sided transfers
 * @tni_ids:  set to an array that the caller frees with free()
 * @num_tnis: set to its length
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_OUT_OF_MEMORY.
 */
int utofu_get_onesided_tnis(utofu_tni_id_t **tni_ids, size_t *num_tnis);

/**
 * utofu_query_onesided_caps - get the capabilities of a TNI
 * @tni_id:   one of utofu_get_onesided_tnis()
 * @tni_caps: set to a structure that the library owns: do not write or free it
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_TNI_ID, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_onesided_caps(utofu_tni_id_t tni_id,
			      struct utofu_onesided_caps **tni_caps);

/**
 * utofu_get_barrier_tnis - find the TNIs that have barrier gates
 * @tni_ids:  set to an array that the caller frees with free()
 * @num_tnis: set to its length
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_OUT_OF_MEMORY.
 */
int utofu_get_barrier_tnis(utofu_tni_id_t **tni_ids, size_t *num_tnis);

/**
 * utofu_query_barrier_caps - get the capabilities of a TNI's barrier gates
 * @tni_id:   one of utofu_get_barrier_tnis()
 * @tni_caps: set to a structure that the library owns: do not write or free it
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_INVALID_TNI_ID, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_barrier_caps(utofu_tni_id_t tni_id,
			     struct utofu_barrier_caps **tni_caps);

/* ---- VCQs ---- */

/**
 * utofu_create_vcq - create a VCQ
 * @tni_id:  one of utofu_get_onesided_tnis()
 * @flags:   UTOFU_VCQ_FLAG_*
 * @vcq_hdl: set to the handle
 *
 * The VCQs of a process on a TNI share a command queue; EXCLUSIVE gives this
 * VCQ a queue to itself. Without THREAD_SAFE, calls with handles of one process
 * and one TNI must not overlap in time. EXCLUSIVE VCQs are exempt: only calls
 * with the same handle must not overlap.
 *
 * The commands of a SESSION_MODE VCQ wait, in order, until commands of other
 * VCQs release them: each command with SPS(n) that is carried out here and
 * names this VCQ as its target releases n more, now or as soon as they are
 * posted. Each block of a strided command is released separately. Such a VCQ
 * has a command queue to itself, as with EXCLUSIVE.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_TNI_ID, UTOFU_ERR_INVALID_FLAGS,
 * UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_FULL where the TNI has no command queue
 * left; UTOFU_ERR_OUT_OF_MEMORY, UTOFU_ERR_OUT_OF_RESOURCE.
 */
int utofu_create_vcq(utofu_tni_id_t tni_id, unsigned long int flags,
		     utofu_vcq_hdl_t *vcq_hdl);

/**
 * utofu_create_vcq_with_cmp_id - create a VCQ whose ID others can construct
 * @tni_id:  one of utofu_get_onesided_tnis()
 * @cmp_id:  component ID, 0 … num_cmp_ids - 1
 * @flags:   UTOFU_VCQ_FLAG_*
 * @vcq_hdl: set to the handle
 *
 * As utofu_create_vcq(), and any process that knows the node's coordinates, the
 * TNI and the number of the command queue can construct the VCQ ID with
 * utofu_construct_vcq_id(). The first VCQ of a node on a TNI is in command
 * queue 0.
 *
 * Return: as utofu_create_vcq(); UTOFU_ERR_INVALID_CMP_ID; UTOFU_ERR_USED where
 * the process has a VCQ with this component ID in the command queue that the
 * new VCQ would share.
 */
int utofu_create_vcq_with_cmp_id(utofu_tni_id_t tni_id, utofu_cmp_id_t cmp_id,
				 unsigned long int flags,
				 utofu_vcq_hdl_t *vcq_hdl);

/**
 * utofu_free_vcq - free a VCQ
 * @vcq_hdl: handle of the VCQ
 *
 * Memory that is still registered through it is deregistered. Returns when
 * nothing under way can touch that memory any more.
 *
 * Return: UTOFU_SUCCESS.
 */
int utofu_free_vcq(utofu_vcq_hdl_t vcq_hdl);

/**
 * utofu_query_vcq_id - get the ID by which others name a VCQ
 * @vcq_hdl: handle of the VCQ
 * @vcq_id:  set to its ID, with the default path
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_vcq_id(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t *vcq_id);

/**
 * utofu_construct_vcq_id - construct the ID of a VCQ created with a component
 * ID
 * @coords: six coordinates X Y Z A B C of its node
 * @tni_id: its TNI
 * @cq_id:  number of its command queue
 * @cmp_id: its component ID
 * @vcq_id: set to what utofu_query_vcq_id() returns there
 *
 * Does not communicate, and does not check whether such a VCQ exists.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_COORDS, UTOFU_ERR_INVALID_TNI_ID,
 * UTOFU_ERR_INVALID_CQ_ID, UTOFU_ERR_INVALID_CMP_ID,
 * UTOFU_ERR_INVALID_POINTER.
 */
int utofu_construct_vcq_id(uint8_t coords[], utofu_tni_id_t tni_id,
			   utofu_cq_id_t cq_id, utofu_cmp_id_t cmp_id,
			   utofu_vcq_id_t *vcq_id);

/**
 * utofu_set_vcq_id_path - set the path that transfers to a VCQ ID take
 * @vcq_id:      changed in place
 * @path_coords: path coordinates A, B, C, or NULL for the default: the
 *               coordinates of the VCQ's own node, a shortest route
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_VCQ_ID;
 * UTOFU_ERR_INVALID_PATH for coordinates outside the machine.
 */
int utofu_set_vcq_id_path(utofu_vcq_id_t *vcq_id, uint8_t path_coords[]);

/**
 * utofu_query_vcq_info - take a VCQ ID apart
 * @vcq_id:    ID of any VCQ
 * @coords:    filled with six coordinates
 * @tni_id:    set to the TNI
 * @cq_id:     set to the number of the command queue
 * @extra_val: set to the component ID; num_cmp_ids or more for a VCQ that was
 *             created without one
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VCQ_ID, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_vcq_info(utofu_vcq_id_t vcq_id, uint8_t coords[],
			 utofu_tni_id_t *tni_id, utofu_cq_id_t *cq_id,
			 uint16_t *extra_val);

/**
 * utofu_get_path_id - get the path ID of path coordinates
 * @vcq_id:      VCQ at the other end
 * @path_coords: path coordinates A, B, C; UTOFU_PATH_COORD_NULL in the first
 *               one for the default
 * @path_id:     set to the path ID, for UTOFU_ONESIDED_FLAG_PATH()
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VCQ_ID, UTOFU_ERR_INVALID_POINTER;
 * UTOFU_ERR_INVALID_PATH for coordinates outside the machine.
 */
int utofu_get_path_id(utofu_vcq_id_t vcq_id, uint8_t path_coords[],
		      utofu_path_id_t *path_id);

/**
 * utofu_get_path_coords - get the path coordinates of a path ID
 * @vcq_id:      VCQ at the other end
 * @path_id:     path ID; 0 is the path of the VCQ ID
 * @path_coords: filled with the path coordinates A, B, C
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VCQ_ID, UTOFU_ERR_INVALID_PATH_ID,
 * UTOFU_ERR_INVALID_POINTER.
 */
int utofu_get_path_coords(utofu_vcq_id_t vcq_id, utofu_path_id_t path_id,
			  uint8_t path_coords[]);

/* ---- Memory ---- */

/**
 * utofu_reg_mem - register memory for transfers
 * @vcq_hdl: VCQ through which it is reached, here and from other nodes
 * @addr:    first byte
 * @size:    bytes
 * @flags:   UTOFU_REG_MEM_FLAG_*
 * @stadd:   set to the STADD of @addr
 *
 * The region begins at the stag_address_alignment boundary below @addr. The
 * memory must stay mapped until it is deregistered.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_ADDRESS (NULL, or not mapped),
 * UTOFU_ERR_INVALID_SIZE, UTOFU_ERR_INVALID_FLAGS, UTOFU_ERR_INVALID_POINTER;
 * UTOFU_ERR_FULL where no STAG is left; UTOFU_ERR_OUT_OF_MEMORY,
 * UTOFU_ERR_OUT_OF_RESOURCE.
 */
int utofu_reg_mem(utofu_vcq_hdl_t vcq_hdl, void *addr, size_t size,
		  unsigned long int flags, utofu_stadd_t *stadd);

/**
 * utofu_reg_mem_with_stag - register memory under a STAG that the caller
 * chooses
 * @vcq_hdl: VCQ through which it is reached, here and from other nodes
 * @addr:    first byte
 * @size:    bytes
 * @stag:    0 … num_reserved_stags - 1
 * @flags:   UTOFU_REG_MEM_FLAG_*
 * @stadd:   set to what utofu_query_stadd() returns, plus the offset of @addr
 *           from the boundary below it
 *
 * As utofu_reg_mem(), but any process that knows the VCQ ID and the STAG can
 * compute the STADD with utofu_query_stadd(), without communication.
 *
 * Return: as utofu_reg_mem(); UTOFU_ERR_INVALID_STAG; UTOFU_ERR_USED where
 * this VCQ has registered memory under that STAG.
 */
int utofu_reg_mem_with_stag(utofu_vcq_hdl_t vcq_hdl, void *addr, size_t size,
			    unsigned int stag, unsigned long int flags,
			    utofu_stadd_t *stadd);

/**
 * utofu_query_stadd - compute the STADD of memory that another VCQ registers
 * @vcq_id: VCQ that has registered it, or will
 * @stag:   STAG given to utofu_reg_mem_with_stag()
 * @stadd:  set to the STADD of the beginning of the region
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VCQ_ID, UTOFU_ERR_INVALID_STAG,
 * UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_stadd(utofu_vcq_id_t vcq_id, unsigned int stag,
		      utofu_stadd_t *stadd);

/**
 * utofu_dereg_mem - deregister memory
 * @vcq_hdl: VCQ that registered it
 * @stadd:   STADD that the registration returned
 * @flags:   0
 *
 * Returns when nothing under way can touch the memory any more.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_STADD, UTOFU_ERR_INVALID_FLAGS.
 */
int utofu_dereg_mem(utofu_vcq_hdl_t vcq_hdl, utofu_stadd_t stadd,
		    unsigned long int flags);

/* ---- Transfers ---- */

/**
 * DOC: transfers
 * @vcq_hdl:    VCQ that sends
 * @rmt_vcq_id: VCQ that the target's memory is registered with, and that gets
 *              the RMT_* notice
 * @rmt_stadd:  address in the target's memory
 * @edata:      0 … 255, returned in every notice
 * @flags:      UTOFU_ONESIDED_FLAG_*
 * @cbdata:     returned by utofu_poll_tcq()
 *
 * A transfer is queued, and carried out while the program continues.
 * utofu_poll_tcq() and utofu_poll_mrq() report later errors, whether a report
 * was requested or not.
 *
 * Return: UTOFU_SUCCESS when the command is queued; UTOFU_ERR_BUSY when the
 * queue is full: poll the TCQ and try again; UTOFU_ERR_INVALID_VCQ_ID,
 * UTOFU_ERR_INVALID_EDATA, UTOFU_ERR_INVALID_FLAGS, UTOFU_ERR_INVALID_PATH_ID,
 * UTOFU_ERR_INVALID_STADD (bits that no STADD has).
 */

/**
 * utofu_put - copy local memory to the target
 * @lcl_stadd: source, registered with this VCQ
 * @length:    bytes, 0 … max_putget_size
 *
 * Return: also UTOFU_ERR_INVALID_SIZE.
 */
int utofu_put(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
	      utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd, size_t length,
	      uint64_t edata, unsigned long int flags, void *cbdata);

/**
 * utofu_get - copy the target's memory to local memory
 * @lcl_stadd: destination, registered with this VCQ
 * @length:    bytes, 0 … max_putget_size
 *
 * Return: also UTOFU_ERR_INVALID_SIZE.
 */
int utofu_get(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
	      utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd, size_t length,
	      uint64_t edata, unsigned long int flags, void *cbdata);

/**
 * utofu_put_gap, utofu_get_gap - put or get at a pace
 * @lcl_stadd: local memory, source of a put and destination of a get,
 *       registered with this VCQ
 * @length: bytes, 0 … max_putget_size
 * @mtu: most bytes of payload in a packet, 1 … max_mtu, rounded down to a
 *       multiple of 8 (up to 8 below that); 0: max_mtu
 * @gap: 0 … max_gap: pause after each packet, in units of the time that 8 bytes
 *       take on a link
 *
 * For a get, the data are paced. Both have an effect in virtual time only.
 *
 * Return: also UTOFU_ERR_INVALID_SIZE for @length and @mtu,
 * UTOFU_ERR_INVALID_ARG for @gap.
 */
int utofu_put_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		  utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		  size_t length, uint64_t edata, unsigned long int flags,
		  size_t mtu, size_t gap, void *cbdata);
int utofu_get_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		  utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		  size_t length, uint64_t edata, unsigned long int flags,
		  size_t mtu, size_t gap, void *cbdata);

/**
 * utofu_put_stride, utofu_get_stride - put or get several blocks
 * @lcl_stadd:  local memory, source of a put and destination of a get,
 *              registered with this VCQ
 * @length:     bytes of a block, 0 … max_putget_size
 * @stride:     bytes from the beginning of a block to that of the next, on both
 *              sides; below 2^40
 * @num_blocks: 1 … 2^24 - 1
 *
 * Each block is transferred as a separate put or get, in order: it has its own
 * notices, with its own STADDs, and its own session progress step; through a
 * SESSION_MODE VCQ it waits for a step of its own. There is one TCQ report,
 * when all blocks have ended.
 *
 * Return: also UTOFU_ERR_INVALID_SIZE for @length and @stride,
 * UTOFU_ERR_INVALID_NUMBER for @num_blocks.
 */
int utofu_put_stride(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		     utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		     size_t length, size_t stride, size_t num_blocks,
		     uint64_t edata, unsigned long int flags, void *cbdata);
int utofu_get_stride(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		     utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		     size_t length, size_t stride, size_t num_blocks,
		     uint64_t edata, unsigned long int flags, void *cbdata);

/**
 * utofu_put_stride_gap, utofu_get_stride_gap - put or get several blocks
 * at a pace
 * @lcl_stadd:  local memory, source of a put and destination of a get,
 *              registered with this VCQ
 * @length:     bytes of a block, 0 … max_putget_size
 * @stride:     bytes from the beginning of a block to that of the next, on both
 *              sides; below 2^40
 * @num_blocks: 1 … 2^24 - 1
 * @mtu:        most bytes of payload in a packet, 1 … max_mtu; 0: max_mtu
 * @gap:        0 … max_gap: pause after each packet
 *
 * Combines utofu_put_stride() with utofu_put_gap(), and utofu_get_stride() with
 * utofu_get_gap().
 *
 * Return: also UTOFU_ERR_INVALID_SIZE for @length, @stride and @mtu,
 * UTOFU_ERR_INVALID_NUMBER for @num_blocks, UTOFU_ERR_INVALID_ARG for @gap.
 */
int utofu_put_stride_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			 size_t length, size_t stride, size_t num_blocks,
			 uint64_t edata, unsigned long int flags, size_t mtu,
			 size_t gap, void *cbdata);
int utofu_get_stride_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			 size_t length, size_t stride, size_t num_blocks,
			 uint64_t edata, unsigned long int flags, size_t mtu,
			 size_t gap, void *cbdata);

/**
 * utofu_put_piggyback - put a few bytes that travel in the descriptor
 * @lcl_data: any memory; may be reused on return
 * @length:   bytes, 1 … max_piggyback_size
 *
 * Return: also UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_SIZE.
 */
int utofu_put_piggyback(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			void *lcl_data, utofu_stadd_t rmt_stadd, size_t length,
			uint64_t edata, unsigned long int flags, void *cbdata);

/**
 * utofu_put_piggyback8 - put up to eight bytes given by value
 * @lcl_data: the bytes, as they lie in memory
 * @length:   bytes, 1 … 8
 *
 * Return: also UTOFU_ERR_INVALID_SIZE.
 */
int utofu_put_piggyback8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 uint64_t lcl_data, utofu_stadd_t rmt_stadd,
			 size_t length, uint64_t edata,
			 unsigned long int flags, void *cbdata);

/**
 * utofu_armw4, utofu_armw8 - operate atomically on a word of the target
 * @armw_op:   enum utofu_armw_op
 * @op_value:  its operand
 * @rmt_stadd: naturally aligned word of 4 or 8 bytes
 *
 * The LCL_ARMW notice carries the value before the operation.
 *
 * Return: also UTOFU_ERR_INVALID_OP; UTOFU_ERR_NOT_SUPPORTED on a machine
 * without remote atomics, see utofu_query_onesided_caps().
 */
int utofu_armw4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		enum utofu_armw_op armw_op, uint32_t op_value,
		utofu_stadd_t rmt_stadd, uint64_t edata,
		unsigned long int flags, void *cbdata);
int utofu_armw8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		enum utofu_armw_op armw_op, uint64_t op_value,
		utofu_stadd_t rmt_stadd, uint64_t edata,
		unsigned long int flags, void *cbdata);

/**
 * utofu_cswap4, utofu_cswap8 - compare and swap a word of the target
 * @old_value: value to compare the word with
 * @new_value: value to store if they are equal
 * @rmt_stadd: naturally aligned word of 4 or 8 bytes
 *
 * The LCL_ARMW notice carries the value before the operation: the word was
 * changed if that equals @old_value.
 *
 * Return: also UTOFU_ERR_NOT_SUPPORTED as utofu_armw8().
 */
int utofu_cswap4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		 uint32_t old_value, uint32_t new_value,
		 utofu_stadd_t rmt_stadd, uint64_t edata,
		 unsigned long int flags, void *cbdata);
int utofu_cswap8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		 uint64_t old_value, uint64_t new_value,
		 utofu_stadd_t rmt_stadd, uint64_t edata,
		 unsigned long int flags, void *cbdata);

/**
 * utofu_nop - queue a command that does nothing
 * @flags: UTOFU_ONESIDED_FLAG_TCQ_NOTICE and UTOFU_ONESIDED_FLAG_DELAY_START
 *
 * It is carried out in its turn: its report says that all earlier commands of
 * the VCQ have ended.
 *
 * Return: UTOFU_SUCCESS when the command is queued; UTOFU_ERR_BUSY when the
 * queue is full; UTOFU_ERR_INVALID_FLAGS.
 */
int utofu_nop(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags, void *cbdata);

/* ---- Prepared transfers ---- */

/**
 * DOC: prepared transfers
 * @desc:      room for max_toq_desc_size bytes, of any alignment
 * @desc_size: set to the length of the command in bytes
 *
 * A function with prepare_ in its name takes the arguments of the one without
 * it and writes the command to @desc. It queues nothing: utofu_post_toq() does
 * that, any number of times. It returns UTOFU_ERR_INVALID_POINTER where @desc
 * or @desc_size is NULL, and never UTOFU_ERR_BUSY.
 */
int utofu_prepare_put(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		      utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		      size_t length, uint64_t edata, unsigned long int flags,
		      void *desc, size_t *desc_size);
int utofu_prepare_get(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		      utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		      size_t length, uint64_t edata, unsigned long int flags,
		      void *desc, size_t *desc_size);
int utofu_prepare_put_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			  utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			  size_t length, uint64_t edata,
			  unsigned long int flags, size_t mtu, size_t gap,
			  void *desc, size_t *desc_size);
int utofu_prepare_get_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			  utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			  size_t length, uint64_t edata,
			  unsigned long int flags, size_t mtu, size_t gap,
			  void *desc, size_t *desc_size);
int utofu_prepare_put_stride(utofu_vcq_hdl_t vcq_hdl,
			     utofu_vcq_id_t rmt_vcq_id,
			     utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			     size_t length, size_t stride, size_t num_blocks,
			     uint64_t edata, unsigned long int flags,
			     void *desc, size_t *desc_size);
int utofu_prepare_get_stride(utofu_vcq_hdl_t vcq_hdl,
			     utofu_vcq_id_t rmt_vcq_id,
			     utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			     size_t length, size_t stride, size_t num_blocks,
			     uint64_t edata, unsigned long int flags,
			     void *desc, size_t *desc_size);
int utofu_prepare_put_stride_gap(utofu_vcq_hdl_t vcq_hdl,
				 utofu_vcq_id_t rmt_vcq_id,
				 utofu_stadd_t lcl_stadd,
				 utofu_stadd_t rmt_stadd, size_t length,
				 size_t stride, size_t num_blocks,
				 uint64_t edata, unsigned long int flags,
				 size_t mtu, size_t gap, void *desc,
				 size_t *desc_size);
int utofu_prepare_get_stride_gap(utofu_vcq_hdl_t vcq_hdl,
				 utofu_vcq_id_t rmt_vcq_id,
				 utofu_stadd_t lcl_stadd,
				 utofu_stadd_t rmt_stadd, size_t length,
				 size_t stride, size_t num_blocks,
				 uint64_t edata, unsigned long int flags,
				 size_t mtu, size_t gap, void *desc,
				 size_t *desc_size);
int utofu_prepare_put_piggyback(utofu_vcq_hdl_t vcq_hdl,
				utofu_vcq_id_t rmt_vcq_id, void *lcl_data,
				utofu_stadd_t rmt_stadd, size_t length,
				uint64_t edata, unsigned long int flags,
				void *desc, size_t *desc_size);
int utofu_prepare_put_piggyback8(utofu_vcq_hdl_t vcq_hdl,
				 utofu_vcq_id_t rmt_vcq_id, uint64_t lcl_data,
				 utofu_stadd_t rmt_stadd, size_t length,
				 uint64_t edata, unsigned long int flags,
				 void *desc, size_t *desc_size);
int utofu_prepare_armw4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			enum utofu_armw_op armw_op, uint32_t op_value,
			utofu_stadd_t rmt_stadd, uint64_t edata,
			unsigned long int flags, void *desc,
			size_t *desc_size);
int utofu_prepare_armw8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			enum utofu_armw_op armw_op, uint64_t op_value,
			utofu_stadd_t rmt_stadd, uint64_t edata,
			unsigned long int flags, void *desc,
			size_t *desc_size);
int utofu_prepare_cswap4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 uint32_t old_value, uint32_t new_value,
			 utofu_stadd_t rmt_stadd, uint64_t edata,
			 unsigned long int flags, void *desc,
			 size_t *desc_size);
int utofu_prepare_cswap8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 uint64_t old_value, uint64_t new_value,
			 utofu_stadd_t rmt_stadd, uint64_t edata,
			 unsigned long int flags, void *desc,
			 size_t *desc_size);
int utofu_prepare_nop(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags,
		      void *desc, size_t *desc_size);

/* ---- Queues ---- */

/**
 * utofu_post_toq - queue prepared commands
 * @vcq_hdl:   VCQ that they were prepared with
 * @desc:      one or more prepared commands, back to back
 * @desc_size: total bytes
 * @cbdata:    for each of the commands
 *
 * Either all commands are queued, or none. The DELAY_START flag of the last
 * command decides for all.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_BUSY; UTOFU_ERR_INVALID_POINTER;
 * UTOFU_ERR_INVALID_SIZE (0, not whole commands, or more than the queue can
 * ever hold); UTOFU_ERR_INVALID_DESC (not prepared by this library for this
 * VCQ).
 */
int utofu_post_toq(utofu_vcq_hdl_t vcq_hdl, void *desc, size_t desc_size,
		   void *cbdata);

/**
 * utofu_poll_tcq - take the next report of this VCQ's commands
 * @vcq_hdl: handle of the VCQ
 * @flags:   0
 * @cbdata:  set to what the command was posted with, also on UTOFU_ERR_TCQ_*
 *
 * Reports come in the order of the commands: one for each command with
 * TCQ_NOTICE, and one for each that failed before it left the node.
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_NOT_FOUND (the queue is empty),
 * UTOFU_ERR_TCQ_* (why the command failed), UTOFU_ERR_INVALID_FLAGS,
 * UTOFU_ERR_INVALID_POINTER.
 */
int utofu_poll_tcq(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags,
		   void **cbdata);

/**
 * utofu_poll_mrq - take the next notice
 * @vcq_hdl: handle of the VCQ
 * @flags:   0
 * @notice:  filled, also on UTOFU_ERR_MRQ_*
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_NOT_FOUND (the queue is empty),
 * UTOFU_ERR_MRQ_* (the command of this notice failed; UTOFU_ERR_MRQ_OTHER with
 * a notice of zeros says, from then on, that notices were lost because they
 * were not polled in time), UTOFU_ERR_INVALID_FLAGS, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_poll_mrq(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags,
		   struct utofu_mrq_notice *notice);

/**
 * utofu_query_num_unread_tcq - count the reports that are ready to be polled
 * @vcq_hdl: handle of the VCQ
 * @count:   set to the number
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_num_unread_tcq(utofu_vcq_hdl_t vcq_hdl, size_t *count);

/**
 * utofu_query_num_unread_mrq - count the notices that are ready to be polled
 * @vcq_hdl: handle of the VCQ
 * @count:   set to the number
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_num_unread_mrq(utofu_vcq_hdl_t vcq_hdl, size_t *count);

/* ---- Barriers and reductions ---- */

/**
 * DOC: barrier gates
 *
 * A barrier gate waits for one signal from each of its sources, a gate of its
 * own node and a gate of another node, and then signals its destinations, one
 * of each kind. Programs link gates into any network: a ring, a tree, a
 * butterfly. A start and end gate sends its signals when the program starts a
 * barrier; the barrier has ended there when the signals of its own sources have
 * come. Signals carry the values of a reduction, and a gate combines those it
 * receives.
 *
 * A VBG ID names a gate as a VCQ ID names a VCQ.
 */

/**
 * utofu_alloc_vbg - allocate barrier gates
 * @tni_id:  one of utofu_get_barrier_tnis()
 * @num_vbgs: how many, 1 or more
 * @flags:   UTOFU_VBG_FLAG_*
 * @vbg_ids: filled with their IDs; the first one is a start and end gate, the
 *           others are relays
 *
 * Without THREAD_SAFE, calls with the gates of one allocation must not overlap
 * in time.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_TNI_ID, UTOFU_ERR_INVALID_NUMBER,
 * UTOFU_ERR_INVALID_FLAGS, UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_FULL where the
 * TNI has fewer gates left: none is allocated then; UTOFU_ERR_OUT_OF_MEMORY,
 * UTOFU_ERR_OUT_OF_RESOURCE.
 */
int utofu_alloc_vbg(utofu_tni_id_t tni_id, size_t num_vbgs,
		    unsigned long int flags, utofu_vbg_id_t vbg_ids[]);

/**
 * utofu_free_vbg - free barrier gates
 * @vbg_ids:  all gates of one utofu_alloc_vbg(), in any order
 * @num_vbgs: how many
 *
 * A barrier that is under way through these gates never ends on the other
 * nodes.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_VBG_ID,
 * UTOFU_ERR_INVALID_NUMBER (not all of them): none is freed then.
 */
int utofu_free_vbg(utofu_vbg_id_t vbg_ids[], size_t num_vbgs);

/**
 * utofu_set_vbg - link barrier gates
 * @vbg_settings: links of gates of this process; UTOFU_VBG_ID_NULL where there
 *                is no link, and UTOFU_PATH_COORD_NULL in the first coordinate
 *                for the default path
 * @num_vbg_settings: how many
 *
 * Signals that have arrived at these gates are dropped. All nodes should set
 * their gates before any of them starts a barrier: a signal is lost if its gate
 * is not linked to its sender.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (0), UTOFU_ERR_INVALID_VBG_ID (not a gate of this process; a local link to
 * another TNI or node; a remote link that is no gate), UTOFU_ERR_INVALID_PATH,
 * UTOFU_ERR_BUSY while a barrier is under way there. After an error no gate has
 * changed.
 */
int utofu_set_vbg(struct utofu_vbg_setting vbg_settings[],
		  size_t num_vbg_settings);

/**
 * utofu_query_vbg_info - take a VBG ID apart
 * @vbg_id:    ID of any gate
 * @coords:    filled with six coordinates
 * @tni_id:    set to the TNI
 * @bg_id:     set to the number of the gate
 * @extra_val: set to 0
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VBG_ID, UTOFU_ERR_INVALID_BG_ID (no
 * TNI has a gate of that number), UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_vbg_info(utofu_vbg_id_t vbg_id, uint8_t coords[],
			 utofu_tni_id_t *tni_id, utofu_bg_id_t *bg_id,
			 uint16_t *extra_val);

/**
 * utofu_barrier - start a barrier
 * @vbg_id: start and end gate of this process
 * @flags:  0
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VBG_ID (not a start and end gate of
 * this process, or not linked), UTOFU_ERR_INVALID_FLAGS, UTOFU_ERR_BUSY until
 * the previous barrier has been polled to its end.
 */
int utofu_barrier(utofu_vbg_id_t vbg_id, unsigned long int flags);

/**
 * utofu_reduce_uint64 - start a reduction of integers
 * @vbg_id:    start and end gate of this process
 * @reduce_op: enum utofu_reduce_op: BAND, BOR, BXOR, MAX, MAXLOC or SUM
 * @data:      elements; may be reused on return
 * @num_data:  how many, 1 … max_uint64_reduction; even for MAXLOC
 * @flags:     0
 *
 * All nodes must agree on @reduce_op and @num_data.
 *
 * Return: as utofu_barrier(); UTOFU_ERR_INVALID_OP, UTOFU_ERR_NOT_SUPPORTED (an
 * operation, but not on integers), UTOFU_ERR_INVALID_NUMBER,
 * UTOFU_ERR_INVALID_POINTER.
 */
int utofu_reduce_uint64(utofu_vbg_id_t vbg_id, enum utofu_reduce_op reduce_op,
			uint64_t data[], size_t num_data,
			unsigned long int flags);

/**
 * utofu_reduce_double - start a reduction of floating-point numbers
 * @vbg_id:    start and end gate of this process
 * @reduce_op: enum utofu_reduce_op: BFPSUM
 * @data:      elements, finite; may be reused on return
 * @num_data:  how many, 1 … max_double_reduction
 * @flags:     0
 *
 * The sum is bit for bit the same in whatever order the values are added. All
 * nodes must agree on @num_data.
 *
 * Return: as utofu_reduce_uint64(); UTOFU_ERR_INVALID_DATA for a NaN or an
 * infinity.
 */
int utofu_reduce_double(utofu_vbg_id_t vbg_id, enum utofu_reduce_op reduce_op,
			double data[], size_t num_data,
			unsigned long int flags);

/**
 * utofu_poll_barrier - check whether a barrier has ended
 * @vbg_id: gate that it was started with
 * @flags:  0
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_COMPLETED; UTOFU_ERR_NOT_PROCESSED (none
 * was started, or its end was already reported); UTOFU_ERR_BARRIER_MISMATCH
 * (the nodes did not agree on what they started); UTOFU_ERR_BARRIER_OTHER (a
 * node is gone, or its process has ended or has freed its gates, which polls
 * find out after a tenth of a second; or a gate got two signals where it waits
 * for one);
 * UTOFU_ERR_INVALID_OP (it was a reduction, or one of another type),
 * UTOFU_ERR_INVALID_VBG_ID, UTOFU_ERR_INVALID_FLAGS.
 */
int utofu_poll_barrier(utofu_vbg_id_t vbg_id, unsigned long int flags);

/**
 * utofu_poll_reduce_uint64, utofu_poll_reduce_double - check whether a
 * reduction has ended
 * @vbg_id: gate that it was started with
 * @flags:  0
 * @data:   on UTOFU_SUCCESS filled with as many elements as it was started with
 *
 * Return: as utofu_poll_barrier(); UTOFU_ERR_INVALID_POINTER.
 */
int utofu_poll_reduce_uint64(utofu_vbg_id_t vbg_id, unsigned long int flags,
			     uint64_t data[]);
int utofu_poll_reduce_double(utofu_vbg_id_t vbg_id, unsigned long int flags,
			     double data[]);

/* ---- The rest ---- */

/**
 * utofu_query_tofu_version - get the version of the interconnect
 * @major_ver: set, unless NULL
 * @minor_ver: set, unless NULL
 */
void utofu_query_tofu_version(int *major_ver, int *minor_ver);

/**
 * utofu_query_utofu_version - get the version of this interface
 * @major_ver: set to UTOFU_VERSION_MAJOR of the library, unless NULL
 * @minor_ver: set to UTOFU_VERSION_MINOR of the library, unless NULL
 */
void utofu_query_utofu_version(int *major_ver, int *minor_ver);

/**
 * utofu_query_my_coords - get the coordinates of this node
 * @coords: filled with six coordinates X Y Z A B C
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_my_coords(uint8_t coords[]);

/**
 * utofu_get_last_error - print the last error of this thread
 * @text: printed first, followed by a colon; NULL for neither
 *
 * Prints one line on standard error: name, number and meaning of the last error
 * code that a function has returned to this thread. UTOFU_ERR_BUSY,
 * UTOFU_ERR_NOT_FOUND and UTOFU_ERR_NOT_COMPLETED do not count as errors:
 * programs meet them whenever they wait. Success does not change what is
 * remembered.
 *
 * It is not a part of version 1.0 of the interface, but programs call it.
 */
void utofu_get_last_error(const char *text);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* UTOFU_H */
