// SPDX-License-Identifier: MIT
/*
 * A row: a persistent collective, started again and again.
 *
 * Buffers are filled before the barrier that precedes each iteration, and
 * verified after it, outside of what is timed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <tofu/mark.h>
#include <tofu/time.h>

#include "coll/contents.h"
#include "coll/tool.h"
#include "common/error.h"
#include "common/phase.h"

/* Buffers begin at such a boundary, and so many bytes around them are guarded. */
#define ALIGN 256
#define POISON 0x5a

/**
 * struct buffer - of a member
 * @bytes: that the collective uses; 0: there is none
 * @area:  allocated: guard, buffer, guard
 */
struct buffer {
	size_t bytes;
	uint8_t *area;
};

/**
 * struct row - a member's part of a row
 * @send, @recv: in place @send is not used
 * @coll:   collective that is measured
 * @sample: of each timed iteration
 * @wrong:  wrong bytes on this member
 */
struct row {
	struct measure *measure;
	struct measure_tally *tally;
	struct contents contents;
	struct buffer send;
	struct buffer recv;
	struct tofu_coll *coll;
	struct measure_sample *sample;
	uint64_t wrong;
	struct measure_row result;
};

/* ---- Buffers ---- */

/* Memory that nobody reads or writes need not be there. */
static bool is_nowhere(const struct measure_options *options)
{
	struct tofu_time_info info;

	return options->blank && !tofu_query_time(&info) && info.in_calls;
}

static int buffer_make(const struct measure_options *options,
		       struct buffer *buffer, size_t bytes)
{
	size_t all = (bytes + 3 * ALIGN - 1) / ALIGN * ALIGN;

	buffer->bytes = bytes;
	if (!bytes || is_nowhere(options))
		return 0;
	buffer->area = aligned_alloc(ALIGN, all);
	if (!buffer->area)
		return -ENOMEM;
	if (options->blank)
		return 0;
	payload_guard_fill(buffer->area, 0, ALIGN);
	payload_guard_fill(buffer->area, ALIGN + bytes, ALIGN);
	memset(buffer->area + ALIGN, POISON, bytes);
	return 0;
}

static void *buffer_at(const struct buffer *buffer, size_t nowhere)
{
	if (!buffer->bytes)
		return NULL;
	return buffer->area ? buffer->area + ALIGN : (void *)nowhere;
}

static void guards_verify(struct row *row, const struct buffer *buffer)
{
	struct payload_wrong front, back;

	if (!buffer->area)
		return;
	front = payload_guard_verify(buffer->area, 0, ALIGN);
	back = payload_guard_verify(buffer->area, ALIGN + buffer->bytes, ALIGN);
	measure_say(row->measure, &row->wrong, &front, row->result.kind,
		    row->result.bytes, "before the buffer");
	measure_say(row->measure, &row->wrong, &back, row->result.kind,
		    row->result.bytes, "behind the buffer");
}

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static int buffers_make(struct row *row)
{
	const struct measure_options *options = row->measure->options;
	size_t send = contents_send_bytes(&row->contents);
	size_t recv = contents_recv_bytes(&row->contents);
	int err;

	if (options->in_place) {
		recv = larger(send, recv);
		send = 0;
	}
	err = buffer_make(options, &row->send, send);
	if (!err)
		err = buffer_make(options, &row->recv, recv);
	if (err)
		tofu_error_say(&row->measure->why,
			       "process %u: no memory for buffers of %zu and %zu bytes",
			       row->measure->machine.job.rank, send, recv);
	return err;
}

/* Where the contents are before an iteration */
static struct buffer *source(struct row *row)
{
	return row->measure->options->in_place ? &row->recv : &row->send;
}

/* ---- Iterations ---- */

static void iteration_prepare(struct row *row, uint64_t iteration)
{
	const struct measure *measure = row->measure;
	struct buffer *from = source(row);

	if (measure->options->blank)
		return;
	if (row->recv.bytes)
		memset(row->recv.area + ALIGN, POISON, row->recv.bytes);
	if (!contents_send_bytes(&row->contents))
		return;
	contents_fill(&row->contents, iteration, from->area + ALIGN);
	if (measure->options->corrupt == measure->info.number)
		contents_spoil(&row->contents, iteration, from->area + ALIGN);
}

static void iteration_verify(struct row *row, uint64_t iteration)
{
	struct payload_wrong wrong;

	if (row->measure->options->blank)
		return;
	tofu_mark(TOFU_MARK_NAME("verify"));
	if (contents_recv_bytes(&row->contents)) {
		wrong = contents_verify(&row->contents, iteration,
					row->recv.area + ALIGN);
		measure_say(row->measure, &row->wrong, &wrong,
			    row->result.kind, row->result.bytes, "result");
	}
	guards_verify(row, &row->send);
	guards_verify(row, &row->recv);
	tofu_mark(TOFU_MARK_END);
}

static int iteration_run(struct row *row, uint64_t iteration,
			 struct measure_sample *sample)
{
	struct measure *measure = row->measure;
	int code, err = measure_barrier(measure);

	if (err)
		return err;
	tofu_phase(measure->info.number, iteration);
	tofu_mark(TOFU_MARK_NAME("coll"));
	sample->began = tofu_now();
	code = tofu_coll_start(row->coll);
	sample->started = tofu_now();
	if (!code)
		code = tofu_coll_wait(row->coll);
	sample->ended = tofu_now();
	tofu_mark(TOFU_MARK_END);
	return code ? measure_coll_fail(measure,
					tofu_coll_kind_name(row->result.kind),
					row->coll, code) :
		      0;
}

static int iteration_verified(struct row *row, uint64_t iteration,
			      struct measure_sample *sample)
{
	int err;

	iteration_prepare(row, iteration);
	err = iteration_run(row, iteration, sample);
	if (!err)
		iteration_verify(row, iteration);
	return err;
}

/* One more, untimed, is verified where not all are. */
static int iterations_run(struct row *row)
{
	const struct measure_options *options = row->measure->options;
	uint64_t timed = options->warmup + options->iterations;
	struct measure_sample unused;
	int err = 0;

	if (!options->verify)
		iteration_prepare(row, 0);
	for (uint64_t i = 0; i < timed && !err; i++) {
		struct measure_sample *sample = i < options->warmup ?
							&unused :
							&row->sample[i - options->warmup];

		err = options->verify ? iteration_verified(row, i, sample) :
					iteration_run(row, i, sample);
	}
	if (!err && !options->verify && !options->blank)
		err = iteration_verified(row, timed, &unused);
	return err;
}

/* ---- Rows ---- */

/* Addresses of memory that is not there: apart, and of no other's */
#define NOWHERE_SEND ((size_t)1 << 44)
#define NOWHERE_RECV ((size_t)1 << 45)

static int coll_make(struct row *row)
{
	struct measure *measure = row->measure;
	const struct measure_options *options = measure->options;
	const struct contents *contents = &row->contents;
	const struct tofu_coll_spec spec = {
		.kind = contents->kind,
		.type = contents->type,
		.op = contents->op,
		.root = contents->root,
		.count = contents->count,
		.send = buffer_at(&row->send, NOWHERE_SEND),
		.recv = buffer_at(&row->recv, NOWHERE_RECV),
		.size = contents->size,
		.call = contents_call,
		.data = &row->contents.size,
	};
	const struct tofu_coll_tuning tuning = {
		.algorithm = row->result.asked,
		.flags = (contents->cancel ? TOFU_COLL_REPRODUCIBLE : 0) |
			 (options->blank ? TOFU_COLL_BLANK : 0),
		.segment = options->segment,
		.engines = options->engines,
		.routes = options->routes,
	};
	int code = tofu_coll_create(measure->part, &spec, &tuning, &row->coll);

	if (!code)
		code = tofu_coll_describe(row->coll, &row->result.how);
	return code ? measure_fail(measure,
				   tofu_coll_kind_name(contents->kind), code) :
		      0;
}

static int row_make(struct row *row)
{
	struct measure *measure = row->measure;
	const struct measure_options *options = measure->options;
	enum tofu_coll_kind kind = row->result.kind;
	enum tofu_coll_type type = measure_type(options, kind);
	int err;

	row->contents = (struct contents){
		.kind = kind,
		.type = type,
		.op = measure_op(options, kind),
		.root = contents_roots(kind) ? options->root : 0,
		.count = row->result.bytes / contents_size(type),
		.cancel = options->reproducible && contents_combines(kind),
		.members = measure->of_part.count,
		.number = measure->of_part.number,
		.row = measure->rows,
	};
	row->contents.size = contents_size(type);
	if (!options->blank)
		contents_make(&row->contents);
	row->sample = calloc(options->iterations, sizeof(*row->sample));
	if (!row->sample)
		return -ENOMEM;
	err = buffers_make(row);
	return err ? err : coll_make(row);
}

static void row_free(struct row *row)
{
	tofu_coll_free(row->coll);
	free(row->send.area);
	free(row->recv.area);
	free(row->sample);
}

static int row_run(struct row *row)
{
	struct measure *measure = row->measure;
	int err = row_make(row);

	if (!err)
		err = iterations_run(row);
	if (!err)
		err = measure_tally(measure, row->tally, row->sample,
				    row->wrong,
				    row->result.kind == TOFU_COLL_BARRIER &&
					    !measure->options->axes,
				    &row->result);
	/* Others have ended when the times of all are known. */
	if (!err)
		err = measure_barrier(measure);
	row_free(row);
	measure->rows++;
	measure->wrong += row->result.wrong;
	if (!err && measure->report)
		measure_report_row(measure->report, &row->result);
	return err;
}

static int sizes_run(struct measure *measure, struct measure_tally *tally,
		     enum tofu_coll_kind kind,
		     enum tofu_coll_algorithm algorithm)
{
	const struct tofu_sizes *bytes = &measure->options->bytes;
	size_t sizes = kind == TOFU_COLL_BARRIER ? 1 : bytes->count;
	int err = 0;

	for (size_t i = 0; i < sizes && !err; i++) {
		struct row row = {
			.measure = measure,
			.tally = tally,
			.result = {
				.kind = kind,
				.asked = algorithm,
				.members = measure->of_part.count,
			},
		};

		if (kind != TOFU_COLL_BARRIER)
			row.result.bytes = bytes->size[i];
		err = row_run(&row);
	}
	return err;
}

/* Algorithms that a collective does not have are left out. */
static int kind_run(struct measure *measure, struct measure_tally *tally,
		    enum tofu_coll_kind kind)
{
	const struct measure_options *options = measure->options;
	int err = 0;

	for (size_t i = 0; i < options->algorithms && !err; i++) {
		enum tofu_coll_algorithm algorithm = options->algorithm[i];

		if (algorithm == TOFU_COLL_AUTO ||
		    tofu_coll_fits(kind, algorithm))
			err = sizes_run(measure, tally, kind, algorithm);
	}
	return err;
}

int measure_rows(struct measure *measure)
{
	const struct measure_options *options = measure->options;
	struct measure_tally *tally = NULL;
	int err = measure_tally_make(measure, &tally);

	for (size_t i = 0; i < options->kinds && !err; i++)
		err = kind_run(measure, tally, options->kind[i]);
	measure_tally_free(tally);
	return err;
}
