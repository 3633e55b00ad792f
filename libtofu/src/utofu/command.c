/* SPDX-License-Identifier: MIT */
#include "utofu/command-make.h"

#include <errno.h>

#include "utofu/path.h"

#define FLAGS_SPS UTOFU_ONESIDED_FLAG_SPS(TOFU_MASK(TOFU_TOQ_SPS_BITS))
#define FLAGS_PATH UTOFU_ONESIDED_FLAG_PATH(TOFU_MASK(TOFU_VCQ_ID_PATH_BITS))
#define FLAGS_KNOWN (TOFU_FLAGS_PLAIN | FLAGS_SPS | FLAGS_PATH)
#define FLAGS_NOP \
	(UTOFU_ONESIDED_FLAG_TCQ_NOTICE | UTOFU_ONESIDED_FLAG_DELAY_START)

static unsigned int flags_sps(unsigned long flags)
{
	return (unsigned int)((flags & FLAGS_SPS) / UTOFU_ONESIDED_FLAG_SPS(1));
}

static unsigned int flags_path(unsigned long flags)
{
	return (unsigned int)((flags & FLAGS_PATH) /
			      UTOFU_ONESIDED_FLAG_PATH(1));
}

int tofu_transfer_judge(struct tofu_transfer *transfer)
{
	unsigned long flags = transfer->flags;

	if (flags & ~FLAGS_KNOWN)
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
	if (!tofu_path_id_exists(flags_path(flags)))
		return tofu_error(UTOFU_ERR_INVALID_PATH_ID);
	if (!tofu_vcq_id_valid(transfer->rmt))
		return tofu_error(UTOFU_ERR_INVALID_VCQ_ID);
	if (transfer->stadd & ~TOFU_STADD_FIELDS)
		return tofu_error(UTOFU_ERR_INVALID_STADD);
	if (transfer->edata > TOFU_MASK(TOFU_TOQ_EDATA_BITS))
		return tofu_error(UTOFU_ERR_INVALID_EDATA);
	transfer->path = tofu_path_taken(transfer->rmt, flags_path(flags)) |
			 flags_sps(flags) << TOFU_TOQ_PATH_BITS;
	return UTOFU_SUCCESS;
}

/* ---- Kinds of commands that are not in command-make.h ---- */

/* MTU and gap in lines; an MTU of 0 selects the default. */
static uint64_t pace_word(const struct tofu_putget *more)
{
	size_t lines = more->mtu / TOFU_LINE;

	if (more->mtu && !lines)
		lines = 1;
	return TOFU_SET(TOFU_TOQ_MTU, lines) |
	       TOFU_SET(TOFU_TOQ_GAP, more->gap);
}

static int putget_check(const struct tofu_putget *more)
{
	if (more->mtu > TOFU_MTU_MAX)
		return tofu_error(UTOFU_ERR_INVALID_SIZE);
	if (more->gap > TOFU_MASK(TOFU_TOQ_GAP_BITS))
		return tofu_error(UTOFU_ERR_INVALID_ARG);
	if (!more->strided)
		return UTOFU_SUCCESS;
	if (more->stride > TOFU_MASK(TOFU_ADDR_OFFSET_BITS))
		return tofu_error(UTOFU_ERR_INVALID_SIZE);
	if (!more->num_blocks || more->num_blocks > TOFU_BLOCKS_MAX)
		return tofu_error(UTOFU_ERR_INVALID_NUMBER);
	return UTOFU_SUCCESS;
}

int tofu_cmd_putget(struct tofu_cmd *cmd, struct tofu_transfer *transfer,
		    enum tofu_command kind, utofu_stadd_t lcl_stadd,
		    size_t length, const struct tofu_putget *more)
{
	uint64_t ctrl = pace_word(more);
	int code;

	tofu_work(TOFU_WORK_POST_PACED);
	code = tofu_desc_putget(&cmd->desc, transfer, kind, lcl_stadd, length);
	if (!code)
		code = putget_check(more);
	if (code)
		return code;
	cmd->slots = 1;
	if (more->strided) {
		ctrl |= TOFU_SET(TOFU_TOQ_FLAGS, TOFU_TOQ_F_STRIDE);
		cmd->stride = (struct tofu_toq_stride){
			.stride = htole64(more->stride),
			.blocks = htole64(more->num_blocks),
		};
		cmd->slots = 2;
	}
	cmd->desc.ctrl |= htole64(ctrl);
	return UTOFU_SUCCESS;
}

int tofu_cmd_piggyback(struct tofu_cmd *cmd,
		       struct tofu_transfer *transfer, const void *data,
		       size_t length)
{
	int code = tofu_transfer_check(transfer);

	if (code)
		return code;
	if (!data)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!length || length > TOFU_PIGGYBACK_MAX)
		return tofu_error(UTOFU_ERR_INVALID_SIZE);
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
	int code;

	if (!transfer->vcq->armw_ops)
		return tofu_error(UTOFU_ERR_NOT_SUPPORTED);
	code = tofu_transfer_check(transfer);
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
		return tofu_error(UTOFU_ERR_INVALID_FLAGS);
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
		tofu_work(TOFU_WORK_POSTED_SLOWLY);
		return UTOFU_SUCCESS;
	}
	/* The prepared command has changed since it was checked. */
	if (ret == -EINVAL)
		return tofu_error(UTOFU_ERR_INVALID_DESC);
	if (ret != -EBUSY)
		return tofu_error(UTOFU_ERR_FATAL);
	/* A caller that retries without polling must see room eventually. */
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
			  unsigned int slots, const void *data, void *cbdata)
{
	struct tofu_cmd cmd = { .desc = desc, .slots = slots };

	if (slots == 2)
		memcpy(&cmd.data, data, sizeof(cmd.data));
	return tofu_cmd_post_one(vcq, &cmd, cbdata);
}
