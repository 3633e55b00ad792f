/* SPDX-License-Identifier: MIT */
/*
 * Every function of <utofu.h> with random arguments of the right types, on a
 * machine of which nobody else has come: handles, IDs, STADDs and prepared
 * commands from pools of what is good, was good once, or never was. What C
 * wants to be valid is: a pointer is NULL, or leads to enough memory. Each
 * call returns a code of the interface, whatever it is; and when all has been
 * freed, a put arrives as ever.
 *
 *   utofu-fuzz [seeds [first seed [calls of each]]]
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <utofu.h>

#include "fabric/fabric.h"

#define VCQS 8
#define REGIONS 4	/* of each */
#define NETS 4		/* allocations of barrier gates */
#define GATES 8		/* of each */
#define BUFFERS 4
#define BUFFER 65536
#define DESCS (8 * 64)	/* bytes of concatenated commands */
#define WAIT_SECONDS 20
#define FUNCTIONS_ALL 65

static struct fuzz {
	uint64_t seed;
	unsigned long call;
	uint64_t random;
	unsigned int own;	/* VCQ that mostly is meant by a call */
	unsigned int other;	/* likewise, at the other end */
	utofu_vcq_hdl_t hdl[VCQS];
	utofu_vcq_id_t id[VCQS];
	utofu_stadd_t stadd[VCQS][REGIONS];
	utofu_vbg_id_t vbg[NETS][GATES];
	size_t vbgs[NETS];	/* 0 while it is not allocated */
	uint8_t desc[DESCS];
	size_t desc_size;
	unsigned int desc_own;	/* VCQ that most of them are of */
	uint8_t *buffer[BUFFERS];
	unsigned long good[FUNCTIONS_ALL];	/* calls that succeeded */
} fuzz;

/* ---- Random values ---- */

static uint64_t any(void)
{
	uint64_t x = fuzz.random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	fuzz.random = x;
	return x * 0x2545f4914f6cdd1dULL;
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)((any() >> 32) % n);
}

static bool rarely(void)
{
	return !below(16);
}

#define PICK(...)                                                          \
	({                                                                 \
		const uint64_t of[] = { __VA_ARGS__ };                     \
		of[below(sizeof(of) / sizeof(*of))];                       \
	})

/* NULL now and then */
#define MAYBE(pointer) (rarely() ? NULL : (pointer))

static utofu_vcq_hdl_t hdl(void)
{
	if (rarely())
		return any() >> below(64);
	return fuzz.hdl[rarely() ? below(VCQS) : fuzz.own];
}

static utofu_vcq_id_t id(void)
{
	utofu_vcq_id_t id = fuzz.id[fuzz.other];

	if (rarely())
		id ^= 1ULL << below(64);
	return rarely() ? any() : id;
}

static utofu_stadd_t stadd(unsigned int vcq)
{
	utofu_stadd_t at;

	at = fuzz.stadd[rarely() ? below(VCQS) : vcq][below(REGIONS)];
	if (rarely())
		at ^= 1ULL << below(64);
	if (!below(4))
		at += PICK(4, 8, 64, BUFFER / 2, BUFFER - 8, BUFFER, any());
	return at;
}

static utofu_stadd_t lcl(void)
{
	return stadd(fuzz.own);
}

static utofu_stadd_t rmt(void)
{
	return stadd(fuzz.other);
}

static size_t length(void)
{
	if (rarely())
		return PICK(BUFFER, 0xffffff, 0x1000000, UINT64_MAX);
	return PICK(0, 1, 4, 7, 8, 8, 31, 32, 33, 255, 4096, below(BUFFER));
}

static size_t stride(void)
{
	if (rarely())
		return PICK(BUFFER, 1ULL << 39, (1ULL << 40) - 1, 1ULL << 40,
			    UINT64_MAX);
	return PICK(0, 1, 8, 64, 4096);
}

static size_t blocks(void)
{
	if (rarely())
		return PICK(0, 0xffffff, 0x1000000, UINT64_MAX);
	return PICK(1, 2, 3, 17, 64, 65, 300);
}

static size_t mtu(void)
{
	return rarely() ? PICK(1921, UINT64_MAX) :
			  PICK(0, 1, 7, 8, 64, 1919, 1920);
}

static size_t gap(void)
{
	return rarely() ? PICK(256, UINT64_MAX) : PICK(0, 1, 255);
}

static uint64_t edata(void)
{
	return rarely() ? any() : below(256);
}

static unsigned long flags(void)
{
	unsigned long plain = any() & 0xc12f;

	if (rarely())
		return any() >> below(64);
	if (!below(4))
		plain |= UTOFU_ONESIDED_FLAG_SPS(below(16));
	if (!below(4))
		plain |= UTOFU_ONESIDED_FLAG_PATH(below(16));
	return plain & ~(below(4) ? UTOFU_ONESIDED_FLAG_DELAY_START : 0);
}

/* Of functions that take few or none */
static unsigned long few_flags(void)
{
	return rarely() ? any() >> below(64) : 0;
}

static unsigned int small(void)
{
	return rarely() ? (unsigned int)any() : below(8);
}

static uint8_t *coords(void)
{
	static uint8_t c[6];

	for (int i = 0; i < 6; i++)
		c[i] = rarely() ? (uint8_t)any() : (uint8_t)below(i / 3 + 1);
	return MAYBE(c);
}

static uint8_t *path_coords(void)
{
	static uint8_t c[3];

	for (int i = 0; i < 3; i++)
		c[i] = rarely() ? (uint8_t)any() : (uint8_t)below(2);
	if (!below(4))
		memset(c, UTOFU_PATH_COORD_NULL, sizeof(c));
	return MAYBE(c);
}

static utofu_vbg_id_t vbg(void)
{
	utofu_vbg_id_t id = fuzz.vbg[below(NETS)][below(2) * below(GATES)];

	if (rarely())
		id ^= 1ULL << below(64);
	return rarely() ? PICK(UTOFU_VBG_ID_NULL, any(), 0) : id;
}

static uint8_t *memory(void)
{
	return fuzz.buffer[below(BUFFERS)] + below(2) * below(BUFFER / 2);
}

/* What there is of memory(), or so much that it cannot be. */
static size_t memory_size(void)
{
	return rarely() ? PICK(0, 1ULL << 40, UINT64_MAX, 1ULL << 63) :
			  1 + below(BUFFER / 2);
}

/* ---- TNIs and versions ---- */

static int tnis(int get(utofu_tni_id_t **, size_t *))
{
	utofu_tni_id_t *ids = NULL;
	size_t count;
	int code = get(MAYBE(&ids), MAYBE(&count));

	free(ids);
	return code;
}

static int get_onesided_tnis(void)
{
	return tnis(utofu_get_onesided_tnis);
}

static int get_barrier_tnis(void)
{
	return tnis(utofu_get_barrier_tnis);
}

static int query_barrier_caps(void)
{
	struct utofu_barrier_caps *caps;

	return utofu_query_barrier_caps((utofu_tni_id_t)small(), MAYBE(&caps));
}

static int query_onesided_caps(void)
{
	struct utofu_onesided_caps *caps;

	return utofu_query_onesided_caps((utofu_tni_id_t)small(), MAYBE(&caps));
}

static int query_tofu_version(void)
{
	int major, minor;

	utofu_query_tofu_version(MAYBE(&major), MAYBE(&minor));
	return UTOFU_SUCCESS;
}

static int query_utofu_version(void)
{
	int major, minor;

	utofu_query_utofu_version(MAYBE(&major), MAYBE(&minor));
	return UTOFU_SUCCESS;
}

static int query_my_coords(void)
{
	uint8_t c[6];

	return utofu_query_my_coords(MAYBE(c));
}

/* ---- VCQs ---- */

static unsigned long vcq_flags(void)
{
	return rarely() ? any() >> below(64) : PICK(0, 0, 0, 1, 2, 4, 3, 5, 7);
}

/* A VCQ that is there keeps its place, and the call has no pointer. */
static utofu_vcq_hdl_t *hdl_place(void)
{
	utofu_vcq_id_t id;

	if (!utofu_query_vcq_id(fuzz.hdl[fuzz.own], &id) && !rarely())
		fuzz.own = below(VCQS);
	return utofu_query_vcq_id(fuzz.hdl[fuzz.own], &id) ?
		       MAYBE(&fuzz.hdl[fuzz.own]) : NULL;
}

static int vcq_made(int code)
{
	if (!code &&
	    utofu_query_vcq_id(fuzz.hdl[fuzz.own], &fuzz.id[fuzz.own]))
		abort();
	return code;
}

static int create_vcq(void)
{
	return vcq_made(utofu_create_vcq((utofu_tni_id_t)small(), vcq_flags(),
					 hdl_place()));
}

static int create_vcq_with_cmp_id(void)
{
	return vcq_made(utofu_create_vcq_with_cmp_id((utofu_tni_id_t)small(),
						     (utofu_cmp_id_t)small(),
						     vcq_flags(), hdl_place()));
}

/* Less often than they are made: they shall have time to do something. */
static int free_vcq(void)
{
	return below(16) ? UTOFU_SUCCESS : utofu_free_vcq(hdl());
}

static int query_vcq_id(void)
{
	return utofu_query_vcq_id(hdl(), MAYBE(&fuzz.id[fuzz.own]));
}

static int construct_vcq_id(void)
{
	return utofu_construct_vcq_id(coords(), (utofu_tni_id_t)small(),
				      (utofu_cq_id_t)small(),
				      (utofu_cmp_id_t)small(),
				      MAYBE(&fuzz.id[fuzz.other]));
}

static int set_vcq_id_path(void)
{
	return utofu_set_vcq_id_path(MAYBE(&fuzz.id[fuzz.other]),
				     path_coords());
}

static int query_vcq_info(void)
{
	utofu_tni_id_t tni;
	utofu_cq_id_t cq;
	uint16_t extra;
	uint8_t c[6];

	return utofu_query_vcq_info(id(), MAYBE(c), MAYBE(&tni), MAYBE(&cq),
				    MAYBE(&extra));
}

static int get_path_id(void)
{
	utofu_path_id_t path;

	return utofu_get_path_id(id(), path_coords(), MAYBE(&path));
}

static int get_path_coords(void)
{
	uint8_t c[3];

	return utofu_get_path_coords(id(), (utofu_path_id_t)any(), MAYBE(c));
}

/* ---- Memory ---- */

static utofu_stadd_t *stadd_place(void)
{
	return MAYBE(&fuzz.stadd[fuzz.own][below(REGIONS)]);
}

static int reg_mem(void)
{
	return utofu_reg_mem(hdl(), MAYBE(memory()), memory_size(),
			     rarely() ? any() : !below(4), stadd_place());
}

static int reg_mem_with_stag(void)
{
	return utofu_reg_mem_with_stag(hdl(), MAYBE(memory()), memory_size(),
				       small(), rarely() ? any() : !below(4),
				       stadd_place());
}

static int query_stadd(void)
{
	utofu_stadd_t *place = &fuzz.stadd[fuzz.other][below(REGIONS)];

	return utofu_query_stadd(id(), small(), MAYBE(place));
}

static int dereg_mem(void)
{
	return below(8) ? UTOFU_SUCCESS :
			  utofu_dereg_mem(hdl(), lcl(), few_flags());
}

/* ---- Transfers; each beside the one that prepares it ---- */

static void *cbdata(void)
{
	return (void *)(uintptr_t)any();
}

/* Behind those that are there, or instead of them; room for 64 bytes */
static uint8_t *desc(void)
{
	if (fuzz.desc_size > DESCS - 64 || fuzz.desc_own != fuzz.own)
		fuzz.desc_size = 0;
	fuzz.desc_own = fuzz.own;
	return fuzz.desc + fuzz.desc_size;
}

/*
 * TRANSFER - the functions utofu_name() and utofu_prepare_name(), called with
 * arguments that the expressions give
 */
#define TRANSFER(name, ...)                                                  \
	static int name(void)                                                \
	{                                                                    \
		return utofu_##name(hdl(), __VA_ARGS__, cbdata());           \
	}                                                                    \
	static int prepare_##name(void)                                      \
	{                                                                    \
		uint8_t *at = desc();                                        \
		size_t size = 0;                                             \
		int code;                                                    \
									     \
		code = utofu_prepare_##name(hdl(), __VA_ARGS__, MAYBE(at),   \
					    MAYBE(&size));                   \
		fuzz.desc_size += size;                                      \
		return code;                                                 \
	}

static enum utofu_armw_op op(void)
{
	return rarely() ? (enum utofu_armw_op)any() : 1 + below(5);
}

TRANSFER(put, id(), lcl(), rmt(), length(), edata(), flags())
TRANSFER(get, id(), lcl(), rmt(), length(), edata(), flags())
TRANSFER(put_gap, id(), lcl(), rmt(), length(), edata(), flags(), mtu(),
	 gap())
TRANSFER(get_gap, id(), lcl(), rmt(), length(), edata(), flags(), mtu(),
	 gap())
TRANSFER(put_stride, id(), lcl(), rmt(), length(), stride(), blocks(),
	 edata(), flags())
TRANSFER(get_stride, id(), lcl(), rmt(), length(), stride(), blocks(),
	 edata(), flags())
TRANSFER(put_stride_gap, id(), lcl(), rmt(), length(), stride(), blocks(),
	 edata(), flags(), mtu(), gap())
TRANSFER(get_stride_gap, id(), lcl(), rmt(), length(), stride(), blocks(),
	 edata(), flags(), mtu(), gap())
TRANSFER(put_piggyback, id(), MAYBE(memory()), rmt(), length(), edata(),
	 flags())
TRANSFER(put_piggyback8, id(), any(), rmt(), length(), edata(), flags())
TRANSFER(armw4, id(), op(), (uint32_t)any(), rmt(), edata(), flags())
TRANSFER(armw8, id(), op(), any(), rmt(), edata(), flags())
TRANSFER(cswap4, id(), (uint32_t)any(), (uint32_t)any(), rmt(), edata(),
	 flags())
TRANSFER(cswap8, id(), any(), any(), rmt(), edata(), flags())
TRANSFER(nop, flags() & (rarely() ? ~0UL : UTOFU_ONESIDED_FLAG_TCQ_NOTICE |
					    UTOFU_ONESIDED_FLAG_DELAY_START))

/* Some have been changed by now; or only a part is posted, or too much. */
static int post_toq(void)
{
	size_t size = fuzz.desc_size;

	if (!rarely())
		fuzz.own = fuzz.desc_own;
	if (!below(4) && size)
		fuzz.desc[below((unsigned int)size)] ^=
			(uint8_t)(1U << below(8));
	if (rarely())
		size = PICK(0, 1, 31, 32, DESCS);
	if (rarely())
		size = SIZE_MAX - size;
	return utofu_post_toq(hdl(), MAYBE(fuzz.desc), size, cbdata());
}

/* ---- Queues ---- */

static int poll_tcq(void)
{
	void *at;

	return utofu_poll_tcq(hdl(), few_flags(), MAYBE(&at));
}

static int poll_mrq(void)
{
	struct utofu_mrq_notice notice;

	return utofu_poll_mrq(hdl(), few_flags(), MAYBE(&notice));
}

static int query_num_unread_tcq(void)
{
	size_t count;

	return utofu_query_num_unread_tcq(hdl(), MAYBE(&count));
}

static int query_num_unread_mrq(void)
{
	size_t count;

	return utofu_query_num_unread_mrq(hdl(), MAYBE(&count));
}

/* ---- Barrier gates ---- */

static int alloc_vbg(void)
{
	size_t count = rarely() ? PICK(0, 49, UINT64_MAX) : 1 + below(GATES);
	unsigned long flags = rarely() ? any() : below(2);
	unsigned int net = below(NETS);
	utofu_tni_id_t tni = (utofu_tni_id_t)small();
	int code;

	if (fuzz.vbgs[net] || rarely())
		return utofu_alloc_vbg(tni, count, flags, NULL);
	code = utofu_alloc_vbg(tni, count, flags, fuzz.vbg[net]);
	if (!code)
		fuzz.vbgs[net] = count;
	return code;
}

/* All of an allocation, or some, or what else it once was */
static int free_vbg(void)
{
	unsigned int net = below(NETS);
	size_t count = rarely() ? below(GATES + 1) : fuzz.vbgs[net];
	int code;

	if (below(8))
		return UTOFU_SUCCESS;
	code = utofu_free_vbg(MAYBE(fuzz.vbg[net]), count);
	if (!code)
		fuzz.vbgs[net] = 0;
	return code;
}

static int set_vbg(void)
{
	struct utofu_vbg_setting setting[3];

	for (int i = 0; i < 3; i++) {
		uint8_t *path = path_coords();

		/* A gate alone, or one that signals any other */
		setting[i] = (struct utofu_vbg_setting){
			.vbg_id = vbg(),
			.src_lcl_vbg_id = UTOFU_VBG_ID_NULL,
			.src_rmt_vbg_id = below(2) ? vbg() : UTOFU_VBG_ID_NULL,
			.dst_lcl_vbg_id = UTOFU_VBG_ID_NULL,
			.dst_rmt_vbg_id = below(2) ? vbg() : UTOFU_VBG_ID_NULL,
			.dst_path_coords = { 255, 255, 255 },
		};
		if (!below(4))
			setting[i].src_lcl_vbg_id = vbg();
		if (!below(4))
			setting[i].dst_lcl_vbg_id = vbg();
		if (!below(4) && path)
			memcpy(setting[i].dst_path_coords, path, 3);
	}
	return utofu_set_vbg(MAYBE(setting), rarely() ? 0 : 1 + !below(4) * 2);
}

static int query_vbg_info(void)
{
	utofu_tni_id_t tni;
	utofu_bg_id_t bg;
	uint16_t extra;
	uint8_t c[6];

	return utofu_query_vbg_info(vbg(), MAYBE(c), MAYBE(&tni), MAYBE(&bg),
				    MAYBE(&extra));
}

static int barrier(void)
{
	return utofu_barrier(vbg(), few_flags());
}

static enum utofu_reduce_op reduce_op(void)
{
	return rarely() ? (enum utofu_reduce_op)any() : 1 + below(8);
}

/* The array is as long as any number that is good. */
static size_t elements(void)
{
	return rarely() ? PICK(0, 7, UINT64_MAX) : 1 + below(6);
}

static int reduce_uint64(void)
{
	uint64_t data[6] = { any(), any(), 1, 2, 3, 4 };

	return utofu_reduce_uint64(vbg(), reduce_op(), MAYBE(data), elements(),
				   few_flags());
}

static int reduce_double(void)
{
	double data[6] = { 1, -0.0, 1e300, 0, 0, 0 };
	enum utofu_reduce_op op = below(2) ? UTOFU_REDUCE_OP_BFPSUM :
					     reduce_op();
	uint64_t bits = any();

	if (!below(4))
		memcpy(&data[0], &bits, sizeof(bits));
	return utofu_reduce_double(vbg(), op, MAYBE(data), elements(),
				   few_flags());
}

static int poll_barrier(void)
{
	return utofu_poll_barrier(vbg(), few_flags());
}

static int poll_reduce_uint64(void)
{
	uint64_t data[6];

	return utofu_poll_reduce_uint64(vbg(), few_flags(), MAYBE(data));
}

static int poll_reduce_double(void)
{
	double data[6];

	return utofu_poll_reduce_double(vbg(), few_flags(), MAYBE(data));
}

/* ---- A run ---- */

#define CALL(name) { #name, name }
#define CALLS(name) CALL(name), CALL(prepare_##name)

static const struct {
	const char *name;
	int (*call)(void);
} function[] = {
	CALL(get_onesided_tnis), CALL(query_onesided_caps), CALL(create_vcq),
	CALL(create_vcq_with_cmp_id), CALL(free_vcq), CALL(query_vcq_id),
	CALL(construct_vcq_id), CALL(set_vcq_id_path), CALL(query_vcq_info),
	CALL(get_path_id), CALL(get_path_coords), CALL(reg_mem),
	CALL(reg_mem_with_stag), CALL(query_stadd), CALL(dereg_mem),
	CALLS(put), CALLS(get), CALLS(put_gap), CALLS(get_gap),
	CALLS(put_stride), CALLS(get_stride), CALLS(put_stride_gap),
	CALLS(get_stride_gap), CALLS(put_piggyback), CALLS(put_piggyback8),
	CALLS(armw4), CALLS(armw8), CALLS(cswap4), CALLS(cswap8), CALLS(nop),
	CALL(post_toq), CALL(poll_tcq), CALL(poll_mrq),
	CALL(query_num_unread_tcq), CALL(query_num_unread_mrq),
	CALL(query_tofu_version), CALL(query_utofu_version),
	CALL(query_my_coords), CALL(get_barrier_tnis),
	CALL(query_barrier_caps), CALL(alloc_vbg), CALL(free_vbg),
	CALL(set_vbg), CALL(query_vbg_info), CALL(barrier),
	CALL(reduce_uint64), CALL(reduce_double), CALL(poll_barrier),
	CALL(poll_reduce_uint64), CALL(poll_reduce_double),
};
#define FUNCTIONS (sizeof(function) / sizeof(*function))

_Static_assert(FUNCTIONS == FUNCTIONS_ALL, "every function once");

static bool is_code(int code)
{
	return (code <= 0 && code >= UTOFU_ERR_NOT_SUPPORTED) ||
	       (code <= UTOFU_ERR_TCQ_OTHER && code >= UTOFU_ERR_TCQ_LENGTH) ||
	       (code <= UTOFU_ERR_MRQ_OTHER &&
		code >= UTOFU_ERR_MRQ_RMT_LENGTH) ||
	       (code <= UTOFU_ERR_BARRIER_OTHER &&
		code >= UTOFU_ERR_BARRIER_MISMATCH) ||
	       (code <= UTOFU_ERR_INVALID_ARG &&
		code >= UTOFU_ERR_INVALID_DATA) ||
	       code == UTOFU_ERR_OUT_OF_RESOURCE ||
	       code == UTOFU_ERR_OUT_OF_MEMORY || code == UTOFU_ERR_FATAL;
}

static void fail(const char *what, int code)
{
	printf("not ok 1 - seed %llu, call %lu: %s: %d\n",
	       (unsigned long long)fuzz.seed, fuzz.call, what, code);
	exit(1);
}

static void expect(const char *what, int code)
{
	if (code)
		fail(what, code);
}

/* Nothing of a run is left: a VCQ works as the first one of a program does. */
static void check_calm(void)
{
	utofu_stadd_t from = 0, to = 0;
	struct utofu_mrq_notice notice;
	time_t since = time(NULL);
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t me;
	int code;

	expect("create", utofu_create_vcq(0, 0, &vcq));
	expect("query", utofu_query_vcq_id(vcq, &me));
	expect("reg", utofu_reg_mem(vcq, fuzz.buffer[0], BUFFER, 0, &from));
	expect("reg", utofu_reg_mem(vcq, fuzz.buffer[1], BUFFER, 0, &to));
	memset(fuzz.buffer[0], (int)fuzz.seed, 9000);
	memset(fuzz.buffer[1], (int)~fuzz.seed, 9000);
	expect("put", utofu_put(vcq, me, from, to, 9000, 0,
				UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE, NULL));
	do {
		code = utofu_poll_mrq(vcq, 0, &notice);
	} while (code == UTOFU_ERR_NOT_FOUND &&
		 time(NULL) - since < WAIT_SECONDS);
	expect("notice", code);
	expect("bytes", memcmp(fuzz.buffer[0], fuzz.buffer[1], 9000));
	expect("free", utofu_free_vcq(vcq));
}

static void run(uint64_t seed, unsigned long calls)
{
	fuzz.seed = seed;
	fuzz.random = seed * 0x9e3779b97f4a7c15ULL | 1;
	for (fuzz.call = 0; fuzz.call < calls; fuzz.call++) {
		unsigned int i = below(FUNCTIONS);
		int code;

		/* For a while the same, so that something comes of it */
		if (!below(8))
			fuzz.own = below(VCQS);
		fuzz.other = below(4) ? fuzz.own : below(VCQS);
		code = function[i].call();
		if (!is_code(code))
			fail(function[i].name, code);
		fuzz.good[i] += code == UTOFU_SUCCESS;
	}
	for (unsigned int i = 0; i < VCQS; i++) {
		int code = utofu_free_vcq(fuzz.hdl[i]);

		if (code && code != UTOFU_ERR_INVALID_VCQ_HDL)
			fail("free_vcq", code);
	}
	for (unsigned int i = 0; i < NETS; i++) {
		if (fuzz.vbgs[i])
			expect("free_vbg", utofu_free_vbg(fuzz.vbg[i],
							  fuzz.vbgs[i]));
		fuzz.vbgs[i] = 0;
	}
	check_calm();
}

/* All twelve paths, and eleven nodes that do not answer. */
static void machine_enter(void)
{
	const struct tofu_shape shape = { { 1, 1, 1, 2, 3, 2 } };
	int fabric = memfd_create("fabric", MFD_ALLOW_SEALING);
	char text[64];

	if (fabric < 0 || tofu_fabric_format(fabric, &shape))
		abort();
	snprintf(text, sizeof(text), "/proc/self/fd/%d", fabric);
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_FABRIC", text, 1);
	setenv("TOFU_NODE", "0", 1);
	setenv("TOFU_TOQ_CODE", "0", 1);
	setenv("TOFU_MRQ_CODE", "0", 1);
}

int main(int argc, char **argv)
{
	const unsigned long seeds = argc > 1 ? strtoul(argv[1], NULL, 0) : 50;
	const unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	const unsigned long calls = argc > 3 ? strtoul(argv[3], NULL, 0) : 5000;

	printf("TAP version 13\n1..1\n");
	fflush(stdout);
	machine_enter();
	for (int i = 0; i < BUFFERS; i++) {
		fuzz.buffer[i] = aligned_alloc(256, BUFFER);
		memset(fuzz.buffer[i], i, BUFFER);
	}
	for (unsigned long seed = first; seed < first + seeds; seed++) {
		fprintf(stderr, "# seed %lu\r", seed);
		run(seed, calls);
	}
	/* As many as there are by default reach everything. */
	for (unsigned int i = 0; i < FUNCTIONS && argc == 1; i++)
		if (!fuzz.good[i])
			fail(function[i].name, UTOFU_ERR_NOT_FOUND);
	for (int i = 0; i < BUFFERS; i++)
		free(fuzz.buffer[i]);
	printf("ok 1 - %lu calls of each of %lu seeds from %lu\n", calls, seeds,
	       first);
	return 0;
}
