// SPDX-License-Identifier: MIT
/*
 * Every name of the interface, with its value, layout or type. That this file
 * compiles, as C11 and as C++11, is most of the test; the rest is that all
 * functions are there when it is linked.
 */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <utofu.h>

/* ---- Types ---- */

#define UNSIGNED(type, bytes) \
	static_assert(sizeof(type) == (bytes) && (type)(-1) > 0, #type)

UNSIGNED(utofu_tni_id_t, 2);
UNSIGNED(utofu_cq_id_t, 2);
UNSIGNED(utofu_bg_id_t, 2);
UNSIGNED(utofu_cmp_id_t, 2);
UNSIGNED(utofu_vcq_hdl_t, sizeof(uintptr_t));
UNSIGNED(utofu_vcq_id_t, 8);
UNSIGNED(utofu_vbg_id_t, 8);
UNSIGNED(utofu_stadd_t, 8);
UNSIGNED(utofu_path_id_t, 1);

/* Pointers to them are pointers to these types. */
uint16_t id16;
utofu_tni_id_t *tni_pointer = &id16;
utofu_cq_id_t *cq_pointer = &id16;
utofu_bg_id_t *bg_pointer = &id16;
utofu_cmp_id_t *cmp_pointer = &id16;
uint64_t id64;
utofu_vcq_id_t *vcq_id_pointer = &id64;
utofu_vbg_id_t *vbg_id_pointer = &id64;
utofu_stadd_t *stadd_pointer = &id64;
uintptr_t handle;
utofu_vcq_hdl_t *hdl_pointer = &handle;
uint8_t id8;
utofu_path_id_t *path_pointer = &id8;

/* ---- Constants ---- */

#define IS(name, value) static_assert(UTOFU_##name == (value), #name)

IS(VBG_ID_NULL, UINT64_MAX);
IS(PATH_COORD_NULL, 255);
IS(VERSION_MAJOR, 1);
IS(VERSION_MINOR, 0);

IS(ONESIDED_CAP_FLAG_SESSION_MODE, 1);
IS(ONESIDED_CAP_FLAG_ARMW, 2);
IS(ONESIDED_CAP_ARMW_OP_CSWAP, 1);
IS(ONESIDED_CAP_ARMW_OP_SWAP, 2);
IS(ONESIDED_CAP_ARMW_OP_ADD, 4);
IS(ONESIDED_CAP_ARMW_OP_XOR, 8);
IS(ONESIDED_CAP_ARMW_OP_AND, 0x10);
IS(ONESIDED_CAP_ARMW_OP_OR, 0x20);

IS(BARRIER_CAP_REDUCE_OP_BARRIER, 2);
IS(BARRIER_CAP_REDUCE_OP_BAND, 4);
IS(BARRIER_CAP_REDUCE_OP_BOR, 8);
IS(BARRIER_CAP_REDUCE_OP_BXOR, 0x10);
IS(BARRIER_CAP_REDUCE_OP_MAX, 0x20);
IS(BARRIER_CAP_REDUCE_OP_MAXLOC, 0x40);
IS(BARRIER_CAP_REDUCE_OP_SUM, 0x80);
IS(BARRIER_CAP_REDUCE_OP_BFPSUM, 0x100);

IS(VCQ_FLAG_THREAD_SAFE, 1);
IS(VCQ_FLAG_EXCLUSIVE, 2);
IS(VCQ_FLAG_SESSION_MODE, 4);
IS(VBG_FLAG_THREAD_SAFE, 1);
IS(REG_MEM_FLAG_READ_ONLY, 1);

IS(ONESIDED_FLAG_STRONG_ORDER, 1);
IS(ONESIDED_FLAG_PACKET_RESPONSE, 2);
IS(ONESIDED_FLAG_REMOTE_MRQ_NOTICE, 4);
IS(ONESIDED_FLAG_PADDING, 8);
IS(ONESIDED_FLAG_CACHE_INJECTION, 0x20);
IS(ONESIDED_FLAG_DELAY_START, 0x100);
IS(ONESIDED_FLAG_TCQ_NOTICE, 0x4000);
IS(ONESIDED_FLAG_LOCAL_MRQ_NOTICE, 0x8000);
IS(ONESIDED_FLAG_SPS(0), 0);
IS(ONESIDED_FLAG_SPS(1), 0x1000000);
IS(ONESIDED_FLAG_SPS(15), 0xf000000);
IS(ONESIDED_FLAG_PATH(0), 0);
IS(ONESIDED_FLAG_PATH(1), 0x10000000);
IS(ONESIDED_FLAG_PATH(15), 0xf0000000);
/* A path ID is a byte: shifting it must not overflow an int. */
IS(ONESIDED_FLAG_PATH((utofu_path_id_t)12), 0xc0000000);

IS(ARMW_OP_SWAP, 1);
IS(ARMW_OP_ADD, 2);
IS(ARMW_OP_XOR, 3);
IS(ARMW_OP_AND, 4);
IS(ARMW_OP_OR, 5);

IS(REDUCE_OP_BARRIER, 1);
IS(REDUCE_OP_BAND, 2);
IS(REDUCE_OP_BOR, 3);
IS(REDUCE_OP_BXOR, 4);
IS(REDUCE_OP_MAX, 5);
IS(REDUCE_OP_MAXLOC, 6);
IS(REDUCE_OP_SUM, 7);
IS(REDUCE_OP_BFPSUM, 8);

IS(MRQ_TYPE_LCL_PUT, 0);
IS(MRQ_TYPE_RMT_PUT, 1);
IS(MRQ_TYPE_LCL_GET, 2);
IS(MRQ_TYPE_RMT_GET, 3);
IS(MRQ_TYPE_LCL_ARMW, 4);
IS(MRQ_TYPE_RMT_ARMW, 5);

IS(SUCCESS, 0);
IS(ERR_NOT_FOUND, -1);
IS(ERR_NOT_COMPLETED, -2);
IS(ERR_NOT_PROCESSED, -3);
IS(ERR_BUSY, -4);
IS(ERR_USED, -5);
IS(ERR_FULL, -6);
IS(ERR_NOT_AVAILABLE, -7);
IS(ERR_NOT_SUPPORTED, -8);
IS(ERR_TCQ_OTHER, -128);
IS(ERR_TCQ_DESC, -129);
IS(ERR_TCQ_MEMORY, -130);
IS(ERR_TCQ_STADD, -131);
IS(ERR_TCQ_LENGTH, -132);
IS(ERR_MRQ_OTHER, -192);
IS(ERR_MRQ_PEER, -193);
IS(ERR_MRQ_LCL_MEMORY, -194);
IS(ERR_MRQ_RMT_MEMORY, -195);
IS(ERR_MRQ_LCL_STADD, -196);
IS(ERR_MRQ_RMT_STADD, -197);
IS(ERR_MRQ_LCL_LENGTH, -198);
IS(ERR_MRQ_RMT_LENGTH, -199);
IS(ERR_BARRIER_OTHER, -256);
IS(ERR_BARRIER_MISMATCH, -257);
IS(ERR_INVALID_ARG, -512);
IS(ERR_INVALID_POINTER, -513);
IS(ERR_INVALID_FLAGS, -514);
IS(ERR_INVALID_COORDS, -515);
IS(ERR_INVALID_PATH, -516);
IS(ERR_INVALID_TNI_ID, -517);
IS(ERR_INVALID_CQ_ID, -518);
IS(ERR_INVALID_BG_ID, -519);
IS(ERR_INVALID_CMP_ID, -520);
IS(ERR_INVALID_VCQ_HDL, -521);
IS(ERR_INVALID_VCQ_ID, -522);
IS(ERR_INVALID_VBG_ID, -523);
IS(ERR_INVALID_PATH_ID, -524);
IS(ERR_INVALID_STADD, -525);
IS(ERR_INVALID_ADDRESS, -526);
IS(ERR_INVALID_SIZE, -527);
IS(ERR_INVALID_STAG, -528);
IS(ERR_INVALID_EDATA, -529);
IS(ERR_INVALID_NUMBER, -530);
IS(ERR_INVALID_OP, -531);
IS(ERR_INVALID_DESC, -532);
IS(ERR_INVALID_DATA, -533);
IS(ERR_OUT_OF_RESOURCE, -640);
IS(ERR_OUT_OF_MEMORY, -641);
IS(ERR_FATAL, -768);

/* The enumerations have these names. */
enum utofu_armw_op armw_op = UTOFU_ARMW_OP_ADD;
enum utofu_reduce_op reduce_op = UTOFU_REDUCE_OP_SUM;
enum utofu_mrq_notice_type notice_type = UTOFU_MRQ_TYPE_RMT_ARMW;
enum utofu_return_code return_code = UTOFU_ERR_FATAL;

/* ---- Structures ---- */

#define AT(type, member, at, bytes)                                        \
	static_assert(offsetof(struct type, member) == (at) &&             \
			      sizeof(((struct type *)0)->member) == (bytes), \
		      #type "." #member)

AT(utofu_onesided_caps, flags, 0, sizeof(long));
AT(utofu_onesided_caps, armw_ops, 8, sizeof(long));
AT(utofu_onesided_caps, num_cmp_ids, 16, sizeof(int));
AT(utofu_onesided_caps, num_reserved_stags, 20, sizeof(int));
AT(utofu_onesided_caps, cache_line_size, 24, sizeof(size_t));
AT(utofu_onesided_caps, stag_address_alignment, 32, sizeof(size_t));
AT(utofu_onesided_caps, max_toq_desc_size, 40, sizeof(size_t));
AT(utofu_onesided_caps, max_putget_size, 48, sizeof(size_t));
AT(utofu_onesided_caps, max_piggyback_size, 56, sizeof(size_t));
AT(utofu_onesided_caps, max_edata_size, 64, sizeof(size_t));
AT(utofu_onesided_caps, max_mtu, 72, sizeof(size_t));
AT(utofu_onesided_caps, max_gap, 80, sizeof(size_t));
static_assert(sizeof(struct utofu_onesided_caps) == 88, "onesided_caps");

AT(utofu_barrier_caps, flags, 0, sizeof(long));
AT(utofu_barrier_caps, reduce_ops, 8, sizeof(long));
AT(utofu_barrier_caps, max_uint64_reduction, 16, sizeof(size_t));
AT(utofu_barrier_caps, max_double_reduction, 24, sizeof(size_t));
static_assert(sizeof(struct utofu_barrier_caps) == 32, "barrier_caps");

AT(utofu_vbg_setting, vbg_id, 0, 8);
AT(utofu_vbg_setting, src_lcl_vbg_id, 8, 8);
AT(utofu_vbg_setting, src_rmt_vbg_id, 16, 8);
AT(utofu_vbg_setting, dst_lcl_vbg_id, 24, 8);
AT(utofu_vbg_setting, dst_rmt_vbg_id, 32, 8);
AT(utofu_vbg_setting, dst_path_coords, 40, 3);
static_assert(sizeof(struct utofu_vbg_setting) == 48, "vbg_setting");

AT(utofu_mrq_notice, notice_type, 0, 1);
AT(utofu_mrq_notice, padding1, 1, 7);
AT(utofu_mrq_notice, vcq_id, 8, 8);
AT(utofu_mrq_notice, edata, 16, 8);
AT(utofu_mrq_notice, rmt_value, 24, 8);
AT(utofu_mrq_notice, lcl_stadd, 32, 8);
AT(utofu_mrq_notice, rmt_stadd, 40, 8);
AT(utofu_mrq_notice, reserved, 48, 16);
static_assert(sizeof(struct utofu_mrq_notice) == 64, "mrq_notice");

/* ---- Functions ---- */

typedef utofu_vcq_hdl_t hdl;
typedef utofu_vcq_id_t vid;
typedef utofu_stadd_t stadd;
typedef unsigned long int fl;

int (*f_get_onesided_tnis)(utofu_tni_id_t **, size_t *) =
	utofu_get_onesided_tnis;
int (*f_get_barrier_tnis)(utofu_tni_id_t **, size_t *) =
	utofu_get_barrier_tnis;
int (*f_query_onesided_caps)(utofu_tni_id_t, struct utofu_onesided_caps **) =
	utofu_query_onesided_caps;
int (*f_query_barrier_caps)(utofu_tni_id_t, struct utofu_barrier_caps **) =
	utofu_query_barrier_caps;
int (*f_create_vcq)(utofu_tni_id_t, fl, hdl *) = utofu_create_vcq;
int (*f_create_vcq_with_cmp_id)(utofu_tni_id_t, utofu_cmp_id_t, fl, hdl *) =
	utofu_create_vcq_with_cmp_id;
int (*f_free_vcq)(hdl) = utofu_free_vcq;
int (*f_query_vcq_id)(hdl, vid *) = utofu_query_vcq_id;
int (*f_construct_vcq_id)(uint8_t[], utofu_tni_id_t, utofu_cq_id_t,
	utofu_cmp_id_t, vid *) = utofu_construct_vcq_id;
int (*f_set_vcq_id_path)(vid *, uint8_t[]) = utofu_set_vcq_id_path;
int (*f_query_vcq_info)(vid, uint8_t[], utofu_tni_id_t *, utofu_cq_id_t *,
	uint16_t *) = utofu_query_vcq_info;
int (*f_alloc_vbg)(utofu_tni_id_t, size_t, fl, utofu_vbg_id_t[]) =
	utofu_alloc_vbg;
int (*f_free_vbg)(utofu_vbg_id_t[], size_t) = utofu_free_vbg;
int (*f_set_vbg)(struct utofu_vbg_setting[], size_t) = utofu_set_vbg;
int (*f_query_vbg_info)(utofu_vbg_id_t, uint8_t[], utofu_tni_id_t *,
	utofu_bg_id_t *, uint16_t *) = utofu_query_vbg_info;
int (*f_get_path_id)(vid, uint8_t[], utofu_path_id_t *) = utofu_get_path_id;
int (*f_get_path_coords)(vid, utofu_path_id_t, uint8_t[]) =
	utofu_get_path_coords;
int (*f_reg_mem)(hdl, void *, size_t, fl, stadd *) = utofu_reg_mem;
int (*f_reg_mem_with_stag)(hdl, void *, size_t, unsigned int, fl, stadd *) =
	utofu_reg_mem_with_stag;
int (*f_query_stadd)(vid, unsigned int, stadd *) = utofu_query_stadd;
int (*f_dereg_mem)(hdl, stadd, fl) = utofu_dereg_mem;
int (*f_put)(hdl, vid, stadd, stadd, size_t, uint64_t, fl, void *) =
	utofu_put;
int (*f_put_gap)(hdl, vid, stadd, stadd, size_t, uint64_t, fl, size_t, size_t,
	void *) = utofu_put_gap;
int (*f_put_stride)(hdl, vid, stadd, stadd, size_t, size_t, size_t, uint64_t,
	fl, void *) = utofu_put_stride;
int (*f_put_stride_gap)(hdl, vid, stadd, stadd, size_t, size_t, size_t,
	uint64_t, fl, size_t, size_t, void *) = utofu_put_stride_gap;
int (*f_get)(hdl, vid, stadd, stadd, size_t, uint64_t, fl, void *) =
	utofu_get;
int (*f_get_gap)(hdl, vid, stadd, stadd, size_t, uint64_t, fl, size_t, size_t,
	void *) = utofu_get_gap;
int (*f_get_stride)(hdl, vid, stadd, stadd, size_t, size_t, size_t, uint64_t,
	fl, void *) = utofu_get_stride;
int (*f_get_stride_gap)(hdl, vid, stadd, stadd, size_t, size_t, size_t,
	uint64_t, fl, size_t, size_t, void *) = utofu_get_stride_gap;
int (*f_put_piggyback)(hdl, vid, void *, stadd, size_t, uint64_t, fl, void *)
	= utofu_put_piggyback;
int (*f_put_piggyback8)(hdl, vid, uint64_t, stadd, size_t, uint64_t, fl, void
	*) = utofu_put_piggyback8;
int (*f_armw4)(hdl, vid, enum utofu_armw_op, uint32_t, stadd, uint64_t, fl,
	void *) = utofu_armw4;
int (*f_cswap4)(hdl, vid, uint32_t, uint32_t, stadd, uint64_t, fl, void *) =
	utofu_cswap4;
int (*f_armw8)(hdl, vid, enum utofu_armw_op, uint64_t, stadd, uint64_t, fl,
	void *) = utofu_armw8;
int (*f_cswap8)(hdl, vid, uint64_t, uint64_t, stadd, uint64_t, fl, void *) =
	utofu_cswap8;
int (*f_nop)(hdl, fl, void *) = utofu_nop;
int (*f_prepare_put)(hdl, vid, stadd, stadd, size_t, uint64_t, fl, void *,
	size_t *) = utofu_prepare_put;
int (*f_prepare_put_gap)(hdl, vid, stadd, stadd, size_t, uint64_t, fl, size_t,
	size_t, void *, size_t *) = utofu_prepare_put_gap;
int (*f_prepare_put_stride)(hdl, vid, stadd, stadd, size_t, size_t, size_t,
	uint64_t, fl, void *, size_t *) = utofu_prepare_put_stride;
int (*f_prepare_put_stride_gap)(hdl, vid, stadd, stadd, size_t, size_t,
	size_t, uint64_t, fl, size_t, size_t, void *, size_t *) =
	utofu_prepare_put_stride_gap;
int (*f_prepare_get)(hdl, vid, stadd, stadd, size_t, uint64_t, fl, void *,
	size_t *) = utofu_prepare_get;
int (*f_prepare_get_gap)(hdl, vid, stadd, stadd, size_t, uint64_t, fl, size_t,
	size_t, void *, size_t *) = utofu_prepare_get_gap;
int (*f_prepare_get_stride)(hdl, vid, stadd, stadd, size_t, size_t, size_t,
	uint64_t, fl, void *, size_t *) = utofu_prepare_get_stride;
int (*f_prepare_get_stride_gap)(hdl, vid, stadd, stadd, size_t, size_t,
	size_t, uint64_t, fl, size_t, size_t, void *, size_t *) =
	utofu_prepare_get_stride_gap;
int (*f_prepare_put_piggyback)(hdl, vid, void *, stadd, size_t, uint64_t, fl,
	void *, size_t *) = utofu_prepare_put_piggyback;
int (*f_prepare_put_piggyback8)(hdl, vid, uint64_t, stadd, size_t, uint64_t,
	fl, void *, size_t *) = utofu_prepare_put_piggyback8;
int (*f_prepare_armw4)(hdl, vid, enum utofu_armw_op, uint32_t, stadd,
	uint64_t, fl, void *, size_t *) = utofu_prepare_armw4;
int (*f_prepare_cswap4)(hdl, vid, uint32_t, uint32_t, stadd, uint64_t, fl,
	void *, size_t *) = utofu_prepare_cswap4;
int (*f_prepare_armw8)(hdl, vid, enum utofu_armw_op, uint64_t, stadd,
	uint64_t, fl, void *, size_t *) = utofu_prepare_armw8;
int (*f_prepare_cswap8)(hdl, vid, uint64_t, uint64_t, stadd, uint64_t, fl,
	void *, size_t *) = utofu_prepare_cswap8;
int (*f_prepare_nop)(hdl, fl, void *, size_t *) = utofu_prepare_nop;
int (*f_post_toq)(hdl, void *, size_t, void *) = utofu_post_toq;
int (*f_poll_tcq)(hdl, fl, void **) = utofu_poll_tcq;
int (*f_poll_mrq)(hdl, fl, struct utofu_mrq_notice *) = utofu_poll_mrq;
int (*f_query_num_unread_tcq)(hdl, size_t *) = utofu_query_num_unread_tcq;
int (*f_query_num_unread_mrq)(hdl, size_t *) = utofu_query_num_unread_mrq;
int (*f_barrier)(utofu_vbg_id_t, fl) = utofu_barrier;
int (*f_reduce_uint64)(utofu_vbg_id_t, enum utofu_reduce_op, uint64_t[],
	size_t, fl) = utofu_reduce_uint64;
int (*f_reduce_double)(utofu_vbg_id_t, enum utofu_reduce_op, double[], size_t,
	fl) = utofu_reduce_double;
int (*f_poll_barrier)(utofu_vbg_id_t, fl) = utofu_poll_barrier;
int (*f_poll_reduce_uint64)(utofu_vbg_id_t, fl, uint64_t[]) =
	utofu_poll_reduce_uint64;
int (*f_poll_reduce_double)(utofu_vbg_id_t, fl, double[]) =
	utofu_poll_reduce_double;
void (*f_query_tofu_version)(int *, int *) = utofu_query_tofu_version;
void (*f_query_utofu_version)(int *, int *) = utofu_query_utofu_version;
int (*f_query_my_coords)(uint8_t[]) = utofu_query_my_coords;

typedef void (*function)(void);
#define F(name) { #name, (function)utofu_##name }

static const struct {
	const char *name;
	function address;
} functions[] = {
	F(get_onesided_tnis),
	F(get_barrier_tnis),
	F(query_onesided_caps),
	F(query_barrier_caps),
	F(create_vcq),
	F(create_vcq_with_cmp_id),
	F(free_vcq),
	F(query_vcq_id),
	F(construct_vcq_id),
	F(set_vcq_id_path),
	F(query_vcq_info),
	F(alloc_vbg),
	F(free_vbg),
	F(set_vbg),
	F(query_vbg_info),
	F(get_path_id),
	F(get_path_coords),
	F(reg_mem),
	F(reg_mem_with_stag),
	F(query_stadd),
	F(dereg_mem),
	F(put),
	F(put_gap),
	F(put_stride),
	F(put_stride_gap),
	F(get),
	F(get_gap),
	F(get_stride),
	F(get_stride_gap),
	F(put_piggyback),
	F(put_piggyback8),
	F(armw4),
	F(cswap4),
	F(armw8),
	F(cswap8),
	F(nop),
	F(prepare_put),
	F(prepare_put_gap),
	F(prepare_put_stride),
	F(prepare_put_stride_gap),
	F(prepare_get),
	F(prepare_get_gap),
	F(prepare_get_stride),
	F(prepare_get_stride_gap),
	F(prepare_put_piggyback),
	F(prepare_put_piggyback8),
	F(prepare_armw4),
	F(prepare_cswap4),
	F(prepare_armw8),
	F(prepare_cswap8),
	F(prepare_nop),
	F(post_toq),
	F(poll_tcq),
	F(poll_mrq),
	F(query_num_unread_tcq),
	F(query_num_unread_mrq),
	F(barrier),
	F(reduce_uint64),
	F(reduce_double),
	F(poll_barrier),
	F(poll_reduce_uint64),
	F(poll_reduce_double),
	F(query_tofu_version),
	F(query_utofu_version),
	F(query_my_coords),
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

static_assert(FUNCTIONS == 65, "65 functions");

int main(void)
{
	int bad = 0;

	printf("TAP version 13\n");
	for (size_t i = 0; i < FUNCTIONS; i++) {
		bad |= !functions[i].address;
		printf("%sok %zu - utofu_%s is there\n",
		       functions[i].address ? "" : "not ", i + 1,
		       functions[i].name);
	}
	printf("1..%zu\n", FUNCTIONS);
	return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
