/* SPDX-License-Identifier: MIT */
#include "utofu/command-make.h"

#include <errno.h>

#define FLAG_FIELD_SPS 0xf000000UL
#define FLAG_FIELD_PATH 0xf0000000UL
#define FLAGS_KNOWN (TOFU_FLAGS_PLAIN | FLAG_FIELD_SPS | FLAG_FIELD_PATH)
#define FLAGS_NOP \
	(UTOFU_ONESIDED_FLAG_TCQ_NOTICE | UTOFU_ONESIDED_FLAG_DELAY_START)

/* Of the flags, else of the VCQ ID */
static void path_take(struct tofu_transfer *transfer)
{
	uint64_t id = (transfer->flags & FLAG_FIELD_PATH) >> 28;

	if (!id)
		id = TOFU_GET(transfer->rmt, TOFU_VCQ_ID_PATH);
	if (id)
		transfer->path = id - 1;
}

int tofu_transfer_judge(struct tofu_transfer *transfer)
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
	path_take(transfer);
	return UTOFU_SUCCESS;
}

/* ---- One for each kind that can take two slots ---- */

int tofu_cmd_piggyback(struct tofu_cmd *cmd,
		       struct tofu_transfer *transfer, const void *data,
		       size_t length)
{
	int code = tofu_transfer_check(transfer);

	if (code)
		return code;
	if (!data)
		return UTOFU_ERR_INVALID_POINTER;
	if (!length || length > TOFU_PIGGYBACK_MAX)
		return UTOFU_ERR_INVALID_SIZE;
	tofu_desc_fill(&cmd->desc, transfer, TOFU_CMD_PUT_PIGGYBACK, 0, length,
		       0);
	cmd->slots = length > TOFU_PIGGYBACK_SLOT ? 2 : 1;
	if (cmd->slots == 2) {
		memset(&cmd->data, 0, sizeof(cmd->data));
		memcpy(&cmd->data, data, length);
	} else {
		memcpy(&cmd->desc.lcl, data, length);
	}
	return UTOFU_SUCCESS;
}

int tofu_cmd_cswap(struct tofu_cmd *cmd, struct tofu_transfer *transfer,
		   unsigned int size, uint64_t old_value, uint64_t new_value)
{
	int code = tofu_transfer_check(transfer);

	if (code)
		return code;
	tofu_desc_armw_fill(&cmd->desc, transfer, TOFU_ARMW_CSWAP, size,
			    new_value);
	cmd->data = (struct tofu_toq_data){ .word = { htole64(old_value) } };
	cmd->slots = 2;
	return UTOFU_SUCCESS;
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

int tofu_cmd_post_one(const struct tofu_vcq *vcq, const struct tofu_cmd *cmd,
		      void *cbdata)
{
	struct tofu_queue *queue = vcq->queue;
	int ret;

	tofu_queue_lock(queue);
	ret = tofu_queue_post_one_locked(queue, vcq->lane, cmd->slot,
					 (unsigned int)cmd->slots, cbdata);
	tofu_queue_unlock(queue);
	return tofu_cmd_posted(queue, ret);
}

int tofu_desc_post_slowly(const struct tofu_vcq *vcq, struct tofu_toq_desc desc,
			  void *cbdata)
{
	const struct tofu_cmd cmd = { .desc = desc, .slots = 1 };

	return tofu_cmd_post_one(vcq, &cmd, cbdata);
}
