/* SPDX-License-Identifier: MIT */
#include "utofu/command.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "utofu/vcq_id.h"

#define FLAG_FIELD_SPS 0xf000000UL
#define FLAG_FIELD_PATH 0xf0000000UL

#define FLAGS_KNOWN                                                            \
	(UTOFU_ONESIDED_FLAG_STRONG_ORDER |                                    \
	 UTOFU_ONESIDED_FLAG_PACKET_RESPONSE |                                 \
	 UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE | UTOFU_ONESIDED_FLAG_PADDING | \
	 UTOFU_ONESIDED_FLAG_CACHE_INJECTION |                                 \
	 UTOFU_ONESIDED_FLAG_DELAY_START | UTOFU_ONESIDED_FLAG_TCQ_NOTICE |    \
	 UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE | FLAG_FIELD_SPS |               \
	 FLAG_FIELD_PATH)

#define FLAGS_NOP \
	(UTOFU_ONESIDED_FLAG_TCQ_NOTICE | UTOFU_ONESIDED_FLAG_DELAY_START)

/* ---- What all have in common ---- */

static uint64_t engine_flags(unsigned long flags)
{
	uint64_t engine = 0;

	if (flags & UTOFU_ONESIDED_FLAG_STRONG_ORDER)
		engine |= TOFU_TOQ_F_STRONG_ORDER;
	if (flags & UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE)
		engine |= TOFU_TOQ_F_RMT_NOTICE;
	if (flags & UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE)
		engine |= TOFU_TOQ_F_LCL_NOTICE;
	if (flags & UTOFU_ONESIDED_FLAG_TCQ_NOTICE)
		engine |= TOFU_TOQ_F_TCQ_NOTICE;
	if (flags & UTOFU_ONESIDED_FLAG_CACHE_INJECTION)
		engine |= TOFU_TOQ_F_CACHE_INJECTION;
	return engine;
}

static uint64_t ctrl_word(enum tofu_command kind, unsigned long flags)
{
	uint64_t ctrl = TOFU_SET(TOFU_TOQ_CMD, kind) |
			TOFU_SET(TOFU_TOQ_FLAGS, engine_flags(flags));

	if (flags & UTOFU_ONESIDED_FLAG_DELAY_START)
		ctrl |= TOFU_COMMAND_DELAY;
	return ctrl;
}

/* Of the flags, else of the VCQ ID, else the target's own coordinates. */
static uint64_t path_of(const struct tofu_transfer *transfer)
{
	uint64_t id = (transfer->flags & FLAG_FIELD_PATH) >> 28;

	if (!id)
		id = TOFU_GET(transfer->rmt, TOFU_VCQ_ID_PATH);
	return id ? id - 1 : TOFU_GET(transfer->rmt, TOFU_VCQ_ID_ABC);
}

static int transfer_check(const struct tofu_transfer *transfer)
{
	unsigned long flags = transfer->flags;

	if (flags & ~FLAGS_KNOWN)
		return UTOFU_ERR_INVALID_FLAGS;
	if (flags & FLAG_FIELD_SPS)
		return UTOFU_ERR_NOT_SUPPORTED;
	if (!tofu_path_id_valid((flags & FLAG_FIELD_PATH) >> 28))
		return UTOFU_ERR_INVALID_PATH_ID;
	if (!tofu_vcq_id_valid(transfer->rmt))
		return UTOFU_ERR_INVALID_VCQ_ID;
	if (transfer->stadd & ~TOFU_STADD_FIELDS)
		return UTOFU_ERR_INVALID_STADD;
	if (transfer->edata > TOFU_MASK(TOFU_TOQ_EDATA_BITS))
		return UTOFU_ERR_INVALID_EDATA;
	return UTOFU_SUCCESS;
}

/* @ctrl_more and @lcl: of the command's kind; the second slot is cleared. */
static void cmd_fill(struct tofu_cmd *cmd, const struct tofu_transfer *transfer,
		     enum tofu_command kind, uint64_t ctrl_more, size_t length,
		     uint64_t lcl)
{
	utofu_vcq_id_t rmt = transfer->rmt;
	uint64_t tag =
		TOFU_SET(TOFU_TAG_RMT, TOFU_GET(rmt, TOFU_VCQ_ID_NUMBER)) |
		TOFU_SET(TOFU_TAG_LCL, transfer->vcq->lane->number);
	uint64_t ctrl = ctrl_word(kind, transfer->flags) | ctrl_more |
			TOFU_SET(TOFU_TOQ_EDATA, transfer->edata) |
			TOFU_SET(TOFU_TOQ_PATH, path_of(transfer));
	uint64_t route = TOFU_GET(rmt, TOFU_VCQ_ID_NODE) |
			 TOFU_SET(TOFU_ROUTE_LENGTH, length) |
			 TOFU_SET(TOFU_ROUTE_TAG, tag);

	cmd->desc.ctrl = htole64(ctrl);
	cmd->desc.route = htole64(route);
	cmd->desc.rmt =
		htole64(transfer->stadd |
			TOFU_SET(TOFU_ADDR_CQ, TOFU_GET(rmt, TOFU_VCQ_ID_CQ)));
	cmd->desc.lcl = htole64(lcl);
	cmd->slots = tofu_toq_slots(ctrl, route);
	if (cmd->slots == 2)
		memset(&cmd->data, 0, sizeof(cmd->data));
}

/* ---- One for each kind ---- */

int tofu_cmd_putget(struct tofu_cmd *cmd, const struct tofu_transfer *transfer,
		    enum tofu_command kind, utofu_stadd_t lcl_stadd,
		    size_t length)
{
	int code = transfer_check(transfer);

	if (code)
		return code;
	if (lcl_stadd & ~TOFU_STADD_FIELDS)
		return UTOFU_ERR_INVALID_STADD;
	if (length > TOFU_LENGTH_MAX)
		return UTOFU_ERR_INVALID_SIZE;
	cmd_fill(cmd, transfer, kind, 0, length,
		 lcl_stadd | transfer->vcq->addr_cq);
	return UTOFU_SUCCESS;
}

int tofu_cmd_piggyback(struct tofu_cmd *cmd,
		       const struct tofu_transfer *transfer, const void *data,
		       size_t length)
{
	int code = transfer_check(transfer);

	if (code)
		return code;
	if (!data)
		return UTOFU_ERR_INVALID_POINTER;
	if (!length || length > TOFU_PIGGYBACK_MAX)
		return UTOFU_ERR_INVALID_SIZE;
	cmd_fill(cmd, transfer, TOFU_CMD_PUT_PIGGYBACK, 0, length, 0);
	if (cmd->slots == 2)
		memcpy(&cmd->data, data, length);
	else
		memcpy(&cmd->desc.lcl, data, length);
	return UTOFU_SUCCESS;
}

int tofu_cmd_piggyback8(struct tofu_cmd *cmd,
			const struct tofu_transfer *transfer, uint64_t data,
			size_t length)
{
	if (length > TOFU_PIGGYBACK_SLOT)
		return UTOFU_ERR_INVALID_SIZE;
	return tofu_cmd_piggyback(cmd, transfer, &data, length);
}

static int cmd_armw(struct tofu_cmd *cmd, const struct tofu_transfer *transfer,
		    enum tofu_armw_op op, unsigned int size, uint64_t operand)
{
	int code = transfer_check(transfer);

	if (code)
		return code;
	cmd_fill(cmd, transfer, TOFU_CMD_ARMW,
		 TOFU_SET(TOFU_TOQ_ARMW_OP, op) |
			 TOFU_SET(TOFU_TOQ_ARMW_8, size == 8),
		 size, operand);
	return UTOFU_SUCCESS;
}

int tofu_cmd_armw(struct tofu_cmd *cmd, const struct tofu_transfer *transfer,
		  enum utofu_armw_op op, unsigned int size, uint64_t operand)
{
	/* The values of the interface are those of the engine. */
	switch (op) {
	case UTOFU_ARMW_OP_SWAP:
	case UTOFU_ARMW_OP_ADD:
	case UTOFU_ARMW_OP_XOR:
	case UTOFU_ARMW_OP_AND:
	case UTOFU_ARMW_OP_OR:
		return cmd_armw(cmd, transfer, (enum tofu_armw_op)op, size,
				operand);
	}
	return UTOFU_ERR_INVALID_OP;
}

int tofu_cmd_cswap(struct tofu_cmd *cmd, const struct tofu_transfer *transfer,
		   unsigned int size, uint64_t old_value, uint64_t new_value)
{
	int code = cmd_armw(cmd, transfer, TOFU_ARMW_CSWAP, size, new_value);

	if (!code)
		cmd->data.word[0] = htole64(old_value);
	return code;
}

int tofu_cmd_nop(struct tofu_cmd *cmd, unsigned long flags)
{
	if (flags & ~FLAGS_NOP)
		return UTOFU_ERR_INVALID_FLAGS;
	memset(&cmd->desc, 0, sizeof(cmd->desc));
	cmd->desc.ctrl = htole64(ctrl_word(TOFU_CMD_NOP, flags));
	cmd->slots = 1;
	return UTOFU_SUCCESS;
}

/* ---- Queueing ---- */

int tofu_cmd_post(const struct tofu_vcq *vcq, const void *cmd, size_t slots,
		  void *cbdata)
{
	struct tofu_queue *queue = vcq->queue;
	int ret;

	tofu_queue_lock(queue);
	ret = tofu_queue_post_locked(queue, vcq->lane, cmd, slots, cbdata);
	tofu_queue_unlock(queue);
	if (ret >= 0) {
		if (ret)
			tofu_queue_start(queue);
		return UTOFU_SUCCESS;
	}
	if (ret != -EBUSY)
		return UTOFU_ERR_FATAL;
	/* Who retries without polling shall see room some time. */
	tofu_queue_start(queue);
	tofu_queue_idle(queue);
	return UTOFU_ERR_BUSY;
}
