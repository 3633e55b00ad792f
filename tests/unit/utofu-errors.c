/* SPDX-License-Identifier: MIT */
/*
 * Every return code by the condition that its name says: CODES is the table,
 * and provoke_<code>() the condition. The conditions are real ones where a
 * controller that works can come to them; the other statuses are written into
 * the rings as an engine would.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness.h"
#include "utofu-util.h"
#include "utofu/instance.h"

#define BYTES 4096
#define ENTRIES 2048

struct world {
	utofu_vcq_hdl_t vcq;
	utofu_vcq_id_t id;
	uint8_t *memory;
	utofu_stadd_t at;
};

/* In a process of its own: each test of the harness has one. */
static int world_open(struct world *w)
{
	setenv("TOFU_PORT", "emu", 1);
	setenv("TOFU_TOQ_CODE", "0", 1);
	setenv("TOFU_MRQ_CODE", "0", 1);
	w->memory = aligned_alloc(256, BYTES);
	memset(w->memory, 0, BYTES);
	return utofu_create_vcq(0, 0, &w->vcq) ||
	       utofu_query_vcq_id(w->vcq, &w->id) ||
	       utofu_reg_mem(w->vcq, w->memory, BYTES, 0, &w->at);
}

static struct tofu_queue *queue_of(const struct world *w)
{
	return tofu_vcq_find(w->vcq)->queue;
}

/* ---- Calls ---- */

static int put(const struct world *w, utofu_vcq_id_t to, utofu_stadd_t from,
	       utofu_stadd_t at, size_t length, uint64_t edata,
	       unsigned long flags)
{
	return utofu_put(w->vcq, to, from, at, length, edata, flags, NULL);
}

static int report(const struct world *w)
{
	void *cbdata;

	return tofu_wait_tcq(w->vcq, &cbdata);
}

static int notice(const struct world *w)
{
	struct utofu_mrq_notice notice;

	return tofu_wait_mrq(w->vcq, &notice);
}

/* ---- Queues ---- */

static int provoke_NOT_FOUND(struct world *w)
{
	void *cbdata;

	return utofu_poll_tcq(w->vcq, 0, &cbdata);
}

static int provoke_BUSY(struct world *w)
{
	int code;

	do {
		code = utofu_nop(w->vcq, TCQ, NULL);
	} while (!code);
	return code;
}

/* The engine cannot read what it is told to fetch. */
static int provoke_FATAL(struct world *w)
{
	struct tofu_cq_page *page = queue_of(w)->cq->page;
	time_t since = time(NULL);
	int code;

	page->fetch_start = 1ULL << 40;
	tofu_queue_start(queue_of(w));
	while (!(page->status & TOFU_CQ_STATUS_TOQ_EXCEPTION) &&
	       time(NULL) - since < WAIT_SECONDS)
		tofu_queue_lend(queue_of(w));
	do {
		code = utofu_nop(w->vcq, 0, NULL);
	} while (!code);
	return code;
}

/* ---- Resources ---- */

static int provoke_USED(struct world *w)
{
	utofu_stadd_t at;

	utofu_reg_mem_with_stag(w->vcq, w->memory, 8, 3, 0, &at);
	return utofu_reg_mem_with_stag(w->vcq, w->memory, 8, 3, 0, &at);
}

static int provoke_FULL(struct world *w)
{
	utofu_vcq_hdl_t vcq;
	int code, queues = 0;

	(void)w;
	do {
		code = utofu_create_vcq(1, UTOFU_VCQ_FLAG_EXCLUSIVE, &vcq);
	} while (!code && ++queues < TOFU_CQS_PER_TNI);
	return code;
}

static int provoke_NOT_AVAILABLE(struct world *w)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(utofu_nop(w->vcq, 0, NULL) != UTOFU_ERR_NOT_AVAILABLE ||
		      !strstr(tofu_last_error(NULL), "_ERR_NOT_AVAILABLE "));
	waitpid(pid, &status, 0);
	return status ? UTOFU_SUCCESS : UTOFU_ERR_NOT_AVAILABLE;
}

static int create_fails(struct tofu_port_dev *port, unsigned int tni,
			uint32_t flags, unsigned int toq_code,
			unsigned int mrq_code, struct tofu_port_cq **cq)
{
	(void)port;
	(void)tni;
	(void)flags;
	(void)toq_code;
	(void)mrq_code;
	(void)cq;
	return -ENOMEM;
}

static int provoke_OUT_OF_MEMORY(struct world *w)
{
	const struct tofu_port_ops ops = { .cq_create = create_fails };
	const struct tofu_port_ops *good = tofu_instance()->port->ops;
	utofu_vcq_hdl_t vcq;
	int code;

	(void)w;
	tofu_instance()->port->ops = &ops;
	code = utofu_create_vcq(1, 0, &vcq);
	tofu_instance()->port->ops = good;
	return code;
}

static int provoke_OUT_OF_RESOURCE(struct world *w)
{
	struct rlimit old, none;
	utofu_stadd_t at;
	int code;

	/* Registration looks at the process's mappings, in a file. */
	getrlimit(RLIMIT_NOFILE, &old);
	none = (struct rlimit){ 0, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	code = utofu_reg_mem(w->vcq, w->memory, 8, 0, &at);
	setrlimit(RLIMIT_NOFILE, &old);
	return code;
}

/* ---- Reports ---- */

/* A report that no engine that works gives of such a command */
static int made_report(struct world *w, enum tofu_status status)
{
	struct tofu_queue *queue = queue_of(w);

	if (utofu_nop(w->vcq, DELAY, NULL))
		return UTOFU_SUCCESS;
	queue->cq->tcq[0] = tofu_ring_flip(0, 0) |
			    TOFU_SET(TOFU_TCQ_STATUS, status) |
			    TOFU_SET(TOFU_TCQ_INDEX, 0);
	return report(w);
}

static int provoke_TCQ_OTHER(struct world *w)
{
	return made_report(w, 99);
}

static int provoke_TCQ_MEMORY(struct world *w)
{
	return made_report(w, TOFU_ST_TCQ_MEMORY);
}

static int provoke_TCQ_STADD(struct world *w)
{
	put(w, w->id, w->at + BYTES, w->at, 1, 0, 0);
	return report(w);
}

/* A prepared command, changed: @ctrl and @route are what is added to it. */
static int changed_command(struct world *w, uint64_t ctrl, uint64_t route)
{
	struct tofu_toq_desc desc;
	size_t size;

	utofu_prepare_armw8(w->vcq, w->id, UTOFU_ARMW_OP_ADD, 1, w->at, 0, 0,
			    &desc, &size);
	desc.ctrl += ctrl;
	desc.route += route;
	if (utofu_post_toq(w->vcq, &desc, size, NULL))
		return UTOFU_SUCCESS;
	return report(w);
}

static int provoke_TCQ_DESC(struct world *w)
{
	return changed_command(w, 1ULL << 63, 0);
}

static int provoke_TCQ_LENGTH(struct world *w)
{
	return changed_command(w, 0, TOFU_SET(TOFU_ROUTE_LENGTH, 1));
}

/* ---- Notices ---- */

static int made_notice(struct world *w, enum tofu_status status)
{
	struct tofu_queue *queue = queue_of(w);
	unsigned int lane = tofu_vcq_find(w->vcq)->lane->number;

	queue->cq->mrq[0].route =
		TOFU_SET(TOFU_ROUTE_TAG, lane << TOFU_TAG_LCL_SHIFT);
	queue->cq->mrq[0].ctrl = tofu_ring_flip(0, 0) |
				 TOFU_SET(TOFU_MRQ_TYPE, TOFU_MRQ_LCL_PUT) |
				 TOFU_SET(TOFU_MRQ_STATUS, status);
	return notice(w);
}

/* More of them than the ring holds, and nobody reads. */
static int provoke_MRQ_OTHER(struct world *w)
{
	int code;

	for (int i = 0; i < ENTRIES + 100; i++)
		while (utofu_put_piggyback8(w->vcq, w->id, i + 1, w->at, 8, 0,
					    RMT, NULL))
			;
	tofu_wait_word((uint64_t *)w->memory, ENTRIES + 100);
	do {
		code = notice(w);
	} while (!code);
	return code;
}

static int provoke_MRQ_PEER(struct world *w)
{
	uint8_t here[6] = { 0 };
	utofu_vcq_id_t nobody;

	utofu_construct_vcq_id(here, 3, 7, 0, &nobody);
	put(w, nobody, w->at, w->at, 8, 0, 0);
	return notice(w);
}

static int provoke_MRQ_RMT_STADD(struct world *w)
{
	put(w, w->id, w->at, w->at + BYTES, 8, 0, 0);
	return notice(w);
}

static int provoke_MRQ_LCL_MEMORY(struct world *w)
{
	return made_notice(w, TOFU_ST_LCL_MEMORY);
}

static int provoke_MRQ_RMT_MEMORY(struct world *w)
{
	return made_notice(w, TOFU_ST_RMT_MEMORY);
}

static int provoke_MRQ_LCL_STADD(struct world *w)
{
	return made_notice(w, TOFU_ST_LCL_STADD);
}

static int provoke_MRQ_LCL_LENGTH(struct world *w)
{
	return made_notice(w, TOFU_ST_LCL_LENGTH);
}

static int provoke_MRQ_RMT_LENGTH(struct world *w)
{
	return made_notice(w, TOFU_ST_RMT_LENGTH);
}

/* ---- Arguments ---- */

static int provoke_INVALID_ARG(struct world *w)
{
	return utofu_put_gap(w->vcq, w->id, w->at, w->at, 8, 0, 0, 0, 256,
			     NULL);
}

static int provoke_INVALID_POINTER(struct world *w)
{
	return utofu_query_vcq_id(w->vcq, NULL);
}

static int provoke_INVALID_FLAGS(struct world *w)
{
	return put(w, w->id, w->at, w->at, 8, 0, 1UL << 4);
}

static int provoke_INVALID_COORDS(struct world *w)
{
	uint8_t outside[6] = { 1, 0, 0, 0, 0, 0 };

	return utofu_construct_vcq_id(outside, 0, 0, 0, &w->id);
}

static int provoke_INVALID_PATH(struct world *w)
{
	uint8_t outside[3] = { 1, 0, 0 };

	return utofu_set_vcq_id_path(&w->id, outside);
}

static int provoke_INVALID_TNI_ID(struct world *w)
{
	return utofu_create_vcq(4, 0, &w->vcq);
}

static int provoke_INVALID_CQ_ID(struct world *w)
{
	uint8_t here[6] = { 0 };

	return utofu_construct_vcq_id(here, 0, 11, 0, &w->id);
}

static int provoke_INVALID_CMP_ID(struct world *w)
{
	return utofu_create_vcq_with_cmp_id(0, 8, 0, &w->vcq);
}

static int provoke_INVALID_VCQ_HDL(struct world *w)
{
	utofu_free_vcq(w->vcq);
	return utofu_nop(w->vcq, 0, NULL);
}

static int provoke_INVALID_VCQ_ID(struct world *w)
{
	return put(w, ~0ULL, w->at, w->at, 8, 0, 0);
}

static int provoke_INVALID_PATH_ID(struct world *w)
{
	return put(w, w->id, w->at, w->at, 8, 0, UTOFU_ONESIDED_FLAG_PATH(15));
}

static int provoke_INVALID_STADD(struct world *w)
{
	return put(w, w->id, w->at, w->at | 1ULL << 58, 8, 0, 0);
}

static int provoke_INVALID_ADDRESS(struct world *w)
{
	return utofu_reg_mem(w->vcq, NULL, 8, 0, &w->at);
}

static int provoke_INVALID_SIZE(struct world *w)
{
	return put(w, w->id, w->at, w->at, TOFU_LENGTH_MAX + 1, 0, 0);
}

static int provoke_INVALID_STAG(struct world *w)
{
	return utofu_query_stadd(w->id, 256, &w->at);
}

static int provoke_INVALID_EDATA(struct world *w)
{
	return put(w, w->id, w->at, w->at, 8, 256, 0);
}

static int provoke_INVALID_NUMBER(struct world *w)
{
	return utofu_put_stride(w->vcq, w->id, w->at, w->at, 8, 8, 0, 0, 0,
				NULL);
}

static int provoke_INVALID_OP(struct world *w)
{
	return utofu_armw8(w->vcq, w->id, 6, 0, w->at, 0, 0, NULL);
}

static int provoke_INVALID_DESC(struct world *w)
{
	uint8_t garbage[32];

	memset(garbage, 0xff, sizeof(garbage));
	return utofu_post_toq(w->vcq, garbage, sizeof(garbage), NULL);
}

/* ---- The tests ---- */

#define CODES(X)                                                         \
	X(NOT_FOUND) X(BUSY) X(USED) X(FULL) X(NOT_AVAILABLE)            \
	X(TCQ_OTHER) X(TCQ_DESC) X(TCQ_MEMORY) X(TCQ_STADD)              \
	X(TCQ_LENGTH)                                                    \
	X(MRQ_OTHER) X(MRQ_PEER) X(MRQ_LCL_MEMORY) X(MRQ_RMT_MEMORY)     \
	X(MRQ_LCL_STADD) X(MRQ_RMT_STADD) X(MRQ_LCL_LENGTH)              \
	X(MRQ_RMT_LENGTH)                                                \
	X(INVALID_ARG) X(INVALID_POINTER) X(INVALID_FLAGS)               \
	X(INVALID_COORDS) X(INVALID_PATH) X(INVALID_TNI_ID)              \
	X(INVALID_CQ_ID) X(INVALID_CMP_ID) X(INVALID_VCQ_HDL)            \
	X(INVALID_VCQ_ID) X(INVALID_PATH_ID) X(INVALID_STADD)            \
	X(INVALID_ADDRESS) X(INVALID_SIZE) X(INVALID_STAG)               \
	X(INVALID_EDATA) X(INVALID_NUMBER) X(INVALID_OP) X(INVALID_DESC) \
	X(OUT_OF_RESOURCE) X(OUT_OF_MEMORY) X(FATAL)

/* Of barrier gates alone: utofu-barrier.c provokes them. */
#define CODES_OF_GATES(X)                                        \
	X(NOT_COMPLETED) X(NOT_PROCESSED) X(NOT_SUPPORTED)       \
	X(BARRIER_OTHER) X(BARRIER_MISMATCH) X(INVALID_VBG_ID)   \
	X(INVALID_BG_ID) X(INVALID_DATA)

/*
 * The last error is the one that was returned, unless it is met in every wait, or
 * it was returned to a child.
 */
static bool is_remembered(const char *name, int code)
{
	const char *line = tofu_last_error(NULL);
	bool same = !strncmp(line, name, strlen(name)) &&
		    line[strlen(name)] == ' ';

	return same == (code != UTOFU_ERR_NOT_FOUND && code != UTOFU_ERR_BUSY &&
			code != UTOFU_ERR_NOT_AVAILABLE);
}

#define PROVOKE(code)                                                       \
	TEST(code)                                                          \
	{                                                                   \
		struct world w;                                             \
									 \
		ASSERT_EQ(world_open(&w), 0);                               \
		EXPECT_EQ(provoke_##code(&w), UTOFU_ERR_##code);            \
		EXPECT_TRUE(is_remembered("UTOFU_ERR_" #code, UTOFU_ERR_##code)); \
	}
CODES(PROVOKE)

/* The compiler refuses a code that stands in both lists. */
static bool has_a_test(int code)
{
#define CASE(code) case UTOFU_ERR_##code:
	switch (code) {
	CODES(CASE)
	CODES_OF_GATES(CASE)
		return true;
	default:
		return false;
	}
}

TEST(every_code_has_a_test)
{
	static const int range[][2] = {
		{ UTOFU_ERR_NOT_SUPPORTED, UTOFU_ERR_NOT_FOUND },
		{ UTOFU_ERR_TCQ_LENGTH, UTOFU_ERR_TCQ_OTHER },
		{ UTOFU_ERR_MRQ_RMT_LENGTH, UTOFU_ERR_MRQ_OTHER },
		{ UTOFU_ERR_BARRIER_MISMATCH, UTOFU_ERR_BARRIER_OTHER },
		{ UTOFU_ERR_INVALID_DATA, UTOFU_ERR_INVALID_ARG },
		{ UTOFU_ERR_OUT_OF_MEMORY, UTOFU_ERR_OUT_OF_RESOURCE },
		{ UTOFU_ERR_FATAL, UTOFU_ERR_FATAL },
	};

	for (size_t i = 0; i < sizeof(range) / sizeof(*range); i++)
		for (int code = range[i][0]; code <= range[i][1]; code++)
			EXPECT_TRUE(has_a_test(code));
}

TEST_HARNESS_MAIN
