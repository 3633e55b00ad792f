// SPDX-License-Identifier: MIT
/*
 * A library that is wrong in one way, for seeing that a test fails: loaded
 * before the real one, it passes every call on to that, but for what MUTANT in
 * the environment says. See the script mutants.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <utofu.h>

#define TCQ UTOFU_ONESIDED_FLAG_TCQ_NOTICE
#define LCL UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE
#define RMT UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE

/* The control VCQ has to be well, or nothing would be tested at all. */
static utofu_vcq_hdl_t control;

static int is(const char *mutant)
{
	const char *name = getenv("MUTANT");

	return name && !strcmp(name, mutant);
}

/* The last VCQs in session mode */
#define SESSIONS_MAX 16
static utofu_vcq_hdl_t sessions[SESSIONS_MAX];
static unsigned int session_count;

static void *real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	/* An executable that has loaded this program comes before it. */
	if (!function)
		function = dlsym(dlopen(NULL, RTLD_NOW), name);
	if (!function)
		abort();
	return function;
}

/* The real function of the same name; a pointer to data is one to code here. */
#define REAL(name) (*(__typeof__(&name) *)&(void *){ real(#name) })

/* ---- VCQs and memory ---- */

int utofu_create_vcq(utofu_tni_id_t tni, unsigned long flags,
		     utofu_vcq_hdl_t *hdl)
{
	int code;

	if (is("exclusive"))
		flags |= UTOFU_VCQ_FLAG_EXCLUSIVE;
	if (is("no-session"))
		flags &= ~UTOFU_VCQ_FLAG_SESSION_MODE;
	code = REAL(utofu_create_vcq)(tni, flags, hdl);
	if (code == UTOFU_SUCCESS && (flags & UTOFU_VCQ_FLAG_SESSION_MODE))
		sessions[session_count++ % SESSIONS_MAX] = *hdl;
	return code;
}

int utofu_create_vcq_with_cmp_id(utofu_tni_id_t tni, utofu_cmp_id_t cmp,
				 unsigned long flags, utofu_vcq_hdl_t *hdl)
{
	int code = REAL(utofu_create_vcq_with_cmp_id)(tni, cmp, flags, hdl);

	if (code == UTOFU_SUCCESS && cmp == 7 &&
	    (flags & UTOFU_VCQ_FLAG_EXCLUSIVE))
		control = *hdl;
	return code;
}

int utofu_construct_vcq_id(uint8_t coords[], utofu_tni_id_t tni,
			   utofu_cq_id_t cq, utofu_cmp_id_t cmp,
			   utofu_vcq_id_t *id)
{
	if (is("construct") && cmp == 5)
		cmp = 4;
	return REAL(utofu_construct_vcq_id)(coords, tni, cq, cmp, id);
}

int utofu_reg_mem(utofu_vcq_hdl_t hdl, void *addr, size_t size,
		  unsigned long flags, utofu_stadd_t *stadd)
{
	int code;

	if (is("read-only"))
		flags = 0;
	code = REAL(utofu_reg_mem)(hdl, addr, size, flags, stadd);
	if (is("boundary") && code == UTOFU_SUCCESS)
		*stadd &= ~(utofu_stadd_t)255;
	return code;
}

int utofu_query_stadd(utofu_vcq_id_t id, unsigned int stag,
		      utofu_stadd_t *stadd)
{
	if (is("query-stadd") && stag < 200)
		stag++;
	return REAL(utofu_query_stadd)(id, stag, stadd);
}

int utofu_dereg_mem(utofu_vcq_hdl_t hdl, utofu_stadd_t stadd,
		    unsigned long flags)
{
	if (is("no-dereg") && flags == 0)
		return UTOFU_SUCCESS;
	return REAL(utofu_dereg_mem)(hdl, stadd, flags);
}

/* ---- Transfers ---- */

static unsigned long spoil(utofu_vcq_hdl_t hdl, unsigned long flags)
{
	if (hdl == control)
		return flags;
	if (is("always-report"))
		flags |= TCQ;
	if (is("no-delay"))
		flags &= ~UTOFU_ONESIDED_FLAG_DELAY_START;
	if (is("no-steps"))
		flags &= ~UTOFU_ONESIDED_FLAG_SPS(15);
	if (is("one-step-more") && (flags & UTOFU_ONESIDED_FLAG_SPS(15)))
		flags |= UTOFU_ONESIDED_FLAG_SPS(1) << 1;
	return flags;
}

typedef int put_function(utofu_vcq_hdl_t hdl, utofu_vcq_id_t id,
			 utofu_stadd_t lcl, utofu_stadd_t rmt, size_t length,
			 uint64_t edata, unsigned long flags, void *cbdata);

/* Time for others to look at what is wrong for a moment. */
static void linger(void)
{
	struct timespec moment = { .tv_nsec = 2000000 };

	nanosleep(&moment, NULL);
}

/* The last bytes before the others. */
static int put_tail_first(put_function *put, utofu_vcq_hdl_t hdl,
			  utofu_vcq_id_t id, utofu_stadd_t lcl,
			  utofu_stadd_t rmt, size_t length, uint64_t edata,
			  unsigned long flags, void *cbdata)
{
	put(hdl, id, lcl + length - 4, rmt + length - 4, 4, edata,
	    UTOFU_ONESIDED_FLAG_STRONG_ORDER, NULL);
	linger();
	return put(hdl, id, lcl, rmt, length, edata, flags, cbdata);
}

/* A put that waits: for the next one, or until a notice is awaited. */
static struct {
	int held;
	utofu_vcq_hdl_t hdl;
	utofu_vcq_id_t id;
	utofu_stadd_t lcl, rmt;
	size_t length;
	uint64_t edata;
	unsigned long flags;
	void *cbdata;
} late;

static void hold(utofu_vcq_hdl_t hdl, utofu_vcq_id_t id, utofu_stadd_t lcl,
		 utofu_stadd_t rmt, size_t length, uint64_t edata,
		 unsigned long flags, void *cbdata)
{
	late.held = 1;
	late.hdl = hdl;
	late.id = id;
	late.lcl = lcl;
	late.rmt = rmt;
	late.length = length;
	late.edata = edata;
	late.flags = flags;
	late.cbdata = cbdata;
}

static void put_held(void)
{
	if (!late.held)
		return;
	late.held = 0;
	REAL(utofu_put)
	(late.hdl, late.id, late.lcl, late.rmt, late.length, late.edata,
	 late.flags, late.cbdata);
}

int utofu_put(utofu_vcq_hdl_t hdl, utofu_vcq_id_t id, utofu_stadd_t lcl,
	      utofu_stadd_t rmt, size_t length, uint64_t edata,
	      unsigned long flags, void *cbdata)
{
	put_function *put = REAL(utofu_put);
	int code;

	flags = spoil(hdl, flags);
	if (is("no-remote-notice") && length == 500)
		flags &= ~RMT;
	if (is("tail-first") && length > 4 &&
	    (flags & UTOFU_ONESIDED_FLAG_STRONG_ORDER))
		return put_tail_first(put, hdl, id, lcl, rmt, length, edata,
				      flags, cbdata);
	if (is("notice-first") && (flags & RMT) && length) {
		put(hdl, id, lcl, rmt, 0, edata, RMT, NULL);
		linger();
		flags &= ~RMT;
	}
	if (is("reorder") && !late.held && (flags & RMT) && edata == 10) {
		hold(hdl, id, lcl, rmt, length, edata, flags, cbdata);
		return UTOFU_SUCCESS;
	}
	/* The report comes, and the source is read when a notice is awaited. */
	if (is("early-report") && (flags & TCQ) && (flags & RMT)) {
		hold(hdl, id, lcl, rmt, length, edata, flags & ~TCQ, NULL);
		return REAL(utofu_nop)(hdl, TCQ, cbdata);
	}
	if (is("edata"))
		edata &= 127;
	code = put(hdl, id, lcl, rmt, length, edata, flags, cbdata);
	put_held();
	if (is("never-busy") && code == UTOFU_ERR_BUSY)
		return UTOFU_SUCCESS;
	return code;
}

int utofu_put_piggyback8(utofu_vcq_hdl_t hdl, utofu_vcq_id_t id, uint64_t data,
			 utofu_stadd_t rmt, size_t length, uint64_t edata,
			 unsigned long flags, void *cbdata)
{
	if (is("clobber") && hdl != control)
		length = 8;
	return REAL(utofu_put_piggyback8)(hdl, id, data, rmt, length, edata,
					  spoil(hdl, flags), cbdata);
}

int utofu_put_piggyback(utofu_vcq_hdl_t hdl, utofu_vcq_id_t id, void *data,
			utofu_stadd_t rmt, size_t length, uint64_t edata,
			unsigned long flags, void *cbdata)
{
	return REAL(utofu_put_piggyback)(hdl, id, data, rmt,
					 is("short") && length == 32 ? 31 :
								       length,
					 edata, spoil(hdl, flags), cbdata);
}

/* One is refused, and done nevertheless. */
int utofu_armw8(utofu_vcq_hdl_t hdl, utofu_vcq_id_t id, enum utofu_armw_op op,
		uint64_t value, utofu_stadd_t rmt, uint64_t edata,
		unsigned long flags, void *cbdata)
{
	static unsigned int count;
	int code = REAL(utofu_armw8)(hdl, id, op, value, rmt, edata,
				     spoil(hdl, flags), cbdata);

	if (is("busy-done") && code == UTOFU_SUCCESS && ++count % 100 == 0)
		return UTOFU_ERR_BUSY;
	return code;
}

static int is_session(utofu_vcq_hdl_t hdl)
{
	for (unsigned int i = 0; i < SESSIONS_MAX; i++)
		if (sessions[i] == hdl)
			return 1;
	return 0;
}

/* With the first step that comes, the queue gives itself those of the blocks. */
static void give_steps(utofu_vcq_hdl_t hdl, utofu_stadd_t own, size_t blocks)
{
	utofu_vcq_id_t id;

	REAL(utofu_query_vcq_id)
	(hdl, &id);
	for (size_t steps = 1; steps < blocks; steps += 14)
		REAL(utofu_put)
		(hdl, id, own, own, 0, 0,
		 UTOFU_ONESIDED_FLAG_SPS(15), NULL);
}

int utofu_put_stride(utofu_vcq_hdl_t hdl, utofu_vcq_id_t id, utofu_stadd_t lcl,
		     utofu_stadd_t rmt, size_t length, size_t stride,
		     size_t blocks, uint64_t edata, unsigned long flags,
		     void *cbdata)
{
	if (is("one-step-for-all") && blocks > 1 && is_session(hdl))
		give_steps(hdl, lcl, blocks);
	/* None of each block's own. */
	if (is("no-block-notices") && blocks > 1)
		return REAL(utofu_put_stride)(hdl, id, lcl, rmt, length,
					      stride, blocks, edata,
					      flags & ~LCL, cbdata);
	return REAL(utofu_put_stride)(hdl, id, lcl, rmt, length, stride,
				      blocks, edata, spoil(hdl, flags),
				      cbdata);
}

int utofu_post_toq(utofu_vcq_hdl_t hdl, void *desc, size_t size, void *cbdata)
{
	if (is("first-only") && size > 64)
		size = 32;
	return REAL(utofu_post_toq)(hdl, desc, size, cbdata);
}

/* ---- Queues ---- */

int utofu_poll_tcq(utofu_vcq_hdl_t hdl, unsigned long flags, void **cbdata)
{
	static void *last;
	void *taken;
	int code = REAL(utofu_poll_tcq)(hdl, flags, cbdata);

	if (code == UTOFU_SUCCESS && is("stale-cbdata")) {
		taken = *cbdata;
		*cbdata = last;
		last = taken;
	}
	return code;
}

/* The first LCL_PUT comes after what came after it. */
static int poll_late(utofu_vcq_hdl_t hdl, struct utofu_mrq_notice *notice)
{
	static struct utofu_mrq_notice held;
	static utofu_vcq_hdl_t holder;
	static int due;
	int code;

	if (due && holder == hdl) {
		*notice = held;
		notice->edata = 1;
		due = 0;
		return UTOFU_SUCCESS;
	}
	code = REAL(utofu_poll_mrq)(hdl, 0, notice);
	if (code != UTOFU_SUCCESS)
		return code;
	if (!holder && notice->notice_type == UTOFU_MRQ_TYPE_LCL_PUT &&
	    notice->edata == 1) {
		held = *notice;
		holder = hdl;
		return UTOFU_ERR_NOT_FOUND;
	}
	if (holder == hdl && held.edata == 1) {
		held.edata = 0;
		due = 1;
	}
	return UTOFU_SUCCESS;
}

static int spoil_notice(int code, struct utofu_mrq_notice *notice)
{
	if (is("path-bits"))
		notice->vcq_id |= (utofu_vcq_id_t)1 << 60;
	if (is("rmt-value") && notice->notice_type == UTOFU_MRQ_TYPE_LCL_ARMW)
		notice->rmt_value++;
	if (is("value-for-target") &&
	    notice->notice_type == UTOFU_MRQ_TYPE_RMT_ARMW)
		notice->rmt_value = 0;
	if (is("no-edata"))
		notice->edata = 0;
	if (is("no-errors"))
		return UTOFU_SUCCESS;
	return code;
}

int utofu_poll_mrq(utofu_vcq_hdl_t hdl, unsigned long flags,
		   struct utofu_mrq_notice *notice)
{
	int code;

	if (is("early-report") && hdl != control)
		put_held();
	if (is("overtake") && hdl != control && flags == 0 && notice)
		return poll_late(hdl, notice);
	code = REAL(utofu_poll_mrq)(hdl, flags, notice);
	if (code == UTOFU_ERR_NOT_FOUND || !notice || hdl == control ||
	    flags)
		return code;
	return spoil_notice(code, notice);
}

/* ---- Barriers ---- */

int utofu_poll_barrier(utofu_vbg_id_t vbg, unsigned long flags)
{
	int code = REAL(utofu_poll_barrier)(vbg, flags);

	if (is("early-end") && code == UTOFU_ERR_NOT_COMPLETED)
		return UTOFU_SUCCESS;
	return code;
}

int utofu_poll_reduce_double(utofu_vbg_id_t vbg, unsigned long flags,
			     double data[])
{
	int code = REAL(utofu_poll_reduce_double)(vbg, flags, data);
	const char *node = getenv("TOFU_NODE");

	/* The last bit, on one node. */
	if (is("last-bit") && code == UTOFU_SUCCESS && node && *node == '1')
		data[0] *= 1.0 + 0x1p-52;
	return code;
}

int utofu_reduce_uint64(utofu_vbg_id_t vbg, enum utofu_reduce_op op,
			uint64_t data[], size_t count, unsigned long flags)
{
	if (is("max-for-maxloc") && op == UTOFU_REDUCE_OP_MAXLOC &&
	    count % 2 == 0)
		op = UTOFU_REDUCE_OP_MAX;
	return REAL(utofu_reduce_uint64)(vbg, op, data, count, flags);
}

int utofu_alloc_vbg(utofu_tni_id_t tni, size_t count, unsigned long flags,
		    utofu_vbg_id_t ids[])
{
	int code = REAL(utofu_alloc_vbg)(tni, count, flags, ids);

	/* FULL, and yet something is gone. */
	if (is("full-takes") && code == UTOFU_ERR_FULL && count > 1) {
		utofu_vbg_id_t lost;
		int ignored = REAL(utofu_alloc_vbg)(tni, 1, flags, &lost);

		(void)ignored;
	}
	if (is("vbg-bits") && code == UTOFU_SUCCESS)
		for (size_t i = 0; i < count; i++)
			ids[i] ^= (utofu_vbg_id_t)1 << 44;
	return code;
}

int utofu_set_vbg(struct utofu_vbg_setting settings[], size_t count)
{
	for (size_t i = 0; is("null-in-all") && settings && i < count; i++)
		if (settings[i].dst_path_coords[1] != UTOFU_PATH_COORD_NULL)
			return UTOFU_ERR_INVALID_PATH;
	return REAL(utofu_set_vbg)(settings, count);
}
