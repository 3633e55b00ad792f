/* SPDX-License-Identifier: MIT */
#include "utofu-fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct fuzz fuzz;

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

/* Return: bytes that memory() has, or more than can exist. */
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

/* ---- All of them ---- */

#define TRANSFERS(X, name) X(name) X(prepare_##name)
#define CALLS(X)                                                             \
	X(get_onesided_tnis) X(query_onesided_caps) X(create_vcq)            \
	X(create_vcq_with_cmp_id) X(free_vcq) X(query_vcq_id)                \
	X(construct_vcq_id) X(set_vcq_id_path) X(query_vcq_info)             \
	X(get_path_id) X(get_path_coords) X(reg_mem) X(reg_mem_with_stag)    \
	X(query_stadd) X(dereg_mem) TRANSFERS(X, put) TRANSFERS(X, get)      \
	TRANSFERS(X, put_gap) TRANSFERS(X, get_gap)                          \
	TRANSFERS(X, put_stride) TRANSFERS(X, get_stride)                    \
	TRANSFERS(X, put_stride_gap) TRANSFERS(X, get_stride_gap)            \
	TRANSFERS(X, put_piggyback) TRANSFERS(X, put_piggyback8)             \
	TRANSFERS(X, armw4) TRANSFERS(X, armw8) TRANSFERS(X, cswap4)         \
	TRANSFERS(X, cswap8) TRANSFERS(X, nop) X(post_toq) X(poll_tcq)       \
	X(poll_mrq) X(query_num_unread_tcq) X(query_num_unread_mrq)          \
	X(query_tofu_version) X(query_utofu_version) X(query_my_coords)      \
	X(get_barrier_tnis) X(query_barrier_caps) X(alloc_vbg)               \
	X(free_vbg) X(set_vbg) X(query_vbg_info) X(barrier)                  \
	X(reduce_uint64) X(reduce_double) X(poll_barrier)                    \
	X(poll_reduce_uint64) X(poll_reduce_double)

#define NAME(name) #name,
const char *const fuzz_name[FUZZ_CALLS] = { CALLS(NAME) };

#define FUNCTION(name) name,
static int (*const function[])(void) = { CALLS(FUNCTION) };
_Static_assert(sizeof(function) / sizeof(*function) == FUZZ_CALLS,
	       "every function once");

int fuzz_next(unsigned int *call)
{
	*call = below(FUZZ_CALLS);
	/* For a while the same, so that something comes of it */
	if (!below(8))
		fuzz.own = below(VCQS);
	fuzz.other = below(4) ? fuzz.own : below(VCQS);
	return function[*call]();
}
