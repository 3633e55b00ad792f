/* SPDX-License-Identifier: MIT */
#include "utofu/command-make.h"

#include <errno.h>

#define FLAG_FIELD_SPS 0xf000000UL
#define FLAGS_KNOWN (TOFU_FLAGS_PLAIN | FLAG_FIELD_SPS | TOFU_FLAG_FIELD_PATH)
#define FLAGS_NOP \
	(UTOFU_ONESIDED_FLAG_TCQ_NOTICE | UTOFU_ONESIDED_FLAG_DELAY_START)

int tofu_transfer_judge(const struct tofu_transfer *transfer)
{
	unsigned long flags = transfer->flags;

	if (flags & ~FLAGS_KNOWN)
		return UTOFU_ERR_INVALID_FLAGS;
	if (flags & FLAG_FIELD_SPS)
		return UTOFU_ERR_NOT_SUPPORTED;
	if (!tofu_path_id_valid((flags & TOFU_FLAG_FIELD_PATH) >> 28))
		return UTOFU_ERR_INVALID_PATH_ID;
	if (!tofu_vcq_id_valid(transfer->rmt))
		return UTOFU_ERR_INVALID_VCQ_ID;
	if (transfer->stadd & ~TOFU_STADD_FIELDS)
		return UTOFU_ERR_INVALID_STADD;
	if (transfer->edata > TOFU_MASK(TOFU_TOQ_EDATA_BITS))
		return UTOFU_ERR_INVALID_EDATA;
	return UTOFU_SUCCESS;
}

/* ---- One for each kind that is not made where it is posted ---- */

int tofu_cmd_piggyback(struct tofu_cmd *cmd,
		       const struct tofu_transfer *transfer, const void *data,
		       size_t length)
{
	int code = tofu_transfer_check(transfer);

	if (code)
		return code;
	if (!data)
		return UTOFU_ERR_INVALID_POINTER;
	if (!length || length > TOFU_PIGGYBACK_MAX)
		return UTOFU_ERR_INVALID_SIZE;
	tofu_cmd_fill(cmd, transfer, TOFU_CMD_PUT_PIGGYBACK, 0, length, 0);
	if (cmd->slots == 2)
		memcpy(&cmd->data, data, length);
	else
		memcpy(&cmd->desc.lcl, data, length);
	return UTOFU_SUCCESS;
}

static int cmd_armw(struct tofu_cmd *cmd, const struct tofu_transfer *transfer,
		    enum tofu_armw_op op, unsigned int size, uint64_t operand)
{
	int code = tofu_transfer_check(transfer);

	if (code)
		return code;
	tofu_cmd_fill(cmd, transfer, TOFU_CMD_ARMW,
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
	cmd->desc.ctrl = htole64(tofu_ctrl_word(TOFU_CMD_NOP, flags));
	cmd->slots = 1;
	return UTOFU_SUCCESS;
}

/* ---- Queueing ---- */

int tofu_cmd_posted(struct tofu_queue *queue, int ret)
{
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

int tofu_cmd_post(const struct tofu_vcq *vcq, const void *cmd, size_t slots,
		  void *cbdata)
{
	struct tofu_queue *queue = vcq->queue;
	int ret;

	tofu_queue_lock(queue);
	ret = tofu_queue_post_locked(queue, vcq->lane, cmd, slots, cbdata);
	tofu_queue_unlock(queue);
	return tofu_cmd_posted(queue, ret);
}
