/* SPDX-License-Identifier: MIT */
/*
 * The transfers: each makes its command and queues it.
 */
#include "utofu/command-make.h"

int utofu_put(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
	      utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd, size_t length,
	      uint64_t edata, unsigned long int flags, void *cbdata)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_toq_desc desc;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_putget(&desc, &transfer, TOFU_CMD_PUT, lcl_stadd,
				length);
	return code ? code : tofu_desc_post(transfer.vcq, desc, 1, NULL, cbdata);
}

int utofu_get(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
	      utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd, size_t length,
	      uint64_t edata, unsigned long int flags, void *cbdata)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_toq_desc desc;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_putget(&desc, &transfer, TOFU_CMD_GET, lcl_stadd,
				length);
	return code ? code : tofu_desc_post(transfer.vcq, desc, 1, NULL, cbdata);
}

static int post_putget(struct tofu_transfer *transfer, enum tofu_command kind,
		       utofu_stadd_t lcl_stadd, size_t length,
		       const struct tofu_putget *more, void *cbdata)
{
	struct tofu_cmd cmd;
	int code;

	if (!transfer->vcq)
		return tofu_error_no_vcq();
	code = tofu_cmd_putget(&cmd, transfer, kind, lcl_stadd, length, more);
	return code ? code : tofu_cmd_post_one(transfer->vcq, &cmd, cbdata);
}

int utofu_put_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		  utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		  size_t length, uint64_t edata, unsigned long int flags,
		  size_t mtu, size_t gap, void *cbdata)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.mtu = mtu,
		.gap = gap,
	};

	return post_putget(&transfer, TOFU_CMD_PUT, lcl_stadd, length, &more,
			   cbdata);
}

int utofu_get_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		  utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		  size_t length, uint64_t edata, unsigned long int flags,
		  size_t mtu, size_t gap, void *cbdata)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.mtu = mtu,
		.gap = gap,
	};

	return post_putget(&transfer, TOFU_CMD_GET, lcl_stadd, length, &more,
			   cbdata);
}

int utofu_put_stride(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		     utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		     size_t length, size_t stride, size_t num_blocks,
		     uint64_t edata, unsigned long int flags, void *cbdata)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.strided = true,
		.stride = stride,
		.num_blocks = num_blocks,
	};

	return post_putget(&transfer, TOFU_CMD_PUT, lcl_stadd, length, &more,
			   cbdata);
}

int utofu_get_stride(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		     utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
		     size_t length, size_t stride, size_t num_blocks,
		     uint64_t edata, unsigned long int flags, void *cbdata)
{
	struct tofu_transfer transfer =
		tofu_transfer_of(vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	const struct tofu_putget more = {
		.strided = true,
		.stride = stride,
		.num_blocks = num_blocks,
	};

	return post_putget(&transfer, TOFU_CMD_GET, lcl_stadd, length, &more,
			   cbdata);
}

int utofu_put_stride_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			 size_t length, size_t stride, size_t num_blocks,
			 uint64_t edata, unsigned long int flags, size_t mtu,
			 size_t gap, void *cbdata)
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

	return post_putget(&transfer, TOFU_CMD_PUT, lcl_stadd, length, &more,
			   cbdata);
}

int utofu_get_stride_gap(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 utofu_stadd_t lcl_stadd, utofu_stadd_t rmt_stadd,
			 size_t length, size_t stride, size_t num_blocks,
			 uint64_t edata, unsigned long int flags, size_t mtu,
			 size_t gap, void *cbdata)
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

	return post_putget(&transfer, TOFU_CMD_GET, lcl_stadd, length, &more,
			   cbdata);
}

/* What does not fill a second slot, or is wrong */
static int post_piggyback(struct tofu_transfer *transfer, const void *data,
			  size_t length, void *cbdata)
{
	struct tofu_cmd cmd;
	int code = tofu_cmd_piggyback(&cmd, transfer, data, length);

	return code ? code : tofu_cmd_post_one(transfer->vcq, &cmd, cbdata);
}

int utofu_put_piggyback(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			void *lcl_data, utofu_stadd_t rmt_stadd, size_t length,
			uint64_t edata, unsigned long int flags, void *cbdata)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_toq_desc desc;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	if (length != TOFU_PIGGYBACK_MAX || !lcl_data)
		return post_piggyback(&transfer, lcl_data, length, cbdata);
	code = tofu_desc_piggyback(&desc, &transfer);
	return code ? code :
		      tofu_desc_post(transfer.vcq, desc, 2, lcl_data, cbdata);
}

int utofu_put_piggyback8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
			 uint64_t lcl_data, utofu_stadd_t rmt_stadd,
			 size_t length, uint64_t edata, unsigned long int flags,
			 void *cbdata)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_toq_desc desc;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_piggyback8(&desc, &transfer, lcl_data, length);
	return code ? code : tofu_desc_post(transfer.vcq, desc, 1, NULL, cbdata);
}

int utofu_armw4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		enum utofu_armw_op armw_op, uint32_t op_value,
		utofu_stadd_t rmt_stadd, uint64_t edata,
		unsigned long int flags, void *cbdata)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_toq_desc desc;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_armw(&desc, &transfer, armw_op, 4, op_value);
	return code ? code : tofu_desc_post(transfer.vcq, desc, 1, NULL, cbdata);
}

int utofu_armw8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		enum utofu_armw_op armw_op, uint64_t op_value,
		utofu_stadd_t rmt_stadd, uint64_t edata,
		unsigned long int flags, void *cbdata)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_toq_desc desc;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_desc_armw(&desc, &transfer, armw_op, 8, op_value);
	return code ? code : tofu_desc_post(transfer.vcq, desc, 1, NULL, cbdata);
}

int utofu_cswap4(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		 uint32_t old_value, uint32_t new_value,
		 utofu_stadd_t rmt_stadd, uint64_t edata,
		 unsigned long int flags, void *cbdata)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_cmd_cswap(&cmd, &transfer, 4, old_value, new_value);
	return code ? code : tofu_cmd_post_one(transfer.vcq, &cmd, cbdata);
}

int utofu_cswap8(utofu_vcq_hdl_t vcq_hdl, utofu_vcq_id_t rmt_vcq_id,
		 uint64_t old_value, uint64_t new_value,
		 utofu_stadd_t rmt_stadd, uint64_t edata,
		 unsigned long int flags, void *cbdata)
{
	struct tofu_transfer transfer = tofu_transfer_of(
		vcq_hdl, rmt_vcq_id, rmt_stadd, edata, flags);
	struct tofu_cmd cmd;
	int code;

	if (!transfer.vcq)
		return tofu_error_no_vcq();
	code = tofu_cmd_cswap(&cmd, &transfer, 8, old_value, new_value);
	return code ? code : tofu_cmd_post_one(transfer.vcq, &cmd, cbdata);
}

int utofu_nop(utofu_vcq_hdl_t vcq_hdl, unsigned long int flags, void *cbdata)
{
	const struct tofu_vcq *vcq = tofu_vcq_find(vcq_hdl);
	struct tofu_cmd cmd;
	int code;

	if (!vcq)
		return tofu_error_no_vcq();
	code = tofu_cmd_nop(&cmd, flags);
	return code ? code : tofu_cmd_post_one(vcq, &cmd, cbdata);
}
