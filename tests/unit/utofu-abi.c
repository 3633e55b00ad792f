// SPDX-License-Identifier: MIT
/*
 * The values and layouts that compiled programs have in them: checked when
 * this file is compiled.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <utofu.h>

#define SAME(name, value) \
	static_assert((long long)(UTOFU_##name) == (value), #name)
#define AT(type, field, offset) \
	static_assert(offsetof(struct utofu_##type, field) == (offset), #field)
#define FLAG(name, bit) SAME(ONESIDED_FLAG_##name, 1LL << (bit))

SAME(VERSION_MAJOR, 1); SAME(VERSION_MINOR, 0);
static_assert(UTOFU_VBG_ID_NULL == UINT64_MAX, "VBG_ID_NULL");
SAME(PATH_COORD_NULL, UINT8_MAX);
SAME(ONESIDED_CAP_FLAG_SESSION_MODE, 1); SAME(ONESIDED_CAP_FLAG_ARMW, 2);
SAME(ONESIDED_CAP_ARMW_OP_CSWAP, 1); SAME(ONESIDED_CAP_ARMW_OP_SWAP, 2);
SAME(ONESIDED_CAP_ARMW_OP_ADD, 4); SAME(ONESIDED_CAP_ARMW_OP_XOR, 8);
SAME(ONESIDED_CAP_ARMW_OP_AND, 16); SAME(ONESIDED_CAP_ARMW_OP_OR, 32);
SAME(BARRIER_CAP_REDUCE_OP_BARRIER, 2); SAME(BARRIER_CAP_REDUCE_OP_BAND, 4);
SAME(BARRIER_CAP_REDUCE_OP_BOR, 8); SAME(BARRIER_CAP_REDUCE_OP_BXOR, 16);
SAME(BARRIER_CAP_REDUCE_OP_MAX, 32); SAME(BARRIER_CAP_REDUCE_OP_MAXLOC, 64);
SAME(BARRIER_CAP_REDUCE_OP_SUM, 128); SAME(BARRIER_CAP_REDUCE_OP_BFPSUM, 256);
SAME(VCQ_FLAG_THREAD_SAFE, 1); SAME(VCQ_FLAG_EXCLUSIVE, 2);
SAME(VCQ_FLAG_SESSION_MODE, 4); SAME(VBG_FLAG_THREAD_SAFE, 1);
SAME(REG_MEM_FLAG_READ_ONLY, 1);
FLAG(STRONG_ORDER, 0); FLAG(PACKET_RESPONSE, 1); FLAG(REMOTE_MRQ_NOTICE, 2);
FLAG(PADDING, 3); FLAG(CACHE_INJECTION, 5); FLAG(DELAY_START, 8);
FLAG(TCQ_NOTICE, 14); FLAG(LOCAL_MRQ_NOTICE, 15);
SAME(ONESIDED_FLAG_SPS(15), 15LL << 24);
SAME(ONESIDED_FLAG_PATH(15), 15LL << 28);
SAME(ARMW_OP_SWAP, 1); SAME(ARMW_OP_ADD, 2); SAME(ARMW_OP_XOR, 3);
SAME(ARMW_OP_AND, 4); SAME(ARMW_OP_OR, 5);
SAME(REDUCE_OP_BARRIER, 1); SAME(REDUCE_OP_BAND, 2); SAME(REDUCE_OP_BOR, 3);
SAME(REDUCE_OP_BXOR, 4); SAME(REDUCE_OP_MAX, 5); SAME(REDUCE_OP_MAXLOC, 6);
SAME(REDUCE_OP_SUM, 7); SAME(REDUCE_OP_BFPSUM, 8);
SAME(MRQ_TYPE_LCL_PUT, 0); SAME(MRQ_TYPE_RMT_PUT, 1);
SAME(MRQ_TYPE_LCL_GET, 2); SAME(MRQ_TYPE_RMT_GET, 3);
SAME(MRQ_TYPE_LCL_ARMW, 4); SAME(MRQ_TYPE_RMT_ARMW, 5);
SAME(SUCCESS, 0); SAME(ERR_NOT_FOUND, -1); SAME(ERR_NOT_COMPLETED, -2);
SAME(ERR_NOT_PROCESSED, -3); SAME(ERR_BUSY, -4); SAME(ERR_USED, -5);
SAME(ERR_FULL, -6); SAME(ERR_NOT_AVAILABLE, -7); SAME(ERR_NOT_SUPPORTED, -8);
SAME(ERR_TCQ_OTHER, -128); SAME(ERR_TCQ_DESC, -129);
SAME(ERR_TCQ_MEMORY, -130); SAME(ERR_TCQ_STADD, -131);
SAME(ERR_TCQ_LENGTH, -132); SAME(ERR_MRQ_OTHER, -192);
SAME(ERR_MRQ_PEER, -193); SAME(ERR_MRQ_LCL_MEMORY, -194);
SAME(ERR_MRQ_RMT_MEMORY, -195); SAME(ERR_MRQ_LCL_STADD, -196);
SAME(ERR_MRQ_RMT_STADD, -197); SAME(ERR_MRQ_LCL_LENGTH, -198);
SAME(ERR_MRQ_RMT_LENGTH, -199); SAME(ERR_BARRIER_OTHER, -256);
SAME(ERR_BARRIER_MISMATCH, -257); SAME(ERR_INVALID_ARG, -512);
SAME(ERR_INVALID_POINTER, -513); SAME(ERR_INVALID_FLAGS, -514);
SAME(ERR_INVALID_COORDS, -515); SAME(ERR_INVALID_PATH, -516);
SAME(ERR_INVALID_TNI_ID, -517); SAME(ERR_INVALID_CQ_ID, -518);
SAME(ERR_INVALID_BG_ID, -519); SAME(ERR_INVALID_CMP_ID, -520);
SAME(ERR_INVALID_VCQ_HDL, -521); SAME(ERR_INVALID_VCQ_ID, -522);
SAME(ERR_INVALID_VBG_ID, -523); SAME(ERR_INVALID_PATH_ID, -524);
SAME(ERR_INVALID_STADD, -525); SAME(ERR_INVALID_ADDRESS, -526);
SAME(ERR_INVALID_SIZE, -527); SAME(ERR_INVALID_STAG, -528);
SAME(ERR_INVALID_EDATA, -529); SAME(ERR_INVALID_NUMBER, -530);
SAME(ERR_INVALID_OP, -531); SAME(ERR_INVALID_DESC, -532);
SAME(ERR_INVALID_DATA, -533); SAME(ERR_OUT_OF_RESOURCE, -640);
SAME(ERR_OUT_OF_MEMORY, -641); SAME(ERR_FATAL, -768);

static_assert(sizeof(struct utofu_mrq_notice) == 64, "mrq_notice");
AT(mrq_notice, notice_type, 0); AT(mrq_notice, vcq_id, 8);
AT(mrq_notice, edata, 16); AT(mrq_notice, rmt_value, 24);
AT(mrq_notice, lcl_stadd, 32); AT(mrq_notice, rmt_stadd, 40);
AT(onesided_caps, flags, 0); AT(onesided_caps, armw_ops, 8);
AT(onesided_caps, num_cmp_ids, 16); AT(onesided_caps, num_reserved_stags, 20);
AT(onesided_caps, cache_line_size, 24);
AT(onesided_caps, stag_address_alignment, 32);
AT(onesided_caps, max_toq_desc_size, 40); AT(onesided_caps, max_putget_size, 48);
AT(onesided_caps, max_piggyback_size, 56); AT(onesided_caps, max_edata_size, 64);
AT(onesided_caps, max_mtu, 72); AT(onesided_caps, max_gap, 80);
AT(barrier_caps, reduce_ops, 8); AT(barrier_caps, max_uint64_reduction, 16);
AT(barrier_caps, max_double_reduction, 24);
AT(vbg_setting, src_lcl_vbg_id, 8); AT(vbg_setting, src_rmt_vbg_id, 16);
AT(vbg_setting, dst_lcl_vbg_id, 24); AT(vbg_setting, dst_rmt_vbg_id, 32);
AT(vbg_setting, dst_path_coords, 40);
