// SPDX-License-Identifier: MIT
/*
 * The parts of the time of a record to a shared receive buffer. Functions that
 * the library has for measurements alone show the sender's state between polls.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/phase.h"
#include "common/stats.h"
#include "common/wait.h"
#include "srb/measure.h"
#include "p2p/p2p.h"

#define RING_MIN (1U << 20)
#define STAG 0

/* Number of the largest records that the ring has room for */
#define RECORDS 4

/**
 * struct form - how a sender sends
 * @flags: TOFU_SRB_SENDER_*
 */
struct form {
	const char *name;
	unsigned int flags;
};

static const struct form forms[] = {
	{ "one by one", TOFU_SRB_SENDER_SERIAL | TOFU_SRB_SENDER_FRESH },
	{ "together", TOFU_SRB_SENDER_FRESH },
	{ "kept", 0 },
};

#define FORMS (sizeof(forms) / sizeof(forms[0]))

/* The steps of a record, in ns of the clock that all nodes share */
enum when { BEGAN,
	    POSTED,
	    ADDED,
	    READ,
	    PUT,
	    ENDED,
	    WHENS };

/* The printed times: these steps since BEGAN, and when node 0 has the record */
enum since { SINCE_SEEN = WHENS,
	     SINCES };

/**
 * struct parts - a node's part
 * @vcq:   VCQ of the ring or the sender, where @queue is set
 * @ring:  ring, on node 0
 * @sender: sender, on the other nodes
 * @seen:  on node 0: when each sender's record of this iteration arrived
 * @copy:  on node 0: these records, one every @step bytes; else the record sent
 */
struct parts {
	struct measure *measure;
	const struct form *form;
	utofu_vcq_hdl_t vcq;
	bool queue;
	struct tofu_srb *ring;
	struct tofu_srb_sender *sender;
	struct tofu_srb_peer peer;
	uint64_t seen[MEASURE_SENDERS_MAX + 1];
	char *copy;
	size_t step;
};

/* ---- Sending ---- */

/* The clock takes a third of a poll, so it is read only for a new step. */
static void stages_look(const struct tofu_srb_sender *sender, uint64_t when[])
{
	const bool is[WHENS] = {
		[ADDED] = !when[ADDED] && srb_record_is_placed(sender),
		[READ] = !when[READ] && srb_record_has_read(sender),
		[PUT] = !when[PUT] && srb_record_is_put(sender),
	};
	uint64_t now;

	if (!is[ADDED] && !is[READ] && !is[PUT])
		return;
	now = tofu_now();
	for (int w = ADDED; w < ENDED; w++)
		if (is[w])
			when[w] = now;
}

/* Steps not yet seen have come in one poll with the last one. */
static void rest_look(const struct parts *parts, uint64_t when[])
{
	bool reads = parts->form->flags & TOFU_SRB_SENDER_FRESH;

	for (int w = ADDED; w < ENDED; w++)
		if (!when[w] && (w != READ || reads))
			when[w] = when[ENDED];
}

static int send_wait(struct parts *parts, uint64_t when[])
{
	struct measure *measure = parts->measure;
	struct tofu_wait wait = tofu_wait_keen(measure->options->timeout);
	void *cbdata;
	int code, result;

	while ((code = tofu_srb_poll(parts->sender, &cbdata, &result)) ==
	       UTOFU_ERR_NOT_FOUND) {
		stages_look(parts->sender, when);
		if (!tofu_wait_more(&wait)) {
			tofu_error_say(&measure->why,
				       "node %u: a record has not ended in %u s",
				       measure->machine.node,
				       measure->options->timeout);
			return -ETIMEDOUT;
		}
	}
	when[ENDED] = tofu_now();
	rest_look(parts, when);
	code = code ? code : result;
	return code ? measure_fail(measure, "a record has failed", code) : 0;
}

/* The sender has one slot: each record uses the same. */
static int send_one(struct parts *parts, size_t bytes, uint64_t iteration,
		    uint64_t when[])
{
	struct measure *measure = parts->measure;
	struct iovec part = { parts->copy, bytes };
	int code, err;

	measure_fill(measure, parts->copy, bytes, iteration);
	measure_spoil(measure, parts->copy + bytes - 1, !iteration);
	err = measure_barrier(measure);
	if (err)
		return err;
	tofu_phase(measure->machine.node, iteration);
	when[BEGAN] = tofu_now();
	code = tofu_srb_send(parts->sender, &parts->peer, &part, 1, NULL);
	if (code)
		return measure_fail(measure, "cannot send a record", code);
	when[POSTED] = tofu_now();
	stages_look(parts->sender, when);
	return send_wait(parts, when);
}

/* ---- Receiving ---- */

static int record_wait(struct parts *parts, struct tofu_srb_record *record)
{
	struct measure *measure = parts->measure;
	struct tofu_wait wait = tofu_wait_keen(measure->options->timeout);
	int code;

	while ((code = tofu_srb_receive(parts->ring, record)) ==
	       UTOFU_ERR_NOT_FOUND)
		if (!tofu_wait_more(&wait)) {
			tofu_error_say(&measure->why,
				       "no record has come in %u s",
				       measure->options->timeout);
			return -ETIMEDOUT;
		}
	return code ? measure_fail(measure, "the ring has failed", code) : 0;
}

static void record_copy(struct parts *parts, uint64_t i,
			const struct tofu_srb_record *record)
{
	char *to = parts->copy + i * parts->step;
	size_t first = record->part[0].iov_len;

	if (record->bytes > parts->step)
		return;
	memcpy(to, record->part[0].iov_base, first);
	if (first < record->bytes)
		memcpy(to + first, record->part[1].iov_base,
		       record->bytes - first);
}

/* Records come in any order, and all of them differ. */
static void records_check(struct parts *parts, const uint64_t at[],
			  uint64_t senders, size_t bytes, uint64_t iteration)
{
	struct measure *measure = parts->measure;

	for (uint64_t i = 0; i < senders; i++) {
		const char *copy = parts->copy + i * parts->step;
		uint32_t from = 1;

		while (from <= senders &&
		       !measure_is(measure, copy, bytes, from, iteration))
			from++;
		if (from <= senders)
			parts->seen[from] = at[i];
		else
			measure->wrong++;
	}
}

static int receive_all(struct parts *parts, uint64_t senders, size_t bytes,
		       uint64_t iteration)
{
	struct measure *measure = parts->measure;
	uint64_t at[MEASURE_SENDERS_MAX] = { 0 };
	int err = measure_barrier(measure);

	for (uint64_t i = 0; i < senders && !err; i++) {
		struct tofu_srb_record record;

		err = record_wait(parts, &record);
		if (err)
			break;
		at[i] = tofu_now();
		if (record.bytes != bytes)
			measure->wrong++;
		record_copy(parts, i, &record);
		tofu_srb_release(parts->ring);
	}
	if (!err)
		records_check(parts, at, senders, bytes, iteration);
	return err;
}

/* ---- Rows ---- */

/* Send a record from each sender; @time: arrays of @senders, or NULL */
static int iteration_run(struct parts *parts, uint64_t senders, size_t bytes,
			 uint64_t iteration, uint64_t *time[SINCES])
{
	struct measure *measure = parts->measure;
	uint64_t when[WHENS] = { 0 };
	const uint64_t *all;
	int err;

	if (measure_is_root(measure))
		err = receive_all(parts, senders, bytes, iteration);
	else if (measure_sends(measure, senders))
		err = send_one(parts, bytes, iteration, when);
	else
		err = measure_barrier(measure);
	if (!err)
		err = measure_gather(measure, when, WHENS, &all);
	for (uint64_t i = 0; i < senders && !err && time; i++) {
		const uint64_t *of = all + (i + 1) * WHENS;

		for (int w = 0; w < WHENS; w++)
			time[w][i] = of[w] ? of[w] - of[BEGAN] : 0;
		time[SINCE_SEEN][i] = parts->seen[i + 1] - of[BEGAN];
	}
	return err;
}

static int iterations_run(struct parts *parts, uint64_t senders, size_t bytes,
			  uint64_t *time[SINCES])
{
	const struct measure_options *options = parts->measure->options;
	int err = 0;

	for (uint64_t i = 0; i < options->warmup + options->iterations && !err;
	     i++) {
		uint64_t *now[SINCES];

		for (int s = 0; s < SINCES && i >= options->warmup; s++)
			now[s] = time[s] + (i - options->warmup) * senders;
		err = iteration_run(parts, senders, bytes, i,
				    i < options->warmup ? NULL : now);
	}
	return err;
}

/* Return: when the last of the records sent together was seen */
static uint64_t last_seen(const uint64_t *seen, uint64_t senders,
			  uint64_t iterations)
{
	uint64_t *last = calloc(iterations, sizeof(*last));
	uint64_t middle;

	if (!last)
		return 0;
	for (uint64_t i = 0; i < senders * iterations; i++)
		if (seen[i] > last[i / senders])
			last[i / senders] = seen[i];
	middle = tofu_stats_of(last, iterations).middle;
	free(last);
	return middle;
}

static void row_print(struct parts *parts, uint64_t senders, size_t bytes,
		      uint64_t *time[SINCES])
{
	struct measure *measure = parts->measure;
	uint64_t iterations = measure->options->iterations;
	size_t count = senders * iterations;
	uint64_t last = last_seen(time[SINCE_SEEN], senders, iterations);
	struct tofu_stats stats[SINCES];

	for (int s = 0; s < SINCES; s++)
		stats[s] = tofu_stats_of(time[s], count);
	measure_row(measure,
		    (struct measure_cell[]){
			    { "form", "form", parts->form->name, 0, 0 },
			    { "senders", "senders", NULL, senders, 0 },
			    { "bytes", "bytes", NULL, bytes, 0 },
			    { "posted/ns", "posted_ns", NULL,
			      stats[POSTED].middle, 0 },
			    { "added/ns", "added_ns", NULL,
			      stats[ADDED].middle, 0 },
			    { "read/ns", "read_ns", NULL, stats[READ].middle,
			      0 },
			    { "put/ns", "put_ns", NULL, stats[PUT].middle, 0 },
			    { "seen/ns", "seen_ns", NULL,
			      stats[SINCE_SEEN].middle, 0 },
			    { "ended/ns", "ended_ns", NULL,
			      stats[ENDED].middle, 0 },
			    { "last seen/ns", "last_seen_ns", NULL, last, 0 },
		    },
		    10);
}

static int row_run(struct parts *parts, uint64_t senders, size_t bytes)
{
	size_t count = senders * parts->measure->options->iterations;
	uint64_t *all = calloc(SINCES * count, sizeof(*all));
	uint64_t *time[SINCES];
	int err;

	if (!all)
		return -ENOMEM;
	for (int s = 0; s < SINCES; s++)
		time[s] = all + (size_t)s * count;
	err = iterations_run(parts, senders, bytes, time);
	if (!err)
		row_print(parts, senders, bytes, time);
	free(all);
	return err;
}

static int rows_run(struct parts *parts)
{
	const struct measure_options *options = parts->measure->options;
	int err = 0;

	for (size_t s = 0; s < options->senders.count; s++)
		for (size_t b = 0; b < options->bytes.count && !err; b++)
			err = row_run(parts, options->senders.size[s],
				      options->bytes.size[b]);
	return err;
}

/* ---- Making ---- */

static size_t largest(const struct tofu_sizes *sizes)
{
	uint64_t most = 0;

	for (size_t i = 0; i < sizes->count; i++)
		most = sizes->size[i] > most ? sizes->size[i] : most;
	return (most + 7) & ~(uint64_t)7;
}

static struct tofu_srb_params ring_params(const struct measure *measure,
					  size_t record)
{
	struct tofu_srb_params params = {
		.bytes = measure->options->ring,
		.stag = STAG,
	};

	if (params.bytes)
		return params;
	for (params.bytes = RING_MIN; params.bytes < RECORDS * record;)
		params.bytes *= 2;
	return params;
}

/* Each side has a VCQ of its own; only the ring's has a name. */
static int sides_make(struct parts *parts, const struct tofu_srb_params *params,
		      utofu_vcq_id_t *owner)
{
	const struct tofu_srb_sender_params sender = {
		.pool = parts->step + TOFU_SRB_OVERHEAD,
		.records = 1,
		.flags = parts->form->flags,
	};
	int code = utofu_query_vcq_id(parts->vcq, owner);

	if (code)
		return code;
	if (measure_is_root(parts->measure))
		return tofu_srb_create(parts->vcq, params, &parts->ring);
	return tofu_srb_sender_create(parts->vcq, &sender, &parts->sender);
}

static int parts_make(struct parts *parts)
{
	struct measure *measure = parts->measure;
	struct tofu_srb_params params = ring_params(measure, parts->step);
	utofu_vcq_id_t owner;
	const uint64_t *all;
	int code, err;

	parts->copy = calloc(MEASURE_SENDERS_MAX, parts->step);
	if (!parts->copy)
		return -ENOMEM;
	code = utofu_create_vcq(MEASURE_TNI, 0, &parts->vcq);
	if (code)
		return measure_fail(measure, "cannot make a queue", code);
	parts->queue = true;
	code = sides_make(parts, &params, &owner);
	if (code)
		return measure_fail(measure, "cannot make a ring", code);
	err = measure_gather(measure, &owner, 1, &all);
	if (err)
		return err;
	code = tofu_srb_address(all[MEASURE_ROOT], &params,
				&parts->peer.address);
	return code ? measure_fail(measure, "no address of a ring", code) : 0;
}

static void parts_free(struct parts *parts)
{
	tofu_srb_free(parts->ring);
	tofu_srb_sender_free(parts->sender);
	if (parts->queue)
		utofu_free_vcq(parts->vcq);
	free(parts->copy);
}

int measure_srb(struct measure *measure)
{
	int err = 0;

	for (size_t i = 0; i < FORMS && !err; i++) {
		struct parts parts = {
			.measure = measure,
			.form = &forms[i],
			.step = largest(&measure->options->bytes),
		};

		err = parts_make(&parts);
		if (!err)
			err = rows_run(&parts);
		if (!err)
			err = measure_barrier(measure);
		parts_free(&parts);
	}
	return err;
}
