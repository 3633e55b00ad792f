/* SPDX-License-Identifier: MIT */
/*
 * The commands of transfer.c, handed to the program and queued later.
 */
#include <endian.h>
#include <string.h>

#include "utofu/command-make.h"

#define SLOT sizeof(struct tofu_toq_desc)

static uint64_t origin(const struct tofu_vcq *vcq)
{
	return TOFU_COMMAND_QUEUE(vcq->queue->cq->tni, vcq->queue->cq->cq);
}

static int prepared(const struct tofu_vcq *vcq, struct tofu_cmd *cmd,
		    void *desc, size_t *desc_size)
{
	if (!desc || !desc_size)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	tofu_work(TOFU_WORK_PREPARE);
	cmd->desc.ctrl |= htole64(origin(vcq));
	memcpy(desc, cmd->slot, cmd->slots * SLOT);
	*desc_size = cmd->slots * SLOT;
	return UTOFU_SUCCESS;
}

int utofu_prepare_put(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		      utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		      size_t length, uint64_t edata, unsigned long int flags,
		      void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd = { .slots = 1 };
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_putget(&cmd.desc, &transfer, TOFU_CMD_PUT, lcl_stadd,
				length);
	return code ? code : prepared(transfer.vcq, &cmd, desc, desc_size);
}

int utofu_prepare_get(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		      utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		      size_t length, uint64_t edata, unsigned long int flags,
		      void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd = { .slots = 1 };
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_putget(&cmd.desc, &transfer, TOFU_CMD_GET, lcl_stadd,
				length);
	return code ? code : prepared(transfer.vcq, &cmd, desc, desc_size);
}

static int prepare_putget(struct tofu_transfer *transfer,
			  enum tofu_command kind, utofu_stadd_t lcl_stadd,
			  size_t length, const struct tofu_putget *more,
			  void *desc, size_t *desc_size)
{
	struct tofu_cmd cmd;
	int code;

	if (!transfer->vcq)
		return tofu_error_no_vcq();
	code = tofu_cmd_putget(&cmd, transfer, kind, lcl_stadd, length, more);
	return code ? code : prepared(transfer->vcq, &cmd, desc, desc_size);
}

int utofu_prepare_put_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			  utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			  size_t length, uint64_t edata,
			  unsigned long int flags, size_t mtu, size_t gap,
			  void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.mtu = mtu,
		.gap = gap,
	};

	return prepare_putget(&transfer, TOFU_CMD_PUT, lcl_stadd, length, &more,
			      desc, desc_size);
}

int utofu_prepare_get_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			  utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			  size_t length, uint64_t edata,
			  unsigned long int flags, size_t mtu, size_t gap,
			  void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.mtu = mtu,
		.gap = gap,
	};

	return prepare_putget(&transfer, TOFU_CMD_GET, lcl_stadd, length, &more,
			      desc, desc_size);
}

int utofu_prepare_put_stride(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			     utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			     size_t length, size_t stride, size_t num_blocks,
			     uint64_t edata, unsigned long int flags,
			     void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.strided = true,
		.stride = stride,
		.num_blocks = num_blocks,
	};

	return prepare_putget(&transfer, TOFU_CMD_PUT, lcl_stadd, length, &more,
			      desc, desc_size);
}

int utofu_prepare_get_stride(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			     utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			     size_t length, size_t stride, size_t num_blocks,
			     uint64_t edata, unsigned long int flags,
			     void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.strided = true,
		.stride = stride,
		.num_blocks = num_blocks,
	};

	return prepare_putget(&transfer, TOFU_CMD_GET, lcl_stadd, length, &more,
			      desc, desc_size);
}

int utofu_prepare_put_stride_gap(utofu_vcq_hdl_t vcq_hdl,
				 utofu_vcq_id_t rmt_vcq_id,
				 utofu_stadd_t lcl_stadd,
				 utofu_stadd_t rmt_stadd, size_t length,
				 size_t stride, size_t num_blocks,
				 uint64_t edata, unsigned long int flags,
				 size_t mtu, size_t gap, void *desc,
				 size_t *desc_size)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.mtu = mtu,
		.gap = gap,
		.strided = true,
		.stride = stride,
		.num_blocks = num_blocks,
	};

	return prepare_putget(&transfer, TOFU_CMD_PUT, lcl_stadd, length, &more,
			      desc, desc_size);
}

int utofu_prepare_get_stride_gap(utofu_vcq_hdl_t vcq_hdl,
				 utofu_vcq_id_t rmt_vcq_id,
				 utofu_stadd_t lcl_stadd,
				 utofu_stadd_t rmt_stadd, size_t length,
				 size_t stride, size_t num_blocks,
				 uint64_t edata, unsigned long int flags,
				 size_t mtu, size_t gap, void *desc,
				 size_t *desc_size)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.mtu = mtu,
		.gap = gap,
		.strided = true,
		.stride = stride,
		.num_blocks = num_blocks,
	};

	return prepare_putget(&transfer, TOFU_CMD_GET, lcl_stadd, length, &more,
			      desc, desc_size);
}

int utofu_prepare_put_piggyback(utofu_vcq_hdl_t vcq_hdl,
				utofu_vcq_id_t rmt_vcq_id, void *lcl_data,
				utofu_stadd_t rmt_stadd, size_t length,
				uint64_t edata, unsigned long int flags,
				void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_cmd_piggyback(&cmd, &transfer, lcl_data, length);
	return code ? code : prepared(transfer.vcq, &cmd, desc, desc_size);
}

int utofu_prepare_put_piggyback8(utofu_vcq_hdl_t vcq_hdl,
				 utofu_vcq_id_t rmt_vcq_id, uint64_t lcl_data,
				 utofu_stadd_t rmt_stadd, size_t length,
				 uint64_t edata, unsigned long int flags,
				 void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd = { .slots = 1 };
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_piggyback8(&cmd.desc, &transfer, lcl_data, length);
	return code ? code : prepared(transfer.vcq, &cmd, desc, desc_size);
}

int utofu_prepare_armw4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			enum utofu_armw_op armw_op, uint32_t op_value,
			utofu_stadd_t rmt_stadd, uint64_t edata,
			unsigned long int flags, void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd = { .slots = 1 };
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_armw(&cmd.desc, &transfer, armw_op, 4, op_value);
	return code ? code : prepared(transfer.vcq, &cmd, desc, desc_size);
}

int utofu_prepare_armw8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			enum utofu_armw_op armw_op, uint64_t op_value,
			utofu_stadd_t rmt_stadd, uint64_t edata,
			unsigned long int flags, void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd = { .slots = 1 };
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_armw(&cmd.desc, &transfer, armw_op, 8, op_value);
	return code ? code : prepared(transfer.vcq, &cmd, desc, desc_size);
}

int utofu_prepare_cswap4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 uint32_t old_value, uint32_t new_value,
			 utofu_stadd_t rmt_stadd, uint64_t edata,
			 unsigned long int flags, void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_cmd_cswap(&cmd, &transfer, 4, old_value, new_value);
	return code ? code : prepared(transfer.vcq, &cmd, desc, desc_size);
}

int utofu_prepare_cswap8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 uint64_t old_value, uint64_t new_value,
			 utofu_stadd_t rmt_stadd, uint64_t edata,
			 unsigned long int flags, void *desc, size_t *desc_size)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_cmd_cswap(&cmd, &transfer, 8, old_value, new_value);
	return code ? code : prepared(transfer.vcq, &cmd, desc, desc_size);
}

int utofu_prepare_nop(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags,
		      void *desc, size_t *desc_size)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);
	struct tofu_cmd cmd;
	int code;

	if (!vcq)
		return tofu_error_no_vcq();
	code = tofu_cmd_nop(&cmd, flags);
	return code ? code : prepared(vcq, &cmd, desc, desc_size);
}

/* ---- Queueing ---- */

/*
 * A command that was prepared for another VCQ would deliver its notices to the
 * other's lane, or read the other's memory through this one's tables.
 */
static bool desc_is_of(const struct tofu_toq_desc *desc,
		       const struct tofu_vcq *vcq)
{
	uint64_t tag = TOFU_GET(le64toh(desc->route), TOFU_ROUTE_TAG);
	bool own_lane = TOFU_GET(tag, TOFU_TAG_LCL) == vcq->lane->number;
	uint64_t ctrl = le64toh(desc->ctrl);

	if ((ctrl & TOFU_FIELD(TOFU_COMMAND_ORIGIN)) != origin(vcq))
		return false;
	/* With a flip bit already set the engine might not take it. */
	if (ctrl & TOFU_FIELD(TOFU_TOQ_FLIP))
		return false;
	switch (TOFU_GET(ctrl, TOFU_TOQ_CMD)) {
	case TOFU_CMD_NOP:
		return true;
	case TOFU_CMD_PUT:
	case TOFU_CMD_GET:
		return own_lane && (le64toh(desc->lcl) &
				    TOFU_FIELD(TOFU_ADDR_CQ)) == vcq->addr_cq;
	case TOFU_CMD_PUT_PIGGYBACK:
		return own_lane;
	case TOFU_CMD_ARMW:
		return own_lane && vcq->armw_ops;
	default:
		return false;
	}
}

/* Return: whether the slots are whole commands, all of @vcq. */
static int desc_check(const char *desc, size_t slots,
		      const struct tofu_vcq *vcq)
{
	while (slots) {
		struct tofu_toq_desc first;
		unsigned int n;

		memcpy(&first, desc, SLOT);
		if (!desc_is_of(&first, vcq))
			return UTOFU_ERR_INVALID_DESC;
		n = tofu_toq_slots(le64toh(first.ctrl), le64toh(first.route));
		if (n > slots)
			return UTOFU_ERR_INVALID_SIZE;
		slots -= n;
		desc += n * SLOT;
	}
	return UTOFU_SUCCESS;
}

int utofu_post_toq(utofu_vcq_hdl_t vcq_hdl, void *desc, size_t desc_size,
		   void *cbdata)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);
	int code;

	if (!vcq)
		return tofu_error_no_vcq();
	if (!desc)
		return tofu_error(UTOFU_ERR_INVALID_POINTER);
	if (!desc_size || desc_size % SLOT ||
	    desc_size / SLOT > tofu_queue_slots_max(vcq->queue))
		return tofu_error(UTOFU_ERR_INVALID_SIZE);
	code = desc_check(desc, desc_size / SLOT, vcq);
	if (code)
		return tofu_error(code);
	return tofu_cmd_post(vcq, desc, desc_size / SLOT, cbdata);
}
