// SPDX-License-Identifier: MIT
/*
 * Where the time of a put goes: the clocks of the programs on both sides and
 * the stamps of both controllers, which in virtual time are one clock.
 *
 * The peer sees the put by its notice, reads its stamps, and sends them back.
 * Both read their stamps between the puts, when nothing is measured.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/mark.h>

#include "common/virtual.h"
#include "perf/run.h"

#define FLAGS (PERF_REPORT | UTOFU_ONESIDED_FLAG_REMOTE_MRQ_NOTICE)

/**
 * struct seen - what the peer tells of a put
 * @engine, @notice: stamps
 * @end: the poll that found the notice has returned
 */
struct seen {
	uint64_t engine;
	uint64_t notice;
	uint64_t end;
};
TOFU_ASSERT(sizeof(struct seen) <= 32, "it is sent by a piggyback put");

static int put_post(struct perf *perf, size_t bytes)
{
	const struct perf_engine *engine = &perf->engine[0];
	const uint8_t *from = perf->area + perf->span;

	if (bytes <= sizeof(uint64_t))
		return utofu_put_piggyback8(engine->vcq, engine->peer[0], 1,
					    perf->stadd, bytes, 0, FLAGS,
					    NULL);
	if (bytes <= 32)
		return utofu_put_piggyback(engine->vcq, engine->peer[0],
					   (void *)from, perf->stadd, bytes, 0,
					   FLAGS, NULL);
	return utofu_put(engine->vcq, engine->peer[0],
			 perf->stadd + perf->span, perf->stadd, bytes, 0,
			 FLAGS, NULL);
}

static int reported(struct perf *perf)
{
	perf->engine[0].busy++;
	return perf_report_wait(perf, &perf->engine[0], 0);
}

static void phases_of(const struct tofu_stamps *stamps, uint64_t began,
		      uint64_t back, const struct seen *seen,
		      struct perf_phases *phases)
{
	uint64_t doorbell = tofu_stamp(stamps, TOFU_CQ_TX_DOORBELL);
	uint64_t engine = tofu_stamp(stamps, TOFU_CQ_TX_ENGINE);
	uint64_t wire = tofu_stamp(stamps, TOFU_CQ_TX_WIRE);
	int64_t *ns = phases->ns;

	ns[PERF_LIBRARY] = (int64_t)(doorbell - began);
	ns[PERF_DOORBELL] = (int64_t)(engine - doorbell);
	ns[PERF_ENGINE] = (int64_t)(wire - engine);
	ns[PERF_WIRE] = (int64_t)(seen->engine - wire);
	ns[PERF_RECEIVE] = (int64_t)(seen->notice - seen->engine);
	ns[PERF_NOTICE] = (int64_t)(seen->end - seen->notice);
	phases->total = (int64_t)(seen->end - began);
	phases->back = (int64_t)(back - doorbell);
}

/* One put, from the side that measures. */
static int measure(struct perf *perf, const struct tofu_stamps *stamps,
		   size_t bytes, struct perf_phases *phases)
{
	struct utofu_mrq_notice notice;
	struct seen seen;
	uint64_t began = tofu_now(), back;
	int code = put_post(perf, bytes);

	back = tofu_now();
	if (code == UTOFU_SUCCESS)
		code = reported(perf);
	if (code == UTOFU_SUCCESS)
		code = perf_notice_wait(perf, &notice);
	if (code != UTOFU_SUCCESS)
		return code;
	memcpy(&seen, perf->area + perf_word_at(perf, PERF_WORD_SEEN),
	       sizeof(seen));
	phases_of(stamps, began, back, &seen, phases);
	return UTOFU_SUCCESS;
}

static int phases_active(struct perf *perf, const struct tofu_stamps *stamps,
			 size_t bytes, struct perf_phases *phases)
{
	const struct perf_settings *settings = &perf->settings;
	struct perf_phases ignored;
	int code = UTOFU_SUCCESS;

	for (uint64_t i = 0; i < settings->warmup && !code; i++)
		code = measure(perf, stamps, bytes, &ignored);
	for (uint64_t i = 0; i < settings->iterations && !code; i++)
		code = measure(perf, stamps, bytes, &phases[i]);
	return code;
}

/* ---- The other side ---- */

static int answer(struct perf *perf, const struct tofu_stamps *stamps)
{
	const struct perf_engine *engine = &perf->engine[0];
	struct utofu_mrq_notice notice;
	struct seen seen;
	int code = perf_notice_wait(perf, &notice);

	seen.end = tofu_now();
	if (code != UTOFU_SUCCESS)
		return code;
	seen.engine = tofu_stamp(stamps, TOFU_CQ_RX_ENGINE);
	seen.notice = tofu_stamp(stamps, TOFU_CQ_RX_NOTICE);
	code = utofu_put_piggyback(
		engine->vcq, engine->peer[0], &seen,
		perf->stadd + perf_word_at(perf, PERF_WORD_SEEN), sizeof(seen),
		0, FLAGS, NULL);
	return code == UTOFU_SUCCESS ? reported(perf) : code;
}

static int phases_passive(struct perf *perf, const struct tofu_stamps *stamps)
{
	const struct perf_settings *settings = &perf->settings;
	int code = UTOFU_SUCCESS;

	for (uint64_t i = 0;
	     i < settings->warmup + settings->iterations && !code; i++)
		code = answer(perf, stamps);
	return code;
}

/* ---- Both ---- */

static int by_total(const void *a, const void *b)
{
	int64_t x = ((const struct perf_phases *)a)->total;
	int64_t y = ((const struct perf_phases *)b)->total;

	return (x > y) - (x < y);
}

static int measured(struct perf *perf, const struct tofu_stamps *stamps,
		    size_t bytes, struct perf_phases *result)
{
	size_t count = perf->settings.iterations;
	struct perf_phases *phases = calloc(count, sizeof(*phases));
	int code;

	if (!phases)
		return UTOFU_ERR_OUT_OF_MEMORY;
	tofu_mark(TOFU_MARK_NAME("phases"));
	code = phases_active(perf, stamps, bytes, phases);
	tofu_mark(TOFU_MARK_END);
	if (code == UTOFU_SUCCESS) {
		qsort(phases, count, sizeof(*phases), by_total);
		*result = phases[(count - 1) / 2];
	}
	free(phases);
	return code;
}

static int part(struct perf *perf, size_t bytes, char **why,
		struct perf_phases *result)
{
	struct tofu_stamps stamps;
	utofu_tni_id_t tni;
	utofu_cq_id_t cq;
	uint8_t coords[6];
	uint16_t extra;
	int code = utofu_query_vcq_info(perf->engine[0].id, coords, &tni, &cq,
					&extra);
	int err = code == UTOFU_SUCCESS ?
			  tofu_stamps_open(&stamps, perf->engine[0].vcq, tni,
					   cq, why) : -EIO;

	if (code != UTOFU_SUCCESS)
		return err;
	if (!err) {
		code = perf->machine.node == perf->place.from ?
			       measured(perf, &stamps, bytes, result) :
			       phases_passive(perf, &stamps);
		if (code != UTOFU_SUCCESS)
			err = perf_say(perf, "phases", code, why);
	}
	tofu_stamps_close(&stamps);
	return err;
}

int perf_phases(struct perf *perf, const struct perf_settings *settings,
		size_t bytes, char **why, struct perf_phases *result)
{
	int err;

	perf->settings = *settings;
	err = tofu_world_barrier(perf->world, why);
	if (err)
		return err;
	if (perf->machine.node == perf->place.from ||
	    perf->machine.node == perf->place.to)
		err = part(perf, bytes, why, result);
	return err ? err : tofu_world_barrier(perf->world, why);
}
