/* SPDX-License-Identifier: MIT */
/*
 * The fast path of making descriptors, inlined into the file of the transfers.
 * The cost of a put is its instructions, so none is spent on finding out the
 * kind of command, or checking for each unusual case. All else is in command.c.
 */
#ifndef UTOFU_COMMAND_MAKE_H
#define UTOFU_COMMAND_MAKE_H

#include <endian.h>
#include <string.h>

#include "queue/post.h"
#include "utofu/command.h"
#include "utofu/vcq_id.h"

/* Flags that contain no field */
#define TOFU_FLAGS_PLAIN                                                       \
	(UTOFU_ONESIDED_FLAG_STRONG_ORDER |                                    \
	 UTOFU_ONESIDED_FLAG_PACKET_RESPONSE |                                 \
	 UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE | UTOFU_ONESIDED_FLAG_PADDING | \
	 UTOFU_ONESIDED_FLAG_CACHE_INJECTION |                                 \
	 UTOFU_ONESIDED_FLAG_DELAY_START | UTOFU_ONESIDED_FLAG_TCQ_NOTICE |    \
	 UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE)

/* One branch for the common case. False does not imply an error. */
static inline bool tofu_transfer_plain(const struct tofu_transfer *t)
{
	uint64_t unusual = (t->flags & ~TOFU_FLAGS_PLAIN) |
			   (t->stadd & ~TOFU_STADD_FIELDS) |
			   (t->edata & ~TOFU_MASK(TOFU_TOQ_EDATA_BITS)) |
			   (t->rmt & ~(TOFU_VCQ_ID_FIELDS &
				       ~TOFU_FIELD(TOFU_VCQ_ID_PATH))) |
			   tofu_vcq_id_carries(t->rmt);

	return !unusual;
}

/* Sets the path. Return: UTOFU_SUCCESS, or the error in the arguments */
static inline int tofu_transfer_check(struct tofu_transfer *transfer)
{
	struct tofu_transfer copy;
	int code;

	if (__builtin_expect(tofu_transfer_plain(transfer), true))
		return UTOFU_SUCCESS;
	/* A copy, so that the original can stay in registers. */
	copy = *transfer;
	code = tofu_transfer_judge(&copy);
	transfer->path = copy.path;
	return code;
}

/* The bits @flag of @flags, shifted left to the position of @to */
static inline uint64_t tofu_flag_moved(unsigned long flags, unsigned long flag,
				       uint64_t to)
{
	return (flags & flag) * (to / flag);
}

/* These bits have the same distances in the flags and in the TOQ word. */
#define TOFU_FLAGS_TOGETHER                      \
	(UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE | \
	 UTOFU_ONESIDED_FLAG_CACHE_INJECTION |   \
	 UTOFU_ONESIDED_FLAG_DELAY_START)
#define TOFU_TOQ_TOGETHER                                               \
	(TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_RMT_NOTICE |               \
					  TOFU_TOQ_F_CACHE_INJECTION) | \
	 TOFU_COMMAND_DELAY)
/* The quotient is a single bit. */
TOFU_ASSERT(TOFU_TOQ_TOGETHER % TOFU_FLAGS_TOGETHER == 0 &&
		    !(TOFU_TOQ_TOGETHER / TOFU_FLAGS_TOGETHER &
		      (TOFU_TOQ_TOGETHER / TOFU_FLAGS_TOGETHER - 1)),
	    "flags can be moved together");

static inline uint64_t tofu_ctrl_word(enum tofu_command kind,
				      unsigned long flags)
{
	return TOFU_SET(TOFU_TOQ_CMD, kind) |
	       tofu_flag_moved(flags, TOFU_FLAGS_TOGETHER, TOFU_TOQ_TOGETHER) |
	       tofu_flag_moved(flags, UTOFU_ONESIDED_FLAG_STRONG_ORDER,
			       TOFU_SET(TOFU_TOQ_FLAGS,
					TOFU_TOQ_F_STRONG_ORDER)) |
	       tofu_flag_moved(flags, UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE,
			       TOFU_SET(TOFU_TOQ_FLAGS,
					TOFU_TOQ_F_LCL_NOTICE)) |
	       tofu_flag_moved(flags, UTOFU_ONESIDED_FLAG_TCQ_NOTICE,
			       TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_TCQ_NOTICE));
}

TOFU_ASSERT(TOFU_TOQ_SPS_SHIFT == TOFU_TOQ_PATH_SHIFT + TOFU_TOQ_PATH_BITS,
	    "struct tofu_transfer.path has both");

/*
 * @ctrl_more and @lcl: specific to the kind of command. All values have been
 * checked, so fields need no masking.
 */
__attribute__((always_inline)) static inline void
tofu_desc_fill(struct tofu_toq_desc *desc, const struct tofu_transfer *transfer,
	       enum tofu_command kind, uint64_t ctrl_more, size_t length,
	       uint64_t lcl)
{
	utofu_vcq_id_t rmt = transfer->rmt;
	uint64_t tag = TOFU_SET(TOFU_TAG_RMT,
				TOFU_GET(rmt, TOFU_VCQ_ID_NUMBER));

	desc->ctrl = htole64(tofu_ctrl_word(kind, transfer->flags) | ctrl_more |
			     transfer->edata << TOFU_TOQ_EDATA_SHIFT |
			     transfer->path << TOFU_TOQ_PATH_SHIFT);
	desc->route = htole64(TOFU_GET(rmt, TOFU_VCQ_ID_NODE) |
			      length << TOFU_ROUTE_LENGTH_SHIFT |
			      TOFU_SET(TOFU_ROUTE_TAG, tag) |
			      transfer->vcq->tag);
	desc->rmt =
		htole64(transfer->stadd |
			TOFU_SET(TOFU_ADDR_CQ, TOFU_GET(rmt, TOFU_VCQ_ID_CQ)));
	desc->lcl = htole64(lcl);
}

/* ---- Commands on the fast path ---- */

/*
 * tofu_desc_putget - check the arguments and fill @desc
 * @kind: TOFU_CMD_PUT or TOFU_CMD_GET
 *
 * Return: enum utofu_return_code.
 */
static inline int tofu_desc_putget(struct tofu_toq_desc *desc,
				   struct tofu_transfer *transfer,
				   enum tofu_command kind,
				   utofu_stadd_t lcl_stadd, size_t length)
{
	int code = tofu_transfer_check(transfer);

	if (code)
		return code;
	if (lcl_stadd & ~TOFU_STADD_FIELDS)
		return tofu_error_known(UTOFU_ERR_INVALID_STADD);
	if (length > TOFU_LENGTH_MAX)
		return tofu_error_known(UTOFU_ERR_INVALID_SIZE);
	tofu_desc_fill(desc, transfer, kind, 0, length,
		       lcl_stadd | transfer->vcq->addr_cq);
	return UTOFU_SUCCESS;
}

/* tofu_desc_piggyback8 - check the arguments and fill @desc; returns a code */
static inline int tofu_desc_piggyback8(struct tofu_toq_desc *desc,
				       struct tofu_transfer *transfer,
				       uint64_t data, size_t length)
{
	int code = tofu_transfer_check(transfer);

	if (length > TOFU_PIGGYBACK_SLOT || (!code && !length))
		return tofu_error_known(UTOFU_ERR_INVALID_SIZE);
	if (code)
		return code;
	/* Bytes of the word that are not sent must be zero. */
	if (length < sizeof(data))
		data &= TOFU_MASK(8 * length);
	tofu_desc_fill(desc, transfer, TOFU_CMD_PUT_PIGGYBACK, 0, length, data);
	return UTOFU_SUCCESS;
}

/*
 * tofu_desc_piggyback - check the arguments and fill @desc, whose data fill a
 * second slot; returns a code
 */
static inline int tofu_desc_piggyback(struct tofu_toq_desc *desc,
				      struct tofu_transfer *transfer)
{
	int code = tofu_transfer_check(transfer);

	if (code)
		return code;
	tofu_desc_fill(desc, transfer, TOFU_CMD_PUT_PIGGYBACK, 0,
		       TOFU_PIGGYBACK_MAX, 0);
	return UTOFU_SUCCESS;
}

/* @size is 4 or 8 and not checked. */
static inline void tofu_desc_armw_fill(struct tofu_toq_desc *desc,
				       const struct tofu_transfer *transfer,
				       enum tofu_armw_op op, unsigned int size,
				       uint64_t operand)
{
	tofu_desc_fill(desc, transfer, TOFU_CMD_ARMW,
		       TOFU_SET(TOFU_TOQ_ARMW_OP, op) |
			       TOFU_SET(TOFU_TOQ_ARMW_8, size == 8),
		       size, operand);
}

/* tofu_desc_armw - as tofu_desc_piggyback8(); @size is 4 or 8 */
static inline int tofu_desc_armw(struct tofu_toq_desc *desc,
				 struct tofu_transfer *transfer,
				 enum utofu_armw_op op, unsigned int size,
				 uint64_t operand)
{
	int code;

	/*
	 * The interface and the engine use the same values. Without atomics no
	 * operation is valid, so those who have them pay nothing for the check.
	 */
	if (op - UTOFU_ARMW_OP_SWAP >= transfer->vcq->armw_ops)
		return tofu_error_known(transfer->vcq->armw_ops ?
						UTOFU_ERR_INVALID_OP :
						UTOFU_ERR_NOT_SUPPORTED);
	code = tofu_transfer_check(transfer);
	if (code)
		return code;
	tofu_desc_armw_fill(desc, transfer, (enum tofu_armw_op)op, size,
			    operand);
	return UTOFU_SUCCESS;
}

/*
 * tofu_desc_post - queue @desc; by value, so that it can stay in registers
 * @slots: 1, or 2 with @data, a constant
 */
__attribute__((always_inline)) static inline int
tofu_desc_post(const struct tofu_vcq *vcq, struct tofu_toq_desc desc,
	       unsigned int slots, const void *data, void *cbdata)
{
	struct tofu_queue *queue = vcq->queue;

	if (!tofu_post_is_easy(queue, vcq->lane, &desc, slots))
		return tofu_desc_post_slowly(vcq, desc, slots, data, cbdata);
	if (tofu_queue_post_easily(queue, vcq->lane, desc, slots, data, cbdata))
		tofu_queue_start(queue);
	return UTOFU_SUCCESS;
}

#endif /* UTOFU_COMMAND_MAKE_H */
