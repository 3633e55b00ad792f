/* SPDX-License-Identifier: MIT */
/*
 * The uTofu interface: one-sided communication through the command queues of
 * a Tofu interconnect, and barriers and reductions by its barrier gates.
 * Documentation/library/utofu.rst says what is chosen where the public facts
 * about this interface are silent. Programs link with -ltofucom, or -ltofu,
 * which is the same library.
 *
 * Words used below. A TNI is one of the network interfaces of a node. A
 * virtual control queue (VCQ) is what a program sends and receives through;
 * its handle is good in the process that made it, its VCQ ID names it
 * everywhere. A STADD is an address that other nodes can use: (stag << 40) |
 * offset; adding bytes to it addresses further into the region. A TCQ report
 * says that a command is through with its source; an MRQ notice tells of data
 * that came in, or of a command's end at its target.
 *
 * Every function but three returns enum utofu_return_code, and fills its results
 * on UTOFU_SUCCESS only, except where it says otherwise. Any of them can return
 * UTOFU_ERR_NOT_AVAILABLE and UTOFU_ERR_FATAL, and any that takes a handle
 * UTOFU_ERR_INVALID_VCQ_HDL. With TOFU_DEBUG=1 in the environment the library
 * says on standard error why something cannot be had.
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
 * @EXCLUSIVE: a command queue of its own
 * @SESSION_MODE: its commands wait until others let them go
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
 * @PACKET_RESPONSE: accepted; a report always comes after the response
 * @REMOTE_MRQ_NOTICE: RMT_* notice in the target's MRQ
 * @PADDING: accepted; nothing outside the range is ever written
 * @CACHE_INJECTION: a hint, without effect on the data
 * @DELAY_START: queue it, and start it together with the next command that has
 *     not this flag
 * @TCQ_NOTICE: report in the own TCQ
 * @LOCAL_MRQ_NOTICE: LCL_* notice in the own MRQ
 * @SPS(n): session progress step, 0 … 15: commands that may go on at a target in
 *     SESSION_MODE; no other minds
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
 * @UTOFU_ARMW_OP_SWAP: the operand takes the word's place
 * @UTOFU_ARMW_OP_ADD: sum, without carry out of the word
 * @UTOFU_ARMW_OP_XOR: exclusive or
 * @UTOFU_ARMW_OP_AND: and, bit by bit
 * @UTOFU_ARMW_OP_OR: or, bit by bit
 */
enum utofu_armw_op {
	UTOFU_ARMW_OP_SWAP = 1,
	UTOFU_ARMW_OP_ADD = 2,
	UTOFU_ARMW_OP_XOR = 3,
	UTOFU_ARMW_OP_AND = 4,
	UTOFU_ARMW_OP_OR = 5
};

/**
 * enum utofu_reduce_op - what gates do with the values of a reduction
 * @UTOFU_REDUCE_OP_BARRIER: there are none
 * @UTOFU_REDUCE_OP_BAND: and, bit by bit
 * @UTOFU_REDUCE_OP_BOR: or, bit by bit
 * @UTOFU_REDUCE_OP_BXOR: exclusive or
 * @UTOFU_REDUCE_OP_MAX: the largest
 * @UTOFU_REDUCE_OP_MAXLOC: of pairs, a value and a location: the largest value,
 *     and of those that are equal the lowest location
 * @UTOFU_REDUCE_OP_SUM: sum, modulo 2^64
 * @UTOFU_REDUCE_OP_BFPSUM: sum of floating-point numbers, with the same bits
 *     whatever the order in which they meet
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
 * enum utofu_mrq_notice_type - what a notice tells of
 * @UTOFU_MRQ_TYPE_LCL_PUT: an own put has arrived at its target
 * @UTOFU_MRQ_TYPE_RMT_PUT: another's put has arrived here
 * @UTOFU_MRQ_TYPE_LCL_GET: the data of an own get are here
 * @UTOFU_MRQ_TYPE_RMT_GET: another's get was served here
 * @UTOFU_MRQ_TYPE_LCL_ARMW: the result of an own atomic operation is here
 * @UTOFU_MRQ_TYPE_RMT_ARMW: another's atomic operation was done here
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
 * @UTOFU_SUCCESS: it is done
 * @UTOFU_ERR_NOT_FOUND: nothing there to be taken
 * @UTOFU_ERR_NOT_COMPLETED: it is still under way
 * @UTOFU_ERR_NOT_PROCESSED: none was started
 * @UTOFU_ERR_BUSY: not now: a queue is full, or what is under way must end
 *     first
 * @UTOFU_ERR_USED: somebody has it already
 * @UTOFU_ERR_FULL: none is left
 * @UTOFU_ERR_NOT_AVAILABLE: there is no interconnect to be had; or this process
 *     is the child of a fork() of one that had opened it
 * @UTOFU_ERR_NOT_SUPPORTED: there is such a thing, but not here
 * @UTOFU_ERR_TCQ_OTHER: a command did not leave the node, for no reason that is
 *     known
 * @UTOFU_ERR_TCQ_DESC: it did not, for its descriptor was damaged
 * @UTOFU_ERR_TCQ_MEMORY: it did not, for own memory could not be accessed
 * @UTOFU_ERR_TCQ_STADD: it did not, for the own STADD is not, or not that far, in
 *     a region that may be used so
 * @UTOFU_ERR_TCQ_LENGTH: it did not, for its length
 * @UTOFU_ERR_MRQ_OTHER: a command failed under way, for no reason that is known;
 *     or notices were lost
 * @UTOFU_ERR_MRQ_PEER: it failed, for there is no such VCQ at the target, or no
 *     longer, or it is another user's
 * @UTOFU_ERR_MRQ_LCL_MEMORY: it failed, for own memory could not be accessed
 * @UTOFU_ERR_MRQ_RMT_MEMORY: it failed, for the target's memory could not be
 *     accessed
 * @UTOFU_ERR_MRQ_LCL_STADD: it failed, for own memory was deregistered meanwhile
 * @UTOFU_ERR_MRQ_RMT_STADD: it failed, for the target's STADD is not, or not that
 *     far, in a region that may be used so, or not aligned
 * @UTOFU_ERR_MRQ_LCL_LENGTH: it failed, for the length of the answer
 * @UTOFU_ERR_MRQ_RMT_LENGTH: it failed, for its length, at the target
 * @UTOFU_ERR_BARRIER_OTHER: a node is gone, or a gate got two signals where it
 *     waits for one
 * @UTOFU_ERR_BARRIER_MISMATCH: the nodes did not agree on what they started
 * @UTOFU_ERR_INVALID_ARG: an argument is outside its range
 * @UTOFU_ERR_INVALID_POINTER: a pointer is NULL
 * @UTOFU_ERR_INVALID_FLAGS: a flag that the function does not know
 * @UTOFU_ERR_INVALID_COORDS: coordinates outside the machine
 * @UTOFU_ERR_INVALID_PATH: path coordinates outside the machine
 * @UTOFU_ERR_INVALID_TNI_ID: no such TNI
 * @UTOFU_ERR_INVALID_CQ_ID: no such command queue
 * @UTOFU_ERR_INVALID_BG_ID: no such barrier gate
 * @UTOFU_ERR_INVALID_CMP_ID: no such component ID
 * @UTOFU_ERR_INVALID_VCQ_HDL: no handle, or that of a VCQ that was freed
 * @UTOFU_ERR_INVALID_VCQ_ID: not the ID of a VCQ
 * @UTOFU_ERR_INVALID_VBG_ID: not the ID of a gate, or of none that can be used so
 * @UTOFU_ERR_INVALID_PATH_ID: no such path
 * @UTOFU_ERR_INVALID_STADD: no STADD, or not one that was registered here
 * @UTOFU_ERR_INVALID_ADDRESS: no memory there
 * @UTOFU_ERR_INVALID_SIZE: a length outside its range
 * @UTOFU_ERR_INVALID_STAG: no reserved STAG
 * @UTOFU_ERR_INVALID_EDATA: edata is more than max_edata_size bytes
 * @UTOFU_ERR_INVALID_NUMBER: a count outside its range
 * @UTOFU_ERR_INVALID_OP: no such operation, or another than was started
 * @UTOFU_ERR_INVALID_DESC: no prepared command, or another VCQ's
 * @UTOFU_ERR_INVALID_DATA: a NaN or an infinity
 * @UTOFU_ERR_OUT_OF_RESOURCE: the system has no more of something
 * @UTOFU_ERR_OUT_OF_MEMORY: the system has no more memory
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
 * @armw_ops:   UTOFU_ONESIDED_CAP_ARMW_OP_*
 * @num_cmp_ids: component IDs are 0 … @num_cmp_ids - 1
 * @num_reserved_stags: STAGs for utofu_reg_mem_with_stag(), likewise
 * @cache_line_size: bytes
 * @stag_address_alignment: a region begins at such a boundary
 * @max_toq_desc_size: room that a prepared descriptor needs at most, bytes
 * @max_putget_size: bytes of a put or get
 * @max_piggyback_size: bytes of a piggyback put
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
 * @dst_path_coords: path to the latter
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
 * struct utofu_mrq_notice - a notice of the MRQ
 * @notice_type: enum utofu_mrq_notice_type
 * @padding1:  0
 * @vcq_id:    the other side of the transfer, without path bits: of LCL_* the
 *             target, of RMT_* the initiator
 * @edata:     as in the command
 * @rmt_value: of LCL_ARMW the value before the operation, of RMT_ARMW the
 *             STADD of the word that was changed, else 0
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
 * utofu_query_onesided_caps - tell what a TNI can do
 * @tni_id:   one of utofu_get_onesided_tnis()
 * @tni_caps: set to a structure of the library: neither written nor freed
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
 * utofu_query_barrier_caps - tell what the barrier gates of a TNI can do
 * @tni_id:   one of utofu_get_barrier_tnis()
 * @tni_caps: set to a structure of the library: neither written nor freed
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_INVALID_TNI_ID, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_barrier_caps(utofu_tni_id_t tni_id,
			     struct utofu_barrier_caps **tni_caps);

/* ---- VCQs ---- */

/**
 * utofu_create_vcq - make a VCQ
 * @tni_id:  one of utofu_get_onesided_tnis()
 * @flags:   UTOFU_VCQ_FLAG_*
 * @vcq_hdl: set to the handle
 *
 * VCQs of a process on a TNI share a command queue, unless EXCLUSIVE gives
 * this one its own. Without THREAD_SAFE, calls with handles of one process
 * and one TNI must not overlap in time, EXCLUSIVE ones aside, each of which
 * stands for itself.
 *
 * The commands of a SESSION_MODE VCQ wait, in order, until another's command
 * that was carried out here lets them go: each command with SPS(n) that names
 * this VCQ as its target lets n more go, now or as soon as they are posted.
 * Of a strided command each block is one to be let go. Such a VCQ has its own
 * command queue, as an EXCLUSIVE one.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_TNI_ID, UTOFU_ERR_INVALID_FLAGS,
 * UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_FULL where the TNI has no command queue
 * left; UTOFU_ERR_OUT_OF_MEMORY, UTOFU_ERR_OUT_OF_RESOURCE.
 */
int utofu_create_vcq(utofu_tni_id_t tni_id, unsigned long int flags,
		     utofu_vcq_hdl_t *vcq_hdl);

/**
 * utofu_create_vcq_with_cmp_id - make a VCQ whose ID others can construct
 * @tni_id:  one of utofu_get_onesided_tnis()
 * @cmp_id:  component ID, 0 … num_cmp_ids - 1
 * @flags:   UTOFU_VCQ_FLAG_*
 * @vcq_hdl: set to the handle
 *
 * As utofu_create_vcq(), but who knows the node's coordinates, the TNI and the
 * number of the command queue can name the VCQ by utofu_construct_vcq_id(). The
 * first VCQ of a node on a TNI is in command queue 0.
 *
 * Return: as utofu_create_vcq(); UTOFU_ERR_INVALID_CMP_ID; UTOFU_ERR_USED
 * where the process has a VCQ with this component ID in the command queue
 * that the new one would share.
 */
int utofu_create_vcq_with_cmp_id(utofu_tni_id_t tni_id, utofu_cmp_id_t cmp_id,
				 unsigned long int flags,
				 utofu_vcq_hdl_t *vcq_hdl);

/**
 * utofu_free_vcq - free a VCQ
 * @vcq_hdl: handle of the VCQ
 *
 * What is still registered through it is deregistered. Returns when nothing
 * under way can touch that memory any more.
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
 * utofu_construct_vcq_id - make the ID of a VCQ made with a component ID
 * @coords: six coordinates X Y Z A B C of its node
 * @tni_id: its TNI
 * @cq_id:  number of its command queue
 * @cmp_id: its component ID
 * @vcq_id: set to what utofu_query_vcq_id() gives there
 *
 * Communicates with nobody: whether there is such a VCQ is not looked at.
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
 * @vcq_id:    any VCQ's
 * @coords:    filled with six coordinates
 * @tni_id:    set to the TNI
 * @cq_id:     set to the number of the command queue
 * @extra_val: set to the component ID; num_cmp_ids or more for a VCQ that was
 *             made without one
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VCQ_ID, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_vcq_info(utofu_vcq_id_t vcq_id, uint8_t coords[],
			 utofu_tni_id_t *tni_id, utofu_cq_id_t *cq_id,
			 uint16_t *extra_val);

/**
 * utofu_get_path_id - get the path ID of path coordinates
 * @vcq_id:      VCQ at the other end
 * @path_coords: path coordinates A, B, C; UTOFU_PATH_COORD_NULL in the first one
 *               for the default
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
 * utofu_reg_mem - make memory reachable for transfers
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
 * utofu_reg_mem_with_stag - register memory under a STAG of one's choice
 * @vcq_hdl: VCQ through which it is reached, here and from other nodes
 * @addr:    first byte
 * @size:    bytes
 * @stag:    0 … num_reserved_stags - 1
 * @flags:   UTOFU_REG_MEM_FLAG_*
 * @stadd:   set to what utofu_query_stadd() gives, plus the offset of @addr
 *           from the boundary below it
 *
 * As utofu_reg_mem(), but who knows the VCQ ID and the STAG knows the STADD:
 * nobody needs to be told.
 *
 * Return: as utofu_reg_mem(); UTOFU_ERR_INVALID_STAG; UTOFU_ERR_USED where
 * this VCQ has registered memory under that STAG.
 */
int utofu_reg_mem_with_stag(utofu_vcq_hdl_t vcq_hdl, void *addr, size_t size,
			    unsigned int stag, unsigned long int flags,
			    utofu_stadd_t *stadd);

/**
 * utofu_query_stadd - compute the STADD of memory that another VCQ has registered
 * @vcq_id: the VCQ that has, or will have, registered it
 * @stag:   with utofu_reg_mem_with_stag() under this STAG
 * @stadd:  set to the STADD of the region's beginning
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VCQ_ID, UTOFU_ERR_INVALID_STAG,
 * UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_stadd(utofu_vcq_id_t vcq_id, unsigned int stag,
		      utofu_stadd_t *stadd);

/**
 * utofu_dereg_mem - take memory back
 * @vcq_hdl: VCQ that registered it
 * @stadd:   what the registration gave
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
 * @rmt_stadd:  where in the target's memory
 * @edata:      0 … 255, comes back in every notice
 * @flags:      UTOFU_ONESIDED_FLAG_*
 * @cbdata:     comes back from utofu_poll_tcq()
 *
 * A transfer is queued, and carried out while the program goes on. What goes
 * wrong then is told by utofu_poll_tcq() and utofu_poll_mrq(), whether a report
 * was asked for or not.
 *
 * Return: UTOFU_SUCCESS when the command is queued; UTOFU_ERR_BUSY when the
 * queue is full: poll the TCQ and try again; UTOFU_ERR_INVALID_VCQ_ID,
 * UTOFU_ERR_INVALID_EDATA, UTOFU_ERR_INVALID_FLAGS, UTOFU_ERR_INVALID_PATH_ID,
 * UTOFU_ERR_INVALID_STADD (bits that no STADD has).
 */

/**
 * utofu_put - copy own memory to the target
 * @lcl_stadd: source, registered with this VCQ
 * @length:    bytes, 0 … max_putget_size
 *
 * Return: also UTOFU_ERR_INVALID_SIZE.
 */
int utofu_put(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
	      utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd, size_t length,
	      uint64_t edata, unsigned long int flags, void *cbdata);

/**
 * utofu_get - copy the target's memory to one's own
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
 * @lcl_stadd: own memory, source of a put and destination of a get, registered
 *       with this VCQ
 * @length: bytes, 0 … max_putget_size
 * @mtu: bytes of payload in a packet at most, 1 … max_mtu, rounded down to a
 *       multiple of 8 (up to 8 below that); 0: max_mtu
 * @gap: 0 … max_gap: pause after each packet, the time of so many times 8 bytes
 *       on a link
 *
 * Of a get it is the data that are paced. Only in virtual time either has an
 * effect.
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
 * @lcl_stadd:  own memory, source of a put and destination of a get, registered
 *              with this VCQ
 * @length:     bytes of a block, 0 … max_putget_size
 * @stride:     bytes from the beginning of a block to that of the next, on both
 *              sides; below 2^40
 * @num_blocks: 1 … 2^24 - 1
 *
 * Each block is moved as a put or get of its own, in order: it has its own
 * notices, with its own STADDs, and its own session progress step; through a
 * SESSION_MODE VCQ it waits for a step of its own. The TCQ report is one for
 * all, when all have ended.
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
 * @lcl_stadd:  own memory, source of a put and destination of a get, registered
 *              with this VCQ
 * @length:     bytes of a block, 0 … max_putget_size
 * @stride:     bytes from the beginning of a block to that of the next, on both
 *              sides; below 2^40
 * @num_blocks: 1 … 2^24 - 1
 * @mtu:        bytes of payload in a packet at most, 1 … max_mtu; 0: max_mtu
 * @gap:        0 … max_gap: pause after each packet
 *
 * What utofu_put_stride() and utofu_put_gap() say holds for both together.
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
 * @lcl_data: any memory; free for reuse on return
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
 * @rmt_stadd: of a naturally aligned word of 4 or 8 bytes
 *
 * The LCL_ARMW notice brings the value before the operation.
 *
 * Return: also UTOFU_ERR_INVALID_OP.
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
 * @old_value: what the word is compared with
 * @new_value: what it becomes if they are equal
 * @rmt_stadd: of a naturally aligned word of 4 or 8 bytes
 *
 * The LCL_ARMW notice brings the value before the operation: the word was
 * changed if that is @old_value.
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
 * utofu_nop - queue a command that does nothing, in its turn
 * @flags: UTOFU_ONESIDED_FLAG_TCQ_NOTICE and UTOFU_ONESIDED_FLAG_DELAY_START
 *
 * Its report tells that all commands of the VCQ before it have ended.
 *
 * Return: UTOFU_SUCCESS when the command is queued; UTOFU_ERR_BUSY when the
 * queue is full; UTOFU_ERR_INVALID_FLAGS.
 */
int utofu_nop(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags, void *cbdata);

/* ---- Prepared transfers ---- */

/**
 * DOC: prepared transfers
 * @desc:      room for max_toq_desc_size bytes, which needs no alignment
 * @desc_size: set to the command's length in bytes
 *
 * The function with prepare_ in its name takes the arguments of the one without
 * it and writes the command to @desc. Nothing is queued: utofu_post_toq() does
 * that, as often as one likes. It returns UTOFU_ERR_INVALID_POINTER where @desc
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
 * @vcq_hdl:   the VCQ that they were prepared with
 * @desc:      one or more of them, one behind the other
 * @desc_size: bytes, of all together
 * @cbdata:    of each of them
 *
 * All or none are queued. DELAY_START of the last one is what counts.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_BUSY; UTOFU_ERR_INVALID_POINTER;
 * UTOFU_ERR_INVALID_SIZE (0, not whole commands, or more than the queue can
 * ever hold); UTOFU_ERR_INVALID_DESC (not prepared by this library for this
 * VCQ).
 */
int utofu_post_toq(utofu_vcq_hdl_t vcq_hdl, void *desc, size_t desc_size,
		   void *cbdata);

/**
 * utofu_poll_tcq - take the next report of own commands
 * @vcq_hdl: handle of the VCQ
 * @flags:   0
 * @cbdata:  set to what the command was posted with, also on UTOFU_ERR_TCQ_*
 *
 * Reports come in the order of the commands: of those with TCQ_NOTICE, and of
 * every one that failed before it left the node.
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_NOT_FOUND (nothing there),
 * UTOFU_ERR_TCQ_* (what went wrong with the command), UTOFU_ERR_INVALID_FLAGS,
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
 * Return: UTOFU_SUCCESS, UTOFU_ERR_NOT_FOUND (nothing there),
 * UTOFU_ERR_MRQ_* (the command that the notice is of failed; with a notice of
 * zeros UTOFU_ERR_MRQ_OTHER says, from then on, that notices were lost because
 * they were not polled for), UTOFU_ERR_INVALID_FLAGS,
 * UTOFU_ERR_INVALID_POINTER.
 */
int utofu_poll_mrq(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags,
		   struct utofu_mrq_notice *notice);

/**
 * utofu_query_num_unread_tcq - count the reports that wait to be polled
 * @vcq_hdl: handle of the VCQ
 * @count:   set to the number
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_num_unread_tcq(utofu_vcq_hdl_t vcq_hdl, size_t *count);

/**
 * utofu_query_num_unread_mrq - count the notices that wait to be polled
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
 * A barrier gate waits until a signal has come from each of its sources, a gate
 * of its own node and one of another, and then signals its destinations, one of
 * each kind. Gates are linked into a network, as a program likes: a ring, a
 * tree, a butterfly. A start and end gate sends when its program starts a
 * barrier; when signals have come from its own sources too, the barrier has
 * ended there. Signals carry the values of a reduction, and a gate combines
 * those that it gets.
 *
 * A VBG ID names a gate as a VCQ ID does a VCQ.
 */

/**
 * utofu_alloc_vbg - allocate barrier gates
 * @tni_id:  one of utofu_get_barrier_tnis()
 * @num_vbgs: how many, 1 or more
 * @flags:   UTOFU_VBG_FLAG_*
 * @vbg_ids: filled with their IDs; the first one is a start and end gate, the
 *           others are relays
 *
 * Without THREAD_SAFE calls with the gates of one allocation must not overlap
 * in time.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_TNI_ID, UTOFU_ERR_INVALID_NUMBER,
 * UTOFU_ERR_INVALID_FLAGS, UTOFU_ERR_INVALID_POINTER; UTOFU_ERR_FULL where the
 * TNI has not so many left: then none is allocated; UTOFU_ERR_OUT_OF_MEMORY,
 * UTOFU_ERR_OUT_OF_RESOURCE.
 */
int utofu_alloc_vbg(utofu_tni_id_t tni_id, size_t num_vbgs,
		    unsigned long int flags, utofu_vbg_id_t vbg_ids[]);

/**
 * utofu_free_vbg - free barrier gates
 * @vbg_ids:  those of one utofu_alloc_vbg(), all of them, in any order
 * @num_vbgs: how many
 *
 * A barrier that is under way there never ends on the other nodes.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_VBG_ID,
 * UTOFU_ERR_INVALID_NUMBER (not all): then none is freed.
 */
int utofu_free_vbg(utofu_vbg_id_t vbg_ids[], size_t num_vbgs);

/**
 * utofu_set_vbg - link barrier gates
 * @vbg_settings: links of own gates; UTOFU_VBG_ID_NULL where there is none, and
 *                UTOFU_PATH_COORD_NULL in the first one for the default path
 * @num_vbg_settings: how many
 *
 * What had arrived at these gates is forgotten. All nodes should have set their
 * gates before any starts a barrier: a signal that finds no gate linked to its
 * sender is lost.
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_POINTER, UTOFU_ERR_INVALID_NUMBER
 * (0), UTOFU_ERR_INVALID_VBG_ID (no own gate; a local link to another TNI or
 * node; a remote link that is no gate), UTOFU_ERR_INVALID_PATH,
 * UTOFU_ERR_BUSY while a barrier is under way there. After an error none of
 * them is changed.
 */
int utofu_set_vbg(struct utofu_vbg_setting vbg_settings[],
		  size_t num_vbg_settings);

/**
 * utofu_query_vbg_info - take a VBG ID apart
 * @vbg_id:    any gate's
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
 * @vbg_id: own start and end gate
 * @flags:  0
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_INVALID_VBG_ID (no own start and end gate, or
 * not linked), UTOFU_ERR_INVALID_FLAGS, UTOFU_ERR_BUSY until the one before has
 * been polled to its end.
 */
int utofu_barrier(utofu_vbg_id_t vbg_id, unsigned long int flags);

/**
 * utofu_reduce_uint64 - start a reduction of integers
 * @vbg_id:    own start and end gate
 * @reduce_op: enum utofu_reduce_op: BAND, BOR, BXOR, MAX, MAXLOC or SUM
 * @data:      elements; free for reuse on return
 * @num_data:  how many, 1 … max_uint64_reduction; of MAXLOC an even number
 * @flags:     0
 *
 * All nodes must agree on @reduce_op and @num_data.
 *
 * Return: as utofu_barrier(); UTOFU_ERR_INVALID_OP, UTOFU_ERR_NOT_SUPPORTED (an
 * operation, but not of integers), UTOFU_ERR_INVALID_NUMBER,
 * UTOFU_ERR_INVALID_POINTER.
 */
int utofu_reduce_uint64(utofu_vbg_id_t vbg_id, enum utofu_reduce_op reduce_op,
			uint64_t data[], size_t num_data,
			unsigned long int flags);

/**
 * utofu_reduce_double - start a reduction of floating-point numbers
 * @vbg_id:    own start and end gate
 * @reduce_op: enum utofu_reduce_op: BFPSUM
 * @data:      elements, finite; free for reuse on return
 * @num_data:  how many, 1 … max_double_reduction
 * @flags:     0
 *
 * The sum has the same bits whatever the order in which the values meet.
 *
 * Return: as utofu_reduce_uint64(); UTOFU_ERR_INVALID_DATA for a NaN or an
 * infinity.
 */
int utofu_reduce_double(utofu_vbg_id_t vbg_id, enum utofu_reduce_op reduce_op,
			double data[], size_t num_data,
			unsigned long int flags);

/**
 * utofu_poll_barrier - see whether a barrier has ended
 * @vbg_id: with which it was started
 * @flags:  0
 *
 * Return: UTOFU_SUCCESS; UTOFU_ERR_NOT_COMPLETED; UTOFU_ERR_NOT_PROCESSED (none
 * was started, or its end has been told); UTOFU_ERR_BARRIER_MISMATCH (the nodes
 * did not agree on what they started); UTOFU_ERR_BARRIER_OTHER (a node is gone,
 * or a gate got two signals where it waits for one); UTOFU_ERR_INVALID_OP (it
 * was a reduction, or one of another type), UTOFU_ERR_INVALID_VBG_ID,
 * UTOFU_ERR_INVALID_FLAGS.
 */
int utofu_poll_barrier(utofu_vbg_id_t vbg_id, unsigned long int flags);

/**
 * utofu_poll_reduce_uint64, utofu_poll_reduce_double - see whether a reduction
 * has ended
 * @vbg_id: with which it was started
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
 * utofu_query_tofu_version - tell the version of the interconnect
 * @major_ver: set, unless NULL
 * @minor_ver: set, unless NULL
 */
void utofu_query_tofu_version(int *major_ver, int *minor_ver);

/**
 * utofu_query_utofu_version - tell the version of this interface
 * @major_ver: set to UTOFU_VERSION_MAJOR of the library, unless NULL
 * @minor_ver: set to UTOFU_VERSION_MINOR of the library, unless NULL
 */
void utofu_query_utofu_version(int *major_ver, int *minor_ver);

/**
 * utofu_query_my_coords - tell where this node is
 * @coords: filled with six coordinates X Y Z A B C
 *
 * Return: UTOFU_SUCCESS, UTOFU_ERR_INVALID_POINTER.
 */
int utofu_query_my_coords(uint8_t coords[]);

/**
 * utofu_get_last_error - print the last error of this thread
 * @text: comes first, and a colon behind it; NULL for neither
 *
 * A line on standard error: name, number and meaning of the last code that a
 * function has returned to the thread and that is an error. UTOFU_ERR_BUSY,
 * UTOFU_ERR_NOT_FOUND and UTOFU_ERR_NOT_COMPLETED are none here: programs meet them
 * whenever they wait. Success does not change what is remembered.
 *
 * It is not a part of version 1.0 of the interface, but programs call it.
 */
void utofu_get_last_error(const char *text);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* UTOFU_H */
